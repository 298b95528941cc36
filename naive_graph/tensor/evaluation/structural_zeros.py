"""Structural zeros: entries that are zero by construction, because a selection leaves them empty.

Their products are not computed, so a structural zero times infinity is 0, while an ordinary 0 * inf is NaN.
Lowered to scalars there is no node for such an entry. An array stores a 0 like any other, so when a product of
arrays is not finite, `there` computes the mask of its ordinary entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import TensorNode
from ..index import Ids
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType, TransformNode, multiplies
from ..selection import Picker, SelectionNode
from .arrays import Array
from .recipes import missing


def may_have_holes(node: TensorNode) -> bool:
    """Whether some entries may be structural zeros (a conservative analysis, cached on the node)."""
    return node.structural or _has_holes(node)


def _has_holes(node: TensorNode) -> bool:
    if node.holes is None:
        for each in missing(node, lambda known: known.holes is not None, _behind):
            each.holes = _infer_holes(each)
    return bool(node.holes)  # a run-time one-hot has none: products with its zeros are ordinary 0s


def _behind(node: TensorNode) -> tuple[TensorNode, ...]:
    """The nodes that decide where a node has structural zeros: a product's sources, even if it has a kernel."""
    return node.sources if multiplies(node) else node.reads


def _infer_holes(node: TensorNode) -> bool:
    if isinstance(node, LeafNode):
        return node.structural
    if not multiplies(node) and (node.direct or not isinstance(node, (TransformNode, LinearNode))):
        return False
    if isinstance(node, TransformNode):
        return bool(node.sources[0].holes)
    assert isinstance(node, LinearNode)
    if node.op != OpType.mul:
        return all(source.holes for source in node.sources)
    picking = [isinstance(source, SelectionNode) for source in node.sources]
    return all(picking) or any(map(_leaves_holes, node.sources, node.index[1:]))


def _leaves_holes(source: TensorNode, ids: Ids) -> bool:
    if isinstance(source, SelectionNode):
        return not all(_only_moves(source, picker, ids) for picker in source.pickers)
    return bool(source.holes)


def _only_moves(selection: SelectionNode, picker: Picker, ids: Ids) -> bool:
    """Whether every position of the product receives an entry, so that no structural zero arises."""
    if ids[picker.axis] < 0:
        return bool((picker.picks(selection.shape) >= 0).all())
    return picker.is_reshape(selection.shape) and all(ids[axis] < 0 for axis in picker.axes)


def there(target: TensorNode, array: Array, algebra: Any) -> Any:
    """The mask of a tensor's array: 1 for ordinary entries, 0 for structural zeros.

    A selection, or a one-hot that acts as one, is its own mask.
    """
    if target.structural:
        return array
    found: dict[TensorNode, Array] = {}

    def read(node: TensorNode) -> Any:
        return node if isinstance(node, SelectionNode) else found.get(node, np.broadcast_to(1.0, node.shape))

    for each in missing(target, lambda node: isinstance(node, SelectionNode) or not _has_holes(node), _behind):
        found[each] = (_there(each, read, algebra) != 0.0).astype(np.float64)
    return read(target)


def _there(node: TensorNode, read: Callable[[TensorNode], Any], algebra: Any) -> Array:
    if isinstance(node, TransformNode):
        return algebra.transform(node.index, read(node.sources[0]), 1.0, node.shape)
    if isinstance(node, LinearNode):
        op = OpType.mul if node.op == OpType.mul else OpType.add
        return algebra.linear(op, node.index, *map(read, node.sources))
    if isinstance(node, NonlinearNode):  # one of reduction_vjp.CHOICES, or calculus.GUARD
        return node._value if node.structural else node.sources[0]._value * read(node.sources[1])
    assert isinstance(node, LeafNode)
    return np.asarray(node.value)
