"""What minimize refuses, in words; and the Variables are as they were."""

import math

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import PlaceHolder, Program, Variable
from naive_graph.errors import NodeError, NumberError, OperandError

ENGINES = ["reference", None]
COMPILED = ["runs", None]


def refused(error, match, engine=None, rule=0.1, steps=5):
    """Minimise (x - 7)**2 from 6, in vain."""
    x = Variable(6.0)
    with pytest.raises(error, match=match):
        Program((x - 7) ** 2, wrt=[x], engine=engine).minimize(rule, steps)
    assert x.value == 6.0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("steps", [0, -1, 1.5, True, "3", None, math.nan])
def test_steps_are_a_whole_number(steps, engine):
    refused(NodeError, "a whole number of steps, at least 1, not", engine, steps=steps)


def test_steps_may_be_a_whole_number_of_numpys():
    x = Variable(6.0)
    assert len(Program((x - 7) ** 2, wrt=[x]).minimize(0.1, np.int64(4))) == 4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rate", ["a", None, True, 1j, [0.1], {}, {1}, {"rate": 0.1}])
def test_a_rate_is_a_number(rate, engine):
    refused(NumberError, "A rate takes a real number|minimize takes a rate such as 0.1", engine, rate)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rate", [math.nan, math.inf, -math.inf])
def test_a_rate_is_finite(rate, engine):
    refused(NodeError, "A rate is a finite number, not", engine, rate)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("formula", [lambda w: w, lambda: 0.0, lambda *a: a[0], lambda w=1.0, g=2.0: w])
def test_a_formula_takes_a_weight_and_a_gradient(formula, engine):
    refused(NodeError, "takes a weight and its gradient", engine, formula)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_formula_that_does_not_say_what_it_takes_is_refused(engine):
    refused(NodeError, "must say what it takes", engine, max)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "formula", [lambda w, g: (w, g), lambda w, g, s: w, lambda w, g, s: (w, s, g), lambda w, g: ()]
)
def test_a_formula_gives_as_many_numbers_as_it_remembers(formula, engine):
    refused(NodeError, r"that takes \d numbers gives \d: the new weight.*This one gave \d", engine, formula)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("formula", [lambda w, g: "a", lambda w, g: None, lambda w, g, s: (w, None)])
def test_a_formula_gives_numbers(formula, engine):
    refused(NumberError, "An update formula takes a real number", engine, formula)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_keyword_besides_t_has_a_default(engine):
    refused(NodeError, "'rate' needs a default", engine, lambda w, g, *, rate: w - rate * g)


@pytest.mark.parametrize("engine", COMPILED)
def test_a_formula_cannot_ask_which_number_is_larger(engine):
    refused(OperandError, r"Build the choice in: where\(g > 0, a, b\)", engine, lambda w, g: w - g if g > 0 else w)


@pytest.mark.parametrize("engine", COMPILED)
@pytest.mark.parametrize("function", [math.sqrt, float, int])
def test_a_formula_uses_naive_graphs_functions(function, engine):
    refused(OperandError, r"naive_graph\.sqrt, not math\.sqrt", engine, lambda w, g: w - function(g))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_formula_raises_comes_through(engine):
    def formula(w, g):
        raise LookupError("mine")

    refused(LookupError, "mine", engine, formula)


def test_a_formula_that_fails_half_way_moves_nothing():
    x, y = Variable(6.0), Variable(1.0)
    calls = []

    def formula(w, g):
        calls.append(w)
        if len(calls) == 6:
            raise LookupError("mine")
        return w - 0.1 * g

    with pytest.raises(LookupError):
        Program(x * x + y * y, wrt=[x, y], engine="reference").minimize(formula, 5)
    assert (x.value, y.value) == (6.0, 1.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rate", "what"),
    [
        (np.array([0.1, 0.2]), r"an array of shape \(2,\)"),
        (np.array(0.1), r"an array of shape \(\)"),
        ([0.1, 0.2], "a list of 2"),
    ],
)
def test_one_rate_serves_all_weights(rate, what, engine):
    refused(NumberError, f"a rate such as 0.1, .*, not {what}.*one rate serves all weights", engine, rate)


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: np.array([x, x]), lambda x: x * 2.0])
def test_the_variables_to_move_are_named_in_the_program(wrap):
    x = Variable(6.0, name="x")
    for called in (wrap(x), np.float64(0.1) * x):
        with pytest.raises(NumberError, match=r"What moves is named in wrt: Program\(loss, wrt=\[x\]\)\.minimize"):
            Program((x - 7) ** 2, wrt=[x]).minimize(called)
    assert x.value == 6.0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_trainer_is_no_formula(engine):
    for trainer in (ng.AdamTrainer, ng.AdamTrainer([Variable(1.0)])):
        refused(NumberError, r"formulas\.adam, not .*AdamTrainer.* A trainer takes its own steps", engine, trainer)


@pytest.mark.parametrize("engine", ENGINES)
def test_steps_that_are_no_number_are_shown_their_place(engine):
    refused(NodeError, r"not 0\.1\. Write minimize\(0\.1, steps=100\)", engine, 0.1, 0.1)
    refused(NodeError, r"not an array of shape \(3,\).*inputs come after the steps", engine, 0.1, np.ones(3))


def test_data_in_the_place_of_a_rate_or_of_the_steps_is_told_its_own():
    p, w = PlaceHolder(), Variable(1.0)
    program, data = Program(ng.mean((p * w - 1.0) ** 2), wrt=[w], inputs=[p]), [1.0, 2.0]
    with pytest.raises(NodeError, match=r"not a list of 2.*inputs come after the steps: minimize\(0\.1, 100, x\)"):
        program.minimize(0.1, data)
    with pytest.raises(NumberError, match=r"minimize takes a rate such as 0\.1, .* not a list of 2"):
        program.minimize(data)
    assert w.value == 1.0 and len(program.minimize(0.1, 5, data)) == 5


@pytest.mark.parametrize("engine", ENGINES)
def test_a_walk_that_leaves_the_range_says_so(engine):
    x = Variable(6.0)
    with pytest.warns(ng.errors.NumericWarning, match="Take a smaller rate") as seen:
        Program((x - 7) ** 2, wrt=[x], engine=engine).minimize(1000)
    assert len(seen) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_there_must_be_variables_to_move(engine):
    x = Variable(1.0, name="x")
    with pytest.raises(NodeError, match=r"no Variables to move.*Program\(loss, wrt=\[x\]\)\.minimize\(0\.1\)"):
        Program(x * x, engine=engine).minimize(0.1)
    assert x.value == 1.0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_placeholder_is_not_moved(engine):
    p, x = PlaceHolder(name="p"), Variable(1.0)
    p.value = 1.0
    for wrt in ([p], [x, p]):
        with pytest.raises(NodeError, match=r"PlaceHolder 'p' is fed, not moved.*Variable"):
            Program(x * p, wrt=wrt, engine=engine).minimize(0.1)
    assert (x.value, p.value) == (1.0, 1.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("wrt", [[], [Variable]])
def test_an_output_that_depends_on_no_variable_cannot_be_minimised(wrt, engine):
    p, moved = PlaceHolder(), [make(1.0) for make in wrt]
    p.value = 1.0
    for output in (p * 2.0, ng.Constant(3.0)):
        with pytest.raises(NodeError, match=r"'mul' .*depends on no Variable|Constant .*depends on no Variable"):
            Program(output, wrt=moved, engine=engine).minimize(0.1)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_output_that_depends_on_other_variables_names_those_that_it_was_given(engine):
    x, y = Variable(1.0, name="x"), Variable(2.0, name="y")
    with pytest.raises(NodeError, match=r"depends on none of the Variables in wrt"):
        Program(x * x, wrt=[y], engine=engine).minimize(0.1)
    assert (x.value, y.value) == (1.0, 2.0)


def test_a_node_says_where_minimize_is():
    x = Variable(1.0)
    with pytest.raises(AttributeError, match=r"This Operator has no attribute 'minimize'. Write Program\(node, wrt="):
        (x * x).minimize(0.1)


@pytest.mark.parametrize("count", [1, 2])
def test_a_list_of_outputs_cannot_be_minimised(count):
    x = Variable(1.0)
    with pytest.raises(NodeError, match=rf"minimize makes one number small, and this Program has a list of {count}"):
        Program([x, x * x][:count], wrt=[x]).minimize(0.1)
    assert x.value == 1.0


@pytest.mark.parametrize("output", [lambda p, w: p * w, lambda p, w: (p - w) ** 2, lambda p, w: p])
def test_an_output_for_each_sample_cannot_be_minimised(output):
    p, w = PlaceHolder(), Variable(1.0)
    with pytest.raises(NodeError, match=r"one for each sample\. Gather them: Program\(mean\(loss\)"):
        Program(output(p, w), wrt=[w], inputs=[p]).minimize(0.1, 3, [1.0, 2.0])
    assert w.value == 1.0


def test_a_placeholder_without_a_value_is_named():
    p, w = PlaceHolder(name="p"), Variable(1.0)
    with pytest.raises(ng.errors.PlaceHolderError, match="PlaceHolder 'p' has no value"):
        Program(p * w, wrt=[w]).minimize(0.1)


@pytest.mark.parametrize("steps", [10**18, 10**30])
def test_steps_without_room_for_their_history_are_refused(steps):
    w = Variable(2.0)
    with pytest.raises(NodeError, match=f"no room for {steps}. Take fewer steps"):
        Program(w * w, wrt=[w]).minimize(0.1, steps)
    assert w.value == 2.0
