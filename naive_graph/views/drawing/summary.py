"""The scene of a large graph in few boxes: equivalent nodes share one, and a loop is drawn once in a frame.

summarize.py finds what is equivalent and what is a loop; here its parts become boxes with names, counts and arrows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from ...core.tables import Tables
from .folding import Folder
from .live_graph import MOST_ALIVE
from .scene import FOLLOWED, KIND_NAMES, SCREENFUL, Arrow, Box, DrawOptions, Scene, drawn_operands, node_box, scope_box
from .summarize import SummaryPart, count_arrows, summarize

NEXT = " (to the next step)"  # behind the title of a box whose value the next pass of its loop uses


def summary_scene(tables: Tables, rows: Sequence[int], options: DrawOptions, most: int = SCREENFUL) -> Scene | None:
    """These rows in at most `most` boxes, with scopes folded; None if no summary is that small."""
    folder = Folder(tables, True)
    units = folder.grouped(rows)
    unit_of = {row: index for index, members in enumerate(units.values()) for row in members}
    drawn_rows, call_sites = {*rows}, dict[Hashable, Hashable]()
    boxes, parts = [], []
    for index, (name, members) in enumerate(units.items()):
        boxes.append(scope_box(folder, name, members) or node_box(tables, members[0], options, folder))
        operands = (operand for row in members for operand in drawn_operands(tables, row, drawn_rows))
        feeds = [unit_of[operand] for operand in operands if unit_of.get(operand, index) != index]
        parts.append(SummaryPart(*_part_key(tables, folder, name, members, call_sites), feeds, [index]))
    new_scene = _summarize_boxes(boxes, parts, most, len(rows), "nodes")
    if new_scene is not None:
        new_scene.box_of = {row: new_scene.box_of[unit] for row, unit in unit_of.items()}
    return new_scene


def summarize_scene(full_scene: Scene, key: Callable[[Box], Hashable], most: int = SCREENFUL) -> Scene | None:
    """Summarise a scene in at most `most` boxes; None if no summary is that small.

    full_scene: each box must come after those that feed it. key: boxes with equal keys may be merged.
    """
    index_of = {box.id: index for index, box in enumerate(full_scene.boxes)}
    feeds: dict[int, list[int]] = defaultdict(list)
    for arrow in full_scene.arrows:
        feeds[index_of[arrow.target]].append(index_of[arrow.source])
    parts = [
        SummaryPart((key(box), box.scope), "", feeds[index], [index]) for index, box in enumerate(full_scene.boxes)
    ]
    boxes = [replace(box, facts={"first": box.facts.get("first", box.id)}) for box in full_scene.boxes]
    return _summarize_boxes(boxes, parts, most, len(parts), "boxes")


def _summarize_boxes(boxes: Sequence[Box], parts: list[SummaryPart], most: int, total: int, what: str) -> Scene | None:
    """Merge boxes into at most `most`; None if that is impossible.

    parts: the parts to summarise, of each box one. total, what: the size of the graph for the caption, 500 "nodes".
    """
    summarized = summarize(parts, most)
    if summarized is None:
        return None
    parts, classes, counts = summarized
    loop = ", and what is repeated is drawn once" if counts else ""
    caption = (
        f"{total:,} {what}: those that are computed alike stand in one box with their count{loop}. "
        "See the part nearest the result with draw(..., most=100), or all of them with fold=False."
    )
    groups: list[list[SummaryPart]] = [[] for _ in {*classes}]
    for part, number in zip(parts, classes):
        groups[number].append(part)
    shown = [_class_box(group, boxes, counts) for group in groups]
    arrows = []
    for (source, target), count in count_arrows(parts, classes).items():
        label = f"{count:,}×" if count > 1 else ""
        label = "at first" if groups[target][0].lag else label  # it feeds the first pass of a loop
        ends = shown[source].id, shown[target].id
        arrows.append(Arrow(f"bundle-{ends[0]}-{ends[1]}", *ends, label))
    frames = {f"loop-{number}": f"{count:,} times: the last is shown" for number, count in enumerate(counts)}
    box_of = dict[int, str]()
    for part, number in zip(parts, classes):
        if not part.lag:
            box_of |= dict.fromkeys(part.members, shown[number].id)
    return Scene(shown, arrows, frames, caption, box_of=box_of)


def _class_box(group: Sequence[SummaryPart], boxes: Sequence[Box], counts: Sequence[int]) -> Box:
    """The box of equivalent parts; in a loop's body it has the numbers of the last pass.

    boxes: those that the parts' members index. counts: how often each loop runs.
    """
    part, members = group[0], [boxes[member] for same in group for member in same.members]
    last = members[len(members) // len(group) - 1]
    scope = tuple(f"loop-{frame}" for frame in part.frames)
    if part.lag:
        lag = "of the step before" if part.lag == 1 else f"of {part.lag} steps before"
        name = _common_title(members).partition(": ")[0]
        return Box(f"carried-{part.lag}-{last.id}", "carried", [name, lag], scope)
    count, first = len(group) if part.frames else len(members), members[0].facts.get("first", members[0].id)
    next_step = NEXT * part.hands_on
    if count == 1:
        facts = last.facts | ({"first": first} if len(members) > 1 else {})
        if part.frames and last.kind != "scope" and len(members) <= MOST_ALIVE:
            # For a page: its row (or box) in each pass of its loops; the outermost loop's pass varies fastest.
            facts["passes"] = " ".join(member.id.removeprefix("row-") for member in members)
            facts["counts"] = " ".join(str(counts[frame]) for frame in part.frames)
        title = _common_title(members) if last.kind == "scope" else last.lines[0]
        return replace(last, lines=[title + next_step, *last.lines[1:]], scope=scope, facts=facts)
    ids = [member.facts.get("first", member.id) for member in members[:FOLLOWED]]
    size = [f"{last.lines[-1]} each"] if last.kind == "scope" else []
    lines = [_common_title(members) + next_step, f"{count:,} alike", *size]
    return Box(last.id, last.kind, lines, scope, facts={"first": first, "alike": " ".join(ids)})


def _common_title(boxes: Sequence[Box]) -> str:
    """The title that boxes share up to digits, such as "w[…]: +"; of nameless leaves their value, or "constants"."""
    last = boxes[-1]
    titles = [box.lines[0] for box in boxes]
    if last.kind in KIND_NAMES.values() and (last.numbers == len(last.lines) or titles[-1] == "?"):
        is_one_value = last.kind == "constant" and len({*titles}) == 1
        return titles[0] if is_one_value else f"{last.kind}s"
    return common_name(titles) or titles[-1]


def _part_key(
    tables: Tables, folder: Folder, name: str, members: Sequence[int], places: dict[Hashable, Hashable]
) -> tuple[Hashable, str]:
    """The key that equivalent parts share (operator and call site), and the name without digits.

    places: the source position of each instruction, a cache that is filled in here.
    """
    scope = folder.scopes().get(name)
    if scope is not None:
        return (stem(scope.path), len(members)), ""
    row, number = members[0], tables.operators[members[0]]
    masked_name = stem(tables.name(row) or "")
    if number < 0:
        return (number, masked_name), ""
    origin = tables.origin(row)
    key = id(origin.code), origin.instruction
    if key not in places:  # one call may be made by two instructions: the interpreter replaces them as it learns
        places[key] = id(origin.code), origin.line, origin.columns
    return (number, places[key]), masked_name


def stem(name: str) -> str:
    """A name with its numbers masked.

    >>> stem("w[0,12]"), stem("cell 3")
    ('w[…,…]', 'cell …')
    """
    return re.sub(r"\d+", "…", name)


def common_name(names: Iterable[str]) -> str:
    """The names' common form: numbers in which they differ are masked; "" if they differ in more.

    >>> common_name(["W1[0,0]", "W1[0,1]"]), common_name(["y0"]), common_name(["a", "b"])
    ('W1[0,…]', 'y0', '')
    """
    first, *others = [re.split(r"(\d+)", name) for name in dict.fromkeys(names)]
    for other in others:
        if len(other) != len(first) or other[::2] != first[::2]:
            return ""
        first = [one if one == part else "…" for one, part in zip(first, other)]
    return "".join(first)
