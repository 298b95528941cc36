"""ONNX's own node suite, run by our Backend: each case passes, or a table says why it is left out.

python tests/interop/onnx_suite.py     # writes the table anew
"""

import re
import warnings
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx_backend import Backend

from naive_graph import Graph, gradcheck
from naive_graph.errors import NaiveGraphError
from naive_graph.tensor.base import TensorNode
from naive_graph.tensor.differentiate import ancestors

TABLE = Path(__file__).with_name("onnx_suite.txt")
FLOATS = {TensorProto.FLOAT, TensorProto.DOUBLE}
# Where an entry is so large, an output jumps or ends: a slope on one side is none.
EDGES = {"test_pow": 0.0, "test_l2normalization_axis_0": 0.0}
# What is rounded to a whole number here is no tie in double precision.
TIES = ("test_dynamicquantizelinear", "test_dynamicquantizelinear_expanded")
WHOLE = {getattr(TensorProto, f"{sign}INT{bits}") for sign in ("", "U") for bits in (8, 16, 32, 64)}


class Case(NamedTuple):
    name: str
    model: onnx.ModelProto
    data: list  # pairs of inputs and outputs
    rtol: float
    atol: float


@lru_cache(maxsize=1)
def cases():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    return [Case(each.name, each.model, [tuple(map(arrays, pair)) for pair in each.data_sets], each.rtol, each.atol)
            for each in found]  # fmt: skip


def arrays(given):
    return [numpy_helper.to_array(each) if isinstance(each, TensorProto) else each for each in given]


def out_of_scope(case):
    """Why a case is none of tensors of float32 and float64; empty if it is one."""
    kinds = [each.type for each in (*case.model.graph.input, *case.model.graph.output)]
    others = {each.WhichOneof("value") for each in kinds} - {"tensor_type"}
    if others:
        return f"it takes or gives a {min(others).removesuffix('_type')}"
    types = {each.tensor_type.elem_type for each in kinds}
    if not types & FLOATS:
        return "it has no tensor of float32 or float64"
    strange = types - FLOATS - WHOLE - {TensorProto.BOOL}
    return f"it has a tensor of {TensorProto.DataType.Name(min(strange))}" if strange else ""


def computed(network):
    """The outputs that respond to an input: all others are known beforehand, and prove nothing."""
    leaves = set(network.inputs.values())
    outputs = [each for each in network.graph.values.values() if isinstance(each, TensorNode)]
    return [each for each in outputs if leaves & set(ancestors([each]))]


def outcome(case):
    """Why a case is left out; empty if it gives the expected numbers. Raises AssertionError if it gives others."""
    why = out_of_scope(case) or ("what it rounds is a tie in single precision alone" if case.name in TIES else "")
    if why:
        return why
    with Graph.scratch():
        try:
            prepared = Backend.prepare(case.model)
            networks = [prepared.network(inputs) for inputs, _ in case.data]
        except NaiveGraphError as error:
            return reason(str(error))
        if not all(map(computed, networks)):
            return "nothing that it computes depends on a tensor with fractions"
        for network, (_, expected) in zip(networks, case.data):
            found = prepared.outputs(network)
            assert len(found) == len(expected)
            for ours, theirs in zip(found, expected):
                assert (ours.shape, ours.dtype) == (np.shape(theirs), np.asarray(theirs).dtype), case.name
                atol = max(case.atol, single(theirs))
                np.testing.assert_allclose(ours, theirs, case.rtol, atol, err_msg=case.name)
    return ""


def single(expected):
    """How far expected numbers may be off because they were computed in single precision."""
    expected = np.asarray(expected)
    sizes = abs(expected[np.isfinite(expected)]) if expected.dtype == np.float32 else np.zeros(0)
    return np.finfo(np.float32).eps * sizes.max(initial=0.0)


def reason(text):
    """A message without the names of one case."""
    text = re.sub(r" '[^']*'(?=[ :])", "", text.partition(". ")[0].rstrip("."))
    return re.sub(r"^'[^']*' is", "it is", re.sub(r"[(\[][-\d, ]*[)\]]|\b\d+\b", "#", text))


@lru_cache(maxsize=1)
def outcomes():
    return {case.name: outcome(case) for case in cases()}


def table():
    """How many cases pass, and all others by the reason why they are left out."""
    by_reason = {}
    for name, why in outcomes().items():
        by_reason.setdefault(why, []).append(name.removeprefix("test_"))
    passed = len(by_reason.pop("", ()))
    lines = [
        f"ONNX {onnx.__version__}: {len(cases())} cases of its node suite. {passed} of tensors of float32 and float64 "
        "give the expected numbers.",
        "Left out, by reason:",
    ]
    for why, names in sorted(by_reason.items(), key=lambda each: (-len(each[1]), each[0])):
        lines += ["", f"{len(names)}: {why}", *(f"    {each}" for each in sorted(names))]
    return "\n".join(lines) + "\n"


def gradient_of(case, most=3):
    """gradcheck of the finite outputs that have fractions, each entry weighed differently; None if there are none."""
    with Graph.scratch():
        prepared = Backend.prepare(case.model)
        network = prepared.network(case.data[0][0])
        types = {each.name: each.type for each in prepared.content.outputs}
        outputs = [network.outputs[name] for name, type_ in types.items() if type_ in FLOATS]
        outputs = [each for each in outputs if each in computed(network) and np.isfinite(each.eval()).all()]
        if not outputs:
            return None
        weights = np.random.default_rng(1)
        losses = [(each * weights.uniform(0.5, 1.5, each.shape)).sum() for each in outputs]
        edge = EDGES.get(case.name)
        return gradcheck(losses, max_per_param=most, mask=lambda leaf, at: leaf.value[at] == edge)


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
