"""Two sums over lists: a contraction, and the cross-entropy of a softmax."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..exercise import Exercise, instead


def contract(
    W: Any, x: Any, *, reads_w: str = "", reads_x: str = "", sums: str = "", rows: str = "", stops: str = ""
) -> Any:  # fmt: skip
    """Return y as a list of lists, where y[i][k] = sum over a of W[a][i] * x[a][k].

    W, x: lists of rows. Note the order of W's indices.
    """
    if reads_w:
        W = instead(contract, "reads", reads_w, rows=W)
    if reads_x:
        x = instead(contract, "reads", reads_x, rows=x)
    y = []
    for i in range(len(W[0])):
        row = []
        for k in range(len(x[0])):
            products = [W[a][i] * x[a][k] for a in range(min(len(W), len(x)) if reads_w or reads_x else len(W))]
            row.append(
                sum(products) if not sums else instead(contract, "sums", sums, products=products, W=W, x=x, i=i, k=k)
            )
            if stops:
                return row
        y.append(row)
    return instead(contract, "rows", rows, y=y) if rows else y


def _contract_cases() -> Iterator[tuple[Any, ...]]:
    chance = random.Random(9)
    sizes = [
        (1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (2, 1, 2), (1, 2, 2), (2, 2, 2), (3, 2, 2), (2, 3, 4),
        (2, 2, 2), (3, 3, 3), (3, 3, 1), (3, 3, 2), (4, 2, 3), (3, 4, 2), (2, 4, 4), (3, 3, 3),
    ]  # fmt: skip
    for a, i, k in sizes:
        for signs in (1, -1):
            W = [[float(1 + int(chance.random() * 9)) for _ in range(i)] for _ in range(a)]
            x = [
                [signs ** int(chance.random() * 2) * float(1 + int(chance.random() * 9)) for _ in range(k)]
                for _ in range(a)
            ]
            yield W, x


CONTRACT = Exercise(contract, _contract_cases)


def softmax_cross_entropy(
    scores: Any, label: Any, *, shift: str = "", loss: str = "", probability: str = "", target: str = "",
    gradient: str = "",
) -> Any:  # fmt: skip
    """Return (loss, gradient): loss = log(sum_j exp(s_j)) - s_label, and the list of dloss/ds_j. Leave scores alone.

    scores: a list of floats. label: the index of the right class. It must work
    for scores of 1000 and -1000.
    """
    if shift.startswith("no_shift:"):
        return _as_arrays(shift, scores, label)
    largest = max(scores) if not shift else instead(softmax_cross_entropy, "shift", shift, scores=scores)
    powers = [math.exp(score - largest) for score in (scores if shift != "clips" else [min(s, 30.0) for s in scores])]
    total = sum(powers)
    told = largest + math.log(total) - scores[label]
    if loss:
        given = {"scores": scores, "label": label, "largest": largest, "total": total, "right": told}
        told = instead(softmax_cross_entropy, "loss", loss, share=powers[label] / total, **given)
    shares = [power / total for power in powers]
    if probability:
        shares = instead(softmax_cross_entropy, "probability", probability, powers=powers, scores=scores)
    grads = list(shares)
    if target:
        grads = instead(softmax_cross_entropy, "target", target, shares=shares, label=label)
    else:
        grads[label] -= 1.0
    if gradient:
        grads = instead(softmax_cross_entropy, "gradient", gradient, grads=grads, shares=shares, label=label)
    return told, grads


def _as_arrays(shift: str, scores: list[float], label: int) -> tuple[float, list[float]]:
    """What arrays give, which do not raise: infinity, and from there on what is no number."""
    powers = [math.exp(score) if score < 700 else math.inf for score in scores]
    total = sum(powers)
    shares = [power / total if total and power < math.inf else math.nan for power in powers]
    loss = (math.log(total) if total else -math.inf) - scores[label]
    if shift == "no_shift:array":
        loss = -math.log(shares[label]) if shares[label] else math.inf
    return loss, [share - (i == label) for i, share in enumerate(shares)]


def _softmax_cases() -> Iterator[tuple[Any, ...]]:
    chance = random.Random(4)
    small: list[list[float]] = [[2.0], [0.0, 0.0], [1.0, 3.0], [-0.5, 0.25], [1.0, 2.0, 4.0], [0.3, -1.2, 0.8]]
    small += [[round(chance.gauss(0, 2), 2) for _ in range(size)] for size in (2, 3, 3, 4, 5, 6)]
    large = [[1000.0, 0.0], [1000.0, 999.0], [-1000.0, -1001.0], [1000.0, -1000.0, 3.0], [-1000.0], [0.0, -1000.0]]
    large += [[1000.0, 1000.0], [0.0, 1000.0], [-1000.0, 1000.0, 5.0], [5.0, -1000.0, 1000.0], [-1000.0, 5.0]]
    yield from ((scores, label) for scores in small + large for label in range(len(scores)))


SOFTMAX = Exercise(softmax_cross_entropy, _softmax_cases)
