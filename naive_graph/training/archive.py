"""Arrays and settings in one .npz file, never a pickle."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core.files import write_whole
from ..core.imports import defer_sigint, door
from ..core.number import shortened
from ..core.progress import progress
from ..errors import TrainingError

FORMAT = 1
MOST_SETTINGS = 1_000_000  # bytes
MOST_LETTERS = 200  # of a name that is given here
OF_OTHERS = (".keras", ".h5", ".hdf5", ".pt", ".pth", ".onnx")  # what these promise is another form
LONGEST = 65_000  # bytes of one in a zip file, which end at 65,535
PLAIN = " !\"#$&'()*+,:;<=>?@[]^`{|}~"  # what stands for itself there, besides letters and numbers
Shapes = dict[str, tuple[int, ...]]


def check_name(name: object) -> str:
    """The name, if an array in a file can have it. Raises TrainingError."""
    if not isinstance(name, str) or not name.isprintable() or "/" in name or "\\" in name or len(name) > MOST_LETTERS:
        raise TrainingError(
            f"A parameter's name is also its name in a file: up to {MOST_LETTERS} letters that can be printed, without "
            f"slashes; not {shortened(name)}."
        )
    return name


def quote_name(name: Any) -> str:
    """A parameter's name as an array's in a file: what came from elsewhere may be called as paths are."""
    try:
        quoted_name = quote(name, safe=PLAIN)
    except (TypeError, UnicodeEncodeError):
        quoted_name = ""
    if not 0 < len(quoted_name) < LONGEST:
        raise TrainingError(f"A parameter's name is also its name in a file: a text, not {shortened(name)}.")
    return quoted_name


def write(path: Path, kind: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write settings and arrays. The file appears whole or not at all."""
    if path.suffix.lower() in OF_OTHERS or (not path.suffix and (path.is_file() or not path.exists())):
        path = path.with_suffix(".npz")
        raise TrainingError(f'A {kind} is written as .npz. Write save("{path}").')
    np = _numpy()
    head = json.dumps({"naive_graph": FORMAT, "kind": kind, "settings": settings}, allow_nan=True)
    named = {f"array/{name}": np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    _check_finite(np, named, "", "saved")
    memory = io.BytesIO()
    with defer_sigint():  # zipfile could make a ValueError of a Ctrl-C
        np.savez(memory, head=np.frombuffer(head.encode(), dtype=np.uint8), **named)
    write_whole(path, memory.getvalue(), TrainingError)
    return path


def read(
    path: Path, kind: str, check: Callable[[dict[str, Any], Shapes], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the settings and arrays of a file that `write` made. check: called with settings and shapes first.

    Raises TrainingError for anything else. What a file claims is never
    believed: its arrays lie in it as they are, so none is larger than the file.
    """
    np = _numpy()
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise ValueError("it is a folder, a device or a pipe")
        with zipfile.ZipFile(path) as file:
            _check_sizes(file, path)
            head = json.loads(_array(np, file, "head", "|u1").tobytes())
            about = head.get("naive_graph"), head.get("kind")
            if about != (FORMAT, kind):
                raise TrainingError(f"{path} holds a {about[1]} of format {about[0]}, not a {kind}.")
            names = [name.removesuffix(".npy") for name in file.namelist() if name != "head.npy"]
            settings, inside = head.get("settings"), {name.removeprefix("array/"): name for name in names}
            shapes = {name: _shape(np, file, entry, "<f8") for name, entry in inside.items()}
            check(settings if isinstance(settings, dict) else {}, shapes)
            arrays = {name: _array(np, file, inside[name], "<f8") for name in progress(inside, label="load")}
    except FileNotFoundError:
        raise TrainingError(f"There is no file {path}.") from None
    except TrainingError:
        raise
    except Exception as error:  # whatever zipfile, NumPy and json make of other people's bytes
        raise TrainingError(f"{path} is no file of naive_graph, or it is damaged: {error}") from None
    _check_finite(np, arrays, f"{path}: ", "done")
    return settings, arrays


def _check_finite(np: Any, arrays: Mapping[str, Any], where: str, what: str) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            name = name.removeprefix("array/")
            raise TrainingError(f"{where}{name!r} has numbers that are not finite, so nothing was {what}.")


def _check_sizes(file: zipfile.ZipFile, path: Path) -> None:
    """Refuse a file that would unpack to more than its size: its entries are stored as they are, each once."""
    entries = file.infolist()
    packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
    if packed or sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise ValueError("it would unpack to more than it is")
    if any(entry.file_size > MOST_SETTINGS for entry in entries if entry.filename == "head.npy"):
        raise ValueError("its settings are too long")


def _shape(np: Any, file: zipfile.ZipFile, name: str, dtype: str) -> tuple[int, ...]:
    """The shape of an array in the file, whose size must agree with it."""
    with file.open(f"{name}.npy") as entry:
        form = np.lib.format
        version = form.read_magic(entry)
        read_header = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
        shape, _, stored_dtype = read_header(entry)
        size, begin = file.getinfo(f"{name}.npy").file_size, entry.tell()
    if stored_dtype != np.dtype(dtype):
        raise ValueError(f"{name!r} is an array of {stored_dtype}, not of {np.dtype(dtype)}")
    if begin + math.prod(shape) * stored_dtype.itemsize != size:
        raise ValueError(f"{name!r} claims {math.prod(shape):,} numbers, which are not there")
    return tuple(shape)


def _array(np: Any, file: zipfile.ZipFile, name: str, dtype: str) -> Any:
    _shape(np, file, name, dtype)
    with file.open(f"{name}.npy") as entry:
        return np.lib.format.read_array(entry)


def _numpy() -> Any:
    with door("Saving and loading need", "training"):
        import numpy
    return numpy
