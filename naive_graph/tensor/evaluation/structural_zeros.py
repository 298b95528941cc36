"""Zeros by structure: the entries that selections leave empty. What stands beside one is not computed, even infinity.

Scalars have no node for such a zero. An array has a number there like any
other, so a product of arrays that is not finite asks here which entries are there.
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


def holed(node: TensorNode) -> bool:
    """Whether some entries may be zeros by structure: found once for each node."""
    return node.structural or _has_holes(node)


def _has_holes(node: TensorNode) -> bool:
    if node.holes is None:
        for each in missing(node, lambda known: known.holes is not None, _behind):
            each.holes = _holed(each)
    return bool(node.holes)  # what chooses at run time has none: a product with its zeros is a number, 0


def _behind(node: TensorNode) -> tuple[TensorNode, ...]:
    """What decides where a node has holes: also of a product that is found at once, what it is written of."""
    return node.sources if multiplies(node) else node.reads


def _holed(node: TensorNode) -> bool:
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
    """Whether each place of the product takes some entry."""
    if ids[picker.axis] < 0:
        return bool((picker.picks(selection.shape) >= 0).all())
    return picker.is_reshape(selection.shape) and all(ids[axis] < 0 for axis in picker.axes)


def there(target: TensorNode, array: Array, algebra: Any) -> Any:
    """1 for each entry of an array that is there, 0 for each zero by structure; what selects is its own answer."""
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
    if isinstance(node, NonlinearNode):  # a choice among entries, or a guard, of those that a branch reaches
        return node._value if node.structural else node.sources[0]._value * read(node.sources[1])
    assert isinstance(node, LeafNode)
    return np.asarray(node.value)
