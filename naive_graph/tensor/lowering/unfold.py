"""How the elements of one tensor become scalar nodes, given those of its sources.

Arrays of rows take the same path as arrays of numbers: an axis is summed by
n-ary sums, a selection moves rows, and a function is its own graph, once for
each entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.rules import RULES
from ...core.tables import CONSTANT, PLACEHOLDER, VARIABLE, Scope
from ..base import TensorNode, size_of
from ..evaluation.gather_scatter import arrivals
from ..index import Ids, Shape
from ..nodes import LeafNode, LeafType, LinearNode, NonlinearNode, OpType, TransformNode
from ..reduction import Places, ReductionNode
from ..selection import Picker, SelectionNode
from .bulk import ADD, ONE, SUB, ZERO, BulkWriter, Rows
from .scalars import SCALARS

LEAF_KINDS = {LeafType.INPUT: PLACEHOLDER, LeafType.PARAMETER: VARIABLE, LeafType.CONSTANT: CONSTANT}


class Unfolding:
    """The rows of the scalar nodes that one tensor's elements became."""

    def __init__(self, tensor: TensorNode, rows: Rows, first: int, end: int) -> None:
        self.tensor = tensor
        self.rows = rows
        self.first, self.size = first, end - first  # what was appended for it
        self.version = -1  # of a leaf, when the numbers were written that its nodes were given

    @property
    def end(self) -> int:
        return self.first + self.size

    def name_of(self, place: int) -> str | None:
        """What a row of the block is called: `y[0,2]`, or nothing if it is a step on the way."""
        found = self.place_of(self.first + place) if self.tensor.given_name else None
        return None if found is None else self.tensor.name_of(found)

    def place_of(self, row: int) -> int | None:
        """The place in the flattened tensor of the element that is this row."""
        flat = self.rows.reshape(-1)
        guess = row - int(flat[0])
        if 0 <= guess < len(flat) and flat[guess] == row:
            return guess
        found = np.flatnonzero(flat == row)
        return int(found[0]) if len(found) else None


def unfold(node: TensorNode, writer: BulkWriter, known: Mapping[Any, Unfolding]) -> Unfolding:
    """Draft the scalars of a node whose sources are unfolded, inside a scope of its name."""
    first = writer.end
    writer.begin(node.origin, Scope(node.given_name or node.kind, node.scope) if node.sources else node.scope)
    sources = [known[source].rows for source in node.sources]
    if isinstance(node, LeafNode):
        version = node.version()  # before the numbers are read
        rows = _leaf(node, writer)
    elif isinstance(node, TransformNode):
        rows = _transform(node, writer, sources[0])
    elif isinstance(node, LinearNode):
        rows = _linear(node, writer, sources)
    elif isinstance(node, ReductionNode):
        rows = _reduction(node, writer, written(sources[0]))
    else:
        assert isinstance(node, NonlinearNode)
        rows = writer.function(node.function, [written(each).reshape(-1) for each in sources])
    found = Unfolding(node, rows.reshape(node.shape), first, writer.end)
    if isinstance(node, LeafNode):
        found.version = version
    return found


def _leaf(node: LeafNode, writer: BulkWriter) -> Rows:
    if isinstance(node, SelectionNode):
        return _Unwritten(node).reshape(-1)
    if node.nodes is not None:
        return np.array([each.row for each in node.nodes], dtype=np.int32)
    values = None if node.held is None else np.asarray(node.held)
    if node.structural:
        return np.where(values == 0.0, ZERO, ONE)
    return writer.leaves(LEAF_KINDS[node.leaf_type], values, node.size)


class _Unwritten:
    """The rows of a selection, written out only where no shorter way is found."""

    def __init__(self, selection: SelectionNode) -> None:
        self.selection = selection

    def reshape(self, shape: Any) -> _Unwritten:
        return self

    def written(self) -> Rows:
        return np.where(self.selection.dense() == 0.0, ZERO, ONE)


def written(rows: Rows) -> Rows:
    return rows.written() if isinstance(rows, _Unwritten) else rows


def _transform(node: TransformNode, writer: BulkWriter, rows: Rows) -> Rows:
    rows = written(rows)
    kept = [each for each in node.index.dst if each > 0]
    dummies = [each for each in node.index.src if each < 0]
    table = rows.transpose([node.index.src.index(each) for each in (*kept, *dummies)])
    shape = table.shape[: len(kept)]
    totals = writer.scaled(writer.sums(table.reshape(size_of(shape), -1)), node.alpha).reshape(shape)
    sizes = iter(shape)
    return np.broadcast_to(totals.reshape([next(sizes) if each > 0 else 1 for each in node.index.dst]), node.shape)


def _reduction(node: ReductionNode, writer: BulkWriter, rows: Rows) -> Rows:
    """One line of a table for each result, its entries in the order of the source's axes."""
    places = Places.of(node.index)
    order = [each - 1 for each in (*places.kept, *places.dropped)]
    table = writer.real(rows.transpose(order).reshape(node.size, -1))
    if table.shape[1] == 1 and node.rule != "argmax":
        return writer.apply(RULES["held"], table[:, 0]) if node.rule == "peak" else table[:, 0]
    return SCALARS[node.rule](writer, table)


def _linear(node: LinearNode, writer: BulkWriter, sources: list[Rows]) -> Rows:
    index = node.index
    if node.op == OpType.mul:
        picked = _selected(node, writer, sources)
        if picked is not None:
            return picked
    left, right = (written(each) for each in sources)
    grid = (*index.dst, *index.dummies)
    extents = dict(zip(index.left, left.shape)) | dict(zip(index.right, right.shape))
    shape = tuple(extents[each] for each in grid)
    l, r = (_spread(rows, ids, grid, shape) for rows, ids in ((left, index.left), (right, index.right)))  # noqa: E741
    chooses = [isinstance(source, NonlinearNode) and source.structural for source in node.sources]
    if node.op != OpType.mul:
        terms = writer.total(ADD if node.op == OpType.add else SUB, l, r)
    elif any(chooses):
        terms = writer.choice(l, r) if chooses[0] else writer.choice(r, l)
    else:
        terms = writer.product(l, r)
    return writer.sums(terms.reshape(node.size, -1))


def _spread(rows: Rows, ids: Ids, grid: Ids, shape: Shape) -> Rows:
    """The rows of a source, spread over all indices of the product, and flattened."""
    present = [each for each in grid if each in ids]
    rows = rows.transpose([ids.index(each) for each in present])
    sizes = iter(rows.shape)
    rows = rows.reshape([next(sizes) if each in ids else 1 for each in grid])
    return np.broadcast_to(rows, shape).reshape(-1)


# --- selections ---------------------------------------------------------------


def _selected(node: LinearNode, writer: BulkWriter, sources: list[Rows]) -> Rows | None:
    """A product with a selection, as moves of rows and sums of what falls together; None if it is not that."""
    places = [place for place, rows in enumerate(sources) if isinstance(rows, _Unwritten)]
    if len(places) != 1:
        return None
    selection = sources[places[0]].selection
    names = tuple(map(abs, node.index[1 + places[0]]))
    rows, ids = sources[1 - places[0]], tuple(map(abs, node.index[2 - places[0]]))
    for picker in selection.pickers:
        moved = _moved(writer, rows, ids, selection, picker, names, set(node.index.dst))
        if moved is None:
            return None
        rows, ids = moved
    if set(ids) - set(node.index.dst):
        return None
    return rows.transpose([ids.index(each) for each in node.index.dst])


def _moved(
    writer: BulkWriter, rows: Rows, ids: Ids, selection: SelectionNode, picker: Picker, names: Ids, kept: set[int]
) -> tuple[Rows, Ids] | None:
    many, one = tuple(names[axis] for axis in picker.axes), names[picker.axis]
    if one not in kept and one in ids and not set(many) & set(ids):
        axis = ids.index(one)
        picks = picker.picks(selection.shape)
        moved = np.take(rows, picks.clip(0), axis=axis)
        picked = (picks >= 0).reshape(picks.shape + (1,) * (rows.ndim - axis - 1))
        return np.where(picked, moved, ZERO), (*ids[:axis], *many, *ids[axis + 1 :])
    if not set(many) & kept and set(many) <= set(ids) and one not in ids:
        rest = tuple(each for each in ids if each not in many)
        moved = rows.transpose([ids.index(each) for each in (*many, *rest)])
        return _collected(writer, moved, selection, picker), (one, *rest)
    return None


def _collected(writer: BulkWriter, rows: Rows, selection: SelectionNode, picker: Picker) -> Rows:
    """The picker's axes, now the first, replaced by the one that they determine: what falls together is summed."""
    size = selection.shape[picker.axis]
    others = rows.shape[len(picker.axes) :]
    if picker.is_reshape(selection.shape):
        return rows.reshape(size, *others)
    picks = picker.picks(selection.shape).ravel()
    flat = rows.reshape(len(picks), -1)
    columns = [np.where(present[:, None], flat[places], ZERO) for present, places in arrivals(picks, size)]
    return writer.sums(np.stack(columns, -1).reshape(size * flat.shape[1], -1)).reshape(size, *others)
