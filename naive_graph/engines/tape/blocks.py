"""A section of lanes as instructions, and a slot for every value while it is needed.

    slot 0: x   slot 1: w*x + b   slot 2: its relu   slot 1 again: its derivative

A slot is a row of memory, a block of samples wide. A value that nobody will read
again gives its slot back, and the next value takes the lowest that is free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from ..llvm.typed import LANES
from .flat import DOT, NONE, REDUCE, TOTAL, Flat
from .kernels import EXPORT, FEED, FIRST_KERNEL, GATHER, SPREAD
from .operators import LoneKernel, Shape, kernels, summing
from .sums import LANE, PRODUCT, SCALAR, SCALED, TALL, dense, dot_mixed, outer, reduce_pairs
from .tiles import ONE, DenseTile, Outer, Step

ROOM = 2 * LANES  # slots in which an outer product lays its rights
BEHIND = None  # stands in an instruction for slots behind all others


class Slot(NamedTuple):
    """Stands in an instruction for the slot of a row's lanes; `spread` if the row is a scalar, the same in all."""

    row: int
    spread: bool = False


class Scalar(NamedTuple):
    """Stands in an instruction for the place of a scalar."""

    row: int


class Instruction(NamedTuple):
    """What to do, and to what: slots, scalars and plain numbers."""

    what: int
    fields: list[Any]


class SectionWriter:
    """Writes the instructions of one section of lanes.

    kernel_of: gives a kernel's number. scalar_of: rows' places. nothing: the scalar
    that holds the beginning of a sum; 1 follows. pack_at: where there is room for
    packed scalars. lines: how many are handed out; terms go to those behind.
    Afterwards, packed: scalars of which neighbours are to be made before; begun: those that are sums, to which the
    instructions add; ordered: those in written order, and on which lines their terms are.
    """

    def __init__(
        self, flat: Flat, kernel_of: Callable[[Any], int], scalar_of: Any, nothing: int, pack_at: int, lines: int
    ) -> None:
        self.lines, self.nothing, self.one = lines, nothing, nothing + 1
        self.flat, self.kernel_of, self.scalar_of, self.pack_at = flat, kernel_of, scalar_of, pack_at
        self.instructions: list[Instruction] = []
        self.packed: list[int] = []
        self.begun: list[int] = []
        self.ordered: list[tuple[int, int]] = []
        self.known: set[Slot] = set()

    def lane(self, row: int) -> Slot:
        """The slot of an operand; a scalar is spread out first."""
        slot = Slot(row, row == ONE or self.flat.groups[row] == 0)
        if slot.spread and slot not in self.known:
            self.known.add(slot)
            self.instructions.append(Instruction(SPREAD, [slot, self.one if row == ONE else Scalar(row)]))
        return slot

    def call(self, kernel: LoneKernel, fields: list[Any]) -> None:
        self.instructions.append(Instruction(FIRST_KERNEL + self.kernel_of(kernel), fields))

    def step(self, step: Step) -> None:
        if isinstance(step, DenseTile):
            self.dense(step)
        elif isinstance(step, Outer):
            self.outer(step)
        else:
            self.row(step.row)

    def dense(self, step: DenseTile) -> None:
        inputs = [self.lane(row) for row in step.inputs]
        starts, apart = self.weights(self.scalar_of[np.array(step.weights)])
        outputs: list[Any] = []
        for row, start, bias in zip(step.outputs, starts, step.bias, strict=True):
            outputs += [Slot(row), start, self.nothing if bias == NONE else Scalar(bias)]
        spare = -len(starts) % TALL
        for each in range(spare):  # the last one again, for nobody
            outputs += [Slot(NONE - 1 - each), *outputs[-2:]]
        head = [len(starts) + spare, len(inputs), int(step.fused), apart]
        self.call(summing(dense), [*head, *outputs, *inputs])

    def weights(self, places: Any) -> tuple[list[int], int]:
        """Where the weights of each output start, and how far apart they lie. places: a line for each output.

        A layer's Variables mostly lie in order, or in columns. Others are packed, line by line.
        """
        apart = np.unique(np.diff(places))
        if len(apart) > 1:
            first = self.pack_at + len(self.packed)
            self.packed += places.reshape(-1).tolist()
            return [first + at for at in range(0, places.size, places.shape[1])], 1
        return places[:, 0].tolist(), int(apart[0]) if len(apart) else 1

    def outer(self, step: Outer) -> None:
        if not step.pays():
            for left, line in zip(step.lefts, step.results, strict=True):
                for right, row in zip(step.rights, line, strict=True):
                    self.reduce(row, [left, right])
            return
        slots = [self.lane(row) for row in (*step.lefts, *step.rights)]
        into = [Scalar(results[0]) for results in step.results]
        sizes = [len(step.lefts), len(step.rights), BEHIND]
        self.call(summing(outer), [*sizes, *slots, *into])

    def row(self, row: int) -> None:
        kind, operands = int(self.flat.kinds[row]), self.flat.of(row)
        if kind == TOTAL:
            self.total(row, operands)
        elif kind == REDUCE:
            self.reduce(row, operands)
        elif kind == DOT:
            self.dot(row, operands)
        else:
            sampled = LoneKernel(kernels, (Shape(kind, len(operands)), True), "sampled")
            self.call(sampled, [Slot(row), *map(self.lane, operands)])

    def reduce(self, row: int, operands: list[int]) -> None:
        slots = [self.lane(each) if each >= 0 else NONE for each in operands]
        self.begun.append(int(self.scalar_of[row]))
        self.call(summing(reduce_pairs), [Scalar(row), len(slots) // 2, *slots])

    def total(self, row: int, operands: list[int]) -> None:
        """The terms are handed out: they are added up in their order once all are there."""
        line = self.lines + len(self.ordered)
        self.ordered.append((int(self.scalar_of[row]), line))
        self.dot(row, operands)
        self.instructions.append(Instruction(EXPORT, [Slot(row), line]))

    def dot(self, row: int, operands: list[int]) -> None:
        terms: list[Any] = []
        for x, y in zip(operands[::2], operands[1::2], strict=True):
            terms += self.term(x, y)
        self.call(summing(dot_mixed), [Slot(row), len(operands) // 2, *terms])

    def term(self, x: int, y: int) -> list[Any]:
        if y == NONE:
            return [SCALAR, Scalar(x), 0] if self.flat.groups[x] == 0 else [LANE, Slot(x), 0]
        if self.flat.groups[x] > 0 and self.flat.groups[y] == 0:
            x, y = y, x
        if self.flat.groups[x] == 0:
            return [SCALED, Scalar(x), self.lane(y)]
        return [PRODUCT, Slot(x), Slot(y)]


def block(
    writer: SectionWriter, steps: list[Step], feeds: list[int], gathered: Mapping[int, int], exports: list[int],
    slot_of: dict[Slot, int], keep: bool,
) -> tuple[list[int], int]:  # fmt: skip
    """A section's steps as instructions, and how many slots they use.

    feeds, exports: rows to be read and handed out, in order. gathered: rows whose lanes are scalars, and where it is
    written which. slot_of: slots that earlier sections of the group filled. keep: whether later ones read ours.
    """
    if feeds:
        writer.instructions.append(Instruction(FEED, [Slot(row) for row in feeds]))
    writer.instructions += [Instruction(GATHER, [Slot(row), base]) for row, base in gathered.items()]
    for step in steps:
        writer.step(step)
    for place, row in enumerate(exports):
        writer.instructions.append(Instruction(EXPORT, [writer.lane(row), place]))
    slots = give_slots(writer.instructions, slot_of, keep)
    code = encode(writer.instructions, slot_of, writer.scalar_of, slots)
    room = ROOM if any(BEHIND in each.fields for each in writer.instructions) else 0
    return code, slots + room


def give_slots(instructions: list[Instruction], slot_of: dict[Slot, int], keep: bool) -> int:
    """Choose a slot for everything that is written, the lowest that is free; returns how many there are."""
    last = {field: time for time, each in enumerate(instructions) for field in each.fields if isinstance(field, Slot)}
    size = len(set(slot_of.values()))
    free: list[int] = []
    for time, each in enumerate(instructions):
        slots = [field for field in dict.fromkeys(each.fields) if isinstance(field, Slot)]
        for slot in slots:
            if slot not in slot_of:
                slot_of[slot] = heappop(free) if free else size
                size = max(size, slot_of[slot] + 1)
        for slot in () if keep else slots:
            if last[slot] == time:
                heappush(free, slot_of[slot])
    return size


def encode(instructions: list[Instruction], slot_of: dict[Slot, int], scalar_of: Any, room: int) -> list[int]:
    """The instructions as numbers, each with its length."""
    return [
        number
        for what, fields in instructions
        for number in (what, len(fields) + 2, *(_place(field, slot_of, scalar_of, room) for field in fields))
    ]


def _place(field: Any, slot_of: dict[Slot, int], scalar_of: Any, room: int) -> int:
    if field is BEHIND:
        return room
    if isinstance(field, Slot):
        return slot_of[field]
    return int(scalar_of[field.row]) if isinstance(field, Scalar) else int(field)
