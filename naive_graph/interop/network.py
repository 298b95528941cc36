"""ImportedNetwork: the common base of networks read from ONNX and TensorFlow files.

Its inputs, parameters, outputs and inner nodes are ordinary tensor nodes. They
are built once for each combination of input shapes, when those shapes are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..core.did_you_mean import suggest
from ..core.number import shortened
from ..core.records import Scope
from ..errors import FeedError, ImportModelError
from ..graph.node_factory import CURRENT
from ..program.program import Program
from ..tensor.base import TensorNode, check_tensors
from ..tensor.differentiate import BACKWARD_SOURCES, ancestors
from ..tensor.evaluation.arrays import as_array
from ..tensor.evaluation.eval_plan import EvalStep, plan_targets
from ..tensor.evaluation.evaluate import cache_value, cached_array, computed, invalidate_stale, to_dense
from ..tensor.nodes import LeafNode, LeafType
from ..tensor.versions import own_copy, ticks
from ..training.model import Model
from .steps import Step, check_entries
from .weights import StoredWeights, Weight

Nodes = dict[str, TensorNode]
Named = dict[str, Any]
Sizes = tuple[tuple[int, ...], ...]  # the shape of every input
FEW = 8  # names shown in an error message
LONGEST, DEEPEST = 1000, 50  # a path of scopes
MOST = 2 * 10**9  # default limit for the bytes of computed constants, besides the weights


class Port(NamedTuple):
    """An input or output: its name, entry type, and extents (numbers, names, or None where the file says nothing)."""

    name: str
    type: int
    extents: tuple[int | str | None, ...] | None


def name_open_extents(port: Port) -> Port:
    """Name each open extent of a port: axis 0 of x is x_0."""
    if port.extents is None:
        return port
    extents = [f"{port.name}_{axis}" if extent is None else extent for axis, extent in enumerate(port.extents)]
    return port._replace(extents=tuple(extents))


def named_extents(shapes: Iterable[Iterable[Any] | None]) -> list[str]:
    """The names of the open extents in these shapes, each once."""
    extents = chain.from_iterable(shape or () for shape in shapes)
    return list(dict.fromkeys(extent for extent in extents if isinstance(extent, str)))


def check_sizes(ports: Sequence[Port], sizes: Mapping[str, int]) -> None:
    """Check sizes={name: number} against the names of open extents. Raises ImportModelError."""
    names = named_extents(port.extents for port in ports)
    for name, size in sizes.items():
        if name not in names:
            hint = f"There are {', '.join(sorted(names))}." if names else "It names none."
            raise ImportModelError(f"sizes={{{name!r}: ...}}: the file names no such dimension. {hint}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ImportModelError(f"sizes={{{name!r}: {shortened(size)}}}: a size is a whole number from 1 on.")


def fix_sizes(port: Port, sizes: Mapping[str, int]) -> Any:
    """Return the port's extents, with numbers in place of the names in sizes; None if they are unknown."""
    if port.extents is None:
        return None
    return tuple(sizes.get(extent, extent) if isinstance(extent, str) else extent for extent in port.extents)


class InputLeaf(LeafNode):
    """An input of an imported network; dtype: NumPy's type of its entries in the file."""

    dtype: np.dtype[Any] = np.dtype(float)

    def __init__(self, shape: tuple[int, ...], name: str, dtype: np.dtype[Any]) -> None:
        super().__init__(LeafType.INPUT, shape, name=name)
        self.dtype = dtype


def _unwrap_single(arrays: dict[str, Any]) -> Any:
    """The output's array; of several outputs, a dict of them by name."""
    return arrays if len(arrays) > 1 else next(iter(arrays.values()))


class ImportedNetwork:
    """A network read by `from_onnx` or `from_tensorflow`. Call it with arrays to get the outputs' arrays.

    inputs, outputs: tensor nodes by name. parameters: the weights that are
    learned, leaves by name. nodes: every inner node by its name in the file, and
    by the name of its result; of an operator with several results a tuple.
    model: a Model of the parameters, for trainers and for saving. sizes: numbers
    for extents by their names; one that the file leaves open without a name is
    called after its input and axis, `x_0`.
    """

    steps: Sequence[Step] = ()  # of the file, in topological order
    said = ""  # the text that summary() returns

    def __init__(
        self, name: str, slots: Sequence[Port], weights: StoredWeights, sizes: Mapping[str, int], most: int = MOST
    ) -> None:
        if isinstance(most, bool) or not isinstance(most, int) or most < 0:
            raise ImportModelError(f"most is a number of bytes, a whole one, not {shortened(most)}.")
        self.most = most
        self.name, self.slots, self.weights, self.sizes = name, [*map(name_open_extents, slots)], weights, dict(sizes)
        check_sizes(self.slots, sizes)
        self.shapes = {slot.name: fix_sizes(slot, sizes) for slot in self.slots}
        self.scopes, self.built = NamedScopes(), dict[Sizes, BuiltGraph]()
        if not self.open_inputs():
            self.graph_of(tuple(self.shapes.values()))

    def new_builder(self) -> Any:
        """A StepBuilder of the file's format."""
        raise NotImplementedError

    def collect_nodes(self, builder: Any, inputs: dict[str, LeafNode]) -> BuiltGraph:
        """Make a graph of what the builder built from all steps."""
        raise NotImplementedError

    def advice(self, names: Collection[str]) -> str:
        """Say how to give the shapes of these inputs, for an error message."""
        raise NotImplementedError

    def dtype(self, slot: Port) -> np.dtype[Any]:
        """NumPy's type of an input's entries in the file."""
        raise NotImplementedError

    # --- what it is made of ---

    def summary(self) -> str:
        """A summary of the file: inputs, outputs, operator counts, and weights (parameter or constant)."""
        return self.said

    @property
    def graph(self) -> BuiltGraph:
        """The nodes for the input shapes used last. Raises ImportModelError if none were built yet."""
        if not self.built:
            free = self.open_inputs()
            raise ImportModelError(
                f"The network's nodes depend on the shapes of {', '.join(free)}, which the file leaves open. Call the "
                f"network with arrays, or {self.advice(free)}."
            )
        return next(reversed(self.built.values()))

    @property
    def inputs(self) -> dict[str, LeafNode]:
        return self.graph.inputs

    @property
    def outputs(self) -> dict[str, TensorNode]:
        return self.graph.outputs

    @property
    def nodes(self) -> dict[str, Any]:
        return self.graph.nodes

    def __getitem__(self, name: str) -> Any:
        """The node of this name: an inner one, an input, an output or a parameter."""
        graph, parameters = self.with_sizes(), self.parameters
        for nodes in (graph.nodes, graph.outputs, graph.inputs, parameters):
            if name in nodes:
                return nodes[name]
        names = join_names({**graph.inputs, **parameters, **graph.outputs, **graph.nodes})
        raise ImportModelError(f"The network has no node {name!r}. It has {names}.")

    @property
    def parameters(self) -> dict[str, Weight]:
        self.with_sizes()  # building finds out which weights are used
        return dict(self.weights.used)

    @cached_property
    def model(self) -> Model:
        """A Model that owns the parameters: `AdamTrainer(network.model)`, `network.model.save(path)`."""
        self.with_sizes()  # building finds out which weights are used
        return self.weights.model()

    def compiled(self, **how: Any) -> Callable[..., Any]:
        """The network as machine code, for inputs of the sizes that were used last; called as the network is.

        It is a Program of the network's tensors; how: Program's options (`engine`). It
        takes about a second to compile; a small network then runs ten times faster.
        """
        outputs = self.graph.computed
        program = Program([*outputs.values()], (), [*self.graph.inputs.values()], **how)

        def run(*arrays: Any, **named: Any) -> Any:
            values = program(*self._arrange_arrays(arrays, named)).value
            return _unwrap_single(dict(zip(outputs, map(np.asarray, values))))

        return run

    def with_sizes(self) -> BuiltGraph:
        """Return the nodes for the input shapes used last; if none were built, build with 1 for each open extent."""
        if not self.built and None not in self.shapes.values():
            ones = ((extent if isinstance(extent, int) else 1 for extent in shape) for shape in self.shapes.values())
            return self.build(tuple(map(tuple, ones)))
        return self.graph

    # --- building ---

    def open_inputs(self) -> list[str]:
        """The names of the inputs whose shapes are not known."""
        return [name for name, shape in self.shapes.items()
                if shape is None or not all(isinstance(extent, int) for extent in shape)]  # fmt: skip

    def build(self, sizes: Sizes) -> BuiltGraph:
        """Build the nodes for inputs of these shapes."""
        builder, inputs = self.new_builder(), dict[str, LeafNode]()
        for slot, shape in zip(self.slots, sizes):
            check_entries(shape, f"Input {slot.name!r}")
            if 0 in shape:
                raise ImportModelError(f"Input {slot.name!r} of shape {shape} has no entries. A tensor here has some.")
            inputs[slot.name] = InputLeaf(shape, slot.name, self.dtype(slot))
        builder.values |= inputs
        with self.scopes.building():
            for step in self.steps:
                self.scopes.enter(step.name)
                builder.take(step)
            return self.collect_nodes(builder, inputs)

    def graph_of(self, sizes: Sizes) -> BuiltGraph:
        """Return the nodes for inputs of these shapes, built on first use and cached."""
        graph = self.built.pop(sizes, None) or self.build(sizes)
        self.built[sizes] = graph  # moved to the end: the one used last
        return graph

    # --- running ---

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output's array, from an array for each input: in the file's order, or by name. Several: a dict."""
        inputs = self._arrange_arrays(arrays, named)
        graph = self.graph_of(tuple(array.shape for array in inputs))
        for leaf, array in zip(graph.inputs.values(), inputs):
            leaf.value = array
        return _unwrap_single(graph.run())

    def _arrange_arrays(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        names = [slot.name for slot in self.slots]
        values = {**dict(zip(names, arrays)), **named}
        if len(arrays) + len(named) != len(names) or values.keys() != set(names):
            takes = ", ".join(names) or "no inputs"
            raise FeedError(f"The network takes {takes}: an array for each, in order or by name.")
        ordered_arrays = [_to_array(values[name], f"Input {name!r}") for name in names]
        for slot, array in zip(self.slots, ordered_arrays):
            if slot.extents is None:
                continue
            expected = [size if isinstance(due, str) else due for due, size in zip(slot.extents, array.shape)]
            if len(slot.extents) != array.ndim or (*expected,) != array.shape:
                given = f"an array of {array.shape} was given"
                raise FeedError(f"Input {slot.name!r} has the shape {slot.extents}; {given}.")
        return ordered_arrays

    def __repr__(self) -> str:
        signature = ", ".join(f"{slot.name} {slot.extents}" for slot in self.slots)
        return f"<Network {self.name!r} of {len(self.steps)} operators: {signature}>"


class BuiltGraph:
    """The nodes of a network for one set of input shapes. values: all outputs, constant ones as arrays."""

    def __init__(self, inputs: dict[str, LeafNode], outputs: Nodes, nodes: Named, values: Named | None = None) -> None:
        self.inputs, self.outputs, self.nodes = inputs, outputs, nodes
        self.values = dict(outputs if values is None else values)
        self.computed = {name: value for name, value in self.values.items() if isinstance(value, TensorNode)}
        self.inner = [
            ancestor for ancestor in ancestors(self.computed.values(), predecessors=BACKWARD_SOURCES) if ancestor.reads
        ]

    @cached_property
    def plan(self) -> list[EvalStep]:
        """The evaluation plan of all outputs, made once."""
        return plan_targets(self.computed.values())

    def run(self) -> dict[str, Any]:
        """Compute the outputs' arrays from the inputs' current values; inner nodes cache theirs as well."""
        check_tensors("A network", self.computed.values())
        invalidate_stale(self.computed.values())  # notices changed weights
        start_tick = next(ticks)
        for node in self.inner:
            node._value = None
        with np.errstate(all="ignore"):  # values follow IEEE 754
            for step in self.plan:
                cache_value(step.node, computed(step, cached_array), start_tick)
        arrays = {name: own_copy(to_dense(cached_array(node))) for name, node in self.computed.items()}
        return {**self.values, **arrays}


def _to_array(value: Any, who: str) -> Any:
    truth = isinstance(value, np.ndarray) and value.dtype.kind == "b"
    return as_array(value.astype(float) if truth else value, who)


def join_names(names: Collection[Any]) -> str:
    """Join names for a message; of many only the first few."""
    shown = ", ".join(map(repr, [*names][:FEW])) or "nothing"
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW:,} more"


def check_names(value: Any, what: str) -> list[str]:
    """Return a list of names from one name or several. Raises ImportModelError."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in names):
        raise ImportModelError(f"{what}, not {shortened(value)}.")
    return list(names)


def check_parameter_names(value: Any, arrays: Mapping[str, Any], kind: str) -> Collection[str]:
    """Check the names of arrays to train. Raises ImportModelError unless each is a float array of rank 1 or more."""
    names = check_names(value, f"parameters are the names of {kind}s")
    for name in names:
        if name not in arrays or arrays[name].dtype.kind != "f" or not arrays[name].ndim:
            raise ImportModelError(f"There is no {kind} {name!r} of floats with an axis.{suggest(name, arrays)}")
    return names


# --- scopes from names: `encoder/dense/MatMul` and `encoder.dense.weight` belong to `encoder/dense` ---


def scope_path(name: str) -> list[str]:
    """The scope path of a name: a, b for "a/b/c" and "a.b.c"; a numeric part stays with the part before it.

    >>> scope_path("/encoder/dense/MatMul"), scope_path("encoder.layers.0.weight"), scope_path("input.3")
    (['encoder', 'dense'], ['encoder', 'layers.0'], [])
    """
    parts = name.removeprefix("/").split("/") if "/" in name else re.split(r"\.(?!\d)", name)
    return parts[:-1] if len(name) <= LONGEST and len(parts) <= DEEPEST else []


class NamedScopes:
    """The scopes of one network, reused each time that it is built."""

    def __init__(self) -> None:
        self.known: dict[tuple[Scope | None, str], Scope] = {}
        self.outer: Scope | None = None

    @contextmanager
    def building(self) -> Iterator[None]:
        """While a network is built: its scopes are nested in the current scope, which is restored on exit."""
        self.outer = CURRENT.tables.scope_now
        try:
            yield
        finally:
            CURRENT.tables.enter(self.outer)

    def enter(self, name: str) -> None:
        """Enter the scopes of a name; nodes made from now on belong to them."""
        scope = self.outer
        for part in scope_path(name):
            scope = self.known.setdefault((scope, part), Scope(part or "/", scope))
        if CURRENT.tables.scope_now is not scope:
            CURRENT.tables.enter(scope)
