"""Parse a GraphDef: from a file, bytes, or another package's message."""

from __future__ import annotations

from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError
from tensorboard.compat.proto import graph_pb2

from ...core.files import path_of
from ...errors import ImportModelError

TEXTS = (".pbtxt", ".txt", ".prototxt")
FREEZE = (
    "A SavedModel, or a checkpoint, is frozen first: TensorFlow's convert_variables_to_constants_v2 gives a GraphDef, "
    "whose SerializeToString() is the file."
)


def graph_of(source: Any) -> Any:
    """The GraphDef that is meant: a path, bytes, or a GraphDef of any package. Raises ImportModelError."""
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
        said = f" in text: {' '.join(str(error).split())[:120]}" if is_text else ", or not all of one"
        raise ImportModelError(f"{what} is no GraphDef{said}. {FREEZE}") from None
    if not graph.node:
        raise ImportModelError(f"{what} holds no nodes. {FREEZE}")
    return graph
