"""A Sequential leaves as one operator for each layer, and comes back with the same layers."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from test_onnx_out import off, operators_in, run_by_reference, run_by_runtime  # noqa: E402

from naive_graph import Sequential  # noqa: E402
from naive_graph.errors import ImportModelError, NaiveGraphError  # noqa: E402
from naive_graph.interop import from_onnx, sequential_from_onnx, to_onnx  # noqa: E402
from naive_graph.interop.onnx.export import export_model  # noqa: E402
from naive_graph.sequential import (  # noqa: E402
    Activation,
    AveragePooling2D,
    Conv2D,
    Dense,
    Dropout,
    MaxPooling2D,
)

NETWORKS = [
    (4, [Dense(3, use_bias=0), Activation("relu"), Dropout(0.3), Dense(2), Activation("softmax")]),
    ((5, 5, 1), [Conv2D(3, (2, 2)), MaxPooling2D(2), Dense(5), Activation("sigmoid")]),
    ((9, 8, 2), [Conv2D(4, 3, strides=(2, 1), padding=(1, 0)), Activation("relu"), Dropout(0.5),
                 AveragePooling2D((2, 3)), Conv2D(2, 1, use_bias=0), Dense(6), Dense(3)]),
    ((4, 4, 2), [Conv2D(3, 2), Activation("softmax")]),
    ((3, 3, 2), [Dense(2)]),
]  # fmt: skip


def made(number):
    shape, layers = NETWORKS[number]
    loss = "crossEntropy" if isinstance(layers[-1], Activation) else "variance"
    network = Sequential(layers, shape, 0.05, loss=loss, initializer="gaussRandom", seed=number)
    for held in network.weights:
        for array in held.values():
            array += 0.1
    return network


@pytest.mark.parametrize("number", range(len(NETWORKS)))
def test_a_sequential_leaves_with_any_number_of_samples(number):
    network = made(number)
    data = np.random.default_rng(number).normal(size=(7, *network.input_shape))
    due = network.predict(data)
    single, double = export_model(network), export_model(network, "float64")
    for model in (single, double):
        onnx.checker.check_model(model, full_check=True)
    assert off(run_by_runtime(single, {"data": data})[0], due) <= 1e-5
    assert off(run_by_reference(double, {"data": data})[0], due) <= 1e-12
    assert off(run_by_reference(double, {"data": data[:2]})[0], due[:2]) <= 1e-12


def test_each_layer_is_one_operator_and_pictures_are_turned_twice():
    model = export_model(made(2))
    assert operators_in(model) == [
        "Transpose", "Conv", "Relu", "Dropout", "AveragePool", "Conv", "Transpose", "Flatten", "Gemm", "Gemm",
    ]  # fmt: skip
    assert [each.name for each in model.graph.node if each.op_type in ("Conv", "Gemm")] == [
        "1.Conv2D", "5.Conv2D", "6.Dense", "7.Dense",
    ]  # fmt: skip
    assert [each.name for each in model.graph.initializer][:2] == ["1.W", "1.b"]


@pytest.mark.parametrize("number", range(len(NETWORKS)))
def test_a_sequential_comes_back_with_its_layers_weights_and_training(number, tmp_path):
    network = made(number)
    back = sequential_from_onnx(to_onnx(network, tmp_path / "layers.onnx", dtype="float64"))
    assert [each.layer for each in back.layers] == [each.layer for each in network.layers]
    for name in ("learning_rate", "batch_size", "loss", "initializer", "seed", "streams", "input_shape"):
        assert getattr(back, name) == getattr(network, name)
    for mine, theirs in zip(network.weights, back.weights, strict=True):
        assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


def test_a_sequential_is_read_as_tensors_too():
    network = made(1)
    data = np.random.default_rng(0).normal(size=(2, 5, 5, 1))
    assert off(from_onnx(export_model(network, "float64"))(data), network.predict(data)) <= 1e-12


def test_layers_from_pytorch_are_layers_here():
    model = onnx.load(Path(__file__).parent / "networks" / "mlp.onnx")
    back = sequential_from_onnx(model)
    x = np.random.default_rng(0).normal(size=(4, 6))
    assert [type(each.layer).__name__ for each in back.layers] == ["Dense", "Activation"] * 3
    assert off(back.predict(x), run_by_runtime(model, {"x": x})[0]) <= 1e-5


def test_a_picture_with_channels_first_is_laid_out_for_channels_last():
    """As PyTorch has it: no Transpose, and the rows of a dense layer by channel, row, column."""
    value, node = onnx.helper.make_tensor_value_info, onnx.helper.make_node
    random = np.random.default_rng(3)
    arrays = {"w": random.normal(size=(3, 2, 2, 2)), "v": random.normal(size=(5, 12)), "c": random.normal(size=5)}
    nodes = [
        node("Conv", ["x", "w"], ["a"]), node("Relu", ["a"], ["r"]), node("MaxPool", ["r"], ["b"], kernel_shape=[2, 2],
        strides=[2, 2]), node("Flatten", ["b"], ["f"]), node("Gemm", ["f", "v", "c"], ["y"], transB=1),
    ]  # fmt: skip
    graph = onnx.helper.make_graph(
        nodes, "g", [value("x", 11, [None, 2, 5, 5])], [value("y", 11, [None, 5])],
        [onnx.numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )  # fmt: skip
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    x = random.normal(size=(3, 2, 5, 5))
    back = sequential_from_onnx(model)
    assert back.input_shape == (5, 5, 2)
    assert off(back.predict(x.transpose(0, 2, 3, 1)), run_by_reference(model, {"x": x})[0]) <= 1e-12


@pytest.mark.parametrize("name", ["lenet", "resnet_block", "lstm", "transformer"])
def test_what_is_no_layer_is_named_all_at_once(name):
    with pytest.raises(ImportModelError, match="A Sequential has") as caught:
        sequential_from_onnx(Path(__file__).parent / "networks" / f"{name}.onnx")
    if name == "lenet":
        assert str(caught.value).count("Tanh") == 4


def test_attributes_and_weights_that_fit_no_layer_are_told_of():
    broken = {
        "Conv": [("pads", 1), ("pads", [0, 0]), ("strides", "x"), ("strides", [0, 0]), ("group", 2)],
        "Gemm": [("transA", 1), ("transB", 1), ("alpha", 2.0)],
        "MaxPool": [("kernel_shape", [3, 3]), ("kernel_shape", None), ("strides", 7), ("ceil_mode", 1)],
        "Transpose": [("perm", [3, 2, 1, 0]), ("perm", None)],
    }
    for operator, changes in broken.items():
        for name, value in changes:
            model = export_model(made(1))
            node = next(each for each in model.graph.node if each.op_type == operator)
            kept = [each for each in node.attribute if each.name != name]
            del node.attribute[:]
            node.attribute.extend(kept if value is None else [*kept, onnx.helper.make_attribute(name, value)])
            with pytest.raises(NaiveGraphError, match=operator):
                sequential_from_onnx(model)


def test_layers_beside_each_other_are_told_of():
    model = export_model(made(0))
    model.graph.output[0].name = model.graph.node[0].output[0]
    with pytest.raises(ImportModelError, match=r"what comes after '1\.Dense'"):
        sequential_from_onnx(model)


@pytest.mark.parametrize(
    "text", ["", "{}", "[" * 10**5, '{"training": 3}', '{"training": [4], "seed": -1, "streams": []}']
)
def test_training_that_cannot_be_read_is_the_usual(text):
    model = export_model(made(0))
    for each in model.metadata_props:
        each.value = text if each.key == "naive_graph.sequential" else each.value
    assert sequential_from_onnx(model).learning_rate == 0.1
