"""Computing while writing, for a graph that was begun with `Graph.renew(immediate_compute=True)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import NumericError
from ..base import TensorNode, method
from ..nodes import LeafNode, NonlinearNode
from .arrays import Array, namespace
from .evaluate import operand, value_of, written_out

WORDS = "Mend what it is made of, or begin the graph without check_validity."


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
    leaves = [each for each in node.reads if isinstance(each, LeafNode)]
    for leaf in leaves:
        leaf.version()  # looked at before it is read
    value = value_of(node)
    node._version = min([each._version for each in node.reads if each not in leaves], default=node._version)
    if node.home.checks_validity and not bool(namespace(value).isfinite(value).all()):
        raise NumericError(_complaint(node, value))


def _complaint(node: TensorNode, value: Array) -> str:
    found = np.asarray(value)
    wrong = np.argwhere(~np.isfinite(found))
    at = tuple(wrong[0])
    place = f" at [{', '.join(map(str, at))}]" if at else ""
    count = f"{len(wrong)} of {found.size} entries are not finite: " if found.size > 1 else ""
    return (
        f"{node.label}: {count}it is {found[at]:g}{place}{_operands(node, at)}. It was made on {node.origin}. {WORDS}"
    )


def _operands(node: TensorNode, at: tuple[Any, ...]) -> str:
    """The operands of an elementwise function where its result is not finite, for the message."""
    if not isinstance(node, NonlinearNode):
        return ""
    entries = [float(written_out(operand(source))[at]) for source in node.sources]
    written = node.function.formula([f"x{place}" for place in range(len(entries))])
    given = ", ".join(f"x{place} = {entry:g}" for place, entry in enumerate(entries))
    return f", by {written} with {given}"
