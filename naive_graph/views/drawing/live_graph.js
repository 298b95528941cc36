// A drawn graph whose leaves can be given other values: what it computes, and how its drawing says that.

const CALM = 200;  // milliseconds without a change, after which the address follows, and what is said

/** What a picture's graph computes, as `steering` asks for it. (See live_graph.py for what it is told.) */
function graphOf({ gaps, counts, backs, kinds, types, given, targets, absorbed, called, free }, { rules, trainers }) {
  let row = 0, at = 0;
  const rows = gaps.map((gap) => (row += gap)), size = rows.length, kind = (step) => types[kinds[step]];
  const fed = counts.map((count, step) => Array.from({ length: count }, () => step - backs[at++]));
  const varies = (step) => kind(step) !== "Constant", stepOf = new Map(rows.map((each, step) => [each, step]));
  const leaves = free ?? [...rows.keys()].filter((step) => varies(step) && !counts[step]).sort((a, b) => rows[a] - rows[b]);
  const rule = rows.map((_, step) => rules[`${kind(step)}/${counts[step]}`]), values = new Float64Array(size);
  const { evaluate, partials, adjoints, result } = computing(fed, rule, targets, varies);
  for (const [step, value] of Object.entries(given)) values[step] = Number(value);
  let slopes = [], local = [], handed = [];
  const set = (changes) => {
    for (const [step, value] of changes) values[step] = value;
    evaluate(values);
    local = partials(values);
    slopes = adjoints(local);
    handed = absorbed.map(([by, step, count]) => {  // it is an operand of what took it over, too
      const xs = [values[step], ...fed[by].slice(count).map((each) => values[each])];
      const partial = rules[`${kind(by)}/${xs.length}`].partials(xs, values[by])[0];
      slopes[step] += slopes[by] * partial;
      return [rows[step], rows[by], partial];
    });
  };
  set([]);
  return {
    leaves, values, trainers, size, set, kind, stepOf, rowOf: (step) => rows[step], called: (step) => called[step],
    learned: leaves.filter((step) => kind(step) === "Variable"), isTrained: true, slopes: () => slopes,
    result: (changes) => {
      const known = values.slice();
      for (const [step, value] of changes) known[step] = value;
      return evaluate(known);
    },
    now: () => result(values), partial: (row, place) => local[stepOf.get(row)]?.[place],
    into: (id) => handed.filter(([row]) => `row-${row}` === id).map(([, by, partial]) => [`row-${by}`, String(partial)]),
    about: targets.length === 1 ? called[targets[0]] : `the sum of ${targets.length} results`,
  };
}

/** The row of the graph whose numbers a box shows: of a loop's body that of the chosen step. */
const rowOf = (box) => Number(box.dataset.row ?? box.id.slice(4));

/** What writes a drawing's numbers. wishes: whether values and gradients are shown, and which leaves have names. */
function writing(live, { nodes, edges }, { values: hasValues, grads: hasGrads, named }) {
  const own = new Set(named), written = [];
  for (const [id, node] of nodes) {
    const step = live.stepOf.get(rowOf(node));
    if (!id.startsWith("row-") || step === undefined || live.kind(step) === "Constant" || "leaves" in node.dataset || "alike" in node.dataset) continue;
    const isLeaf = live.leaves.includes(step), texts = [...node.children].filter((each) => each.tagName === "text");
    const numbers = texts.slice(!isLeaf || own.has(step) ? 1 : 0), grads = numbers.find((each) => each.textContent.startsWith("grad ")) ?? null;
    const value = numbers.find((each) => each !== grads) ?? null, label = node.getAttribute("aria-label");
    const ending = [[value, "value"], [grads, "gradient"]].map(([each, what]) => (each && each.textContent !== "?" ? `, ${what} ${each.textContent.replace(/^grad /, "")}` : ""));
    written.push({ node, step, isLeaf, value, grads, said: label.slice(0, label.length - ending.join("").length), shape: [...node.querySelectorAll("rect, polygon")] });
  }
  const arrows = edges.filter((edge) => /^(edge|taken)-\d/.test(edge.id)).map((edge) => [edge, ...edge.id.split("-").slice(-2).map(Number)]);
  /** Of an arrow into this row: at this place among its operands, or from what it took over. */
  const partialOf = (edge, row, place) => (edge.id.startsWith("edge-") ? live.partial(row, place)
    : Number(live.into(`row-${row}`).find(([to]) => to === `row-${place}`)?.[1] ?? NaN));
  let isRoomy = false;
  /** Boxes with room for every number that may come. */
  function room() {
    isRoomy = true;
    const line = (node, before) => {
      const fresh = (before ?? node.querySelector("text")).cloneNode(false);
      (before ?? node.querySelector("text")).after(fresh);
      return fresh;
    };
    for (const each of written) {
      if (hasValues) each.value ??= line(each.node);
      if (hasGrads) each.grads ??= line(each.node, each.value);
      if (each.value) each.value.dataset.room = "0000value";
      if (each.grads) facts(each.grads, { class: "ng-grad", "data-room": "00000000000grad" });
    }
  }
  function write() {
    const slopes = live.slopes();
    for (const { node, isLeaf, value, grads, said, shape } of written) {
      const step = live.stepOf.get(rowOf(node));
      const [words, slope] = [live.values[step], slopes[step]].map(figure);
      if (value) value.textContent = words;
      if (grads) grads.textContent = `grad ${slope}`;
      const label = `${said}${value ? `, value ${words}` : ""}${grads ? `, gradient ${slope}` : ""}`;
      node.setAttribute("aria-label", label);
      node.querySelector("title").textContent = label;
      if (isLeaf) ranged(node, live.values[step]);
      const isWrong = (value && !Number.isFinite(live.values[step])) || (grads && !Number.isFinite(slopes[step]));
      for (const each of shape) each.classList.toggle("ng-wrong", Boolean(isWrong));
    }
    for (const [edge, row, place] of arrows) {
      const partial = partialOf(edge, row, place), words = edge.querySelector("text:not(.ng-count)"), title = edge.querySelector("title");
      if (partial === null || partial === undefined) continue;
      if (words && edge.dataset.partial !== undefined) {
        title.textContent = `${title.textContent.slice(0, title.textContent.length - words.textContent.length)}${figure(partial)}`;
        words.textContent = figure(partial);
      }
      edge.dataset.partial = String(partial);
    }
  }
  return { room, write, isRoomy: () => isRoomy, leaves: written.filter((each) => each.isLeaf) };
}

/** For those who do not see it, a leaf is a slider. */
function ranged(node, value) {
  facts(node, { role: "slider", "aria-valuenow": Number.isFinite(value) ? value : 0, "aria-valuetext": figure(value) });
}

/** Brings a picture's graph to life. told: hears that numbers are others; said: of the picture as it is, for a file. */
function enlivening(root, code, told, drawing) {
  const live = graphOf(JSON.parse(root.dataset.graph), code), isOwn = document.documentElement.classList.contains("ng-own");
  const result = make("span", { class: "ng-result" });
  let calm = 0, isTouched = false;
  const steered = steering(live, () => {
    isTouched = true;
    box.open = true;
    result.textContent = `${live.about} = ${figure(live.now())}`;
    told();
    clearTimeout(calm);
    calm = setTimeout(settled, CALM);
  }, drawing);
  const box = make("details", { class: "ng-alive", ontoggle: () => steered.draw() }, make("summary", {}, "change the values"), steered.bar,
    make("p", {}, result, ` Gradients are those of ${live.about}. Drag the box of a leaf to the side, or use its arrow keys.`), steered.charts);
  root.append(box);
  const leafOf = (target) => root.contains(target) && target.closest?.('g.node[role="slider"]');
  const key = (event) => {
    if (!root.isConnected) return void window.removeEventListener("keydown", key, true);
    const leaf = leafOf(event.target), way = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
    if (!leaf || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = rowOf(leaf);
    if (way) steered.nudge(row, way);
    else if (event.key === "Enter") { box.open = true; steered.type(row); }
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();  // a notebook has meanings of its own for these keys
  };
  window.addEventListener("keydown", key, true);
  function settled() {
    told(true);
    if (!isOwn) return;
    try { history.replaceState(null, "", `#${steered.link().slice(1)}`); } catch { /* a frame without an address */ }
  }
  const linked = () => {
    const values = location.hash.match(/^#leaves=([-+.\de,]+)$/)?.[1];
    if (isOwn && values) steered.restore(values.split(",").map(Number));
  };
  if (isOwn) window.addEventListener("hashchange", linked);
  return { live, steered, linked, wishes: JSON.parse(root.dataset.graph), isTouched: () => isTouched };
}
