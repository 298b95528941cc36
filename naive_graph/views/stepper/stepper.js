// One view of a walk, for a notebook's widget and for a saved page.
//
// mount(el, walk, state) shows `walk` (see views/steps/pages.py) in `el`.
// state.get() and state.set(i) hold the index of the step; state.page(n) gives a
// promise of page n. state.find(stop, from, direction), where there is one, gives a promise
// of the index of the next stop, or of null if there is none. What nobody answers is undefined.
// Every text of the learner's is put in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";
const SPEEDS = { "slow": 1600, "normal": 800, "fast": 300, "very fast": 60 };
const KEYS = [
  ["→  ←", "next, previous step"], ["Home  End", "first, last step"], ["Space", "play, pause"],
  ["s", "stop at this node, or no longer"], ["b  B", "next, previous stop"],
  ["Page Down  Page Up", "next, previous iteration"], ["+  −  0", "zoom in, out, fit"], ["?", "this list"],
];
const READABLE = 0.7;          // zoom; at first a drawing is as large as one can read, and the rest scrolls
const MANY_ITERATIONS = 200;  // of which nobody chooses one from a list
const MOST_VALUES = 300;      // in the table

function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

/** Drawings and formulas, made in Python with every text escaped; what could act is taken out all the same. */
function parsed(text, type) {
  const root = new DOMParser().parseFromString(text, type).documentElement;
  for (const each of root.querySelectorAll("script, foreignObject, a, use, image, style, animate, set")) each.remove();
  for (const each of [root, ...root.querySelectorAll("*")]) {
    for (const name of each.getAttributeNames()) if (/^on|href|^style$/i.test(name)) each.removeAttribute(name);
  }
  return document.importNode(root, true);
}

export function mount(el, walk, state) {
  const pages = new Map();
  let step = null;      // the step that is shown
  let wished = 0;       // the step that was asked for last
  let timer = null;
  let zoom = 1;
  let least = READABLE; // the zoom that a fitted drawing does not go below; null once the learner has zoomed
  let shown = null;     // what is known at it
  let drawn = null;     // the key of the drawing that is in place
  const stops = new Set();

  // --- the parts of the page ---

  const button = (text, label, act) => make("button", { type: "button", title: label, "aria-label": label, onclick: act }, text);
  const first = button("|◀", "first step", () => go(0));
  const previous = button("◀", "previous step", () => go(wished - 1));
  const play = button("▶ play", "play", toggle);
  const next = button("▶", "next step", () => go(wished + 1));
  const last = button("▶|", "last step", () => go(walk.count - 1));
  const slider = make("input", { type: "range", min: 0, max: walk.count - 1, step: 1, "aria-label": "step",
    oninput: () => go(Number(slider.value)) });
  const counter = make("span", { class: "ng-counter" });
  const speed = make("select", { "aria-label": "speed" }, ...Object.keys(SPEEDS).map((name) =>
    make("option", { value: name, selected: name === "normal" }, name)));
  const iterations = walk.iterations.length;
  const chosen = { "aria-label": "iteration", onchange: () => toIteration(Number(iteration.value)) };
  const iteration = iterations > MANY_ITERATIONS
    ? make("input", { type: "number", min: 0, max: iterations - 1, ...chosen })
    : make("select", chosen, ...walk.iterations.map((_, place) => make("option", { value: place }, String(place))));
  const stop = make("select", { "aria-label": "stop at", onchange: chooseStop }, ...stopChoices());
  const here = button("stop at this node", "stop at this node (s)", stopHere);
  const onward = button("next stop", "go to the next stop (b)", () => toStop(1));
  const back = button("previous stop", "go to the previous stop (B)", () => toStop(-1));
  const sentence = make("p", { class: "ng-sentence", "aria-live": "polite", role: "status" });
  const drawing = make("div", { class: "ng-drawing", tabindex: 0, role: "img", "aria-label": `Graph: ${walk.title}` });
  const closer = make("div", { class: "ng-bar" },
    button("+", "zoom in", () => zoomBy(1.25)), button("−", "zoom out", () => zoomBy(1 / 1.25)),
    button("fit", "fit the drawing", () => fit(0)), button("?", "list of keys", toggleHelp));
  const panel = make("div", { class: "ng-panel" });
  const help = make("div", { class: "ng-help", hidden: true }, make("dl", {}, ...KEYS.flatMap(([keys, says]) =>
    [make("dt", {}, keys), make("dd", {}, says)])),
    make("p", {}, "Click a node to stop wherever it takes part. Red and thick, under a pointer: the step at hand. "
      + "Dashed: ready, in the queue. With an octagon: the walk stops there."));
  const table = make("div", { tabindex: 0, role: "group", "aria-label": "values and gradients" });
  const all = make("details", { class: "ng-all", ontoggle: () => step && list() },
    make("summary", {}, "all values as a table"), table);
  const root = make("section", { class: "ng-stepper", "aria-label": walk.title },
    make("div", { class: "ng-bar", role: "toolbar", "aria-label": "Walk" }, first, previous, play, next, last, slider, counter),
    make("div", { class: "ng-bar" },
      make("label", {}, "speed", speed),
      ...(iterations > 1 ? [make("label", {}, "iteration", iteration)] : []),
      make("label", {}, "stop at", stop), here, back, onward),
    sentence, help,
    make("div", { class: "ng-main" }, make("div", { class: "ng-left" }, drawing, closer, all), panel));
  el.replaceChildren(root);
  // A notebook listens at the document, before us; so we listen before it, to what is meant for us alone.
  const heard = (event) => { if (root.contains(event.target)) key(event); };
  window.addEventListener("keydown", heard, true);

  // --- moving ---

  /** A page, asked for once however often it is wanted meanwhile; nothing if it does not come. */
  function page(number) {
    if (!pages.has(number)) pages.set(number, fetched(number));
    return pages.get(number);
  }

  async function fetched(number) {
    const there = await state.page(number);  // nothing, if nobody answers
    if (!there) pages.delete(number);  // it is asked for again the next time
    for (const [cast, nodes] of Object.entries(there?.nodes ?? {})) Object.assign(walk.casts[cast].nodes, nodes);
    return there;
  }

  async function go(index) {
    wished = Math.max(0, Math.min(walk.count - 1, index));
    const asked = wished;
    const there = await page(Math.floor(asked / walk.page_size));
    if (asked !== wished) return;  // another step was asked for meanwhile
    if (!there) return silent();
    state.set(asked);
    show(there, asked);
  }

  function silent() {
    wished = Number(root.dataset.step ?? 0);
    slider.value = wished;
    pause();
    sentence.textContent = "Python does not answer. If the kernel is busy, try again later. If it has ended, run the cell again.";
  }

  function toIteration(place) {
    go(walk.iterations[Math.max(0, Math.min(iterations - 1, place))]);
  }

  function toggle() {
    if (timer !== null) return pause();
    if (wished >= walk.count - 1) wished = -1;
    play.replaceChildren("⏸ pause");
    play.setAttribute("aria-label", "pause");
    sentence.setAttribute("aria-live", "off");  // a reader cannot follow every step of a film
    const tick = async () => {
      await go(wished + 1);
      if (wished >= walk.count - 1 || isStop(step)) pause();
      else if (timer !== null) timer = setTimeout(tick, SPEEDS[speed.value]);
    };
    timer = setTimeout(tick, 0);
  }

  function pause() {
    clearTimeout(timer);
    timer = null;
    play.replaceChildren("▶ play");
    play.setAttribute("aria-label", "play");
    sentence.setAttribute("aria-live", "polite");
  }

  function key(event) {
    const inSelect = event.target.tagName === "SELECT" || event.target === iteration;
    const onButton = ["BUTTON", "SUMMARY"].includes(event.target.tagName);
    const onSlider = event.target === slider;
    if (event.ctrlKey || event.metaKey || event.altKey || inSelect) return;
    const acts = {
      ArrowRight: () => !onSlider && go(wished + 1), ArrowLeft: () => !onSlider && go(wished - 1),
      Home: () => !onSlider && go(0), End: () => !onSlider && go(walk.count - 1),
      " ": () => !onButton && toggle(), b: () => toStop(1), B: () => toStop(-1), s: stopHere,
      PageDown: () => !onSlider && toIteration(iterationAt(wished) + 1),
      PageUp: () => !onSlider && toIteration(iterationAt(wished) - 1),
      "+": () => zoomBy(1.25), "-": () => zoomBy(1 / 1.25), "0": () => fit(0), "?": toggleHelp,
    };
    const act = acts[event.key];
    if (act === undefined || act() === false) return;
    event.preventDefault();
    event.stopImmediatePropagation();  // a notebook has meanings of its own for these keys
  }

  function toggleHelp() {
    help.hidden = !help.hidden;
  }

  // --- stops ---

  function stopChoices() {
    const operators = new Set();
    for (const cast of walk.casts) for (const kind of cast.kinds) operators.add(kind);
    const option = (value, text) => make("option", { value }, text);
    return [option("", "nothing"), option("bad", "a number that is not finite"),
      ...[...operators].sort().map((name) => option(`operator:${name}`, `operator ${name}`)),
      option("nodes", "the nodes that are clicked")];
  }

  function chooseStop() {
    if (stop.value !== "nodes") stops.clear();
    paint();
  }

  function isStop(at) {
    if (!at) return false;
    const node = walk.casts[at.cast].nodes[at.row];
    if (stop.value === "bad") return at.bad;
    if (stop.value === "nodes") return stops.has(at.row) || (at.by !== null && stops.has(at.by));
    return stop.value.startsWith("operator:") && at.kind !== "enqueued" && node !== undefined
      && node.kind === stop.value.slice(9) && at.kind !== "started";
  }

  async function toStop(direction) {
    if (!stop.value) return void (sentence.textContent = "Choose first what to stop at.");
    const from = wished;
    const search = state.find ?? searched;
    const found = await search({ at: stop.value, rows: [...stops] }, from, direction);
    if (from !== wished) return;  // the learner went elsewhere meanwhile
    if (found === undefined) return silent();
    if (found !== null) return go(found);
    sentence.textContent = "There is no further stop in this direction.";
  }

  /** The next stop among pages that are here. */
  async function searched(_, from, direction) {
    for (let index = from + direction; index >= 0 && index < walk.count; index += direction) {
      const there = await page(Math.floor(index / walk.page_size));
      if (!there) return undefined;
      if (isStop(there.steps[index - there.first])) return index;
    }
    return null;
  }

  function clicked(row) {
    stop.value = "nodes";
    if (!stops.delete(row)) stops.add(row);
    paint();
  }

  function stopHere() {
    if (!step || step.kind === "started") return;
    clicked(step.row);
    const called = walk.casts[step.cast].nodes[step.row]?.called ?? step.row;
    sentence.textContent = stops.has(step.row) ? `The walk stops at ${called}.` : `The walk no longer stops at ${called}.`;
  }

  // --- showing ---

  function known(there, index) {
    const now = { values: { ...there.state.values }, grads: { ...there.state.grads }, waiting: { ...there.state.waiting } };
    for (const each of there.steps.slice(0, index - there.first + 1)) {
      if (each.begin) Object.assign(now, { values: { ...each.begin.values }, grads: {}, waiting: { ...each.begin.waiting } });
      if (each.value) now.values[each.value[0]] = each.value[1];
      if (each.grad) now.grads[each.grad[0]] = each.grad[1];
      for (const [row, count] of each.degrees) now.waiting[row] = count;
    }
    return now;
  }

  function show(there, index) {
    step = there.steps[index - there.first];
    root.dataset.step = String(index);
    slider.value = index;
    slider.setAttribute("aria-valuetext", `step ${step.i + 1} of ${walk.total ?? walk.count}`);
    counter.textContent = `${step.i + 1} / ${walk.total ?? walk.count}`;  // a shortened page leaves out the middle
    first.disabled = previous.disabled = index === 0;
    next.disabled = last.disabled = index === walk.count - 1;
    if (iterations > 1) iteration.value = String(iterationAt(index));
    here.disabled = step.kind === "started";
    sentence.textContent = step.sentence;
    const now = shown = known(there, index);
    draw(step.drawing);
    write(now);
    tell(now);
    if (all.open) list();
  }

  function iterationAt(index) {
    let low = 0;
    for (let high = iterations; high - low > 1;) {
      const middle = (low + high) >> 1;
      if (walk.iterations[middle] <= index) low = middle;
      else high = middle;
    }
    return low;
  }

  function draw(name) {
    if (name === drawn) return;
    drawn = name;
    const found = walk.drawings[name];
    if (!found || !found.svg) {
      drawing.replaceChildren(make("p", { class: "ng-none" }, "This graph is gone: it was cleared before it was drawn."));
      return;
    }
    const svg = parsed(found.svg, "image/svg+xml");
    drawing.replaceChildren(svg);
    const box = svg.viewBox.baseVal;
    svg.dataset.width = String(box && box.width ? box.width * 1.2 : 400);
    svg.removeAttribute("height");
    for (const group of svg.querySelectorAll('g[id^="row-"]')) {
      group.addEventListener("click", () => clicked(Number(group.id.slice(4))));
    }
    if (least === null) scale(zoom);  // as the learner wished the drawing before
    else fit(least);
  }

  const part = (id) => drawing.querySelector(`[id="${id}"]`);

  /** The id of the box in which a row is drawn: its own, or that of a folded scope. */
  function boxName(row) {
    const found = walk.drawings[drawn];
    return found && (found.boxes[row] ?? walk.casts[step?.cast ?? 0].nodes[row]?.boxes[drawn]);
  }

  function boxOf(row) {
    const id = boxName(row);
    return id ? part(id) : null;
  }

  /** An edge by its id, or the bundle that it runs in where one of its ends is folded up or left out. */
  function edgeOf(id) {
    const [, source, target] = id.split("-");
    const end = boxName(target);
    return part(id) ?? part(`bundle-${boxName(source) ?? `rest-${end}`}-${end}`);
  }

  function write(now) {
    for (const [row, id] of Object.entries((walk.drawings[drawn] || { boxes: {} }).boxes)) {
      const group = id.startsWith("row-") ? drawing.querySelector(`[id="${id}"]`) : null;
      const value = group && group.querySelector(".ng-value");
      const grad = group && group.querySelector(".ng-grad");
      if (value) value.textContent = now.values[row] ?? "";
      if (grad) grad.textContent = now.grads[row] === undefined ? "" : `${slope()} ${now.grads[row]}`;
      if (group) group.classList.toggle("ng-done", now.values[row] !== undefined);
    }
    paint();
  }

  const slope = () => (step.phase === "tangent" ? "slope" : "grad");

  /** Every number of the drawing as a table, for those who do not see it. */
  function list() {
    const found = Object.entries(walk.casts[step.cast].nodes).slice(0, MOST_VALUES);
    const now = shown;
    const rows = found.map(([row, node]) => make("tr", {}, make("th", { scope: "row" }, node.called),
      make("td", {}, now.values[row] ?? ""), make("td", {}, now.grads[row] ?? "")));
    const head = ["node", "value", slope()].map((name) => make("th", { scope: "col" }, name));
    table.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
  }

  function paint() {
    for (const name of ["ng-now", "ng-queued", "ng-lit", "ng-stop"]) {
      for (const each of drawing.querySelectorAll(`.${name}`)) each.classList.remove(name);
    }
    for (const each of drawing.querySelectorAll(".ng-octagon, .ng-pointer")) each.remove();
    if (!step) return;
    for (const box of new Set([...stops].map(boxOf))) {
      box?.classList.add("ng-stop");
      sign(box, "ng-octagon", (x, y, wide) => `M${x - wide / 2 - 3} ${y - 2} h6 l4 4 v6 l-4 4 h-6 l-4 -4 v-6 z`);
    }
    here.setAttribute("aria-pressed", String(stops.has(step.row)));
    for (const row of step.queue) boxOf(row)?.classList.add("ng-queued");
    const now = step.kind === "started" ? null : boxOf(step.row);
    now?.classList.add("ng-now");
    for (const id of step.edges) edgeOf(id)?.classList.add("ng-lit");
    sign(now, "ng-pointer", (x, y) => `M${x} ${y - 2} l-5 -8 h10 z`);
    if (now) into(now);
  }

  function sign(group, name, outline) {  // a shape at a node's upper side: colour is not the only sign
    if (!group) return;
    const box = group.getBBox();
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", name);
    path.setAttribute("d", outline(box.x + box.width / 2, box.y, box.width));
    path.setAttribute("fill", "#b3261e");
    group.parentNode.append(path);
  }

  function into(group) {  // scroll the node into sight, within the drawing alone
    const node = group.getBoundingClientRect(), frame = drawing.getBoundingClientRect();
    if (node.left < frame.left || node.right > frame.right) drawing.scrollLeft += node.left - frame.left - frame.width / 2;
    if (node.top < frame.top || node.bottom > frame.bottom) drawing.scrollTop += node.top - frame.top - frame.height / 2;
  }

  function tell(now) {
    const cast = walk.casts[step.cast];
    const node = cast.nodes[step.row];
    const worker = cast.nodes[step.by ?? step.row];
    const parts = [];
    const add = (title, ...children) => parts.push(make("h3", {}, title), ...children);
    if (step.text) add(step.kind === "contributed" ? "incoming × local partial" : "arithmetic", make("p", { class: "ng-sum" }, step.text));
    if (step.running) add("arrived so far", make("p", { class: "ng-sum ng-running" }, step.running));
    const rule = worker && cast.rules[worker.rule];
    if (rule && (step.kind === "evaluated" || step.kind === "contributed")) {
      const shown = step.kind === "evaluated" ? rule.value : rule.partials[step.position];
      if (shown) add(`rule of ${worker.kind}`, make("p", {}, parsed(shown, "application/xml")));
    }
    if (node?.tensor && step.kind !== "started") add(node.tensor.element, make("pre", {}, node.tensor.equation));
    if (node && step.kind !== "started") add(`line ${node.line}`, make("pre", {}, ...source(node)));
    add(step.ready ? `ready: ${step.ready}` : "nobody is ready", make("ol", { class: "ng-queue" },
      ...step.queue.slice(0, 20).map((row) => make("li", {}, cast.nodes[row]?.called ?? String(row))),
      ...(step.ready > 20 ? [make("li", {}, `… ${step.ready - 20} more`)] : [])));
    const waiting = Object.entries(now.waiting).filter(([, count]) => count > 0);
    if (step.phase !== "update") {
      add(step.phase === "backward" ? "uses still to come" : "operands still to come", make("p", {},
        waiting.length ? waiting.slice(0, 20).map(([row, count]) => `${cast.nodes[row]?.called ?? row}: ${count}`).join(", ")
          + (waiting.length > 20 ? ` … ${waiting.length - 20} more` : "") : "none"));
    }
    panel.replaceChildren(...parts);
  }

  function source(node) {
    if (!node.source) return ["(the line is not to be had)"];
    if (!node.columns) return [node.source];
    const [start, end] = node.columns;
    return [node.source.slice(0, start), make("mark", {}, node.source.slice(start, end)), node.source.slice(end)];
  }

  // --- zooming and dragging ---

  function scale(factor) {
    zoom = factor;
    const svg = drawing.querySelector("svg");
    if (svg) svg.setAttribute("width", String(Number(svg.dataset.width) * zoom));
  }

  function zoomBy(factor) {
    const before = zoom, half = { x: drawing.clientWidth / 2, y: drawing.clientHeight / 2 };
    least = null;
    scale(Math.max(Math.min(zoom, 0.1), Math.min(8, zoom * factor)));
    drawing.scrollLeft = ((drawing.scrollLeft + half.x) * zoom) / before - half.x;  // what is in the middle stays there
    drawing.scrollTop = ((drawing.scrollTop + half.y) * zoom) / before - half.y;
  }

  /** Show the drawing's whole width, but no smaller than `smallest`; if that is 0, its whole height too. */
  function fit(smallest) {
    least = smallest;
    const svg = drawing.querySelector("svg");
    const wide = drawing.clientWidth - 4, high = 440;
    if (!svg || wide < 50) return scale(1);
    const width = Number(svg.dataset.width);
    const height = (width * svg.viewBox.baseVal.height) / svg.viewBox.baseVal.width;
    scale(Math.min(1.15, Math.max(smallest, Math.min(wide / width, smallest ? 8 : high / height))));
  }

  let room = 0;
  const resized = new ResizeObserver(() => {  // a window was resized, or a notebook showed what it had hidden
    if (drawing.offsetWidth === room) return;
    room = drawing.offsetWidth;
    if (least !== null) fit(least);
  });
  resized.observe(drawing);

  let grip = null;
  drawing.addEventListener("pointerdown", (event) => {
    grip = { x: event.clientX, y: event.clientY, left: drawing.scrollLeft, top: drawing.scrollTop };
  });
  drawing.addEventListener("pointermove", (event) => {
    if (!grip || !(event.buttons & 1)) return;
    drawing.classList.add("ng-dragging");
    drawing.scrollLeft = grip.left - (event.clientX - grip.x);
    drawing.scrollTop = grip.top - (event.clientY - grip.y);
  });
  for (const name of ["pointerup", "pointerleave", "pointercancel"]) {
    drawing.addEventListener(name, () => { grip = null; drawing.classList.remove("ng-dragging"); });
  }
  drawing.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;  // a plain wheel scrolls the page
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  }, { passive: false });

  if (walk.count === 0) {
    sentence.textContent = "Nothing was recorded.";
    for (const each of root.querySelectorAll("button, select, input")) each.disabled = true;
    return { go, end };
  }
  go(state.get());
  return { go, end };

  function end() {
    pause();
    resized.disconnect();
    window.removeEventListener("keydown", heard, true);
  }
}

// --- in a notebook ---

const PATIENCE = 15000;  // milliseconds, after which Python will not answer any more

/** Questions to Python, each with a number of its own, for several views may share one model. */
function asking(model) {
  const waiting = new Map();
  const heard = (message) => {
    waiting.get(message.id)?.(message.answer);
    waiting.delete(message.id);
  };
  model.on("msg:custom", heard);
  const ask = (question) => new Promise((done) => {
    const id = Math.random().toString(36);
    waiting.set(id, done);
    setTimeout(heard, PATIENCE, { id });
    model.send({ ...question, id });
  });
  return [ask, () => model.off("msg:custom", heard)];
}

export default {
  render({ model, el }) {
    const [ask, deaf] = asking(model);
    const early = model.get("first_page");
    const view = mount(el, model.get("walk"), {
      get: () => model.get("index"),
      set: (index) => { model.set("index", index); model.save_changes(); },
      page: (number) => (number === 0 ? Promise.resolve(early) : ask({ page: number })),
      find: (stop, from, direction) => ask({ find: stop, from, direction }),
    });
    // The still picture is not needed while we live. It may come after us, and is back when we are gone.
    el.append(make("style", {}, `[data-ng-still="${CSS.escape(model.get("still"))}"] { display: none; }`));
    const moved = () => view.go(model.get("index"));
    model.on("change:index", moved);
    return () => { view.end(); deaf(); model.off("change:index", moved); };
  },
};

// --- on a page of its own ---

export function start() {
  const walk = JSON.parse(document.getElementById("walk").textContent);
  let index = 0;
  mount(document.getElementById("stepper"), walk, {
    get: () => index,
    set: (to) => { index = to; },
    page: (number) => Promise.resolve(walk.pages[number]),
  });
}
