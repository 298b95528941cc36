"""A compiled question: what are these values, and their derivatives, for these inputs?

    program = Program(loss, wrt=weights)
    value, gradient = program()

A Program is made once from nodes and asked many times. It reads the Variables'
values as they are, takes numbers or whole batches for PlaceHolders, and writes
to no node; only `minimize` does, for it is asked to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import Any, NamedTuple

from .engines.questions import Answers, Inputs, question
from .errors import EngineError, FeedError, NodeError, PlaceHolderError, StaleNodeError
from .graph import GraphType
from .handles import CURRENT
from .nodes import Node, PlaceHolder, Variable, rows_of
from .number import number
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

    Raises NodeError if an output or an entry of wrt is none, EngineError for an
    unknown engine, MissingToolError where llvmlite or NumPy is not installed.

    >>> from naive_graph import Graph
    >>> x = Graph.Variable(3.0)
    >>> program = Program(x * x + x, wrt=[x])
    >>> value, gradient = program()
    >>> value, gradient.tolist()
    (12.0, [7.0])
    """

    drawer: Callable[..., Any] | None = None  # how a pass's result is drawn: the views, which stand higher, set it

    def __init__(self, outputs: Any, wrt: Iterable[Node] = (), engine: str | None = None) -> None:
        if engine not in (None, "native", "tape", "reference"):
            raise EngineError(
                f"There is no engine {engine!r} for Programs. The engines are: 'native', 'tape', 'reference'."
            )
        self._single = isinstance(outputs, Node)
        self.outputs: list[Node] = [outputs] if self._single else list(outputs)
        self.wrt: list[Node] = [wrt] if isinstance(wrt, Node) else list(wrt)
        if not self.outputs:
            raise NodeError("A Program needs at least one output. Write Program(loss, wrt=weights).")
        self._tables, self._engine, self._lock = CURRENT.tables, engine, RLock()
        self._rows = rows_of(self.outputs, "Program")
        self._wrt = rows_of(self.wrt, "Program's wrt")
        for node in self.wrt:
            if not isinstance(node, (Variable, PlaceHolder)):
                label = self._tables.label(node.row)
                raise NodeError(
                    f"A Program differentiates with respect to Variables and PlaceHolders, not {label}. "
                    "Name the leaves that it depends on in wrt."
                )
        self._last = max((*self._rows, *self._wrt))
        self._questions: dict[frozenset[int], Answers] = {}
        self._redrawn = self._tables.redrawn

    # --- asking ---

    def __call__(self, feed: Feed | None = None) -> Answer:
        """The values, and the derivatives, as they are now.

        feed: for PlaceHolders, numbers or arrays of B numbers each. One that is
        not fed keeps the value that it has. Raises PlaceHolderError if it has
        none, FeedError if batches differ in length.
        """
        with self._lock:
            numbers, batches = self._checked(feed) if feed else ({}, {})
            answers = self._ask(frozenset(batches))
            if answers.placeholders:
                numbers = self._with_held(answers, numbers)
            values, slopes, finite = answers(Inputs(self._tables, numbers, batches))
            if not finite:
                self._complain(answers, numbers, batches)
        if self._single:
            return Answer(values[0], slopes[0] if slopes else [])
        return Answer(values, slopes)

    def _checked(self, feed: Feed) -> tuple[dict[int, float], dict[int, Any]]:
        numbers: dict[int, float] = {}
        batches: dict[int, Any] = {}
        for node, given in feed.items():
            if not isinstance(node, PlaceHolder):
                what = self._tables.label(node.row) if isinstance(node, Node) else repr(node)
                raise FeedError(f"Only a PlaceHolder can be fed, not {what}. Set a Variable with x.value = 1.0.")
            (row,) = rows_of([node], "Program")
            if getattr(given, "ndim", 0) == 0 and not isinstance(given, (list, tuple)):
                numbers[row] = number(given, self._tables.label(row))
            else:
                batches[row] = _batch(given, self._tables.label(row))
        sizes = {row: len(batch) for row, batch in batches.items()}
        if len(set(sizes.values())) > 1:
            told = ", ".join(f"{self._tables.label(row)} {size}" for row, size in sizes.items())
            raise FeedError(f"All batches must have one length; here: {told}.")
        return numbers, batches

    def _with_held(self, answers: Answers, numbers: dict[int, float]) -> dict[int, float]:
        """Numbers also for PlaceHolders that were not fed now, but have a value."""
        for row in answers.placeholders:
            if row not in numbers:
                if self._tables.stamp(row) == NEVER:
                    called = self._tables.name(row) or "p"
                    raise PlaceHolderError(
                        f"{self._tables.label(row)} has no value. Feed it: program(feed={{{called}: 1.0}}). "
                        f"It was made on {self._tables.origin(row)}."
                    )
                numbers[row] = self._tables.values[row]
        return numbers

    def _ask(self, batched: frozenset[int]) -> Answers:
        """The compiled question for these batches; made when it is first asked."""
        home = self._tables
        if home.closed or len(home) <= self._last:
            raise StaleNodeError(f"This Program's graph {home.closed or 'was cut back'}. Build it again.")
        if home.redrawn != self._redrawn:
            self._questions, self._redrawn = {}, home.redrawn
        if batched not in self._questions:
            self._questions[batched] = question(home, self._rows, self._wrt, batched, self._engine)
        return self._questions[batched]

    def _complain(self, answers: Answers, numbers: dict[int, float], batches: dict[int, Any]) -> None:
        choice = GraphType._on_invalid
        if choice != "ignore":
            complain(answers.culprit(Inputs(self._tables, numbers, batches)), choice)

    # --- going downhill ---

    def minimize(self, rule: Any = 0.1, steps: int = 100, feed: Feed | None = None) -> Any:
        """Move the Variables of wrt downhill, without returning to Python in between.

        rule: a rate, for w <- w - rate * g; or a formula of training/formulas.py
        or of your own: called with a weight, its gradient and what it remembers
        (numbers that begin at 0), it gives the new weight and the new memory. A
        keyword `t` is the number of the step, from 1.

        Returns the output before each step, as an array. The Variables hold
        their last values then; a Ctrl-C keeps what was reached.

        >>> from naive_graph import Graph
        >>> x = Graph.Variable(6.0)
        >>> history = Program((x - 7) ** 2, wrt=[x]).minimize(0.1, steps=100)
        >>> round(x.value, 6), history[0].item()
        (7.0, 1.0)
        """
        from .descent import descend

        if not self._single or not self.wrt or not all(isinstance(node, Variable) for node in self.wrt):
            raise NodeError(
                "minimize needs one output, and Variables to move: Program(loss, wrt=weights).minimize(0.1)."
            )
        with self._lock:
            numbers, batches = self._checked(feed or {})
            answers = self._ask(frozenset(batches))
            numbers = self._with_held(answers, numbers)
            return descend(answers, Inputs(self._tables, numbers, batches), rule, steps)

    # --- looking at it ---

    def explain(self, feed: Feed | None = None) -> str:
        """What each pass did: rows before and after, samples, dots, tiles, runs, bytes, and the time to expect."""
        with self._lock:
            _, batches = self._checked(feed or {})
            return self._ask(frozenset(batches)).explain(max([1, *map(len, batches.values())]))

    def stages(self, feed: Feed | None = None) -> dict[str, Any]:
        """What each pass made, by the pass's name: a plan that prints as a table."""
        with self._lock:
            _, batches = self._checked(feed or {})
            return {stage.name: stage.flat for stage in self._ask(frozenset(batches)).lowering.stages}

    def draw(self, after: str = "share", feed: Feed | None = None) -> Any:
        """The plan as a picture, as it is after that pass."""
        stages = self.stages(feed)
        if after not in stages:
            raise EngineError(f"There is no pass {after!r} here. The passes are: {', '.join(map(repr, stages))}.")
        if Program.drawer is None:
            from importlib import import_module

            import_module("naive_graph").draw  # noqa: B018 - the views bring the drawer
        assert Program.drawer is not None
        return Program.drawer(stages[after], after)


def _batch(given: Any, label: str) -> Any:
    import numpy as np

    batch = np.asarray(given)
    if batch.ndim != 1 or len(batch) == 0 or batch.dtype.kind not in "fiu":
        raise FeedError(
            f"{label} takes a number, or a row of numbers, one for each sample; not {type(given).__name__} of shape "
            f"{batch.shape} and kind {batch.dtype}."
        )
    return batch.astype(np.float64)
