"""Tensor nodes as items of a GraphDef: each with its shape and its operator's properties."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...tensor.base import TensorNode, check_tensors
from ...tensor.differentiate import ancestors
from ...tensor.nodes import LeafNode, LinearNode
from ...tensor.selection import SelectionNode
from .names import Item


def items_of(what: Any) -> Iterator[Item]:
    """All tensors that these are made of; how entries are picked is a property, and no node."""
    results = [what] if isinstance(what, TensorNode) else list(what)
    check_tensors("graph=", results)
    for node in ancestors(results):
        if not isinstance(node, SelectionNode):
            sources = [source for source in node.sources if not isinstance(source, SelectionNode)]
            notes = {"kind": node.kind, **(node.properties if node.call else {})}
            yield Item(
                node,
                node.given_name or _name_applied(node),
                _name_applied(node),
                node.scope,
                sources,
                node.shape,
                notes,
            )


def _name_applied(node: TensorNode) -> str:
    """The name of the node's operator, or the kind of its entries' computation."""
    if isinstance(node, LeafNode):
        return node.leaf_type.name.lower()
    if node.call:
        return str(node.call.operator.name)
    if isinstance(node, LinearNode):
        return node.op.name
    function = getattr(node, "function", None)
    return getattr(node, "rule", None) or (function.name if function else node.kind)
