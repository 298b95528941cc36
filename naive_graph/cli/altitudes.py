"""`naive-graph altitudes FILE`: write an HTML page that zooms from a network's layers down to machine instructions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.optional_deps import door
from ..errors import CommandError
from ..views.drawing.picture import checked_path
from .draw import report_file
from .import_model import parse_sizes
from .sequential import read_program


def show_altitudes(file: Path, size: Sequence[str], data: Path | None, output: Path, opened: bool) -> None:
    """Write the page of an ONNX file (.onnx), a saved Sequential (.npz), or a program in the sequential language.

    data: samples, a .npy file, or a .npz file with the arrays `data` and `labels`.
    """
    checked_path(output, "A page", (".html", ".htm"), CommandError)
    with door("Altitudes need", "tensor"):
        from ..views.altitude_view.altitudes import altitudes
    page = altitudes(_model(file, size), *(_samples(data) if data is not None else ()))
    print(page.told)
    page.save(output)
    report_file(output, opened)


def _model(path: Path, sizes: Sequence[str]) -> Any:
    """Read the network of a file, in the format that its suffix says; any other suffix is a program."""
    suffix = path.suffix.lower()
    if suffix == ".onnx":
        with door("ONNX files need", "onnx"):
            from ..interop.onnx.network import from_onnx
        return from_onnx(path, parse_sizes(sizes))
    if suffix == ".npz":
        from ..sequential.model import Sequential

        return Sequential.load(path)
    from ..sequential.compile import parse  # brings lark

    program = parse(read_program(str(path)))
    networks = [program[name] for name in program]
    if len(networks) != 1:
        count = len(networks) or "no"
        raise CommandError(f"'{path}' has {count} networks, and a page shows one. Keep one of them in the file.")
    return networks[0]


def _samples(path: Path) -> list[Any]:
    """A list of the samples in a file, and of their labels if it has them."""
    import numpy as np

    try:
        data = np.load(path, allow_pickle=False)
        if path.suffix.lower() == ".npy":
            return [data]
        with data:
            return [data[name] for name in ("data", "labels") if name == "data" or name in data]
    except (ValueError, KeyError, EOFError, AttributeError):
        hint = "Write them with numpy.savez(path, data=samples, labels=classes)."
        raise CommandError(f"'{path}' holds no samples. {hint}") from None
