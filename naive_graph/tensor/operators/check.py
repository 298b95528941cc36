"""Check an operator definition on its examples: shape, value, derivatives of all modes, lowering, mappings.

Every operator promises the same (PROMISES): its shape rule agrees with its result, its derivatives agree with finite
differences, it can be lowered to scalar nodes, and so on. Each promise is a function that raises AssertionError if an
example call breaks it. The tests check all operators so; `check_operator` checks a user-defined one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from ...core.number import as_list
from ...core.records import around
from ...errors import GradientCheckError, NaiveGraphError, OperandError
from ...graph.check import gradcheck
from ...graph.graph import Graph
from ..base import TensorNode
from ..differentiate import ancestors
from ..nodes import LeafNode
from ..sparse_selector import SelectionNode
from .examples import Example, example_array
from .operator_def import OperatorDef
from .table import TABLE

MAX_CHECKED_ENTRIES = 3  # entries of an operand that are checked by finite differences


class ExampleCall:
    """A call of an operator on an example, with parameter leaves for operands.

    leaves: the operands that the example states by shape. Those that it states by numbers are not moved by checks.
    """

    def __init__(self, row: OperatorDef, example: Example) -> None:
        self.row = row
        self.leaves: list[LeafNode] = []
        operands = [self._operand(position, operand) for position, operand in enumerate(example.operands)]
        self.given = dict(zip(row.operand_names, operands)) | dict(example.properties)
        self.result = row(**self.given)
        self.results: list[TensorNode] = list(self.result) if isinstance(self.result, tuple) else [self.result]

    def _operand(self, position: int, spec: Any) -> Any:
        """The operand that an example states: a leaf for a shape or an array, a list of leaves for a list of shapes."""
        if spec is None:
            return None
        if isinstance(spec, list) and spec and isinstance(spec[0], tuple):
            return [self._operand(position + 10 * offset, part) for offset, part in enumerate(spec)]
        is_shape = isinstance(spec, tuple)
        value = example_array(spec, position, self.row.domain) if is_shape else np.asarray(spec, dtype=float)
        leaf = LeafNode.parameter(value)
        if is_shape:
            self.leaves.append(leaf)
        return leaf

    def loss(self) -> TensorNode:
        """A scalar loss: the weighted sum of all results' entries."""
        total: Any = 0.0
        for position, result in enumerate(self.results):
            total = total + (result * example_array(result.shape, 3 + position, (0.5, 1.5))).sum()
        return total  # type: ignore[no-any-return]


@dataclass
class CheckedRow:
    """The result of checking an operator: which promises are kept and which are broken; true if all are kept.

    >>> from naive_graph import check_operator
    >>> from naive_graph.tensor import softmax
    >>> checked = check_operator(softmax)
    >>> bool(checked), checked.broken
    (True, {})
    >>> checked.kept[:3]
    ['name', 'properties', 'shape rule']
    """

    operator: str
    kept: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return not self.broken

    def require(self) -> CheckedRow:
        """Raise GradientCheckError if a promise is broken; returns self."""
        if self.broken:
            raise GradientCheckError(str(self))
        return self

    def __str__(self) -> str:
        lines = [f"  yes  {promise}" for promise in self.kept] + [
            f"  NO   {promise}: {why}" for promise, why in self.broken.items()
        ]
        return "\n".join([self.operator, *lines])


def check_row(row: OperatorDef, examples: Iterable[Example] | None = None) -> CheckedRow:
    """Check an operator's promises on its own examples, or on the given ones."""
    report = CheckedRow(row.name)
    cases = row.examples if examples is None else as_list(examples, "check_operator", "examples: [example((2, 3))]")
    if not cases or not all(isinstance(case, Example) for case in cases):
        raise OperandError(f"Operator '{row.name}' is checked on examples. Give it some: examples=[example((2, 3))].")
    for promise, check in PROMISES.items():
        try:
            for example in cases:
                with Graph.scratch():
                    check(row, example)
            report.kept.append(promise)
        except (AssertionError, NaiveGraphError) as error:
            report.broken[promise] = str(error) or "it does not hold"
    return report


def _require(condition: Any, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _require_close(value: Any, expected: Any, what: str, tolerance: float) -> None:
    """Raise AssertionError unless shapes agree, and entries within the tolerance. what: the value, for the message."""
    scale = np.maximum(1.0, np.abs(expected))
    _require(np.shape(value) == np.shape(expected), f"{what} has shape {np.shape(value)}, not {np.shape(expected)}")
    error = float(np.max(np.abs(np.asarray(value) - expected) / scale, initial=0.0))
    _require(error <= tolerance, f"{what} is off by {error:.2e}")


# --- promises -----------------------------------------------------------------


def check_name_promise(row: OperatorDef, example: Example) -> None:
    """The registry has it; result nodes refer to it; each call gets a unique name."""
    first, second = ExampleCall(row, example), ExampleCall(row, example)
    _require(TABLE[row.name] is row, "the table has another row of this name")
    for result in first.results:
        _require(result.operator is row, "its result does not know the row")
        _require(result.outputs() == tuple(first.results), "its result does not know all results")
        _require(len(result.args()) == len(row.operand_names), "its result does not know its operands")
    calls = [case.results[0].call for case in (first, second)]
    _require(calls[0] and calls[1] and calls[0].name != calls[1].name, "two results have one name")
    named = row(**first.given, name="mine")
    _require((named[0] if isinstance(named, tuple) else named).call.name == "mine", "it does not take name=")


def check_properties(row: OperatorDef, example: Example) -> None:
    """Properties can be read from the node, and a call with the values read gives the same result."""
    case = ExampleCall(row, example)
    read = dict(case.results[0].properties)
    _require(list(read) == row.property_names, f"properties read {list(read)}")
    operands = {name: case.given[name] for name in row.operand_names if name in case.given}
    again = row(**operands, **read)
    again = again if isinstance(again, tuple) else (again,)
    for result, other in zip(case.results, again):
        _require(np.array_equal(result.eval(), other.eval(), equal_nan=True), "what was read gives another value")


def check_shape_rule(row: OperatorDef, example: Example) -> None:
    """The shape rule agrees with the composition's shape."""
    case = ExampleCall(row, example)
    rule = row.result_shape(row.bind_arguments([], case.given))
    shapes = [result.shape for result in case.results]
    _require(
        rule is None or (rule if isinstance(case.result, tuple) else [tuple(rule)]) == shapes, f"{rule} is not {shapes}"
    )
    for node in case.results:
        _require(np.shape(node.eval()) == node.shape, "a value has another shape than its node")


def check_purity(row: OperatorDef, example: Example) -> None:
    """Building and evaluating is pure: operands unchanged, no scalar nodes, reproducible values."""
    before = len(Graph.node_list)
    case, second_case = ExampleCall(row, example), ExampleCall(row, example)
    values = [leaf.value.copy() for leaf in case.leaves]
    for result, second_result in zip(case.results, second_case.results):
        array = np.array(result.eval())
        _require(np.array_equal(array, second_result.eval(), equal_nan=True), "two calls differ")
        _require(np.array_equal(array, result.forward(), equal_nan=True), "two evaluations differ")
    for leaf, value in zip(case.leaves, values):
        _require(np.array_equal(np.asarray(leaf.value), value), "an operand has changed")
    _require(len(Graph.node_list) == before, "it drew scalar nodes")


def check_reverse_mode(row: OperatorDef, example: Example) -> None:
    """Derivatives agree with finite differences, in every mode; each has its operand's shape."""
    case = ExampleCall(row, example)
    _check_gradients(case, case.loss())


def _check_gradients(case: ExampleCall, loss: TensorNode) -> None:
    """Gradient check of a loss with respect to the operands that are not fixed."""
    fixed = [node for node in ancestors([loss]) if isinstance(node, LeafNode) and node not in case.leaves]
    gradcheck(loss, skip=fixed, max_per_param=MAX_CHECKED_ENTRIES).require()


def check_forward_mode(row: OperatorDef, example: Example) -> None:
    """Forward mode (which never uses a custom derivative) agrees with reverse mode (which does)."""
    case = ExampleCall(row, example)
    loss = case.loss()
    for leaf in case.leaves:
        reverse_gradient, forward_gradient = loss.gradients(leaf).forward(), leaf.tangents(loss).forward()
        _require_close(reverse_gradient, forward_gradient, "reverse mode, compared with forward mode,", 1e-9)


def check_second_order(row: OperatorDef, example: Example) -> None:
    """The derivatives of the derivatives, summed with weights, agree with differences of the derivatives."""
    case = ExampleCall(row, example)
    slopes = case.loss().gradients(case.leaves)
    weighted_sums = [(slope * example_array(slope.shape, 5 + i, (0.5, 1.5))).sum() for i, slope in enumerate(slopes)]
    if weighted_sums:
        _check_gradients(case, reduce(add, weighted_sums))


def check_lowering(row: OperatorDef, example: Example) -> None:
    """Lowered to scalar nodes, it has the same value."""
    for result in ExampleCall(row, example).results:
        with np.errstate(all="ignore"):
            scalars = result.lower()
            Graph.forward()
            _require_close(scalars.values, np.array(result.eval(), dtype=float), "the lowered value", 1e-12)


def check_formula(row: OperatorDef, example: Example) -> None:
    """The result has equations in text and TeX, and its lowered elements have formulas."""
    for result in ExampleCall(row, example).results:
        for style in ("text", "tex"):
            _require(result.equations(style), f"nothing is written in {style}")
        _require(str(next(iter(result.lower())).formula()), "an element has no formula")


def check_single_frame(row: OperatorDef, example: Example) -> None:
    """All nodes of a call lie in one scope of its name, or there is only one node."""
    case = ExampleCall(row, example)
    call = case.results[0].call
    assert call is not None
    new_nodes = [node for node in ancestors(case.results) if node.serial > call.first and not _needs_no_frame(node)]
    outside = [node for node in new_nodes if call.name not in [scope.name for scope in around(node.scope)]]
    _require(outside == [] or outside == case.results, f"{len(outside)} nodes stand outside the frame")


def _needs_no_frame(node: TensorNode) -> bool:
    """Whether a node may lie outside the frame: a selection, or a leaf that was made outside all scopes."""
    return isinstance(node, SelectionNode) or (isinstance(node, LeafNode) and node.scope is None)


def check_mappings(row: OperatorDef, example: Example) -> None:
    """Each ONNX and TensorFlow name maps back to the operator; each mapped property is one of its properties."""
    for mapping in row.mappings:
        _require(TABLE.named(mapping.framework, mapping.operator) is row, f"{mapping.operator} leads to another row")
        strange = set(mapping.properties) - set(row.property_names)
        _require(not strange, f"{mapping.operator} states {strange}, which are no properties")


PROMISES: dict[str, Callable[[OperatorDef, Example], None]] = {
    "name": check_name_promise,
    "properties": check_properties,
    "shape rule": check_shape_rule,
    "value": check_purity,
    "derivative in reverse mode": check_reverse_mode,
    "derivative in forward mode": check_forward_mode,
    "second order": lambda row, example: check_second_order(row, example) if row.smooth else None,
    "lowering": check_lowering,
    "formula": check_formula,
    "picture": check_single_frame,
    "mappings": check_mappings,
}


OperatorDef.check = check_row  # type: ignore[attr-defined]
