// What steers a live graph: other values of its leaves, by hand or by a trainer, and charts of the result.
// Shared by pictures, paths and the stepper.

const MOST_FIELDS = 6, MOST_TRAIL = 400, EFFORT = 60_000;  // leaves side by side; points; nodes computed for a chart
const MOST_LINKED = 100;  // leaves whose values an address holds
const INK = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "display", "visibility", "font-family", "font-size", "font-weight", "text-anchor"];

/** What steers a live graph: a field and a slider for each leaf, undo, trainers, and a chart of the result.
    followed: hears that the numbers are others; drawing: the picture as it is now, for a file; chart: draws the result,
    where that is not drawn here. */
function steering(live, followed, drawing, chart) {
  const { leaves, values } = live, begun = leaves.map((step) => values[step]), past = [], fields = new Map();
  let at = leaves[0];     // the leaf at hand
  let memory = new Map();  // what a trainer remembers of each weight
  let updates = 0, trail = [];
  const bar = make("div", { class: "ng-bar ng-leaves", role: "group", "aria-label": spoken("values of the leaves") });
  const charts = make("div", { class: "ng-charts" });
  const ends = new Map(leaves.map((step) => [step, around(values[step])]));
  const point = () => leaves.map((step) => values[step]);

  function around(value) {
    const span = Math.max(1, 2 * Math.abs(value)) || 1;
    return Number.isFinite(value) ? [value - span, value + span] : [-1, 1];
  }

  /** Take other values. isOwn: by the learner's hand, so that a trainer begins anew; isFirst: of those that are undone at once. */
  function take(changes, isOwn = true, isFirst = true) {
    if (isFirst) {
      past.push(point());
      trail = [...trail, point()].slice(-MOST_TRAIL);
    }
    live.set(changes);
    if (isOwn) [memory, updates] = [new Map(), 0];
    const outside = ([step, value]) => Number.isFinite(value) && (value < ends.get(step)[0] || value > ends.get(step)[1]);
    for (const [step, value] of changes.filter(outside)) ends.set(step, around(value));
    told();
  }

  function told() {
    show();
    followed();
  }

  function show() {
    for (const [step, { typed, slider }] of fields) {
      const [low, high] = ends.get(step);
      if (document.activeElement !== typed) typed.value = String(Number(values[step].toPrecision(6)));
      facts(slider, { min: low, max: high, step: (high - low) / 400, "aria-valuetext": figure(values[step]) });
      slider.value = values[step];
    }
    undo.disabled = reset.disabled = !past.length;
    draw();
  }

  function field(step) {
    const name = live.called(step);
    let isHeld = false;  // a slider that is being drawn: all of the way is one change
    const changed = (input, isFirst) => {
      at = step;
      if (input.value !== "" && Number.isFinite(Number(input.value))) take([[step, Number(input.value)]], true, isFirst);
    };
    const typed = make("input", { type: "number", step: "any", "aria-label": `value of ${name}`, onchange: () => changed(typed, true) });
    const slider = make("input", { type: "range", "aria-label": name, onchange: () => { isHeld = false; },
      oninput: () => { const isFirst = !isHeld; isHeld = true; changed(slider, isFirst); } });
    fields.set(step, { typed, slider });
    return make("label", {}, name, typed, slider);
  }

  const undo = button("↶", "undo", () => {
    const before = past.pop();
    live.set(leaves.map((step, place) => [step, before[place]]));
    trail = trail.slice(0, -1);
    told();
  });
  const reset = button(spoken("reset"), "the values of the beginning", () => {
    live.set(leaves.map((step, place) => [step, begun[place]]));
    [memory, updates, trail] = [new Map(), 0, []];
    past.length = 0;
    told();
  });

  const save = button(spoken("save"), "save the picture as it is now", () => saved(drawing()));

  // --- downhill ---

  const names = Object.keys(live.trainers);
  const trainer = make("select", { "aria-label": spoken("trainer"), onchange: chosen }, ...names.map((name) => make("option", { value: name }, name)));
  const rate = make("input", { type: "number", step: "any", min: 0, "aria-label": spoken("rate") });
  const down = button(spoken("downhill"), "one update of every variable by this trainer", () => {
    const { update, cycle } = live.trainers[trainer.value], slopes = live.slopes();
    const its = cycle ? cycle[updates % cycle.length] : Number(rate.value);
    updates += 1;
    take(live.learned.map((step) => {
      const [value, ...rest] = update(values[step], slopes[step], its, updates, ...(memory.get(step) ?? [0, 0]));
      memory.set(step, rest);
      return [step, value];
    }), false);
  });
  function chosen() {
    const { rate: usual, cycle } = live.trainers[trainer.value];
    [memory, updates] = [new Map(), 0];
    rate.value = usual ?? "";
    rate.disabled = usual === null || Boolean(cycle);
  }

  // --- the result over one leaf, or over two ---

  let drawn = "";          // of what the chart is
  let mark = () => {};     // moves the point to where the leaves are now
  let frame = 0;

  function draw() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      if (chart) return chart();
      if (charts.checkVisibility?.() === false) return;
      const isPair = leaves.length === 2, others = isPair ? [] : point().filter((_, place) => leaves[place] !== at);
      const key = JSON.stringify([isPair ? [...ends] : [at, ends.get(at)], others, isPair && trail]);
      if (key !== drawn) {
        charts.replaceChildren();
        mark = isPair ? surface() : curve();
        drawn = key;
      }
      mark();
    });
  }

  function curve() {
    const [low, high] = ends.get(at), count = Math.round(within(24, EFFORT / live.size, 160)), leaf = at;
    const xs = Array.from({ length: count + 1 }, (_, each) => low + ((high - low) * each) / count);
    const ys = xs.map((x) => live.result([[leaf, x]])), finite = [...ys, live.now()].filter(Number.isFinite);
    if (finite.length < 3) return () => {};
    const [floor, top] = [Math.min(...finite), Math.max(...finite)];
    const x = (value) => ROOM + ((WIDE - 2 * ROOM) * (value - low)) / (high - low);
    const y = (value) => TALL - ROOM - ((TALL - 2 * ROOM) * (value - floor)) / (top - floor || 1);
    const parts = [[]];
    ys.forEach((value, each) => (Number.isFinite(value) ? parts.at(-1).push(`${x(xs[each]).toFixed(1)},${y(value).toFixed(1)}`) : parts.push([])));
    const lines = parts.filter((each) => each.length > 1).map((each) => make("svg:polyline", { class: "ng-course", points: each.join(" ") }));
    const here = make("svg:circle", { r: 5, class: "ng-here" });
    scaled(charts, spoken("the result over {leaf}").replace("{leaf}", live.called(leaf)) + unsteady(ys), WIDE, TALL, [[low, high], [floor, top]], ...lines, here);
    return () => place(here, x(values[leaf]), y(live.now()));
  }

  function surface() {
    const [across, up] = leaves.map((step) => ends.get(step)), size = Math.round(within(12, Math.sqrt(EFFORT / live.size), 32));
    const on = ([low, high], each) => low + ((high - low) * each) / (size - 1), heights = [];
    for (let row = 0; row < size; row += 1) for (let column = 0; column < size; column += 1) {
      const height = live.result([[leaves[0], on(across, column)], [leaves[1], on(up, row)]]);
      heights.push(Number.isFinite(height) ? height : null);
    }
    const sorted = heights.filter((each) => each !== null).sort((a, b) => a - b);
    if (!sorted.length) return () => {};
    const levels = Array.from({ length: 9 }, (_, each) => sorted[Math.floor((sorted.length * (each + 0.5)) / 9)]);
    const chart = (...shapes) => scaled(charts, ...shapes), names = leaves.map(live.called);
    const to = contour({ ends: [across, up], size, heights, levels, names }, trail, chart);
    return () => to(point());
  }

  // --- a drag over a leaf in the drawing ---

  /** Dragged to the side, a leaf's box changes its value. */
  function dragged(event) {
    const box = event.target.closest?.('g[id^="row-"]'), row = box && Number(box.dataset.row ?? box.id.slice(4)), step = leaves.find((each) => live.rowOf(each) === row);
    if (step === undefined || event.button) return;
    const start = event.clientX, value = values[step], [low, high] = ends.get(step);
    let isMoved = false, isFirst = true;
    event.target.setPointerCapture?.(event.pointerId);  // so that no other box hears of it, and no text is selected
    const move = (now) => {
      isMoved ||= Math.abs(now.clientX - start) > 3;
      at = step;
      if (isMoved) take([[step, (value || 0) + ((now.clientX - start) / 240) * (high - low)]], true, isFirst);
      isFirst &&= !isMoved;
    };
    const end = (now) => {
      window.removeEventListener("pointermove", move, true);
      window.removeEventListener("pointerup", end, true);
      if (isMoved) window.addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
      now.stopPropagation();
    };
    window.addEventListener("pointermove", move, true);
    window.addEventListener("pointerup", end, true);
    event.stopPropagation();
    event.preventDefault();
  }

  /** From another point on: its way is a new one. */
  function restart(given, isFirst = true) {
    take(leaves.map((step, place) => [step, given[place]]), true, isFirst);
    trail = [];
    draw();
  }
  /** One step of a leaf's slider, by a key on its box. */
  function nudge(row, way) {
    const step = leaves.find((each) => live.rowOf(each) === row), [low, high] = ends.get(step);
    at = step;
    take([[step, (values[step] || 0) + (way * (high - low)) / 100]]);
  }
  /** To the field of a leaf. */
  function type(row) {
    at = leaves.find((each) => live.rowOf(each) === row);
    choice.selectedIndex = leaves.indexOf(at);
    if (isMany) those(at);
    fields.get(at).typed.select();
  }

  // --- all of it ---

  const shown = make("span", { class: "ng-fields" });
  const those = (step) => { fields.clear(); shown.replaceChildren(...(step === null ? leaves : [step]).map(field)); };
  const choice = make("select", { "aria-label": "leaf", onchange: () => { at = leaves[choice.selectedIndex]; those(at); told(); } },
    ...leaves.map((step) => make("option", {}, live.called(step))));
  const isMany = leaves.length > MOST_FIELDS;
  those(isMany ? at : null);
  bar.append(...(isMany ? [choice] : []), shown, undo, reset, ...(drawing ? [save] : []));
  if (live.isTrained && live.learned.length) { bar.append(trainer, make("label", {}, spoken("rate"), rate), down); chosen(); }
  show();
  return {
    bar, charts, draw, dragged, restart, trail: () => trail, nudge, type, at: () => live.rowOf(at),
    link: () => (past.length && leaves.length <= MOST_LINKED ? `&leaves=${point().join(",")}` : ""),
    restore: (given) => given.length === leaves.length && given.every(Number.isFinite) && take(leaves.map((step, place) => [step, given[place]])),
  };
}

/** The drawing as a file: it looks as it does in this page. */
function saved(svg) {
  const copy = svg.cloneNode(true), theirs = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((each, at) => {
    const look = getComputedStyle(theirs[at]);
    for (const name of ["class", "style", "tabindex"]) each.removeAttribute(name);
    for (const name of INK) each.setAttribute(name, look.getPropertyValue(name));
  });
  for (const each of copy.querySelectorAll("style")) each.remove();
  const href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  make("a", { href, download: "graph.svg" }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}
