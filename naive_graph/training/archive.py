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
MAX_SETTINGS_BYTES = 1_000_000  # of the JSON entry
MAX_NAME_LENGTH = 200  # of a name that a learner gives a parameter
OTHER_FRAMEWORKS_SUFFIXES = (".keras", ".h5", ".hdf5", ".pt", ".pth", ".onnx")  # rejected: save writes .npz
MAX_QUOTED_BYTES = 65_000  # of a quoted name; an entry's name in a zip file has at most 65,535
UNQUOTED = " !\"#$&'()*+,:;<=>?@[]^`{|}~"  # characters left unquoted in names, besides letters and digits
Shapes = dict[str, tuple[int, ...]]


def check_name(name: object) -> str:
    """Raise TrainingError unless this can be the name of an array in a file; returns the name."""
    fits = isinstance(name, str) and name.isprintable() and len(name) <= MAX_NAME_LENGTH
    if not isinstance(name, str) or not fits or "/" in name or "\\" in name:
        raise TrainingError(
            f"A parameter's name is also its name in a file: up to {MAX_NAME_LENGTH} letters that can be printed, "
            f"without slashes; not {shortened(name)}."
        )
    return name


def quote_name(name: Any) -> str:
    """Percent-encode a parameter's name for use in a file; imported networks have names such as paths."""
    try:
        quoted_name = quote(name, safe=UNQUOTED)
    except (TypeError, UnicodeEncodeError):
        quoted_name = ""
    if not 0 < len(quoted_name) < MAX_QUOTED_BYTES:
        raise TrainingError(f"A parameter's name is also its name in a file: a text, not {shortened(name)}.")
    return quoted_name


def write(path: Path, kind: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write settings and arrays; the file appears whole or not at all. kind: what the file is, checked by `read`."""
    if path.suffix.lower() in OTHER_FRAMEWORKS_SUFFIXES or (not path.suffix and (path.is_file() or not path.exists())):
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
            file_format, file_kind = head.get("naive_graph"), head.get("kind")
            if (file_format, file_kind) != (FORMAT, kind):
                raise TrainingError(f"{path} holds a {file_kind} of format {file_format}, not a {kind}.")
            names = [name.removesuffix(".npy") for name in file.namelist() if name != "head.npy"]
            settings, entries = head.get("settings"), {name.removeprefix("array/"): name for name in names}
            shapes = {name: _read_shape(np, file, entry, "<f8") for name, entry in entries.items()}
            check(settings if isinstance(settings, dict) else {}, shapes)
            arrays = {name: _read_array(np, file, entries[name], "<f8") for name in progress(entries, label="load")}
    except FileNotFoundError:
        raise TrainingError(f"There is no file {path}.") from None
    except TrainingError:
        raise
    except Exception as error:  # zipfile, NumPy and json raise all sorts for foreign bytes
        raise TrainingError(f"{path} is no file of naive_graph, or it is damaged: {error}") from None
    _check_finite(np, arrays, f"{path}: ", "done")
    return settings, arrays


def _check_finite(np: Any, arrays: Mapping[str, Any], prefix: str, action: str) -> None:
    """Raise TrainingError for NaN or infinity. prefix, action: for the message, such as "W.npz: " and "saved"."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            name = name.removeprefix("array/")
            raise TrainingError(f"{prefix}{name!r} has numbers that are not finite, so nothing was {action}.")


def _check_sizes(file: zipfile.ZipFile, path: Path) -> None:
    """Reject zip bombs: raise ValueError for compressed or overlapping entries, or too long settings."""
    entries = file.infolist()
    is_compressed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
    if is_compressed or sum(entry.file_size for entry in entries) > path.stat().st_size:
        raise ValueError("it would unpack to more than it is")
    if any(entry.file_size > MAX_SETTINGS_BYTES for entry in entries if entry.filename == "head.npy"):
        raise ValueError("its settings are too long")


def _read_shape(np: Any, file: zipfile.ZipFile, name: str, dtype: str) -> tuple[int, ...]:
    """The shape in an array's .npy header. Raises ValueError unless its dtype and the entry's size agree."""
    with file.open(f"{name}.npy") as entry:
        np.lib.format.read_magic(entry)
        shape, _, stored_dtype = np.lib.format.read_array_header_1_0(entry)  # `write` makes no other
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
