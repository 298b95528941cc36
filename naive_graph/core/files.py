"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from ..errors import NaiveGraphError


def write_whole(target: Path, data: bytes, failure: type[NaiveGraphError]) -> None:
    """Write a file so that a kill or a full disk, at any byte, leaves the old file or the new one.

    Raises `failure` with the reason if it cannot be written.
    """
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise failure(f"Cannot write {target}: {error.strerror}. Choose a folder that exists.") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else the name could be on the disk before the bytes are
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise failure(f"Cannot write {target}: {error.strerror}.") from None
        raise
