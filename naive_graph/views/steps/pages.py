"""A walk as JSON: what a browser needs to show it, a page of steps at a time."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

from ...tables import Scope
from ..folding import around, path
from ..picture import Picture
from . import describe
from .mathml import mathml
from .run import GRAD_ROOM, VALUE_ROOM, Cast, Run
from .steps import State, Step, StepLog

PAGE = 500  # steps
MOST_OPENED = 30  # drawings with one scope open, of a graph that is drawn folded


class Walk:
    """Pages of the steps of a walk, and the drawings that they light up."""

    def __init__(self, steps: StepLog, title: str = "") -> None:
        self.steps = steps
        self.count = len(steps)
        self.casts: list[Cast] = []
        for run in steps.runs:
            if run.cast not in self.casts:
                self.casts.append(run.cast)
        self.runs = list(steps._starts())
        self.pictures: dict[str, Picture] = {}
        self.title = title or self._title()

    def _title(self) -> str:
        if not self.casts:
            return "An empty walk"
        first = self.casts[0]
        return "A walk through " + ", ".join(first.called(row) for row in first.targets[:3])

    def contents(self) -> dict[str, Any]:
        """Everything but the pages."""
        drawings = {str(place): self._drawing(str(place), cast, None) for place, cast in enumerate(self.casts)}
        for place, cast in enumerate(self.casts):
            picture = self.pictures.get(str(place))
            if picture is not None and any(box.kind == "scope" for box in picture.scene.boxes):
                for scope in self._innermost(cast):
                    key = f"{place}/{path(scope)}"
                    drawings[key] = self._drawing(key, cast, scope)
        return {
            "format": 1,
            "title": self.title,
            "count": self.count,
            "page_size": PAGE,
            "iterations": self.steps.iterations,
            "breaks": {"nonfinite": [step.index for step in self.steps.find(finite=False)]},
            "drawings": drawings,
            "casts": [self._cast(cast) for cast in self.casts],
        }

    def page(self, number: int) -> dict[str, Any]:
        """The steps of one page, and the state before its first."""
        first, end = number * PAGE, min(self.count, (number + 1) * PAGE)
        before = self._state_before(first)
        steps = [self._step(step, self._run_at(step.index)) for step in self.steps.walk(first, end)]
        return {"first": first, "state": before, "steps": steps}

    def pages(self) -> range:
        return range(-(-self.count // PAGE))

    # --- drawings ---

    def _innermost(self, cast: Cast) -> list[Scope]:
        scopes = dict.fromkeys(scope for scope in cast.scopes.values() if scope is not None)
        return list(scopes)[:MOST_OPENED]

    def _drawing(self, key: str, cast: Cast, opened: Scope | None) -> dict[str, Any]:
        """A drawing and the boxes of its rows; with one scope open, all others are folded."""
        fold: Any = None
        if opened is not None:
            kept = {path(each) for each in around(opened)}
            fold = sorted({path(each) for scope in cast.scopes.values() for each in around(scope)} - kept) or False
        picture = cast.picture(fold)
        if picture is None:
            return {"svg": "", "boxes": {}}
        self.pictures[key] = picture
        box_of = picture.scene.box_of
        assert box_of is not None  # a drawing of scalars knows its rows
        shown = {box.id for box in picture.scene.boxes}
        boxes = {str(row): box_of(row) for row in cast.rows}
        return {"svg": with_room(picture.svg), "boxes": {row: box for row, box in boxes.items() if box in shown}}

    def _drawing_of(self, cast: Cast, row: int) -> str:
        """The drawing in which this row can be seen best."""
        place = str(self.casts.index(cast))
        scope = cast.scopes.get(row)
        opened = f"{place}/{path(scope)}" if scope is not None else place
        return opened if opened in self.pictures else place

    def _cast(self, cast: Cast) -> dict[str, Any]:
        rules: dict[str, dict[str, Any]] = {}
        nodes: dict[str, dict[str, Any]] = {}
        for row in cast.rows:
            rule, operands = cast.rule(row), cast.operands(row)
            key = "" if rule is None else f"{rule.name}/{len(operands)}"
            if rule is not None and key not in rules:
                whole, partials = describe.rule_tex(rule, len(operands))
                shown = [mathml(rf"\partial y / \partial {'abcdefgh'[at]} = {each}".replace(r"\partial", "∂"))
                         for at, each in enumerate(partials[:8])]  # fmt: skip
                rules[key] = {"value": mathml(whole), "partials": shown}
            origin = cast.origins[row]
            nodes[str(row)] = {
                "label": cast.labels[row],
                "called": cast.called(row),
                "kind": cast.kinds[row],
                "rule": key,
                "operands": operands,
                "line": origin.line,
                "source": origin.text,
                "columns": _columns(origin),
                "tensor": _tensor(cast, row),
            }
        return {"nodes": nodes, "rules": rules}

    # --- steps ---

    def _run_at(self, index: int) -> Run:
        place = bisect_right([start for _, start in self.runs], index) - 1
        return self.runs[place][0]

    def _state_before(self, index: int) -> dict[str, Any]:
        known = [state for _, state in self.steps.states(index - 1, index)] if index else []
        state = known[0] if known else State()
        return {
            "values": {str(row): describe.figure(value) for row, value in state.values.items()},
            "grads": {str(row): describe.figure(grad) for row, grad in state.grads.items()},
            "queue": state.queue,
            "waiting": {str(row): count for row, count in state.waiting.items()},
        }

    def _step(self, step: Step, run: Run) -> dict[str, Any]:
        cast = run.cast
        row, told = str(step.row), step.kind
        value = [row, describe.figure(step.value)] if told in ("read", "evaluated", "moved") else None  # type: ignore[arg-type]
        total = step.value if told == "finished" else step.total
        grad = [row, describe.figure(total)] if total is not None else None
        lit = [step.edge] if step.edge else []
        if told == "evaluated":
            lit = [f"edge-{operand}-{row}-{place}" for place, operand in enumerate(cast.operands(step.row))]
        return {
            "i": step.index,
            "it": step.iteration,
            "phase": step.phase,
            "kind": told,
            "cast": self.casts.index(cast),
            "row": step.row,
            "by": step.consumer,
            "position": step.position,
            "drawing": self._drawing_of(cast, step.row),
            "edges": lit,
            "text": step.arithmetic,
            "running": step.running,
            "sentence": step.sentence,
            "value": value,
            "grad": grad,
            "queue": list(step.queue),
            "degrees": [[each, count] for each, count in step.degrees.items()],
            "begin": self._beginning(run) if told == "started" else None,
            "bad": not step.finite,
        }

    def _beginning(self, run: Run) -> dict[str, Any] | None:
        """What a run starts from; None for an update, which keeps what is there."""
        state = State()
        if run.phase == "update":
            return None
        state.begin(run)
        return {
            "values": {str(row): describe.figure(value) for row, value in state.values.items()},
            "waiting": {str(row): count for row, count in state.waiting.items()},
        }


def _tensor(cast: Cast, row: int) -> dict[str, str] | None:
    """The equation of the tensor that a lowered row is an element of, or helps to compute."""
    block = cast.blocks.get(row)
    if block is None:
        return None
    tensor = block.owner.tensor
    name = block.name(row)
    return {"element": f"element {name}" if name else f"part of {tensor.label}", "equation": tensor.equation()}


def with_room(svg: str) -> str:
    """The drawing with empty texts where values and gradients will stand."""
    for room, name in ((VALUE_ROOM, "ng-value"), (GRAD_ROOM, "ng-grad")):
        svg = re.sub(rf"<text([^>]*)>{room}</text>", rf'<text class="{name}"\1></text>', svg)
    return svg


def _columns(origin: Any) -> list[int] | None:
    """Where the expression stands in its line, the indent taken off."""
    import linecache

    columns = origin.columns
    if columns is None:
        return None
    indent = len(linecache.getline(origin.filename, origin.line)) - len(
        linecache.getline(origin.filename, origin.line).lstrip()
    )
    return [max(0, columns[0] - indent), max(0, columns[1] - indent)]
