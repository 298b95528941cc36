"""Every operator of TensorFlow that a row names, read from a GraphDef, beside NumPy."""

import json
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")
pytest.importorskip("tensorboard")

from tensorflow_cases import CASES, Known, drawn  # noqa: E402

from naive_graph.interop import from_tensorflow  # noqa: E402

DEFINED = json.loads((Path(__file__).parent / "tensorflow_operators.json").read_text())["operators"]


@pytest.mark.parametrize("at", range(len(CASES)), ids=lambda at: f"{CASES[at][0]}-{at}")
def test_an_operator_gives_the_numbers_of_numpy(at):
    op, inputs, attributes, expected = CASES[at]
    graph, fed = drawn(op, inputs, attributes)
    network = from_tensorflow(graph, outputs="y")
    due = expected(*(each.array if isinstance(each, Known) else each for each in inputs))
    found = network(**fed)
    assert np.shape(found) == np.shape(due)
    assert np.max(abs(found - due), initial=0.0) <= 1e-12 * max(1.0, np.max(abs(np.asarray(due, float)), initial=0.0))


def test_there_is_a_case_for_every_name_with_and_without_each_attribute():
    given = {(op, name, name in attributes) for op, _, attributes, _ in CASES for name in DEFINED[op]["attributes"]}
    assert {op for op, *_ in CASES} == DEFINED.keys() - {"NoOp"}
    wanted = {
        (op, name, there)
        for op, defined in DEFINED.items()
        for name, default in defined["attributes"].items()
        for there in ((True,) if default == "required" else (True, False))
    }
    assert wanted - given == set()
