"""Eight graphs that no screen shows easily: deep, wide, tangled; each as a learner would write it."""

import random
from itertools import pairwise

import naive_graph as ng
from naive_graph import Graph, Variable, scope


def differentiated(y):
    Graph.forward()
    Graph.backward(y)
    return y


def rk4(steps=2):
    """Two steps of the classical Runge-Kutta method for y' = -k y (1 - y / c)."""
    y, k, c, h = (Variable(v, name=n) for n, v in (("y", 0.1), ("k", 1.5), ("c", 2.0), ("h", 0.25)))

    def slope(at):
        return k * at * (1 - at / c)

    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return differentiated(y)


def gru(steps=4):
    h = Variable(0.0, name="h0")
    gates = {gate: [Variable(0.1 * (i + 1), name=f"{gate}{part}") for i, part in enumerate("xhb")] for gate in "zrn"}
    for step in range(1, steps + 1):
        x = Variable(0.5 * step, name=f"x{step}")
        z, r = (sum_of(gates[gate], x, h).sigmoid() for gate in "zr")
        n = sum_of(gates["n"], x, r * h).tanh()
        h = (1 - z) * n + z * h
    return differentiated(h)


def sum_of(weights, x, h):
    return weights[0] * x + weights[1] * h + weights[2]


def attention(keys=3):
    """One query of two numbers over three keys, as scalars."""
    q = [Variable(0.5 * (i + 1), name=f"q{i}") for i in range(2)]
    scores = []
    for j in range(keys):
        k = [Variable(0.3 * (i + j), name=f"k{j}{i}") for i in range(2)]
        scores.append((q[0] * k[0] + q[1] * k[1]) / 2**0.5)
    weights = [score.exp() for score in scores]
    total = weights[0] + weights[1] + weights[2]
    values = [Variable(1.0 + j, name=f"v{j}") for j in range(keys)]
    y = weights[0] / total * values[0]
    for weight, value in zip(weights[1:], values[1:]):
        y = y + weight / total * value
    return differentiated(y)


def kalman():
    """One step of a Kalman filter in one dimension."""
    x, p, q, r, z, a = (
        Variable(v, name=n) for n, v in (("x", 0.5), ("p", 1.0), ("q", 0.1), ("r", 0.5), ("z", 0.7), ("a", 0.9))
    )
    x_pred, p_pred = a * x, a * p * a + q
    gain = p_pred / (p_pred + r)
    for node, name in ((x_pred, "x_pred"), (p_pred, "p_pred"), (gain, "gain")):
        node.name = name
    x_new, p_new = x_pred + gain * (z - x_pred), (1 - gain) * p_pred
    return differentiated(x_new**2 + p_new)


def horner(degree=12):
    x = Variable(0.7, name="x")
    y = Variable(1.0, name=f"c{degree}")
    for place in range(degree - 1, -1, -1):
        y = y * x + Variable(0.1 * place, name=f"c{place}")
    return differentiated(y)


def tree(depth=6):
    """A balanced tree of 127 nodes: sums and products in turn."""
    layer = [Variable(0.5 + 0.01 * i, name=f"x{i}") for i in range(2**depth)]
    for level in range(depth):
        pairs = zip(layer[::2], layer[1::2])
        layer = [a * b if level % 2 else a - b for a, b in pairs]
    return differentiated(layer[0])


def mlp(sizes=(2, 4, 3, 1)):
    values = [Variable(0.5 * i, name=f"x{i}") for i in range(1, sizes[0] + 1)]
    for layer, (before, after) in enumerate(pairwise(sizes), 1):
        with scope(f"layer{layer}"):
            weights = [[Variable(0.1 * (i + j), name=f"w{layer}{i}{j}") for i in range(before)] for j in range(after)]
            values = [
                sum((w * v for w, v in zip(row, values)), Variable(0.0, name=f"b{layer}{j}")).tanh()
                for j, row in enumerate(weights)
            ]
    return differentiated(values[0])


def tangle(size=200, seed=7):
    """Random operators over whatever is there."""
    chance = random.Random(seed)
    nodes = [Variable(0.3 + 0.1 * i, name=f"x{i}") for i in range(8)]
    while len(nodes) < size:
        a, b = chance.sample(nodes[-30:], 2)
        nodes.append(chance.choice([a + b, a * b, a - b, ng.tanh(a), ng.sin(b)]))
    ends = [node for node in nodes if not node.next]
    return differentiated(Graph.sum(ends))


HARD = {each.__name__: each for each in (rk4, gru, attention, kalman, horner, tree, mlp, tangle)}
# What is seen: [whole boxes that can be read, all boxes, the share of the window that boxes take, way, width, height].
SEEN = """() => {
  const room = document.querySelector('.ng-view').getBoundingClientRect();
  const shown = [...document.querySelectorAll('.ng-view :is(.node, .ng-shut)')].filter(n => n.style.display !== 'none');
  let whole = 0, cover = 0;
  for (const each of shown) {
    const outline = each.querySelector('rect, polygon') ?? each;  // what is left out before a box has none
    const box = outline.getBoundingClientRect(), text = each.querySelector('text');
    const size = Number(text.getAttribute('font-size')) * text.getScreenCTM().a;
    const across = Math.min(box.right, room.right) - Math.max(box.left, room.left);
    const down = Math.min(box.bottom, room.bottom) - Math.max(box.top, room.top);
    if (across > 0 && down > 0) cover += across * down;
    const isIn = across > box.width - 1 && down > box.height - 1;
    whole += size > 8.95 && isIn;
  }
  const svg = document.querySelector('.ng-view svg');
  const [, , wide, high] = svg.getAttribute('viewBox').split(' ').map(Number);
  return [whole, shown.length, cover / innerWidth / innerHeight, svg.dataset.way, wide, high];
}"""
# Resolved once dot is there and has laid out.
READY = "document.querySelector('.ng-map') && window.ngDot && window.ngDot.then(() => true)"
