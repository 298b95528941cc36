"""Bodies: many of ONNX's operators are functions of others, which ONNX itself spells out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from onnx import FunctionProto, TypeProto, helper

from ...errors import ImportModelError
from .inference import node_of, schema_of
from .steps import Application, inline_functions

Typed = Callable[[str], tuple[int, tuple[int, ...]]]  # a value's type of entries and its shape


def has_body(step: Application) -> bool:
    """Whether ONNX says what an operator is made of."""
    return bool(_versions(schema_of(step.op, step.opset), step.opset))


def _versions(schema: Any, opset: int) -> list[int]:
    said = [] if schema is None else schema.context_dependent_function_opset_versions + schema.function_opset_versions
    return [each for each in said if each <= opset]


def expand_body(step: Application, typed: Typed) -> list[Application]:
    """The steps that an operator is made of, for inputs of these types and shapes. Raises ImportModelError."""
    schema = schema_of(step.op, step.opset)
    node = node_of(step)
    version = max(_versions(schema, step.opset))
    if version in schema.context_dependent_function_opset_versions:
        types = [_type(*typed(name)) if name else TypeProto() for name in step.inputs]
        told = version, node.SerializeToString(), [each.SerializeToString() for each in types]
        try:
            text = schema.get_context_dependent_function_with_opset_version(*told)
        except Exception as error:  # of onnx: shapes or attributes that no operator of the name can have
            raise ImportModelError(f"{step.label}: onnx cannot say what it is made of: {error}") from None
    else:
        text = schema.get_function_with_opset_version(version)
    function = FunctionProto.FromString(text) if isinstance(text, bytes) else text
    if not function.node:
        raise ImportModelError(f"{step.label}: ONNX does not say what it is made of, for these inputs.")
    function.domain, function.name = "", step.op
    return inline_functions([node], [function], {"": step.opset})


def _type(data_type: int, shape: Iterable[int]) -> TypeProto:
    return helper.make_tensor_type_proto(data_type, list(shape))
