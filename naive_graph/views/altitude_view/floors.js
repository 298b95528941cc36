// What each altitude shows, from the layers down to the instructions. Every floor gives its parts, and hears when numbers change.

const NEAR_ROWS = 4, MOST_TERMS = 6;

/** world: plan, model, at (where we are), go, colours, dot, set (changes a leaf). */
function flooring(world) {
  const { plan, model, at, go } = world, { tensors } = plan;
  const said = (text, name = "") => make("p", { class: name }, text);
  const head = (text) => make("h3", {}, text);
  const times = (shape) => shape.filter((each) => each > 1).join(" × ") || "1";
  const listed = (many, what) => `${many.toLocaleString("en")} ${what}${many === 1 ? "" : "s"}`;

  /** The tensor that a layer hands on: the last that a later layer takes, else its last. */
  const result = (layer) => {
    const own = new Set(layer.tensors), taken = layer.tensors.filter((each) => tensors.some((other, number) => !own.has(number) && other.sources.includes(each)));
    const computed = taken.filter((each) => tensors[each].kind !== "parameter");
    return computed.at(-1) ?? layer.tensors.at(-1);
  };

  /** A tensor as cells that follow. */
  function cells(number, wish, act = {}) {
    const grid = gridding(plan, tensors[number], wish, act.picked, act.dragged);
    world.follow(() => grid.paint(world.colours, at.slope, act.isChosen ? at.place : -1));
    return grid;
  }

  // --- 1: the layers ---

  function layers() {
    const cards = model.layers.map((layer, number) => {
      const shown = result(layer), tensor = tensors[shown], [title, ...rest] = layer.title.replace(/^(\d+) /, "$1\u2002").split("(");
      const isWide = tensor.steps.length > 100 && tensor.map[0] > 1;
      return make("li", {}, make("button", { type: "button", class: "ng-card", "aria-current": number === at.layer ? "true" : null, onclick: () => go({ floor: 1, layer: number }) },
        make("strong", {}, title), make("span", { class: "ng-soft" }, rest.join("(").replace(/\)$/, "").replaceAll("'", "") || "\u00a0"),
        cells(shown, { width: isWide && innerWidth > 560 ? 180 : 126, most: tensor.steps.length > 16 ? 15 : 28, tall: 150 }).canvas,
        make("span", { class: "ng-soft" }, `${times(tensor.shape)}${layer.weights ? ` · ${listed(layer.weights, "weight")}` : ""}`)));
    });
    return { title: "From here a model is a row of layers. Each shows what it hands on.", main: [make("ol", { class: "ng-cards" }, ...cards)], panel: null };
  }

  // --- pictures that dot lays out here ---

  function drawn(picture, label, clicked, marked) {
    const view = make("div", { class: "ng-view", tabindex: 0, role: "group", "aria-label": label });
    const box = make("div", { class: "ng-stage" }, view);
    const svg = parsed(picture.svg, "image/svg+xml");
    for (const each of svg.querySelectorAll("[tabindex]")) each.removeAttribute("tabindex");
    view.append(svg);
    const show = () => {
      if (!world.dot || !view.clientWidth) return;
      const stage = staging(view, svg, picture.dot, world.dot, "");
      if (!stage.lay(null, false)) return void view.replaceChildren(said("This picture is too large to be laid out here."));
      stage.begin();
      world.leave(stage.end);
      world.zoom = stage.zoom;
      for (const [id, node] of stage.nodes) {
        if (!clicked(id, true)) continue;
        for (const [name, fact] of Object.entries({ role: "button", tabindex: 0 })) node.setAttribute(name, fact);
        node.classList.toggle("ng-chosen", marked(id));
        node.addEventListener("click", () => !stage.wasDragged() && clicked(id));
        node.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.stopPropagation(); clicked(id); } });
      }
    };
    if (world.dot) requestAnimationFrame(show);
    else if (world.dot === null) view.replaceChildren(said("Pictures are laid out by Graphviz, which was missing where this page was made."));
    return box;
  }

  // --- 2: a layer's operators, taken apart into workers ---

  function workers() {
    const layer = model.layers[at.layer], picture = layer.flow ?? model.flow;
    if (!picture) return { title: `${layer.title} has no dataflow of workers. These are its tensors.`, main: [drawn(layer.picture, "the layer's tensors", tensorClicked, () => false), strip(layer)], panel: [said("Click a tensor.", "ng-soft")] };
    const clicked = (id, isAsked) => {
      const [, way, other] = id.match(/^([FB])Comp(\d+)/) ?? [];
      if (!way && !/^scope|Comp/.test(id)) return false;
      if (!isAsked) go({ floor: 2, layer: other && !layer.flow ? model.layers.findIndex((each) => each.title.startsWith(`${other} `)) : at.layer, slope: way === "B" });
      return true;
    };
    const count = (picture.svg.match(/worker_\d+/g) ?? []).length;
    const shown = result(layer);
    return {
      title: `${layer.title}: FComp goes forwards and BComp back. ${count ? "Each is split among workers and joined again." : "Each is one operator."}`,
      main: [drawn(picture, "the layer's operators and streams", clicked, () => false)],
      panel: [head("what it hands on"), cells(shown, { width: 300, tall: 300 }).canvas, said(`${tensors[shown].name}: ${times(tensors[shown].shape)}`),
        said("Click an operator for its tensors; one that goes back shows gradients.", "ng-soft")],
    };
  }

  // --- 3: tensors with their formulas ---

  function strip(layer) {
    const shown = layer.tensors.map((number) => make("button", { type: "button", class: "ng-mini", "aria-current": number === at.tensor ? "true" : null,
      "aria-label": `tensor ${tensors[number].name}`, onclick: () => go({ floor: 2, tensor: number }) },
    cells(number, { width: 96, most: 12, tall: 62 }).canvas, make("span", {}, tensors[number].name)));
    return make("div", { class: "ng-strip" }, ...shown);
  }

  function tensorClicked(id, isAsked) {
    const number = model.layers[at.layer].picture.ids[id];
    if (number !== undefined && !isAsked) go({ floor: 2, tensor: number });
    return number !== undefined;
  }
  function tensorFloor() {
    const layer = model.layers[at.layer], tensor = tensors[at.tensor];
    const main = [drawn(layer.picture, "the layer's tensors", tensorClicked, (id) => layer.picture.ids[id] === at.tensor), strip(layer)];
    return { title: `${layer.title} is written with tensors. A cell leads to its scalars.`, main, panel: tensorPanel(tensor) };
  }

  function tensorPanel(tensor) {
    const isFree = tensor.steps.some((step) => step >= 0 && plan.isFree(step));
    const grid = cells(at.tensor, { width: world.panelWidth(), tall: 330, written: true }, {
      isChosen: true,
      picked: (place) => (tensor.steps[place] >= 0 ? go({ floor: 3, place, step: tensor.steps[place] }) : go({ place })),
      dragged: isFree ? (place) => world.pulled(tensor.steps[place], () => go({ place, step: tensor.steps[place] }, true)) : null,
    });
    const frame = make("div", { class: "ng-cells", tabindex: 0, role: "group", "aria-label": `entries of ${tensor.name}: arrows choose one`, onkeydown: (event) => {
      if (!/^Arrow/.test(event.key)) return;
      event.preventDefault();
      event.stopPropagation();
      go({ place: grid.beside(at.place, event.key) }, true);
    } }, grid.canvas);
    const words = make("p", { class: "ng-entry", "aria-live": "polite" }), steer = make("div", {});
    let steered = null;
    world.follow(() => {
      const step = tensor.steps[at.place];
      words.textContent = step >= 0 ? `${plan.entryName(tensor, at.place)} = ${figure(plan.values[step])},  gradient ${figure(plan.slopes[step])}` : `${plan.entryName(tensor, at.place)}: nothing is computed here.`;
      if (steered !== step) { steered = step; steer.replaceChildren(...(step >= 0 && plan.isFree(step) ? [world.field(step)] : [])); }
    });
    return [head(`${tensor.name}, ${tensor.shape.length ? times(tensor.shape) : "a number"}`), ...(tensor.formula ? [make("code", { class: "ng-formula" }, tensor.formula)] : []),
      where(tensor), frame, ...(grid.left > 0 ? [said(`${listed(grid.left, "map")} more: arrows lead there.`, "ng-soft")] : []), words, steer, make("button", { type: "button", class: "ng-down", onclick: () => go({ floor: 3, step: Math.max(0, tensor.steps[at.place]) }) }, "its scalars ↓")];
  }
  /** What the letters of the formula are at the chosen entry. */
  function where(tensor) {
    const letters = tensor.formula.split(" = ")[0].match(/\[([^\]]*)\]/)?.[1].split(",") ?? [], line = make("p", { class: "ng-soft" });
    world.follow(() => { line.textContent = letters.length === tensor.shape.length ? plan.indices(tensor.shape, at.place).map((index, axis) => `${letters[axis]} = ${index}`).join(", ") : ""; });
    return line;
  }

  // --- 4: one scalar and its neighbours ---

  const box = (step) => ({ row: step, kind: plan.kind(step), name: plan.called(step), title: short(step) });
  const short = (step) => (plan.isEntry(step) || plan.kind(step) === "Constant" ? plan.called(step) : plan.kind(step));
  function scalarFloor() {
    const { step } = at, fed = [...plan.fed(step)], users = [...new Set(plan.usersOf(step))];
    const edges = [...fed.map((from, place) => [from, step, place, `edge-${from}-${step}-${place}`]),
      ...users.flatMap((user) => [...plan.fed(user)].flatMap((from, place) => (from === step ? [[step, user, place, `edge-${step}-${user}-${place}`]] : [])))];
    const left = [...new Set(fed)].filter((each) => each !== step).map(box), frame = make("div", { class: "ng-drawing ng-close", tabindex: 0, role: "group", "aria-label": "the scalar with its neighbours" });
    const show = () => {
      const rooms = Math.max(3, Math.floor((frame.clientHeight - 30) / 58)), svg = closeUp({ left, middle: box(step), right: users.map(box), edges }, new Set(), Math.min(9, rooms));
      const { width, height } = svg.viewBox.baseVal, scale = within(0.7, Math.min((frame.clientWidth - 8) / width, (frame.clientHeight - 16) / height), 1.7);
      facts(svg, { width: width * scale, height: height * scale, role: "group" });
      frame.replaceChildren(svg);
      svg.getElementById(`row-${step}`)?.classList.add("ng-now");
      for (const group of svg.querySelectorAll('g[id^="row-"]')) {
        const to = Number(group.id.slice(4));
        if (to !== step) for (const [name, fact] of Object.entries({ role: "button", tabindex: 0 })) group.setAttribute(name, fact);
        group.addEventListener("click", () => go({ step: to }));
        group.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.stopPropagation(); go({ step: to }); } });
      }
      world.follow(() => {
        for (const group of svg.querySelectorAll('g[id^="row-"]')) {
          const each = Number(group.id.slice(4)), isFixed = plan.kind(each) === "Constant";
          group.querySelector(".ng-value").textContent = isFixed ? "" : figure(plan.values[each]);
          group.querySelector(".ng-grad").textContent = isFixed ? "" : `grad ${figure(plan.slopes[each])}`;
        }
      });
    };
    requestAnimationFrame(show);
    return { title: `${plan.called(step)} is a single number. Left: what it is computed from; right: what uses it.`, main: [frame], panel: scalarPanel(step, fed) };
  }

  const SIGNS = { add: "+", sub: "−", mul: "·", div: "/" };
  function scalarPanel(step, fed) {
    const sum = make("p", { class: "ng-sum" }), came = make("p", { class: "ng-sum ng-running" }), sign = SIGNS[plan.kind(step)];
    const terms = (words, between) => (words.length > MOST_TERMS ? [...words.slice(0, MOST_TERMS), `… ${words.length - MOST_TERMS} more`] : words).join(between);
    const number = (value) => (value < 0 || Object.is(value, -0) ? `(${figure(value)})` : figure(value));
    world.follow(() => {
      const operands = fed.map((each) => number(plan.values[each]));
      sum.textContent = fed.length ? `${sign ? terms(operands, ` ${sign} `) : `${plan.kind(step)}(${terms(operands, ", ")})`} = ${figure(plan.values[step])}` : figure(plan.values[step]);
      const shares = plan.shares(step).map(([slope, partial]) => `${number(slope)}·${number(partial)}`);
      came.textContent = plan.kind(step) === "Constant" ? "" : model.targets.includes(step) ? "1, here the way back begins" : shares.length ? `${terms(shares, " + ")} = ${figure(plan.slopes[step])}` : `${figure(plan.slopes[step])}: nothing comes back`;
    });
    const [tensor, place] = plan.home(step), map = gridding(plan, tensors[tensor], { width: world.panelWidth(), most: 20, tall: 190 },
      (other) => tensors[tensor].steps[other] >= 0 && go({ step: tensors[tensor].steps[other], tensor, place: other, layer: world.layerOf(tensor) }));
    world.follow(() => map.paint(world.colours, at.slope, place));
    return [head(plan.called(step)), said(plan.isLeaf(step) ? `a ${plan.kind(step)}` : `the operator ${plan.kind(step)}`, "ng-soft"), head("its value"), sum,
      ...(plan.isFree(step) ? [world.field(step)] : []), ...(plan.kind(step) === "Constant" ? [] : [head("its gradient: what comes back, times the partial")]), came, head(`where it stands in ${tensors[tensor].name}`), map.canvas,
      make("button", { type: "button", onclick: () => go({ floor: 2, tensor, place, layer: world.layerOf(tensor) }) }, `its tensor ${tensors[tensor].name} ↑`), " ",
      make("button", { type: "button", class: "ng-down", onclick: () => go({ floor: 4 }) }, "the machine ↓")];
  }

  // --- 5: the row in the plan, in level runs, and as instructions ---

  const tape = model.machine.tape && Object.fromEntries(Object.entries(model.machine.tape).map(([name, each]) => [name, typeof each[0] === "number" ? plan.ints(each) : each]));
  function listing(lines, now) {
    const rows = lines.map(([key, text]) => make("li", { "aria-current": key === now ? "true" : null }, make("b", {}, `${key}`), ` ${text}`));
    return make("ol", { class: "ng-listing" }, ...rows);
  }
  const around = (now, size) => Array.from({ length: size }, (_, each) => each).slice(Math.max(0, now - NEAR_ROWS), now + NEAR_ROWS + 1);
  const few = (words) => (words.length > MOST_TERMS ? `${words.slice(0, MOST_TERMS).join(" ")} … ${words.length - MOST_TERMS} more` : words.join(" "));
  function machineFloor() {
    const { step } = at, columns = [column("1  the plan", said(`Row ${step} of ${plan.size.toLocaleString("en")}, in the order of computing.`, "ng-soft"), listing(around(step, plan.size).map((each) =>
      [each, `${plan.kind(each)} ${few([...plan.fed(each)])}${plan.isLeaf(each) ? `  ${short(each)}` : ""}`]), step))];
    if (tape) columns.push(...onTape(step));
    const operands = [...plan.fed(step)], distinct = [...new Set(operands)], code = model.machine.code?.[`${plan.kind(step)}/${operands.map((each) => distinct.indexOf(each)).join(",")}`];
    if (model.machine.missing) columns.push(column("2  instructions", said(model.machine.missing)));
    else columns.push(...instructions(step, distinct, code));
    return { title: `${plan.called(step)} as the machine has it: a row, a place in level runs, instructions.`, main: [make("div", { class: "ng-columns" }, ...columns)], panel: null };
  }
  const column = (title, ...children) => make("section", {}, head(title), ...children);

  function onTape(step) {
    const { place, kinds, names, starts, operands, slots, runs } = tape;
    let by = step, row = place[step];
    for (let many = 0; row < 0 && many < 50; many += 1) {  // it went into a row that uses it
      [by] = plan.usersOf(by);
      if (by === undefined) return [column("2  after the passes", said("No result needs this row: the passes left it out."))];
      row = place[by];
    }
    const told = (each) => {
      const its = [...operands.subarray(starts[each], starts[each + 1])], name = names[kinds[each]];
      const words = name === "dot" ? its.flatMap((x, at) => (at % 2 ? [] : [its[at + 1] < 0 ? `${x}` : `${x}·${its[at + 1]}`])) : its.map(String);
      return `${name} ${name === "dot" && words.length <= MOST_TERMS ? words.join(" + ") : few(words)}`;
    };
    const own = column("2  after the passes", said(by === step ? `Here it is row ${row} of ${kinds.length.toLocaleString("en")}. Numbers are those of this plan.` : `It went into row ${row}, with ${short(by)}: no row of its own is left.`, "ng-soft"),
      listing(around(row, kinds.length).map((each) => [each, told(each)]), row));
    const slot = slots[row], now = runs.findIndex(([, first, rows]) => slot >= first && slot < first + rows);
    const lines = runs.map(([name, first, rows, way], at) => [at, `${name} × ${rows}  → slots ${first}${rows > 1 ? `–${first + rows - 1}` : ""}  ${way}`]);
    const seen = now < 0 ? said(`It is a leaf, which lies in slot ${slot}; no run computes it.`) : listing(around(now, lines.length).map((each) => lines[each]), now);
    const where = now < 0 ? [] : [said(`Run ${now} of ${lines.length.toLocaleString("en")} leaves it in slot ${slot}, 8 bytes at ${8 * slot}.`, "ng-soft")];
    return [own, column("3  level runs", ...where, seen)];
  }

  function instructions(step, distinct, code) {
    if (plan.isLeaf(step)) return [column("4  instructions", said("A leaf has none: its number is loaded where it is used. Choose an operator that uses it."))];
    if (!code) return [column("4  instructions", said("This row has too many operands for its instructions to be read."))];
    const real = [...distinct, step], named = (place) => real[Number(place)] ?? place;
    const llvm = code.llvm.replace(/(ptr %(?:values|adjoints), i64 )(\d+)/g, (_, before, place) => `${before}${named(place)}`);
    const legend = real.map((each, place) => `${8 * place}: row ${each}`);
    return [column("4  in LLVM's language", said("Forwards, then back. Places are rows of the plan.", "ng-soft"), make("pre", { tabindex: 0 }, llvm)),
      column("5  the processor's instructions", said(`Of this kind of row, on the machine that made the page. In memory: ${few(legend.map((each) => `${each},`)).replace(/,$/, "")}.`, "ng-soft"), make("pre", { tabindex: 0 }, code.assembly))];
  }

  return { shows: [layers, workers, tensorFloor, scalarFloor, machineFloor], result };
}
