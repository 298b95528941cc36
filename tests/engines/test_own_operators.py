"""A learner's own operators compile, or the engine says that it falls back."""

import math
import warnings

import numpy as np
import pytest
from running import check_same, on_compiled_engines, run

import naive_graph as ng
from naive_graph import Graph, Variable
from naive_graph.core.rules import RULES
from naive_graph.engines import select
from naive_graph.engines.select import Setting
from naive_graph.errors import EngineWarning, OperandError


@pytest.fixture(autouse=True)
def forgotten():
    """Operators that a test defines are gone after it, so that the catalogue is as it was."""
    Graph.on_invalid = "ignore"
    before = set(RULES)
    yield
    for name in set(RULES) - before:
        del RULES[name]


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
    monkeypatch.setattr(select, "PATIENCE", 0)
    monkeypatch.setattr(Setting, "default", None)
    select.AHEAD.result()
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
def test_an_operator_that_asks_if_compiles_and_goes_both_ways(engine, what):
    bent = ng.operator("turned_by_if", BRANCHING[what], [lambda a, y: 1.0 + 0.0 * a])
    x = Variable(0.0)
    y = bent(x) * 3.0
    for x.value in (-3.0, -0.0, 0.0, 0.25, 0.5, 1.0, 2.0):
        ours = run([x, y], y, engine)  # a warning would be an error
        check_same(ours[0], run([x, y], y, "reference")[0])


@pytest.mark.parametrize("engine", select.ENGINES)
@pytest.mark.parametrize(("at", "slope"), [(0.5, 1.0), (2.0, 0.0)])
def test_the_condition_of_where_may_be_true_or_false(engine, at, slope):
    clip = ng.operator("clip1", lambda a: min(a, 1.0), [lambda a, y: ng.where(a < 1.0, 1.0, 0.0)])
    x = Variable(at)
    y = clip(x)
    Graph.forward(engine=engine)
    Graph.backward(y, engine=engine)
    assert (y.value, x.grad) == (min(at, 1.0), slope)
    assert ng.tangent(y, {x: 1.0}) == slope and ng.hessian(y, [x]) == [[0.0]]


def test_true_and_false_are_conditions_among_numbers_and_nothing_else():
    x = Variable(1.0)
    assert ng.where(np.float64(2.0) < 1.0, 3.0, 4.0) == 4.0 and ng.where(True, 3.0, 4.0) == 3.0
    for wrong in (lambda: ng.where(1.0, True, 0.0), lambda: ng.maximum(True, 1.0), lambda: ng.where(1.0, x, False)):
        with pytest.raises(TypeError, match="bool"):
            wrong()


OPAQUE = {
    "a loop that never ends": (lambda a: _halved(a), "asks more than 64 questions in a row"),
    "a whole number": (lambda a: float(int(a)), "int()"),
    "a table": (lambda a: {0.5: 1.0}.get(a, 2.0), "unhashable"),
    "an answer in arithmetic": (lambda a: a * (a > 0.0), ""),
    "a floor": (lambda a: a // 1.0, "//"),
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


@pytest.mark.parametrize("engine", ["compiled", "compiled"])
def test_a_partial_that_asks_if_falls_back_visibly_and_is_right(engine):
    bent = ng.operator("bent_partial", lambda a: ng.relu(a), [lambda a, y: 1.0 if a > 0.0 else 0.0])
    for number in (-1.0, 2.0):
        x = Variable(number)
        y = bent(x)
        with pytest.warns(EngineWarning, match=r"'bent_partial' .* asks `if` about"):
            ours = ng.Program(y, wrt=[x], engine=engine)()
        theirs = ng.Program(y, wrt=[x], engine="reference")()
        assert (ours.value, *ours.gradient) == (theirs.value, *theirs.gradient)
        assert run([x, y], y, "direct") == run([x, y], y, "reference")  # each row goes its own way there


def test_a_gradient_graph_of_a_partial_that_asks_if_is_refused():
    bent = ng.operator("bent_partial", lambda a: ng.relu(a), [lambda a, y: 1.0 if a > 0.0 else 0.0])
    x = Variable(-1.0)
    with pytest.raises(
        OperandError,
        match=r"asks `if` about something that is no number yet \(Expression\).* Write the choice with where",
    ):
        ng.gradients(bent(x), [x])


@on_compiled_engines
@pytest.mark.parametrize("slope", [-0.0, 0.0, 1.0, -1.0, 5e-324])
def test_a_constant_in_a_partial_keeps_its_bits(engine, slope):
    scaled = ng.operator("scaled_slope", lambda a: a * 2.0, [lambda a, y: a * slope])
    x = Variable(1.0)
    y = scaled(x)
    run([x], y, engine)
    assert repr(x.grad) == repr(slope)


@on_compiled_engines
def test_an_operator_that_raises_raises_on_every_engine(engine):
    broken = ng.operator("inverse_that_raises", lambda a: 1 / a, [lambda a, y: -y * y])
    x = Variable(0.0)
    broken(x)
    with pytest.raises(ZeroDivisionError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Graph.forward(engine=engine)


def test_machine_code_of_an_opaque_operator_is_refused_by_name():
    with pytest.raises(Exception, match="'opaque_cosine' cannot be compiled"):
        Graph.machine_code(opaque_cosine()(Variable(1.0)))
