"""Reductions along axes (sum, max, ...), softmax, argmax and argmin, top_k, running sums and products.

The functions build nodes (reductions_api.py, reduction_node.py); the decorators register them as operators, with their
names in ONNX and TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.catalogue import abs as magnitude
from ...core.catalogue import equal, greater, less, log, sqrt, square, where
from ...errors import ShapeError
from .. import reductions_api
from ..arithmetic import broadcast, expand_dims
from ..base import TensorNode
from ..index import canonicalize_axis
from ..nodes import LeafNode, LinearNode, TransformNode
from ..slicing import gather_axis
from ..sparse_selector import mark_run_time_gather
from .examples import example
from .families import map_entries
from .mapping import Attribute, Fixed, Input, ListElement, Onnx, TensorFlow, to_bool, to_scalar
from .operator_def import OperatorDef
from .properties import Axis, Size, Tensor
from .table import tensor_operator


def reduction(onnx: str, **options: Any) -> Callable[[Callable[..., Any]], OperatorDef]:
    """Define a reduction: an operator (x, axis, keepdims) over entries along axes."""
    return tensor_operator(kind="reduction", onnx=onnx, **options)


@reduction("ReduceSum", since=13, tensorflow="Sum")
def reduce_sum(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The sum over some axes, or all."""
    return reductions_api.sum(x, axis, keepdims)


@reduction("ReduceMean", tensorflow="Mean")
def reduce_mean(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The mean over some axes, or all."""
    return reductions_api.mean(x, axis, keepdims)


@reduction("ReduceMax", tensorflow="Max", smooth=False)
def reduce_max(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The largest along some axes, or all; entries that tie share the gradient."""
    return reductions_api.make_reduction(x, "maximum", axis, keepdims)


@reduction("ReduceMin", tensorflow="Min", smooth=False)
def reduce_min(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The smallest along some axes, or all; entries that tie share the gradient."""
    return reductions_api.make_reduction(x, "minimum", axis, keepdims)


@reduction("ReduceProd", tensorflow="Prod")
def reduce_prod(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The product along some axes, or all; its gradient survives zeros."""
    return reductions_api.make_reduction(x, "mul", axis, keepdims)


@reduction("ReduceLogSumExp")
def reduce_logsumexp(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """log(sum of exp) along some axes, or all, without overflow."""
    return reductions_api.make_reduction(x, "logsumexp", axis, keepdims)


@reduction("ReduceL1", smooth=False)
def reduce_l1(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The sum of magnitudes."""
    return reductions_api.sum(magnitude(x), axis, keepdims)


@reduction("ReduceL2", tensorflow="EuclideanNorm")
def reduce_l2(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The root of the sum of squares."""
    total = reductions_api.sum(square(x), axis, keepdims)
    return map_entries(lambda a: where(a, sqrt(a), 0.0), total)  # its slope at 0 is 0


@reduction("ReduceSumSquare")
def reduce_sum_square(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The sum of squares."""
    return reductions_api.sum(square(x), axis, keepdims)


@reduction("ReduceLogSum", domain=(0.3, 2.0))
def reduce_log_sum(x: Tensor, axis: Any, keepdims: bool) -> Any:
    """The logarithm of the sum."""
    return log(reductions_api.sum(x, axis, keepdims))


# --- softmax ------------------------------------------------------------------


AXIS_EXAMPLES = [example((2, 3)), example((2, 3, 2), axis=1), example((3,), axis=0)]
# Before opset 13 the axes from `axis` on were flattened into one; an importer reshapes around it.
FLATTENING = (Attribute("axis", 1, until=12), Attribute("axis", -1, since=13))


@tensor_operator(onnx=Onnx("Softmax", axis=FLATTENING), tensorflow=TensorFlow("Softmax"), examples=AXIS_EXAMPLES)
def softmax(x: Tensor, axis: Axis = -1) -> Any:
    """exp(x) / (sum of exp(x) along the axis): positive numbers that add up to 1.

    >>> from naive_graph.tensor import softmax
    >>> softmax([0.0, 0.0]).eval().tolist()
    [0.5, 0.5]
    """
    return reductions_api.softmax(x, axis)


@tensor_operator(onnx=Onnx("LogSoftmax", axis=FLATTENING), tensorflow=TensorFlow("LogSoftmax"), examples=AXIS_EXAMPLES)
def log_softmax(x: Tensor, axis: Axis = -1) -> Any:
    """log(softmax(x)), which stays finite where softmax rounds to 0."""
    return reductions_api.log_softmax(x, axis)


@tensor_operator(onnx=Onnx("Hardmax", axis=FLATTENING), smooth=False, examples=AXIS_EXAMPLES)
def hardmax(x: Tensor, axis: Axis = -1) -> Any:
    """1 at the first largest along the axis, 0 elsewhere."""
    axis_index = canonicalize_axis(axis, x.rank)
    first_largest = expand_dims(_argmax_along(x, axis_index, False), axis_index)
    return equal(broadcast(first_largest, x.shape), _indices_along(x, axis_index))


# --- indices along an axis -----------------------------------------------------


def _indices_along(x: TensorNode, axis: int) -> TensorNode:
    """A constant of x's shape: each entry's index along the axis."""
    shape = [1] * x.rank
    shape[axis] = x.shape[axis]
    return broadcast(LeafNode.constant(np.arange(float(x.shape[axis])).reshape(shape)), x.shape)


def _argmax_along(x: TensorNode, axis: int, last: bool) -> TensorNode:
    """The index of the largest entry along an axis; the first of those that tie, or the last."""
    if not last:
        return reductions_api.make_reduction(x, "argmax", [axis])
    top = broadcast(reductions_api.make_reduction(x, "peak", [axis], True), x.shape)
    candidates = map_entries(lambda x, top, i: where(_is_below(x, top), -1.0, i), x, top, _indices_along(x, axis))
    return reductions_api.make_reduction(candidates, "maximum", axis)


def _is_below(x: Any, top: Any) -> Any:
    """1 where x < top; NaN counts as larger than any number."""
    return where(equal(top, top), less(x, top), equal(x, x))


ARGMAX_EXAMPLES = [
    example((2, 3), axis=1), example((2, 3, 2), axis=-2, keepdims=True), example((4,), select_last_index=True),
]  # fmt: skip
ONNX_ARGMAX: dict[str, Any] = {
    "axis": Attribute("axis", 0), "keepdims": Attribute("keepdims", 1, to_bool),
    "select_last_index": Attribute("select_last_index", 0, to_bool, since=12),
}  # fmt: skip


@tensor_operator(
    smooth=False, examples=ARGMAX_EXAMPLES, onnx=Onnx("ArgMax", **ONNX_ARGMAX),
    tensorflow=TensorFlow("ArgMax", axis=Input(1), keepdims=Fixed(False), harmless=("output_type",)),
)  # fmt: skip
def argmax(x: Tensor, axis: Axis = 0, keepdims: bool = False, select_last_index: bool = False) -> Any:
    """The place of the largest along an axis, the first of equals (or the last); it has no gradient."""
    axis_index = canonicalize_axis(axis, x.rank)
    positions = _argmax_along(x, axis_index, select_last_index)
    return expand_dims(positions, axis_index) if keepdims else positions


@tensor_operator(
    smooth=False, examples=ARGMAX_EXAMPLES, onnx=Onnx("ArgMin", **ONNX_ARGMAX),
    tensorflow=TensorFlow("ArgMin", axis=Input(1), keepdims=Fixed(False), harmless=("output_type",)),
)  # fmt: skip
def argmin(x: Tensor, axis: Axis = 0, keepdims: bool = False, select_last_index: bool = False) -> Any:
    """The place of the smallest along an axis, the first of equals (or the last); it has no gradient."""
    return argmax.function(-x, axis, keepdims, select_last_index)


@tensor_operator(
    smooth=False, examples=[example((5,), k=2), example((2, 4, 2), k=3, axis=1, largest=False)],
    onnx=Onnx("TopK", k=(Attribute("k", until=9), Input(1, adapt=ListElement(0), since=10)), axis=Attribute("axis", -1),
              largest=Attribute("largest", 1, to_bool, since=11), harmless=("sorted",)),
    tensorflow=TensorFlow("TopKV2", k=Input(1), harmless=("sorted",)),
)  # fmt: skip
def top_k(x: Tensor, k: Size, axis: Axis = -1, largest: bool = True) -> Any:
    """The k largest along an axis, largest first, and their indices; of equals the earlier comes first.

    An entry's rank is the number of entries that precede it in sorted order. The
    value at rank r is the sum over all entries of (1 if the entry's rank is r, else
    0) * entry, so values are differentiable; indices are not. n scalar nodes take
    n * n comparisons; arrays are sorted. NaN is larger than any number.
    """
    axis_index, rank = canonicalize_axis(axis, x.rank), x.rank
    if k > x.shape[axis_index]:
        raise ShapeError(f"k={k} is more than the {x.shape[axis_index]} entries along axis {axis}. Ask for fewer.")
    better = greater if largest else less
    is_nan, indices = map_entries(lambda x: 1.0 - equal(x, x), x), _indices_along(x, axis_index)

    def precedes(a: Any, b: Any, a_is_nan: Any, b_is_nan: Any, i: Any, j: Any) -> Any:
        """1 if the entry b, of index j, precedes the entry a, of index i."""
        if_incomparable = where(a_is_nan - b_is_nan, better(b_is_nan, a_is_nan), less(j, i))
        return where(greater(a, b) + less(a, b), better(b, a), if_incomparable)

    pairs = [pair for tensor in (x, is_nan, indices) for pair in _all_pairs(tensor, axis_index)]
    ranks = reductions_api.sum(map_entries(precedes, *pairs), rank)
    result_ranks = LeafNode.constant(np.arange(float(k)))
    sources = [broadcast(tensor, (*x.shape, k)) for tensor in (expand_dims(ranks, rank), result_ranks)]

    def find_indices(x: Any) -> Any:
        keys = (-x, x == x) if largest else (x, x != x)  # sorted by the last key first: NaN is larger than any number
        return np.moveaxis(np.lexsort(keys, axis_index).take(range(k), axis_index), axis_index, -1)

    selection = mark_run_time_gather(x, equal(*sources), axis_index, find_indices)
    ids = [-(dimension + 1) if dimension == axis_index else dimension + 1 for dimension in range(rank)]
    dst = [rank + 1 if dimension == axis_index else dimension + 1 for dimension in range(rank)]
    return [LinearNode("mul", dst, ids, (*ids, rank + 1), tensor, selection) for tensor in (x, indices)]


def _all_pairs(x: TensorNode, axis: int) -> list[TensorNode]:
    """All pairs of entries along an axis: (first, second), with the second along a new last axis."""
    last, shape = x.rank + 1, (*x.shape, x.shape[axis])
    src = [last if dimension == axis else dimension + 1 for dimension in range(x.rank)]
    dst = [-1 if dimension == axis else dimension + 1 for dimension in range(x.rank)] + [last]
    return [broadcast(expand_dims(x, x.rank), shape), TransformNode(dst, src, x, shape=shape)]


# --- running sums and products ------------------------------------------------

CUMULATIVE_EXAMPLES = [
    example((2, 3), axis=1), example((3,), axis=0, exclusive=True), example((2, 3, 2), axis=1, reverse=True),
]  # fmt: skip
ONNX_CUMULATIVE: dict[str, Any] = {
    "axis": Input(1, adapt=to_scalar), "exclusive": Attribute("exclusive", 0, to_bool),
    "reverse": Attribute("reverse", 0, to_bool),
}  # fmt: skip
TENSORFLOW_CUMULATIVE: dict[str, Any] = {
    "axis": Input(1), "exclusive": Attribute("exclusive", False), "reverse": Attribute("reverse", False),
}  # fmt: skip


@tensor_operator(
    examples=CUMULATIVE_EXAMPLES,
    onnx=Onnx("CumSum", **ONNX_CUMULATIVE, since=11), tensorflow=TensorFlow("Cumsum", **TENSORFLOW_CUMULATIVE),
)  # fmt: skip
def cumsum(x: Tensor, axis: Axis = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """The sum of the entries up to each, or (exclusive) before each; from the end, if reversed."""
    axis_index = canonicalize_axis(axis, x.rank)
    return reductions_api.sum(_prefixes(x, axis_index, exclusive, reverse), axis_index + 1)


@tensor_operator(
    examples=CUMULATIVE_EXAMPLES,
    onnx=Onnx("CumProd", **ONNX_CUMULATIVE, since=26), tensorflow=TensorFlow("Cumprod", **TENSORFLOW_CUMULATIVE),
)  # fmt: skip
def cumprod(x: Tensor, axis: Axis = 0, exclusive: bool = False, reverse: bool = False) -> Any:
    """The product of the entries up to each, or (exclusive) before each; from the end, if reversed."""
    axis_index, one = canonicalize_axis(axis, x.rank), LeafNode.constant(np.ones(x.shape))
    beyond: Any = 1.0 - _prefixes(one, axis_index, exclusive, reverse)  # 1 for entries that are not in the prefix
    return reductions_api.make_reduction(_prefixes(x, axis_index, exclusive, reverse) + beyond, "mul", axis_index + 1)


def _prefixes(x: TensorNode, axis: int, exclusive: bool, reverse: bool) -> TensorNode:
    """All prefixes along an axis, each along a new following axis; 0 for entries beyond the prefix."""
    n = x.shape[axis]
    skipped = 1 if exclusive else 0
    first = skipped if reverse else 1 - n - skipped
    return gather_axis(x, axis, (n, n), (1, 1), first)
