"""A compiled question: what are these values, and their derivatives, for these inputs?

    program = Program(loss, wrt=weights)
    value, gradient = program()

A Program is made once from nodes and asked many times. It reads the Variables'
values as they are, takes numbers or whole batches for PlaceHolders, and writes
to no node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import RLock
from typing import Any, NamedTuple

from .engines import culprit
from .errors import FeedError, NodeError, PlaceHolderError, StaleNodeError
from .graph import GraphType
from .handles import CURRENT
from .nodes import Constant, Node, PlaceHolder, Variable, rows_of
from .number import number
from .plan import plan_for
from .running import complain
from .tables import NEVER

Feed = Mapping[PlaceHolder, Any]


class Answer(NamedTuple):
    """What a Program answers.

    value: a float, or an array with one for each sample; of several outputs, a
    list of these. gradient: an array with one float for each node of wrt, or a
    list where some have one for each sample; of several outputs, one such row
    for each: the Jacobian.
    """

    value: Any
    gradient: Any


class Program:
    """Some nodes' values, and their derivatives with respect to others, as compiled code.

    outputs: a node, or a list of nodes. wrt: Variables or PlaceHolders; without
    them there are no derivatives. engine: "native" (straight-line code, for
    small graphs), "tape" or "reference"; None chooses.

    PlaceHolders may be fed arrays of B numbers. Then all that depends on them
    has B values, `total(node)` and `mean(node)` gather them into one, and the
    gradient of a Variable is summed over the samples. A graph that a loop built
    over samples needs no feed: the samples are found.

    Raises NodeError if an output or an entry of wrt is none, MissingToolError
    where llvmlite or NumPy is not installed and an engine was asked for by name.

    >>> from naive_graph import Graph
    >>> x = Graph.Variable(3.0)
    >>> program = Program(x * x + x, wrt=[x])
    >>> value, gradient = program()
    >>> value, gradient.tolist()
    (12.0, [7.0])
    """

    drawer: Callable[..., Any] | None = None  # how a pass's result is drawn; the views set it

    def __init__(self, outputs: Any, wrt: Iterable[Node] = (), engine: str | None = None) -> None:
        self._single = isinstance(outputs, Node)
        self.outputs: list[Node] = [outputs] if self._single else list(outputs)
        self.wrt: list[Node] = [wrt] if isinstance(wrt, Node) else list(wrt)
        self._tables = CURRENT.tables
        self._rows = rows_of(self.outputs, "Program")
        self._wrt_rows = rows_of(self.wrt, "Program's wrt")
        if not self.outputs:
            raise NodeError("A Program needs at least one output. Write Program(loss, wrt=weights).")
        for node in self.wrt:
            if not isinstance(node, (Variable, PlaceHolder)):
                raise NodeError(
                    f"A Program differentiates with respect to Variables and PlaceHolders, "
                    f"not {self._tables.label(node.row)}. Name the leaves in wrt."
                )
        self._placeholders = self._needed()
        self._engine = engine
        self._lock = RLock()
        self._compiled: dict[frozenset[int], Any] = {}

    def _needed(self) -> list[int]:
        from .engines.tape.rows import flat_of_tables
        from .tables import PLACEHOLDER

        flat, chosen = flat_of_tables(self._tables, [*self._rows, *self._wrt_rows])
        rows: list[int] = chosen[flat.kinds == PLACEHOLDER].tolist()
        return rows
