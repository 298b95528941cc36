"""Two threads at one graph: right answers or a clear error, never silent nonsense."""

import threading

import pytest
from graphs import check_consistent

from naive_graph import Graph, Program, Variable
from naive_graph.core.records import Checkpoint
from naive_graph.errors import StaleNodeError, ThreadError
from naive_graph.graph.node_factory import CURRENT, truncate_if_unreferenced
from naive_graph.program import base
from naive_graph.program.backends import backend_for


def in_threads(*works):
    errors = []

    def guarded(work):
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def test_two_threads_that_build_at_once_both_get_right_graphs():
    results = []

    def build(start):
        x = Variable(start)
        y = x
        for _ in range(3000):
            y = y * 1.0 + 1.0
        results.append((x, y, start))

    assert in_threads(*(lambda start=start: build(start) for start in (0.0, 1000.0, 5000.0))) == []
    check_consistent()
    Graph.forward()
    for x, y, start in results:
        assert y.value == start + 3000.0
        Graph.backward(y)
        assert x.grad == 1.0


def test_one_thread_builds_while_another_evaluates():
    x = Variable(2.0)
    y = x * x

    def build():
        z = x
        for _ in range(2000):
            z = z * 1.0

    def evaluate():
        for _ in range(20):
            Graph.forward(y)
            Graph.backward(y)
            assert (y.value, x.grad) == (4.0, 4.0)

    assert in_threads(build, evaluate, lambda: [y.last for _ in range(300)]) == []
    check_consistent()


def test_a_second_thread_cannot_enter_scratch_and_says_so():
    (error,) = in_threads(lambda: Graph.scratch().__enter__())  # this test is inside a scratch graph
    assert isinstance(error, ThreadError) and "Wait for it to leave" in str(error)


def test_one_thread_may_nest_scratch_graphs():
    with Graph.scratch(), Graph.scratch():
        Variable(1.0)
    with pytest.raises(IndexError):
        Graph.node_list[0]


def test_what_others_build_while_unreferenced_nodes_are_removed_stays():
    tables, built = CURRENT.tables, []

    class Mark(Checkpoint):
        @property
        def rows(self):
            built.append(Variable(3.0))  # as another thread may
            return self[0]

    mark = Mark(*tables.mark())
    Variable(1.0)  # nobody holds it
    truncate_if_unreferenced(tables, mark)
    assert len(Graph.node_list) == len(built) and {node.value for node in built} == {3.0}


def test_a_programs_engine_is_chosen_while_others_build(monkeypatch):
    import numpy as np

    x, array = Variable(2.0), np.array

    def array_while_others_build(*things, **wishes):
        Variable(1.0)
        return array(*things, **wishes)

    program = Program(x * x, wrt=[x])
    monkeypatch.setattr(np, "array", array_while_others_build)
    assert program() == (4.0, [4.0])


def test_a_program_whose_graph_is_cleared_while_it_is_compiled_says_so(monkeypatch):
    x = Variable(2.0)
    program = Program(x * x, wrt=[x])

    def clear_and_compile(query):
        backend = backend_for(query)
        Graph.clear()
        return backend

    monkeypatch.setattr(base, "backend_for", clear_and_compile)
    with pytest.raises(StaleNodeError, match=r"graph was cleared\. Build the Program again"):
        program()
