"""Lower one tensor node to scalar nodes, given the lowered elements of its sources.

Works on arrays of rows (scalar nodes' numbers in the graph's tables) as evaluation works on arrays of numbers:
sums along axes become n-ary sum nodes, selections gather or scatter rows, which makes new nodes only where several
rows are added into one element, and an elementwise function's scalar graph is inlined once for each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...core.rules import RULES, Rule
from ...core.tables import CONSTANT, PLACEHOLDER, VARIABLE, Scope
from ..base import TensorNode, size_of
from ..evaluation.gather_scatter import gather, scatter_rounds
from ..index import Ids, Shape
from ..nodes import LeafNode, LeafType, LinearNode, NonlinearNode, OpType, TransformNode
from ..reduction_node import ReductionAxes, ReductionNode
from ..sparse_selector import IndexMap, SelectionNode
from .bulk import ADD, DIV, ONE, SUB, WHERE, ZERO, BulkWriter, Rows

LEAF_KINDS = {LeafType.INPUT: PLACEHOLDER, LeafType.PARAMETER: VARIABLE, LeafType.CONSTANT: CONSTANT}


class LoweredRows:
    """A lowered tensor: an array of its elements' rows, and the block of rows that was appended for it.

    A selection is its own `rows`: its elements are structural zeros and ones, which have none (`materialize`).
    """

    def __init__(self, tensor: TensorNode, rows: Rows, first: int, end: int) -> None:
        self.tensor = tensor
        self.rows = rows
        self.first, self.end = first, end  # the block of rows that was appended, intermediate steps included
        self.version = -1  # of a leaf: the version of the numbers that its scalar nodes hold

    def name_of(self, offset: int) -> str | None:
        """The name of the row at an offset in the block, such as `y[0,2]`; None for an intermediate step."""
        flat_index = self.flat_index_of(self.first + offset) if self.tensor.given_name else None
        return None if flat_index is None else self.tensor.name_of(flat_index)

    def flat_index_of(self, row: int) -> int | None:
        """The flat index of the element that is this row; None if no element is."""
        flat = self.rows.reshape(-1)
        guess = row - int(flat[0])
        if 0 <= guess < len(flat) and flat[guess] == row:
            return guess
        matches = np.flatnonzero(flat == row)
        return int(matches[0]) if len(matches) else None


def lower_node(node: TensorNode, writer: BulkWriter, lowered_nodes: Mapping[Any, LoweredRows]) -> LoweredRows:
    """Lower a node whose sources are lowered already (`lowered_nodes`), inside a scope of its name."""
    first = writer.end
    writer.begin(node.origin, Scope(node.given_name or node.kind, node.scope) if node.sources else node.scope)
    sources = [lowered_nodes[source].rows for source in node.sources]
    if isinstance(node, LeafNode):
        version = node.version()  # before the numbers are read
        rows = _lower_leaf(node, writer)
    elif isinstance(node, TransformNode):
        rows = _lower_transform(node, writer, sources[0])
    elif isinstance(node, LinearNode):
        rows = _lower_linear(node, writer, sources)
    elif isinstance(node, ReductionNode):
        rows = _lower_reduction(node, writer, materialize(sources[0]))
    else:
        assert isinstance(node, NonlinearNode)
        rows = writer.apply_function(node.function, [materialize(source_rows).reshape(-1) for source_rows in sources])
    if not isinstance(rows, SelectionNode):
        rows = rows.reshape(node.shape)
    lowered = LoweredRows(node, rows, first, writer.end)
    if isinstance(node, LeafNode):
        lowered.version = version
    return lowered


def _lower_leaf(node: LeafNode, writer: BulkWriter) -> Rows:
    if isinstance(node, SelectionNode):
        return node  # made dense only where a gather or scatter cannot be used
    if node.nodes is not None:
        return np.array([scalar.row for scalar in node.nodes], dtype=np.int32)
    values = None if node.held is None else np.asarray(node.held)
    if node.is_structural:
        return np.where(values == 0.0, ZERO, ONE)
    return writer.append_leaves(LEAF_KINDS[node.leaf_type], values, node.size)


def materialize(rows: Rows) -> Rows:
    """The rows of a tensor's elements; of a selection the codes ZERO and ONE."""
    return np.where(rows.dense() == 0.0, ZERO, ONE) if isinstance(rows, SelectionNode) else rows


def _lower_transform(node: TransformNode, writer: BulkWriter, rows: Rows) -> Rows:
    rows = materialize(rows)
    kept_ids = [index for index in node.index.dst if index > 0]
    dummies = [index for index in node.index.src if index < 0]
    table = rows.transpose([node.index.src.index(axis_id) for axis_id in (*kept_ids, *dummies)])
    shape = table.shape[: len(kept_ids)]
    totals = writer.scale_by(writer.sum_lines(table.reshape(size_of(shape), -1)), node.alpha).reshape(shape)
    sizes = iter(shape)
    return np.broadcast_to(totals.reshape([next(sizes) if index > 0 else 1 for index in node.index.dst]), node.shape)


def _lower_reduction(node: ReductionNode, writer: BulkWriter, rows: Rows) -> Rows:
    """Reshape the source to one line of rows for each result entry, then reduce the lines."""
    axes = ReductionAxes.of(node.index)
    order = [axis_id - 1 for axis_id in (*axes.kept, *axes.dropped)]
    table = writer.replace_codes(rows.transpose(order).reshape(node.size, -1))
    if table.shape[1] == 1 and node.rule != "argmax":
        return writer.apply(RULES["held"], table[:, 0]) if node.rule == "peak" else table[:, 0]
    return SCALARS[node.rule](writer, table)


def _lower_linear(node: LinearNode, writer: BulkWriter, sources: list[Rows]) -> Rows:
    index = node.index
    if node.op == OpType.mul:
        selected = _lower_selection(node, writer, sources)
        if selected is not None:
            return selected
    left, right = (materialize(rows) for rows in sources)
    grid = (*index.dst, *index.dummies)
    extents = dict(zip(index.left, left.shape)) | dict(zip(index.right, right.shape))
    shape = tuple(extents[axis_id] for axis_id in grid)
    left_grid = _broadcast_to_grid(left, index.left, grid, shape)
    right_grid = _broadcast_to_grid(right, index.right, grid, shape)
    # one-hot tensors whose indices are known only at run time
    masks = [i for i, source in enumerate(node.sources) if isinstance(source, NonlinearNode) and source.is_structural]
    if node.op != OpType.mul:
        terms = writer.add_or_subtract(ADD if node.op == OpType.add else SUB, left_grid, right_grid)
    elif masks:
        terms = writer.multiply_by_mask(*((right_grid, left_grid) if masks[0] else (left_grid, right_grid)))
    else:
        terms = writer.multiply(left_grid, right_grid)
    table = terms.reshape(node.size, -1)
    if node.op == OpType.mul and masks and needs_guard(node.sources[masks[0]]):
        table = np.column_stack([table, _out_of_range_guard(node, masks[0], sources[masks[0]], writer)])
    return writer.sum_lines(table)


def needs_guard(hot: TensorNode) -> bool:
    """Whether its indices may be out of range at run time (computed or fed); known ones are checked by `lower`."""
    if hot.direct is None or hot.direct.check is None:
        return False
    indices = hot.direct.sources[0]
    return not isinstance(indices, LeafNode) or indices.leaf_type != LeafType.CONSTANT


def _out_of_range_guard(node: LinearNode, position: int, rows: Rows, writer: BulkWriter) -> Rows:
    """A term for each entry of the node: 0, or NaN if an index that it reads is out of range."""
    chosen = writer.sum_lines(rows.reshape(-1, rows.shape[-1]))  # 1, or 0 for a place outside
    zero = np.array([writer.constant(0.0)])
    guards, ids = writer.apply(DIV, zero, chosen).reshape(rows.shape[:-1]), node.index[1 + position][:-1]
    kept = [axis_id for axis_id in node.index.dst if axis_id in ids]
    lines = guards.transpose([*map(ids.index, kept), *(place for place, axis_id in enumerate(ids) if axis_id < 0)])
    shape = lines.shape[: len(kept)]
    totals = writer.sum_lines(lines.reshape(size_of(shape), -1)).reshape(shape)
    return _broadcast_to_grid(totals, tuple(kept), node.index.dst, node.shape)


def _broadcast_to_grid(rows: Rows, ids: Ids, grid: Ids, shape: Shape) -> Rows:
    """Broadcast a source's rows over the whole index grid (result indices, then dummies), flattened."""
    present = [axis_id for axis_id in grid if axis_id in ids]
    rows = rows.transpose([ids.index(axis_id) for axis_id in present])
    sizes = iter(rows.shape)
    rows = rows.reshape([next(sizes) if axis_id in ids else 1 for axis_id in grid])
    return np.broadcast_to(rows, shape).reshape(-1)


# --- selections ---------------------------------------------------------------


def _lower_selection(node: LinearNode, writer: BulkWriter, sources: list[Rows]) -> Rows | None:
    """A contraction with one selection as a gather or scatter-add of rows; None if it cannot be done so."""
    selections = [position for position, rows in enumerate(sources) if isinstance(rows, SelectionNode)]
    if len(selections) != 1:
        return None
    selection = sources[selections[0]]
    axis_ids = tuple(map(abs, node.index[1 + selections[0]]))
    rows, ids = sources[1 - selections[0]], tuple(map(abs, node.index[2 - selections[0]]))
    for index_map in selection.index_maps:
        moved = _gather_or_scatter(writer, rows, ids, selection, index_map, axis_ids, set(node.index.dst))
        if moved is None:
            return None
        rows, ids = moved
    if set(ids) - set(node.index.dst):
        return None
    return rows.transpose([ids.index(index) for index in node.index.dst])


def _gather_or_scatter(
    writer: BulkWriter, rows: Rows, ids: Ids, selection: SelectionNode, index_map: IndexMap, axis_ids: Ids,
    kept_ids: set[int],
) -> tuple[Rows, Ids] | None:  # fmt: skip
    """Apply one index map: gather if the rows have the axis that it indexes, scatter-add if they have its own axes.

    None if neither can be done. axis_ids: of the selection's axes. kept_ids: those of the result.
    """
    source_ids, target_id = tuple(axis_ids[axis] for axis in index_map.axes), axis_ids[index_map.axis]
    if target_id not in kept_ids and target_id in ids and not set(source_ids) & set(ids):
        axis = ids.index(target_id)
        moved = gather(rows + 1, axis, index_map, selection.shape) - 1  # 0 where nothing is read becomes ZERO
        return moved.astype(np.int32), (*ids[:axis], *source_ids, *ids[axis + 1 :])
    if not set(source_ids) & kept_ids and set(source_ids) <= set(ids) and target_id not in ids:
        rest = tuple(axis_id for axis_id in ids if axis_id not in source_ids)
        moved = rows.transpose([ids.index(axis_id) for axis_id in (*source_ids, *rest)])
        return _scatter_add_rows(writer, moved, selection, index_map), (target_id, *rest)
    return None


def _scatter_add_rows(writer: BulkWriter, rows: Rows, selection: SelectionNode, index_map: IndexMap) -> Rows:
    """Scatter-add of rows: replace the index map's axes, the first of `rows`, by the axis that they index into."""
    size = selection.shape[index_map.axis]
    others = rows.shape[len(index_map.axes) :]
    if index_map.is_reshape(selection.shape):
        return rows.reshape(size, *others)
    indices = index_map.indices(selection.shape).ravel()
    flat = rows.reshape(len(indices), -1)
    terms = [np.where(present[:, None], flat[sources], ZERO) for present, sources in scatter_rounds(indices, size)]
    return writer.sum_lines(np.stack(terms, -1).reshape(size * flat.shape[1], -1)).reshape(size, *others)


# --- reductions: each line of a 2-D array of rows becomes one row ---------------------

HELD, LESS, LESS_EQUAL, EQUAL = (RULES[name] for name in ("held", "less", "less_equal", "equal"))


def _n_ary(name: str) -> Callable[[BulkWriter, Rows], Rows]:
    return lambda writer, table: writer.append(RULES[name].number, table.shape[1], table, len(table))


def _detached_extremum(writer: BulkWriter, table: Rows, rule: Rule = RULES["maximum"]) -> Rows:
    """The maximum (or minimum) of each line as a fold, under stop_gradient (the rule "held")."""
    top = table[:, 0]
    for column in table.T[1:]:
        top = writer.apply(rule, top, column)
    return writer.apply(HELD, top)


def _share_extremum(writer: BulkWriter, table: Rows, rule: Rule) -> Rows:
    """The maximum (or minimum) as the sum of x / count over the tied entries, so that they share its gradient."""
    size, flat = table.shape[1], table.reshape(-1)
    top = _detached_extremum(writer, table, rule)
    pair = [flat, np.repeat(top, size)]
    is_not_extreme = writer.apply(LESS, *(pair if rule.name == "maximum" else pair[::-1]))
    zero, one = (np.full(len(flat), writer.constant(value), dtype=np.int32) for value in (0.0, 1.0))
    count = writer.append(ADD.number, size, writer.apply(SUB, one, is_not_extreme), len(table))
    count = writer.apply(WHERE, writer.apply(EQUAL, top, top), count, top)  # if top is NaN, so are all slopes
    shares = writer.apply(WHERE, is_not_extreme, zero, writer.apply(DIV, flat, np.repeat(count, size)))
    return writer.append(ADD.number, size, shares, len(table))


def _first_maximum(writer: BulkWriter, table: Rows, wants_index: bool = False) -> Rows:
    """The first maximum of each line (wants_index: its index instead), as a fold.

    The next entry replaces the current one if not (next <= current) and the current one is not NaN: so a larger
    entry does, and the first NaN.
    """
    top = table[:, 0]
    positions = np.full(len(table), writer.constant(0.0), dtype=np.int32)
    for index, column in enumerate(table.T[1:], 1):
        replaces = writer.apply(LESS, writer.apply(LESS_EQUAL, column, top), writer.apply(EQUAL, top, top))
        top = writer.apply(WHERE, replaces, column, top)
        if wants_index:
            candidate = np.full(len(table), writer.constant(float(index)), dtype=np.int32)
            positions = writer.apply(WHERE, replaces, candidate, positions)
    return positions if wants_index else top


SCALARS: dict[str, Callable[[BulkWriter, Rows], Rows]] = {
    "mul": _n_ary("mul"),
    "logsumexp": _n_ary("logsumexp"),
    "peak": _detached_extremum,
    "maximum": lambda writer, table: _share_extremum(writer, table, RULES["maximum"]),
    "minimum": lambda writer, table: _share_extremum(writer, table, RULES["minimum"]),
    "first_maximum": _first_maximum,
    "argmax": lambda writer, table: _first_maximum(writer, table, wants_index=True),
}
# The most nodes that a rule makes for each entry of the source, by which `estimate` counts.
MAX_NODES_PER_ENTRY = {"peak": 1, "maximum": 6, "minimum": 6, "first_maximum": 4, "argmax": 5}
