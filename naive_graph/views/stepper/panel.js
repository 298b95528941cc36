// What stands beside the drawing: the step in figures, the queue, charts, the learner's program, all values.

const MANY_CHIPS = 24;

function paneling(walk, teller, go) {
  let view = null;
  const steps = make("div", { class: "ng-now-panel" }), program = make("div", { class: "ng-program" });
  const queue = make("ol", { class: "ng-queue" }), ready = make("h3", {}), queued = make("div", { hidden: true }, ready, queue);
  const table = make("div", { tabindex: 0, role: "group", "aria-label": spoken("values and gradients") });
  const all = make("details", { class: "ng-all", ontoggle: () => view && list() }, make("summary", {}, spoken("all values as a table")), table);
  const charts = charting(walk, teller, go);
  const box = make("div", { class: "ng-panel", tabindex: 0, role: "group", "aria-label": spoken("the step in figures") },
    steps, queued, ...(charts ? [charts.box] : []), program, all);

  function show(now, level) {
    view = now;
    steps.replaceChildren(...view.panel(level).map(([title, children]) => make("div", {}, make("h3", {}, title),...children)));
    line(view.place());
    wait(level);
    charts?.show(view.index);
    if (all.open) list();
  }

  /** The queue as chips: the first acts next; a click goes to where one acts. */
  function wait(level) {
    queued.hidden = level !== 2 || !teller.levels;
    const [shown, more] = some(view.queue, MANY_CHIPS);
    const when = view.kind === "contributed" ? spoken("ready: {count}; the first acts now") : spoken("ready: {count}; the first acts next");
    ready.textContent = shown.length ? filled(when, { count: view.queue.length }) : spoken("nobody is ready");
    queue.replaceChildren(...shown.map((row) => make("li", {}, button(teller.called(row),
      `go to where ${teller.called(row)} acts`, () => go(teller.turn(row, view.index))))),
      ...(more ? [make("li", {}, filled(spoken("… {more} more"), { more }))] : []));
  }

  let written = null;  // the program that is shown

  /** The learner's program, with the line and the part of it that made the node. */
  function line(place) {
    const file = place && walk.files[place[0]];
    program.hidden = !file?.lines.length;
    if (program.hidden) return;
    if (written !== file) {
      written = file;
      const lines = make("ol", { start: file.first }, ...file.lines.map((text) => make("li", {}, text)));
      program.replaceChildren(make("h3", {}, spoken("the program")), make("div", { tabindex: 0, role: "group", "aria-label": spoken("the program") }, lines));
    }
    for (const each of program.querySelectorAll("li[aria-current]")) {
      each.removeAttribute("aria-current");
      each.replaceChildren(each.textContent);
    }
    const item = program.querySelectorAll("li")[place[1] - file.first];
    if (!item || view.kind === "started") return;
    const letters = [...item.textContent];  // as Python counts them
    const [start, end] = place[2].length ? place[2] : [0, letters.length];
    item.setAttribute("aria-current", "true");
    item.replaceChildren(letters.slice(0, start).join(""), make("mark", {}, letters.slice(start, end).join("")), letters.slice(end).join(""));
    const code = item.parentNode.parentNode, top = item.offsetTop, mark = item.querySelector("mark");
    const seen = top >= code.scrollTop && top + item.offsetHeight <= code.scrollTop + code.clientHeight;
    if (!seen) code.scrollTop = top - code.clientHeight / 2;
    const { offsetLeft: left, offsetWidth: wide } = mark, room = code.clientWidth - EDGE;
    const fits = left + Math.min(wide, room / 2) <= room;  // of a long part the beginning
    code.scrollLeft = fits ? 0 : Math.min(left - 2 * EDGE, left + wide - room);
    box.scrollTop += Math.max(0, mark.getBoundingClientRect().bottom - box.getBoundingClientRect().bottom);  // a phone's panel is low
  }

  /** Every number of the drawing as a table, for those who do not see it. */
  function list() {
    const rows = view.table().map(([name, ...cells]) => make("tr", {}, make("th", { scope: "row" }, name),
      ...cells.map((each) => make("td", {}, each))));
    const head = [walk.flow ? "stream" : spoken("node"), walk.flow ? "samples" : spoken("value"),
      walk.flow ? "the first" : view.slope].map((name) => make("th", { scope: "col" }, name));
    table.replaceChildren(make("table", {}, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
  }

  return { box, show };
}
