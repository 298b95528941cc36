"""Graphs that are broken, hostile or beyond us: an error that names it, nothing enormous, and nothing half-built."""

import random

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")
pytest.importorskip("tensorboard")
resource = pytest.importorskip("resource")

from graphdefs import Drawn, Shape, Type  # noqa: E402
from tensorflow_cases import CASES, drawn  # noqa: E402
from test_tensorflow import function, lenet, mlp  # noqa: E402

from naive_graph import Graph  # noqa: E402
from naive_graph.errors import (  # noqa: E402
    ImportAttributeError,
    ImportModelError,
    NaiveGraphError,
    UnknownOperatorError,
)
from naive_graph.graph.node_factory import CURRENT  # noqa: E402
from naive_graph.interop import from_tensorflow  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_is_enormous_or_left_behind():
    """Three gigabytes more are refused by the system, and the graph is as it was."""
    before, (soft, hard) = (len(Graph.node_list), CURRENT.tables.scope_now), resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 3 * 2**30, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    assert (len(Graph.node_list), CURRENT.tables.scope_now) == before


def refused(graph, match, error=ImportModelError, **more):
    with pytest.raises(error, match=match) as caught:
        from_tensorflow(graph, **more)
    assert len(str(caught.value)) < 2000
    return caught.value


# --- files --------------------------------------------------------------------


def test_a_file_cut_off_anywhere_is_told_of_or_is_a_smaller_graph():
    data = mlp(batch=1).bytes
    for size in range(0, len(data), 7):
        try:
            from_tensorflow(data[:size])
        except NaiveGraphError as error:
            assert isinstance(error, ImportModelError), error


def test_a_file_with_a_wrong_byte_anywhere_is_told_of_or_read():
    data, chance = lenet().bytes, random.Random(0)
    for _ in range(400):
        wrong = bytearray(data)
        for _ in range(chance.choice([1, 1, 3])):
            wrong[chance.randrange(len(wrong))] = chance.randrange(256)
        try:
            from_tensorflow(bytes(wrong), shapes={"image": (1, 8, 8, 2)})
        except NaiveGraphError as error:
            assert isinstance(error, (ImportModelError, ValueError)), error


def test_what_is_no_graph_is_told_of(tmp_path):
    (tmp_path / "empty.pb").write_bytes(b"")
    (tmp_path / "text.pbtxt").write_text("node { nome: 3 }")
    (tmp_path / "deep.pbtxt").write_text("library { gradient { " * 5000)
    (tmp_path / "latin.pbtxt").write_bytes("node { name: 'é' }".encode("latin-1"))
    refused(tmp_path / "empty.pb", "no nodes")
    for name in ("text", "deep", "latin"):
        refused(tmp_path / f"{name}.pbtxt", "no GraphDef in text")
    refused(tmp_path / "missing.pb", "No such file")
    refused(tmp_path, "Cannot read")
    refused(b"\xff" * 100, "no GraphDef, or not all of one. A SavedModel")
    for wrong in (3, None, "a\0b"):
        refused(wrong, "path")


# --- nodes --------------------------------------------------------------------


def test_all_operators_that_are_missing_are_named_at_once():
    g = Drawn()
    x = g.placeholder((2,), "x")
    for op in ("Bessel", "While", "Bessel", "VarHandleOp"):
        x = g.node(op, x, name=f"{op}{len(g.graph.node)}")
    error = refused(g.graph, "Bessel.*VarHandleOp.*frozen.*While", UnknownOperatorError)
    assert str(error).count("Bessel") == 1


def test_names_that_lead_nowhere_or_are_taken_twice_are_told_of():
    g = Drawn()
    g.node("Neg", "nobody", name="y")
    refused(g.graph, "'nobody'")
    refused(mlp().graph, "Did you mean 'probabilities'", outputs="probabilties")
    refused(mlp().graph, "gives 1 results", outputs="probabilities:1", shapes={"x": (1, 4)})
    refused(mlp().graph, "names of nodes", outputs=3)
    refused(mlp().graph, "names nothing", outputs=[])
    twice = mlp()
    twice.node("Neg", "x", name="x")
    refused(twice.graph, "Two nodes are called 'x'")
    g = Drawn()
    g.placeholder((2,), "x")
    refused(g.graph, "no node that no other takes")
    g.node("Neg", "x:one", name="y")
    refused(g.graph, "not written")


def test_a_circle_is_written_out():
    g = Drawn()
    g.node("Neg", "c", name="a")
    g.node("Neg", "a", name="b")
    g.node("Neg", "b", name="c")
    g.node("Neg", "c", name="y")
    refused(g.graph, "circle: Neg 'a', Neg 'b', Neg 'c'")


def test_too_few_and_too_many_inputs_are_told_of():
    for count in (0, 1, 3):
        g = Drawn()
        g.node("Mul", *[g.placeholder((2,)) for _ in range(count)], name="y")
        refused(g.graph, "Mul 'y'")
    g = Drawn()
    g.placeholder((2,), "x")
    g.node("Reshape", "x", name="y")
    refused(g.graph, "Reshape 'y' has 1 inputs")
    g.graph.node[-1].input.append("x")
    refused(g.graph, "must be known")


# Attributes that change no value, or only beside another one.
HARMLESS = {"N", "shape", "use_cudnn_on_gpu", "exponential_avg_factor", "validate_indices", "sorted", "num_split",
            "grad_a", "grad_b", "grad_x", "grad_y", "explicit_paddings"}  # fmt: skip
WITH_ATTRIBUTES = [at for at, each in enumerate(CASES) if each[2].keys() - HARMLESS]


@pytest.mark.parametrize("at", WITH_ATTRIBUTES, ids=lambda at: f"{CASES[at][0]}-{at}")
def test_an_attribute_that_is_wrong_is_told_of_by_its_name(at):
    op, inputs, attributes, _ = CASES[at]
    for name in attributes.keys() - HARMLESS:
        for wrong in ("nonsense", 2**40, [1, 2], Type("f4")):
            graph, _ = drawn(op, inputs, {**attributes, name: wrong})
            try:
                from_tensorflow(graph)
            except ImportAttributeError as error:
                assert op in error.op and error.attr == name, (wrong, error)
            except ImportModelError as error:
                assert op in str(error), (wrong, error)
            else:
                assert name in ("alpha", "epsilon") and wrong == 2**40, (name, wrong)


def test_an_attribute_that_the_operator_does_not_have_is_told_of_and_private_ones_are_passed_over():
    g = Drawn()
    x = g.placeholder((2,), "x")
    g.node("Relu", x, name="y", T=Type("f8"), _output_shapes=[1], _class="loc")
    assert from_tensorflow(g.graph)(np.array([-1.0, 2.0])).tolist() == [0.0, 2.0]
    g.node("Relu", x, name="z", threshold=3.0)
    error = refused(g.graph, "threshold", ImportAttributeError)
    assert (error.attr, error.value) == ("threshold", 3.0)


def test_strides_along_the_batch_and_shapes_that_must_broadcast_are_refused():
    g = Drawn()
    x = g.placeholder((2, 4, 4, 1), "x")
    g.node("MaxPool", x, name="y", ksize=[1, 2, 2, 1], strides=[2, 1, 1, 1], padding="VALID")
    refused(g.graph, "strides.*rows and columns alone", ImportAttributeError)
    g = Drawn()
    g.node("Equal", g.placeholder((2,)), g.placeholder((2,)), name="y", incompatible_shape_error=False)
    refused(g.graph, "incompatible_shape_error", ImportAttributeError)


# --- sizes --------------------------------------------------------------------


def large(shape, values=(1.0,), content=b""):
    g = Drawn()
    g.const(np.zeros(()), "w")
    value = g.graph.node[0].attr["value"].tensor
    value.Clear()
    value.dtype = 2
    for extent in shape:
        value.tensor_shape.dim.add(size=extent)
    value.double_val.extend(values)
    value.tensor_content = content
    g.node("Neg", "w", name="y")
    return g.graph


def test_bytes_that_do_not_fit_a_shape_are_told_of_before_there_is_room_for_them():
    for shape in ((2**62,), (2**62, 2**62), (2**31, 2**31), (2**20, 2**20)):
        refused(large(shape), "Const 'w'")
        refused(large(shape, (), b"12345678"), "Const 'w'")
    refused(large((3,), (), b"1234567"), "Const 'w'")
    refused(large((3,), (1.0,) * 4), "Const 'w'")
    refused(large((-1,)), "not known")
    refused(large((1,) * 200), "Const 'w'")
    refused(large((0,), ()), "has entries")
    graph = large(())
    graph.node[0].attr["value"].tensor.dtype = 7
    refused(graph, "DT_STRING", ImportAttributeError)
    graph.node[0].attr["value"].tensor.dtype = 99
    refused(graph, "type 99", ImportAttributeError)
    del graph.node[0].attr["value"]
    refused(graph, "must be there", ImportAttributeError)


def whole(g, value):
    return g.const(np.asarray(value, "i8"))


HUGE = {
    "Placeholder": lambda g: g.placeholder((2**62,)),
    "Fill": lambda g: g.node("Fill", whole(g, [2**40]), g.const(1.0)),
    "Range": lambda g: g.node("Range", whole(g, 0), whole(g, 2**60), whole(g, 1)),
    "Tile": lambda g: g.node("Tile", g.placeholder((2,)), whole(g, [2**50])),
    "known Tile": lambda g: g.node("Tile", g.const(1.0, "c") and whole(g, [1, 2]), whole(g, [2**50])),
    "BroadcastTo": lambda g: g.node("BroadcastTo", g.placeholder((1,)), whole(g, [2**50])),
    "known BroadcastTo": lambda g: g.node("BroadcastTo", whole(g, [1]), whole(g, [2**50])),
    "Pad": lambda g: g.node("Pad", g.placeholder((2,)), whole(g, [[2**50, 2**50]])),
    "known Pad": lambda g: g.node("Pad", whole(g, [1]), whole(g, [[2**50, 0]])),
    "OneHot": lambda g: g.node("OneHot", whole(g, [1]), whole(g, 2**50), g.const(1.0), g.const(0.0)),
    "Add": lambda g: g.node("Add", g.placeholder((2**20, 1)), g.placeholder((2**20,))),
    "Unpack": lambda g: g.node("Unpack", g.placeholder((2**24,)), num=2**24),
    "Split": lambda g: g.node("Split", whole(g, 0), g.placeholder((2**24,)), num_split=2**24),
    "TopKV2": lambda g: g.node("TopKV2", g.placeholder((2**20,)), whole(g, 2)),
    "Cumsum": lambda g: g.node("Cumsum", g.placeholder((2**20,)), whole(g, 0)),
    "MatMul": lambda g: g.node("MatMul", g.placeholder((2**20, 1)), g.placeholder((1, 2**20))),
    "BatchToSpaceND": lambda g: g.node(
        "BatchToSpaceND", g.placeholder((2, 1, 1)), whole(g, [2**40]), whole(g, [[0, 0]])
    ),
    "Conv2D": lambda g: g.node(
        "Conv2D", g.placeholder((1, 2, 2, 1)), g.placeholder((1, 1, 1, 1)), strides=[1, 1, 1, 1], padding="EXPLICIT",
        explicit_paddings=[0, 0, 2**30, 2**30, 2**30, 2**30, 0, 0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", HUGE)
def test_a_tensor_that_would_be_enormous_is_refused(what):
    g = Drawn()
    made = HUGE[what](g)
    g.node("Identity", made, name="y")
    refused(g.graph, {"Placeholder": "Input 'placeholder1'"}.get(what, what.removeprefix("known ")))


def test_a_negative_extent_to_fill_is_called_so():
    g = Drawn()
    g.node("Identity", g.node("Fill", whole(g, [2, -3]), g.const(1.0)), name="y")
    refused(g.graph, r"fills the shape \(2, -3\): an extent cannot be negative")


# --- depth --------------------------------------------------------------------


def test_a_long_chain_is_read_and_computed():
    g = Drawn()
    x = g.placeholder((), "x")
    for _ in range(2_000):
        x = g.node("Neg", x)
    network = from_tensorflow(g.graph)
    assert network(np.array(3.0)) == 3.0 and len(network.nodes) == 2_001


def test_functions_that_nest_without_end_are_refused():
    for deep in (3_000, 1):
        g = Drawn()
        for at in range(deep):
            one = g.graph.library.function.add()
            one.signature.name = f"f{at}"
            one.signature.input_arg.add(name="x")
            one.signature.output_arg.add(name="y")
            one.node_def.add(name="g", op=f"f{(at + 1) % deep}", input=["x"])
            one.ret["y"] = "g:y:0"
        g.node("f0", g.placeholder((), "x"), name="call")
        refused(g.graph, "deep")


def test_functions_that_double_are_refused():
    g = Drawn()

    def both(inner):
        def body(node):
            node(inner, "x", name="a")
            node(inner, "a:y:0", name="b")
            yield ("y", "b:y:0")

        return body

    for at in range(60):
        function(g, f"f{at}", ["x"], ["y"], both(f"f{at + 1}" if at < 59 else "Neg"))
    g.node("f0", g.placeholder((), "x"), name="call")
    refused(g.graph, "100,000 nodes")


def test_a_name_that_grows_with_every_function_is_refused():
    g = Drawn()

    def body(node):
        node("inner", "x", name="n" * 3000)
        yield ("y", f"{'n' * 3000}:y:0")

    function(g, "inner", ["x"], ["y"], lambda node: [node("Neg", "x", name="y") and ("y", "y:y:0")])
    function(g, "outer", ["x"], ["y"], body)
    g.node("outer", g.placeholder((), "x"), name="call")
    refused(g.graph, "deep")


def test_a_call_that_does_not_fit_its_function_is_told_of():
    g = Drawn()
    function(g, "f", ["a", "b"], ["y"], lambda node: [("y", "a")])
    g.node("f", g.placeholder((), "x"), name="call")
    refused(g.graph, "gives 1 inputs to function 'f'")
    g.graph.node[-1].input.append("x")
    assert from_tensorflow(g.graph)(np.array(2.0)) == 2.0
    del g.graph.library.function[0].ret["y"]
    refused(g.graph, "'call/'|no node")


def test_names_of_thousands_of_slashes_are_read():
    g = Drawn()
    g.node("Neg", g.placeholder(Shape(()), "x"), name="a/" * 20_000 + "y")
    assert from_tensorflow(g.graph)(np.array(2.0)) == -2.0
