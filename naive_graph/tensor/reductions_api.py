"""Build reductions over axes: sum and mean (as TransformNodes), softmax, and ReductionNodes by rule.

Each axis has an id, from 1 (index.py). In a source's ids a negative one is an axis that is reduced, in a result's
ids a new axis: `x.sum(1)` of a matrix has the source ids (1, -2) and the result ids (1,).
"""

from __future__ import annotations

from typing import Any

from .arithmetic import axes_of
from .base import TensorNode, size_of
from .nodes import LinearNode, TransformNode
from .reduction_node import ReductionNode


def sum(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """The sum over an axis, several, or all.

    >>> from .nodes import LeafNode
    >>> LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]).sum(0).eval().tolist()
    [4.0, 6.0]
    """
    return _scaled_sum(self, axes_of(self, axis), keepdims, 1.0)


def mean(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """The mean over an axis, several, or all: a sum times 1 / count."""
    axes = axes_of(self, axis)
    return _scaled_sum(self, axes, keepdims, 1.0 / size_of(self.shape[position] for position in axes))


def _scaled_sum(node: TensorNode, axes: list[int], keepdims: bool, alpha: float) -> TensorNode:
    src = _sign_axes(node, axes)
    dst = [index for index in src if keepdims or index > 0]
    return TransformNode(dst, src, node, alpha, [1 if index < 0 else None for index in dst])


def softmax(self: TensorNode, axis: Any = -1) -> TensorNode:
    """exp(x) / (sum of exp(x) along the axis): positive numbers that add up to 1.

    >>> from .nodes import LeafNode
    >>> LeafNode.parameter([0.0, 0.0]).softmax().eval().tolist()
    [0.5, 0.5]
    """
    weights: Any = subtract_max(self, axis).exp()
    src = _sign_axes(self, axis)
    total = TransformNode(src, [index for index in src if index > 0], sum(weights, axis), shape=self.shape)
    node: TensorNode = weights / total
    return node


def log_softmax(self: TensorNode, axis: Any = -1) -> TensorNode:
    """log(softmax(x)), which stays finite where softmax rounds to 0."""
    shifted = subtract_max(self, axis)
    return _subtract_reduced(shifted, make_reduction(shifted, "logsumexp", axis), axis)


def subtract_max(node: TensorNode, axis: Any) -> TensorNode:
    """The tensor minus its maximum along an axis (without gradient): for functions that are invariant to a shift."""
    return _subtract_reduced(node, make_reduction(node, "peak", axis), axis)


def make_reduction(node: TensorNode, rule: str, axis: Any, keepdims: bool = False) -> TensorNode:
    """Build a ReductionNode over the axes that `axis` names: one, several, or all for None."""
    src = _sign_axes(node, axis)
    reduction = ReductionNode(rule, [index for index in src if index > 0], src, node)
    if not keepdims:
        return reduction
    return TransformNode(src, reduction.index.dst, reduction, shape=[1 if index < 0 else None for index in src])


def _sign_axes(node: TensorNode, axis: Any) -> list[int]:
    """An id for each axis, negative for those that `axis` names."""
    axes = axes_of(node, axis)
    return [-(position + 1) if position in axes else position + 1 for position in range(node.rank)]


def _subtract_reduced(node: TensorNode, other: TensorNode, axis: Any) -> TensorNode:
    """The node minus a tensor that lacks the reduced axes."""
    ids = range(1, node.rank + 1)
    return LinearNode("sub", ids, ids, [axis_id for axis_id in _sign_axes(node, axis) if axis_id > 0], node, other)
