"""Exercises of lesson 14b, on imported networks: channels first or last, SAME padding, and receptive fields.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.

Files of other libraries have a picture as a list of channels, each a list of rows; here it is a list of rows of
pixels, each a list with a number for each channel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def channels_last(picture):
    """Return the picture with its channels last: result[i][j][c] is picture[c][i][j].

    picture: a list of channels, each a list of rows of numbers.
    """
    channels = len(picture)
    rows = len(picture[0])
    columns = len(picture[0][0])
    return [[[picture[c][i][j] for c in range(channels)] for j in range(columns)] for i in range(rows)]


def same_pads(size, kernel, stride):
    """How many zeros stand before and behind a line of `size` numbers, as [before, behind], if padding is "SAME"?

    A window of `kernel` numbers moves by `stride`. The result has as many
    numbers as size / stride, rounded up. There are just enough zeros for that.
    If their number is odd, the one more stands behind.
    """
    places = (size + stride - 1) // stride
    zeros = (places - 1) * stride + kernel - size
    zeros = max(zeros, 0)
    before = zeros // 2
    return [before, zeros - before]


def field_of_view(layers):
    """How many numbers along a line does one number of the last layer see?

    layers: for each layer, the first one first, a pair (kernel, stride): a
    window of `kernel` numbers that moves by `stride`. Without layers it sees 1.
    """
    seen = 1
    for kernel, stride in reversed(layers):
        seen = (seen - 1) * stride + kernel
    return seen


# --- cases ----------------------------------------------------------------------


def _pictures() -> Iterator[tuple[Any, ...]]:
    chance = make_random(23)
    sizes = ((1, 1, 1), (2, 1, 1), (1, 2, 2), (1, 1, 2), (2, 2, 2), (2, 1, 3), (3, 2, 1), (3, 2, 4), (4, 3, 3))
    for channels, rows, columns in sizes:
        yield ([[[int(chance.random() * 90) for _ in range(columns)] for _ in range(rows)] for _ in range(channels)],)


def _lines() -> Iterator[tuple[Any, ...]]:
    yield from ((n, k, s) for n in range(1, 10) for k in range(1, 6) for s in range(1, 5))
    yield from ((28, 5, 1), (32, 3, 2), (224, 7, 2), (100, 2, 10))


def _stacks() -> Iterator[tuple[Any, ...]]:
    yield ([],)
    pairs = [(k, s) for k in (1, 2, 3, 5) for s in (1, 2, 3)]
    yield from (([pair],) for pair in pairs)
    yield from (([one, other],) for one in pairs[1:] for other in pairs[3:])
    yield ([(3, 1), (2, 2), (3, 1), (2, 2)],)
    yield ([(7, 2), (3, 2), (3, 1), (3, 1), (3, 2)],)


CHANNELS_LAST = Exercise(channels_last, _pictures)
SAME_PADS = Exercise(same_pads, _lines)
FIELD_OF_VIEW = Exercise(field_of_view, _stacks)
