"""Two sums over lists: a contraction, and the cross-entropy of a softmax."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..exercise import Exercise


def contract(
    W: Any, x: Any, *, reads_w: str = "", reads_x: str = "", sums: str = "", rows: str = "", stops: str = ""
) -> Any:  # fmt: skip
    """Return y as a list of lists, where y[i][k] = sum over a of W[a][i] * x[a][k].

    W, x: lists of rows. Note the order of W's indices.
    """
    if reads_w:
        W = _turned(reads_w, W)
    if reads_x:
        x = _turned(reads_x, x)
    y = []
    for i in range(len(W[0])):
        row = []
        for k in range(len(x[0])):
            products = [W[a][i] * x[a][k] for a in range(min(len(W), len(x)) if reads_w or reads_x else len(W))]
            row.append(sum(products) if not sums else _summed(sums, products, W, x, i, k))
            if stops:
                return row
        y.append(row)
    return _arranged(rows, y) if rows else y


def _turned(reads: str, rows: Any) -> Any:
    """A matrix with rows and columns exchanged, or cut to what somebody reads of it who takes one extent for both."""
    if reads == "exchanged":
        return [list(column) for column in zip(*rows)]
    if reads == "reversed":
        return rows[::-1]
    return [row[: len(rows)] for row in rows]


def _summed(sums: str, products: list[float], W: Any, x: Any, i: int, k: int) -> float:
    told = {"last_product": products[-1], "first_product": products[0], "mean": sum(products) / len(products)}
    told |= {"one_short": sum(products[:-1]), "without_first": sum(products[1:]), "largest": max(products)}
    told |= {"multiplies": math.prod(products), "adds": sum(row[i] + other[k] for row, other in zip(W, x))}
    told |= {"product_of_sums": sum(row[i] for row in W) * sum(row[k] for row in x)}
    told |= {"only_w": sum(row[i] for row in W), "only_x": sum(row[k] for row in x)}
    return told[sums] if sums in told else (W[i][k] * x[i][k] if i < len(W) and k < len(W[0]) else math.nan)


def _arranged(rows: str, y: list[list[float]]) -> Any:
    if rows == "shared_rows":
        return [y[-1] for _ in y]
    if rows == "shared_sums":
        return [[sum(column) for column in zip(*y)] for _ in y]
    if rows == "running_sum":
        return [[math.fsum(row[: k + 1]) for k in range(len(row))] for row in y]
    return [[value if i == k else 0.0 for k, value in enumerate(row)] for i, row in enumerate(y)]


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
    largest = max(scores) if not shift else _shift(shift, scores)
    powers = [math.exp(score - largest) for score in (scores if shift != "clips" else [min(s, 30.0) for s in scores])]
    total = sum(powers)
    told = largest + math.log(total) - scores[label] if not loss else _loss(loss, scores, label, largest, powers)
    shares = [power / total for power in powers] if not probability else _shares(probability, powers, total, scores)
    grads = list(shares)
    if target:
        grads = _aimed(target, shares, label)
    else:
        grads[label] -= 1.0
    if gradient:
        grads = _mistaken(gradient, grads, shares, label)
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


def _shift(shift: str, scores: list[float]) -> float:
    told = {"no_shift": 0.0, "clips": 0.0, "first": scores[0], "smallest": min(scores), "last": scores[-1]}
    told |= {"mean": sum(scores) / len(scores)}
    return told[shift] if shift in told else max(map(abs, scores))


def _loss(loss: str, scores: list[float], label: int, largest: float, powers: list[float]) -> float:
    """The loss of somebody who forgets a part of it."""
    total, share = sum(powers), powers[label] / sum(powers)
    told = {"shift_is_lost": math.log(total) - scores[label], "no_label": largest + math.log(total)}
    told |= {"shift_twice": 2 * largest + math.log(total) - scores[label], "log_of_powers": math.log(total)}
    told |= {"plus_label": largest + math.log(total) + scores[label], "probability": share, "minus_probability": -share}
    told |= {"negative": scores[label] - largest - math.log(total), "no_log": largest + total - scores[label]}
    told |= {"one_minus": 1 - share, "mean": (largest + math.log(total) - scores[label]) / len(scores)}
    told |= {"base_2": (largest + math.log(total) - scores[label]) / math.log(2)}
    told |= {"base_10": (largest + math.log(total) - scores[label]) / math.log(10)}
    if loss in told:
        return told[loss]
    if loss == "all_labels":
        return sum(largest + math.log(total) - score for score in scores)
    if loss == "with_tiny":
        return -math.log(share + 1e-12)
    return -math.log(share)  # log_of_0: raises where the share is too small for a float


def _shares(probability: str, powers: list[float], total: float, scores: list[float]) -> list[float]:
    if probability == "no_total":
        return powers
    if probability == "score_shares":
        return [score / (sum(scores) or 1e-300) for score in scores]
    return [1 / (1 + 1 / power) if power else 0.0 for power in powers]


def _aimed(target: str, shares: list[float], label: int) -> list[float]:
    if target == "no_target":
        return shares
    if target == "from_all":
        return [share - 1.0 for share in shares]
    if target == "plus_target":
        return [share + (i == label) for i, share in enumerate(shares)]
    if target == "label_itself":
        return [share - (label if i == label else 0.0) for i, share in enumerate(shares)]
    if target == "label_everywhere":
        return [share - label for share in shares]
    wrong = {"first": 0, "last": len(shares) - 1, "before": label - 1, "behind": (label + 1) % len(shares)}
    wrong["largest"] = shares.index(max(shares))
    return [share - (i == wrong[target] % len(shares)) for i, share in enumerate(shares)]


def _mistaken(gradient: str, grads: list[float], shares: list[float], label: int) -> list[float]:
    told = {"negative": [-each for each in grads], "mean": [each / len(grads) for each in grads]}
    told |= {"only_label": [each if i == label else 0.0 for i, each in enumerate(grads)]}
    told |= {
        "own_slope": [share * (1 - share) for share in shares],
        "inverse": [1 / share if share else math.inf for share in shares],
    }
    told |= {"row_of_softmax": [shares[label] * ((i == label) - share) for i, share in enumerate(shares)]}
    told |= {"of_probability": [-1 / (shares[label] or 1e-300) if i == label else 0.0 for i in range(len(shares))]}
    told |= {
        "others_missing": [grads[label]],
        "zeros": [0.0 for _ in grads],
        "times_shares": [a * b for a, b in zip(grads, shares)],
    }
    return told[gradient] if gradient in told else [abs(each) for each in grads]


def _softmax_cases() -> Iterator[tuple[Any, ...]]:
    chance = random.Random(4)
    small: list[list[float]] = [[2.0], [0.0, 0.0], [1.0, 3.0], [-0.5, 0.25], [1.0, 2.0, 4.0], [0.3, -1.2, 0.8]]
    small += [[round(chance.gauss(0, 2), 2) for _ in range(size)] for size in (2, 3, 3, 4, 5, 6)]
    large = [
        [1000.0, 0.0],
        [1000.0, 999.0],
        [-1000.0, -1001.0],
        [1000.0, -1000.0, 3.0],
        [-1000.0],
        [0.0, -1000.0],
        [1000.0, 1000.0],
    ]
    large += [[0.0, 1000.0], [-1000.0, 1000.0, 5.0], [5.0, -1000.0, 1000.0], [-1000.0, 5.0]]
    yield from ((scores, label) for scores in [*small, *large] for label in range(len(scores)))


SOFTMAX = Exercise(softmax_cross_entropy, _softmax_cases)
