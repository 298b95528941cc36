"""From a graph to a tape: the passes, one after the other.

Each pass takes a plan and gives a plan, and what it made can be looked at:
`stages` keeps every one, in order.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...core.rules import RULES
from ...core.tables import PLACEHOLDER, VARIABLE, Tables
from ..llvm.machine import machine
from ..llvm.python import Bytes
from .adjoint import Count, adjoint
from .dots import dots
from .flat import DOT, NONE, TOTAL, Array, Columns, Flat, rewritten
from .lanes import Sample, lanes
from .powers import powers
from .rows import flat_of_tables
from .share import share
from .softmax import softmax

SUMS = {RULES["total"].number: False, RULES["mean"].number: True}  # whether the sum is divided by the count
DIV = RULES["div"].number


MOST_KEPT = 100_000  # rows of a plan that is kept for who wants to look at it; a larger one is made again


class Stage(NamedTuple):
    """What a pass made, how long it took, in seconds, and the rows of the results: outputs, then any derivatives.

    flat: the plan, or None if it was too large to be kept. size, dots, samples: how much there was of each.
    """

    name: str
    flat: Flat | None
    seconds: float
    results: list[int]
    size: int
    dots: int
    samples: list[int]


class Fed(NamedTuple):
    """Where a leaf's value comes from: it is fed, for the leaf of that row of the tables."""

    row: int


class Lowering:
    """The rows that compute some outputs, and their derivatives with respect to some leaves.

    outputs, wrt: rows of the tables. batched: PlaceHolders that are fed a
    number for each of many samples. find: whether to look for samples hidden in
    the graph. keep: whether every pass's plan is kept, however large. places: by
    Variable, where its value lies in an array that is read instead of the tables;
    the other Variables are fed then. fused: whether a product and its addition may
    be rounded as one in rows that values depend on, too.
    Afterwards `values[k]` says where output k is, and `slopes[k][i]` where its
    derivative with respect to wrt[i] is.
    """

    def __init__(
        self,
        tables: Tables,
        outputs: Sequence[int],
        wrt: Sequence[int],
        batched: frozenset[int],
        find: bool = True,
        keep: bool = False,
        places: Mapping[int, int] | None = None,
        fused: bool = False,
    ) -> None:
        self.stages: list[Stage] = []
        self._most_kept = sys.maxsize if keep else MOST_KEPT
        self._outputs, self.fused = list(outputs), fused
        self._since = perf_counter()
        flat, chosen = flat_of_tables(tables, [*outputs, *wrt])
        place = np.full(len(tables) + 1, NONE, np.int32)
        place[chosen] = np.arange(len(chosen))
        self._note("plan", flat, place[self._outputs])
        self.placeholders = [row for leaf, row in flat.sources.items() if flat.kinds[leaf] == PLACEHOLDER]
        if places is not None:
            flat.sources = {leaf: _elsewhere(flat, leaf, row, places) for leaf, row in flat.sources.items()}
        flat = powers(flat)
        flat, place = self._batched(flat, place, batched)
        asked = [int(place[row]) for row in (*outputs, *wrt)]
        flat, moved = dots(flat, np.array(asked, np.int32))
        self._note("dots", flat, moved[asked[: len(outputs)]])
        now = [Sample(int(moved[row]), NONE) for row in asked]
        if find and not batched:
            rows = np.array([at.row for at in now], np.int32)
            flat, found = lanes(flat, rows[len(outputs) :], rows, rows[: len(outputs)].tolist() if len(wrt) else ())
            now = [found[at.row] for at in now]
            self._note("lanes", flat, [at.row for at in now[: len(outputs)]])
        flat, now = self._shared(flat, now, len(outputs))
        self._differentiate(flat, now[: len(outputs)], now[len(outputs) :])

    def _note(self, name: str, flat: Flat, results: Iterable[int]) -> None:
        now = perf_counter()
        kept = flat if len(flat) <= self._most_kept else None
        found = len(flat), int((flat.kinds == DOT).sum()), list(flat.samples)
        self.stages.append(Stage(name, kept, now - self._since, list(map(int, results)), *found))
        self._since = perf_counter()

    def _batched(self, flat: Flat, place: Array, batched: frozenset[int]) -> tuple[Flat, Array]:
        """What depends on a batched PlaceHolder varies with the sample, up to a total or a mean."""
        groups = np.zeros(len(flat), np.int32)
        groups[[int(place[row]) for row in batched if place[row] >= 0]] = 1
        sources = {
            row: Fed(source) if flat.kinds[row] == PLACEHOLDER else source for row, source in flat.sources.items()
        }
        flat = replace(flat, groups=groups, sources=sources, samples=[1, 1] if batched else [1])
        if not batched:
            return flat, place
        vary(len(flat), flat.columns, *SUMS)
        flat, moved = with_totals(flat)
        self._note("batch", flat, moved[place[self._outputs]])
        return flat, np.where(place >= 0, moved[place], NONE).astype(np.int32)

    def _shared(self, flat: Flat, now: list[Sample], results: int) -> tuple[Flat, list[Sample]]:
        """results: how many of `now`, from the first, are results."""
        flat, moved = share(flat, np.array([at.row for at in now], np.int32))
        now = [Sample(int(moved[at.row]), at.lane) for at in now]
        self._note("share", flat, [at.row for at in now[:results]])
        return flat, now

    def _differentiate(self, flat: Flat, values: list[Sample], wrt: list[Sample]) -> None:
        slopes: list[list[Sample]] = []
        leaves = np.array([at.row for at in wrt], np.int32)
        for at in values if wrt else ():
            zero = len(flat) + 1  # where `adjoint` puts the constant 0
            flat, adjoints = adjoint(flat, [at.row], leaves)
            found = [int(adjoints[leaf]) for leaf in leaves.tolist()]
            slopes.append([Sample(row if row >= 0 else zero, leaf.lane) for row, leaf in zip(found, wrt, strict=True)])
        asked = [*values, *(each for row in slopes for each in row)]
        self._note("adjoint", flat, [at.row for at in asked])
        flat, moved = softmax(flat)
        asked = [Sample(int(moved[at.row]), at.lane) for at in asked]
        flat, now = self._shared(flat, asked, len(asked))
        self.flat, self.values, rest = flat, now[: len(values)], now[len(values) :]
        kept = np.zeros(len(flat), np.uint8)
        kept[[at.row for at in self.values]] = 1
        serve(len(flat), flat.columns, kept)
        flat.loose = np.ones_like(kept) if self.fused else 1 - kept
        self.slopes = [rest[k * len(wrt) : (k + 1) * len(wrt)] for k in range(len(slopes))]


def _elsewhere(flat: Flat, leaf: int, row: int, places: Mapping[int, int]) -> Any:
    """The source of a leaf, where Variables are read from an array: its place there, or that it is fed."""
    return Fed(row) if flat.kinds[leaf] == VARIABLE and row not in places else places.get(row, row)


@machine
def vary(rows: int, of: Columns, total: int, mean: int) -> None:
    """Spread the group of the batched leaves to all that depends on them; a total has one value again."""
    for row in range(rows):
        if of.kinds[row] != total and of.kinds[row] != mean:
            for at in range(of.starts[row], of.starts[row + 1]):
                if of.groups[of.operands[at]] > of.groups[row]:
                    of.groups[row] = of.groups[of.operands[at]]


@machine
def serve(rows: int, of: Columns, kept: Bytes) -> None:
    """Mark everything that a marked row depends on."""
    for row in range(rows - 1, -1, -1):
        if kept[row]:
            for at in range(of.starts[row], of.starts[row + 1]):
                if of.operands[at] >= 0:
                    kept[of.operands[at]] = 1


def with_totals(flat: Flat) -> tuple[Flat, Array]:
    """The plan with TOTAL rows for totals and means over the samples, and where each row went."""
    operands: list[list[int]] = [[]]
    kinds, groups, moved = [PLACEHOLDER], [0], np.empty(len(flat), np.int32)  # the number of samples goes first
    for row in range(len(flat)):
        kind, below = int(flat.kinds[row]), [int(moved[each]) for each in flat.of(row)]
        if kind in SUMS and groups[below[0]]:
            kinds.append(TOTAL)
            operands.append([below[0], NONE])
            groups.append(0)
            if SUMS[kind]:
                kinds.append(DIV)
                operands.append([len(kinds) - 2, 0])
                groups.append(0)
        else:
            kinds.append(kind)
            operands.append(below)
            groups.append(int(flat.groups[row]))
        moved[row] = len(kinds) - 1
    new = rewritten(flat, moved, kinds, operands, groups)
    new.sources[0] = Count(1)
    return new, moved
