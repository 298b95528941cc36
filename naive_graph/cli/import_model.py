"""`naive-graph import FILE`: summarise and draw a network from an ONNX file or a frozen TensorFlow graph."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.optional_deps import door
from ..errors import CommandError
from ..views.drawing.picture import FORMS, checked_path
from .draw import parse_pairs, report_file

FROZEN = (".pb", ".pbtxt")  # as TensorFlow's graphs are called


def import_model(
    file: Path, size: Sequence[str], known: Sequence[str], output: Path, opened: bool, **wishes: Any
) -> None:
    """Print a summary of a model file, and draw it.

    Raises ImportModelError, after printing, for what is not supported.
    """
    from ..interop.network import named_extents
    from ..views.drawing.draw import draw

    checked_path(output, "A picture", FORMS, CommandError)
    # A known value is a number, true, false, or a list of them.
    sizes, values = parse_sizes(size), parse_pairs(known, json.loads, _make_known_value_error)
    is_frozen = file.suffix.lower() in FROZEN
    if is_frozen and values:
        raise CommandError("--known is for the inputs of ONNX files. In a graph of TensorFlow, let it be a Const.")
    network = _read_tensorflow(file, sizes) if is_frozen else _read_onnx(file, sizes, values)
    print()
    unset_sizes = [name for name in named_extents(slot.extents for slot in network.slots) if name not in sizes]
    if unset_sizes:
        are = "is" if len(unset_sizes) == 1 else "are"
        print(f"note: {', '.join(unset_sizes)} {are} taken as 1. Say --size {unset_sizes[0]}=4")
    wishes["fold"] = True if wishes.get("fold") is None else wishes["fold"]
    picture = draw([*network.with_sizes().outputs.values()], grads=False, **wishes)
    picture.save(output)
    report_file(output, opened)


def _read_onnx(path: Path, sizes: Mapping[str, int], values: Mapping[str, Any]) -> Any:
    with door("ONNX files need", "onnx"):
        from ..interop.onnx.network import make_network, summarize_content
        from ..interop.onnx.reading import read
    content = read(path)
    print(summarize_content(content, path.name), flush=True)
    return make_network(content, sizes, values)


def _read_tensorflow(path: Path, sizes: Mapping[str, int]) -> Any:
    with door("Graphs of TensorFlow need", "tensorboard"):
        from ..interop.tensorflow.network import make_network, summarize_content
        from ..interop.tensorflow.reading import read
    content = read(path)
    print(summarize_content(content, path.name), flush=True)
    return make_network(content, path.stem, sizes)


def parse_sizes(words: Sequence[str]) -> dict[str, int]:
    """{"batch": 4} for ["batch=4"]."""
    return parse_pairs(words, _parse_size, _make_size_error)


def _parse_size(text: str) -> int:
    if not 0 < int(text) < 2**31:
        raise ValueError
    return int(text)


def _make_size_error(word: str) -> CommandError:
    return CommandError(f"'{word}' is no size for a name. Write it like batch=4.")


def _make_known_value_error(word: str) -> CommandError:
    return CommandError(f"'{word}' is no value for an input. Write it like sr=16000, or shape=[1,80].")
