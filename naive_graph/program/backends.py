"""The backends of a Program: three ways to answer its query, and the choice between them (`backend_for`).

Called with the inputs of a run, a backend returns (values, slopes, whether all are finite):

reference   the sweeps in Python: slow, and the definition of the right numbers
direct      compiled sweeps on the graph's tables: for plans that are too large or too wide for the passes
compiled    the plan after the passes: in machine code of its own, or in level runs (the rows of one level with one
            operator are a loop), which need no compilation: a large plan starts in these, a very large one stays there
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain, count
from math import isfinite
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from ..core import nan_trace, sweep
from ..core.background import BackgroundTask
from ..core.origin import user_stacklevel
from ..core.plan import Plan, plan_for
from ..core.rules import BY_NUMBER
from ..core.tables import PLACEHOLDER, Tables
from ..engines.compiled.plan import CompiledPlan, Runnable
from ..engines.compiled.runs import LevelRuns
from ..engines.direct import engine as direct
from ..engines.llvm.compile import llvmlite
from ..engines.llvm.emit import NotCompilable
from ..engines.passes.ir import IR, NONE, Sample
from ..engines.passes.lowering import Lowering, PassResult, report
from ..errors import EngineError, EngineWarning
from .inputs import Inputs, Weights, feed, slice_if_consecutive
from .replay import Replay

Result = tuple[list[Any], list[Any], bool]  # values, slopes, whether all are finite
MOST_ROWS = 2_500_000  # of a plan that goes through the passes, which take some 1.2 us and 300 bytes for each
PER_SLOPE = 10  # one derivative that a Program returns costs the passes as much time as so many rows
WIDEST = 4096  # most operands of an operator but `add` in the passes, which handle each operand in Python
FEW_OPERANDS = 1_600  # compiled before the first call: LLVM takes some 0.1 s for as many
MOST_OPERANDS = 80_000  # the most that are compiled after level runs: LLVM takes some 3 s
# Executions before a plan is compiled. For a chain of 1,000 rows, where compiled code gains most, these take some
# 0.05 s, and LLVM some 0.07 s.
PATIENCE = 4_000
SOON = 1_000  # further level runs before a Program looks again whether the background thread has compiled its code


def choose(
    ir: IR, wanted: Sequence[int], carried: Sequence[int] = (), engine: str | None = None
) -> tuple[Runnable, Callable[[], Runnable] | None]:
    """What runs now, and a function that compiles what replaces it later (or None): tiered execution.

    A small plan, or one with samples, is compiled before its first call. A larger plan of scalars starts in level runs.
    After PATIENCE executions, which have taken about as long as LLVM will, a background thread compiles it, and a later
    call switches to the code. A plan that is too long for LLVM stays in level runs.
    engine: "runs" or "compiled" if the user named one. See `CompiledPlan` for the other parameters.
    """
    if engine == "compiled" or ir.has_samples or (engine is None and len(ir.operands) <= FEW_OPERANDS):
        return CompiledPlan(ir, wanted, carried), None
    runs = LevelRuns(ir, wanted, carried)
    if engine == "runs" or len(ir.operands) > MOST_OPERANDS:
        return runs, None
    return runs, lambda: CompiledPlan(ir, wanted, carried)


class Query(NamedTuple):
    """What a Program computes: the values of `rows`, and their derivatives with respect to `wrt` (rows of leaves).

    batched: PlaceHolders that are fed a number for each sample. engine: the one that
    the user named, or None. weights: where Variables' values are, if not in the tables.
    """

    tables: Tables
    rows: list[int]
    wrt: list[int]
    batched: frozenset[int] = frozenset()
    engine: str | None = None
    weights: Weights | None = None


class ReferenceBackend:
    """Answers with the reference engine: slow, and the definition of the right numbers.

    Calling it returns the values, the slopes, and whether all are finite. patience: how many more level runs there
    are until compiled code may replace them; 0 where nothing replaces what runs now. descent: the compiled steps of the
    last `minimize`, for the next one (descent.py).
    """

    patience = 0
    descent: Any = None

    def __init__(self, query: Query) -> None:
        self.query, self.weights = query, query.weights
        self.tables, self.rows, self.wrt, self.batched = query.tables, query.rows, query.wrt, query.batched

    def stages(self) -> dict[str, PassResult]:
        """The passes by their names, with the plan that each makes; none where no pass runs."""
        return {}

    @cached_property
    def plan(self) -> Plan:
        plan = plan_for(self.tables, list(dict.fromkeys([*self.rows, *self.wrt])))
        plan.check_complete(self.tables)
        return plan

    @cached_property
    def placeholders(self) -> list[int]:
        return [self.plan.rows[step] for step in self.plan.placeholders()]

    def __call__(self, inputs: Inputs) -> Result:
        step_of = {row: step for step, row in enumerate(self.plan.rows)}
        values = self._leaves(inputs.numbers)
        sweep.evaluate(self.plan, values)
        slopes = []
        for row in self.rows if self.wrt else ():
            adjoints = sweep.differentiate(self.plan, values, {step_of[row]: 1.0}, self.plan.varies())
            slopes.append(np.array([adjoints[step_of[leaf]] for leaf in self.wrt]))
        results = [float(values[step_of[row]]) for row in self.rows]
        return results, slopes, all(map(isfinite, results)) and all(np.isfinite(slope).all() for slope in slopes)

    def _leaves(self, numbers: dict[int, float]) -> list[float]:
        return [numbers[row] if row in numbers else self._held(row) for row in self.plan.rows]

    def _held(self, row: int) -> float:
        """A leaf's value: from the array of the weights, or from the tables."""
        if self.weights is not None and row in self.weights.places:
            return float(self.weights.array[self.weights.places[row]])
        return self.tables.values[row]

    def culprit(self, inputs: Inputs) -> str:
        """A message: which node became infinite or NaN first, in which sample, and how to mend it."""
        plan, batched = self.plan, [row for batch in inputs.batches for row in batch.rows]
        step_of = {row: step for step, row in enumerate(plan.rows)}
        targets, wrt = [step_of[row] for row in self.rows], [step_of[row] for row in self.wrt]
        replay = Replay(plan, inputs.samples, {step_of[row] for row in batched if row in step_of})
        wanted = plan.varies()
        for sample, values in replay.rounds(lambda sample: self._leaves(inputs.sample(sample))):
            waiting = [plan.operands(step)[0] for step in replay.gathers if step not in replay.known]
            step = nan_trace.first_wrong(plan, values, [*targets, *waiting], replay.known)
            if step is not None:
                prefix = f"Sample {sample}. " if replay.varies[step] else ""
                over = inputs.samples if step in replay.known else 0
                return prefix + nan_trace.explain_value(self.tables, plan, values, step, over)
            for row in targets if self.wrt and None not in values else ():
                seeds = {row: 1.0}
                adjoints = sweep.differentiate(plan, values, seeds, wanted)
                if not all(isfinite(adjoints[leaf]) for leaf in wrt):
                    prefix = f"Sample {sample}. " if batched else ""
                    return prefix + nan_trace.explain_backward(self.tables, plan, values, seeds, wanted)
        return "Backward: a sum over the samples is infinite or NaN; each sample is finite. Scale the values down."

    def explain(self, times: bool = True) -> str:
        return f"The reference engine runs {len(self.plan)} rows one by one, in Python."


class DirectBackend(ReferenceBackend):
    """Answers by the direct engine, which plans and compiles nothing, and reads the weights from the tables.

    needed_rows: the rows that it evaluates.
    """

    def __init__(self, query: Query, needed_rows: Any) -> None:
        super().__init__(query)
        self.size = len(needed_rows)
        self.placeholders = needed_rows[np.array(query.tables.operators)[needed_rows] == PLACEHOLDER].tolist()

    def __call__(self, inputs: Inputs) -> Result:
        targets = list(dict.fromkeys(self.rows))
        with self.tables.lock:
            answer = direct.evaluate_and_differentiate(self.tables, targets, inputs.numbers, self.wrt)
        if answer is None:  # it cannot run the graph
            return super().__call__(inputs)
        values, slopes = (dict(zip(targets, column)) for column in answer)
        answers = [values[row] for row in self.rows], [np.array(slopes[row]) for row in self.rows if self.wrt]
        return *answers, all_finite([*answers[0], *answers[1]])

    def explain(self, times: bool = True) -> str:
        why = "" if self.query.engine == "direct" else ": too many for the passes, or too wide"
        return f"The direct engine runs {self.size} rows right on the tables{why}."


class CompiledBackend(ReferenceBackend):
    """Answers by machine code of the plan's own, or in level runs: see `choose`.

    Either leaves all results in one array, `out`, whose last element is 0.0 if all are finite. tape: the code or the
    level runs that run now. picks: `result_readers` of the outputs' values, then of each output's slopes.
    """

    def __init__(self, query: Query) -> None:
        super().__init__(query)
        engine = query.engine
        places = self.weights.places if self.weights is not None else None
        self.lowering = Lowering(self.tables, self.rows, self.wrt, self.batched, find=engine != "runs", places=places)
        if engine == "runs" and self.lowering.ir.has_samples:
            message = "Level runs have no samples, and inputs of this Program are fed a batch. Compiled code runs it."
            warnings.warn(EngineWarning(message), stacklevel=user_stacklevel())
            engine = "compiled"
        self.ir = self.lowering.ir
        self.placeholders = [row for row in self.lowering.placeholders if row not in self.batched]
        results: list[Sample] = [*self.lowering.values, *chain.from_iterable(self.lowering.slopes)]
        self.tape, self._compile = choose(self.ir, [sample.row for sample in results], engine=engine)
        self._coming: BackgroundTask | None = None
        self.patience = PATIENCE if self._compile is not None else 0
        fed = [row in self.batched for row in self.wrt]
        self.picks = result_readers(self.ir, self.tape, results, len(self.rows), fed)

    def stages(self) -> dict[str, PassResult]:
        """The passes run again, as their plans were not kept. One that ran twice stands where it ran last."""
        find = any(stage.name == "lanes" for stage in self.lowering.stages)
        by_name: dict[str, PassResult] = {}
        for stage in Lowering(self.tables, self.rows, self.wrt, self.batched, find=find, keep=True).stages:
            by_name.pop(stage.name, None)
            by_name[stage.name] = stage
        return by_name

    def __call__(self, inputs: Inputs) -> Result:
        with self.tables.lock:
            if self.patience > 0:
                self._count_level_run()
            code = self.tape
            feed(code, inputs)
            source = self.tables.values if self.weights is None else self.weights.array
            with memoryview(source) as view:  # the array stays where it is while there is a view of it
                code.run(view)
            values, *slopes = [pick(code)() for pick in self.picks]
            # The code checks all samples of a row, even if a result is one of them: then all results may be finite.
            finite = code.out.item(-1) == 0.0 or all_finite([values, *slopes])
        return (as_list(values), slopes, finite) if finite or inputs.batches else super().__call__(inputs)

    def _count_level_run(self) -> None:
        """Count a level run; after PATIENCE of them compile in a background thread, and then switch to the code."""
        if self.patience > 1:
            self.patience -= 1
            return
        if self._compile is not None:
            coming = self._coming = self._coming or BackgroundTask(self._compile)
            if not coming.is_done():
                self.patience = SOON
                return
            self._coming = None
            with suppress(NotCompilable):  # then level runs go on
                self.tape = coming.result()
        self.patience = 0  # only now: after a Ctrl-C the next run tries again

    def explain(self, times: bool = True) -> str:
        return report(self.lowering, self.tape, times)


def direct_backend(query: Query) -> DirectBackend | None:
    """A backend that runs on the tables; None if the passes can take the plan, unless the user named this engine."""
    tables, named = query.tables, query.engine == "direct"
    columns, held = tables.snapshot()  # of one moment, whatever other threads build meanwhile
    kinds, degrees = np.array(columns[0]), np.array(columns[1])
    del held
    if not named and is_within_limits(query, kinds, degrees):
        return None
    order = direct.sort_for(tables, list(dict.fromkeys(query.rows)))
    if order is None:
        return None
    rows = np.array(order.rows)
    return DirectBackend(query, rows) if named or not is_within_limits(query, kinds[rows], degrees[rows]) else None


def is_within_limits(query: Query, kinds: Any, degrees: Any) -> bool:
    """Whether a plan of rows of these kinds and degrees is small enough for the passes, in time and memory."""
    wide = {BY_NUMBER[kind].name for kind in kinds[degrees > WIDEST]}
    return len(kinds) + PER_SLOPE * len(query.rows) * len(query.wrt) <= MOST_ROWS and wide <= {"add"}


def backend_for(query: Query) -> Backend:
    """The backend for a query: that of the engine which the user named, or the one that suits it."""
    if query.engine in ("direct", "reference") and query.batched:
        raise EngineError(f"The {query.engine} engine takes one sample at a time. Leave the choice to the Program.")
    if query.engine == "reference":
        return ReferenceBackend(query)
    llvmlite()  # or say at once that it is missing
    if not query.batched and query.engine in (None, "direct") and query.weights is None:
        with suppress(NotCompilable):  # the passes will meet it too, and say so
            if found := direct_backend(query):
                return found
    try:
        return CompiledBackend(query)
    except NotCompilable as opaque:
        if query.batched:
            raise EngineError(f"{opaque} Batches need compiled operators.") from opaque
        warnings.warn(EngineWarning(f"{opaque} The reference engine runs this graph."), stacklevel=user_stacklevel())
        return ReferenceBackend(query)


Backend = ReferenceBackend


# --- reading the results of a run -------------------------------------------------


Reader = Callable[[], Any]  # returns a copy of some results; all that can be looked up before is


def result_readers(
    ir: IR, code: Any, results: list[Sample], outputs: int, fed: Sequence[bool]
) -> list[Callable[[Any], Reader]]:
    """How to read the outputs' values, and then each output's slopes: functions from the code to a Reader.

    A Reader is valid until the code is replaced, or the number of its samples changes. results: the values of as many
    outputs as `outputs` says, then all slopes. fed: for each leaf of wrt, whether it is a PlaceHolder of a batch, so
    that its slope has an entry for each sample.
    """
    scalars, entries = count(), []
    for row, lane in results:
        group = int(ir.groups[row])
        position = code.place_out(row, lane) if group else next(scalars)
        entries.append((group if lane == NONE else 0, position))
    firsts = range(outputs, len(results), max(len(fed), 1))
    slopes = [_result_reader(entries[first : first + len(fed)], fed) for first in firsts]
    return [_result_reader(entries[:outputs], [False] * outputs), *slopes]


def _result_reader(entries: list[tuple[int, int]], spread: Sequence[bool]) -> Callable[[Any], Reader]:
    """How to read some results. entries: for each a group of samples and its line, or 0 and its place in `out`.

    spread: for each, whether a single number is repeated for every sample, as it must be in a derivative with respect
    to a PlaceHolder that is fed a batch.
    """
    groups = {group for group, _ in entries}
    if len(groups) > 1 or (any(spread) and 0 in groups):
        return partial(_read_each, entries, spread)
    return partial(_read_together, groups.pop(), slice_if_consecutive([position for _, position in entries]))


def _read_together(group: int, where: Any, code: Any) -> Reader:
    """A Reader of single numbers in `out` (group 0), or of lines of a group of samples. where: a slice, or indices."""
    memory = code.out_lines(group) if group else code.out
    return memory[where].copy if isinstance(where, slice) else partial(getitem, memory, where)


def _read_each(entries: list[tuple[int, int]], spread: Sequence[bool], code: Any) -> Reader:
    """A Reader of results of which some are single numbers and some have a line of samples.

    It returns an array, or a list if their dimensions differ.
    """
    reads = [_read_together(group, slice(position, position + 1), code) for group, position in entries]
    repeats = [code.samples[1] if is_spread else 0 for is_spread in spread]

    def read() -> Any:
        numbers = [_only_entry(read_one(), samples) for read_one, samples in zip(reads, repeats)]
        return np.array(numbers) if len({np.ndim(number) for number in numbers}) == 1 else numbers

    return read


def all_finite(results: Any) -> bool:
    """Whether all numbers in an array, or in nested lists of arrays, are finite."""
    return all(map(all_finite, results)) if isinstance(results, list) else bool(np.isfinite(results).all())


def _only_entry(entries: Any, samples: int) -> Any:
    """The only entry of an array: a line with a number for each sample, or a float; repeated if `samples` is not 0."""
    if entries.ndim > 1:
        return entries[0]
    return np.full(samples, entries[0]) if samples else float(entries[0])


def as_list(values: Any) -> list[Any]:
    """The outputs' values as a list of floats, or of arrays with one for each sample."""
    return values.tolist() if isinstance(values, np.ndarray) and values.ndim == 1 else list(values)
