"""Exercises of lesson 11, on indices: transpose, add a row, contract, number an equation's letters, slide a window.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def transpose(W):
    """Return W with rows and columns exchanged: y[j][i] = W[i][j]. W: a list of rows."""
    return [[row[j] for row in W] for j in range(len(W[0]))]


def add_row(y, b):
    """Return z with z[i][j] = y[i][j] + b[j]: b is spread along the index i. y: a list of rows. Leave it as it is."""
    spread = []
    for row in y:
        added = zip(row, b)
        spread.append([entry + more for entry, more in added])
    return spread


def _matrices() -> Iterator[list[list[float]]]:
    chance = make_random(11)
    for rows, columns in ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3), (4, 2)):
        yield [[float(1 + int(chance.random() * 9)) for _ in range(columns)] for _ in range(rows)]


def index_arrays(equation):
    """Return the indices of the result and of both operands as whole numbers: three lists.

    equation: such as "ia,a->i". The letters of the result are 1, 2, 3 ... in
    its order. The others are summed over: they go on counting, in the order in
    which they first appear, with a minus. "ia,a->i" gives ([1], [1, -2], [-2]).
    """
    operands, result = equation.split("->")
    left, right = operands.split(",")
    numbers = {}
    for letter in result:
        numbers.setdefault(letter, len(numbers) + 1)
    kept = len(numbers)
    for letter in left + right:
        if letter not in numbers:
            kept += 1
            numbers[letter] = -kept
    return tuple([numbers[letter] for letter in part] for part in (result, left, right))


EQUATIONS = (
    "i,i->i", "a,a->", "ia,a->i", "i,j->ij", "i,j->ji", "ai,a->i", "ik,kj->ij", "ik,kj->ji", "ik,kj->ikj", "ik,kj->j",
    "ab,ab->", "ab,bc->ca", "bij,bjk->bik", "ia,ia->i", "abc,cd->dba", "k,kj->jk", "ba,ab->", "ia,ab->i",
)  # fmt: skip


def shape_of(equation, shapes):
    """Return the shape of the result, a list of extents.

    equation: such as "ia,a->i". shapes: the shape of each operand, a list of
    lists. shape_of("ia,a->i", [[2, 3], [3]]) is [2].
    """
    operands, result = equation.split("->")
    extents = {}
    for letters, shape in zip(operands.split(","), shapes):
        extents.update(zip(letters, shape))
    shape = [extents[letter] for letter in result]
    return shape


def _shapes() -> Iterator[tuple[Any, ...]]:
    extents = dict(zip("abcdijk", (2, 3, 4, 5, 6, 7, 8)))
    for equation in EQUATIONS:
        operands = equation.split("->")[0].split(",")
        yield equation, [[extents[letter] for letter in letters] for letters in operands]


def slide(x, window):
    """Slide a window along x: y[i] = sum over k of x[i + k] * window[k], wherever the whole window lies inside x.

    x, window: lists of numbers; window is not longer than x.
    """
    wide, y = len(window), []
    for i in range(len(x) - wide + 1):
        products = [x[i + k] * window[k] for k in range(wide)]
        y.append(sum(products))
    return y


def _slides() -> Iterator[tuple[Any, ...]]:
    chance = make_random(12)
    yield from (([3.0], [2.0]), ([3.0, 5.0], [2.0]), ([3.0, 5.0], [-1.0, 1.0]), ([1.0, 2.0, 4.0], [-1.0, 1.0]))
    for length, wide in ((4, 2), (5, 3), (6, 2), (6, 4), (7, 3)):
        yield tuple([float(1 + int(chance.random() * 9)) for _ in range(size)] for size in (length, wide))


def contract(W, x):
    """Return y as a list of lists, where y[i][k] = sum over a of W[a][i] * x[a][k].

    W, x: lists of rows. Note the order of W's indices.
    """
    y = []
    for i in range(len(W[0])):
        row = []
        for k in range(len(x[0])):
            products = [W[a][i] * x[a][k] for a in range(len(W))]
            row.append(sum(products))
        y.append(row)
    return y


def _contract_cases() -> Iterator[tuple[Any, ...]]:
    chance = make_random(9)
    sizes = [
        (1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2), (2, 2, 1), (2, 1, 2), (1, 2, 2), (2, 2, 2), (3, 2, 2), (2, 3, 4),
        (2, 2, 2), (3, 3, 3), (3, 3, 1), (3, 3, 2), (4, 2, 3), (3, 4, 2), (2, 4, 4), (3, 3, 3),
    ]  # fmt: skip
    for a, i, k in sizes:
        for signs in (1, -1):
            W = [[float(1 + int(chance.random() * 9)) for _ in range(i)] for _ in range(a)]
            x = []
            for _ in range(a):
                x.append([signs ** int(chance.random() * 2) * float(1 + int(chance.random() * 9)) for _ in range(k)])
            yield W, x


TRANSPOSE = Exercise(transpose, lambda: ((W,) for W in _matrices()))
ADD_ROW = Exercise(add_row, lambda: ((y, [float(10 * (j + 2)) for j in range(len(y[0]))]) for y in _matrices()))
INDEX_ARRAYS = Exercise(index_arrays, lambda: ((equation,) for equation in EQUATIONS))
SHAPE_OF = Exercise(shape_of, _shapes)
SLIDE = Exercise(slide, _slides)
CONTRACT = Exercise(contract, _contract_cases)
