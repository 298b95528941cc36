"""Draw a tensor as a matrix: a cell for each entry, coloured by its value; and list the entries that it depends on.

A tensor of three axes or more becomes several matrices, side by side or below each other: an image has one for each
of its channels, the weights of a convolution one for each pair of channels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from math import prod
from operator import itemgetter
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

MOST_CELLS, LONGEST = 1024, 64  # a larger tensor, or one with more rows or columns, is not drawn entry by entry
MOST_WRITTEN, WIDEST = 64, 8  # cells of a tensor whose numbers are written, and cells of a row of it
MOST_TERMS = 20_000  # products of an Einstein sum, beyond which the entries are not traced to those of the sources
DIGITS = 3  # of a number in a cell
APART = 0.4  # cells between two matrices of one tensor


def make_grid(node: TensorNode, name: str, value: Any) -> Grid | None:
    """The tensor as one matrix or several; None if it is a number or too large. value: its entries, if known."""
    if not node.rank or node.size > MOST_CELLS:
        return None
    shown_axes = display_axes(node)
    order = [axis for axis in range(node.rank) if axis not in shown_axes] + shown_axes
    extents = [node.shape[axis] for axis in shown_axes] or [1]
    high, wide = extents[-2] if len(extents) > 1 else 1, extents[-1]
    # Channels stand side by side. A tensor has channels if it has four axes, or if its rows and columns are not last.
    has_channels = node.rank == 4 or len(extents) > 3 or shown_axes != sorted(shown_axes)
    blocks_across = extents[-3] if has_channels and len(extents) > 2 else 1
    if has_channels and blocks_across == 1:  # such as kernels of one channel: all side by side
        blocks_across = prod(extents[:-2])
    entries = np.arange(node.size).reshape(node.shape).transpose(order).reshape(-1, high, wide)  # by their places
    blocks_down = len(entries) // blocks_across
    columns, rows = blocks_across * (wide + APART) - APART, blocks_down * (high + APART) - APART
    if columns > LONGEST or rows > LONGEST:
        return None
    numbers = None if value is None else np.asarray(value, dtype=float).reshape(-1)
    # A convolution's kernels are seen as patterns: their numbers are not written.
    is_written = numbers is not None and wide <= WIDEST and node.size <= MOST_WRITTEN and not is_kernel(node)
    largest = 0.0 if numbers is None else float(np.max(np.abs(numbers), initial=0.0, where=np.isfinite(numbers)))
    cells = []
    for entry, ((block, row, column), _) in enumerate(sorted(np.ndenumerate(entries), key=itemgetter(1))):
        down, across = divmod(block, blocks_across)
        cell_row, cell_column = down * (high + APART) + row, across * (wide + APART) + column
        number = None if numbers is None else float(numbers[entry])
        caption = entry_name(name, node.shape, entry) + ("" if number is None else f" = {format_number(number, 6)}")
        text = _format_entry(number) if is_written and number is not None else ""
        share = None
        if number is not None and np.isfinite(number):
            share = number / largest if largest else 0.0
        cells.append(Cell(cell_row, cell_column, text, caption, share, number is not None))
    return Grid(columns, rows, cells)


def is_kernel(node: TensorNode) -> bool:
    """Whether these are weights of a convolution: a parameter of four axes, such as (out, in, rows, columns)."""
    return isinstance(node, LeafNode) and node.leaf_type == LeafType.PARAMETER and node.rank == 4 and node.size > 1


def display_axes(node: TensorNode) -> list[int]:
    """The axes of more than one entry (of a kernel all axes), the two that become rows and columns last.

    These are neighbouring axes of equal extent, as an image has, with its channels before or behind: (3, 8, 8) or
    (8, 8, 3). If no neighbours are equal, three axes end with the last two, more with the two of most entries.
    """
    axes = [axis for axis, extent in enumerate(node.shape) if extent > 1 or is_kernel(node)]
    if len(axes) < 3:
        return axes
    pairs = list(pairwise(axes))
    if is_kernel(node):  # conv2d has (rows, columns, in, out), other kernels (out, in, rows, columns)
        pairs = [pair for pair in (pairs[-1], pairs[0]) if node.shape[pair[0]] == node.shape[pair[1]]] or pairs[-1:]
    squares = [pair for pair in pairs if node.shape[pair[0]] == node.shape[pair[1]]]
    if len(axes) == 3:
        pairs = squares or pairs[-1:]
    rows, columns = max(squares or pairs, key=lambda pair: (node.shape[pair[0]] * node.shape[pair[1]], pair))
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
    """JSON {box id of a source: [[its entries that entry 0 of the node is computed from], [entry 1], ...]}; "" if none.

    boxes: the box id of each drawn tensor. Entries are numbered as in the flattened tensor.
    """
    if not node.sources or node.size > MOST_CELLS:
        return ""
    if isinstance(node, NonlinearNode):
        same_entries = [[entry] for entry in range(node.size)]  # elementwise
        return json.dumps({boxes[source]: same_entries for source in node.sources if source in boxes})
    pairs = _contributing_entries(node) if hasattr(node, "index") else None
    entries_of: dict[str, list[list[int]]] = {}
    for source, (own_entries, source_entries) in zip(node.sources, pairs or ()):
        if source in boxes and source.size <= MOST_CELLS:
            lists = entries_of.setdefault(boxes[source], [[] for _ in range(node.size)])
            for own_entry, source_entry in sorted({*zip(own_entries.tolist(), source_entries.tolist())}):
                lists[own_entry].append(source_entry)
    return json.dumps(entries_of, separators=(",", ":")) if entries_of else ""


def _contributing_entries(node: Any) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """For each source: flat indices into the node, and the flat indices into the source that contribute to them.

    One pair for each term of the Einstein sum whose selections are not 0; None if there are too many terms.
    """
    axes = list(zip(_axis_ids(node.index), (node.shape, *(source.shape for source in node.sources))))
    extents = {axis_id: extent for ids, shape in axes for axis_id, extent in zip(ids, shape)}
    terms = prod(extents.values())
    if terms > MOST_TERMS:
        return None
    position_along = dict(zip(extents, np.indices(list(extents.values())).reshape(len(extents), terms)))
    is_selected = np.ones(terms, dtype=bool)
    for (ids, _), source in zip(axes[1:], node.sources):
        if isinstance(source, SelectionNode) and source.size <= MOST_TERMS:
            is_selected &= source.dense()[tuple(position_along[axis_id] for axis_id in ids)] != 0
    flat = []
    for ids, shape in axes:
        positions = [position_along[axis_id][is_selected] for axis_id in ids]
        flat.append(np.ravel_multi_index(positions, shape) if shape else np.zeros(int(is_selected.sum()), dtype=int))
    return [(flat[0], source_entries) for source_entries in flat[1:]]


def _axis_ids(index: Iterable[tuple[int, ...]]) -> list[list[object]]:
    """The axis ids of the result and of each source; a transform's negative ids are made distinct for each side."""
    arrays = list(index)
    if len(arrays) != 2:
        return [[*ids] for ids in arrays]
    return [[(side, axis_id) if axis_id < 0 else axis_id for axis_id in ids] for side, ids in enumerate(arrays)]
