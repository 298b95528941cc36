"""Where leaves' numbers lie among a tape's scalars: first loaded ones, then fed ones, then those that lanes hold."""

from __future__ import annotations

from typing import Any

from .flat import NONE, FedLeaf, Flat, Lanes


class LeafPlaces:
    """The places of all numbers that leaves hold, each source's once.

    alone: leaves of one value, and where each comes from. lines: leaves with a
    value for each sample of which some may change; a lane that is a constant has
    its number among the scalars too.
    """

    def __init__(self, flat: Flat) -> None:
        leaves = flat.leaves()
        self.alone = {row: flat.sources.get(row) for row in leaves[flat.groups[leaves] == 0].tolist()}
        self.lines = {row: each for row, each in flat.sources.items() if isinstance(each, Lanes) and not each.constant}
        every = [*self.alone.values(), *(source for line in self.lines.values() for source in line.sources)]
        self.loads = sorted({each for each in every if isinstance(each, int)})
        self.reach = self.loads[-1] + 1 if self.loads else 0
        self.fed = sorted({each.row for each in every if isinstance(each, FedLeaf)})
        numbers = {number.hex(): number for line in self.lines.values() for number in line.numbers}
        self.held, first = [*numbers.values()], len(self.loads)
        self.fed_at = slice(first, first + len(self.fed))
        self.held_at = slice(self.fed_at.stop, self.fed_at.stop + len(self.held))
        self.count = self.held_at.stop
        self._loaded = {source: place for place, source in enumerate(self.loads)}
        self._fed = {row: place for place, row in enumerate(self.fed, first)}
        self._held = {number: place for place, number in enumerate(numbers, self.held_at.start)}

    def place(self, source: Any, number: float | None = None) -> int:
        """The place of what comes from there, or of that number; NONE if it has none of these."""
        if isinstance(source, int):
            return self._loaded[source]
        if isinstance(source, FedLeaf):
            return self._fed[source.row]
        return NONE if number is None else self._held[number.hex()]
