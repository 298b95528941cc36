// Beside a training loop: the result by iteration, and, for two weights, the way over the surface.

function charting(walk, teller, go) {
  if (teller.course === null || teller.iterations.length < 2) return null;
  const surface = walk.surface, { losses, path } = teller.course(surface?.rows ?? []);
  if (losses.length < 2) return null;
  const box = make("div", { class: "ng-charts" }), marks = [];
  const chart = (...drawn) => scaled(box, ...drawn);
  const finite = losses.map(({ loss }) => loss).filter(Number.isFinite), low = Math.min(...finite), high = Math.max(...finite);
  const x = (at) => ROOM + ((WIDE - 2 * ROOM) * at) / (losses.length - 1);
  const y = (loss) => TALL - ROOM - ((TALL - 2 * ROOM) * (loss - low)) / (high - low || 1);
  const every = Math.ceil(losses.length / MOST_POINTS);
  const line = losses.map(({ loss }, at) => [x(at), y(loss), at]).filter(([, b, at]) => Number.isFinite(b)
    && (at % every === 0 || at === losses.length - 1));
  const begins = losses.map((each) => each.index);
  const dot = make("svg:circle", { r: 5, class: "ng-here" }), said = make("span", {});
  const svg = chart(`the result by iteration, from ${figure(losses[0].loss)} to ${figure(losses.at(-1).loss)}${unsteady(losses.map(({ loss }) => loss))}`, WIDE, TALL,
    [[losses[0].iteration, losses.at(-1).iteration], [low, high]],
    make("svg:polyline", { class: "ng-course", points: line.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ") }), dot);
  svg.addEventListener("click", (event) => {
    const frame = svg.getBoundingClientRect(), { x, width } = svg.viewBox.baseVal, share = ((event.clientX - frame.left) / frame.width) * width + x;
    const at = Math.round(((share - ROOM) / (WIDE - 2 * ROOM)) * (losses.length - 1));
    go(losses[Math.max(0, Math.min(losses.length - 1, at))].index);
  });
  box.append(said);
  marks.push((at) => {
    place(dot, x(at), y(losses[at].loss));
    said.textContent = `iteration ${losses[at].iteration}: ${figure(losses[at].loss)}`;
  });
  if (surface) {
    const to = contour(surface, path, chart);
    marks.push((at) => to(path[at]));
  }
  return {
    box,
    show(index) {  // the last iteration that had begun
      const first = placeAmong(begins, index, losses.length);
      for (const mark of marks) mark(first);
    },
  };
}
