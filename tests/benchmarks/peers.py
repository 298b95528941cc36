"""The same work in micrograd, CasADi, torch, JAX and C.

Each function gives another that makes one step; None if the peer is missing.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from workloads import LAYERS, chain, replay


def tool(name: str):
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# --- micrograd ----------------------------------------------------------------


def _value():
    engine = tool("micrograd.engine")
    if engine is None:
        return None
    value = engine.Value

    def log(self):
        out = value(math.log(self.data), (self,), "log")

        def backward():
            self.grad += out.grad / self.data

        out._backward = backward
        return out

    value.log = log
    return value


def micrograd_moons(points, labels, weights):
    value = _value()
    if value is None:
        return None
    layers = [([[value(w) for w in row] for row in w.tolist()], [value(c) for c in b.tolist()]) for w, b in weights]
    every = [each for w, b in layers for each in [*(x for row in w for x in row), *b]]

    def step():
        losses = []
        for point, label in zip(points.tolist(), labels.tolist()):
            h = [value(x) for x in point]
            for depth, (w, b) in enumerate(layers):
                h = [sum((wi * xi for wi, xi in zip(row, h)), c) for row, c in zip(w, b)]
                h = h if depth == 2 else [x.relu() for x in h]
            losses.append((1 + -label * h[0]).relu())
        loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(x * x for x in every)
        for x in every:
            x.grad = 0
        loss.backward()

    return step


def micrograd_seed():
    value = _value()
    if value is None:
        return None
    x = value(6.0)

    def step():
        x.grad = 0
        ((x - 7) ** 2 + 10).log().backward()
        x.data -= 0.01 * x.grad

    return step


# --- CasADi -------------------------------------------------------------------


def _buffered(function, inputs, outputs):
    """CasADi's quickest way from Python: arrays that it reads and writes in place."""
    buffer, evaluate = function.buffer()
    for place, array in enumerate(inputs):
        buffer.set_arg(place, memoryview(array))
    for place, array in enumerate(outputs):
        buffer.set_res(place, memoryview(array))
    evaluate.kept = (buffer, inputs, outputs, function) if hasattr(evaluate, "__dict__") else None
    KEPT.append((buffer, inputs, outputs, function))
    return evaluate


KEPT: list = []


def casadi_moons(points, labels, weights):
    ca = tool("casadi")
    if ca is None:
        return None
    flat = np.concatenate([x.ravel() for pair in weights for x in pair])
    p, at, h = ca.SX.sym("p", len(flat)), 0, ca.SX.sym("x", *points.shape)
    x, y = h, ca.SX.sym("y", len(labels))
    for depth, (into, out) in enumerate(LAYERS):
        w = ca.reshape(p[at : at + into * out], into, out)
        at += into * out
        h = h @ w + ca.repmat(p[at : at + out].T, len(labels), 1)
        at += out
        h = h if depth == 2 else ca.fmax(h, 0)
    loss = ca.sum1(ca.fmax(1 - y * h[:, 0], 0)) / len(labels) + 1e-4 * ca.sumsqr(p)
    function = ca.Function("f", [p, x, y], [loss, ca.gradient(loss, p)])
    return _buffered(function, [flat, points.T.ravel().copy(), labels], [np.zeros(1), np.zeros(len(flat))])


def casadi_graph(leaves, steps, batch: int = 0):
    ca = tool("casadi")
    if ca is None:
        return None
    functions = {name: getattr(ca, name) for name in ("exp", "log", "sin", "cos", "tanh")}
    symbols = [ca.SX.sym(f"x{k}") for k in range(len(leaves))]
    y, x = replay(symbols, steps, functions), ca.vertcat(*symbols)
    function = ca.Function("f", [x], [y, ca.gradient(y, x)])
    if not batch:
        return _buffered(function, [np.array(leaves)], [np.zeros(1), np.zeros(len(leaves))])
    values = np.tile(leaves, batch)
    return _buffered(function.map(batch, "serial"), [values], [np.zeros(batch), np.zeros(len(values))])


def casadi_chain(links, at):
    ca = tool("casadi")
    if ca is None:
        return None
    x, a, b, c = symbols = [ca.SX.sym(name) for name in "xabc"]
    y, every = chain(links, x, a, b, c, ca.sin), ca.vertcat(*symbols)
    function = ca.Function("f", [every], [y, ca.gradient(y, every)])
    return _buffered(function, [np.array(at)], [np.zeros(1), np.zeros(4)])


def casadi_seed():
    ca = tool("casadi")
    if ca is None:
        return None
    x = ca.SX.sym("x")
    f = ca.log((x - 7) ** 2 + 10)
    held, value, slope = np.array([6.0]), np.zeros(1), np.zeros(1)
    evaluate = _buffered(ca.Function("f", [x], [f, ca.gradient(f, x)]), [held], [value, slope])

    def step():
        evaluate()
        held[0] -= 0.01 * slope[0]

    return step


# --- torch and JAX ------------------------------------------------------------


def torch_moons(points, labels, weights):
    torch = tool("torch")
    if torch is None:
        return None
    torch.set_num_threads(1)
    x, y = torch.tensor(points, dtype=torch.float64), torch.tensor(labels, dtype=torch.float64)
    p = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for pair in weights for each in pair]
    linear = torch.nn.functional.linear

    def step():
        for each in p:
            each.grad = None
        h = torch.relu(linear(torch.relu(linear(x, p[0], p[1])), p[2], p[3]))
        score = linear(h, p[4], p[5])[:, 0]
        (torch.relu(1 - y * score).mean() + 1e-4 * sum((each * each).sum() for each in p)).backward()

    return step


def torch_digits(images, classes, weights):
    torch = tool("torch")
    if torch is None:
        return None
    torch.set_num_threads(1)
    x, y = torch.tensor(images, dtype=torch.float64), torch.tensor(classes, dtype=torch.float64)
    p = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for pair in weights for each in pair]
    linear = torch.nn.functional.linear

    def step():
        for each in p:
            each.grad = None
        z = linear(torch.relu(linear(x, p[0], p[1])), p[2], p[3])
        (torch.logsumexp(z, 1) - (y * z).sum(1)).mean().backward()

    return step


def _jax():
    jax = tool("jax")
    if jax is not None:
        jax.config.update("jax_enable_x64", True)
    return jax


def _jitted(jax, loss, *inputs):
    function = jax.jit(jax.value_and_grad(loss))
    inputs = jax.tree.map(jax.numpy.asarray, inputs)
    return lambda: jax.block_until_ready(function(*inputs))


def jax_moons(points, labels, weights):
    jax = _jax()
    if jax is None:
        return None
    x, y = jax.numpy.asarray(points), jax.numpy.asarray(labels)

    def loss(p):
        h = x
        for depth, (w, b) in enumerate(p):
            h = h @ w.T + b
            h = h if depth == 2 else jax.nn.relu(h)
        return jax.nn.relu(1 - y * h[:, 0]).mean() + 1e-4 * sum((e * e).sum() for pair in p for e in pair)

    return _jitted(jax, loss, weights)


def jax_digits(images, classes, weights):
    jax = _jax()
    if jax is None:
        return None

    def loss(p, x, y):
        (w, b), (v, c) = p
        z = jax.nn.relu(x @ w.T + b) @ v.T + c
        return (jax.nn.logsumexp(z, 1) - (y * z).sum(1)).mean()

    return _jitted(jax, loss, weights, images, classes)


def jax_graph(leaves, steps, batch: int):
    """Takes about a minute to compile for a thousand nodes."""
    jax = _jax()
    if jax is None:
        return None
    functions = {name: getattr(jax.numpy, name) for name in ("exp", "log", "sin", "cos", "tanh")}

    def loss(x):
        return replay([x[k] for k in range(len(leaves))], steps, functions).sum()

    return _jitted(jax, loss, np.repeat(np.array(leaves)[:, None], batch, 1))


def jax_descent(steps: int, start, rate, loss):
    """The whole loop in one compiled function, which keeps the loss of each step, as `minimize` does."""
    jax = _jax()
    if jax is None:
        return None
    loss_and_slopes = jax.value_and_grad(lambda at: loss(jax.numpy, *at))

    def step(at, _):
        held, slopes = loss_and_slopes(at)
        return tuple(x - rate * slope for x, slope in zip(at, slopes)), held

    loop = jax.jit(lambda at: jax.lax.scan(step, at, None, length=steps))
    return lambda: jax.block_until_ready(loop(start))


# --- C ------------------------------------------------------------------------


def c_moons(points, labels, weights):
    """Straight-line C: every multiplication of the network written out, for eight samples at once."""
    if shutil.which("gcc") is None:
        return None
    folder = Path(tempfile.mkdtemp())
    (folder / "moons.c").write_text(_c_text())
    flags = ["-O2", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-shared", "-fPIC", "-w"]
    subprocess.run(["gcc", *flags, "moons.c", "-o", "moons.so"], cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "moons.so"))
    flat = np.concatenate([x.ravel() for pair in weights for x in pair])
    blocks = -(-len(labels) // 8)
    room = np.zeros(blocks * 24 + 8)  # C's vectors want to begin at multiples of 64 bytes
    begin = -room.ctypes.data // 8 % 8
    data = room[begin : begin + blocks * 24].reshape(blocks, 3, 8)
    for sample, (point, label) in enumerate(zip(points, labels)):
        data[sample // 8, :, sample % 8] = *point, label
    loss, gradient = np.zeros(1), np.zeros(len(flat))
    places = [ctypes.c_void_p(each.ctypes.data) for each in (flat, data, loss, gradient)]
    KEPT.append((flat, data, loss, gradient))
    step = library.step
    return lambda: step(*places, blocks, len(labels))


def _c_text() -> str:
    lines, at, h = [], 0, ["x0", "x1"]
    places, zs = [], []
    for depth, (into, out) in enumerate(LAYERS):
        weight, bias = at, at + into * out
        at = bias + out
        z = [f"z{depth}_{j}" for j in range(out)]
        for j, name in enumerate(z):
            terms = " + ".join([f"p[{bias + j}]", *(f"p[{weight + j * into + k}] * {h[k]}" for k in range(into))])
            lines.append(f"v {name} = {terms};")
        places.append((weight, bias, h))
        zs.append(z)
        if depth < 2:
            h = [f"h{depth}_{j}" for j in range(out)]
            lines += [f"v {a} = pos({b});" for a, b in zip(h, z)]
    lines += ["v m = 1.0 - y * z2_0;", "total += pos(m);", "v g2_0 = -y * step_(m);"]
    for depth in (2, 1, 0):
        weight, bias, below = places[depth]
        into, out = LAYERS[depth]
        for j in range(out):
            lines.append(f"G[{bias + j}] += g{depth}_{j};")
            lines += [f"G[{weight + j * into + k}] += g{depth}_{j} * {below[k]};" for k in range(into)]
        if depth:
            for k in range(into):
                terms = " + ".join(f"p[{weight + j * into + k}] * g{depth}_{j}" for j in range(out))
                lines.append(f"v g{depth - 1}_{k} = ({terms}) * step_(z{depth - 1}_{k});")
    body = "\n    ".join(lines)
    return f"""
typedef double v __attribute__((vector_size(64)));
typedef long long m8 __attribute__((vector_size(64)));
static inline v pos(v a) {{ m8 k = a > 0.0; return (v)((m8)a & k); }}
static inline v step_(v a) {{ m8 k = a > 0.0; v one = {{1,1,1,1,1,1,1,1}}; return (v)((m8)one & k); }}
void step(const double *restrict p, const v *restrict d, double *restrict loss, double *restrict g, int n, int count) {{
  static v G[{at}];
  v total = {{0}};
  for (int i = 0; i < {at}; i++) G[i] = (v){{0}};
  for (int b = 0; b < n; b++) {{
    v x0 = d[3 * b], x1 = d[3 * b + 1], y = d[3 * b + 2];
    {body}
  }}
  double sum = 0, square = 0;
  for (int k = 0; k < 8; k++) sum += total[k];
  for (int i = 0; i < {at}; i++) {{
    double s = 0;
    for (int k = 0; k < 8; k++) s += G[i][k];
    g[i] = s / count + 2e-4 * p[i];
    square += p[i] * p[i];
  }}
  loss[0] = (sum - (8 * n - count)) / count + 1e-4 * square;
}}
"""
