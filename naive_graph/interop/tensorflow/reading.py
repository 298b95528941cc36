"""from_tensorflow: a frozen graph of TensorFlow as tensor nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

# First: it says which extra to install.
from .files import FREEZE, graph_of

# isort: split
from ...errors import ImportModelError, UnknownOperatorError
from ...graph.handles import CURRENT
from ...tensor.base import TensorNode
from ...tensor.operators import every  # noqa: F401 - all rows
from ..network import Network, listed
from . import special  # noqa: F401 - it enters what is no row
from .building import SPECIAL, Builder, Constant, mapping_of
from .steps import Step, ordered, steps_of

VARIABLES = ("VarHandleOp", "ReadVariableOp", "Variable", "VariableV2", "RestoreV2")
SILENT = ("Const", "NoOp", "Assert", "Placeholder", "PlaceholderWithDefault")  # that nothing reads, and are no result


def from_tensorflow(
    source: Any,
    *,
    outputs: str | Sequence[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    parameters: Iterable[str] | None = None,
) -> Network:
    """Read a frozen graph: a .pb file, a .pbtxt in text, bytes, or a GraphDef.

    outputs: which nodes are asked for, as `dense/Softmax` or `split:1`; without
    it, those that no other node takes. What they do not need is not looked at.
    shapes: of Placeholders whose shape the file leaves open; an open first
    extent, the batch, is 1. parameters: the names of the Consts that are
    learned; without it, those of floats that have an axis, but for the mean and
    variance of a batch normalisation.

    Nodes keep their names, and stand in the scopes that these name. Raises
    ImportModelError, ImportAttributeError, or UnknownOperatorError, which names
    all operators that are missing.
    """
    graph = graph_of(source)
    steps = steps_of(graph)
    wanted = _wanted(steps, [node.name for node in graph.node], outputs)
    order = ordered(steps, list(dict.fromkeys(name for name, _ in wanted.values())))
    _check_known(order)
    builder = Builder(_learning(steps, parameters), _shapes(steps, shapes))
    outer = CURRENT.tables.scope_now
    try:
        for step in order:
            builder.take(step)
        results = {written: _result(builder, step) for written, step in wanted.items()}
        nodes = {step.name: _nodes(builder, builder.results[step.name]) for step in order}
    finally:
        CURRENT.tables.enter(outer)
    return Network(
        builder.inputs, builder.parameters, results, {name: each for name, each in nodes.items() if each is not None}
    )


def _wanted(steps: Mapping[str, Step], top: Sequence[str], outputs: Any) -> dict[str, tuple[str, int]]:
    """The node and the place among its results, for each output as it is written."""
    if outputs is None:
        read = {name for step in steps.values() for name, _ in step.inputs}
        found = [name for name in top if name not in read and steps[name].op not in SILENT]
        if not found:
            raise ImportModelError("The graph has no node that no other takes. Say what is asked for: outputs='y'.")
        return {name: (name, 0) for name in found}
    names = [outputs] if isinstance(outputs, str) else outputs
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(each, str) for each in names):
        raise ImportModelError(f"outputs are the names of nodes, such as 'dense/Softmax', not {outputs!r:.60}.")
    wanted = {}
    for written in names:
        name, _, place = written.partition(":")
        if name not in steps or not (place or "0").isdecimal():
            raise ImportModelError(f"There is no node {written!r} in this graph.{_near(name, steps)}")
        wanted[written] = (name, int(place or 0))
    return wanted


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known)[:10_000], 1)
    return f" Did you mean {near[0]!r}?" if near else ""


def _check_known(order: Iterable[Step]) -> None:
    """All operators are here. Raises UnknownOperatorError, which names those that are not."""
    missing: dict[str, list[str]] = {}
    for step in order:
        if step.op not in SPECIAL and mapping_of(step.op) is None:
            missing.setdefault(step.op, []).append(step.name)
    if missing:
        said = "; ".join(f"{op} ({listed(names[:2])}{' ...' * (len(names) > 2)})" for op, names in missing.items())
        hint = f" Variables hold no numbers in a graph. {FREEZE}" if missing.keys() & set(VARIABLES) else ""
        raise UnknownOperatorError(f"There is nothing here for these operators of TensorFlow: {said}.{hint}")


def _learning(steps: Mapping[str, Step], parameters: Any) -> Callable[[str, Any], bool]:
    """Which Consts are learned, as a function of name and array."""
    if parameters is None:
        return lambda name, array: array.dtype.kind == "f" and array.ndim > 0
    names = {parameters} if isinstance(parameters, str) else parameters
    try:
        chosen = set(names)
    except TypeError:
        raise ImportModelError(f"parameters are the names of Consts, not {parameters!r:.60}.") from None
    for each in chosen:
        if each not in steps or steps[each].op != "Const":
            raise ImportModelError(f"There is no Const {each!r} in this graph.{_near(str(each), steps)}")
    return lambda name, array: name in chosen


def _shapes(steps: Mapping[str, Step], shapes: Any) -> dict[str, Any]:
    """The shapes that were given, by Placeholder."""
    if shapes is not None and not isinstance(shapes, Mapping):
        raise ImportModelError(f"shapes are given by name, {{'x': (1, 28, 28, 1)}}, not as {shapes!r:.60}.")
    for each in shapes or ():
        if each not in steps or not steps[each].op.startswith("Placeholder"):
            raise ImportModelError(f"There is no Placeholder {each!r} in this graph.{_near(str(each), steps)}")
    return dict(shapes or {})


def _result(builder: Builder, wanted: tuple[str, int]) -> TensorNode:
    name, place = wanted
    found = builder.results[name]
    if place >= len(found):
        raise ImportModelError(f"Node {name!r} gives {len(found)} results here; there is no {name}:{place}.")
    return builder.node(found[place])


def _nodes(builder: Builder, results: Sequence[Any]) -> Any:
    """What a step is known by: its node, or several; None where it is a constant that no tensor reads."""
    nodes = [each.leaf if isinstance(each, Constant) else each for each in results]
    if None in nodes or not nodes:
        return None
    return nodes[0] if len(nodes) == 1 else tuple(nodes)
