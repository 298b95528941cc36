"""Scaled dot-product attention: each query gets the mean of the values, weighted by how well their keys fit it."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from ...core.catalogue import less, where
from ...errors import ShapeError
from .. import arithmetic, reductions_api
from ..base import TensorNode
from ..nodes import LeafNode
from .examples import example
from .families import map_entries
from .mapping import Attribute, Onnx, to_bool
from .matrices import transpose_matrices
from .moves import Extents
from .properties import Maybe, MaybeReal, Tensor
from .reductions import softmax
from .table import composition

LOWEST = -1e300  # a row whose largest score is below this is fully masked


def _check_shapes(q: Extents, k: Extents, v: Extents) -> None:
    if min(len(q), len(k), len(v)) < 2 or q[-1] != k[-1] or k[-2] != v[-2] or not q[:-2] == k[:-2] == v[:-2]:
        raise ShapeError(f"queries {q}, keys {k} and values {v} do not fit: (..., L, E), (..., S, E), (..., S, V).")


@composition(
    example((2, 3), (4, 3), (4, 2)), example((1, 3, 2), (1, 3, 2), (1, 3, 2), causal=True),
    example((2, 3), (2, 3), (2, 2), (2, 2), scale=0.5), shape=_check_shapes,
    onnx=Onnx("Attention", causal=Attribute("is_causal", 0, to_bool), scale=Attribute("scale", None), since=23,
              prepared=("q_num_heads", "kv_num_heads"), harmless=("softmax_precision",),
              required_values={"softcap": 0.0, "qk_matmul_output_mode": 0,
                               "left_window_size": -1, "right_window_size": -1}),
)  # fmt: skip
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Maybe = None, scale: MaybeReal = None, causal: bool = False
) -> Any:
    """softmax(scale * q @ k.T + mask) @ v, with scale 1 / sqrt(E) if none is given. Source: Vaswani et al., 2017.

    mask: added to the scores; a query whose keys are all masked by -inf gets zeros.
    causal: queries do not attend to later keys.
    """
    scale = 1.0 / sqrt(q.shape[-1]) if scale is None else scale
    scores: Any = arithmetic.scale_by(arithmetic.matmul(q, transpose_matrices(k)), scale)
    if mask is not None:
        if arithmetic.broadcast_or_none(mask.shape, scores.shape) != scores.shape:
            raise ShapeError(f"mask of shape {mask.shape} cannot be spread to the scores' {scores.shape}.")
        scores = scores + mask
    if causal:
        is_visible = LeafNode.constant(np.broadcast_to(np.tri(*scores.shape[-2:]), scores.shape))
        scores = map_entries(lambda s, x: where(s, x, -inf), is_visible, scores)
    return arithmetic.matmul(softmax(scores) if mask is None else _compute_masked_softmax(scores), v)


def _compute_masked_softmax(scores: TensorNode) -> TensorNode:
    """The softmax of each row; zeros for a fully masked row (as in torch) instead of 0 / 0."""
    top = reductions_api.make_reduction(scores, "peak", -1, True)
    hidden = arithmetic.broadcast(map_entries(lambda t: less(t, LOWEST), top), scores.shape)
    shares = softmax(map_entries(lambda h, s: where(h, 0.0, s), hidden, scores))
    return map_entries(lambda h, s: where(h, 0.0, s), hidden, shares)
