"""The scene of a large graph: one box for equivalent nodes, one frame for a loop (see summarize.py)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from ...core.rules import BY_NUMBER
from ...core.tables import CONSTANT, Tables
from ..theme import format_number
from .folding import Folder
from .live_graph import MOST_ALIVE
from .scene import FOLLOWED, KIND_NAMES, SCREENFUL, Arrow, Box, DrawOptions, Scene, node_box, operator_symbol
from .summarize import Summary, SummaryPart, summarize
from .text_metrics import visible

NEXT = " (to the next step)"


def summary_scene(tables: Tables, rows: Sequence[int], options: DrawOptions, most: int = SCREENFUL) -> Scene | None:
    """The graph in at most so many boxes, its scopes folded; None where that is not to be had."""
    folder = Folder(tables, True)
    boxes = folder.grouped(rows)
    names = list(boxes)
    unit_of = {row: unit_index for unit_index, name in enumerate(names) for row in boxes[name]}
    drawn_rows = {*rows}
    call_sites: dict[Hashable, Hashable] = {}
    parts = []
    for unit, name in enumerate(names):
        operands = chain.from_iterable(unmerged_operands(tables, row, drawn_rows) for row in boxes[name])
        feeds = [unit_of[operand] for operand in operands if operand in drawn_rows]
        parts.append(
            SummaryPart(
                *_part_key(tables, folder, name, boxes[name], call_sites),
                [feed for feed in feeds if feed != unit],
                [unit],
            )
        )
    summary = summarize(parts, most)
    if summary is None:
        return None
    groups = summary.groups()
    units = [[boxes[names[member]] for part in group for member in part.members] for group in groups]
    new_scene = _assemble_scene(
        summary,
        [
            _class_box(tables, folder, options, group, of_group, summary.counts)
            for group, of_group in zip(groups, units)
        ],
        len(rows),
        "nodes",
    )
    ids = [box.id for box in new_scene.boxes]
    box_of_unit: dict[int, str] = {}
    for part, number in zip(summary.parts, summary.classes):
        if not part.lag:
            box_of_unit |= dict.fromkeys(part.members, ids[number])
    new_scene.box_of = lambda row: box_of_unit[unit_of[row]] if row in unit_of else ""
    return new_scene


def summarize_scene(full_scene: Scene, key: Callable[[Box], Hashable], most: int = SCREENFUL) -> Scene | None:
    """A scene in at most so many boxes; None where that is not to be had. key: what boxes that are alike share.

    Boxes come after those that feed them.
    """
    index_of = {box.id: index for index, box in enumerate(full_scene.boxes)}
    feeds: dict[int, list[int]] = defaultdict(list)
    for arrow in full_scene.arrows:
        feeds[index_of[arrow.target]].append(index_of[arrow.source])
    parts = [
        SummaryPart((key(box), box.scope), "", feeds[index], [index]) for index, box in enumerate(full_scene.boxes)
    ]
    summary = summarize(parts, most)
    if summary is None:
        return None
    boxes = []
    for group in summary.groups():
        members = [full_scene.boxes[member] for part in group for member in part.members]
        part, last = group[0], members[len(members) // len(group) - 1]
        scope = tuple(f"loop-{frame}" for frame in part.frames)
        count = len(group) if part.frames else len(members)
        counts = [summary.counts[frame] for frame in part.frames] if count == 1 else []
        title = last.lines[0]
        if count > 1 or part.lag:
            title = common_name([member.lines[0] for member in members]) or title
        if part.lag:
            box = Box(f"carried-{part.lag}-{last.id}", "carried", [title, _lag_text(part.lag)], scope)
        else:
            lines = [title + NEXT * part.hands_on, *(last.lines[1:] if count == 1 else [f"{count:,} alike"])]
            facts = {"first": members[0].id, **_pass_attributes([member.id for member in members], counts)}
            box = replace(last, lines=lines, said=", ".join(lines), scope=scope, facts=facts)
            box.grid = last.grid if count == 1 else None
        boxes.append(box)
    return replace(_assemble_scene(summary, boxes, len(parts), "boxes"), title=full_scene.title)


def unmerged_operands(tables: Tables, row: int, drawn: set[int]) -> list[int]:
    """The operands before sums and products were merged: a merged operand that is drawn stands for its own terms."""
    tails: list[list[int]] = []
    operands = tables.own_sources(row)
    while operands and operands[0] < 0:
        tails.append(operands[1:])
        taken = ~operands[0]
        operands = [taken] if taken in drawn else tables.own_sources(taken)
    for tail in reversed(tails):
        operands.extend(tail)
    return operands


def _assemble_scene(summary: Summary, boxes: list[Box], total: int, what: str) -> Scene:
    """The scene of these boxes, one for each class, with bundled arrows and a frame for each loop."""
    loop = ", and what is repeated is drawn once" if summary.counts else ""
    caption = (
        f"{total:,} {what}: those that are computed alike stand in one box with their count{loop}. "
        "See the part nearest the result with draw(..., most=100), or all of them with fold=False."
    )
    begins = {number for part, number in zip(summary.parts, summary.classes) if part.lag}
    arrows = []
    for (source, target), count in summary.arrows().items():
        label = f"{count:,}×" if count > 1 else ""
        if target in begins:
            label = "at first"
        ends = boxes[source].id, boxes[target].id
        arrows.append(Arrow(f"bundle-{ends[0]}-{ends[1]}", *ends, label))
    frames = {f"loop-{number}": f"{count:,} times: the last is shown" for number, count in enumerate(summary.counts)}
    return Scene(boxes, arrows, frames, caption)


def _lag_text(lag: int) -> str:
    return "of the step before" if lag == 1 else f"of {lag} steps before"


def _part_key(
    tables: Tables, folder: Folder, name: str, members: Sequence[int], places: dict[Hashable, Hashable]
) -> tuple[Hashable, str]:
    """The key that equivalent parts share (operator and call site), and the name without digits.

    places: source position of each instruction, filled in here.
    """
    scope = folder.scopes().get(name)
    if scope is not None:
        return (stem(scope.path), len(members)), ""
    row, number = members[0], tables.operators[members[0]]
    called = stem(tables.name(row) or "")
    if number < 0:
        return (number, called), ""
    origin = tables.origin(row)
    key = id(origin.code), origin.instruction
    if key not in places:  # one call may be made by two instructions: the interpreter replaces them as it learns
        places[key] = id(origin.code), origin.line, origin.columns
    return (number, places[key]), called


def _class_box(
    tables: Tables,
    folder: Folder,
    wishes: DrawOptions,
    group: Sequence[SummaryPart],
    units: Sequence[Sequence[int]],
    counts: Sequence[int],
) -> Box:
    """The box of what is alike; of a body with the numbers of the last pass. counts: how often each loop runs."""
    part, rows = group[0], [unit[0] for unit in units]
    scope = tuple(f"loop-{frame}" for frame in part.frames)
    shown_row = rows[len(rows) // len(group) - 1]  # in the last pass of a loop
    one = len(group) == 1 and folder.box(shown_row).startswith("row-")
    if part.lag:
        called = _find_common_name(tables, folder, [shown_row] if one else rows)
        lines = [called.partition(": ")[0], _lag_text(part.lag)]
        return Box(f"carried-{part.lag}-{folder.box(shown_row)}", "carried", lines, scope)
    if one and (len(rows) == 1 or part.frames):
        box = node_box(tables, shown_row, wishes, folder)
        own_counts = [counts[frame] for frame in part.frames]
        facts = {**box.facts, **_pass_attributes(rows, own_counts)}
        if own_counts:
            facts["first"] = f"row-{rows[0]}"
        lines = [f"{box.lines[0]}{NEXT}", *box.lines[1:]] if part.hands_on else box.lines
        return replace(box, lines=lines, scope=scope, facts=facts)
    count = len(group) if part.frames else len(rows)
    lines = [_find_common_name(tables, folder, rows) + NEXT * part.hands_on]
    lines += [f"{count:,} alike"] * (count > 1)
    kind = KIND_NAMES.get(tables.operators[rows[0]], "operator")
    if not folder.box(shown_row).startswith("row-"):
        kind, size = "scope", len(units[0])
        lines.append(f"{size:,} nodes each" if count > 1 else f"{size:,} nodes")
    facts = {"count": str(count), "first": f"row-{rows[0]}", "alike": _row_ids(rows)}
    return Box(folder.box(shown_row), kind, lines, scope, facts=facts)


def _pass_attributes(members: Sequence[object], counts: Sequence[int]) -> dict[str, str]:
    """For a page, of a node in a loop's body: its row, or its box, in each pass; counts: of the loops around it.

    The outermost loop's pass changes fastest from member to member.
    """
    if not counts or len(members) > MOST_ALIVE:
        return {}
    return {"passes": " ".join(map(str, members)), "counts": " ".join(map(str, counts))}


def _row_ids(rows: Sequence[int]) -> str:
    return " ".join(f"row-{row}" for row in rows[:FOLLOWED])


def _find_common_name(tables: Tables, folder: Folder, rows: Sequence[int]) -> str:
    """A title for several nodes or scopes: the name they share up to digits, their operator, or their common value."""
    scope = folder.closed(tables.scope(rows[0]))
    if scope is not None:
        return visible(common_name([folded.name for row in rows if (folded := folder.closed(tables.scope(row)))]))
    number = tables.operators[rows[0]]
    name = visible(common_name([tables.name(row) or "" for row in rows]))
    if number >= 0:
        return f"{name}: {operator_symbol(BY_NUMBER[number])}" if name else operator_symbol(BY_NUMBER[number])
    values = {tables.value(row) for row in rows} if number == CONSTANT else set()
    value = next(iter(values)) if len(values) == 1 else None
    return name or (format_number(value) if value is not None else f"{KIND_NAMES[number]}s")


def stem(name: str) -> str:
    """A name without its numbers.

    >>> stem("w[0,12]"), stem("cell 3")
    ('w[…,…]', 'cell …')
    """
    return re.sub(r"\d+", "…", name)


def common_name(names: Iterable[str]) -> str:
    """The names' common form: numbers in which they differ are left out.

    >>> common_name(["W1[0,0]", "W1[0,1]"]), common_name(["y0"]), common_name(["a", "b"])
    ('W1[0,…]', 'y0', '')
    """
    first, *others = [re.split(r"(\d+)", name) for name in dict.fromkeys(names)]
    for other in others:
        if len(other) != len(first) or other[::2] != first[::2]:
            return ""
        first = [one if one == part else "…" for one, part in zip(first, other)]
    return "".join(first)
