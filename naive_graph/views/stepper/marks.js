// What is put on a drawing: numbers, signs, arrowheads that point back, values on their way.

const TRAVEL = 700;   // milliseconds that a value is on its way

/** A number in a box; what is no number stands out. */
function say(text, words) {
  if (!text) return;
  text.textContent = words;
  text.classList.toggle("ng-bad", /not a|infinite/.test(words));
}

/** An arrowhead at the other end, for what travels against the arrow. */
function turned(edge) {
  const path = edge?.querySelector("path");
  if (!path) return;
  edge.classList.add("ng-back");
  const tip = path.getPointAtLength(0), after = path.getPointAtLength(10), angle = Math.atan2(after.y - tip.y, after.x - tip.x) * 180 / Math.PI;
  edge.append(make("svg:path", { class: "ng-turned", d: "M0 0 l10 -5 v10 z", transform: `translate(${tip.x} ${tip.y}) rotate(${angle})` }));
}

function sign(group, name, outline) {  // a shape at a node's upper side: colour is not the only sign
  if (!group) return;
  const box = group.querySelector("rect, polygon").getBBox();
  group.append(make("svg:path", { class: name, d: outline(box.x + box.width / 2, box.y, box.width) }));
}

const long = (text) => 7.8 * [...text].length + 10;
function pill(at, text, name, title = text) {
  const wide = long(text);
  return make("svg:g", { class: name, transform: `translate(${at.x} ${at.y})` }, make("svg:title", {}, title),
    make("svg:rect", { x: -wide / 2, y: -9, width: wide, height: 18, rx: 9 }),
    make("svg:text", { x: 0, y: 4, "text-anchor": "middle" }, text));
}
/** How far up or down a pill at a place stands clear of who acts. */
function lift(at, text, acting) {
  if (!acting) return 0;
  const box = acting.querySelector("rect, polygon").getBBox(), { e, f } = acting.transform.baseVal.consolidate()?.matrix ?? { e: 0, f: 0 };
  const middle = box.y + box.height / 2 + f, reach = box.height / 2 + 13, apart = Math.abs(box.x + box.width / 2 + e - at.x) > (box.width + long(text)) / 2 + 4;
  return apart || Math.abs(at.y - middle) > reach ? 0 : middle + (at.y > middle ? reach : -reach) - at.y;
}

/** Values travel along the arrows, gradients against them; where one arrives it is added to what was there: `grads`. */
function travel(view, edgeOf, grads, acting, pace, goesOn) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const under = view.carried.slice(0, 12).map(([id, text]) => [edgeOf(id)?.querySelector("path"), text]).filter(([path]) => path);
  if (!under.length || pace < 300) return;
  const tokens = [], end = under.map(([path, text]) => {
    const token = pill({ x: 0, y: 0 }, text, "ng-token"), length = path.getTotalLength();
    const up = view.kind === "fired" ? lift(path.getPointAtLength(0), text, acting) : 0;
    path.parentNode.parentNode.append(token);
    tokens.push(token);
    return (share) => {
      const at = path.getPointAtLength(length * (view.back ? 1 - share : share));
      token.setAttribute("transform", `translate(${at.x} ${at.y + up})`);
    };
  });
  const whole = grads?.textContent;
  end.forEach((place) => place(0));
  if (still) return void rest(tokens, grads, under[0][0]);
  say(grads, view.before === null ? "" : `${view.slope} ${view.before}`);
  const lasts = Math.min(TRAVEL, pace * 0.8);
  let began = null;
  const frameAt = (time) => {
    if (!goesOn()) return;
    began ??= time;
    const share = Math.min(1, (time - began) / lasts);
    end.forEach((place) => place(share * share * (3 - 2 * share)));
    if (share < 1) return void requestAnimationFrame(frameAt);
    for (const each of tokens) each.remove();
    if (!grads) return;
    say(grads, view.before === null ? whole : `${view.before} + ${view.carried[0][1]}`);
    setTimeout(() => goesOn() && say(grads, whole), lasts);
  };
  requestAnimationFrame(frameAt);
}

/** Where nothing shall move: the value that is handed over stands above the gap that it crosses. */
function rest(tokens, grads, path) {
  if (!grads) return tokens.forEach((each) => each.remove());
  const middle = path.getPointAtLength(path.getTotalLength() / 2), node = grads.closest(".node");
  const above = Math.min(node.getBBox().y + (node.transform.baseVal.consolidate()?.matrix.f ?? 0), path.getBBox().y) - 14;
  tokens[0].setAttribute("transform", `translate(${middle.x} ${above})`);
}
