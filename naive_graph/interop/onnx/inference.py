"""What the onnx package knows about an operator: schema, inferred types and sizes of results, function body.

Its reference evaluator also folds constants that our own operators cannot, such
as empty tensors and strings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from onnx import FunctionProto, NodeProto, TypeProto, ValueInfoProto, defs, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.shape_inference import infer_node_outputs

from ...errors import ImportModelError
from ..steps import check_entries
from .steps import OnnxStep, inline_functions

Typed = Callable[[str], tuple[int, tuple[int, ...]]]  # from a value's name to its entry type and shape
FEW = 1_000  # with at most so many input entries in all, only GROWING operators have large results
GROWING = {"ConstantOfShape", "EyeLike", "Expand", "OneHot", "Pad", "Range", "Tile"}
# Operators on shapes, masks and indices, supported only where all their inputs are constants.
KNOWN_ONLY = GROWING - {"Expand", "OneHot", "Pad", "Tile"} | {
    "BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor", "NonZero", "Unique",
}  # fmt: skip


@lru_cache(maxsize=1024)
def schema_of(op: str, opset: int) -> Any:
    """Schema of an operator in an opset; None if it does not exist there."""
    try:
        return defs.get_schema(op, opset, "")
    except defs.SchemaError:
        return None


def node_of(step: OnnxStep) -> NodeProto:
    """Convert a step to a NodeProto."""
    node = helper.make_node(step.op, step.inputs, step.outputs, name=step.name)
    node.attribute.extend(step.attributes.values())
    return node


def evaluate(step: OnnxStep, arrays: Mapping[str, Any]) -> list[Any]:
    """Evaluate a step on arrays with onnx's reference evaluator. Raises ImportModelError."""
    inputs, outputs = ([ValueInfoProto(name=name) for name in names if name] for names in (arrays, step.outputs))
    graph = helper.make_graph([node_of(step)], step.op, inputs, outputs)
    try:
        with np.errstate(all="ignore"):
            results = ReferenceEvaluator(graph, {"": step.opset}).run(None, dict(arrays))
    except Exception as error:  # onnx may raise any exception
        raise ImportModelError(f"{step.label} cannot be computed: {error}".rstrip(".") + ".") from None
    remaining = iter(results)
    return [np.asarray(next(remaining)) if output else None for output in step.outputs]


def size_of_results(step: OnnxStep, given: Mapping[str, Any]) -> int:
    """Bytes of a step's results, by shape inference; 0 if certainly small. Raises ImportModelError if too many."""
    if step.op not in GROWING and sum(array.size for array in given.values()) <= FEW:
        return 0
    kinds = {name: helper.np_dtype_to_tensor_dtype(array.dtype) for name, array in given.items()}
    types = {name: helper.make_tensor_type_proto(kinds[name], array.shape) for name, array in given.items()}
    data = {name: numpy_helper.from_array(array, name) for name, array in given.items() if array.size <= FEW}
    try:
        inferred = _infer(step, types, data)
    except Exception as error:  # onnx may raise any exception
        raise ImportModelError(f"{step.label} has no result: {error}".rstrip(".") + ".") from None
    size = 0
    for kind in inferred.values():
        shape = [dim.dim_value for dim in kind.tensor_type.shape.dim]
        check_entries(shape, step.label)
        size += prod(shape) * helper.tensor_dtype_to_np_dtype(kind.tensor_type.elem_type).itemsize
    return size


def types_of_results(step: OnnxStep, types: Mapping[str, int]) -> dict[str, int]:
    """Infer the entry types of a step's results from those of its inputs; unknown ones are left out."""
    if any(attribute.type == attribute.GRAPH for attribute in step.attributes.values()):
        return {}
    input_types = {name: helper.make_tensor_type_proto(types[name], None) for name in step.inputs if name in types}
    try:
        inferred = _infer(step, input_types, {})
    except Exception:  # onnx may raise any exception: the step is refused later, with our message
        return {}
    return {name: type_proto.tensor_type.elem_type for name, type_proto in inferred.items()}


def _infer(step: OnnxStep, types: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    opsets, schema = [helper.make_opsetid("", step.opset)], schema_of(step.op, step.opset)
    return infer_node_outputs(schema, node_of(step), dict(types), dict(data), opset_imports=opsets)


# --- function bodies: ONNX defines many operators as compositions of others ---


def has_body(step: OnnxStep) -> bool:
    """Whether ONNX defines a function body for a step's operator in its opset."""
    return bool(_versions(schema_of(step.op, step.opset), step.opset))


def _versions(schema: Any, opset: int) -> list[int]:
    if schema is None:
        return []
    versions = schema.context_dependent_function_opset_versions + schema.function_opset_versions
    return [version for version in versions if version <= opset]


def expand_body(step: OnnxStep, type_and_shape_of: Typed) -> list[OnnxStep]:
    """The steps of an operator's function body, for inputs of these types and shapes. Raises ImportModelError."""
    schema = schema_of(step.op, step.opset)
    node = node_of(step)
    version = max(_versions(schema, step.opset))
    if version in schema.context_dependent_function_opset_versions:
        types = [helper.make_tensor_type_proto(*type_and_shape_of(name)) if name else TypeProto()
                 for name in step.inputs]  # fmt: skip
        arguments = version, node.SerializeToString(), [each.SerializeToString() for each in types]
        try:
            text = schema.get_context_dependent_function_with_opset_version(*arguments)
        except Exception as error:  # by onnx: shapes or attributes that are invalid for the operator
            raise ImportModelError(f"{step.label}: onnx cannot say what it is made of: {error}") from None
    else:
        text = schema.get_function_with_opset_version(version)
    function = FunctionProto.FromString(text) if isinstance(text, bytes) else text
    if not function.node:
        raise ImportModelError(f"{step.label}: ONNX does not say what it is made of, for these inputs.")
    function.domain, function.name = "", step.op
    return inline_functions([node], [function], {"": step.opset})
