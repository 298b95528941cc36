// The page of altitudes: where one is, how one moves, what can be changed. All that a link says is data.

const HOTKEYS = [["Page Down  Page Up", "one altitude down, up"], ["Enter  Escape", "down into what is chosen; up again"], ["←  →", "the layer, tensor or scalar beside"],
  ["1 … 5", "an altitude"], ["/", "search"], ["g", "values or gradients"], ["+  −", "zoom"], ["z  Z", "undo; the numbers of the beginning"], ["[  ]", "the sample before, behind"], ["?", "this list"]];
const MOST_FOUND = 12, SOONEST = 250, HIGHEST = ["layers", "workers", "tensors", "scalars", "machine"];

function mountAltitudes(el, model, rules) {
  const plan = planning(model, rules), { tensors } = plan, past = [];
  const at = { floor: 0, layer: Math.min(1, model.layers.length - 1), tensor: 0, place: 0, step: 0, sample: 0, slope: false };
  let changes = new Map(), followers = [], leavers = [], frame = 0, timer = 0;
  const layerOf = (tensor) => model.layers.findIndex((each) => each.tensors.includes(tensor));

  const world = { plan, model, at, go, layerOf, dot: undefined, zoom: null, colours: null, field, pulled,
    follow: (act) => { followers.push(act); act(); }, leave: (act) => leavers.push(act), panelWidth: () => Math.max(160, (side.clientWidth || 360) - 34) };

  // --- the parts of the page ---

  const crumbs = make("nav", { class: "ng-crumbs", "aria-label": "where you are" });
  const search = make("input", { type: "search", placeholder: "search", "aria-label": "search for a layer, a tensor, an entry or a row", oninput: () => find(search.value), onkeydown: searched });
  const hits = make("div", { class: "ng-hits", role: "status" });
  const turn = button("values", "show gradients instead of values", () => go({ slope: !at.slope }), { "aria-pressed": "false" });
  const undo = button("↶", "undo", undone), reset = button("reset", "the numbers of the beginning", restart), ask = button("?", "keys", () => { help.hidden = !help.hidden; });
  const help = make("div", { class: "ng-help", hidden: true, role: "region", "aria-label": "keys" }, make("dl", {}, ...HOTKEYS.flatMap(([keys, does]) => [make("dt", {}, keys), make("dd", {}, does)])));
  const counts = [model.layers.filter((each) => each.isOwn).length, null, tensors.length, plan.size, model.machine.tape ? model.machine.tape.kinds[1] : plan.size];
  const stops = HIGHEST.map((name, floor) => make("button", { type: "button", class: "ng-stop-at", onclick: () => go({ floor }), "data-floor": floor },
    make("span", {}, name), make("small", {}, counts[floor] === null ? "dataflow" : floor === 4 ? `${counts[floor].toLocaleString("en")} rows` : counts[floor].toLocaleString("en"))));
  const rail = make("nav", { class: "ng-rail", "aria-label": "altitudes" }, ...stops);
  const given = make("section", { class: "ng-given", "aria-label": "the sample and the result" });
  const title = make("h2", { class: "ng-title", "aria-live": "polite" }), main = make("div", { class: "ng-floor", tabindex: -1 }), side = make("aside", { class: "ng-side", tabindex: 0, "aria-label": "the chosen thing" });
  const root = make("section", { class: "ng-altitudes", tabindex: -1, "aria-label": model.title },
    make("header", {}, make("h1", {}, model.title), crumbs, make("div", { class: "ng-tools-at" }, make("div", { class: "ng-search" }, search, hits), turn, undo, reset, ask)),
    help, make("div", { class: "ng-body" }, make("div", { class: "ng-left" }, rail, given), make("div", { class: "ng-middle" }, title, make("div", { class: "ng-both" }, main, side))));
  root.plan = plan;  // for who looks at it in the console
  el.replaceChildren(root);
  const floors = flooring(world);

  // --- the sample, and what the model says to it ---

  function sampling() {
    const parts = [], answers = [];
    if (model.sample !== null) {
      const tensor = tensors[model.sample], wide = given.clientWidth - 2 || 180;
      const grid = gridding(plan, tensor, { width: Math.min(188, wide), most: 20, tall: 162 }, (place) => go({ floor: 2, layer: layerOf(model.sample), tensor: model.sample, place, step: Math.max(0, tensor.steps[place]) }),
        (place) => pulled(tensor.steps[place]));
      followed.push(() => grid.paint(world.colours, at.slope));
      const choose = make("select", { "aria-label": "sample", onchange: () => go({ sample: choose.selectedIndex }) }, ...Array.from({ length: model.count }, (_, each) => make("option", {}, `sample ${each + 1} of ${model.count}`)));
      followed.push(() => { choose.selectedIndex = at.sample; });
      parts.push(make("h3", {}, "the sample"), grid.canvas, ...(model.count > 1 && rules ? [choose] : []), make("p", { class: "ng-soft" }, rules ? "Drag a pixel to the side." : "An operator computes in Python alone: numbers stay as they are here."));
    }
    const { steps, name } = tensors[model.output], few = [...steps].slice(0, 12), bars = few.map((step, place) => {
      const bar = make("span", { class: "ng-bar-of" }), words = make("small", {});
      followed.push(() => {
        const column = at.slope ? plan.slopes : plan.values, largest = Math.max(1e-12, ...few.map((each) => Math.abs(column[each])).filter(Number.isFinite));
        bar.style.width = `${Math.min(100, (Math.abs(column[step]) / largest) * 100) || 0}%`;
        bar.classList.toggle("ng-below", column[step] < 0);
        words.textContent = figure(Number(column[step].toPrecision(3)));
      });
      return make("li", {}, make("button", { type: "button", "aria-label": `${name}, entry ${place}`, onclick: () => go({ floor: 3, step, tensor: model.output, place, layer: layerOf(model.output) }) }, make("i", {}, `${place}`), make("span", { class: "ng-track" }, bar), words));
    });
    answers.push(make("h3", {}, "the result"), make("ol", { class: "ng-bars" }, ...bars));
    if (model.loss !== model.output) {
      const loss = make("output", {});
      followed.push(() => { loss.textContent = figure(plan.values[tensors[model.loss].steps[0]]); });
      answers.push(make("p", { class: "ng-loss" }, "loss ", loss));
    }
    given.replaceChildren(make("div", {}, ...parts), make("div", { class: "ng-answers" }, ...answers));
  }
  const followed = [];  // of the parts that are always there

  // --- numbers ---

  function renew() {
    plan.renew();
    follow();
  }
  function follow() {
    for (const each of [...followed, ...followers]) each();
    undo.disabled = reset.disabled = !past.length;
  }
  /** Give a leaf another number. isFirst: of those that are undone at once. */
  function set(step, value, isFirst = true) {
    if (!Number.isFinite(value) || !plan.isFree(step)) return;
    if (isFirst) past.push(new Map(changes));
    changes.set(step, value);
    plan.values[step] = value;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(renew);
    link();
  }
  /** All numbers of a sample, with these changes. */
  function put(next) {
    plan.values.set(plan.begun);
    plan.take(at.sample);
    changes = next;
    for (const [step, value] of changes) plan.values[step] = value;
    renew();
    link();
  }
  function undone() { if (past.length) put(past.pop()); }
  function restart() { if (past.length) { past.length = 0; put(new Map()); } }
  /** What follows a drag from a cell: so many widths to the side. */
  function pulled(step, told = () => {}) {
    if (!(step >= 0) || !plan.isFree(step)) return () => {};
    const begins = plan.values[step], { steps } = tensors[plan.home(step)[0]];
    const span = Math.max(1e-3, ...[...steps].map((each) => (each >= 0 ? Math.abs(plan.values[each]) : 0)));
    let isFirst = true;
    return (way) => { if (isFirst) told(); set(step, begins + way * span, isFirst); isFirst = false; };
  }
  function field(step) {
    const name = plan.called(step), span = Math.max(1, 2 * Math.abs(plan.values[step])), middle = plan.values[step];
    let isHeld = false;
    const typed = make("input", { type: "number", step: "any", "aria-label": `value of ${name}`, onchange: () => typed.value !== "" && set(step, Number(typed.value)) });
    const slider = make("input", { type: "range", min: middle - span, max: middle + span, step: span / 200, "aria-label": name, onchange: () => { isHeld = false; },
      oninput: () => { set(step, Number(slider.value), !isHeld); isHeld = true; } });
    const line = make("div", { class: "ng-field" }, typed, slider);
    world.follow(() => {
      if (document.activeElement !== typed) typed.value = String(Number(plan.values[step].toPrecision(6)));
      slider.value = plan.values[step];
      slider.setAttribute("aria-valuetext", figure(plan.values[step]));
    });
    return line;
  }

  // --- where we are ---

  /** Go somewhere else. still: the same floor, on which only the chosen entry is another. */
  function go(to, still = false) {
    const before = { ...at };
    Object.assign(at, to);
    fit(to);
    if (at.sample !== before.sample) { past.length = 0; put(new Map()); }
    still && at.floor === before.floor ? follow() : show(at.floor - before.floor);
    crumb();
    link();
  }
  /** What was not said follows from what was: the layer of a tensor, the tensor of a scalar. */
  function fit(to) {
    if (to.step !== undefined && to.tensor === undefined && at.step < plan.size) [at.tensor, at.place] = plan.home(at.step);
    if (to.layer !== undefined && to.tensor === undefined && to.step === undefined) [at.tensor, to.place] = [floors.result(model.layers[at.layer]), undefined];
    if (to.step === undefined && to.place === undefined && (to.tensor ?? to.layer) !== undefined) at.place = largest(tensors[at.tensor].steps);
    if ((to.tensor !== undefined || to.step !== undefined) && to.layer === undefined) at.layer = Math.max(0, layerOf(at.tensor));
    if (to.step === undefined && (to.place !== undefined || to.tensor !== undefined || to.layer !== undefined)) {
      const { steps } = tensors[at.tensor], step = steps[at.place] ?? -1;
      at.step = step >= 0 ? step : Math.max(0, [...steps].find((each) => each >= 0) ?? 0);
    }
  }
  /** Where the largest of some numbers is: something is to be seen there. */
  function largest(steps) {
    const size = (place) => (steps[place] >= 0 && Math.abs(plan.values[steps[place]])) || -(steps[place] < 0);
    return [...steps.keys()].reduce((best, place) => (size(place) > size(best) ? place : best), 0);
  }
  function show(moved = 0) {
    for (const each of leavers) each();
    [leavers, followers] = [[], []];
    world.zoom = null;
    world.colours = paints(root);
    root.dataset.floor = at.floor;
    stops.forEach((each, floor) => (floor === at.floor ? each.setAttribute("aria-current", "page") : each.removeAttribute("aria-current")));
    turn.textContent = at.slope ? "gradients" : "values";
    facts(turn, { "aria-pressed": at.slope, "aria-label": at.slope ? "gradients are shown: show values" : "values are shown: show gradients" });
    side.hidden = at.floor === 0 || at.floor === 4;
    const wasWithin = main.contains(document.activeElement) || side.contains(document.activeElement);
    const { title: words, main: parts, panel } = floors.shows[at.floor]();
    title.textContent = words;
    main.replaceChildren(...parts);
    side.replaceChildren(...(panel ?? []));
    main.scrollTop = side.scrollTop = 0;
    if (wasWithin) main.focus({ preventScroll: true });  // what had the focus is gone: Tab goes on from here
    if (moved && !matchMedia("(prefers-reduced-motion: reduce)").matches) main.animate([{ opacity: 0, transform: `scale(${moved > 0 ? 0.94 : 1.06})` }, { opacity: 1, transform: "none" }], { duration: 220, easing: "ease-out" });
    follow();
  }
  function crumb() {
    const { floor, layer, tensor, step } = at;
    const path = [["model", { floor: 0 }], [model.layers[layer].title, { floor: 1, layer }], [tensors[tensor].name, { floor: 2, layer, tensor, place: at.place }], [plan.called(step), { floor: 3, layer, tensor, step, place: at.place }], [`row ${step}`, { floor: 4, layer, tensor, step, place: at.place }]];
    crumbs.replaceChildren(make("ol", {}, ...path.slice(0, floor + 1).map(([name, to], place) => make("li", {}, make("button", { type: "button", "aria-current": place === floor ? "location" : null, onclick: () => go(to) }, name)))));
  }
  function beside(by) {
    const round = (all, now) => all[(all.indexOf(now) + by + all.length) % all.length];
    if (at.floor < 2) go({ layer: (at.layer + by + model.layers.length) % model.layers.length });
    else if (at.floor === 2) go({ tensor: round(model.layers[at.layer].tensors, at.tensor) });
    else {
      const steps = [...tensors[at.tensor].steps], entries = plan.isEntry(at.step) ? steps.filter((each) => each >= 0) : null;
      go({ step: entries ? round(entries, at.step) : within(0, at.step + by, plan.size - 1) });
    }
  }

  // --- search ---

  function found(wish) {
    const words = wish.trim().toLowerCase().replaceAll(" ", ""), is = (name) => name.toLowerCase().replaceAll(" ", "").includes(words);
    if (!words) return [];
    const row = words.match(/^(?:row)?(\d+)$/), all = [], entry = words.match(/^(.+)\[([\d,]+)\]$/);
    if (row && Number(row[1]) < plan.size) all.push([`row ${Number(row[1])}: ${plan.called(Number(row[1]))}`, { floor: 4, step: Number(row[1]) }]);
    if (entry) tensors.forEach((tensor, number) => {
      const index = entry[2].split(",").map(Number), place = index.reduce((sum, each, axis) => sum * tensor.shape[axis] + each, 0);
      const isIn = index.length === tensor.shape.length && index.every((each, axis) => each < tensor.shape[axis]);
      if (isIn && tensor.name.toLowerCase() === entry[1] && tensor.steps[place] >= 0) all.push([plan.entryName(tensor, place), { floor: 3, step: tensor.steps[place], tensor: number, place, layer: layerOf(number) }]);
    });
    model.layers.forEach((each, layer) => is(each.title) && all.push([`layer ${each.title}`, { floor: 1, layer }]));
    tensors.forEach((each, tensor) => is(each.name) && all.push([`tensor ${each.name}`, { floor: 2, tensor, layer: layerOf(tensor) }]));
    return all;
  }
  function find(wish) {
    const all = found(wish);
    hits.replaceChildren(...all.slice(0, MOST_FOUND).map(([name, to]) => button(name, name, () => { clear(); go(to); })),
      ...(wish.trim() && !all.length ? [make("p", {}, "Nothing here is called so.")] : all.length > MOST_FOUND ? [make("p", {}, `${all.length - MOST_FOUND} more`)] : []));
  }
  function clear() { search.value = ""; hits.replaceChildren(); }
  function searched(event) {
    if (event.key === "Escape") { clear(); root.focus(); }
    if (event.key === "Enter") { const [first] = found(search.value); if (first) { clear(); go(first[1]); root.focus(); } }
    event.stopPropagation();
  }

  // --- keys ---

  const down = () => go({ floor: Math.min(4, at.floor + 1) }), up = () => go({ floor: Math.max(0, at.floor - 1) });
  const keys = { PageDown: down, PageUp: up, Escape: up, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1), "/": () => search.focus(), g: () => go({ slope: !at.slope }),
    "+": () => world.zoom?.(1.3), "=": () => world.zoom?.(1.3), "-": () => world.zoom?.(1 / 1.3), z: undone, Z: restart, "?": () => { help.hidden = !help.hidden; },
    "[": () => go({ sample: Math.max(0, at.sample - 1) }), "]": () => go({ sample: Math.min(model.count - 1, at.sample + 1) }) };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea")) return;
    const act = keys[event.key] ?? (/^[1-5]$/.test(event.key) ? () => go({ floor: Number(event.key) - 1 }) : event.key === "Enter" && !event.target.closest?.("button, [role=button]") ? down : null);
    if (!act) return;
    event.preventDefault();
    act();
  });

  // --- the address ---

  const NAMED = ["floor", "layer", "tensor", "place", "step", "sample"];
  function link() {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const numbers = [...changes].map(([step, value]) => `${step}:${value}`).join(",");
      try { history.replaceState(null, "", `#${NAMED.map((name) => `${name}=${at[name]}`).join("&")}${at.slope ? "&slope=1" : ""}${numbers ? `&set=${numbers}` : ""}`); } catch { /* in a frame there is no address */ }
    }, SOONEST);
  }
  /** What the address says, as far as it is whole numbers in their bounds, and finite numbers of leaves. */
  function read() {
    const said = new URLSearchParams(location.hash.slice(1)), least = (name, size) => { const value = Number(said.get(name) ?? NaN); return Number.isInteger(value) && value >= 0 && value < size ? value : null; };
    const sizes = { floor: 5, layer: model.layers.length, tensor: tensors.length, step: plan.size, sample: model.count };
    for (const [name, size] of Object.entries(sizes)) at[name] = least(name, size) ?? at[name];
    at.place = least("place", tensors[at.tensor].steps.length) ?? (said.has("tensor") ? 0 : at.place);
    at.slope = said.get("slope") === "1";
    const pairs = (said.get("set") ?? "").split(",").map((each) => each.split(":").map(Number)).filter(([step, value]) => Number.isInteger(step) && plan.isFree(step) && Number.isFinite(value));
    return new Map(pairs);
  }

  // --- begin ---

  plan.take(at.sample);
  plan.renew();
  fit({ layer: at.layer });
  const carried = read();
  world.colours = paints(root);
  plan.take(at.sample);
  for (const [step, value] of carried) plan.values[step] = value;
  if (carried.size) { past.push(new Map()); changes = carried; }
  plan.renew();
  sampling();
  crumb();
  show();
  dotReady().then((dot) => { world.dot = dot; if (at.floor === 1 || at.floor === 2) show(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show());
  let room = innerWidth;
  addEventListener("resize", () => { if (Math.abs(innerWidth - room) > 20) { room = innerWidth; followed.length = 0; sampling(); show(); } });
}

async function begin(rules) {
  const root = document.getElementById("altitudes");
  if (!window.DecompressionStream) return void (root.textContent = "This page needs a browser of 2023 or later.");
  const text = atob(document.getElementById("model").textContent), bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  mountAltitudes(root, await unpacked(bytes), rules);
}
