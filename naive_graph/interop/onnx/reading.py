"""Parse and check an ONNX file: its inputs, weights, steps and outputs. Nothing is built yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import onnx
from onnx import AttributeProto, TensorProto, defs

from ...core.did_you_mean import suggest
from ...core.files import path_of
from ...errors import ImportModelError
from ..infer_trainable import Use, describe_use, find_trainable
from ..network import Port, check_names, check_parameter_names
from . import custom_ops, sklearn_models
from .arrays import array_of, type_name
from .import_graph import mapping_of
from .steps import OnnxStep, checked_text, cut_steps, expand_subgraph, inline_functions, rename_reads, sort_steps

OLDEST = 7  # opset
OLDEST_OF_ML = 13  # for files that declare none, as they have no standard operators
FLOAT = onnx.TensorProto.FLOAT
DEFAULT = ("", "ai.onnx")  # both name ONNX's own operators
PASSING = ("Cast", "CastLike")  # treated as Identity when weights are traced: our tensors have one type
KIND = "pkg.torch.export.graph_signature.InputSpec.kind"  # PyTorch's metadata key: parameter or buffer
SEEMS = {  # first bytes -> the format that they indicate
    b"PK": "a zip archive, such as PyTorch's .pt and Keras' .keras", b"\x89HDF": "an HDF5 file, such as Keras' .h5",
    b"version https://git-lfs": "what git-lfs puts in a file's place (git lfs pull brings the file)",
}  # fmt: skip


class OnnxContent(NamedTuple):
    """The parsed content of a file."""

    name: str
    inputs: list[Port]
    weights: dict[str, Any]  # arrays
    steps: list[OnnxStep]
    outputs: list[Port]
    said: dict[str, str]  # metadata
    learned: set[str]  # the weights that are parameters
    types: dict[str, int]  # of weights and inputs, in ONNX's numbers


def read(source: Any, inputs: Any = None, outputs: Any = None, parameters: Any = None) -> OnnxContent:
    """Parse a path, the bytes of a file, or a ModelProto. Raises ImportModelError.

    inputs, outputs: names of values in the file that become the inputs and outputs, in place of its own. parameters:
    names of the trainable weights; None: find them.
    """
    model, folder = _parse_model(source)
    graph = model.graph
    opsets = opsets_of(model.opset_import)
    if model.ir_version > onnx.IR_VERSION:
        newer = f"The file's IR version {model.ir_version} is newer than {onnx.IR_VERSION}"
        raise ImportModelError(f"{newer}, which is read.")
    if graph.sparse_initializer:
        raise ImportModelError(f"Weight {graph.sparse_initializer[0].values.name!r} is sparse. Store it in full.")
    nodes, sklearn_weights = sklearn_models.expand_operators(graph.node)
    weights = {checked_text(tensor.name): array_of(tensor, folder) for tensor in graph.initializer} | sklearn_weights
    input_ports = [_make_port(info) for info in graph.input if info.name not in weights]
    steps = inline_functions(nodes, model.functions, opsets)
    zip_maps = [node for node in graph.node if node.op_type == "ZipMap"]
    probability_outputs = {*chain.from_iterable(node.output for node in zip_maps)}
    output_ports = [Port(info.name, FLOAT, None) if info.name in probability_outputs else _make_port(info)
                    for info in graph.output]  # fmt: skip
    if outputs is None and sklearn_models.DOMAIN in opsets:
        outputs = [port.name for port in output_ports if port.type not in sklearn_models.LABELS] or None
    if not output_ports:
        raise ImportModelError(f"{_describe_source(source)} holds no graph with outputs. Is it a model, and whole?")
    if inputs is not None or outputs is not None:
        input_ports, output_ports, steps = _extract_subgraph(graph, steps, input_ports, output_ports, inputs, outputs)
    steps = sort_steps(steps, {*weights, *(port.name for port in input_ports)}, [port.name for port in output_ports])
    types = {tensor.name: tensor.data_type for tensor in graph.initializer} | dict.fromkeys(sklearn_weights, FLOAT)
    types |= {port.name: port.type for port in input_ports}
    steps = hoist_weights(steps, weights, types, folder)
    metadata = {metadata_prop.key: metadata_prop.value for metadata_prop in model.metadata_props}
    content = OnnxContent(checked_text(graph.name), input_ports, weights, steps, output_ports, metadata, set(), types)
    if parameters is not None:
        return content._replace(learned=set(check_parameter_names(parameters, weights, "weight")))
    learned = custom_ops.stored_parameters(metadata)
    return content._replace(learned=_find_trainable_weights(content, graph) if learned is None else learned)


def _extract_subgraph(
    graph: Any, steps: list[OnnxStep], fed: list[Port], output_ports: list[Port], inputs: Any, outputs: Any
) -> tuple[list[Port], list[Port], list[OnnxStep]]:
    """Cut the graph to the part between chosen inputs and chosen outputs."""
    stated = {info.name: _make_port(info) for info in graph.value_info if info.type.HasField("tensor_type")}
    stated |= {port.name: port for port in (*fed, *output_ports)}
    made = {*chain.from_iterable(step.outputs for step in steps), *(port.name for port in fed)} - {""}

    def ports(names: Any, own: list[Port], what: str) -> list[Port]:
        wanted = [port.name for port in own] if names is None else check_names(names, f"{what} are the names of values")
        for value_name in wanted:
            if value_name not in made:
                hint = suggest(value_name, made)
                raise ImportModelError(f"{what}: there is no value {value_name!r} in this graph.{hint}")
        return [stated.get(each, Port(each, FLOAT, None)) for each in wanted]

    chosen_inputs, results = ports(inputs, [], "inputs"), ports(outputs, output_ports, "outputs")
    wanted = [result.name for result in results]
    if not wanted:
        raise ImportModelError("outputs names no value. Name one, outputs='y', or leave it out for the file's own.")
    steps, read_too = cut_steps(steps, {port.name for port in chosen_inputs}, wanted)
    return chosen_inputs + [port for port in fed if port.name in read_too and port not in chosen_inputs], results, steps


def _find_trainable_weights(content: OnnxContent, graph: Any) -> set[str]:
    """Find the trainable weights: by PyTorch's metadata in the file, or by how they are used."""
    shapes = {name: array.shape for name, array in content.weights.items() if array.dtype.kind == "f" and array.ndim}
    uses = [use for step in content.steps for use in _uses(step)]
    inputs, outputs = ([port.name for port in ports] for ports in (content.inputs, content.outputs))
    trainable = find_trainable(uses, shapes, inputs, outputs)
    declared = {}
    for info in chain(graph.initializer, graph.value_info):
        for entry in info.metadata_props:
            if entry.key == KIND:
                declared[info.name] = entry.value == "PARAMETER"
    return {name for name in shapes if declared.get(name, name in trainable)}


def _uses(step: OnnxStep) -> Iterator[Use]:
    """Describe how a step, and the steps of its subgraphs, use what they read."""
    inputs, results = ([*filter(None, names)] for names in (step.inputs, step.outputs))
    for name, attribute in step.attributes.items():
        if isinstance(attribute, AttributeProto) and attribute.type == AttributeProto.GRAPH:
            steps, inner, inner_outputs = expand_subgraph(step, attribute.g, f"{step.name}/{name}/")
            for mine, theirs in zip(inner[::-1], step.inputs[::-1]):  # a Loop's body has the counter first
                yield Use("identity", True, {"x": [theirs]}, [theirs], [mine])
            for inner_step in steps:
                yield from _uses(inner_step)
            for mine, theirs in zip(inner_outputs[::-1], step.outputs[::-1]):  # condition first
                yield Use("identity", True, {"x": [mine]}, [mine], [theirs])
            inputs = []
    if inputs or not results:
        row = mapping_of("Identity" if step.op in PASSING else step.op, step.opset, step.domain)
        yield describe_use(step.op, row, inputs if row is None else step.inputs, results, step.opset)


def _parse_model(source: Any) -> tuple[Any, Path | None]:
    if isinstance(source, onnx.ModelProto):
        return source, None
    folder, who = None, _describe_source(source)
    if not isinstance(source, (bytes, bytearray, memoryview)):
        path = path_of(source, ImportModelError)
        folder = path.parent
        try:
            source = path.read_bytes()
        except OSError as error:
            raise ImportModelError(f"Cannot read {who}: {error.strerror}. Name an .onnx file.") from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(bytes(source) if isinstance(source, memoryview) else source)
        is_complete = model.HasField("graph")
    except Exception:  # protobuf's DecodeError, whose module depends on the version
        is_complete = False
    if not is_complete:
        raise ImportModelError(
            f"{who} is no ONNX file, or not all of one: it seems to be {_guess_format(bytes(source[:200]))}. Give what "
            "torch.onnx.export, tf2onnx or to_onnx wrote."
        )
    return model, folder


def _describe_source(source: Any) -> str:
    """Name the source for a message."""
    held = isinstance(source, (onnx.ModelProto, bytes, bytearray, memoryview))
    return "What was given" if held else repr(str(path_of(source, ImportModelError)))


def _guess_format(begin: bytes) -> str:
    """Guess the format of a file that is no model from its first bytes."""
    format_name = next((what for sign, what in SEEMS.items() if begin.startswith(sign)), "")
    if format_name or not begin:
        return format_name or "empty"
    first = (begin.decode(errors="replace").rstrip("\ufffd").strip().splitlines() or [""])[0]  # the end may be cut
    is_text = first and first.isprintable() and "\ufffd" not in first
    return f"a text that begins with {first[:40]!r}" if is_text else "cut off, or of another format"


def opsets_of(imports: Any) -> dict[str, int]:
    """Opset of each domain; ONNX's own domain is ''. Raises ImportModelError."""
    opsets = {"" if opset_id.domain in DEFAULT else opset_id.domain: opset_id.version for opset_id in imports}
    if sklearn_models.DOMAIN in opsets:
        opsets.setdefault("", OLDEST_OF_ML)
    opset = opsets.get("", OLDEST)
    if not OLDEST <= opset <= defs.onnx_opset_version():
        raise ImportModelError(f"The file is of opset {opset}; {OLDEST} to {defs.onnx_opset_version()} are read.")
    return opsets


def _make_port(value: Any) -> Port:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        what = (kind or "value without a type").removesuffix("_type")
        raise ImportModelError(f"{value.name!r} is a {what}, no tensor.")
    tensor = value.type.tensor_type
    type_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Port(checked_text(value.name), tensor.elem_type, None)
    return Port(checked_text(value.name), tensor.elem_type, tuple(map(_extent, tensor.shape.dim)))


def _extent(dim: Any) -> int | str | None:
    which = dim.WhichOneof("value")
    if which == "dim_param":
        return checked_text(dim.dim_param)
    return dim.dim_value if which and dim.dim_value >= 0 else None  # some files write -1 for an open size


# --- weights in Constant nodes, and in the graph of an If, Loop or Scan ---------


NUMBERS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}


def hoist_weights(
    steps: Sequence[OnnxStep], weights: dict[str, Any], types: dict[str, int], folder: Path | None
) -> list[OnnxStep]:
    """Move float Constants with axes out of the steps into weights and types; return the other steps.

    Those in a graph inside a step are entered as "step/then_branch/name".
    """
    rest = []
    for step in steps:
        tensor = _constant_floats(step.op, step.attributes.values())
        if tensor is not None:
            weights[step.outputs[0]], types[step.outputs[0]] = array_of(tensor, folder), tensor.data_type
            continue
        for name, attribute in step.attributes.items():
            if isinstance(attribute, AttributeProto) and attribute.type == AttributeProto.GRAPH:
                _hoist_graph(attribute.g, f"{step.name}/{name}/", weights, types, folder)
        rest.append(step)
    return rest


def _hoist_graph(graph: Any, prefix: str, weights: dict[str, Any], types: dict[str, int], folder: Path | None) -> None:
    """Move the weights of a subgraph into weights and types, under names that it reads from then on."""
    stored = {checked_text(initializer.name): initializer for initializer in graph.initializer}
    constants = []
    for position, node in enumerate(graph.node):
        tensor = _constant_floats(node.op_type, node.attribute)
        if tensor is not None:
            stored[checked_text(node.output[0])] = tensor
            constants.append(position)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                inner_prefix = f"{prefix}{checked_text(node.name or node.output[0])}/{attribute.name}/"
                _hoist_graph(attribute.g, inner_prefix, weights, types, folder)
    for name, tensor in stored.items():
        weights[prefix + name], types[prefix + name] = array_of(tensor, folder), tensor.data_type
    for position in reversed(constants):  # from the end, so that earlier positions stay
        del graph.node[position]
    del graph.initializer[:]
    rename_reads(graph, {name: prefix + name for name in stored})


def _constant_floats(op: str, attributes: Any) -> Any:
    """Tensor of a Constant node that holds floats with axes; None for any other node."""
    if op != "Constant":
        return None
    for attribute in attributes:
        tensor = attribute.t
        if attribute.type == AttributeProto.TENSOR and tensor.data_type in NUMBERS and tensor.dims and all(tensor.dims):
            return tensor
    return None
