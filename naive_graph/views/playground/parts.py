"""What the playground needs of others: Pyodide and CodeMirror, fetched once, and known by their sums."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...core.files import users_folder, write_whole
from ...errors import FolderError, MissingToolError

# Each package, as npm names it; of its archive the files that are taken, with their SHA-256.
PARTS: Mapping[str, Mapping[str, str]] = {
    "pyodide@314.0.7": {
        "pyodide.mjs": "6f1d60f7bf529beb300f0f47983c921d3982363640ba20af0e38efdddbc66109",
        "pyodide.asm.mjs": "f7cdc8ece80678ceb712f8e65ebe6d3a83203a180c399865f49612a051693635",
        "pyodide.asm.wasm": "cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6",
        "python_stdlib.zip": "fa1957e5777068fc4f7437f96d860ae2fbe9c19732ba06c84e004ec16dd7dd7a",
        "pyodide-lock.json": "5dc2fc119108bc148c7457dc86e7675b5c87e1cafd420b9c34c1eaef7b36c010",
    },
    "codemirror@5.65.21": {
        "lib/codemirror.js": "e98aac5ffa07bae58acd4ff07c4293059f8921c0ae0eba506929d8c6f41c9288",
        "lib/codemirror.css": "eb494ea972d2661ef86f7f6ac656dd6786d721e49c9c1b46e1eb967e4b6f9bf3",
        "mode/python/python.js": "19a59ca387addb04e95002c9adbe2b8c231427ce49369ac537107e3088a6947c",
    },
}
PATIENCE = 300  # seconds for npm
HOW = f"On any machine with npm, `npm pack {' '.join(PARTS)}` writes two archives: --parts FOLDER takes the folder."


def parts(given: Path | None = None) -> dict[str, bytes]:
    """All files by their place in the playground's folder, "pyodide/pyodide.mjs" say.

    given: a folder with the archives that `npm pack` writes. Without it, what was kept is taken, or npm asked once.
    Raises FolderError for a folder without them, or with others; MissingToolError where they cannot be had.
    """
    if given is not None:
        return _read(given)
    kept = users_folder("cache") / "playground"
    with suppress(FolderError):
        return _read(kept)
    with tempfile.TemporaryDirectory() as folder:
        _fetch(Path(folder))
        found = _read(Path(folder))
        with suppress(OSError, FolderError):  # another time it is fetched anew
            kept.mkdir(parents=True, exist_ok=True)
            for archive in Path(folder).glob("*.tgz"):
                write_whole(kept / archive.name, archive.read_bytes(), FolderError)
    return found


def _fetch(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise MissingToolError(f"The playground needs Pyodide and CodeMirror, and there is no npm to fetch them. {HOW}")
    try:
        subprocess.run([npm, "pack", "--silent", *PARTS], cwd=folder, capture_output=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        raise MissingToolError(
            f"npm could not fetch Pyodide and CodeMirror: is there a network? They are fetched once. {HOW}"
        ) from None


def _read(folder: Path) -> dict[str, bytes]:
    return {name: data for package in PARTS for name, data in _unpacked(folder, package)}


def _unpacked(folder: Path, package: str) -> Iterator[tuple[str, bytes]]:
    archive = folder / f"{package.replace('@', '-')}.tgz"
    try:
        with tarfile.open(archive) as opened:
            members = {name: opened.extractfile(f"package/{name}") for name in PARTS[package]}
            found = {name: member.read() if member else b"" for name, member in members.items()}
    except (OSError, tarfile.TarError, KeyError, EOFError):
        raise FolderError(f"There is no {archive}, or it cannot be read. {HOW}") from None
    for name, data in found.items():
        if sha256(data).hexdigest() != PARTS[package][name]:
            raise FolderError(f"{name} in {archive} is not the one that is known. {HOW}")
        yield f"{package.split('@')[0]}/{Path(name).name}", data
