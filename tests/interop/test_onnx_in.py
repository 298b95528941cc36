"""What `from_onnx` gives: ordinary tensor nodes, by the names in the file, for every opset and type of number."""

import gc
import weakref

import numpy as np
import pytest

pytest.importorskip("onnx")
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx_models import FLOAT, INT64, mlp, model_of, node, stored

from naive_graph import LeafNode, gradcheck, lower
from naive_graph.errors import FeedError, ImportAttributeError, ImportModelError, StaleNodeError
from naive_graph.graph.graph import Graph
from naive_graph.interop import from_onnx
from naive_graph.interop.onnx.import_graph import OnnxBuilder

X = np.random.default_rng(5).normal(size=(2, 3))


def by_reference(model, **arrays):
    return ReferenceEvaluator(model).run(None, {name: np.float32(each) for name, each in arrays.items()})[0]


# --- what it gives ------------------------------------------------------------


def test_a_network_gives_its_inputs_parameters_outputs_and_nodes_by_name():
    network = from_onnx(mlp(2))
    assert [*network.inputs] == ["x"] and [*network.outputs] == ["y"]
    assert [*network.parameters] == ["W1", "b1", "W2", "b2"] and network.inputs["x"].shape == (2, 3)
    assert {"first", "bend", "second", "h", "a", "y"} <= network.nodes.keys()
    assert network.nodes["bend"] is network.nodes["a"] and network.nodes["bend"].operator.name == "relu"
    assert network.nodes["second"].properties["transpose_b"] and network.outputs["y"] is network.nodes["y"]
    assert network["bend"] is network.nodes["a"] and network["y"] is network.outputs["y"]
    for name in (*network.inputs, *network.parameters):
        assert network[name].name == name
    with pytest.raises(ImportModelError, match="no node 'none'"):
        network["none"]
    assert all(isinstance(each, LeafNode) for each in network.parameters.values())


def test_a_path_bytes_and_a_model_give_the_same(tmp_path):
    model = mlp(2)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    found = [
        from_onnx(each)(X) for each in (model, model.SerializeToString(), tmp_path / "m.onnx", str(tmp_path / "m.onnx"))
    ]
    assert all((each == found[0]).all() for each in found)
    assert found[0] == pytest.approx(by_reference(model, x=X), rel=1e-5)


def test_arrays_go_in_by_name_or_in_order():
    network = from_onnx(mlp(2))
    assert (network(x=X) == network(X)).all()
    for wrong in ({}, {"z": X}, {"x": X[0]}, {"x": np.ones((3, 3))}):
        with pytest.raises(FeedError):
            network(**wrong)


def test_a_size_that_the_file_names_is_given_or_comes_with_the_arrays():
    network = from_onnx(mlp())
    with pytest.raises(ImportModelError, match=r"shapes of x.*sizes={'batch': 1}"):
        network.outputs
    assert network(X).shape == (2, 2) and network.outputs["y"].shape == (2, 2)
    weights = network.parameters["W1"]
    assert network(np.vstack([X, X])).shape == (4, 2) and network.parameters["W1"] is weights
    assert from_onnx(mlp(), sizes={"batch": 5}).outputs["y"].shape == (5, 2)
    with pytest.raises(ImportModelError, match="no such dimension"):
        from_onnx(mlp(), sizes={"time": 5})


def test_inner_nodes_are_evaluated_with_the_outputs():
    network = from_onnx(mlp(2))
    network(X)
    before = network.nodes["h"].eval()
    network(2.0 * X)
    assert not np.allclose(before, network.nodes["h"].eval())


def test_an_imported_network_is_differentiated_and_lowered_as_any_tensor():
    network = from_onnx(mlp(2))
    network.inputs["x"].value = X
    loss = (network.outputs["y"] * network.outputs["y"]).sum()
    assert not gradcheck(loss).failures
    (scalar,) = lower(loss)
    Graph.forward()
    assert scalar.value == pytest.approx(float(loss.eval()), rel=1e-12)


def test_a_compiled_network_gives_the_same_numbers():
    network = from_onnx(mlp(2))
    fast = network.compiled()
    assert fast(X) == pytest.approx(network(X), rel=1e-14) and fast(x=-X) == pytest.approx(network(-X), rel=1e-14)
    with pytest.raises(FeedError, match="has 2 samples, not 5"):
        from_onnx(mlp(), sizes={"batch": 2}).compiled()(np.ones((5, 3)))


def test_a_network_belongs_to_its_graph():
    with Graph.scratch():
        network = from_onnx(mlp(2))
    with pytest.raises(StaleNodeError):
        network(X)


# --- numbers ------------------------------------------------------------------


def linear_of(tensor):
    return model_of([node("MatMul", "x w", "y")], [("x", [2, 3])], [("y", None)], [tensor])


@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2"])
@pytest.mark.parametrize("raw", [True, False])
def test_weights_of_every_type_with_fractions_are_read(kind, raw):
    values = [0.5, -1.0, 2.0, 0.25, 1.5, -3.0]
    tensor = helper.make_tensor("w", getattr(TensorProto, kind), [3, 2], values)
    if raw:
        tensor = numpy_helper.from_array(numpy_helper.to_array(tensor), "w")
    assert from_onnx(linear_of(tensor)).parameters["w"].value.tolist() == np.reshape(values, (3, 2)).tolist()


def test_weights_keep_the_files_type_until_they_are_used_and_are_held_once():
    network = from_onnx(mlp(2))
    leaf = network.parameters["W1"]
    assert leaf._value.dtype == np.float32 and not network.weights.arrays
    as_stored = weakref.ref(leaf._value)
    network(X)
    gc.collect()
    assert leaf._value.dtype == np.float64 and as_stored() is None


def test_what_is_measured_and_single_numbers_are_not_learned():
    weights = [stored(name, np.full(3, each)) for name, each in (("s", 2.0), ("b", 1.0), ("m", 0.5), ("v", 4.0))]
    nodes = [node("BatchNormalization", "x s b m v", "n", epsilon=0.0), node("Mul", "n half", "y")]
    network = from_onnx(model_of(nodes, [("x", [2, 3])], [("y", None)], [*weights, stored("half", 0.5)]))
    assert [*network.parameters] == ["s", "b"]
    assert network(X) == pytest.approx((X - 0.5) / 2.0 * 2.0 * 0.5 + 0.5)


# --- opsets -------------------------------------------------------------------


WIDE = 2**63 - 1
KNOWN = {"zero": [0], "one": [1], "two": [2], "end": [WIDE], "pads": [0, 0, 1, 0, 0, 0]}
MEANS, KEPT, PADDED = X.mean(1)[None, :, None], np.maximum(X, 0.0)[None], np.pad(X, ((0, 0), (1, 0)))[None]
E = np.exp(X)[None]


@pytest.mark.parametrize("opset, op, inputs, attributes, due", [
    (7, "Squeeze", "x", {"axes": [0]}, X), (13, "Squeeze", "x zero", {}, X),
    (12, "ReduceSum", "x", {"axes": [1], "keepdims": 0}, X.sum(0, keepdims=True)),
    (13, "ReduceSum", "x one", {"keepdims": 0}, X.sum(0, keepdims=True)),
    (7, "ReduceMean", "x", {"axes": [2]}, MEANS), (18, "ReduceMean", "x two", {}, MEANS),
    (9, "Slice", "x", {"starts": [1], "ends": [WIDE], "axes": [2]}, X[None, :, 1:]),
    (10, "Slice", "x one end two", {}, X[None, :, 1:]), (10, "Clip", "x", {"min": 0.0}, KEPT),
    (11, "Clip", "x none", {}, KEPT), (26, "Clip", "x none", {}, KEPT),
    (7, "LeakyRelu", "x", {}, np.where(X > 0, X, 0.01 * X)[None]),
    (12, "Softmax", "x", {}, E / E.sum()), (13, "Softmax", "x", {}, E / E.sum(2, keepdims=True)),
    (12, "Pad", "x pads", {}, PADDED), (10, "Pad", "x", {"pads": KNOWN["pads"]}, PADDED),
    (7, "Split", "x", {"axis": 1}, X[None, :1]), (18, "Split", "x", {"axis": 1, "num_outputs": 2}, X[None, :1]),
])  # fmt: skip
def test_the_opset_says_what_is_an_attribute_and_what_an_input(opset, op, inputs, attributes, due):
    weights = [stored(name, each, np.int64) for name, each in KNOWN.items()]
    weights = [each for each in [*weights, stored("none", 0.0)] if each.name in inputs.split()]
    outputs = "y z" if op == "Split" else "y"
    model = model_of([node(op, inputs, outputs, **attributes)], [("x", [1, 2, 3])], [("y", None)], weights, opset)
    assert from_onnx(model)(X[None]) == pytest.approx(due)


# --- folding ------------------------------------------------------------------


def test_the_arithmetic_of_shapes_is_done_beforehand():
    """Shape, Gather, Concat, Cast, Range, and a Reshape with -1, as PyTorch writes a flattening."""
    nodes = [
        node("Shape", "x", "s"), node("Gather", "s zero", "batch"), node("Concat", "batch minus", "to", axis=0),
        node("Cast", "to", "to32", to=TensorProto.INT32), node("Cast", "to32", "to64", to=INT64),
        node("Reshape", "x to64", "flat"), node("Shape", "flat", "fs", start=1), node("Squeeze", "fs", "n"),
        node("Range", "a n c", "r"), node("Cast", "r", "rf", to=FLOAT), node("Add", "flat rf", "y"),
    ]  # fmt: skip
    weights = [stored(name, each, np.int64) for name, each in (("zero", [0]), ("minus", [-1]), ("a", 0), ("c", 1))]
    network = from_onnx(model_of(nodes, [("x", ["batch", 3, 2])], [("y", None)], weights))
    x = np.ones((4, 3, 2))
    assert network(x).tolist() == (1.0 + np.arange(6.0) + np.zeros((4, 1))).tolist()
    assert [each for each in network.nodes if not each.startswith(("x", "flat", "y"))] == []


def test_places_that_are_inputs_are_found_at_run_time():
    table = np.arange(8.0).reshape(4, 2)
    model = model_of([node("Gather", "w ids", "y")], [("ids", [3], INT64)], [("y", None)], [stored("w", table)])
    network = from_onnx(model)
    assert network(ids=np.array([2, 0, 3])).tolist() == table[[2, 0, 3]].tolist()
    assert from_onnx(model, known={"ids": [1, 1, 0]}).outputs["y"].eval().tolist() == table[[1, 1, 0]].tolist()


@pytest.mark.parametrize("opset", [7, 11, 12, 13, 18])
def test_what_is_known_is_computed_as_the_files_own_opset_says(opset):
    """Before opset 13 Softmax flattened, and Unsqueeze had an attribute."""
    table = np.array([[[0.0, 1.0], [2.0, 3.0]]])
    old = opset < 13
    nodes = [
        node("Constant", "", "c", value=stored("c", table)), node("Softmax", "c", "s"),
        node("Unsqueeze", "s" if old else "s zero", "u", **({"axes": [0]} if old else {})), node("Add", "x u", "y"),
    ]  # fmt: skip
    weights = [] if old else [stored("zero", [0], np.int64)]
    network = from_onnx(model_of(nodes, [("x", [1])], [("y", None)], weights, opset))
    e = np.exp(table)
    assert network(x=[0.0])[0] == pytest.approx(e / (e.sum() if old else e.sum(2, keepdims=True)))


def test_what_is_drawn_at_random_is_not_computed_beforehand():
    nodes = [node("Constant", "", "p", value=stored("p", [0.5])), node("Bernoulli", "p", "r"), node("Add", "x r", "y")]
    with pytest.raises(ImportModelError, match="RandomUniformLike, of which ONNX makes Bernoulli 'r'"):
        from_onnx(model_of(nodes, [("x", [1])], [("y", None)]))


def test_a_branch_is_chosen_by_what_is_known():
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[n, 1, 3] x) => (float y)
              <int64[1] second = {1}, int64[1] one = {1}> {
                  shape = Shape(x)  extent = Gather(shape, second)  small = Equal(extent, one)
                  y = If(small) <
                      then_branch = short () => (float a) <int64[1] axis = {1}> { a = Squeeze(x, axis) },
                      else_branch = long () => (float b) { b = Neg(x) }
                  >
              }"""
    network = from_onnx(onnx.parser.parse_model(text.replace("  ", "\n")))
    x = np.arange(6.0).reshape(2, 1, 3)
    assert network(x).tolist() == x[:, 0].tolist()


@pytest.mark.parametrize(("axis", "due"), [(1, [[0.0, 2.0], [3.0, 5.0]]), (None, [0.0, 2.0])])
def test_entries_are_taken_where_a_known_condition_holds(axis, due):
    said = {} if axis is None else {"axis": axis}
    keep = stored("keep", [True, False, True], bool)
    network = from_onnx(model_of([node("Compress", "x keep", "y", **said)], [("x", (2, 3))], [("y", None)], [keep]))
    assert network(np.arange(6.0).reshape(2, 3)).tolist() == due


def test_what_is_wild_is_told_apart():
    nodes = [node("IsNaN", "x", "a"), node("IsInf", "x", "b"), node("IsInf", "x", "c", detect_negative=0)]
    network = from_onnx(model_of(nodes, [("x", (4,))], [(name, None) for name in "abc"], opset=20))
    found = network(np.array([1.0, np.nan, np.inf, -np.inf]))
    assert {name: each.tolist() for name, each in found.items()} == {
        "a": [0.0, 1.0, 0.0, 0.0], "b": [0.0, 0.0, 1.0, 1.0], "c": [0.0, 0.0, 1.0, 0.0],
    }  # fmt: skip


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_a_resized_image_has_torchs_numbers_and_gradients(mode):
    torch = pytest.importorskip("torch")
    way = {"nearest": "asymmetric"}.get(mode, "half_pixel")
    nodes = [node("Resize", "x none scales", "y", mode=mode, coordinate_transformation_mode=way, nearest_mode="floor")]
    nodes[0].input[1] = ""
    weights = [stored("scales", [1.0, 1.0, 2.0, 1.5])]
    network = from_onnx(model_of(nodes, [("x", (1, 2, 4, 6))], [("y", None)], weights, opset=18))
    x = np.random.default_rng(3).normal(size=(1, 2, 4, 6))
    given = torch.tensor(x, requires_grad=True)
    called = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    due = torch.nn.functional.interpolate(given, scale_factor=(2.0, 1.5), mode=called)
    (due**2).sum().backward()
    assert np.allclose(network(x), due.detach(), atol=1e-12)
    (leaf,), (y,) = network.inputs.values(), network.outputs.values()
    (y * y).sum().backward(full=True)
    assert np.allclose(leaf.gradient(), given.grad, atol=1e-12)


@pytest.mark.parametrize(("op", "shapes", "said"), [
    ("Conv", [(2, 2, 5, 6, 4), (3, 2, 2, 3, 2), (3,)],
     {"strides": [2, 1, 1], "pads": [1, 0, 1, 0, 1, 1], "dilations": [2, 1, 1]}),
    ("Conv", [(2, 2, 5, 6, 4), (3, 2, 3, 3, 2)], {"auto_pad": "SAME_LOWER", "strides": [2, 2, 1]}),
    ("Conv", [(2, 4, 5, 6, 4), (6, 2, 2, 3, 2)], {"group": 2}),
    ("Conv", [(2, 2, 7), (3, 2, 3), (3,)], {"strides": [2], "pads": [1, 2]}),
    ("ConvTranspose", [(2, 3, 3, 4, 3), (3, 2, 2, 3, 2), (2,)],
     {"strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 1], "output_padding": [1, 0, 1]}),
])  # fmt: skip
def test_windows_slide_along_sequences_and_volumes_as_onnx_says(op, shapes, said):
    rng = np.random.default_rng(0)
    x, *arrays = (rng.normal(size=shape).astype("f4") for shape in shapes)
    weights = [stored(name, array) for name, array in zip("wb", arrays)]
    step = node(op, " ".join("xwb"[: len(shapes)]), "y", **said)
    model = model_of([step], [("x", x.shape)], [("y", None)], weights, opset=18)
    (due,) = ReferenceEvaluator(model).run(None, {"x": x})
    assert np.allclose(from_onnx(model)(x), due, atol=1e-5)


def test_a_word_that_resizing_does_not_know_is_refused():
    weights = [stored("scales", [1.0, 2.0]), stored("part", [], np.float32)]
    nodes = [node("Resize", "x part scales", "y", mode="odd")]
    with pytest.raises(ImportAttributeError, match=r"mode='odd'.*nearest, linear, cubic"):
        from_onnx(model_of(nodes, [("x", (1, 2))], [("y", None)], weights))


def test_a_graph_that_is_begun_anew_while_a_file_is_read_is_not_the_files_fault(monkeypatch):
    real = OnnxBuilder.results
    monkeypatch.setattr(OnnxBuilder, "results", lambda builder, step: (Graph.renew(), real(builder, step))[1])
    with pytest.raises(StaleNodeError):
        from_onnx(mlp(2))
