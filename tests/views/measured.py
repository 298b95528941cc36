"""What can be measured in an SVG of ours: who crosses, overlaps, leaves its box, or is too small."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import combinations, pairwise, product

import numpy as np
from pictures import SVG

from naive_graph.views.drawing.text_metrics import text_width

NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


class Measured:
    """The boxes, arrows and texts of a picture, as points and rectangles (left, top, right, bottom)."""

    def __init__(self, svg):
        self.boxes, self.lines, self.tips, self.labels, self.texts, self.frames, self.names = ({} for _ in range(7))
        self.sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', svg)]
        for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
            name, kind = group.get("id"), group.get("class")
            texts = [_text(each) for each in group.findall(f"{SVG}text")]
            if kind == "node":
                at = _pairs(group.get("transform").replace(" ", ","))[0]
                self.boxes[name] = _moved(_around(_points(group)), at)
                self.texts[name] = [_moved(text, at) for text in texts]
            elif kind == "cluster":
                self.frames[name] = _around(_pairs_of(group.find(f"{SVG}rect")))
                (self.names[name],) = texts
            elif kind == "edge":
                pieces = group.find(f"{SVG}path").get("d").split("M")[1:]  # before its label, and behind it
                self.lines[name] = [_curve(_pairs(piece)) for piece in pieces]
                self.tips[name] = _around(_pairs(group.find(f"{SVG}polygon").get("points")))
                self.labels[name] = texts

    def ends(self, edge):
        return self.lines[edge][0][0], self.lines[edge][-1][-1]

    def crossings(self):
        """Pairs of arrows that cross. Those that leave or reach one box side by side do not count."""
        found = 0
        for one, other in combinations(self.lines, 2):
            apart = all(_far(a, b) > 8 for a, b in product(self.ends(one), self.ends(other)))
            found += apart and any(_meet(a, b) for a, b in product(self.lines[one], self.lines[other]))
        return found

    def overlaps(self):
        """Boxes on boxes, arrows through boxes, labels on boxes, on each other and on arrowheads, in words."""
        wrong = [f"{a} on {b}" for (a, x), (b, y) in combinations(self.boxes.items(), 2) if _touch(x, y)]
        for (edge, line), (box, place) in product(self.lines.items(), self.boxes.items()):
            inner, near = _grown(place, -4), _grown(place, 9)
            ends = any(_holds(near, end) for end in self.ends(edge))
            if not ends and any(_holds(inner, point) for piece in line for point in piece):
                wrong.append(f"{edge} runs through {box}")
        labels = [(name, text) for name, texts in self.labels.items() for text in texts]
        others = [*self.boxes.items(), *((f"the tip of {name}", tip) for name, tip in self.tips.items())]
        wrong += [f"label of {a} on {b}" for (a, x), (b, y) in product(labels, others) if _touch(x, y)]
        wrong += [f"label of {a} on that of {b}" for (a, x), (b, y) in combinations(labels, 2) if _touch(x, y)]
        return wrong

    def struck(self):
        """Arrows through a label, their own too, or through the text of a box; in words.

        The name of a frame stands on a plate above the arrows.
        """
        every = [*self.texts.items(), *self.labels.items()]
        fine = {edge: [at for piece in pieces for at in _every(piece, 2.0)] for edge, pieces in self.lines.items()}
        return [
            f"{edge} runs through {name}"
            for (edge, line), (name, texts) in product(fine.items(), every)
            for text in texts
            if _touch(_around(line), _grown(text, 1)) and any(_holds(text, at) for at in line)
        ]

    def spills(self):
        """Boxes whose text does not fit into them."""
        return [
            name for name, texts in self.texts.items()
            for text in texts if text[0] < self.boxes[name][0] - 0.5 or text[2] > self.boxes[name][2] + 0.5
        ]  # fmt: skip

    def short(self):
        """Arrows that end away from every outline."""
        return [
            name
            for name, tip in self.tips.items()
            if not any(_touch(_grown(tip, 3), box) for box in self.boxes.values())
        ]

    def least(self):
        return min(self.sizes, default=99)


def _pairs(text):
    numbers = [float(each) for each in NUMBER.findall(text)]
    return list(zip(numbers[::2], numbers[1::2]))


def _pairs_of(rect):
    x, y, wide, high = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
    return [(x, y), (x + wide, y + high)]


def _points(group):
    found = []
    for shape in group:
        if shape.tag == f"{SVG}rect":
            found += _pairs_of(shape)
        elif shape.tag == f"{SVG}polygon":
            found += _pairs(shape.get("points"))
    return found or [corner for each in group.iter(f"{SVG}text") for corner in (_text(each)[:2], _text(each)[2:])]


def _moved(place, by):
    return place[0] + by[0], place[1] + by[1], place[2] + by[0], place[3] + by[1]


def _around(points):
    xs, ys = zip(*points)
    return min(xs), min(ys), max(xs), max(ys)


def _text(element):
    size, words = float(element.get("font-size", 13)), (element.text or "").strip()
    x, y, wide = float(element.get("x")), float(element.get("y")), text_width(words, size)
    left = x - {"middle": wide / 2, "end": wide}.get(element.get("text-anchor"), 0.0)
    return left, y - 0.75 * size, left + wide, y + 0.15 * size


def _curve(points):
    """Points on a path of cubic curves."""
    drawn = [points[0]]
    for at in range(0, len(points) - 3, 3):
        a, b, c, d = points[at : at + 4]
        for step in range(1, 9):
            t = step / 8
            weights = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            drawn.append(tuple(sum(w * p[i] for w, p in zip(weights, (a, b, c, d))) for i in (0, 1)))
    return drawn


def _every(line, step):
    """Points on a line, so far from each other."""
    found = []
    for a, b in pairwise(line):
        count = max(1, int(_far(a, b) / step))
        found += [(a[0] + (b[0] - a[0]) * at / count, a[1] + (b[1] - a[1]) * at / count) for at in range(count)]
    return found


def _meet(one, other):
    if not _touch(_grown(_around(one), 1), _grown(_around(other), 1)):
        return False
    (a, b), (c, d) = ((line[:-1], line[1:]) for line in map(np.array, (one, other)))
    a, b = a[:, None], b[:, None]
    return bool(np.any((_side(a, b, c) * _side(a, b, d) < 0) & (_side(c, d, a) * _side(c, d, b) < 0)))


def _side(p, q, r):
    """On which side of a line a point is, of many at once."""
    return (q - p)[..., 0] * (r - p)[..., 1] - (q - p)[..., 1] * (r - p)[..., 0]


def _far(a, b):
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _touch(a, b):
    return a[0] < b[2] - 1 and b[0] < a[2] - 1 and a[1] < b[3] - 1 and b[1] < a[3] - 1


def _grown(place, by):
    return place[0] - by, place[1] - by, place[2] + by, place[3] + by


def _holds(place, point):
    return place[0] < point[0] < place[2] and place[1] < point[1] < place[3]
