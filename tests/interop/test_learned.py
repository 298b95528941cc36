"""What a trainer moves of a network that comes in: weights of layers, and neither masks, angles, scales nor means."""

from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")
pytest.importorskip("tensorboard")

from graphdefs import Drawn  # noqa: E402
from onnx_models import INT64, mlp, model_of, node, stored  # noqa: E402

from naive_graph import AdamTrainer  # noqa: E402
from naive_graph.errors import ImportModelError  # noqa: E402
from naive_graph.interop import from_onnx, from_tensorflow  # noqa: E402

LLAMA = Path(__file__).parent / "networks" / "llama.onnx"
SIZES = {"W": (4, 4), "vector": (4,), "one": (1,), "table": (9, 4), "square": (4, 4), "row": (1, 4), "cls": (1, 4)}
# What is done with weights and x, of shape (4, 4), or with places p: and which of them are learned.
CASES = {
    "a dense layer": ("MatMul x W:h; Add h vector:y", "W vector"),
    "a dense layer of one": ("MatMul x W:h; Add h one:y", "W one"),
    "before a softmax": ("MatMul x W:h; Add h vector:a; Softmax a:y", "W vector"),
    "a mask": ("MatMul x W:h; Add h square:a; Softmax a:y", "W"),
    "places that are added": ("Add x square:a; MatMul a W:y", "square W"),
    "a scale": ("MatMul x W:h; Mul h one:y", "W"),
    "a small number": ("Add x one:y", ""),
    "gains": ("Mul x vector:y", "vector"),
    "cosines": ("Mul x square:y", ""),
    "an embedding": ("Gather table p:e; MatMul e W:y", "table W"),
    "an embedding that is scaled": ("Gather table p:e; Mul e one:s; MatMul s W:y", "table W"),
    "an embedding alone": ("Gather table p:e; Unsqueeze e axes:y", "table"),
    "cosines of places": ("Gather table p:e; Mul x e:y", ""),
    "angles": ("Cast p float:f; Mul f row:a; Cos a:y", ""),
    "an angle by a product": ("Cast p float:f; Unsqueeze f axes:g; MatMul g row:a; Sin a:y", ""),
    "a learned wave": ("MatMul x W:a; Add a vector:b; Sin b:y", "W vector"),
    "a turned weight": ("Transpose W:t; MatMul x t:y", "W"),
    "a weight with its own size": ("ReduceL2 W:n; Div W n:u; Mul u vector:v; MatMul x v:y", "W vector"),
    "means": ("Sqrt vector:d; Div row d:g; Mul x g:y", "row"),
    "a class token": ("Concat cls x:a; MatMul a W:y", "cls W"),
    "what is left out": ("Greater x square:c; Where c x W:y", ""),
    "through a change of type": ("Cast W double:w; Cast w float:v; MatMul x v:y", "W"),
}
KINDS = {"float": 1, "double": 11}


def steps_of(text):
    """Each operator, what it reads, and its result."""
    for part in text.split("; "):
        (op, *inputs), result = part.rpartition(":")[0].split(), part.rpartition(":")[2]
        yield op, inputs, result


def onnx_of(text):
    nodes, more = [], {"Concat": {"axis": 0}, "ReduceL2": {"keepdims": 1}}
    for op, inputs, result in steps_of(text):
        attributes = {"to": KINDS[inputs[1]]} if op == "Cast" else more.get(op, {})
        nodes.append(node(op, " ".join(inputs[:1] if op == "Cast" else inputs), result, **attributes))
    weights = [stored(name, np.full(shape, 0.5)) for name, shape in SIZES.items()]
    inputs = [("x", (4, 4)), ("p", (4,), INT64)]
    return model_of(nodes, inputs, [("y", None)], [*weights, stored("axes", [1], np.int64)], opset=18)


@pytest.mark.parametrize("what", CASES)
def test_weights_are_known_by_what_is_done_with_them(what):
    text, due = CASES[what]
    network = from_onnx(onnx_of(text))
    assert {*network.parameters} == {*due.split()}


TENSORFLOW = {"Add": "AddV2", "Gather": "GatherV2"}


@pytest.mark.parametrize("what", [each for each in CASES if "ReduceL2" not in CASES[each][0]])
def test_and_so_they_are_in_graphs_of_tensorflow(what):
    text, due = CASES[what]
    g = Drawn()
    g.placeholder((4, 4), "x", "f4")
    g.placeholder((4,), "p", "i8")
    for name, shape in SIZES.items():
        g.const(np.full(shape, 0.5, "f4"), name)
    g.const(np.array(0 if "Gather" in text or "Concat" in text else 1, "i4"), "axes")
    g.const(np.array([1, 0], "i4"), "perm")
    for op, inputs, result in steps_of(text):
        added = {"Gather": ["axes"], "Concat": ["axes"], "Transpose": ["perm"]}.get(op, [])
        kinds = {"DstT": KINDS[inputs.pop()]} if op == "Cast" else {}
        name = {"Unsqueeze": "ExpandDims", "Concat": "ConcatV2", "Where": "SelectV2"}.get(op, TENSORFLOW.get(op, op))
        g.node(name, *inputs, *added, name=result)
        for key, number in kinds.items():
            g.graph.node[-1].attr[key].type = {1: 1, 11: 2}[number]
    assert {*from_tensorflow(g.graph, outputs="y").parameters} == {*due.split()}


def test_a_llama_learns_what_it_learns_in_pytorch_and_its_angles_stay():
    network = from_onnx(LLAMA, sizes={"batch": 2})
    assert sum(each.size for each in network.parameters.values()) == 2_208  # as PyTorch counts
    held = {each.name: each.value.copy() for each in leaves(network)}
    assert {*held} - {*network.parameters} >= {"cos", "sin", "mask", "scale"}
    (x,), (y,) = network.inputs.values(), network.outputs.values()
    x.value = np.random.default_rng(1).normal(size=x.shape)
    trainer, loss = AdamTrainer(network.model, 0.01), (y * y).sum()
    first = float(loss.forward())
    for _ in range(30):
        loss.forward()
        loss.backward()
        trainer.update()
    assert float(loss.forward()) < 0.5 * first
    for each in leaves(network):
        assert np.array_equal(each.value, held[each.name]) == (each.name not in network.parameters)


def leaves(network):
    """The weights that the network's nodes read."""
    return {each: None for node in network.graph.inner for each in node.sources if each.name in network.weights}


def test_what_pytorch_says_in_a_file_counts_more():
    model = mlp(2)
    for name, word in (("W1", "BUFFER"), ("b1", "PARAMETER")):
        value = model.graph.value_info.add(name=name)
        value.metadata_props.add(key="pkg.torch.export.graph_signature.InputSpec.kind", value=word)
    assert [*from_onnx(model).parameters] == ["b1", "W2", "b2"]


def test_a_caller_says_which_weights_are_learned():
    assert [*from_onnx(mlp(2), parameters=["W2"]).parameters] == ["W2"]
    assert [*from_onnx(mlp(2), parameters="b1").parameters] == ["b1"] and not from_onnx(
        mlp(2), parameters=()
    ).parameters
    for wrong, said in (
        (["W22"], "Did you mean 'W2'"),
        (["x"], "no weight 'x'"),
        (3, "names of weights"),
        ([3], "not"),
    ):
        with pytest.raises(ImportModelError, match=said):
            from_onnx(mlp(2), parameters=wrong)


def test_a_part_of_a_network_lies_between_the_values_that_are_named():
    network, x = from_onnx(mlp(2)), np.random.default_rng(2).normal(size=(2, 3))
    whole, hidden = network(x), network.nodes["first"].eval()
    tail = from_onnx(mlp(2), inputs="h")
    assert [each.name for each in tail.slots] == ["h"] and np.array_equal(tail(hidden), whole)
    assert [*tail.parameters] == ["W2", "b2"]
    head = from_onnx(mlp(2), outputs=["h", "a"])
    assert np.array_equal(head(x)["h"], hidden) and [*head.parameters] == ["W1", "b1"]
    middle = from_onnx(mlp(2), inputs=["h"], outputs="a")
    assert np.array_equal(middle(hidden), np.maximum(hidden, 0.0)) and not middle.parameters
    for what in ({"inputs": "q"}, {"outputs": ["q"]}, {"inputs": 3}, {"inputs": "W1"}):
        with pytest.raises(ImportModelError, match=r"inputs|outputs"):
            from_onnx(mlp(2), **what)


def test_what_is_not_asked_for_may_be_unknown():
    model = mlp(2)
    model.graph.node.add(op_type="NonMaxSuppression", input=["y"], output=["z"])
    model.graph.output.add(name="z").type.tensor_type.elem_type = 1
    assert from_onnx(model, outputs="y")(np.ones((2, 3))).shape == (2, 2)


def test_a_convolution_along_one_axis_has_one_bias():
    weights = [stored("0.weight", np.ones((2, 1, 3))), stored("0.bias", np.ones(2))]
    network = from_onnx(model_of([node("Conv", "x 0.weight 0.bias", "y")], [("x", (1, 1, 5))], [("y", None)], weights))
    assert [*network.parameters] == ["0.weight", "0.bias"]


def test_a_summary_lists_what_is_learned_and_what_is_not():
    said = from_onnx(LLAMA).summary()
    rows = {line.split()[0]: line.split()[-1] for line in said.split("\n\n")[-1].splitlines()[1:]}
    assert rows["cos"] == rows["mask"] == rows["scale"] == "constant" and rows["first.weight"] == "parameter"
    assert "; 2,208 are parameters" in said
    frozen = from_tensorflow(Path(__file__).parent / "keras" / "mlp.pb").summary()
    assert "MatMul" in frozen and "parameter" in frozen and frozen.splitlines()[0].startswith("mlp: ")
