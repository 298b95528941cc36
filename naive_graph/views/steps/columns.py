"""Pack recorded sweeps for the browser's stepper: the events of each kind of run once, of each run its numbers.

A training loop runs one plan many times: the same events with other numbers. So the events are sent once, as a
*pattern*, and of each run only its numbers. Contributions (`incoming * partial`) and gradients (their sums) are not
sent at all: the browser computes them.
"""

from __future__ import annotations

import linecache
import re
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from typing import Any

from ...core.progress import with_progress
from ...core.rules import RULES
from ...errors import NaiveGraphError
from ...graph.node_factory import handle
from ..assets import page_translations, translate_page_text
from ..drawing.draw import LARGEST
from ..drawing.live_graph import rules_to_javascript
from ..drawing.picture import Picture
from ..drawing.scene import GRAD_ROOM, READABLE, VALUE_ROOM, DrawOptions, operator_symbol, with_numbers
from ..drawing.summary import summary_scene
from ..drawing.svg import drawing_for_page
from ..plots.surface import Surface, contour_levels, spread, window
from . import describe
from .mathml import mathml
from .packing import StepperPayload, pack_blob, plan_columns
from .recording import BACKWARD, FORWARD, KINDS, TANGENT, UPDATE, Participants, Run, State

MOST_FOLDED = 5000  # nodes of the largest graph that is drawn whole if it has scopes to fold
MOST_LINES = 400  # lines that are sent of each file of the learner's program
GRID = 40  # points along each side of a loss surface
LETTERS, RESULTS = "abcdeghkpqrsuvwαβγδεζηθ", "yztω"  # of a rule's formula: for operands, and for the result


class PayloadBuilder:
    """Serialises one walk: the header, and columns of numbers. A *cast* is the nodes of one plan, its Participants."""

    def __init__(self, runs: Sequence[Run], title: str) -> None:
        self.runs = runs
        self.casts = list(dict.fromkeys(run.cast for run in runs))
        self.number_of = {cast: number for number, cast in enumerate(self.casts)}
        self.kinds: dict[str, int] = {}
        self.origins: dict[tuple[int, int], int] = {}
        self.places: list[list[Any]] = []  # of origins: file, line, columns
        self.files: dict[str, int] = {}
        self.title = title or describe.walk_title(self.casts)

    def walk(self) -> StepperPayload:
        header: dict[str, Any] = {"title": self.title, "tongue": page_translations()}
        header["words"] = {name: translate_page_text(text) for name, text in describe.WORDS.items()}
        header["casts"] = list(map(self._cast, self.casts))
        header |= self._pack_runs()
        header["signs"] = {name: operator_symbol(RULES[name]) for name in self.kinds if name in RULES}
        header |= {"kinds": list(self.kinds), "kind_names": KINDS, "origins": self.places, "files": self._files()}
        header["heading"] = describe.walk_heading(self.casts)
        header["surface"] = compute_surface(self.runs)
        first = self.casts[0] if self.casts and self.casts[0].is_there() else None
        still = self._static_preview(first) if first and len(first.rows) <= LARGEST else None
        script = recompute_script(self.runs)
        return StepperPayload(pack_blob(header), self.title, sum(map(len, self.runs)), still, script)

    def _static_preview(self, cast: Participants) -> Picture:
        """A static preview: the graph in the middle of its backward or only run, with the numbers known then."""
        runs = [run for run in self.runs if run.cast is cast]
        run = next((run for run in runs if run.phase == BACKWARD), runs[0])
        state = State()
        deque(islice(state.replay(run), len(run) // 2 + 1), maxlen=0)
        return Picture(with_numbers(cast.still(), state.values, state.grads))

    # --- runs ---

    def _pack_runs(self) -> dict[str, Any]:
        patterns: dict[Any, int] = {}
        pattern_of_run, iterations, numbers = array("i"), array("i"), array("d")
        # By the run's number: untaken contributions; values that no forward run left; plan steps without a tangent.
        exceptions: dict[str, dict[int, Any]] = {"untaken": {}, "values": {}, "still": {}}
        described: list[dict[str, Any]] = []
        left: tuple[Participants, bytes] | None = None  # the nodes of the last forward run, and their values
        for number, run in enumerate(with_progress(self.runs, "save", len(self.runs))):
            cast, (columns, own_numbers, untaken) = run.cast, _split_into_columns(run)
            key = self.number_of[cast], run.phase, *(column.tobytes() for column in columns.values())
            if key not in patterns:
                patterns[key] = len(described)
                described.append({"cast": self.number_of[cast], "phase": run.phase, **columns})
            pattern_of_run.append(patterns[key])
            iterations.append(run.iteration)
            numbers.extend(own_numbers)
            if untaken:
                exceptions["untaken"][number] = untaken
            if run.phase == TANGENT:
                exceptions["still"][number] = [cast.step_of[row] for row, slope in run.slopes.items() if slope is None]
            values = array("d", run.values.values())
            if run.phase == BACKWARD and left != (cast, values.tobytes()):
                exceptions["values"][number] = values
            elif run.phase in (FORWARD, TANGENT):  # a tangent run's numbers have tangents: its values are sent again
                left = cast, own_numbers.tobytes()
        columns = {"runs": pattern_of_run, "iterations": iterations, "numbers": numbers}
        return {"patterns": described, **columns, **exceptions}

    # --- casts ---

    def _cast(self, cast: Participants) -> dict[str, Any]:
        """The nodes of a plan, their rules and their drawing."""
        then = cast.then
        kinds = [self.kinds.setdefault(then.kind(row), len(self.kinds)) for row in cast.rows]
        names = {step: name for step, row in enumerate(cast.rows) if (name := then.name(row)) is not None}
        # A letter in a rule's formula must not be the name of a node.
        taken = set(names.values())
        free, last = ([letter for letter in letters if letter not in taken] for letters in (LETTERS, RESULTS))
        letters = [*free[:8], last[0]]
        return {
            **plan_columns(cast.plan, kinds),
            "origins": array("i", map(self._origin_number, map(then.origin, cast.rows))),
            "names": names,
            "titles": {step: cast.names[row] for step, row in enumerate(cast.rows) if row in cast.names},
            "tensors": _lowered_tensors(cast),
            "rules": _rule_formulas(cast, "".join(letters)),
            "letters": letters,
            "drawing": self._pack_drawing(cast),
        }

    def _origin_number(self, origin: Any) -> int:
        key = id(origin.code), origin.instruction
        if key not in self.origins:
            self.origins[key] = len(self.places)
            file = self.files.setdefault(origin.filename, len(self.files))
            self.places.append([file, origin.line, list(origin.columns or ())])
        return self.origins[key]

    def _files(self) -> list[dict[str, Any]]:
        """The source lines of the learner's files; of a long file, a part around the first line that made nodes."""
        programs = []
        for name, number in self.files.items():
            lines = [line.rstrip("\n") for line in linecache.getlines(name)]
            used = sorted(line for file, line, _ in self.places if file == number)
            first = 0 if len(lines) <= MOST_LINES else max(0, used[0] - 1 - MOST_LINES // 4)
            programs.append({"first": first + 1, "lines": lines[first : first + MOST_LINES]})
        return programs

    # --- drawings ---

    def _pack_drawing(self, cast: Participants) -> dict[str, Any] | None:
        """The graph, for dot to lay out in the page; if it is too large, a summary whose boxes hold similar nodes."""
        if not cast.is_there():
            return None
        if len(cast.rows) <= (MOST_FOLDED if any(map(cast.then.scope, cast.rows)) else READABLE):
            return with_text_slots(drawing_for_page(cast.scene()))
        if len(cast.rows) > LARGEST:
            return None
        alike = summary_scene(cast.tables, sorted(cast.rows), DrawOptions(False, False))
        if alike is None:
            return None
        number = {box.id: index for index, box in enumerate(alike.boxes)}
        boxes = array("i", (number[alike.box_of[row]] for row in cast.rows))
        for box in alike.boxes:  # a box stands for many nodes: it must not have the id of one
            box.id = f"alike-{number[box.id]}"
        ends = ((f"alike-{number[arrow.source]}", f"alike-{number[arrow.target]}", arrow) for arrow in alike.arrows)
        alike.arrows = [replace(arrow, source=source, target=target) for source, target, arrow in ends]
        alike.caption = ""
        return {**drawing_for_page(alike), "boxes": boxes}


def recompute_script(runs: Sequence[Run]) -> str:
    """JavaScript with which a page computes a walk anew from other values of the leaves; "" if it cannot.

    It cannot for a training loop, which the learner's Python drives (several plans, updates, or two runs of a kind),
    and for a plan that `rules_to_javascript` cannot write.
    """
    casts = {id(run.cast) for run in runs}
    if len(casts) != 1 or any(run.phase == UPDATE for run in runs) or len({run.phase for run in runs}) < len(runs):
        return ""
    return rules_to_javascript(runs[0].cast.plan)


def compute_surface(runs: Sequence[Run]) -> dict[str, Any] | None:
    """Heights of the result on a grid of the two weights that a loop moved, and contour levels; None if not two."""
    moved = {*chain.from_iterable(run.before for run in runs if run.phase == UPDATE)}
    there = [run for run in runs if run.phase not in (UPDATE, BACKWARD)]
    cast = there[0].cast if there else None
    if len(moved) != 2 or cast is None or len(cast.targets) != 1 or not cast.is_there():
        return None
    rows = sorted(moved)
    reads = [entry for run in there for entry in run if entry.kind == "read"]
    paths = [[entry.value for entry in reads if entry.row == row] for row in rows]
    try:
        surface = Surface(handle(cast.tables, cast.targets[0]), [handle(cast.tables, row) for row in rows])
        size = int(surface.affordable_count(GRID * GRID, 100) ** 0.5)
        ends = window(paths[0], paths[1]), window(paths[1], paths[0])
        axes = [spread(low, high, size) for low, high in ends]
        heights = surface.over([(x, y) for y in axes[1] for x in axes[0]])
        levels = contour_levels(heights)
    except (NaiveGraphError, ValueError, OverflowError, IndexError):
        return None  # the graph needs to be fed, or the walk left the finite numbers
    shown = [None if height != height else float(f"{height:.6g}") for height in heights]
    names = [cast.called(row) for row in rows]
    return {"rows": rows, "names": names, "ends": ends, "size": size, "heights": shown, "levels": levels}


def _split_into_columns(run: Run) -> tuple[dict[str, array[Any]], array[float], list[int]]:
    """The events of a run as columns, its numbers, and the indices of contributions to branches that were not taken.

    The columns: kinds, plan steps (of a contribution, the consumer's), and operand positions of contributions. A plan
    step is written as its difference from the last one of the same kind, mostly 1 or -1: it compresses well.
    The numbers, event by event: values (with tangents), partials, or for an update old and new value.
    """
    step_of, last = run.cast.step_of, dict.fromkeys(KINDS, 0)
    kinds, steps, positions, numbers, untaken = array("B"), array("i"), array("i"), array("d"), []
    for index, entry in enumerate(with_progress(run, "save", len(run))):
        kind, is_contribution = entry.kind, entry.kind == "contributed"
        step = step_of.get(entry.consumer if is_contribution else entry.row, 0)
        kinds.append(KINDS.index(kind))
        steps.append(step - last[kind])
        last[kind] = step
        if is_contribution:
            positions.append(entry.position)
            numbers.append(entry.partial)
            if not entry.taken:
                untaken.append(index)
        elif kind == "moved":
            numbers.extend((run.before[entry.row], entry.value))
        elif kind in ("read", "evaluated"):
            numbers.append(entry.value)
            if run.phase == TANGENT:
                numbers.append(run.slopes.get(entry.row) or 0.0)
    return {"kinds": kinds, "steps": steps, "positions": positions}, numbers, untaken


def _lowered_tensors(cast: Participants) -> list[list[Any]]:
    """For each lowered tensor: its first and last row, its label and its equation."""
    entries = []
    for block in filter(None, dict.fromkeys(map(cast.then.block, sorted(cast.rows)))):
        tensor = block.owner.tensor
        entries.append([block.first, block.first + block.size - 1, tensor.label, tensor.equation()])
    return entries


def _rule_formulas(cast: Participants, letters: str) -> dict[str, dict[str, Any]]:
    """Each rule and its partials, by the operator's name and its number of operands."""
    rules: dict[str, dict[str, Any]] = {}
    counts = (end - start for start, end in pairwise(cast.plan.starts))
    for rule, count in dict.fromkeys(zip(cast.plan.rules, counts)):
        if rule is not None:
            value_tex, partials = describe.rule_tex(rule, count, letters[:-1], letters[-1])
            shown = list(map(mathml, partials[:8]))
            rules[f"{rule.name}/{count}"] = {"value": mathml(value_tex), "partials": shown, "infix": rule.infix}
    return rules


def with_text_slots(drawing: dict[str, str]) -> dict[str, str]:
    """Replace the placeholder lines by empty <text> elements that the page fills with values and gradients."""
    svg = drawing["svg"]
    for room, name in ((VALUE_ROOM, "ng-value"), (GRAD_ROOM, "ng-grad")):
        svg = re.sub(rf"<text([^>]*)>{room}</text>", rf'<text class="{name}" data-room="{room}"\1></text>', svg)
    return {**drawing, "svg": svg}
