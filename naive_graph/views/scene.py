"""What a picture of a graph shows: boxes and arrows, before anybody lays them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ..rules import BY_NUMBER
from ..tables import CONSTANT, PLACEHOLDER, VARIABLE, Scope, Tables

KIND_NAMES = {CONSTANT: "constant", VARIABLE: "variable", PLACEHOLDER: "placeholder"}


@dataclass
class Box:
    """One node, or a scope that is folded up, or the rest that is not shown."""

    id: str
    kind: str  # constant, variable, placeholder, operator, scope or rest
    lines: list[str]
    scope: tuple[str, ...] = ()  # the open scopes around it, outermost first


@dataclass(frozen=True)
class Arrow:
    """One operand position: the source feeds the target."""

    id: str
    source: str
    target: str
    label: str = ""
    place: str = ""  # which operand it is, where the order matters


@dataclass
class Scene:
    """All boxes and arrows of a picture, and what to say under it."""

    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    scope_names: dict[str, str] = field(default_factory=dict)  # id of an open scope -> its name
    caption: str = ""
    title: str = ""


@dataclass(frozen=True)
class Wishes:
    """What the learner asked to see."""

    values: bool = True
    grads: bool = True
    partials: bool = False
    fold: object = None
    most: int = 300


def scene(tables: Tables, rows: Sequence[int], results: Sequence[int], wishes: Wishes) -> Scene:
    """Describe these rows. Scopes are folded as wished, and far parts left out if there are too many."""
    folder = Folder(tables, wishes.fold)
    said = ""
    if wishes.fold is None and len(rows) > wishes.most and any(tables.scope(row) for row in rows):
        folder = Folder(tables, True)
        said = f"{len(rows):,} nodes: scopes are folded. Open one with fold=False or fold='its/path'."
    boxes: dict[str, list[int]] = {}
    for row in rows:
        boxes.setdefault(folder.box(row), []).append(row)
    if len(boxes) > wishes.most:
        kept = _nearest(tables, folder, set(boxes), results, wishes.most)
        said = (
            f"The {len(kept):,} of {len(boxes):,} nodes nearest the result are shown. "
            "See more with draw(..., most=1000), or name parts with scope(...) to fold them."
        )
        boxes = {name: members for name, members in boxes.items() if name in kept}
    result = Scene(caption=said)
    for name, members in boxes.items():
        result.boxes.append(folder.folded(name, members) or node_box(tables, members[0], wishes, folder))
    result.arrows = _arrows(tables, folder, boxes, wishes)
    if any(arrow.source == REST for arrow in result.arrows):
        result.boxes.append(Box(REST, "rest", ["..."]))
    result.scope_names = folder.open_names
    return result


REST = "rest"


class Folder:
    """Which box a row belongs to: its own, or that of a scope folded around it."""

    def __init__(self, tables: Tables, fold: object) -> None:
        self.tables, self.fold = tables, fold
        self.ids: dict[int, str] = {}  # id(scope) -> the name of its box
        self.scopes: dict[str, Scope] = {}
        self.open_names: dict[str, str] = {}

    def box(self, row: int) -> str:
        for depth, scope in enumerate(self.chain(row)):
            if self.is_folded(scope, depth):
                return self.scope_id(scope)
        return f"row-{row}"

    def chain(self, row: int) -> list[Scope]:
        """The scopes around a row, outermost first."""
        chain, scope = [], self.tables.scope(row)
        while scope is not None:
            chain.append(scope)
            scope = scope.parent
        return chain[::-1]

    def is_folded(self, scope: Scope, depth: int) -> bool:
        fold = self.fold
        if fold is None or isinstance(fold, bool):
            return bool(fold)
        if isinstance(fold, int):
            return depth >= fold
        paths = [fold] if isinstance(fold, str) else list(fold)  # type: ignore[call-overload]
        return scope.path in paths

    def scope_id(self, scope: Scope) -> str:
        name = self.ids.setdefault(id(scope), f"scope-{len(self.ids)}")
        self.scopes[name] = scope
        return name

    def folded(self, name: str, members: Sequence[int]) -> Box | None:
        """The box of a folded scope; None for a node's."""
        if name not in self.scopes:
            return None
        around = self.scopes[name].parent
        lines = [self.scopes[name].name, f"{len(members):,} nodes"]
        return Box(name, "scope", lines, self.open_around(around))

    def open_around(self, scope: Scope | None) -> tuple[str, ...]:
        path = []
        while scope is not None:
            name = self.scope_id(scope)
            self.open_names[name] = scope.name
            path.append(name)
            scope = scope.parent
        return tuple(path[::-1])


def _nearest(tables: Tables, folder: Folder, among: set[str], results: Sequence[int], most: int) -> set[str]:
    """The boxes first met on the way back from the results."""
    kept: dict[str, None] = dict.fromkeys(folder.box(row) for row in results[:most])
    seen = set(results)
    wave = list(results)
    while wave and len(kept) < most:
        following: list[int] = []
        for row in wave:
            for operand in tables.operands(row):
                if operand not in seen and len(kept) < most:
                    seen.add(operand)
                    kept[folder.box(operand)] = None
                    following.append(operand)
        wave = following
    return set(kept) & among


def node_box(tables: Tables, row: int, wishes: Wishes, folder: Folder) -> Box:
    """A node as its symbol or name, its value, and its gradient; blank where not computed."""
    kind = KIND_NAMES.get(tables.operators[row], "operator")
    name, value, grad = tables.names.get(row), tables.value(row), tables.grad(row)
    lines = [visible(name)] if name else []
    if kind == "operator":
        lines = [symbol(tables, row) + (f"  {visible(name)}" if name else "")]
    if wishes.values and value is not None:
        lines.append(shown(value))
    if wishes.grads and grad is not None and not tables.grads_are_blank:
        lines.append(f"grad {shown(grad)}")
    return Box(f"row-{row}", kind, lines or ["?"], folder.open_around(tables.scope(row)))


def symbol(tables: Tables, row: int) -> str:
    rule = BY_NUMBER[tables.operators[row]]
    return rule.symbol or rule.infix or rule.name


def shown(value: float) -> str:
    """Five significant digits, with a true minus sign."""
    return f"{value:.5g}".replace("-", "−")


def visible(name: str) -> str:
    """A learner's name on one line, with what cannot be printed made visible."""
    text = name.replace("\n", "⏎").replace("\t", "⇥")
    text = "".join(letter if letter.isprintable() or letter in "⏎⇥" else "�" for letter in text)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _arrows(tables: Tables, folder: Folder, boxes: dict[str, list[int]], wishes: Wishes) -> list[Arrow]:
    arrows: list[Arrow] = []
    merged: dict[tuple[str, str], int] = {}
    for target, members in boxes.items():
        for row in members if target.startswith("row-") else sorted(members):
            operands = tables.operands(row)
            labels = _partials(tables, row, operands) if wishes.partials else [""] * len(operands)
            for place, operand in enumerate(operands):
                source = folder.box(operand)
                source = source if source in boxes else REST
                if source == target and target.startswith("scope-"):
                    continue  # inside a folded scope
                if source.startswith("row-") and target.startswith("row-"):
                    ordinal = _ordinal(tables, row, place)
                    arrows.append(Arrow(f"edge-{operand}-{row}-{place}", source, target, labels[place], ordinal))
                else:
                    merged[source, target] = merged.get((source, target), 0) + 1
    for (source, target), count in merged.items():
        arrows.append(Arrow(f"bundle-{source}-{target}", source, target, f"{count}×" if count > 1 else ""))
    return arrows


def _ordinal(tables: Tables, row: int, place: int) -> str:
    """Which operand it is, where that matters: in a - b, but not in a + b."""
    rule = BY_NUMBER[tables.operators[row]]
    matters = not rule.associative and rule.arity is not None and rule.arity > 1
    return str(place + 1) if matters else ""


def _partials(tables: Tables, row: int, operands: Iterable[int]) -> list[str]:
    """The local partial for each operand position; blank where it is not known."""
    values = [tables.value(operand) for operand in operands]
    result = tables.value(row)
    if not values or result is None or None in values:
        return [""] * len(values)
    wanted = [tables.operators[operand] != CONSTANT for operand in operands]
    partials = BY_NUMBER[tables.operators[row]].partials_at(values, result, wanted)
    return ["" if partial is None else shown(partial) for partial in partials]
