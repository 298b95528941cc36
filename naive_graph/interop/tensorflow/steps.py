"""Flatten a TensorFlow GraphDef to steps: inline functions, sort topologically. Nothing here recurses."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from ...errors import ImportModelError
from ..network import join_names
from ..steps import find_needed, toposort
from .values import attribute

# Limits of inlining: nested functions in a kilobyte can expand to 2**100 nodes, or to a name of a terabyte.
DEEPEST, MOST_STEPS, LONGEST_NAME = 500, 100_000, 2000
CALLS = ("PartitionedCall", "StatefulPartitionedCall")
PASSED = "(passed on)"  # op of steps that return their inputs: an inlined call, or a function's argument
# Functions refer to results by name, "top:indices:0". The result names of operators with several results:
RESULTS: dict[str, Sequence[str]] = {
    **dict.fromkeys(("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"), ("y", "batch_mean", "batch_variance")),
    "TopKV2": ("values", "indices"),
    "SoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
    "SparseSoftmaxCrossEntropyWithLogits": ("loss", "backprop"),
}


class GraphStep(NamedTuple):
    """A node of the flattened graph. Values are named by node and result index: `node`, `node:1`."""

    name: str
    op: str
    inputs: Sequence[str]
    attributes: Mapping[str, Any]
    opset: None = None  # TensorFlow has no opsets

    @property
    def qualified_name(self) -> str:
        """The operator; there are no domains."""
        return self.op

    @property
    def label(self) -> str:
        """Operator and name, for error messages."""
        return f"{self.op} {self.name!r:.200}"

    @property
    def outputs(self) -> Iterator[str]:
        """The names of its results, without end: the node does not say how many there are."""
        return (value_name(self.name, index) for index in count())


def value_name(node: str, index: int) -> str:
    return f"{node}:{index}" if index else node


def node_of(value: str) -> str:
    """The name of the node that produces a value."""
    return value.partition(":")[0]


class Body:
    """The nodes of the top-level graph, or of a function that is inlined at one call."""

    def __init__(self, nodes: Sequence[Any], functions: Mapping[str, Any]) -> None:
        self.nodes, self.functions = nodes, functions
        self.prefix, self.depth, self.attributes = "", 0, dict[str, Any]()
        self.results: dict[str, Sequence[str]] = {}  # the names of results, by node

    def steps(self) -> Iterator[GraphStep]:
        for node in self.nodes:
            inputs = [self.source(source) for source in node.input if not source.startswith("^")]
            attributes = {key: self.bound(x) for key, x in node.attr.items()}
            yield GraphStep(self.prefix + node.name, node.op, inputs, attributes)

    def bound(self, value: Any) -> Any:
        """The value of an attribute; a placeholder inside a function takes the call's attribute."""
        kind = value.WhichOneof("value")
        if kind == "placeholder":
            return self.attributes.get(value.placeholder)
        return value.func.name if kind == "func" else attribute(value)

    def source(self, input_text: str) -> str:
        """Convert an input as written (`x`, `x:1`; in a function `argument`, `x:result:0`) to a value name."""
        name, _, suffix = input_text.partition(":")
        if self.depth and ":" in suffix:
            result, _, suffix = suffix.partition(":")
            names = self.results.get(name, ())
            first = names.index(result) if result in names else 0
        else:
            first = 0
        if suffix and not (suffix.isascii() and suffix.isdecimal() and len(suffix) < 10):
            raise ImportModelError(f"The input {input_text!r} of a node is not written as 'node:1'.")
        return value_name(self.prefix + name, first + int(suffix or 0))


def collect_steps(graph: Any) -> dict[str, GraphStep]:
    """All steps by name, functions inlined. Raises ImportModelError for a duplicate name or an unknown input."""
    functions = {function.signature.name: function for function in graph.library.function}
    steps: dict[str, GraphStep] = {}
    waiting = deque([Body(graph.node, functions)])
    while waiting:
        body = waiting.popleft()
        for step in body.steps():
            function = functions.get(str(step.attributes.get("f")) if step.op in CALLS else step.op)
            if function is not None:
                inner = _enter_function(step, function, body)
                waiting.append(inner)
                for argument, source in zip(function.signature.input_arg, step.inputs):
                    _add_step(GraphStep(inner.prefix + argument.name, PASSED, [source], {}), steps, inner.depth)
                returned = [inner.source(function.ret[output_arg.name]) for output_arg in function.signature.output_arg]
                step = GraphStep(step.name, PASSED, returned, {})
            _add_step(step, steps, body.depth)
    for step in steps.values():
        lost = [name for name in map(node_of, step.inputs) if name not in steps]
        if lost:
            raise ImportModelError(f"Node {step.name!r} takes {join_names(lost)}, and no node is called so.")
    return steps


def _enter_function(step: GraphStep, function: Any, body: Body) -> Body:
    """The body of a function, inlined at a call. Raises ImportModelError unless the inputs match the signature."""
    signature = function.signature
    if len(step.inputs) != len(signature.input_arg) or any(argument.number_attr for argument in signature.input_arg):
        raise ImportModelError(
            f"Node {step.name!r} gives {len(step.inputs)} inputs to function {signature.name!r}, which takes "
            f"{len(signature.input_arg)}, each a tensor."
        )
    inner = Body(function.node_def, body.functions)
    inner.prefix, inner.depth = f"{step.name}/", body.depth + 1
    defaults = {definition.name: attribute(definition.default_value) for definition in signature.attr}
    inner.attributes = {**defaults, **step.attributes}
    inner.results = {node.name: _result_names(node, body.functions) for node in function.node_def}
    return inner


def _result_names(node: Any, functions: Mapping[str, Any]) -> Sequence[str]:
    """The names of a node's results: of a function call, the function's outputs."""
    function = functions.get(node.attr["f"].func.name if node.op in CALLS else node.op)
    if function is None:
        return RESULTS.get(node.op, ())
    return [output_arg.name for output_arg in function.signature.output_arg]


def _add_step(step: GraphStep, steps: dict[str, GraphStep], depth: int) -> None:
    """Add a step. Raises ImportModelError for a duplicate name, or if inlining exceeds its limits."""
    if not step.name or step.name in steps:
        raise ImportModelError(f"Two nodes are called {step.name!r}, or one has no name. Each needs one of its own.")
    if depth and (depth > DEEPEST or len(steps) >= MOST_STEPS or len(step.name) > LONGEST_NAME):
        raise ImportModelError(
            f"Functions call functions until there are {len(steps):,} nodes, {depth:,} deep: that is not unfolded. "
            f"It began with {step.name.partition('/')[0]!r:.80}. Inline or simplify them in TensorFlow."
        )
    steps[step.name] = step


def sort_needed(steps: Mapping[str, GraphStep], wanted: Sequence[str]) -> list[GraphStep]:
    """Return the steps that these need, in topological order. Raises ImportModelError for a cycle."""
    sources = {name: [*map(node_of, step.inputs)] for name, step in steps.items()}
    needed = find_needed(wanted, sources.__getitem__)
    return toposort(steps, {name: sources[name] for name in steps if name in needed})
