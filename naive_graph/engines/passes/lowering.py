"""Lower a graph to an executable plan (IR) by running the compiler passes in order.

A pass takes a plan and the rows that are wanted of it, and returns a plan and the new
places of these rows. `Lowering.stages` records for each pass how long it took and how many rows it left.

>>> for each in PASSES:
...     print(f"{each.name:<8} {each.said}")
powers   squares became products
batch    what depends on a batch has a value for every sample
dots     sums of products became dot products
lanes    samples hidden in the graph became lanes
share    equal rows became one, unused rows went
adjoint  the derivatives' rows were appended
softmax  what the shares of a softmax have in common stands there once
share    equal rows became one, unused rows went
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...core.progress import progress
from ...core.rules import RULES
from ...core.tables import PLACEHOLDER, VARIABLE, Tables
from ..llvm.machine import machine
from .build_ir import build_ir
from .cse import MOST_COMPARED, eliminate_common_subexpressions
from .dots import dots
from .ir import DOT, IR, NONE, TOTAL, Array, FedInput, PlanColumns, Sample, replace_rows
from .reverse_symbolic import Count, adjoint
from .roll_samples import lanes
from .softmax import softmax
from .strength_reduction import powers

SUMS = {RULES["total"].number: False, RULES["mean"].number: True}  # whether the sum is divided by the count
DIV = RULES["div"].number


class Wanted(NamedTuple):
    """The rows that are wanted: outputs, and the derivatives of each output with respect to the leaves `wrt`.

    slopes: the rows of the derivatives, one list for each output; the pass `adjoint` fills it, and empties wrt.
    """

    outputs: list[Sample]
    wrt: list[Sample]
    slopes: list[list[Sample]]

    @property
    def results(self) -> list[Sample]:
        return [*self.outputs, *(slope for line in self.slopes for slope in line)]

    @property
    def rows(self) -> Array:
        return np.array([sample.row for sample in (*self.results, *self.wrt)], np.int32)

    def moved(self, place: Any) -> Wanted:
        """The same rows after a pass. place: for each old row its new row, or a `Sample` (row and lane)."""

        def now(at: Sample) -> Sample:
            new_place = place[at.row]
            return new_place if isinstance(new_place, Sample) else Sample(int(new_place), at.lane)

        return Wanted([*map(now, self.outputs)], [*map(now, self.wrt)], [[*map(now, line)] for line in self.slopes])


class Pass(NamedTuple):
    """One pass. said: what it did, for reports. quiet: whether to record no stage if it changed nothing."""

    name: str
    said: str
    run: Callable[[IR, Wanted], tuple[IR, Wanted]]
    quiet: bool = False


def as_pass(rearrange: Callable[[IR, Array], tuple[IR, Array]]) -> Callable[[IR, Wanted], tuple[IR, Wanted]]:
    """Wrap a function (plan, wanted rows) -> (plan, new row of each old one) as the `run` of a Pass."""

    def run(ir: IR, wanted: Wanted) -> tuple[IR, Wanted]:
        made, place = rearrange(ir, wanted.rows)
        return made, wanted.moved(place)

    return run


def batch(ir: IR, wanted: Array) -> tuple[IR, Array]:
    """Vectorise over the batch: rows that depend on a batched PlaceHolder join its group.

    Their total becomes a TOTAL: the sum over the samples. Their mean becomes a TOTAL divided by the number of samples,
    which is a new row 0.
    """
    spread_groups(len(ir), ir.columns, *SUMS)  # changes ir.groups in place
    rows: list[tuple[int, list[int], int]] = [(PLACEHOLDER, [], 0)]  # the number of samples goes first
    moved = np.empty(len(ir), np.int32)
    for row in range(len(ir)):
        kind, group, below = int(ir.kinds[row]), int(ir.groups[row]), [int(moved[operand]) for operand in ir.of(row)]
        if kind in SUMS and rows[below[0]][2]:
            rows.append((TOTAL, [below[0], NONE], 0))
            rows += [(DIV, [len(rows) - 1, 0], 0)] if SUMS[kind] else []
        else:
            rows.append((kind, below, group))
        moved[row] = len(rows) - 1
    new = replace_rows(ir, moved, rows)
    new.sources[0] = Count(1)
    return new, moved


def roll_hidden_samples(ir: IR, wanted: Wanted) -> tuple[IR, Wanted]:
    """Re-roll hidden samples into lanes; outputs that are to be differentiated stay scalars."""
    wrt = np.array([at.row for at in wanted.wrt], np.int32)
    ir, found = lanes(ir, wrt, wanted.rows, [output.row for output in wanted.outputs] if len(wrt) else ())
    return ir, wanted.moved(found)


def append_derivatives(ir: IR, wanted: Wanted) -> tuple[IR, Wanted]:
    """Append the rows of a reverse sweep for each output, and note the rows of its derivatives."""
    slopes: list[list[Sample]] = []
    leaves = np.array([at.row for at in wanted.wrt], np.int32)
    for at in wanted.outputs if wanted.wrt else ():
        zero = len(ir) + 1  # where `adjoint` puts the constant 0
        ir, adjoints = adjoint(ir, [at.row], leaves)
        found = np.where(adjoints[leaves] >= 0, adjoints[leaves], zero).tolist()
        slopes.append([Sample(row, leaf.lane) for row, leaf in zip(found, wanted.wrt, strict=True)])
    return ir, Wanted(wanted.outputs, [], slopes)


SHARE = Pass("share", "equal rows became one, unused rows went", as_pass(eliminate_common_subexpressions))
PASSES = (
    Pass("powers", "squares became products", as_pass(powers), quiet=True),
    Pass("batch", "what depends on a batch has a value for every sample", as_pass(batch)),
    Pass("dots", "sums of products became dot products", as_pass(dots)),
    Pass("lanes", "samples hidden in the graph became lanes", roll_hidden_samples),
    SHARE,
    Pass("adjoint", "the derivatives' rows were appended", append_derivatives),
    Pass("softmax", "what the shares of a softmax have in common stands there once", as_pass(softmax), quiet=True),
    SHARE,
)


class PassResult(NamedTuple):
    """What a pass made, and how long it took, in seconds.

    ir: the plan; None if plans are not kept. results: the rows of the outputs, then any derivatives.
    size, dots: the number of rows, and of DOT rows. samples: how many samples each group has.
    """

    name: str
    ir: IR | None
    seconds: float
    results: list[int]
    size: int
    dots: int
    samples: list[int]


class Lowering:
    """Run all passes: the plan `ir` computes some outputs, and their derivatives with respect to some leaves.

    outputs, wrt: rows of the tables. batched: PlaceHolders that are fed a number for each of many samples.
    find: whether to look for samples hidden in the graph. keep: whether to keep every pass's plan.
    places: row of a Variable -> its index in an array that is read instead of the tables; others are then fed.
    stages: first "plan", before any pass; then each pass that ran, except a quiet one that changed nothing.
    Afterwards `values[k]` is the row (and lane) of output k, and `slopes[k][i]` that of its derivative with respect
    to wrt[i].
    """

    def __init__(
        self,
        tables: Tables,
        outputs: Sequence[int],
        wrt: Sequence[int],
        batched: frozenset[int],
        *,
        find: bool = True,
        keep: bool = False,
        places: Mapping[int, int] | None = None,
    ) -> None:
        self.stages: list[PassResult] = []
        self._keep = keep
        self._since = perf_counter()
        ir, chosen = build_ir(tables, [*outputs, *wrt])
        position = np.full(max(int(chosen.max()), *outputs, *wrt, *batched) + 2, NONE, np.int32)
        position[chosen] = np.arange(len(chosen))
        output_samples, leaves = ([Sample(int(position[row]), NONE) for row in rows] for rows in (outputs, wrt))
        wanted = Wanted(output_samples, leaves, [])
        self._note("plan", ir, wanted)
        self.placeholders = [row for leaf, row in ir.sources.items() if ir.kinds[leaf] == PLACEHOLDER]
        groups = np.zeros(len(ir), np.int32)
        groups[[int(position[row]) for row in batched if position[row] >= 0]] = 1
        sources = {leaf: _source(int(ir.kinds[leaf]), row, places) for leaf, row in ir.sources.items()}
        ir = replace(ir, groups=groups, sources=sources, samples=[1, 1] if batched else [1])
        skipped = set() if batched else {"batch"}
        if batched or not find or len(ir) > MOST_COMPARED:
            skipped.add("lanes")
        for stage in progress(PASSES, label="passes"):
            if stage.name not in skipped:
                before = ir
                ir, wanted = stage.run(ir, wanted)
                if ir is not before or not stage.quiet:
                    self._note(stage.name, ir, wanted)
        self.ir, self.values, self.slopes = ir, wanted.outputs, wanted.slopes

    def _note(self, name: str, ir: IR, wanted: Wanted) -> None:
        now = perf_counter()
        results, dots = [result.row for result in wanted.results], int((ir.kinds == DOT).sum())
        self.stages.append(
            PassResult(name, ir if self._keep else None, now - self._since, results, len(ir), dots, list(ir.samples))
        )
        self._since = perf_counter()


def _source(kind: int, row: int, places: Mapping[int, int] | None) -> Any:
    """Where a leaf's value comes from: a FedInput, or an index into the tables (or into the array of weights)."""
    if kind == PLACEHOLDER or (kind == VARIABLE and places is not None and row not in places):
        return FedInput(row)
    return row if places is None else places.get(row, row)


@machine
def spread_groups(rows: int, of: PlanColumns, total: int, mean: int) -> None:
    """Propagate the group of the batched leaves to all rows that depend on them; a total or mean is a scalar again."""
    for row in range(rows):
        if of.kinds[row] != total and of.kinds[row] != mean:
            for at in range(of.starts[row], of.starts[row + 1]):
                if of.groups[of.operands[at]] > of.groups[row]:
                    of.groups[row] = of.groups[of.operands[at]]


# --- in words ---

SUMMARIES = {"plan": "the rows that the results depend on", **{stage.name: stage.said for stage in PASSES}}


def report(lowering: Lowering, plan: Any, times: bool = True) -> str:
    """A table of the passes, then what will run. plan: a CompiledPlan or LevelRuns. times: whether to show times."""
    lines = [_line("pass", "rows", "ms" if times else None, "what it did")]
    for stage in lowering.stages:
        took = f"{stage.seconds * 1e3:.2f}" if times else None
        lines.append(_line(stage.name, str(stage.size), took, f"{SUMMARIES[stage.name]}{_stage_details(stage)}"))
    return "\n".join([*lines, *plan.explain()])


def _line(name: str, rows: str, took: str | None, summary: str) -> str:
    return f"{name:<8} {rows:>8} {'' if took is None else f'{took:>8} '} {summary}"


def _stage_details(stage: PassResult) -> str:
    if stage.name == "lanes":
        counts = ", ".join(f"{count} samples" for count in stage.samples[1:])
        return f": {counts}" if counts else ": none found"
    return f": {stage.dots}" if stage.name == "dots" else ""
