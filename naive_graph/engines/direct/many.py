"""Rules of any number of operands as loops over their operands, in the order of `catalogue` and `ieee`."""

from __future__ import annotations

from collections.abc import Callable

from ...core.ieee import below_one, exp_below, log1p, maximum
from ..llvm.python import Floats, Ints

KNOWN: dict[str, tuple[Callable[..., float], int]] = {  # what the loops call
    "below_one": (below_one, 1), "exp_below": (exp_below, 2), "log1p": (log1p, 1), "maximum": (maximum, 2),
}  # fmt: skip


def add_value(xs: Floats, count: int) -> float:
    total = xs[0]
    for i in range(1, count):
        total += xs[i]
    return total


def add_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    for i in range(count):
        partials[i] = 1.0


def mul_value(xs: Floats, count: int) -> float:
    product = xs[0]
    for i in range(1, count):
        product *= xs[i]
    return product


def mul_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    """The product of the others: of those before, then of those after."""
    before, after = xs[0], xs[count - 1]
    for i in range(1, count):
        partials[i] = before
        before *= xs[i]
    for i in range(count - 2, 0, -1):
        partials[i] *= after
        after = xs[i] * after
    partials[0] = after if count > 1 else 1.0


def logsumexp_value(xs: Floats, count: int) -> float:
    top = largest(xs, 0, count)
    if top - top != 0.0:
        return top
    rest, ties = 0.0, -1.0
    for i in range(count):
        e = exp_below(xs[i], top)
        part = below_one(e)
        rest += e * part
        ties += 1.0 - part
    return top + log1p(rest + ties)


def logsumexp_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    shares(xs, 0, count, 1.0, partials)


def softmax_share_value(xs: Floats, count: int) -> float:
    top = largest(xs, 0, count)
    return exp_below(xs[0], top) / exponentials(xs, 1, count, top) if top == top else top


def softmax_share_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    partials[0] = y
    shares(xs, 1, count, -y, partials)


def largest(xs: Floats, first: int, count: int) -> float:
    top = -1e999
    for i in range(first, count):
        top = maximum(top, xs[i])
    return top


def exponentials(xs: Floats, first: int, count: int, top: float) -> float:
    total = 0.0
    for i in range(first, count):
        total += exp_below(xs[i], top)
    return total


def shares(xs: Floats, first: int, count: int, factor: float, partials: Floats) -> None:
    """factor times each operand's share of the sum of all exponentials."""
    top = largest(xs, first, count)
    total = exponentials(xs, first, count, top)
    for i in range(first, count):
        partials[i] = factor * (exp_below(xs[i], top) / total if top == top else top)


LOOPS = {
    "add": (add_value, add_partials), "mul": (mul_value, mul_partials),
    "logsumexp": (logsumexp_value, logsumexp_partials), "softmax_share": (softmax_share_value, softmax_share_partials),
}  # fmt: skip
