// A figure with the ends of its axes as numbers; lines of equal height; a point in it.

const WIDE = 300, TALL = 120, SQUARE = 260, ROOM = 8, MOST_POINTS = 600;
const LEFT = 64, DIGIT = 9, BELOW = 18;  // room for the numbers, and for a digit on the left: none stands on a line

/** A figure in a box, with the ends of its axes as numbers. */
function scaled(box, title, wide, high, [[left, right], [low, top]], ...shapes) {
  const ends = [[-4, 12, top, "end"], [-4, high, low, "end"], [0, high + 15, left], [wide, high + 15, right, "end"]];
  const scales = ends.map(([x, y, value, anchor = "start"]) => make("svg:text", { class: "ng-scale", x, y, "text-anchor": anchor }, figure(value)));
  const plot = make("svg:rect", { class: "ng-plot", width: wide, height: high });
  const room = Math.max(LEFT, 4 + DIGIT * Math.max(figure(low).length, figure(top).length));
  const svg = make("svg:svg", { viewBox: `${-room} 0 ${wide + room} ${high + BELOW}`, role: "img", "aria-label": title }, plot, ...shapes, ...scales);
  box.append(make("figure", {}, svg, make("figcaption", {}, title)));
  return svg;
}

/** What to say of a line that goes up and down more often than it can show. */
function unsteady(heights, wide = WIDE) {
  let turns = 0, way = 0;
  for (let at = 1; at < heights.length; at += 1) {
    const next = Math.sign(heights[at] - heights[at - 1]);
    if (next && way && next !== way) turns += 1;
    way = next || way;
  }
  return turns > Math.min(wide / 4, heights.length / 3) && turns > 8 ? spoken("; it goes up and down faster than this shows") : "";
}

function place(dot, x, y) {
  dot.setAttribute("visibility", Number.isFinite(x + y) ? "visible" : "hidden");
  if (Number.isFinite(x + y)) for (const [name, value] of [["cx", x], ["cy", y]]) dot.setAttribute(name, value.toFixed(1));
}

/** Lines of equal height by marching squares, and the way of the two weights over them; what moves the point. */
function contour({ ends, size, heights, levels, names }, path, chart) {
  const across = (value) => ((value - ends[0][0]) / (ends[0][1] - ends[0][0])) * SQUARE;
  const up = (value) => SQUARE - ((value - ends[1][0]) / (ends[1][1] - ends[1][0])) * SQUARE;
  const cell = SQUARE / (size - 1), lines = [];
  for (const level of levels) {
    let way = "";
    for (let row = 0; row < size - 1; row += 1) {
      for (let column = 0; column < size - 1; column += 1) {
        const at = row * size + column, corners = [[0, 0, heights[at]], [1, 0, heights[at + 1]],
          [1, 1, heights[at + size + 1]], [0, 1, heights[at + size]]];
        if (corners.some(([, , height]) => height === null)) continue;
        const cuts = [];
        corners.forEach(([a, b, height], side) => {
          const [c, d, next] = corners[(side + 1) % 4];
          if ((height < level) === (next < level)) return;
          const share = (level - height) / (next - height);
          const [x, y] = [column + a + share * (c - a), row + b + share * (d - b)].map((each) => each * cell);
          cuts.push(`${x.toFixed(1)} ${(SQUARE - y).toFixed(1)}`);
        });
        for (let cut = 0; cut + 1 < cuts.length; cut += 2) way += `M${cuts[cut]}L${cuts[cut + 1]}`;
      }
    }
    lines.push(make("svg:path", { class: "ng-level", d: way }, make("svg:title", {}, figure(level))));
  }
  const every = Math.ceil(path.length / MOST_POINTS), walked = path.map(([a, b], at) => [across(a), up(b), at]);
  const points = walked.filter(([a, b, at]) => Number.isFinite(a + b) && (at % every === 0 || at === walked.length - 1));
  const dot = make("svg:circle", { r: 5, class: "ng-here" });
  chart(`the way over ${names[0]} (to the right) and ${names[1]} (up)`, SQUARE, SQUARE, ends, ...lines, make("svg:polyline", { class: "ng-course",
      points: points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ") }), dot);
  return ([a, b]) => place(dot, across(a), up(b));
}
