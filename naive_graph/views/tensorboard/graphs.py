"""Convert a scalar graph, tensors or a dataflow to a TensorFlow GraphDef for TensorBoard's Graphs tab."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tensorboard.compat.proto import graph_pb2, types_pb2

from ...core.number import shortened
from ...core.records import Scope, around, unique_name
from ...core.rules import BY_NUMBER, Arithmetic
from ...errors import HistoryError
from ...graph.graph import Graph
from ...graph.node_factory import CURRENT
from ...graph.nodes import Node, rows_of
from ...tensor.base import TensorNode, check_tensors
from ...tensor.differentiate import ancestors as tensor_ancestors
from ...tensor.nodes import LeafNode, LinearNode
from ...tensor.sparse_selector import SelectionNode
from ..drawing.folding import short
from ..drawing.scene import KIND_NAMES

MOST = 20_000  # nodes, beyond which a browser takes minutes


class GraphItem(NamedTuple):
    """A node of any kind: unique key, name, operator, scope, keys of its sources, shape, attributes."""

    key: Any
    name: str
    op: str
    scope: Scope | None
    sources: Sequence[Any]
    shape: Sequence[int] = ()
    notes: Mapping[str, Any] = {}


def graph_def(what: Any) -> Any:
    """The GraphDef of a node, of several, of tensors, of a Sequential, or of the whole Graph. Raises HistoryError."""
    items = list(_collect_items(what))
    if len(items) > MOST:
        raise HistoryError(
            f"A graph of {len(items):,} nodes is too large for TensorBoard, which shows up to {MOST:,}. Give it "
            "tensors before they are lowered, or a part."
        )
    graph = graph_pb2.GraphDef()
    graph.versions.producer = 22  # shapes are stated
    names = _item_paths(items)
    for item in items:
        op = "Const" if item.op == "constant" else item.op  # which TensorBoard draws small
        node = graph.node.add(name=names[item.key], op=op, input=[names[source] for source in item.sources])
        shape = node.attr["_output_shapes"].list.shape.add()
        for extent in item.shape:
            shape.dim.add(size=extent)
        node.attr["dtype"].type = types_pb2.DT_DOUBLE
        for key, value in item.notes.items():
            node.attr[key].s = str(value).encode()
    return graph


def _collect_items(what: Any) -> Iterator[GraphItem]:
    what = what.expand() if hasattr(type(what), "expand") else what
    first = what[0] if isinstance(what, (list, tuple)) and what else what
    if hasattr(what, "streams"):
        return _items_of_dataflow(what)
    if isinstance(first, Arithmetic) and not isinstance(first, Node):
        return _items_of_tensors(what)
    if what is not Graph and not isinstance(first, Node):
        raise HistoryError(f"TensorBoard draws a node, tensors, a Sequential or Graph, not {shortened(what)}.")
    adjacency = CURRENT.tables.adjacency
    return _items_of_rows(adjacency.live_rows() if what is Graph else adjacency.ancestors(rows_of(what, "graph=")))


def _items_of_rows(rows: Iterable[int]) -> Iterator[GraphItem]:
    """The nodes of the scalar graph."""
    tables = CURRENT.tables
    for row in rows:
        kind, value = tables.operators[row], tables.value(row)
        op = KIND_NAMES.get(kind) or BY_NUMBER[kind].name
        notes = {} if value is None else {"value": repr(value)}
        yield GraphItem(row, tables.name(row) or op, op, tables.scope(row), tables.operands(row), (), notes)


def _items_of_dataflow(flow: Any) -> Iterator[GraphItem]:
    """The operators of a dataflow; a splitjoin is a box."""
    for flow_stream in flow.streams.values():
        if not flow_stream.writer:
            yield GraphItem(f"in {flow_stream.name}", flow_stream.name, "stream", None, (), flow_stream.shape)
    for name, operator in flow.operators.items():
        streams = [flow.streams[input_] for input_ in operator.inputs]
        shape = flow.streams[operator.outputs[0]].shape if operator.outputs else ()
        sources = [stream.writer or f"in {stream.name}" for stream in streams]
        yield GraphItem(name, name.replace(".", "/"), operator.kind, None, sources, shape)


def _items_of_tensors(what: Any) -> Iterator[GraphItem]:
    """All tensors that these depend on, without selections (the constants that pick entries)."""
    results = [what] if isinstance(what, TensorNode) else list(what)
    check_tensors("graph=", results)
    for node in tensor_ancestors(results):
        if not isinstance(node, SelectionNode):
            sources = [source for source in node.sources if not isinstance(source, SelectionNode)]
            notes = {"kind": node.kind, **(node.properties if node.call else {})}
            op = _operator_name(node)
            yield GraphItem(node, node.given_name or op, op, node.scope, sources, node.shape, notes)


def _operator_name(node: TensorNode) -> str:
    """The name of the node's operator, or the kind of its entries' computation."""
    if isinstance(node, LeafNode):
        return node.leaf_type.name.lower()
    if node.call:
        return str(node.call.operator.name)
    if isinstance(node, LinearNode):
        return node.op.name
    function = getattr(node, "function", None)
    return getattr(node, "rule", None) or (function.name if function else node.kind)


# --- names: slash-separated, by which the Graphs tab groups nodes into boxes ---


def _item_paths(items: Sequence[GraphItem]) -> dict[Any, str]:
    """A path such as "layer/dense/add_1" for each node; equal paths of nodes or of scopes get numbers."""
    used: dict[str, int] = {}
    paths: dict[Scope | None, str] = {None: ""}
    names = {}
    for item in items:
        for scope in around(item.scope):
            if scope not in paths:
                paths[scope] = unique_name(used, _path(paths[scope.parent], scope.name, scope.parent))
        names[item.key] = unique_name(used, _path(paths[item.scope], item.name, item.scope))
    return names


def _path(outer: str, name: str, scope: Scope | None) -> str:
    """The path of a scope, and a name in it, with letters that TensorBoard forbids replaced by _."""
    clean = re.sub(r"[^A-Za-z0-9_.\-/]", "_", short(name, scope)).strip("/_") or "node"
    return f"{outer}/{clean}" if outer else clean
