"""The parts of a tape for some number of samples. Many go in two halves, and a `helper` may run the second:

    caller    scalars    first half     join, scalars
    helper               second half

Which samples are in which half depends on the plan and on how many there are, and the sums of
both are joined in one order; so the bits are the same where one core runs it all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from .flat import Array
from .kernels import ADD_UP, BEGIN, JOIN, PART


class PlannedPart(NamedTuple):
    """A part for any number of samples: its group, where its code begins and ends, and its sums over the samples.

    ordered: of sums in written order the scalar, and the line on which the terms are handed out.
    """

    group: int
    begin: int
    end: int
    sums_at: int = 0
    sums: int = 0
    ordered: tuple[tuple[int, int], ...] = ()


class GroupPlaces(NamedTuple):
    """Where a group has its samples.

    half: how many are in the first half, or in all. second_lanes, second_sums: those of the second half.
    """

    samples: int
    half: int
    width: int
    stride: int
    lanes: int
    second_lanes: int
    feeds: int
    outs: int
    second_sums: int


def laid_out(
    planned: Iterable[PlannedPart], code: Array, places: Mapping[int, GroupPlaces]
) -> tuple[list[list[int]], Array, list[int]]:
    """The parts as the kernel reads them; the code, with what begins and joins sums; and where halves are to be cut.

    Each third cut is behind a second half, the one before it behind the first, and the one before that before it.
    """
    parts: list[list[int]] = []
    codes, cuts = [code], []

    def scalars(*written: list[int]) -> None:
        begin = sum(map(len, codes))
        codes.append(np.array(written, np.int32).reshape(-1))
        parts.append([0, begin, begin + len(codes[-1])] + [0] * (PART - 3))

    for group, begin, end, first, sums, ordered in planned:
        if group == 0:
            parts.append([0, begin, end] + [0] * (PART - 3))
            continue
        at = places[group]
        joins = [[ADD_UP, scalar, at.samples, at.outs + line * at.stride, 0] for scalar, line in ordered]
        if at.half < at.samples:
            joins.append([JOIN, first, sums, at.second_sums, 0])
            scalars([BEGIN, at.second_sums, sums, 0, 0])
            cuts += [len(parts) + each for each in range(3)]
        parts.append([group, begin, end, 0, at.half, at.width, at.stride, at.lanes, at.feeds, at.outs, 0])
        if at.half < at.samples:
            two = at.half, at.samples, at.width, at.stride, at.second_lanes, at.feeds, at.outs, at.second_sums - first
            parts.append([group, begin, end, *two])
        if joins:
            scalars(*joins)
    return parts, np.concatenate(codes), cuts
