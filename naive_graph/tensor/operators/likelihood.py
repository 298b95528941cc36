"""Classification losses as ONNX and TensorFlow define them: negative log-likelihood and softmax cross-entropy.

The loss of a sample is minus the logarithm of the probability that the model gives to its class (`target`).
Losses with weights and other reductions are in tensor/losses.py.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ...core.catalogue import not_equal, where
from ...errors import ShapeError
from .. import arithmetic, reductions_api
from ..base import TensorNode
from ..index import canonicalize_axis
from ..nodes import LeafNode, LinearNode
from ..slicing import flat_indices, gather_flat
from .examples import example
from .families import map_entries
from .indexing import make_one_hot
from .mapping import Attribute, Fixed, Input, Onnx, TensorFlow
from .properties import Axis, Maybe, MaybeWhole, Places, Tensor, one_of
from .reductions import log_softmax, softmax
from .table import tensor_operator

Mean = Annotated[str, one_of("none", "sum", "mean")]  # how the losses of all samples are reduced


def _check_labels(x: TensorNode, target: Any, weight: TensorNode | None, ignore_index: int | None, axis: int) -> None:
    rest, class_count = x.shape[:axis] + x.shape[axis + 1 :], x.shape[axis]
    if tuple(target.shape) != rest:
        raise ShapeError(
            f"target of shape {tuple(target.shape)} needs a class for each of {rest}: x without axis {axis}."
        )
    if weight is not None and weight.shape != (class_count,):
        raise ShapeError(f"weight of shape {weight.shape} needs a number for each of {class_count} classes.")
    if not isinstance(target, TensorNode):
        classes = target[target != ignore_index] if ignore_index is not None else target
        if classes.size and not 0 <= classes.min() <= classes.max() < class_count:
            span = f"{classes.min()} to {classes.max()}"
            raise ShapeError(f"target goes from {span}; classes run from 0 to {class_count - 1}.")


def _negative_log_likelihood(
    x: TensorNode, target: Any, weight: TensorNode | None, ignore_index: int | None, reduction: str, axis: int
) -> TensorNode:
    """The negative log-likelihood, given log-probabilities."""
    axis_index = canonicalize_axis(axis, x.rank)
    _check_labels(x, target, weight, ignore_index, axis_index)
    if isinstance(target, TensorNode):
        log_probabilities, weights = _pick_at_run_time(x, target, weight, ignore_index, axis_index)
    else:
        log_probabilities, weights = _pick_log_probabilities(x, target, weight, ignore_index, axis_index)
    losses = arithmetic.scale_by(log_probabilities if weights is None else log_probabilities * weights, -1.0)
    if reduction == "none":
        return losses
    if reduction == "sum":
        return reductions_api.sum(losses)
    return reductions_api.mean(losses) if weights is None else reductions_api.sum(losses) / reductions_api.sum(weights)


def _pick_log_probabilities(
    x: TensorNode, target: Any, weight: TensorNode | None, ignore_index: int | None, axis: int
) -> tuple[TensorNode, TensorNode | None]:
    """The log-probability at each target, and its weight (None if all weigh 1); ignored targets weigh 0."""
    ignored = target == ignore_index if ignore_index is not None else np.zeros(target.shape, dtype=bool)
    classes = np.expand_dims(np.where(ignored, 0, target), axis)
    table = np.take_along_axis(flat_indices(x.shape), classes, axis).squeeze(axis)
    log_probabilities = gather_flat(x, np.where(ignored, -1, table))
    if weight is not None:
        return log_probabilities, gather_flat(weight, np.where(ignored, -1, target))
    return log_probabilities, LeafNode.constant(1.0 - ignored) if ignored.any() else None


def _pick_at_run_time(
    x: TensorNode, target: TensorNode, weight: TensorNode | None, ignore_index: int | None, axis: int
) -> tuple[TensorNode, TensorNode | None]:
    """The same for targets that are a tensor (known at run time): a contraction with their one-hot."""
    ids, class_id = tuple(range(1, x.rank)), -x.rank
    hot = make_one_hot(target, x.shape[axis], ignored_index=ignore_index)  # classes last
    picked: TensorNode = LinearNode("mul", ids, (*ids[:axis], class_id, *ids[axis:]), (*ids, class_id), x, hot)
    weights: TensorNode | None = None
    if weight is not None:
        weights = LinearNode("mul", ids, (*ids, class_id), (class_id,), hot, weight)
    if ignore_index is not None:
        mask = not_equal(target, float(ignore_index))  # 1 for the targets that count

        def masked(values: TensorNode) -> TensorNode:
            return map_entries(lambda k, v: where(k, v, 0.0), mask, values)

        picked = masked(picked)
        weights = mask if weights is None else masked(weights)
    return picked, weights


EXAMPLES = [
    example((2, 3), target=[0, 2]), example((3, 2), (2,), target=[1, 0, 1], ignore_index=0),
    example((2, 2, 2), target=[[0, 1], [1, 1]], reduction="none"), example((2, 3), target=[2, 2], reduction="sum"),
    example((2, 3), (3,), target=[2, 0], axis=-1),
]  # fmt: skip
OF_ONNX: dict[str, Any] = {
    "operands": [0, 2],
    "target": Input(1),
    "ignore_index": Attribute("ignore_index", None),
    "reduction": Attribute("reduction", "mean"),
    "axis": Fixed(1),
    "since": 12,
}


@tensor_operator(examples=EXAMPLES, onnx=Onnx("NegativeLogLikelihoodLoss", **OF_ONNX))
def nll_loss(
    x: Tensor,
    weight: Maybe = None,
    *,
    target: Places,
    ignore_index: MaybeWhole = None,
    reduction: Mean = "mean",
    axis: Axis = 1,
) -> Any:
    """-weight * x at the class of each target.

    target: labels, class numbers from 0 to K - 1, of the shape of x without `axis`.
    x: logarithms of probabilities, the K classes along `axis`.
    reduction: "none", "sum", or "mean" over the weights of the targets that count.
    """
    return _negative_log_likelihood(x, target, weight, ignore_index, reduction, axis)


@tensor_operator(examples=EXAMPLES, onnx=Onnx("SoftmaxCrossEntropyLoss", **OF_ONNX))
def softmax_cross_entropy_loss(
    x: Tensor,
    weight: Maybe = None,
    *,
    target: Places,
    ignore_index: MaybeWhole = None,
    reduction: Mean = "mean",
    axis: Axis = 1,
) -> Any:
    """nll_loss(log_softmax(x)).

    target: labels, class numbers from 0 to K - 1, of the shape of x without `axis`.
    x: logits, any numbers, the K classes along `axis`.
    """
    return _negative_log_likelihood(log_softmax(x, axis), target, weight, ignore_index, reduction, axis)


def _differentiate_cross_entropy(adjoint: Any, result: Any, z: Any, y: Any) -> tuple[Any, Any]:
    """The vjp: softmax(z) * (sum of y) - y, without cancellation."""
    row_adjoint = arithmetic.expand_dims(adjoint, adjoint.rank)
    return row_adjoint * (softmax(z) * reductions_api.sum(y, -1, True) - y), -row_adjoint * log_softmax(z)


@tensor_operator(
    derivative=_differentiate_cross_entropy,
    examples=[example((3,), (3,)), example((2, 3), (2, 3))],
    tensorflow=TensorFlow("SoftmaxCrossEntropyWithLogits"),
)
def softmax_cross_entropy_with_logits(z: Tensor, y: Tensor) -> Any:
    """-sum of y * log_softmax(z) along the last axis: one loss for each row.

    y: labels, rows of probabilities, such as one-hot; z: logits, any numbers of their shape.
    """
    if not z.rank or z.shape != y.shape:
        raise ShapeError(f"z of shape {z.shape} and y of shape {y.shape} must be equal: scores beside probabilities.")
    return arithmetic.scale_by(reductions_api.sum(y * log_softmax(z), -1), -1.0)


@tensor_operator(
    examples=[example((2, 3), target=[0, 2]), example((3,), target=1)],
    tensorflow=TensorFlow("SparseSoftmaxCrossEntropyWithLogits", target=Input(1)),
)  # fmt: skip
def sparse_softmax_cross_entropy_with_logits(z: Tensor, *, target: Places) -> Any:
    """-log_softmax(z) at the class of each row.

    target: labels, class numbers from 0 to K - 1, of the shape of z without its last axis.
    z: logits, a row of K numbers for each label.
    """
    return _negative_log_likelihood(log_softmax(z), target, None, None, "none", -1)
