"""What a picture of tensors shows: each with its shape and its equation, and, where opened, its scalars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from ..core.tables import Scope, Tables
from ..errors import DrawingError
from ..graph.handles import CURRENT
from ..tensor.base import TensorNode, check_tensors
from ..tensor.differentiate import ancestors
from ..tensor.equation import names_among
from ..tensor.nodes import LeafNode, LeafType, LinearNode, OpType
from ..tensor.selection import SelectionNode
from ..tensor.sides import TEXT, Writing
from .folding import Folder
from .lettering import shown, visible
from .scene import (
    NEAREST,
    READABLE,
    Arrow,
    Box,
    Scene,
    Wishes,
    bundled,
    nearest_first,
    node_arrows,
    node_box,
    ordinal,
    scope_box,
)

LEAF_BOXES = {LeafType.INPUT: "placeholder", LeafType.PARAMETER: "variable", LeafType.CONSTANT: "constant"}
MOST_LETTERS = 60  # of an equation in a box
MOST_VALUES = 4  # of an evaluated tensor


class Drawn:
    """The tensors of a picture, by number. To a Folder they are what rows are."""

    def __init__(self, results: Sequence[TensorNode], most: int) -> None:
        everything = ancestors(results)
        self.names = names_among(everything)
        visible_nodes = [node for node in everything if not isinstance(node, SelectionNode)]
        self.left_out = max(0, len(visible_nodes) - most)
        if self.left_out:
            near = nearest_first(results, lambda node: (each for each in node.sources if each in visible_nodes))
            visible_nodes = sorted(islice(near, most), key=lambda node: node.serial)
        self.nodes = visible_nodes
        self.place = {node: place for place, node in enumerate(self.nodes)}
        self.scopes: list[tuple[int, Scope | None]] = [(place, node.scope) for node, place in self.place.items()]

    def scope(self, row: int) -> Scope | None:
        return self.nodes[row].scope


def tensor_scene(what: Any, wishes: Wishes, opened: Any) -> Scene:
    """Describe these tensors and all that they are made of."""
    results = [what] if isinstance(what, TensorNode) else list(what)
    check_tensors("draw", results)
    drawn = Drawn(results, wishes.most or READABLE)
    many = len(drawn.nodes) > NEAREST and wishes.fold is None
    folder = Folder(drawn, True if many and any(scope for _, scope in drawn.scopes) else wishes.fold, "tensor")
    chosen = _opened(drawn, opened)
    described = Scene()
    if drawn.left_out:
        described.caption = f"{drawn.left_out:,} tensors further from the result are left out. See more with most=..."
    boxes = folder.grouped(range(len(drawn.nodes)))
    rows = _open_rows(chosen, wishes.most or READABLE, described)
    for name, members in boxes.items():
        described.boxes += _boxes(drawn, folder, name, members, rows, wishes)
    described.arrows = _arrows(drawn, folder, rows, wishes)
    described.scope_names = folder.names() | {
        _frame(drawn, node): f"{drawn.names[node]}  {_shape(node)}" for node in rows
    }
    return described


# --- boxes --------------------------------------------------------------------


def _boxes(
    drawn: Drawn,
    folder: Folder,
    name: str,
    members: Sequence[int],
    rows: Mapping[TensorNode, list[int]],
    wishes: Wishes,
) -> list[Box]:
    folded = scope_box(folder, name, members, "tensor")
    if folded is not None:
        return [folded]
    node = drawn.nodes[members[0]]
    around = folder.open_path(node.scope)
    if node in rows:
        plain = Folder(CURRENT.tables)
        inside = (*around, _frame(drawn, node))
        scalars = [node_box(CURRENT.tables, row, wishes, plain) for row in rows[node]]
        return [Box(box.id, box.kind, box.lines, inside) for box in scalars]
    kind = LEAF_BOXES[node.leaf_type] if isinstance(node, LeafNode) else "operator"
    return [Box(name, kind, _lines(drawn, node, wishes), around)]


def _lines(drawn: Drawn, node: TensorNode, wishes: Wishes) -> list[str]:
    lines = [f"{visible(drawn.names[node])}  {_shape(node)}"]
    if node.sources:
        written = Writing(drawn.names, TEXT)
        lines.append(
            visible(
                f"{written.left(node)} = {written.right(node)}".replace("sum_{", "Σ[").replace("} ", "] "), MOST_LETTERS
            )
        )
    value = node.value if isinstance(node, LeafNode) else node._value
    if wishes.values and value is not None and node.size <= MOST_VALUES:
        lines.append(", ".join(shown(float(each)) for each in value.reshape(-1)))
    return lines


def _shape(node: TensorNode) -> str:
    return f"({' × '.join(map(str, node.shape))})" if node.rank else "(a number)"


def _frame(drawn: Drawn, node: TensorNode) -> str:
    return f"scope-tensor-{drawn.place[node]}"


# --- opened tensors -----------------------------------------------------------


def _opened(drawn: Drawn, opened: Any) -> list[TensorNode]:
    """The tensors to show as scalars, all of them lowered."""
    if opened is False or opened is None:
        return []
    tables = CURRENT.tables
    if opened is True:
        chosen = [node for node in drawn.nodes if node in tables.unfolded]
        if not chosen:
            raise DrawingError("open=True: none of these tensors was unfolded into scalars. Call lower(t) first.")
        return chosen
    chosen = [opened] if isinstance(opened, TensorNode) else list(opened) if isinstance(opened, Iterable) else []
    for node in chosen or [opened]:
        if node not in drawn.place:
            raise DrawingError(f"open names a tensor of the picture, or True for all, not {node!r}.")
        if node not in tables.unfolded:
            raise DrawingError(f"{node.label} was not unfolded into scalars. Call lower(t) first.")
    return chosen


def _open_rows(chosen: Sequence[TensorNode], most: int, described: Scene) -> dict[TensorNode, list[int]]:
    """The rows to show of each opened tensor: element by element, with the steps on the way to it."""
    tables, taken = CURRENT.tables, set[int]()
    found: dict[TensorNode, list[int]] = {}
    for node in chosen:
        unfolding, shown_rows, elements = tables.unfolded[node], list[int](), 0
        for row in unfolding.rows.reshape(-1):
            if len(taken) >= most or int(row) < 0:
                break
            elements += 1
            for each in _steps(tables, int(row), unfolding.first, unfolding.end):
                if each not in taken:
                    taken.add(each)
                    shown_rows.append(each)
        found[node] = sorted(shown_rows)
        if elements < node.size:
            described.caption += f" {elements:,} of the {node.size:,} elements of {node.name or 'a tensor'} are shown."
    described.caption = described.caption.strip()
    return {node: rows for node, rows in found.items() if rows}


def _steps(tables: Tables, row: int, first: int, end: int) -> list[int]:
    """A row and those that it is computed from, as far as they were appended for the same tensor."""
    found, waiting = {row}, [row]
    while waiting:
        for each in tables.operands(waiting.pop()):
            if first <= each < end and each not in found:
                found.add(each)
                waiting.append(each)
    return list(found)


# --- arrows -------------------------------------------------------------------


def _arrows(drawn: Drawn, folder: Folder, rows: Mapping[TensorNode, list[int]], wishes: Wishes) -> list[Arrow]:
    """An arrow for each source of each tensor, and for each operand of each scalar; several alike are bundled."""
    arrows: list[Arrow] = []
    bundles = Counter[tuple[str, str]]()
    box_of = {row: f"row-{row}" for shown_rows in rows.values() for row in shown_rows}
    for node, place in drawn.place.items():
        if node in rows:
            _scalar_arrows(drawn, folder, rows[node], box_of, wishes, arrows, bundles)
            continue
        target = folder.box(place)
        for position, source in enumerate(node.sources):
            if source not in drawn.place:
                continue
            if source in rows:
                for row in rows[source]:
                    if CURRENT.tables.unfolded[source].place_of(row) is not None:
                        bundles[box_of[row], target] += 1
            elif folder.box(drawn.place[source]) != target:
                at = ordinal(position) if _ordered(node) else ""
                start = folder.box(drawn.place[source])
                arrows.append(Arrow(f"edge-{start}-{target}-{place}-{position}", start, target, "", at))
    return arrows + bundled(bundles)


def _scalar_arrows(
    drawn: Drawn,
    folder: Folder,
    shown_rows: Sequence[int],
    box_of: Mapping[int, str],
    wishes: Wishes,
    arrows: list[Arrow],
    bundles: Counter[tuple[str, str]],
) -> None:
    tables = CURRENT.tables
    for row in shown_rows:
        operands = tables.operands(row)
        arrows += node_arrows(tables, row, operands, [box_of.get(operand, "") for operand in operands], wishes)
        for operand in operands:
            if operand in box_of:
                continue
            block = tables.block(operand)
            owner = block.owner.tensor if block is not None else None
            if owner in drawn.place:
                start = folder.box(drawn.place[owner])
                bundles[start, box_of[row]] += 1


def _ordered(node: TensorNode) -> bool:
    """Whether it matters which source comes first."""
    if isinstance(node, LinearNode):
        return node.op == OpType.sub
    return len(node.sources) > 1
