"""minimize runs on the engine that a Program was asked for."""

import math

import pytest

pytest.importorskip("llvmlite")

from naive_graph import CyclicalSGDTrainer, Graph, Program, atan2, where
from naive_graph.errors import OperandError
from naive_graph.program import backends, descent
from naive_graph.training.formulas import cyclical_rate


def ways(monkeypatch):
    """The names of the ways that minimize goes from now on."""
    gone = []
    for room, name in ((backends, "CompiledPlan"), (backends, "LevelRuns"), (descent, "_ReferenceDescent")):
        way = getattr(room, name)
        monkeypatch.setattr(
            room, name, lambda *given, way=way, name=name, **rest: gone.append(name) or way(*given, **rest)
        )
    return gone


@pytest.mark.parametrize(
    ("engine", "way"),
    [("compiled", "CompiledPlan"), ("runs", "LevelRuns"), ("reference", "_ReferenceDescent"), (None, "CompiledPlan")],
)
def test_minimize_runs_on_the_engine_that_was_asked_for(engine, way, monkeypatch):
    x = Graph.Variable(6.0)
    gone = ways(monkeypatch)
    Program((x - 7.0) ** 2, wrt=[x], engine=engine).minimize(0.1, 3)
    assert {*gone} == {way}


def test_minus_zero_in_a_formula_is_not_zero():
    for engine in ("reference", "compiled", "runs"):
        x = Graph.Variable(6.0)
        Program(x * x, wrt=[x], engine=engine).minimize(lambda w, g: atan2(where(0.0 * g, 0.0, -0.0), -1.0), 1)
        assert x.value == -math.pi


@pytest.mark.parametrize("rows", [3, 60])
def test_what_is_carried_over_in_machine_code_is_what_python_carries(rows):
    def momentum(w, g, v):
        return w - 0.1 * v, 0.5 * v + g

    walks = []
    for engine in ("reference", "runs", "compiled"):
        xs = [Graph.Variable(0.1 * k) for k in range(rows)]
        loss = Graph.sum((x * y - 0.25 * k) ** 2 for k, (x, y) in enumerate(zip(xs, [*xs[1:], xs[0]], strict=True)))
        history = Program(loss * 0.01, wrt=xs, engine=engine).minimize(momentum, 20)
        walks.append([*history.tolist(), *(x.value for x in xs)])
    assert walks[0] == walks[1] == walks[2]


@pytest.mark.parametrize("engine", ["runs", "compiled"])
def test_a_program_walks_on_from_where_the_variables_are_at_whatever_rate(engine):
    x, y = Graph.Variable(6.0), Graph.Variable(3.0)
    f = (x - 7.0) * (x - 7.0) + y * x
    program = Program(f, wrt=[x, y, x], engine=engine)
    for start, rate in ((6.0, 0.1), (5.0, 0.1), (4.0, 0.25), (3.0, 0.1)):
        x.value, y.value = start, 1.5
        found = [*program.minimize(rate, 5).tolist(), x.value, y.value]
        x.value, y.value = start, 1.5
        assert [*Program(f, wrt=[x, y, x], engine="reference").minimize(rate, 5).tolist(), x.value, y.value] == found


def descended(engine, formula, steps=60):
    x = Graph.Variable(6.0)
    history = Program((x - 7.0) ** 2, wrt=[x], engine=engine).minimize(formula, steps)
    return [*history.tolist(), x.value]


def cyclical(w, g, *, t):
    return w - cyclical_rate(t - 1, step_size=5, gamma=0.99) * g


@pytest.mark.parametrize("engine", ["reference", "compiled", "runs"])
def test_a_rate_may_go_up_and_down_with_the_steps(engine):
    x = Graph.Variable(6.0)
    f = (x - 7.0) ** 2
    trainer = CyclicalSGDTrainer([x], 0.01, 0.1, step_size=5, gamma=0.99)
    trainer._after_step()  # a trainer takes its first two steps at the lowest rate
    walked = []
    for _ in range(60):
        Graph.forward(f)
        Graph.backward(f)
        walked.append(f.value)
        trainer.update()
        Graph.kill_grad()
    assert descended(engine, cyclical) == pytest.approx([*walked, x.value], rel=1e-13)


@pytest.mark.parametrize("divisor", [1, 2, 7, 10.0])
def test_steps_are_counted_in_whole_groups_and_what_is_left(divisor):
    def formula(w, g, *, t):
        return w + 1000 * (t // divisor) + t % divisor

    right = 6.0 + sum(1000 * (t // divisor) + t % divisor for t in range(1, 50))
    for engine in ("reference", "compiled", "runs"):
        assert descended(engine, formula, 49)[-1] == right


@pytest.mark.parametrize("divisor", [0.1, 0, -3, math.nan])
def test_steps_are_divided_by_whole_numbers_only(divisor):
    with pytest.raises(OperandError, match="t // 100"):
        descended("compiled", lambda w, g, *, t: w - g / (1 + t // divisor))
