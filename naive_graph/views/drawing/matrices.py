"""Draw tensors as matrices: a cell for each entry, coloured by its value; and which entries depend on which."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ...graph.node_factory import CURRENT
from ...tensor.base import TensorNode, entry_name
from ...tensor.evaluation.evaluate import to_dense
from ...tensor.lowering.bulk import ONE
from ...tensor.lowering.lower import is_up_to_date
from ...tensor.nodes import LeafNode, LeafType, NonlinearNode
from ...tensor.sparse_selector import SelectionNode
from ..theme import format_number
from .scene import Cell, Grid

MOST_CELLS, LONGEST = 1024, 64  # of a tensor that is drawn entry by entry; rows or columns of it
MOST_WRITTEN, WIDEST = 64, 8  # cells with numbers in them, and how many of them side by side
MOST_TERMS = 20_000  # products of a sum that are followed
DIGITS = 3
APART = 0.4  # cells between the matrices that a tensor of three axes or more is made of


def make_grid(node: TensorNode, name: str, value: Any) -> Grid | None:
    """The tensor as a matrix, or as several below each other; None if it is a number, or too large to be drawn."""
    if not node.rank or node.size > MOST_CELLS:
        return None
    shown_axes = display_axes(node)
    order = [axis for axis in range(node.rank) if axis not in shown_axes] + shown_axes
    extents = [node.shape[axis] for axis in shown_axes] or [1]
    high, wide = extents[-2] if len(extents) > 1 else 1, extents[-1]
    # As channels are: images have four axes, or other axes than the last two for rows and columns.
    in_row = node.rank == 4 or len(extents) > 3 or shown_axes != sorted(shown_axes)
    beside = extents[-3] if in_row and len(extents) > 2 else 1
    if in_row and beside == 1:  # windows from one channel
        beside = prod(extents[:-2])
    below = prod(extents[:-2]) // beside
    columns, rows = beside * (wide + APART) - APART, below * (high + APART) - APART
    if columns > LONGEST or rows > LONGEST:
        return None
    numbers = None if value is None else np.asarray(value, dtype=float).reshape(-1)
    # Kernels are looked at, not read.
    written = numbers is not None and wide <= WIDEST and node.size <= MOST_WRITTEN and not is_kernel(node)
    largest = 0.0 if numbers is None else float(np.max(np.abs(numbers), initial=0.0, where=np.isfinite(numbers)))
    cells = []
    for entry, position in enumerate(np.argsort(np.arange(node.size).reshape(node.shape).transpose(order), axis=None)):
        block, row = divmod(int(position) // wide, high)
        spot = block // beside * (high + APART) + row, block % beside * (wide + APART) + int(position) % wide
        number = None if numbers is None else float(numbers[entry])
        caption = entry_name(name, node.shape, entry) + ("" if number is None else f" = {format_number(number, 6)}")
        text = _format_entry(number) if written and number is not None else ""
        share = None
        if number is not None and np.isfinite(number):
            share = number / largest if largest else 0.0
        cells.append(Cell(*spot, text, caption, share, number is not None))
    return Grid(columns, rows, cells)


def is_kernel(node: TensorNode) -> bool:
    """Whether these are weights of a convolution: windows of so many rows and columns, from channels to channels."""
    return isinstance(node, LeafNode) and node.leaf_type == LeafType.PARAMETER and node.rank == 4 and node.size > 1


def display_axes(node: TensorNode) -> list[int]:
    """The axes of more than one entry, rows and columns last.

    Those are two that are alike, as a picture's are, wherever its channels
    stand; of four axes and more else the longest, and of three the last.
    """
    axes = [axis for axis, extent in enumerate(node.shape) if extent > 1 or is_kernel(node)]
    if len(axes) < 3:
        return axes
    pairs = list(pairwise(axes))
    if is_kernel(node):  # in conv2d's order the first two, elsewhere the last
        pairs = [pair for pair in (pairs[-1], pairs[0]) if node.shape[pair[0]] == node.shape[pair[1]]] or pairs[-1:]
    alike = [pair for pair in pairs if node.shape[pair[0]] == node.shape[pair[1]]]
    if len(axes) == 3:
        pairs = alike or pairs[-1:]
    rows, columns = max(alike or pairs, key=lambda pair: (node.shape[pair[0]] * node.shape[pair[1]], pair))
    return [axis for axis in axes if axis not in (rows, columns)] + [rows, columns]


def known_value(node: TensorNode) -> Any:
    """The tensor's cached value, or the values of the scalars it was lowered to; None if some are not computed."""
    if isinstance(node, LeafNode):
        return node.held
    unfolding = CURRENT.tables.unfolded.get(node) if node._value is None else None
    if unfolding is None or node.size > MOST_CELLS or not is_up_to_date(node):
        return None if node._value is None else to_dense(node._value)
    values = [CURRENT.tables.value(row) if row >= 0 else float(row == ONE) for row in unfolding.rows.flat]
    return None if None in values else np.array(values, dtype=float).reshape(node.shape)


def _format_entry(number: float) -> str:
    if np.isfinite(number):
        return format_number(number, DIGITS)
    return "NaN" if number != number else format_number(number)[:4]


def entry_sources_json(node: TensorNode, boxes: dict[TensorNode, str]) -> str:
    """As JSON, for each source that has a box: the source's entries from which each entry of the node is computed."""
    if not node.sources or node.size > MOST_CELLS:
        return ""
    if isinstance(node, NonlinearNode):
        own_entries = [[entry] for entry in range(node.size)]
        return json.dumps({boxes[source]: own_entries for source in node.sources if source in boxes})
    pairs = _contributing_entries(node) if hasattr(node, "index") else None
    entries_of: dict[str, list[list[int]]] = {}
    for source, (to, fro) in zip(node.sources, pairs or ()):
        if source in boxes and source.size <= MOST_CELLS:
            lists = entries_of.setdefault(boxes[source], [[] for _ in range(node.size)])
            for one, other in sorted({*zip(to.tolist(), fro.tolist())}):
                lists[one].append(other)
    return json.dumps(entries_of, separators=(",", ":")) if entries_of else ""


def _contributing_entries(node: Any) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """For each source: flat indices into the node, and the flat indices into the source that contribute to them."""
    dst, *sources = _axis_ids(node.index)
    shapes = node.shape, *(source.shape for source in node.sources)
    extents: dict[object, int] = {}
    for ids, shape in zip((dst, *sources), shapes):
        extents |= dict(zip(ids, shape))
    terms = prod(extents.values())
    if terms > MOST_TERMS:
        return None
    places = dict(zip(extents, np.indices(list(extents.values())).reshape(len(extents), terms)))
    is_met = np.ones(terms, dtype=bool)
    for ids, source in zip(sources, node.sources):
        if isinstance(source, SelectionNode) and source.size <= MOST_TERMS:
            is_met &= source.dense()[tuple(places[axis_id] for axis_id in ids)] != 0
    flat = []
    for ids, shape in zip((dst, *sources), shapes):
        met = [places[axis_id][is_met] for axis_id in ids]
        flat.append(np.ravel_multi_index(met, shape) if shape else np.zeros(int(is_met.sum()), dtype=int))
    return [(flat[0], source_places) for source_places in flat[1:]]


def _axis_ids(index: Iterable[tuple[int, ...]]) -> list[list[object]]:
    """The axis ids of the result and of each source; a transform's negative ids are made distinct for each side."""
    arrays = list(index)
    if len(arrays) != 2:
        return [[*ids] for ids in arrays]
    return [[(side, axis_id) if axis_id < 0 else axis_id for axis_id in ids] for side, ids in enumerate(arrays)]
