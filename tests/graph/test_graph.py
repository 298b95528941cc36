"""The scalar graph: handles, tables, evaluation, staleness, starting again."""

import copy
import gc
import math
import pickle

import pytest
from graphs import snapshot

import naive_graph as ng
from naive_graph import Constant, Graph, Operator, PlaceHolder, Variable, scope
from naive_graph.errors import (
    ArityError,
    EngineError,
    FeedError,
    GraphCycleError,
    NodeError,
    OperatorNameError,
    PlaceHolderError,
    StaleGraphError,
    StaleNodeError,
)
from naive_graph.graph.node_factory import CURRENT

# --- handles ---


def test_a_row_has_one_node():
    x = Variable(1.0)
    y = x * 2
    assert y.last[0] is x and x.next[0] is y and Graph.node_list[0] is x and Graph.node_list[y.row] is y


def test_a_node_that_was_let_go_comes_back_with_its_kind():
    _ = (Variable(1.0) * PlaceHolder() + Constant(3.0)).sin()
    kinds = [type(node).__name__ for node in Graph.node_list]
    assert kinds == ["Variable", "PlaceHolder", "Operator", "Constant", "Operator", "Operator"]


def test_references_to_nodes_that_were_let_go_are_swept_out():
    x = y = Variable(1.0)
    for _ in range(20_000):
        y = y * x
    gc.collect()
    assert len(CURRENT.tables.handles) < 2_500


def test_a_leaf_prints_as_its_value_and_an_operator_as_its_name():
    assert [str(node) for node in (Variable(2), Constant(3), PlaceHolder(), Variable(1).sin())] == [
        "2.0", "3.0", "None", "sin",
    ]  # fmt: skip


def test_a_list_of_nodes_shows_name_formula_and_value():
    x, v, p = Variable(6, name="x"), Variable(2.0), PlaceHolder("p")
    f = ((x - 7) ** 2 + 10).log()
    assert repr([x, f, v, p, f.last[0].last[1]]) == "[x = 6.0, log((x - 7)**2 + 10), v1 = 2.0, p, 10]"
    Graph.forward(f)
    assert repr(f) == f"log((x - 7)**2 + 10) = {f.value!r}"
    f.name = "f"
    assert repr([f]) == f"[f = log((x - 7)**2 + 10) = {f.value!r}]"


def test_what_is_too_long_or_drawn_by_hand_shows_no_formula():
    x = y = Variable(1.0, name="x")
    for _ in range(10_000):
        y = y * 1.1 + x
    assert repr([y, Operator("add")]) == "[add(...), add(...)]"


def test_a_node_knows_the_line_that_made_it():
    y = Variable(1.0).sin()  # this very line
    assert y.origin.text == "y = Variable(1.0).sin()  # this very line"


def test_a_composition_belongs_to_the_line_that_called_it():
    y = Variable(1.0).gelu()  # called here
    assert all(node.origin.line == y.origin.line for node in Graph.node_list)


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy, lambda x: copy.deepcopy([x]), pickle.dumps])
def test_a_node_is_not_copied_so_no_copy_follows_the_training(copy_of):
    x = Variable(1.0)
    for node in (x, x * x, PlaceHolder(), Constant(1.0)):
        with pytest.raises(NodeError, match="row of this process's graph"):
            copy_of(node)


def test_node_list_is_a_view_with_slices():
    nodes = Graph.node_list
    x = Variable(1.0)
    assert len(nodes) == 1 and nodes[-1] is x and nodes[:] == [x] and list(nodes) == [x]
    with pytest.raises(IndexError):
        nodes[1]


def test_names_can_be_given_changed_and_taken_away():
    x = Variable(1.0, name="x")
    x.name = "y"
    assert x.name == "y"
    x.name = None
    assert x.name is None


# --- evaluating ---


def test_a_feed_stays_until_it_is_fed_again():
    p = PlaceHolder()
    y = p * 2
    Graph.forward(feed={p: 3})
    Graph.forward()
    assert y.value == 6.0
    Graph.forward(feed={p: 4})
    assert y.value == 8.0


def test_a_failed_forward_restores_what_was_fed():
    p, q = PlaceHolder(), PlaceHolder()
    y = p * q
    p.value = 1.0
    with pytest.raises(PlaceHolderError):
        Graph.forward(y, feed={p: 5.0})
    assert p.value == 1.0


def test_a_missing_feed_is_reported_before_anything_is_computed():
    x, p = Variable(1.0), PlaceHolder(name="p")
    y = x * 2
    _ = y * p
    before = snapshot()
    with pytest.raises(PlaceHolderError, match=r"Feed it: Graph.forward\(feed=\{p: 1.0\}\)"):
        Graph.forward()
    assert snapshot() == before


def test_a_placeholder_that_nothing_needs_may_stay_empty():
    p, f = PlaceHolder(), Variable(1) * 2
    Graph.forward()
    assert f.value == 2.0 and p.value is None
    with pytest.raises(PlaceHolderError):
        Graph.forward(p)


def test_only_placeholders_are_fed():
    x = Variable(1.0, name="x")
    for wrong in (x, 3, "x"):
        with pytest.raises(FeedError):
            Graph.forward(feed={wrong: 1.0})


def test_a_cycle_drawn_by_hand_is_named():
    a, b = Operator("add", name="a"), Operator("add", name="b")
    Variable(1.0).build_edge(a)
    a.build_edge(b)
    b.build_edge(a)
    with pytest.raises(GraphCycleError, match=r"'add' 'a'.*->.*'add' 'b'"):
        Graph.forward()


def test_edges_drawn_by_hand_make_an_operator_whole():
    a, b, y = Variable(5.0), Variable(3.0), Operator("sub")
    with pytest.raises(ArityError, match="has 0 operands and needs 2"):
        Graph.forward()
    a.build_edge(y)
    b.build_edge(y)
    Graph.forward()
    Graph.backward(y)
    assert (y.value, a.grad, b.grad, y.calculate()) == (2.0, 1.0, -1.0, 2.0)
    with pytest.raises(ArityError, match="has them all"):
        a.build_edge(y)


@pytest.mark.parametrize("edges", [0, 1])
def test_an_operator_that_waits_for_an_edge_is_not_differentiated(edges):
    a, y = Variable(5.0), Operator("sub")
    for _ in range(edges):
        a.build_edge(y)
    for derivative in (ng.gradients, ng.jacobian, ng.hessian):
        with pytest.raises(ArityError, match=f"has {edges} operands and needs 2. Draw the missing edges"):
            derivative([y] if derivative is ng.jacobian else y, [a])


def test_an_edge_into_a_leaf_is_refused():
    with pytest.raises(NodeError, match="leads to an Operator"):
        Variable(1.0).build_edge(Variable(2.0))


def test_accumulate_adds_to_the_gradients_of_leaves_only():
    x = Variable(3.0)
    y = x * x
    z = y * 2.0
    Graph.forward()
    Graph.backward(z)
    Graph.backward(z, accumulate=True)
    assert x.grad == 24.0 and z.grad == 1.0


def test_without_a_name_all_results_are_differentiated_with_a_warning():
    x = Variable(3.0)
    _, _ = x.sin(), x * 5.0
    Graph.forward()
    with pytest.warns(UserWarning, match="2 results"):
        Graph.backward()
    assert x.grad == math.cos(3.0) + 5.0


def test_an_empty_graph_has_nothing_to_differentiate():
    with pytest.raises(StaleGraphError, match="nothing to differentiate"):
        Graph.backward()


def test_gradients_are_none_before_any_backward_and_floats_after():
    x, c, unused = Variable(3.0), Constant(2.0), Variable(1.0)
    y = x * c
    assert x.grad is None
    Graph.forward()
    Graph.backward(y)
    assert (x.grad, c.grad, unused.grad, y.grad) == (2.0, None, 0.0, 1.0)
    assert Variable(5.0).grad is None


def test_gradients_add_up_in_the_reverse_of_kahns_order():
    x = Variable(1.0)
    small, big, minus = x * 1e-16, x * 1.0, x * -1.0
    y = Graph.sum([small, big, minus])
    Graph.forward()
    Graph.backward(y)
    assert x.grad == (-1.0 + 1.0) + 1e-16  # last consumer first; the other way it would be 0


# --- staleness ---


def test_a_changed_leaf_makes_what_depends_on_it_stale():
    x, other = Variable(1.0, name="x"), Variable(1.0)
    y, z = x * 2, other * 2
    Graph.forward()
    x.value = 5.0
    Graph.backward(z)
    with pytest.raises(StaleGraphError, match="Variable 'x' has changed"):
        Graph.backward(y)


def test_an_edge_drawn_after_forward_makes_the_graph_stale():
    x, y = Variable(1.0), Graph.sum([Variable(1.0)])
    Graph.forward()
    x.build_edge(y)
    with pytest.raises(StaleGraphError, match="edge was drawn"):
        Graph.backward(y)


# --- starting again ---


def test_scratch_is_empty_and_restores_what_was():
    x = Variable(1.0)
    before = snapshot()
    with Graph.scratch():
        assert len(Graph.node_list) == 0
        inner = Variable(2.0) * 3
    assert snapshot() == before and Graph.node_list[0] is x
    with pytest.raises(StaleNodeError, match="scratch graph"):
        _ = inner.value


def test_scratch_restores_on_an_exception():
    before = snapshot()
    with pytest.raises(ZeroDivisionError), Graph.scratch():
        Variable(1.0)
        1 / 0
    assert snapshot() == before


def test_renew_starts_the_next_version():
    x, version = Variable(1.0), Graph.version
    Graph.renew()
    assert Graph.version == version + 1 and len(Graph.node_list) == 0
    with pytest.raises(StaleNodeError, match=f"version {version}"):
        _ = x.value


def test_revert_cuts_back_to_the_checkpoint_and_keeps_values():
    x = Variable(3.0)
    y = x * x
    Graph.forward()
    Graph.checkpoint()
    before = snapshot()
    z = y.sin()
    Graph.forward()
    Graph.revert()
    assert y.value == 9.0 and len(Graph.node_list) == 2
    assert {**snapshot(), "stamps": before["stamps"]} == before
    with pytest.raises(StaleNodeError, match=r"revert\(\)"):
        _ = z.value


def test_revert_undoes_edges_drawn_by_hand():
    y = Graph.sum([Variable(1.0), Variable(2.0)])
    x = Variable(5.0)
    Graph.checkpoint()
    x.build_edge(y)
    Graph.revert()
    Graph.forward()
    assert y.value == 3.0 and y.in_deg == 2


def test_running_a_cell_again_adds_its_rows_and_changes_no_held_value():
    x = Variable(3.0)

    def cell():
        y = x * x + 1.0
        Graph.forward(y)
        return y

    first = cell()
    rows = len(Graph.node_list)
    second = cell()
    assert len(Graph.node_list) - rows == rows - 1 and first.value == second.value == 10.0 and x.value == 3.0


# --- building by name ---


def test_frames_apply_operators_by_name():
    a, b = Variable(5.0), Variable(3.0)
    built = [
        Graph.unary_function_frame(a, "sin"),
        Graph.binary_function_frame(a, b, "sub"),
        Graph.commutable_binary_function_frame(a, b, "add"),
        Graph.pow(a, b),
        Graph.prod([a, b, 2]),
        Graph.sum([a]),
    ]
    Graph.forward()
    assert [node.value for node in built] == [math.sin(5.0), 2.0, 8.0, 125.0, 30.0, 5.0]
    assert Graph.add_node(a) is a


def test_frames_refuse_what_does_not_fit():
    x = Variable(1.0)
    with pytest.raises(OperatorNameError, match="Did you mean 'sin'"):
        Graph.unary_function_frame(x, "sine")
    with pytest.raises(ArityError, match="takes 2 operands"):
        Graph.unary_function_frame(x, "sub")
    with pytest.raises(OperatorNameError, match="does not gather"):
        Graph.commutable_binary_function_frame(x, x, "sub")


def test_a_sum_of_nothing_is_zero_and_a_product_of_nothing_one():
    assert (Graph.sum([]).value, Graph.prod([]).value) == (0.0, 1.0)


def test_every_operator_is_a_function_of_numbers_and_nodes_and_a_method_of_graph():
    for rule in vars(ng.core.catalogue).values():
        if not isinstance(rule, ng.core.rules.Rule) or rule.helper:
            continue
        name = rule.name
        operands = [0.5] * (rule.arity or 3)
        node = getattr(Graph, name)(*[Variable(operand) for operand in operands])
        Graph.on_invalid = "ignore"
        Graph.forward(node)
        assert repr(node.value) == repr(getattr(ng, name)(*operands))
        if rule.arity == 1:
            assert getattr(Variable(0.5), name)().operator == name


def test_an_unknown_engine_is_refused():
    with pytest.raises(EngineError, match="'reference'"):
        Graph.forward(engine="steam")


def test_scopes_nest_and_mark_the_nodes_made_inside():
    x = Variable(1.0)
    with scope("outer"):
        y = x * 2
        with scope("inner"):
            z = y * 2
        w = z * 2
    assert [node.scope and node.scope.path for node in (x, y, z, w, Variable(1.0))] == [
        None, "outer", "outer/inner", "outer", None,
    ]  # fmt: skip


def test_a_scope_survives_a_revert_inside_it():
    Graph.checkpoint()
    with scope("outer"):
        Variable(1.0)
        Graph.revert()
        assert Variable(1.0).scope.path == "outer"
    assert Variable(1.0).scope is None


def test_the_graph_prints_its_size():
    _ = Variable(1.0) * 2
    assert repr(Graph) == "<Graph of 3 nodes and 2 edges>"


def test_a_reflected_operator_keeps_its_order_whatever_stands_on_its_left():
    x, y = Variable(3.0), Variable(5.0)
    nodes = [5.0 - x, 5 - x, x.__rsub__(y)]
    Graph.forward()
    assert [node.value for node in nodes] == [2.0, 2.0, 2.0]


def test_a_learners_own_operator_of_nodes_is_always_called(monkeypatch):
    x, asked = Variable(2.0), []
    plain = type(x).__mro__[1].__add__
    monkeypatch.setattr(type(x).__mro__[1], "__add__", lambda self, other: asked.append(other) or plain(self, other))
    for _ in range(3):
        (x + x) + 1.0
    assert asked == [x, 1.0] * 3


def test_an_operators_method_takes_a_name_as_its_function_does():
    x = Variable(1.0)
    assert (x.sin(name="s").name, x.add(2.0, name="sum").name, x.atan2(x, name="angle").name) == ("s", "sum", "angle")
    assert (x.arcsin(name="a").name, x.exp2(name="e").name) == ("a", "e")


def test_a_node_that_is_built_while_a_derivative_is_written_keeps_its_row_and_is_cut_with_it():
    built = []

    def slope(a, result):
        built.append(Variable(5.0))
        return 3.0 * a

    scaled = ng.operator("building_example", lambda a: 1.5 * a * a, [slope])
    try:
        x = Variable(1.0)
        y = scaled(x)
        Graph.checkpoint()
        ng.gradients(y.sin(), x)
        (node,) = built
        assert node is Graph.node_list[node.row] and node.value == 5.0
        Graph.revert()
        with pytest.raises(StaleNodeError, match=r"cut back by revert\(\)"):
            _ = node.value
    finally:
        ng.operators().forget("building_example")
