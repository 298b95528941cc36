"""The Program of nodes of the scalar graph: calling it, `minimize`, copies, and its passes to look at.

A Program is a query that is asked often: the values of some outputs, and their derivatives
with respect to some leaves. A Backend (backends.py) answers it. There is one for each set of
batched inputs, made on the first call that needs it, and again after the graph's edges changed.

A call takes one of two ways. The slow one checks the graph and all inputs, and finds or makes
the backend. When a call of the same signature is repeated and the graph has not changed, the
fast one goes to the backend's code directly (fast_path.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy, deepcopy
from html import escape
from threading import RLock
from typing import Any, NamedTuple, Never, NoReturn, Self

from ..core.did_you_mean import Suggesting, describe_misfit
from ..core.lazy_exports import late_bound
from ..core.lock import GUARD
from ..core.number import floats
from ..core.plan import check_set
from ..core.rules import Arithmetic
from ..core.tables import NEVER
from ..engines.select import engine_named
from ..errors import EngineError, FeedError, NaiveGraphError, NodeError, StaleNodeError
from ..graph.formatting import html_table, wrap_text
from ..graph.graph import GraphType
from ..graph.node_factory import CURRENT
from ..graph.nodes import Node, PlaceHolder, is_leaf_variable, rows_of
from ..graph.run_checks import report_invalid
from .backends import Backend, CompiledBackend, Query, backend_for
from .fast_path import AGE, FastCall, FastPath, call_signature, fast_path
from .inputs import (
    ArrayWeights,
    Inputs,
    InputSlot,
    VariableWeights,
    Weights,
    as_node_list,
    check_inputs,
    ensure_list,
    make_slot,
    make_slots,
    missing_value_error,
    too_many_inputs_error,
)

Feed = Mapping[PlaceHolder, Any]

MOST_SHOWN = 20_000  # of a graph with more nodes, a notebook does not show the passes


class Answer(NamedTuple):
    """What a Program answers.

    value: a float, or an array with one for each sample; of several outputs, a
    list of these. gradient: an array with one float for each node of wrt; with a
    line of B for each, if all of them have one for each sample; a list, if some
    do. Of several outputs one such row for each: the Jacobian.

    Of tensors: value is an array of the tensor's shape, and gradient a list with
    an array for each tensor of wrt, of the output's shape and then its own (one
    array where wrt is one tensor). An axis for the samples, if any, comes first.

    >>> from naive_graph import Program, Variable
    >>> x = Variable(3.0)
    >>> Program(x * x, wrt=[x])()
    Answer(value=9.0, gradient=array([6.]))
    """

    value: Any
    gradient: Any


_make_answer = tuple.__new__  # makes an Answer of a pair, faster than Answer(...)


class ProgramBase(Suggesting):
    """A `Program` whose outputs, wrt and inputs are nodes of the scalar graph; see there."""

    _owner = "program"
    _unnamed: Sequence[InputSlot] = ()  # input tensors that are not in `inputs`: fed by name, or else read as they are

    def __init__(
        self, outputs: Any, wrt: Any = (), inputs: Iterable[Any] = (), engine: str | None = None, weights: Any = None
    ) -> None:
        if isinstance(engine, Node):
            raise NodeError("A Program takes Variables in one list: Program(loss, wrt=[a, b, c]).")
        self._single = isinstance(outputs, Node) or getattr(outputs, "shape", None) == ()  # of a lowered tensor
        self.outputs: list[Node] = as_node_list(outputs, "Program")
        self.wrt: list[Node] = as_node_list(wrt, "Program's wrt")
        if not self.outputs:
            raise NodeError("A Program needs at least one output. Write Program(loss, wrt=weights).")
        self._tables, self._engine = CURRENT.tables, engine_named(engine)
        self.inputs = ensure_list(inputs, str, Arithmetic)
        self._inputs = make_slots(self.inputs, self._slot)
        self._rows = rows_of(self.outputs, "Program")
        self._wrt = rows_of(self.wrt, "Program's wrt")
        for node in self.wrt:
            if not is_leaf_variable(node) and not isinstance(node, PlaceHolder):
                label = self._tables.label(node.row)
                raise NodeError(
                    f"A Program differentiates with respect to Variables and PlaceHolders, not {label}. "
                    "Name the leaves that it depends on in wrt."
                )
        self._movable = all(map(is_leaf_variable, self.wrt))
        self._weights = self._make_weights(weights)
        self._newest_node = max([*self.outputs, *self.wrt], key=lambda node: node.row)
        self._edge_edits = self._tables.edge_edits
        self._reset_backends()

    def _reset_backends(self) -> None:
        """Start without compiled code, with an empty fast path, and with a new lock."""
        self._lock = RLock()
        self._fast_path = FastPath()
        self._no_inputs = Inputs(self._tables, {}, [])
        self._backends: dict[Any, Backend] = {}

    def _make_weights(self, weights: Any) -> VariableWeights | ArrayWeights:
        """Where the weights are stored: in the Variables, or in the array of `weights=`."""
        if weights is None:
            return VariableWeights(self._tables, self._wrt)
        if not self._movable:
            raise FeedError("weights= holds the values of Variables; a PlaceHolder among wrt is fed.")
        return ArrayWeights(self._wrt, *(weights if isinstance(weights, tuple) else (weights, None)))

    def _slot(self, input: Any) -> InputSlot:
        return make_slot(input)

    # --- calling it ---

    def __call__(self, *inputs: Any, feed: Feed | None = None, **unknown: Never) -> Answer:
        """Compute the values and the derivatives, with the leaves' current values.

        inputs: for each of the Program's inputs a number, or an array of B; for
        a list of n PlaceHolders an array of n, or of B rows and n columns.
        feed: the same by PlaceHolder. One that is not fed keeps the value that
        it has. Raises PlaceHolderError if it has none, FeedError if an array
        has another shape or batches differ in length.
        """
        if unknown:
            raise describe_misfit(self.__call__, inputs, unknown)
        if feed is None:
            tables, path = self._tables, self._fast_path
            with tables.lock, GUARD:
                if tables._cache.get(AGE) is path.age:  # the graph has not changed
                    answer = path.fast_call(inputs)
                    if answer is not None:
                        return _make_answer(Answer, answer)
                    path.close()
        return self._call_with_checks(feed, inputs)

    def _call_with_checks(self, feed: Feed | None, inputs: Sequence[Any]) -> Answer:
        """Answer by the slow path: check everything, find or make the backend, and prepare the fast path."""
        with self._lock:
            self._check_not_stale()
            age = self._tables.cache.setdefault(AGE, object())
            fed = self._check_inputs(feed, inputs) if feed or inputs or self._unnamed else self._no_inputs
            backend = self._backend_and_numbers(fed, self._weights.held)
            signature = call_signature(age, fed, inputs) if feed is None else None  # no fast path with feed=
            with self._tables.lock, GUARD:  # no column may move while machine code reads it
                self._check_not_stale()  # another thread may have removed rows and used their numbers for new nodes
                self._fast_path.close()
                values, slopes, finite = backend(fed)
                if finite:
                    self._fast_path.remember(signature, age, lambda: self._make_fast_call(backend, fed, inputs))
            if not finite and GraphType._on_invalid != "ignore":
                report_invalid(backend.culprit(fed), GraphType._on_invalid)
        if self._single:
            return Answer(values[0], slopes[0] if slopes else [])
        return Answer(values, slopes)

    def _make_fast_call(self, backend: Backend, fed: Inputs, inputs: Sequence[Any]) -> FastCall | None:
        """Make the fast path for calls like this one; None if there can be none."""
        plain = all(type(input_) is float or getattr(input_, "ndim", 0) for input_ in inputs)
        if plain and len(fed.batches) in (0, len(inputs)):
            slots = self._inputs[: len(inputs)]
            return fast_path(backend, self._weights, fed.samples, self._single, slots, inputs)
        return None

    def _check_inputs(self, feed: Feed | None, inputs: Sequence[Any] = ()) -> Inputs:
        """The inputs of a call, checked: single numbers, and batches."""
        self._check_not_stale()
        if len(inputs) > len(self._inputs):
            raise too_many_inputs_error(self._tables, self._inputs, len(inputs))
        return check_inputs(self._tables, *self._pair_inputs(feed, inputs))

    def _pair_inputs(
        self, feed: Feed | None, inputs: Sequence[Any]
    ) -> tuple[Feed | None, Iterable[tuple[InputSlot, Any]]]:
        """Return `feed`, and pairs of each positional input's slot and its value."""
        return feed, zip(self._inputs, inputs, strict=False)

    def _check_not_stale(self) -> None:
        """Raise StaleNodeError if the graph was cleared, or one of this Program's nodes was removed from it.

        Nodes are removed from the end, so it suffices to look at the newest.
        """
        home = self._newest_node._home
        if home.closed or home is not self._tables:
            raise StaleNodeError(f"This Program's graph {home.closed}. Build the Program again.")

    def _backend_and_numbers(self, fed: Inputs, weights: Weights | None) -> Backend:
        """The backend for these inputs. Writes into `fed` the current value of each PlaceHolder that was not fed."""
        if self._tables.unset:
            in_array = weights.places if weights is not None else ()  # these Variables need no value of their own
            check_set(self._tables, set(self._tables.adjacency.ancestors(self._rows)).difference(in_array))
        backend = self._compile_backend(fed, weights)
        for row in backend.placeholders:
            # _no_inputs is shared by all calls without inputs, so its numbers are those of an earlier call.
            if row not in fed.numbers or fed is self._no_inputs:
                if self._tables.stamp(row) == NEVER:
                    raise missing_value_error(self._tables, [*self._inputs, *self._unnamed], row)
                fed.numbers[row] = self._tables.values[row]
        return backend

    def _compile_backend(self, fed: Inputs, weights: Weights | None) -> Backend:
        """The backend for these batches, compiled when it is first needed. weights: an array that is read in place."""
        self._check_not_stale()
        home = self._tables
        if home.edge_edits != self._edge_edits:
            self._backends, self._edge_edits = {}, home.edge_edits
        key = (weights is None, *(batch.rows for batch in fed.batches))
        if key not in self._backends:
            batched = frozenset(row for batch in fed.batches for row in batch.rows)
            query = Query(home, self._rows, self._wrt, batched, self._engine, weights)
            try:
                self._backends[key] = backend_for(query)
            except (IndexError, ValueError):  # of columns that another thread cut back or cleared meanwhile?
                self._check_not_stale()
                raise
        backend = self._backends[key]
        backend.weights = weights
        return backend

    def _backend_of(self, feed: Feed | None, inputs: Sequence[Any]) -> Backend:
        """The backend that a call with these inputs would take."""
        with self._lock:
            return self._compile_backend(self._check_inputs(feed, inputs), self._weights.held)

    def backward(self, *inputs: Any, feed: Feed | None = None) -> float:
        """Return a tensor's loss, and add its derivatives to the gradients of its Model's parameters.

        For a Program over a tensor of one element and parameters of a Model; any other raises NodeError. It does what
        `tensor.backward()` does. With many samples, the loss and the derivatives are sums over them.
        """
        raise NodeError(
            "Program.backward is for a tensor's loss over the parameters of a Model. "
            "The derivatives of this Program are in its answer: value, gradient = program()."
        )

    # --- weights ---

    @property
    def weights(self) -> Any:
        """The values of wrt as one array, a copy: `program.weights -= 0.1 * gradient` moves all Variables at once.

        Setting it takes as many floats as wrt has Variables, and writes them. Raises
        FeedError, and writes nothing, if they do not fit, or if some of them are masked.
        """
        self._check_not_stale()
        return self._weights.read()

    @weights.setter
    def weights(self, values: Any) -> None:
        import numpy as np

        self._check_not_stale()
        if hasattr(values, "mask") and np.ma.is_masked(values):
            raise FeedError("Some of these weights are masked. Choose numbers for them: values.filled(0.0).")
        array = np.asarray(values)
        if array.shape != (len(self._wrt),) or array.dtype.kind not in "fiu":
            raise FeedError(
                f"This Program has {len(self._wrt)} weights; they are set from an array of as many numbers, "
                f"not of shape {array.shape} and kind {array.dtype}."
            )
        if not self._movable:
            raise FeedError(
                "A PlaceHolder among wrt is fed, not set. Set the weights of a Program over Variables only."
            )
        self._weights.write(floats(array, "A Program"))

    def hold(self, array: Any) -> None:
        """Read the weights from this array from now on; its layout is that of the array given as `weights=`."""
        if type(self._weights) is not ArrayWeights:
            raise FeedError(
                "This Program reads its Variables, or its tensors' leaves. "
                "Give it an array when you make it: weights=array."
            )
        self._weights.hold(array)

    def minimize(self, rule: Any = 0.1, steps: int = 100, *inputs: Any, feed: Feed | None = None) -> Any:
        """Move the Variables of wrt downhill, without returning to Python in between.

        rule: a rate, for w <- w - rate * g; or a formula of training/formulas.py
        or of your own: called with a weight, its gradient and what it remembers
        (numbers that begin at 0), it gives the new weight and the new memory. A
        keyword `t` is the number of the step, from 1.

        Returns the output before each step, as an array. The Variables hold
        their last values then; a Ctrl-C keeps what was reached. No other node is
        written: it keeps the value of the last forward, as it does after
        `x.value = 1.0`, and backward asks for a new one. `Graph.forward(f)` or
        `program()` give the output where the Variables are now.

        >>> from naive_graph import Graph, Program
        >>> x = Graph.Variable(6.0)
        >>> history = Program((x - 7) ** 2, wrt=[x]).minimize(0.1, steps=100)
        >>> round(x.value, 6), history[0].item()
        (7.0, 1.0)
        """
        from .descent import check_arguments, descend, not_minimizable_error

        with self._lock:
            self._check_not_stale()
            if not self._single or not self.wrt or not self._movable:
                raise not_minimizable_error(self._tables, self._rows, self._wrt, self._single)
            check_arguments(rule, steps)
            fed, start = self._check_inputs(feed, inputs), self._weights.read().tolist()
            self._weights.before_moving()
            backend = self._backend_and_numbers(fed, None)
            if self._weights.held is not None:  # they are in an array: the Variables have other values
                fed = fed._replace(numbers={**fed.numbers, **dict(zip(self._wrt, start, strict=True))})
            with self._tables.lock, GUARD:
                return descend(backend, fed, rule, steps, start, self._weights.write)

    # --- copying it ---

    def __copy__(self) -> Self:
        """The same query of the same graph, with compiled code and a lock of its own."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, _weights=copy(self._weights))
        twin._reset_backends()
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy that reads a copy of the array given as weights=. The graph's nodes are not copied."""
        twin = copy(self)
        if isinstance(twin._weights, ArrayWeights):
            twin._weights.hold(deepcopy(twin._weights.held.array, memo))
        return twin

    def __reduce__(self) -> NoReturn:
        raise NodeError(
            "A Program cannot be pickled: it is compiled for this process's graph. "
            "Save program.weights instead; where they are read, build the graph and the Program again."
        )

    # --- looking at it ---

    def __repr__(self) -> str:
        outputs, wrt = len(self.outputs), len(self.wrt)
        one, many = ("weight", "weights") if self._movable else ("leaf", "leaves")
        return f"<Program of {outputs} output{'s'[: outputs != 1]} and {wrt} {one if wrt == 1 else many}>"

    def _repr_html_(self) -> str:
        """The number of rows after each pass, as a table; for a large graph, or if no pass ran, the repr."""
        try:
            stages = {} if len(self._tables) > MOST_SHOWN else self.stages()
        except NaiveGraphError:  # no pass runs on the reference engine, and none without what it needs
            stages = {}
        if not stages:
            return f"<p>{escape(repr(self))}</p>"
        rows = [[name, f"{len(flat):,}"] for name, flat in stages.items()]
        return html_table(["pass", "rows"], rows, f"{repr(self)[1:-1]}: program.explain() says what each pass did")

    def explain(self, *inputs: Any, feed: Feed | None = None, times: bool = True) -> str:
        """A report: the passes with the number of rows that each left, and how the plan runs after them.

        For compiled code that includes its memory, and the least time that a run can take. The direct and the
        reference engine have no passes: for these it is one sentence.

        inputs, feed: as in a call; only how many samples there are counts, so none means one.
        times: with how long each pass took, which is another number every time.
        """
        return wrap_text(self._backend_of(feed, inputs).explain(times))

    def stages(self, *inputs: Any, feed: Feed | None = None) -> dict[str, Any]:
        """The plan after each pass, by its name; a plan prints as a table. Of a pass that ran twice, the last."""
        return {name: stage.ir for name, stage in self._backend_of(feed, inputs).stages().items()}

    def draw(self, *inputs: Any, after: str = "share", feed: Feed | None = None, **options: Any) -> Any:
        """The plan as a picture, as it is after that pass. options: direction, title, most, as `draw` takes them."""
        backend = self._backend_of(feed, inputs)
        if not isinstance(backend, CompiledBackend):
            raise EngineError("The reference engine has no passes to draw. Draw the node itself: draw(y).")
        if after not in (stages := backend.stages()):
            raise EngineError(f"There is no pass {after!r} here. The passes are: {', '.join(map(repr, stages))}.")
        return late_bound["draw_plan"](backend, after, **options)
