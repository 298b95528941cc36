"""Dots that share operands become matrices: dense tiles and outer products.

>>> from naive_graph import Graph, total
>>> from naive_graph.engines.tape.lowering import Lowering
>>> from naive_graph.engines.tape.sections import sections
>>> a, b, c, d = weights = [Graph.Variable(value) for value in range(4)]
>>> x, y = Graph.PlaceHolder(), Graph.PlaceHolder()
>>> loss = total((a * x + b * y) * (c * x + d * y))
>>> wrt = [weight.row for weight in weights]
>>> flat = Lowering(loss.tables, [loss.row], wrt, frozenset([x.row, y.row])).flat
>>> for line in str(flat).splitlines()[6:]:
...     print(line)
   6 dot 0*4 + 1*5  (group 1)
   7 dot 2*4 + 3*5  (group 1)
   8 mul 6 7  (group 1)
   9 total 8
  10 reduce 6*5
  11 reduce 6*4
  12 reduce 7*5
  13 reduce 7*4
>>> dense, product, sum, outer = tiles(flat, sections(flat)[0])
>>> dense.outputs, dense.inputs, dense.weights
([6, 7], [4, 5], [[0, 1], [2, 3]])
>>> outer.lefts, outer.rights, outer.results
([6, 7], [4, 5], [[11, 10], [13, 12]])

A layer's outputs are dots over the same inputs; the gradients of its weights are
all products of one adjoint and one input. Found together, they are computed in
tiles whose numbers stay in registers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

import numpy as np

from .flat import DOT, NONE, REDUCE, Flat
from .sections import Section

ONE = -2  # an input that is 1 for every sample
PAIR = 4  # cycles that eight samples of one product take, and its share in adding them up


class DenseTile(NamedTuple):
    """outputs[j] = bias[j] + sum over k of weights[j][k] * inputs[k], for every sample.

    bias: NONE where there is none. An input may be ONE. fused: whether nobody minds the last bit.
    """

    outputs: list[int]
    inputs: list[int]
    weights: list[list[int]]
    bias: list[int]
    fused: bool


class Outer(NamedTuple):
    """results[j][k] = the sum over the samples of lefts[j] * rights[k]."""

    lefts: list[int]
    rights: list[int]
    results: list[list[int]]

    def cost(self) -> int:
        """About how many cycles eight samples take: to lay eight rights crosswise, and to fill a tile, or a part of it.

        Measured with registers of eight floats; a small product takes longer than its pairs one by one.

        >>> Outer([0] * 16, [0] * 16, []).cost() < 16 * 16 * PAIR, Outer([0], [0] * 3, []).cost() < 3 * PAIR
        (True, False)
        """
        eights, sixteens = -(-len(self.rights) // 8), -(-len(self.rights) // 16)
        return 24 * eights + sixteens * (40 * (len(self.lefts) // 4) + 32 * (len(self.lefts) % 4))

    def pays(self) -> bool:
        """Whether it is quicker than its pairs one by one."""
        return self.cost() < PAIR * len(self.lefts) * len(self.rights)


class Single(NamedTuple):
    """One row by itself."""

    row: int


Step = DenseTile | Outer | Single


def tiles(flat: Flat, section: Section) -> list[Step]:
    """The steps of a section of lanes, in an order in which operands come first."""
    dense, outer = _dense(flat, section), _outer(flat, section)
    first: dict[int, Step] = {}  # at the place of its first row a Dense's operands are all there,
    last: dict[int, Step] = {}  # an Outer's at that of its last
    for each in dense:
        first[min(each.outputs)] = each
    for tile in outer:
        last[max(row for results in tile.results for row in results)] = tile
    taken = {row for each in dense for row in each.outputs} | {
        row for tile in outer for results in tile.results for row in results
    }
    steps: list[Step] = []
    for row in section.rows.tolist():
        steps += [each[row] for each in (first, last) if row in each]
        if row not in taken:
            steps.append(Single(row))
    return steps


def work(flat: Flat, steps: list[Step]) -> int:
    """About how long one sample takes, as a number of products in tiles: most functions take as long as 24 of them."""
    products = sum(len(each[0]) * len(each[1]) for each in steps if not isinstance(each, Single))
    degrees = np.diff(flat.starts)[[each.row for each in steps if isinstance(each, Single)]]
    return products + int(np.where(degrees == 1, 24, 3 * degrees).sum())


def _dense(flat: Flat, section: Section) -> list[DenseTile]:
    alike = defaultdict(list)
    for row in section.rows.tolist():
        if flat.kinds[row] == DOT:
            read = _layer_row(flat, row)
            if read is not None:
                inputs, weights, bias = read
                alike[inputs, bias >= 0, bool(flat.loose[row])].append((row, weights, bias))
    return [
        DenseTile(
            [row for row, *_ in rows], list(inputs), [each for _, each, _ in rows], [bias for *_, bias in rows], loose
        )
        for (inputs, _, loose), rows in alike.items()
        if len(rows) >= 2
    ]


def _layer_row(flat: Flat, row: int) -> tuple[tuple[int, ...], list[int], int] | None:
    """The inputs, weights and bias of a dot that is one output of a layer; None if it is not.

    Where the bias comes first the sum begins with it; a scalar that is added
    later is the weight of an input that is 1 for every sample.
    """
    pairs = flat.of(row)
    bias = NONE
    if pairs[1] == NONE and flat.groups[pairs[0]] == 0:
        bias, pairs = pairs[0], pairs[2:]
    inputs, weights = [], []
    for x, y in zip(pairs[::2], pairs[1::2], strict=True):
        alone = y == NONE and flat.groups[x] == 0
        if not alone and (y == NONE or (flat.groups[x] > 0) == (flat.groups[y] > 0)):
            return None
        inputs.append(ONE if alone else x if flat.groups[x] > 0 else y)
        weights.append(x if alone or flat.groups[x] == 0 else y)
    return (tuple(inputs), weights, bias) if any(each != ONE for each in inputs) else None


def _outer(flat: Flat, section: Section) -> list[Outer]:
    by_left: dict[int, dict[int, int]] = defaultdict(dict)
    for row in section.rows.tolist():
        if flat.kinds[row] == REDUCE:
            pairs = flat.of(row)
            if len(pairs) == 2 and pairs[1] >= 0 and all(flat.groups[each] > 0 for each in pairs):
                by_left[pairs[0]].setdefault(pairs[1], row)
    grids = defaultdict(list)
    for left, rights in by_left.items():
        grids[tuple(sorted(rights))].append(left)
    return [
        Outer(lefts, list(rights), [[by_left[left][right] for right in rights] for left in lefts])
        for rights, lefts in grids.items()
    ]
