"""Networks that PyTorch exported come in, compute what onnxruntime says, learn here, and go out again."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")
pytest.importorskip("onnxruntime")

from test_onnx_out import off, operators_in, run_by_reference, run_by_runtime  # noqa: E402

from naive_graph import AdamTrainer  # noqa: E402
from naive_graph.classroom.digits import NETWORK, pictures  # noqa: E402
from naive_graph.interop import from_onnx, to_onnx  # noqa: E402
from naive_graph.interop.onnx.export import export_model  # noqa: E402
from naive_graph.tensor import softmax_cross_entropy  # noqa: E402

FOLDER = Path(__file__).parent / "networks"
INPUTS = {
    "mlp": (4, 6),
    "lenet": (2, 1, 16, 16),
    "resnet_block": (2, 6, 8, 8),
    "lstm": (7, 2, 5),
    "transformer": (2, 6),
    "llama": (2, 5, 16),
}
NAMES = sorted(INPUTS)


def given(name):
    random = np.random.default_rng(7)
    return random.integers(0, 20, INPUTS[name]) if name == "transformer" else random.normal(size=INPUTS[name])


def imported(name):
    return from_onnx(FOLDER / f"{name}.onnx", sizes={"batch": INPUTS[name][0]} if name in ("mlp", "llama") else None)


def written(model):
    """A model as text, less the numbers of its weights."""
    return onnx.printer.to_text(model)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_from_pytorch_gives_what_onnxruntime_does(name):
    due = run_by_runtime(onnx.load(FOLDER / f"{name}.onnx"), {"x": given(name)})[0]
    assert off(imported(name)(given(name)), due) <= 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_a_network_goes_out_with_the_operators_that_it_came_with(name):
    network, x = imported(name), given(name)
    model = export_model(network)
    onnx.checker.check_model(model, full_check=True)
    came = onnx.load(FOLDER / f"{name}.onnx")
    ours, theirs = operators_in(model), operators_in(came)
    known = {"Constant", "Shape", "Expand", "CastLike"}  # what the file computes from shapes is computed already
    assert [each for each in ours if each not in known] == [each for each in theirs if each not in known]
    assert {*network.parameters} <= {each.name for each in model.graph.initializer}
    assert [each.name for each in model.graph.output] == ["y"] and [each.name for each in model.graph.input] == ["x"]
    assert off(run_by_runtime(model, {"x": x})[0], run_by_runtime(came, {"x": x})[0]) <= 1e-5
    assert off(run_by_reference(export_model(network, "float64"), {"x": x})[0], network(x)) <= 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_in_out_and_in_again_is_the_same_graph(name):
    model = export_model(imported(name))
    again = from_onnx(model)
    assert written(export_model(again)) == written(model)
    assert off(again(given(name)), imported(name)(given(name))) <= 1e-15


def test_a_network_is_fine_tuned_here_and_goes_out_again(tmp_path):
    network = imported("lenet")
    x, labels = given("lenet"), np.eye(10)[[3, 7]]
    (images,), (scores,) = network.inputs.values(), network.outputs.values()
    loss = softmax_cross_entropy(labels, scores)
    trainer = AdamTrainer(network.model, 0.01)
    images.value = x
    first = float(loss.forward())
    for _ in range(20):
        loss.forward()
        loss.backward()
        trainer.update()
    assert float(loss.forward()) < 0.2 * first
    path = to_onnx(network, tmp_path / "tuned.onnx")
    found = run_by_runtime(onnx.load(path), {"x": x})[0]
    assert off(found, network(x)) <= 1e-5
    assert [*found.argmax(1)] == [3, 7]


def test_a_dimension_that_came_open_leaves_open():
    """And what is known of its size alone, stays closed: here nothing is."""
    network = from_onnx(NETWORK)
    network(np.zeros((3, 1, 8, 8)))
    again = from_onnx(export_model(network))
    assert [each.extents for each in again.slots] == [("batch", 1, 8, 8)]
    assert [each.extents for each in again.content.outputs] == [("batch", 10)]
    x = pictures()[0][:7]
    assert off(again(x), network(x)) <= 1e-6
