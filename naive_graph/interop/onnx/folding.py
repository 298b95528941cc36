"""Folding: what is known before the network runs, as the arithmetic of shapes is, onnx itself computes at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from onnx import NodeProto, ValueInfoProto, defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_node_outputs

from ...errors import ImportModelError
from .inlining import Application, taken

MOST_ENTRIES = 2**27  # of one tensor
FEW = 1_000  # entries in all, from which no operator but a growing one makes many
GROWING = {"ConstantOfShape", "EyeLike", "Expand", "OneHot", "Pad", "Range", "Tile"}
# Operators that make shapes, masks and places out of others: they are known, or they cannot be.
KNOWN_ONLY = GROWING - {"Expand", "OneHot", "Pad", "Tile"} | {
    "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "NonZero", "Unique",
}  # fmt: skip


@lru_cache(maxsize=1024)
def schema_of(op: str, opset: int) -> Any:
    """What ONNX says of an operator in an opset; None if it has none there."""
    try:
        return defs.get_schema(op, opset, "")
    except defs.SchemaError:
        return None


def is_foldable(step: Application) -> bool:
    """Whether onnx computes a step right: not by chance, and not as in another opset than the step's."""
    flattened = step.opset < 13 and step.op in ("Softmax", "LogSoftmax", "Hardmax")  # of which it has the present form
    return (
        step.op not in ("Constant", "Bernoulli", "Dropout")
        and not flattened
        and not any(taken(each.g) for each in step.attributes.values())
    )


def folded(step: Application, arrays: Sequence[Any], hold: Callable[[int, str], None]) -> list[Any]:
    """The arrays that an operator gives for arrays. Raises ImportModelError, before anything large is made.

    hold: is told how many bytes are made.
    """
    node = helper.make_node(step.op, step.inputs, step.outputs)
    node.attribute.extend(bound(step.attributes))
    given = {name: array.reshape(()) if step.op == "Range" and array.size == 1 else array
             for name, array in zip(step.inputs, arrays) if name}  # fmt: skip
    if step.op in GROWING or sum(each.size for each in given.values()) > FEW:
        hold(_checked_size(step, node, given), step.label)
    opsets = [helper.make_opsetid("", step.opset)]
    inputs, outputs = ([ValueInfoProto(name=each) for each in names if each] for names in (given, step.outputs))
    model = helper.make_model(helper.make_graph([node], step.op, inputs, outputs), opset_imports=opsets)
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model).run(None, given)
    except Exception as error:  # onnx raises what it likes
        raise ImportModelError(f"{step.label} cannot be computed: {error}".rstrip(".") + ".") from None
    there = iter(found)
    return [np.asarray(next(there)) if each else None for each in step.outputs]


def bound(attributes: Mapping[str, Any]) -> Any:
    """The attributes by their own names: in a function they may refer to those of its call."""
    for name, each in attributes.items():
        if each.name != name:
            copied = type(each)()
            copied.CopyFrom(each)
            copied.name, each = name, copied
        yield each


def _checked_size(step: Application, node: NodeProto, given: Mapping[str, Any]) -> int:
    """How many bytes a step makes."""
    types = {
        name: helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
    }
    data = {name: numpy_helper.from_array(each, name) for name, each in given.items() if each.size <= FEW}
    opsets = [helper.make_opsetid("", step.opset)]
    try:
        found = infer_node_outputs(schema_of(step.op, step.opset), node, types, data, opset_imports=opsets)
    except Exception as error:  # onnx raises what it likes
        raise ImportModelError(f"{step.label} has no result: {error}".rstrip(".") + ".") from None
    size = 0
    for kind in found.values():
        shape = [each.dim_value for each in kind.tensor_type.shape.dim]
        check_entries(shape, step.label)
        size += prod(shape) * helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type).itemsize
    return size


def check_entries(shape: Sequence[int], label: str) -> None:
    """Raises ImportModelError if a tensor of this shape would be too large."""
    if prod(shape) > MOST_ENTRIES:
        raise ImportModelError(f"{label} would have the shape {tuple(shape)}: more than {MOST_ENTRIES:,} entries.")


@lru_cache(maxsize=4096)
def types_like(op: str, opset: int, inputs: int, outputs: int) -> tuple[Any, ...]:
    """For each output the place of the input that has the same type; else a number of TensorProto's."""
    schema, found = schema_of(op, opset), []
    for at in range(outputs):
        formal = schema.outputs[min(at, len(schema.outputs) - 1)]
        same = [place for place, each in enumerate(schema.inputs[:inputs]) if each.type_str == formal.type_str]
        only = next(iter(formal.types)) if len(formal.types) == 1 else "tensor(float)"
        found.append((same[0],) if same else _number(only[7:-1]))
    return tuple(found)


def _number(name: str) -> int:
    known = {"float": np.float32, "double": np.float64}
    return int(helper.np_dtype_to_tensor_dtype(np.dtype(known.get(name, name))))
