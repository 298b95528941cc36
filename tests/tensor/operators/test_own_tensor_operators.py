"""A learner's own tensor operator is a row like any other; what a row may say is held here."""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")

from typing import Annotated  # noqa: E402

from own_rows import table_apart  # noqa: E402, F401

import naive_graph as ng  # noqa: E402
from naive_graph import Graph, LeafNode, operators, tensor_operator  # noqa: E402
from naive_graph.core.reserved_names import TAKEN  # noqa: E402
from naive_graph.errors import OperandError, OperatorNameError, PropertyError, ShapeError  # noqa: E402
from naive_graph.tensor import example  # noqa: E402
from naive_graph.tensor.operators.mapping import Onnx  # noqa: E402
from naive_graph.tensor.operators.properties import Places, Tensor, between  # noqa: E402
from naive_graph.tensor.operators.table import TABLE, RuleOperator  # noqa: E402

ENGINES = ("reference", "compiled", "runs")
pytestmark = pytest.mark.usefixtures("table_apart")


def centred(**facts):
    @tensor_operator(shape=lambda x: x, examples=[example((2, 3)), example((3,), scale=0.5)], **facts)
    def centred(x, scale: Annotated[float, between(0.0, 9.0)] = 1.0):
        """scale * (x - mean of x)."""
        return scale * (x - x.mean())

    return centred


def test_ten_lines_make_an_operator_that_keeps_all_promises():
    row = centred()
    assert ng.check_operator(row).require() and "centred" in operators()
    assert len(ng.check_operator(row, [example((4,))]).kept) == 11
    y = LeafNode.parameter([1.0, 3.0]).centred(scale=2.0)
    assert y.eval().tolist() == [-2.0, 2.0]
    assert (y.operator, dict(y.properties), y.arg().shape) == (row, {"scale": 2.0}, (2,))
    assert operators().call("centred", [0.0, 1.0]).eval().tolist() == [-0.5, 0.5]


def test_a_name_defined_twice_is_refused():
    centred()
    for again in (centred, lambda: tensor_operator()(lambda softmax: softmax)):
        with pytest.raises(OperatorNameError):
            again()
    with pytest.raises(OperatorNameError, match=r"'sin' exists already.*forget\('sin'\)"):

        @tensor_operator()
        def sin(x):
            return x


def test_no_operator_of_numbers_has_the_name_of_one_of_tensors():
    centred(also=["middled"])
    rows = {name for name, row in operators().items() if not isinstance(row, RuleOperator)}
    assert rows == TAKEN and {"centred", "middled", "softmax", "huber"} <= rows
    for name in ("softmax", "huber", "middled"):
        with pytest.raises(OperatorNameError, match=f"'{name}' exists already"):
            ng.operator(name, lambda a: a, [lambda a, y: 1.0])


def test_a_forgotten_operator_may_be_defined_again_and_what_was_built_keeps_its_own():
    pytest.importorskip("llvmlite")
    built = []
    for slope in (2.0, 3.0):
        operators().forget("steep", "centred", "never_there")
        ng.operator("steep", lambda a, slope=slope: slope * a, [lambda a, y, slope=slope: slope])
        row = centred(also=["middled"], onnx=Onnx("NoOther"))
        x = Graph.Variable(1.0)
        built.append((x, x.steep()))
        assert all(ng.Program(y, wrt=[x], engine=each)()[0] == slope for x, y in built[-1:] for each in ENGINES)
        assert operators()["steep"].check() and row.check([example((3,))]) and TABLE.named("onnx", "NoOther") is row
    assert [ng.Program(y, wrt=[x])().gradient[0] for x, y in built] == [2.0, 3.0]
    operators().forget("steep", "middled")
    assert not {"steep", "centred", "middled"} & {*operators(), *dir(ng.TensorNode), *dir(Graph.Variable)}


def test_an_operator_of_the_package_is_not_forgotten():
    for name in ("softmax", "sin", "softmax_cross_entropy_with_logits"):
        with pytest.raises(OperatorNameError, match=f"'{name}' is no operator of your own"):
            operators().forget(name)
        assert name in operators()
    with pytest.raises(OperatorNameError, match="takes names such as 'softclip', not 3"):
        operators().forget(3)


def test_a_name_elsewhere_that_is_taken_is_refused():
    with pytest.raises(OperatorNameError, match="conv2d"):
        centred(onnx=Onnx("Conv"))
    assert "centred" not in operators()


def test_an_elementwise_operator_takes_numbers_scalars_and_tensors():
    @tensor_operator(kind="elementwise")
    def bent(x, by: float = 2.0):
        """x + by * x * x."""
        return x + by * x * x

    assert bent(3.0) == 21.0
    x = Graph.Variable(3.0)
    assert x.bent(by=1.0).formula().endswith("*x") or Graph.forward() is None
    assert LeafNode.parameter([3.0]).bent(by=0.0).eval().tolist() == [3.0]
    assert len(LeafNode.parameter([3.0]).bent().sources) == 1
    assert bent.check()


def test_a_shape_rule_that_differs_from_the_composition_is_told_of():
    @tensor_operator(shape=lambda x: (7,))
    def mistaken(x):
        return x + 1.0

    with pytest.raises(ShapeError, match=r"mistaken: its shape rule says \(7,\)"):
        mistaken([1.0, 2.0])
    with pytest.raises(OperandError, match="asks for 'z'"):
        tensor_operator(shape=lambda z: z)(lambda x: x)


def test_a_composition_that_gives_no_tensor_is_told_of():
    @tensor_operator()
    def forgetful(x):
        x + 1.0

    with pytest.raises(OperandError, match="returned NoneType None, and not a tensor"):
        forgetful([1.0])


def test_a_wrong_composition_breaks_a_tick():
    def halved(adjoint, result, x):
        return (0.5 * adjoint,)

    @tensor_operator(shape=lambda x: x, derivative=halved, examples=[example((2,))])
    def doubled(x):
        return x * 2.0

    broken = doubled.check().broken
    assert next(iter(broken)) == "derivative in reverse mode"
    assert broken["derivative in forward mode"].startswith("reverse mode, compared with forward mode, is off by ")
    with pytest.raises(ng.errors.GradientCheckError, match="NO   derivative"):
        doubled.check().require()


def test_a_derivative_of_its_own_replaces_that_of_the_composition():
    calls = []

    def twice(adjoint, result, x):
        calls.append(adjoint)
        return (2.0 * adjoint,)

    @tensor_operator(shape=lambda x: x, derivative=twice, examples=[example((2, 3))])
    def doubled(x):
        inner = x + x
        return inner + 0.0

    x = LeafNode.parameter([1.0, 2.0])
    loss = (doubled(x) * doubled(x)).sum()
    loss.backward()
    assert x.gradient().tolist() == [8.0, 16.0] and len(calls) == 2
    assert loss.gradients(x).eval().tolist() == [8.0, 16.0] and len(calls) == 4
    assert loss.gradients(x).sum().gradients(x).eval().tolist() == [8.0, 8.0]
    assert doubled.check()


# --- names, results, calls ----------------------------------------------------


def test_calls_have_names_of_their_own():
    x = LeafNode.parameter(np.ones((4, 4, 1)))
    names = [ng.tensor.max_pool2d(x, 2).call.name for _ in range(3)]
    assert names == ["max_pool2d", "max_pool2d_1", "max_pool2d_2"]
    named = ng.tensor.max_pool2d(x, 2, name="small")
    assert (named.name, named.call.name) == ("small", "small")
    with Graph.scratch():
        assert ng.tensor.max_pool2d(LeafNode.parameter(np.ones((4, 4, 1))), 2).call.name == "max_pool2d"


@pytest.mark.parametrize("x", [LeafNode.parameter, Graph.Variable], ids=["tensor", "scalar"])
def test_every_catalogue_function_takes_a_name(x):
    operand = x(0.5)
    for function in (ng.sin, ng.gelu, ng.add, ng.elu):
        given = [operand] * (2 if function is ng.add else 1)
        assert function(*given, name="y").name == "y"
        before = len(Graph.node_list)
        with pytest.raises(ng.errors.NaiveGraphError, match="name"):
            function(*given, name=3)
        assert len(Graph.node_list) == before
    assert ng.sin(0.0, name="y") == 0.0
    assert LeafNode.parameter([1.0]).sum(name="total").name == "total"
    assert LeafNode.parameter([1.0]).gelu(approximate="tanh").properties == {"approximate": "tanh"}


def test_several_results_unpack_and_each_knows_all():
    values, places = operators()["top_k"](LeafNode.parameter([3.0, 1.0, 2.0]), 2)
    assert (values.eval().tolist(), places.eval().tolist()) == ([3.0, 2.0], [0.0, 2.0])
    assert values.outputs() == places.outputs() == (values, places)


def test_a_node_tells_its_operands():
    a, b = LeafNode.parameter([1.0]), LeafNode.parameter([2.0])
    y = a.sub(b)
    assert (y.operator.name, y.args(), y.larg(), y.rarg()) == ("sub", (a, b), a, b)
    assert (a.operator, a.operands, a.mul(2.0).eval().tolist()) == (None, (), [2.0])


def test_a_scalar_rule_of_ones_own_compares_as_python_does_and_is_a_row_too():
    bent = ng.operator("bent_by_if", lambda a: a if a >= 0 else 0.1 * a, [lambda a, y: ng.where(a < 0.0, 0.1, 1.0)])
    x = Graph.Variable(-2.0)
    y = bent(x)
    Graph.forward()
    Graph.backward(y)
    assert (y.value, x.grad) == (-0.2, 0.1)
    t = LeafNode.parameter([-2.0, 3.0])
    assert t.bent_by_if().eval().tolist() == [-0.2, 3.0] and t.bent_by_if().operator.name == "bent_by_if"
    assert operators()["bent_by_if"].check()


def test_an_inner_node_is_found_by_its_name():
    x = LeafNode.parameter([1.0, 2.0], "x")
    y = (x.softmax() + x.softmax(name="second")).sum()
    assert y.inner("softmax").operands == y.inner("second").operands == (x,)
    with pytest.raises(ng.errors.NodeError, match="Did you mean 'softmax'"):
        y.inner("sofmax")


def test_a_scalar_rule_is_a_method_of_nodes_too():
    x = Graph.Variable(3.0)
    y = x.add(4.0).pow(2.0)
    Graph.forward()
    assert y.value == 49.0


# --- places that are known only at run time -----------------------------------


@pytest.mark.parametrize(("shape", "places", "batch_dims"), [
    ((3, 4, 5), [[0, -1, 2], [2, 3, -5]], 0), ((4, 2, 3), [[[1], [-2]], [[0], [3]]], 0),
    ((2, 3, 2), [[[1]], [[-3]]], 1),
])  # fmt: skip
def test_places_on_several_axes_that_are_a_tensor_pick_and_put_what_known_ones_do(shape, places, batch_dims):
    x, at = LeafNode.parameter(np.random.default_rng(0).normal(size=shape), "x"), LeafNode.input(np.shape(places), "at")
    at.value = np.array(places, float)
    gather_nd, scatter_nd = operators()["gather_nd"], operators()["scatter_nd"]
    pairs = [[gather_nd(x, each, batch_dims) for each in (places, at)]]
    if not batch_dims:
        new = LeafNode.parameter(np.arange(float(pairs[0][0].size)).reshape(pairs[0][0].shape), "new")
        for how in ("none", "add"):
            pairs.append([scatter_nd(x, new, each, reduction=how) for each in (places, at)])
    for known, unknown in pairs:
        np.testing.assert_array_equal(unknown.eval(), known.eval())
        slopes = [(each * each.sin()).sum().gradients(x).eval() for each in (known, unknown)]
        np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-13)


def test_places_that_must_be_known_are_refused_by_name():
    x, at = LeafNode.parameter([1.0, 2.0]), LeafNode.input((1, 1), "at")
    with pytest.raises(PropertyError, match="not known until run time"):
        operators()["tile"](x, at)
    with pytest.raises(PropertyError, match="needs places that are known"):
        operators()["scatter_nd"](x, [1.0], at, reduction="mul")
    assert operators()["tile"](x, LeafNode.constant([2.0])).shape == (4,)


def test_annotations_say_what_is_an_operand():
    @tensor_operator()
    def chosen(x: Tensor, at: Places, *, sign: int = 1):
        return x.gather(at) * float(sign)

    assert (chosen.operand_names, chosen.property_names) == (["x"], ["at", "sign"])
    assert chosen([1.0, 2.0], [1], sign=-1).eval().tolist() == [-2.0]
    with pytest.raises(OperandError, match="cannot be one of an operator"):
        tensor_operator()(lambda *xs: xs[0])


SIGNATURES = [
    ("x, n: list", r"'n: list' says no kind of property. Write one of float, int, bool, str"),
    ("x, n: np.float64 = 1.0", "'n: float64' says no kind"),
    ("x, n: 'Unknown' = 1.0", "a kind in its signature is not known: name 'Unknown'"),
    ("x, n=2.0", "its default can only be None. Is it a property.*n: float = 2.0"),
    ("x, n=True", "n: bool = True"),
    ("x, n: float = 'a'", "n is a real number, not str 'a'"),
    ("x, name", "`name` is taken"),
    ("x, n: [1]", "says no kind"),
]  # fmt: skip


@pytest.mark.parametrize(("signature", "says"), SIGNATURES)
def test_a_signature_that_says_no_kind_is_refused(signature, says):
    with pytest.raises(ng.errors.NaiveGraphError, match=says):
        exec(f"@tensor_operator()\ndef unclear({signature}): return x", globals())
    assert "unclear" not in operators()
