"""Watching is running: the sweeps tell what they do, in order."""

from collections import deque

from graphs import any_graph, build
from hypothesis import given, settings

from naive_graph import Graph, Variable
from naive_graph.core.plan import plan_for, sort_topologically
from naive_graph.core.sweep import (
    Contributed,
    Enqueued,
    Evaluated,
    Finished,
    differentiate,
    evaluate,
    forward_sweep,
    reverse_sweep,
)
from naive_graph.graph.node_factory import CURRENT


def product_and_sum():
    """y = x * x + b: rows x 0, b 1, x*x 2, y 3."""
    x, b = Variable(3.0), Variable(4.0)
    return x, b, x * x + b


def told(y):
    plan = plan_for(CURRENT.tables, [y.row])
    values = [CURRENT.tables.values[row] for row in plan.rows]
    there = list(forward_sweep(plan, values))
    back = list(reverse_sweep(plan, values, {plan.targets[0]: 1.0}, plan.varies()))
    return there, back


def test_forward_tells_who_got_ready_and_what_was_computed():
    _, _, y = product_and_sum()
    Graph.forward()
    there, _ = told(y)
    assert [(type(event).__name__, event.row) for event in there] == [
        ("Enqueued", 0), ("Enqueued", 1), ("Enqueued", 2), ("Evaluated", 2), ("Enqueued", 3), ("Evaluated", 3),
    ]  # fmt: skip
    evaluated = [event for event in there if isinstance(event, Evaluated)]
    assert [(event.operands, event.value) for event in evaluated] == [((3.0, 3.0), 9.0), ((9.0, 4.0), 13.0)]


def test_reverse_tells_each_contribution_and_the_running_sum():
    _, _, y = product_and_sum()
    Graph.forward()
    _, back = told(y)
    contributed = [event for event in back if isinstance(event, Contributed)]
    assert [(e.row, e.consumer, e.position, e.partial, e.incoming, e.total) for e in contributed] == [
        (2, 3, 0, 1.0, 1.0, 1.0),
        (1, 3, 1, 1.0, 1.0, 1.0),
        (0, 2, 0, 3.0, 1.0, 3.0),
        (0, 2, 1, 3.0, 1.0, 6.0),
    ]


def test_a_node_finishes_after_its_last_contribution_and_is_ready_before():
    _, _, y = product_and_sum()
    Graph.forward()
    _, back = told(y)
    of_x = [type(event) for event in back if event.row == 0]
    assert of_x == [Contributed, Contributed, Enqueued, Finished]


@settings(max_examples=60, deadline=None)
@given(any_graph())
def test_a_sweep_that_nobody_hears_computes_the_same(recipe):
    with Graph.scratch():
        build(recipe)
        plan = plan_for(CURRENT.tables)
        column, seeds = [CURRENT.tables.values[row] for row in plan.rows], dict.fromkeys(plan.targets, 1.0)
        heard, values = [*column], [*column]
        deque(forward_sweep(plan, heard), maxlen=0)
        back = reverse_sweep(plan, heard, seeds, plan.varies())
        adjoints = [event.adjoint for event in back if isinstance(event, Finished)]
        evaluate(plan, values)
        assert repr(values) == repr(heard)
        assert repr(differentiate(plan, values, seeds, plan.varies())) == repr(adjoints[::-1])


def test_kahn_is_first_in_first_out_by_edge():
    assert sort_topologically(range(4), [0, 0, 2, 2], [[3, 2], [2], [3], []]) == [0, 1, 2, 3]


def test_what_lies_on_a_cycle_never_gets_ready():
    assert sort_topologically(range(3), [0, 2, 1], [[1], [2], [1]]) == [0]


def test_a_plan_is_kept_until_the_tables_change():
    _, _, y = product_and_sum()
    plan = plan_for(CURRENT.tables, [y.row])
    assert plan_for(CURRENT.tables, [y.row]) is plan
    Variable(1.0)
    assert plan_for(CURRENT.tables, [y.row]) is not plan
