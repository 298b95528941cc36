"""How the values and derivatives that a query asks for are found in the memory of a finished run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ..engines.tape.flat import NONE, Flat, Sample
from .inputs import as_slice

Pick = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class ResultSlice:
    """Results that lie side by side in memory: scalars (group 0), or whole lines of a group of samples."""

    group: int
    where: slice

    def view(self, out: Any, tape: Any) -> Any:
        return (tape.out_lines(self.group) if self.group else out)[self.where]

    def __call__(self, out: Any, tape: Any) -> Any:
        return self.view(out, tape).copy()


def picks(flat: Flat, tape: Any, asked: list[Sample], outputs: int, width: int) -> list[Pick]:
    """Functions that take the outputs' values, and then each output's slopes, out of a tape's results."""
    places = list(accumulate((int(flat.groups[at.row] == 0) for at in asked), initial=0))
    bounds = [(0, outputs), *((outputs + k * width, outputs + (k + 1) * width) for k in range(outputs if width else 0))]
    return [_pick(flat, tape, asked[first:last], places[first:last]) for first, last in bounds]


def for_each(slopes: Any, fed: list[bool], samples: int) -> Any:
    """The slopes, spread over the samples where a PlaceHolder of a batch has the same slope in each."""
    if isinstance(slopes, np.ndarray) and slopes.ndim > 1:
        return slopes
    entries = [
        x if np.ndim(x) else np.full(samples, x) if each else float(x)
        for x, each in zip(slopes, fed, strict=True)
    ]  # fmt: skip
    return np.array(entries) if all(map(np.ndim, entries)) else entries


def _pick(flat: Flat, tape: Any, asked: list[Sample], places: list[int]) -> Pick:
    groups = {int(flat.groups[at.row]) for at in asked}
    lanes = {at.lane == NONE for at in asked}
    if groups == {0}:
        return ResultSlice(0, slice(places[0], places[-1] + 1))
    many = [at.row for at in asked if flat.groups[at.row]]
    leaf = any(flat.starts[row] == flat.starts[row + 1] for row in many)  # what was fed is nowhere exported
    if leaf and len(asked) == 1:
        (at,) = asked
        fed = slice(None) if at.lane == NONE else slice(at.lane, at.lane + 1)
        return lambda out, tape: tape.lanes_of(at.row)[fed].copy().reshape((1, -1) if at.lane == NONE else -1)
    if not leaf and len(groups) == 1 and lanes == {True}:
        (group,) = groups
        some = as_slice([tape.exported[group].index(at.row) for at in asked])
        return ResultSlice(group, some) if isinstance(some, slice) else lambda out, tape: tape.out_lines(group)[some]
    if not leaf and all(at.lane != NONE or not flat.groups[at.row] for at in asked):
        return _numbers(flat, tape, asked, places)
    singles = [_pick(flat, tape, [at], [place]) for at, place in zip(asked, places, strict=True)]

    def together(out: Any, tape: Any) -> Any:
        entries = [_alone(single(out, tape)) for single in singles]
        return np.array(entries) if all(isinstance(each, float) for each in entries) else entries

    return together


def _numbers(flat: Flat, tape: Any, asked: list[Sample], places: list[int]) -> Pick:
    """A function that collects numbers of which some are scalars, and some single samples of a group's lines."""
    line_of = {group: {row: line for line, row in enumerate(rows)} for group, rows in tape.exported.items()}
    spread: dict[int, list[tuple[int, int, int]]] = {}
    for k, (at, place) in enumerate(zip(asked, places, strict=False)):
        group = int(flat.groups[at.row])
        spread.setdefault(group, []).append((k, line_of[group][at.row], at.lane) if group else (k, place, 0))
    columns = [(group, *np.array(found).T) for group, found in spread.items()]

    def numbers(out: Any, tape: Any) -> Any:
        found = np.empty(len(asked))
        for group, where, lines, lanes in columns:
            found[where] = tape.out_lines(group)[lines, lanes] if group else out[lines]
        return found

    return numbers


def whole_groups(flat: Flat, asked: list[Sample]) -> list[int] | None:
    """The groups whose lines are handed out whole; None if only parts of some are, or something that was fed."""
    lanes = [at for at in asked if flat.groups[at.row]]
    if any(at.lane != NONE or flat.starts[at.row] == flat.starts[at.row + 1] for at in lanes):
        return None
    return sorted({int(flat.groups[at.row]) for at in lanes})


def all_finite(found: Any) -> bool:
    if not isinstance(found, np.ndarray):
        return all(map(all_finite, map(np.asarray, found)))
    return bool(np.isfinite(found).all())


def _alone(found: Any) -> Any:
    """The only entry of what was found: a float, or an array with one for each sample."""
    return float(found[0]) if found.ndim == 1 else found[0]


def as_list(found: Any) -> list[Any]:
    """The outputs' values as a list of floats, or of arrays with one for each sample."""
    return found.tolist() if found.ndim == 1 else list(found)
