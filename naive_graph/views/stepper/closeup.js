// A drawing of one node with what feeds it and what it feeds, for graphs that are too large to be seen whole.
// It has the ids of Python's drawings, so that it is lit and filled in alike.

const LETTER = 7.4, HIGH = 58, GAP = 14, BETWEEN = 46, LONGEST_NAME = 14, MOST_TWINS = 50;
const NUMBERS = 138, WIDEST = { Constant: 60, rest: 80, operator: 80 };  // room for `grad -1.23457e+123`

function clipped(text) {
  const letters = [...text];
  return letters.length <= LONGEST_NAME ? text : `${letters.slice(0, LONGEST_NAME - 1).join("")}…`;
}

/** near: {left, middle, right, edges}, as sweeps tell them. lit: rows that must be there. most: boxes in a column. */
function closeUp(near, lit, most) {
  const columns = [near.left, [near.middle], near.right].map((boxes, side) => chosen(boxes, lit, most, side));
  const wide = columns.map((boxes) => Math.max(0, ...boxes.map((box) => Math.max(WIDEST[box.kind] ?? NUMBERS,
    LETTER * [...title(box)].length + 24))));
  const high = Math.max(...columns.map((boxes) => boxes.length * (HIGH + GAP) - GAP));
  const places = new Map(), shapes = [];
  let x = 6;
  columns.forEach((boxes, side) => {
    let y = 16 + (high - (boxes.length * (HIGH + GAP) - GAP)) / 2;
    for (const box of boxes) {
      places.set(box.row, { x, y, wide: wide[side] });
      shapes.push(drawnBox(box, x, y, wide[side]));
      y += HIGH + GAP;
    }
    x += wide[side] + (boxes.length ? BETWEEN : 0);
  });
  const hidden = (row, side) => (places.has(row) ? row : `rest-${side}`);
  const pairs = new Map();
  for (const [source, target, position, id] of near.edges) {
    const pair = `bundle-${hidden(source, 0)}-${hidden(target, 2)}`, ends = [hidden(source, 0), hidden(target, 2)];
    if (!pairs.has(pair)) pairs.set(pair, { ends: ends.map((end) => places.get(end)), twins: [] });
    pairs.get(pair).twins.push([id, position]);
  }
  const arrows = [...pairs].flatMap(([pair, { ends, twins }]) => (twins.length > MOST_TWINS ? [drawnEdge(...ends, pair, 0, twins[0][1])]
    : twins.map(([id, position], nth) => drawnEdge(...ends, id, twins.length > 8 ? 0 : nth - (twins.length - 1) / 2, position))));
  const box = `0 0 ${x - BETWEEN + 6} ${high + 24}`;
  return make("svg:svg", { viewBox: box, "data-near": true, role: "img",
    "aria-label": "the node at hand with its neighbours" }, make("svg:g", {}, ...arrows, ...shapes));
}

/** The boxes of a column: those that are lit first, and one for all that there is no room for. */
function chosen(boxes, lit, most, side) {
  if (boxes.length <= most) return boxes;
  const first = new Set([...boxes.filter((box) => lit.has(box.row)), ...boxes].slice(0, most - 1));
  return [...boxes.filter((box) => first.has(box)), { row: `rest-${side}`, kind: "rest", rest: boxes.length - first.size }];
}

function title(box) {
  if (box.rest) return `… ${box.rest} more`;
  return clipped(box.title ?? box.name ?? box.row);
}

function drawnBox(box, x, y, wide) {
  const text = (name, at, words) => make("svg:text", { class: name, x: x + wide / 2, y: y + at, "text-anchor": "middle" }, words);
  const round = { Variable: HIGH / 2, Constant: 0, PlaceHolder: 10 }[box.kind] ?? 7;
  return make("svg:g", { id: typeof box.row === "number" ? `row-${box.row}` : box.row, class: `node ng-kind-${box.kind}` },
    make("svg:title", {}, String(box.name ?? box.row)),
    make("svg:rect", { x, y, width: wide, height: HIGH, rx: round }),
    text("", typeof box.row === "string" || box.kind === "Constant" ? 33 : 18, title(box)), text("ng-value", 34, ""), text("ng-grad", 50, ""));
}

function drawnEdge(from, to, id, shift, position) {
  const start = [from.x + from.wide, from.y + HIGH / 2 + shift * 12], end = [to.x - 7, to.y + HIGH / 2 + shift * 12];
  const middle = (start[0] + end[0]) / 2;
  return make("svg:g", { id, class: "edge" }, make("svg:title", {}, `operand ${ordinal(position)}`),
    make("svg:path", { d: `M${start} C${middle},${start[1]} ${middle},${end[1]} ${end}`, fill: "none" }),
    make("svg:polygon", { points: `${end[0]},${end[1] - 4} ${end[0] + 7},${end[1]} ${end[0]},${end[1] + 4}` }));
}
