// Tensors as maps of cells, painted: warm above zero, cold below. A cell is chosen by a click or the arrow keys.

const APART_MAPS = 5, LEAST_CELL = 2, MOST_CELL = 30, MOST_TALL = 560;  // pixels

/** What colours mean now: a browser resolves light and dark. */
function paints(root) {
  const probe = make("span", { class: "ng-probe", "aria-hidden": "true" });
  root.append(probe);
  const found = {};
  for (const name of ["ground", "cold", "warm", "wrong", "now", "line", "panel"]) {
    probe.dataset.paint = name;
    found[name] = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  }
  probe.remove();
  return found;
}
const ink = ([red, green, blue]) => `rgb(${red} ${green} ${blue})`;

/** The places of a tensor's entries: maps of `high` by `wide` cells, and where each entry lies among them. */
function mapped({ shape, order, map: [high, wide] }) {
  const strides = shape.map((_, axis) => shape.slice(axis + 1).reduce((all, each) => all * each, 1));
  const size = shape.reduce((all, each) => all * each, 1), extents = order.map((axis) => shape[axis]);
  const place = new Int32Array(size);  // by where it is shown
  for (let at = 0; at < size; at += 1) {
    let rest = at, found = 0;
    for (let each = order.length - 1; each >= 0; each -= 1) { found += (rest % extents[each]) * strides[order[each]]; rest = Math.floor(rest / extents[each]); }
    place[at] = found;
  }
  const shown = new Int32Array(size);
  place.forEach((each, at) => { shown[each] = at; });
  return { place, shown, high, wide, maps: Math.max(1, Math.ceil(size / (high * wide))), size };
}

/** A canvas with all cells of a tensor. wish: {width, most, tall} in pixels; picked hears which entry was clicked, dragged how far. */
function gridding(plan, tensor, wish, picked = null, dragged = null) {
  const layout = mapped(tensor), { high, wide, maps, size } = layout;
  const most = wish.most ?? MOST_CELL, tall = wish.tall ?? MOST_TALL;
  let across = 1, cell = 0;
  for (let columns = 1; columns <= maps; columns += 1) {  // as many maps side by side as make cells large
    const rows = Math.ceil(maps / columns);
    const fits = Math.min(most, (wish.width - APART_MAPS * (columns - 1)) / (wide * columns), (tall - APART_MAPS * (rows - 1)) / (high * rows));
    if (fits > cell + 0.01) [cell, across] = [fits, columns];
  }
  let some = maps;  // that are shown at once: with them that of the chosen entry
  if (cell < LEAST_CELL && maps > 1) {
    cell = Math.min(LEAST_CELL, wish.width / wide, tall / high);
    across = within(1, Math.floor((wish.width + APART_MAPS) / (wide * cell + APART_MAPS)), maps);
    some = Math.min(maps, across * Math.max(1, Math.floor((tall + APART_MAPS) / (high * cell + APART_MAPS))));
  }
  if (cell >= 4) cell = Math.floor(cell);
  const down = Math.ceil(some / across), width = Math.ceil(across * (wide * cell + APART_MAPS) - APART_MAPS) + 2, height = Math.ceil(down * (high * cell + APART_MAPS) - APART_MAPS) + 2;
  const canvas = make("canvas", { class: "ng-grid" }), ratio = Math.min(3, window.devicePixelRatio || 1);
  Object.assign(canvas, { width: width * ratio, height: height * ratio });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const spot = (at) => {
    const map = Math.floor(at / (high * wide)) - start, inside = at % (high * wide);
    return [1 + (map % across) * (wide * cell + APART_MAPS) + (inside % wide) * cell, 1 + Math.floor(map / across) * (high * cell + APART_MAPS) + Math.floor(inside / wide) * cell];
  };
  let chosen = -1, start = 0;  // the first map that is shown

  function paint(colours, isSlope, marked = chosen) {
    chosen = marked;
    start = Math.floor(Math.max(0, layout.shown[Math.max(0, marked)]) / (high * wide * some)) * some;
    const first = start * high * wide, end = Math.min(size, first + some * high * wide);
    const pen = canvas.getContext("2d"), column = isSlope ? plan.slopes : plan.values, { steps } = tensor;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    let largest = 0;
    for (const step of steps) if (step >= 0 && Number.isFinite(column[step])) largest = Math.max(largest, Math.abs(column[step]));
    const gap = cell >= 6 ? 1 : 0;
    for (let at = first; at < end; at += 1) {
      const step = steps[layout.place[at]], value = step >= 0 ? column[step] : 0, [x, y] = spot(at);
      const share = largest ? Math.abs(value) / largest : 0, to = value > 0 ? colours.warm : colours.cold;
      const ground = step < 0 ? colours.panel : Number.isFinite(value) ? colours.ground.map((each, part) => each + (to[part] - each) * share) : colours.wrong;
      pen.fillStyle = ink(ground);
      pen.fillRect(x, y, cell - gap, cell - gap);
      if (cell >= 26 && wish.written && step >= 0) {
        pen.fillStyle = ground[0] + 2 * ground[1] + ground[2] > 480 ? "#1a1a1a" : "#ffffff";
        pen.font = "9.5px system-ui, sans-serif";
        [pen.textAlign, pen.textBaseline] = ["center", "middle"];
        const [two, one] = [2, 1].map((digits) => String(Number(value.toPrecision(digits))).replace("-", "−"));
        pen.fillText(two.length <= 5 ? two : one.length <= 6 ? one : "…", x + cell / 2, y + cell / 2 + 0.5);
      }
    }
    pen.strokeStyle = ink(colours.line);
    pen.lineWidth = 0.5;
    for (let map = start; map < Math.min(maps, start + some); map += 1) {
      const [x, y] = spot(map * high * wide);
      pen.strokeRect(x - 0.5, y - 0.5, wide * cell - gap + 1, high * cell - gap + 1);
    }
    if (marked >= 0) {
      const [x, y] = spot(layout.shown[marked]);
      pen.strokeStyle = ink(colours.now);
      pen.lineWidth = 2.5;
      pen.strokeRect(x - 0.5, y - 0.5, Math.max(5, cell - gap + 1), Math.max(5, cell - gap + 1));
    }
  }
  /** The entry under a point of the window; -1 for none. */
  function under({ clientX, clientY }) {
    const room = canvas.getBoundingClientRect(), [x, y] = [clientX - room.left - 1, clientY - room.top - 1];
    const [column, row] = [Math.floor(x / (wide * cell + APART_MAPS)), Math.floor(y / (high * cell + APART_MAPS))];
    const [inX, inY] = [Math.floor((x - column * (wide * cell + APART_MAPS)) / cell), Math.floor((y - row * (high * cell + APART_MAPS)) / cell)];
    const at = (start + row * across + column) * high * wide + inY * wide + inX;
    return inX < 0 || inX >= wide || inY < 0 || inY >= high || column >= across || row >= down || at < 0 || at >= size ? -1 : layout.place[at];
  }
  if (picked) canvas.addEventListener("click", (event) => {
    const place = under(event);
    if (place >= 0 && !canvas.moved) picked(place);
  });
  if (dragged) {
    canvas.classList.add("ng-free");
    canvas.addEventListener("pointerdown", (event) => {
      const place = under(event), from = event.clientX;
      canvas.moved = false;
      if (place < 0 || event.button) return;
      const follow = dragged(place);
      const move = (now) => { canvas.moved ||= Math.abs(now.clientX - from) > 3; if (canvas.moved) follow((now.clientX - from) / 160); };
      const end = () => { removeEventListener("pointermove", move); removeEventListener("pointerup", end); removeEventListener("pointercancel", end); };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
      addEventListener("pointercancel", end);
    });
  }
  /** The entry beside another one, in the direction of an arrow key. */
  function beside(place, key) {
    const at = layout.shown[Math.max(0, place)], by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide }[key];
    return layout.place[within(0, at + by, size - 1)];
  }
  return { canvas, paint, beside, left: maps - some };
}
