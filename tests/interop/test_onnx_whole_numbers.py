"""Whole numbers from files stay whole, types are the file's own, and what is known is computed by our own operators."""

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")

from onnx import TensorProto, helper  # noqa: E402
from onnx_models import model_of, node, stored  # noqa: E402

from naive_graph.errors import ImportModelError  # noqa: E402
from naive_graph.interop import from_onnx  # noqa: E402

WHOLE = np.array([-7, 7, 8, 9, -9, 0])
INT64, BOOL = TensorProto.INT64, TensorProto.BOOL
# The nodes from i, of whole numbers, or x, of floats; what is stored; and what y must be.
CASES = {
    "division drops fractions": ("Div i two:y", [-3, 3, 4, 4, -4, 0]),
    "division by what is negative": ("Div i minus:y", [2, -2, -2, -3, 3, 0]),
    "remainders have the sign of the divisor": ("Mod i minus:y", [-1, -2, -1, 0, 0, 0]),
    "powers": ("Mul i i:s; Pow s half:p; Div p two:y", [3, 3, 4, 4, 4, 0]),
    "means drop fractions": ("ReduceMean i:y", 1),
    "lengths drop fractions": ("ReduceL2 i:y", 18),
    "places are whole": ("ArgMax x:a; Div a two:y", [2]),
    "places of the largest are whole": ("TopK x three:v,p; Div p two:y", [2, 1, 1]),
    "a cast makes them whole": ("Cast x INT64:c; Div c two:y", [-1, 0, 0, 1, 2]),
    "a cast makes them real": ("Cast i FLOAT:c; Div c real:y", [-3.5, 3.5, 4.0, 4.5, -4.5, 0.0]),
    "a type by an example that is stored": ("CastLike x two:c; Div c two:y", [-1, 0, 0, 1, 2]),
    "a truth value by an example that is stored": ("CastLike x truth:c; Cast c INT64:y", [1, 1, 1, 1, 1]),
    "what is too large begins again": ("Mul i big:a; Cast a UINT8:y", [68, 188, 32, 132, 124, 0]),
    "through a branch": ("If truth:b; Div b two:y", [3, -3, -4, -4, 4, 0]),
    "through turns": ("Loop two:l; Div l two:y", [0, 0, 1, 1, -1, 0]),
}
STORED = {
    "two": np.array([2]),
    "minus": np.array([-3]),
    "half": np.array([0.5], "f4"),
    "three": np.array([3]),
    "real": np.array([2.0], "f4"),
    "truth": np.array(True),
    "big": np.array([100]),
}


def graphs_of(op):
    def value(name, kind, shape=None):
        return helper.make_tensor_value_info(name, kind, shape)

    if op == "If":
        return {
            f"{name}_branch": helper.make_graph([node(inner, "i", "o")], name, [], [value("o", INT64)])
            for name, inner in (("then", "Neg"), ("else", "Identity"))
        }
    body = [node("Div", "s two", "t"), node("Identity", "c", "d")]
    inputs = [value("n", INT64, []), value("c", BOOL, []), value("s", INT64)]
    return {"body": helper.make_graph(body, "body", inputs, [value("d", BOOL), value("t", INT64)])}


@pytest.mark.parametrize("what", CASES)
def test_whole_numbers_follow_the_types_of_the_file(what):
    text, due = CASES[what]
    nodes = []
    for part in text.split("; "):
        said, results = part.split(":")
        op, *inputs = said.split()
        attributes = {"keepdims": 0} if op in ("ReduceMean", "ReduceL2") else {}
        if op == "Cast":
            attributes["to"] = getattr(TensorProto, inputs.pop())
        if op == "Loop":
            inputs = [inputs[0], "", "i"]
        attributes |= graphs_of(op) if op in ("If", "Loop") else {}
        nodes.append(helper.make_node(op, inputs, results.split(","), **attributes))
    weights = [stored(name, array, array.dtype) for name, array in STORED.items()]
    network = from_onnx(model_of(nodes, [("i", (6,), INT64), ("x", (5,))], [("y", None)], weights, 18))
    found = network(i=WHOLE, x=[-2.7, 0.2, 1.5, 3.9, 5.1])
    assert np.asarray(found).tolist() == due


@pytest.mark.parametrize("count", [3, 7, 49, 93])
def test_the_mean_of_equal_whole_numbers_is_that_number(count):
    network = from_onnx(model_of([node("ReduceMean", "i", "y", keepdims=0)], [("i", (count,), INT64)], [("y", None)]))
    assert network(np.ones(count)) == 1


# --- types of what is stored --------------------------------------------------


@pytest.mark.parametrize(("kind", "zero", "due"), [
    (np.uint8, 3, [0.0, 1.0, 1.0, 0.0, 126.0, -1.5]), (np.int8, -3, [0.0, 1.0, 1.0, 0.0, 65.0, -62.5]),
])  # fmt: skip
@pytest.mark.parametrize("opset", [13, 19, 21])
def test_numbers_are_quantised_within_what_the_type_of_a_stored_zero_point_holds(kind, zero, due, opset):
    nodes = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "y")]
    weights = [stored("s", 0.5), stored("z", zero, kind)]
    network = from_onnx(model_of(nodes, [("x", (6,))], [("y", None)], weights, opset))
    assert network([0.25, 0.75, 1.25, -0.25, 1000, -1000]).tolist() == due


def test_a_stored_mask_of_truth_values_masks():
    x, mask = np.random.default_rng(0).normal(size=(1, 1, 3, 2)), np.tri(3, dtype=bool)
    model = model_of(
        [node("Attention", "x x x m", "y")], [("x", x.shape)], [("y", None)], [stored("m", mask, bool)], 23
    )
    scores = np.where(mask, x[0, 0] @ x[0, 0].T / np.sqrt(2), -np.inf)
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    assert from_onnx(model)(x)[0, 0] == pytest.approx(shares @ x[0, 0])


# --- what is known is computed by our own operators ---------------------------


FOLDED = {
    "BatchNormalization a s b m v": {}, "LRN a": {"size": 3}, "GlobalAveragePool a": {}, "Softmax b": {},
    "LpNormalization b": {}, "Clip a": {}, "Elu a": {"alpha": 0.5},
}  # fmt: skip


@pytest.mark.parametrize("opset", [9, 15])
@pytest.mark.parametrize("what", FOLDED)
def test_what_is_known_is_computed_as_at_run_time(what, opset):
    op, *names = what.split()
    rng = np.random.default_rng(1)
    arrays = {"a": rng.normal(size=(2, 3, 2, 2)), **{name: rng.uniform(0.5, 2.0, size=(1, 3))[0] for name in "sbmv"}}
    arrays["b"] = arrays["b"] if "BatchNorm" in op else arrays["b"][None]
    arrays = {name: np.asarray(array, "f4") for name, array in arrays.items()}
    step = node(op, " ".join(names), "c", **FOLDED[what])
    nodes = [step, node("Add", "c zero", "y")]
    fed = model_of(nodes, [(name, arrays[name].shape) for name in names] + [("zero", (1,))], [("y", None)], (), opset)
    due = from_onnx(fed)(**{name: arrays[name] for name in names}, zero=[0.0])
    weights = [stored(name, arrays[name]) for name in names]
    known = from_onnx(model_of(nodes, [("zero", (1,))], [("y", None)], weights, opset), parameters=[])
    assert known([0.0]) == pytest.approx(due, abs=1e-6)


@pytest.mark.parametrize("opset", [10, 13, 18, 21])
def test_weights_of_whole_numbers_are_spread_in_every_opset(opset):
    nodes = [node("DequantizeLinear", "q s z", "w"), node("MatMul", "x w", "y")]
    weights = [stored("q", [[10, 20], [30, 40]], np.int8), stored("s", 0.1), stored("z", 5, np.int8)]
    network = from_onnx(model_of(nodes, [("x", (1, 2))], [("y", None)], weights, opset))
    assert network([[1.0, 2.0]])[0] == pytest.approx([5.5, 8.5]) and not network.parameters


def test_a_weight_whose_places_are_asked_for_is_known_and_not_learned():
    nodes = [node("NonZero", "w", "p"), node("Cast", "p", "c", to=TensorProto.FLOAT), node("Add", "c x", "a"),
             node("Add", "a w", "y")]  # fmt: skip
    network = from_onnx(model_of(nodes, [("x", (1, 2))], [("y", None)], [stored("w", [1.0, 2.0])]))
    assert network([[0.0, 0.0]]).tolist() == [[1.0, 3.0]] and not network.parameters


def test_whole_numbers_that_float64_lacks_are_exact():
    nodes = [node("Add", "last zero", "end"), node("Slice", "x one end", "y")]
    weights = [stored("last", [2**63 - 1], np.int64), stored("zero", [0], np.int64), stored("one", [1], np.int64)]
    assert from_onnx(model_of(nodes, [("x", (3,))], [("y", None)], weights))([1.0, 2.0, 3.0]).tolist() == [2.0, 3.0]


def test_numbers_that_are_known_are_rounded_as_the_file_says():
    nodes = [
        node("Shape", "x", "n"), node("Cast", "n", "f", to=TensorProto.FLOAT), node("Mul", "f by", "g"),
        node("Floor", "g", "h"), node("Cast", "h", "size", to=INT64), node("Expand", "x1 size", "y"),
    ]  # fmt: skip
    model = model_of(nodes, [("x", (5,)), ("x1", (1,))], [("y", None)], [stored("by", [1.4])])
    assert from_onnx(model)([0.0] * 5, [1.0]).size == 7  # 5 * 1.4 in single precision; in double it is below


# --- where weights are stored -------------------------------------------------


def test_weights_in_constant_nodes_are_parameters():
    W = stored("W", np.arange(6.0).reshape(3, 2))
    nodes = [node("Constant", "", "W", value=W), node("MatMul", "x W", "h"),
             node("Constant", "", "two", value_float=2.0), node("Mul", "h two", "y")]  # fmt: skip
    model = model_of(nodes, [("x", (1, 3))], [("y", None)])
    for network in (from_onnx(model), from_onnx(model, parameters=["W"])):
        assert [*network.parameters] == ["W"] and "3 x 2" in network.summary()
        assert network([[1.0, 1.0, 1.0]]).tolist() == [[12.0, 18.0]]
    assert not from_onnx(model, parameters=[]).parameters


@pytest.mark.parametrize("chosen", ["then", "else"])
def test_weights_in_the_branch_that_is_taken_are_parameters(chosen):
    def branch(name, by):
        o = helper.make_tensor_value_info("o", TensorProto.FLOAT, None)
        bias = node("Constant", "", "b", value=stored("b", [by, by]))
        nodes = [bias, node("MatMul", "x W", "h"), node("Add", "h b", "o")]
        return helper.make_graph(nodes, name, [], [o], [stored("W", np.eye(2) * by)])

    test = node("If", "c", "y", name="if", then_branch=branch("t", 2.0), else_branch=branch("e", 3.0))
    nodes = [node("Equal", "sr rate", "c"), test]
    model = model_of(nodes, [("x", (1, 2)), ("sr", (), INT64)], [("y", None)], [stored("rate", 16000, np.int64)])
    network = from_onnx(model, known={"sr": 16000 if chosen == "then" else 8000})
    assert [*network.parameters] == [f"if/{chosen}_branch/W", f"if/{chosen}_branch/b"]
    by = 2.0 if chosen == "then" else 3.0
    assert network([[1.0, 2.0]]).tolist() == [[2 * by, 3 * by]]
    network.parameters[f"if/{chosen}_branch/W"].value = np.zeros((2, 2))
    assert network([[1.0, 2.0]]).tolist() == [[by, by]]


def test_the_weights_of_a_loop_are_one_whatever_turn_it_is():
    def value(name, kind=TensorProto.FLOAT, shape=None):
        return helper.make_tensor_value_info(name, kind, shape)

    body = helper.make_graph(
        [node("MatMul", "s W", "t"), node("Identity", "c", "d")], "body",
        [value("n", INT64, []), value("c", BOOL, []), value("s")], [value("d", BOOL), value("t")],
        [stored("W", np.eye(2) * 2.0)],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["turns", "", "x"], ["y"], name="loop", body=body)
    network = from_onnx(model_of([loop], [("x", (1, 2))], [("y", None)], [stored("turns", 3, np.int64)]))
    assert [*network.parameters] == ["loop/body/W"] and network([[1.0, 2.0]]).tolist() == [[8.0, 16.0]]


# --- advice -------------------------------------------------------------------


def test_the_advice_names_the_input_to_give_and_can_be_followed():
    branches = graphs_of("If")
    nodes = [node("Equal", "sr rate", "c"), node("If", "c", "y", **branches)]
    weights = [stored("rate", 16000, np.int64)]
    model = model_of(nodes, [("i", (2,), INT64), ("sr", (), INT64)], [("y", None)], weights)
    with pytest.raises(
        ImportModelError, match=r"computed from the input 'sr': give from_onnx\(..., known={'sr': ...}\)"
    ):
        from_onnx(model)
    assert from_onnx(model, known={"sr": 16000.0})([1, 2]).tolist() == [-1, -2]
