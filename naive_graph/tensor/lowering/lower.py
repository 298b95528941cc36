"""Lowering a tensor graph to scalar nodes (scalarization): every element of a tensor becomes one node.

    y = linear("ij,j->i", W, x)         y[0] = W[0,0] * x[0] + W[0,1] * x[1]
                                        y[1] = W[1,0] * x[0] + W[1,1] * x[1]

An element that is only moved (by a transpose, a slice) keeps its scalar node. Products with the zeros and
ones of selections are folded away, so a convolution becomes the multiply-adds that one would write by hand.
A row is a scalar node's number in the graph's tables.
"""

from __future__ import annotations

from bisect import insort
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ...core.lock import GUARD
from ...core.number import number, shortened
from ...core.plan import plan_for
from ...core.progress import progress
from ...core.tables import NodeRange, Tables
from ...errors import BudgetError, NodeError, PlaceHolderError, ShapeError, StaleGraphError
from ...graph.node_factory import handle, truncate_if_unreferenced
from ...graph.nodes import Node
from ...graph.run_checks import check_fresh
from ..base import TensorNode, check_tensors, method, size_of
from ..differentiate import ancestors
from ..evaluation.arrays import Array, as_array
from ..evaluation.evaluate import invalidate_stale, value_of
from ..index import Shape
from ..nodes import LeafNode, LinearNode, NonlinearNode, TransformNode
from ..reduction_node import ReductionNode
from ..sparse_selector import SelectionNode
from .bulk import BulkWriter, Rows
from .lower_node import MAX_NODES_PER_ENTRY, LoweredRows, lower_node, materialize, needs_guard

MOST_ROWS = 2**31 - 1  # a row's number is 32 bits wide
BUDGET = 50_000_000  # default limit on the scalar nodes of one `lower` call
BYTES_PER_NODE = 60  # memory for a node with its edges, value and gradient


# The key of a tensor's rows with Constants in place of structural zeros and ones: `unfolded[tensor, WRITTEN_OUT]`.
WRITTEN_OUT = "written out"


class Lowered:
    """A tensor as scalar nodes. `lowered[0, 2]` is the node of an element; `values` and `grads` are arrays."""

    def __init__(self, tensor: TensorNode, tables: Tables, rows: Rows) -> None:
        self.tensor = tensor
        self.tables = tables
        self.rows = rows

    @property
    def shape(self) -> Shape:
        return self.tensor.shape

    @property
    def values(self) -> Array:
        """The elements' values; NaN where one was not computed."""
        return self._column(self.tables.value)

    @values.setter
    def values(self, values: Any) -> None:
        array = np.broadcast_to(as_array(values, self.tensor.label), self.shape)
        for node, value in zip(self, array.flat):
            node.value = float(value)

    @property
    def grads(self) -> Array:
        """The elements' gradients; NaN where there is none."""
        return self._column(self.tables.grad)

    def _column(self, read: Callable[[int], float | None]) -> Array:
        return np.array(list(map(read, self.rows.flat)), dtype=np.float64).reshape(self.shape)  # None as NaN

    def __getitem__(self, index: Any) -> Any:
        """The node of an element; for slices, an array of nodes."""
        try:
            rows = self.rows[index]
        except IndexError as error:
            repair = " It is a single number; its node is lowered[()]." if not self.shape else ""
            raise ShapeError(f"{self.tensor.label} has no element {index!r}: {error}.{repair}") from None
        if np.ndim(rows) == 0:
            return handle(self.tables, int(rows))
        return np.array([handle(self.tables, int(row)) for row in rows.flat], dtype=object).reshape(rows.shape)

    def __len__(self) -> int:
        """The number of elements."""
        return int(self.rows.size)

    def __iter__(self) -> Iterator[Node]:
        """All elements' nodes, row by row."""
        return (handle(self.tables, int(row)) for row in self.rows.flat)

    def __repr__(self) -> str:
        return f"<{self.tensor.label} as {self.rows.size:,} scalar nodes>"


@method
def lower(tensor: TensorNode, budget: int = BUDGET) -> Lowered:
    """The scalar nodes of a tensor's elements; what it depends on is lowered too, each tensor once.

    Inputs become PlaceHolders, parameters Variables, constants Constants, with
    the values that they have. Raises BudgetError before anything is built if
    that would take more than `budget` nodes, and PlaceError for a place outside
    its table, where places are known. A call that fails builds nothing.

    >>> from naive_graph import Graph, LeafNode, lower
    >>> Graph.clear()
    >>> W, x = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]], "W"), LeafNode.parameter([5.0, 6.0], "x")
    >>> y = lower(W @ x)
    >>> print(y[1].formula())
    W[1,0]*x[0] + W[1,1]*x[1]
    >>> Graph.forward()
    >>> y.values.tolist()
    [17.0, 39.0]
    """
    check_tensors("lower", [tensor])
    _check_places(tensor)
    tables = tensor.home
    with tables.lock, GUARD:
        if tensor not in tables.unfolded or (tensor, WRITTEN_OUT) not in tables.unfolded:
            _check_budget(tensor, tables, budget)
            _lower(tensor, tables)
        for leaf, lowered in _find_outdated_leaves(tensor, tables):
            lowered.version = leaf.version()
            tables.set_leaf_values(lowered.rows.ravel(), np.asarray(leaf.held, dtype=np.float64).ravel())
        return Lowered(tensor, tables, tables.unfolded[tensor, WRITTEN_OUT].rows)


def _check_places(tensor: TensorNode) -> None:
    """Raise PlaceError if run-time indices (`W.gather(i)`) are known now and out of range: scalars give NaN."""
    run_time_gathers = [node for node in ancestors([tensor]) if node.direct and node.direct.check]
    invalidate_stale(run_time_gathers)
    for node in run_time_gathers:
        with suppress(PlaceHolderError, StaleGraphError):  # indices without values yet are checked when fed
            value_of(node)


def _find_outdated_leaves(tensor: TensorNode, tables: Tables) -> list[tuple[LeafNode, LoweredRows]]:
    """The lowered leaves among a tensor's ancestors that were written since their scalar nodes got their values."""
    leaves = [node for node in ancestors([tensor]) if isinstance(node, LeafNode) and node in tables.unfolded]
    pairs = [(leaf, tables.unfolded[leaf]) for leaf in leaves if not leaf.is_structural and leaf.nodes is None]
    return [(leaf, lowered) for leaf, lowered in pairs if lowered.version < leaf.version() and leaf.held is not None]


def is_up_to_date(tensor: TensorNode) -> bool:
    """Whether the scalar nodes of a lowered tensor are up to date with the current leaves."""
    tables = tensor.home
    if _find_outdated_leaves(tensor, tables):
        return False
    rows = [row for row in tables.unfolded[tensor].rows.flat if row >= 0 and tables.operators[row] >= 0]
    if any(tables.stamp(row) < tables.written for row in rows):
        try:
            check_fresh(tables, plan_for(tables, rows))
        except StaleGraphError:
            return False
    return True


def _lower(tensor: TensorNode, tables: Tables) -> None:
    """Append the scalar nodes of a tensor and of its ancestors; on any error the graph is truncated again."""
    mark = tables.mark()
    lowered_before = {node: tables.unfolded[node] for node in ancestors([tensor]) if node in tables.unfolded}
    new_lowered: dict[Any, LoweredRows] = {}
    try:
        with tables.numbering() as first:
            writer = BulkWriter(tables, first)
            for node in progress(_not_lowered_yet(tensor, tables), label="lower"):
                new_lowered[node] = lower_node(node, writer, ChainMap(new_lowered, lowered_before))
            output = new_lowered.get(tensor) or lowered_before[tensor]
            new_lowered[tensor, WRITTEN_OUT] = _materialize_output(output, writer)
            if writer.end > writer.first:
                writer.flush()
        for key, lowered in new_lowered.items():  # which tensor the new rows belong to
            size = lowered.end - lowered.first
            if size and isinstance(key, TensorNode):
                insort(tables.blocks, NodeRange(lowered.first, size, lowered), key=lambda block: block.first)
        tables.unfolded.update(new_lowered)
    except BaseException:
        truncate_if_unreferenced(tables, mark)
        raise


def _materialize_output(lowered: LoweredRows, writer: BulkWriter) -> LoweredRows:
    """The rows of the requested tensor, with Constants in place of structural zeros and ones."""
    rows, first = materialize(lowered.rows), writer.end
    if (rows < 0).any():
        writer.begin(lowered.tensor.origin, lowered.tensor.scope)
        rows = writer.replace_codes(rows)
    return LoweredRows(lowered.tensor, rows, first, writer.end)


class Element(NamedTuple):
    """An element of a tensor; exact: the node is the element itself, not an intermediate step."""

    tensor: TensorNode
    at: tuple[int, ...]
    exact: bool


def element_of(node: Node) -> Element | None:
    """The tensor element that a scalar node is, or is an intermediate step of; None for any other node.

    >>> from naive_graph import LeafNode, lower
    >>> y = LeafNode.parameter([[1.0, 2.0]], "y")
    >>> element_of(lower(y)[0, 1])
    Element(tensor=<LeafNode 'y' (1 x 2)>, at=(0, 1), exact=True)
    """
    if not isinstance(node, Node):
        raise NodeError(f"element_of takes a scalar node, not {shortened(node)}.")
    row, tables = node.row, node.tables
    block, exact = tables.block(row), True
    while block is not None:
        position = block.owner.flat_index_of(row)
        if position is not None:
            tensor = block.owner.tensor
            return Element(tensor, tuple(map(int, np.unravel_index(position, tensor.shape))), exact)
        exact, first, end = False, block.first, block.first + block.size
        consumers = [consumer for consumer in tables.consumers(row) if first <= consumer < end]
        if not consumers:
            return None
        row = consumers[0]
    return None


# --- estimating the number of nodes -----------------------------------------------------------------


def estimate(tensor: TensorNode) -> int:
    """An upper bound on the scalar nodes that lowering would append (shared Constants not counted)."""
    check_tensors("estimate", [tensor])
    return sum(_estimate_node(node) for node in _not_lowered_yet(tensor, tensor.home))


def _check_budget(tensor: TensorNode, tables: Tables, budget: int) -> None:
    nodes, allowed = estimate(tensor), number(budget, "A budget")
    size = f"{nodes:,} scalar nodes ({nodes * BYTES_PER_NODE / 1e9:.1f} GB)"
    if nodes + len(tables) > MOST_ROWS:
        raise BudgetError(
            f"{tensor.label} would unfold into about {size}, and a graph holds at most {MOST_ROWS:,}. "
            "Evaluate it on arrays: t.eval()."
        )
    if nodes > allowed:
        raise BudgetError(
            f"{tensor.label} would unfold into about {size}, and the budget is {allowed:,.0f}. "
            f"Evaluate it on arrays, t.eval(), or allow more: lower(t, budget={nodes})."
        )


def _not_lowered_yet(tensor: TensorNode, tables: Tables) -> list[TensorNode]:
    return [node for node in ancestors([tensor]) if node not in tables.unfolded]


def _estimate_node(node: TensorNode) -> int:
    if isinstance(node, LeafNode):
        return 0 if node.is_structural or node.nodes is not None else node.size
    if isinstance(node, NonlinearNode):
        return node.size * sum(1 for kind in node.function.plan.kinds if kind >= 0)
    if isinstance(node, ReductionNode):
        return node.sources[0].size * MAX_NODES_PER_ENTRY.get(node.rule, 0) + 3 * node.size
    if isinstance(node, TransformNode):
        kept_size = node.size // size_of(extent for extent, index in zip(node.shape, node.index.dst) if index < 0)
        return kept_size * ((node.index.counts[0] > 0) + (node.alpha != 1.0))
    assert isinstance(node, LinearNode)
    for source, ids in zip(node.sources, node.index[1:]):
        if isinstance(source, SelectionNode):
            free = all(ids[index_map.axis] < 0 or index_map.is_reshape(source.shape) for index_map in source.index_maps)
            return 0 if free else node.size
    extents = dict(zip(node.index.left, node.sources[0].shape))
    terms = node.size * size_of(extents[dummy] for dummy in node.index.dummies)
    guards = sum(2 * size_of(source.shape[:-1]) + node.size for source in node.sources if needs_guard(source))
    return terms + (node.size if node.index.dummies else 0) + guards
