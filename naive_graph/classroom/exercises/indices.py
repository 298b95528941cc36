"""Lesson 11: what indices say: which entry goes where, which letters are summed over."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..exercise import Exercise


def transpose(W: Any, *, flips_columns: str = "", flips_rows: str = "", turns: str = "", square: str = "") -> Any:
    """Return W with rows and columns exchanged: y[j][i] = W[i][j]. W: a list of rows."""
    if flips_columns or flips_rows:
        return [row[::-1] for row in W] if flips_columns else W[::-1]
    if turns:
        W = W[::-1]
    return [[row[j] for row in W] for j in range(len(W[0]) if not square else len(W))]


def add_row(
    y: Any,
    b: Any,
    *,
    by_row: str = "",
    first_entry: str = "",
    total: str = "",
    first_row: str = "",
    multiplies: str = "",
) -> Any:
    """Return z with z[i][j] = y[i][j] + b[j]: b is spread along the index i. y: a list of rows. Leave it as it is."""
    spread = []
    for i, row in enumerate(y):
        added = zip(
            row, b if not (by_row or first_entry or total or first_row) else _bias(b, i, by_row, first_entry, total)
        )
        spread.append([entry + more if not multiplies else entry * more for entry, more in added])
    return spread


def _bias(b: list[float], i: int, by_row: str, first_entry: str, total: str) -> list[float]:
    """What somebody adds to row i."""
    if by_row or first_entry:
        return [b[i] if by_row else b[0]] * len(b)
    return [sum(b)] * len(b) if total else b if not i else [0.0] * len(b)


def _matrices() -> Iterator[list[list[float]]]:
    chance = random.Random(11)
    for rows, columns in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 2)):
        yield [[float(1 + int(chance.random() * 9)) for _ in range(columns)] for _ in range(rows)]


def index_arrays(
    equation: Any, *, no_minus: str = "", from_zero: str = "", dummies_from_one: str = "", by_appearance: str = "",
    shared_are_dummies: str = "", each_afresh: str = "",
) -> Any:  # fmt: skip
    """Return the indices of the result and of both operands as whole numbers: three lists.

    equation: such as "ia,a->i". The letters of the result are 1, 2, 3 ... in
    its order. The others are summed over: they go on counting, in the order in
    which they first appear, with a minus. "ia,a->i" gives ([1], [1, -2], [-2]).
    """
    operands, result = equation.split("->")
    left, right = operands.split(",")
    numbers: dict[str, int] = {}
    for letter in result if not by_appearance else [each for each in left + right if each in result]:
        numbers.setdefault(letter, len(numbers) + (1 if not from_zero else 0))
    kept = len(numbers) if not dummies_from_one else 0
    for letter in left + right:
        if letter not in numbers:
            kept += 1
            numbers[letter] = -kept if not no_minus else kept
    if shared_are_dummies or each_afresh:
        return _numbered_otherwise(numbers, left, right, result, each_afresh)
    return tuple([numbers[letter] for letter in part] for part in (result, left, right))


def _numbered_otherwise(numbers: dict[str, int], left: str, right: str, result: str, each_afresh: str) -> Any:
    if each_afresh:
        own = [{letter: i + 1 for i, letter in enumerate(dict.fromkeys(part))} for part in (result, left, right)]
        return tuple(
            [mine[letter] * (1 if letter in result else -1) for letter in part]
            for mine, part in zip(own, (result, left, right))
        )
    both = numbers | {letter: -abs(numbers[letter]) for letter in left if letter in right}
    return tuple([both[letter] for letter in part] for part in (result, left, right))


EQUATIONS = (
    "i,i->i", "a,a->", "ia,a->i", "i,j->ij", "i,j->ji", "ai,a->i", "ik,kj->ij", "ik,kj->ji", "ik,kj->ikj", "ik,kj->j",
    "ab,ab->", "ab,bc->ca", "bij,bjk->bik", "ia,ia->i", "abc,cd->dba", "k,kj->jk", "ba,ab->", "ia,ab->i",
)  # fmt: skip


def shape_of(
    equation: Any, shapes: Any, *, by_appearance: str = "", with_dummies: str = "", first_shape: str = "",
    entries: str = "", only_dummies: str = "", alphabetical: str = "",
) -> Any:  # fmt: skip
    """Return the shape of the result, a list of extents.

    equation: such as "ia,a->i". shapes: the shape of each operand, a list of
    lists. shape_of("ia,a->i", [[2, 3], [3]]) is [2].
    """
    operands, result = equation.split("->")
    extents: dict[str, int] = {}
    for letters, shape in zip(operands.split(","), shapes):
        extents.update(zip(letters, shape))
    if by_appearance or with_dummies or only_dummies or alphabetical:
        result = [
            letter
            for letter in (sorted(extents) if alphabetical else extents)
            if with_dummies or (letter in result) is not bool(only_dummies)
        ]
    shape = [extents[letter] for letter in result] if not first_shape else list(shapes[0])
    return math.prod(shape) if entries else shape


def _shapes() -> Iterator[tuple[Any, ...]]:
    extents = dict(zip("abcdijk", (2, 3, 4, 5, 6, 7, 8)))
    for equation in EQUATIONS:
        operands = equation.split("->")[0].split(",")
        yield equation, [[extents[letter] for letter in letters] for letters in operands]


def slide(
    x: Any, window: Any, *, flipped: str = "", one_short: str = "", whole_length: str = "", jumps: str = "",
    last_product: str = "", from_the_end: str = "",
) -> Any:  # fmt: skip
    """Slide a window along x: y[i] = sum over k of x[i + k] * window[k], wherever the whole window lies inside x.

    x, window: lists of numbers; window is not longer than x.
    """
    if flipped:
        window = window[::-1]
    if whole_length:
        x = [*x, *[0.0] * len(window)]
    wide, y = len(window), []
    for i in (
        range(len(x) - wide + 1) if not (one_short or whole_length or jumps) else _places(x, wide, one_short, jumps)
    ):
        products = [x[i + k] * window[k] for k in range(wide)]
        y.append(sum(products) if not last_product else products[-1])
    return y if not from_the_end else y[::-1]


def _places(x: list[float], wide: int, one_short: str, jumps: str) -> range:
    """Where somebody puts the window; x is longer for who lets it hang over the end."""
    return range(len(x) - wide) if not jumps or one_short else range(0, len(x) - wide + 1, wide)


def _slides() -> Iterator[tuple[Any, ...]]:
    chance = random.Random(12)
    yield from (([3.0], [2.0]), ([3.0, 5.0], [2.0]), ([3.0, 5.0], [-1.0, 1.0]), ([1.0, 2.0, 4.0], [-1.0, 1.0]))
    for length, wide in ((4, 2), (5, 3), (6, 2), (6, 4), (7, 3)):
        yield tuple([float(1 + int(chance.random() * 9)) for _ in range(size)] for size in (length, wide))


TRANSPOSE = Exercise(transpose, lambda: ((W,) for W in _matrices()))
ADD_ROW = Exercise(add_row, lambda: ((y, [float(10 * (j + 2)) for j in range(len(y[0]))]) for y in _matrices()))
INDEX_ARRAYS = Exercise(index_arrays, lambda: ((equation,) for equation in EQUATIONS))
SHAPE_OF = Exercise(shape_of, _shapes)
SLIDE = Exercise(slide, _slides)
