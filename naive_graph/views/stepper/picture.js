// The drawing: which one is shown, what of it is lit, how values travel along it, and what part of it is seen.

const SMALLEST = 9;   // pixels, of a text at the size at which it is shown
const EDGE = 26;      // pixels around what must be seen

function picturing(walk, teller, act) {
  const frame = make("div", { class: "ng-drawing", tabindex: 0, role: "group", "aria-label": `Graph: ${walk.title}` });
  const svgs = new Map(), fits = new Map();
  let shown = null;      // the key of the drawing in place
  let view = null;       // the step that is shown
  let zoom = 1;
  let own = null;        // what the learner chose: "zoom", or "fit" for the whole however small
  let near = null;       // whether the learner wants close-ups; null for what can be read
  let opened = null;     // the drawing with a scope that the learner opened
  let close = new Map(); // the boxes of the close-up, by their ids
  let travelling = 0;    // the number of the journey that is under way
  const stops = new Set();

  const part = (id) => frame.querySelector(`[id="${CSS.escape(id)}"]`);
  const svg = () => frame.querySelector("svg");

  // --- which drawing ---

  /** A drawing as an element, made once; each box knows what kind of node it is. */
  function made(key) {
    if (!svgs.has(key)) {
      const element = parsed(walk.drawings[key].svg, "image/svg+xml");
      element.removeAttribute("height");
      for (const each of element.querySelectorAll("[tabindex]")) each.removeAttribute("tabindex");  // keys walk
      svgs.set(key, element);
    }
    return svgs.get(key);
  }

  function kept(key) {
    const found = walk.drawings[key], boxes = new Map();
    for (const [box, rows] of Object.entries(found.folded ?? {})) for (const row of rows) boxes.set(row, box);
    return (row) => (made(key).querySelector(`[id="row-${row}"]`) ? `row-${row}` : boxes.get(row) ?? row);
  }

  /** The id of the box in which a node is drawn: its own, that of a folded scope, or the one for all others. */
  function boxOf(row) {
    if (row === null || row === undefined) return null;
    if (!shown?.startsWith("near")) return part(String(boxName(row)));
    return close.get(closeName(row, view.from.has(row) === !view.back ? 0 : 2));
  }

  /** The id of a close-up's box for a node, on a side: its own, or the one for all that there is no room for. */
  function closeName(row, side) {
    const own = typeof row === "number" ? `row-${row}` : row;
    return close.has(own) ? own : `rest-${side}`;
  }

  const names = new Map();
  function boxName(row) {
    if (typeof row !== "number") return teller.box(row);
    if (!names.has(shown)) names.set(shown, kept(shown));
    return names.get(shown)(row);
  }

  /** An edge by its id, or the bundle that it runs in where one of its ends is folded up or left out. */
  function edgeOf(id) {
    const there = part(id) ?? part(teller.bundle?.(id) ?? ""), [, source, target] = id.split("-");
    if (there || !id.startsWith("edge")) return there;
    const ends = [Number(source), Number(target)].map((row, at) => closeName(row, 2 * at).replace("row-", ""));
    if (shown.startsWith("near")) return part(`bundle-${ends.join("-")}`);
    const end = boxName(Number(target));
    return part(`bundle-${boxName(Number(source)) ?? `rest-${end}`}-${end}`);
  }

  function show(next, moving) {
    const before = view;
    view = { ...next, from: new Set(next.from), to: new Set(next.to) };
    if (opened && near === false) near = null;  // what the learner opened is kept, if it shows who acts
    const journey = (travelling += 1);
    for (const each of frame.querySelectorAll(".ng-token")) each.remove();
    put(keyFor());
    write();
    see();
    const grads = boxOf(view.taker)?.querySelector(".ng-grad");
    if (moving && before) travel(view, edgeOf, grads, act.pace(), () => journey === travelling);
  }

  /** The drawing that shows this step: one that can be read and holds the acting node, else a close-up. */
  function keyFor() {
    const there = [...(opened ? [opened] : []), ...view.drawings].filter((key) => walk.drawings[key]);
    if (view.acting === null) return there[0] ?? (view.focus === undefined ? null : `near ${view.index}`);
    const id = typeof view.acting === "number" ? `row-${view.acting}` : view.acting;
    const whole = there.find((key) => made(key).querySelector(`[id="${CSS.escape(id)}"]`));
    const free = near === null && own === null;  // the learner chose nothing
    const close = near === true || whole === undefined || (free && !readable(whole, view.acting));
    return close ? `near ${view.index}` : whole;
  }

  /** Whether a node fits the frame with its neighbours while its text can be read; if many do not, none is said to. */
  function readable(key, row) {
    const size = `${key} ${frame.clientWidth} ${frame.clientHeight}`;
    if (!fits.has(size)) fits.set(size, tooWide(key));
    return !fits.get(size).has(row);
  }

  /** The nodes that would be cut off from their neighbours. */
  function tooWide(key) {
    put(key);
    const least = leastZoom(), wide = frame.clientWidth - 2 * EDGE, high = frame.clientHeight - 2 * EDGE;
    const found = new Set(), boxes = new Map(), name = (id) => (id.startsWith("row-") ? Number(id.slice(4)) : id);
    if (frame.clientWidth < 50 || whole() >= least) return found;
    for (const group of svg().querySelectorAll(".node")) boxes.set(name(group.id), group.getBBox());
    for (const row of boxes.keys()) {
      if (typeof row === "string" && !walk.flow) continue;  // a folded box does not act
      const near = [row, ...teller.around(view, row)];
      const all = near.map((each) => boxes.get(each) ?? part(String(boxName(each)))?.getBBox()).filter(Boolean);
      const left = Math.min(...all.map((box) => box.x)), right = Math.max(...all.map((box) => box.x + box.width));
      const top = Math.min(...all.map((box) => box.y)), bottom = Math.max(...all.map((box) => box.y + box.height));
      if ((right - left) * least > wide || (bottom - top) * least > high) found.add(row);
    }
    return found.size > boxes.size / 4 ? new Set(boxes.keys()) : found;
  }

  function put(key) {
    if (key === shown) return;
    shown = key;
    if (key === null) return void frame.replaceChildren(make("p", { class: "ng-none" }, "There is no node."));
    if (key.startsWith("near")) {
      const lit = new Set([...view.from, ...view.to, view.taker]);
      const rows = Math.floor((frame.clientHeight - 30) / ((HIGH + GAP) * 0.72));
      frame.replaceChildren(closeUp(teller.near(view), lit, Math.max(2, Math.min(9, rows))));
      close = new Map([...frame.querySelectorAll(".node")].map((box) => [box.id, box]));
    } else frame.replaceChildren(made(key));
    const box = svg().viewBox.baseVal;
    svg().dataset.width = String(box && box.width ? box.width : 400);
    for (const group of svg().querySelectorAll('g[id^="row-"]')) {
      if (!shown.startsWith("near")) group.classList.add(`ng-kind-${teller.kindOf(view, Number(group.id.slice(4)))}`);
      if (group.dataset.heard) continue;
      group.dataset.heard = "yes";
      group.addEventListener("click", () => act.clicked(Number(group.id.slice(4))));
    }
    for (const group of svg().querySelectorAll('g[id^="scope-"]')) open(group);
    fit();
  }

  /** A folded box opens where there is a drawing with it open; an open one folds. */
  function open(group) {
    const box = group.id, rows = new Set(walk.drawings[shown]?.folded?.[box] ?? []);
    const inside = Object.keys(walk.drawings).find((key) => key.startsWith(`${shown.split("/")[0]}/`)
      && [...rows].some((row) => made(key).querySelector(`[id="row-${row}"]`)));
    const folds = !rows.size && shown.includes("/");
    if (group.dataset.heard || (!inside && !folds)) return;
    group.dataset.heard = "yes";
    const turn = () => { opened = folds ? shown.split("/")[0] : inside; near = false; shown = null; again(); };
    const said = { tabindex: 0, role: "button", "aria-expanded": String(folds) };
    for (const [name, value] of Object.entries(said)) group.setAttribute(name, value);
    group.addEventListener("click", turn);
    group.addEventListener("keydown", (event) => event.key === "Enter" && turn());
  }

  function again() {
    put(opened && near === false ? opened : keyFor());
    write();
    see();
  }

  // --- what is written and lit ---

  function write() {
    for (const group of svg()?.querySelectorAll('g[id^="row-"]') ?? []) {
      const [value, grad] = view.texts(Number(group.id.slice(4)));
      const [values, grads] = [group.querySelector(".ng-value"), group.querySelector(".ng-grad")];
      say(values, value);
      say(grads, grad && `${view.slope} ${grad}`);
      group.classList.toggle("ng-done", value !== "");
    }
    paint();
  }

  function paint() {
    for (const name of ["now", "from", "to", "taker", "queued", "lit", "stop", "back"]) {
      for (const each of frame.querySelectorAll(`.ng-${name}`)) each.classList.remove(`ng-${name}`);
    }
    for (const each of frame.querySelectorAll(".ng-octagon, .ng-pointer, .ng-count, .ng-turned")) each.remove();
    if (!view || !svg()) return;
    for (const box of new Set([...stops].map(boxOf))) {
      box?.classList.add("ng-stop");
      sign(box, "ng-octagon", (x, y, wide) => `M${x - wide / 2 - 3} ${y - 2} h6 l4 4 v6 l-4 4 h-6 l-4 -4 v-6 z`);
    }
    if (act.level() === 2) for (const row of view.queue) boxOf(row)?.classList.add("ng-queued");
    for (const box of new Set([...view.from].map(boxOf))) box?.classList.add("ng-from");
    for (const box of new Set([...view.to].map(boxOf))) box?.classList.add("ng-to");
    boxOf(view.taker)?.classList.add("ng-taker");
    const now = boxOf(view.acting);
    now?.classList.add("ng-now");
    sign(now, "ng-pointer", (x, y) => `M${x} ${y - 2} l-5 -8 h10 z`);
    for (const id of view.edges) {
      const edge = edgeOf(id);
      edge?.classList.add("ng-lit");
      if (view.back) turned(edge);
    }
    for (const [name, arrow, size] of view.counts ?? []) if (size) counted(name, arrow, size);
  }

  /** How many samples lie in a stream, near the head of its arrow. */
  function counted(name, arrow, size) {
    const path = part(arrow)?.querySelector("path");
    if (!path) return;
    const at = path.getPointAtLength(path.getTotalLength() * 0.8);
    path.parentNode.parentNode.append(pill(at, String(size), "ng-count", `${name}: ${size}`));
  }

  // --- zooming and scrolling ---

  function scale(factor) {
    zoom = factor;
    if (!svg()) return;
    svg().setAttribute("width", String(Number(svg().dataset.width) * zoom));
    for (const text of svg().querySelectorAll(".edge text")) {  // which operand it is: the sentence says so, too
      const small = own === null && zoom * parseFloat(getComputedStyle(text).fontSize) < SMALLEST;
      text.setAttribute("visibility", small ? "hidden" : "visible");
    }
  }

  /** The zoom at which the smallest text can just be read. */
  function leastZoom() {
    if (shown.startsWith("near")) return SMALLEST / 13;
    const sizes = [...svg().querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize));
    return SMALLEST / Math.min(14, ...sizes.filter((size) => size >= 10));
  }

  /** The zoom at which the whole drawing is seen. */
  function whole() {
    const width = Number(svg().dataset.width);
    const height = (width * svg().viewBox.baseVal.height) / svg().viewBox.baseVal.width;
    return Math.min((frame.clientWidth - 6) / width, (frame.clientHeight - 18) / height);
  }

  /** As the learner chose; else as large as the frame, within what can be read: a larger drawing scrolls. */
  function fit() {
    if (!svg() || frame.clientWidth < 50) return;
    if (own === "zoom" && !shown.startsWith("near")) return scale(zoom);
    scale(Math.min(2, own === "fit" ? whole() : Math.max(leastZoom(), whole())));
  }

  function zoomBy(factor) {
    if (!svg()) return;
    const before = zoom, half = { x: frame.clientWidth / 2, y: frame.clientHeight / 2 };
    own = "zoom";
    scale(Math.max(Math.min(zoom, 0.05), Math.min(8, zoom * factor)));
    frame.scrollLeft = ((frame.scrollLeft + half.x) * zoom) / before - half.x;  // what is in the middle stays there
    frame.scrollTop = ((frame.scrollTop + half.y) * zoom) / before - half.y;
  }

  /** The whole drawing, however small; or back to what can be read. */
  function fitted() {
    own = own === "fit" ? null : "fit";
    near = shown?.startsWith("near") && own ? false : null;
    shown = null;
    again();
  }

  /** Scroll so that the acting node, what it takes and what it gives to are seen; before a run, who acts first. */
  function see() {
    const starts = view.acting === null && view.focus !== undefined;
    const before = starts ? [view.focus, ...teller.around(view, view.focus)] : [];
    const groups = new Set([view.acting, view.taker, ...view.from, ...view.to, ...before].map(boxOf));
    const boxes = [...groups].filter(Boolean).map((each) => each.getBoundingClientRect());
    if (!boxes.length) return;
    const room = frame.getBoundingClientRect();
    const least = (side) => Math.min(...boxes.map((box) => box[side]));
    const most = (side) => Math.max(...boxes.map((box) => box[side]));
    const into = (low, high, from, to, first) => {  // how far to scroll; what does not fit begins with who acts
      if (low >= from + 8 && high <= to - 8) return 0;
      return high - low <= to - from - 16 ? (low + high) / 2 - (from + to) / 2 : first - (from + to) / 2;
    };
    frame.scrollLeft += into(least("left"), most("right"), room.left, room.right, (boxes[0].left + boxes[0].right) / 2);
    frame.scrollTop += into(least("top"), most("bottom"), room.top, room.bottom, (boxes[0].top + boxes[0].bottom) / 2);
  }

  let room = "";
  const resized = new ResizeObserver(() => {  // a window was resized, or a notebook showed what it had hidden
    if (room === `${frame.clientWidth} ${frame.clientHeight}` || !view) return;
    room = `${frame.clientWidth} ${frame.clientHeight}`;
    shown = null;
    again();
  });
  resized.observe(frame);

  dragging(frame, zoomBy);
  return { frame, show, paint, stops, zoomBy, fitted, toggle, end: () => resized.disconnect() };

  /** A close-up, or the whole drawing. */
  function toggle() {
    near = !shown?.startsWith("near");
    own = shown = null;
    again();
  }
}
