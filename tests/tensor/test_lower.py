"""Unfolding tensors into scalars: names, scopes, exact counts, budgets, and the way back."""

import numpy as np
import pytest
from graphs import check_consistent, snapshot

from naive_graph import Graph, LeafNode, Variable, draw, linear, lower
from naive_graph.errors import BudgetError, ForeignNodeError, ShapeError, StaleNodeError
from naive_graph.graph.node_factory import CURRENT
from naive_graph.tensor import conv2d, element_of, transform
from naive_graph.tensor.lowering.lower import estimate
from naive_graph.tensor.slicing import pad_axis


def leaf(*shape, name=None, seed=0):
    return LeafNode.parameter(np.random.default_rng(seed).normal(size=shape), name)


def kinds():
    """How many nodes of each kind the graph has."""
    found = {}
    for row in CURRENT.tables.adjacency.live_rows():
        kind = CURRENT.tables.kind(row)
        found[kind] = found.get(kind, 0) + 1
    return found


def test_an_element_is_named_after_its_tensor():
    y = linear("ij,j->i", leaf(2, 3, name="W"), leaf(3, name="x"), name="y")
    assert lower(y)[1].name == "y[1]"
    assert lower(y)[1].formula() == "W[1,0]*x[0] + W[1,1]*x[1] + W[1,2]*x[2]"


def test_the_peak_of_a_single_zero_that_padding_put_there_is_a_zero():
    lowered = lower(pad_axis(leaf(1), 0, 1, 0).reshape(2, 1).softmax())
    Graph.forward()
    assert lowered.values.tolist() == [[1.0], [1.0]]


def test_a_learners_own_name_wins():
    y = lower(leaf(2, name="y"))
    y[1].name = "second"
    assert (y[0].name, y[1].name) == ("y[0]", "second")


def test_an_element_that_is_only_moved_is_the_scalar_that_it_was():
    a = leaf(2, 3)
    assert lower(a.T)[2, 1] is lower(a)[1, 2]
    assert lower(a[:, ::-1])[0, 0] is lower(a)[0, 2]
    assert lower(a.reshape(3, 2))[1, 0] is lower(a)[0, 2]
    assert lower(transform("ij->kij", a, sizes={"k": 4}))[3, 1, 1] is lower(a)[1, 1]


def test_lowering_twice_gives_the_same_scalars():
    y = leaf(2, 2) @ leaf(2, 2, seed=1)
    assert list(lower(y)) == list(lower(y))


def test_a_partial_sum_is_one_node_for_each_result():
    lower(leaf(2, 5).sum(1))
    assert kinds() == {"Variable": 10, "add": 2}


def test_a_convolution_is_the_multiply_adds_that_a_person_would_write():
    x, w = leaf(1, 5, 5, 2), leaf(3, 3, 2, 4, seed=1)
    lower(conv2d(x, w))
    results, products = 3 * 3 * 4, 3 * 3 * 2
    assert kinds() == {"Variable": 50 + 72, "mul": results * products, "add": results}


def test_padding_costs_nothing():
    x, w = leaf(1, 3, 3, 1), leaf(3, 3, 1, 1, seed=1)
    lower(conv2d(x, w, padding="SAME"))
    inside = sum(min(3, i + 2) - max(0, i - 1) for i in range(3)) ** 2
    assert kinds()["mul"] == inside
    assert kinds().keys() == {"Variable", "mul", "add"}


def test_a_learners_own_zero_stays():
    lower(leaf(2) * LeafNode.constant([0.0, 1.0]))
    assert kinds()["mul"] == 2


def test_the_estimate_is_what_lowering_appends():
    x, w = leaf(2, 6, 6, 3), leaf(3, 3, 3, 4, seed=1)
    y = (conv2d(x, w).relu() + 1.0).sum((1, 2))
    expected = estimate(y)
    lower(y)
    assert len(Graph.node_list) <= expected <= len(Graph.node_list) + 10


def test_beyond_the_budget_nothing_is_built():
    y = leaf(100, 100) @ leaf(100, 100, seed=1)
    before = snapshot()
    with pytest.raises(BudgetError, match=r"about 1,030,000 scalar nodes .* budget is 1,000,000"):
        lower(y, budget=1_000_000)
    assert snapshot() == before


def test_a_hundred_thousand_by_a_hundred_thousand_is_refused_at_once():
    x = LeafNode.input((100_000,))
    with pytest.raises(BudgetError, match=r"10,000,100,000 scalar nodes .* and a graph holds at most 2,147,483,647"):
        lower(linear("i,j->ij", x, x), budget=10**12)


def test_a_scalar_tells_its_element_and_an_element_its_scalars():
    y = linear("ij,j->i", leaf(2, 3, name="W"), leaf(3, name="x"), name="y")
    nodes = lower(y)
    assert element_of(nodes[1]) == (y, (1,), True)
    assert element_of(nodes[1].last[2]) == (y, (1,), False)
    assert element_of(lower(y.sources[0])[1, 2]) == (y.sources[0], (1, 2), True)
    assert element_of(Variable(1.0)) is None


def test_inputs_are_placeholders_parameters_variables_and_constants_constants():
    lower(LeafNode.input((1,)) + leaf(1) + LeafNode.constant([1.0]))
    assert kinds() == {"PlaceHolder": 1, "Variable": 1, "Constant": 1, "add": 2}


def test_an_input_is_fed_as_its_placeholders():
    x = LeafNode.input((2,), "x")
    y = lower((x * x).sum())
    lower(x).values = [3.0, 4.0]
    Graph.forward()
    assert y.values == 25.0


def test_scalar_nodes_enter_tensor_expressions():
    a, b = Variable(2.0, name="a"), Variable(3.0, name="b")
    x = LeafNode.of([a, b], "x")
    y = (x * x).sum()
    assert float(y.eval()) == 13.0
    node = lower(y)[()]
    Graph.forward(node)
    Graph.backward(node)
    assert (node.value, a.grad, b.grad) == (13.0, 4.0, 6.0)
    a.value = 5.0
    assert float(y.forward()) == 34.0


def test_a_scalar_node_broadcasts_over_a_tensor():
    a = Variable(2.0, name="a")
    y = leaf(3) * a + a
    node = lower(y.sum())[()]
    Graph.forward(node)
    assert node.value == pytest.approx(float(y.sum().eval()))


def test_elements_stand_in_scopes_of_their_tensors():
    y = linear("ij,j->i", leaf(2, 3, name="W"), leaf(3, name="x"), name="y")
    assert lower(y)[0].scope.path == "y"
    x, w = leaf(1, 4, 4, 1), leaf(2, 2, 1, 1, seed=1)
    assert lower(conv2d(x, w))[0, 0, 0, 0].scope.path.startswith("conv2d/")


def test_lowered_scalars_are_drawn_folded_by_tensor():
    y = linear("ij,j->i", leaf(2, 3, name="W"), leaf(3, name="x"), name="y")
    picture = draw(list(lower(y)), fold=True)
    assert "y" in picture.scene.scope_names.values()


def test_reverting_forgets_the_scalars_and_lowering_again_makes_new_ones():
    y = leaf(2, name="a") * leaf(2, seed=1)
    Graph.checkpoint()
    first = lower(y)
    Graph.revert()
    check_consistent()
    assert len(Graph.node_list) == 0
    assert CURRENT.tables.blocks == []
    second = lower(y)
    Graph.forward()
    assert second.values == pytest.approx(y.eval())
    assert first.rows.tolist() == second.rows.tolist()


def test_tensors_of_another_graph_are_refused():
    y = leaf(2)
    with Graph.scratch(), pytest.raises(ForeignNodeError, match="another graph"):
        lower(y)
    Graph.clear()
    with pytest.raises(StaleNodeError, match="was cleared"):
        y + 1


def test_an_element_that_is_not_there_is_refused():
    with pytest.raises(ShapeError, match="no element"):
        lower(leaf(2))[2]


def test_a_call_that_fails_half_way_builds_nothing(monkeypatch):
    from naive_graph.tensor.lowering.bulk import BulkWriter

    y = (leaf(3) * leaf(3, seed=1)).exp()
    before = snapshot()
    monkeypatch.setattr(BulkWriter, "apply_function", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        lower(y)
    assert snapshot() == before
    check_consistent()
