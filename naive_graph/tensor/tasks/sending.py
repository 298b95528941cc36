"""Nodes that travel to another process: without the graph around them, with all that one task computes with.

A tensor node belongs to its process and cannot be pickled. What is sent is
plain data: one node, and of those around it the shapes, and which of them are
selections. The nodes that are made of it there are in no graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.rules import BY_NUMBER, rule_named
from ...core.tables import CONSTANT, PLACEHOLDER, Tables
from ..base import TensorNode
from ..function import Function, add_row, constant_row
from ..index import Shape
from ..selection import SelectionNode

OWN = ("index", "op", "alpha", "pickers")  # what the kinds of node compute with, besides sources and a function
Sent = tuple[type[TensorNode], Shape, dict[str, Any]]


def sent(node: TensorNode, others: Sequence[TensorNode]) -> tuple[Any, ...]:
    """A node as plain data, and with it those that it is computed with (its sources among them)."""
    around = [(SelectionNode if isinstance(each, SelectionNode) else TensorNode, each) for each in others]
    bare = [(kind, each.shape, _own(each)) for kind, each in [(type(node), node), *around]]
    function = _sent_function(node.function) if "function" in vars(node) else None
    return bare, [others.index(source) for source in node.sources], function


def received(bare: Sequence[Sent], sources: Sequence[int], function: Any) -> tuple[TensorNode, list[TensorNode]]:
    """The node again, and the others."""
    node, *others = map(_made, bare)
    node.sources = tuple(others[place] for place in sources)
    if function is not None:
        vars(node)["function"] = _received_function(*function)
    return node, others


def _own(node: TensorNode) -> dict[str, Any]:
    return {name: value for name, value in vars(node).items() if name in OWN}


def _made(bare: Sent) -> TensorNode:
    kind, shape, own = bare
    node = object.__new__(kind)
    node.shape = shape
    vars(node).update(own)
    return node


# --- functions of entries -------------------------------------------------------

Row = tuple[str, Any]  # a rule's name and its operands, or what kind of leaf it is


def _sent_function(function: Function) -> tuple[Any, ...]:
    """The rows of its tables, where the arguments, the result and the slopes are."""
    tables = function.tables
    with tables.lock:
        rows = [_sent_row(tables, row) for row in range(len(tables))]
        slopes = {at: each.result if isinstance(each, Function) else each for at, each in function.slopes.items()}
    return rows, list(function.arguments), function.result, slopes


def _sent_row(tables: Tables, row: int) -> Row:
    kind = tables.operators[row]
    if kind == CONSTANT:
        return "constant", tables.value(row)
    return ("argument", None) if kind == PLACEHOLDER else (BY_NUMBER[kind].name, tables.operands(row))


def _received_function(
    rows: Sequence[Row], arguments: list[int], result: int, slopes: dict[int, int | float]
) -> Function:
    tables = Tables()
    for what, given in rows:
        if what == "constant":
            constant_row(tables, given)
        elif what == "argument":
            add_row(tables, PLACEHOLDER, ())
        else:
            add_row(tables, rule_named(what).number, given)
    function = Function(tables, arguments, result)
    for at, slope in slopes.items():
        function.slopes[at] = slope if isinstance(slope, float) else Function(tables, arguments, slope)
    return function
