"""From a file to what it says: inputs, weights, steps and outputs, checked and nothing built."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import onnx
from onnx import defs

from ...core.files import path_of
from ...errors import ImportModelError
from ..network import Port
from .arrays import array_of, type_name
from .inlining import Application, inlined, ordered, text

OLDEST = 7  # opset
DEFAULT = ("", "ai.onnx")  # both name ONNX's own operators
SEEMS = {  # first bytes -> what has them
    b"PK": "a zip archive, such as PyTorch's .pt and Keras' .keras", b"\x89HDF": "an HDF5 file, such as Keras' .h5",
    b"version https://git-lfs": "what git-lfs puts in a file's place (git lfs pull brings the file)",
}  # fmt: skip


class OnnxContent(NamedTuple):
    """What a file says."""

    name: str
    inputs: list[Port]
    weights: dict[str, Any]  # arrays
    steps: list[Application]
    outputs: list[Port]
    said: dict[str, str]  # what else was written in it


def read(source: Any) -> OnnxContent:
    """What a path, the bytes of a file, or a ModelProto says. Raises ImportModelError."""
    model, folder = _parsed(source)
    graph = model.graph
    opsets = opsets_of(model.opset_import)
    if model.ir_version > onnx.IR_VERSION:
        raise ImportModelError(
            f"The file's IR version {model.ir_version} is newer than {onnx.IR_VERSION}, which is read."
        )
    if graph.sparse_initializer:
        raise ImportModelError(f"Weight {graph.sparse_initializer[0].values.name!r} is sparse. Store it in full.")
    weights = {text(each.name): array_of(each, folder) for each in graph.initializer}
    inputs = [_slot(each) for each in graph.input if each.name not in weights]
    steps = inlined(graph.node, model.functions, opsets)
    outputs = [_slot(each) for each in graph.output]
    if not outputs:
        raise ImportModelError(f"{_who(source)} holds no graph with outputs. Is it a model, and whole?")
    known = {*weights, *(each.name for each in inputs)}
    steps, said = ordered(steps, known, [each.name for each in outputs]), model.metadata_props
    return OnnxContent(text(graph.name), inputs, weights, steps, outputs, {each.key: each.value for each in said})


def _parsed(source: Any) -> tuple[Any, Path | None]:
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
            f"{who} is no ONNX file, or not all of one: it seems to be {_seems(bytes(source[:200]))}. Give what "
            "torch.onnx.export, tf2onnx or to_onnx wrote."
        )
    return model, folder


def _who(source: Any) -> str:
    """What is read, as a message names it."""
    held = isinstance(source, (onnx.ModelProto, bytes, bytearray, memoryview))
    return "What was given" if held else repr(str(path_of(source, ImportModelError)))


def _seems(begin: bytes) -> str:
    """What is no model and begins so."""
    known = next((what for sign, what in SEEMS.items() if begin.startswith(sign)), "")
    if known or not begin:
        return known or "empty"
    first = (begin.decode(errors="replace").rstrip("\ufffd").strip().splitlines() or [""])[0]  # the end may be cut
    is_text = first and first.isprintable() and "\ufffd" not in first
    return f"a text that begins with {first[:40]!r}" if is_text else "cut off, or of another format"


def opsets_of(imports: Any) -> dict[str, int]:
    """The opset of each domain; ONNX's own by the name ''. Raises ImportModelError."""
    found = {"" if each.domain in DEFAULT else each.domain: each.version for each in imports}
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
