"""The short way of a Program: a question asked again is run at once, for what was checked still holds.

    unfed   run, copy the results
    fed     copy the numbers or batches to where the tape reads them, run, copy the results

A Program takes it while its graph stays as it was, for questions of the same
form as the last two. Whatever does not fit, or has a result that is infinite or
NaN, is left to the long way, which says what is wrong.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .given import as_slice
from .questions import ByMachine

Found = tuple[Any, Any]
Again = Callable[..., Found | None]
PLAIN = (np.dtype(np.float64), np.dtype(np.float32))  # each number of either is a float64
AGE = "age"  # among what was derived from the tables: an object that is there until they change


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
    fit: Any = _no_inputs
    if plain:
        if answers.feeds.moving:
            return never
        fit = _floats(answers, inputs)
    elif inputs:
        fit = _arrays([*(_lines if answers.batched else _numbers)(answers, samples, inputs)])
    parts = answers.parts()
    groups = {part.group for part in parts if part.group} if parts is not None else set()
    way: Again
    if parts is not None and len(groups) < 2:
        run = _runner(answers, *(code.out_lines(group) for group in groups))
        way = _copied(run, fit, [part.view(code.out, code) for part in parts], single)
    else:
        way = _many(answers, _runner(answers), fit, samples, single)
    return way if answers.stays else _counted(answers, way)


def _counted(answers: ByMachine, way: Again) -> Again:
    """The way for as long as the tape is to run; then the long way moves to straight-line code."""

    def again(*inputs: Any) -> Found | None:
        if answers.patience <= 1:
            return None
        found = way(*inputs)
        if found is not None:
            answers.patience -= 1
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


def _runner(answers: ByMachine, lines: Any = None) -> Callable[[], bool]:
    """A function that runs the code, and says whether all results are finite.

    The place behind the scalars of `out` is 0.0 where those are; lines are more results, to be looked at here.
    """
    code, amiss = answers.tape, answers.scalars
    function, packed, item = code.library.function("run.packed", None, [ctypes.c_void_p]), code.packed, code.out.item

    def run() -> bool:
        function(packed)
        return item(amiss) == 0.0 and (lines is None or bool(np.isfinite(lines).all()))

    return run


def _can_be_fed(answers: ByMachine, inputs: Sequence[Any]) -> bool:
    """Whether all that may change, besides the Variables that are loaded in any case, is among the inputs."""
    fed = {row for each in inputs for row in (each if isinstance(each, tuple) else (each,))}
    feeds = answers.feeds
    moving = [getattr(source, "row", None) for _, _, sources in feeds.moving for source in sources]
    return fed.issuperset([*answers.placeholders, *(row for _, row in feeds.numbers), *moving])


Copy = tuple[Any, Any, Any]  # (a tape's array, where in it, where in the array that is given)


def _arrays(copies: Sequence[tuple[tuple[int, ...], list[Copy]]]) -> Callable[..., bool]:
    """Whether arrays of these shapes are given; they are copied to where they are read.

    Only NumPy's own class of arrays is taken: a kind of it, as a masked array, may mean other numbers than it holds.
    """

    def fit(*given: Any) -> bool:
        if len(given) != len(copies):
            return False
        for array, (shape, _) in zip(given, copies, strict=True):
            if type(array) is not np.ndarray or array.dtype not in PLAIN or array.shape != shape:
                return False
        for array, (_, moved) in zip(given, copies, strict=True):
            for to, where, places in moved:
                to[where] = array[places].T
        return True

    return fit


def _lines(answers: ByMachine, samples: int, inputs: Sequence[Any]) -> Iterator[tuple[tuple[int, ...], list[Copy]]]:
    """Batches: the shape of each, and how its columns become lines. Lanes beyond the last sample repeat it."""
    lines, line_of = answers.tape.feeds[1], answers.feeds.line_of
    parts: list[tuple[Any, Any]] = [(lines[:, :samples], slice(None))]
    if lines.shape[1] > samples:
        parts.append((lines[:, samples:], slice(samples - 1, None)))
    for rows in inputs:
        single = not isinstance(rows, tuple)
        each = (rows,) if single else rows
        read = [column for column, row in enumerate(each) if row in line_of]
        where, columns = as_slice([line_of[each[column]] for column in read]), as_slice(read)
        copies = [(to, where, those if single else (those, columns)) for to, those in parts if read]
        yield (samples,) if single else (samples, len(rows)), copies


def _numbers(answers: ByMachine, samples: int, inputs: Sequence[Any]) -> Iterator[tuple[tuple[int, ...], list[Copy]]]:
    """Single numbers: how many are in each array, and where they are read."""
    feeds, tape = answers.feeds, answers.tape
    for rows in inputs:
        place_of = {row: place for place, row in enumerate(rows)}
        read = [(leaf, place_of[row]) for leaf, row in feeds.numbers if row in place_of]
        copies = [(*tape.scalars_of([leaf for leaf, _ in read]), [place for _, place in read])] if read else []
        for leaf, lanes, sources in feeds.moving:
            line, last = tape.feed(leaf), tape.samples[answers.flat.groups[leaf]] - 1
            found = [(at, place_of[each.row]) for at, each in zip(lanes.tolist(), sources) if each.row in place_of]
            found += [(at, place) for k, place in found if k == last for at in range(last + 1, len(line))]
            copies += [(line, [at for at, _ in found], [place for _, place in found])] if found else []
        yield (len(rows),), copies


def _copied(run: Any, fit: Any, views: Sequence[Any], single: bool) -> Again:
    """The values, and each output's gradient, as they lie."""
    values, copies = _values(views[0], single), [each.copy for each in views[1:]]
    one = copies[0] if copies else list

    def again(*inputs: Any) -> Found | None:
        if not (fit(*inputs) and run()):
            return None
        return values(), one() if single else [copy() for copy in copies]

    return again


def _values(view: Any, single: bool) -> Callable[[], Any]:
    """What copies the outputs' values: floats, or arrays with one for each sample."""
    if single:
        return view[0].copy if view.ndim > 1 else view.item  # type: ignore[no-any-return]
    return (lambda: list(view.copy())) if view.ndim > 1 else view.tolist


def _many(answers: ByMachine, run: Any, fit: Any, samples: int, single: bool) -> Again:
    """Results that must be put together."""

    def again(*inputs: Any) -> Found | None:
        if not (fit(*inputs) and run()):
            return None
        values, slopes, finite = answers.found(True, samples)
        if not finite:
            return None
        if single:
            return values[0], slopes[0] if slopes else []
        return values, slopes

    return again
