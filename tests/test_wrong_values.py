"""Whatever a public callable is given, it answers, or says what is wrong in an error of ours."""

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import pytest

import naive_graph as ng
from naive_graph import Graph
from naive_graph.core.number import shortened
from naive_graph.errors import NaiveGraphError, NodeError

np = pytest.importorskip("numpy")
pytest.importorskip("llvmlite")


class Strange:
    """Has a length and a shape, and is neither a number nor a list."""

    shape = (2,)

    def __len__(self):
        return 2


def wrong_values():
    x = Graph.Variable(2.0, name="x")
    cut = Graph.Variable(1.0)
    return [
        None, True, False, 0, -1, 3, 2**2000, 10**5000, [10**5000], Fraction(1, 10**5000),
        0.5, math.nan, math.inf, -math.inf, 1j, Decimal("1e400"), Fraction(1, 3),
        "", "text", "x", "\0", b"bytes", bytearray(b"ab"), [], [1.0], [None], ["a", "b"], [[1.0], [2.0, 3.0]], (), (1,),
        {}, {"x": 1.0}, {1: 2}, set(), frozenset({1}), range(3), iter([1, 2]), (k for k in range(2)), object(),
        Strange(),
        len, lambda: None, lambda *a: a, int, Graph, ng, Ellipsis, NotImplemented, ValueError("x"), slice(1),
        np.array([]), np.ones((2, 2)), np.array(["a"]), np.array(1j), np.float32(2), np.ma.array([1.0], mask=[1]),
        x, x + 1.0, Graph.Constant(1.0), Graph.PlaceHolder(), [x], cut * 2.0,
    ]  # fmt: skip


ROOMS = [ng, ng.tensor, ng.training, ng.sequential, ng.views, ng.interop]
HANDED_OUT = {name: getattr(room, name) for room in reversed(ROOMS) for name in room.__all__}
NAMES = sorted(name for name, thing in HANDED_OUT.items() if callable(thing) and thing is not NaiveGraphError)


def complaints_about(call_of, name, counts):
    """What a callable raises that is not ours. call_of: makes it anew. counts: of operands, and which one is wrong."""
    complaints = []
    for count, place in counts:
        with Graph.scratch(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for wrong in wrong_values():
                call, right = call_of(), Graph.Variable(2.0)
                operands = [right * 3.0, right, 1.0][:count]
                operands[place] = wrong
                before = len(Graph.node_list)
                try:
                    call(*operands)
                except NaiveGraphError:
                    assert len(Graph.node_list) == before or name in ("clear", "renew"), (name, operands)
                except Exception as error:
                    told = f"{name}({', '.join(map(shortened, operands))}): {type(error).__name__}: {error}"
                    complaints.append(told[:300])
    return complaints


@pytest.fixture(scope="module", autouse=True)
def files_apart(tmp_path_factory):
    """What a call writes lies in a folder of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("wrong"))
        yield


@pytest.mark.parametrize("name", NAMES)
def test_a_call_that_does_not_fit_is_told_of_in_an_error_of_ours(name):
    """With an argument that there is not, and with more arguments than anything takes."""
    for given, named in [((), {"no_such_argument": 1.0}), ((1.0,) * 12, {})]:
        with Graph.scratch(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                HANDED_OUT[name](*given, **named)
            except NaiveGraphError as error:
                assert str(error), name


@pytest.mark.parametrize("name", NAMES)
def test_what_is_wrong_is_told_of_in_an_error_of_ours(name):
    assert complaints_about(lambda: HANDED_OUT[name], name, [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]) == []


def a_node():
    x = Graph.Variable(2.0)
    y = (x * 3.0).sin()
    Graph.forward(y)
    return y


# What a learner holds, and of it what is for others, or a list's own.
HELD = {
    "Graph": (lambda: Graph, "revert"),
    "node": (a_node, "apply"),
    "tensor": (lambda: ng.LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]) * 2.0, "apply receive"),
    "Model": (lambda: ng.Model(seed=1), ""),
    "Program": (lambda: ng.Program((y := a_node()), wrt=[y.last[0].last[0]], engine="reference"), "drawer"),
    "History": (ng.History, "count index"),
    "walk": (lambda: ng.step(a_node()), "at count index states walk"),
    "picture": (lambda: ng.draw(a_node()), ""),
    "trainer": (lambda: ng.AdamTrainer([Graph.Variable(1.0)], 0.1), "formula"),
}  # fmt: skip
with Graph.scratch():
    METHODS = [
        (kind, name)
        for kind, held, others in [(kind, make(), others.split()) for kind, (make, others) in HELD.items()]
        for name in dir(held)
        if name not in others and not name.startswith("_") and callable(getattr(held, name, None))
    ]


@pytest.mark.parametrize(("kind", "name"), METHODS)
def test_what_a_method_is_wrongly_given_is_told_of_in_an_error_of_ours(kind, name):
    assert complaints_about(lambda: getattr(HELD[kind][0](), name), f"{kind}.{name}", [(1, 0)]) == []


# What was taken once without a word, and meant something else. The words that are due.
masked = np.ma.array([1.0, 2.0], mask=[True, False])
beyond = np.longdouble("1e4000")
TAKEN_ONCE = {  # of a Variable, its square, a PlaceHolder and a tensor of two parameters
    "a masked parameter": (lambda x, y, p, t: ng.LeafNode.parameter(masked), r"values\.filled\(0\.0\)"),
    "a masked constant": (lambda x, y, p, t: t * masked, r"values\.filled\(0\.0\)"),
    "a masked value": (lambda x, y, p, t: setattr(t, "value", masked), r"values\.filled\(0\.0\)"),
    "a masked number": (lambda x, y, p, t: x * np.ma.masked, r"values\.filled\(0\.0\)"),
    "a masked Variable": (lambda x, y, p, t: Graph.Variable(np.ma.masked), r"values\.filled\(0\.0\)"),
    "masked unfolded values": (lambda x, y, p, t: setattr(ng.lower(t), "values", masked), r"values\.filled\(0\.0\)"),
    "a masked feed": (lambda x, y, p, t: ng.Program(p * 2.0, inputs=[p])(np.ma.masked), r"values\.filled\(0\.0\)"),
    "a table of outputs": (lambda x, y, p, t: ng.Program({y: "a"}), "takes nodes, not dict"),
    "a table of weights": (lambda x, y, p, t: ng.Program(y, wrt={x: "a"}), "takes nodes, not dict"),
    "outputs without order": (lambda x, y, p, t: ng.Program({x, y}), "takes nodes, not set"),
    "leaves without order": (lambda x, y, p, t: ng.gradients(y, {x}), "a list of nodes, not set"),
    "a choice by sameness": (lambda x, y, p, t: ng.where(x == 2.0, x, 0.0), r"equal\(x, 2\.0\)"),
}  # fmt: skip


if np.isfinite(beyond):  # elsewhere a long double is a float
    TAKEN_ONCE |= {
        "a long double": (lambda x, y, p, t: Graph.Variable(beyond), "a float can hold"),
        "long doubles": (lambda x, y, p, t: ng.LeafNode.parameter(np.array([1.0, beyond])), "a float can hold"),
        "fed long doubles": (lambda x, y, p, t: ng.Program(p * 2.0, inputs=[p])([beyond]), "a float can hold"),
        "columns of them": (lambda x, y, p, t: ng.Program(p * 2.0, inputs=[[p]])([[beyond]]), "a float can hold"),
        "weights of them": (
            lambda x, y, p, t: setattr(ng.Program(y, wrt=[x]), "weights", np.array([beyond])), "a float can hold",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("what", TAKEN_ONCE)
def test_what_means_something_else_is_not_taken(what):
    call, says = TAKEN_ONCE[what]
    x, p, t = Graph.Variable(2.0), Graph.PlaceHolder(), ng.LeafNode.parameter([1.0, 2.0])
    with pytest.raises(NaiveGraphError, match=says):
        call(x, x * x, p, t)


@pytest.mark.parametrize("graph", [Graph, Graph()], ids=["Graph", "an instance"])
def test_a_setting_of_the_graph_that_is_misspelt_is_refused(graph):
    with pytest.raises(AttributeError, match=r"Did you mean Graph\.on_invalid\?"):
        graph.on_invald = "raise"
    graph.on_invalid = "raise"
    assert Graph.on_invalid == "raise"


@pytest.mark.parametrize("at", [[3.0], [[1.0, 2.0]]], ids=["leaf", "operator"])
def test_an_attribute_of_a_tensor_that_is_misspelt_is_refused(at):
    t = ng.LeafNode.parameter(at)
    for tensor in (t, t * 2.0, ng.sin(t), t.sum(), t[0], t.max()):
        with pytest.raises(AttributeError, match=rf"This {type(tensor).__name__} has no attribute 'valeu'"):
            tensor.valeu = [4.0]
        tensor.name = "of the learner"

    class Own(ng.LeafNode):
        pass

    own = Own(ng.tensor.LeafType.PARAMETER, (1,), [3.0])
    own.remark = "a learner's own class is his own"
    assert own.remark and t.value.tolist() == at


@pytest.mark.parametrize("name", [3, b"t", ["t"], ""])
def test_a_name_of_a_tensor_that_is_no_text_is_refused_and_the_old_one_stays(name):
    t = ng.LeafNode.parameter([1.0, 2.0], name="t")
    for tensor in (t, (t * t).sum()):
        before = tensor.name, tensor.equation()
        with pytest.raises(NodeError, match="A node's name is a text"):
            tensor.name = name
        assert (tensor.name, tensor.equation()) == before


@pytest.mark.parametrize("masked", [np.ma.masked, np.ma.array([1.0, 2.0], mask=[0, 1]), np.ma.array([1.0, 2.0])])
@pytest.mark.parametrize("operand", [lambda: Graph.Variable(1.0), lambda: ng.LeafNode.parameter([1.0, 2.0])])
@pytest.mark.parametrize("call", [lambda m, x: m * x, lambda m, x: m - x, lambda m, x: m / x, lambda m, x: m**x])
def test_a_masked_array_on_the_left_is_refused_and_nothing_is_built(masked, operand, call):
    x = operand()
    before = len(Graph.node_list)
    with pytest.raises(NaiveGraphError, match=r"values\.filled\(0\.0\)"):
        call(masked, x)
    assert len(Graph.node_list) == before
