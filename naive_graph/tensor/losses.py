"""Loss functions, as operators: how far predictions p (or logits z) are from labels y.

Each but `l2_loss` takes labels first, then predictions or logits, and weights that multiply
the loss of each entry (1, or anything that broadcasts). `reduce` says what
becomes of the entries:

    "none"                            a loss for each entry
    "sum"                             their sum
    "mean_by_weight"                  sum / sum of the weights
    "mean_by_nonzero_weight_count"    sum / number of weights that are not 0

Upper case is accepted. An empty denominator gives 0. Labels and weights may be
arrays or numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from ..core.catalogue import abs as magnitude
from ..core.catalogue import exp, greater, log, not_equal, relu, softplus, square, where
from ..errors import ShapeError
from .arithmetic import broadcast, broadcast_or_none, scale_by
from .base import TensorNode, size_of
from .nodes import LeafNode
from .operators.examples import Example, example
from .operators.families import map_entries
from .operators.operator_def import OperatorDef
from .operators.properties import Axis, KnownPlaces, Maybe, MaybeWhole, Tensor, one_of
from .operators.table import tensor_operator
from .reductions_api import log_softmax, mean, sum

REDUCTIONS = ("none", "sum", "mean_by_weight", "mean_by_nonzero_weight_count")
DEFAULT = REDUCTIONS[3]  # the mean over the entries whose weight is not 0

_REDUCTION = one_of(*REDUCTIONS)
Reduce = Annotated[str, _REDUCTION._replace(take=lambda value: _REDUCTION.take(str(value).lower()))]


EXAMPLES = (
    example((2, 3), (2, 3)), example((2, 3), (2, 3), (3,), reduce="mean_by_weight"),
    example((3,), (3,), np.array([2.0, 0.0, 1.0])), example((2, 2), (2, 2), (2, 1), reduce="none"),
    example((), (), reduce="sum"),
)  # fmt: skip


def define_loss(*examples: Example) -> Callable[[Callable[..., Any]], OperatorDef]:
    """Define a loss operator; its examples are drawn from (0.1, 0.9), valid labels and probabilities."""
    return tensor_operator(examples=examples or EXAMPLES, domain=(0.1, 0.9), method=False)


def require_equal_shapes(labels: TensorNode, predictions: TensorNode) -> None:
    if labels.shape != predictions.shape:
        raise ShapeError(
            f"labels of shape {labels.shape} and predictions of shape {predictions.shape} differ. Reshape one of them."
        )


def compare_entries(function: Callable[..., Any], labels: TensorNode, predictions: TensorNode) -> TensorNode:
    """A loss for each entry: a function of its label and its prediction. Raises ShapeError if their shapes differ."""
    require_equal_shapes(labels, predictions)
    return map_entries(function, labels, predictions)


def reduce_losses(losses: TensorNode, weights: TensorNode | None, reduce: str) -> TensorNode:
    """Multiply the losses by their weights, and reduce them as `reduce` says. Raises ShapeError if they do not fit."""
    if weights is None:
        if reduce == "none":
            return losses
        return sum(losses) if reduce == "sum" else mean(losses)
    if broadcast_or_none(weights.shape, losses.shape) != losses.shape:
        raise ShapeError(
            f"weights of shape {weights.shape} do not spread over losses of shape {losses.shape}. "
            "Give one for each loss, or a shape that broadcasts to theirs."
        )
    broadcast_weights = broadcast(weights, losses.shape)
    weighted: TensorNode = losses * broadcast_weights
    if reduce in ("none", "sum"):
        return weighted if reduce == "none" else sum(weighted)
    counted = broadcast_weights
    if reduce == "mean_by_nonzero_weight_count":
        counted = map_entries(lambda w: not_equal(w, 0.0), counted)
    count = sum(counted)  # if it is 0, the result is 0 and so are all derivatives
    mean_ = map_entries(lambda a, n: a / where(n, n, 1.0), sum(weighted), count)
    return map_entries(lambda n, a: where(n, a, 0.0), count, mean_)


def _binary_cross_entropy(y: Any, z: Any, positive: float = 1.0) -> Any:
    """-positive * y log(sigmoid(z)) - (1 - y) log(1 - sigmoid(z)): two smooth terms, and nothing cancels."""
    positive_term = y * softplus(-z)
    return (positive_term if positive == 1.0 else positive * positive_term) + (1.0 - y) * softplus(z)


# --- entry by entry ---------------------------------------------------------------


@define_loss()
def absolute_difference(y: Tensor, p: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT) -> Any:
    """|p - y|.

    y: labels; p: predictions, of their shape. Both are any numbers.

    >>> float(absolute_difference([1.0, 0.0], [0.5, 0.25], reduce="sum").eval())
    0.75
    """
    return reduce_losses(compare_entries(lambda y, p: magnitude(p - y), y, p), weights, reduce)


@define_loss()
def mean_squared_error(y: Tensor, p: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT) -> Any:
    """(p - y)**2.

    y: labels; p: predictions, of their shape. Both are any numbers.
    """
    return reduce_losses(compare_entries(lambda y, p: square(p - y), y, p), weights, reduce)


@define_loss(*EXAMPLES, example((2, 3), (2, 3), delta=0.3))
def huber(y: Tensor, p: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT, delta: float = 1.0) -> Any:
    """d**2 / 2 for d = p - y within delta; beyond, delta * (|d| - delta / 2). Source: Huber (1964).

    y: labels; p: predictions, of their shape. Both are any numbers.
    """

    def of_entry(y: Any, p: Any) -> Any:
        d = p - y
        return where(greater(magnitude(d), delta), delta * magnitude(d) - 0.5 * delta * delta, 0.5 * square(d))

    return reduce_losses(compare_entries(of_entry, y, p), weights, reduce)


@define_loss(*EXAMPLES, example((3,), (3,), epsilon=0.01))
def log_loss(y: Tensor, p: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT, epsilon: float = 1e-7) -> Any:
    """-y log(p + epsilon) - (1 - y) log(1 - p + epsilon).

    y: labels, 0 or 1; p: probabilities of a 1, from 0 to 1, of their shape.
    """

    def of_entry(y: Any, p: Any) -> Any:
        return -(y * log(p + epsilon)) - (1.0 - y) * log(1.0 - p + epsilon)

    return reduce_losses(compare_entries(of_entry, y, p), weights, reduce)


@define_loss()
def hinge(y: Tensor, z: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT) -> Any:
    """max(0, 1 - (2y - 1) z).

    y: labels, 0 or 1; z: scores, any numbers of their shape: above 0 for a 1.
    """
    return reduce_losses(compare_entries(lambda y, z: relu(1.0 - (2.0 * y - 1.0) * z), y, z), weights, reduce)


@define_loss(*EXAMPLES, example((3,), (3,), smoothing=0.25))
def sigmoid_cross_entropy(
    y: Tensor, z: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT, smoothing: float = 0.0
) -> Any:
    """y softplus(-z) + (1 - y) softplus(z): cross-entropy of sigmoid(z), without overflow.

    y: labels, 0 or 1 (or the probability of a 1); z: logits, any numbers of their
    shape: sigmoid(z) is the predicted probability of a 1.
    smoothing s moves the labels towards 1/2: y (1 - s) + s / 2.
    """

    def of_entry(y: Any, z: Any) -> Any:
        if smoothing:
            y = y * (1.0 - smoothing) + 0.5 * smoothing
        return _binary_cross_entropy(y, z)

    return reduce_losses(compare_entries(of_entry, y, z), weights, reduce)


@define_loss(*(example(*case.operands, positive=3.0, **case.properties) for case in EXAMPLES))
def weighted_cross_entropy_with_logits(
    y: Tensor, z: Tensor, positive: float, weights: Maybe = None, reduce: Reduce = DEFAULT
) -> Any:
    """Cross-entropy of sigmoid(z) in which labels of 1 count `positive` times.

    y: labels, 0 or 1; z: logits, any numbers of their shape.
    """
    return reduce_losses(compare_entries(lambda y, z: _binary_cross_entropy(y, z, positive), y, z), weights, reduce)


@define_loss(*EXAMPLES, example(np.array([0.5, 2.0, 3.0]), (3,), full=True))
def log_poisson(y: Tensor, z: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT, full: bool = False) -> Any:
    """exp(z) - y z; with `full`, also Stirling's y log(y) - y + log(2 pi y) / 2, for y > 1.

    y: labels, counts from 0; z: the logarithms of predicted counts, of their shape.
    """

    def of_entry(y: Any, z: Any) -> Any:
        loss = exp(z) - y * z
        if not full:
            return loss
        stirling = y * log(y) - y + 0.5 * log(2.0 * math.pi * y)
        return loss + where(greater(y, 1.0), stirling, 0.0)

    return reduce_losses(compare_entries(of_entry, y, z), weights, reduce)


# --- along axes -------------------------------------------------------------------

ROWS = (
    example((2, 3), (2, 3)), example((2, 3), (2, 3), (2,), reduce="mean_by_weight"),
    example((3,), (3,), reduce="sum"), example((2, 2, 3), (2, 2, 3), (2,), reduce="none"),
)  # fmt: skip


@define_loss(*ROWS, example((2, 3), (2, 3), smoothing=0.25))
def softmax_cross_entropy(
    y: Tensor, z: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT, smoothing: float = 0.0
) -> Any:
    """-sum of y * log_softmax(z) along the last axis: one loss for each row.

    y: labels, a row of K probabilities for each sample: one-hot, 1 at its class and
    0 elsewhere (numbers of classes go to sparse_softmax_cross_entropy). z: logits,
    any numbers of their shape: softmax(z) are the predicted probabilities.
    Its gradient divides by no probability: softmax(z) * (sum of y) - y, times the weight.
    smoothing s moves the labels of K classes: (1 - s) y + s / K.
    """
    if y.rank == z.rank - 1:
        raise ShapeError(
            f"labels are a row of probabilities for each row of {z.shape}, and not of shape {y.shape}. Numbers of "
            "classes go to sparse_softmax_cross_entropy."
        )
    require_equal_shapes(y, z)
    if smoothing:
        y = y * (1.0 - smoothing) + smoothing / y.shape[-1]
    return reduce_losses(scale_by(sum(y * log_softmax(z), -1), -1.0), weights, reduce)


@define_loss(
    example((2, 3), classes=[0, 2]), example((2, 3), (2,), classes=[0, -1], ignore_index=-1),
    example((2, 2, 3), classes=[[0, 2], [1, 1]], reduce="none"), example((3,), classes=1, reduce="sum"),
)  # fmt: skip
def sparse_softmax_cross_entropy(
    classes: KnownPlaces, z: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT, ignore_index: MaybeWhole = None
) -> Any:
    """-log_softmax(z) at the class of each row. Rows of class `ignore_index` weigh nothing.

    classes: labels, a class number from 0 to K - 1 for each row: of the shape of z
    without its last axis. z: logits, a row of K numbers for each sample.
    """
    if not z.rank or classes.shape != z.shape[:-1]:
        raise ShapeError(
            f"classes is a whole number for each row of z: an array of shape {z.shape[:-1]}. "
            "One-hot labels go to softmax_cross_entropy."
        )
    valid_classes = classes[classes != ignore_index] if ignore_index is not None else classes
    if valid_classes.size and not 0 <= valid_classes.min() <= valid_classes.max() < z.shape[-1]:
        raise ShapeError(f"classes run from 0 to {z.shape[-1] - 1}.")
    ignored = classes == ignore_index if ignore_index is not None else np.zeros(classes.shape, dtype=bool)
    # Masking has the same form for all samples, so the compiler passes can batch it; indexing has not.
    chosen = LeafNode.constant(((np.arange(z.shape[-1]) == classes[..., None]) & ~ignored[..., None]).astype(float))
    if ignored.any():
        mask = (~ignored).astype(np.float64)
        weights = LeafNode.constant(mask) if weights is None else weights * mask
    picked = sum(map_entries(lambda c, s: where(c, s, 0.0), chosen, log_softmax(z)), axis=-1)
    return reduce_losses(scale_by(picked, -1.0), weights, reduce)


@define_loss(example((2, 3), (2, 3)), example((2, 3), (2, 3), (3,), axis=0, reduce="none"))
def cosine_distance(y: Tensor, p: Tensor, axis: Axis = -1, weights: Maybe = None, reduce: Reduce = DEFAULT) -> Any:
    """1 - sum of p * y along an axis.

    y: labels; p: predictions, of their shape: vectors along the axis. They should
    have length 1, which is not checked.
    """
    require_equal_shapes(y, p)
    return reduce_losses(1.0 - sum(p * y, axis, keepdims=True), weights, reduce)


@define_loss(
    *ROWS[:2], example((3,), (3,), reduce="none"), example((2, 2, 2), (2, 2, 2), reduce="sum"),
)  # fmt: skip
def mean_pairwise_squared_error(y: Tensor, p: Tensor, weights: Maybe = None, reduce: Reduce = DEFAULT) -> Any:
    """For each sample the mean, over all pairs of entries, of the squared difference of their errors.

    y: labels; p: predictions, of their shape: any numbers, a sample for each place of the first axis.
    With d = p - y and n entries that is 2 / (n - 1) times the sum of (d - mean d)**2; 0 for a single entry.
    """
    require_equal_shapes(y, p)
    d = p - y
    axes, n = list(range(1, d.rank)), size_of(d.shape[1:])
    squared_deviations = sum(square(d - mean(d, axes, True)), axes)
    return reduce_losses(squared_deviations * (2.0 / (n - 1) if n > 1 else 0.0), weights, reduce)


@define_loss(example((2, 3)), example(()))
def l2_loss(x: Tensor) -> Any:
    """Half the sum of squares of x, any numbers such as weights: one number. There are no labels."""
    return 0.5 * sum(square(x))
