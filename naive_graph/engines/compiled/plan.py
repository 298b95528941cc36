"""A plan's code with its memory: what a Program runs.

A call of a Program has the memory to itself. Who calls after one that a Ctrl-C cut
off takes a twin: the same code with other memory.

Many samples run in two halves, on two cores where there are two. Whether they do
depends on the plan and on how many there are, never on the cores: so do the bits.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache as once
from typing import Any, Self

import numpy as np

from ...core.imports import defer_sigint
from ...errors import StaleNodeError
from ..llvm.compile import MOST, compiled, weight
from ..passes.ir import IR, NONE, FedInput, Lanes
from ..passes.stages import Section
from ..passes.tiles import ONE, DenseTile
from . import kernels
from .generator import Generator
from .schedule import Outer
from .writer import LANES

Array = Any  # of NumPy's
LINE = 64  # bytes of a line of the cache
HALVED = 10_000_000  # multiply-adds of a run in two halves: some 0.5 ms, ten times what a thread takes to begin


class Runnable:
    """A `CompiledPlan` or `LevelRuns` as a Program uses it: leaves to set, results to read, a run, and a twin.

    out: the wanted scalars, one after the other; `out[-1]` is 0.0 if all that is handed out is finite.
    """

    ir: IR
    scalars: Array
    fed_rows: list[int]  # of the tables: the leaves that are fed a number,
    fed_at: slice  # and where among the scalars
    out: Array
    samples: Sequence[int] = (1,)
    reach: int  # how many of the floats that leaves are loaded from are read
    arguments: Array  # of the code; the first is where leaves are loaded from
    packed: int  # their address
    call: Callable[..., None]

    def place(self, row: int) -> int:
        """Where a scalar leaf is; negative if nobody reads it."""
        raise NotImplementedError

    def put(self, row: int, number: float) -> None:
        """Set a scalar leaf that is not loaded from the graph."""
        if self.place(row) >= 0:
            self.scalars[self.place(row)] = number

    def held(self, row: int) -> float:
        """What such a leaf holds."""
        return float(self.scalars[self.place(row)])

    def begin(self) -> None:
        """Take memory of its own, in which nothing was computed yet."""
        raise NotImplementedError

    def twin(self) -> Self:
        """The same code with memory of its own."""
        twin = copy(self)
        twin.begin()
        return twin

    def set_source(self, source: Any) -> None:
        """Where the floats are that leaves are loaded from: see `address`."""
        self.arguments[0] = address(source, self.reach)

    def run(self, source: Any) -> None:
        """Run once. source: a view of the floats that leaves are loaded from."""
        self.set_source(source)
        self.call(self.packed)

    def repeat(self, source: Any, history: Array) -> None:
        """Run as often as the history of the first result has places, each run going on where the last one left."""
        self.set_source(source)
        for step in range(len(history)):
            self.call(self.packed)
            history[step] = self.out[0]

    def explain(self) -> list[str]:
        """What runs, in words."""
        raise NotImplementedError


def address(view: Any, reach: int) -> int:
    """Where the floats of a view lie, for as long as it is held. reach: how many are read."""
    if len(view) < reach:
        raise StaleNodeError("This Program's graph was cut back while it ran. Build the Program again.")
    return int(np.frombuffer(view).ctypes.data) if reach else 0


def allocate_aligned(size: int) -> Array:
    """So many zeros, that begin where a line of the cache does: a register then never lies across two of them."""
    room = np.zeros(8 * size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + 8 * size].view(np.float64)


class CompiledPlan(Runnable):
    """Rows of a plan as machine code. It must not run in two threads at once.

    wanted: rows to hand out: `out[k]` is the k-th of those that are scalars, a line of `out_lines`
    one that has a value for every sample. carried: leaves that hold the wanted rows behind the first once it has run.
    Raises NotCompilable if it cannot be compiled.
    """

    def __init__(self, ir: IR, wanted: Sequence[int], carried: Sequence[int] = ()) -> None:
        self.ir = ir
        made = self.generator = Generator(ir, wanted, carried)
        text = str(made)
        self.lines = text.count("\n")
        self.library = compiled(text, quick=weight(text, False) > MOST)
        self._run = self.library.function("run", None, [ctypes.c_void_p])
        self._repeat = self.library.function("repeat", None, [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p])
        self._stages = [
            (self.library.function(f"stage{index}", None, [ctypes.c_void_p, ctypes.c_int64]), halves)
            for index, (_, halves) in enumerate(made.stages)
        ]
        self.fed_rows, self.fed_at = made.fed_rows, slice(0, len(made.fed_rows))
        self.fed = {number: group.fed for number, group in made.group.items()}
        self.exported = {number: group.lines for number, group in made.group.items()}
        self.many = len(made.wanted)
        self.reach = 1 + max(find_loaded_places(ir), default=-1)
        self.begin()

    def begin(self) -> None:
        self.scalars = allocate_aligned(self.generator.size + 64 * LANES)
        for slot, number in self.generator.initial:
            self.scalars[slot] = number
        self.set_samples(self.ir.samples)

    def set_samples(self, samples: Sequence[int]) -> None:
        """Make room for so many samples of each group; what was fed must be fed again."""
        made, self.samples = self.generator, list(samples)
        widths = {number: -(-samples[number] // group.block) * group.block for number, group in made.group.items()}
        middles = {number: -(-widths[number] // group.block // 2) * group.block for number, group in made.group.items()}
        self.halves = multiply_adds(self.ir, samples) >= HALVED and all(
            middle < samples[number] for number, middle in middles.items()
        )
        sizes = [-(-self.many // LANES) * LANES]
        for number, group in made.group.items():
            sizes.append(sizes[-1] + len(group.lines) * widths[number])
        self._results = allocate_aligned(sizes[-1] + 1)
        self.out = self._results
        self._others = np.zeros(len(self.scalars) if self.halves else 0)
        self.outs, self.lanes, self.feeds = {}, {}, {}
        packed = [0, self.scalars, self.out, self.out[-1:], kernels.addresses()]
        packed += [self._others, sizes[-1], 1 + self.halves]
        for (number, group), first, end in zip(made.group.items(), sizes, sizes[1:]):
            count, width = samples[number], widths[number]
            self.outs[number] = self.out[first:end].reshape(len(group.lines), width)
            self.feeds[number] = np.zeros((len(group.fed), 2), np.int64)
            self.lanes[number] = self._lanes(number, width if group.stay else group.block * (1 + self.halves))
            packed += [self.lanes[number], self.out[first:], self.feeds[number], np.empty(group.totals * width)]
            packed += [count, width, middles[number] if self.halves else count]
        self.kept = packed
        numbers = [argument.ctypes.data if hasattr(argument, "ctypes") else argument for argument in packed]
        self.arguments = np.array(numbers, np.int64)
        self.packed = self.arguments.ctypes.data
        self.call = self._run_halves if self.halves else self._run

    def _run_halves(self, packed: int) -> None:
        """All stages; of those of samples the second half in a thread, if it takes it before the first half is done."""
        if not has_two_cores():
            self._run(packed)
            return
        with defer_sigint():  # who let the memory go before both are done would let a thread write to anybody's
            for stage, in_halves in self._stages:
                other = handed_over(stage, packed) if in_halves else None
                stage(packed, 0)
                if in_halves and (other is None or other.cancel()):
                    stage(packed, 1)
                elif other is not None:
                    other.result()

    def _lanes(self, number: int, width: int) -> Array:
        """The memory of blocks, in which constants lie."""
        group, ir = self.generator.group[number], self.ir
        room = allocate_aligned(group.size * width + 2 * LANES)
        blocks = room[: group.size * width].reshape(-1, group.size, group.block)
        for row, slot in group.slots.items():
            source = ir.sources.get(row) if row >= 0 else None
            if row == ONE:
                blocks[:, slot] = 1.0
            elif isinstance(source, Lanes):
                line = np.full(width, source.numbers[-1])
                line[: len(source.numbers)] = source.numbers
                blocks[:, slot] = line.reshape(-1, group.block)
        return room

    def repeat(self, source: Any, history: Array) -> None:
        if self.call is not self._run:
            return super().repeat(source, history)
        self.set_source(source)
        self._repeat(self.packed, len(history), history.ctypes.data)

    def place(self, row: int) -> int:
        return self.generator.slots.get(row, NONE)

    def read_samples(self, leaves: Any, columns: Array, lines: Any = slice(None)) -> None:
        """Read fed leaves of the first group where their samples lie, which somebody must hold until it has run.

        leaves: their places in `fed[1]`. columns: floats, a line for each leaf; lines: which lines these are.
        """
        begins = columns.ctypes.data + columns.strides[0] * np.arange(len(columns))[lines]
        self.feeds[1][leaves, 0], self.feeds[1][leaves, 1] = begins, columns.strides[1]

    def out_lines(self, group: int) -> Array:
        """The values of a group's wanted rows until the next run: a view with a line for each of `exported[group]`."""
        return self.outs[group][:, : self.samples[group]]

    def place_out(self, row: int, lane: int) -> int:
        """Where a lane of a wanted row is in `out`; without a lane, which line of its group the row has."""
        group = int(self.ir.groups[row])
        line = self.exported[group][row]
        if lane == NONE:
            return line
        return (self.outs[group].ctypes.data - self.out.ctypes.data) // 8 + line * self.outs[group].shape[1] + lane

    def explain(self) -> list[str]:
        lines = [
            self._samples(part) if part.group else f"scalars: {len(part.rows)} rows, one after the other"
            for part in self.generator.sections
        ]
        if self.halves:
            cores = "two cores" if has_two_cores() else "one core"
            lines.append(f"the samples run in two halves, on {cores}")
        size = sum(array.nbytes for array in self.kept if hasattr(array, "nbytes"))
        work, fast = multiply_adds(self.ir, self.samples), 2 * LANES
        lines.append(f"{self.lines} lines of LLVM's language, {size / 1024:.0f} KB of numbers")
        lines.append(f"{work} multiply-adds a run: at {fast} a nanosecond, {work / fast / 1e3:.2f} us at the least")
        return lines

    def _samples(self, part: Section) -> str:
        steps, group = self.generator.steps[part.stage, part.group], self.generator.group[part.group]
        layers = [f"{len(step.inputs)} -> {len(step.outputs)}" for step in steps if isinstance(step, DenseTile)]
        grids = [f"{len(step.lefts)} x {len(step.rights)}" for step in steps if isinstance(step, Outer)]
        size = group.size * group.block * 8 / 1024
        return (
            f"samples: {self.samples[part.group]} in blocks of {group.block}; {len(part.rows)} rows"
            f"{_counted('layer', layers)}{_counted('outer product', grids)}; {group.size} lines, {size:.0f} KB"
        )


def has_two_cores() -> bool:
    """Whether this process may use two cores; OMP_NUM_THREADS=1 says that it shall not."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores > 1 and os.environ.get("OMP_NUM_THREADS") != "1"


@once
def _helper() -> ThreadPoolExecutor:
    """The thread that runs second halves; in the child of a fork another one."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_helper.cache_clear)
    return ThreadPoolExecutor(1, "naive_graph helper")


def handed_over(stage: Callable[..., None], packed: int) -> Any:
    """The second half of a stage as what the helper will do; None where there is no thread to be had."""
    try:
        return _helper().submit(stage, packed, 1)
    except RuntimeError:  # as in a browser, and when Python ends
        return None


def find_loaded_places(ir: IR) -> set[int]:
    """The places of all floats that leaves are loaded from."""
    places = {source for source in ir.sources.values() if isinstance(source, int)}
    lanes = [source for source in ir.sources.values() if isinstance(source, Lanes)]
    return places.union(
        source
        for line in lanes
        for source in line.sources
        if isinstance(source, int) and not isinstance(source, FedInput)
    )


def _counted(what: str, sizes: Sequence[str]) -> str:
    """How many there are of something, and how large they are; nothing if there are none.

    >>> _counted("layer", ["3 -> 4", "4 -> 1"])
    '; 2 layers (3 -> 4, 4 -> 1)'
    """
    return f"; {len(sizes)} {what}{'s' if len(sizes) > 1 else ''} ({', '.join(sizes)})" if sizes else ""


def multiply_adds(ir: IR, samples: Sequence[int]) -> int:
    """How many multiplications and additions a run makes, a product and its addition counted once."""
    total = 0
    for row in range(len(ir)):
        degree = int(ir.starts[row + 1] - ir.starts[row])
        groups = [int(ir.groups[operand]) for operand in ir.of(row) if operand >= 0]
        group = max([int(ir.groups[row]), *groups])
        total += max(degree // 2, 1 if degree else 0) * (samples[group] if group else 1)
    return total
