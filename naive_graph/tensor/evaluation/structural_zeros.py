"""Structural zeros: entries that are zero by construction, because a selection leaves them empty (as padding does).

No product with a structural zero counts, so a structural zero times infinity is 0, while an ordinary 0 * inf is NaN.
Lowered to scalars there is no node for such an entry. An array stores a 0 like any other, so when a product of
arrays is not finite, `find_nonzero` computes the mask of its ordinary entries, and the product is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import TensorNode
from ..differentiate import ancestors
from ..index import Ids
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType, TransformNode, is_product
from ..sparse_selector import IndexMap, SelectionNode
from .arrays import Array


def may_have_structural_zeros(node: TensorNode) -> bool:
    """Whether some entries may be structural zeros (a conservative analysis, cached on the node)."""
    return node.is_structural or _has_structural_zeros(node)


def _has_structural_zeros(node: TensorNode) -> bool:
    """The cached analysis. It is False for a run-time one-hot (structural itself), whose products are ordinary 0s."""
    if node.has_structural_zeros is None:
        for ancestor in ancestors([node], _operands, lambda node: node.has_structural_zeros is not None):
            ancestor.has_structural_zeros = _infer_structural_zeros(ancestor)
    return bool(node.has_structural_zeros)


def _operands(node: TensorNode) -> tuple[TensorNode, ...]:
    """The nodes that decide where a node has structural zeros: a product's sources, even if it has a kernel."""
    return node.sources if is_product(node) else node.reads


def _infer_structural_zeros(node: TensorNode) -> bool:
    """Whether a node may have structural zeros, from the answers for its sources."""
    if isinstance(node, LeafNode):
        return node.is_structural
    if not is_product(node) and (node.direct or not isinstance(node, (TransformNode, LinearNode))):
        return False
    if isinstance(node, TransformNode):
        return bool(node.sources[0].has_structural_zeros)
    assert isinstance(node, LinearNode)
    if node.op != OpType.mul:
        return all(source.has_structural_zeros for source in node.sources)
    are_selections = [isinstance(source, SelectionNode) for source in node.sources]
    return all(are_selections) or any(map(_creates_structural_zeros, node.sources, node.index[1:]))


def _creates_structural_zeros(source: TensorNode, ids: Ids) -> bool:
    """Whether a factor of a product may make some of its entries structural zeros. ids: the factor's axes."""
    if isinstance(source, SelectionNode):
        return not all(_fills_all_positions(source, index_map, ids) for index_map in source.index_maps)
    return bool(source.has_structural_zeros)


def _fills_all_positions(selection: SelectionNode, index_map: IndexMap, ids: Ids) -> bool:
    """Whether every position of the product receives an entry, so that no structural zero arises."""
    if ids[index_map.axis] < 0:
        return bool((index_map.indices(selection.shape) >= 0).all())
    return index_map.is_reshape(selection.shape) and all(ids[axis] < 0 for axis in index_map.axes)


def find_nonzero(target: TensorNode, array: Array, algebra: Any) -> Any:
    """The mask of a tensor's array: 1 for ordinary entries, 0 for structural zeros.

    A selection, or a one-hot that acts as one, is its own mask.
    """
    if target.is_structural:
        return array
    masks: dict[TensorNode, Array] = {}

    def read(node: TensorNode) -> Any:
        return node if isinstance(node, SelectionNode) else masks.get(node, np.broadcast_to(1.0, node.shape))

    def needs_no_mask(node: TensorNode) -> bool:
        return isinstance(node, SelectionNode) or not _has_structural_zeros(node)

    for node in ancestors([target], _operands, needs_no_mask):
        masks[node] = (_compute_mask(node, read, algebra) != 0.0).astype(np.float64)
    return read(target)


def _compute_mask(node: TensorNode, read: Callable[[TensorNode], Any], algebra: Any) -> Array:
    """An array that is 0 at the structural zeros: the node's equation, computed on its sources' masks (`read`)."""
    if isinstance(node, TransformNode):
        return algebra.transform(node.index, read(node.sources[0]), 1.0, node.shape)
    if isinstance(node, LinearNode):
        op = OpType.mul if node.op == OpType.mul else OpType.add
        return algebra.linear(op, node.index, *map(read, node.sources))
    if isinstance(node, NonlinearNode):  # one of reduction_vjp.CHOOSING_FUNCTIONS, or calculus.GUARD
        return node._value if node.is_structural else node.sources[0]._value * read(node.sources[1])
    assert isinstance(node, LeafNode)
    return np.asarray(node.value)
