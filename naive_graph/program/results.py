"""Read the values and derivatives that a query requests from the memory of a finished run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from ..engines.passes.ir import IR, NONE, Sample
from .inputs import slice_if_consecutive


class ResultPick(NamedTuple):
    """Where results lie: single numbers among all that code hands out (group 0), or whole lines of a group of samples.

    where: a slice if they lie side by side, else their places.
    """

    group: int
    where: Any

    def memory(self, code: Any) -> Any:
        """The array that they are picked from, which stays until the number of samples changes."""
        return code.out_lines(self.group) if self.group else code.out

    def reader(self, code: Any) -> Callable[[], Any]:
        """A function that copies them, with all looked up that can be before the call."""
        memory = self.memory(code)
        return memory[self.where].copy if isinstance(self.where, slice) else partial(getitem, memory, self.where)


class PickEach(NamedTuple):
    """Results of which some are numbers and some have a line, one by one: an array, or a list where they differ.

    spread: of each whether it is wanted for every sample, though all have the same: a slope by what is fed.
    """

    picks: list[ResultPick]
    spread: Sequence[bool]

    def reader(self, code: Any) -> Callable[[], Any]:
        """A function that copies them."""
        reads = [
            (pick.reader(code), code.samples[1] if is_spread else 0) for pick, is_spread in zip(self.picks, self.spread)
        ]

        def read() -> Any:
            entries = [_alone(one(), samples) for one, samples in reads]
            return np.array(entries) if len({np.ndim(entry) for entry in entries}) == 1 else entries

        return read


def picks(ir: IR, code: Any, asked: list[Sample], outputs: int, fed: Sequence[bool]) -> list[ResultPick | PickEach]:
    """What takes the outputs' values, and then each output's slopes, out of what code hands out.

    fed: of each slope of an output whether it is by a PlaceHolder of a batch, and so has an entry for each sample.
    """
    scalars, entries = count(), []
    for row, lane in asked:
        group = int(ir.groups[row])
        position = code.place_out(row, lane) if group else next(scalars)
        entries.append((group if lane == NONE else 0, position))
    firsts = range(outputs, len(asked), max(len(fed), 1))
    return [_pick(entries[:outputs], [False] * outputs), *(_pick(entries[k : k + len(fed)], fed) for k in firsts)]


def _pick(places: list[tuple[int, int]], spread: Sequence[bool]) -> ResultPick | PickEach:
    groups = {group for group, _ in places}
    if len(groups) > 1 or (any(spread) and 0 in groups):
        return PickEach([ResultPick(group, slice(position, position + 1)) for group, position in places], spread)
    return ResultPick(groups.pop(), slice_if_consecutive([position for _, position in places]))


def all_finite(found: Any) -> bool:
    return all(map(all_finite, found)) if isinstance(found, list) else bool(np.isfinite(found).all())


def _alone(entries: Any, samples: int) -> Any:
    """The only entry of what was found: an array with one for each sample, or a float. samples: as often, or 0."""
    if entries.ndim > 1:
        return entries[0]
    return np.full(samples, entries[0]) if samples else float(entries[0])


def as_list(found: Any) -> list[Any]:
    """The outputs' values as a list of floats, or of arrays with one for each sample."""
    return found.tolist() if isinstance(found, np.ndarray) and found.ndim == 1 else list(found)
