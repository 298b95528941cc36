"""What a node knows of the operator that made it, and the methods that tensors have beside their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...core.rules import Rule
from ...errors import NodeError
from ..base import TensorNode, method
from .row import Row
from .table import TABLE


def _operator(node: TensorNode) -> Row | None:
    """The row of the table that the node is a result of; None for a leaf, or a node built with letters."""
    what = node.call.operator if node.call else None
    return TABLE[what.name] if isinstance(what, Rule) else what


def _properties(node: TensorNode) -> Mapping[str, Any]:
    """The operator's properties by name, as they are meant."""
    return node.call.properties if node.call else {}


def _operands(node: TensorNode) -> tuple[Any, ...]:
    """What the operator was applied to; of a node that no operator made, its sources."""
    return node.call.operands if node.call else node.sources


for _name, _question in (("operator", _operator), ("properties", _properties), ("operands", _operands)):
    setattr(TensorNode, _name, property(_question))


@method
def args(node: TensorNode) -> tuple[Any, ...]:
    """All operands."""
    return _operands(node)


@method
def arg(node: TensorNode, place: int = 0) -> Any:
    """One operand: the first, if none is named."""
    found = _operands(node)
    if not -len(found) <= place < len(found):
        raise NodeError(f"{node.label} has no operand {place}: it has {len(found)}.")
    return found[place]


@method
def larg(node: TensorNode) -> Any:
    """The left operand."""
    return arg(node, 0)


@method
def rarg(node: TensorNode) -> Any:
    """The right operand."""
    return arg(node, 1)


@method
def outputs(node: TensorNode) -> tuple[TensorNode, ...]:
    """All results of the operator that the node is a result of."""
    return (node.call.results if node.call else ()) or (node,)


@method
def compose(node: TensorNode, name: str, *operands: Any, **properties: Any) -> TensorNode:
    """A composition of the scalar catalogue, over tensors: the row of its name."""
    result: TensorNode = TABLE[name](*operands, **properties)
    return result
