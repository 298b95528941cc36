"""The compiled engines give the reference engine's numbers, and say so where they cannot run."""

import math
import random
import subprocess
import sys
import warnings

import pytest
from graphs import any_graph, build
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, Variable
from naive_graph.engines import choice, native
from naive_graph.engines.choice import Setting
from naive_graph.errors import EngineError, EngineWarning, OperandError
from naive_graph.rules import RULES

COMPILED = ["native", "tape"]
on_compiled_engines = pytest.mark.parametrize("engine", COMPILED)


@pytest.fixture(autouse=True)
def forgotten():
    """Operators that a test defines are gone after it, so that the catalogue is as it was."""
    Graph.on_invalid = "ignore"
    before = set(RULES)
    yield
    for name in set(RULES) - before:
        del RULES[name]


def run(nodes, y, engine):
    """The values and gradients of all nodes."""
    Graph.forward(engine=engine)
    values = [node.value for node in nodes]
    Graph.backward(y, engine=engine)
    return values, [node.grad for node in nodes]


def check_same(ours, theirs, most=0.0):
    for one, other in zip(ours, theirs, strict=True):
        if one is None or other is None:
            assert one is other
        elif one != one or math.isinf(one) or most == 0:
            assert repr(one) == repr(other)
        else:
            assert math.isclose(one, other, rel_tol=most, abs_tol=most)


# --- graphs -------------------------------------------------------------------

PLAIN_UNARY = ["neg", "square", "sqrt", "reciprocal", "relu", "abs", "sign", "heaviside"]
PLAIN_BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "greater", "less"]


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
@settings(max_examples=30, deadline=None)
@given(size=st.integers(3, 300), seed=st.integers(0, 10**9))
def test_values_are_the_references_bit_for_bit_where_no_library_function_is_used(engine, size, seed):
    with Graph.scratch():
        nodes = grown(size, seed)
        Graph.forward(engine="reference")
        expected = [node.value for node in nodes]
        Graph.forward(engine=engine)
        check_same([node.value for node in nodes], expected)


@settings(max_examples=30, deadline=None)
@given(size=st.integers(3, 300), seed=st.integers(0, 10**9))
def test_native_gradients_are_the_references_bit_for_bit(size, seed):
    with Graph.scratch():
        nodes = grown(size, seed)
        y = Graph.sum(nodes[-3:])
        check_same(run(nodes, y, "native")[1], run(nodes, y, "reference")[1])


@on_compiled_engines
@settings(max_examples=40, deadline=None)
@given(recipe=any_graph())
def test_any_graph_has_the_references_values_and_gradients(engine, recipe):
    with Graph.scratch():
        nodes = build(recipe)
        y = nodes[-1] if not isinstance(nodes[-1], Constant) else Variable(1.0)
        expected = run(nodes, y, "reference")
        computed = run(nodes, y, engine)
        for ours, theirs in zip(computed, expected, strict=True):
            check_same(ours, theirs, most=1e-9)


@on_compiled_engines
def test_a_run_that_is_not_finite_is_the_references(engine):
    x = Variable(-1.0)
    y = x.log() + x.sqrt()
    assert all(map(math.isnan, [*run([y], y, engine)[0], x.grad]))


def test_straight_line_code_that_is_cut_into_parts_is_the_references():
    nodes = grown(1500, 1)
    y = Graph.sum(nodes[-5:])
    check_same(run(nodes, y, "native")[0], run(nodes, y, "reference")[0])


def test_graphs_of_one_shape_share_their_code():
    native._KEPT.clear()
    for value in (1.0, 2.0):
        with Graph.scratch():
            x = Variable(value)
            run([x], x * x + 1.0, "native")
    assert len(native._KEPT) == 2  # forward, reverse


def test_the_oldest_code_is_let_go(monkeypatch):
    monkeypatch.setattr(native, "MOST_KEPT", 2)
    x = Variable(2.0)
    for power in range(5):
        y = x
        for _ in range(power):
            y = ng.sin(y)
        run([x], y * x, "native")
    assert len(native._KEPT) == 2


# --- a learner's own operators ------------------------------------------------


def opaque_cosine():
    return ng.operator("opaque_cosine", lambda a: math.cos(a), [lambda a, y: -ng.sin(a)])


@on_compiled_engines
def test_an_opaque_operator_falls_back_visibly_and_gives_the_references_numbers(engine):
    x = Variable(0.5)
    y = opaque_cosine()(x) * x
    with pytest.warns(EngineWarning, match="The operator 'opaque_cosine' cannot be compiled: .* The reference engine"):
        ours = run([x, y], y, engine)
    assert ours == run([x, y], y, "reference")


@on_compiled_engines
def test_an_opaque_operator_is_reported_at_every_run_that_asked_for_the_engine(engine):
    x = Variable(0.5)
    opaque_cosine()(x)
    for _ in range(2):
        with pytest.warns(EngineWarning, match="'opaque_cosine'"):
            Graph.forward(engine=engine)


@on_compiled_engines
def test_what_the_choice_of_an_engine_found_out_in_silence_is_still_reported(engine, monkeypatch):
    x = Variable(0.5)
    opaque_cosine()(x)
    monkeypatch.setattr(choice, "PATIENCE", 0)
    monkeypatch.setattr(choice, "LARGEST", 400 if engine == "native" else 0)
    monkeypatch.setattr(Setting, "default", None)
    Graph.forward(), Graph.forward()  # the second one would compile, and cannot
    with pytest.warns(EngineWarning, match="'opaque_cosine'"):
        Graph.forward(engine=engine)


@on_compiled_engines
def test_the_warning_points_at_the_learners_line(engine):
    opaque_cosine()(Variable(0.5))
    with pytest.warns(EngineWarning) as caught:
        Graph.forward(engine=engine)
    assert caught[0].filename == __file__


@on_compiled_engines
def test_an_operator_written_with_rules_compiles(engine):
    bell = ng.operator("bell_of_rules", lambda a: ng.exp(-a * a), [lambda a, y: -2.0 * a * y])
    x = Variable(0.5)
    y = bell(x) + x
    ours = run([x, y], y, engine)  # a warning would be an error
    check_same(ours[0], run([x, y], y, "reference")[0], most=1e-15)


BRANCHING = {
    "if": lambda a: a * a if a > 1.0 else -a,
    "elif": lambda a: 1.0 if a > 1.0 else (a if a > 0.0 else 0.0 - a),
    "and": lambda a: a if a > -1.0 and a < 1.0 else 2.0 * a,
    "not": lambda a: a if not a >= 0.5 else 0.5,
    "max": lambda a: max(a, 0.25),
    "min of three": lambda a: min(a, 0.25, a * a),
    "abs": lambda a: abs(a) + 1.0,
    "the number itself": lambda a: 1.0 / a if a else 7.0,
    "not the number": lambda a: 7.0 if not a else a,  # noqa: SIM212
    "or": lambda a: a or 7.0,
    "two answers compared": lambda a: a if (a > 0.0) == (a < 1.0) else -a,
    "two answers that differ": lambda a: a if (a > 0.0) != (a < 1.0) else -a,
    "equality": lambda a: 1.0 if a == 0.5 else a,
    "a loop that ends": lambda a: sum((a * k for k in range(4)), 0.0),
}


@on_compiled_engines
@pytest.mark.parametrize("what", BRANCHING)
@pytest.mark.parametrize("number", [-3.0, -0.0, 0.0, 0.25, 0.5, 1.0, 2.0])
def test_an_operator_that_asks_if_compiles_and_goes_both_ways(engine, what, number):
    bent = ng.operator("bent_by_if", BRANCHING[what], [lambda a, y: 1.0 + 0.0 * a])
    x = Variable(number)
    y = bent(x) * 3.0
    nodes = [x, y]
    ours = run(nodes, y, engine)  # a warning would be an error
    check_same(ours[0], run(nodes, y, "reference")[0])


@on_compiled_engines
def test_many_rows_of_an_operator_that_asks_if_go_each_its_own_way(engine):
    bent = ng.operator("bent_in_rows", lambda a: a * a if a > 1.0 else -a, [lambda a, y: 1.0 + 0.0 * a])
    nodes = [bent(Variable(0.25 * k)) for k in range(-8, 20)]
    y = Graph.sum(nodes)
    check_same(run(nodes, y, engine)[0], run(nodes, y, "reference")[0])


OPAQUE = {
    "a loop that never ends": (lambda a: _halved(a), "asks more than 64 questions in a row"),
    "a whole number": (lambda a: float(int(a)), "int()"),
    "a table": (lambda a: {0.5: 1.0}.get(a, 2.0), "unhashable"),
    "an answer in arithmetic": (lambda a: a * (a > 0.0), ""),
    "a remainder": (lambda a: a % 1.0, "%"),
    "math": (lambda a: math.cos(a), ""),
}


def _halved(a):
    while a > 1e-3:
        a = a * 0.5
    return a


@on_compiled_engines
@pytest.mark.parametrize("what", OPAQUE)
def test_what_registers_cannot_follow_is_named_and_the_references_numbers_are_given(engine, what):
    value, why = OPAQUE[what]
    if what == "an answer in arithmetic":
        value = lambda a: a * float(a > 0.0) if isinstance(a, float) else a * (a > 0.0)  # noqa: E731
    strange = ng.operator("strange_one", value, [lambda a, y: 1.0])
    x = Variable(0.5)
    y = strange(x) + x
    with pytest.warns(EngineWarning, match="'strange_one'") as caught:
        ours = run([x, y], y, engine)
    assert why in str(caught[0].message)
    assert ours == run([x, y], y, "reference")


@on_compiled_engines
def test_a_partial_that_asks_if_falls_back_visibly_and_is_right(engine):
    bent = ng.operator("bent_partial", lambda a: ng.relu(a), [lambda a, y: 1.0 if a > 0.0 else 0.0])
    for number in (-1.0, 2.0):
        x = Variable(number)
        y = bent(x)
        with pytest.warns(EngineWarning, match=r"'bent_partial' .* asks `if` about"):
            ours = run([x], y, engine)
        assert ours == run([x], y, "reference")


def test_a_gradient_graph_of_a_partial_that_asks_if_is_refused():
    bent = ng.operator("bent_partial", lambda a: ng.relu(a), [lambda a, y: 1.0 if a > 0.0 else 0.0])
    x = Variable(-1.0)
    with pytest.raises(OperandError, match=r"asks `if` about a Draft.* Write the choice with where"):
        ng.gradients(bent(x), [x])


@on_compiled_engines
def test_an_operator_that_raises_raises_on_every_engine(engine):
    broken = ng.operator("inverse_that_raises", lambda a: 1 / a, [lambda a, y: -y * y])
    x = Variable(0.0)
    broken(x)
    with pytest.raises(ZeroDivisionError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Graph.forward(engine=engine)


# --- names and tools ----------------------------------------------------------


def test_an_unknown_engine_is_named_with_those_that_exist():
    Variable(1.0) + 1.0
    with pytest.raises(EngineError, match=r"no engine 'turbo'. The engines are: 'reference', 'tape', 'native'"):
        Graph.forward(engine="turbo")


def test_machine_code_of_an_opaque_operator_is_refused_by_name():
    with pytest.raises(Exception, match="'opaque_cosine' cannot be compiled"):
        Graph.machine_code(opaque_cosine()(Variable(1.0)))


@pytest.mark.parametrize(("form", "shows"), [("llvm", "fmul double"), ("assembly", "mul")])
def test_machine_code_can_be_read(form, shows):
    x = Variable(2.0)
    assert shows in Graph.machine_code(x * x, form)


WITHOUT = """
import sys
sys.modules["llvmlite"] = None
from naive_graph import Graph, Variable
from naive_graph.errors import MissingToolError
from naive_graph.engines import choice
choice.PATIENCE = 0
x = Variable(3.0)
y = x * x
for _ in range(3):
    Graph.forward()
    Graph.backward(y)
print(y.value, x.grad)
for engine in ("native", "tape"):
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
    monkeypatch.setattr(choice, "PATIENCE", 0)
    monkeypatch.setattr(Setting, "default", None)
    native._KEPT.clear()
    x = Variable(3.0)
    y = x * x + x
    for _ in range(3):
        Graph.forward()
        Graph.backward(y)
    assert native._KEPT and (y.value, x.grad) == (12.0, 7.0)
