"""Parse and check a frozen TensorFlow graph: its inputs, constants, steps and outputs. No nodes are built yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorboard.compat.proto import graph_pb2

from ...core.did_you_mean import suggest
from ...core.files import path_of
from ...errors import ImportAttributeError, ImportModelError, ShapeError
from ...tensor.base import checked_shape
from ..infer_trainable import describe_use, find_trainable
from ..network import Port, check_names, check_parameter_names
from .building import mapping_of
from .import_rules import COUNT_ATTRIBUTES, MOST_PARTS  # importing it registers the import rules
from .steps import PASSED, GraphStep, collect_steps, node_of, sort_needed, value_name
from .values import Type, dtype, tensor

SILENT = ("Const", "NoOp", "Assert", "Placeholder", "PlaceholderWithDefault")  # never outputs by default
PASSING = ("Cast", "Snapshot", PASSED)  # treated as Identity when weights are traced: our tensors have one type
TEXTS = (".pbtxt", ".txt", ".prototxt")
FREEZE = (
    "A SavedModel, or a checkpoint, is frozen first: TensorFlow's convert_variables_to_constants_v2 gives a GraphDef, "
    "whose SerializeToString() is the file."
)


class TensorFlowContent(NamedTuple):
    """The parsed content of a file."""

    slots: list[Port]  # the inputs (Placeholders)
    arrays: dict[str, Any]  # the Consts, by name
    learned: Collection[str]  # names of the trainable Consts
    steps: list[GraphStep]  # in topological order
    outputs: dict[str, tuple[str, int]]  # by the name as written: the node, and the index among its results


def read(
    source: Any, outputs: Any = None, shapes: Any = None, parameters: Any = None, inputs: Any = None
) -> TensorFlowContent:
    """Parse a path, the bytes of a file, or a GraphDef. Raises ImportModelError."""
    graph = graph_of(source)
    steps = collect_steps(graph)
    given = [] if inputs is None else check_names(inputs, "inputs are the names of nodes, such as 'dense/Relu'")
    for input_name in given:
        if input_name not in steps:
            raise ImportModelError(f"There is no node {input_name!r} in this graph.{suggest(input_name, steps)}")
        kind = steps[input_name].attributes.get("dtype", steps[input_name].attributes.get("T", Type(1)))
        steps[input_name] = GraphStep(input_name, "Placeholder", (), {"dtype": kind})
    wanted = _resolve_outputs(steps, [node.name for node in graph.node], outputs)
    order = sort_needed(steps, list(dict.fromkeys(name for name, _ in wanted.values())))
    shape_by_name = _shapes(steps, shapes)
    slots = [_make_port(step, shape_by_name.get(step.name)) for step in order if step.op == "Placeholder"]
    arrays = {step.name: _array(step) for step in order if step.op == "Const"}
    if parameters is None:
        learned: Collection[str] = _find_trainable_consts(order, arrays, wanted)
    else:
        learned = check_parameter_names(parameters, arrays, "Const")
    order = [step._replace(attributes={}) if step.op == "Const" else step for step in order]  # frees its bytes
    return TensorFlowContent(slots, arrays, learned, order, wanted)


def graph_of(source: Any) -> Any:
    """Return the GraphDef in a path, in bytes, or in a GraphDef of any package. Raises ImportModelError."""
    if hasattr(source, "SerializeToString"):
        return _parse(source.SerializeToString(), "What was given", False)
    if isinstance(source, bytes):
        return _parse(source, "What was given", False)
    path = path_of(source, ImportModelError)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise ImportModelError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from None
    return _parse(data, str(path), path.suffix.lower() in TEXTS)


def _parse(data: bytes, what: str, is_text: bool) -> Any:
    graph = graph_pb2.GraphDef()
    try:
        if is_text:
            text_format.Parse(data.decode(), graph)
        else:
            graph.ParseFromString(data)
    except (DecodeError, text_format.ParseError, ValueError, RecursionError) as error:
        detail = f" in text: {' '.join(str(error).split())[:120]}" if is_text else ", or not all of one"
        raise ImportModelError(f"{what} is no GraphDef{detail}. {FREEZE}") from None
    if not graph.node:
        raise ImportModelError(f"{what} holds no nodes. {FREEZE}")
    return graph


def _resolve_outputs(steps: Mapping[str, GraphStep], top: Sequence[str], outputs: Any) -> dict[str, tuple[str, int]]:
    """Resolve each output, as it was asked for, to a node and an index among its results."""
    if outputs is None:
        read = {node_of(value) for step in steps.values() for value in step.inputs}
        sinks = [name for name in top if name not in read and steps[name].op not in SILENT]
        if not sinks:
            raise ImportModelError("The graph has no node that no other takes. Say what is asked for: outputs='y'.")
        places = [(name, index) for name in sinks for index in range(_result_count(steps[name]))]
        return {value_name(name, index): (name, index) for name, index in places}
    wanted = {}
    for written in check_names(outputs, "outputs are the names of nodes, such as 'dense/Softmax'"):
        name, _, index_text = written.partition(":")
        if name not in steps or not (index_text or "0").isdecimal():
            raise ImportModelError(f"There is no node {written!r} in this graph.{suggest(name, steps)}")
        wanted[written] = (name, int(index_text or 0))
    if not wanted:
        raise ImportModelError("outputs names nothing. Leave it out for all nodes that no other takes.")
    return wanted


def _result_count(step: GraphStep) -> int:
    """Number of results of a step."""
    if step.op in (PASSED, "IdentityN", "ShapeN"):
        return len(step.inputs)
    if step.op == "TopKV2":
        return 2
    count = step.attributes.get(COUNT_ATTRIBUTES.get(step.op, ""), 1)
    return count if type(count) is int and 0 < count <= MOST_PARTS else 1


def _shapes(steps: Mapping[str, GraphStep], shapes: Any) -> dict[str, tuple[int, ...]]:
    """Check the argument `shapes`; return it as shapes by Placeholder. Raises ImportModelError."""
    if shapes is not None and not isinstance(shapes, Mapping):
        raise ImportModelError(f"shapes are given by name, {{'x': (1, 28, 28, 1)}}, not as {shapes!r:.60}.")
    for placeholder in shapes or ():
        if placeholder not in steps or steps[placeholder].op != "Placeholder":
            hint = suggest(str(placeholder), steps)
            raise ImportModelError(f"There is no Placeholder {placeholder!r} in this graph.{hint}")
    return {name: checked_shape(shape) for name, shape in (shapes or {}).items()}


def _make_port(step: GraphStep, shape: Sequence[int] | None) -> Port:
    """Describe a Placeholder as a Port; extents that the file leaves open are None."""
    kind = step.attributes.get("dtype", Type(1))
    dtype(kind, step.label)
    stated = step.attributes.get("shape")
    if stated is not None and not isinstance(stated, list):
        raise ImportAttributeError(step.label, "shape", stated, "Due is a shape.")
    if shape is not None and stated is not None:
        if len(shape) != len(stated) or any(due not in (-1, extent) for due, extent in zip(stated, shape)):
            raise ImportModelError(f"{step.label} has the shape {stated} in the file; shapes says {tuple(shape)}.")
    extents = shape if shape is not None else stated
    if extents is None or -1 in extents:
        return Port(step.name, kind.number, None if extents is None else tuple(x if x >= 0 else None for x in extents))
    try:
        return Port(step.name, kind.number, checked_shape(extents))
    except ShapeError as error:
        raise ImportModelError(f"{step.label}: {error}") from None


def _array(step: GraphStep) -> Any:
    value = step.attributes.get("value")
    if not hasattr(value, "tensor_shape"):
        raise ImportAttributeError(step.label, "value", value, "It must be there, a tensor.")
    return tensor(value, step.label)


def _find_trainable_consts(
    order: Iterable[GraphStep], arrays: Mapping[str, Any], outputs: Mapping[str, Any]
) -> set[str]:
    """Find the trainable Consts by how they are used."""
    shapes = {name: array.shape for name, array in arrays.items() if array.dtype.kind == "f" and array.ndim}
    order = [step for step in order if step.op != "Const"]
    uses = []
    for step in order:
        row = mapping_of("Identity" if step.op in PASSING else step.op)
        uses.append(describe_use(step.op, row, [*map(node_of, step.inputs)], [step.name], None))
    inputs = (step.name for step in order if step.op == "Placeholder")
    return find_trainable(uses, shapes, inputs, (name for name, _ in outputs.values()))
