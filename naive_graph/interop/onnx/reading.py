"""From a file to what it says: inputs, weights, steps and outputs, checked and nothing built."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import onnx
from onnx import defs

from ...core.files import path_of
from ...errors import ImportModelError
from ..network import Slot
from .arrays import array_of, type_name
from .inlining import Step, inlined, ordered, text

OLDEST = 7  # opset
DEFAULT = ("", "ai.onnx")  # both name ONNX's own operators


class Content(NamedTuple):
    """What a file says."""

    name: str
    inputs: list[Slot]
    weights: dict[str, Any]  # arrays
    steps: list[Step]
    outputs: list[Slot]
    said: dict[str, str]  # what else was written in it


def read(source: Any) -> Content:
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
        raise ImportModelError("The file holds no graph with outputs. Is it a model, and whole?")
    known = {*weights, *(each.name for each in inputs)}
    steps, said = ordered(steps, known, [each.name for each in outputs]), model.metadata_props
    return Content(text(graph.name), inputs, weights, steps, outputs, {each.key: each.value for each in said})


def _parsed(source: Any) -> tuple[Any, Path | None]:
    if isinstance(source, onnx.ModelProto):
        return source, None
    folder = None
    if not isinstance(source, (bytes, bytearray, memoryview)):
        path = path_of(source, ImportModelError)
        folder = path.parent
        try:
            source = path.read_bytes()
        except OSError as error:
            raise ImportModelError(f"Cannot read {os.fspath(path)!r}: {error.strerror}.") from None
    model = onnx.ModelProto()
    try:
        model.ParseFromString(bytes(source) if isinstance(source, memoryview) else source)
    except Exception as error:  # protobuf's own, which lives elsewhere in each version
        raise ImportModelError(f"This is no ONNX file, or not all of one: {error}.") from None
    return model, folder


def opsets_of(imports: Any) -> dict[str, int]:
    """The opset of each domain; ONNX's own by the name ''. Raises ImportModelError."""
    found = {"" if each.domain in DEFAULT else each.domain: each.version for each in imports}
    own = found.get("", OLDEST)
    if not OLDEST <= own <= defs.onnx_opset_version():
        raise ImportModelError(f"The file is of opset {own}; {OLDEST} to {defs.onnx_opset_version()} are read.")
    return found


def _slot(value: Any) -> Slot:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise ImportModelError(
            f"{value.name!r} is a {(kind or 'value without a type').removesuffix('_type')}, no tensor."
        )
    tensor = value.type.tensor_type
    type_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return Slot(text(value.name), tensor.elem_type, None)
    return Slot(text(value.name), tensor.elem_type, tuple(map(_extent, tensor.shape.dim)))


def _extent(dim: Any) -> int | str | None:
    which = dim.WhichOneof("value")
    if which == "dim_param":
        return text(dim.dim_param)
    return dim.dim_value if which and dim.dim_value >= 0 else None  # -1 is written for what is open
