"""Operators as text, for `naive-graph operators`: a list of all, or the full description of one (`NAME`).

A description has the usage, the docstring, the properties, the formula on the operator's first example with its
derivatives, and the names in ONNX and TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from inspect import cleandoc

from ...graph.formatting import wrap_text
from ...graph.graph import Graph
from ..base import TensorNode
from ..differentiate import ancestors
from ..nodes import LeafNode
from ..notation import unique_names
from ..sparse_selector import SelectionNode
from .check import ExampleCall
from .families import Elementwise
from .operator_def import OperatorDef
from .table import TABLE

MAX_FORMULA_LINES = 12


def list_operators() -> str:
    """A table of all operators: usage, kind, and names in ONNX and TensorFlow."""
    rows = [row for name, row in sorted(TABLE.items()) if row.name == name]
    lines = [[row.usage(), row.kind, _foreign_names(row, "onnx"), _foreign_names(row, "tensorflow")] for row in rows]
    return "\n".join(_format_columns([["operator", "kind", "ONNX", "TensorFlow"], *lines], (28, 11, 19, 16)))


def _foreign_names(row: OperatorDef, framework: str) -> str:
    return ", ".join(mapping.operator for mapping in row.mappings if mapping.framework == framework) or "-"


def _format_columns(lines: Iterable[list[str]], widths: tuple[int, ...]) -> Iterator[str]:
    for line in lines:
        shortened = [cell if len(cell) <= width else f"{cell[: width - 1]}…" for cell, width in zip(line, widths)]
        yield "  ".join(cell.ljust(width) for cell, width in zip(shortened, widths)).rstrip()


def describe_operator(row: OperatorDef) -> str:
    """Describe an operator: usage, docstring, properties, formula, derivatives, ONNX and TensorFlow names."""
    parts = [row.usage(), *(f"  {line}".rstrip() for line in cleandoc(row.__doc__ or "").splitlines())]
    return wrap_text("\n".join([*parts, *operator_details(row)]))


described = describe_operator  # what earlier copies of lessons 14a and 14b call


def operator_details(row: OperatorDef) -> Iterator[str]:
    """Lines on an operator beyond its docstring: properties, formula, derivatives, ONNX and TensorFlow names."""
    for name in row.property_names:
        kind, default = row.by_name[name].kind, row.by_name[name].default
        assert kind is not None
        default_text = "" if f"{name}=" not in row.usage() else f" (default {default!r})"
        yield f"{name}: {kind.what}{default_text}"
    with Graph.scratch():
        yield from list(_describe_formulas(row))
    for mapping in row.mappings:
        since = f" (opset {mapping.since} on)" if mapping.since > 1 else ""
        yield f"{mapping.framework}: {mapping!r}{since}"


def _describe_formulas(row: OperatorDef) -> Iterator[str]:
    """The operator's formula on its first example, and its derivatives."""
    if not row.examples:
        return
    case = ExampleCall(row, row.examples[0])
    for name, argument in case.given.items():
        for position, operand in enumerate(argument if isinstance(argument, list) else [argument]):
            if isinstance(operand, LeafNode):
                operand.name = f"{name}{position + 1}" if isinstance(argument, list) else name
    if isinstance(row, Elementwise) and hasattr(case.result, "function"):
        function, names = case.result.function, row.operand_names
        yield f"formula: {function.formula(names)}"
        for position, name in enumerate(names):
            slope = function.derivative(position)
            yield f"d/d {name}: {slope if isinstance(slope, float) else slope.formula(names)}"
        return
    lines = [*_describe_constants(case.results[0]), *case.results[0].equations().splitlines()]
    yield f"formula, for operands of shapes {', '.join(str(leaf.shape) for leaf in case.leaves)}:"
    yield from (f"  {line}" for line in lines[:MAX_FORMULA_LINES])
    if len(lines) > MAX_FORMULA_LINES:
        yield f"  ... and {len(lines) - MAX_FORMULA_LINES} lines more"
    yield f"derivative: {'its own' if row.derivative else 'that of the formula, in both modes, to any order'}"


def _describe_constants(result: TensorNode) -> Iterator[str]:
    """Constants that an operator creates, such as a zero initial state, which equations leave out."""
    nodes = ancestors([result])
    names = unique_names(nodes)
    for node in nodes:
        if isinstance(node, LeafNode) and node.given_name is None and not isinstance(node, SelectionNode):
            values = node.eval().ravel().tolist()
            is_uniform = len(set(values)) == 1
            text = f"{values[0]:g} at all places of {node.shape}" if is_uniform else node.eval().tolist()
            yield f"{names[node]} = {text}"
