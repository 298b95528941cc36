// Scopes of a drawing that close and open: a closed one is a box as large as its name, and the room that it leaves is
// taken out of the layout, along and across. Where things were laid out stays in mind: nothing is laid out anew.
const LEAST = 9, SMALL = 11;  // pixels: what nobody reads below; the smallest text
const ROOM = 72;  // between what stands where something was closed
const set = (element, facts) => { for (const [name, fact] of Object.entries(facts)) element.setAttribute(name, fact); };

/** spots: where each box and frame is; lay: puts all there; label: the names of scopes; holder: what shows a node. */
const foldable = (svg, nodes, frames, edges, path) => {
  const isShut = (id) => frames.get(id)?.classList.contains("ng-shut");
  const shown = (id) => !path(nodes.get(id) ?? frames.get(id)).some(isShut);
  const holder = (node) => path(node).find(isShut) ?? node.id;  // itself, or the closed box around it
  const drawn = new Map(), spots = new Map();  // where each box and frame was laid out, and where it is now
  const routes = new Map(), counts = new Map();
  let ends;  // the share of a frame's width and height at which arrows leave it
  const canvas = svg.querySelector("g.graph") ?? svg, written = [...canvas.children].filter((each) => each.tagName === "text");
  function measure() {
    for (const frame of frames.values()) {  // graphviz draws a path
      const shape = frame.querySelector("path, rect"), { x, y, width, height } = shape.getBBox();
      const rect = document.createElementNS(svg.namespaceURI, "rect");
      set(rect, { rx: 8, fill: "none", stroke: shape.getAttribute("stroke"), x, y, width, height });
      shape.replaceWith(rect);
      drawn.set(frame.id, [x, y, width, height]);
    }
    for (const node of nodes.values()) {
      const { x, y, width, height } = (node.querySelector("ellipse, polygon, path, rect") ?? node).getBBox();
      drawn.set(node.id, [x, y, width, height]);
      for (const scope of path(node)) counts.set(scope, (counts.get(scope) ?? 0) + 1);
    }
    for (const edge of edges) routes.set(edge, edge.querySelector("path").getAttribute("d"));
    const flow = [0, 1].map((axis) => edges.reduce((sum, edge) => { const [from, to] = points(edge); return sum + to[axis] - from[axis]; }, 0));
    ends = Math.abs(flow[0]) < Math.abs(flow[1]) ? [0.5, flow[1] > 0 ? 1 : 0] : [flow[0] < 0 ? 0 : 1, 0.5];
    if (canvas !== svg) canvas.removeAttribute("transform");  // the viewBox says where it begins
    const ground = canvas.querySelector(":scope > polygon, :scope > rect");
    if (ground) ground.style.display = "none";  // the page has the same
  }
  const title = (id) => frames.get(id).querySelector("title").textContent.trim();
  const pen = document.createElement("canvas").getContext("2d");
  /** How long a text is, in its font's size. */
  const long = (text) => { pen.font = `100px ${svg.getAttribute("font-family")}`; return pen.measureText(text).width / 100; };
  const thing = nodes.keys().next().value?.startsWith("tensor") ? "tensor" : "node";
  const counted = (id) => `${title(id)}: ${counts.get(id)} ${thing}${counts.get(id) > 1 ? "s" : ""}`;
  function label(scale) {
    for (const [id, [x, y, width, height]] of spots) if (frames.has(id)) {
      const text = frames.get(id).querySelector("text"), shut = isShut(id), font = Math.max(shut ? 13 : SMALL, LEAST / scale), most = shut ? width - 4 : width - 12;
      const short = [...title(id)].map((_, place, letters) => `${letters.slice(0, -place - 1).join("")}…`);
      text.textContent = [...(shut ? [counted(id)] : []), title(id), ...short].find((each) => font * long(each) < most) ?? "";
      set(text, { "font-size": font, x: shut ? x + width / 2 : x + 8, y: shut ? y + height / 2 + font / 3 : y + 4 + font, "text-anchor": shut ? "middle" : "start",
        "aria-label": `${shut ? "open" : "close"} ${title(id)}`, "aria-expanded": !shut });
    }
  }
  /** A map of one axis: what is kept, in pairs of from and to, keeps its size; the room that what is gone left, is taken out. */
  function shortened(kept, gone) {
    const parts = [];  // from, to, moved by
    let moved = 0;
    for (const [from, to] of kept.sort((a, b) => a[0] - b[0])) {
      const last = parts.at(-1), free = last ? from - last[1] : 0, least = from === to || last?.[0] === last?.[1] ? 0 : ROOM;
      if (last && free <= 0) { last[1] = Math.max(last[1], to); continue; }
      if (free > least && gone.some(([low, far]) => low < from && last[1] < far)) moved += least - free;
      parts.push([from, to, moved]);
    }
    return (at) => {
      const place = parts.findIndex(([, to]) => at <= to), [from, , by] = parts.at(place);
      if (place < 1 || at >= from) return at + by;
      const [, before, was] = parts[place - 1];
      return before + was + ((at - before) * (from + by - before - was)) / (from - before);
    };
  }
  /** Everything where it belongs, now that these scopes are open and those closed. */
  function lay() {
    for (const [id, each] of [...nodes, ...frames]) each.style.display = shown(id) ? "" : "none";
    const seen = [...drawn].filter(([id]) => shown(id));
    const kept = new Map(seen.map(([id, [x, y, width, height]]) => {
      const [w, h] = isShut(id) ? [Math.min(width, 13 * long(counted(id)) + 20), Math.min(height, 32)] : [width, height];
      return [id, [x + (width - w) * ends[0], y + (height - h) * ends[1], w, h]];  // after all that feeds it
    }));
    const maps = [0, 1].map((axis) => {
      const ranges = [...kept].flatMap(([id, box]) => {
        const [from, to] = [box[axis], box[axis] + box[axis + 2]];
        return frames.has(id) && !isShut(id) ? [[from, from + 24], [to - 8, to]] : [[from, to]];
      });
      const sides = [...drawn.values()].flatMap((box) => [box[axis], box[axis] + box[axis + 2]]), [low, far] = [Math.min(...sides), Math.max(...sides)];
      return shortened([[low, low], ...ranges, [far, far]], seen.filter(([id]) => isShut(id)).map(([, box]) => [box[axis], box[axis] + box[axis + 2]]));
    });
    const at = (x, y) => [maps[0](x), maps[1](y)];
    for (const [id, [x, y, width, height]] of kept) {
      const [near, over] = at(x, y), [far, under] = at(x + width, y + height), rect = frames.get(id)?.querySelector("rect");
      spots.set(id, [near, over, far - near, under - over]);
      shift(nodes.get(id), near - x, over - y);
      if (rect) set(rect, { x: near, y: over, width: far - near, height: under - over });
    }
    for (const cell of svg.querySelectorAll("g.cell")) { const box = nodes.get(cell.dataset.box); cell.style.display = box?.style.display ?? ""; cell.setAttribute("transform", box?.getAttribute("transform") ?? ""); }
    for (const text of written) shift(text, 0, maps[1](Number(text.getAttribute("y"))) - text.getAttribute("y"));
    route(at);
    label(1);
  }
  const shift = (element, x, y) => element?.setAttribute("transform", x || y ? `translate(${x} ${y})` : "");
  const inside = ([x, y], [left, top, width, height]) => x > left && x < left + width && y > top && y < top + height;
  const points = (edge) => [...routes.get(edge).matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)]);
  function route(at) {
    const bundles = new Map();
    for (const edge of edges) {
      const [from, to] = [edge.dataset.from, edge.dataset.to].map((id) => holder(nodes.get(id))), key = `${from}\n${to}`;
      const bundle = frames.has(from) || frames.has(to), hidden = bundle && (from === to || bundles.has(key));
      edge.style.display = hidden ? "none" : "";
      if (bundle) bundles.set(key, [...(bundles.get(key) ?? []), edge]);
      if (hidden) continue;
      edge.querySelector(".ng-count")?.remove();
      for (const text of edge.querySelectorAll("text")) {
        const [x, y] = ["x", "y"].map((side) => Number(text.getAttribute(side))), [near, over] = at(x, y);
        for (const part of [text, edge.querySelector("rect")].filter(Boolean)) {  // and the plate below a label
          if (part !== text && part.nextElementSibling !== text) continue;
          part.style.display = bundle ? "none" : "";
          shift(part, near - x, over - y);
        }
      }
      if (!bundle) bend(edge, to, at);
    }
    const obstacles = [...spots].filter(([id]) => shown(id)).map(([id, [x, y, width, height]]) => {  // of what is open, its name
      const open = frames.has(id) && !isShut(id), [w, h] = open ? [Math.min(width, SMALL * long(title(id)) + 16), 20] : [width, height];
      return [open ? "" : id, [x - 4, y - 4, w + 8, h + 8]];
    });
    const leaving = new Map();
    for (const key of bundles.keys()) { const from = key.split("\n")[0]; leaving.set(from, (leaving.get(from) ?? 0) + 1); }
    for (const [key, [first, ...others]] of bundles) {
      const [from, to] = key.split("\n");
      if (from === to) continue;
      const [x, y] = draw(first, from, to, points(first).map((point) => [...at(...point), ...point]), leaving.get(from) > 1, obstacles);
      if (!others.length) continue;
      const text = first.appendChild(document.createElementNS(svg.namespaceURI, "text"));
      set(text, { class: "ng-count", x, y: y + 4, "text-anchor": "middle", "font-size": SMALL });
      text.textContent = `${others.length + 1}×`;
    }
  }
  function bend(edge, to, at) {  // as it was laid out
    edge.querySelector("path").setAttribute("d", routes.get(edge).replace(/(-?[\d.]+),(-?[\d.]+)/g, (_, x, y) => at(Number(x), Number(y)).join(",")));
    const head = edge.querySelector("polygon");
    head?.setAttribute("points", (head.dataset.was ??= head.getAttribute("points")));
    shift(head, ...[0, 1].map((axis) => spots.get(to)[axis] - drawn.get(to)[axis]));
  }
  /** Of the stopovers those that are needed: each is left out if the way past it meets none of these boxes. */
  function needed(turns, axis, boxes) {
    const ways = Array.from({ length: 49 }, (_, place) => (place + 1) / 50).map((t) => [1.5 * t * (1 - t) + t ** 3, t * t * (3 - 2 * t)]);
    const clear = (one, other) => {
      const shares = (at) => (axis ? [at[1], at[0]] : at);  // of x and of y
      const spots = ways.map(shares).map((share) => [0, 1].map((side) => one[side] + (other[side] - one[side]) * share[side]));
      const among = ([x, y, width, height]) => [[x, width], [y, height]].every(([low, size], side) => low < Math.max(one[side], other[side]) && low + size > Math.min(one[side], other[side]));
      return !boxes.filter(among).some((box) => spots.some((spot) => inside(spot, box)));
    };
    const kept = [];
    for (let place = 0; place < turns.length - 1; ) {
      let next = turns.length - 1;
      while (next > place + 1 && !clear(turns[place], turns[next])) next -= 1;
      kept.push(turns[(place = next)]);
    }
    return kept.slice(0, -1);
  }
  /** The arrow from side to side by its stopovers, straight across what is closed; where there is room for its count.
      fans: more than one arrow leaves there; obstacles: boxes, with their ids. */
  function draw(edge, from, to, way, fans, obstacles) {
    const [a, b] = [spots.get(from), spots.get(to)], level = b[0] > a[0] + a[2] || a[0] > b[0] + b[2], axis = level ? 0 : 1, on = b[axis] > a[axis];
    const side = (box, end) => { const spot = [box[0] + box[2] / 2, box[1] + box[3] / 2]; spot[axis] = box[axis] + (end ? box[axis + 2] : 0); return spot; };
    const [start, end] = [side(a, on), side(b, !on)], sign = on ? 1 : -1;
    let stops = way.filter((point, place) => place % 3 === 0 && sign * (point[axis] - start[axis]) > 12 && sign * (end[axis] - point[axis]) > 12);
    for (const stop of stops) for (const [id, spot] of [[from, start], [to, end]]) if (frames.has(id) && inside(stop.slice(2), drawn.get(id))) stop[1 - axis] = spot[1 - axis];
    stops = needed([start, ...stops, end], axis, obstacles.filter(([id]) => id !== from && id !== to).map(([, box]) => box));
    let [x, y] = start, line = `M${x},${y}`;
    for (const [nextX, nextY] of [...stops, end]) {
      const [middleX, middleY] = [(x + nextX) / 2, (y + nextY) / 2];
      line += level ? ` C${middleX},${y} ${middleX},${nextY} ${nextX},${nextY}` : ` C${x},${middleY} ${nextX},${middleY} ${nextX},${nextY}`;
      [x, y] = [nextX, nextY];
    }
    edge.querySelector("path").setAttribute("d", line);
    const head = edge.querySelector("polygon"), back = on ? -7 : 7;  // else a marker
    if (head) head.dataset.was ??= head.getAttribute("points");
    head?.setAttribute("points", [[0, 0], [back, 2.5], [back, -2.5]].map(([along, across]) => (level ? [x + along, y + across] : [x + across, y + along]).join(",")).join(" "));
    shift(head, 0, 0);
    const turns = [start, ...stops, end], long = (place) => Math.abs(turns[place + 1][axis] - turns[place][axis]);
    const at = !frames.has(from) ? 0 : fans ? turns.length - 2 : [...turns.slice(1).keys()].sort((one, other) => long(other) - long(one))[0];
    const [along, across] = !frames.has(from) ? [0.25, 0.1] : fans ? [0.5, 0.5] : [0.4, 0.35];  // near what is one of many
    const spot = [0, 1].map((side) => turns[at][side] + (turns[at + 1][side] - turns[at][side]) * (side === axis ? along : across));
    const [near, far] = [start[axis] + 12 * sign, end[axis] - 20 * sign];  // off the boxes, and off the head
    spot[axis] = sign * Math.max(sign * near, Math.min(sign * far, sign * spot[axis]));
    return spot;
  }
  return { spots, isShut, shown, holder, canvas, measure, lay, label };
};
