"""Losses: how far predictions p (or logits z) are from labels y, as compositions of tensor nodes.

Each takes labels first, then predictions or logits, and weights that multiply
the loss of each entry (1, or anything that broadcasts). `reduce` says what
becomes of the entries:

    "none"                            a loss for each entry
    "sum"                             their sum
    "mean_by_weight"                  sum / sum of the weights
    "mean_by_nonzero_weight_count"    sum / number of weights that are not 0

Capitals are as good. An empty denominator gives 0. Labels and weights may be
arrays or numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.catalogue import abs as magnitude
from ..core.catalogue import exp, greater, less, log, log1p, relu, square, where
from ..core.number import number
from ..errors import ShapeError
from ..graph.graph import scope
from .arithmetic import as_tensor, broadcast, scaled
from .arrays import asked
from .base import TensorNode, size_of
from .function import trace
from .nodes import NonlinearNode
from .reduce import log_softmax, mean, sum

REDUCTIONS = ("none", "sum", "mean_by_weight", "mean_by_nonzero_weight_count")
DEFAULT = REDUCTIONS[3]


def absolute_difference(y: Any, p: Any, weights: Any = 1.0, reduce: str = DEFAULT) -> TensorNode:
    """|p - y|.

    >>> float(absolute_difference([1.0, 0.0], [0.5, 0.25], reduce="sum").eval())
    0.75
    """
    return _loss("absolute_difference", lambda y, p: magnitude(p - y), y, p, weights, reduce)


def mean_squared_error(y: Any, p: Any, weights: Any = 1.0, reduce: str = DEFAULT) -> TensorNode:
    """(p - y)**2."""
    return _loss("mean_squared_error", lambda y, p: square(p - y), y, p, weights, reduce)


def huber(y: Any, p: Any, weights: Any = 1.0, reduce: str = DEFAULT, delta: float = 1.0) -> TensorNode:
    """d**2 / 2 for d = p - y within delta; beyond, delta * (|d| - delta / 2). Source: Huber (1964)."""
    delta = number(delta, "huber: delta")

    def entry(y: Any, p: Any) -> Any:
        d = p - y
        return where(greater(magnitude(d), delta), delta * magnitude(d) - 0.5 * delta * delta, 0.5 * square(d))

    return _loss("huber", entry, y, p, weights, reduce)


def log_loss(y: Any, p: Any, weights: Any = 1.0, reduce: str = DEFAULT, epsilon: float = 1e-7) -> TensorNode:
    """-y log(p + epsilon) - (1 - y) log(1 - p + epsilon)."""
    epsilon = number(epsilon, "log_loss: epsilon")

    def entry(y: Any, p: Any) -> Any:
        return -(y * log(p + epsilon)) - (1.0 - y) * log(1.0 - p + epsilon)

    return _loss("log_loss", entry, y, p, weights, reduce)


def hinge(y: Any, z: Any, weights: Any = 1.0, reduce: str = DEFAULT) -> TensorNode:
    """max(0, 1 - (2y - 1) z), for labels 0 and 1."""
    return _loss("hinge", lambda y, z: relu(1.0 - (2.0 * y - 1.0) * z), y, z, weights, reduce)


def sigmoid_cross_entropy(
    y: Any, z: Any, weights: Any = 1.0, reduce: str = DEFAULT, smoothing: float = 0.0
) -> TensorNode:
    """max(z, 0) - z y + log(1 + exp(-|z|)): cross-entropy of sigmoid(z), without overflow.

    smoothing s moves the labels towards 1/2: y (1 - s) + s / 2.
    """
    smoothing = number(smoothing, "sigmoid_cross_entropy: smoothing")

    def entry(y: Any, z: Any) -> Any:
        if smoothing:
            y = y * (1.0 - smoothing) + 0.5 * smoothing
        return relu(z) - z * y + _log_term(z)

    return _loss("sigmoid_cross_entropy", entry, y, z, weights, reduce)


def weighted_cross_entropy_with_logits(
    y: Any, z: Any, positive: float, weights: Any = 1.0, reduce: str = DEFAULT
) -> TensorNode:
    """Cross-entropy of sigmoid(z) in which labels of 1 count `positive` times."""
    positive = number(positive, "weighted_cross_entropy_with_logits: positive")

    def entry(y: Any, z: Any) -> Any:
        return (1.0 - y) * z + (1.0 + (positive - 1.0) * y) * (_log_term(z) + relu(-z))

    return _loss("weighted_cross_entropy_with_logits", entry, y, z, weights, reduce)


def log_poisson(y: Any, z: Any, weights: Any = 1.0, reduce: str = DEFAULT, full: bool = False) -> TensorNode:
    """exp(z) - y z; with `full`, also Stirling's y log(y) - y + log(2 pi y) / 2, for y > 1."""

    def entry(y: Any, z: Any) -> Any:
        loss = exp(z) - y * z
        if not full:
            return loss
        stirling = y * log(y) - y + 0.5 * log(2.0 * math.pi * y)
        return loss + where(greater(y, 1.0), stirling, 0.0)

    return _loss("log_poisson", entry, y, z, weights, reduce)


def softmax_cross_entropy(
    y: Any, z: Any, weights: Any = 1.0, reduce: str = DEFAULT, smoothing: float = 0.0
) -> TensorNode:
    """-sum of y * log_softmax(z) along the last axis: one loss for each row.

    Its gradient divides by no probability: softmax(z) * (sum of y) - y, times the weight.
    smoothing s moves the labels of K classes: (1 - s) y + s / K.
    """
    smoothing = number(smoothing, "softmax_cross_entropy: smoothing")
    with scope("softmax_cross_entropy"):
        labels, logits = _matched("softmax_cross_entropy", y, z)
        if smoothing:
            labels = labels * (1.0 - smoothing) + smoothing / labels.shape[-1]
        entropy = scaled(sum(labels * log_softmax(logits), -1), -1.0)
        return reduced(entropy, weights, reduce, "softmax_cross_entropy")


def sparse_softmax_cross_entropy(
    classes: Any, z: Any, weights: Any = 1.0, reduce: str = DEFAULT, ignore_index: int | None = None
) -> TensorNode:
    """-log_softmax(z) at the class of each row. Rows of class `ignore_index` weigh nothing.

    classes: whole numbers, of the shape of z without its last axis.
    """
    import numpy as np

    logits = as_tensor(z)
    chosen = asked(classes)
    count = logits.shape[-1] if logits.rank else 0
    ignored = chosen == ignore_index if ignore_index is not None else np.zeros(chosen.shape, dtype=bool)
    if chosen.dtype.kind not in "iu" or chosen.shape != logits.shape[:-1]:
        raise ShapeError(
            f"sparse_softmax_cross_entropy takes a whole number for each row of {logits.label}: an array of shape "
            f"{logits.shape[:-1]}."
        )
    if ((chosen < 0) | (chosen >= count))[~ignored].any():
        raise ShapeError(f"sparse_softmax_cross_entropy: classes run from 0 to {count - 1}.")
    one_hot = (chosen[..., None] == np.arange(count)) & ~ignored[..., None]
    kept = as_tensor(weights) * (~ignored).astype(np.float64) if ignored.any() else weights
    return softmax_cross_entropy(one_hot.astype(np.float64), logits, kept, reduce)


def cosine_distance(y: Any, p: Any, axis: int = -1, weights: Any = 1.0, reduce: str = DEFAULT) -> TensorNode:
    """1 - sum of p * y along an axis; both should have length 1, which is not checked."""
    with scope("cosine_distance"):
        labels, predictions = _matched("cosine_distance", y, p)
        return reduced(1.0 - sum(predictions * labels, axis, keepdims=True), weights, reduce, "cosine_distance")


def mean_pairwise_squared_error(y: Any, p: Any, weights: Any = 1.0, reduce: str = DEFAULT) -> TensorNode:
    """For each sample the mean, over all pairs of entries, of the squared difference of their errors.

    With d = p - y and n entries that is 2 (n sum d**2 - (sum d)**2) / (n (n - 1)); 0 for a single entry.
    """
    with scope("mean_pairwise_squared_error"):
        labels, predictions = _matched("mean_pairwise_squared_error", y, p)
        d = predictions - labels
        axes = list(range(1, d.rank))
        n = size_of(d.shape[1:])
        pairs = n * sum(square(d), axes) - square(sum(d, axes))
        entries = pairs * (2.0 / (n * (n - 1)) if n > 1 else 0.0)
        return reduced(entries, weights, reduce, "mean_pairwise_squared_error")


def l2_loss(x: Any) -> TensorNode:
    """Half the sum of squares."""
    with scope("l2_loss"):
        node: TensorNode = 0.5 * sum(square(as_tensor(x)))
        return node


# --- reductions ---------------------------------------------------------------


def reduced(losses: TensorNode, weights: Any = 1.0, reduce: str = DEFAULT, who: str = "A loss") -> TensorNode:
    """Entries times their weights, and then none, a sum, or a mean of them."""
    way = reduce.lower() if isinstance(reduce, str) else reduce
    if way not in REDUCTIONS:
        raise ShapeError(f"{who}: reduce is one of {', '.join(map(repr, REDUCTIONS))}, not {reduce!r:.60}.")
    if isinstance(weights, (int, float)) and weights == 1 and way != "none":
        return sum(losses) if way == "sum" else mean(losses)
    spread = _spread(as_tensor(weights), losses, who)
    weighted: TensorNode = losses * spread
    if way == "none":
        return weighted
    if way == "sum":
        return sum(weighted)
    counted = spread if way == "mean_by_weight" else NonlinearNode(lambda w: less(w, 0.0) + greater(w, 0.0), spread)
    return NonlinearNode(lambda a, n: where(n, a / where(n, n, 1.0), 0.0), sum(weighted), sum(counted))


def _spread(weights: TensorNode, losses: TensorNode, who: str) -> TensorNode:
    """A weight for each loss; weights do not make more losses than there are."""
    try:
        return broadcast(weights, losses.shape)
    except ShapeError:
        raise ShapeError(
            f"{who}: weights of shape {weights.shape} do not spread over losses of shape {losses.shape}. "
            "Give one for each loss, or a shape that broadcasts to theirs."
        ) from None


def _loss(name: str, entry: Callable[..., Any], y: Any, p: Any, weights: Any, reduce: str) -> TensorNode:
    """An entry-by-entry loss as one nonlinear node, in a scope of its name."""
    with scope(name):
        labels, predictions = _matched(name, y, p)
        return reduced(NonlinearNode(trace(entry, 2), labels, predictions), weights, reduce, name)


def _matched(name: str, y: Any, p: Any) -> tuple[TensorNode, TensorNode]:
    """Labels and predictions of one shape; a loss does not broadcast one to the other."""
    labels, predictions = as_tensor(y), as_tensor(p)
    if labels.shape != predictions.shape:
        raise ShapeError(
            f"{name}: labels of shape {labels.shape} and predictions of shape {predictions.shape} differ. "
            "Reshape one of them."
        )
    return labels, predictions


def _log_term(z: Any) -> Any:
    """log(1 + exp(-|z|))."""
    return log1p(exp(-magnitude(z)))
