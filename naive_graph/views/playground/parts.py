"""The playground's dependencies, Pyodide and CodeMirror: downloaded once with npm, cached, checked by SHA-256."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...core.files import user_folder, write_atomically
from ...errors import FolderError, MissingToolError
from ..assets import read_asset

PARTS: Mapping[str, Mapping[str, str]] = tomllib.loads(read_asset("playground/parts.toml"))
PATIENCE = 300  # seconds that npm may take
HOW = f"On any machine with npm, `npm pack {' '.join(PARTS)}` writes two archives: --parts FOLDER takes the folder."


def parts(given: Path | None = None) -> dict[str, bytes]:
    """All files of the dependencies, by path in the playground's folder, such as "pyodide/pyodide.mjs".

    given: a folder with the archives that `npm pack` writes. Without it the cache is used, or npm is run once.
    Raises FolderError for a folder without them, or with others; MissingToolError where they cannot be had.
    """
    if given is not None:
        return _read_archives(given)
    cache_folder = user_folder("cache") / "playground"
    with suppress(FolderError):
        return _read_archives(cache_folder)
    with tempfile.TemporaryDirectory() as folder:
        _download(Path(folder))
        files = _read_archives(Path(folder))
        with suppress(OSError, FolderError):  # without a cache the next call downloads again
            cache_folder.mkdir(parents=True, exist_ok=True)
            for archive in Path(folder).glob("*.tgz"):
                write_atomically(cache_folder / archive.name, archive.read_bytes(), FolderError)
    return files


def _download(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingToolError(f"The playground needs Pyodide and CodeMirror, and there is no npm to fetch them. {HOW}")
    try:
        subprocess.run([npm, "pack", "--silent", *PARTS], cwd=folder, capture_output=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        raise MissingToolError(
            f"npm could not fetch Pyodide and CodeMirror: is there a network? They are fetched once. {HOW}"
        ) from None


def _read_archives(folder: Path) -> dict[str, bytes]:
    files = {}
    for package, digests in PARTS.items():
        archive = folder / f"{package.replace('@', '-')}.tgz"
        try:
            with tarfile.open(archive) as opened:
                members = {name: opened.extractfile(f"package/{name}") for name in digests}
                contents = {name: member.read() if member else b"" for name, member in members.items()}
        except (OSError, tarfile.TarError, KeyError, EOFError):
            raise FolderError(f"There is no {archive}, or it cannot be read. {HOW}") from None
        for name, data in contents.items():
            if sha256(data).hexdigest() != digests[name]:
                raise FolderError(f"{name} in {archive} is not the one that is known. {HOW}")
            files[f"{package.split('@')[0]}/{Path(name).name}"] = data
    return files
