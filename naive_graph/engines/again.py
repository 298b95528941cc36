"""The short way of a Program: a question asked again is run at once, for what was checked still holds.

    unfed   run, copy the results
    fed     copy the numbers or batches to where the tape reads them, run, copy the results

A Program takes it while its graph stays as it was, for questions of the same
form as the last two. Whatever does not fit, or has a result that is infinite or
NaN, is left to the long way, which says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .llvm.entry import feeder, runner
from .llvm.filling import NOBODY, batch, singles
from .questions import ByMachine

Found = tuple[Any, Any]
Again = Callable[..., Found | None]
AGE = "age"  # among what was derived from the tables: an object that is there until they change
SHORT = 100_000  # rows and lanes of rows; running them takes less than a thread is used to wait


def never(*inputs: Any) -> Found | None:
    """There is no short way."""
    return None


def again(answers: Any, source: int, samples: int, single: bool, inputs: Sequence[Any], plain: bool = False) -> Again:
    """The short way of a question that was just answered.

    source: the address of the graph's values, where they will stay. single:
    whether the one output is to be given, not a list. inputs: for each array
    that is fed the row of its PlaceHolder, or those of its columns: all are
    batches, or all are single numbers in a row. plain: whether they are floats,
    each by itself.
    """
    if not isinstance(answers, ByMachine) or not _can_be_fed(answers, inputs):
        return never
    code = answers.tape
    code.set_source(source)
    scalars = answers.scalars
    fit: Any = _no_inputs
    held: list[Any] = [answers]
    if plain:
        if answers.feeds.moving:
            return never
        fit = _floats(answers, inputs)
    elif inputs:
        made = feeder(*_arrays(answers, samples, inputs))
        if made is None:
            return never
        fit = made[0]
        held.append(made)
    running, parts = (code.library, "run.packed", code.packed, code.out), answers.parts()
    groups = {part.group for part in parts if part.group} if parts is not None else set()
    unchecked = set() if answers.is_checked else groups
    short = _is_short(answers)
    if single and scalars == len(answers.asked):
        run, kept = runner(*running, 0, scalars, short)
        way = _alone(run, fit, code.out[1:scalars].copy if scalars > 1 else list, held)
    elif parts is not None and len(unchecked) < 2:
        run, kept = runner(*running, scalars, scalars, short, *map(code.out_lines, unchecked))
        way = _copied(run, fit, [part.view(code.out, code) for part in parts], single, held)
    else:
        run, kept = runner(*running, scalars, scalars, short)
        way = _many(answers, run, fit, samples, single, held)
    held.append(kept)
    return way if answers.stays else _counted(answers, answers.cost(samples), way)


def _counted(answers: ByMachine, cost: int, way: Again) -> Again:
    """The way for as long as the tape is to run; then the long way moves to straight-line code."""

    def again(*inputs: Any) -> Found | None:
        if answers.patience <= cost:
            return None
        found = way(*inputs)
        if found is not None:
            answers.patience -= cost
        return found

    return again


def _no_inputs(*inputs: Any) -> bool:
    return not inputs


def _floats(answers: ByMachine, inputs: Sequence[int]) -> Callable[..., bool]:
    """Whether as many floats are given; they are put where they are read."""
    put, count = answers.tape.put, len(inputs)
    places = [[leaf for leaf, source in answers.feeds.numbers if source == row] for row in inputs]

    def fit(*given: Any) -> bool:
        if len(given) != count:
            return False
        for value, leaves in zip(given, places, strict=True):
            if type(value) is not float:
                return False
            for leaf in leaves:
                put(leaf, value)
        return True

    return fit


def _is_short(answers: ByMachine) -> bool:
    """Whether a run takes so little time that other threads may wait for it."""
    flat, samples = answers.flat, np.array(answers.tape.samples)
    return len(flat) <= SHORT and int(samples[flat.groups].sum()) <= SHORT


def _can_be_fed(answers: ByMachine, inputs: Sequence[Any]) -> bool:
    """Whether all that may change, besides the Variables that are loaded in any case, is among the inputs."""
    fed = {row for each in inputs for row in (each if isinstance(each, tuple) else (each,))}
    feeds = answers.feeds
    moving = [getattr(source, "row", None) for _, _, sources in feeds.moving for source in sources]
    return fed.issuperset([*answers.placeholders, *(row for _, row in feeds.numbers), *moving])


def _arrays(answers: ByMachine, samples: int, inputs: Sequence[Any]) -> tuple[Any, list[list[int]]]:
    """Where the inputs are read: the tape's lines, and the words of each array."""
    tape = answers.tape
    if not answers.batched:
        places = answers.feeds.places()
        return tape.out, [  # there are no lines: every number has an address of its own
            singles(len(rows), [(at, k) for k, row in enumerate(rows) for at in places.get(row, ())]) for rows in inputs
        ]
    lines, line_of = tape.feed_lines(1), answers.feeds.line_of
    each = [(2, rows) if isinstance(rows, tuple) else (1, (rows,)) for rows in inputs]
    return lines, [
        batch(size, samples, lines.shape[1], [line_of.get(row, NOBODY) for row in rows]) for size, rows in each
    ]


def _holding(way: Again, held: Any) -> Again:
    """The way, which keeps the memory alive whose addresses its machine code has.

    An attribute of the function costs a call nothing; a class with a `__call__` took 5 % longer.
    """
    way.held = held  # type: ignore[attr-defined]
    return way


def _alone(run: Any, fit: Any, copy: Any, held: Any) -> Again:
    """One output, and what copies its gradient: `list` where there is none."""

    def again(*inputs: Any) -> Found | None:
        if fit(*inputs):
            value = run()
            if value == value:
                return value, copy()
        return None

    return _holding(again, held)


def _copied(run: Any, fit: Any, views: Sequence[Any], single: bool, held: Any) -> Again:
    """The values, and each output's gradient, as they lie."""
    values, copies = _values(views[0], single), [each.copy for each in views[1:]]
    one = copies[0] if copies else list

    def again(*inputs: Any) -> Found | None:
        if not fit(*inputs) or run() != 0.0:
            return None
        return values(), one() if single else [copy() for copy in copies]

    return _holding(again, held)


def _values(view: Any, single: bool) -> Callable[[], Any]:
    """What copies the outputs' values: floats, or arrays with one for each sample."""
    if single:
        return view[0].copy if view.ndim > 1 else view.item  # type: ignore[no-any-return]
    return (lambda: list(view.copy())) if view.ndim > 1 else view.tolist


def _many(answers: ByMachine, run: Any, fit: Any, samples: int, single: bool, held: Any) -> Again:
    """Results that must be put together."""

    def again(*inputs: Any) -> Found | None:
        if not fit(*inputs) or run() != 0.0:
            return None
        values, slopes, finite = answers.found(True, samples)
        if not finite:
            return None
        if single:
            return values[0], slopes[0] if slopes else []
        return values, slopes

    return _holding(again, held)
