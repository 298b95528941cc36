"""How time and memory grow: from 10 nodes to 10 million, and from 1 sample to 100,000.

    python tests/benchmarks/scale.py                    # prints a table, draws figures/scale.png
    python tests/benchmarks/scale.py random 1000000     # one measurement, as a line of JSON
    python tests/benchmarks/scale.py shapes 10000000    # stencil, recurrence, tree, chain, random: first calls
    python tests/benchmarks/scale.py wide 1000000       # one sum, product, logsumexp of so many: first calls
    python tests/benchmarks/scale.py gradients 1000000  # the gradient of a chain as a graph

A step is one call of a Program: the value, and the gradient of up to 1,000
leaves. Every measurement runs in a process of its own, so that its peak of
memory is its own. These graphs go in level runs
(`engines/compiled/runs.py`). They are written into the tables column by column, with
the rows that a loop in Python would make, so that building them takes no time.
The bound is the time in which memory could be read as often as a step must read
it, at the speed of NumPy's copy.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from array import array
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

WARMING = (10, 100, 1_000)  # sizes that are run once before anything is measured
NODES = [10**k for k in range(1, 8)]
SAMPLES = [10**k for k in range(6)]
FIGURE = Path(__file__).parents[2] / "figures" / "scale.png"
LEAVES = 1000
AT_ONCE = 1 << 18  # rows that are written together; an even number
LONG_ENOUGH = 0.5  # seconds that a measurement goes on
NETWORK = (4, 16, 16, 1)


# --- graphs -------------------------------------------------------------------


def columns(sources: Any, firsts: Any, kinds: Any, degrees: Any = None) -> Any:
    """Rows for the tables. sources: all operands in order; firsts: where each row's begin, and the end.

    degrees: where rows take over others' operands, how many each has, all told.
    """
    from naive_graph.core.origin import Origin
    from naive_graph.core.waiting import NewRows
    from naive_graph.graph.node_factory import CURRENT

    def column(kind: str, numbers: Any) -> Any:
        return array(kind, np.asarray(numbers).astype(kind).tobytes())

    own, first, frame = np.diff(firsts), len(CURRENT.tables), sys._getframe()
    targets = column("i", np.repeat(first + np.arange(len(kinds)), own))
    counts = column("i", own if degrees is None else degrees)
    made = NewRows(column("h", kinds), counts, column("i", sources), targets, array("d"), array("q"))
    CURRENT.tables.add_rows(made, [(first, Origin(frame.f_code, frame.f_lasti))])


def repeated(pattern: str, count: int) -> tuple[Any, Any]:
    """The kinds of rows that come again and again, by name, and where each row's operands begin."""
    from naive_graph.core.rules import RULES
    from naive_graph.core.tables import CONSTANT, VARIABLE

    leaves = {"constant": CONSTANT, "variable": VARIABLE}
    kinds = [leaves[word] if word in leaves else RULES[word].number for word in pattern.split()]
    own = [0 if kind < 0 else RULES[word].arity or 2 for word, kind in zip(pattern.split(), kinds)]
    return np.tile(kinds, count), np.concatenate([[0], np.cumsum(np.tile(own, count))])


def fill(kind: str, value: float) -> None:
    """Give all leaves of that kind, which have none yet, a value."""
    from naive_graph.graph.node_factory import CURRENT

    kinds, _ = repeated(kind, 1)
    rows = np.flatnonzero(np.array(CURRENT.tables.operators) == kinds[0])
    CURRENT.tables.set_leaf_values(rows[np.array(CURRENT.tables.stamps)[rows] == 0], value)


def pairs(left: Any, right: Any) -> Any:
    return np.stack([left, right], axis=1).ravel()


def leaves(nodes: int) -> list[Any]:
    """Variables between -1/2 and 1/2: a product with one never grows."""
    from naive_graph import Variable

    return [Variable(number) for number in np.random.default_rng(0).uniform(-0.5, 0.5, max(2, min(LEAVES, nodes // 5)))]


def chain(nodes: int) -> tuple[Any, list[Any]]:
    """y = (y + a) * b, again and again: every row waits for the one before it."""
    from naive_graph.core.rules import RULES

    weights = leaves(nodes)
    count = len(weights)
    end = count + max(2, (nodes - count) // 2 * 2)
    for first in range(count, end, AT_ONCE):
        rows = np.arange(first, min(end, first + AT_ONCE))
        places = rows - count
        kinds = np.where(places % 2 == 0, RULES["add"].number, RULES["mul"].number)
        columns(pairs(np.where(places == 0, 0, rows - 1), places % count), 2 * np.arange(len(rows) + 1), kinds)
    return last(), weights


def random(nodes: int) -> tuple[Any, list[Any]]:
    """(a + b) * w for any two rows that are there, again and again; then the sum of all that nobody used."""
    from naive_graph.core.rules import RULES

    weights, dice = leaves(nodes), np.random.default_rng(1)
    count = len(weights)
    end = count + max(2, (nodes - count - 1) // 2 * 2)
    used = np.zeros(end, bool)
    for first in range(count, end, AT_ONCE):
        rows = np.arange(first, min(end, first + AT_ONCE))
        sums = (rows - count) % 2 == 0
        left = np.where(sums, (dice.random(len(rows)) * rows).astype(np.int64), rows - 1)
        right = np.where(sums, (dice.random(len(rows)) * rows).astype(np.int64), dice.integers(0, count, len(rows)))
        kinds = np.where(sums, RULES["add"].number, RULES["mul"].number)
        columns(pairs(left, right), 2 * np.arange(len(rows) + 1), kinds)
        used[left] = used[right] = True
    ends = np.flatnonzero(~used).astype(np.int32)
    columns(ends, np.array([0, len(ends)]), np.array([RULES["add"].number]))
    return last(), weights


def stencil(nodes: int) -> tuple[Any, list[Any]]:
    """u[i] + c * (u[i-1] - 2 * u[i] + u[i+1]) over 1,000 places: each sum takes over those of the steps before it."""
    from naive_graph import Graph, Variable
    from naive_graph.core.waiting import MOST_MERGED
    from naive_graph.graph.node_factory import CURRENT, handle

    places, c = [Variable(0.001 * place) for place in range(LEAVES)], Variable(0.1)
    u, degree = np.array([place.row for place in places]), 0
    kinds, firsts = repeated("constant mul sub add mul add", LEAVES - 2)
    while len(CURRENT.tables) < nodes:
        row = len(CURRENT.tables) + 6 * np.arange(LEAVES - 2)
        merged = 2 <= degree < MOST_MERGED
        mine = ~u[1:-1] if merged else u[1:-1]
        operands = [row, u[1:-1], u[:-2], row + 1, row + 2, u[2:], np.full(len(row), c.row), row + 3, mine, row + 4]
        degree = degree + 1 if merged else 2
        columns(np.stack(operands, axis=1).ravel(), firsts, kinds, np.tile([0, 2, 2, 2, 2, degree], LEAVES - 2))
        u = np.concatenate([u[:1], row + 5, u[-1:]])
    fill("constant", 2.0)
    return Graph.sum([handle(CURRENT.tables, row) for row in u.tolist()]), [c, *places[1:]]


def recurrence(nodes: int) -> tuple[Any, list[Any]]:
    """x = rate * x * (1 - x), again and again."""
    from naive_graph import Variable
    from naive_graph.graph.node_factory import CURRENT

    rate, start = Variable(0.7), Variable(0.3)
    for first in range(0, nodes // 4, AT_ONCE):
        count = min(AT_ONCE, nodes // 4 - first)
        row = len(CURRENT.tables) + 4 * np.arange(count)
        kinds, firsts = repeated("mul constant sub mul", count)
        x = np.where(first + np.arange(count) == 0, start.row, row - 1)
        operands = [np.full(count, rate.row), x, row + 1, x, ~row, row + 2]
        columns(np.stack(operands, axis=1).ravel(), firsts, kinds, np.tile([2, 0, 2, 3], count))
    fill("constant", 1.0)
    return last(), [rate, start]


def tree(nodes: int) -> tuple[Any, list[Any]]:
    """Pairs of pairs of leaves: sums, and a sine at every third height."""
    from naive_graph.graph.node_factory import CURRENT, handle

    count = 1 << int(np.log2(nodes * 0.45))
    kinds, firsts = repeated("variable", count)
    columns(np.zeros(0), firsts, kinds)
    fill("variable", 1e-3)
    below, height = np.arange(count), 0
    while len(below) > 1:
        pattern, height = "add sin" if height % 3 == 0 else "add", height + 1
        kinds, firsts = repeated(pattern, len(below) // 2)
        rows = len(CURRENT.tables) + np.arange(len(kinds)).reshape(len(below) // 2, -1)
        own = [below[::2], below[1::2]] + ([rows[:, 0]] if rows.shape[1] == 2 else [])
        columns(np.stack(own, axis=1).ravel(), firsts, kinds)
        below = rows[:, -1]
    return last(), [handle(CURRENT.tables, row) for row in range(min(count, LEAVES))]


def last() -> Any:
    from naive_graph.graph.node_factory import CURRENT, handle

    return handle(CURRENT.tables, len(CURRENT.tables) - 1)


def network() -> tuple[Any, list[Any], list[Any]]:
    """A dense net of tanh, its weights and its inputs."""
    from naive_graph import Graph, PlaceHolder, Variable, mean

    dice = np.random.default_rng(2)
    inputs = [PlaceHolder() for _ in range(NETWORK[0])]
    xs: list[Any] = inputs
    weights = []
    for size in NETWORK[1:]:
        layer = [[Variable(number) for number in dice.normal(size=len(xs) + 1) / 2] for _ in range(size)]
        xs = [Graph.sum([*[w * x for w, x in zip(row, xs)], row[-1]]).tanh() for row in layer]
        weights += [w for row in layer for w in row]
    return mean((xs[0] - 0.5) ** 2), weights, inputs


# --- measuring ----------------------------------------------------------------


def peak() -> int:
    """The most memory that this process ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def busy(work: Any) -> float:
    """Seconds of the processor: the same on a machine that has other work to do."""
    start = time.process_time()
    work()
    return time.process_time() - start


def fastest(work: Any) -> float:
    """The fastest of many calls, in seconds."""
    work()
    best, start = seconds(work), time.perf_counter()
    while time.perf_counter() - start < LONG_ENOUGH:
        best = min(best, seconds(work))
    return best


def column_bytes(thing: Any) -> int:
    """What an object's arrays hold, in bytes."""
    found = 0
    for column in vars(thing).values():
        if hasattr(column, "itemsize"):
            found += len(column) * column.itemsize
    return found


def measured(kind: str, size: int) -> dict[str, Any]:
    """One measurement: seconds and bytes."""
    import naive_graph as ng

    warm()
    before = peak()
    if kind == "samples":
        output, weights, inputs = network()
        program = ng.Program(output, wrt=weights, inputs=[inputs])
        given: list[Any] = [np.random.default_rng(3).normal(size=(size, NETWORK[0]))]
    else:
        output, weights = SHAPES[kind](size)
        program, given = ng.Program(output, wrt=weights), []
    built = peak()
    since = time.process_time()
    first = seconds(lambda: program(*given))
    worked = time.process_time() - since
    answers = next(iter(program._backends.values()))
    step = fastest(lambda: program(*given))
    machine = answers if hasattr(answers, "lowering") else None  # the direct engine plans nothing
    stages = machine.lowering.stages if machine is not None else []
    return {
        "kind": kind, "size": size, "step": step, "first": first, "peak": peak() - before, "built": built - before,
        "whole": peak(), "worked": worked,
        "tables": column_bytes(program._tables), "code": column_bytes(machine.tape) if machine is not None else 0,
        "stages": sum(column_bytes(stage.ir) for stage in stages if stage.ir is not None),
        "rows": len(machine.ir) if machine is not None else size,
    }  # fmt: skip


def swept(kind: str, size: int) -> dict[str, Any]:
    """The same for `Graph.forward` and `Graph.backward`."""
    from naive_graph import Graph

    warm()
    output, _ = SHAPES[kind](size)
    built = peak()
    first = [busy(Graph.forward), busy(lambda: Graph.backward(output))]
    step = min(busy(lambda: (Graph.forward(), Graph.backward(output))) for _ in range(3))
    return {"kind": kind, "size": size, "first": first, "step": step, "peak": peak(), "built": built}


def warm() -> None:
    """Load all code: what it takes is no part of a measurement."""
    import naive_graph as ng

    with ng.Graph.scratch():
        x, p = ng.Variable(1.0), ng.PlaceHolder()
        y = x * x + x
        ng.Graph.forward(engine="direct"), ng.Graph.backward(y, engine="direct")
        ng.Program(x * x, wrt=[x])()
        ng.Program(ng.mean(x * p), wrt=[x], inputs=[p])([1.0, 2.0])


def bandwidth() -> float:
    """Bytes a second that NumPy's copy reads and writes."""
    source = np.ones(16_000_000)
    target = np.empty_like(source)
    return 2 * source.nbytes / fastest(lambda: np.copyto(target, source))


def in_its_own_process(*what: Any) -> dict[str, Any]:
    command = [sys.executable, __file__, *map(str, what)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- telling ------------------------------------------------------------------

HEAD = (
    f"{'':8} {'size':>10} {'first call':>11} {'step':>11} {'a unit':>9} {'bound':>11} {'peak':>9} {'a unit':>8}  "
    f"{'tables':>7} {'passes':>7} {'tape':>7}"
)


def line(each: dict[str, Any], speed: float) -> str:
    """A measurement as a line of the table; memory a unit (a node or a sample) in bytes."""
    size = each["size"]
    return (
        f"{each['kind']:8} {size:>10,} {each['first'] * 1e3:>8.1f} ms {each['step'] * 1e6:>8.1f} us "
        f"{each['step'] / size * 1e9:>6.1f} ns {each['code'] / speed * 1e6:>8.1f} us {each['peak'] / 1e6:>6.0f} MB "
        f"{each['peak'] / size:>6.0f} B  {each['tables'] / size:>5.0f} B {each['stages'] / size:>5.0f} B "
        f"{each['code'] / size:>5.0f} B"
    )


STYLES = {
    "random": ("o-", "tab:blue", "random graph, by nodes"),
    "chain": ("s-", "tab:green", "chain, by nodes"),
    "samples": ("^-", "tab:orange", f"network {'-'.join(map(str, NETWORK))}, by samples"),
}


def draw(found: list[dict[str, Any]], speed: float) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.8), constrained_layout=True)
    for kind, (style, colour, label) in STYLES.items():
        some = [each for each in found if each["kind"] == kind]
        sizes = [each["size"] for each in some]
        left.loglog(sizes, [each["step"] for each in some], style, color=colour, label=label)
        left.loglog(sizes, [each["code"] / speed for each in some], ":", color=colour)
        right.loglog(sizes, [max(each["peak"], 1e5) for each in some], style, color=colour, label=label)
        right.loglog(sizes, [each["code"] for each in some], ":", color=colour)
    left.set(xlabel="nodes, or samples", ylabel="seconds", title="A step: the value, and up to 1,000 derivatives")
    right.set(xlabel="nodes, or samples", ylabel="bytes", title="Memory: the peak of the process beyond its code")
    right.axhline(1e9, color="0.6", linewidth=1)
    right.text(1.2, 1.15e9, "1 GB", color="0.4")
    left.plot([], [], ":", color="0.3", label="bound: the code read once, at memory's speed")
    right.plot([], [], ":", color="0.3", label="the code alone")
    for axes in (left, right):
        axes.grid(which="major", alpha=0.3)
        axes.legend(frameon=False, fontsize=9, loc="upper left")
    left.set_ylim(1e-7, 10)
    right.set_ylim(1e4, 1e11)
    figure.savefig(FIGURE, dpi=110)


SHAPES = {"stencil": stencil, "recurrence": recurrence, "tree": tree, "chain": chain, "random": random}


def shapes(size: int) -> None:
    """First calls by either door, in the processor's seconds; and what the process ever held, building included."""
    print(f"{'':10} {'forward':>9} {'backward':>9} {'again':>11} {'peak':>8}   {'Program':>8} {'again':>8} {'peak':>8}")
    for kind in SHAPES:
        there, program = in_its_own_process("sweeps", kind, size), in_its_own_process(kind, size)
        forward, backward = there["first"]
        print(
            f"{kind:10} {forward:>7.2f} s {backward:>7.2f} s {there['step']:>9.2f} s {there['peak'] / 1e6:>5.0f} MB   "
            f"{program['worked']:>6.2f} s {program['step']:>6.2f} s {program['whole'] / 1e6:>5.0f} MB",
            flush=True,
        )


def wide(size: int) -> None:
    """First calls of one operator over so many operands, in the processor's seconds."""
    import naive_graph as ng

    warm()
    for make in (ng.Graph.sum, ng.Graph.prod, ng.logsumexp):
        with ng.Graph.scratch():
            xs = [ng.Variable(1.0 + 1e-7 * (place % 3 - 1)) for place in range(size)]
            y = make(xs)
            there, back = busy(ng.Graph.forward), busy(partial(ng.Graph.backward, y))
            program = ng.Program(y, wrt=xs)
            first, again = busy(program), busy(program)
        print(f"{make.__name__:10} {there:.2f} s, back {back:.2f} s; Program {first:.2f} s, again {again:.2f} s")


def gradients(size: int) -> None:
    """y = (y + a) * x again and again, differentiated as a graph."""
    import naive_graph as ng

    x, a = ng.Variable(0.3), ng.Variable(0.9)
    y = x
    for _ in range(size // 2):
        y = (y + a) * x
    took = busy(lambda: ng.gradients(y, [x]))
    print(f"{took / size * 1e6:.1f} us an operator, {len(ng.Graph.node_list):,} nodes, {peak() / 1e6:.0f} MB")


def main() -> None:
    if len(sys.argv) > 1:
        kind, *size = sys.argv[1:]
        if kind in ("wide", "gradients"):
            return {"wide": wide, "gradients": gradients}[kind](int(size[0]))
        if kind == "shapes":
            return shapes(int(size[0]))
        if kind == "sweeps":
            return print(json.dumps(swept(size[0], int(size[1]))))
        return print(json.dumps({"speed": bandwidth()} if kind == "bandwidth" else measured(kind, int(size[0]))))
    speed = in_its_own_process("bandwidth")["speed"]  # a child's peak begins at its parent's
    print(f"NumPy's copy: {speed / 1e9:.1f} GB read and written a second\n{HEAD}")
    for kind in ("random", "chain", "samples"):
        for size in WARMING:
            in_its_own_process(kind, size)  # so that no measured process compiles a kernel: LLVM takes 30 MB
    found = []
    for kind, sizes in (("random", NODES), ("chain", NODES), ("samples", SAMPLES)):
        for size in sizes:
            found.append(in_its_own_process(kind, size))
            print(line(found[-1], speed), flush=True)
    draw(found, speed)


if __name__ == "__main__":
    main()
