"""What a Program asks, in the form in which an engine answers it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..errors import EngineError, EngineWarning
from ..origin import learners_level
from ..plan import Plan, check_complete, plan_for
from ..tables import Tables
from . import culprit, reference
from .llvm.compile import llvmlite
from .llvm.emit import Opaque
from .llvm.precision import DOUBLE, Precision
from .replay import Replay, first_wrong
from .straight import PATIENCE, StraightLine, blocks, fits, pays
from .tape.flat import NONE, Flat, Lanes
from .tape.lanes import Sample
from .tape.lowering import Fed, Lowering, Stage
from .tape.report import report
from .tape.tape import Tape

Found = tuple[list[Any], list[Any], bool]


Pick = Callable[[Any, Any], Any]


class Batch(NamedTuple):
    """Many samples for some PlaceHolders: their rows in the tables, and an array with a line for each of them."""

    rows: tuple[int, ...]
    columns: Any


class Inputs(NamedTuple):
    """The tables that hold the Variables' values; numbers by row, and batches, for PlaceHolders."""

    tables: Tables
    numbers: dict[int, float]
    batches: list[Batch]

    @property
    def samples(self) -> int:
        return self.batches[0].columns.shape[1] if self.batches else 1

    def sample(self, place: int) -> dict[int, float]:
        """The numbers of one sample, by row."""
        fed = {row: float(line[place]) for rows, lines in self.batches for row, line in zip(rows, lines, strict=True)}
        return {**self.numbers, **fed}


class ByReference:
    """The reference engine's answers: the law, and slow.

    Called, it gives the values, the slopes, and whether all are finite.
    """

    def __init__(self, tables: Tables, rows: Sequence[int], wrt: Sequence[int], precision: Precision = DOUBLE) -> None:
        self.tables, self.rows, self.wrt, self.precision = tables, list(rows), list(wrt), precision

    @property
    def machine(self) -> ByMachine | None:
        """The compiled answers with all their passes, if there are any."""
        return None

    @property
    def stays(self) -> bool:
        """Whether the code that runs now is what will run from now on."""
        return True

    @cached_property
    def plan(self) -> Plan:
        plan = plan_for(self.tables, list(dict.fromkeys([*self.rows, *self.wrt])))
        check_complete(self.tables, plan.rows)
        return plan

    @cached_property
    def placeholders(self) -> list[int]:
        return [self.plan.rows[step] for step in self.plan.placeholders()]

    def __call__(self, inputs: Inputs) -> Found:
        step_of = {row: step for step, row in enumerate(self.plan.rows)}
        values = self._values(inputs.numbers)
        slopes = []
        for row in self.rows if self.wrt else ():
            seeds = {step_of[row]: self.precision.number(1.0)}
            adjoints = reference.differentiate(self.plan, values, seeds, self.plan.varies())
            slopes.append(np.array([adjoints[step_of[leaf]] for leaf in self.wrt], self.precision.name))
        found = [float(values[step_of[row]]) for row in self.rows]
        return found, slopes, all(map(isfinite, found)) and all(np.isfinite(each).all() for each in slopes)

    def _values(self, numbers: dict[int, float]) -> list[float]:
        values = self._leaves(numbers)
        reference.evaluate(self.plan, values)
        return values

    def _leaves(self, numbers: dict[int, float]) -> list[float]:
        self.tables.grow_values()
        number = self.precision.number
        return [number(numbers.get(row, self.tables.values[row])) for row in self.plan.rows]

    def culprit(self, inputs: Inputs) -> str:
        """Which node went wrong first, and for which sample."""
        plan, batched = self.plan, [row for batch in inputs.batches for row in batch.rows]
        step_of = {row: step for step, row in enumerate(plan.rows)}
        asked, wrt = [step_of[row] for row in self.rows], [step_of[row] for row in self.wrt]
        replay = Replay(plan, inputs.samples, [step_of[row] for row in batched if row in step_of])
        wanted = plan.varies()
        for sample, values in replay.rounds(lambda sample: self._leaves(inputs.sample(sample))):
            waiting = [plan.operands(step)[0] for step in replay.gathers if step not in replay.known]
            step = first_wrong(plan, values, [*asked, *waiting], replay.known)
            if step is not None:
                of = f"Sample {sample}. " if replay.varies[step] else ""
                over = inputs.samples if step in replay.known else 0
                given = inputs.sample(sample).get(plan.rows[step], self.tables.values[plan.rows[step]])
                return of + culprit.explain_value(self.tables, plan, values, step, replay.varies[step], over, given)
            for row in asked if self.wrt and None not in values else ():
                seeds = {row: self.precision.number(1.0)}
                adjoints = reference.differentiate(plan, values, seeds, wanted)
                if not all(isfinite(adjoints[leaf]) for leaf in wrt):
                    of = f"Sample {sample}. " if batched else ""
                    return of + culprit.explain_backward(self.tables, plan, values, seeds, wanted)
        return "Backward: a sum over the samples is infinite or NaN; each sample is finite. Scale the values down."

    def explain(self, times: bool = True) -> str:
        return f"The reference engine runs {len(self.plan)} rows one by one, in Python."


class Feeds:
    """What must be put into a tape before it runs."""

    def __init__(self, flat: Flat, tape: Tape | StraightLine) -> None:
        self.flat, self.tape = flat, tape
        fed = [(row, source.row) for row, source in flat.sources.items() if isinstance(source, Fed)]
        self.line_of = {source: tape.fed[1].index(row) for row, source in fed if flat.groups[row] > 0}
        self.lines: dict[tuple[int, ...], Any] = {}  # for each batch's rows: which there are, and their lines
        self.numbers = [(row, source) for row, source in fed if flat.groups[row] == 0]
        self.moving: list[tuple[int, Any, list[int]]] = []  # lanes of leaves that may change
        for row, source in flat.sources.items():
            if isinstance(source, Lanes):
                with np.errstate(over="ignore"):
                    _fill(tape.feed(row), np.array(source.numbers))
                rows: list[Any] = [each.row if isinstance(each, Fed) else each for each in source.sources]
                places = np.array([lane for lane, each in enumerate(rows) if each is not None], np.int32)
                if len(places):
                    self.moving.append((row, places, [int(each) for each in rows if each is not None]))
        self.any = bool(fed or self.moving)

    def __call__(self, inputs: Inputs) -> None:
        """Feed the tape. What float32 cannot hold becomes infinite; a result will show it."""
        if self.tape.precision is DOUBLE:
            self._feed(inputs)
        else:
            with np.errstate(over="ignore"):
                self._feed(inputs)

    def _feed(self, inputs: Inputs) -> None:
        tape = self.tape
        if inputs.batches:
            if tape.samples[1] != inputs.samples:
                tape.set_samples([1, inputs.samples])
            for batch in inputs.batches:
                self.feed_batch(batch)
        for row, source in self.numbers:
            tape.put(row, inputs.numbers[source])
        for row, places, rows in self.moving:
            held = [inputs.numbers.get(each, inputs.tables.values[each]) for each in rows]
            numbers = tape.feed(row)[: tape.samples[self.flat.groups[row]]].astype(np.float64)
            numbers[places] = held
            _fill(tape.feed(row), numbers)

    def places(self) -> dict[int, list[int]]:
        """The addresses where single numbers are read, by the row of the PlaceHolder."""
        found: dict[int, list[int]] = {}
        for row, source in self.numbers:
            found.setdefault(source, []).append(self.tape.place_of(row))
        for row, lanes, rows in self.moving:
            line, samples = self.tape.feed(row), self.tape.samples[self.flat.groups[row]]
            for lane, source in zip(lanes.tolist(), rows, strict=True):
                last = len(line) if lane == samples - 1 else lane + 1  # lanes beyond the last sample repeat it
                begin, size = line.ctypes.data, line.itemsize
                found.setdefault(source, []).extend(begin + size * each for each in range(lane, last))
        return found

    def feed_batch(self, batch: Batch) -> None:
        """Copy a batch into its lines; lanes beyond the last sample repeat it."""
        if batch.rows not in self.lines:
            known = [place for place, row in enumerate(batch.rows) if row in self.line_of]
            lines = [self.line_of[batch.rows[place]] for place in known]
            self.lines[batch.rows] = _as_slice(known), _as_slice(lines)
        known, lines = self.lines[batch.rows]
        feeds = self.tape.feed_lines(1)
        columns = batch.columns[known]
        feeds[lines, : columns.shape[1]] = columns
        if feeds.shape[1] > columns.shape[1]:
            feeds[lines, columns.shape[1] :] = columns[:, -1:]


class ByMachine(ByReference):
    """Compiled answers: straight-line code for a small plan, a tape for a large one, or one that is seldom asked."""

    def __init__(
        self, tables: Tables, rows: Sequence[int], wrt: Sequence[int], batched: frozenset[int], engine: str | None,
        precision: Precision = DOUBLE,
    ) -> None:  # fmt: skip
        super().__init__(tables, rows, wrt, precision)
        self.batched = batched
        self.lowering = Lowering(
            tables,
            rows,
            wrt,
            batched,
        )
        self.flat = self.lowering.flat
        self.asked: list[Sample] = [*self.lowering.values, *(each for row in self.lowering.slopes for each in row)]
        wanted = [at.row for at in self.asked]
        self.straight = engine == "native" or (engine is None and fits(self.flat))
        made: Any = StraightLine if self.straight else Tape
        self.tape: Any = made(self.flat, wanted, precision=precision)
        self.may_move = engine is None and not self.straight
        self.patience = PATIENCE if self.may_move and pays(self.flat) else 0
        self.scalars = sum(1 for at in self.asked if self.flat.groups[at.row] == 0)
        self._picks = picks(self.flat, self.tape, self.asked, len(self.rows), len(self.wrt))
        self._fed = [row in batched for row in self.wrt] if batched.intersection(self.wrt) else []
        self.descent: Any = None  # the last way downhill, kept by who makes them
        self.feeds = Feeds(self.flat, self.tape)

    @property
    def machine(self) -> ByMachine:
        return self

    @property
    def stays(self) -> bool:
        return self.patience <= 0

    @cached_property
    def placeholders(self) -> list[int]:
        return [row for row in self.lowering.placeholders if row not in self.batched]

    def stages(self) -> list[Stage]:
        """What each pass made, with its plan, which is made again where it was too large to be kept."""
        if all(stage.flat is not None for stage in self.lowering.stages):
            return self.lowering.stages
        find = any(stage.name == "lanes" for stage in self.lowering.stages)
        return Lowering(self.tables, self.rows, self.wrt, self.batched, find=find, keep=True).stages

    def __call__(self, inputs: Inputs) -> Found:
        with self.tables.lock:  # machine code reads the columns while other threads may run: they must not move
            if len(self.tables.values) < len(self.tables.operators):
                self.tables.grow_values()
            amiss = self._run(inputs)
        values, slopes, finite = self.found(amiss == 0.0, inputs.samples)
        if not finite and not inputs.batches:
            return super().__call__(inputs)
        return values, slopes, finite

    def found(self, finite: bool, samples: int) -> Found:
        """What the last run left. finite: whether all scalars are."""
        values, *slopes = [pick(self.tape.out, self.tape) for pick in self._picks]
        if self.scalars < len(self.asked):
            finite = finite and all(_finite(found) for found in (values, *slopes))
        if self._fed:
            slopes = [_for_each(row, self._fed, samples, self.precision) for row in slopes]
        return values if isinstance(values, list) else _values(values), slopes, finite

    def _run(self, inputs: Inputs) -> float:
        """0.0 if all scalars among the results are finite."""
        values = self.tables.values
        if self.patience > 0:
            self._wait(inputs)
        tape = self.tape
        if self.feeds.any:
            self.feeds(inputs)
        tape.run(values.buffer_info()[0])
        amiss: float = tape.out.item(self.scalars)
        return amiss

    def cost(self, samples: int) -> int:
        """What a run takes of the patience with the tape."""
        return blocks([*self.flat.samples, samples], self.precision)

    def _wait(self, inputs: Inputs) -> None:
        """Count what goes over the tape; after enough of it, move to straight-line code."""
        self.patience -= self.cost(inputs.samples)
        if self.patience > 0:
            return
        with suppress(Opaque):  # then the tape goes on
            code = StraightLine(self.flat, [at.row for at in self.asked], precision=self.precision)
            self.tape, self.feeds, self.straight = code, Feeds(self.flat, code), True

    def explain(self, times: bool = True) -> str:
        return report(self.lowering, self.tape, times)


def _as_slice(places: list[int]) -> Any:
    """The places, as a slice if they follow one another: it is copied several times faster."""
    first = places[0] if places else 0
    return slice(first, first + len(places)) if places == list(range(first, first + len(places))) else places


def picks(flat: Flat, tape: Tape | StraightLine, asked: list[Sample], outputs: int, width: int) -> list[Pick]:
    """How to find the outputs' values, and then each output's slopes, among a tape's results."""
    places, count = [], 0
    for at in asked:
        places.append(count)
        count += int(flat.groups[at.row] == 0)
    bounds = [(0, outputs), *((outputs + k * width, outputs + (k + 1) * width) for k in range(outputs if width else 0))]
    return [_pick(flat, tape, asked[first:last], places[first:last]) for first, last in bounds]


def _for_each(slopes: Any, fed: list[bool], samples: int, precision: Precision) -> Any:
    """An entry for each sample of what was fed as a batch, also where all samples have the same."""
    if isinstance(slopes, np.ndarray) and slopes.ndim > 1:
        return slopes
    entries = [
        x if np.ndim(x) else np.full(samples, x, precision.name) if each else float(x)
        for x, each in zip(slopes, fed, strict=True)
    ]  # fmt: skip
    return np.array(entries) if all(map(np.ndim, entries)) else entries


def _pick(flat: Flat, tape: Tape | StraightLine, asked: list[Sample], places: list[int]) -> Pick:
    groups = {int(flat.groups[at.row]) for at in asked}
    lanes = {at.lane == NONE for at in asked}
    if groups == {0}:
        chosen = slice(places[0], places[-1] + 1)
        return lambda out, tape: out[chosen].copy()
    leaf = any(flat.starts[at.row] == flat.starts[at.row + 1] for at in asked)  # what was fed is nowhere exported
    if leaf and len(asked) == 1:
        (at,) = asked
        fed = slice(None) if at.lane == NONE else slice(at.lane, at.lane + 1)
        return lambda out, tape: tape.lanes_of(at.row)[fed].copy().reshape((1, -1) if at.lane == NONE else -1)
    if not leaf and 0 not in groups and len(groups) == 1 and len(lanes) == 1:
        (group,) = groups
        lines = np.array([tape.exported[group].index(at.row) for at in asked])
        if lanes == {True}:
            return lambda out, tape: tape.out_lines(group)[lines]
        samples = np.array([at.lane for at in asked])
        return lambda out, tape: tape.out_lines(group)[lines, samples]
    singles = [_pick(flat, tape, [at], [place]) for at, place in zip(asked, places, strict=True)]
    return lambda out, tape: _together([_alone(single(out, tape)) for single in singles], out.dtype)


def _finite(found: Any) -> bool:
    if not isinstance(found, np.ndarray):
        return all(map(_finite, map(np.asarray, found)))
    return bool(np.isfinite(found).all())


def _together(entries: list[Any], dtype: Any) -> Any:
    return np.array(entries, dtype) if all(isinstance(each, float) for each in entries) else entries


def _alone(found: Any) -> Any:
    """One entry: a float, or an array with one for each sample."""
    return float(found[0]) if found.ndim == 1 else found[0]


def _values(found: Any) -> list[Any]:
    """Outputs: floats, or arrays with one for each sample."""
    return found.tolist() if found.ndim == 1 else list(found)


def _fill(feed: Any, numbers: Any) -> None:
    """Write the lanes; those beyond the last sample repeat it, so that no number of theirs is out of the ordinary."""
    feed[: len(numbers)] = numbers
    feed[len(numbers) :] = numbers[-1]


def question(
    tables: Tables, rows: Sequence[int], wrt: Sequence[int], batched: frozenset[int], engine: str | None,
    precision: Precision = DOUBLE,
) -> ByReference:  # fmt: skip
    """The answers to a question, by the engine that is asked for, or the one that suits it."""
    if engine == "reference":
        if batched:
            raise EngineError("The reference engine takes one sample at a time. Leave the choice to the Program.")
        return ByReference(tables, rows, wrt, precision)
    llvmlite()  # or say at once that it is missing
    try:
        return ByMachine(tables, rows, wrt, batched, engine, precision)
    except Opaque as opaque:
        if batched:
            raise EngineError(f"{opaque} Batches need compiled operators.") from opaque
        warnings.warn(EngineWarning(f"{opaque} The reference engine runs this graph."), stacklevel=learners_level())
        return ByReference(tables, rows, wrt, precision)


Answers = ByReference
