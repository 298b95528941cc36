// What is put on a drawing: numbers, signs, arrowheads that point back, values on their way; and how it is dragged.

const TRAVEL = 700;   // milliseconds that a value is on its way

/** A number in a box, with a true minus sign; what is no number stands out. */
function say(text, words) {
  if (!text) return;
  text.textContent = words.replaceAll("-", "−");
  text.classList.toggle("ng-bad", /nan|inf/.test(words));
}

/** An arrowhead at the other end, for what travels against the arrow. */
function turned(edge) {
  const path = edge?.querySelector("path");
  if (!path) return;
  edge.classList.add("ng-back");
  const tip = path.getPointAtLength(0), after = path.getPointAtLength(10),
    angle = Math.atan2(after.y - tip.y, after.x - tip.x) * 180 / Math.PI;
  edge.append(make("svg:path", { class: "ng-turned", d: "M0 0 l10 -5 v10 z",
    transform: `translate(${tip.x} ${tip.y}) rotate(${angle})` }));
}

function sign(group, name, outline) {  // a shape at a node's upper side: colour is not the only sign
  if (!group) return;
  const box = group.getBBox();
  group.parentNode.append(make("svg:path", { class: name, d: outline(box.x + box.width / 2, box.y, box.width) }));
}

function pill(at, text, name, title = text) {
  const wide = 7.2 * [...text].length + 10;
  return make("svg:g", { class: name, transform: `translate(${at.x} ${at.y})` }, make("svg:title", {}, title),
    make("svg:rect", { x: -wide / 2, y: -9, width: wide, height: 18, rx: 9 }),
    make("svg:text", { x: 0, y: 4, "text-anchor": "middle" }, text.replaceAll("-", "−")));
}

/** Values travel along the arrows, gradients against them; where one arrives it is added to what was there: `grads`. */
function travel(view, edgeOf, grads, pace, goesOn) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const under = view.carried.slice(0, 12).map(([id, text]) => [edgeOf(id)?.querySelector("path"),
    text]).filter(([path]) => path);
  if (!under.length || pace < 300) return;
  const tokens = [], end = under.map(([path, text]) => {
    const token = pill(path.getPointAtLength(0), text, "ng-token");
    path.parentNode.parentNode.append(token);
    tokens.push(token);
    return (share) => {
      const at = path.getPointAtLength(path.getTotalLength() * (view.back ? 1 - share : share));
      token.setAttribute("transform", `translate(${at.x} ${at.y})`);
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
  const middle = path.getPointAtLength(path.getTotalLength() / 2), box = grads.closest(".node").getBBox();
  const above = Math.min(box.y, path.getBBox().y) - 14;
  tokens[0].setAttribute("transform", `translate(${middle.x} ${above})`);
}

/** Drag with the pointer; zoom with the wheel and Control. */
function dragging(frame, zoomBy) {
  let grip = null;
  frame.addEventListener("pointerdown", (event) => {
    grip = { x: event.clientX, y: event.clientY, left: frame.scrollLeft, top: frame.scrollTop };
  });
  frame.addEventListener("pointermove", (event) => {
    if (!grip || !(event.buttons & 1)) return;
    frame.classList.add("ng-dragging");
    frame.scrollLeft = grip.left - (event.clientX - grip.x);
    frame.scrollTop = grip.top - (event.clientY - grip.y);
  });
  for (const name of ["pointerup", "pointerleave", "pointercancel"]) {
    frame.addEventListener(name, () => { grip = null; frame.classList.remove("ng-dragging"); });
  }
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;  // a plain wheel scrolls the page
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  }, { passive: false });
}
