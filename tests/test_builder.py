"""Compiled code builds what Python builds, to the last byte, and leaves the rest to it."""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref
from decimal import Decimal

import pytest
from graphs import NUMBERS, check_consistent, snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable, builder
from naive_graph.engines.llvm.building import ROWS
from naive_graph.errors import EngineError, ForeignNodeError, NaiveGraphError, StaleNodeError
from naive_graph.handles import CURRENT, Building
from naive_graph.tables import Tables

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(builder.refusal() is not None, reason="compiled code is not for this Python")
SIGNS, WHICH = st.sampled_from("+-*/p+++sv?rn"), st.integers(0, 40)
STEPS = st.lists(st.tuples(SIGNS, WHICH, WHICH | NUMBERS), max_size=60)


@pytest.fixture(autouse=True)
def compiled():
    before = builder.now()
    builder.use("compiled")
    yield
    builder.use(before)


def elsewhere(a, b):
    return a - b


def follow(steps):
    """Nodes by operators, with looks at the tables and other functions' nodes in between."""
    nodes = [Variable(0.5), PlaceHolder(), Constant(2.0)]
    for sign, left, right in steps:
        a = nodes[left % len(nodes)]
        b = right if isinstance(right, float) else nodes[right % len(nodes)] if right < 30 else right
        if sign == "+":
            nodes.append(a + b)
        elif sign == "-":
            nodes.append(elsewhere(a, b) if left % 2 else a - b)
        elif sign == "*":
            nodes.append(a * b)
        elif sign == "/":
            nodes.append(a / b)
        elif sign == "p":
            nodes.append(a**b)
        elif sign == "s":
            nodes.append(a.sin())
        elif sign == "r":
            nodes.append(0.25 - a if left % 2 else 3 * a)
        elif sign == "n":
            nodes.append(-a if left % 2 else elsewhere(2, a))
        elif sign == "v":
            nodes.append(Variable(1.0))
        else:
            assert nodes[-1].in_deg <= 33
    return nodes


def tables():
    """All that the tables hold; a line and columns for each instruction, which calls may name in two ways."""
    positions = [CURRENT.tables.origin(row)._position() for row in range(len(Graph.node_list))]
    return {**snapshot(), "current": None, "instructions": positions}


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(1, 3))
def test_the_tables_are_those_that_python_builds(steps, rounds):
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            nodes = follow(steps * rounds)
            seen.append((tables(), [node.row for node in nodes]))
            assert all(Graph.node_list[node.row] is node for node in nodes)
            check_consistent()
    assert seen[0] == seen[1]


def test_a_long_sum_merges_alike_across_margins():
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x, w = Variable(2.0), Variable(3.0)
            y = x
            for _ in range(3000):
                y = y + w * x + 1.0 - 2
            seen.append(tables())
    assert seen[0] == seen[1]


def test_compiled_code_takes_over():
    x = Variable(1.0)
    y = x
    for _ in range(10):
        y = y * x
    assert type(CURRENT.tables) is not Tables and CURRENT.tables.margin.words[ROWS] > 0
    assert len(Graph.node_list) == 11 and type(CURRENT.tables) is Tables


def test_a_row_has_one_node_while_its_first_is_held():
    x = Variable(1.0)
    held = [x]
    for _ in range(3000):
        held.append(held[-1] - x)
    assert all(Graph.node_list[row] is node for row, node in enumerate(held))
    assert held[2000].last == [held[1999], x] and held[1999].next[0] is held[2000]


def test_a_node_that_was_let_go_dies_and_comes_back():
    x = Variable(1.0)
    nodes = [x * x for _ in range(5)]
    gone = weakref.ref(nodes[3])
    del nodes[3]
    assert len(Graph.node_list) == 6 and gone() is None
    assert Graph.node_list[4].operator == "mul"


def test_values_are_right():
    x, y = Variable(3.0), Variable(2.0)
    z = (x + y * 2 - 1) / y**2 + x * x * x
    Graph.forward()
    Graph.backward(z)
    assert (z.value, x.grad) == (28.5, 27.25)


@pytest.mark.parametrize("operand", ["a", None, 1j, True, 10**400, [1]])
def test_what_is_no_number_is_refused_as_in_python(operand):
    said = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x = Variable(1.0)
            _ = x * x
            with pytest.raises((NaiveGraphError, TypeError)) as error:
                x + operand
            said.append((type(error.value), str(error.value), len(Graph.node_list)))
    assert said[0] == said[1]


@pytest.mark.parametrize("operand", [2**53, 2**53 + 1, -(2**70), -1, Decimal("0.5"), float("nan"), float("-inf")])
def test_a_number_is_the_constant_that_python_makes_of_it(operand):
    said = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x = Variable(1.0)
            _ = x * x
            said.append(repr((x + operand).last[1].value))
    assert said[0] == said[1]


def test_a_node_of_another_graph_is_refused():
    x = Variable(1.0)
    _ = x * x
    with Graph.scratch():
        inner = Variable(2.0)
        _ = inner * inner
        for build in (lambda: inner * x, lambda: x * inner, lambda: x * 2.0):
            with pytest.raises(ForeignNodeError):
                build()
        assert len(Graph.node_list) == 2
    with pytest.raises(StaleNodeError):
        x + inner
    assert len(Graph.node_list) == 2


def test_a_cut_forgets_what_compiled_code_wrote():
    x = Variable(1.0)
    y = x * x
    Graph.checkpoint()
    z = y * x * x
    Graph.revert()
    with pytest.raises(StaleNodeError):
        z + x
    assert len(Graph.node_list) == 2 and (y * y).row == 2


def test_an_operator_of_a_learners_own_class_is_built():
    class Mine(Variable):
        pass

    x = Mine(2.0)
    assert [(x * 2).row, (x * x).row, (2 * x).row, (Variable(1.0) + x).row] == [2, 3, 5, 7]


def test_the_descriptor_refuses_what_is_no_node():
    with pytest.raises(TypeError):
        ng.Node.__add__(1.0, Variable(1.0))


def test_nothing_leaks():
    def build():
        with Graph.scratch():
            x, y = Variable(1.0), Variable(2.0)
            for _ in range(5000):
                y = y + x * 2.0
            for operand in ("a", None):
                with pytest.raises(NaiveGraphError):
                    y + operand

    counts = []
    for _ in range(4):
        build()
        gc.collect()
        counts.append((sys.getrefcount(CURRENT.tables), sys.getrefcount(ng.Operator), len(gc.get_objects())))
    assert counts[1][:2] == counts[3][:2] and abs(counts[3][2] - counts[1][2]) < 50
    tracemalloc.start()
    build()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(3):
        build()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000


def test_a_finalizer_that_builds_while_compiled_code_builds_harms_nothing():
    x = Variable(1.0)

    class Sneaky:
        def __del__(self):
            Graph.node_list[0] + 1.0

    y, sneaked = x, 0
    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for _ in range(500):
            sneaky = Sneaky()
            sneaky.itself = sneaky
            del sneaky
            y = y * x
            sneaked += 1
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(Graph.node_list) == 1 + sneaked + 2 * sneaked
    check_consistent()
    Graph.forward(y)
    assert y.value == 1.0


def test_a_weak_callback_that_builds_when_a_node_dies_harms_nothing():
    x = Variable(1.0)
    calls, kept = [], []

    def died(_):
        calls.append(x + 1.0)

    y = x
    for _ in range(600):
        y = y * x
        kept.append(weakref.ref(y, died))
    del y
    assert len(Graph.node_list) >= 601
    assert len(Graph.node_list) == 601 + 2 * len(calls)
    check_consistent()


def test_another_thread_waits_for_whoever_holds_the_graph():
    x = Variable(1.0)
    _ = x * x
    built = []
    thread = threading.Thread(target=lambda: built.append(x * x))
    with CURRENT.tables.lock:
        thread.start()
        thread.join(0.1)
        assert thread.is_alive() and len(CURRENT.tables) == 2
    thread.join()
    assert built[0].row == 2


def test_many_threads_that_build_and_look_get_right_graphs():
    results, errors = [], []

    def work(start):
        try:
            x = Variable(start)
            y = x
            for i in range(4000):
                y = y * 1.0 + 1.0
                if i % 97 == 0:
                    assert y.last[1].value == 1.0
            results.append((y, start))
        except BaseException as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(float(start),)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []
    check_consistent()
    Graph.forward()
    assert all(y.value == start + 4000.0 for y, start in results)


def in_a_new_process(code, **environment):
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return run.stdout.split()


MANY = """
from naive_graph import Variable, builder
import sys
x = y = Variable(1.0)
print(builder.now(), "llvmlite" in sys.modules, "ctypes" in sys.modules)
for _ in range(60_000):
    y = y * x
print(builder.now(), y.row)
"""


def test_compiled_code_is_loaded_only_when_many_nodes_were_built():
    assert in_a_new_process(MANY) == ["python", "False", "False", "compiled", "60000"]


def test_an_environment_variable_keeps_python_building():
    assert in_a_new_process(MANY, NAIVE_GRAPH_BUILDER="python")[3:] == ["python", "60000"]


LATE = """
import atexit
from naive_graph import Variable, builder
builder.use("compiled")
x = Variable(1.0)
class Late:
    def __del__(self):
        x * x
late, held = Late(), [x * x for _ in range(500)]
atexit.register(lambda: x * x)
"""


def test_nodes_may_be_built_while_the_process_ends():
    assert in_a_new_process(LATE) == []


def test_without_a_compiler_python_goes_on(monkeypatch):
    monkeypatch.setattr(builder, "_made", [])
    monkeypatch.setitem(sys.modules, "naive_graph.compiled", None)
    builder.use("python")
    builder._when_many()
    assert builder.now() == "python" and Building.invite is None


def test_an_unknown_builder_is_refused():
    with pytest.raises(EngineError, match=r'"compiled" code or in "python"'):
        builder.use("fortran")


def test_many_small_graphs_are_many_nodes():
    code = (
        "from naive_graph import Graph, Variable, builder\n"
        "for _ in range(400):\n"
        "    Graph.renew()\n"
        "    x = y = Variable(1.0)\n"
        "    for _ in range(100):\n"
        "        y = y * x\n"
        "print(builder.now())"
    )
    environment = {**os.environ, "NAIVE_GRAPH_BUILDER": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    expected = "compiled" if sys.version_info[:2] in builder.TESTED and sys.platform == "linux" else "python"
    assert done.stdout.strip() == expected
