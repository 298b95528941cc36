"""Models of scikit-learn's come in: their shares without labels, their weights to be learned."""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")

from onnx import TensorProto, helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from naive_graph import AdamTrainer  # noqa: E402
from naive_graph.errors import ImportModelError, UnknownOperatorError  # noqa: E402
from naive_graph.interop import from_onnx  # noqa: E402

X = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]], np.float32)
WEIGHTS = {"coefficients": [0.5, -1.0, 2.0, 1.0, 0.0, -0.5], "intercepts": [0.25, -0.75]}
SHARES = {"classlabels_ints": [0, 1], **WEIGHTS}


def model(operator, outputs=("y",), **attributes):
    """A model of one operator of scikit-learn's, and of nothing else."""
    node = helper.make_node(operator, ["x"], outputs, "it", domain="ai.onnx.ml", **attributes)
    kinds = [TensorProto.INT64 if each == "label" else TensorProto.FLOAT for each in outputs]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])
    asked = [helper.make_tensor_value_info(each, kind, None) for each, kind in zip(outputs, kinds)]
    return helper.make_model(
        helper.make_graph([node], "g", [given], asked),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)],
    )


CASES = {
    "linear": model("LinearRegressor", targets=2, **WEIGHTS),
    "logistic": model("LinearClassifier", ("label", "y"), post_transform="LOGISTIC", **SHARES),
    "softmax": model("LinearClassifier", ("label", "y"), post_transform="SOFTMAX", **SHARES),
    "scaler": model("Scaler", offset=[1.0, 0.0, -1.0], scale=[2.0, 1.0, 0.5]),
    "L1": model("Normalizer", norm="L1"),
    "L2": model("Normalizer", norm="L2"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_scikit_learn_writes_gives_the_numbers_of_onnxs_own_reference(name):
    due = ReferenceEvaluator(CASES[name]).run(["y"], {"x": X})[0]
    np.testing.assert_allclose(from_onnx(CASES[name])(X), due, rtol=1e-6, atol=1e-7)


def test_a_label_is_left_out_and_the_weights_are_learned():
    network = from_onnx(CASES["softmax"])
    assert [*network(X).shape] == [2, 2] and [*network.outputs] == ["y"]
    assert {*network.parameters} == {"it.coefficients", "it.intercepts"}
    trainer, (y,) = AdamTrainer(network.model, 0.1), network.outputs.values()
    loss = -y[0, 0].log()
    before = float(loss.forward())
    loss.backward()
    trainer.update()
    assert float(loss.forward()) < before
    with pytest.raises(ImportModelError):
        from_onnx(CASES["softmax"], outputs="label")


def test_what_is_not_spelt_out_is_refused_by_name():
    with pytest.raises(UnknownOperatorError, match=r"ai\.onnx\.ml\.Normalizer"):
        from_onnx(model("Normalizer", norm="MAX"))
