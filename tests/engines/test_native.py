"""The compiled engines give the reference engine's numbers, and are chosen when they pay."""

import random
import subprocess
import sys
from threading import Event

import pytest
from graphs import TAME_BINARY, TAME_UNARY, build, recipes
from hypothesis import given, settings
from hypothesis import strategies as st
from making import finish
from running import check_same, on_compiled_engines, run

import naive_graph as ng
from naive_graph import Constant, Graph, Program, Variable
from naive_graph.core.background import BackgroundTask
from naive_graph.core.lock import LOCK
from naive_graph.engines import select
from naive_graph.engines.direct.engine import KEY
from naive_graph.engines.llvm.compile import compiled
from naive_graph.engines.select import Setting
from naive_graph.errors import EngineWarning
from naive_graph.graph import jit


@pytest.fixture(autouse=True)
def without_warnings():
    Graph.on_invalid = "ignore"
    yield


# --- graphs -------------------------------------------------------------------

PLAIN_UNARY = ["neg", "square", "sqrt", "reciprocal", "relu", "abs", "sign", "heaviside"]
PLAIN_BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "greater", "less", "greater_equal", "equal"]


def grown(size, seed):
    """A random graph of so many nodes without a function of the C library. Returns its nodes."""
    dice = random.Random(seed)
    nodes = [Variable(dice.uniform(-2, 2)), Constant(dice.uniform(-2, 2))]
    while len(nodes) < size:
        near = nodes[-12:]
        kind = dice.random()
        if kind < 0.3:
            nodes.append(getattr(ng, dice.choice(PLAIN_UNARY))(dice.choice(near)))
        elif kind < 0.7:
            nodes.append(getattr(ng, dice.choice(PLAIN_BINARY))(dice.choice(near), dice.choice(near)))
        elif kind < 0.8:
            nodes.append(ng.where(dice.choice(near), dice.choice(near), dice.choice(near)))
        elif kind < 0.9:
            nodes.append(Graph.sum(dice.choices(near, k=dice.randint(1, 6))))
        else:
            nodes.append(Variable(dice.uniform(-2, 2)))
    return nodes


@on_compiled_engines
@settings(max_examples=15, deadline=None)
@given(size=st.integers(3, 300), seed=st.integers(0, 10**9))
def test_values_are_the_references_bit_for_bit_where_no_library_function_is_used(engine, size, seed):
    with Graph.scratch():
        nodes = grown(size, seed)
        Graph.forward(engine="reference")
        expected = [node.value for node in nodes]
        Graph.forward(engine=engine)
        check_same([node.value for node in nodes], expected)


@settings(max_examples=15, deadline=None)
@given(size=st.integers(3, 300), seed=st.integers(0, 10**9))
def test_gradients_are_the_references_bit_for_bit(size, seed):
    with Graph.scratch():
        nodes = grown(size, seed)
        y = Graph.sum(nodes[-3:])
        check_same(run(nodes, y, "direct")[1], run(nodes, y, "reference")[1])


# --- names and tools ----------------------------------------------------------


def test_a_former_name_of_an_engine_says_once_what_it_is_called_now():
    select._warn_of_former.cache_clear()
    x = Variable(2.0)
    y = x * x
    with pytest.warns(EngineWarning, match="The engine 'tape' is called 'compiled' now"):
        Program(y, wrt=[x], engine="tape")
    assert Program(y, wrt=[x], engine="tape")().value == 4.0
    with pytest.warns(EngineWarning, match="The engine 'native' is called 'compiled' now"):
        Graph.forward(engine="native")


@pytest.mark.parametrize("engine", select.ENGINES)
def test_every_engine_answers_a_program(engine):
    x = Variable(2.0)
    value, gradient = Program(x * x + x, wrt=[x], engine=engine)()
    assert (value, gradient.tolist()) == (6.0, [5.0])


@pytest.mark.parametrize(("form", "shows"), [("llvm", "fmul double"), ("assembly", "mul")])
def test_machine_code_can_be_read(form, shows):
    x = Variable(2.0)
    assert shows in Graph.machine_code(x * x, form)


WITHOUT = """
import sys
sys.modules["llvmlite"] = None
from naive_graph import Graph, Variable
from naive_graph.errors import MissingToolError
from naive_graph.engines import select
select.PATIENCE = 0
x = Variable(3.0)
y = x * x
for _ in range(3):
    Graph.forward()
    Graph.backward(y)
print(y.value, x.grad)
for engine in ("compiled", "runs"):
    for run in (lambda: Graph.forward(engine=engine), lambda: Graph.backward(y, engine=engine)):
        try:
            run()
        except MissingToolError as error:
            print(error)
print(y.value, x.grad)
"""


def test_without_llvmlite_the_choice_is_the_reference_and_a_named_engine_says_what_to_install():
    done = subprocess.run([sys.executable, "-W", "error", "-c", WITHOUT], capture_output=True, text=True, check=True)
    first, *messages, after = done.stdout.splitlines()
    assert first == after == "9.0 6.0"
    assert messages == ['Compiled engines need llvmlite. Install it: pip install "naive-graph[engines]".'] * 4


def test_a_plan_moves_to_machine_code_when_it_has_run_often(monkeypatch):
    monkeypatch.setattr(select, "PATIENCE", 0)
    monkeypatch.setattr(Setting, "default", None)
    select.AHEAD.result()
    x = Variable(3.0)
    y = x * x + x
    for _ in range(3):
        Graph.forward()
        Graph.backward(y)
        finish()
    assert x.tables.cache.get("quick") and (y.value, x.grad) == (12.0, 7.0)


@settings(max_examples=30, deadline=None)
@given(recipes(TAME_UNARY, TAME_BINARY))
def test_numbers_stay_while_a_loop_moves_from_engine_to_engine(recipe):
    """From the reference engine to the direct one, and on to code of the graph's own."""
    with pytest.MonkeyPatch.context() as patch, Graph.scratch():
        Graph.on_invalid = "ignore"
        patch.setattr(select, "PATIENCE", 0)
        patch.setattr(select, "AHEAD", BackgroundTask(select.AHEAD.result))
        patch.setattr(Setting, "default", None)
        nodes = build(recipe)
        if isinstance(nodes[-1], Constant):
            return
        seen = []
        for _ in range(5):
            Graph.forward()
            Graph.backward(nodes[-1])
            seen.append([number for node in nodes for number in (node.value, node.grad)])
            finish()
        assert select.AHEAD.is_done()
        for later in seen[1:]:
            check_same(later, seen[0], most=1e-9)


def test_a_loop_goes_on_while_the_next_engine_is_made_ready(monkeypatch):
    held = Event()
    monkeypatch.setattr(select, "PATIENCE", 0)
    monkeypatch.setattr(select, "AHEAD", BackgroundTask(lambda: held.wait(60) and select._direct()))
    monkeypatch.setattr(Setting, "default", None)
    x = Variable(3.0)
    y = x * x + x
    for ready in (False, True):
        for _ in range(50):
            Graph.forward()
            Graph.backward(y)
        assert (y.value, x.grad, x.tables.cached((KEY,)) is not None) == (12.0, 7.0, ready)  # what direct sorted
        held.set()
        finish()


def test_the_first_run_of_a_very_large_graph_waits_for_the_direct_engine_and_holds_no_graph(monkeypatch):
    was_free = []
    monkeypatch.setattr(select, "PATIENCE", 0)
    monkeypatch.setattr(
        select, "AHEAD", BackgroundTask(lambda: was_free.append(not LOCK._is_owned()) or select._direct())
    )
    monkeypatch.setattr(Setting, "default", None)
    monkeypatch.setattr("naive_graph.graph.graph.VERY_LARGE", 3)
    x = Variable(3.0)
    y = x * x + x
    assert len(Graph.node_list) == 3
    Graph.forward(y)
    assert (y.value, x.tables.cached((KEY, y.row)) is not None, was_free) == (12.0, True, [True])


def test_a_loop_goes_on_while_its_own_code_is_made(monkeypatch):
    held = Event()
    monkeypatch.setattr(select, "PATIENCE", 0)
    monkeypatch.setattr(Setting, "default", None)
    monkeypatch.setattr(jit, "compiled", lambda text: held.wait(60) and compiled(text))
    select.AHEAD.result()
    x = Variable(3.0)
    y = x * x + x
    for ready in (False, True):
        for _ in range(50):
            Graph.forward()
            Graph.backward(y)
        assert (y.value, x.grad, x.tables.cached("quick") is not None) == (12.0, 7.0, ready)
        held.set()
        finish()


def test_code_that_is_made_for_a_graph_that_has_changed_meanwhile_is_not_used(monkeypatch):
    held = Event()
    monkeypatch.setattr(select, "PATIENCE", 0)
    monkeypatch.setattr(Setting, "default", None)
    monkeypatch.setattr(jit, "compiled", lambda text: held.wait(60) and compiled(text))
    select.AHEAD.result()
    x = Variable(3.0)
    y = x * x + x
    for _ in range(3):
        Graph.forward()
        Graph.backward(y)
    z = y * x
    held.set()
    for _ in range(3):
        Graph.forward()
        Graph.backward(z)
        finish()
    assert (z.value, x.grad) == (36.0, 33.0)
