"""A network that came in is saved and loaded, trained and handed on, whichever framework it came from."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")
pytest.importorskip("onnxruntime")
pytest.importorskip("tensorboard")

from onnx_models import INT64, mlp, model_of, node, stored  # noqa: E402
from test_onnx_out import off, run_by_runtime  # noqa: E402

from naive_graph import AdamTrainer, fit, gradients  # noqa: E402
from naive_graph.errors import TrainingError  # noqa: E402
from naive_graph.interop import from_onnx, from_tensorflow  # noqa: E402
from naive_graph.interop.onnx.export import export_model  # noqa: E402

FOLDER = Path(__file__).parent
FILES = {
    **{each.stem: each for each in sorted((FOLDER / "networks").glob("*.onnx"))},
    **{f"keras/{each.stem}": each for each in sorted((FOLDER / "keras").glob("*.pb"))},
}


def imported(name, **more):
    return (from_tensorflow if FILES[name].suffix == ".pb" else from_onnx)(FILES[name], **more)


def arrays_for(network, open_=2):
    """An array for each input; whole numbers where these are due."""
    random = np.random.default_rng(7)
    shapes = [[each if isinstance(each, int) else open_ for each in slot.extents] for slot in network.slots]
    return [
        random.integers(0, 4, shape) if network.dtype(slot).kind == "i" else random.normal(size=shape)
        for slot, shape in zip(network.slots, shapes)
    ]


@pytest.mark.parametrize("name", FILES)
def test_weights_are_saved_and_loaded(name, tmp_path):
    network, again = imported(name), imported(name)
    given = arrays_for(network)
    due = network(*given)
    trainer = AdamTrainer(network.model, 0.01)
    (y,) = network.outputs.values()
    (y * y).sum().backward()
    trainer.update()
    path = network.model.save(tmp_path / "weights.npz")
    assert np.array_equal(again(*given), due) and not np.array_equal(network(*given), due)
    again.model.load(path)
    assert np.array_equal(again(*given), network(*given))


@pytest.mark.parametrize("name", FILES)
def test_a_network_is_fitted_whichever_framework_it_came_from(name):
    network = imported(name)
    whole = arrays_for(network, 4)
    samples = [*zip(*whole)]
    if len({len(each) for each in whole}) > 1 or len(samples) != 4:
        samples = [tuple(whole)]  # its first axis is no batch

    def loss_of(chosen):
        network(*(whole if len(samples) == 1 else map(np.stack, zip(*chosen))))
        (y,) = network.outputs.values()
        loss = (y * y).mean()
        losses.append(float(loss.eval()))
        return loss

    losses = []
    before = {key: each.value.copy() for key, each in network.parameters.items()}
    fit(AdamTrainer(network.model, 0.001), loss_of, samples, epochs=3, batch_size=4)
    assert losses[-1] < losses[0]
    assert any((each.value != before[key]).any() for key, each in network.parameters.items())


@pytest.mark.parametrize(
    "name", ["/fc/weight", "a.b.c", "..", "a\\b", "50%", "%2F", "onnx::MatMul_3", "w\n", "µ/ß", "more/w"]
)
def test_any_name_of_a_weight_is_a_name_in_a_file(name, tmp_path):
    def made():
        model = model_of([node("MatMul", "x w", "y")], [("x", (2, 2))], [("y", None)], [stored("w", np.ones((2, 2)))])
        model.graph.initializer[0].name = model.graph.node[0].input[1] = name
        return from_onnx(model)

    one, other = made(), made()
    one.model[name].values = [[1.0, 2.0], [3.0, 4.0]]
    other.model.load(one.model.save(tmp_path / "weights.npz"))
    assert other.parameters[name].value.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_a_file_of_other_weights_is_refused_by_their_names(tmp_path):
    path = from_onnx(mlp(2)).model.save(tmp_path / "weights.npz")
    with pytest.raises(TrainingError, match="dense_1_1/BiasAdd"):
        imported("keras/mlp", shapes={"x": (2, 5)}).model.load(path)


# --- handed on ----------------------------------------------------------------


def open_names(model):
    return {dim.dim_param for each in model.graph.input for dim in each.type.tensor_type.shape.dim if dim.dim_param}


@pytest.mark.parametrize("name", FILES)
def test_a_network_leaves_with_its_open_sizes_open_and_a_runtime_takes_it_for_every_size(name):
    network = imported(name)
    network(*arrays_for(network, 4))
    model = export_model(network)
    onnx.checker.check_model(model, full_check=True)
    assert open_names(model) == {each for slot in network.slots for each in slot.extents if isinstance(each, str)}
    for open_ in (3, 1):
        given = arrays_for(network, open_)
        values = dict(zip((each.name for each in model.graph.input), given))
        assert off(run_by_runtime(model, values)[0], network(*given)) <= 1e-5


@pytest.mark.parametrize("name", FILES)
def test_out_and_in_and_out_is_the_same_file(name):
    network = imported(name)
    model = export_model(network)
    assert {*from_onnx(model).content.learned} == {*network.weights.parameters}
    if FILES[name].suffix == ".pb":  # -1 in a shape, as one file says it and the other does not
        model = export_model(from_onnx(model))
    again = from_onnx(model)
    assert onnx.printer.to_text(export_model(again)) == onnx.printer.to_text(model)
    given = arrays_for(again)
    assert off(again(*given), network(*given)) <= 1e-6


def with_gradients(network):
    """The outputs of a network, and the gradient of their squares by each parameter."""
    (y,) = network.outputs.values()
    slopes = gradients((y * y).sum(), [*network.parameters.values()])
    return {"y": y, **{f"d/{name}": each for name, each in zip(network.parameters, slopes)}}


@pytest.mark.parametrize("name", ["lenet", "llama", "keras/gru"])
def test_gradients_leave_and_come_back_with_what_they_are_gradients_of(name):
    network = imported(name)
    given = arrays_for(network)
    network(*given)
    what = with_gradients(network)
    model = export_model(what, "float64")
    again = from_onnx(model)
    once = export_model(again, "float64")  # in which what is known, as the 1 that a sweep begins with, is computed
    assert onnx.printer.to_text(export_model(from_onnx(once), "float64")) == onnx.printer.to_text(once)
    found = again(**dict(zip((each.name for each in network.slots), given)))
    for key, due in what.items():
        assert np.allclose(found[key], due.eval(), rtol=1e-12, atol=1e-12)


def test_what_is_held_in_a_derivative_is_held_when_it_comes_back():
    network, again = imported("keras/transformer"), from_onnx(export_model(imported("keras/transformer"), "float64"))
    slopes = []
    for each in (network, again):
        each(*arrays_for(network))
        (y,) = each.outputs.values()
        (y * y).sum().backward()
        slopes.append({name: leaf.gradient() for name, leaf in each.parameters.items()})
    for name, found in slopes[1].items():
        assert np.allclose(found, slopes[0][name], rtol=0, atol=1e-12)


def test_whole_numbers_and_truth_values_are_asked_for_as_they_were():
    nodes = [node("Cast", "n", "a", to=1), node("Cast", "m", "b", to=1), node("Cast", "t", "c", to=1),
             node("Sum", "a b c", "y")]  # fmt: skip
    kinds = {"n": INT64, "m": onnx.TensorProto.INT32, "t": onnx.TensorProto.BOOL}
    network = from_onnx(model_of(nodes, [(name, ("k",), kind) for name, kind in kinds.items()], [("y", None)]))
    model = export_model(network)
    assert {each.name: each.type.tensor_type.elem_type for each in model.graph.input} == kinds
    assert {each.extents for each in from_onnx(model).slots} == {("k",)}
    values = {"n": np.array([1, 2]), "m": np.array([3, 4], np.int32), "t": np.array([True, False])}
    assert run_by_runtime(model, values)[0].tolist() == [5.0, 6.0] == network(**values).tolist()


@pytest.mark.parametrize(("nodes", "shape"), [
    ("h = Shape(x)  b = Gather(h, zero)  c = Cast<to=1>(b)  y = Mul(x, c)", ("n", 3)),  # the size as a number
    ("y = Reshape(x, flat)", ("n", "m")),  # a product of sizes
])  # fmt: skip
def test_a_size_that_is_used_as_a_number_stays_closed_or_open_but_never_wrong(nodes, shape):
    extents = ",".join(map(str, shape))
    text = f"""<ir_version: 8, opset_import: ["": 17]> g (float[{extents}] x) => (float[?] y)
               <int64 zero = {{0}}, int64[1] flat = {{-1}}> {{ {nodes} }}"""
    text = text.replace("(float[?] y)", "(float y)").replace("  ", "\n")
    network = from_onnx(onnx.parser.parse_model(text))
    network(np.ones((4, 3)))
    model = export_model(network)
    for rows in {4} | ({7, 1} if open_names(model) else set()):
        x = np.random.default_rng(rows).normal(size=(rows, 3))
        assert off(run_by_runtime(model, {"x": x})[0], network(x)) <= 1e-6
