"""What the passes did, in words and numbers."""

from __future__ import annotations

from typing import Any

from ..llvm.typed import LANES
from .flat import Flat
from .loops import Bodies
from .lowering import PASSES, Lowering, PassResult
from .memory import FLOAT
from .runs import Runs
from .sections import Section
from .tape import Tape
from .tiles import DenseTile, Outer

SAID = {"plan": "the rows that the results depend on", **{each.name: each.said for each in PASSES}}


def report(lowering: Lowering, tape: Any, times: bool = True) -> str:
    """A table of the passes, then what the machine will do. times: with how long each pass took."""
    lines = [_line("pass", "rows", "ms" if times else None, "what it did")]
    for stage in lowering.stages:
        took = f"{stage.seconds * 1e3:.2f}" if times else None
        lines.append(_line(stage.name, str(stage.size), took, f"{SAID[stage.name]}{_more(stage)}"))
    if not isinstance(tape, Tape):
        return "\n".join([*lines, *tape.explain()])
    return "\n".join([*lines, *_tape(lowering.flat, tape)])


def _line(name: str, rows: str, took: str | None, said: str) -> str:
    return f"{name:<8} {rows:>8} {'' if took is None else f'{took:>8} '} {said}"


def _more(stage: PassResult) -> str:
    if stage.name == "lanes":
        found = ", ".join(f"{count} samples" for count in stage.samples[1:])
        return f": {found}" if found else ": none found"
    return f": {stage.dots}" if stage.name == "dots" else ""


def _tape(flat: Flat, tape: Tape) -> list[str]:
    lines = []
    for section in tape.sections:
        if section.group == 0:
            lines += _scalars(section, tape.runs[section.stage])
        else:
            lines.append(_lanes(flat, tape, section))
    return [*lines, _bound(flat, tape)]


def _scalars(section: Section, parts: list[Runs | Bodies]) -> list[str]:
    found = [each for each in parts if isinstance(each, Bodies)]
    many = sum(len(each.starts) - 1 for each in parts if not isinstance(each, Bodies))
    looped = "".join(f", and a body of {each.size} rows {len(each.taken)} times" for each in found)
    return [f"scalars: {len(section.rows)} rows in {many} runs{looped}"]


def _lanes(flat: Flat, tape: Tape, section: Section) -> str:
    steps = tape.steps[section.stage, section.group]
    dense = [step for step in steps if isinstance(step, DenseTile)]
    outer = [step for step in steps if isinstance(step, Outer)]
    layers = ", ".join(f"{len(each.inputs)} -> {len(each.outputs)}" for each in dense)
    grids = ", ".join(f"{len(each.lefts)} x {len(each.rights)}" for each in outer)
    group = section.group
    slots = tape.most_slots[group]
    count, half, width, *_ = tape.places[group]
    cut = "two halves and " if half < count else ""
    return (
        f"lanes: {count} samples in {cut}blocks of {width}; {len(section.rows)} rows in {len(steps)} steps"
        f"{_counted(len(dense), 'dense tile', layers)}{_counted(len(outer), 'outer product', grids)}"
        f"; {slots} slots, {slots * width * FLOAT / 1024:.0f} KB"
    )


def _counted(count: int, what: str, sizes: str) -> str:
    """How many there are of something, and how large they are; nothing if there are none.

    >>> _counted(2, "dense tile", "3 -> 4, 4 -> 1")
    '; 2 dense tiles (3 -> 4, 4 -> 1)'
    """
    return f"; {count} {what}{'s' if count > 1 else ''} ({sizes})" if count else ""


def multiply_adds(flat: Flat, samples: list[int]) -> int:
    """How many multiplications and additions a run makes, a product and its addition counted once."""
    total = 0
    for row in range(len(flat)):
        degree = int(flat.starts[row + 1] - flat.starts[row])
        groups = [int(flat.groups[each]) for each in flat.of(row) if each >= 0]
        group = max([int(flat.groups[row]), *groups])
        total += max(degree // 2, 1 if degree else 0) * (samples[group] if group else 1)
    return total


def _bound(flat: Flat, tape: Tape) -> str:
    work = multiply_adds(flat, tape.samples)
    size = sum(each.nbytes for each in (tape.code, tape.index, tape.scalars, tape.lanes, tape.feed_room))
    fast = 2 * LANES
    least = f"at {fast} a nanosecond, {work / fast / 1e3:.2f} us at the least"
    return f"{work} multiply-adds a run, {size / 1024:.0f} KB in all: {least}"
