// A drawing that dot lays out and a view that scrolls over it: for pictures and for the stepper.
// Opening and closing a scope, or another window, lays out anew; what is looked at stays where it was.

const { TEXT, SMALL, LEAST, READ, LINE, APART, THIN, BASE, BEHIND, ROUND, ROOMS, USUAL_ROOM, MARGIN, WAYS } = "LAYOUT";  // which Python puts here: views/theme.py
const MOST_LAID = 600;  // boxes that dot lays out while somebody waits
const MOTION = 200;  // milliseconds
const NARROW = 600;  // pixels: there arrows lead down

function make(tag, attributes = {}, ...children) {
  const element = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}
let tongue = {};  // what another language says for texts of ours
const spoken = (text) => tongue[text] ?? text;
function button(text, label, act, more = {}) {
  return make("button", { type: "button", title: spoken(label), "aria-label": spoken(label), onclick: act, ...more }, text);
}
/** A number as Python writes it (views/theme.py), whose ties go to the even digit. */
function figure(value) {
  if (Number.isNaN(value)) return "not a number";
  if (!Number.isFinite(value)) return value > 0 ? "infinite" : "−infinite";
  const [digits, power] = value.toExponential(4).split("e"), [exact] = value.toExponential(40).split("e"), at = Number(power);
  const five = /^-?\d\.\d{3}[02468]50*$/.test(exact) ? exact.slice(0, exact.indexOf(".") + 5) : digits;
  const text = at < -4 || at > 4 ? `${five.replace(/\.?0+$/, "")}e${at}` : Object.is(value, -0) ? "-0" : String(Number(`${five}e${at}`));
  return text.replaceAll("-", "−");
}
const facts = (element, named) => { for (const [name, fact] of Object.entries(named)) element.setAttribute(name, fact); };
const within = (low, value, high) => Math.max(low, Math.min(high, value));

/** view: what scrolls; svg: the drawing; text: for dot; dot: lays out, or null; wish: a direction that was asked for;
    told: hears that places have changed. */
function staging(view, svg, text, dot, wish = "", told = () => {}) {
  const all = (selector) => [...svg.querySelectorAll(selector)], shut = new Set(), spots = new Map();
  const nodes = new Map(all("g.node").map((each) => [each.id, each]));
  const frames = new Map(all("g.cluster").map((each) => [each.id, each]));
  const edges = all("g.edge").filter((each) => nodes.has(each.dataset.from) && nodes.has(each.dataset.to));
  const labels = new Map(edges.map((each) => [each.id, each.querySelector("text")]));
  const lines = text.split("\n"), heard = new AbortController(), { signal } = heard;
  const path = (element) => (element?.dataset.scope ?? "").split(" ").filter(Boolean);
  const element = (id) => nodes.get(id) ?? frames.get(id);
  const holder = (id) => path(element(id)).find((each) => shut.has(each)) ?? id;  // itself, or the closed box around it
  const shown = (id) => holder(id) === id;
  let way = svg.dataset.way.split(" "), wide = 1, high = 1, scale = 1, isPlaced = false;

  // --- boxes as large as their text ---

  const widths = new Map();
  const pen = document.createElement("canvas").getContext("2d");
  function long(words) {  // in sizes of the font
    pen.font = `100px ${getComputedStyle(svg).fontFamily}`;
    return pen.measureText(words).width / 100;
  }
  const texts = (node) => [...node.children].filter((each) => each.tagName === "text" && !(isBrief && each.classList.contains("ng-grad")));
  let isBrief = false;  // boxes have no gradients, where all of it could not be read with them
  /** Marks the lines of gradients; whether there are any. */
  function hasGrads() {
    for (const node of nodes.values()) for (const line of texts(node).slice(1)) if (line.textContent.startsWith("grad ")) line.classList.add("ng-grad");
    return all(".node > .ng-grad").length > 0;
  }
  function brief(wished) {
    isBrief = wished && hasGrads();
    svg.classList.toggle("ng-brief", isBrief);
    widths.clear();
    return isBrief;
  }
  const said = (line) => line.dataset.room ?? line.textContent;
  function sizeOf(id, flat) {
    if (frames.has(id)) return [TEXT * long(counted(id)) + 22, LINE + 12];
    const node = nodes.get(id);
    if (node.querySelector(".cell")) {
      const rect = node.querySelector("rect");
      return [Number(rect.getAttribute("width")), Number(rect.getAttribute("height"))];
    }
    if (!widths.has(id)) widths.set(id, texts(node).map((each) => TEXT * long(said(each))));
    const each = widths.get(id), [beside, above] = ROOMS[node.dataset.shape] ?? USUAL_ROOM;
    if (flat) return [each.reduce((sum, one) => sum + one + APART, -APART) + beside, THIN];
    return [Math.max(0, ...each) + beside, LINE * each.length + above];
  }
  function shape(id, flat) {
    const node = nodes.get(id), [across, down] = sizeOf(id, flat), [x, y] = [across / 2, down / 2];
    if (node.querySelector(".cell")) return;
    const sheets = node.dataset.shape === "sheets" ? BEHIND : 0;
    [...node.querySelectorAll("rect")].forEach((rect, at) => facts(rect, { x: sheets && !at ? sheets - x : -x,
      y: at ? sheets - y : -y, width: across - sheets, height: down - sheets,
      rx: node.dataset.shape === "pill" ? Math.min(ROUND, y) : rect.getAttribute("rx") }));
    node.querySelector("polygon")?.setAttribute("points", [[-x, 0], [8 - x, -y], [x - 8, -y], [x, 0], [x - 8, y], [8 - x, y]].join(" "));
    const each = widths.get(id);
    let end = -each.reduce((sum, one) => sum + one + APART, -APART) / 2;
    texts(node).forEach((line, at) => {
      facts(line, flat ? { x: end + each[at] / 2, y: BASE } : { x: 0, y: LINE * (at - (each.length - 1) / 2) + BASE });
      end += each[at] + APART;
    });
  }

  // --- scopes ---

  const title = (id) => frames.get(id).querySelector("title").textContent.trim();
  const inside = new Map();
  for (const node of nodes.values()) for (const scope of path(node)) inside.set(scope, (inside.get(scope) ?? 0) + 1);
  const thing = nodes.keys().next().value?.startsWith("tensor") ? "tensor" : "node";
  const counted = (id) => `${title(id)}: ${inside.get(id)} ${thing}${inside.get(id) > 1 ? "s" : ""}`;
  /** How many boxes would be seen if these scopes, too, were open. */
  const count = (opened = []) => new Set([...nodes.values()].map((node) => path(node).find((each) => shut.has(each) && !opened.includes(each)) ?? node.id)).size;
  const fits = (opened) => count(opened) <= MOST_LAID;

  // --- the text for dot: as Python wrote it, without what is closed ---

  const quoted = /^"((?:[^"\\]|\\.)*)"(?: -> "((?:[^"\\]|\\.)*)"\S*)? (?:\[id="((?:[^"\\]|\\.)*)")?/;
  const plain = (name) => name?.replace(/\\(.)/g, "$1");
  function folded([direction, flat], bundles, gone) {
    const open = [], out = [], size = ([across, down]) => `width=${across / 72} height=${down / 72}`;
    let closed = 0;  // how deep the closed scope is in which we are
    for (const line of lines) {
      const scope = line.match(/^subgraph "cluster_(.*)" \{$/)?.[1], [, name, target, edge] = line.match(quoted) ?? [];
      if (scope !== undefined) {
        open.push(plain(scope));
        if (!closed && shut.has(plain(scope))) { closed = open.length; out.push(`"${scope}" [${size(sizeOf(plain(scope)))}]`); continue; }
      }
      if (closed) {
        if (line === "}") { if (open.length === closed) closed = 0; open.pop(); }
        continue;
      }
      if (line === "}") open.length ? open.pop() : out.push(...[...bundles].flatMap(([, each]) => bundle(each)));
      if (target !== undefined ? gone.has(plain(edge)) : name?.startsWith("on ") && gone.has(plain(name.slice(3)))) continue;
      const sized = target === undefined && nodes.has(plain(name)) ? line.replace(/width=\S+ height=[\d.]+/, size(sizeOf(plain(name), flat))) : line;
      out.push(sized.replace(/rankdir=\w+/, `rankdir=${direction}`).replace(/ranksep=[\d.]+/, `ranksep=${flat ? 0.14 : 0.2}`).replace("labelloc=t", direction === "BT" ? "labelloc=b" : "$&"));
    }
    return out.join("\n");
  }
  function bundle([first, ...others]) {
    const [from, to, name] = [holder(first.dataset.from), holder(first.dataset.to), first.id].map((each) => JSON.stringify(each));
    if (!others.length) return [`${from} -> ${to} [id=${name}]`];
    const on = JSON.stringify(`on ${first.id}`), words = `${others.length + 1}×`;
    return [`${on} [width=${(TEXT * long(words) + 6) / 72} height=0.22]`, `${from} -> ${on} [id=${name} arrowhead=none]`, `${on} -> ${to} [id=${name}]`];
  }

  // --- places ---

  /** Everything where dot puts it, in the way that shows most; anchor: what stays where it is on the screen.
      False if dot is not there, or cannot do it. */
  function lay(anchor, moving = true) {
    if (!dot) return false;
    const bundles = new Map(), gone = new Set();  // arrows with an end in what is closed
    for (const edge of edges) {
      const [from, to] = [edge.dataset.from, edge.dataset.to].map(holder), isSame = from === edge.dataset.from && to === edge.dataset.to;
      if (!isSame) gone.add(edge.id);
      if (!isSame && from !== to) bundles.set(`${from}\n${to}`, [...(bundles.get(`${from}\n${to}`) ?? []), edge]);
      edge.style.display = isSame || (from !== to && bundles.get(`${from}\n${to}`)[0] === edge) ? "" : "none";
    }
    for (const [id, each] of [...nodes, ...frames]) each.style.display = shown(id) ? "" : "none";
    let made = null;
    try { made = best((each) => folded(each, bundles, gone)); } catch { return false; }  // too much for dot
    const before = new Map(spots), [stood] = anchor ? [spots.get(anchor)] : [], held = stood && onScreen(stood);
    way = made.way;
    spots.clear();
    put(made, bundles);
    grow();
    if (held && spots.get(anchor)) keep(anchor, held);
    if (moving && isPlaced && !matchMedia("(prefers-reduced-motion: reduce)").matches) move(before, anchor);
    isPlaced = true;
    told();
    return true;
  }
  /** Boxes whose texts keep room are laid out anew. laid: their places and direction, where no dot is at hand. */
  function spread(laid, anchor) {
    if (!dot && laid) [dot, wish] = [() => laid, laid.way];
    widths.clear();
    return lay(anchor, false);
  }
  /** The places in the first of the ways that shows all; else in the one that shows most. */
  function best(told) {
    const down = view.clientWidth < NARROW ? ["TB", "BT"] : null, many = count() > 150;
    const ways = WAYS.map(([each, ...flat]) => [wish || each, ...flat]).filter((_, at) => !wish || at % 2 === 0);
    if (down) ways.sort(([one], [other]) => down.includes(other) - down.includes(one));
    let found = null;
    for (const way of ways.filter((_, at) => !many || at % 2 === 0)) {
      const made = placesOf(dot(told(way)), way[1]);
      const seen = Math.min(1, (view.clientWidth * least) / ease() / made.wide) * Math.min(1, (view.clientHeight * least) / ease() / made.high);
      const isDown = !down || wish || down.includes(way[0]);  // where little room is across, others must show far more
      if (!found || seen > found.seen * (isDown ? 1 : 1.5) + 0.05) found = { ...made, way, seen };
      if (seen === 1) break;
    }
    return found;
  }
  /** Where dot puts all: boxes and frames, what stands on arrows, and their lines and heads. */
  function placesOf({ bb, objects = [], edges: lines = [] }, flat) {
    const [, , across, tall] = bb.split(",").map(Number), made = { boxes: new Map(), on: new Map(), drawn: new Map(), wide: across + 2 * MARGIN, high: tall + 2 * MARGIN };
    const at = (spot) => { const [x, y] = spot.split(",").map(Number); return [x + MARGIN, tall - y + MARGIN]; };
    for (const each of objects) {
      const id = each.name.replace(/^cluster_/, "");
      if (each.name !== id) {
        const [low, under, far, over] = each.bb.split(",").map(Number);
        made.boxes.set(id, [...at(`${low},${over}`), far - low, over - under]);
      } else if (id.startsWith("on ")) made.on.set(id.slice(3), at(each.pos));
      else if (element(id)) {
        const [x, y] = at(each.pos), [width, height] = sizeOf(id, flat);
        made.boxes.set(id, [x - width / 2, y - height / 2, width, height]);
      }
    }
    for (const each of lines) if (each.id) for (const spline of each.pos.split(";")) {
      const points = spline.split(" "), ends = points.filter((point) => /^[es],/.test(point)), [first, ...rest] = points.slice(ends.length).map(at);
      const tip = ends.find((end) => end[0] === "e"), found = made.drawn.get(each.id) ?? { line: "", head: "" };
      found.line += ` M${first} C${rest.join(" ")}`;
      if (tip) found.head = head(rest.at(-1), at(tip.slice(2)));
      made.drawn.set(each.id, found);
    }
    return made;
  }
  function put({ boxes, on, drawn, wide: across, high: down, way: [, flat] }, bundles) {
    [wide, high] = [across, down];
    svg.dataset.way = way.join(" ");
    for (const [id, box] of boxes) {
      spots.set(id, box);
      if (frames.has(id)) frame(id);
      else { shape(id, flat); nodes.get(id).setAttribute("transform", `translate(${middle(box).join(" ")})`); }
    }
    for (const edge of edges) if (drawn.has(edge.id)) line(edge, drawn.get(edge.id), on.get(edge.id), bundles);
  }
  function head([x, y], [a, b]) {
    const length = Math.hypot(a - x, b - y) || 1, [across, down] = [((b - y) / length) * 2.5, ((a - x) / length) * 2.5];
    return [[a, b], [x + across, y - down], [x - across, y + down]].join(" ");
  }
  function line(edge, { line, head }, spot, bundles) {
    edge.querySelector("path").setAttribute("d", line);
    edge.querySelector("polygon").setAttribute("points", head);
    const own = labels.get(edge.id), [first, ...others] = bundles.get(["from", "to"].map((end) => holder(edge.dataset[end])).join("\n")) ?? [];
    edge.querySelector(".ng-count")?.remove();
    if (own) own.style.display = first ? "none" : "";
    const words = first && others.length ? edge.appendChild(make("svg:text", { class: "ng-count", "text-anchor": "middle", "font-size": TEXT }, `${others.length + 1}×`)) : own;
    if (words && spot) facts(words, { x: spot[0], y: spot[1] + BASE });
  }
  function frame(id) {
    const [x, y, width, height] = spots.get(id), each = frames.get(id), isShut = shut.has(id), size = Math.max(isShut ? TEXT : SMALL, isShut ? 0 : Math.min(24, READ / scale));
    each.classList.toggle("ng-shut", isShut);
    const [plate, box] = [each.querySelector(".ng-plate"), each.querySelector("rect")], words = each.querySelector("text");
    facts(box, { x, y, width, height });
    const letters = [...title(id)], short = letters.map((_, at) => `${letters.slice(0, -at - 1).join("")}…`);
    words.textContent = isShut ? counted(id) : [title(id), ...short].find((said) => size * long(said) < width - 12) ?? "";
    facts(words, { x: isShut ? x + width / 2 : x + 8, y: isShut ? y + height / 2 + BASE : y + 3 + size, "font-size": size,
      "text-anchor": isShut ? "middle" : "start", "aria-label": `${isShut ? "open" : "close"} ${title(id)}`, "aria-expanded": !isShut });
    facts(plate, { x: x + 6, y: y + 2, width: isShut ? 0 : size * long(words.textContent) + 4, height: size + 4 });
  }
  /** Boxes glide from where they were; arrows come when they are there. */
  function move(before, anchor) {
    const [one, other] = [before.get(anchor), spots.get(anchor)], by = one && other ? [0, 1].map((axis) => middle(other)[axis] - middle(one)[axis]) : [0, 0];
    for (const [id, node] of nodes) {
      if (!shown(id) || !spots.has(id)) continue;
      const start = before.get(id) ?? [...path(node)].reverse().map((each) => before.get(each)).find(Boolean) ?? spots.get(id);
      const [from, to] = [middle(start).map((side, axis) => side + by[axis]), middle(spots.get(id))];
      if (Math.hypot(from[0] - to[0], from[1] - to[1]) < 1) continue;
      node.animate([from, to].map(([x, y]) => ({ transform: `translate(${x}px, ${y}px)` })), { duration: MOTION, easing: "ease-in-out" });
    }
    for (const each of [...edges, ...frames.values()]) each.animate([{ opacity: 0 }, { opacity: 0, offset: 0.6 }, { opacity: 1 }], MOTION * 1.5);
  }
  /** Places that Python gave, of a drawing that dot was not asked for here. */
  function read() {
    [, , wide, high] = svg.getAttribute("viewBox").split(" ").map(Number);
    for (const [id, node] of nodes) {
      const [x, y] = node.getAttribute("transform").match(/-?[\d.]+/g).map(Number), box = (node.querySelector("rect, polygon") ?? node).getBBox();
      const sheets = node.dataset.shape === "sheets" ? BEHIND : 0;
      spots.set(id, [x + box.x - sheets, y + box.y, box.width + sheets, box.height + sheets]);
    }
    for (const [id, each] of frames) spots.set(id, ["x", "y", "width", "height"].map((side) => Number(each.querySelector("rect").getAttribute(side))));
    isPlaced = true;
  }
  const middle = ([x, y, width, height]) => [x + width / 2, y + height / 2];

  // --- the view: it scrolls over the drawing ---

  const shift = () => [Math.max(0, (view.clientWidth - wide * scale) / 2), Math.max(0, (view.clientHeight - high * scale) / 2)];
  const onScreen = (box) => { const [x, y] = middle(box), [left, top] = shift(); return [x * scale + left - view.scrollLeft, y * scale + top - view.scrollTop]; };
  const whole = () => Math.min(view.clientWidth / wide, view.clientHeight / high);
  const least = svg.querySelector(".cell text") ? SMALL : TEXT;  // the smallest text, names of frames aside
  const smallest = LEAST + 0.15;  // pixels of a text where not all fits; whole pixels may take a little of it
  const ease = () => (view.clientWidth < NARROW ? smallest : READ);  // by which a layout is chosen
  const readable = () => least * scale > smallest - 0.1;
  function grow(next = scale) {
    scale = within(0.02, next, 4);
    const [left, top] = shift();
    facts(svg, { width: Math.floor(wide * scale), height: Math.floor(high * scale), viewBox: `0 0 ${wide} ${high}` });
    Object.assign(svg.style, { marginLeft: `${left}px`, marginTop: `${top}px` });
    write();
    map();
  }
  /** Text is written down to 8 pixels; below, names as large as that, where there is room for them; then boxes alone. */
  function write() {
    const small = TEXT * scale < 7.9, font = 8.2 / scale;
    svg.classList.toggle("ng-far", small);
    for (const [id, node] of nodes) {
      const first = texts(node)[0];
      if (!first || !shown(id)) continue;
      const fits = small && spots.has(id) && font * long(first.textContent) < spots.get(id)[2] + 2 * MARGIN && font < spots.get(id)[3] + MARGIN;
      first.classList.toggle("ng-short", fits);
      first.setAttribute("font-size", fits ? font : TEXT);
    }
    for (const id of frames.keys()) if (spots.has(id)) frame(id);
  }
  function zoom(by, x = view.clientWidth / 2, y = view.clientHeight / 2) {
    const [left, top] = shift(), [atX, atY] = [(view.scrollLeft + x - left) / scale, (view.scrollTop + y - top) / scale];
    grow(scale * by);
    const [toLeft, toTop] = shift();
    view.scrollTo(atX * scale + toLeft - x, atY * scale + toTop - y);
  }
  const largest = document.documentElement.classList.contains("ng-own") ? 2 : 1;  // a page of our own is used whole
  const fit = () => grow(Math.min(largest, whole()));
  /** This box in the middle, or from its beginning if it is larger than the view. */
  function center(id) {
    const box = spots.get(holder(id));
    if (!box) return;
    const to = [view.clientWidth, view.clientHeight].map((room, axis) => {
      const size = box[axis + 2] * scale;
      return box[axis] * scale - (size < room ? (room - size) / 2 : MARGIN);
    });
    view.scrollTo(...to);
  }
  function keep(id, [x, y]) {
    const [nowX, nowY] = onScreen(spots.get(id));
    view.scrollBy(nowX - x, nowY - y);
    const [, , width, height] = spots.get(id).map((side) => side * scale);
    if (width > view.clientWidth || height > view.clientHeight) center(id);
  }
  /** All of it if that can be read; else, at the size that can, the part with most boxes around one. */
  function begin(id) {
    fit();
    if (readable()) return true;
    grow(smallest / least);
    const spot = spots.get(holder(id ?? "")) ?? [wide, high, 0, 0], room = [view.clientWidth / scale, view.clientHeight / scale];
    const seen = [...spots].filter(([each]) => shown(each) && (!frames.has(each) || shut.has(each))).map(([, box]) => box);
    const starts = [0, 1].map((axis) => {  // where the view may begin, so that the box is seen whole
      const [low, far] = [spot[axis] + spot[axis + 2] + MARGIN - room[axis], spot[axis] - MARGIN].map((at) => within(0, at, Math.max(0, [wide, high][axis] - room[axis])));
      return Array.from({ length: 13 }, (_, at) => low + ((far - low) * at) / 12);
    });
    let most = -1, to = [0, 0];
    for (const x of starts[0]) for (const y of starts[1]) {
      const found = seen.filter((box) => box[0] >= x && box[1] >= y && box[0] + box[2] <= x + room[0] && box[1] + box[3] <= y + room[1]).length;
      if (found > most) [most, to] = [found, [x, y]];
    }
    view.scrollTo(to[0] * scale, to[1] * scale);
    settle();
    return false;
  }

  // --- where one is: all of it, small, in a corner ---

  const here = make("svg:rect", { class: "ng-here-view" }), lit = make("svg:path", { class: "ng-map-now" }), every = make("svg:path", { class: "ng-map-all" });
  const overview = make("svg:svg", { class: "ng-map", "aria-hidden": "true" }, every, lit, here);
  view.after(overview);
  const outline = ([x, y, width, height]) => `M${x} ${y}h${width}v${height}h${-width}z`;
  function map(always = false) {
    const isWhole = wide * scale <= view.clientWidth + 1 && high * scale <= view.clientHeight + 1;
    overview.style.display = isWhole && !always ? "none" : "";
    here.style.display = always ? "none" : "";
    if (isWhole && !always) return;
    const share = Math.min(Math.min(180, view.clientWidth * 0.3) / wide, 140 / high);
    facts(overview, { viewBox: `0 0 ${wide} ${high}`, width: Math.max(24, wide * share), height: Math.max(24, high * share) });
    every.setAttribute("d", [...spots].filter(([id]) => shown(id) && (nodes.has(id) || shut.has(id))).map(([, box]) => outline(box)).join(""));
    if (!overview.style.left) settle();
    follow();
  }
  const follow = () => facts(here, { x: view.scrollLeft / scale, y: view.scrollTop / scale, width: Math.min(wide, view.clientWidth / scale), height: Math.min(high, view.clientHeight / scale) });
  /** The overview stands in the corner that hides least. */
  function settle() {
    const room = view.getBoundingClientRect(), own = overview.getBoundingClientRect(), around = (view.parentNode ?? view).getBoundingClientRect(), [across, down] = shift();
    const place = (x, y) => [x * scale + across - view.scrollLeft, y * scale + down - view.scrollTop];
    const square = (x, y, reach) => [...place(x, y).map((side) => side - reach), 2 * reach, 2 * reach];
    const seen = [...spots].filter(([id]) => shown(id) && (nodes.has(id) || shut.has(id))).map(([, [x, y, width, height]]) => [...place(x, y), width * scale, height * scale]);
    for (const edge of edges) if (edge.style.display !== "none") {  // where an arrow ends
      const [x, y] = edge.querySelector("polygon").getAttribute("points").split(/[ ,]/).map(Number);
      if (!isNaN(y)) seen.push(square(x, y, 6));
    }
    for (const edge of edges) if (edge.classList.contains("ng-lit")) {  // an arrow at which one looks weighs more than a box
      const path = edge.querySelector("path"), long = path.getTotalLength();
      for (let at = 0; at <= 1; at += 1 / 16) {
        const { x, y } = path.getPointAtLength(long * at);
        seen.push(square(x, y, 20));
      }
    }
    const hidden = ([left, top]) => seen.reduce((sum, [x, y, width, height]) => sum + Math.max(0, Math.min(x + width, left + own.width) - Math.max(x, left)) * Math.max(0, Math.min(y + height, top + own.height) - Math.max(y, top)), 0);
    const ends = [view.clientWidth - own.width - 6, view.clientHeight - own.height - 6], corners = [ends, [6, ends[1]], [ends[0], 6], [6, 6]];
    const [left, top] = corners.reduce((one, other) => (hidden(other) < hidden(one) ? other : one));
    Object.assign(overview.style, { left: `${left + room.left - around.left}px`, top: `${top + room.top - around.top}px` });
  }
  /** Which boxes the overview shows lit. */
  const point = (ids) => lit.setAttribute("d", ids.map((id) => spots.get(holder(id))).filter(Boolean).map(outline).join(""));
  view.addEventListener("scroll", follow, { signal });
  const go = (event) => {
    const room = overview.getBoundingClientRect(), share = Math.min(room.width / wide, room.height / high);
    const at = [(event.clientX - room.left - (room.width - wide * share) / 2) / share, (event.clientY - room.top - (room.height - high * share) / 2) / share];
    view.scrollTo(at[0] * scale - view.clientWidth / 2, at[1] * scale - view.clientHeight / 2);
  };
  overview.addEventListener("pointerdown", (event) => { overview.setPointerCapture?.(event.pointerId); go(event); event.preventDefault(); });
  overview.addEventListener("pointermove", (event) => event.buttons & 1 && go(event));

  // --- moving it by hand ---

  let dragged = false;  // then the click that follows is none
  view.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button || event.pointerType === "touch" || event.target.closest("button, input")) return;  // a finger scrolls
    const [fromX, fromY, left, top] = [event.clientX, event.clientY, view.scrollLeft, view.scrollTop];
    const drag = (moved) => { dragged ||= Math.hypot(moved.clientX - fromX, moved.clientY - fromY) > 4; if (dragged) view.scrollTo(left + fromX - moved.clientX, top + fromY - moved.clientY); };
    const stop = () => { removeEventListener("pointermove", drag); removeEventListener("pointerup", stop); };
    addEventListener("pointermove", drag);
    addEventListener("pointerup", stop);
  }, { signal });
  view.addEventListener("wheel", (event) => {
    if (!(event.ctrlKey || event.metaKey)) return;  // else it scrolls
    const room = view.getBoundingClientRect();
    zoom(Math.exp(-event.deltaY / 300), event.clientX - room.left, event.clientY - room.top);
    event.preventDefault();
  }, { passive: false, signal });

  svg.style.maxWidth = "none";
  return { nodes, frames, edges, spots, shut, path, holder, shown, fits, lay, spread, brief, hasGrads, read, grow, zoom, fit, whole, begin, center, point, settle, readable,
    wasDragged: () => dragged, isPlaced: () => isPlaced, asMap: () => map(true), end: () => { heard.abort(); overview.remove(); } };
}
