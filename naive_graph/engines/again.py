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

from .llvm.entry import batch, feeder, runner, singles
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
    alone = single and scalars == len(answers.asked)
    run, kept = runner(
        code.library, "run.packed", code.packed, code.out, 0 if alone else scalars, scalars, _is_short(answers)
    )
    held.append(kept)
    if not alone:
        copies = answers.copies() if single else None
        way = _many(answers, run, fit, samples, single, held) if copies is None else _copied(run, fit, copies, held)
    else:
        way = _alone(run, fit, code.out[1:scalars].copy if scalars > 1 else list, held)
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
    return lines, [batch(size, samples, lines.shape[1], [line_of.get(row, -1) for row in rows]) for size, rows in each]


# `held` keeps the memory whose addresses machine code has.


def _alone(run: Any, fit: Any, copy: Any, held: Any) -> Again:
    """One output, and what copies its gradient: `list` where there is none."""

    def again(*inputs: Any) -> Found | None:
        if fit(*inputs):
            value = run()
            if value == value:
                return value, copy()
        return None

    again.held = held  # type: ignore[attr-defined]
    return again


def _copied(run: Any, fit: Any, copies: Sequence[Callable[[], Any]], held: Any) -> Again:
    """One output that has one for each sample, as have all slopes, and machine code finds out if all are finite."""
    value, slopes = (*copies, list)[:2]  # `list` gives the gradient of nothing

    def again(*inputs: Any) -> Found | None:
        if fit(*inputs) and run() == 0.0:
            return value(), slopes()
        return None

    again.held = held  # type: ignore[attr-defined]
    return again


def _many(answers: ByMachine, run: Any, fit: Any, samples: int, single: bool, held: Any) -> Again:
    """Several outputs, or results that have one for each sample."""

    def again(*inputs: Any) -> Found | None:
        if not fit(*inputs) or run() != 0.0:
            return None
        values, slopes, finite = answers.found(True, samples)
        if not finite:
            return None
        if single:
            return values[0], slopes[0] if slopes else []
        return values, slopes

    again.held = held  # type: ignore[attr-defined]
    return again
