"""Parse and check an ONNX file: its inputs, weights, steps and outputs. Nothing is built yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import onnx
from onnx import AttributeProto, TensorProto, defs

from ...core.files import path_of
from ...core.guesses import near
from ...errors import ImportModelError
from ..infer_trainable import Use, find_trainable, use_of
from ..network import Port, check_names, check_parameter_names
from . import custom_ops, sklearn_models
from .arrays import array_of, type_name
from .import_graph import mapping_of
from .steps import Application, captured_names, find_needed_steps, inline_functions, rename_reads, sort_steps, text

OLDEST = 7  # opset
OLDEST_OF_ML = 13  # where a file says none, since it has no operator of ONNX's own
FLOAT = onnx.TensorProto.FLOAT
DEFAULT = ("", "ai.onnx")  # both name ONNX's own operators
PASSING = ("Cast", "CastLike")  # which stand for nothing here, where all numbers are of one type
KIND = "pkg.torch.export.graph_signature.InputSpec.kind"  # by which PyTorch says what a weight was to it
SEEMS = {  # first bytes -> what has them
    b"PK": "a zip archive, such as PyTorch's .pt and Keras' .keras", b"\x89HDF": "an HDF5 file, such as Keras' .h5",
    b"version https://git-lfs": "what git-lfs puts in a file's place (git lfs pull brings the file)",
}  # fmt: skip


class OnnxContent(NamedTuple):
    """The parsed content of a file."""

    name: str
    inputs: list[Port]
    weights: dict[str, Any]  # arrays
    steps: list[Application]
    outputs: list[Port]
    said: dict[str, str]  # what else was written in it
    learned: set[str]  # the weights that are parameters
    types: dict[str, int]  # of weights, in ONNX's numbers


def read(source: Any, inputs: Any = None, outputs: Any = None, parameters: Any = None) -> OnnxContent:
    """Parse a path, the bytes of a file, or a ModelProto. Raises ImportModelError.

    inputs, outputs: names of values in it that are given, and asked for, in place
    of the file's own. parameters: names of the weights that are learned.
    """
    model, folder = _parse_model(source)
    graph = model.graph
    opsets = opsets_of(model.opset_import)
    if model.ir_version > onnx.IR_VERSION:
        raise ImportModelError(
            f"The file's IR version {model.ir_version} is newer than {onnx.IR_VERSION}, which is read."
        )
    if graph.sparse_initializer:
        raise ImportModelError(f"Weight {graph.sparse_initializer[0].values.name!r} is sparse. Store it in full.")
    nodes, held = sklearn_models.expand_operators(graph.node)
    weights = {text(each.name): array_of(each, folder) for each in graph.initializer} | held
    fed = [_slot(each) for each in graph.input if each.name not in weights]
    steps = inline_functions(nodes, model.functions, opsets)
    shares = {name for node in graph.node if node.op_type == "ZipMap" for name in node.output}
    asked = [Port(each.name, FLOAT, None) if each.name in shares else _slot(each) for each in graph.output]
    if (
        outputs is None
        and sklearn_models.DOMAIN in opsets
        and any(each.type not in sklearn_models.LABELS for each in asked)
    ):
        outputs = [each.name for each in asked if each.type not in sklearn_models.LABELS]
    if not asked:
        raise ImportModelError(f"{_who(source)} holds no graph with outputs. Is it a model, and whole?")
    if inputs is not None or outputs is not None:
        fed, asked, steps = _cut_out(graph, steps, fed, asked, inputs, outputs)
    steps = sort_steps(steps, {*weights, *(each.name for each in fed)}, [each.name for each in asked])
    types = {each.name: each.data_type for each in graph.initializer} | dict.fromkeys(held, FLOAT)
    steps = hoist_weights(steps, weights, types, folder)
    said = {each.key: each.value for each in model.metadata_props}
    content = OnnxContent(text(graph.name), fed, weights, steps, asked, said, set(), types)
    if parameters is not None:
        return content._replace(learned=set(check_parameter_names(parameters, weights, "weight")))
    found = custom_ops.stored_parameters(said)
    return content._replace(learned=_find_learned(content, graph) if found is None else found)


def _cut_out(
    graph: Any, steps: list[Application], fed: list[Port], asked: list[Port], inputs: Any, outputs: Any
) -> tuple[list[Port], list[Port], list[Application]]:
    """Cut the graph to the part between chosen inputs and chosen outputs."""
    stated = {each.name: _slot(each) for each in graph.value_info if each.type.HasField("tensor_type")}
    stated |= {each.name: each for each in (*fed, *asked)}
    made = {name for step in steps for name in step.outputs if name} | {each.name for each in fed}

    def ports(names: Any, own: list[Port], what: str) -> list[Port]:
        wanted = [each.name for each in own] if names is None else check_names(names, f"{what} are the names of values")
        for each in wanted:
            if each not in made:
                raise ImportModelError(f"{what}: there is no value {each!r} in this graph.{near(each, made)}")
        return [stated.get(each, Port(each, FLOAT, None)) for each in wanted]

    given, results = ports(inputs, [], "inputs"), ports(outputs, asked, "outputs")
    steps, read_too = find_needed_steps(steps, {each.name for each in given}, [each.name for each in results])
    return given + [each for each in fed if each.name in read_too and each not in given], results, steps


def _find_learned(content: OnnxContent, graph: Any) -> set[str]:
    """Find the trainable weights: by PyTorch's metadata in the file, or by how they are used."""
    shapes = {name: each.shape for name, each in content.weights.items() if each.dtype.kind == "f" and each.ndim}
    uses = [use for step in content.steps for use in _uses(step)]
    found = find_trainable(
        uses, shapes, (each.name for each in content.inputs), (each.name for each in content.outputs)
    )
    told = {each.name: every.value for part in (graph.initializer, graph.value_info) for each in part
            for every in each.metadata_props if every.key == KIND}  # fmt: skip
    said = {name: told[name] == "PARAMETER" for name in shapes if name in told}
    return {name for name in shapes if said.get(name, name in found)}


def _uses(step: Application) -> Iterator[Use]:
    """Describe how a step, and the steps of its subgraphs, use what they read."""
    inputs, results = ([*filter(None, names)] for names in (step.inputs, step.outputs))
    for name, attribute in step.attributes.items():
        if isinstance(attribute, AttributeProto) and attribute.type == AttributeProto.GRAPH:
            graph, prefix = attribute.g, f"{step.name}/{name}/"
            outer = {each: each for each in captured_names(graph)}
            inner = [prefix + each.name for each in graph.input]
            given = [outer.get(each.name, prefix + each.name) for each in graph.output]
            for mine, theirs in zip(inner[::-1], step.inputs[::-1]):  # a Loop counts first
                yield Use("identity", True, {"x": [theirs]}, [theirs], [mine])
            for each in inline_functions(graph.node, (), {"": step.opset}, outer, prefix):
                yield from _uses(each)
            for mine, theirs in zip(given[::-1], step.outputs[::-1]):  # and says whether to go on
                yield Use("identity", True, {"x": [mine]}, [mine], [theirs])
            inputs = []
    if inputs or not results:
        row = mapping_of("Identity" if step.op in PASSING else step.op, step.opset, step.domain)
        yield use_of(step.op, row, inputs if row is None else step.inputs, results, step.opset)


def _parse_model(source: Any) -> tuple[Any, Path | None]:
    if isinstance(source, onnx.ModelProto):
        return source, None
    folder, who = None, _who(source)
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
        whole = model.HasField("graph")
    except Exception:  # protobuf's own, which lives elsewhere in each version
        whole = False
    if not whole:
        raise ImportModelError(
            f"{who} is no ONNX file, or not all of one: it seems to be {_guess_format(bytes(source[:200]))}. Give what "
            "torch.onnx.export, tf2onnx or to_onnx wrote."
        )
    return model, folder


def _who(source: Any) -> str:
    """Name the source for a message."""
    held = isinstance(source, (onnx.ModelProto, bytes, bytearray, memoryview))
    return "What was given" if held else repr(str(path_of(source, ImportModelError)))


def _guess_format(begin: bytes) -> str:
    """Guess what a file that is no model seems to be, from its first bytes."""
    known = next((what for sign, what in SEEMS.items() if begin.startswith(sign)), "")
    if known or not begin:
        return known or "empty"
    first = (begin.decode(errors="replace").rstrip("\ufffd").strip().splitlines() or [""])[0]  # the end may be cut
    is_text = first and first.isprintable() and "\ufffd" not in first
    return f"a text that begins with {first[:40]!r}" if is_text else "cut off, or of another format"


def opsets_of(imports: Any) -> dict[str, int]:
    """Opset of each domain; ONNX's own domain is ''. Raises ImportModelError."""
    found = {"" if each.domain in DEFAULT else each.domain: each.version for each in imports}
    if sklearn_models.DOMAIN in found:
        found.setdefault("", OLDEST_OF_ML)
    own = found.get("", OLDEST)
    if not OLDEST <= own <= defs.onnx_opset_version():
        raise ImportModelError(f"The file is of opset {own}; {OLDEST} to {defs.onnx_opset_version()} are read.")
    return found


def _slot(value: Any) -> Port:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise ImportModelError(
            f"{value.name!r} is a {(kind or 'value without a type').removesuffix('_type')}, no tensor."
        )
    tensor = value.type.tensor_type
    type_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Port(text(value.name), tensor.elem_type, None)
    return Port(text(value.name), tensor.elem_type, tuple(map(_extent, tensor.shape.dim)))


def _extent(dim: Any) -> int | str | None:
    which = dim.WhichOneof("value")
    if which == "dim_param":
        return text(dim.dim_param)
    return dim.dim_value if which and dim.dim_value >= 0 else None  # -1 is written for what is open


# --- weights in Constant nodes, and in the graph of an If, Loop or Scan ---------


NUMBERS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}


def hoist_weights(
    steps: Sequence[Application], weights: dict[str, Any], types: dict[str, int], folder: Path | None
) -> list[Application]:
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
    stored = {text(each.name): each for each in graph.initializer}
    nodes = []
    for node in graph.node:
        tensor = _constant_floats(node.op_type, node.attribute)
        if tensor is not None:
            stored[text(node.output[0])] = tensor
        else:
            nodes.append(node)
        for each in node.attribute:
            if each.type == AttributeProto.GRAPH:
                _hoist_graph(
                    each.g, f"{prefix}{text(node.name or node.output[0])}/{each.name}/", weights, types, folder
                )
    for name, tensor in stored.items():
        weights[prefix + name], types[prefix + name] = array_of(tensor, folder), tensor.data_type
    del graph.initializer[:]
    rename_reads(graph, {name: prefix + name for name in stored})
    if len(nodes) < len(graph.node):
        kept = type(graph)(node=nodes)
        del graph.node[:]
        graph.node.extend(kept.node)


def _constant_floats(op: str, attributes: Any) -> Any:
    """Tensor of a Constant node that holds floats with axes; None for any other node."""
    if op != "Constant":
        return None
    for each in attributes:
        if each.type == AttributeProto.TENSOR and each.t.data_type in NUMBERS and each.t.dims and 0 not in each.t.dims:
            return each.t
    return None
