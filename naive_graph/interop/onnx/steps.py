"""Flatten a graph to steps: inline local functions, sort topologically, drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, zip_longest
from typing import Any, NamedTuple

from ...errors import ImportModelError
from ..steps import find_needed, toposort
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
        names = [*self.inputs]
        for attribute in self.attributes.values():
            if getattr(attribute, "g", None) and attribute.type == attribute.GRAPH:
                names += sorted(captured_names(attribute.g))
        return tuple(names)

    @property
    def qualified_name(self) -> str:
        """The operator, with its domain if it is not ONNX's own."""
        return f"{self.domain}.{self.op}".lstrip(".")


class _Body(NamedTuple):
    """The nodes of the graph, or of a local function while it is inlined."""

    nodes: Iterable[Any]
    names: dict[str, str]  # inner value name -> the caller's name; empty for the graph itself
    prefix: str
    attributes: Mapping[str, Any]
    opsets: Mapping[str, int]


def inline_functions(
    nodes: Iterable[Any], functions: Iterable[Any], opsets: Mapping[str, int], names: Mapping[str, str] = {},
    prefix: str = "",
) -> list[OnnxStep]:  # fmt: skip
    """Return one step for each node, with local functions inlined. Raises ImportModelError.

    names: what some values are called; prefix: before the names of all others.
    """
    by_name = {(function.domain, function.name): function for function in functions}
    visited = count(1)  # calls count, too: a file of a few lines may stand for 2**60 nodes

    def expand(body: _Body, depth: int) -> Iterator[OnnxStep]:
        for node in body.nodes:
            if next(visited) > MOST_STEPS:
                raise ImportModelError(f"The graph has more than {MOST_STEPS:,} nodes, with its functions spelt out.")
            if depth > DEEPEST:
                raise ImportModelError(f"Node {node.name!r:.80} is {DEEPEST} functions deep, or they call in a circle.")
            step = _make_step(node, body)
            function = by_name.get((node.domain, node.op_type))
            if function is None:
                yield step
            elif is_own_export(function):
                yield step._replace(attributes={"function": function})
            else:
                yield from expand(_enter_function(function, step), depth + 1)

    return list(expand(_Body(nodes, dict(names), prefix, {}, opsets), 1))


def checked_text(name: Any) -> str:
    """Check that a name is text: protobuf gives bytes where it is not. Raises ImportModelError."""
    if not isinstance(name, str):
        raise ImportModelError(f"A name in the file is no text: {name!r:.60}.")
    return name


def _make_step(node: Any, body: _Body) -> OnnxStep:
    def rename(name: str) -> str:
        return body.names.get(name, body.prefix + checked_text(name)) if name else ""

    attributes = {}
    for attribute in node.attribute:
        resolved = body.attributes.get(attribute.ref_attr_name) if attribute.ref_attr_name else attribute
        if resolved is not None:
            name = checked_text(attribute.name)
            attributes[name] = _copy_attribute(resolved, name, rename)
    outputs = tuple(map(rename, node.output))
    name = body.prefix + checked_text(node.name or next(filter(None, node.output), node.op_type))
    domain = "" if node.domain in OWN else checked_text(node.domain)
    opset = body.opsets.get(domain, 1)
    inputs = tuple(map(rename, node.input))
    return OnnxStep(checked_text(node.op_type), domain, name, inputs, outputs, attributes, opset)


def _copy_attribute(attribute: Any, name: str, rename: Callable[[str], str]) -> Any:
    """Copy an attribute under a name (a reference would keep the whole file's message alive).

    rename: renames the outer values that a subgraph in it reads.
    """
    copied = type(attribute)()
    copied.CopyFrom(attribute)
    copied.name = name
    rename_reads(copied.g, {name: rename(name) for name in captured_names(copied.g)})
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


def expand_subgraph(step: OnnxStep, graph: Any, prefix: str) -> tuple[list[OnnxStep], list[str], list[str]]:
    """The steps of a step's subgraph, and the names of its inputs and results.

    prefix: before all names but those that it reads from the graph around.
    """
    outer = {name: name for name in captured_names(graph)}
    inputs = [prefix + checked_text(info.name) for info in graph.input]
    results = [outer.get(info.name, prefix + checked_text(info.name)) for info in graph.output]
    return inline_functions(graph.node, (), {"": step.opset}, outer, prefix), inputs, results


def _enter_function(function: Any, call: OnnxStep) -> _Body:
    opsets = {("" if opset.domain in OWN else opset.domain): opset.version for opset in function.opset_import}
    if len(call.inputs) > len(function.input) or len(call.outputs) > len(function.output):
        raise ImportModelError(f"{call.label} has more inputs or outputs than its function.")
    names = {inner: outer for inner, outer in zip(function.output, call.outputs) if outer}
    names |= zip_longest(function.input, call.inputs, fillvalue="")  # an omitted input is omitted inside, too
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    return _Body(function.node, names, f"{call.name}/", defaults | call.attributes, opsets)


def sort_steps(steps: Sequence[OnnxStep], known: set[str], wanted: Sequence[str]) -> list[OnnxStep]:
    """Sort steps topologically. Raises ImportModelError for a cycle, or for a value that has no source."""
    makers: dict[str, int] = {}
    for index, step in enumerate(steps):
        for output in filter(None, step.outputs):
            if output in makers or output in known:
                twice = f"{step.label} gives {output!r}, which is given already"
                raise ImportModelError(f"{twice}. Each value has one source.")
            makers[output] = index
    for step in steps:
        for read_name in filter(None, step.reads):
            if read_name not in makers and read_name not in known:
                raise ImportModelError(f"{step.label} needs {read_name!r}, which nothing gives.")
    for wanted_name in wanted:
        if wanted_name not in makers and wanted_name not in known:
            raise ImportModelError(f"Output {wanted_name!r} is given by nothing.")
    before = [{makers[name] for name in step.reads if name in makers} for step in steps]
    if all(maker < index for index, some in enumerate(before) for maker in some):
        return list(steps)  # already sorted
    return toposort(dict(enumerate(steps)), dict(enumerate(before)))


def cut_steps(
    steps: Sequence[OnnxStep], given: set[str], wanted: Iterable[str]
) -> tuple[list[OnnxStep], Collection[str]]:
    """Return the steps needed to compute the wanted values from the given ones, and all names that they read."""
    makers: dict[str, OnnxStep] = {}
    for step in steps:
        makers.update((output, step) for output in step.outputs if output and output not in given)
    needed = find_needed(wanted, lambda name: makers[name].reads if name in makers else ())
    cut = [step._replace(outputs=tuple("" if output in given else output for output in step.outputs)) for step in steps]
    return [step for step in cut if not needed.keys().isdisjoint(filter(None, step.outputs))], needed.keys()
