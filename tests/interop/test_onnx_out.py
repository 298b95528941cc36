"""What leaves as ONNX is accepted by its checker, and computes the same elsewhere; what comes back is the same."""

import math
from functools import reduce

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")
runtime = pytest.importorskip("onnxruntime")

from onnx.reference import ReferenceEvaluator  # noqa: E402
from onnx.reference.op_run import OpRun  # noqa: E402

import naive_graph as ng  # noqa: E402
from naive_graph import Graph, LeafNode, Model, operators, scope  # noqa: E402
from naive_graph.errors import ExportError, ImportModelError  # noqa: E402
from naive_graph.interop import to_onnx  # noqa: E402
from naive_graph.interop.onnx import from_onnx  # noqa: E402
from naive_graph.interop.onnx.export import export_model  # noqa: E402
from naive_graph.tensor import LeafType, tensor_operator  # noqa: E402
from naive_graph.tensor.operators.check import ExampleCall  # noqa: E402
from naive_graph.tensor.operators.examples import example as like  # noqa: E402
from naive_graph.tensor.operators.mapping import Attribute, Onnx  # noqa: E402
from naive_graph.tensor.operators.properties import Tensor  # noqa: E402
from naive_graph.training import lookup, parameter  # noqa: E402

ROWS = sorted({operators()[name].name for name in operators()})
SINGLE_THERE = ("erf", "gelu", "hard_swish")  # for onnx's own evaluator


def feeds_of(model, values):
    kinds = {each.name: each.type.tensor_type.elem_type for each in model.graph.input}
    return {name: np.asarray(values[name], onnx.helper.tensor_dtype_to_np_dtype(kind)) for name, kind in kinds.items()}


def run_by_runtime(model, values=None):
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds_of(model, values or {}))


class Sum(OpRun):
    """onnx's own begins with 0, so that a sum of -0.0 is 0.0."""

    op_domain = ""

    def _run(self, *terms):
        return (reduce(np.add, terms),)


def run_by_reference(model, values=None):
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model, new_ops=[Sum]).run(None, feeds_of(model, values or {}))


def off(found, due):
    found, due = np.asarray(found), np.asarray(due)
    assert found.shape == due.shape
    wild = ~np.isfinite(due)
    assert np.array_equal(found[wild], due[wild], equal_nan=True)
    return np.abs(found[~wild] - due[~wild]).max(initial=0.0) / max(np.abs(due[~wild]).max(initial=0.0), 1e-300)


def leaves(what, due, values=None):
    """Both runtimes agree with us; the model in single precision."""
    double, single = export_model(what, "float64"), export_model(what)
    for model, run, most in ((double, run_by_reference, 1e-12), (single, run_by_runtime, 1e-5)):
        onnx.checker.check_model(model, full_check=True)
        assert model.ir_version <= 13 and model.opset_import[0].version <= 26
        for found, each in zip(run(model, values), due, strict=True):
            assert off(found, each) <= most
    return single


def operators_in(model):
    return [f"{each.domain}.{each.op_type}".lstrip(".") for each in model.graph.node]


# --- rows -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ROWS)
def test_a_row_leaves_and_onnxruntime_gives_the_same_in_single_and_it_comes_back_as_itself(name):
    for example in operators()[name].examples:
        with Graph.scratch():
            case = ExampleCall(operators()[name], example)
            due = [np.array(each.eval()) for each in case.results]
            single, double = (export_model(dict(zip("abcdef", case.results)), kind) for kind in ("float32", "float64"))
            for model in (single, double):
                onnx.checker.check_model(model, full_check=True)
            back = from_onnx(double).outputs.values()
            for found, returned, each in zip(run_by_runtime(single), back, due, strict=True):
                assert off(found, each) <= 1e-5
                assert off(returned.eval(), each) <= 1e-12


def test_a_row_with_a_name_in_onnx_leaves_as_one_operator():
    missing = []
    for name in ROWS:
        row = operators()[name]
        names = {each.operator for each in row.mappings if each.framework == "onnx"}
        with Graph.scratch():
            found = [operators_in(export_model(ExampleCall(row, each).results)) for each in row.examples]
        if names and not any(names & {*each} for each in found):
            missing.append(name)
    # Two that onnxruntime lacks; one is younger; one has an example of images alone; one is stored turned.
    assert missing == ["cumprod", "global_lp_pool2d", "local_response_norm", "silu", "transpose"]


@pytest.mark.parametrize("opset", [18, 20, 22, 26])
def test_an_operator_that_an_opset_lacks_leaves_as_its_composition(opset):
    x = LeafNode.parameter([[0.5, -1.0, 2.0]], "x")
    y = (x.mish() + x.gelu()).rms_norm(np.ones(3))
    model = export_model(y, opset=opset)
    onnx.checker.check_model(model, full_check=True)
    assert ("RMSNormalization" in operators_in(model)) == (opset >= 23)
    assert ("naive_graph.gelu" in operators_in(model)) == (opset < 20)
    assert off(run_by_runtime(model)[0], y.eval()) <= 1e-5


# --- layers ---------------------------------------------------------------------


def test_images_with_channels_last_are_turned_at_the_ends_alone_and_weights_once():
    x = LeafNode.input((1, 8, 8, 2), "x")
    w = LeafNode.parameter(np.random.default_rng(0).normal(size=(3, 3, 2, 4)), "w")
    b = LeafNode.parameter([0.5, -0.5, 0.25, 0.0], "b")
    y = ng.tensor.max_pool2d(ng.tensor.conv2d(x, w, padding="SAME", bias=b).relu(), 2).softsign(name="y")
    x.value = np.random.default_rng(1).normal(size=x.shape)
    model = leaves(y, [y.eval()], {"x": x.value})
    assert operators_in(model) == ["Transpose", "Conv", "Relu", "MaxPool", "Softsign", "Transpose"]
    assert {each.name: [*each.dims] for each in model.graph.initializer} == {"w": [4, 2, 3, 3], "b": [4]}


def test_a_residual_network_leaves_as_its_layers():
    random, table = np.random.default_rng(0), operators()

    def weight(name, *shape):
        return LeafNode.parameter(random.normal(size=shape), name)

    def layer(x, at, channels):
        w, scale, bias, mean = (weight(f"{each}{at}", *shape) for each, shape in (
            ("w", (3, 3, x.shape[-1], channels)), ("g", (channels,)), ("b", (channels,)), ("m", (channels,))
        ))  # fmt: skip
        return table["batch_norm"](ng.tensor.conv2d(x, w, padding="SAME"), scale, bias, mean, np.ones(channels))

    x = LeafNode.input((2, 6, 6, 3), "x")
    x.value = random.normal(size=x.shape)
    with scope("stem"):
        h = layer(x, 1, 4).relu()
    with scope("block"):
        h = (layer(h, 2, 4) + h).relu()
    y = (table["global_avg_pool2d"](h).reshape(2, 4) @ weight("v", 4, 5)).softmax()
    model = leaves(y, [y.eval()], {"x": x.value})
    assert operators_in(model) == [
        "Transpose", "Conv", "BatchNormalization", "Relu", "Conv", "BatchNormalization", "Add", "Relu",
        "GlobalAveragePool", "Transpose", "Reshape", "MatMul", "Softmax",
    ]  # fmt: skip
    assert [each.name for each in model.graph.node][3:8:2] == ["stem/relu", "block/batch_norm_1", "block/relu"]


def test_attention_and_layer_norm_leave_as_themselves():
    random, table, q = np.random.default_rng(0), operators(), LeafNode.input((2, 4, 6), "q")
    q.value = random.normal(size=q.shape)
    w, g, b = (LeafNode.parameter(random.normal(size=each)) for each in ((6, 6), (6,), (6,)))
    y = table["layer_norm"](table["attention"](q @ w, q, q, causal=True) + q, g, b)
    model = leaves(y, [y.eval()], {"q": q.value})
    assert {"Attention", "LayerNormalization"} < {*operators_in(model)} and not model.functions


def test_a_recurrent_layer_with_the_batch_first_is_turned_for_runtimes_that_take_time_first():
    random, x = np.random.default_rng(0), LeafNode.input((2, 4, 3), "x")
    x.value = random.normal(size=x.shape)
    w, r = LeafNode.parameter(random.normal(size=(1, 20, 3))), LeafNode.parameter(random.normal(size=(1, 20, 5)))
    all_, h, c = operators()["lstm"](x, w, r, batch_first=True)
    model = leaves([all_, h, c], [all_.eval(), h.eval(), c.eval()], {"x": x.value})
    assert operators_in(model) == ["Transpose", "LSTM", *["Transpose"] * 3]


def test_an_embedding_takes_whole_numbers():
    table = LeafNode.parameter(np.arange(12.0).reshape(4, 3), "table")
    ids = LeafNode.input((2,), "ids")
    y = table.gather(ids)
    ids.value = [3.0, 1.0]
    model = leaves(y, [y.eval()], {"ids": ids.value})
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT64


def test_numbers_that_were_compared_stay_truth_values_where_these_are_due():
    x = LeafNode.parameter([1.0, -2.0], "x")
    assert operators_in(export_model(ng.where(x > 0.0, x, 0.1 * x))) == ["Greater", "Mul", "Where"]


def test_what_is_a_condition_and_a_number_stays_a_number():
    x, w = LeafNode.input((3,), "x"), LeafNode.parameter([0.5, 0.0, 2.0], "w")
    x.value = [0.5, 0.0, -2.0]
    y, z = ng.where(x, x, 3.0), ng.where(w, w, 3.0)
    model = leaves([y, z], [y.eval(), z.eval()], {"x": x.value})
    assert model.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT


def test_what_is_written_with_letters_leaves_as_one_sum():
    a, b = (LeafNode.parameter(np.random.default_rng(at).normal(size=(2, 3)), "ab"[at]) for at in (0, 1))
    y = ng.linear("ij,kj->ki", a, b)
    assert operators_in(leaves(y, [y.eval()])) == ["Einsum"]
    turned = ng.tensor.transform("ij->ji", a, alpha=2.0)
    leaves([turned, a[:, ::-1], a[1], a.T], [turned.eval(), a.value[:, ::-1], a.value[1], a.value.T])


def test_a_derivative_leaves_as_what_it_is_made_of():
    x, w = (
        LeafNode.parameter(np.random.default_rng(at).normal(size=s), "xw"[at]) for at, s in ((0, (4,)), (1, (4, 4)))
    )
    loss = (x @ w).tanh().softmax().square().sum() + ng.tensor.conv2d(w.reshape(4, 4, 1), np.ones((2, 2, 1, 1))).max()
    slopes = loss.gradients([x, w])
    leaves([*slopes], [each.eval() for each in slopes])


# --- numbers one by one -----------------------------------------------------------


def test_scalar_nodes_leave_as_operators_of_numbers():
    x = Graph.Variable(6.0, name="x")
    f = ((x - 7) ** 2 + 10).log()
    Graph.forward()
    model = leaves(f, [f.value])
    assert operators_in(model) == ["Sub", "Pow", "Add", "Log"]
    assert [each.name for each in model.graph.initializer][:1] == ["x"] and not model.graph.initializer[0].dims


def test_a_function_of_numbers_comes_back_with_its_parameters():
    x = Graph.Variable(6.0, name="x")
    back = from_onnx(export_model({"f": ((x - 7) ** 2 + 10).log()}, "float64"))
    f = back.outputs["f"]
    assert [*back.parameters] == ["x"] and float(f.eval()) == pytest.approx(math.log(11.0), abs=1e-15)
    f.backward()
    assert float(back.parameters["x"].gradient()) == pytest.approx(-2.0 / 11.0, abs=1e-15)


def test_what_is_learned_and_what_stays_is_told_apart_when_it_comes_back():
    w, stays = LeafNode.parameter([1.0, 2.0], "w"), LeafNode.constant([3.0, 4.0], "stays")
    assert [*from_onnx(export_model(w * stays)).parameters] == ["w"]


def test_a_sum_of_many_stays_one_operator():
    a, b, c = (Graph.Variable(float(at), name=name) for at, name in enumerate("abc", 1))
    assert operators_in(export_model(a + b + c)) == ["Sum"]
    product = a * b * c
    Graph.forward()
    assert operators_in(leaves(product, [product.value])) == ["Mul", "Mul"]


def test_every_rule_of_the_catalogue_leaves_and_so_do_their_derivatives():
    a, b = Graph.Variable(0.6, name="a"), Graph.Variable(1.7, name="b")
    found = []
    for rule in ng.core.rules.RULES.values():
        if rule.number < ng.core.catalogue.BUILT_IN and rule.name not in SINGLE_THERE:
            at = a + 1.0 if rule.name == "acosh" else a
            found.append(rule(*[at, b, a][: rule.arity or 3]))
    found += ng.gradients(ng.logsumexp(found), [a, b])
    Graph.forward()
    leaves(found, [each.value for each in found])


@pytest.mark.parametrize("at", [-1e-9, 1e-12, 0.3, -0.45, 0.55, 700.0, -0.999, 1e9])
def test_rules_that_onnx_lacks_keep_their_digits(at):
    x = Graph.Variable(at, name="x")
    for rule in (ng.expm1, ng.log1p):
        f = rule(x)
        Graph.on_invalid = "ignore"
        Graph.forward()
        Graph.on_invalid = "warn"
        assert off(run_by_reference(export_model(f, "float64"))[0], f.value) <= 1e-14


def test_ten_thousand_nodes_leave_without_recursion():
    f = Graph.Variable(0.5, name="x")
    for _ in range(4_000):
        f = (f * 0.5).sin() + 1.0
    model = export_model(f)
    assert len(model.graph.node) == 12_000


def test_scalar_nodes_inside_a_tensor_leave_as_numbers():
    a, b = Graph.Variable(1.0, name="a"), Graph.Variable(2.0, name="b")
    y = LeafNode.of([[a, b], [a * b, b]]) @ LeafNode.parameter([1.0, 3.0], "v")
    Graph.forward()
    leaves(y, [y.eval()])


# --- operators of one's own ---------------------------------------------------------


def test_a_rule_of_a_learner_leaves_as_a_local_function_and_comes_back():
    soft = ng.operator("soft_out", lambda a: ng.log(1.0 + ng.exp(a)), [lambda a, y: ng.sigmoid(a)])
    x = LeafNode.parameter([0.5, -1.0], "x")
    y = soft(x) * soft(2.0 * x)
    model = leaves(y, [y.eval()])
    (function,) = model.functions
    assert function.name == "soft_out" and [each.op_type for each in function.node] == ["Exp", "Constant", "Add", "Log"]
    assert operators_in(model).count("naive_graph.soft_out") == 2
    assert next(iter(from_onnx(model).outputs.values())).arg().operator.name == "soft_out"


def test_a_tensor_operator_of_a_learner_leaves_with_its_name_properties_and_composition():
    v = LeafNode.parameter([1.0, 2.0, 3.0], "v")

    @ng.tensor_operator()
    def odd_out(x, scale: float = 2.0):
        return (x * scale + v).softmax() * x.mean()

    t = LeafNode.parameter(np.arange(6.0).reshape(2, 3), "t")
    y = odd_out(t, scale=3.0) + odd_out(t, scale=3.0) * odd_out(t)
    model = leaves(y, [y.eval()])
    assert [each.name for each in model.functions] == ["odd_out", "odd_out_1"]  # two of them were called alike
    said = {each.key: each.value for each in model.functions[0].metadata_props}
    assert said["naive_graph.operator"] == "odd_out" and said["naive_graph.properties"] == '{"scale": 3.0}'
    assert {each.name for each in model.graph.initializer} == {"t", "v"}


def test_an_operator_that_computes_in_python_is_named_with_all_others():
    floor = ng.operator("floor_out", lambda a: float(math.floor(a)), [None])
    half = ng.operator("half_out", lambda a: a / 2 if a > 0 else 0.0, [None])
    x = Graph.Variable(1.5, name="x")
    with pytest.raises(ExportError, match=r"floor_out.*half_out.*Write its value with naive_graph's functions"):
        export_model([floor(x), half(x), floor(x) + 1.0])

    @ng.tensor_operator()
    def floored_out(x):
        return floor(x) + half(x.sum())

    with pytest.raises(ExportError, match=r"floor_out.*half_out"):
        export_model(floored_out(LeafNode.parameter([1.0, 2.0])))


# --- names, parameters, files --------------------------------------------------------


def test_names_and_scopes_are_kept():
    x = LeafNode.input((3,), "x")
    with scope("head"):
        y = (x * LeafNode.parameter([1.0, 2.0, 3.0], "scale")).softmax(name="chances")
    model = export_model({"answer": y + 1.0})
    assert [each.name for each in model.graph.node] == ["head/mul", "head/chances", "add"]
    assert [each.name for each in model.graph.output] == ["answer"]
    assert next(each.name for each in model.graph.initializer) == "scale"


def test_names_are_kept_of_what_is_written_with_letters_and_of_what_changes_nothing():
    x, w = LeafNode.input((2, 3), "x"), LeafNode.parameter(np.ones((3, 4)), "w")
    inner = ng.linear("ij,jk->ki", x, w, name="inner")
    same = ng.tensor.transform("ij->ij", inner.tanh(), name="same")
    model = export_model([ng.tensor.transform("ij->ji", inner, alpha=2.0, name="turned"), same])
    assert [each.name for each in model.graph.output] == ["turned", "same"]
    assert {"inner", "turned"} <= {each.name for each in model.graph.node}


def test_a_parameter_that_several_leaves_read_is_stored_once_and_a_table_whole():
    model = Model(seed=1)
    w, table = model.add_parameters((3, 2), name="W"), model.add_lookup_parameters((5, 3), name="E")
    y = lookup(table, [1, 2]) @ parameter(w) + parameter(w).sum()
    stored = leaves(y, [y.eval()]).graph.initializer
    assert {each.name: [*each.dims] for each in stored if each.data_type != onnx.TensorProto.INT64} == {
        "E": [5, 3], "W": [3, 2],
    }  # fmt: skip


def test_a_model_leaves_as_its_parameters():
    model = Model(seed=1)
    model.add_parameters((3, 2), name="W")
    model.add_lookup_parameters((5, 3), name="E")
    leaves(model, [model["W"].values, model["E"].values])


def test_a_result_that_is_a_leaf_or_is_given_twice_is_a_copy():
    x = LeafNode.parameter([1.0, 2.0], "x")
    y = ng.exp(x, name="y")
    leaves([x, y, y, x], [x.value, y.eval(), y.eval(), x.value])


def test_a_file_is_there_whole_or_not_at_all(tmp_path):
    x = Graph.Variable(2.0, name="x")
    path = to_onnx(x * x, tmp_path / "model.onnx")
    before = path.read_bytes()
    opaque = ng.operator("opaque_out", lambda a: float(round(float(a))), [None])
    with pytest.raises(ExportError):
        to_onnx(opaque(x), path)
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["model.onnx"]
    onnx.checker.check_model(str(path), full_check=True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((3, "a.onnx"), "takes a tensor node"), (([], "a.onnx"), "takes a tensor node"), (({1: 2}, "a.onnx"), "texts"),
        ((None, "no/such/folder/a.onnx"), "Choose a folder"), ((None, None), "named by a path"),
    ],
)  # fmt: skip
def test_what_cannot_leave_is_told_of(arguments, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    what = Graph.Variable(1.0) * 2.0 if arguments[0] is None else arguments[0]
    with pytest.raises(ExportError, match=says):
        to_onnx(what, arguments[1])
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("wrong", [{"dtype": "int8"}, {"dtype": None}, {"opset": 3}, {"opset": "18"}, {"opset": True}])
def test_a_type_or_opset_that_is_none_is_told_of(wrong):
    with pytest.raises(ExportError, match=r'is a whole number from|is "float32" or'):
        export_model(Graph.Variable(1.0) * 2.0, **wrong)


def test_a_weight_beyond_single_precision_is_told_of():
    x = LeafNode.parameter([1.0, 1e300], "x")
    with pytest.raises(ExportError, match=r"'x' has numbers beyond single precision\. Write dtype"):
        export_model(x * 2.0)
    assert run_by_reference(export_model(x * 2.0, "float64"))[0][1] == 2e300


def test_what_is_picked_by_zeros_and_ones_leaves_written_out():
    x, one = LeafNode.parameter(np.arange(9.0).reshape(3, 3), "x"), ng.tensor.sparse_selector.identity((3,))
    for y in (x @ one, operators()["softmax"](one), one + x, operators()["stack"]([one, x])):
        leaves(y, [y.eval()])


def test_a_parameter_without_a_value_is_told_of():
    x = LeafNode(LeafType.PARAMETER, (2,), name="x")
    with pytest.raises(ExportError, match=r"'x'.*has no value\. Set it"):
        export_model(x * 2.0)


# --- our own functions, read again --------------------------------------------------


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("operator", "no_such_operator"), ("operands", "[7]"), ("operands", "[" * 10**5), ("operands", "{}"),
        ("properties", '{"strange": 1}'), ("properties", "3"), ("operands", "[]"), ("operands", '["x"]'),
    ],
)  # fmt: skip
def test_a_function_that_says_nonsense_of_itself_is_what_it_is_made_of(key, text):
    x = LeafNode.input((2,), "x")
    model = export_model({"y": ng.square(x) + 1.0}, "float64")
    for each in model.functions[0].metadata_props:
        each.value = text if each.key == f"naive_graph.{key}" else each.value
    assert from_onnx(model)([2.0, 3.0]).tolist() == [5.0, 10.0]


def test_a_property_that_does_not_fit_is_told_of():
    stacked = ng.operators()["stack"]([LeafNode.input((2, 2), "x"), LeafNode.input((2, 2), "z")], axis=1)
    model = export_model({"y": stacked}, "float64")
    for each in model.functions[0].metadata_props:
        each.value = '{"axis": 9}' if each.key == "naive_graph.properties" else each.value
    with pytest.raises(ImportModelError, match="axis"):
        from_onnx(model)


# --- own names ----------------------------------------------------------------------


def test_an_onnx_name_of_ones_own_works_both_ways(tmp_path):
    @tensor_operator(onnx=Onnx("MyScale", by=Attribute("by", 2.0)), shape=lambda x: x, examples=[like((2, 3))])
    def my_scale(x: Tensor, by: float = 2.0):
        """by x."""
        return x * by

    try:
        x = LeafNode.input((2,), "x")
        model = leaves(my_scale(my_scale(x, 3.0, name="a"), name="y"), [[6.0, 12.0]], {"x": np.array([1.0, 2.0])})
        assert [(each.op_type, each.domain) for each in model.graph.node] == [
            ("MyScale", "naive_graph"), ("MyScale_1", "naive_graph")]  # fmt: skip
        network = from_onnx(model)
        assert [network.nodes[name].call.properties["by"] for name in "ay"] == [3.0, 2.0]
        del model.functions[:]
        for domain in ("naive_graph", "com.example", ""):
            model.graph.node[0].domain = domain
            model.graph.node[1].CopyFrom(onnx.helper.make_node("MyScale", ["a"], ["y"], domain=domain))
            network = from_onnx(model)
            assert network([1.0, 2.0]).tolist() == [6.0, 12.0] and network.nodes["a"].call.operator is my_scale
    finally:
        operators().forget("my_scale")


def test_more_than_a_file_can_hold_is_told_of(monkeypatch):
    monkeypatch.setattr("naive_graph.interop.onnx.export.MOST_BYTES", 100)
    with pytest.raises(ExportError, match=r"more than the 2 GB.*Write dtype"):
        export_model(LeafNode.parameter(np.ones(30), "w") * 2.0)


def test_a_name_that_is_no_text_is_told_of():
    with pytest.raises(ExportError, match=r"name 'w.ud800' is no text that a file can hold"):
        export_model(LeafNode.parameter([1.0], name="w\ud800") * 2.0)
