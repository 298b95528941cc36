"""Tensor nodes as items of a GraphDef: each with its shape and its operator's properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...tensor.base import TensorNode, check_tensors
from ...tensor.differentiate import ancestors
from ...tensor.nodes import LeafNode, LinearNode
from ...tensor.sparse_selector import SelectionNode
from .names import GraphItem


def tensor_items(what: Any) -> Iterator[GraphItem]:
    """All tensors that these are made of; how entries are picked is a property, and no node."""
    results = [what] if isinstance(what, TensorNode) else list(what)
    check_tensors("graph=", results)
    for node in ancestors(results):
        if not isinstance(node, SelectionNode):
            sources = [source for source in node.sources if not isinstance(source, SelectionNode)]
            notes = {"kind": node.kind, **(node.properties if node.call else {})}
            yield GraphItem(
                node,
                node.given_name or _operator_name(node),
                _operator_name(node),
                node.scope,
                sources,
                node.shape,
                notes,
            )


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
