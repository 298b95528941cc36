"""What a Program asks, in the form in which an engine answers it."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..core import culprit, reference
from ..core.origin import learners_level
from ..core.plan import Plan, plan_for
from ..core.tables import Tables
from ..engines.direct import engine as direct
from ..engines.llvm.compile import llvmlite
from ..engines.llvm.emit import Opaque
from ..engines.straight.line import PATIENCE, StraightLine, fits, pays
from ..engines.tape.flat import Sample
from ..engines.tape.lowering import Lowering, PassResult
from ..engines.tape.report import report
from ..engines.tape.tape import Tape
from ..errors import EngineError, EngineWarning
from .given import Inputs, Weights, feed
from .replay import Replay, first_wrong
from .results import Part, all_finite, as_list, for_each, picks, whole_groups

Found = tuple[list[Any], list[Any], bool]


class Question(NamedTuple):
    """What is asked: the values of some rows, and their derivatives with respect to others.

    batched: PlaceHolders that are fed a number for each sample. engine: the one
    asked for by name. weights: where Variables' values are, if not in the tables.
    """

    tables: Tables
    rows: list[int]
    wrt: list[int]
    batched: frozenset[int] = frozenset()
    engine: str | None = None
    weights: Weights | None = None


class ByReference:
    """The reference engine's answers: the law, and slow.

    Called, it gives the values, the slopes, and whether all are finite.
    """

    def __init__(self, asked: Question) -> None:
        self.question, self.weights = asked, asked.weights
        self.tables, self.rows, self.wrt = asked.tables, asked.rows, asked.wrt
        self.tape: Any = None  # compiled code,
        self.idle: Any = None  # and what the next call runs; None while a call is under way, and after it was cut off

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
        plan.check_complete(self.tables)
        return plan

    @cached_property
    def placeholders(self) -> list[int]:
        return [self.plan.rows[step] for step in self.plan.placeholders()]

    def __call__(self, inputs: Inputs) -> Found:
        step_of = {row: step for step, row in enumerate(self.plan.rows)}
        values = self._leaves(inputs.numbers)
        reference.evaluate(self.plan, values)
        slopes = []
        for row in self.rows if self.wrt else ():
            adjoints = reference.differentiate(self.plan, values, {step_of[row]: 1.0}, self.plan.varies())
            slopes.append(np.array([adjoints[step_of[leaf]] for leaf in self.wrt]))
        found = [float(values[step_of[row]]) for row in self.rows]
        return found, slopes, all(map(isfinite, found)) and all(np.isfinite(each).all() for each in slopes)

    def _leaves(self, numbers: dict[int, float]) -> list[float]:
        self.tables.grow_values()
        return [numbers[row] if row in numbers else self._held(row) for row in self.plan.rows]

    def _held(self, row: int) -> float:
        """What a leaf has."""
        if self.weights is not None and row in self.weights.places:
            return float(self.weights.array[self.weights.places[row]])
        return self.tables.values[row]

    def source(self) -> Any:
        """The floats that leaves are loaded from: an array. They stay where they are while there is a view of them."""
        if self.weights is not None:
            return self.weights.array
        self.tables.grow_values()
        return self.tables.values

    def taken(self) -> Any:
        """The code to run, with memory that nobody else works in: who comes in between takes a twin."""
        code, self.idle = self.idle, None
        return self.tape.twin() if code is None else code

    def replayed(self, inputs: Inputs) -> Found:
        """Answers that are not finite: the reference engine's, or of a large graph the direct engine's."""
        large = len(self.tables) > direct.MOST_REPLAYED and self.question.engine != "reference"
        found = self.on_columns(inputs, lambda message: None) if large else None
        return ByReference.__call__(self, inputs) if found is None else found

    def on_columns(self, inputs: Inputs, tell: Any) -> Found | None:
        """The direct engine's answers; None where it cannot. tell: see there."""
        leaves = self.weights.places if self.weights is not None else ()
        numbers = {**inputs.numbers, **{row: self._held(row) for row in leaves if row not in inputs.numbers}}
        targets = list(dict.fromkeys(self.rows))
        with self.tables.lock:
            found = direct.answered(self.tables, targets, numbers, self.wrt, tell)
        if found is None:
            return None
        values, slopes = (dict(zip(targets, each)) for each in found)
        answers = [values[row] for row in self.rows], [np.array(slopes[row]) for row in self.rows if self.wrt]
        return *answers, all_finite([*answers[0], *answers[1]])

    def culprit(self, inputs: Inputs) -> str:
        """Which node went wrong first, and for which sample."""
        said: list[Any] = []
        if not inputs.batches and len(self.tables) > direct.MOST_REPLAYED and self.question.engine != "reference":
            self.on_columns(inputs, said.append)
        if said:
            return str(said[0]())
        plan, batched = self.plan, [row for batch in inputs.batches for row in batch.rows]
        step_of = {row: step for step, row in enumerate(plan.rows)}
        asked, wrt = [step_of[row] for row in self.rows], [step_of[row] for row in self.wrt]
        replay = Replay(plan, inputs.samples, {step_of[row] for row in batched if row in step_of})
        wanted = plan.varies()
        for sample, values in replay.rounds(lambda sample: self._leaves(inputs.sample(sample))):
            waiting = [plan.operands(step)[0] for step in replay.gathers if step not in replay.known]
            step = first_wrong(plan, values, [*asked, *waiting], replay.known)
            if step is not None:
                of = f"Sample {sample}. " if replay.varies[step] else ""
                over = inputs.samples if step in replay.known else 0
                return of + culprit.explain_value(self.tables, plan, values, step, over)
            for row in asked if self.wrt and None not in values else ():
                seeds = {row: 1.0}
                adjoints = reference.differentiate(plan, values, seeds, wanted)
                if not all(isfinite(adjoints[leaf]) for leaf in wrt):
                    of = f"Sample {sample}. " if batched else ""
                    return of + culprit.explain_backward(self.tables, plan, values, seeds, wanted)
        return "Backward: a sum over the samples is infinite or NaN; each sample is finite. Scale the values down."

    def explain(self, times: bool = True) -> str:
        return f"The reference engine runs {len(self.plan)} rows one by one, in Python."


class ByMachine(ByReference):
    """Compiled answers: straight-line code for a small plan, a tape for a large one, or one that is seldom asked."""

    def __init__(self, asked: Question) -> None:
        super().__init__(asked)
        engine, self.batched = asked.engine, asked.batched
        self.lowering = self._lowered(find=engine != "native")
        if engine == "native" and not pays(self.lowering.flat):
            what = "A plan of many samples" if self.batched else f"A plan of {len(self.lowering.flat)} rows"
            message = f"{what} is too large for straight-line code. The tape runs it."
            warnings.warn(EngineWarning(message), stacklevel=learners_level())
            self.lowering = self._lowered()
        self.flat = self.lowering.flat
        self.placeholders = [row for row in self.lowering.placeholders if row not in self.batched]
        self.asked: list[Sample] = [*self.lowering.values, *(each for row in self.lowering.slopes for each in row)]
        wanted = [at.row for at in self.asked]
        self.straight = fits(self.flat) if engine is None else engine == "native" and pays(self.flat)
        self._groups = whole_groups(self.flat, self.asked)
        self.tape = self.idle = self._code(wanted)
        self.may_move = engine is None and not self.straight
        self.patience = PATIENCE if self.may_move and pays(self.flat) else 0
        self.scalars = sum(1 for at in self.asked if self.flat.groups[at.row] == 0)
        self._picks = picks(self.flat, self.tape, self.asked, len(self.rows), len(self.wrt))
        self._fed = [row in self.batched for row in self.wrt] if self.batched.intersection(self.wrt) else []
        self.descent: Any = None  # the last way downhill, kept by who makes them

    @property
    def machine(self) -> ByMachine:
        return self

    @property
    def stays(self) -> bool:
        return self.patience <= 0

    def _lowered(self, find: bool = True) -> Lowering:
        places = self.weights.places if self.weights is not None else None
        return Lowering(self.tables, self.rows, self.wrt, self.batched, find=find, places=places)

    def stages(self) -> list[PassResult]:
        """What each pass made, with its plan, which is made again where it was too large to be kept."""
        if self.weights is None and all(stage.flat is not None for stage in self.lowering.stages):
            return self.lowering.stages
        find = any(stage.name == "lanes" for stage in self.lowering.stages)
        return Lowering(self.tables, self.rows, self.wrt, self.batched, find=find, keep=True).stages

    def __call__(self, inputs: Inputs) -> Found:
        with self.tables.lock:
            if self.patience > 0:
                self._wait()
            code = self.taken()
            feed(code, inputs)
            with memoryview(self.source()) as view:
                code.run(view)
            values, slopes, finite = self.found(code, inputs.samples)
            self.idle = code
        return (values, slopes, finite) if finite or inputs.batches else self.replayed(inputs)

    def found(self, code: Any, samples: int) -> Found:
        """What a run left."""
        finite = code.out.item(self.scalars) == 0.0  # behind the last scalar stands whether all of them are
        values, *slopes = [pick(code.out, code) for pick in self._picks]
        if self.scalars < len(self.asked) and finite:
            lanes = (values, *slopes) if self._groups is None else map(code.out_lines, self._groups)
            finite = all(map(all_finite, lanes))
        if self._fed:
            slopes = [for_each(row, self._fed, samples) for row in slopes]
        return values if isinstance(values, list) else as_list(values), slopes, finite

    def parts(self) -> list[Part] | None:
        """The values, and each output's slopes, where they lie as they are handed out; None if one does not."""
        found = [each for each in self._picks if isinstance(each, Part)]
        spread = self._fed and any(each.group == 0 for each in found[1:])  # `for_each` has more to do
        return None if spread or len(found) < len(self._picks) else found

    def _code(self, wanted: list[int]) -> StraightLine | Tape:
        if self.straight:
            try:
                return self._straight_line()
            except Opaque:  # too long for LLVM; what cannot be compiled at all the tape will meet too
                self.straight = False
        return Tape(self.flat, wanted)

    def _straight_line(self) -> StraightLine:
        return StraightLine(self.flat, [at.row for at in self.asked])

    def _wait(self) -> None:
        """Count what goes over the tape; after enough of it, move to straight-line code."""
        if self.patience > 1:
            self.patience -= 1
            return
        with suppress(Opaque):  # then the tape goes on
            self.straight, self.tape = True, self._straight_line()
            self.idle = self.tape
        self.patience = 0  # only now: after a Ctrl-C the next run tries again

    def explain(self, times: bool = True) -> str:
        return report(self.lowering, self.tape, times)


def answers(asked: Question) -> ByReference:
    """The answers to a question, by the engine that is asked for, or the one that suits it."""
    if asked.engine == "reference":
        if asked.batched:
            raise EngineError("The reference engine takes one sample at a time. Leave the choice to the Program.")
        return ByReference(asked)
    llvmlite()  # or say at once that it is missing
    try:
        return ByMachine(asked)
    except Opaque as opaque:
        if asked.batched:
            raise EngineError(f"{opaque} Batches need compiled operators.") from opaque
        warnings.warn(EngineWarning(f"{opaque} The reference engine runs this graph."), stacklevel=learners_level())
        return ByReference(asked)


Answers = ByReference
