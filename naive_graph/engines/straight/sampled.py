"""A section of lanes, written for a register of samples, with the sums over them.

What is summed over the samples falls into three kinds. A total that values
depend on keeps its order, and is added up from a column. Sums of products of
some rows with some others, as the gradients of a layer's weights are, become
tiles. Every other sum has a register of its own in memory.
"""

from __future__ import annotations

from typing import Any

from ..llvm.block import Block
from ..llvm.loops import BROAD, TALL, Sums, Tile, Total, section
from ..llvm.pairs import both
from ..tape.flat import NONE, REDUCE, TOTAL, name_of
from ..tape.sections import Section
from ..tape.tiles import Outer, tiles
from .packing import pairs
from .sheet import ADD, MUL, Sheet, applied


class Sampled:
    """The code of one section of lanes; `functions()` once all sections are written."""

    def __init__(self, sheet: Sheet, part: Section, name: str) -> None:
        self.sheet, self.flat, self.part, self.name, self.group = sheet, sheet.flat, part, name, part.group
        self.width = sheet.precision.lanes  # samples in a block, floats in a line of scratch
        self.block = Block(sheet.many, f"{name}.block", sheet.scratch, sheet.whole)
        self.totals: list[Total] = []
        self.grids = [each for each in tiles(self.flat, part) if isinstance(each, Outer) and _worth(each)]
        self.pairs = pairs(self.flat, part.rows.tolist())
        self.tiled = dict.fromkeys(row for grid in self.grids for row in (*grid.lefts, *grid.rights))
        self.column_of: dict[int, int] = {}  # of what the tiles read
        self.kept = self._read_later()
        self._make_room()
        self.amiss: Any = 0.0  # NaN where a lane that is handed out is infinite or NaN
        self._rows()
        self.tiles = self._tiles()
        self.sums = Sums(self.begin, self.checked + len(self.single), self._sums())
        for row, column in self.kept.items():
            sheet.registers[row] = sheet.lying(sheet.many, "lanes", column)

    def functions(self) -> str:
        """LLVM's assembly."""
        columns = self.sheet.columns[self.group]
        return section(self.name, self.group, columns, self.block, self.totals, self.tiles, self.sums)

    def explain(self) -> str:
        """How the sums over the samples are computed."""
        return (
            f"{len(self.totals)} totals in order, {len(self.tiles)} tiles of products, "
            f"{len(self.single)} sums in registers"
        )

    def _make_room(self) -> None:
        """For what is amiss a line; then for the sums that have registers of their own, a line each."""
        in_grids = {row for grid in self.grids for rows in grid.results for row in rows}
        rows = self.part.rows.tolist()
        here = set(rows)
        self.single = [row for row in rows if self.flat.kinds[row] == REDUCE and row not in in_grids]
        whole = -(-len(self.single) // self.width) * self.width
        self.checked = int(self.sheet.checks and not here.isdisjoint(self.sheet.exported[self.group]))
        self.begin = self.sheet.scratch.place(self.width * (self.checked + whole))
        self.register_of = {row: self.begin + self.width * k for k, row in enumerate(self.single, self.checked)}

    def _rows(self) -> None:
        rows = self.part.rows.tolist()
        inner = {row for row in rows if self.flat.kinds[row] not in (TOTAL, REDUCE)}
        for row in self.tiled.keys() - inner:  # fed, from an earlier section, or one for all samples
            self._stored(row)
            self.block.breathe()
        for row in rows:
            if row in inner:
                self._row(row)
            elif self.flat.kinds[row] == TOTAL:
                self._total(row)
            elif row in self.register_of:
                self._reduce(row)
            self.block.breathe()
        if self.checked:
            before = self.block.leaf("scratch", self.begin)
            self.block.store("scratch", self.begin, self.block.apply(ADD, [before, self.amiss]))

    def _row(self, row: int) -> None:
        sheet, exported = self.sheet, self.sheet.exported[self.group]
        if row in self.pairs and sheet.registers[row] is None:
            self._both(*self.pairs[row])
        if sheet.registers[row] is None:
            sheet.registers[row] = applied(sheet, self.block, row)
        if row in self.kept:
            self.block.store("lanes", self.kept[row], sheet.registers[row])
        if row in self.tiled:
            self._stored(row)
        if row in exported:
            self.block.store("outs", exported.index(row), sheet.registers[row])
            if self.checked:
                self.amiss = self.block.fused(sheet.registers[row], 0.0, self.amiss)  # 0 times a finite number is 0

    def _both(self, first: int, second: int) -> None:
        """Two functions of one operand, when the first of them is due."""
        registers, (operand,) = self.sheet.registers, self.flat.of(first)
        names = name_of(int(self.flat.kinds[first])), name_of(int(self.flat.kinds[second]))
        registers[first], registers[second] = both(self.block, self.sheet.many, names, registers[operand])

    def _stored(self, row: int) -> None:
        """Keep the row in a column, for the tiles."""
        self.column_of[row] = self.sheet.column(self.group)
        self.block.store("lanes", self.width * self.column_of[row], self.sheet.registers[row])

    def _read_later(self) -> dict[int, int]:
        """The section's lanes that later sections read, and where among the columns they are kept."""
        part, here = self.part, set(self.part.rows.tolist())
        later = [each for each in self.sheet.sections if each.group == part.group and each.stage > part.stage]
        read = {x for each in later for row in each.rows.tolist() for x in self.flat.of(row) if x in here}
        return {row: self.width * self.sheet.column(self.group) for row in sorted(read) if self.flat.groups[row]}

    def _total(self, row: int) -> None:
        registers, scratch = self.sheet.registers, self.sheet.scratch
        x, y = self.flat.of(row)
        value = registers[x] if y == NONE else self.block.apply(MUL, [registers[x], registers[y]])
        total = Total(self.sheet.column(self.group), scratch.place())
        self.block.store("lanes", self.width * total.column, value)
        self.totals.append(total)
        registers[row] = self.sheet.lying(self.sheet.alone, "scratch", total.place)

    def _reduce(self, row: int) -> None:
        """Add the terms to the register in memory that is the row's."""
        block, registers, pairs = self.block, self.sheet.registers, self.flat.of(row)
        begun = block.leaf("scratch", self.register_of[row])
        sum: Any = begun
        for x, y in zip(pairs[::2], pairs[1::2], strict=True):
            left = registers[x]
            sum = block.apply(ADD, [sum, left]) if y == NONE else block.fused(left, registers[y], sum)
        block.store("scratch", self.register_of[row], block.real_only(sum, begun))

    def _tiles(self) -> list[Tile]:
        """The grids in tiles."""
        made: list[Tile] = []
        for grid in self.grids:
            for j in range(0, len(grid.lefts), TALL):
                for k in range(0, len(grid.rights), BROAD):
                    lefts, rights = grid.lefts[j : j + TALL], grid.rights[k : k + BROAD]
                    results = [some[k : k + BROAD] for some in grid.results[j : j + TALL]]
                    made.append(Tile(self._columns(lefts), self._columns(rights), self._lines(results)))
        return made

    def _lines(self, sums: list[list[int]]) -> int:
        """Where in scratch a tile's sums lie, line by line."""
        place = self.sheet.scratch.place(BROAD * len(sums))
        for k, line in enumerate(sums):
            self._lie(line, place + BROAD * k)
        return place

    def _columns(self, rows: list[int]) -> list[int]:
        return [self.column_of[row] for row in rows]

    def _sums(self) -> list[tuple[int, int]]:
        """For as many registers as make a line the first of them, and where their sums go."""
        found = []
        for first in range(0, len(self.single), self.width):
            some = self.single[first : first + self.width]
            found.append((self.register_of[some[0]], self.sheet.scratch.place(self.width)))
            self._lie(some, found[-1][1])
        return found

    def _lie(self, rows: list[int], place: int) -> None:
        """The rows' sums lie side by side there."""
        for at, row in enumerate(rows, place):
            self.sheet.registers[row] = self.sheet.lying(self.sheet.alone, "scratch", at)


def _worth(grid: Outer) -> bool:
    """Whether a tile is quicker than registers in memory."""
    return len(grid.lefts) * len(grid.rights) >= 2 * TALL
