"""A Program sees the graph as it is now, writes nothing to it, and says so when it is gone."""

import threading

import numpy as np
import pytest
from graphs import check_consistent, snapshot

import naive_graph as ng
from naive_graph import Graph, Operator, PlaceHolder, Program, Variable
from naive_graph.errors import StaleNodeError

ENGINES = ["runs", "reference", None]  # None compiles what is small


def asked_often(program):
    """After which it takes the short way."""
    for _ in range(4):
        program()
    return program


def cube():
    x = Variable(2.0)
    return asked_often(Program(x * x * x, wrt=[x])), x


@pytest.mark.parametrize("end", [Graph.clear, Graph.renew])
def test_a_program_of_a_graph_that_is_gone_refuses(end):
    program, _ = cube()
    end()
    with pytest.raises(StaleNodeError, match=r"This Program's graph was .*\. Build the Program again\."):
        program()


def test_a_program_of_a_graph_that_is_gone_refuses_a_batch_too():
    p = PlaceHolder()
    program = Program(p * p, inputs=[p])
    Graph.clear()
    with pytest.raises(StaleNodeError):
        program([1.0, 2.0])


def test_a_program_of_rows_that_were_cut_refuses():
    Graph.checkpoint()
    program, _ = cube()
    Graph.revert()
    with pytest.raises(StaleNodeError):
        program()


def test_a_program_of_rows_that_were_cut_and_used_anew_refuses():
    x = Variable(2.0)
    Graph.checkpoint()
    program = Program(x * x, wrt=[x])
    program()
    Graph.revert()
    _ = (x + 1.0) * 3.0
    with pytest.raises(StaleNodeError):
        program()


def test_a_program_of_rows_before_the_cut_goes_on():
    program, _ = cube()
    Graph.checkpoint()
    _ = Variable(1.0) * 2.0
    Graph.revert()
    assert program().value == 8.0


@pytest.mark.parametrize("engine", ENGINES)
def test_a_variable_that_changed_between_calls_is_seen(engine):
    x = Variable(2.0)
    program = asked_often(Program(x * x * x, wrt=[x], engine=engine))
    x.value = 3.0
    value, gradient = program()
    assert (value, gradient.tolist()) == (27.0, [27.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_program_of_a_graph_that_grew_goes_on(engine):
    x = Variable(2.0)
    program = asked_often(Program(x * x, wrt=[x], engine=engine))
    leaves = [Variable(float(k)) for k in range(50_000)]
    _ = Graph.sum(leaves)
    x.value = 5.0
    assert program().value == 25.0


@pytest.mark.parametrize("engine", ENGINES)
def test_an_edge_drawn_by_hand_after_the_first_call_is_seen(engine):
    a, b = Variable(2.0), Variable(3.0)
    s = Operator("add")
    a.build_edge(s)
    program = Program(s, wrt=[a, b], engine=engine)
    before = asked_often(program)()
    b.build_edge(s)
    after = program()
    assert (before.value, before.gradient.tolist()) == (2.0, [1.0, 0.0])
    assert (after.value, after.gradient.tolist()) == (5.0, [1.0, 1.0])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_edge_from_a_later_row_is_followed(engine):
    a, s = Variable(2.0), Operator("add")
    y = s * 2.0
    late = Variable(5.0)
    a.build_edge(s)
    late.build_edge(s)
    assert Program(y, wrt=[a, late], engine=engine)().gradient.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_call_writes_nothing_to_any_node(engine):
    p, w = PlaceHolder(), Variable(2.0)
    p.value = 1.0
    y = (p * w).sin()
    Graph.forward()
    Graph.backward(y)
    before = snapshot()
    Program(y, wrt=[p, w], engine=engine)(feed={p: 3.0})
    assert snapshot() == before


def test_a_batch_writes_nothing_to_any_node():
    p, w = PlaceHolder(), Variable(2.0)
    y = ng.mean((p * w).sin())
    Program(y, wrt=[p, w], inputs=[p])([1.0, 2.0, 3.0])
    assert [(node.value, node.grad) for node in (p, w, y)] == [(None, None), (2.0, None), (None, None)]


@pytest.mark.parametrize("engine", ["runs", "compiled", "reference"])
def test_two_runs_give_the_same_bits(engine):
    xs = [Variable(0.1 * k) for k in range(40)]
    y = Graph.sum([(a * b).sin() for a in xs for b in xs[:3]])
    program = Program(y, wrt=xs, engine=engine)
    first, second = program(), program()
    assert first.value == second.value and (first.gradient == second.gradient).all()


def in_threads(work, count=4):
    found = []

    def guarded(place):
        try:
            found.append((place, work(place)))
        except Exception as error:
            found.append((place, error))

    threads = [threading.Thread(target=guarded, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(found)


@pytest.mark.parametrize("shared", [True, False])
def test_threads_get_the_numbers_that_one_gets(shared):
    p, w = PlaceHolder(), Variable(2.0)
    loss = ng.total((p * w).sin() * p)
    programs = [Program(loss, wrt=[w], inputs=[p]) for _ in range(4)]
    if shared:
        programs = programs[:1] * 4
    data = np.random.default_rng(1).normal(size=(4, 3000))
    alone = [programs[0](line) for line in data]
    for place, answers in in_threads(lambda place: [programs[place](data[place]) for _ in range(20)]).items():
        for value, gradient in answers:
            assert value == alone[place].value and gradient[0] == alone[place].gradient[0]


@pytest.mark.parametrize("engine", ["runs", "compiled"])
def test_one_thread_builds_while_another_asks(engine):
    xs = [Variable(1.0 + k) for k in range(100)]
    program = Program(Graph.sum([x * x for x in xs]), wrt=xs, engine=engine)
    alone = program()

    def work(place):
        if place == 0:
            return all(program().value == alone.value for _ in range(300))
        made = [Variable(float(k)) for k in range(3000)]
        return made[-1].value == 2999.0

    assert in_threads(work, 3) == {0: True, 1: True, 2: True}
    check_consistent()


def test_a_program_may_be_asked_while_another_graph_is_current():
    program, _ = cube()
    with Graph.scratch():
        assert program().value == 8.0


def test_hundreds_of_programs_come_and_go():
    x = Variable(2.0)
    for k in range(300):  # more than are kept compiled at once
        assert Program(x * float(k), engine="runs")().value == 2.0 * k
