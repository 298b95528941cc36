"""Random programs, of scalars and of tensors, compute the same as ONNX, and come back."""

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")
pytest.importorskip("onnxruntime")

from graphs import build, tame  # noqa: E402
from hypothesis import HealthCheck, given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from test_onnx_out import run_by_reference, run_by_runtime  # noqa: E402

from naive_graph import Constant, Graph, LeafNode, Variable, atan2, linear, tanh, where  # noqa: E402
from naive_graph.interop import from_onnx  # noqa: E402
from naive_graph.interop.onnx.export import export_model  # noqa: E402
from naive_graph.tensor import stack, transform  # noqa: E402

LAWS = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
STEPS = {  # of a matrix of any shape, and one more
    "turn": lambda a, b: transform("ij->ji", a, alpha=0.5),
    "rows": lambda a, b: transform("ij->ik", a, sizes={"k": 2}),
    "product": lambda a, b: linear("ij,kl->ik", a, b),
    "outer": lambda a, b: linear("ij,kj->ik", a, a, op="sub") * 0.3,
    "entries": lambda a, b: tanh(a) * a.sin() + 0.1,
    "backwards": lambda a, b: a[::-1, :1] + a,
    "places": lambda a, b: a.gather([0, -1, 0], 1),
    "largest": lambda a, b: a.max(1, keepdims=True) - a.softmax(),
    "stacked": lambda a, b: stack([a, a * 2.0]).sum(0),
    "reshaped": lambda a, b: a.reshape(-1, 1).square(),
    "mixed": lambda a, b: (a @ a.T).sigmoid(),
}


def close(found, due, most):
    found, due = np.asarray(found), np.asarray(due)
    assert found.shape == due.shape
    assert np.abs(found - due).max(initial=0.0) <= most * max(1.0, np.abs(due).max(initial=0.0))


@LAWS
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
)
def test_a_program_of_tensors_and_its_gradients_compute_the_same_elsewhere(steps, shape):
    with Graph.scratch():
        random = np.random.default_rng(len(steps))
        leaves = [LeafNode.parameter(random.normal(size=each), name) for name, each in (("a", shape), ("b", (2, 3)))]
        made = list(leaves)
        for name, one, other in steps:
            made.append(STEPS[name](made[one % len(made)], made[other % len(made)]))
        slopes = sum((each.sum() for each in made[1:]), start=made[0].sum()).gradients(leaves) if len(steps) < 4 else []
        results = [*made, *slopes]
        due = [np.array(each.eval()) for each in results]
        double, single = export_model(results, "float64"), export_model(results)
        for model in (double, single):
            onnx.checker.check_model(model, full_check=True)
        for found, each in zip(run_by_reference(double), due, strict=True):
            close(found, each, 1e-12)
        for found, each in zip(run_by_runtime(single), due, strict=True):
            close(found, each, 1e-5)
        for found, each in zip(from_onnx(double).outputs.values(), due, strict=True):
            close(found.eval(), each, 1e-12)


@LAWS
@given(tame())
def test_a_program_of_scalars_computes_the_same_elsewhere(recipe):
    with Graph.scratch():
        made = build(recipe)
        Graph.forward()
        model = export_model(made, "float64")
        onnx.checker.check_model(model, full_check=True)
        fed = {each.name: each.value for each in made if each.name}
        for found, each in zip(run_by_reference(model, fed), made, strict=True):
            close(found, each.value, 1e-6)  # onnx's erf is of single precision


@pytest.mark.parametrize("y", [0.0, -0.0, 1.0, -1.0])
@pytest.mark.parametrize("x", [0.0, -0.0, 1.0, -1.0])
def test_the_sign_of_zero_stays_through_angles_choices_and_sums(y, x):
    with Graph.scratch():
        a, b = Variable(y, name="a"), Variable(x, name="b")
        chosen = where(b, atan2(a, b), a)
        constant = Constant(-0.0)
        made = [
            where(constant, a, b),
            atan2(a, constant),
            atan2(atan2(a, b), -1.0),
            atan2(chosen, b),
            atan2(Graph.sum([chosen]), -1.0),
            atan2(a + a + a, -1.0),
        ]
        Graph.forward()
        # By onnx's own evaluator: Where of onnxruntime gives 0.0 for -0.0.
        for found, each in zip(run_by_reference(export_model(made, "float64"), {"a": y, "b": x}), made, strict=True):
            close(found, each.value, 1e-12)
