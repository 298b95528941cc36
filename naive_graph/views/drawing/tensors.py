"""What a picture of tensors shows: each with its shape and its equation, and, where opened, its scalars."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from math import isfinite
from typing import Any

from ...core.tables import Scope, Tables
from ...errors import DrawingError
from ...graph.registry import CURRENT
from ...tensor.base import TensorNode, check_tensors
from ...tensor.differentiate import ancestors
from ...tensor.equation_text import TEXT, EquationWriter
from ...tensor.evaluation.evaluate import refresh
from ...tensor.nodes import LeafNode, LeafType, LinearNode, OpType
from ...tensor.notation import names_among
from ...tensor.selection import SelectionNode
from ..look import shown
from .folding import Folder, short
from .lettering import visible
from .matrices import MOST_CELLS, MOST_WRITTEN, feeds, grid_of, is_kernel, value_of
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
    scope_box,
)

LEAF_BOXES = {LeafType.INPUT: "placeholder", LeafType.PARAMETER: "variable", LeafType.CONSTANT: "constant"}
MOST_LETTERS = 60  # of an equation in a box


class Drawn:
    """The tensors of a picture, by number. To a Folder they are what rows are."""

    def __init__(self, results: Sequence[TensorNode], wishes: Wishes, opened: Any) -> None:
        self.wishes, self.most = wishes, wishes.most or READABLE
        everything = ancestors(results)
        refresh(results)
        self.names = {node: short(name, node.scope) for node, name in names_among(everything).items()}
        there = [node for node in everything if not isinstance(node, SelectionNode)]
        self.reached = _reached(there)
        many = len(there) > NEAREST and wishes.fold is None and any(node.scope for node in there)
        self._hold(there, True if many else wishes.fold)
        self.left_out = 0
        if len(self.folder.grouped(range(len(there)))) > self.most:
            near = islice(nearest_first(results, lambda node: filter(self.place.__contains__, node.sources)), self.most)
            self._hold(sorted(near, key=lambda node: node.serial), True if many else wishes.fold)
            self.left_out = len(there) - len(self.nodes)
        self.rows, self.said = self._open_rows(self._opened(opened))
        self.box_of = {row: f"row-{row}" for rows in self.rows.values() for row in rows}

    def _hold(self, nodes: list[TensorNode], fold: object) -> None:
        self.nodes, self.place = nodes, {node: place for place, node in enumerate(nodes)}
        self.scopes: list[tuple[int, Scope | None]] = [(place, node.scope) for place, node in enumerate(nodes)]
        self.folder = Folder(self, fold, "tensor")

    def scope(self, row: int) -> Scope | None:
        return self.nodes[row].scope

    # --- boxes ---

    def boxes(self, name: str, members: Sequence[int]) -> list[Box]:
        """The box of a scope or a tensor, or those of an opened tensor's scalars."""
        folded = scope_box(self.folder, name, members, "tensor")
        if folded is not None:
            return [folded]
        node = self.nodes[members[0]]
        around = self.folder.open_path(node.scope)
        if node in self.rows:
            plain = Folder(CURRENT.tables)
            scalars = [node_box(CURRENT.tables, row, self.wishes, plain) for row in self.rows[node]]
            return [replace(box, scope=(*around, self.frame(node))) for box in scalars]
        kind = LEAF_BOXES[node.leaf_type] if isinstance(node, LeafNode) else "operator"
        value = value_of(node) if self.wishes.values else None
        lines, formula = [f"{visible(self.names[node])}  {_shape(node)}"], formula_of(node, self.names)
        grid = grid_of(node, visible(self.names[node]), value)
        empty = value is None and not node.name and node in self.reached
        crowded = len(self.nodes) > NEAREST and not is_kernel(node)
        if (empty or crowded) and node.size > MOST_WRITTEN:
            grid = None
        if formula:
            lines.append(visible(formula, MOST_LETTERS))
        if value is None and self.wishes.values and node not in self.reached:
            lines.append("not fed" if kind == "placeholder" else "not computed")
        elif value is not None and not node.rank:
            lines.append(shown(float(value)))
        elif value is not None and grid is None:
            lines.append(f"from {shown(float(value.min()))} to {shown(float(value.max()))}")
        known = {each: f"tensor-{place}" for each, place in self.place.items()}
        facts = {
            "feeds": feeds(node, known) if grid or not crowded else "",
            "formula": formula,
            "through": "" if node.name else "yes",
        }
        wrong = value is not None and not all(map(isfinite, value.reshape(-1)[:MOST_CELLS]))
        facts = {what: fact for what, fact in facts.items() if fact}
        told = ", ".join([*lines, *(cell.text for cell in grid.cells if cell.text)]) if grid else ""
        return [Box(name, kind, lines, around, wrong, told, grid, facts)]

    def frame(self, node: TensorNode) -> str:
        """The id of the frame around an opened tensor's scalars."""
        return f"scope-tensor-{self.place[node]}"

    # --- opened tensors ---

    def _opened(self, opened: Any) -> list[TensorNode]:
        """The tensors to show as scalars, all of them lowered."""
        if opened is False or opened is None:
            return []
        unfolded = CURRENT.tables.unfolded
        if opened is True:
            chosen = [node for node in self.nodes if node in unfolded]
            if not chosen:
                raise DrawingError("open=True: none of these tensors was unfolded into scalars. Call lower(t) first.")
            return chosen
        chosen = [opened] if isinstance(opened, TensorNode) else list(opened) if isinstance(opened, Iterable) else []
        for node in chosen or [opened]:
            if node not in self.place:
                raise DrawingError(f"open names a tensor of the picture, or True for all, not {node!r}.")
            if node not in unfolded:
                raise DrawingError(f"{node.label} was not unfolded into scalars. Call lower(t) first.")
        return chosen

    def _open_rows(self, chosen: Sequence[TensorNode]) -> tuple[dict[TensorNode, list[int]], list[str]]:
        """The rows to show of each opened tensor, element by element, with the steps on the way; what is said of it."""
        tables, taken = CURRENT.tables, set[int]()
        found, said = dict[TensorNode, list[int]](), list[str]()
        for node in chosen:
            unfolding, own, elements = tables.unfolded[node], set[int](), 0
            for row in map(int, unfolding.rows.reshape(-1)):
                if len(taken) >= self.most or row < 0:
                    break
                elements += 1
                own |= _steps(tables, row, unfolding.first, unfolding.end) - taken
                taken |= own
            found[node] = sorted(own)
            if elements < node.size:
                said.append(f"{elements:,} of the {node.size:,} elements of {node.name or 'a tensor'} are shown.")
        return {node: rows for node, rows in found.items() if rows}, said

    # --- arrows ---

    def arrows(self) -> list[Arrow]:
        """An arrow for each source of each tensor, and for each operand of each scalar; several alike are bundled."""
        arrows, bundles = list[Arrow](), Counter[tuple[str, str]]()
        for node, place in self.place.items():
            if node in self.rows:
                for row in self.rows[node]:
                    arrows += self._into_scalar(row, bundles)
                continue
            target = self.folder.box(place)
            for position, source in enumerate(node.sources):
                if source in self.rows:
                    place_of = CURRENT.tables.unfolded[source].place_of
                    elements = (row for row in self.rows[source] if place_of(row) is not None)
                    bundles.update((self.box_of[row], target) for row in elements)
                elif source in self.place and self.folder.box(self.place[source]) != target:
                    at = position if _ordered(node) else None
                    start = self.folder.box(self.place[source])
                    arrows.append(Arrow(f"edge-{start}-{target}-{place}-{position}", start, target, "", at))
        return arrows + bundled(bundles)

    def _into_scalar(self, row: int, bundles: Counter[tuple[str, str]]) -> Iterator[Arrow]:
        """The arrows from scalars that are shown; those from tensors are counted."""
        tables = CURRENT.tables
        operands = tables.operands(row)
        sources = [self.box_of.get(operand, "") for operand in operands]
        for operand in (each for each, source in zip(operands, sources) if not source):
            block = tables.block(operand)
            if block is not None and block.owner.tensor in self.place:
                bundles[self.folder.box(self.place[block.owner.tensor]), self.box_of[row]] += 1
        return node_arrows(tables, row, operands, sources, self.wishes)


def tensor_scene(what: Any, wishes: Wishes, opened: Any) -> Scene:
    """Describe these tensors and all that they are made of."""
    results = [what] if isinstance(what, TensorNode) else list(what)
    check_tensors("draw", results)
    drawn = Drawn(results, wishes, opened)
    far = f"{drawn.left_out:,} tensors further from the result are left out. See more with most=..."
    described = Scene(caption=" ".join([far] * bool(drawn.left_out) + drawn.said))
    for name, members in drawn.folder.grouped(range(len(drawn.nodes))).items():
        described.boxes += drawn.boxes(name, members)
    described.arrows = drawn.arrows()
    frames = {drawn.frame(node): f"{drawn.names[node]}  {_shape(node)}" for node in drawn.rows}
    described.scope_names = drawn.folder.names() | frames
    return described


def formula_of(node: TensorNode, names: dict[TensorNode, str]) -> str:
    """`y[i] = Σ[j] W[i,j] * x[j]`; nothing for a leaf."""
    if not node.sources:
        return ""
    written = EquationWriter(names, TEXT)
    return re.sub(r"(\w+)_{(.*?)} ", _over, f"{written.left(node)} = {written.right(node)}")


def described(node: TensorNode, most: int) -> str:
    """A tensor without a name, by what it is made of: its equation if that speaks of named tensors, or their names."""
    named = [each.name for each in ancestors([node]) if each.name]
    equation = node.equation() if any(each.name for each in node.sources) else ""
    if equation and len(equation) <= most:
        return visible(equation)
    return visible(f"a tensor {_shape(node)}" + (f" of {', '.join(named)}" if named else ""), most)


def _reached(nodes: Sequence[TensorNode]) -> set[TensorNode]:
    """What was computed, though its entries may not have been kept: something that has a value stands on it."""
    tables, reached = CURRENT.tables, {node for node in nodes if node._value is not None and node.sources}
    for node in reversed(nodes):
        last = tables.unfolded[node].end - 1 if node in tables.unfolded else -1
        if node in reached or (node.sources and last >= 0 and tables.value(last) is not None):
            reached.update((node, *node.sources))
    return reached


def _over(found: re.Match[str]) -> str:
    """`sum_{a} ` and `max_{a} ` as pictures write them."""
    return f"{'Σ' if found[1] == 'sum' else found[1]}[{found[2]}] "


def _shape(node: TensorNode) -> str:
    return f"({' × '.join(map(str, node.shape))})" if node.rank else "(a number)"


def _steps(tables: Tables, row: int, first: int, end: int) -> set[int]:
    """A row and those that it is computed from, as far as they were appended for the same tensor."""
    found, waiting = {row}, [row]
    while waiting:
        for each in tables.operands(waiting.pop()):
            if first <= each < end and each not in found:
                found.add(each)
                waiting.append(each)
    return found


def _ordered(node: TensorNode) -> bool:
    """Whether it matters which source comes first."""
    if isinstance(node, LinearNode):
        return node.op == OpType.sub
    return len(node.sources) > 1
