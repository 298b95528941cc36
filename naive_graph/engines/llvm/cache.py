"""Compiled code on disk, so that a program that was compiled once starts at once.

A file holds the code behind its own digest. It is written beside its place and
moved there in one step, so a reader sees the whole of it or none, however many
processes write. Where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

DIGEST = 32  # bytes


def folder() -> Path:
    """Where compiled code is kept: $NAIVE_GRAPH_CACHE, or the user's folder for caches."""
    chosen = os.environ.get("NAIVE_GRAPH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA") or os.path.expanduser("~")
    elif sys.platform == "darwin":
        home = os.path.expanduser("~/Library/Caches")
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "naive_graph"


def read(name: str) -> bytes | None:
    """The code of that name; None if there is none, or, with a warning, if its file is damaged."""
    path = folder() / name
    try:
        kept = path.read_bytes()
    except OSError:
        return None
    digest, code = kept[:DIGEST], kept[DIGEST:]
    if sha256(code).digest() == digest:
        return code
    warnings.warn(f"The compiled code in {path} is damaged. It is compiled anew.", RuntimeWarning, stacklevel=2)
    return None


def write(name: str, code: bytes) -> None:
    """Keep the code under that name, if the disk lets us."""
    beside = None
    try:
        place = folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, beside = tempfile.mkstemp(dir=place, suffix=".new")
        with open(handle, "wb") as file:
            file.write(sha256(code).digest() + code)
        os.replace(beside, place / name)
    except OSError:  # a full disk, a home that is read only: then we do without
        if beside is not None:
            with suppress(OSError):
                os.unlink(beside)
