"""Compiled code builds what Python builds, to the last byte, and leaves the rest to it."""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref
from decimal import Decimal
from inspect import signature

import pytest
from graphs import NUMBERS, check_consistent, snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable, builder
from naive_graph.engines.llvm.layout import ROWS
from naive_graph.errors import EngineError, ForeignNodeError, NaiveGraphError, StaleNodeError
from naive_graph.handles import CURRENT, Building
from naive_graph.origin import is_ours
from naive_graph.tables import Tables

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.skipif(builder.refusal() is not None, reason="compiled code is not for this Python")
SIGNS, WHICH = st.sampled_from("+-*/p+++sv?rnVCPKNMET"), st.integers(0, 40)
STEPS = st.lists(st.tuples(SIGNS, WHICH, WHICH | NUMBERS), max_size=60)


@pytest.fixture(autouse=True)
def compiled():
    before = builder.now()
    builder.use("compiled")
    yield
    builder.use(before)


def elsewhere(a, b):
    return a - b


class Mine(Variable):
    def __init__(self, value):
        super().__init__(value * 2)


class Careful(Constant):
    def __init__(self, value):
        self.before = weakref.ref(self)
        with pytest.raises(NaiveGraphError):
            super().__init__("no number")
        super().__init__(value)


def leaf(sign, b):
    """A leaf, made in one way or the other."""
    if sign == "V":
        return Variable(b)
    if sign == "C":
        return Graph.Constant(b)
    if sign == "P":
        return PlaceHolder()
    if sign == "K":
        return Variable(value=b) if b > 1 else Constant(b, None)
    if sign == "N":
        return [Variable(b, "x"), Variable(b, name="x"), PlaceHolder("p"), PlaceHolder(name="p")][int(b) % 4]
    return Mine(b) if b > 1 else Careful(b)


def refused():
    for wrong in (True, "a", None, 1j, 10**400, [1]):
        with pytest.raises(NaiveGraphError):
            Variable(wrong)
    with pytest.raises(TypeError):
        PlaceHolder(1, 2)


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
        elif sign in "VCPKNM":
            nodes.append(leaf(sign, b if isinstance(b, float) else right))
        elif sign == "E":
            refused()
        elif sign == "T":
            node = Variable(1.0)
            Variable.__init__(node, 2.0)
            nodes.append(node)
        else:
            assert nodes[-1].in_deg <= 33
    return nodes


def tables():
    """All that the tables hold; a line and columns for each instruction, which calls may name in two ways."""
    positions = [CURRENT.tables.origin(row)._position() for row in range(len(Graph.node_list))]
    return {**snapshot(), "current": None, "instructions": positions, "written": CURRENT.tables.written}


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(1, 3))
def test_the_tables_are_those_that_python_builds(steps, rounds):
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            nodes = follow(steps * rounds)
            place = {id(node): place for place, node in enumerate(nodes)}
            seen.append((tables(), [node.row for node in nodes], [place.get(id(node)) for node in Graph.node_list]))
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


def test_compiled_code_makes_leaves_too():
    first, *others = [Variable(0.5), Variable(1), Constant(2.0), PlaceHolder()]
    margin = CURRENT.tables.margin
    assert type(CURRENT.tables) is not Tables and margin.words[ROWS] == len(others)
    assert [node.value for node in (first, *others)] == [0.5, 1.0, 2.0, None]
    assert type(CURRENT.tables) is Tables and margin.words[ROWS] == 0


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: Variable(True), lambda: Variable("a"), lambda: Constant(None), lambda: Constant(10**400),
        lambda: Variable(), lambda: Variable(1.0, 2), lambda: Variable(1.0, ""), lambda: Variable(1.0, "x", 3),
        lambda: PlaceHolder(1.0), lambda: PlaceHolder("p", "q"), lambda: Constant(valeu=1.0),
        lambda: Variable(Variable(1.0)), lambda: Variable(1.0, value=2.0), lambda: Variable(1.0, "x", name="x"),
    ],
)  # fmt: skip
def test_a_leaf_is_refused_as_in_python(make):
    said = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x = Variable(1.0)
            _ = x * x
            with pytest.raises((NaiveGraphError, TypeError)) as error:
                make()
            said.append((type(error.value), str(error.value), tables()))
    assert said[0] == said[1]


def test_a_refused_leaf_is_blank_as_in_python():
    node = Variable.__new__(Variable)
    with pytest.raises(NaiveGraphError):
        node.__init__("a")
    with pytest.raises(AttributeError):
        node.row
    node.__init__(2.0)
    assert (node.row, node.value) == (0, 2.0)


def test_leaves_have_the_signature_that_python_gives_them():
    for kind in (Variable, Constant, PlaceHolder):
        seen = []
        for choice in ("python", "compiled"):
            builder.use(choice)
            seen.append([(each.name, each.default, each.kind) for each in signature(kind).parameters.values()])
        assert seen[0] == seen[1]


def test_a_leaf_made_by_the_package_has_the_learners_line():
    with Graph.scratch():
        total = [Variable(1.0), Variable(2.0), Graph.sum([])][-1]
    with Graph.scratch():
        leaves = [Variable(1.0), Variable(2.0), Graph.sum([])]
        assert len({node.origin.line for node in leaves}) == 1 and leaves[2].origin.filename == __file__
    assert "stale" in repr(total)


def test_graph_after_graph_is_as_python_builds_it():
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        seen.append([])
        for size in (*range(30), 300, 3, 1200, 700, 0, 40):
            Graph.renew()
            x = y = Variable(0.5)
            for place in range(size):
                y = y * x if place % 3 else y + Variable(place)
            seen[-1].append((tables(), y.row, Graph.node_list[y.row] is y))
        Graph.clear()
    assert seen[0] == seen[1]


def test_nodes_of_a_forgotten_graph_are_stale_and_those_of_the_next_are_not():
    held = []
    for _ in range(20):
        Graph.renew()
        held.append([Variable(float(place)) for place in range(20)])
    for nodes in held[:-1]:
        with pytest.raises(StaleNodeError):
            nodes[7].value
        with pytest.raises(StaleNodeError):
            nodes[7] + held[-1][0]
    assert [node.value for node in held[-1]] == [float(place) for place in range(20)]
    assert all(Graph.node_list[node.row] is node for node in held[-1])


def test_a_node_that_is_made_again_belongs_to_the_graph_of_now():
    node = Variable(1.0)
    _ = [Variable(2.0) for _ in range(5)]
    before = CURRENT.tables
    Graph.renew()
    _ = [Variable(2.0) for _ in range(5)]
    Variable.__init__(node, 3.0)
    assert (node.row, node.value, node.tables is before) == (5, 3.0, False)
    assert Graph.node_list[5] is node


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
    for no_variable in (1.0, Constant(1.0)):
        with pytest.raises(TypeError):
            Variable.__init__(no_variable, 2.0)
    assert len(Graph.node_list) == 2


def test_nothing_leaks():
    def build():
        with Graph.scratch():
            x, y = Variable(1.0), Variable(2.0)
            for _ in range(2000):
                y = y + x * 2.0
                y = y * Variable(3.0) - Constant(2) + PlaceHolder()
                y = y + Mine(1.0)
            for operand in ("a", None):
                with pytest.raises(NaiveGraphError):
                    y + operand
                with pytest.raises(NaiveGraphError):
                    Variable(operand)
            Variable.__init__(x, 2.0)
            Graph.renew()
            held = [Variable(1.0) for _ in range(50)]
            Variable.__init__(held[0], value=2.0)

    held_by_all = (None, ng.Operator, Variable, Constant, PlaceHolder, Mine, CURRENT, Variable.__init__, is_ours)
    counts = []
    for _ in range(4):
        build()
        gc.collect()
        counts.append((*map(sys.getrefcount, (CURRENT.tables, *held_by_all)), len(gc.get_objects())))
    assert all(abs(before - after) < 50 for before, after in zip(counts[1], counts[3]))
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


def test_a_finalizer_that_makes_leaves_while_compiled_code_does_harms_nothing():
    made, kept = [], []

    class Sneaky:
        def __del__(self):
            made.append((Variable(len(made)), len(made)))

    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for place in range(3000):
            if place % 300 == 0:
                Graph.renew()
                made.clear()
                kept.clear()
            sneaky = Sneaky()
            sneaky.itself = sneaky
            del sneaky
            kept.append((Variable(float(place)), place))
            if place % 7 == 0:
                assert kept[-1][0].value == place
    finally:
        gc.set_threshold(*before)
    gc.collect()
    check_consistent()
    assert made and len(Graph.node_list) == len(kept) + len(made)
    assert all(node.value == value and Graph.node_list[node.row] is node for node, value in kept + made)


def test_a_graph_that_dies_as_its_last_node_is_made_again_harms_nothing():
    built = []

    def filled(node):
        node.__init__(3.0)
        return node

    class Loud:
        def __del__(self):
            built.extend(filled(Variable.__new__(Variable)) for _ in range(3))

    def lonely():
        """The only node of a graph that was never closed, and lives as long as the node."""
        home = CURRENT.tables
        builder.use("python")
        try:
            CURRENT.tables = Tables()
            CURRENT.tables.loud = Loud()
            return Variable(1.0)
        finally:
            CURRENT.tables = home
            builder.use("compiled")

    nodes = [lonely() for _ in range(50)]
    for node in nodes:
        for _ in range(10):
            built.append(filled(Variable.__new__(Variable)))
        filled(node)
    check_consistent()
    assert len(Graph.node_list) == 50 * (10 + 3 + 1) == len(built) + len(nodes)
    assert all(Graph.node_list[node.row] is node and node.value == 3.0 for node in built + nodes)


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
                y = y * 1.0 + (1.0 if i % 3 else Variable(1.0))
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


def test_threads_that_make_leaves_while_another_forgets_the_graph_get_whole_graphs():
    errors, over, made = [], [], []

    def work():
        while not over:
            try:
                made[:] = [Variable(float(place)) for place in range(30)]
            except BaseException as error:
                errors.append(error)
                return

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(300):
            Graph.renew()
            nodes = [Variable(1.0) * Variable(2.0) for _ in range(20)]
            check = [(node.operator, node.last[1].value) for node in nodes]
            assert check == [("mul", 2.0)] * 20
    finally:
        over.append(True)
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert errors == []
    check_consistent()


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
    assert in_a_new_process(MANY, NAIVE_GRAPH_BUILDER="") == ["python", "False", "False", "compiled", "60000"]


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
