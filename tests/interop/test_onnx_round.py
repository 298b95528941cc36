"""What ONNX's node suite brings in goes out again: onnxruntime says the same, and coming in again changes nothing."""

import warnings

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("opt_einsum")
pytest.importorskip("onnxruntime")

from onnx_suite import TIES, cases, out_of_scope  # noqa: E402
from test_onnx_out import run_by_runtime  # noqa: E402

from naive_graph import Graph  # noqa: E402
from naive_graph.errors import ImportAttributeError, NaiveGraphError  # noqa: E402
from naive_graph.interop import from_onnx  # noqa: E402
from naive_graph.interop.onnx.export import export_model  # noqa: E402

EVERY = 21  # of the cases; all of them take a minute and a half


# What several operators stand for, whose places are computed: they come back by other names, with the same numbers.
# What is known of a tangent, as of MaxPool's places, is computed when it comes back.
SPELT_OUT = ("_3d_", "argmax_2d_precomputed", "dynamicquantize", "expanded", "gridsample", "linear_attention", "scan")


def close(found, due):
    found, due = np.asarray(found, float), np.asarray(due, float)
    most = np.abs(due[np.isfinite(due)]).max(initial=0.0)
    return found.shape == due.shape and np.allclose(found, due, rtol=1e-5, atol=1e-6 * max(1.0, most), equal_nan=True)


def by_name(network, arrays):
    found = network(*arrays)
    return found if isinstance(found, dict) else {next(iter(network.outputs)): found}


def went_round(case):
    """Whether a case came in; asserts that it goes out, and in again."""
    given = [np.asarray(each) for each in case.data[0][0]]
    try:
        network = from_onnx(case.model)
        due = by_name(network, given)
    except NaiveGraphError:
        return False  # another test says why
    model = export_model(network)
    onnx.checker.check_model(model, full_check=True)
    values = dict(zip((each.name for each in network.slots), given))
    names, kept = [each.name for each in model.graph.output], [each.name for each in model.graph.input]
    for name, found in zip(names, run_by_runtime(model, values), strict=True):
        assert close(found, due[name]), case.name
    try:
        again = from_onnx(model)
        back = by_name(again, [values[each] for each in kept])
    except ImportAttributeError:  # places that were computed: nothing says that they are whole
        assert "expanded" in case.name
        return True
    assert all(close(back[name], due[name]) for name in names), case.name
    once_more = export_model(again)
    same = onnx.printer.to_text(once_more) == onnx.printer.to_text(model)
    if any(each in case.name for each in SPELT_OUT):
        found = run_by_runtime(once_more, {name: values[name] for name in kept})
        assert all(close(each, due[name]) for name, each in zip(names, found, strict=True)), case.name
    else:
        assert same or case.name.endswith("batchwise")  # whose results are turned, and are now said to be
    return True


def test_what_came_in_goes_out_and_comes_in_again_as_the_same():
    chosen = [each for each in [each for each in cases() if not out_of_scope(each)][::EVERY] if each.name not in TIES]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gone = 0
        for case in chosen:
            with Graph.scratch():
                gone += went_round(case)
    assert gone >= 35
