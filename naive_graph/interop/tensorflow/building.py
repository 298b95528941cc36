"""Build the tensor graph of a TensorFlow GraphDef, step by step (a step is one node).

A step is built by its import rule (import_rules.py), or else by the operator
of ours that is mapped to it. TensorFlow has integer and Boolean
tensors, and ours are all float64: a step's attribute `T` says which it computes with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ...errors import ImportModelError
from ...tensor.base import TensorNode
from ...tensor.operators.mapping import ForeignOperator
from ...tensor.operators.table import TABLE
from ..builder import ImportRule, StepBuilder, leaf_names, register
from ..network import join_names
from ..weights import StoredWeights
from .folding import evaluate_operator, is_small
from .steps import GraphStep
from .values import Type, dtype

VARIABLES = ("VarHandleOp", "ReadVariableOp", "Variable", "VariableV2", "RestoreV2")
IMPORT_RULES: dict[str, ImportRule] = {}  # operators without an exact counterpart; see import_rules.py
import_rule = partial(register, IMPORT_RULES)


def mapping_of(op: str) -> Any:
    """The row mapped to a TensorFlow operator, and the mapping; None if there is none."""
    return TABLE.mapping("tensorflow", op)


def why_unsupported(step: GraphStep) -> str:
    """Why a step's operator is not supported; empty if it is."""
    if step.op in VARIABLES:
        return "a variable's numbers are not in the graph; a frozen one has them: convert_variables_to_constants_v2"
    return "" if step.op in IMPORT_RULES or mapping_of(step.op) else "unknown"


class TensorFlowBuilder(StepBuilder):
    """Builds the nodes of a TensorFlow graph.

    origins: aliases: for a value that is passed on unchanged, the name of the original.
    """

    def __init__(self, weights: StoredWeights, most: int) -> None:
        super().__init__(weights, {}, most)
        self.origins: dict[str, str] = {}

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

    def attributes(self, step: GraphStep, mapping: ForeignOperator) -> dict[str, Any]:
        return {name: value for name, value in step.attributes.items()
                if name in mapping.attributes() or not (name.startswith("_") or _is_type(value))}  # fmt: skip

    def results(self, step: GraphStep) -> Sequence[Any]:
        return IMPORT_RULES[step.op](self, step) if step.op in IMPORT_RULES else self.by_row(step)

    def by_row(self, step: GraphStep, **overrides: Any) -> Sequence[Any]:
        """Apply the row mapped to a step's operator; if all inputs are small constants, fold them to arrays.

        overrides: operands or properties to replace.
        """
        row, mapping = mapping_of(step.op)
        properties = self.properties(step, row, mapping) | overrides
        arrays = self.operands(step, row, mapping, self.input) | properties
        values = [x for array in arrays.values() for x in (array if isinstance(array, list) else [array])]
        if not any(isinstance(value, TensorNode) for value in values) and is_small(row, arrays):
            return evaluate_operator(row, arrays, step.label)
        return self.apply_operator(step, row, self.operands(step, row, mapping) | properties)


def is_integer(step: GraphStep, attribute: str = "T") -> bool:
    """Whether a step's operands are integers or Booleans, by the type that the file gives."""
    kind = step.attributes.get(attribute)
    return isinstance(kind, Type) and dtype(kind, step.label, attribute).kind in "biu"


def _is_type(value: Any) -> bool:
    return isinstance(value, Type) or (isinstance(value, list) and bool(value) and isinstance(value[0], Type))
