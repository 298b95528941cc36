"""step() and record(): an engine that runs the reference sweeps and records their events."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.did_you_mean import explains
from ...core.interpreters.dual import DualNumber
from ...core.lock import GUARD
from ...core.number import shortened
from ...core.plan import Plan, plan_for
from ...core.progress import shows_bars, with_progress
from ...core.rules import Arithmetic
from ...core.sweep import Finished, forward_sweep, reverse_sweep
from ...core.tables import CONSTANT
from ...engines.select import watched
from ...errors import NodeError
from ...graph.node_factory import CURRENT
from ...graph.nodes import Node, rows_of
from ...graph.run_checks import initial_values, validate_feed
from ..drawing.text_metrics import visible
from .describe import LONG
from .firings import Firings
from .recording import BACKWARD, FORWARD, TANGENT, UPDATE, Entry, Participants, Run, primal_value
from .steps import Steps

LARGE = 100_000  # nodes that take more than a second
MODES = ("both", "forward", "backward", "tangent")


class Recorder:
    """An engine for `Graph.forward` and `Graph.backward` that records each event as it happens."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.casts: dict[Plan, Participants] = {}
        self.iteration = 0
        self.leaves: dict[int, float] = {}  # the leaves' values in the last forward sweep
        self.was_differentiated = False

    # --- what an engine does ---

    def evaluate(self, plan: Plan, values: list[Any]) -> None:
        """Fill in the operators' values as the reference engine does, and record the events."""
        cast = self._cast(plan)
        if self.was_differentiated:
            self.iteration, self.was_differentiated = self.iteration + 1, False
        self.record_update(cast, {row: value for row, kind, value in zip(plan.rows, plan.kinds, values) if kind < 0})
        is_tangent = any(isinstance(value, DualNumber) for value in values)
        run = Run(TANGENT if is_tangent else FORWARD, cast, self.iteration)
        self.runs.append(run)
        events = forward_sweep(plan, values)
        for _ in plan.sources():
            run.add_event(next(events))
        for step in with_progress(range(len(plan)), "step forward", len(plan)):
            if plan.rule(step) is None:  # a leaf's turn is no event: there is nothing to compute
                run.add(Entry("read", plan.rows[step], value=primal_value(values[step])))
            else:
                run.add_event(next(events))
            if is_tangent:
                run.slopes[plan.rows[step]] = getattr(values[step], "slope", None)
            for _ in plan.ready_after(step):
                run.add_event(next(events))

    def differentiate(
        self, plan: Plan, values: Sequence[Any], seeds: dict[int, Any], wanted: Sequence[bool]
    ) -> list[Any]:
        """Return the adjoint of each step as the reference engine does, and record the events."""
        run = Run(BACKWARD, self._cast(plan), self.iteration)
        self.runs.append(run)
        run.values, constants = dict(zip(plan.rows, values)), run.cast.constants
        self.was_differentiated = True
        adjoints = []
        most = 2 * len(plan) + len(plan.operand_steps)  # enqueued and finished; contributed
        for event in with_progress(reverse_sweep(plan, values, seeds, wanted), "step backward", most):
            if event.row not in constants:  # their adjoint 0.0 was not computed: it is no event
                run.add_event(event)
            if isinstance(event, Finished):
                adjoints.append(event.adjoint)
        adjoints.reverse()  # the sweep ran backwards
        return adjoints

    # --- what happens between runs ---

    def record_update(self, cast: Participants, leaves: Mapping[int, Any]) -> None:
        """Record an update: the leaves whose values differ from the last forward sweep."""
        now, noted = {row: primal_value(value) for row, value in leaves.items()}, self.leaves  # a handler may note more
        # By repr: NaN is equal to itself, and -0.0 is not 0.0.
        before = {row: noted[row] for row in now if row in noted and repr(noted[row]) != repr(now[row])}
        if before and self.runs:
            run = Run(UPDATE, cast, max(0, self.iteration - (not self.was_differentiated)))
            run.before |= before
            for row in before:
                run.add(Entry("moved", row, value=now[row]))
            self.runs.append(run)
        noted |= now

    def finish(self) -> None:
        """Record values that were set after the last sweep."""
        if self.runs and not self.runs[-1].cast.tables.closed:
            cast = self.runs[-1].cast
            values = {row: cast.tables.value(row) for row in [*self.leaves] if row < len(cast.tables)}
            self.record_update(cast, {row: value for row, value in values.items() if value is not None})

    def _cast(self, plan: Plan) -> Participants:
        if plan not in self.casts:
            self.casts[plan] = Participants(CURRENT.tables, plan)
            if self.runs and self.runs[-1].cast.tables is not CURRENT.tables:
                self.leaves = {}  # a new graph: its rows are other nodes
        return self.casts[plan]


@contextmanager
@explains
def record() -> Iterator[Steps]:
    """Keep every step of the `Graph.forward` and `Graph.backward` calls inside.

    The sweeps run on the reference engine meanwhile. What was recorded is there
    also after an exception.

    >>> from naive_graph import Graph, Variable
    >>> x = Variable(3.0, name="x")
    >>> f = x * x
    >>> with record() as steps:
    ...     for _ in range(2):
    ...         Graph.forward(f)
    ...         Graph.backward(f)
    ...         x.value -= 0.1 * x.grad
    >>> [step.value for step in steps.find(kind="moved", node=x)]
    [2.4, 1.92]
    """
    recorder = Recorder()
    with watched(recorder):
        try:
            yield Steps(recorder.runs)
        finally:
            recorder.finish()


def step(f: Any, mode: str = "both", wrt: Node | None = None, feed: Any = None) -> Any:
    """Walk through f one event at a time: forward, then backward. In a notebook the walk shows itself.

    mode: "both", "forward", "backward" (the forward steps are computed and not shown) or
    "tangent": forward mode, in which the slope along the leaf `wrt` (the first one
    that is no Constant if none is named) flows with the values. feed: numbers for
    PlaceHolders. The walk has columns of its own; the graph keeps its values and gradients.

    In the page the leaves can be given other values, by a field, a slider or a
    drag over their box, or by one of the seven trainers: every number follows.

    A tensor is lowered first, and its elements are walked through together;
    what flows back is the gradient of their sum.

    Of an imported network its output is walked through. Of a Sequential, or its
    dataflow, each step is the firing of an operator.
    feed: samples for the streams from outside, {"data": ..., "label": ...}.

    >>> from naive_graph import Variable
    >>> x = Variable(3.0, name="x")
    >>> y = x * x
    >>> y.name = "y"
    >>> steps = step(y)
    >>> print(steps[4].arithmetic)
    3 * 3 = 9
    >>> print(steps.find(kind="contributed")[-1].running)
    dy/dx = 3 (left) + 3 (right) = 6
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise NodeError(f"step runs in mode {', '.join(map(repr, MODES))}, not {shortened(mode)}.")
    if hasattr(type(f), "expand"):  # a sequential network
        f = f.expand()
    elif hasattr(type(f), "graph_of"):  # an imported network
        f = _single_output(f)
    if hasattr(f, "streams"):
        return Firings(f, feed)
    title = ""
    if isinstance(f, Arithmetic) and not isinstance(f, Node):
        from ...tensor.lowering.lower import lower  # brings NumPy

        tensor: Any = f
        title = f"A walk through {visible(tensor.equation(), LONG)}"
        rows = list(dict.fromkeys(map(int, lower(tensor).rows.flat)))
    elif not isinstance(f, Node):
        description = f"{type(f).__name__} {shortened(f)}"
        raise NodeError(
            f"step takes a node, a tensor or a network, not {description}. Give what is computed: step(loss)."
        )
    else:
        rows = rows_of([f], "step")
    if mode != "forward" and all(CURRENT.tables.operators[row] == CONSTANT for row in rows):
        raise NodeError("step: a Constant does not vary, so there is nothing to walk back. Step through an Operator.")
    tables, recorder = CURRENT.tables, Recorder()
    if len(tables) >= LARGE and shows_bars():
        print(f"step: sorting {len(tables):,} nodes, then keeping each event of their sweeps.", file=sys.stderr)
    with tables.lock, GUARD:
        plan = plan_for(tables, rows)
        values: list[Any] = initial_values(tables, plan, validate_feed({} if feed is None else feed))
        if mode == "tangent":
            _seed_duals(plan, values, wrt)
        recorder.evaluate(plan, values)
        if mode in ("both", "backward"):
            recorder.differentiate(plan, values, dict.fromkeys(plan.targets, 1.0), plan.varies())
        if mode == "backward":
            del recorder.runs[0]
        return Steps(recorder.runs, title)


def _single_output(network: Any) -> Any:
    """The output of a network. Raises NodeError if there are several."""
    first, *others = network.outputs
    if others:
        raise NodeError(f"step: the network has several outputs. Give one: step(network.outputs[{first!r}]).")
    return network.outputs[first]


def _seed_duals(plan: Plan, values: list[Any], wrt: Node | None) -> None:
    """Make every value a dual number, with tangent 1 at the chosen leaf (forward mode's seed)."""
    leaves = [step for step in plan.leaves() if plan.kinds[step] != CONSTANT]
    if wrt is not None:
        (row,) = rows_of([wrt], "step")
        leaves = [step for step in leaves if plan.rows[step] == row]
    if not leaves:
        raise NodeError("step in mode 'tangent' moves a Variable or PlaceHolder that the result depends on: wrt=x.")
    for step, value in enumerate(values):
        values[step] = DualNumber(value, 1.0 if step == leaves[0] else None)
