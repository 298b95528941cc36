"""StepBuilder: the common base of the ONNX and TensorFlow importers.

For each step (a node of the file) it applies the operator definition of ours that
is mapped to the step's operator, and stores the results by name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..errors import ImportAttributeError, ImportModelError, NaiveGraphError, PropertyError, StaleNodeError
from ..tensor.base import TensorNode
from ..tensor.differentiate import BACKWARD_SOURCES, ancestors
from ..tensor.nodes import LeafNode, LeafType
from ..tensor.operators.mapping import ALL, REQUIRED, Attribute, Fixed, ForeignOperator, Input, Permuted
from ..tensor.operators.operator_def import OperatorDef
from ..tensor.operators.properties import LARGEST
from ..tensor.operators.signature import OperatorParameter, validate_property
from ..tensor.operators.table import TABLE
from .network import InputLeaf
from .steps import Step, check_entries, operand_sources
from .weights import StoredWeights, Weight

ImportRule = Callable[[Any, Any], Sequence[Any]]  # of (builder, step): the results of the step
Rule = TypeVar("Rule", bound=Callable[..., Any])


def register(rules: dict[str, Rule], *names: str) -> Callable[[Rule], Rule]:
    """Decorator: register a function in `rules` under these operator names."""

    def define(function: Rule) -> Rule:
        rules.update(dict.fromkeys(names, function))
        return function

    return define


class StepBuilder:
    """Builds a graph; its values are constant arrays, weights and tensor nodes. A subclass knows one file format.

    values: what is known beforehand; later also the results of steps. most: the limit in bytes of computed constants.
    nodes: the results of each step, by name.
    """

    def __init__(self, weights: StoredWeights, values: Mapping[str, Any], most: int) -> None:
        self.weights, self.most, self.made = weights, most, 0
        self.values = dict(values)
        self.nodes: dict[str, Any] = {}
        self.constants: dict[str, LeafNode] = {}

    def results(self, step: Step) -> Sequence[Any]:
        """Compute a step's results: arrays or nodes."""
        raise NotImplementedError

    def attributes(self, step: Step, mapping: ForeignOperator) -> dict[str, Any]:
        """Return a step's attributes as Python values."""
        raise NotImplementedError

    def hold(self, size: int, what: str) -> None:
        """Count bytes of computed constants. Raises ImportModelError if they exceed the limit."""
        self.made += size
        if self.made > self.most:
            raise ImportModelError(
                f"{what} would bring what the file's constants make to {self.made:_} bytes, and most is {self.most:_}. "
                f"If that is meant, say most={2 * self.made:_}."
            )

    def advice(self, value: TensorNode) -> str:
        """Advice for messages: how to make a value known before the network runs."""
        raise NotImplementedError

    # --- what a step reads ---

    def value(self, name: str) -> Any:
        """Look up a value: a known array, or a node. Raises ImportModelError for a result that no operator gives."""
        if name in self.weights:
            return self.weights[name]
        if name not in self.values:
            raise ImportModelError(f"{name!r} is a further result of its operator, which is not given here.")
        return self.values[name]

    def input(self, step: Step, position: int) -> Any:
        """One input; None if it is left out."""
        name = step.inputs[position] if -len(step.inputs) <= position < len(step.inputs) else ""
        return self.value(name) if name else None

    def operand(self, step: Step, position: int) -> Any:
        """One input as a tensor node; None if it is left out."""
        return None if self.input(step, position) is None else self.tensor(step.inputs[position])

    def tensor(self, name: str) -> TensorNode:
        """Look up a value as a tensor node; an array becomes a constant leaf."""
        value = self.value(name)
        if isinstance(value, Weight):
            self.weights.used[value.name or ""] = value  # the stored name; the file may have aliases
        return self.node(name, value) if isinstance(value, np.ndarray) else value

    def node(self, name: str, array: Any) -> LeafNode:
        """Make a constant leaf of an array, once for each name."""
        if name not in self.constants:
            if not array.size or array.dtype.kind not in "biuf":
                kind = f"{name!r} of shape {array.shape} and type {array.dtype}"
                raise ImportModelError(f"{kind} is no tensor of numbers: it has entries.")
            if name in self.weights:
                return self.weights.constant(name)
            self.hold(8 * array.size, repr(name))
            self.constants[name] = Weight(array, name, LeafType.CONSTANT)
        return self.constants[name]

    def known_array(self, step: Step, position: int) -> Any:
        """One input as an array; None if it is left out. Raises ImportModelError if it is not known yet."""
        value = self.input(step, position)
        if isinstance(value, Weight):
            return np.asarray(value._value)
        if isinstance(value, TensorNode):
            what = f"{step.label}: {step.inputs[position]!r}"
            raise ImportModelError(f"{what} must be known before the network runs. {self.advice(value)}")
        return value

    # --- what a step becomes ---

    def take(self, step: Step) -> None:
        """Run one step and store its results by name. Raises ImportModelError, which names the step."""
        try:
            results = self.results(step)
        except (ImportModelError, StaleNodeError):  # a StaleNodeError is not the file's fault
            raise
        except (NaiveGraphError, MemoryError) as error:
            raise ImportModelError(f"{step.label}: {error}") from None
        self.values |= {name: value for name, value in zip(step.outputs, results) if name and value is not None}
        tensors = [result for result in results if isinstance(result, TensorNode)]
        if tensors:
            self.nodes.setdefault(step.name, tensors[0] if len(results) == 1 else tuple(tensors))

    def apply_operator(self, step: Step, row: OperatorDef, values: Mapping[str, Any]) -> Sequence[Any]:
        """Call an operator of the table; its result is named after the step."""
        result_shape = row.result_shape(row.bind_arguments((), values)) if row.shape else None
        for shape in result_shape if isinstance(result_shape, list) else [result_shape or ()]:
            check_entries(shape, step.label)
        result = row(**values, name=step.name)
        results = result if isinstance(result, tuple) else [result]
        for node in results if result_shape is None else ():
            check_entries(node.shape, step.label)
        return results

    # --- by the mappings that rows carry ---

    def operands(
        self, step: Step, row: OperatorDef, mapping: ForeignOperator, read: Callable[[Step, int], Any] | None = None
    ) -> dict[str, Any]:
        """Read the operands of an operator, by parameter name. read: how to read an input; as a tensor if None."""
        read = read or self.operand
        sources = operand_sources(row, mapping, len(step.inputs), step.opset)
        if ALL in (mapping.operands or ()):
            (name,) = sources
            positions = [position for position in sources[name] if getattr(self.input(step, position), "size", 0)]
            return {name: [read(step, position) for position in positions]}
        if any(len(several) > 1 for several in sources.values()):
            count = len(step.inputs)
            raise ImportModelError(f"{step.label}: {row.usage()} takes fewer operands than its {count} inputs.")
        return {name: self._permute(step, source, read) for name, (source,) in sources.items()}

    def _permute(self, step: Step, operand: int | Permuted, read: Callable[[Step, int], Any]) -> Any:
        """Read an operand; transpose it if the file's format orders its axes otherwise."""
        if not isinstance(operand, Permuted):
            return read(step, operand)
        x = read(step, operand.position)
        if x is not None and x.rank != len(operand.order):
            raise ImportModelError(f"{step.label}: {step.inputs[operand.position]!r} has {x.rank} axes, not 4.")
        return None if x is None else TABLE["transpose"](x, list(operand.order))

    def properties(self, step: Step, operator_def: OperatorDef, mapping: ForeignOperator) -> dict[str, Any]:
        """Read the properties of an operator, by parameter name. Raises ImportAttributeError."""
        known, attributes = mapping.attributes(step.opset), self.attributes(step, mapping)
        for name, value in attributes.items():
            if name not in known:
                raise ImportAttributeError(step.label, name, value, f"{mapping.operator} has no such attribute.")
            if name in mapping.required_values and value != mapping.required_values[name]:
                raise ImportAttributeError(step.label, name, value, f"Only {mapping.required_values[name]!r} has.")
        homes = mapping.homes(step.opset)
        defaults = {home.name: _tuple_as_list(home.default) for home in homes.values() if isinstance(home, Attribute)}
        attributes = {name: value for name, value in defaults.items() if value is not REQUIRED} | attributes
        values = {}
        for name, home in sorted(homes.items(), key=lambda each: each[0] != "data_format"):  # others read it
            if isinstance(home, Fixed):
                source, value = "value", home.value
            elif isinstance(home, Attribute):
                source, value = home.name, attributes.get(home.name, REQUIRED)
            else:
                source = f"input {home.position}"
                value = self._property_input(step, home.position, operator_def.by_name[name])
                value = _tuple_as_list(home.default) if value is None else value
            values[name] = _adapt_property(operator_def, name, home, source, value, attributes, step.label)
        return values

    def _property_input(self, step: Step, position: int, parameter: OperatorParameter) -> Any:
        """An input as a property's value; a tensor, if the property may be one; None if it is left out.

        Integers beyond every extent are clipped.
        """
        value = self.input(step, position)
        if isinstance(value, TensorNode) and parameter.keeps(value):
            return value
        array = self.known_array(step, position)
        if array is not None and array.dtype.kind in "iu":
            array = np.clip(array.astype(np.int64), -LARGEST, LARGEST)
        return array if array is None or array.ndim else array.item()


def _adapt_property(
    row: OperatorDef, name: str, home: Any, where: str, value: Any, attributes: Mapping[str, Any], label: str
) -> Any:
    """Convert a property's value to what the operator takes, and check it."""
    if value is REQUIRED:
        raise ImportAttributeError(label, where, None, "It must be there.")
    if isinstance(home, (Attribute, Input)) and home.adapt is not None and value is not None:
        try:
            value = home.adapt(value, attributes)
        except Exception as error:  # an adapter gets whatever the file holds
            why = str(error) if isinstance(error, ValueError) else ""
            raise ImportAttributeError(label, where, value, why) from None
    try:
        validate_property(row.name, row.by_name[name], value)
    except PropertyError as error:
        raise ImportAttributeError(label, where, value, str(error)) from None
    return value


def _tuple_as_list(default: Any) -> Any:
    return list(default) if isinstance(default, tuple) else default


def truncate_fraction(value: Any, name: str) -> Any:
    """Round towards zero: value - fmod(value, 1)."""
    return TABLE["sub"](value, TABLE["fmod"](value, 1.0, name=f"{name}/fraction"), name=name)


def leaf_names(value: TensorNode) -> tuple[list[str], list[str]]:
    """The names of the input leaves, and of the weights, that a value depends on."""
    leaves: Collection[TensorNode] = ancestors([value], predecessors=BACKWARD_SOURCES)
    inputs, weights = ([leaf.name or "" for leaf in leaves if isinstance(leaf, kind)] for kind in (InputLeaf, Weight))
    return inputs, weights
