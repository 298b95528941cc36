"""Arrays and settings in one .npz file, never a pickle."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.files import write_whole
from ..errors import MissingToolError, TrainingError

FORMAT = 1


def write(path: Path, kind: str, settings: Mapping[str, Any], arrays: Mapping[str, Any]) -> Path:
    """Write settings and arrays. The file appears whole or not at all."""
    np = _numpy()
    head = json.dumps({"naive_graph": FORMAT, "kind": kind, "settings": settings}, allow_nan=True)
    named = {f"array/{name}": np.asarray(array, dtype=np.float64) for name, array in arrays.items()}
    memory = io.BytesIO()
    np.savez(memory, head=np.frombuffer(head.encode(), dtype=np.uint8), **named)
    write_whole(path, memory.getvalue(), TrainingError)
    return path


def read(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings and arrays of a file that `write` made."""
    np = _numpy()
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            head = json.loads(bytes(file["head"]).decode())
            arrays = {name.removeprefix("array/"): file[name] for name in file.files if name != "head"}
    except FileNotFoundError:
        raise TrainingError(f"There is no file {path}.") from None
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, EOFError) as error:
        raise TrainingError(f"{path} is no file of naive_graph, or it is damaged: {error}") from None
    if head.get("naive_graph") != FORMAT or head.get("kind") != kind:
        raise TrainingError(f"{path} holds a {head.get('kind')} of format {head.get('naive_graph')}, not a {kind}.")
    return head["settings"], arrays


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise MissingToolError('Saving and loading need NumPy: pip install "naive-graph[training]".') from None
    return numpy
