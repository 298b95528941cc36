"""What all losses share: labels and predictions of one shape, weights for entries, and a reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np

from ..core.catalogue import not_equal, where
from ..errors import ShapeError
from .arithmetic import broadcast
from .base import TensorNode
from .index import Shape
from .operators.entrywise import entry
from .operators.examples import Example, example
from .operators.properties import Kind, Wrong
from .operators.row import Row
from .operators.table import tensor_operator
from .reduce import mean, sum

REDUCTIONS = ("none", "sum", "mean_by_weight", "mean_by_nonzero_weight_count")
DEFAULT = REDUCTIONS[3]


def _reduction(value: Any) -> str:
    way = value.lower() if isinstance(value, str) else value
    if way not in REDUCTIONS:
        raise Wrong
    return str(way)


Reduce = Annotated[str, Kind(f"one of {', '.join(map(repr, REDUCTIONS))}", _reduction)]


def loss_shape(y: Shape, p: Shape, weights: Shape | None, reduce: str, entries: Shape | None = None) -> Shape:
    """The shape of a loss. Neither labels nor weights make more losses than there are predictions."""
    if y != p:
        raise ShapeError(f"labels of shape {y} and predictions of shape {p} differ. Reshape one of them.")
    losses = y if entries is None else entries
    try:
        spread = weights is None or np.broadcast_shapes(weights, losses) == losses
    except ValueError:
        spread = False
    if not spread:
        raise ShapeError(
            f"weights of shape {weights} do not spread over losses of shape {losses}. "
            "Give one for each loss, or a shape that broadcasts to theirs."
        )
    return losses if reduce == "none" else ()


EXAMPLES = (
    example((2, 3), (2, 3)), example((2, 3), (2, 3), (3,), reduce="mean_by_weight"),
    example((3,), (3,), np.array([2.0, 0.0, 1.0])), example((2, 2), (2, 2), (2, 1), reduce="none"),
    example((), (), reduce="sum"),
)  # fmt: skip


def loss_row(shape: Callable[..., Shape], *examples: Example) -> Callable[[Callable[..., Any]], Row]:
    """A row of the table that is a loss, checked with numbers that may be labels as well as probabilities."""
    return tensor_operator(shape=shape, examples=examples or EXAMPLES, domain=(0.1, 0.9), method=False)


def of_p(y: Shape, p: Shape, weights: Shape | None, reduce: str) -> Shape:
    return loss_shape(y, p, weights, reduce)


def of_z(y: Shape, z: Shape, weights: Shape | None, reduce: str) -> Shape:
    return loss_shape(y, z, weights, reduce)


def of_rows(y: Shape, z: Shape, weights: Shape | None, reduce: str) -> Shape:
    if len(y) == len(z) - 1:
        raise ShapeError(
            f"labels are a row of probabilities for each row of {z}, and not of shape {y}. Numbers of classes go to "
            "sparse_softmax_cross_entropy."
        )
    return loss_shape(y, z, weights, reduce, y[:-1])


def weighed(losses: TensorNode, weights: TensorNode | None, reduce: str) -> TensorNode:
    """The entries times their weights; then their sum or mean, if the loss is reduced."""
    if weights is None:
        return losses if reduce == "none" else sum(losses) if reduce == "sum" else mean(losses)
    spread = broadcast(weights, losses.shape)
    weighted: TensorNode = losses * spread
    if reduce in ("none", "sum"):
        return weighted if reduce == "none" else sum(weighted)
    counted = spread if reduce == "mean_by_weight" else entry(lambda w: not_equal(w, 0.0), spread)
    count = sum(counted)  # where it is 0, no derivative goes on
    mean_ = entry(lambda a, n: a / where(n, n, 1.0), sum(weighted), count)
    return entry(lambda n, a: where(n, a, 0.0), count, mean_)
