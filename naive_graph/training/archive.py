"""Checkpoint files: settings (JSON) and float64 arrays in one uncompressed .npz archive, never a pickle.

Entries: "head" is a uint8 array with the JSON text; "array/NAME" is each array. Reading trusts nothing that a
file claims: types and sizes are checked against the file before any array is loaded.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core.files import write_atomically
from ..core.number import shortened
from ..core.optional_deps import defer_sigint, door
from ..core.progress import progress
from ..errors import TrainingError

FORMAT = 1  # the version of the file format
MOST_SETTINGS = 1_000_000  # the most bytes of the JSON entry
MOST_LETTERS = 200  # the longest name that a learner may give a parameter
OF_OTHERS = (".keras", ".h5", ".hdf5", ".pt", ".pth", ".onnx")  # suffixes of other frameworks' formats, rejected
LONGEST = 65_000  # the most bytes of a quoted name; an entry's name in a zip file has at most 65,535
PLAIN = " !\"#$&'()*+,:;<=>?@[]^`{|}~"  # characters left unquoted in names, besides letters and digits
Shapes = dict[str, tuple[int, ...]]


def check_name(name: object) -> str:
    """Raise TrainingError unless this can be the name of an array in a file; returns the name."""
    if not isinstance(name, str) or not name.isprintable() or "/" in name or "\\" in name or len(name) > MOST_LETTERS:
        raise TrainingError(
            f"A parameter's name is also its name in a file: up to {MOST_LETTERS} letters that can be printed, without "
            f"slashes; not {shortened(name)}."
        )
    return name


def quote_name(name: Any) -> str:
    """Percent-encode a parameter's name for use in a file; imported networks have names such as paths."""
    try:
        quoted_name = quote(name, safe=PLAIN)
    except (TypeError, UnicodeEncodeError):
        quoted_name = ""
    if not 0 < len(quoted_name) < LONGEST:
        raise TrainingError(f"A parameter's name is also its name in a file: a text, not {shortened(name)}.")
    return quoted_name


def write(path: Path, kind: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write settings and arrays; the file appears whole or not at all. kind: what the file is, checked by `read`."""
    if path.suffix.lower() in OF_OTHERS or (not path.suffix and (path.is_file() or not path.exists())):
        path = path.with_suffix(".npz")
        raise TrainingError(f'A {kind} is written as .npz. Write save("{path}").')
    np = _import_numpy()
    head = json.dumps({"naive_graph": FORMAT, "kind": kind, "settings": settings}, allow_nan=True)
    named = {f"array/{name}": np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    _check_finite(np, named, "", "saved")
    memory = io.BytesIO()
    with defer_sigint():  # zipfile could turn a Ctrl-C into a ValueError
        np.savez(memory, head=np.frombuffer(head.encode(), dtype=np.uint8), **named)
    write_atomically(path, memory.getvalue(), TrainingError)
    return path


def read(
    path: Path, kind: str, check: Callable[[dict[str, Any], Shapes], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the settings and arrays of a file that `write` made. Raises TrainingError for any other file.

    check: called with the settings and shapes before any array is loaded. Entries must be uncompressed, so no
    array can be larger than the file.
    """
    np = _import_numpy()
    try:
        if path.exists() and not path.is_file():  # opening a pipe would block
            raise ValueError("it is a folder, a device or a pipe")
        with zipfile.ZipFile(path) as file:
            _check_sizes(file, path)
            head = json.loads(_read_array(np, file, "head", "|u1").tobytes())
            about = head.get("naive_graph"), head.get("kind")
            if about != (FORMAT, kind):
                raise TrainingError(f"{path} holds a {about[1]} of format {about[0]}, not a {kind}.")
            names = [name.removesuffix(".npy") for name in file.namelist() if name != "head.npy"]
            settings, inside = head.get("settings"), {name.removeprefix("array/"): name for name in names}
            shapes = {name: _read_shape(np, file, entry, "<f8") for name, entry in inside.items()}
            check(settings if isinstance(settings, dict) else {}, shapes)
            arrays = {name: _read_array(np, file, inside[name], "<f8") for name in progress(inside, label="load")}
    except FileNotFoundError:
        raise TrainingError(f"There is no file {path}.") from None
    except TrainingError:
        raise
    except Exception as error:  # zipfile, NumPy and json raise all sorts for foreign bytes
        raise TrainingError(f"{path} is no file of naive_graph, or it is damaged: {error}") from None
    _check_finite(np, arrays, f"{path}: ", "done")
    return settings, arrays


def _check_finite(np: Any, arrays: Mapping[str, Any], where: str, what: str) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            name = name.removeprefix("array/")
            raise TrainingError(f"{where}{name!r} has numbers that are not finite, so nothing was {what}.")


def _check_sizes(file: zipfile.ZipFile, path: Path) -> None:
    """Reject zip bombs: raise ValueError for compressed or overlapping entries, or too long settings."""
    entries = file.infolist()
    packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
    if packed or sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise ValueError("it would unpack to more than it is")
    if any(entry.file_size > MOST_SETTINGS for entry in entries if entry.filename == "head.npy"):
        raise ValueError("its settings are too long")


def _read_shape(np: Any, file: zipfile.ZipFile, name: str, dtype: str) -> tuple[int, ...]:
    """The shape in an array's .npy header. Raises ValueError unless its dtype and the entry's size agree."""
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


def _read_array(np: Any, file: zipfile.ZipFile, name: str, dtype: str) -> Any:
    _read_shape(np, file, name, dtype)
    with file.open(f"{name}.npy") as entry:
        return np.lib.format.read_array(entry)


def _import_numpy() -> Any:
    with door("Saving and loading need", "training"):
        import numpy
    return numpy
