"""Gradient descent (`Program.minimize`) as compiled code: a step is one plan, and machine code repeats it in a loop.

The update formula is appended to the plan of the loss and its gradient. `w <- w - 0.1 * g` is
two more rows; the new w is copied to where the next step reads w. The formula is traced
once for each Variable: it is called with tracers for the weight, its gradient and its memory
(such as a momentum), which record its operations as rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import chain
from numbers import Integral
from time import perf_counter
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..core.background import BackgroundTask
from ..core.number import number
from ..core.progress import open_bar
from ..core.rules import RULES, Arithmetic
from ..core.tables import CONSTANT, PLACEHOLDER, VARIABLE, Tables
from ..engines.llvm.emit import NotCompilable
from ..engines.passes.ir import IR, NONE, PlanColumns, Rows, Tracer, with_columns
from ..engines.passes.lowering import Lowering
from ..errors import NodeError, OperandError
from ..graph.graph import GraphType
from ..graph.run_checks import report_invalid
from .backends import PATIENCE, CompiledBackend, ReferenceBackend, choose
from .inputs import Inputs, feed
from .update import FORMULA, apply_formula, describe_value, formula_of, memories_of

LONGEST = 0.1  # seconds: a call of machine code takes about so long at most, since a Ctrl-C waits for its end
LOOP_CARRIED = object()  # the source of a leaf whose value is a result of the step before


class _Tracer(Tracer):
    """A stand-in for a weight, gradient or memory while the formula is called: operations append rows to the plan."""

    __slots__ = ()
    rows: _GrowingPlan

    def __floordiv__(self, other: Any) -> Any:  # of a step's number, as in t // 100
        """Floor division: the largest whole number whose product with the divisor is at most this."""
        if isinstance(other, Arithmetic) or not (other > 0 and other % 1 == 0):
            raise OperandError(
                f"{FORMULA} takes // by whole numbers, such as t // 100, not by {describe_value(other)}."
            )
        return (self / other).floor()

    def __bool__(self) -> NoReturn:
        raise OperandError(
            "An update formula is written down once, for all steps, so it cannot ask in Python which number is larger. "
            "Build the choice in: where(g > 0, a, b)."
        )

    def __float__(self) -> NoReturn:
        raise OperandError(
            "An update formula is written down once, for all steps; its numbers are not known yet. "
            "Use naive_graph's functions: naive_graph.sqrt, not math.sqrt."
        )

    __int__ = __index__ = __float__


class _GrowingPlan(Rows):
    """A plan to which rows are appended while the formula is traced; `build_plan` returns the longer plan."""

    who = FORMULA

    def __init__(self, ir: IR) -> None:
        super().__init__(len(ir))
        self.ir = ir
        self.constants, self.sources = dict(ir.constants), dict(ir.sources)

    def __len__(self) -> int:
        return self.first + len(self.made)

    def constant(self, value: float) -> int:
        row = self.add(CONSTANT, [])
        self.constants[row] = value
        return row

    def build_plan(self) -> IR:
        ir = self.ir
        kinds, operand_lists = [kind for kind, _ in self.made], [operands for _, operands in self.made]
        starts = np.cumsum([int(ir.starts[-1]), *map(len, operand_lists)])
        appended = kinds, starts, [*chain.from_iterable(operand_lists)], [0] * len(kinds)
        before = ir.kinds, ir.starts[:-1], ir.operands, ir.groups
        columns = (np.concatenate([old, np.array(new, np.int32)]) for old, new in zip(before, appended, strict=True))
        return with_columns(ir, PlanColumns(*columns), len(self), self.constants, self.sources)


class DescentStep(NamedTuple):
    """One step of gradient descent as a plan.

    start: the leaves of weights and memories, and their first values. wanted: the loss's row, then for each leaf the
    row whose value is copied there for the next step. leaf_of: a Variable's row in the tables -> leaf.
    """

    ir: IR
    start: dict[int, float]
    wanted: list[int]
    leaf_of: dict[int, int]


def build_step(lowering: Lowering, weights: Sequence[int], held: Sequence[float], rule: Any) -> DescentStep:
    """One step of `minimize` as a plan. weights, held: the Variables' rows in the tables, and their values."""
    formula = formula_of(rule)
    memories, counts = memories_of(formula)
    grower = _GrowingPlan(lowering.ir)
    leaf_of = {source: row for row, source in lowering.ir.sources.items() if isinstance(source, int)}
    start, wanted, time = {}, [lowering.values[0].row], {}
    if counts:
        clock = grower.add(PLACEHOLDER, [])
        start[clock] = 1.0
        wanted.append(grower.add(RULES["add"].number, [clock, grower.place(1.0)]))
        time["t"] = _Tracer(grower, clock)
    slopes = dict(zip(weights, zip(held, lowering.slopes[0], strict=True), strict=True))  # one may be named twice
    for weight, (value, slope) in slopes.items():
        row = leaf_of.setdefault(weight, len(grower))
        if row == len(grower):  # the output does not depend on it; the formula may move it all the same
            grower.add(PLACEHOLDER, [])
        memory = [grower.add(PLACEHOLDER, []) for _ in range(memories)]
        arguments = [_Tracer(grower, operand_row) for operand_row in (row, slope.row, *memory)]
        results = apply_formula(formula, arguments, time)
        wanted += map(grower.place, results)
        start |= {row: value, **dict.fromkeys(memory, 0.0)}
    grower.sources |= dict.fromkeys(start, LOOP_CARRIED)
    moved = {row: leaf for row, leaf in leaf_of.items() if leaf in start}
    return DescentStep(grower.build_plan(), start, wanted, moved)


# --- running ------------------------------------------------------------------


def check_arguments(rule: Any, steps: Any) -> None:
    """Raise NumberError or NodeError unless `rule` is a rate or a formula, and `steps` a whole number from 1 on."""
    if type(rule) is not float:  # as it mostly is
        formula_of(rule)
    if isinstance(steps, bool) or not isinstance(steps, Integral) or steps < 1:
        is_sized = hasattr(steps, "__len__") and not isinstance(steps, str)
        more = "; inputs come after the steps: minimize(0.1, 100, x)." if is_sized else "."
        raise NodeError(
            f"minimize takes a whole number of steps, at least 1, not {describe_value(steps)}. "
            f"Write minimize(0.1, steps=100){more}"
        )


def not_minimizable_error(tables: Tables, outputs: Sequence[int], weights: Sequence[int], single: bool) -> NodeError:
    """The error for a Program that cannot be minimized. outputs, weights: rows in the tables."""
    if not single:
        one = "the node itself: Program(loss" if len(outputs) == 1 else "their sum perhaps: Program(a + b"
        return NodeError(
            f"minimize makes one number small, and this Program has a list of {len(outputs)}. "
            f"Give it {one}, wrt=weights).minimize(0.1)."
        )
    for row in weights:
        if tables.operators[row] == PLACEHOLDER:
            return NodeError(
                f"{tables.label(row)} is fed, not moved. Make a Variable of it, or leave it out of wrt, for minimize."
            )
    return _constant_loss_error(tables, outputs[0], weights) or NodeError(
        "This Program has no Variables to move. Name them in wrt: Program(loss, wrt=[x]).minimize(0.1)."
    )


def _check_leads_down(answers: ReferenceBackend) -> None:
    """Raise NodeError if the output depends on none of the weights."""
    if isinstance(answers, CompiledBackend):
        lowering = answers.lowering
        if any(lowering.ir.constants.get(slope.row) != 0.0 for slope in lowering.slopes[0]):
            return  # the common case, which needs no look at the graph
    if error := _constant_loss_error(answers.tables, answers.rows[0], answers.wrt):
        raise error


def _constant_loss_error(tables: Tables, output: int, weights: Sequence[int]) -> NodeError | None:
    """The error for an output that depends on none of the weights; None if it depends on one."""
    leads_to_output = set(tables.adjacency.ancestors([output]))
    if not any(tables.operators[row] == VARIABLE for row in leads_to_output):
        return NodeError(
            f"{tables.label(output)} depends on no Variable, so no step can make it smaller. "
            "What minimize shall move is made with Graph.Variable(1.0)."
        )
    if weights and leads_to_output.isdisjoint(weights):
        return NodeError(
            f"{tables.label(output)} depends on none of the Variables in wrt, so no step can make it smaller. "
            "Name those that it is built from: Program(loss, wrt=[x])."
        )
    return None


def descend(answers: ReferenceBackend, inputs: Inputs, rule: Any, steps: Any, held: list[float], write: Any) -> Any:
    """Run the steps in chunks, and write the weights' last values; returns the output before each step.

    held: the weights at the beginning. write: called with them at the end.
    """
    runner = _select_runner(answers, inputs, rule, int(steps), held)
    history = _history(int(steps))
    chunk, done, bar = 1, 0, None
    try:
        while done < len(history):
            since = perf_counter()
            part = history[done : done + chunk]
            runner.run(part)
            done += len(part)
            took = perf_counter() - since
            chunk = _next(chunk, took)
            if bar is None and took > LONGEST / 32:
                bar = open_bar(len(history), "minimize")
            if bar is not None:
                bar.update(done - bar.n)
    except KeyboardInterrupt as stop:
        _write_result(answers, inputs, runner, history[:done], write)
        stop.add_note(f"minimize: stopped after {done:,} of {len(history):,} steps, whose weights are kept.")
        raise
    finally:
        if bar is not None:
            bar.close()
    _write_result(answers, inputs, runner, history, write)
    answers.descent = runner if runner.rate is not None else None  # minimize(0.1) again reuses it
    return history


def _history(steps: int) -> Any:
    """An array for the output before each step."""
    try:
        return np.empty(steps)
    except (MemoryError, ValueError, OverflowError) as error:
        raise NodeError(
            f"minimize keeps the output before each step, and there is no room for {steps}. "
            "Take fewer steps, and call it again."
        ) from error


def _next(chunk: int, took: float) -> int:
    """How many steps the next chunk has, after one of `chunk` steps that took so many seconds."""
    if took < LONGEST / 32:
        return 16 * chunk
    return 2 * chunk if took < LONGEST / 2 else chunk


def _write_result(answers: ReferenceBackend, inputs: Inputs, runner: Any, history: Any, write: Any) -> None:
    """Write the weights, but not if the first output was infinite or NaN, nor if Graph.on_invalid makes that raise."""
    weights = [runner.weight(row) for row in answers.wrt]
    finite = np.isfinite(history)
    first_bad = None if finite.all() else int(finite.argmin())
    if GraphType._on_invalid != "ignore" and (first_bad is not None or not all(map(math.isfinite, weights))):
        report_invalid(_diagnose(answers, inputs, first_bad), GraphType._on_invalid)
    if first_bad != 0:
        write(weights)


def _diagnose(answers: ReferenceBackend, inputs: Inputs, first_bad: int | None) -> str:
    """What went wrong, for the message: something in the graph before the first step, or the steps themselves."""
    if first_bad == 0:
        return f"minimize did not begin, and no Variable moved. {answers.culprit(inputs)}"
    when = "in the last step" if first_bad is None else f"at step {first_bad}"
    return f"minimize: the values left the range of numbers {when}. Take a smaller rate."


def _select_runner(
    answers: ReferenceBackend, inputs: Inputs, rule: Any, steps: int, held: list[float]
) -> _CompiledDescent | _ReferenceDescent:
    """What runs the steps: the code of the last `minimize` if the rate is the same, new code, or Python."""
    if not isinstance(answers, CompiledBackend):
        _check_leads_down(answers)
        return _ReferenceDescent(answers, inputs, rule, held)
    lowering = answers.lowering
    if lowering.ir.groups[lowering.values[0].row]:
        raise NodeError(
            "minimize makes one number small; this output has one for each sample. "
            "Gather them: Program(mean(loss), wrt=weights)."
        )
    if any(slope.lane != NONE for slope in lowering.slopes[0]):  # a weight that only one of the found samples uses
        lowering = Lowering(inputs.tables, answers.rows, answers.wrt, answers.batched, find=False)
    rate = rule if type(rule) is float else None  # a function may do something else the next time
    kept, answers.descent = answers.descent, None  # a `minimize` during this one must not share its memory
    if isinstance(kept, _CompiledDescent) and kept.rate == rate:
        kept.begin(inputs, list(dict(zip(answers.wrt, held, strict=True)).values()), steps)
        return kept
    _check_leads_down(answers)
    runner = _CompiledDescent(answers.query.engine, build_step(lowering, answers.wrt, held, rule), rate)
    runner.begin(inputs, list(runner.step.start.values()), steps)
    return runner


class _CompiledDescent:
    """The steps as machine code, or in level runs until it is compiled; weights and memories stay in its memory.

    rate: a later `minimize` with the same rate may use it again; None for a formula, which is traced anew. patience:
    how many more steps run in level runs before a background thread compiles them.
    """

    def __init__(self, engine: str | None, step: DescentStep, rate: float | None) -> None:
        self.step, self.rate, self.patience = step, rate, PATIENCE
        self.code, later = choose(step.ir, step.wanted, [*step.start], engine)
        self.coming = None if later is None else BackgroundTask(later)

    def begin(self, inputs: Inputs, start: Sequence[float], steps: int) -> None:
        """Set the inputs and the leaves' values for a `minimize` of so many steps."""
        self.inputs, self.patience = inputs, self.patience - steps
        self._set_state(self.code, start)

    def _set_state(self, code: Any, values: Sequence[float]) -> None:
        feed(code, self.inputs)
        for row, value in zip(self.step.start, values, strict=True):
            code.put(row, value)

    def run(self, history: Any) -> None:
        """Run a step for each element of `history`, and write the output before it there."""
        if self.coming is not None and self.patience <= 0 and self.coming.is_done():
            with suppress(NotCompilable):  # then level runs go on
                code = self.coming.result()
                self._set_state(code, [self.code.held(row) for row in self.step.start])
                self.code = code
            self.coming = None
        tables = self.inputs.tables
        with tables.lock, memoryview(tables.values) as view:
            self.code.repeat(view, history)

    def weight(self, row: int) -> float:
        leaf = self.step.leaf_of.get(row)
        return self.inputs.tables.values[row] if leaf is None else self.code.held(leaf)


class _ReferenceDescent:
    """The steps in Python, for operators that cannot be compiled."""

    rate: float | None = None

    def __init__(self, answers: ReferenceBackend, inputs: Inputs, rule: Any, held: list[float]) -> None:
        self.answers, self.formula, self.done = answers, formula_of(rule), 0
        memories, self.counts = memories_of(self.formula)
        weights = dict(zip(answers.wrt, held, strict=True))
        self.inputs = inputs._replace(numbers={**inputs.numbers, **weights})  # numbers go before the tables' values
        self.memory = {row: [0.0] * memories for row in answers.wrt}

    def run(self, history: Any) -> None:
        history[:] = [self._step() for _ in range(len(history))]

    def _step(self) -> float:
        values, slopes, _ = self.answers(self.inputs)
        time = {"t": float(self.done + 1)} if self.counts else {}
        results = {
            row: apply_formula(self.formula, [self.inputs.numbers[row], slope, *self.memory[row]], time)
            for row, slope in zip(self.answers.wrt, slopes[0].tolist(), strict=True)
        }
        checked = {row: [number(value, FORMULA) for value in numbers] for row, numbers in results.items()}
        for row, (weight, *memory) in checked.items():
            self.inputs.numbers[row], self.memory[row] = weight, memory
        self.done += 1
        return float(values[0])

    def weight(self, row: int) -> float:
        return self.inputs.numbers[row]
