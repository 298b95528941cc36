"""Eager mode: nodes are evaluated as they are built, in graphs begun with `Graph.renew(immediate_compute=True)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import NumericError
from ..base import TensorNode, method
from ..nodes import LeafNode, NonlinearNode
from .arrays import Array, namespace
from .evaluate import cached_array, to_dense, value_of

REMEDY = "Mend what it is made of, or begin the graph without check_validity."


@method
def compute_at_once(node: TensorNode) -> None:
    """Evaluate a node that is being made. Raises NumericError for NaN and infinity if the graph checks validity.

    >>> from naive_graph import Graph, LeafNode
    >>> with Graph.scratch():
    ...     Graph.renew(immediate_compute=True)
    ...     y = LeafNode.parameter([1.0, 2.0]) * 3.0
    ...     y._value.tolist()
    [3.0, 6.0]
    """
    leaves = [source for source in node.reads if isinstance(source, LeafNode)]
    for leaf in leaves:
        leaf.version()  # updates its Watch before the array is read
    value = value_of(node)
    node._version = min([source._version for source in node.reads if source not in leaves], default=node._version)
    if node.home.checks_validity and not bool(namespace(value).isfinite(value).all()):
        raise NumericError(_nonfinite_message(node, value))


def _nonfinite_message(node: TensorNode, value: Array) -> str:
    array = np.asarray(value)
    wrong = np.argwhere(~np.isfinite(array))
    key = tuple(wrong[0])
    where = f" at [{', '.join(map(str, key))}]" if key else ""
    count = f"{len(wrong)} of {array.size} entries are not finite: " if array.size > 1 else ""
    operands = _describe_operands(node, key)
    return f"{node.label}: {count}it is {array[key]:g}{where}{operands}. It was made on {node.origin}. {REMEDY}"


def _describe_operands(node: TensorNode, key: tuple[Any, ...]) -> str:
    """The operands of an elementwise function where its result is not finite, for the message."""
    if not isinstance(node, NonlinearNode):
        return ""
    entries = [float(to_dense(cached_array(source))[key]) for source in node.sources]
    formula = node.function.formula([f"x{position}" for position in range(len(entries))])
    operands_text = ", ".join(f"x{position} = {entry:g}" for position, entry in enumerate(entries))
    return f", by {formula} with {operands_text}"
