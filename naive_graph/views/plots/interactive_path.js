// A walk on a plotted curve or contour, alive: the point goes along the walk, or from wherever it is put.

/** Numbers that a plot's frame and walk are told by: see interactive_path.py. */
function trailing(root, code) {
  const { graph, ends, frame: [left, top, wide, high], shape: [across, tall], walk } = JSON.parse(root.dataset.trail);
  const live = graphOf(graph, code), { leaves } = live, isPlane = leaves.length === 2;
  const spot = (x, y) => [across * (left + (wide * (x - ends[0][0])) / (ends[0][1] - ends[0][0])), tall * (top + (high * (ends[1][1] - y)) / (ends[1][1] - ends[1][0]))];
  const at = (point) => (isPlane ? spot(...point) : spot(point[0], live.result([[leaves[0], point[0]]])));
  live.set(leaves.map((step, place) => [step, walk.at(-1)[place]]));
  const here = make("svg:circle", { r: 7, class: "ng-here", tabindex: 0, role: "slider", "aria-label": `the point: ${leaves.map(live.called).join(", ")}` });
  const way = make("svg:polyline", { class: "ng-course" }), said = make("p", { class: "ng-said", role: "status" });
  const clip = make("svg:svg", { x: left * across, y: top * tall, width: wide * across, height: high * tall,
    viewBox: [left * across, top * tall, wide * across, high * tall].join(" ") }, way);
  const over = make("svg:svg", { viewBox: `0 0 ${across} ${tall}`, class: "ng-over" }, clip, here);
  root.querySelector(".ng-plotted").append(over);
  const along = make("input", { type: "range", min: 0, max: walk.length - 1, value: walk.length - 1, "aria-label": "along the walk",
    oninput: () => steered.restart(walk[along.value]) });
  let calm = 0;
  const steered = steering(live, () => {}, null, () => {
    const values = leaves.map((step) => live.values[step]), [x, y] = at(values), slopes = live.slopes();
    place(here, x, y);
    const trail = steered?.trail() ?? [];
    way.setAttribute("points", (trail.length ? [...trail, values] : []).map(at).filter(([a, b]) => Number.isFinite(a + b)).map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "));
    const words = `${live.about} = ${figure(live.now())} at ${leaves.map((step) => `${live.called(step)} = ${figure(live.values[step])}, grad ${figure(slopes[step])}`).join("; ")}`;
    facts(here, { "aria-valuenow": Number.isFinite(values[0]) ? values[0] : 0, "aria-valuetext": words });
    clearTimeout(calm);
    calm = setTimeout(() => { said.textContent = words; }, 100);
  });
  root.append(make("div", { class: "ng-bar" }, make("label", {}, "along the walk", along)), steered.bar, said);
  steered.draw();

  /** The point goes to where somebody points. */
  function put(event) {
    const room = over.getBoundingClientRect(), [x, y] = [(event.clientX - room.left) / room.width, (event.clientY - room.top) / room.height];
    const share = [(x - left) / wide, 1 - (y - top) / high].map((each) => within(0, each, 1));
    steered.restart(leaves.map((_, axis) => ends[axis][0] + (ends[axis][1] - ends[axis][0]) * share[axis]), event.type === "pointerdown");
  }
  over.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    over.setPointerCapture?.(event.pointerId);
    put(event);
    event.preventDefault();
  });
  over.addEventListener("pointermove", (event) => event.buttons & 1 && put(event));
  const key = (event) => {
    if (!root.isConnected) return void window.removeEventListener("keydown", key, true);
    const [axis, by] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowUp: [isPlane ? 1 : 0, 1], ArrowDown: [isPlane ? 1 : 0, -1] }[event.key] ?? [];
    if (event.target !== here || axis === undefined) return;
    steered.restart(leaves.map((step, place) => live.values[step] + (place === axis ? (by * (ends[axis][1] - ends[axis][0])) / 100 : 0)));
    event.preventDefault();
    event.stopImmediatePropagation();  // a notebook has meanings of its own for these keys
  };
  window.addEventListener("keydown", key, true);
  if (!document.documentElement.classList.contains("ng-own")) return;
  const linked = () => {
    const values = location.hash.match(/^#leaves=([-+.\de,]+)$/)?.[1].split(",").map(Number) ?? [];
    steered.restore(values);
  };
  root.addEventListener("change", () => { try { history.replaceState(null, "", `#${steered.link().slice(1)}`); } catch { /* a frame without an address */ } });
  over.addEventListener("pointerup", () => root.dispatchEvent(new Event("change")));
  root.addEventListener("click", () => root.dispatchEvent(new Event("change")));
  linked();
}

const trails = (key, code) => {
  for (const root of document.querySelectorAll(".ng-trail:not(.ng-begun)")) if (root.dataset.code === key) {
    root.classList.add("ng-begun");
    trailing(root, code);
  }
};
