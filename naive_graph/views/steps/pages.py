"""A walk as JSON: what a browser needs to show it, a page of steps at a time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any

from ...core.tables import Scope
from ..folding import around, path
from ..picture import Picture
from . import describe
from .mathml import mathml
from .run import GRAD_ROOM, VALUE_ROOM, Cast, Run
from .state import State
from .step import Step
from .steps import StepLog

PAGE = 500  # steps
MOST_OPENED = 30  # drawings with one scope open, of a graph that is drawn folded
NEARBY, MOST_NEARBY = 50, 20  # rows in a drawing of a part, and how many such drawings there are at most


class Walk:
    """Pages of the steps of a walk, and the drawings that they light up."""

    def __init__(self, steps: StepLog, title: str = "") -> None:
        self.steps = steps
        self.count = len(steps)
        self.casts = list(dict.fromkeys(run.cast for run in steps.runs))
        self.place_of = {cast: place for place, cast in enumerate(self.casts)}
        self.runs, self.starts = list(steps.runs), list(accumulate(map(len, steps.runs), initial=0))
        self.pictures: dict[str, Picture] = {}
        self.boxed: dict[str, set[int]] = {}  # the rows with a box of their own in each drawing
        self.drawn: dict[int, set[int]] = {place: set() for place in range(len(self.casts))}  # in any drawing
        self.near: dict[tuple[int, int], str] = {}  # the drawing of a row that no other drawing shows
        self.following: tuple[int, Iterator[tuple[Step, State]], dict[str, Any]] | None = None  # where a page left off
        self.made: dict[str, Any] | None = None
        self.title = title or self._title()

    def _title(self) -> str:
        if not self.casts:
            return "An empty walk"
        first = self.casts[0]
        return "A walk through " + ", ".join(first.called(row) for row in first.targets[:3])

    def contents(self) -> dict[str, Any]:
        """Everything but the pages. It says what is drawn, so it is made before any page."""
        if self.made is None:
            self.made = self._contents()
        return self.made

    def _contents(self) -> dict[str, Any]:
        drawings = {str(place): self._drawing(str(place), cast, None) for place, cast in enumerate(self.casts)}
        for place, cast in enumerate(self.casts):
            picture = self.pictures.get(str(place))
            if picture is not None and any(box.kind == "scope" for box in picture.scene.boxes):
                for scope in cast.scopes()[:MOST_OPENED]:
                    key = f"{place}/{path(scope)}"
                    drawings[key] = self._drawing(key, cast, scope)
            if picture is not None:
                drawings |= self._nearby(place, cast)
        return {
            "format": 1,
            "title": self.title,
            "count": self.count,
            "page_size": PAGE,
            "iterations": self.steps.iterations,
            "drawings": drawings,
            "casts": [self._cast(cast) for cast in self.casts],
        }

    def page(self, number: int) -> dict[str, Any]:
        """The steps of one page, the state before its first, and the nodes that they speak of."""
        self.contents()
        first, end = number * PAGE, min(self.count, (number + 1) * PAGE)
        walk, before = self._walk_from(number, first)
        steps, nodes = list[dict[str, Any]](), dict[int, dict[int, Any]]()
        for step, state in islice(walk, max(0, end - first)):
            steps.append(self._step(step, self._run_at(step.index)))
            self._gather(step, nodes)
            last = state
        if steps:
            self.following = number + 1, walk, self._shown(last, None)
        return {"first": first, "state": before, "steps": steps, "nodes": nodes}

    def _walk_from(self, number: int, first: int) -> tuple[Iterator[tuple[Step, State]], dict[str, Any]]:
        """The walk from a page on, and the state before it. Page after page, it is one walk."""
        if self.following is not None and self.following[0] == number:
            return self.following[1:]
        walk = self.steps.states(range(max(0, first - 1), self.count))
        return walk, self._shown(next(walk)[1] if first else State(), None)

    def _gather(self, step: Step, nodes: dict[int, dict[int, Any]]) -> None:
        """The nodes that a step speaks of; those that are drawn are known already."""
        cast = self._run_at(step.index).cast
        place = self.place_of[cast]
        found = nodes.setdefault(place, {})
        operands = cast.operands(step.row)[:20] if step.kind == "evaluated" else []
        for row in {step.row, step.consumer, *operands, *step.queue[:20], *list(step.degrees)[:20]} - {None, -1}:
            if row not in found and row not in self.drawn[place]:
                found[row] = self._node(cast, row)  # type: ignore[index, arg-type]

    def _shown(self, state: State, rows: set[int] | None) -> dict[str, Any]:
        """A state, as far as it is drawn: of a large graph nothing else is worth sending."""
        kept = set[int]().union(*self.drawn.values()) if rows is None else rows
        return {
            "values": {str(row): describe.figure(state.values[row]) for row in kept if row in state.values},
            "grads": {str(row): describe.figure(state.grads[row]) for row in kept if row in state.grads},
            "queue": list(islice(state.queue, 20)),
            "waiting": {str(row): state.waiting[row] for row in sorted(kept) if row in state.waiting},
        }

    def pages(self) -> range:
        return range(-(-self.count // PAGE))

    # --- drawings ---

    def _drawing(self, key: str, cast: Cast, opened: Scope | None) -> dict[str, Any]:
        """A drawing and the boxes of its rows; with one scope open, all others are folded."""
        fold: Any = None
        if opened is not None:
            kept = {path(each) for each in around(opened)}
            fold = sorted({path(each) for scope in cast.scopes() for each in around(scope)} - kept) or False
        return self._kept(key, cast, cast.picture(fold))

    def _nearby(self, place: int, cast: Cast) -> dict[str, Any]:
        """Drawings of the rows that no drawing shows so far, some rows at a time: of a graph that is too large."""
        hidden = [row for row in sorted(cast.rows) if row not in self.boxed[self._drawing_of(cast, row)]]
        found = {}
        for first in range(0, min(len(hidden), MOST_NEARBY * NEARBY), NEARBY):
            rows, key = hidden[first : first + NEARBY], f"{place}/rows {hidden[first]}"
            self.near |= {(place, row): key for row in rows}
            found[key] = self._kept(key, cast, cast.close_up(rows))
        return found

    def _kept(self, key: str, cast: Cast, picture: Picture | None) -> dict[str, Any]:
        """A drawing as JSON; which rows it shows is remembered."""
        if picture is None:
            return {"svg": "", "boxes": {}}
        self.pictures[key] = picture
        box_of = picture.scene.box_of
        assert box_of is not None  # a drawing of scalars knows its rows
        shown = {box.id for box in picture.scene.boxes if box.id.startswith("row-")}
        rows = [int(name[4:]) for name in shown if int(name[4:]) in cast.step_of]
        self.boxed[key] = set(rows)
        self.drawn[self.place_of[cast]].update(rows)
        return {"svg": with_room(picture.svg), "boxes": {str(row): f"row-{row}" for row in sorted(rows)}}

    def _drawing_of(self, cast: Cast, row: int) -> str:
        """The drawing in which this row can be seen best."""
        place = str(self.place_of[cast])
        scope = cast.then.scope(row)
        opened = f"{place}/{path(scope)}" if scope is not None else place
        shown = opened if opened in self.pictures else place
        return shown if row in self.boxed.get(shown, ()) else self.near.get((int(place), row), shown)

    def _cast(self, cast: Cast) -> dict[str, Any]:
        """The rules of a plan, and its nodes that are drawn; the others come with the pages that need them."""
        rules: dict[str, dict[str, Any]] = {}
        for step in range(len(cast.rows)):
            rule, operands = cast.plan.rule(step), cast.plan.operands(step)
            key = "" if rule is None else f"{rule.name}/{len(operands)}"
            if rule is not None and key not in rules:
                whole, partials = describe.rule_tex(rule, len(operands))
                shown = [mathml(rf"\partial y / \partial {'abcdefgh'[at]} = {each}".replace(r"\partial", "∂"))
                         for at, each in enumerate(partials[:8])]  # fmt: skip
                rules[key] = {"value": mathml(whole), "partials": shown}
        drawn = self.drawn[self.place_of[cast]]
        kinds = sorted({cast.then.kind(row) for row, kind in zip(cast.rows, cast.plan.kinds) if kind >= 0})
        return {"nodes": {str(row): self._node(cast, row) for row in sorted(drawn)}, "rules": rules, "kinds": kinds}

    def _node(self, cast: Cast, row: int) -> dict[str, Any]:
        """What is said of a node, and the folded boxes that it is in."""
        rule, origin, place = cast.rule(row), cast.then.origin(row), self.place_of[cast]
        folded = {}
        for key, picture in self.pictures.items():
            if key.split("/")[0] == str(place) and picture.scene.box_of is not None:
                box = picture.scene.box_of(row)
                if box.startswith("scope-"):
                    folded[key] = box
        return {
            "label": cast.label(row),
            "called": cast.called(row),
            "kind": cast.then.kind(row),
            "rule": "" if rule is None else f"{rule.name}/{len(cast.operands(row))}",
            "line": origin.line,
            "source": origin.text,
            "columns": _columns(origin),
            "tensor": _tensor(cast, row),
            "boxes": folded,
        }

    # --- steps ---

    def _run_at(self, index: int) -> Run:
        return self.runs[bisect_right(self.starts, index, hi=len(self.runs)) - 1]

    def _step(self, step: Step, run: Run) -> dict[str, Any]:
        cast = run.cast
        row, told = str(step.row), step.kind
        value = [row, describe.figure(step.value)] if told in ("read", "evaluated", "moved") else None  # type: ignore[arg-type]
        total = step.value if told == "finished" else step.total
        if told in ("read", "evaluated"):
            total = run.slopes.get(step.row)  # of a tangent run
        grad = [row, describe.figure(total)] if total is not None else None
        lit = [step.edge] if step.edge else []
        if told == "evaluated":
            lit = [f"edge-{operand}-{row}-{place}" for place, operand in enumerate(cast.operands(step.row))]
        return {
            "i": step.index,
            "it": step.iteration,
            **{name: getattr(step, name) for name in ("phase", "kind", "row", "position", "running", "sentence")},
            "cast": self.place_of[cast],
            "by": step.consumer,
            "drawing": self._drawing_of(cast, step.row),
            "edges": lit,
            "text": step.arithmetic,
            "value": value,
            "grad": grad,
            "queue": list(step.queue[:21]),
            "ready": len(step.queue),
            "degrees": [[each, count] for each, count in list(step.degrees.items())[:20]],
            "begin": self._beginning(run) if told == "started" else None,
            "bad": not step.finite,
        }

    def _beginning(self, run: Run) -> dict[str, Any] | None:
        """What a run starts from; None for an update, which keeps what is there."""
        state = State()
        if run.phase == "update":
            return None
        state.begin(run)
        return self._shown(state, self.drawn[self.place_of[run.cast]])


def _tensor(cast: Cast, row: int) -> dict[str, str] | None:
    """The equation of the tensor that a lowered row is an element of, or helps to compute."""
    block = cast.then.block(row)
    if block is None:
        return None
    tensor = block.owner.tensor
    name = block.name(row)
    return {"element": f"element {name}" if name else f"part of {tensor.label}", "equation": tensor.equation()}


def with_room(svg: str) -> str:
    """The drawing with empty texts where values and gradients will stand; the page has a style of its own."""
    svg = re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)
    for room, name in ((VALUE_ROOM, "ng-value"), (GRAD_ROOM, "ng-grad")):
        svg = re.sub(rf"<text([^>]*)>{room}</text>", rf'<text class="{name}"\1></text>', svg)
    return svg


def _columns(origin: Any) -> list[int] | None:
    """Where the expression stands in its line, the indent taken off."""
    import linecache

    columns = origin.columns
    if columns is None:
        return None
    line = linecache.getline(origin.filename, origin.line)
    indent = len(line) - len(line.lstrip())
    return [max(0, column - indent) for column in columns]
