"""Building: each step becomes the operator that its row's mapping names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, TensorProto, helper

from ...errors import ImportAttributeError, ImportModelError, NaiveGraphError, StaleNodeError, UnknownOperatorError
from ...tensor.base import TensorNode
from ...tensor.operators.row import Row
from .bodies import has_body, spelt_out
from .folding import KNOWN_ONLY, check_entries, folded, is_foldable, schema_of, types_like
from .inlining import Application
from .mapped import check_attributes, mapping_of, operands, properties
from .own import restored
from .values import Values

Prepared = Callable[["OnnxBuilder", Application], Sequence[Any]]
PREPARED: dict[str, Prepared] = {}  # operators that take more than their row's mapping; see preparing.py


def prepared(*ops: str) -> Callable[[Prepared], Prepared]:
    """Enter a function of (builder, step) that gives the results of these operators."""

    def define(function: Prepared) -> Prepared:
        PREPARED.update(dict.fromkeys(ops, function))
        return function

    return define


def unsupported(step: Application) -> str:
    """Why there is nothing for a step; empty if there is."""
    if own_function(step) is not None:
        return ""
    if step.domain or schema_of(step.op, step.opset) is None:
        return "unknown"
    if step.op in PREPARED or step.op in KNOWN_ONLY or mapping_of(step.op, step.opset) or has_body(step):
        return ""
    return f"not in opset {step.opset}" if mapping_of(step.op, 10**6) else "unknown"


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
        for at, (name, value) in enumerate(zip(step.outputs, results)):
            if name and value is not None:
                self.values[name] = value
                self.types[name] = self._type(step, at, value)
        kept = [each for each in results if isinstance(each, TensorNode)]
        if kept:
            self.nodes.setdefault(step.name, kept[0] if len(results) == 1 else tuple(kept))

    def _results(self, step: Application) -> Sequence[Any]:
        function = own_function(step)
        if function is not None:
            found = restored(function, [self.operand(step, at) for at in range(len(step.inputs))], step.name)
            return found if isinstance(found, tuple) else [found]
        schema = schema_of(step.op, step.opset)
        given = len(step.inputs)
        due = [each.option.name != "Optional" for each in schema.inputs]
        absent = any(needed and not name for needed, name in zip(due, step.inputs[: schema.min_input]))
        if not schema.min_input <= given <= schema.max_input or absent:
            raise ImportModelError(f"{step.label} takes {schema.min_input} to {schema.max_input} inputs, not {given}.")
        check_attributes(step, schema)
        inputs = [self.value(name) if name else None for name in step.inputs]
        if is_foldable(step) and not any(isinstance(each, TensorNode) for each in inputs):
            return folded(step, inputs, self.hold)
        if step.op in PREPARED:
            try:
                return PREPARED[step.op](self, step)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                if isinstance(error, NaiveGraphError):
                    raise
                raise ImportModelError(f"{step.label} does not say what {step.op} needs: {error!r:.80}.") from None
        if step.op in KNOWN_ONLY:
            raise ImportModelError(f"{step.label} works on what is known before the network runs, not on tensors.")
        return self.by_row(step) if mapping_of(step.op, step.opset) else self.by_body(step)

    def _type(self, step: Application, at: int, value: Any) -> int:
        if isinstance(value, np.ndarray):
            return int(helper.np_dtype_to_tensor_dtype(value.dtype))
        if step.op in ("Cast", "CastLike"):
            return cast_to(self, step)
        if own_function(step) is not None:
            return self.type(step, 0)
        like = types_like(step.op, step.opset, len(step.inputs), len(step.outputs))[at]
        return self.type(step, like[0]) if isinstance(like, tuple) else int(like)

    def by_row(self, step: Application, **changed: Any) -> Sequence[Any]:
        """The results of the row that the table names for a step, with some operands or properties changed."""
        row, mapping = mapping_of(step.op, step.opset) or _none(step)
        try:
            values = operands(self, step, row, mapping) | properties(self, step, row, mapping) | changed
        except ImportAttributeError as error:
            if not has_body(step) or isinstance(error.value, str):  # ONNX's own text asks for no unknown word
                raise
            return self.by_body(step)
        results = self.applied(step, row, values)
        return self.by_body(step) if any(step.outputs[len(results) :]) and has_body(step) else results

    def by_body(self, step: Application) -> Sequence[Any]:
        """The results of what ONNX says that an operator is made of."""
        for each in spelt_out(step, self._typed) if has_body(step) else _none(step):
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


def _none(step: Application) -> Any:
    raise ImportModelError(f"{step.label} has no row here.")


def cast_to(builder: OnnxBuilder, step: Application) -> int:
    """The type that a Cast or CastLike gives."""
    return builder.type(step, 1) if step.op == "CastLike" else int(step.attributes["to"].i)
