"""Flatten a graph to steps: inline local functions, sort topologically, drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from ...errors import ImportModelError, UnknownOperatorError
from .custom_ops import is_own_export

MOST_STEPS = 100_000
DEEPEST = 100  # nesting limit of local functions, as protobuf's of graphs
OWN = ("", "ai.onnx")


class OnnxStep(NamedTuple):
    """One node (operator application) of the flattened graph; the same as a NodeProto with local functions inlined."""

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]  # AttributeProto by name; of our own exported operators: {"function": FunctionProto}
    opset: int

    @property
    def label(self) -> str:
        return f"{self.op} {self.name!r}"

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of its inputs, and of what its subgraphs read from the graph around."""
        graphs = [
            attribute.g
            for attribute in self.attributes.values()
            if getattr(attribute, "g", None) and attribute.type == attribute.GRAPH
        ]
        return (*self.inputs, *(name for graph in graphs for name in sorted(captured_names(graph))))

    @property
    def qualified_name(self) -> str:
        """The operator, with its domain if it is not ONNX's own."""
        return f"{self.domain}.{self.op}".lstrip(".")


class _Body(NamedTuple):
    """The nodes of the graph, or of a local function while it is inlined."""

    nodes: Iterator[Any]
    names: dict[str, str]  # inner value name -> the caller's name; empty for the graph itself
    prefix: str
    attributes: Mapping[str, Any]
    opsets: Mapping[str, int]


def inline_functions(
    nodes: Iterable[Any], functions: Iterable[Any], opsets: Mapping[str, int], names: Mapping[str, str] = {},
    prefix: str = "",
) -> list[OnnxStep]:  # fmt: skip
    """Return one step for each node, with local functions inlined. Raises ImportModelError.

    names: what values are called; prefix: before the names of all others.
    """
    by_name = {(function.domain, function.name): function for function in functions}
    _check_size(nodes, by_name)
    stack = [_Body(iter(nodes), dict(names), prefix, {}, opsets)]
    steps: list[OnnxStep] = []
    while stack:
        body = stack[-1]
        node = next(body.nodes, None)
        if node is None:
            stack.pop()
            continue
        step = _make_step(node, body)
        function = by_name.get((node.domain, node.op_type))
        if function is None:
            steps.append(step)
        elif is_own_export(function):
            steps.append(step._replace(attributes={"function": function}))
        else:
            stack.append(_enter_function(function, step))
    return steps


def _check_size(nodes: Iterable[Any], functions: Mapping[tuple[str, str], Any]) -> None:
    """Raise ImportModelError if the nodes are too many, or too deep, with all functions inlined.

    Each function is counted once, however often it is called: a file of a few lines may stand for 2**60 nodes.
    """
    top = ("", "")
    calls = {top: [(node.domain, node.op_type) for node in nodes]}
    sizes: dict[tuple[str, str], int] = {}
    waiting, call_path = [top], set[tuple[str, str]]()
    while waiting:
        key = waiting[-1]
        if key not in calls:
            calls[key] = [(node.domain, node.op_type) for node in functions[key].node]
        inner = [call for call in calls[key] if call in functions and call not in sizes]
        if not inner:
            sizes[key] = len(calls[key]) + sum(sizes.get(call, 0) for call in calls[key])
            call_path.discard(waiting.pop())
        elif len(call_path) >= DEEPEST or not call_path.isdisjoint(inner) or key in inner:
            raise ImportModelError(f"Function {key[1]!r} is called {len(call_path)} functions deep, or in a circle.")
        else:
            call_path.add(key)
            waiting += inner
        if sizes.get(key, 0) > MOST_STEPS:
            raise ImportModelError(f"The graph has more than {MOST_STEPS:,} nodes, with its functions spelt out.")


def checked_text(name: Any) -> str:
    """Check that a name is text: protobuf gives bytes where it is not. Raises ImportModelError."""
    if not isinstance(name, str):
        raise ImportModelError(f"A name in the file is no text: {name!r:.60}.")
    return name


def _make_step(node: Any, body: _Body) -> OnnxStep:
    def called(name: str) -> str:
        return body.names.get(name, body.prefix + checked_text(name)) if name else ""

    attributes = {}
    for attribute in node.attribute:
        resolved = attribute
        if attribute.ref_attr_name:
            resolved = body.attributes.get(attribute.ref_attr_name)
        if resolved is not None:
            name = checked_text(attribute.name)
            attributes[name] = _copy_attribute(resolved, name, called)
    outputs = tuple(map(called, node.output))
    name = body.prefix + checked_text(node.name or next(filter(None, node.output), node.op_type))
    domain = "" if node.domain in OWN else checked_text(node.domain)
    opset = body.opsets.get(domain, 1)
    return OnnxStep(
        checked_text(node.op_type), domain, name, tuple(map(called, node.input)), outputs, attributes, opset
    )


def _copy_attribute(attribute: Any, name: str, called: Callable[[str], str]) -> Any:
    """Copy an attribute under a name (a reference would keep the whole file's message alive).

    called: renames the outer values that a subgraph in it reads.
    """
    copied = type(attribute)()
    copied.CopyFrom(attribute)
    copied.name = name
    rename_reads(copied.g, {name: called(name) for name in captured_names(copied.g)})
    return copied


def captured_names(graph: Any) -> set[str]:
    """Names that a subgraph reads from the graph around it."""
    local_names = {proto.name for proto in (*graph.input, *graph.initializer)}
    local_names |= {name for node in graph.node for name in node.output}
    inner = {name for node in graph.node for attribute in node.attribute for name in captured_names(attribute.g)}
    read = {name for node in graph.node for name in node.input} | {info.name for info in graph.output}
    return {name for name in (read | inner) - local_names if name and checked_text(name)}


def rename_reads(graph: Any, names: Mapping[str, str]) -> None:
    """Rename values where a graph, or a subgraph of it, reads them."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for attribute in node.attribute:
            if attribute.type == attribute.GRAPH:
                rename_reads(attribute.g, {name: names[name] for name in captured_names(attribute.g) if name in names})
    for output in graph.output:
        output.name = names.get(output.name, output.name)


def _enter_function(function: Any, call: OnnxStep) -> _Body:
    opsets = {("" if opset.domain in OWN else opset.domain): opset.version for opset in function.opset_import}
    if len(call.inputs) > len(function.input) or len(call.outputs) > len(function.output):
        raise ImportModelError(f"{call.label} has more inputs or outputs than its function.")
    inputs = (*call.inputs, *[""] * (len(function.input) - len(call.inputs)))
    names = {inner: outer for inner, outer in zip(function.output, call.outputs) if outer}
    names |= dict(zip(function.input, inputs))  # an omitted input is omitted inside, too
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    return _Body(iter(function.node), names, f"{call.name}/", defaults | call.attributes, opsets)


def sort_steps(steps: Sequence[OnnxStep], known: set[str], wanted: Sequence[str]) -> list[OnnxStep]:
    """Sort steps topologically. Raises ImportModelError for a cycle, or for a value that has no source."""
    makers: dict[str, int] = {}
    for index, step in enumerate(steps):
        for output in filter(None, step.outputs):
            if output in makers or output in known:
                raise ImportModelError(
                    f"{step.label} gives {output!r}, which is given already. Each value has one source."
                )
            makers[output] = index
    for step in steps:
        for read_name in filter(None, step.reads):
            if read_name not in makers and read_name not in known:
                raise ImportModelError(f"{step.label} needs {read_name!r}, which nothing gives.")
    for wanted_name in wanted:
        if wanted_name not in makers and wanted_name not in known:
            raise ImportModelError(f"Output {wanted_name!r} is given by nothing.")
    return _toposort(steps, makers)


def find_needed_steps(
    steps: Sequence[OnnxStep], given: set[str], wanted: Iterable[str]
) -> tuple[list[OnnxStep], set[str]]:
    """Return the steps needed to compute the wanted values from the given ones, and all names that they read."""
    makers = {output: position for position, step in enumerate(steps) for output in step.outputs}
    needed: set[int] = set()
    seen = set(wanted)
    waiting = [*seen]
    while waiting:
        name = waiting.pop()
        index = None if name in given or not name else makers.get(name)
        if index is not None and index not in needed:
            needed.add(index)
            waiting += {*steps[index].reads} - seen
            seen.update(steps[index].reads)
    cut = [step._replace(outputs=tuple("" if output in given else output for output in step.outputs)) for step in steps]
    return [step for position, step in enumerate(cut) if position in needed], seen


def _toposort(steps: Sequence[OnnxStep], makers: Mapping[str, int]) -> list[OnnxStep]:
    before = [{makers[name] for name in step.reads if name in makers} for step in steps]
    if all(maker < index for index, some in enumerate(before) for maker in some):
        return list(steps)  # already sorted
    try:
        return [steps[index] for index in TopologicalSorter(dict(enumerate(before))).static_order()]
    except CycleError as error:
        circle = ", ".join(steps[index].label for index in sorted({*error.args[1]})[:5])
        raise ImportModelError(f"These nodes wait for each other in a circle: {circle}.") from None


def check_supported(steps: Iterable[OnnxStep], supported: Any) -> None:
    """Raise UnknownOperatorError, which names all unsupported operators, if there are any."""
    missing: dict[str, str] = {}
    for step in steps:
        why = supported(step)
        if why:
            missing.setdefault(step.qualified_name, why)
    if missing:
        operators = ", ".join(f"{op} ({why})" if why != "unknown" else op for op, why in sorted(missing.items()))
        raise UnknownOperatorError(f"There is nothing here for these operators of ONNX: {operators}.")
