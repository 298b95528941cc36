"""The DAG execution engine: its tasks, and that its bits are those of the simple engine."""

import pickle
import re
from copy import copy
from threading import get_ident

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from programs import arrays, nodes, programs

import naive_graph as ng
from naive_graph import Graph, LeafNode, Model
from naive_graph.errors import EngineError, NodeError, NoGradientError, PlaceHolderError, ShapeError
from naive_graph.tensor import DAGExecutionEngine, conv2d
from naive_graph.tensor.tasks.engine import run_tasks
from naive_graph.tensor.tasks.graph import Key, task_graph
from naive_graph.tensor.tasks.on_dask import Measure, Measured
from naive_graph.training import parameter

LAWS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def leaf(name, *shape, seed=0):
    return LeafNode.parameter(np.random.default_rng(seed).normal(size=shape), name)


@pytest.fixture
def y():
    a, b, c, d = (LeafNode.parameter(value, name) for name, value in zip("abcd", (2.0, 3.0, 5.0, 7.0)))
    y = a * b + c * d
    y.name = "y"
    return y


def kinds(graph):
    return [task.key.kind for task in graph.tasks]


# --- the tasks ----------------------------------------------------------------


def test_two_products_and_a_sum_are_twenty_tasks(y):
    graph = DAGExecutionEngine().tasks(y)
    assert [kinds(graph).count(kind) for kind in "FGB"] == [7, 7, 6]
    assert graph.widths == [5, 2, 1, 2, 2, 4, 4]
    assert repr(graph) == "<TaskGraph of 20 tasks on 7 levels>"


def test_a_task_stands_one_level_above_the_highest_that_it_needs(y):
    graph = DAGExecutionEngine().tasks(y.tanh())
    for task in graph.tasks:
        assert task.level == 1 + max((graph.tasks[need].level for need in task.needs), default=-1)


def test_a_contribution_needs_the_gradient_the_value_and_the_sources_values(y):
    graph = DAGExecutionEngine().tasks(y)
    needs = graph.tasks[graph.number[Key("B", y, 0)]].needs
    assert [graph.label(need) for need in needs] == ["G(y)", "F(y)", "F(t1)", "F(t2)"]


def test_contributions_are_added_youngest_consumer_first_then_by_position():
    x = LeafNode.parameter(2.0, "x")
    u = x * x
    v = u + x
    u.name, v.name = "u", "v"
    graph = DAGExecutionEngine().tasks(v)
    needs = graph.tasks[graph.number[Key("G", x)]].needs
    assert [graph.label(need) for need in needs] == ["B(v,1)", "B(u,0)", "B(u,1)"]


def test_drawing_up_the_tasks_computes_nothing(y):
    DAGExecutionEngine().tasks(y)
    assert y._value is None


def test_what_does_not_respond_has_no_tasks():
    w = leaf("w", 3)
    graph = DAGExecutionEngine().tasks((w.heaviside() + w).sum())
    assert kinds(graph).count("B") == 3


def test_constants_get_tasks_if_all_is_asked_for():
    y = (leaf("w", 3) * LeafNode.constant([1.0, 2.0, 3.0])).sum()
    counts = [kinds(DAGExecutionEngine().tasks(y, full)).count("G") for full in (False, True)]
    assert counts == [3, 4]


def test_a_folded_product_has_a_value_only_if_it_is_asked_for():
    a, b, v = (leaf(name, 2, 2, seed=ord(name)) for name in "abv")
    product = a @ b
    assert Key("F", product) not in task_graph((product @ v), with_backward=False).number
    assert Key("F", product) in task_graph((product @ v).sum()).number


def test_what_was_evaluated_is_not_computed_again(y):
    y.eval()
    assert task_graph(y, use_cached=True).widths[0] == 8
    assert len(task_graph(y, use_cached=True)) == 20


# --- the bits -----------------------------------------------------------------


def bits(array):
    return None if array is None else (np.shape(array), np.asarray(array).tobytes())


def state(found):
    return [(bits(node._value), bits(node._grad)) for node in found]


def differentiated(program, run, looked_at, full):
    """What every node of a program holds after a run, some of them having been evaluated before."""
    with Graph.scratch():
        found = nodes(program, arrays(program))
        total = found[-1].sum()
        for place in looked_at:
            found[place % len(found)].eval()
        run(total, full)
        everything = ng.tensor.differentiate.ancestors([total])
        return bits(total.eval()), state(everything), [bits(node.eval()) for node in everything]


@LAWS
@given(programs(most=8), st.lists(st.integers(0, 9), max_size=3), st.booleans(), st.sampled_from([1, 2]))
def test_tasks_find_the_bits_of_the_simple_engine(program, looked_at, full, workers):
    def simple(total, full):
        total.backward(full)

    expected = differentiated(program, simple, looked_at, full)
    assert differentiated(program, DAGExecutionEngine(workers).backward, looked_at, full) == expected


@LAWS
@given(programs(most=8), st.lists(st.integers(0, 9), max_size=3), st.sampled_from([1, 2]))
def test_forward_finds_the_bits_of_the_simple_engine(program, looked_at, workers):
    def simple(total, full):
        total.forward()
        total.backward()

    def tasks(total, full):
        engine = DAGExecutionEngine(workers)
        engine.forward(total)
        engine.backward(total)

    expected = differentiated(program, simple, looked_at, False)
    assert differentiated(program, tasks, looked_at, False) == expected


class Sent:
    """A work that was pickled and rebuilt, and what it finds is pickled too."""

    def __init__(self, work):
        self.work = pickle.loads(pickle.dumps(Measure(work)))
        assert isinstance(self.work.work, bytes)

    def __call__(self, *results):
        return pickle.loads(pickle.dumps(self.work(*(Measured(each, 0.0, 0.0, (0, 0)) for each in results)))).result


class Travelled(DAGExecutionEngine):
    """Runs tasks as if each ran in a process of its own."""

    def _perform(self, graph):
        sent = copy(graph)
        sent.tasks = [task._replace(work=Sent(task.work)) for task in graph.tasks]
        return run_tasks(sent)


@LAWS
@given(programs(most=8), st.lists(st.integers(0, 9), max_size=3), st.booleans())
def test_works_that_travelled_find_the_same_bits(program, looked_at, full):
    pytest.importorskip("dask")

    def simple(total, full):
        total.backward(full)

    expected = differentiated(program, simple, looked_at, full)
    assert differentiated(program, Travelled().backward, looked_at, full) == expected


def test_a_work_that_travels_leaves_the_rest_of_the_graph_behind():
    pytest.importorskip("dask")
    y = leaf("w", 10)
    for _ in range(300):
        y = y.tanh()
    assert max(len(pickle.dumps(Measure(task.work))) for task in task_graph(y.sum()).tasks) < 3000


def network():
    x = LeafNode.constant(np.random.default_rng(3).normal(size=(2, 6, 6, 1)))
    hidden = conv2d(x, leaf("filter", 3, 3, 1, 2)).relu()
    return (ng.tensor.max_pool2d(hidden, 2).reshape(2, -1) @ leaf("W", 8, 3)).log_softmax().mean()


def test_a_network_gives_the_same_bits():
    ours, theirs = network(), network()
    theirs.backward()
    DAGExecutionEngine(2).backward(ours)
    ancestors = ng.tensor.differentiate.ancestors
    assert state(ancestors([ours])) == state(ancestors([theirs]))


def test_products_that_share_a_folded_factor_ask_for_it_in_the_simple_engines_order():
    def build():
        a, b, c, d, e = (leaf(name, 3, 3, seed=ord(name)) for name in "abcde")
        shared = a @ b
        first = (shared @ c) @ d
        first.eval()  # folds `shared` away
        return first.sum() + ((shared @ e) @ d).sum()

    ours, theirs = build(), build()
    theirs.backward()
    DAGExecutionEngine().backward(ours)
    ancestors = ng.tensor.differentiate.ancestors
    assert state(ancestors([ours])) == state(ancestors([theirs]))


def test_tensors_of_torch_stay_what_they_are():
    torch = pytest.importorskip("torch")
    w = LeafNode.parameter(torch.tensor([3.0, 4.0], dtype=torch.float32))
    DAGExecutionEngine(2).backward((w * w).sum())
    assert (w.gradient().dtype, w.gradient().tolist()) == (torch.float32, [6.0, 8.0])


# --- runs ---------------------------------------------------------------------


def test_a_models_parameters_receive_their_gradients():
    model = Model(seed=1)
    w = model.add_parameters(2)
    loss = (parameter(w) ** 2).sum()
    DAGExecutionEngine().backward(loss)
    once = w.g.copy()
    DAGExecutionEngine(2).backward(loss)
    assert w.g.tolist() == (2 * once).tolist()


def test_forward_and_the_incremental_one_answer_for_the_present_leaves():
    w = LeafNode.parameter([1.0])
    y, engine = w * w, DAGExecutionEngine()
    assert engine.forward(y).tolist() == [1.0]
    w.value = [3.0]
    assert engine.incremental_forward(y).tolist() == [9.0]
    assert engine.forward(y).tolist() == [9.0]


def test_a_run_that_fails_changes_nothing():
    def refuse(a):
        raise RuntimeError("no")

    w = LeafNode.parameter([1.0, 2.0])
    y = (w * w).sum()
    y.backward()
    broken = (ng.operator("refusing_in_a_task", refuse, [None])(w * w) + w).sum()
    for each in (DAGExecutionEngine(), DAGExecutionEngine(2)):
        with pytest.raises(RuntimeError, match="no"):
            each.backward(broken)
        assert each.last_run is None
    assert w.gradient().tolist() == [2.0, 4.0]
    assert all(node._value is None for node in (broken, *broken.sources))


def test_each_task_of_a_run_was_timed_on_one_of_the_workers(y):
    engine = DAGExecutionEngine(2)
    engine.backward(y)
    bars = engine.last_run.bars
    assert [bar.task for bar in bars] == list(range(20))
    assert {bar.worker for bar in bars} <= {0, 1}
    assert all(0.0 <= bar.start <= bar.end for bar in bars)
    assert engine.last_run.work <= 2 * engine.last_run.seconds


def test_no_task_begins_before_those_that_it_needs_have_ended(y):
    engine = DAGExecutionEngine(3)
    engine.backward(y)
    graph, bars = engine.last_run
    assert all(bars[need].end <= bars[number].start for need, number in graph.edges)


def test_a_node_outside_the_run_has_no_gradient(y):
    DAGExecutionEngine().backward(y)
    with pytest.raises(NoGradientError, match="does not depend on it"):
        leaf("other", 2).gradient()


def test_one_worker_is_the_thread_that_asks(monkeypatch):
    """It may hold the graph's lock, for which another thread would wait for ever."""
    threads, w = set(), LeafNode.parameter([3.0, 4.0])
    monkeypatch.setattr("naive_graph.tensor.tasks.engine.perf_counter", lambda: threads.add(get_ident()) or 0.0)
    DAGExecutionEngine().backward((w * w).sum())
    assert threads == {get_ident()}


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "two"])
def test_workers_are_a_whole_number(workers):
    with pytest.raises(EngineError, match=re.escape(f"at least 1, not {workers!r}")):
        DAGExecutionEngine(workers)


def test_backward_starts_from_one_number():
    with pytest.raises(ShapeError, match="Sum it"):
        DAGExecutionEngine().backward(leaf("w", 2))


def test_an_input_without_a_value_is_named():
    x = LeafNode.input((2,), "x")
    with pytest.raises(PlaceHolderError, match=r"LeafNode 'x' \(2\) has no value"):
        DAGExecutionEngine().forward(x + 1)


def test_numbers_are_no_tensors():
    with pytest.raises(NodeError, match="A DAGExecutionEngine takes tensor nodes, not float"):
        DAGExecutionEngine().forward(1.0)
