"""naive.py: the document's code runs on it, its numbers are right, and a mistake leaves no trace."""

import inspect
import math
import random
import sys
from functools import reduce
from math import prod
from operator import add

import pytest

from naive_graph import naive

Graph, Node, Constant, Variable = naive.Graph, naive.Node, naive.Constant, naive.Variable
PlaceHolder, Operator, naive_Graph = naive.PlaceHolder, naive.Operator, naive.naive_Graph
TABLE, DERIVATIVES = naive.operator_calculate_table, naive.operator_derivative_table


@pytest.fixture(autouse=True)
def own_graph():
    tables = dict(TABLE), dict(DERIVATIVES)
    Graph.clear()
    yield
    Graph.clear()
    for table, kept in zip((TABLE, DERIVATIVES), tables):
        table.clear()
        table.update(kept)


def grads(y, *leaves):
    Graph.forward()
    Graph.backward(y)
    return [leaf.grad for leaf in leaves]


def snapshot():
    """All that a graph consists of."""
    return [
        (node, node.value, getattr(node, "grad", None), [*node.last], [*node.next], node.in_deg, node.out_deg,
         node.in_deg_com, node.out_deg_com)
        for node in Graph.node_list
    ], [*Graph.merges]  # fmt: skip


# --- the document's code ---


class OwnConstant(naive_Graph.Node):
    def __init__(self, value):
        super().__init__()
        self.value = float(value)

    def get_value(self):
        return self.value

    def __repr__(self):
        return str(self.value)


class OwnVariable(OwnConstant):
    def __init__(self, value):
        super().__init__(value)
        self.grad = 0.0


class OwnPlaceHolder(naive_Graph.Node):
    def __init__(self):
        super().__init__()
        self.value = None
        self.grad = 0.0

    def get_value(self):
        return self.value


OWN_TABLE = {
    "add": lambda node: sum([last.get_value() for last in node.last]),
    "mul": lambda node: prod([last.get_value() for last in node.last]),
    "div": lambda node: node.last[0].get_value() / node.last[1].get_value(),
    "log": lambda node: math.log(node.last[0].get_value()),
}


class OwnOperator(OwnVariable):
    def __init__(self, operator: str):
        super().__init__(0)
        self.operator = operator
        self.calculate = OWN_TABLE[operator]

    def __repr__(self) -> str:
        return self.operator


def own_binary_frame(node1, node2, operator, merges=False):
    node1, node2 = (each if isinstance(each, naive_Graph.Node) else OwnConstant(each) for each in (node1, node2))
    if merges and isinstance(node1, OwnOperator) and node1.operator == operator:
        node2.build_edge(node1)
        return node1
    result = OwnOperator(operator)
    node1.build_edge(result)
    node2.build_edge(result)
    return result


class OwnSweeps(naive_Graph):
    """Both sweeps as the document has them: degrees are counted down, and restored at the end."""

    @classmethod
    def forward(cls):
        node_queue = [node for node in cls.node_list if node.in_deg == 0]
        while len(node_queue) > 0:
            node = node_queue.pop()
            for next_node in node.next:
                next_node.in_deg -= 1
                next_node.in_deg_com += 1
                if next_node.in_deg == 0:
                    next_node.value = next_node.calculate(next_node)
                    node_queue.insert(0, next_node)
        for node in cls.node_list:
            node.in_deg += node.in_deg_com
            node.in_deg_com = 0

    @classmethod
    def backward(cls, y):
        assert type(y) != cls.Constant  # noqa: E721 - as it is in the document
        node_queue = []
        for node in cls.node_list:
            if node.out_deg == 0 and not isinstance(node, cls.Constant):
                node.grad = 1.0 if node == y else 0.0
                node_queue.append(node)
        while len(node_queue) > 0:
            node = node_queue.pop()
            for last_node in node.last:
                last_node.out_deg -= 1
                last_node.out_deg_com += 1
                if last_node.out_deg == 0 and not isinstance(last_node, cls.Constant):
                    for n in last_node.next:
                        last_node.grad += n.grad * cls.__deriv(n, last_node)
                    node_queue.insert(0, last_node)
        for node in cls.node_list:
            node.out_deg += node.out_deg_com
            node.out_deg_com = 0

    @classmethod
    def __deriv(cls, child, parent):
        """By the parent, not by its position: right as long as a parent has only one."""
        position = 0 if child.last[0] == parent else 1
        return naive.find_partials(child)[position]


def test_the_nodes_of_the_document_are_nodes():
    x, y, p = OwnConstant(1), OwnVariable(2), OwnPlaceHolder()
    add, mul = OwnOperator("add"), OwnOperator("mul")
    x.build_edge(add)
    y.build_edge(add)
    add.build_edge(mul)
    p.build_edge(mul)
    assert (str(x), str(add), add.value, p.get_value()) == ("1.0", "add", 0.0, None)
    p.value = 5.0
    Graph.forward()
    assert (add.value, mul.value) == (3.0, 15.0)
    Graph.backward(mul)
    assert (y.grad, p.grad, hasattr(x, "grad")) == (5.0, 3.0, False)


def test_own_frames_on_own_nodes_can_be_computed_and_differentiated():
    x, y = OwnVariable(6), OwnVariable(3)
    f = own_binary_frame(own_binary_frame(x, y, "div"), 4, "mul")
    s = own_binary_frame(own_binary_frame(x, y, "add", merges=True), f, "add", merges=True)
    assert s.in_deg == 3
    assert grads(s, x, y) == [1 + 4 / 3, 1 - 4 * 6 / 9]


def test_own_nodes_go_into_expressions():
    x = OwnVariable(3)
    assert grads(2 * x * x, x) == [12.0]


def test_nodes_of_the_file_under_the_names_of_the_document():
    x, y, add = Constant(1), Variable(2), Operator("add")
    x.build_edge(add)
    y.build_edge(add)
    assert add.value is None  # static: nothing is computed yet
    assert naive_Graph.add(x, y) is Graph.node_list[-1] and Variable().value is None
    Graph.forward()
    assert (add.value, add.calculate(add), add.get_value(), add.operator) == (3.0, 3.0, 3.0, "add")
    assert isinstance(add, Variable) and naive_Graph.Node() in Graph.node_list


def test_the_sweeps_of_the_document_run_and_agree():
    x, y = Graph.Variable(2.0), Graph.Variable(3.0)
    f = (x * y + x.sin() / y - (y - 7) ** 2).cos() + 10
    before = snapshot()
    Graph.forward()
    ours = [node.value for node in Graph.node_list]
    Graph.backward(f)
    our_grads = [x.grad, y.grad]
    for node in Graph.node_list:
        node.value = 0.0 if node.last else node.value
    Graph.kill_grad()
    OwnSweeps.forward()
    assert [node.value for node in Graph.node_list] == ours
    OwnSweeps.backward(f)
    assert [x.grad, y.grad] == pytest.approx(our_grads, rel=1e-15)
    assert [row[5:] for row in snapshot()[0]] == [row[5:] for row in before[0]]


def test_an_operator_is_added_as_in_the_document():
    TABLE["cube"] = lambda node: node.last[0].get_value() ** 3
    x, cube = Variable(2), Operator("cube")
    x.build_edge(cube)
    y = Graph.unary_function_frame(x, "cube")
    Graph.forward()
    assert cube.value == y.value == 8.0
    with pytest.raises(ValueError, match=r"cube 'node 1' has no derivative. Add it to operator_derivative_table"):
        Graph.backward(cube)
    DERIVATIVES["cube"] = lambda y, a: [3 * a**2]
    assert grads(cube, x) == [12.0]


def test_instances_share_one_list():
    graph1, graph2 = naive_Graph(), naive_Graph()
    graph1.node_list.append(1)
    assert graph2.node_list == naive_Graph.node_list == Graph.node_list == [1]
    naive_Graph.clear()
    assert graph1.node_list == []


def near(golden):
    """Within one unit of the last printed digit."""
    text = repr(golden)
    return pytest.approx(golden, rel=0, abs=10.0 ** -len(text.partition(".")[2]))


def test_first_minimisation():
    x = Graph.Variable(6)
    f = ((x - 7) ** 2 + 10).log()
    history = []
    for _ in range(2000):
        Graph.forward()
        Graph.backward(f)
        x.value = x.value - x.grad * 0.01
        Graph.kill_grad()
        history.append(f.value)
    assert x.value == near(6.98081982640379)
    golden = {0: 2.39789527279837, 1: 2.39756494025811, 10: 2.39463594939414, 100: 2.36941453705804,
              999: 2.30460373270384, 1999: 2.30262202780666}  # fmt: skip
    assert {i: history[i] for i in golden} == {i: near(f) for i, f in golden.items()}
    assert len(Graph.node_list) == 8  # and did not grow


def test_second_minimisation():
    x, y = Graph.Variable(6), Graph.Variable(6)
    f = 0.5 * x**2 + x * y + 0.5 * y**2 - 2 * x - 2 * y
    history = []
    for _ in range(1000):
        Graph.forward()
        Graph.backward(f)
        x.value = x.value - x.grad * 0.01
        y.value = y.value - y.grad * 0.01
        Graph.kill_grad()
        history.append(f.value)
    assert x.value == y.value == near(1.00000000841484)
    golden = {0: 48.0, 1: 46.02, 10: 31.3803985877547, 100: -1.12060266971392, 999: -2.0}
    assert {i: history[i] for i in golden} == {i: pytest.approx(f, abs=1e-13) for i, f in golden.items()}


# --- its defects do not recur ---


@pytest.mark.parametrize(
    "formula, at, value, slope",
    [
        (lambda x: x * x, 3.0, 9.0, 6.0),
        (lambda x: x - x, 3.0, 0.0, 0.0),
        (lambda x: x / x, 3.0, 1.0, 0.0),
        (lambda x: x**x, 3.0, 27.0, 27 * (1 + math.log(3))),
        (lambda x: x + x, 3.0, 6.0, 2.0),
        (lambda x: (x + 1) + (x + 1), 3.0, 8.0, 2.0),
        (lambda x: x * x * x, 3.0, 27.0, 27.0),
        (lambda x: x * 0 * x, 3.0, 0.0, 0.0),
        (lambda x: x / 2, 3.0, 1.5, 0.5),
        (lambda x: x.exp(), 0.0, 1.0, 1.0),
        (lambda x: Graph.exp(x), 0.0, 1.0, 1.0),
        (lambda x: 2 + x, 4.0, 6.0, 1.0),
        (lambda x: 2 - x, 4.0, -2.0, -1.0),
        (lambda x: 2 * x, 4.0, 8.0, 2.0),
        (lambda x: 2 / x, 4.0, 0.5, -0.125),
        (lambda x: 2**x, 4.0, 16.0, 16 * math.log(2)),
        (lambda x: -x, 4.0, -4.0, -1.0),
        (lambda x: sum([x, x, x]), 4.0, 12.0, 3.0),
        (lambda x: (x - 7) ** 2, 6.0, 1.0, -2.0),  # of a negative number
        (lambda x: x**0, 0.0, 1.0, 0.0),
    ],
)
def test_slopes_that_were_wrong(formula, at, value, slope):
    x = Variable(at)
    y = formula(x)
    assert grads(y, x) == [pytest.approx(slope, rel=1e-15)] and y.value == value


def test_exponents_vary():
    x, n = Variable(-2), Variable(2)
    assert grads(x**n, x)[0] == -4.0 and math.isnan(n.grad)
    x.value = 0.0
    assert grads(x**n, x, n) == [0.0, 0.0]


def test_a_product_has_a_derivative_for_each_position():
    a, b, c = Variable(2), Variable(3), Variable(5)
    y = a * b * c
    assert y.in_deg == 3 and grads(y, a, b, c) == [15.0, 10.0, 6.0]
    a.value = 0.0
    assert grads(y, a, b, c) == [15.0, 0.0, 0.0]


def test_backward_begins_anew_each_time():
    x = Variable(3)
    f = (x * x).sin().cos()
    assert grads(f, x) == grads(f, x)


def test_backward_from_an_inner_node():
    x, unused = Variable(3), Variable(1)
    y = x * x
    z = y.sin()
    assert grads(y, x, y, z, unused) == [6.0, 1.0, 0.0, 0.0]


def test_backward_of_the_whole_graph_is_of_the_sum_of_its_results():
    x, unused = Variable(3), Variable(1)
    partial = x + 1
    first, second = partial + 1, 2 * x  # partial is no result: first took it over
    Graph.forward()
    Graph.backward()
    assert (x.grad, unused.grad, first.grad, second.grad, partial.grad) == (3.0, 0.0, 1.0, 1.0, 1.0)


def test_constants_keep_no_gradient():
    c = Constant(2)
    y = c * Variable(3)
    Graph.forward()
    Graph.backward(y)
    Graph.kill_grad()
    assert not hasattr(c, "grad") and y.grad == 0.0


# --- merging ---


def test_merging_makes_one_node():
    a, b, c = Variable(1), Variable(2), Variable(4)
    assert (a + b + c).last == [a, b, c] and (a * b * c).in_deg == 3 and (a - b - c).in_deg == 2


def test_merging_changes_nothing_that_somebody_holds():
    a, b, c = Variable(1), Variable(2), Variable(4)
    y = a + b
    w = y * 10
    before = y.last[:], y.next[:], y.in_deg, y.out_deg
    z = y + c
    assert (y.last, y.next, y.in_deg, y.out_deg) == before
    Graph.forward()
    assert (y.value, w.value, z.value) == (3.0, 30.0, 7.0)
    assert grads(w, a, c) == [10.0, 0.0] and grads(z, a, c) == [1.0, 1.0]


def test_a_node_that_was_merged_has_the_gradient_that_it_would_have_had():
    a, b, c, d = Variable(2), Variable(3), Variable(5), Variable(7)
    total, product = a + b, a * b
    longer, longest = product * c, product * c * d
    assert grads(total + c, total, a) == [1.0, 1.0]
    assert grads(longest, product, longer, a) == [35.0, 0.0, 105.0]
    assert grads(longer.sin(), product, a) == [5 * math.cos(30), 15 * math.cos(30)]
    assert grads(product * product + total * 4, product, total, a) == [12.0, 4.0, 40.0]


def test_a_learners_own_commutable_operator_merges_too():
    naive.define_operator("norm", math.hypot, lambda y, *xs: [x / y for x in xs])
    frame = Graph.commutable_binary_function_frame
    a, b, c = Variable(2), Variable(3), Variable(6)
    y = frame(a, b, "norm")
    z = frame(y, c, "norm")
    assert z.in_deg == 3 and grads(z, y, a) == [pytest.approx(math.sqrt(13) / 7), 2 / 7] and z.value == 7.0


def test_long_sums_and_products_are_merged_in_pieces():
    xs = [Variable(1 + i / 1000) for i in range(1000)]
    total = product = Variable(1)
    for x in xs:
        total, product = total + x, product * x
    assert total.in_deg <= 32 and len(Graph.node_list) == 3001
    assert grads(total, *xs) == [1.0] * 1000
    assert total.value == reduce(add, [x.value for x in xs], 1.0)
    Graph.backward(product)
    assert [x.grad for x in xs] == [pytest.approx(product.value / x.value) for x in xs]


# --- a call that fails leaves everything as it was, and says why ---


@pytest.mark.parametrize(
    "build, error, says",
    [
        (lambda x: x + "a", TypeError, "'a' is neither a number nor a node"),
        (lambda x: "a" - x, TypeError, "'a' is neither"),
        (lambda x: Graph.add(1, "a"), TypeError, "'a' is neither"),
        (lambda x: Graph.add(1, 10**400), OverflowError, "too large"),
        (lambda x: Graph.unary_function_frame(2.0, "tahn"), ValueError, "There is no operator 'tahn', only add, sub"),
        (lambda x: Constant("2"), TypeError, "'2' is neither"),
        (lambda x: Variable([1]), TypeError, "is neither"),
        (lambda x: Operator("tahn"), ValueError, "There is no operator"),
        (lambda x: x + 1j, TypeError, "is neither"),
        (lambda x: Graph.backward(Graph.node_list[1]), TypeError, "7.0 has no gradient: it is a Constant"),
        (lambda x: Graph.backward(3), TypeError, "3 has no gradient"),
    ],
)
def test_a_mistake_is_told_and_leaves_no_trace(build, error, says):
    x = Variable(6)
    y = x - 7
    grads(y, x)
    before = snapshot()
    with pytest.raises(error, match=says):
        build(x)
    assert snapshot() == before


def test_backward_before_forward_is_told():
    x = Variable(6)
    y = x.sin()
    for call in (lambda: Graph.backward(y), Graph.backward):
        with pytest.raises(ValueError, match=r"sin 'node 1' has no value yet. Call Graph.forward\(\) before"):
            call()


def test_a_failing_forward_leaves_values_and_counters_as_they_were():
    x = Variable(math.e, name="x")
    square = x * x  # which is computed before anything fails
    y = x.log()
    z = square + y
    grads(z, x)
    x.value = -1.0
    before = snapshot()
    with pytest.raises(ValueError, match="math domain error") as failure:
        Graph.forward()
    assert failure.value.__notes__ == ["This happened at log 'node 2' of [-1.0]."]
    assert snapshot() == before
    x.value = math.e
    Graph.forward()
    assert (y.value, z.value) == (1.0, math.e * math.e + 1.0)


def test_a_failing_backward_leaves_gradients_as_they_were():
    x = Variable(4.0)
    y = x**0.5
    f = y + x
    assert grads(f, x) == [1.25]
    x.value = 0.0
    Graph.forward()
    before = snapshot()
    with pytest.raises(ValueError, match="math domain error") as failure:
        Graph.backward(f)
    assert failure.value.__notes__ == ["This happened at pow 'node 2' of [0.0, 0.5]."]
    assert snapshot() == before


def test_a_placeholder_without_a_value_is_named():
    p = PlaceHolder(name="p")
    y = 2 * p
    with pytest.raises(ValueError, match="PlaceHolder 'p' has no value"):
        Graph.forward()
    assert y.value is None
    p.value = 4
    assert grads(y, p) == [2.0] and y.value == 8.0
    unused = PlaceHolder()
    Graph.forward()
    assert unused.value is None


def test_a_cycle_is_named():
    start = Variable(1.0)
    a, b, c = Operator("add"), Operator("sin"), Operator("exp")
    start.build_edge(a)
    a.build_edge(b)
    b.build_edge(c)
    c.build_edge(a)
    c + 1
    before = snapshot()
    cycle = "add 'node 1' -> sin 'node 2' -> exp 'node 3' -> add 'node 1'"
    with pytest.raises(ValueError, match=f"form a cycle, so nobody can go first: {cycle}"):
        Graph.forward()
    assert snapshot() == before


def test_nodes_of_a_cleared_graph_are_told():
    x = Variable(2.0, name="x")
    x * 2
    Graph.clear()
    with pytest.raises(TypeError, match=r"2.0 has no gradient: it is a Constant, or no node of this graph"):
        Graph.backward(x)
    y = x + 1
    with pytest.raises(ValueError, match=r"Variable 'x' is used, but it is not in the graph any more."):
        Graph.forward()
    Graph.add_node(x)  # or take it along
    assert grads(y, x) == [1.0] and y.value == 3.0


def test_a_missing_edge_is_told():
    x, sub = Variable(2.0), Operator("sub")
    x.build_edge(sub)
    with pytest.raises(TypeError) as failure:
        Graph.forward()
    assert failure.value.__notes__ == ["This happened at sub 'node 1' of [2.0]."]


# --- order and size ---


def test_the_standard_library_is_enough():
    lines = inspect.getsource(naive).splitlines()
    imported = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
    assert imported and imported <= sys.stdlib_module_names


def test_first_in_first_out():
    a, b = Variable(1), Variable(2)
    second = Operator("add")
    first = a.sin()
    third = b.cos()
    for node in (first, third):
        node.build_edge(second)
    assert Graph.topological_order() == (a, b, first, third, second)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.sin(),
        lambda x: x.build_edge(Graph.node_list[1]),
        lambda x: Graph.clear() or Variable(1),
        lambda x: Graph.node_list.pop(),
        lambda x: Node(),
    ],
)
def test_the_order_is_kept_until_the_graph_changes(change):
    x = Variable(2)
    Operator("add", x).build_edge(Operator("add"))
    order = Graph.topological_order()
    Graph.forward()
    x.value = 3.0
    Graph.backward()
    assert Graph.topological_order() is order
    change(x)
    assert Graph.topological_order() is not order and set(Graph.topological_order()) == set(Graph.node_list)


def test_a_hundred_thousand_nodes_deep():
    x = Variable(0.5)
    y = x
    for _ in range(100_000):
        y = -y
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 40)
    try:
        assert grads(y, x) == [1.0] and y.value == 0.5
        y.build_edge(Graph.node_list[1])
        with pytest.raises(ValueError, match="cycle"):
            Graph.forward()
    finally:
        sys.setrecursionlimit(limit)


# --- the same as others compute ---

EXACT = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: -a]
LIBRARY = [
    lambda a, b: a.sin(),
    lambda a, b: a.cos(),
    lambda a, b: a.sin().exp(),
    lambda a, b: (a * a + 0.5).log(),
    lambda a, b: (b * b + 0.5) ** a.cos(),
    lambda a, b: (a - b) ** 2,
    lambda a, b: (a * a + 1.0) ** -1.5,
]


def random_program(graph, seed, steps, operators=40):
    """Leaves, and all nodes made of them by the same random choices in any graph."""
    choose = random.Random(seed)
    leaves = [graph.Variable(choose.uniform(0.5, 2.0) * choose.choice([-1, 1])) for _ in range(4)]
    nodes = [*leaves]
    for _ in range(operators):
        a, b = choose.choice(nodes[-8:]), choose.choice(nodes)
        if choose.random() < 0.2:
            b = choose.uniform(0.5, 2.0)
        if choose.random() < 0.5:  # long sums and products
            a = nodes[-1]
        step = choose.choice(steps)
        nodes.append(step(a, b) if not isinstance(b, float) or step in EXACT else step(a, nodes[0]))
    return leaves, nodes


def test_random_programs_agree_with_the_package_bit_for_bit():
    Reference = pytest.importorskip("naive_graph").Graph
    finite = 0
    with Reference.scratch():
        for seed in range(100):
            Reference.clear()
            Graph.clear()
            (_, nodes), (_, theirs) = random_program(Graph, seed, EXACT), random_program(Reference, seed, EXACT)
            try:
                Graph.forward()
            except ZeroDivisionError:  # there it is infinity
                continue
            Reference.forward(engine="reference")
            assert [node.value for node in nodes] == [node.value for node in theirs]
            for y, its in zip(nodes[-5:], theirs[-5:]):
                Graph.backward(y)
                Reference.backward(its, engine="reference")
                assert [node.grad for node in nodes] == [node.grad for node in theirs]
            finite += 1
    assert finite > 75


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_with_functions_agree_with_the_package(seed):
    Reference = pytest.importorskip("naive_graph").Graph
    leaves, nodes = random_program(Graph, seed, [*EXACT[:3], *LIBRARY], 15)
    with Reference.scratch():
        their_leaves, theirs = random_program(Reference, seed, [*EXACT[:3], *LIBRARY], 15)
        Reference.forward(engine="reference")
        Reference.backward(theirs[-1], engine="reference")
        assert grads(nodes[-1], *leaves) == pytest.approx([leaf.grad for leaf in their_leaves], rel=1e-9)
        assert [node.value for node in nodes] == pytest.approx([node.value for node in theirs], rel=1e-9)


def ulps(a, b):
    return abs(a - b) / math.ulp(b) if a != b else 0.0


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "pow"])
def test_functions_and_their_slopes_are_those_of_the_package_within_two_ulps(name):
    package = pytest.importorskip("naive_graph")
    choose = random.Random(name)
    for _ in range(300):
        Graph.clear()
        numbers = [choose.uniform(0.1, 5.0), choose.uniform(0.5, 4.0)][: 2 if name == "pow" else 1]
        operands = [Variable(number) for number in numbers]
        y = getattr(Graph, name)(*operands)
        slopes = grads(y, *operands)
        rule = getattr(package, name)
        assert ulps(y.value, rule(*numbers)) <= 2
        known = rule.partials_at(numbers, rule(*numbers), [True] * len(numbers))
        assert max(map(ulps, slopes, known)) <= 2


def test_nodes_of_the_two_graphs_do_not_mix_in_silence():
    Reference = pytest.importorskip("naive_graph").Graph
    with Reference.scratch():
        with pytest.raises(TypeError):
            Variable(1) + Reference.Variable(2)
        with pytest.raises(TypeError):
            Reference.Variable(2) + Variable(1)
    assert len(Graph.node_list) == 2
