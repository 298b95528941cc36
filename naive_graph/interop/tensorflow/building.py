"""Build the tensor graph of a TensorFlow GraphDef, step by step (a step is one node).

A step is built by its import rule (import_rules.py), or else by the operator
of ours that is mapped to it. TensorFlow has integer and Boolean
tensors, and ours are all float64: `whole` remembers which tensors are such.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import ImportModelError
from ...tensor.base import TensorNode, size_of
from ...tensor.operators.mapping import ForeignOperator
from ...tensor.operators.operator_def import OperatorDef
from ...tensor.operators.table import TABLE
from ..builder import ImportRule, StepBuilder, leaf_names, raise_no_operator, register, truncate_fraction
from ..network import join_names
from ..weights import StoredWeights
from .folding import evaluate_operator, is_small
from .steps import GraphStep
from .values import Type

MOST_ENTRIES = 2**25  # limit for one tensor
IMPORT_RULES: dict[str, ImportRule] = {}  # operators without an exact counterpart; see import_rules.py
import_rule = partial(register, IMPORT_RULES)
# Our operators whose results are integers or Booleans in TensorFlow.
WHOLE = {"argmax", "argmin", "greater", "less", "greater_equal", "less_equal", "equal", "not_equal", "logical_and",
         "logical_or", "logical_not"}  # fmt: skip


def mapping_of(op: str) -> tuple[OperatorDef, ForeignOperator] | None:
    """The row mapped to a TensorFlow operator, and the mapping; None if there is none."""
    return TABLE.mapping("tensorflow", op)


class TensorFlowBuilder(StepBuilder):
    """Builds the nodes of a TensorFlow graph.

    origins: aliases: for a value that is passed on unchanged, the name of the original. whole: tensors that hold
    integers or Booleans in TensorFlow.
    """

    def __init__(self, weights: StoredWeights, constants: Mapping[str, Any], most: int) -> None:
        super().__init__(weights, most // 8)  # counted in entries of 8 bytes, over all tensors
        self.values.update(constants)
        self.origins: dict[str, str] = {}
        self.whole: set[TensorNode] = set()

    def hold(self, size: int, what: str) -> None:
        self.check_shape((size // 8,), what)

    def check_shape(self, shape: Sequence[int], what: str) -> None:
        size = size_of(shape)
        self.made += size
        if size > MOST_ENTRIES or self.made > self.most:
            raise ImportModelError(
                f"{what} would have the shape {tuple(shape)}, which is too large: a tensor has up to "
                f"{MOST_ENTRIES:,} entries, and all have up to {self.most:,}. Give smaller arrays or shapes, or most=."
            )

    def advice(self, value: TensorNode) -> str:
        inputs, _ = leaf_names(value)
        return f"It is computed from {join_names(inputs)}. If that is a Placeholder, let it be a Const."

    def input(self, step: GraphStep, position: int) -> Any:
        if not -len(step.inputs) <= position < len(step.inputs):
            raise ImportModelError(f"{step.label} has {len(step.inputs)} inputs, and needs another.")
        return self.value(self.origins.get(step.inputs[position], step.inputs[position]))

    def operand(self, step: GraphStep, position: int) -> Any:
        """One input as a tensor node; None for an empty array, such as the mean of a training FusedBatchNorm."""
        value, name = self.input(step, position), step.inputs[position]
        return None if isinstance(value, np.ndarray) and not value.size else self.tensor(self.origins.get(name, name))

    def node(self, name: str, array: Any) -> Any:
        node = super().node(name, array)
        if array.dtype.kind != "f":
            self.whole.add(node)
        return node

    def attributes(self, step: GraphStep, mapping: ForeignOperator) -> dict[str, Any]:
        return {name: value for name, value in step.attributes.items()
                if name in mapping.attributes() or not (name.startswith("_") or _is_type(value))}  # fmt: skip

    def results(self, step: GraphStep) -> Sequence[Any]:
        return IMPORT_RULES[step.op](self, step) if step.op in IMPORT_RULES else self.by_row(step)

    def by_row(self, step: GraphStep) -> Sequence[Any]:
        """Apply the row mapped to a step's operator; if all inputs are small constants, fold them to arrays."""
        row, mapping = mapping_of(step.op) or raise_no_operator(step)
        properties = self.properties(step, row, mapping)
        arrays = self.operands(step, row, mapping, self.input) | properties
        values = [x for array in arrays.values() for x in (array if isinstance(array, list) else [array])]
        if not any(isinstance(value, TensorNode) for value in values) and is_small(row, arrays):
            return evaluate_operator(row, arrays, step.label)
        return self.apply_operator(step, row, self.operands(step, row, mapping) | properties)

    def apply_operator(self, step: GraphStep, row: OperatorDef, values: Mapping[str, Any]) -> Sequence[Any]:
        """Call an operator of the table. Results of an integer operand are marked as integers."""
        results = super().apply_operator(step, row, values)
        operands = [values[name] for name in row.operand_names if values.get(name) is not None]
        first = operands[-1] if row.name == "where" else operands[0]
        first = first[0] if isinstance(first, list) else first
        if row.name in WHOLE or first in self.whole:
            self.whole.update(results)
        elif row.name == "top_k":
            self.whole.add(results[1])
        return results

    def carry_integer_mark(self, source: TensorNode, result: Any, name: str) -> TensorNode:
        """Name the result of one source tensor; mark it as integers if the source is."""
        if result is not source:
            result.name = name
        if source in self.whole:
            self.whole.add(result)
        return result  # type: ignore[no-any-return]

    def is_integer(self, value: Any) -> bool:
        """Whether a value holds integers or Booleans in TensorFlow."""
        return value.dtype.kind in "biu" if isinstance(value, np.ndarray) else value in self.whole

    def truncate(self, step: GraphStep, value: TensorNode) -> Sequence[Any]:
        """Truncate a result towards 0, and mark it as integers."""
        truncated = truncate_fraction(value, step.name)
        self.whole.add(truncated)
        return [truncated]


def _is_type(value: Any) -> bool:
    return isinstance(value, Type) or (isinstance(value, list) and bool(value) and isinstance(value[0], Type))
