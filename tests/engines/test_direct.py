"""The direct engine has the reference engine's numbers, on every graph, with nothing planned for it."""

import math

import pytest
from graphs import any_graph, build, snapshot, tame
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, Operator, Variable
from naive_graph.core import plan as planning
from naive_graph.core.rules import RULES
from naive_graph.core.tables import Tables
from naive_graph.engines.direct import engine as direct
from naive_graph.graph.node_factory import CURRENT

# The same examples each time: in chains of library functions two units become more (three behind atan2 and logsumexp).
LAW = settings(max_examples=12, deadline=None, derandomize=True)
EXACT = {
    "add", "sub", "mul", "div", "neg", "sqrt", "greater", "less", "greater_equal", "less_equal", "equal", "not_equal",
    "where", "maximum", "minimum", "relu", "abs",
}  # fmt: skip
pytestmark = pytest.mark.filterwarnings("ignore:The graph has", "ignore::naive_graph.errors.NumericWarning")


def numbers(nodes, engine, target=None, accumulate=False):
    """All values and gradients after a run of that engine."""
    Graph.forward(*[] if target is None else [target], engine=engine)
    Graph.backward(target, accumulate=accumulate, engine=engine)
    return [(node.value, node.grad) for node in nodes]


def alike(ours, theirs, units=2):
    if ours is None or theirs is None or math.isnan(ours) or math.isnan(theirs):
        return ours is theirs is None or (math.isnan(ours) and math.isnan(theirs))
    return ours == theirs or abs(ours - theirs) <= units * math.ulp(max(abs(ours), abs(theirs)))


def exact(nodes):
    return all(node.operator in EXACT for node in nodes if isinstance(node, Operator))


def check_alike(nodes, **how):
    theirs = numbers(nodes, "reference", **how)
    ours = numbers(nodes, "direct", **how)
    if exact(nodes):
        assert repr(ours) == repr(theirs)
    else:  # one C library serves both, so what they call has the same bits
        assert all(alike(*pair) for one, other in zip(ours, theirs) for pair in zip(one, other))


@LAW
@given(any_graph())
def test_the_compiled_writer_of_rows_and_the_plain_one_write_the_same_columns(recipe):
    direct.shared_kernel()
    written = []
    for writer in (Tables.write_quickly, None):
        with pytest.MonkeyPatch.context() as patch, Graph.scratch():
            patch.setattr(Tables, "write_quickly", writer)
            x, y = build(recipe)[0], Variable(2.0)
            CURRENT.tables.flush()  # what follows has two operands at most, as the compiled writer takes
            assert ((2.0 * x + y + 1.0) * (1 - y) - -x).abs().value is None
            written.append(snapshot() | {"current": None})
    assert written[0] == written[1]


@LAW
@given(any_graph())
def test_a_whole_graph_has_the_reference_engines_numbers(recipe):
    with Graph.scratch():
        build(recipe)
        check_alike(list(Graph.node_list))


@LAW
@given(any_graph(), st.data())
def test_a_target_has_the_reference_engines_numbers(recipe, data):
    with Graph.scratch():
        build(recipe)
        nodes = list(Graph.node_list)
        target = data.draw(st.sampled_from([node for node in nodes if not isinstance(node, Constant)]))
        if isinstance(target, Operator):
            check_alike(nodes, target=target)


@LAW
@given(any_graph(), st.data())
def test_what_forward_sorted_serves_the_backward_of_any_node(recipe, data):
    with Graph.scratch():
        build(recipe)
        target = data.draw(st.sampled_from([node for node in Graph.node_list if isinstance(node, Operator)]))
        Graph.forward(engine="direct")
        found = []
        for engine in ("reference", "direct"):
            Graph.backward(target, engine=engine)
            found.append([node.grad for node in Graph.node_list])
        assert all(map(alike, *found))


@LAW
@given(tame())
def test_gradients_accumulate_in_leaves(recipe):
    with Graph.scratch():
        build(recipe)
        nodes = list(Graph.node_list)
        numbers(nodes, "reference")
        check_alike(nodes, accumulate=False)
        first = [node.grad for node in nodes]
        numbers(nodes, "direct", accumulate=True)
        again = [node.grad for node in nodes]
        for node, one, two in zip(nodes, first, again):
            assert two == (one if one is None or isinstance(node, Operator) else one + one)


@LAW
@given(any_graph(), st.data())
def test_edges_drawn_by_hand_count_in_the_order_they_were_drawn(recipe, data):
    with Graph.scratch():
        nodes = build(recipe)
        gathering = [Operator(data.draw(st.sampled_from(["add", "mul", "logsumexp"]))) for _ in range(2)]
        for place, operator in enumerate(gathering):
            for source in data.draw(st.lists(st.sampled_from(nodes + gathering[:place]), min_size=1, max_size=4)):
                source.build_edge(operator)
        check_alike(list(Graph.node_list))


def test_a_sum_of_thousands_is_a_loop():
    leaves = [Variable(1.0 / (place + 1)) for place in range(20_000)]
    for gathered in (Graph.sum, Graph.prod):
        y = gathered(leaves)
        check_alike([y, leaves[0], leaves[-1]], target=y)
    y = ng.logsumexp(leaves)  # where each partial of the reference engine's is a sum of its own
    Graph.forward(y, engine="direct")
    Graph.backward(y, engine="direct")
    assert alike(y.value, ng.logsumexp(*[leaf.value for leaf in leaves])) and leaves[0].grad > leaves[-1].grad > 0.0


@pytest.mark.parametrize("operators", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_long_chain_is_swept_both_ways(operators):
    x = y = Variable(1.0)
    for _ in range(operators // 2):
        y = y * 1.0
        y = -y
    Graph.forward(engine="direct")
    Graph.backward(y, engine="direct")
    assert (y.value, x.grad) == (1.0, 1.0)


def test_an_operator_of_ones_own_is_compiled_alone_and_once(monkeypatch):
    learned, learn = [], direct.Table.learn
    monkeypatch.setattr(direct.Table, "learn", lambda self, number: (learned.append(number), learn(self, number)))
    name = "direct_cube"
    cube = RULES.get(name) or ng.operator(name, lambda a: a * a * a, [lambda a, y: 3.0 * a * a])
    for value in (2.0, 3.0):
        with Graph.scratch():
            x = Variable(value)
            y = cube(x)
            Graph.forward(engine="direct")
            Graph.backward(y, engine="direct")
            assert (y.value, x.grad) == (value**3, 3.0 * value**2)
    assert learned.count(cube.number) <= 1


def test_nothing_is_planned(monkeypatch):
    monkeypatch.setattr(planning, "Plan", None)
    x = Variable(2.0)
    y = x * x + 1.0
    Graph.forward(engine="direct")
    Graph.backward(y, engine="direct")
    assert (y.value, x.grad) == (5.0, 4.0)
