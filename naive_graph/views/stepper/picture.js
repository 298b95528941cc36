// The drawing: what of it is lit, how values travel along it, which scopes are open, and what part of it is seen.

const SMALLEST = 10;  // pixels, of a text at the size at which it is shown
const EDGE = 26;      // pixels around what must be seen
const MANY = 300;     // nodes, beyond which scopes begin closed

function picturing(walk, teller, act) {
  const frame = make("div", { class: "ng-drawing ng-view", tabindex: 0, role: "group", "aria-label": `Graph: ${walk.title}` });
  const box = make("div", { class: "ng-around" }, frame);
  let stage = null;      // the drawing in place: a whole graph, or the map of one that is shown close up
  let drawing = null;    // what it was made of
  let close = null;      // the boxes of the close-up, by their ids, if there is one
  let view = null;       // the step that is shown
  let own = null;        // what the learner chose: "zoom", or "fit" for the whole however small
  let near = null;       // whether the learner wants close-ups; null for what can be read
  let opened = new Set();  // the scopes that are open because somebody in them acts
  let travelling = 0;    // the number of the journey that is under way
  let dot = null;
  const stops = new Set();

  const part = (id) => frame.querySelector(`[id="${CSS.escape(id)}"]`);
  const svg = () => frame.querySelector("svg");

  // --- which drawing ---

  /** The drawing of the plan at hand; each box knows what kind of node it is. */
  function made() {
    if (drawing === view.drawing) return;
    stage?.end();
    [drawing, stage, opened] = [view.drawing, null, new Set()];
    if (!drawing) return;
    const element = parsed(drawing.svg, "image/svg+xml");
    for (const each of element.querySelectorAll("[tabindex]")) each.removeAttribute("tabindex");  // keys walk
    frame.replaceChildren(element);
    stage = Object.assign(staging(frame, element, drawing.dot, dot), { element });
    if (!stage.fits([]) || stage.nodes.size > MANY) for (const id of stage.frames.keys()) stage.shut.add(id);
    for (const [id, group] of stage.nodes) if (id.startsWith("row-")) {
      const row = Number(id.slice(4));
      group.classList.add(`ng-kind-${teller.kindOf(view, row)}`);
      group.addEventListener("click", () => !stage.wasDragged() && act.clicked(row));
    }
    for (const [id, group] of stage.frames) opens(id, group);
  }

  /** A closed scope opens, an open one closes, by its name. */
  function opens(id, group) {
    const words = group.querySelector("text"), { shut, lay } = stage;
    const turn = () => { shut.has(id) ? shut.delete(id) : shut.add(id); opened.delete(id); lay(id); again(); words.focus({ preventScroll: true }); };
    for (const [name, value] of Object.entries({ tabindex: 0, role: "button" })) words.setAttribute(name, value);
    group.addEventListener("click", (event) => !stage.wasDragged() && (shut.has(id) || event.target === words) && turn());
    words.addEventListener("keydown", (event) => { if (event.key === "Enter") { turn(); event.stopPropagation(); } });
  }

  /** The id of the box in which a node is drawn: its own, that of a closed scope, or of all that are alike. */
  function boxName(row) {
    const id = typeof row === "number" ? view.alike?.(row) ?? `row-${row}` : teller.box(row);
    return stage ? stage.holder(id) : id;
  }
  function boxOf(row) {
    if (row === null || row === undefined) return null;
    return close ? close.get(closeName(row, view.from.has(row) === !view.back ? 0 : 2)) : part(boxName(row));
  }
  /** The id of a close-up's box for a node, on a side: its own, or the one for all that there is no room for. */
  function closeName(row, side) {
    const own = typeof row === "number" ? `row-${row}` : row;
    return close.has(own) ? own : `rest-${side}`;
  }

  /** An edge by its id, or the bundle that it runs in where one of its ends is folded up or left out. */
  function edgeOf(id) {
    const there = part(id) ?? part(teller.bundle?.(id) ?? "");
    if (there && there.style.display !== "none") return there;
    if (!id.startsWith("edge")) return null;
    const ends = id.split("-").slice(1, 3).map(Number);
    if (close) return part(`bundle-${ends.map((row, at) => closeName(row, 2 * at).replace("row-", "")).join("-")}`);
    const [from, to] = ends.map(boxName), holds = (end, box) => stage.holder(end) === box;
    return stage.edges.find((each) => each.style.display !== "none" && holds(each.dataset.from, from) && holds(each.dataset.to, to)) ?? null;
  }

  function show(next, moving) {
    const before = view;
    view = { ...next, from: new Set(next.from), to: new Set(next.to) };
    const journey = (travelling += 1);
    for (const each of frame.querySelectorAll(".ng-token")) each.remove();
    place();
    write();
    see();
    const grads = boxOf(view.taker)?.querySelector(".ng-grad");
    if (moving && before) travel(view, edgeOf, grads, boxOf(view.acting), act.pace(), () => journey === travelling);
  }

  const asked = () => view.acting ?? view.focus;

  /** The whole graph, where who acts can be read in it with its neighbours; else those close up, and the whole as a map. */
  function place() {
    const isMap = Boolean(view.alike);
    if (dot) made();
    if (stage) {
      if (svg() !== stage.element) frame.replaceChildren(stage.element);
      reveal();
    }
    const wants = near === true || isMap || !stage || (near === null && own === null && view.acting !== null && !readable());
    close = null;
    if (wants && asked() !== undefined) closeUpNow();
    else if (!stage) frame.replaceChildren(make("p", { class: "ng-none" }, "There is no node."));
    stage?.point([...new Set([asked(), view.taker].filter((row) => row !== null && row !== undefined).map(boxName))]);
  }

  /** The scopes around who acts are open; those that were open for another are closed. */
  function reveal() {
    const { shut, path, nodes, fits, isPlaced, lay } = stage, who = view.acting, node = nodes.get(typeof who === "number" ? `row-${who}` : who);
    const wanted = node ? path(node) : [];
    let isNew = !isPlaced();
    if (wanted.some((id) => shut.has(id))) {
      for (const id of opened) if (!wanted.includes(id)) shut.add(id);
      opened = new Set();
      if (fits(wanted)) for (const id of wanted) if (shut.delete(id)) opened.add(id);
      isNew = true;
    }
    if (isNew) { lay(null, view.acting !== null && stage.isPlaced()); fit(); }
  }

  /** Whether who acts fits the frame with its neighbours while their text can be read. */
  function readable() {
    if (frame.clientWidth < 50) return true;
    const ids = [asked(), ...teller.around(view, asked())].filter((row) => row !== undefined).map(boxName);
    const boxes = ids.map((id) => stage.spots.get(id)).filter(Boolean), least = SMALLEST / TEXT;
    const reach = (axis) => Math.max(...boxes.map((each) => each[axis] + each[axis + 2])) - Math.min(...boxes.map((each) => each[axis]));
    return !boxes.length || (reach(0) * least < frame.clientWidth - 2 * EDGE && reach(1) * least < frame.clientHeight - 2 * EDGE);
  }

  function closeUpNow() {
    const lit = new Set([...view.from, ...view.to, view.taker]);
    const rows = Math.floor((frame.clientHeight - 30) / ((HIGH + GAP) * 0.72));
    const drawn = closeUp(teller.near(view), lit, Math.max(2, Math.min(9, rows)));
    frame.replaceChildren(drawn);
    stage?.asMap();
    close = new Map([...drawn.querySelectorAll(".node")].map((each) => [each.id, each]));
    for (const group of drawn.querySelectorAll('g[id^="row-"]')) group.addEventListener("click", () => act.clicked(Number(group.id.slice(4))));
    const { width, height } = drawn.viewBox.baseVal;
    // On a phone all that matters is in sight by one pixel less.
    const scale = Math.min(2, Math.max((SMALLEST - 1) / 13, Math.min((frame.clientWidth - 6) / width, (frame.clientHeight - 18) / height)));
    drawn.setAttribute("width", String(width * scale));
  }

  const again = () => { place(); write(); see(); };

  // --- what is written and lit ---

  function write() {
    for (const group of frame.querySelectorAll('g[id^="row-"]')) {
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
    for (const each of frame.querySelectorAll(".ng-octagon, .ng-pointer, .ng-held, .ng-turned")) each.remove();
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
    sign(now, "ng-pointer", (x, y) => `M${x} ${y - 1} l-5 -7 h10 z`);  // within the margin above the highest box
    for (const id of view.edges) {
      const edge = edgeOf(id);
      edge?.classList.add("ng-lit");
      if (view.back) turned(edge);
    }
    for (const [name, arrow, size] of view.counts ?? []) if (size) counted(name, arrow, size, now);
  }

  /** How many samples lie in a stream: behind its name, or near the head of its arrow. */
  function counted(name, arrow, size, now) {
    const path = part(arrow)?.querySelector("path"), words = part(arrow)?.querySelector("text");
    if (!path?.getAttribute("d")) return;
    const at = path.getPointAtLength(path.getTotalLength() * 0.8), box = words?.getBBox();
    if (box?.width) Object.assign(at, { x: box.x + box.width + 9, y: box.y + box.height / 2 });
    at.y += lift(at, String(size), now);
    path.parentNode.parentNode.append(pill(at, String(size), "ng-held", `${name}: ${size}`));
  }

  // --- zooming and scrolling ---

  /** As the learner chose; else as large as the frame, within what can be read: a larger drawing scrolls. */
  function fit() {
    if (!stage || frame.clientWidth < 50 || own === "zoom") return;
    stage.grow(own === "fit" ? stage.whole() : Math.min(2, Math.max(SMALLEST / TEXT, stage.whole())));
  }

  function zoomBy(factor) {
    if (!stage || close) return;
    own = "zoom";
    stage.zoom(factor);
    paint();
  }

  /** The whole drawing, however small; or back to what can be read. */
  function fitted() {
    own = own === "fit" ? null : "fit";
    near = close && own ? false : null;
    again();
    fit();
    see();
  }

  /** Scroll so that the acting node, what it takes and what it gives to are seen; before a run, who acts first. */
  function see() {
    const starts = view.acting === null && view.focus !== undefined;
    const before = starts ? [view.focus, ...teller.around(view, view.focus)] : [];
    const groups = new Set([view.acting, view.taker, ...view.from, ...view.to, ...before].map(boxOf));
    const boxes = [...groups].filter(Boolean).map((each) => each.getBoundingClientRect());
    if (!boxes.length) return;
    const room = frame.getBoundingClientRect();
    const least = (side) => Math.min(...boxes.map((each) => each[side]));
    const most = (side) => Math.max(...boxes.map((each) => each[side]));
    const into = (low, high, from, to, first) => {  // how far to scroll; what does not fit begins with who acts
      if (low >= from + 8 && high <= to - 8) return 0;
      return high - low <= to - from - 16 ? (low + high) / 2 - (from + to) / 2 : first - (from + to) / 2;
    };
    frame.scrollLeft += into(least("left"), most("right"), room.left, room.right, (boxes[0].left + boxes[0].right) / 2);
    frame.scrollTop += into(least("top"), most("bottom"), room.top, room.bottom, (boxes[0].top + boxes[0].bottom) / 2);
    stage?.settle();
  }

  let room = "";
  const resized = new ResizeObserver(() => {  // a window was resized, or a notebook showed what it had hidden
    if (room === `${frame.clientWidth} ${frame.clientHeight}` || !view) return;
    room = `${frame.clientWidth} ${frame.clientHeight}`;
    if (stage && !close) { stage.lay(null, false); fit(); }
    again();
  });
  resized.observe(frame);

  return { frame: box, show, paint, stops, zoomBy, fitted, toggle, end: () => { resized.disconnect(); stage?.end(); },
    /** dot has come, or does not come. */
    ready: (found) => { dot = found; if (view) again(); } };

  /** A close-up, or the whole drawing. */
  function toggle() {
    near = !close;
    own = null;
    again();
    fit();
    see();
  }
}
