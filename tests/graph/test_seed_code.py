"""Code written for the note's static graph runs as it is printed there."""

from inspect import signature

import pytest

import naive_graph as ng
from naive_graph import Constant, Graph, Variable, naive_Graph
from naive_graph.core.compositions import COMPOSITIONS
from naive_graph.errors import NodeError, NumberError, PlaceHolderError, TrainingError


def test_an_instance_of_the_graph_is_the_graph():
    x = Variable(2.0)
    y = naive_Graph().add(x, 1.0)
    naive_Graph().forward()
    assert list(naive_Graph().node_list) == [x, *y.last[1:], y] and y.value == 3.0


@pytest.mark.parametrize("where", [ng, Graph, naive_Graph()], ids=["the package", "Graph", "an instance"])
def test_frames_take_numbers_and_give_nodes(where):
    built = [
        where.unary_function_frame(0.0, "cos"),
        where.binary_function_frame(6, 3, "div"),
        where.commutable_binary_function_frame(1, 2, "add"),
    ]
    Graph.forward()
    assert [node.value for node in built] == [1.0, 2.0, 3.0]
    assert all(isinstance(leaf, Constant) for node in built for leaf in node.last)


def test_operators_of_the_graph_make_nodes_of_numbers_alone():
    built = [Graph.add(1, 2), Graph.sin(0.0), Graph.logsumexp([0.0, 0.0]), Graph.sum([1, 2]), *Graph.softmax([0, 0])]
    Graph.forward()
    assert [round(node.value, 6) for node in built] == [3.0, 0.0, 0.693147, 3.0, 0.5, 0.5]


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions_are_methods_of_the_graph(name):
    operands = signature(COMPOSITIONS[name]).parameters.values()
    numbers = [0.5 + place for place, each in enumerate(operands) if each.default is each.empty]
    by_nodes = getattr(Graph, name)(*[Variable(each) for each in numbers])
    by_numbers = getattr(Graph, name)(*numbers)
    Graph.forward()
    assert by_nodes.value == by_numbers.value == COMPOSITIONS[name](*numbers)


def test_the_table_of_calculations_knows_every_operator():
    x, y = Variable(3.0), Variable(4.0)
    assert Graph.operator_calculate_table["mul"](x * y) == 12.0
    assert set(Graph.operator_calculate_table) >= {"add", "sub", "mul", "div", "pow", "exp", "log", "sin", "cos"}
    with pytest.raises(KeyError):
        Graph.operator_calculate_table["nonsense"]


def test_an_operator_is_a_variable_that_cannot_be_set():
    y = Variable(1.0) + 1.0
    assert isinstance(y, Variable)
    with pytest.raises(NodeError, match="its value is computed"):
        y.value = 2.0
    with pytest.raises(TrainingError):
        ng.AdamTrainer([y])


def test_an_operator_calculates_itself_when_it_is_handed_to_itself():
    add = Variable(1.0) + 2.0
    assert add.calculate(add) == add.calculate() == 3.0


RUNS = {
    "forward": lambda x, y: Graph.forward(y),
    "tangent": lambda x, y: ng.tangent(y, {x: 1.0}),
    "a Program": lambda x, y: pytest.importorskip("llvmlite") and ng.Program(y, wrt=[x])(),
    "minimize": lambda x, y: pytest.importorskip("llvmlite") and ng.Program(y, wrt=[x]).minimize(0.1, 2),
    "step": lambda x, y: ng.step(y),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_variable_without_a_value_has_none_until_it_is_set(run):
    x = Variable(name="x")
    y = x * x
    assert x.value is None
    with pytest.raises(PlaceHolderError, match=r"Variable 'x' has no value. Set it: x.value = 1.0"):
        run(x, y)
    x.value = 3.0
    run(x, y)
    Graph.forward()
    assert y.value == x.value**2


def test_a_learners_own_class_of_nodes_has_a_value_and_a_gradient():
    class Probe(naive_Graph.Node):
        def __init__(self, value):
            super().__init__()
            self.value = value

    probe = Probe(3.0)
    y = probe * probe
    Graph.forward(y)
    Graph.backward(y)
    assert (probe.grad, y.last[0] is probe, probe.origin.filename) == (6.0, True, __file__)


def test_a_learners_own_class_of_nodes_may_begin_without_a_value():
    class Room(Graph.Node):
        def __init__(self):
            super().__init__()
            self.value = None

    room = Room()
    y = room * 2.0
    assert room.value is None
    with pytest.raises(PlaceHolderError):
        Graph.forward(y)
    room.value = 3.0
    Graph.forward(y)
    assert y.value == 6.0


def test_a_learners_own_class_of_operators_is_an_operator():
    class Own(Graph.Operator):
        def __init__(self, operator):
            super().__init__(operator)
            self.operator = operator

    x, total = Variable(3.0), Own("add")
    x.build_edge(total)
    x.build_edge(total)
    Graph.forward()
    Graph.backward(total)
    assert (total.value, x.grad, (total * 2.0).last[0] is total) == (6.0, 2.0, True)


class OwnVariable(Graph.Variable):
    pass


def set_value_to_none():
    OwnVariable(1.0).value = None


def count_down():
    (Variable(1.0) + 2.0).in_deg -= 1


def rename():
    (Variable(1.0) + 2.0).operator = "mul"


def add_to_the_table():
    Graph.operator_calculate_table["cube"] = lambda node: node.last[0].value ** 3


def draw_an_edge_to_an_own_variable():
    Variable(1.0).build_edge(OwnVariable(0.0))


@pytest.mark.parametrize(
    "write", [set_value_to_none, count_down, rename, add_to_the_table, draw_an_edge_to_an_own_variable]
)
def test_what_is_refused_here_and_works_in_the_first_file_names_it(write):
    with pytest.raises((TypeError, AttributeError), match=r"In naive_graph\.naive, .* this works as it stands"):
        write()


def test_working_counters_begin_with_the_degrees_and_belong_to_the_learner():
    x = Variable(1.0)
    y = x * x
    ready, order = [x], []
    while ready:
        node = ready.pop(0)
        order.append(node)
        for consumer in node.next:
            consumer.in_deg_com -= 1
            if consumer.in_deg_com == 0:
                ready.append(consumer)
    assert order == [x, y] and (y.in_deg, y.in_deg_com, x.out_deg_com) == (2, 0, 2)
    Graph.forward(y)
    assert y.value == 1.0


def test_an_array_without_axes_is_a_number():
    np = pytest.importorskip("numpy")
    x = Variable(np.array(2.0))
    x.value = np.array(3)
    y = x * np.array(2.0)
    Graph.forward(y)
    assert y.value == 6.0
    with pytest.raises(NumberError):
        Variable(np.array(True))
