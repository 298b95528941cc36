"""`Graph`: build, evaluate, differentiate and clear the scalar graph.

There is one current graph, and the class `Graph` stands for it, so no instance is needed:
`Graph.forward()` evaluates everything that was built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import get_ident
from typing import TYPE_CHECKING, Any, Never

from ..core.did_you_mean import describe_misfit, explain_calls, explains, raise_unknown_attribute, suggest
from ..core.lock import GUARD, LOCK
from ..core.number import shortened, switch
from ..core.plan import plan_for
from ..core.rules import RULES, Arithmetic
from ..core.tables import Scope, Tables
from ..engines.select import (
    VERY_LARGE,
    WATCHERS,
    compile_for_large_graph,
    engine_with_plan,
    engine_without_plan,
    is_short,
    should_compile,
)
from ..errors import EngineError, NodeError, ThreadError
from . import nodes, run_checks
from .named_operators import ByName, method_of
from .node_factory import CURRENT, handle
from .nodes import Constant, Node, is_tensor, rows_of

MOST_SHOWN = 3_000  # nodes; LLVM takes half a second to compile as many to readable code
ON_INVALID = ("warn", "raise", "ignore")


class NodeList(Sequence[Node]):
    """All nodes in the order of their making: a live view of the table of nodes."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __len__(self) -> int:
        with LOCK, GUARD:
            return len(self._tables)

    def __getitem__(self, index: Any) -> Any:
        with LOCK, GUARD:
            if isinstance(index, slice):
                return [handle(self._tables, row) for row in range(*index.indices(len(self)))]
            return handle(self._tables, range(len(self))[index])

    def __repr__(self) -> str:
        shown = [str(node) for node in self[:20]]
        return f"[{', '.join(shown)}{', ...' if len(self) > 20 else ''}]"


class GraphType(type):
    """The type of `Graph`: its properties, such as `Graph.node_list` and `Graph.on_invalid`."""

    _on_invalid = "warn"
    version = 0

    @property
    def node_list(cls) -> NodeList:
        """All nodes in the order of their making."""
        return NodeList(CURRENT.tables)

    @property
    def on_invalid(cls) -> str:
        """What happens when a result is infinite or NaN: "warn", "raise" or "ignore"."""
        return GraphType._on_invalid

    @on_invalid.setter
    def on_invalid(cls, choice: str) -> None:
        if choice not in ON_INVALID:
            raise NodeError(f'Graph.on_invalid is "warn", "raise" or "ignore", not {shortened(choice)}.')
        GraphType._on_invalid = choice

    if not TYPE_CHECKING:  # type checkers shall report unknown names

        def __getattr__(cls, name: str) -> Any:
            if name in RULES and not RULES[name].helper:  # a user-defined operator
                return method_of(RULES[name]).__get__(None, cls)
            raise_unknown_attribute("Graph", name, "graph", cls)

    def __setattr__(cls, name: str, value: Any) -> None:
        if not hasattr(cls, name):  # a misspelt setting would be stored and never read
            hint = suggest(name, ["on_invalid", *dir(cls)], " Did you mean Graph.{}?")
            raise AttributeError(f"Graph has no setting {name!r}.{hint}", name=name, obj=cls)
        super().__setattr__(name, value)

    def __repr__(cls) -> str:
        with LOCK, GUARD:
            tables = CURRENT.tables
            return f"<Graph of {len(tables)} nodes and {len(tables.sources)} edges>"


@explain_calls
class Graph(ByName, metaclass=GraphType):
    """The scalar graph, and all that can be done with the whole of it. Use the class; instances behave the same."""

    __slots__ = ()

    Node = nodes.Node
    Constant = nodes.Constant
    Variable = nodes.Variable
    PlaceHolder = nodes.PlaceHolder
    Operator = nodes.Operator

    def __init__(self) -> None:
        """No instance is needed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(Graph, name)  # properties of the class, such as `node_list`

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(Graph, name, value)

    # --- evaluating and differentiating ---

    @classmethod
    def forward(
        cls, *targets: Arithmetic, feed: Mapping[nodes.PlaceHolder, float] | None = None, engine: str | None = None,
        **unknown: Never,
    ) -> None:  # fmt: skip
        """Evaluate the whole graph, or only what the targets need, in Kahn's order.

        feed: numbers for PlaceHolders; each stays until it is fed again.
        engine: the name of an engine, "reference" or "direct"; None leaves the
        choice to the graph. The names of Programs' engines mean "direct" here.
        Raises PlaceHolderError before anything is computed if a number is
        missing. A call on scalars that fails leaves every value as it was. A
        tensor is evaluated on arrays, as by `tensor.forward()`, after the scalars.

        >>> from naive_graph import Graph
        >>> x = Graph.Variable(3.0)
        >>> y = x * x
        >>> Graph.forward(y)
        >>> y.value
        9.0
        """
        if unknown:
            raise describe_misfit(cls.forward, targets, unknown)
        if tensors := [target for target in targets if is_tensor(target)]:  # tensors evaluate themselves
            run_checks.check_plain(feed=feed, engine=engine)
            if nodes := [target for target in targets if not is_tensor(target)]:
                cls.forward(*nodes)
            for tensor in tensors:
                tensor.forward()
            return
        if engine is None and CURRENT.tables.size[0] >= VERY_LARGE:
            compile_for_large_graph()
        with LOCK, GUARD:
            tables = CURRENT.tables
            quick = tables.cached("quick")  # the compiled step of a loop, if there is one (jit.py)
            plain = quick is not None and feed is None and engine is None and not WATCHERS
            if plain and quick.matches(targets) and quick.forward():
                return
            rows = rows_of(targets, "Graph.forward")
            fed = run_checks.validate_feed({} if feed is None else feed)
            direct = engine_without_plan(engine, tables)
            if direct is None or not direct.forward(tables, rows, fed, engine is not None):
                cls._forward(tables, rows, fed, engine)

    @classmethod
    def _forward(cls, tables: Tables, rows: Sequence[int], fed: Mapping[int, float], engine: str | None) -> None:
        """The general path: make a plan, evaluate it with the engine that applies, check the values, write them."""
        order, now = plan_for(tables, rows), tables.tick()
        values = run_checks.initial_values(tables, order, fed)
        engine_with_plan(engine).evaluate(order, values)
        run_checks.check_values(tables, order, values, cls.on_invalid)
        run_checks.commit_values(tables, order, values, fed, now)

    @classmethod
    def backward(
        cls, y: Arithmetic | None = None, accumulate: bool = False, engine: str | None = None, **unknown: Never
    ) -> None:
        """Differentiate y with respect to every node that it depends on; gradients land in `node.grad`.

        y: any node but a Constant, or a tensor of one element (see
        `tensor.backward`); without it, the sum of all results. With
        accumulate, leaves add to the gradients they have. If there are several results
        and no y, a UserWarning names them. Raises StaleGraphError if a node y
        was not evaluated since a value that it depends on changed (a tensor is
        evaluated here); NodeError for a Constant, for something that is not a node, and for
        accumulate or engine with a tensor; ShapeError for a tensor of more elements.

        >>> from naive_graph import Graph
        >>> x = Graph.Variable(3.0)
        >>> y = x * x
        >>> Graph.forward(y)
        >>> Graph.backward(y)
        >>> x.grad
        6.0
        """
        if unknown:
            raise describe_misfit(cls.backward, (y,), unknown)
        if is_tensor(y):  # a tensor differentiates itself
            run_checks.check_plain(accumulate=accumulate, engine=engine)
            y.backward()
            return
        accumulate = accumulate is not False and switch(accumulate, "accumulate")
        if isinstance(y, Constant):
            raise NodeError("A Constant does not vary, so it has no derivatives. Differentiate an Operator.")
        with LOCK, GUARD:
            tables = CURRENT.tables
            quick = tables.cached("quick")
            if quick is not None and not accumulate and engine is None and not WATCHERS and quick.backward(y):
                return
            cls._backward(tables, rows_of([] if y is None else [y], "Graph.backward"), accumulate, engine)

    @classmethod
    def _backward(cls, tables: Tables, rows: Sequence[int], accumulate: bool, engine: str | None) -> None:
        """Differentiate by the direct engine if it can, else along a plan. rows: y's, or none for all results."""
        direct = engine_without_plan(engine, tables)
        results = None if direct is None else rows or direct.results(tables)
        if direct is not None and results is not None:
            if not rows:
                run_checks.check_results(tables, results)
            grads = direct.backward(tables, results, engine is not None)
            if grads is not None:
                run_checks.replace_grads(tables, grads, accumulate)
                if engine is None and "quick" not in tables.cache and should_compile(tables):
                    from .jit import enable  # imports the compiler

                    enable(tables, rows)
                return
        order = plan_for(tables, rows)
        if not rows and results is None:
            run_checks.check_results(tables, [order.rows[step] for step in order.targets])
        run_checks.check_fresh(tables, order)
        column = tables.values
        values, seeds = [column[row] for row in order.rows], dict.fromkeys(order.targets, 1.0)
        adjoints = engine_with_plan(engine).differentiate(order, values, seeds, order.varies())
        run_checks.check_grads(tables, order, values, adjoints, cls.on_invalid)
        run_checks.commit_grads(tables, order, adjoints, accumulate)

    @classmethod
    def kill_grad(cls) -> None:
        """Set every gradient to 0.0; a Constant has none to set."""
        with LOCK, GUARD:
            CURRENT.tables.clear_grads()

    @classmethod
    def machine_code(cls, y: nodes.Node, form: str = "llvm") -> str:
        """What y and its gradient compile to, for reading: the forward sweep, then the reverse one.

        form: "llvm" for LLVM's language, which looks alike on every machine, or
        "assembly" for the instructions of this one. Raises NodeError for
        another form, or more than some 3,000 nodes, and MissingToolError where llvmlite is not installed.

        >>> from naive_graph import Graph
        >>> x = Graph.Variable(3.0)
        >>> print(Graph.machine_code(x * x))  # doctest: +ELLIPSIS
        define void @"forward"(ptr %values, ptr %adjoints) {
          %v0 = getelementptr double, ptr %values, i64 0
          %v1 = load double, ptr %v0, align 8
          %v2 = fmul double %v1, %v1
          %v3 = getelementptr double, ptr %values, i64 1
          store double %v2, ptr %v3, align 8
          ...
        """
        if not isinstance(form, str) or form not in ("llvm", "assembly"):
            raise NodeError(f'Machine code is shown in the form "llvm" or "assembly", not {shortened(form)}.')
        with LOCK, GUARD:
            tables = CURRENT.tables
            plan = plan_for(tables, rows_of([y], "Graph.machine_code"))
        if not is_short(plan, MOST_SHOWN):
            raise NodeError(
                f"The machine code of {tables.label(y.row)} and its {len(plan):,} nodes would be too long to be read. "
                f"Ask for a part of up to some {MOST_SHOWN:,}: Graph.machine_code(y.last[0])."
            )
        from ..engines import show_code  # imports the compiler

        text: str = show_code.ir(plan) if form == "llvm" else show_code.assembly(plan)
        return text

    # --- starting again ---

    @classmethod
    def clear(cls) -> None:
        """Forget every node. Nodes that are still held say so when they are used."""
        _replace(Tables(), "was cleared")

    @classmethod
    def renew(cls, immediate_compute: bool = False, check_validity: bool = False) -> None:
        """Start the next graph: as clear, with a new `Graph.version`. One call for each sample.

        immediate_compute: nodes and tensors are computed as they are written, until the
        next renew or clear; what depends on a PlaceHolder that was not fed waits for
        Graph.forward(). check_validity: they then raise NumericError for NaN and infinity.

        >>> from naive_graph import Graph, Variable
        >>> Graph.renew(immediate_compute=True)
        >>> (Variable(1.0) + 2).value
        3.0
        >>> Graph.renew()
        """
        immediate_compute = switch(immediate_compute, "immediate_compute")
        if switch(check_validity, "check_validity") and not immediate_compute:
            raise EngineError(
                "check_validity=True checks tensors as they are computed at once. "
                "Write Graph.renew(immediate_compute=True, check_validity=True)."
            )
        tables = Tables()
        tables.computes_at_once, tables.checks_validity = immediate_compute, bool(check_validity)
        GraphType.version += 1  # each renewed graph has a number
        _replace(tables, f"was renewed (version {GraphType.version - 1})")

    @classmethod
    def checkpoint(cls) -> None:
        """Mark this place; the next revert comes back to it."""
        with LOCK, GUARD:
            tables = CURRENT.tables
            tables.checkpoints.append(tables.mark())

    @classmethod
    def revert(cls) -> None:
        """Cut the graph back to the last checkpoint and forget that checkpoint; without one, do nothing.

        What another thread or a signal handler has built since then is cut back, too.
        """
        with LOCK, GUARD:
            tables = CURRENT.tables
            if tables.checkpoints:
                tables.cut(tables.checkpoints[-1], "was cut back by revert()")
                tables.checkpoints.pop()

    @classmethod
    @contextmanager
    @explains
    def scratch(cls) -> Iterator[None]:
        """An empty graph for a while; the old one comes back after, untouched.

        >>> from naive_graph import Graph
        >>> before = len(Graph.node_list)
        >>> with Graph.scratch():
        ...     y = Graph.Variable(1.0) + 2
        >>> len(Graph.node_list) == before
        True
        """
        inner, me, before = Tables(), get_ident(), None
        try:
            with LOCK, GUARD:
                if CURRENT.scratch_thread not in (None, me):
                    raise ThreadError("Another thread is inside Graph.scratch(). Wait for it to leave.")
                before, CURRENT.tables, CURRENT.scratch_thread = (CURRENT.tables, CURRENT.scratch_thread), inner, me
            yield
        finally:
            if before is not None:
                with LOCK:  # without the guard: leaving must always succeed
                    gone, (CURRENT.tables, CURRENT.scratch_thread) = CURRENT.tables, before
                    gone.close("was a scratch graph, which has ended")


naive_Graph = Graph


@contextmanager
@explains
def scope(name: str) -> Iterator[Scope]:
    """Mark the nodes made inside: drawings fold them into one box of that name.

    >>> from naive_graph import Graph, scope
    >>> with scope("layer"):
    ...     y = Graph.Variable(1.0) * 2
    >>> y.scope.path
    'layer'
    """
    if not isinstance(name, str) or not name:
        raise NodeError(f"A scope's name is a text such as 'layer', not {shortened(name)}.")
    tables = CURRENT.tables
    outer = tables.scope_now
    inner = Scope(name, outer)
    try:
        tables.enter(inner)
        yield inner
    finally:
        if not tables.closed:
            try:
                tables.enter(outer)
            except BaseException:  # a Ctrl-C on the way out: leave the scope first
                tables.enter(outer)
                raise


def _replace(tables: Tables, reason: str) -> None:
    """Make these tables the current graph, and close the old one. reason: what its nodes say, as "was cleared"."""
    with LOCK, GUARD:
        old = CURRENT.tables
        CURRENT.tables = tables
        freed = old.close(reason)
    del freed  # outside the lock: finalizers may use the graph
