"""Build tensor nodes from an ONNX graph, step by step (a step is one ONNX node).

A step is built in the first of these ways that there is:

1. as a call of the operator that naive_graph exported as a local function (custom_ops.py);
2. if ONNX lacks the operator, by the operator of ours that is mapped to its name;
3. by its import rule (import_rules.py);
4. by the operator of ours that is mapped to its ONNX operator;
5. by the function body that ONNX itself gives for it, also where 4 lacks an option or a result.

In 3 to 5, a step whose inputs are all constants is folded to arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from onnx import FunctionProto, TensorProto, defs, helper

from ...errors import ImportAttributeError, ImportModelError, NaiveGraphError, StaleNodeError, UnknownOperatorError
from ...tensor.base import TensorNode
from ...tensor.operators.families import RuleOperator
from ...tensor.operators.mapping import ForeignOperator
from ...tensor.operators.operator_def import OperatorDef
from ...tensor.operators.properties import LARGEST
from ...tensor.operators.table import TABLE
from ..builder import ImportRule, StepBuilder, leaf_names, register, truncate_fraction
from ..network import join_names
from ..weights import StoredWeights
from .arrays import entry_type
from .custom_ops import rebuild_call
from .inference import KNOWN_ONLY, evaluate, expand_body, has_body, schema_of, size_of_results, types_of_results
from .steps import OnnxStep

IMPORT_RULES: dict[str, ImportRule] = {}  # operators that need more than a mapping; see import_rules.py
import_rule = partial(register, IMPORT_RULES)
INTEGER_TYPES = {number for name, number in TensorProto.DataType.items() if re.fullmatch(r"U?INT\d+", name)}
# Operators whose integer results are truncated towards 0.
TRUNCATED_OPERATORS = {
    "Div", "Gemm", "GridSample", "Pow", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "Resize",
    "Upsample",
}  # fmt: skip
LARGEST_WHOLE = 2**53  # float64 represents all integers up to this exactly


def mapping_of(op: str, opset: int, domain: str = "") -> Any:
    """The operator of ours mapped to an ONNX operator in this opset, and the mapping; None if there is none.

    In a domain other than ONNX's own, only operators that ONNX lacks are looked up.
    """
    return None if domain and defs.has(op) else TABLE.mapping("onnx", op, opset)


def why_unsupported(step: OnnxStep) -> str:
    """Why a step's operator is not supported; empty if it is."""
    if exported_function(step) is not None:
        return ""
    if step.domain or schema_of(step.op, step.opset) is None:
        return "" if is_custom(step) else "unknown"
    if step.op in IMPORT_RULES or step.op in KNOWN_ONLY or mapping_of(step.op, step.opset) or has_body(step):
        return ""
    return f"not in opset {step.opset}" if mapping_of(step.op, 10**6) else "unknown"


def is_custom(step: OnnxStep) -> bool:
    """Whether ONNX lacks a step's operator, and an operator of ours is mapped to its name."""
    return not defs.has(step.op) and mapping_of(step.op, step.opset, step.domain) is not None


def exported_function(step: OnnxStep) -> FunctionProto | None:
    """The local function, exported by naive_graph, whose metadata names a step's operator; None if there is none."""
    function = step.attributes.get("function")
    return function if isinstance(function, FunctionProto) else None


class OnnxBuilder(StepBuilder):
    """Builds the nodes of an ONNX graph. types: ONNX entry types of values, by name."""

    def __init__(self, weights: StoredWeights, known: Mapping[str, Any], types: Mapping[str, int], most: int) -> None:
        super().__init__(weights, known, most)
        self.types = dict(types)

    def advice(self, value: TensorNode) -> str:
        inputs, weights = leaf_names(value)
        if not inputs:
            return f"It is computed from {join_names(weights)}: leave these out of from_onnx(..., parameters=[...])."
        arrays, plural = ", ".join(f"{name!r}: ..." for name in inputs), "s" * (len(inputs) > 1)
        options = " ".join(f"--known {name}=..." for name in inputs)
        known = f"give from_onnx(..., known={{{arrays}}}), or on the command line {options}"
        return f"It is computed from the input{plural} {join_names(inputs)}: {known}."

    def type(self, step: OnnxStep, position: int) -> int:
        """ONNX's type of an input's entries."""
        return self.types.get(step.inputs[position], int(TensorProto.FLOAT))

    def is_integer(self, step: OnnxStep, position: int) -> bool:
        """Whether an input's entries are integers in ONNX."""
        return self.type(step, position) in INTEGER_TYPES

    def attributes(self, step: OnnxStep, mapping: ForeignOperator) -> dict[str, Any]:
        return attributes_of(step)

    def operands(
        self, step: OnnxStep, operator_def: OperatorDef, mapping: ForeignOperator, read: Any = None
    ) -> dict[str, Any]:
        """The operands for an operator of ours. A binary one takes more inputs as a left fold, f(f(a, b), c)."""
        is_binary = isinstance(operator_def, RuleOperator) and operator_def.rule.arity != 1
        if not is_binary and operator_def.name not in ("maximum", "minimum"):
            return super().operands(step, operator_def, mapping, read)
        values = [self.operand(step, position) for position in range(len(step.inputs))]
        values = values * 2 if len(values) == 1 else values
        while len(values) > len(operator_def.operand_names):
            values[:2] = [operator_def(*values[:2])]
        return dict(zip(operator_def.operand_names, values))

    def results(self, step: OnnxStep) -> Sequence[Any]:
        function = exported_function(step)
        if function is not None:
            inputs = [self.operand(step, position) for position in range(len(step.inputs))]
            rebuilt = rebuild_call(function, inputs, step.name)
            return rebuilt if isinstance(rebuilt, tuple) else [rebuilt]
        if is_custom(step):
            return self.by_row(step)
        schema = schema_of(step.op, step.opset)
        count = len(step.inputs)
        required = [input_.option.name != "Optional" for input_ in schema.inputs]
        absent = any(needed and not name for needed, name in zip(required, step.inputs[: schema.min_input]))
        if not schema.min_input <= count <= schema.max_input or absent:
            raise ImportModelError(f"{step.label} takes {schema.min_input} to {schema.max_input} inputs, not {count}.")
        check_attributes(step, schema)
        values = {name: self.value(name) for name in step.reads if name}
        self.types |= types_of_results(step, self.types)
        if not any(isinstance(value, TensorNode) for value in values.values()):
            return self._fold(step, values)
        results = self._build(step)
        if step.op in TRUNCATED_OPERATORS and self.types.get(step.outputs[0]) in INTEGER_TYPES:
            return [truncate_fraction(result, step.name) for result in results]
        return results

    def _fold(self, step: OnnxStep, arrays: Mapping[str, Any]) -> Sequence[Any]:
        """Constant folding: by our own operators where they give exact results, otherwise by onnx's evaluator."""
        if step.op == "Range":  # some files give it one-element lists in place of scalars
            arrays = {name: array.reshape(()) if array.size == 1 else array for name, array in arrays.items()}
        self.hold(size_of_results(step, arrays), step.label)
        if step.op in KNOWN_ONLY or not all(map(is_representable, arrays.values())):
            return self._as_typed_arrays(step, evaluate(step, arrays))
        constants, self.constants = self.constants, {}
        try:
            results = self._as_typed_arrays(step, self._build(step))
        except StaleNodeError:
            raise
        except NaiveGraphError as error:
            if step.op == "Bernoulli":  # random: onnx would draw other numbers
                raise
            try:
                return self._as_typed_arrays(step, evaluate(step, arrays))
            except ImportModelError:
                raise error from None
        finally:
            self.constants = constants
        exact = all(is_exact(result) for result in results if result is not None)
        return results if exact else self._as_typed_arrays(step, evaluate(step, arrays))

    def _as_typed_arrays(self, step: OnnxStep, results: Sequence[Any]) -> list[Any]:
        """Convert results to arrays of the types that ONNX infers; nodes are evaluated."""
        arrays = []
        for name, result in zip(step.outputs, results):
            array = result.eval() if isinstance(result, TensorNode) else result
            kind = entry_type(self.types[name]) if name in self.types else None
            with np.errstate(invalid="ignore"):
                arrays.append(None if array is None else np.asarray(array, kind))
        return arrays

    def _build(self, step: OnnxStep) -> Sequence[Any]:
        """Build a step with our own operators: by import rule, mapped operator or function body."""
        if step.op in IMPORT_RULES:
            try:
                return IMPORT_RULES[step.op](self, step)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                if isinstance(error, NaiveGraphError):
                    raise
                raise ImportModelError(f"{step.label} does not say what {step.op} needs: {error!r:.80}.") from None
        if step.op in KNOWN_ONLY:
            raise ImportModelError(f"{step.label} works on what is known before the network runs, not on tensors.")
        return self.by_row(step) if mapping_of(step.op, step.opset) else self.apply_body(step)

    def by_row(self, step: OnnxStep, replacement: OperatorDef | None = None, **overrides: Any) -> Sequence[Any]:
        """Build a step by the operator of ours that is mapped to it; by its body if that lacks an option or a result.

        overrides: operands or properties to replace. replacement: another operator to call with the same arguments.
        """
        operator_def, mapping = mapping_of(step.op, step.opset)
        try:
            values = self.operands(step, operator_def, mapping) | self.properties(step, operator_def, mapping)
            values |= overrides
            operator_def = replacement or operator_def
        except ImportAttributeError as error:
            if not has_body(step) or isinstance(error.value, str):  # a body cannot help with an unknown text option
                raise
            return self.apply_body(step)
        results = self.apply_operator(step, operator_def, values)
        return self.apply_body(step) if any(step.outputs[len(results) :]) and has_body(step) else results

    def apply_body(self, step: OnnxStep) -> Sequence[Any]:
        """Build a step from the function body that ONNX defines for its operator."""
        self.take_inside(expand_body(step, self._type_and_shape), f"of which ONNX makes {step.label}")
        return [self.values.get(output) for output in step.outputs]

    def take_inside(self, inner_steps: Iterable[OnnxStep], where: str) -> None:
        """Run the steps inside a step. Raises UnknownOperatorError, which says where one stands."""
        for inner_step in inner_steps:
            if why_unsupported(inner_step):
                raise UnknownOperatorError(f"There is nothing here for {inner_step.op}, {where}.")
            self.take(inner_step)

    def _type_and_shape(self, name: str) -> tuple[int, tuple[int, ...]]:
        return self.types.get(name, int(TensorProto.FLOAT)), tuple(self.value(name).shape)


def is_representable(array: Any) -> bool:
    """Whether our tensors can hold an array: not empty, numeric or Boolean, and exact in float64."""
    return array.dtype.kind in "biuf" and array.size and is_exact(array)


def is_exact(array: Any) -> bool:
    """Whether float64 surely represents all entries of an array exactly: 64-bit integers only below 2**53."""
    is_wide_integer = array.dtype.kind in "iu" and array.itemsize == 8
    return not is_wide_integer or not array.size or abs(array.astype(float)).max() < LARGEST_WHOLE


def check_attributes(step: OnnxStep, schema: Any) -> None:
    """Raise ImportAttributeError unless a step's attributes match the operator's schema."""
    for name, attribute in step.attributes.items():
        known = schema.attributes.get(name)
        if known is None or attribute.type != known.type.value:
            why = "It is of another type." if known else f"{step.op} has none of this name."
            raise ImportAttributeError(step.label, name, attribute_value(step, attribute), why)


def attributes_of(step: OnnxStep) -> dict[str, Any]:
    """The attributes of a step as Python values."""
    return {name: attribute_value(step, attribute) for name, attribute in step.attributes.items()}


def attribute_value(step: OnnxStep, attribute: Any) -> Any:
    """Convert an AttributeProto to a Python value; bytes are decoded."""
    value = helper.get_attribute_value(attribute)
    try:
        if isinstance(value, bytes):
            return value.decode()
        if attribute.type == attribute.INTS:
            return [max(-LARGEST, min(entry, LARGEST)) for entry in value]  # "to the end" is written as INT_MAX
        if attribute.type in (attribute.FLOATS, attribute.STRINGS):
            return [entry.decode() if isinstance(entry, bytes) else entry for entry in value]
    except UnicodeDecodeError:
        raise ImportAttributeError(step.label, attribute.name, value, "It is no text.") from None
    return value
