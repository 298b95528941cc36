"""Frozen graphs of TensorFlow: networks beside NumPy, names, functions, shapes, text; and training goes on."""

import warnings
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")
pytest.importorskip("tensorboard")

from graphdefs import Drawn, Shape, Type  # noqa: E402
from tensorflow_cases import convolved, largest, softmax  # noqa: E402

from naive_graph import Graph, History, draw, gradcheck, lower  # noqa: E402
from naive_graph.errors import FeedError, ImportModelError, StaleNodeError, UnknownOperatorError  # noqa: E402
from naive_graph.interop import from_tensorflow  # noqa: E402
from naive_graph.interop.tensorflow.building import TensorFlowBuilder  # noqa: E402

random, KERAS = np.random.default_rng(5), Path(__file__).parent / "keras"


def mlp(batch=-1, kind="f4"):
    """Two dense layers, as a frozen graph writes them: each weight a Const, read through an Identity."""
    g = Drawn()
    x = g.placeholder((batch, 4), "x", kind)
    for layer, (rows, columns) in (("hidden", (4, 5)), ("top", (5, 3))):
        for name, shape in (("kernel", (rows, columns)), ("bias", (columns,))):
            g.const(random.normal(size=shape).astype(kind), f"{layer}/{name}")
            g.node("Identity", f"{layer}/{name}", name=f"{layer}/{name}/read")
        g.node("MatMul", x, f"{layer}/kernel/read", name=f"{layer}/MatMul", transpose_a=False, transpose_b=False)
        x = g.node("BiasAdd", f"{layer}/MatMul", f"{layer}/bias/read", name=f"{layer}/BiasAdd")
        if layer == "hidden":
            x = g.node("Relu", x, name="hidden/Relu")
    g.node("Softmax", x, name="probabilities")
    return g


def weights(drawn):
    """The arrays of a graph's Consts, by name."""
    found = {}
    for node in drawn.graph.node:
        if node.op == "Const":
            value = node.attr["value"].tensor
            kind = {1: "f4", 2: "f8", 3: "i4", 19: "f2"}[value.dtype]
            shape = [each.size for each in value.tensor_shape.dim]
            found[node.name] = np.frombuffer(value.tensor_content, kind).reshape(shape)
    return found


def mlp_by_numpy(x, w):
    hidden = np.maximum(x @ w["hidden/kernel"] + w["hidden/bias"], 0)
    return softmax(hidden @ w["top/kernel"] + w["top/bias"])


@pytest.mark.parametrize("kind", ["f8", "f4", "f2"])
def test_an_mlp_gives_the_numbers_of_numpy_for_every_batch(kind):
    drawn = mlp(kind=kind)
    network = from_tensorflow(drawn.bytes)
    w = {name: each.astype(float) for name, each in weights(drawn).items()}
    for batch in (1, 3, 2, 3):
        x = random.normal(size=(batch, 4))
        assert np.allclose(network(x), mlp_by_numpy(x, w), rtol=0, atol=1e-14)
    assert network.inputs["x"].shape == (3, 4) and network.outputs["probabilities"].shape == (3, 3)
    assert {name: each.shape for name, each in network.parameters.items()} == {
        "hidden/kernel": (4, 5), "hidden/bias": (5,), "top/kernel": (5, 3), "top/bias": (3,),
    }  # fmt: skip


def lenet(data_format="NHWC"):
    """Convolution, pooling, the shape of a batch asked for, and a dense layer."""
    g, first = Drawn(), data_format == "NCHW"
    x = g.placeholder((-1, 2, 8, 8) if first else (-1, 8, 8, 2), "image")
    g.const(random.normal(size=(3, 3, 2, 4)), "conv/kernel")
    g.const(random.normal(size=4), "conv/bias")
    g.const(random.normal(size=(36, 3)), "dense/kernel")
    strides, window = ([1, 1, 1, 1], [1, 1, 2, 2] if first else [1, 2, 2, 1])
    g.node("Conv2D", x, "conv/kernel", name="conv/Conv2D", strides=strides, padding="VALID", data_format=data_format)
    g.node("BiasAdd", "conv/Conv2D", "conv/bias", name="conv/BiasAdd", data_format=data_format)
    g.node("Relu", "conv/BiasAdd", name="conv/Relu")
    g.node("MaxPool", "conv/Relu", name="pool", ksize=window, strides=window, padding="VALID", data_format=data_format)
    g.node("Shape", "pool", name="flat/Shape")
    for name, value in (("begin", [0]), ("end", [1]), ("step", [1])):
        g.const(np.array(value, "i4"), f"flat/{name}")
    g.node("StridedSlice", "flat/Shape", "flat/begin", "flat/end", "flat/step", name="flat/batch", shrink_axis_mask=1)
    g.const(np.array(-1, "i4"), "flat/rest")
    g.node("Pack", "flat/batch", "flat/rest", name="flat/shape", N=2)
    g.node("Reshape", "pool", "flat/shape", name="flat/Reshape")
    g.node("MatMul", "flat/Reshape", "dense/kernel", "^pool", name="scores")
    return g


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_a_convolutional_network_gives_the_numbers_of_numpy(data_format):
    drawn = lenet(data_format)
    network, w = from_tensorflow(drawn.graph), weights(drawn)
    for batch in (2, 1):
        image = random.normal(size=(batch, 8, 8, 2))
        pooled = largest(np.maximum(convolved(image, w["conv/kernel"]) + w["conv/bias"], 0))
        turned = pooled.transpose(0, 3, 1, 2) if data_format == "NCHW" else pooled
        due = turned.reshape(batch, -1) @ w["dense/kernel"]
        found = network(image.transpose(0, 3, 1, 2) if data_format == "NCHW" else image)
        assert np.allclose(found, due, rtol=0, atol=1e-12)


def test_a_network_can_be_looked_at_differentiated_and_lowered():
    network = from_tensorflow(mlp(batch=1).bytes)
    network.inputs["x"].value = random.normal(size=(1, 4))
    y = network.outputs["probabilities"]
    assert y.inner("hidden/MatMul") is network.nodes["hidden/MatMul"]
    assert network.nodes["hidden/MatMul"].operator.name == "matmul"
    assert network.nodes["hidden/kernel/read"] is network.nodes["hidden/kernel"] is network.parameters["hidden/kernel"]
    assert {box.lines[0].partition(":")[0] for box in draw(y, fold=True).scene.boxes if box.kind == "scope"} >= {
        "hidden",
        "top",
    }
    assert gradcheck((y * y).sum())
    with Graph.scratch():
        network = from_tensorflow(mlp(batch=1).bytes)
        network.inputs["x"].value = np.ones((1, 4))
        scalars = lower(network.outputs["probabilities"])
        Graph.forward()
        assert abs(sum(scalars[0, each].value for each in range(3)) - 1.0) < 1e-12


def test_text_and_bytes_and_a_file_of_either_are_one_graph(tmp_path):
    from google.protobuf import text_format

    drawn, x = mlp(), random.normal(size=(2, 4))
    (tmp_path / "graph.pb").write_bytes(drawn.bytes)
    (tmp_path / "graph.pbtxt").write_text(text_format.MessageToString(drawn.graph))
    for source in (drawn.bytes, drawn.graph, tmp_path / "graph.pb", str(tmp_path / "graph.pbtxt")):
        assert np.array_equal(from_tensorflow(source)(x), from_tensorflow(drawn.graph)(x))


def test_values_listed_one_by_one_or_once_for_all_are_read():
    g = Drawn()
    g.const(np.zeros((2, 3), "f4"), "w")
    value = g.graph.node[0].attr["value"].tensor
    value.tensor_content = b""
    value.float_val.extend([1.0, 2.0])
    g.node("Neg", "w", name="y")
    assert from_tensorflow(g.graph)().tolist() == [[-1.0, -2.0, -2.0], [-2.0, -2.0, -2.0]]
    for kind, values in ((14, [0x3FC0]), (19, [0x3E00])):  # 1.5 as bfloat16 and as float16
        value.Clear()
        value.dtype = kind
        value.half_val.extend(values)
        value.tensor_shape.dim.add(size=2)
        assert from_tensorflow(g.graph)().tolist() == [-1.5, -1.5]


def test_results_are_named_by_their_place():
    g = Drawn()
    x = g.placeholder((4,), "x")
    g.const(np.array(0, "i4"), "axis")
    g.node("Split", "axis", x, name="halves", num_split=2)
    g.node("Sub", "halves:1", "halves", name="y")
    x = np.array([1.0, 2.0, 5.0, 9.0])
    assert from_tensorflow(g.graph)(x).tolist() == [4.0, 7.0]
    found = from_tensorflow(g.graph, outputs=["halves:1", "halves"])(x)
    assert {name: each.tolist() for name, each in found.items()} == {"halves:1": [5.0, 9.0], "halves": [1.0, 2.0]}
    assert len(from_tensorflow(g.graph).nodes["halves"]) == 2


def test_what_an_output_does_not_need_is_not_looked_at():
    g = mlp()
    g.node("SaveV2", "hidden/kernel", name="save")
    g.node("NoOp", "^save", name="init")
    with pytest.raises(UnknownOperatorError, match="SaveV2"):
        from_tensorflow(g.graph)
    assert from_tensorflow(g.graph, outputs="probabilities")(np.ones((1, 4))).shape == (1, 3)


def test_a_node_that_is_given_is_not_computed():
    g = mlp()
    whole, x = from_tensorflow(g.graph, outputs=["hidden/Relu", "probabilities"]), np.ones((2, 4))
    both = whole(x)
    rest = from_tensorflow(g.graph, inputs="hidden/Relu", outputs="probabilities")
    np.testing.assert_array_equal(rest(both["hidden/Relu"]), both["probabilities"])
    assert [*rest.inputs] == ["hidden/Relu"] and rest.content.slots[0].extents is None
    with pytest.raises(ImportModelError, match=r"no node 'hidden/Rel' in this graph\. Did you mean 'hidden/Relu'"):
        from_tensorflow(g.graph, inputs=["hidden/Rel"])


def test_consts_of_floats_with_an_axis_are_learned_or_those_that_are_named():
    g = Drawn()
    x = g.placeholder((1, 2, 2, 3), "x")
    for name in ("scale", "offset", "mean", "variance"):
        g.const(np.full(3, 0.5), name)
    g.node("Identity", "mean", name="mean/read")
    g.node("FusedBatchNormV3", x, "scale", "offset", "mean/read", "variance", name="norm", is_training=False)
    g.const(np.array(2.0), "two")
    g.node("Mul", "norm", "two", name="y")
    assert [*from_tensorflow(g.graph).parameters] == ["scale", "offset"]
    assert [*from_tensorflow(g.graph, parameters=["offset"]).parameters] == ["offset"]
    for wrong in (["two"], ["x"], "nothing", 3, [3]):
        with pytest.raises(ImportModelError):
            from_tensorflow(g.graph, parameters=wrong)


# --- functions ----------------------------------------------------------------


def function(g, name, arguments, results, body):
    """Add a function to a graph; body draws its nodes and gives what each result is."""
    made = g.graph.library.function.add()
    made.signature.name = name
    for each in arguments:
        made.signature.input_arg.add(name=each)
    for each in results:
        made.signature.output_arg.add(name=each)

    def node(op, *inputs, **more):
        return g.node(op, *inputs, into=made.node_def, **more)

    for key, value in body(node):
        made.ret[key] = value
    return made


def test_functions_are_unfolded_where_they_are_called():
    g = Drawn()

    def best(node):
        node("Const", name="two")
        node("TopKV2", "a", "two:output:0", name="top")
        node("Neg", "top:indices:0", name="places")
        yield from (("values", "top:values:0"), ("places", "places:y:0"))

    made = function(g, "best", ["a"], ["values", "places"], best)
    two = Drawn()
    two.const(np.array(2, "i4"))
    made.node_def[0].CopyFrom(two.graph.node[0])
    made.node_def[0].name = "two"

    def twice(node):
        node("best", "x", name="inner")
        node("Add", "inner:values:0", "inner:places:0", name="sum")
        yield ("y", "sum:z:0")

    function(g, "twice", ["x"], ["y"], twice)
    x = g.placeholder((4,), "x")
    g.node("twice", x, name="call")
    g.node("Relu", "call", name="y")
    network = from_tensorflow(g.graph)
    assert network(np.array([3.0, 7.0, 5.0, 1.0])).tolist() == [6.0, 3.0]
    assert network.nodes["call/inner/top"][0].operator.name == "top_k"
    call = g.graph.node[-2]
    call.op = "PartitionedCall"
    call.attr["f"].func.name = "twice"
    assert from_tensorflow(g.graph)(np.array([3.0, 7.0, 5.0, 1.0])).tolist() == [6.0, 3.0]


# --- shapes, types ------------------------------------------------------------


def test_shapes_are_said_by_the_file_by_the_caller_or_by_the_arrays():
    g = Drawn()
    g.node("Placeholder", name="x", dtype=Type("f4"))
    g.node("Shape", "x", name="shape")
    g.node("Cast", "shape", name="extents", SrcT=Type("i4"), DstT=Type("f4"))
    g.node("Mul", "x", "extents", name="y")
    open_, said = from_tensorflow(g.graph), from_tensorflow(g.graph, shapes={"x": (3, 2)})
    with pytest.raises(ImportModelError, match=r"shapes=\{'x'"):
        open_.inputs
    assert said.inputs["x"].shape == (3, 2)
    with pytest.raises(ImportModelError, match=r"Mul 'y'.*broadcast"):
        from_tensorflow(g.graph, shapes={"x": (2, 3)})
    assert open_(np.ones((3, 2))).tolist() == [[3.0, 2.0]] * 3
    for wrong in ({"y": (1,)}, {"x": (0,)}, {"x": "no"}, 3):
        with pytest.raises((ImportModelError, ValueError, TypeError)):
            from_tensorflow(g.graph, shapes=wrong)
    with pytest.raises(ImportModelError, match="in the file"):
        from_tensorflow(mlp().graph, shapes={"x": (1, 9)})
    with pytest.raises(FeedError):
        from_tensorflow(mlp().graph)(np.ones((1, 9)))


def test_arithmetic_with_shapes_is_done_in_whole_numbers():
    g = Drawn()
    g.placeholder((7, 4), "x")
    g.node("Shape", "x", name="shape")
    for name, value in (("3", 3), ("0", [0]), ("none", []), ("axis", 0), ("1", 1)):
        g.const(np.array(value, "i4"), name)
    g.node("GatherV2", "shape", "0", "axis", name="rows")
    g.node("FloorDiv", "rows", "3", name="thirds")
    g.node("FloorMod", "rows", "3", name="rest")
    g.node("Prod", "none", "axis", name="one")
    g.node("Maximum", "rest", "one", name="most")
    g.node("ConcatV2", "thirds", "none", "most", "axis", name="sizes", N=3)
    g.node("Range", "axis", "3", "1", name="range")
    g.node("Fill", "sizes", "3", name="filled")
    for name in ("sizes", "range", "filled"):
        found = from_tensorflow(g.graph, outputs=name)
        assert found(*[np.ones((7, 4))] * len(found.inputs)).tolist() == {
            "sizes": [2.0, 1.0], "range": [0.0, 1.0, 2.0], "filled": [[3.0], [3.0]],
        }[name]  # fmt: skip


def test_whole_numbers_stay_whole_whatever_is_done_with_them():
    g = Drawn()
    g.placeholder((2,), "x")
    g.node("Cast", "x", name="truth", DstT=Type("b1"))
    g.node("Cast", "truth", name="count", SrcT=Type("b1"), DstT=Type("i4"))
    g.node("Cast", "count", name="y", DstT=Type("f4"))
    assert from_tensorflow(g.graph)(np.array([0.0, -2.5])).tolist() == [0.0, 1.0]
    g.placeholder((5,), "i", "i4")
    g.const(np.array(2, "i4"), "two")
    g.const(np.array([0], "i4"), "axis")
    for op, name in (("Div", "d"), ("TruncateDiv", "t"), ("FloorDiv", "f"), ("FloorMod", "m"), ("Mod", "r")):
        g.node(op, "i", "two", name=name, T=Type("i4"))
    g.node("Pow", "two", "i", name="p", T=Type("i4"))
    g.node("Mean", "i", "axis", name="mean", keep_dims=False, T=Type("i4"))
    g.node("Cast", "x", name="rounded", DstT=Type("i4"))
    whole = np.array([-7, -2, 0, 5, 9])
    network = from_tensorflow(g.graph, outputs=[*"dtfmrp", "mean", "rounded"])
    found = {name: array.tolist() for name, array in network(x=[1.7, -1.7], i=whole).items()}
    assert found == {
        "d": [-3, -1, 0, 2, 4], "t": [-3, -1, 0, 2, 4], "f": [-4, -1, 0, 2, 4], "m": [1, 0, 0, 1, 1],
        "r": [-1, 0, 0, 1, 1], "p": [0, 0, 1, 32, 512], "mean": 1.0, "rounded": [1, -1],
    }  # fmt: skip


@pytest.mark.parametrize("count", [3, 7, 49, 93])
def test_the_mean_of_equal_whole_numbers_is_that_number(count):
    g = Drawn()
    g.placeholder((count,), "i", "i8")
    g.const(np.array([0], "i4"), "axis")
    g.node("Mean", "i", "axis", name="mean", keep_dims=False, T=Type("i8"))
    assert from_tensorflow(g.graph)(np.ones(count)) == 1


def test_without_outputs_all_parts_of_a_node_are_given():
    g = Drawn()
    g.placeholder((4,), "x")
    g.const(np.array([1, 0, 2, 0], "i4"), "places")
    g.node("DynamicPartition", "x", "places", name="p", num_partitions=3)
    found = from_tensorflow(g.graph)([1.0, 2.0, 3.0, 4.0])
    assert {name: array.tolist() for name, array in found.items()} == {"p": [2.0, 4.0], "p:1": [1.0], "p:2": [3.0]}


def test_reading_leaves_the_learners_scope_as_it_was_and_gives_no_warning():
    from naive_graph.graph.node_factory import CURRENT

    before = CURRENT.tables.scope_now
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        from_tensorflow(mlp(batch=1).bytes)
    assert CURRENT.tables.scope_now is before


def test_a_small_placeholder_shape_is_a_single_number():
    g = Drawn()
    g.placeholder((), "x")
    g.node("Exp", "x", name="y")
    assert from_tensorflow(g.graph)(np.array(0.0)) == 1.0 and Shape(()) == ()


# --- what TensorFlow itself wrote (see keras_networks.py) ---------------------


@pytest.mark.parametrize("name", ["cnn", "mlp", "transformer", "gru"])
def test_a_network_of_keras_gives_the_numbers_of_tensorflow_and_the_right_gradients(name):
    saved = np.load(KERAS / f"{name}.npz")
    network = from_tensorflow(KERAS / f"{name}.pb")
    found = network(saved["x"])
    assert found.shape == saved["y"].shape and np.max(abs(found - saved["y"])) <= 2e-6 * np.max(abs(saved["y"]))
    y = next(iter(network.outputs.values()))
    assert gradcheck((y * random.normal(size=y.shape)).sum(), max_per_param=3)
    assert network(saved["x"][:1]).shape[0] == 1


def test_a_network_stands_in_tensorboard_by_its_own_names(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    network = from_tensorflow(mlp(batch=1).bytes)
    History().to_tensorboard(tmp_path, graph=list(network.outputs.values()))
    found = EventAccumulator(str(tmp_path))
    found.Reload()
    names = {each.name for each in found.Graph().node}
    assert {"x", "hidden/kernel", "hidden/MatMul", "hidden/Relu", "top/MatMul", "probabilities/probabilities"} <= names
    assert not any("hidden/hidden" in each for each in names)


def test_a_graph_that_is_begun_anew_while_a_file_is_read_is_not_the_files_fault(monkeypatch):
    real = TensorFlowBuilder.by_row
    monkeypatch.setattr(TensorFlowBuilder, "by_row", lambda builder, step: (Graph.renew(), real(builder, step))[1])
    with pytest.raises(StaleNodeError):
        from_tensorflow(mlp().bytes)(x=np.ones((1, 4)))
