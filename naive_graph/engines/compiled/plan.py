"""The runtime of a compiled plan: its machine code with its memory, as a Program runs it.

The memory is for one call at a time. After a call that Ctrl-C interrupted it can be used again, as the
next call sets all inputs anew.

Large batches run in two halves, in parallel if there are two cores. Whether they do depends
on the plan and on the number of samples, never on the cores, so results are reproducible to
the last bit.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache as once
from typing import Any

import numpy as np

from ...core.optional_deps import defer_sigint
from ...errors import StaleNodeError
from ..llvm.compile import MOST, compiled, estimate_cost
from ..llvm.functions import LANES
from ..llvm.machine import addresses
from ..passes.ir import IR, NONE, Lanes
from . import kernels
from .generator import Generator
from .schedule import ONE, DenseLayer, Outer, Section

Array = Any  # a NumPy array
LINE = 64  # bytes in a cache line
HALVED = 10_000_000  # least multiply-adds of a run that is halved: some 0.5 ms, ten times what a thread needs to start


class Runnable:
    """The interface of `CompiledPlan` and `LevelRuns` to a Program: set leaves, run, read results.

    out: the wanted scalars, one after the other; `out[-1]` is 0.0 if all results are finite.
    """

    ir: IR
    scalars: Array  # the memory of scalar rows
    fed_rows: list[int]  # rows of the tables: the leaves that are fed a number,
    fed_at: slice  # and their slots in `scalars`
    out: Array
    samples: Sequence[int] = (1,)  # of each group
    reach: int  # the length that the array of leaf values must have
    arguments: Array  # addresses and numbers that the code takes; the first is the address of the leaf values
    packed: int  # the address of `arguments`
    call: Callable[..., None]  # runs the code, given `packed`

    def place(self, row: int) -> int:
        """The slot of a scalar leaf in `scalars`; negative if no code reads it."""
        raise NotImplementedError

    def put(self, row: int, number: float) -> None:
        """Set a scalar leaf that is not loaded from the graph."""
        if self.place(row) >= 0:
            self.scalars[self.place(row)] = number

    def held(self, row: int) -> float:
        """The value of a leaf that `put` set."""
        return float(self.scalars[self.place(row)])

    def set_source(self, source: Any) -> None:
        """Set the array of leaf values: see `address`."""
        self.arguments[0] = address(source, self.reach)

    def run(self, source: Any) -> None:
        """Run once. source: a memoryview of the array of leaf values."""
        self.set_source(source)
        self.call(self.packed)

    def repeat(self, source: Any, history: Array) -> None:
        """Run len(history) times, each run with the carried values of the last; history[i] is the first result."""
        self.set_source(source)
        for step in range(len(history)):
            self.call(self.packed)
            history[step] = self.out[0]

    def explain(self) -> list[str]:
        """Lines of text that describe what runs."""
        raise NotImplementedError


def address(view: Any, reach: int) -> int:
    """The address of a view's floats, valid while the view is held; 0 if none is read. reach: how many may be read.

    Raises StaleNodeError if the view is shorter.
    """
    if len(view) < reach:
        raise StaleNodeError("This Program's graph was cut back while it ran. Build the Program again.")
    return int(np.frombuffer(view).ctypes.data) if reach else 0


def allocate_aligned(size: int) -> Array:
    """An array of zeros aligned to a cache line, so that no vector load crosses two lines."""
    room = np.zeros(8 * size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + 8 * size].view(np.float64)


class CompiledPlan(Runnable):
    """A plan compiled to machine code of its own. It must not run in two threads at once.

    wanted: rows of results: `out[k]` is the k-th of those that are scalars; rows with a value for every sample are
    lines of `out_lines`. carried: leaves that are set, after each run, to the wanted rows but the first.
    Raises NotCompilable if it cannot be compiled.
    """

    def __init__(self, ir: IR, wanted: Sequence[int], carried: Sequence[int] = ()) -> None:
        self.ir = ir
        made = self.generator = Generator(ir, wanted, carried)
        text = str(made)
        self.lines = text.count("\n")
        self.library = compiled(text, optimised=made.in_registers, quick=estimate_cost(text) > MOST)
        self._run = self.library.function("run", None, [ctypes.c_void_p])
        self._repeat = self.library.function("repeat", None, [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p])
        self._stages = [
            (self.library.function(f"stage{index}", None, [ctypes.c_void_p, ctypes.c_int64]), halves)
            for index, (_, halves) in enumerate(made.stages)
        ]
        self.fed_rows, self.fed_at = made.fed_rows, slice(0, len(made.fed_rows))
        self.reach = 1 + max((source for source in ir.scalar_sources() if isinstance(source, int)), default=-1)
        self.scalars = allocate_aligned(made.size + 64 * LANES)
        for slot, number in made.initial:
            self.scalars[slot] = number
        self.set_samples(ir.samples)

    def set_samples(self, samples: Sequence[int]) -> None:
        """Allocate memory for so many samples of each group; inputs must be fed again afterwards."""
        # If a Ctrl-C comes in here, `samples` differs from what is needed, and the next call allocates again.
        made, self.samples = self.generator, [0] * len(samples)
        widths = {number: -(-samples[number] // group.block) * group.block for number, group in made.group.items()}
        middles = {number: -(-widths[number] // group.block // 2) * group.block for number, group in made.group.items()}
        self.halves = multiply_adds(self.ir, samples) >= HALVED and all(
            middle < samples[number] for number, middle in middles.items()
        )
        sizes = [-(-len(made.wanted) // LANES) * LANES]
        for number, group in made.group.items():
            sizes.append(sizes[-1] + len(group.lines) * widths[number])
        self.out = allocate_aligned(sizes[-1] + 1)
        self._others = np.zeros(len(self.scalars) if self.halves else 0)
        self.outs, self.lanes, self.feeds = {}, {}, {}
        packed = [0, self.scalars, self.out, self.out[-1:], kernels.addresses()]
        packed += [self._others, sizes[-1], 1 + self.halves]
        for (number, group), first, end in zip(made.group.items(), sizes, sizes[1:]):
            count, width = samples[number], widths[number]
            self.outs[number] = self.out[first:end].reshape(len(group.lines), width)
            self.feeds[number] = np.zeros((len(group.fed), 2), np.int64)
            self.lanes[number] = self._lanes(number, width if group.own_memory else group.block * (1 + self.halves))
            packed += [self.lanes[number], self.out[first:], self.feeds[number], np.empty(group.totals * width)]
            packed += [count, width, middles[number] if self.halves else count, group.size]
        self.kept = packed  # keeps the arrays alive: the code has their addresses
        self.arguments = np.array(addresses(packed), np.int64)
        self.packed = self.arguments.ctypes.data
        self.call = self._run_halves if self.halves else self._run
        self.samples = list(samples)

    def _run_halves(self, packed: int) -> None:
        """Run all stages; the second half of the samples in a thread, unless it starts too late to help."""
        if not has_two_cores():
            self._run(packed)
            return
        with defer_sigint():  # the memory must stay allocated until both halves are done
            for stage, in_halves in self._stages:
                other = handed_over(stage, packed) if in_halves else None
                stage(packed, 0)
                if in_halves and (other is None or other.cancel()):
                    stage(packed, 1)
                elif other is not None:
                    other.result()

    def _lanes(self, number: int, width: int) -> Array:
        """Allocate the blocks of a group for `width` samples, with the constant lanes filled in."""
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
        """Let the code read fed leaves of the first group in place; the caller must keep `columns` alive for the run.

        leaves: their indices in the group's `fed`. columns: floats, a line for each leaf; lines: which lines to use.
        """
        begins = columns.ctypes.data + columns.strides[0] * np.arange(len(columns))[lines]
        self.feeds[1][leaves, 0], self.feeds[1][leaves, 1] = begins, columns.strides[1]

    def out_lines(self, group: int) -> Array:
        """The values of a group's wanted rows: a view, valid until the next run, in the order of `Group.lines`."""
        return self.outs[group][:, : self.samples[group]]

    def place_out(self, row: int, lane: int) -> int:
        """The index in `out` of one lane of a wanted row; with lane NONE, the row's line in `out_lines`."""
        group = int(self.ir.groups[row])
        line = self.generator.group[group].lines[row]
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
        layers = [f"{len(step.inputs)} -> {len(step.outputs)}" for step in steps if isinstance(step, DenseLayer)]
        grids = [f"{len(step.lefts)} x {len(step.rights)}" for step in steps if isinstance(step, Outer)]
        size = group.size * group.block * 8 / 1024
        return (
            f"samples: {self.samples[part.group]} in blocks of {group.block}; {len(part.rows)} rows"
            f"{_counted('layer', layers)}{_counted('outer product', grids)}; {group.size} lines, {size:.0f} KB"
        )


def has_two_cores() -> bool:
    """Whether this process may use two cores; OMP_NUM_THREADS=1 forbids it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores > 1 and os.environ.get("OMP_NUM_THREADS") != "1"


@once
def _helper() -> ThreadPoolExecutor:
    """The worker thread that runs second halves; a forked child makes its own."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_helper.cache_clear)
    return ThreadPoolExecutor(1, "naive_graph helper")


def handed_over(stage: Callable[..., None], packed: int) -> Any:
    """Submit the second half of a stage to the worker thread; returns a Future, or None if there is no thread."""
    try:
        return _helper().submit(stage, packed, 1)
    except RuntimeError:  # as in a browser, and when Python ends
        return None


def _counted(what: str, sizes: Sequence[str]) -> str:
    """Text for the number of things and their sizes; empty if there are none.

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
