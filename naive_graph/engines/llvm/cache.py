"""A disk cache of compiled code, so that code is compiled once per machine, not once per process.

A file is a digest of its name and code, followed by the code. It is written under a
temporary name and renamed atomically, so that a reader sees all of it or nothing,
however many processes write. If the disk cannot be written to, nothing is cached.
The code will run as the user, so files that another user could write are not read.

The folder is limited to some 256 MB. Each process that writes to it checks its size
once, and removes the least recently used files. A file's modification time says when
it was last used; wrong clocks spoil only the order of removal.
"""

from __future__ import annotations

import os
import re
import tempfile
import warnings
from contextlib import suppress
from functools import cache as once
from hashlib import sha256
from pathlib import Path

from ...core.files import user_folder
from ...errors import FolderError

DIGEST = 32  # bytes
MOST, ROOM = 256 << 20, 64 << 20  # bytes: the limit of all files together, and how far below it pruning goes
OURS = re.compile(r"[0-9a-f]{64}\.o(\..*\.new)?")  # the folder may be somebody's own, with other files in it


def folder() -> Path:
    """Where compiled code is kept: $NAIVE_GRAPH_CACHE, or the user's folder for caches."""
    return user_folder("cache")


def read(name: str) -> bytes | None:
    """The code of that name; None if there is none, or, with a warning, if its file is damaged."""
    try:
        path = folder() / name
        if not _is_safe(path.parent):
            return None
        with open(path, "rb", opener=_open_safely) as file:
            ours, content = _is_ours(os.fstat(file.fileno())), file.read()
    except FolderError as error:
        _warn_once(f"Compiled code is not kept: {error}")
        return None
    except OSError:
        return None
    digest, code = content[:DIGEST], content[DIGEST:]
    if ours and _digest(name, code) == digest:
        with suppress(OSError):
            os.utime(path)  # it was used now
        return code
    warnings.warn(f"The compiled code in {path} is damaged. It is compiled anew.", RuntimeWarning, stacklevel=2)
    return None


def write(name: str, code: bytes) -> None:
    """Keep the code under that name, if the disk lets us."""
    beside = None
    try:
        directory = folder()
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_safe(directory):
            return
        handle, beside = tempfile.mkstemp(dir=directory, prefix=f"{name}.", suffix=".new")
        with open(handle, "wb") as file:
            file.write(_digest(name, code) + code)
        os.replace(beside, directory / name)
    except OSError:  # a full disk, a home that is read only: then we do without
        if beside is not None:
            with suppress(OSError):
                os.unlink(beside)
        return
    _prune_once(directory)


def _digest(name: str, code: bytes) -> bytes:
    return sha256(name.encode() + code).digest()


def _open_safely(path: str, flags: int) -> int:
    """An opener for `open` that follows no symbolic link and never blocks."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _is_ours(seen: os.stat_result) -> bool:
    """Whether we own it and no other user may write to it; True on systems without file owners."""
    return not hasattr(os, "geteuid") or (seen.st_uid == os.geteuid() and not seen.st_mode & 0o022)


def _is_safe(directory: Path) -> bool:
    """Whether only we may write to the folder; warns once if not."""
    if _is_ours(directory.stat()):
        return True
    _warn_once(
        f"Others may write in {directory}, so compiled code is neither read from it nor kept there. "
        "Make it yours alone (chmod go-w), or choose another folder: NAIVE_GRAPH_CACHE."
    )
    return False


@once
def _warn_once(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def prune(place: Path) -> None:
    """Remove least recently used files until there is space.

    Other processes may read, write and prune meanwhile: a file that has vanished counts as removed, one that cannot
    be removed stays, and one that is removed too early is compiled again.
    """
    files = []
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):
                if OURS.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    seen = entry.stat(follow_symlinks=False)
                    files.append((seen.st_mtime, entry.path, seen.st_size))
    size = sum(taken for _, _, taken in files)
    most = MOST - ROOM if size > MOST else MOST
    for _, path, taken in sorted(files):
        if size > most:
            with suppress(OSError):
                Path(path).unlink(missing_ok=True)
                size -= taken


_prune_once = once(prune)  # the size of the folder is checked by the first write of a process
