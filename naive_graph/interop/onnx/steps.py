"""Flatten a graph to steps: inline local functions, sort topologically, drop what is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any, NamedTuple

from ...errors import ImportModelError, UnknownOperatorError
from .custom_ops import is_ours

MOST_STEPS = 100_000
DEEPEST = 100  # functions within functions, as protobuf allows graphs within graphs
OWN = ("", "ai.onnx")


class Application(NamedTuple):
    """One application of an operator, in the graph or inside an inlined function."""

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]  # AttributeProto by name; of an operator of our own, what its function says
    opset: int

    @property
    def label(self) -> str:
        return f"{self.op} {self.name!r}"

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of its inputs, and of what its subgraphs read from the graph around."""
        graphs = [each.g for each in self.attributes.values() if getattr(each, "g", None) and each.type == each.GRAPH]
        return (*self.inputs, *(name for each in graphs for name in sorted(captured_names(each))))

    @property
    def qualified_name(self) -> str:
        """The operator, with its domain if it is not ONNX's own."""
        return f"{self.domain}.{self.op}".lstrip(".")


class _Body(NamedTuple):
    """Nodes that are being inlined: of the graph, or of a called function."""

    nodes: Iterator[Any]
    names: dict[str, str]  # what the caller calls the values in it; empty for the graph itself
    prefix: str
    attributes: Mapping[str, Any]
    opsets: Mapping[str, int]


def inline_functions(
    nodes: Iterable[Any], functions: Iterable[Any], opsets: Mapping[str, int], names: Mapping[str, str] = {},
    prefix: str = "",
) -> list[Application]:  # fmt: skip
    """Return one step for each node, with local functions inlined. Raises ImportModelError.

    names: what values are called; prefix: before the names of all others.
    """
    known = {(each.domain, each.name): each for each in functions}
    _check_size(nodes, known)
    stack = [_Body(iter(nodes), dict(names), prefix, {}, opsets)]
    found: list[Application] = []
    while stack:
        body = stack[-1]
        node = next(body.nodes, None)
        if node is None:
            stack.pop()
            continue
        step = _step(node, body)
        function = known.get((node.domain, node.op_type))
        if function is None:
            found.append(step)
        elif is_ours(function):
            found.append(step._replace(attributes={"function": function}))
        else:
            stack.append(_enter_function(function, step))
    return found


def _check_size(nodes: Iterable[Any], functions: Mapping[tuple[str, str], Any]) -> None:
    """Raise ImportModelError if the nodes are too many, or too deep, with all functions inlined.

    Each function is counted once, however often it is called: a file of a few lines may stand for 2**60 nodes.
    """
    top = ("", "")
    calls = {top: [(each.domain, each.op_type) for each in nodes]}
    sizes: dict[tuple[str, str], int] = {}
    waiting, opened = [top], set[tuple[str, str]]()
    while waiting:
        key = waiting[-1]
        if key not in calls:
            calls[key] = [(each.domain, each.op_type) for each in functions[key].node]
        inner = [each for each in calls[key] if each in functions and each not in sizes]
        if not inner:
            sizes[key] = len(calls[key]) + sum(sizes.get(each, 0) for each in calls[key])
            opened.discard(waiting.pop())
        elif len(opened) >= DEEPEST or not opened.isdisjoint(inner) or key in inner:
            raise ImportModelError(f"Function {key[1]!r} is called {len(opened)} functions deep, or in a circle.")
        else:
            opened.add(key)
            waiting += inner
        if sizes.get(key, 0) > MOST_STEPS:
            raise ImportModelError(f"The graph has more than {MOST_STEPS:,} nodes, with its functions spelt out.")


def text(name: Any) -> str:
    """Check that a name is text: protobuf gives bytes where it is not. Raises ImportModelError."""
    if not isinstance(name, str):
        raise ImportModelError(f"A name in the file is no text: {name!r:.60}.")
    return name


def _step(node: Any, body: _Body) -> Application:
    def called(name: str) -> str:
        return body.names.get(name, body.prefix + text(name)) if name else ""

    attributes = {}
    for each in node.attribute:
        given = each
        if each.ref_attr_name:
            given = body.attributes.get(each.ref_attr_name)
        if given is not None:
            name = text(each.name)
            attributes[name] = _copy_attribute(given, name, called)
    outputs = tuple(map(called, node.output))
    name = body.prefix + text(node.name or next(filter(None, node.output), node.op_type))
    domain = "" if node.domain in OWN else text(node.domain)
    opset = body.opsets.get(domain, 1)
    return Application(text(node.op_type), domain, name, tuple(map(called, node.input)), outputs, attributes, opset)


def _copy_attribute(attribute: Any, name: str, called: Callable[[str], str]) -> Any:
    """A copy of an attribute, under this name. As a part of the file's message it would keep all of that alive.

    A graph in it calls what is outside as `called` says.
    """
    copied = type(attribute)()
    copied.CopyFrom(attribute)
    copied.name = name
    rename_reads(copied.g, {name: called(name) for name in captured_names(copied.g)})
    return copied


def captured_names(graph: Any) -> set[str]:
    """Names that a subgraph reads from the graph around it."""
    own = {each.name for each in (*graph.input, *graph.initializer)}
    own |= {name for node in graph.node for name in node.output}
    inner = {name for node in graph.node for each in node.attribute for name in captured_names(each.g)}
    read = {name for node in graph.node for name in node.input} | {each.name for each in graph.output}
    return {name for name in (read | inner) - own if name and text(name)}


def rename_reads(graph: Any, names: Mapping[str, str]) -> None:
    """Rename values where a graph, or a subgraph of it, reads them."""
    for node in graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        for each in node.attribute:
            if each.type == each.GRAPH:
                rename_reads(each.g, {name: names[name] for name in captured_names(each.g) if name in names})
    for each in graph.output:
        each.name = names.get(each.name, each.name)


def _enter_function(function: Any, call: Application) -> _Body:
    opsets = {("" if each.domain in OWN else each.domain): each.version for each in function.opset_import}
    if len(call.inputs) > len(function.input) or len(call.outputs) > len(function.output):
        raise ImportModelError(f"{call.label} has more inputs or outputs than its function.")
    inputs = (*call.inputs, *[""] * (len(function.input) - len(call.inputs)))
    names = {own: outer for own, outer in zip(function.output, call.outputs) if outer}
    names |= dict(zip(function.input, inputs))  # an input that is left out is left out inside
    defaults = {each.name: each for each in function.attribute_proto}
    return _Body(iter(function.node), names, f"{call.name}/", defaults | call.attributes, opsets)


def sort_steps(steps: Sequence[Application], known: set[str], wanted: Sequence[str]) -> list[Application]:
    """Sort steps topologically. Raises ImportModelError for a cycle, or for a value that has no source."""
    makers: dict[str, int] = {}
    for at, step in enumerate(steps):
        for each in filter(None, step.outputs):
            if each in makers or each in known:
                raise ImportModelError(
                    f"{step.label} gives {each!r}, which is given already. Each value has one source."
                )
            makers[each] = at
    for step in steps:
        for each in filter(None, step.reads):
            if each not in makers and each not in known:
                raise ImportModelError(f"{step.label} needs {each!r}, which nothing gives.")
    for each in wanted:
        if each not in makers and each not in known:
            raise ImportModelError(f"Output {each!r} is given by nothing.")
    return _toposort(steps, makers)


def find_needed_steps(
    steps: Sequence[Application], given: set[str], wanted: Iterable[str]
) -> tuple[list[Application], set[str]]:
    """Return the steps needed to compute the wanted values from the given ones, and all names that they read."""
    makers = {each: at for at, step in enumerate(steps) for each in step.outputs}
    found: set[int] = set()
    seen = set(wanted)
    waiting = [*seen]
    while waiting:
        name = waiting.pop()
        at = None if name in given or not name else makers.get(name)
        if at is not None and at not in found:
            found.add(at)
            waiting += {*steps[at].reads} - seen
            seen.update(steps[at].reads)
    cut = [step._replace(outputs=tuple("" if each in given else each for each in step.outputs)) for step in steps]
    return [step for at, step in enumerate(cut) if at in found], seen


def _toposort(steps: Sequence[Application], makers: Mapping[str, int]) -> list[Application]:
    before = [{makers[each] for each in step.reads if each in makers} for step in steps]
    if all(maker < at for at, some in enumerate(before) for maker in some):
        return list(steps)  # as it was written
    try:
        return [steps[at] for at in TopologicalSorter(dict(enumerate(before))).static_order()]
    except CycleError as error:
        circle = ", ".join(steps[at].label for at in sorted({*error.args[1]})[:5])
        raise ImportModelError(f"These nodes wait for each other in a circle: {circle}.") from None


def check_known(steps: Iterable[Application], supported: Any) -> None:
    """Raise UnknownOperatorError, which names all unsupported operators, if there are any."""
    missing: dict[str, str] = {}
    for step in steps:
        why = supported(step)
        if why:
            missing.setdefault(step.qualified_name, why)
    if missing:
        said = ", ".join(f"{op} ({why})" if why != "unknown" else op for op, why in sorted(missing.items()))
        raise UnknownOperatorError(f"There is nothing here for these operators of ONNX: {said}.")
