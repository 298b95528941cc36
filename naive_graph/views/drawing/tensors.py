"""The scene of tensors: a box for each with shape, equation and entries.

An opened tensor has a frame with a box for each of its scalars instead. Of a large model scopes are folded, innermost
first, until the boxes fit into a screen, unless `fold=` or `most=` says what is drawn.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from math import isfinite
from typing import Any

from ...core.number import shortened
from ...core.records import around
from ...core.tables import Scope, Tables
from ...errors import DrawingError
from ...graph.node_factory import CURRENT
from ...tensor.base import TensorNode, check_tensors
from ...tensor.differentiate import ancestors
from ...tensor.equation_text import TEXT, EquationWriter
from ...tensor.evaluation.evaluate import refresh
from ...tensor.nodes import LeafNode, LeafType, LinearNode, NonlinearNode, OpType, TransformNode
from ...tensor.notation import unique_names
from ...tensor.sparse_selector import SelectionNode
from ..theme import format_number
from .folding import Folder, short
from .matrices import MOST_CELLS, MOST_WRITTEN, entry_sources_json, is_kernel, known_value, make_grid
from .scene import (
    FOLLOWED,
    NEAREST,
    READABLE,
    SCREENFUL,
    Arrow,
    Box,
    DrawOptions,
    Scene,
    bundle_arrows,
    nearest_first,
    node_arrows,
    node_box,
    scope_box,
)
from .summary import stem, summarize_scene
from .text_metrics import round_numbers, visible

# The kind of a leaf's box: its style in the theme.
LEAF_BOXES = {LeafType.INPUT: "placeholder", LeafType.PARAMETER: "variable", LeafType.CONSTANT: "constant"}
MOST_LETTERS = 60  # of an equation in a box
FEW = 16  # boxes with equations that fit into a screen


class TensorDrawing:
    """Build the scene of these tensors and all that they depend on. A tensor's number serves a Folder as its row.

    opened: the tensors to show as scalars, see `draw`. names: display names, if they are known already.
    part: the tensors to draw, if not all.
    """

    def __init__(
        self,
        results: Sequence[TensorNode],
        options: DrawOptions,
        opened: Any,
        names: Mapping[TensorNode, str] | None = None,
        part: Container[TensorNode] | None = None,
    ) -> None:
        self.options, self.most = options, options.most or (FOLLOWED if options.fold is None else READABLE)
        everything = ancestors(results)
        refresh(results)
        self.names = printed_names(everything) if names is None else {**names}
        nodes = [node for node in everything if (part is None or node in part) and not isinstance(node, SelectionNode)]
        self.passed_on: dict[TensorNode, TensorNode] = {}  # the source of each identity that is not drawn
        if options.bundle:
            nodes = self._without_identities(nodes, results)
        self.all_nodes = nodes  # a tensor's row is its index here: folding and leaving out do not change it
        self.row_of = {node: row for row, node in enumerate(nodes)}
        self.computed = _computed_nodes(nodes)
        self.owner: dict[TensorNode, Scope] = {}  # of parameters that are drawn within the folded scope that they feed
        self.notes: list[str] = []  # for the caption
        # Whether scopes were folded to show layers: then equations of named tensors and empty cells are left out.
        self.is_brief = False
        is_fixed = options.fold is not None or options.most is not None or len(nodes) <= FEW
        self._set_drawn(nodes, options.fold) if is_fixed else self._fold_to_screenful(nodes)
        if len(self.folder.grouped(self.place.values())) > self.most:
            near = islice(nearest_first(results, lambda node: filter(self.place.__contains__, node.sources)), self.most)
            self._set_drawn(sorted(near, key=lambda node: node.serial), options.fold)
            left_out = len(nodes) - len(self.nodes)
            self.notes.append(f"{left_out:,} tensors further from the result are left out. See more with most=...")
        self.rows = self._open_rows(self._choose_opened(opened))  # the scalars of opened tensors
        self.box_of = {row: f"row-{row}" for rows in self.rows.values() for row in rows}

    def _without_identities(self, nodes: list[TensorNode], results: Sequence[TensorNode]) -> list[TensorNode]:
        """Drop identities, which are replaced by their sources; with many tensors drop constants as well."""
        for node in nodes:
            if node not in results and _is_identity(node):
                source = node.sources[0]
                self.passed_on[node] = self.passed_on.get(source, source)
                self.names[node] = self.names[self.passed_on[node]]
        remaining = [node for node in nodes if node not in self.passed_on]
        if len(remaining) <= FEW:
            return remaining
        constants = {node for node in remaining if isinstance(node, LeafNode) and node.leaf_type == LeafType.CONSTANT}
        return [node for node in remaining if node not in constants or node in results]

    def _fold_to_screenful(self, nodes: list[TensorNode]) -> None:
        """Fold scopes, innermost first, until few boxes are left; parameters that only one uses go into it."""
        for depth in range(max(len(around(node.scope)) for node in nodes), -1, -1):
            self._set_drawn(nodes, depth)
            self.owner = self._find_owners()
            boxes = {self.folder.box(number) for node, number in self.place.items() if node not in self.owner}
            if len(boxes) <= FEW:
                break
        self._set_drawn([node for node in nodes if node not in self.owner], depth)
        self.is_brief = any(self.folder.closed(node.scope) for node in self.nodes)

    def _find_owners(self) -> dict[TensorNode, Scope]:
        """The folded scope of each parameter that is used in only one, directly or through a transpose or the like."""
        fed: dict[TensorNode, set[Scope | None]] = defaultdict(set)
        learned: dict[TensorNode, bool] = {}  # whether it is a parameter, or a transformed one
        for node in self.nodes:
            is_parameter = isinstance(node, LeafNode) and node.leaf_type == LeafType.PARAMETER
            source = self.sources(node)[0] if isinstance(node, TransformNode) else node
            learned[node] = is_parameter or learned.get(source, False)
        owners: dict[TensorNode, Scope] = {}
        for node in reversed(self.nodes):
            scopes, scope = fed[node], self.folder.closed(node.scope)
            only = next(iter(scopes)) if len(scopes) == 1 else None
            if scope is None and learned[node] and only is not None:
                owners[node] = scope = only
            for source in self.sources(node):
                fed[source].add(scope)
        # A scope that only parameters feed keeps them as boxes, so that something leads to it.
        others = set[Scope | None]().union(*(scopes for node, scopes in fed.items() if node not in owners))
        return {node: scope for node, scope in owners.items() if scope in others}

    def sources(self, node: TensorNode) -> list[TensorNode]:
        """A tensor's sources, with identities skipped."""
        return [self.passed_on.get(source, source) for source in node.sources]

    def _set_drawn(self, nodes: list[TensorNode], fold: object) -> None:
        """Set which tensors are drawn, and how their scopes fold; the Folder asks this object for each row's scope."""
        self.nodes, self.place = nodes, {node: self.row_of[node] for node in nodes}
        self.scopes: list[tuple[int, Scope | None]] = [(row, node.scope) for node, row in self.place.items()]
        self.folder = Folder(self, fold, "tensor")

    def scope(self, row: int) -> Scope | None:
        return self.all_nodes[row].scope

    def scene(self) -> Scene:
        """The scene: boxes, arrows, and a caption about what is left out."""
        groups = self.folder.grouped(self.place.values())
        boxes = [box for name, members in groups.items() for box in self.boxes(name, members)]
        arrows = self.arrows()
        frames = {self.frame(node): f"{self.names[node]}  {_format_shape(node)}" for node in self.rows}
        return Scene(boxes, arrows, self.folder.names() | frames, " ".join(self.notes))

    # --- boxes ---

    def boxes(self, name: str, members: Sequence[int]) -> list[Box]:
        """The box of a scope or a tensor, or those of an opened tensor's scalars."""
        folded = scope_box(self.folder, name, members, "tensor")
        if folded is not None:
            return [self._layer(folded, name, members)]
        node = self.all_nodes[members[0]]
        around = self.folder.open_path(node.scope)
        if node in self.rows:
            plain = Folder(CURRENT.tables)
            scalars = [node_box(CURRENT.tables, row, self.options, plain) for row in self.rows[node]]
            return [replace(box, scope=(*around, self.frame(node))) for box in scalars]
        kind = LEAF_BOXES[node.leaf_type] if isinstance(node, LeafNode) else "operator"
        value = known_value(node) if self.options.values else None
        lines, formula = [f"{visible(self.names[node])}  {_format_shape(node)}"], formula_of(node, self.names)
        grid = make_grid(node, visible(self.names[node]), value)
        empty = value is None and not node.given_name and node in self.computed
        crowded = len(self.nodes) > NEAREST and not is_kernel(node)
        if ((empty or crowded) and node.size > MOST_WRITTEN) or (self.is_brief and value is None):
            grid = None
        if formula and not (self.is_brief and node.given_name):
            lines.append(visible(formula, MOST_LETTERS))
        if value is None and self.options.values and node not in self.computed and not self.is_brief:
            lines.append("not fed" if kind == "placeholder" else "not computed")
        elif value is not None and not node.rank:
            lines.append(format_number(float(value)))
        elif value is not None and grid is None:
            lines.append(f"from {format_number(float(value.min()))} to {format_number(float(value.max()))}")
        id_of = {tensor: f"tensor-{number}" for tensor, number in self.place.items()}
        id_of |= {tensor: id_of[source] for tensor, source in self.passed_on.items() if source in id_of}
        feeds = entry_sources_json(node, id_of) if grid or not crowded else ""
        facts = {"feeds": feeds, "formula": formula, "through": "" if node.given_name else "yes"}
        wrong = value is not None and not all(map(isfinite, value.reshape(-1)[:MOST_CELLS]))
        facts = {what: fact for what, fact in facts.items() if fact}
        description = ", ".join([*lines, *(cell.text for cell in grid.cells if cell.text)]) if grid else ""
        return [Box(name, kind, lines, around, wrong, description, grid, facts)]

    def _layer(self, box: Box, name: str, members: Sequence[int]) -> Box:
        """The box of a folded scope: title, named results in it, the shape of its last tensor, number of weights."""
        scope, nodes = self.folder.scopes()[name], [self.all_nodes[member] for member in members]
        title, size = box.lines
        names = (re.sub(r"_\d+$", "", self.names[node]) for node in nodes if node.given_name and node.sources)
        result_names = list(dict.fromkeys(names))
        if result_names and result_names != [title]:
            title = visible(f"{title}: {', '.join(result_names)}")
        parameters = [node for node in nodes if isinstance(node, LeafNode) and node.leaf_type == LeafType.PARAMETER]
        parameters += [node for node, owner in self.owner.items() if owner is scope and isinstance(node, LeafNode)]
        weights = sum(parameter.size for parameter in parameters)
        lines = [title, _format_shape(nodes[-1]), f"{weights:,} weights" if weights else size]
        return replace(box, lines=lines, said=", ".join([*lines, size] if weights else lines))

    def frame(self, node: TensorNode) -> str:
        """The id of the frame around an opened tensor's scalars."""
        return f"scope-tensor-{self.place[node]}"

    # --- opened tensors ---

    def _choose_opened(self, opened: Any) -> list[TensorNode]:
        """The tensors to show as scalars, all of them lowered."""
        if opened is False or opened is None:
            return []
        unfolded = CURRENT.tables.unfolded
        if opened is True:
            chosen = [node for node in self.nodes if node in unfolded]
            if not chosen:
                raise DrawingError("open=True: none of these tensors was unfolded into scalars. Call lower(t) first.")
            return chosen
        is_single = isinstance(opened, TensorNode) or not isinstance(opened, Iterable)
        chosen = [opened] if is_single else [*opened] or [opened]
        for node in chosen:
            if not isinstance(node, TensorNode) or node not in self.place:
                raise DrawingError(f"open names a tensor of the picture, or True for all, not {shortened(node)}.")
            if node not in unfolded:
                raise DrawingError(f"{node.label} was not unfolded into scalars. Call lower(t) first.")
        return chosen

    def _open_rows(self, chosen: Sequence[TensorNode]) -> dict[TensorNode, list[int]]:
        """For each opened tensor the rows of its elements and intermediate steps."""
        tables, shown, rows_of = CURRENT.tables, set[int](), dict[TensorNode, list[int]]()
        for node in chosen:
            unfolding, own_rows, elements = tables.unfolded[node], set[int](), 0
            appended = range(unfolding.first, unfolding.end)
            for row in map(int, unfolding.rows.reshape(-1)):
                if len(shown) >= self.most or row < 0:
                    break
                elements += 1
                own_rows |= _rows_within(tables, row, appended) - shown
                shown |= own_rows
            rows_of[node] = sorted(own_rows)
            if elements < node.size:
                name = node.given_name or "a tensor"
                self.notes.append(f"{elements:,} of the {node.size:,} elements of {name} are shown.")
        return {node: rows for node, rows in rows_of.items() if rows}

    # --- arrows ---

    def arrows(self) -> list[Arrow]:
        """An arrow for each source of each tensor, and for each operand of each scalar; several alike are bundled."""
        arrows, bundles = list[Arrow](), Counter[tuple[str, str]]()
        for node, number in self.place.items():
            if node in self.rows:
                for row in self.rows[node]:
                    arrows += self._scalar_arrows(row, bundles)
                continue
            target = self.folder.box(number)
            for position, source in enumerate(self.sources(node)):
                if source in self.rows:
                    flat_index_of = CURRENT.tables.unfolded[source].flat_index_of
                    elements = (row for row in self.rows[source] if flat_index_of(row) is not None)
                    bundles.update((self.box_of[row], target) for row in elements)
                elif source in self.place and (start := self.folder.box(self.place[source])) != target:
                    if {start, target} & self.folder.scopes().keys():
                        bundles[start, target] += 1
                    else:
                        name = f"edge-{start}-{target}-{number}-{position}"
                        arrows.append(Arrow(name, start, target, "", position if _is_ordered(node) else None))
        return arrows + bundle_arrows(bundles)

    def _scalar_arrows(self, row: int, bundles: Counter[tuple[str, str]]) -> Iterator[Arrow]:
        """Arrows into a scalar from scalars that are shown; those from tensors are added to `bundles`."""
        tables = CURRENT.tables
        operands = tables.operands(row)
        sources = [self.box_of.get(operand, "") for operand in operands]
        for operand in operands:
            block = tables.block(operand) if operand not in self.box_of else None
            if block is not None and block.owner.tensor in self.place:
                bundles[self.folder.box(self.place[block.owner.tensor]), self.box_of[row]] += 1
        return node_arrows(tables, row, operands, sources, self.options)


def tensor_scene(what: Any, options: DrawOptions, open_tensors: Any) -> Scene:
    """The scene of these tensors and their ancestors; by default a large one is summarised to a screenful."""
    results = [what] if isinstance(what, TensorNode) else list(what)
    check_tensors("draw", results)
    drawing = TensorDrawing(results, options, open_tensors)
    full_scene = drawing.scene()
    if options.fold is not None or options.most is not None or drawing.rows:
        return full_scene
    for most in (FEW, SCREENFUL):
        if len(full_scene.boxes) <= most:
            return full_scene
        summary = summarize_scene(full_scene, _equivalence_key, most)
        if summary is not None:
            return summary
    return TensorDrawing(results, replace(options, most=SCREENFUL), open_tensors).scene()


def _equivalence_key(box: Box) -> tuple[str, ...]:
    """The key by which boxes are merged: kind, shape, and equation with its names masked."""
    shape = box.lines[1] if box.kind == "scope" else box.lines[0].partition("  ")[2]
    equation = re.sub(r"\w+(?=\[)", "…", box.facts.get("formula", ""))
    return (box.kind, shape, equation or stem(box.lines[0]))


def printed_names(nodes: Iterable[TensorNode]) -> dict[TensorNode, str]:
    """The display names of tensors: unique, without scope paths, and with printable letters only."""
    shortened = {node: short(name, node.scope) for node, name in unique_names(nodes).items()}
    return {node: visible(name, len(name)) for node, name in shortened.items()}


def formula_of(node: TensorNode, names: dict[TensorNode, str]) -> str:
    """A tensor's equation, such as `y[i] = Σ[j] W[i,j] * x[j]`; "" for a leaf."""
    if not node.sources:
        return ""
    writer = EquationWriter(names, TEXT)
    equation = re.sub(r"\bsum_{", "Σ_{", f"{writer.left_side(node)} = {writer.right_side(node)}")
    return round_numbers(re.sub(r"(\w+)_{(.*?)} ", r"\1[\2] ", equation))


def described(node: TensorNode, most: int) -> str:
    """An unnamed tensor: its equation if that has named tensors and fits, else its shape and their names."""
    named = [ancestor.name for ancestor in ancestors([node]) if ancestor.given_name]
    equation = node.equation() if any(source.given_name for source in node.sources) else ""
    if equation and len(equation) <= most:
        return visible(equation)
    return visible(f"a tensor {_format_shape(node)}" + (f" of {', '.join(named)}" if named else ""), most)


def _computed_nodes(nodes: Sequence[TensorNode]) -> set[TensorNode]:
    """The tensors that were computed, also those whose values were not kept: something computed depends on them."""
    tables, reached = CURRENT.tables, {node for node in nodes if node._value is not None and node.sources}
    for node in reversed(nodes):
        last = tables.unfolded[node].end - 1 if node in tables.unfolded else -1
        if node in reached or (node.sources and last >= 0 and tables.value(last) is not None):
            reached.update((node, *node.sources))
    return reached


def _is_identity(node: TensorNode) -> bool:
    """Whether it holds its source's entries in the source's order."""
    if len(node.sources) != 1 or node.shape != node.sources[0].shape:
        return False
    if isinstance(node, TransformNode):
        return node.alpha == 1 and tuple(node.indexDst) == tuple(node.indexSrc)
    return isinstance(node, NonlinearNode) and node.function.formula(["x"]) == "x"


def _format_shape(node: TensorNode) -> str:
    return f"({' × '.join(map(str, node.shape))})" if node.rank else "(a number)"


def _rows_within(tables: Tables, row: int, appended: range) -> set[int]:
    """A row and those that it is computed from, as far as they were appended for the same tensor."""
    return {*nearest_first([row], lambda each: filter(appended.__contains__, tables.operands(each)))}


def _is_ordered(node: TensorNode) -> bool:
    """Whether arrows show the order of its sources: of a LinearNode only those of a difference."""
    return node.op == OpType.sub if isinstance(node, LinearNode) else len(node.sources) > 1
