"""Building: each step becomes the operator that its row's mapping names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ImportModelError, NaiveGraphError, StaleNodeError
from ...tensor.base import TensorNode, size_of
from ...tensor.nodes import LeafNode, LeafType
from ...tensor.operators.mapping import ALL, Input, Name
from ...tensor.operators.row import Row
from ...tensor.operators.signature import RowParameter
from ...tensor.operators.table import TABLE
from ..row_properties import read_properties
from ..scopes import NamedScopes
from ..weights import StoredWeights, Weight
from .folding import folded, small
from .steps import GraphStep
from .values import Type

MOST_ENTRIES = 2**25  # of a tensor
ImportRule = Callable[["TensorFlowBuilder", GraphStep], Sequence[Any]]
IMPORT_RULES: dict[str, ImportRule] = {}  # operators that are no row, or more than one; see special.py


def import_rule(*ops: str) -> Callable[[ImportRule], ImportRule]:
    """Enter a function of (builder, step) that gives the results of these operators."""

    def define(function: ImportRule) -> ImportRule:
        IMPORT_RULES.update(dict.fromkeys(ops, function))
        return function

    return define


def mapping_of(op: str) -> tuple[Row, Name] | None:
    """The row that stands for an operator, and what it says of it."""
    return TABLE.mapping("tensorflow", op)


class KnownArray:
    """A number or an array that is known; it becomes a leaf where it is an operand of a tensor."""

    def __init__(self, name: str, array: Any, leaf: Any = None) -> None:
        self.name, self.array, self.leaf = name, array, leaf

    @property
    def learned(self) -> bool:
        return isinstance(self.leaf, Weight) and self.leaf.leaf_type == LeafType.PARAMETER


class TensorFlowBuilder:
    """The results of steps, by name: constants that are known, and tensor nodes."""

    def __init__(
        self, weights: StoredWeights, scopes: NamedScopes, constants: Mapping[str, Any],
        shapes: Mapping[str, Sequence[int]], most: int,
    ) -> None:  # fmt: skip
        self.most = most // 8  # entries of all tensors
        self.weights, self.scopes, self.constants, self.shapes = weights, scopes, constants, shapes
        self.results: dict[str, Sequence[Any]] = {}
        self.inputs: dict[str, LeafNode] = {}
        self.whole: set[TensorNode] = set()  # what is a whole number or a truth value to TensorFlow
        self.entries = 0

    # --- what a step reads ---

    def input(self, step: GraphStep, place: int) -> Any:
        """One input: a Constant, or a node."""
        if not -len(step.inputs) <= place < len(step.inputs):
            raise ImportModelError(f"{label(step)} has {len(step.inputs)} inputs, and needs another.")
        name, at = step.inputs[place]
        if at >= len(self.results[name]) or self.results[name][at] is None:
            raise ImportModelError(f"{label(step)} takes result {at} of {name!r}, which is not given here.")
        return self.results[name][at]

    def known(self, step: GraphStep, place: int) -> Any:
        """One input as an array. Raises ImportModelError if it is known at run time only."""
        value = self.input(step, place)
        if isinstance(value, KnownArray):
            return value.array
        raise ImportModelError(
            f"{label(step)}: its input {step.inputs[place][0]!r} must be known before the graph runs. If it is a "
            "Placeholder, let it be a Const."
        )

    def operand(self, step: GraphStep, place: int) -> TensorNode:
        """One input as a tensor node."""
        return self.node(self.input(step, place))

    def node(self, value: Any) -> TensorNode:
        """A node, or the leaf that a constant becomes."""
        if not isinstance(value, KnownArray):
            return value  # type: ignore[no-any-return]
        if value.learned:
            self.weights.used[value.leaf.name] = value.leaf
        elif value.leaf is None:
            if not value.array.size:
                raise ImportModelError(f"{value.name!r} has the shape {value.array.shape}: a tensor here has entries.")
            self.count(value.array.shape, value.name)
            value.leaf = LeafNode.constant(value.array.astype(np.float64), value.name)
            if value.array.dtype.kind != "f":
                self.whole.add(value.leaf)
        return value.leaf  # type: ignore[no-any-return]

    # --- what a step becomes ---

    def take(self, step: GraphStep) -> None:
        """Give a step its results. Raises ImportModelError, which names it."""
        self.scopes.enter(step.name)
        try:
            found = IMPORT_RULES[step.op](self, step) if step.op in IMPORT_RULES else self.by_row(step)
        except (ImportModelError, StaleNodeError):  # of the latter no file is at fault
            raise
        except (NaiveGraphError, MemoryError) as error:
            raise ImportModelError(f"{label(step)}: {error}") from None
        self.results[step.name] = found

    def by_row(self, step: GraphStep) -> Sequence[Any]:
        """The results of the row that stands for a step."""
        row, mapping = mapping_of(step.op) or _none(step)
        properties = self.properties(step, row, mapping)
        operands = self.operands(step, row, mapping)
        values = [x for each in operands.values() for x in (each if isinstance(each, list) else [each])]
        known = all(isinstance(each, KnownArray) and not each.learned for each in values)
        if known and not any(isinstance(each, TensorNode) for each in properties.values()):
            arrays = {name: _array(value) for name, value in operands.items()} | properties
            if small(row, arrays):
                return [KnownArray(step.name, each) for each in folded(row, arrays, label(step))]
        return self.applied(step, row, operands | properties)

    def applied(self, step: GraphStep, row: Row, values: Mapping[str, Any]) -> Sequence[Any]:
        """The nodes that a row gives, which have the name of the step."""
        given = {name: self._tensors(name, value, row) for name, value in values.items()}
        bound = row.bound((), given)
        known = row.result_shape(bound)
        for each in known if isinstance(known, list) else [known or ()]:
            self.count(each, label(step))
        found = row.built(bound, step.name)
        results = found if isinstance(found, tuple) else (found,)
        for node in results if known is None else ():
            self.count(node.shape, label(step))
        self._mark(row, given, results)
        return results

    def _tensors(self, name: str, value: Any, row: Row) -> Any:
        if name not in row.operand_names or value is None:
            return value
        return [self.node(each) for each in value] if isinstance(value, list) else self.node(value)

    def is_whole(self, value: Any) -> bool:
        """Whether a value holds whole numbers, or truth values, to TensorFlow."""
        return value.array.dtype.kind in "biu" if isinstance(value, KnownArray) else value in self.whole

    def truncated(self, step: GraphStep, value: Any) -> Sequence[Any]:
        """Whole numbers: the fractions of what was computed of them are dropped, towards 0."""
        part = TABLE["fmod"](value, 1.0)
        found = self.applied(step, TABLE["sub"], {"a": value, "b": part})
        self.whole.update(found)
        return found

    def _mark(self, row: Row, given: Mapping[str, Any], results: Sequence[TensorNode]) -> None:
        """Whole numbers that are moved or added are whole numbers."""
        operands = [given[name] for name in row.operand_names if given.get(name) is not None]
        first = operands[-1] if row.name == "where" else operands[0]
        first = first[0] if isinstance(first, list) else first
        if row.name in WHOLE or first in self.whole:
            self.whole.update(results)
        elif row.name == "top_k":
            self.whole.add(results[1])

    def count(self, shape: Sequence[int], what: str) -> None:
        """Raises ImportModelError if there would be too many entries in all."""
        size = size_of(shape)
        self.entries += size
        if size > MOST_ENTRIES or self.entries > self.most:
            raise ImportModelError(
                f"{what} would have the shape {tuple(shape)}, which is too large: a tensor has up to "
                f"{MOST_ENTRIES:,} entries, and all have up to {self.most:,}. Give smaller arrays or shapes, or most=."
            )

    # --- operands and properties ---

    def operands(self, step: GraphStep, row: Row, mapping: Name) -> dict[str, Any]:
        count = len(step.inputs)
        taken = {home.position % max(1, count) for home in mapping.homes().values() if isinstance(home, Input)}
        places = [place for place in range(count) if place not in taken]
        if mapping.operands and ALL in mapping.operands:
            return {row.operand_names[0]: [self.input(step, place) for place in places]}
        if mapping.operands:
            places = [each for each in mapping.operands if isinstance(each, int)]
        if len(places) > len(row.operand_names):
            raise ImportModelError(f"{label(step)} has {count} inputs, more than {row.usage()} takes.")
        found = {name: self.input(step, place) for name, place in zip(row.operand_names, places)}
        return {name: None if _left_out(value) and row.by_name[name].operand.optional else value
                for name, value in found.items()}  # fmt: skip

    def properties(self, step: GraphStep, row: Row, mapping: Name) -> dict[str, Any]:
        """The properties of a row, by their names. Raises ImportAttributeError."""

        def read_input(place: int, parameter: RowParameter) -> Any:
            value = self.input(step, place)
            if not isinstance(value, KnownArray) and parameter.keeps(value):
                return value  # places that are found at run time
            return self.known(step, place)

        def read_shape(place: int) -> Any:
            return self.node(self.input(step, place)).shape

        attributes = {name: value for name, value in step.attributes.items()
                      if name in mapping.attributes() or not (name.startswith("_") or _types(value))}  # fmt: skip
        return read_properties(row, mapping, None, label(step), attributes, read_input, read_shape)


WHOLE = {"argmax", "argmin", "greater", "less", "greater_equal", "less_equal", "equal", "not_equal", "logical_and",
         "logical_or", "logical_not"}  # fmt: skip


def label(step: GraphStep) -> str:
    """How messages speak of a step."""
    return f"{step.op} {step.name!r:.200}"


def _array(value: Any) -> Any:
    return [each.array for each in value] if isinstance(value, list) else None if value is None else value.array


def _left_out(value: Any) -> bool:
    """The mean and variance of a batch normalisation that trains are empty."""
    return isinstance(value, KnownArray) and not value.array.size


def _types(value: Any) -> bool:
    return isinstance(value, Type) or (isinstance(value, list) and bool(value) and isinstance(value[0], Type))


def _none(step: GraphStep) -> Any:
    raise ImportModelError(f"{label(step)} has no row here.")
