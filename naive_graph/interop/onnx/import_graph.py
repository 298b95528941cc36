"""Building: each step becomes the operator that its row's mapping names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, TensorProto, defs

from ...errors import (
    ImportAttributeError,
    ImportModelError,
    NaiveGraphError,
    StaleNodeError,
    UnknownOperatorError,
)
from ...tensor.base import TensorNode
from ...tensor.operators.row import Row
from ...tensor.operators.table import TABLE
from ..network import BuiltGraph
from .arrays import entry_type
from .custom_ops import rebuild_call
from .function_bodies import expand_body, has_body
from .import_values import WHOLE, Values, check_attributes, mapping_of, operands, properties
from .inference import KNOWN_ONLY, check_entries, evaluate, schema_of, size_of_results, types_of_results
from .steps import Application

ImportRule = Callable[["OnnxBuilder", Application], Sequence[Any]]
IMPORT_RULES: dict[str, ImportRule] = {}  # operators that take more than their row's mapping; see preparing.py
# Operators that compute fractions of whole numbers, and drop them: towards 0.
FRACTIONS = {
    "Div", "Gemm", "GridSample", "Pow", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "Resize",
    "Upsample",
}  # fmt: skip
LARGEST_WHOLE = 2**53  # up to which float64 has all whole numbers


def import_rule(*ops: str) -> Callable[[ImportRule], ImportRule]:
    """Enter a function of (builder, step) that gives the results of these operators."""

    def define(function: ImportRule) -> ImportRule:
        IMPORT_RULES.update(dict.fromkeys(ops, function))
        return function

    return define


def unsupported(step: Application) -> str:
    """Why there is nothing for a step; empty if there is."""
    if own_function(step) is not None:
        return ""
    if step.domain or schema_of(step.op, step.opset) is None:
        return "" if is_custom(step) else "unknown"
    if step.op in IMPORT_RULES or step.op in KNOWN_ONLY or mapping_of(step.op, step.opset) or has_body(step):
        return ""
    return f"not in opset {step.opset}" if mapping_of(step.op, 10**6) else "unknown"


def is_custom(step: Application) -> bool:
    """Whether a step's operator is one that ONNX has not, and a row here has by that name."""
    return not defs.has(step.op) and mapping_of(step.op, step.opset, step.domain) is not None


def own_function(step: Application) -> FunctionProto | None:
    """What says which operator of ours a step is."""
    function = step.attributes.get("function")
    return function if isinstance(function, FunctionProto) else None


class OnnxBuilder(Values):
    """The values of a graph, and how each step adds to them."""

    def take(self, step: Application) -> None:
        """Give a step's results their values. Raises ImportModelError, which names the step."""
        try:
            results = self._results(step)
        except (ImportModelError, StaleNodeError):  # of the latter no file is at fault
            raise
        except NaiveGraphError as error:
            raise ImportModelError(f"{step.label}: {error}") from None
        for name, value in zip(step.outputs, results):
            if name and value is not None:
                self.values[name] = value
        kept = [each for each in results if isinstance(each, TensorNode)]
        if kept:
            self.nodes.setdefault(step.name, kept[0] if len(results) == 1 else tuple(kept))

    def _results(self, step: Application) -> Sequence[Any]:
        function = own_function(step)
        if function is not None:
            found = rebuild_call(function, [self.operand(step, at) for at in range(len(step.inputs))], step.name)
            return found if isinstance(found, tuple) else [found]
        if is_custom(step):
            return self.by_row(step)
        schema = schema_of(step.op, step.opset)
        given = len(step.inputs)
        due = [each.option.name != "Optional" for each in schema.inputs]
        absent = any(needed and not name for needed, name in zip(due, step.inputs[: schema.min_input]))
        if not schema.min_input <= given <= schema.max_input or absent:
            raise ImportModelError(f"{step.label} takes {schema.min_input} to {schema.max_input} inputs, not {given}.")
        check_attributes(step, schema)
        values = {name: self.value(name) for name in step.reads if name}
        self.types |= types_of_results(step, self.types)
        if not any(isinstance(each, TensorNode) for each in values.values()):
            return self._folded(step, values)
        results = self._built(step)
        if step.op in FRACTIONS and self.types.get(step.outputs[0]) in WHOLE:
            return [truncated(each, step.name) for each in results]
        return results

    def _folded(self, step: Application, arrays: Mapping[str, Any]) -> Sequence[Any]:
        """The arrays of a step that is known before the network runs: by our own operators, if they have it."""
        if step.op == "Range":  # some files give it lists of one
            arrays = {name: each.reshape(()) if each.size == 1 else each for name, each in arrays.items()}
        self.hold(size_of_results(step, arrays), step.label)
        if step.op in KNOWN_ONLY or not all(map(is_ours, arrays.values())):
            return self._typed_arrays(step, evaluate(step, arrays))
        constants, self.constants = self.constants, {}
        try:
            found = self._typed_arrays(step, self._built(step))
        except StaleNodeError:
            raise
        except NaiveGraphError as error:
            if step.op == "Bernoulli":  # which is drawn by chance
                raise
            try:
                return self._typed_arrays(step, evaluate(step, arrays))
            except ImportModelError:
                raise error from None
        finally:
            self.constants = constants
        exact = all(is_exact(each) for each in found if each is not None)
        return found if exact else self._typed_arrays(step, evaluate(step, arrays))

    def _typed_arrays(self, step: Application, results: Sequence[Any]) -> list[Any]:
        """Results as arrays of the types that ONNX says."""
        nodes = {str(at): each for at, each in enumerate(results) if isinstance(each, TensorNode)}
        values = BuiltGraph({}, nodes, {}).run() if nodes else {}
        found = []
        for at, (name, result) in enumerate(zip(step.outputs, results)):
            kind = entry_type(self.types[name]) if name in self.types else None
            with np.errstate(invalid="ignore"):
                found.append(None if result is None else np.asarray(values.get(str(at), result), kind))
        return found

    def _built(self, step: Application) -> Sequence[Any]:
        """The results of a step by our own operators."""
        if step.op in IMPORT_RULES:
            try:
                return IMPORT_RULES[step.op](self, step)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                if isinstance(error, NaiveGraphError):
                    raise
                raise ImportModelError(f"{step.label} does not say what {step.op} needs: {error!r:.80}.") from None
        if step.op in KNOWN_ONLY:
            raise ImportModelError(f"{step.label} works on what is known before the network runs, not on tensors.")
        return self.by_row(step) if mapping_of(step.op, step.opset) else self.by_body(step)

    def by_row(self, step: Application, instead: Row | None = None, **changed: Any) -> Sequence[Any]:
        """The results of the row that the table names for a step, with some operands or properties changed.

        instead: another row, which takes the same.
        """
        row, mapping = mapping_of(step.op, step.opset) or _none(step)
        try:
            values = operands(self, step, row, mapping) | properties(self, step, row, mapping) | changed
            row = instead or row
        except ImportAttributeError as error:
            if not has_body(step) or isinstance(error.value, str):  # ONNX's own text asks for no unknown word
                raise
            return self.by_body(step)
        results = self.applied(step, row, values)
        return self.by_body(step) if any(step.outputs[len(results) :]) and has_body(step) else results

    def by_body(self, step: Application) -> Sequence[Any]:
        """The results of what ONNX says that an operator is made of."""
        for each in expand_body(step, self._typed) if has_body(step) else _none(step):
            if unsupported(each):
                raise UnknownOperatorError(f"There is nothing here for {each.op}, of which ONNX makes {step.label}.")
            self.take(each)
        return [self.values.get(each) for each in step.outputs]

    def _typed(self, name: str) -> tuple[int, tuple[int, ...]]:
        return self.types.get(name, int(TensorProto.FLOAT)), tuple(self.value(name).shape)

    def applied(self, step: Application, row: Row, values: Mapping[str, Any]) -> Sequence[Any]:
        known = row.result_shape(row.bound((), values)) if row.shape else None
        for shape in known if isinstance(known, list) else [known or ()]:
            check_entries(shape, step.label)
        result = row(**values, name=step.name)
        results = result if isinstance(result, tuple) else [result]
        for node in results if known is None else ():
            check_entries(node.shape, step.label)
        return results


def is_ours(array: Any) -> bool:
    """Whether a tensor here can hold an array: entries there are, numbers or truth values, and all exactly."""
    return array.dtype.kind in "biuf" and array.size and is_exact(array)


def is_exact(array: Any) -> bool:
    """Whether float64 has all entries of an array."""
    whole = array.dtype.kind in "iu" and array.itemsize == 8
    return not whole or not array.size or abs(array.astype(float)).max() < LARGEST_WHOLE


def truncated(value: Any, name: str) -> Any:
    """A number without its fraction."""
    return value if value is None else TABLE["sub"](value, TABLE["fmod"](value, 1.0), name=name)


def _none(step: Application) -> Any:
    raise ImportModelError(f"{step.label} has no row here.")


def cast_to(builder: OnnxBuilder, step: Application) -> int:
    """The type that a Cast or CastLike gives."""
    return builder.type(step, 1) if step.op == "CastLike" else int(step.attributes["to"].i)
