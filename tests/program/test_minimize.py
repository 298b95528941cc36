"""minimize is the loop that a learner would write over program() and an update formula."""

import math

import numpy as np
import pytest
from histories import LOG, VALLEY, check

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable, operator
from naive_graph.core.rules import RULES
from naive_graph.errors import NumericError, NumericWarning, StaleGraphError
from naive_graph.program import descent
from naive_graph.training.formulas import adadelta, adagrad, adam, momentum, rmsprop, sgd

ENGINES = ["runs", "reference", None]  # None compiles what is small
REMEMBERED = {sgd: 0, momentum: 1, adagrad: 1, adadelta: 2, rmsprop: 1, adam: 2}


def bowl():
    """A small problem: its loss and its Variables."""
    xs = [Variable(0.5 * k - 1.2) for k in range(4)]
    loss = Graph.sum([(a - 0.3 * k) ** 2 * (1.0 + k) for k, a in enumerate(xs)]) + (xs[0] * xs[1]).sin() * 0.5
    return loss, xs


def by_hand(loss, xs, formula, memories, steps, timed=False):
    """The same downhill walk as a loop; the Variables go back to where they were."""
    program, start = Program(loss, wrt=xs, engine="reference"), [x.value for x in xs]
    memory, history = [[0.0] * memories for _ in xs], []
    for step in range(1, steps + 1):
        value, gradient = program()
        history.append(value)
        for place, (x, slope) in enumerate(zip(xs, gradient.tolist())):
            time = {"t": float(step)} if timed else {}
            made = formula(x.value, slope, *memory[place], **time)
            x.value, *memory[place] = made if isinstance(made, tuple) else (made,)
    end = [x.value for x in xs]
    for x, value in zip(xs, start):
        x.value = value
    return history, end


@pytest.mark.parametrize("engine", ENGINES)
def test_the_logarithm_goes_downhill_as_known(engine):
    x = Variable(6)
    f = ((x - 7) ** 2 + 10).log()
    places = []
    for steps in (1, 1, 8, 90, 899, 1000, 1):
        at = x.value
        values = Program(f, wrt=[x], engine=engine).minimize(0.01, steps)
        places += [(value, at if k == 0 else None) for k, value in enumerate(values)]
    known = {step: texts if places[step][1] is not None else texts[:1] for step, texts in LOG.items()}
    check(places, known)
    assert len(places) == 2000 and x.value == pytest.approx(6.98081982640378, rel=0, abs=1.01e-14)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_valley_goes_downhill_as_known(engine):
    x, y = Variable(6), Variable(6)
    f = 0.5 * x**2 + x * y + 0.5 * y**2 - 2 * x - 2 * y
    history = Program(f, wrt=[x, y], engine=engine).minimize(0.01, 1000)
    check([(value,) for value in history], {step: texts[:1] for step, texts in VALLEY.items()})
    assert x.value == y.value == pytest.approx(1.00000000841484, rel=0, abs=1.01e-14)
    assert history == pytest.approx(50 * 0.98 ** (2 * np.arange(1000)) - 2, rel=1e-10)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("formula", REMEMBERED, ids=lambda formula: formula.__name__)
def test_every_formula_walks_as_its_loop(formula, engine):
    loss, xs = bowl()
    history, end = by_hand(loss, xs, formula, REMEMBERED[formula], 40, timed=formula is adam)
    found = Program(loss, wrt=xs, engine=engine).minimize(formula, 40)
    assert found == pytest.approx(history, rel=1e-12, abs=1e-12)
    assert [x.value for x in xs] == pytest.approx(end, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_exact_arithmetic_walks_bit_for_bit(engine):
    x, y = Variable(1.7), Variable(-0.6)
    loss = (x - 0.3) * (y + 0.1)  # each gradient has one term: there is no sum to reorder
    history, end = by_hand(loss, [x, y], momentum, 1, 50)
    assert Program(loss, wrt=[x, y], engine=engine).minimize(momentum, 50).tolist() == history
    assert [x.value, y.value] == end


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("formula", "memories", "timed"),
    [
        (lambda w, g: w - 0.1 * g, 0, False),
        (lambda w, g: (w - 0.1 * g,), 0, False),
        (lambda w, g, v: (w + v, 0.9 * v - 0.01 * g), 1, False),
        (lambda w, g, *, t: w - 0.2 * g / t, 0, True),
        (lambda w, g, s, *, t: (w - 0.1 * ng.tanh(g) / ng.sqrt(t), s + t), 1, True),
        (lambda w, g: ng.where(ng.greater(g, 0.0), w - 0.01, w + 0.01), 0, False),
        (lambda w, g, a, b: (a, w - 0.1 * g, b), 2, False),
        (lambda w, g: 0.25, 0, False),
        (lambda w, g: w, 0, False),
    ],
)
def test_a_learners_own_formula_walks_as_its_loop(formula, memories, timed, engine):
    loss, xs = bowl()
    history, end = by_hand(loss, xs, formula, memories, 15, timed)
    assert Program(loss, wrt=xs, engine=engine).minimize(formula, 15) == pytest.approx(history, rel=1e-12, abs=1e-12)
    assert [x.value for x in xs] == pytest.approx(end, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_decay_moves_a_variable_that_the_output_does_not_depend_on(engine):
    x, idle = Variable(1.0), Variable(5.0)
    Program(x * x, wrt=[x, idle], engine=engine).minimize(lambda w, g: w - 0.1 * (g + w), 3)
    assert idle.value == pytest.approx(5.0 * 0.9**3, rel=1e-15)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_named_twice_is_moved_once(engine):
    x = Variable(1.0)
    Program(x * x, wrt=[x, x], engine=engine).minimize(0.25, 1)
    assert x.value == 0.5


@pytest.mark.parametrize("engine", ENGINES)
def test_the_output_may_be_the_variable_itself(engine):
    x = Variable(1.0)
    assert Program(x, wrt=[x], engine=engine).minimize(0.25, 3).tolist() == [1.0, 0.75, 0.5]


@pytest.mark.parametrize("engine", ENGINES)
def test_only_the_variables_are_written(engine):
    p, x, fixed = PlaceHolder(), Variable(1.0), Variable(2.0)
    y = x * x * p * fixed
    Program(y, wrt=[x], engine=engine).minimize(0.1, 2, feed={p: 1.0})
    assert (p.value, fixed.value, y.value, x.grad) == (None, 2.0, None, None) and x.value != 1.0


def test_a_batch_is_fed_once_for_all_steps():
    p, t, w, b = PlaceHolder(), PlaceHolder(), Variable(0.0), Variable(0.0)
    xs = np.linspace(-1.0, 1.0, 25)
    program = Program(ng.mean((w * p + b - t) ** 2), wrt=[w, b], inputs=[p, t])
    history = program.minimize(0.5, 200, xs, 3.0 * xs - 1.0)
    assert history[0] == pytest.approx(np.mean((3.0 * xs - 1.0) ** 2))
    assert [w.value, b.value] == pytest.approx([3.0, -1.0], abs=1e-12)


def test_an_unrolled_graph_goes_downhill_with_weights_of_its_samples():
    w, own = Variable(0.0), [Variable(0.1 * k) for k in range(12)]
    loss = Graph.sum([(w * math.sin(k) + a - 1.0) ** 2 for k, a in enumerate(own)])
    history, end = by_hand(loss, [w, *own], sgd, 0, 20)
    assert Program(loss, wrt=[w, *own], engine="compiled").minimize(sgd, 20) == pytest.approx(history, rel=1e-12)
    assert [x.value for x in (w, *own)] == pytest.approx(end, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_minimize_goes_on_where_the_last_one_stopped(engine):
    loss, xs = bowl()
    program = Program(loss, wrt=xs, engine=engine)
    history, _ = by_hand(loss, xs, sgd, 0, 30)
    found = [*program.minimize(sgd, 10), *program.minimize(sgd, 20)]
    assert found == pytest.approx(history, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_after_minimize_sees_the_new_values(engine):
    loss, xs = bowl()
    program = Program(loss, wrt=xs, engine=engine)
    program.minimize(0.05, 10)
    assert program().value == pytest.approx(Program(loss, engine="reference")().value, rel=1e-13)


def test_an_opaque_operator_goes_downhill_by_the_reference_engine():
    opaque = RULES.get("opaque_slope") or operator("opaque_slope", lambda a: a * a, [lambda a, y: float(str(2.0 * a))])
    x = Variable(1.0)
    with pytest.warns(ng.errors.EngineWarning):
        assert Program(opaque(x), wrt=[x]).minimize(0.25, 2).tolist() == [1.0, 0.25]


# --- when it goes wrong ---


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_warns_and_says_when(engine):
    x = Variable(1.0)
    with pytest.warns(NumericWarning, match=r"minimize: .* at step \d+\. Take a smaller rate"):
        history = Program(x**4, wrt=[x], engine=engine).minimize(10.0, 60)
    assert not math.isfinite(history[-1]) and not math.isfinite(x.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_divergence_that_is_forbidden_leaves_the_variables_as_they_were(engine):
    Graph.on_invalid = "raise"
    x = Variable(1.0)
    with pytest.raises(NumericError, match="Take a smaller rate"):
        Program(x**4, wrt=[x], engine=engine).minimize(10.0, 60)
    assert x.value == 1.0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_ctrl_c_keeps_what_was_reached(engine, monkeypatch):
    x = Variable(1.0)
    program = Program(x * x, wrt=[x], engine=engine)
    program()
    ways = [descent._CompiledDescent, descent._ReferenceDescent]
    for way in ways:
        monkeypatch.setattr(way, "run", interrupted(way.run))
    with pytest.raises(KeyboardInterrupt) as stopped:
        program.minimize(0.25, 1000)
    assert 0.0 < x.value <= 0.125  # three steps at least, and not all
    (told,) = stopped.value.__notes__
    assert "of 1,000 steps, whose weights are kept" in told


def interrupted(run):
    """The second chunk of steps is the last that is run."""
    chunks = []

    def once_more(way, steps):
        chunks.append(steps)
        if len(chunks) > 2:
            raise KeyboardInterrupt
        return run(way, steps)

    return once_more


@pytest.mark.parametrize("engine", ENGINES)
def test_inner_nodes_keep_the_values_of_the_last_forward_and_backward_asks_for_a_new_one(engine):
    x = Variable(6.0, name="x")
    f = (x - 7.0) ** 2
    Graph.forward(f)
    program = Program(f, wrt=[x], engine=engine)
    program.minimize(0.1, 10)
    assert f.value == 1.0 and x.value > 6.8
    with pytest.raises(StaleGraphError, match="Variable 'x' has changed since the last forward"):
        Graph.backward(f)
    Graph.forward(f)
    assert f.value == (x.value - 7.0) ** 2 == program().value
