"""Reductions over axes: sums are transforms, the others functions of the slices along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.catalogue import held, less, maximum, minimum, mul, where
from ..errors import ShapeError
from ..graph.graph import scope
from .arithmetic import axes_of, transpose
from .base import TensorNode, method, size_of
from .function import function_of
from .nodes import NonlinearNode, TransformNode
from .picks import entry, reshape


@method
def sum(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """The sum over an axis, several, or all.

    >>> from .nodes import LeafNode
    >>> LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]).sum(0).eval().tolist()
    [4.0, 6.0]
    """
    return _total(self, axes_of(self, axis), keepdims, 1.0)


@method
def mean(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """The mean over an axis, several, or all: a sum times 1 / count."""
    axes = axes_of(self, axis)
    return _total(self, axes, keepdims, 1.0 / size_of(self.shape[each] for each in axes))


def _total(node: TensorNode, axes: list[int], keepdims: bool, alpha: float) -> TensorNode:
    src = [-(axis + 1) if axis in axes else axis + 1 for axis in range(node.rank)]
    dst = [each for each in src if keepdims or each > 0]
    shape = [1 if each < 0 else None for each in dst]
    return TransformNode(dst, src, node, alpha, shape)


@method
def max(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """The largest along an axis, several, or all; entries that tie share the gradient."""
    return over_slices(self, axis, keepdims, lambda *xs: _extreme(maximum, xs))


@method
def min(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """The smallest along an axis, several, or all; entries that tie share the gradient."""
    return over_slices(self, axis, keepdims, lambda *xs: _extreme(minimum, xs))


@method
def prod(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """The product along an axis, several, or all; its gradient survives zeros."""
    return over_slices(self, axis, keepdims, mul)


@method
def logsumexp(self: TensorNode, axis: Any = None, keepdims: bool = False) -> TensorNode:
    """log(sum of exp) along an axis, several, or all, without overflow."""
    with scope("logsumexp"):
        top = peak(self, axis)
        shifted = self - top
        total = sum(shifted.exp(), axis, keepdims).log()
        node: TensorNode = total + (top if keepdims else reshape(top, total.shape))
        return node


@method
def softmax(self: TensorNode, axis: int = -1) -> TensorNode:
    """exp(x) / (sum of exp(x) along the axis): positive numbers that add up to 1.

    >>> from .nodes import LeafNode
    >>> LeafNode.parameter([0.0, 0.0]).softmax().eval().tolist()
    [0.5, 0.5]
    """
    with scope("softmax"):
        weights = (self - peak(self, axis)).exp()
        node: TensorNode = weights / sum(weights, axis, keepdims=True)
        return node


@method
def log_softmax(self: TensorNode, axis: int = -1) -> TensorNode:
    """log(softmax(x)), which stays finite where softmax rounds to 0."""
    if not isinstance(self, TensorNode) or not self.rank:
        raise ShapeError(
            f"log_softmax takes a tensor of at least one axis, not {self!r}. Of scalar nodes: x - logsumexp([x, y])."
        )
    with scope("log_softmax"):
        shifted = self - peak(self, axis)
        node: TensorNode = shifted - sum(shifted.exp(), axis, keepdims=True).log()
        return node


def peak(node: TensorNode, axis: Any) -> TensorNode:
    """The largest along an axis, taken as a number: shifts by it cancel, so no gradient need flow."""
    return over_slices(node, axis, True, lambda *xs: held(_folded(maximum, xs)))


def over_slices(node: TensorNode, axis: Any, keepdims: bool, function: Callable[..., Any]) -> TensorNode:
    """A function of all slices along the axes."""
    axes = axes_of(node, axis)
    rest = [each for each in range(node.rank) if each not in axes]
    last = reshape(transpose(node, *rest, *axes) if axes != list(range(len(rest), node.rank)) else node,
                   (*(node.shape[each] for each in rest), size_of(node.shape[each] for each in axes)))  # fmt: skip
    slices = [entry(last, last.rank - 1, place) for place in range(last.shape[-1])]
    result: TensorNode = NonlinearNode(function_of(function, len(slices)), *slices)
    if not keepdims:
        return result
    return reshape(result, [1 if each in axes else extent for each, extent in enumerate(node.shape)])


def _folded(rule: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    first = xs[0]
    for each in xs[1:]:
        first = rule(first, each)
    return first


def _extreme(rule: Callable[..., Any], xs: tuple[Any, ...]) -> Any:
    """The largest (smallest) of xs, written so that those that tie share its gradient."""
    if len(xs) == 1:
        return xs[0]
    top = held(_folded(rule, xs))
    beaten = [less(x, top) if rule is maximum else less(top, x) for x in xs]
    winners = [1.0 - each for each in beaten]
    count = _folded(lambda a, b: a + b, tuple(winners))
    return _folded(lambda a, b: a + b, tuple(where(each, 0.0, x / count) for each, x in zip(beaten, xs)))
