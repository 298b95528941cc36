"""Atomic file writing (a file is complete or absent), and the user's cache and data folders."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import FolderError, NaiveGraphError
from .number import shortened

MOST_LETTERS = 60  # of a name in the temporary file's: file systems take 255 bytes, and a character has up to four

# Folders by kind: Windows variable, macOS path, and elsewhere an XDG variable, or else a path.
USER_FOLDERS = {
    "cache": ("LOCALAPPDATA", "~/Library/Caches", "XDG_CACHE_HOME", "~/.cache"),
    "data": ("LOCALAPPDATA", "~/Library/Application Support", "XDG_DATA_HOME", "~/.local/share"),
}


def user_folder(kind: str) -> Path:
    """Our folder for the user's "cache" or "data": what $NAIVE_GRAPH_CACHE or $NAIVE_GRAPH_DATA says, or the system.

    Raises FolderError where a home is needed and none is known.
    """
    ours = f"NAIVE_GRAPH_{kind.upper()}"
    windows, mac, variable, otherwise = USER_FOLDERS[kind]
    if chosen := os.environ.get(ours):
        base = chosen
    elif sys.platform == "win32":
        base = os.environ.get(windows) or "~"
    elif sys.platform == "darwin":
        base = mac
    else:
        base = os.environ.get(variable) or otherwise
    if (folder := os.path.expanduser(base)).startswith("~"):  # as in a container, whose user has no home
        raise FolderError(f"There is no home for {base}, which is our folder for {kind}. Name one: {ours}=/a/folder")
    return Path(folder) if chosen else Path(folder) / "naive_graph"


def path_of(path: Any, failure: type[NaiveGraphError]) -> Path:
    """The argument as a Path. Raises `failure` if it cannot be one.

    >>> path_of("model.npz", NaiveGraphError).name
    'model.npz'
    """
    try:
        as_path = Path(path)
        if "\0" not in str(as_path):
            return as_path
        raise TypeError
    except TypeError:
        raise failure(f"A file is named by a path such as 'folder/name', not by {shortened(path)}.") from None


def write_atomically(target: Path, data: bytes, failure: type[NaiveGraphError]) -> None:
    """Write a file so that a kill or a full disk, at any byte, leaves the old file or the new one.

    A link stays a link, an old file's permissions stay, and those of a new one
    are what the umask leaves. Raises `failure` with the reason if it cannot be
    written.
    """
    try:
        target = Path(os.path.realpath(target))
        if target.exists() and not target.is_file():  # a device or a pipe; a folder raises OSError
            target.write_bytes(data)
            return
        _write_beside(target, data)
    except FileNotFoundError as error:
        raise failure(f"Cannot write {target}: {error.strerror}. Choose a folder that exists.") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise failure(f"Cannot write {target}: {getattr(error, 'strerror', None) or error}.") from None


def write_file_in(folder: Path, name: str, data: bytes) -> Path:
    """Write a file atomically, making its folder first. name: the path relative to `folder`. Raises FolderError."""
    target = folder / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"Cannot make the folder '{target.parent}': {error.strerror}. Choose another.") from None
    write_atomically(target, data, FolderError)
    return target


def _write_beside(target: Path, data: bytes) -> None:
    """Write a temporary file beside the target, then rename it. A kill in between leaves the temporary file behind."""
    part = target.with_name(f".{target.name[:MOST_LETTERS]}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:  # plain open: permissions follow the umask
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else the rename could reach the disk before the bytes
        with suppress(OSError):
            os.chmod(part, stat.S_IMODE(target.stat().st_mode))
        os.replace(part, target)
    finally:
        with suppress(OSError):
            os.unlink(part)
