"""What a node knows of the operator that made it, and the methods that tensors have beside their rows."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ...core.rules import Rule
from ...errors import NodeError
from ..base import TensorNode, method
from ..differentiate import ancestors
from . import moves
from .indexing import gather
from .matrices import matmul
from .reductions import reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum
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
    if not isinstance(place, int):
        raise NodeError(f"An operand is asked for by a whole number, not {place!r:.60}.")
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
def inner(node: TensorNode, name: str) -> TensorNode:
    """The node of this name among all that this one is made of: its own name, or that of the operator's call.

    >>> import naive_graph as ng
    >>> y = (ng.LeafNode.parameter([0.0, 0.0], "x") * 2.0).softmax(name="p").sum()
    >>> y.inner("p").operator.name, y.inner("x").shape
    ('softmax', (2,))
    """
    if not isinstance(name, str):
        raise NodeError(f"An inner node is asked for by its name, a text, not {name!r:.60}.")
    found: dict[str | None, TensorNode] = {}
    for each in reversed(ancestors([node])):
        found.setdefault(each.name, each)
        found.setdefault(each.call.name if each.call else None, each)
    if name not in found:
        near = get_close_matches(name, [each for each in found if each], 1)
        raise NodeError(f"{node.label} is made of no node {name!r}.{f' Did you mean {near[0]!r}?' if near else ''}")
    return found[name]


@method
def compose(node: TensorNode, operator: str, *operands: Any, **properties: Any) -> TensorNode:
    """A composition of the scalar catalogue, over tensors: the row of its name."""
    result: TensorNode = TABLE[operator](*operands, **properties)
    return result


# --- as NumPy spells it -------------------------------------------------------


def _reducing(name: str, row: Row) -> None:
    def method(self: TensorNode, axis: Any = None, keepdims: bool = False, name: str | None = None) -> TensorNode:
        result: TensorNode = row(self, axis, keepdims, name=name)
        return result

    method.__name__, method.__doc__ = name, row.__doc__
    setattr(TensorNode, name, method)


for _name, _row in (
    ("sum", reduce_sum), ("mean", reduce_mean), ("max", reduce_max), ("min", reduce_min), ("prod", reduce_prod),
    ("logsumexp", reduce_logsumexp),
):  # fmt: skip
    _reducing(_name, _row)


def _reshape(self: TensorNode, *shape: Any) -> Any:
    """The same entries, row by row, in another shape; one extent may be -1."""
    return moves.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def _flatten(self: TensorNode) -> Any:
    """All entries, row by row, as one axis."""
    return moves.reshape(self, (-1,))


def _transpose(self: TensorNode, *axes: Any) -> Any:
    """The axes in another order; reversed if none is given."""
    given = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
    return moves.transpose(self, given or None)


def _squeeze(self: TensorNode, axis: Any = None) -> Any:
    """The tensor without axes of extent 1: these, or all."""
    return moves.squeeze(self, axis)


def _expand_dims(self: TensorNode, axis: Any) -> Any:
    """New axes of extent 1, at these places of the result."""
    return moves.expand_dims(self, axis)


def _gather(self: TensorNode, places: Any, axis: int = 0) -> Any:
    """The entries at these places along an axis: an array of whole numbers, or a tensor."""
    return gather(self, places, axis)


def _matmul(self: TensorNode, other: Any) -> Any:
    """Matrix product, as NumPy's: over the last axis of the first and the last but one of the second."""
    return matmul(self, other)


def _rmatmul(self: TensorNode, other: Any) -> Any:
    return matmul(other, self)


for _spelt in (_reshape, _flatten, _transpose, _squeeze, _expand_dims, _gather):
    _spelt.__name__ = _spelt.__name__[1:]
    setattr(TensorNode, _spelt.__name__, _spelt)
for _name, _product in (("__matmul__", _matmul), ("__rmatmul__", _rmatmul)):
    setattr(TensorNode, _name, _product)
TensorNode.T = property(_transpose)  # type: ignore[attr-defined, method-assign, assignment, unused-ignore]
