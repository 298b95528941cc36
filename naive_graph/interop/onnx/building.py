"""Building: each step becomes the operator that its row's mapping names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, TensorProto, helper

from ...errors import (
    ImportAttributeError,
    ImportModelError,
    NaiveGraphError,
    OperatorNameError,
    PropertyError,
    UnknownOperatorError,
)
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode
from ...tensor.operators.kinds import OfRule
from ...tensor.operators.mapping import ALL, REQUIRED, Attribute, Extent, Fixed, Input, Name, Permuted
from ...tensor.operators.properties import LARGEST
from ...tensor.operators.row import Row
from ...tensor.operators.signature import taken
from ...tensor.operators.table import TABLE
from ..weights import Weight, Weights
from .bodies import has_body, spelt_out
from .folding import KNOWN_ONLY, check_entries, folded, schema_of, types_like
from .inlining import Step
from .own import restored

Prepared = Callable[["Builder", Step], Sequence[Any]]
PREPARED: dict[str, Prepared] = {}  # operators that take more than their row's mapping; see preparing.py


def prepared(*ops: str) -> Callable[[Prepared], Prepared]:
    """Enter a function of (builder, step) that gives the results of these operators."""

    def define(function: Prepared) -> Prepared:
        PREPARED.update(dict.fromkeys(ops, function))
        return function

    return define


def mapping_of(op: str, opset: int) -> tuple[Row, Name] | None:
    """The row that stands for an operator in this opset, and how it is called there."""
    try:
        row = TABLE.named("onnx", op)
    except OperatorNameError:
        return None
    for each in row.mappings:
        if each.framework == "onnx" and each.operator == op and each.since <= opset <= (each.until or opset):
            return row, each
    return None


def unsupported(step: Step) -> str:
    """Why there is nothing for a step; empty if there is."""
    if own_function(step) is not None:
        return ""
    if step.domain or schema_of(step.op, step.opset) is None:
        return "unknown"
    if step.op in PREPARED or step.op in KNOWN_ONLY or mapping_of(step.op, step.opset) or has_body(step):
        return ""
    return f"not in opset {step.opset}" if mapping_of(step.op, 10**6) else "unknown"


def own_function(step: Step) -> FunctionProto | None:
    """What says which operator of ours a step is."""
    function = step.attributes.get("function")
    return function if isinstance(function, FunctionProto) else None


class Builder:
    """The values of a graph, by name: arrays that are known, weights, and tensor nodes."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.values: dict[str, Any] = {}
        self.types: dict[str, int] = {}
        self.nodes: dict[str, Any] = {}  # by the names of steps
        self.constants: dict[str, LeafNode] = {}

    # --- what a step reads ---

    def value(self, name: str) -> Any:
        """An array that is known, or a node. Raises ImportModelError for a result that no row gives."""
        if name in self.weights:
            return self.weights[name]
        if name not in self.values:
            raise ImportModelError(f"{name!r} is a further result of its operator, which is not given here.")
        return self.values[name]

    def input(self, step: Step, place: int) -> Any:
        """One input; None if it is left out."""
        name = step.inputs[place] if -len(step.inputs) <= place < len(step.inputs) else ""
        return self.value(name) if name else None

    def operand(self, step: Step, place: int) -> Any:
        """One input as a tensor node; None if it is left out."""
        value = self.input(step, place)
        if isinstance(value, Weight):
            self.weights.used[step.inputs[place]] = value
        return self.node(step.inputs[place], value) if isinstance(value, np.ndarray) else value

    def node(self, name: str, array: Any) -> LeafNode:
        """A known array as a constant."""
        if name not in self.constants:
            if not array.size or array.dtype.kind not in "biuf":
                raise ImportModelError(
                    f"{name!r} of shape {array.shape} and type {array.dtype} is no tensor of numbers."
                )
            self.constants[name] = LeafNode.constant(array.astype(np.float64), name)
        return self.constants[name]

    def known(self, step: Step, place: int) -> Any:
        """One input as an array; None if it is left out. Raises ImportModelError if it is not known yet."""
        value = self.input(step, place)
        if isinstance(value, Weight):
            return np.asarray(value._value)
        if isinstance(value, TensorNode):
            name = step.inputs[place]
            raise ImportModelError(
                f"{step.label}: {name!r} must be known before the network runs. If it is an input, give it: "
                f"from_onnx(..., known={{{name!r}: ...}})."
            )
        return value

    def type(self, step: Step, place: int) -> int:
        return self.types.get(step.inputs[place], int(TensorProto.FLOAT))

    # --- steps ---

    def take(self, step: Step) -> None:
        """Give a step's results their values. Raises ImportModelError, which names the step."""
        try:
            results = self._results(step)
        except ImportModelError:
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

    def _results(self, step: Step) -> Sequence[Any]:
        function = own_function(step)
        if function is not None:
            found = restored(function, [self.operand(step, at) for at in range(len(step.inputs))], step.name)
            return found if isinstance(found, tuple) else [found]
        schema = schema_of(step.op, step.opset)
        given = len(step.inputs)
        if not schema.min_input <= given <= schema.max_input or "" in step.inputs[: schema.min_input]:
            raise ImportModelError(f"{step.label} takes {schema.min_input} to {schema.max_input} inputs, not {given}.")
        check_attributes(step, schema)
        inputs = [self.value(name) if name else None for name in step.inputs]
        if step.op != "Constant" and not any(isinstance(each, TensorNode) for each in inputs):
            return folded(step, inputs)
        if step.op in PREPARED:
            return PREPARED[step.op](self, step)
        if step.op in KNOWN_ONLY:
            raise ImportModelError(f"{step.label} works on what is known before the network runs, not on tensors.")
        return self.by_row(step) if mapping_of(step.op, step.opset) else self.by_body(step)

    def _type(self, step: Step, at: int, value: Any) -> int:
        if isinstance(value, np.ndarray):
            return int(helper.np_dtype_to_tensor_dtype(value.dtype))
        if step.op in ("Cast", "CastLike"):
            return cast_to(self, step)
        if own_function(step) is not None:
            return self.type(step, 0)
        like = types_like(step.op, step.opset, len(step.inputs), len(step.outputs))[at]
        return self.type(step, like[0]) if isinstance(like, tuple) else int(like)

    def by_row(self, step: Step, **changed: Any) -> Sequence[Any]:
        """The results of the row that the table names for a step, with some operands or properties changed."""
        row, mapping = mapping_of(step.op, step.opset) or _none(step)
        try:
            values = self.operands(step, row, mapping) | self.properties(step, row, mapping) | changed
        except ImportAttributeError:
            if not has_body(step):
                raise
            return self.by_body(step)
        results = self.applied(step, row, values)
        return self.by_body(step) if any(step.outputs[len(results) :]) and has_body(step) else results

    def by_body(self, step: Step) -> Sequence[Any]:
        """The results of what ONNX says that an operator is made of."""
        for each in spelt_out(step, self._typed) if has_body(step) else _none(step):
            if unsupported(each):
                raise UnknownOperatorError(f"There is nothing here for {each.op}, of which ONNX makes {step.label}.")
            self.take(each)
        return [self.values.get(each) for each in step.outputs]

    def _typed(self, name: str) -> tuple[int, tuple[int, ...]]:
        return self.types.get(name, int(TensorProto.FLOAT)), tuple(self.value(name).shape)

    def applied(self, step: Step, row: Row, values: Mapping[str, Any]) -> Sequence[Any]:
        shapes = row.result_shape(row.bound((), values)) if row.shape else ()
        for shape in shapes if isinstance(shapes, list) else [shapes]:
            check_entries(shape, step.label)
        result = row(**values, name=step.name)
        return result if isinstance(result, tuple) else [result]

    def operands(self, step: Step, row: Row, mapping: Name) -> dict[str, Any]:
        taken = {home.position for home in mapping.homes(step.opset).values() if isinstance(home, Input)}
        places = mapping.operands or [place for place in range(len(step.inputs)) if place not in taken]
        if ALL in places:
            there = [at for at in range(len(step.inputs)) if getattr(self.input(step, at), "size", 0)]  # of entries
            return {row.operand_names[0]: [self.operand(step, at) for at in there]}
        if (isinstance(row, OfRule) and row.rule.arity != 1) or row.name in ("maximum", "minimum"):
            return self._chained(step, row)
        if len(places) > len(row.operand_names):
            raise ImportModelError(f"{step.label}: {row.usage()} takes fewer operands than its {len(places)} inputs.")
        return {name: self._turned(step, each) for name, each in zip(row.operand_names, places)}

    def _turned(self, step: Step, place: int | Permuted) -> Any:
        """An operand, its axes in our order."""
        if not isinstance(place, Permuted):
            return self.operand(step, place)
        x = self.operand(step, place.position)
        if x is not None and x.rank != len(place.order):
            raise ImportModelError(f"{step.label}: {step.inputs[place.position]!r} has {x.rank} axes, not 4.")
        return None if x is None else TABLE["transpose"](x, list(place.order))

    def _chained(self, step: Step, row: Row) -> dict[str, Any]:
        """Two operands of a rule: all but the last input, joined by it, and the last."""
        each = [self.operand(step, place) for place in range(len(step.inputs))]
        if len(each) == 1:
            return dict(zip(row.operand_names, each * 2))
        while len(each) > len(row.operand_names):
            each[:2] = [row(*each[:2])]
        return dict(zip(row.operand_names, each))

    def properties(self, step: Step, row: Row, mapping: Name) -> dict[str, Any]:
        attributes = {name: plain(step, each) for name, each in step.attributes.items()}
        for name, value in attributes.items():
            if name not in mapping.attributes(step.opset):
                raise ImportAttributeError(step.label, name, value)
            if name in mapping.refused and value != mapping.refused[name]:
                raise ImportAttributeError(step.label, name, value, f"Only {mapping.refused[name]!r} has.")
        found = {}
        for name, home in mapping.homes(step.opset).items():
            label, value = self._property(step, home, attributes)
            try:
                taken(row.name, row.by_name[name], value)
            except PropertyError as error:
                raise ImportAttributeError(step.label, label, value, str(error)) from None
            found[name] = value
        return found

    def _property(self, step: Step, home: Any, attributes: Mapping[str, Any]) -> tuple[str, Any]:
        """Where a property is found, and its value."""
        if isinstance(home, Fixed):
            return "value", home.value
        if isinstance(home, Extent):
            shape = self.operand(step, home.input).shape
            return "shape", tuple(shape[axis] for axis in home.axes)
        if isinstance(home, Attribute):
            label, value = home.name, attributes.get(home.name, home.default)
        else:
            label = f"input {home.position}"
            array = self.input(step, home.position)
            if not isinstance(array, TensorNode) or isinstance(array, Weight) or not _at_run_time(step):
                array = self.known(step, home.position)
            value = home.default if array is None else _numbers(array)
        if isinstance(value, str) and value == REQUIRED and label not in attributes:
            raise ImportAttributeError(step.label, label, None, "It must be there.")
        return label, value if home.adapt is None or value is None else home.adapt(value, attributes)


def check_attributes(step: Step, schema: Any) -> None:
    """Attributes are those of the operator, and of its types. Raises ImportAttributeError."""
    for name, each in step.attributes.items():
        if name not in schema.attributes:
            raise ImportAttributeError(step.label, name, plain(step, each), f"{step.op} has none of this name.")
        if each.type != schema.attributes[name].type.value:
            raise ImportAttributeError(step.label, name, plain(step, each), "It is of another type.")
    for name, said in schema.attributes.items():
        if said.required and name not in step.attributes:
            raise ImportAttributeError(step.label, name, None, "It must be there.")


def _at_run_time(step: Step) -> bool:
    """Whether places that a tensor names are found at run time."""
    return step.op in ("Gather", "GatherElements", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")


def _numbers(array: Any) -> Any:
    """A known array as a property takes it."""
    if isinstance(array, TensorNode):
        return array
    if array.dtype.kind in "iu":
        array = np.clip(array.astype(np.int64), -LARGEST, LARGEST)  # as in `plain`
    return array.item() if array.ndim == 0 else array


def _none(step: Step) -> Any:
    raise ImportModelError(f"{step.label} has no row here.")


def plain(step: Step, attribute: Any) -> Any:
    """An attribute as a number, a text or a list."""
    value = helper.get_attribute_value(attribute)
    try:
        if isinstance(value, bytes):
            return value.decode()
        if attribute.type == attribute.INTS:
            return [max(-LARGEST, min(each, LARGEST)) for each in value]  # ends beyond all ends are written so
        if attribute.type in (attribute.FLOATS, attribute.STRINGS):
            return [each.decode() if isinstance(each, bytes) else each for each in value]
    except UnicodeDecodeError:
        raise ImportAttributeError(step.label, attribute.name, value, "It is no text.") from None
    return value


def cast_to(builder: Builder, step: Step) -> int:
    """The type that a Cast or CastLike gives."""
    return builder.type(step, 1) if step.op == "CastLike" else int(step.attributes["to"].i)
