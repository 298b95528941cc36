"""`naive-graph import model.onnx`: what is in a network of another framework, and a picture of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.imports import door
from ..errors import CommandError
from .draw import check_suffix, written

if TYPE_CHECKING:
    from ..interop.network import ImportedNetwork


FROZEN = (".pb", ".pbtxt")  # as TensorFlow's graphs are called


def import_model(file: Path, size: Sequence[str], output: Path, opened: bool, **wishes: Any) -> int:
    """Print what a file holds, and draw it as is wished.

    Raises ImportModelError, after printing, for what is not supported.
    """
    from ..views.drawing.draw import draw

    check_suffix(output)
    sizes = sizes_of(size)
    network = (_frozen if file.suffix.lower() in FROZEN else _onnx)(file, sizes)
    wishes["fold"] = True if wishes.get("fold") is None else wishes["fold"]
    picture = draw(*network.with_sizes().outputs.values(), grads=False, **wishes)
    print()
    named = [each for slot in network.slots for each in slot.extents or () if isinstance(each, str)]
    open_ = [each for each in dict.fromkeys(named) if each not in sizes]
    if open_:
        print(f"note: {', '.join(open_)} {'is' if len(open_) == 1 else 'are'} taken as 1. Say --size {open_[0]}=4")
    picture.save(output)
    written(output, opened)
    return 0


def _onnx(path: Path, sizes: Mapping[str, int]) -> ImportedNetwork:
    with door("ONNX files need", "onnx"):
        from ..interop.onnx.network import described_as, network_of
        from ..interop.onnx.reading import read
    content = read(path)
    print(described_as(content, path.name), flush=True)
    return network_of(content, sizes, {})


def _frozen(path: Path, sizes: Mapping[str, int]) -> ImportedNetwork:
    with door("Graphs of TensorFlow need", "tensorboard"):
        from ..interop.tensorflow.network import described_as, network_of
        from ..interop.tensorflow.reading import read
    content = read(path)
    print(described_as(content, path.name), flush=True)
    return network_of(content, path.stem, sizes)


def sizes_of(given: Sequence[str]) -> dict[str, int]:
    """{"batch": 4} for ["batch=4"]."""
    sizes: dict[str, int] = {}
    for word in given:
        name, equals, number = (part.strip() for part in word.rpartition("="))
        if not equals or not number.isdecimal() or not 0 < int(number) < 2**31:
            raise CommandError(f"'{word}' is no size for a name. Write it like batch=4.")
        sizes[name] = int(number)
    return sizes
