"""Build the playground, a static site that runs this package in the browser with Pyodide."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...core.files import write_file_in
from ..assets import packed, read_asset
from ..drawing.engine import graphviz_code
from ..theme import page_style
from .parts import PARTS, parts

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1]
OWN = ("shared.js", "playground.js", "cells.js", "editor.css", "frame.html")


def read_examples() -> dict[str, str]:
    """The example programs, by title."""
    texts = read_asset("playground/examples.txt").split("=== ")[1:]
    return {title: program.strip() + "\n" for title, _, program in (text.partition("\n") for text in texts)}


def write_playground(folder: Path, given: Path | None = None, title: str = "naive_graph") -> None:
    """Write the playground into a folder, created if missing. given: a folder with the downloads, see `parts`.

    title: of the page, as HTML, so that it can lead somewhere.
    Raises FolderError where nothing can be written, and MissingToolError where a part cannot be had.
    """
    files = {**parts(given), **dict(_collect_own_files(title))}
    for name, data in files.items():
        write_file_in(folder, name, data)


def _collect_own_files(title: str) -> Iterator[tuple[str, bytes]]:
    archive = zip_package()
    for name in OWN:
        yield name, (HERE / name).read_bytes()
    yield "worker.js", (packed("drawing/engine.js") + read_asset("playground/worker.js")).encode()
    yield "playground.css", (page_style() + read_asset("playground/playground.css")).encode()
    yield "dot.txt", graphviz_code().encode()
    yield "package.zip", archive
    yield "examples.json", json.dumps(read_examples()).encode()
    page = read_asset("playground/index.html").replace("{package}", fingerprint(archive)).replace("{title}", title)
    yield "index.html", page.encode()


def fingerprint(archive: bytes) -> str:
    """A cache key: a page reuses the compiled bytecode of the same archive."""
    return sha256(archive).hexdigest()[:16]


def pyodide_cdn_url(folder: Path) -> str:
    """The CDN address of Pyodide's packages (NumPy ...), read from a playground's pyodide.mjs; empty if not found."""
    with suppress(OSError):
        code = (folder / "pyodide" / "pyodide.mjs").read_text("utf-8")
        version_match = re.search(r"cdnUrl=.{,60}?`(https://[^`]*)`", code)
        version = next(iter(PARTS)).partition("@")[2]
        return re.sub(r"\$\{\w+\}", version, version_match[1]) if version_match else ""
    return ""


def zip_package() -> bytes:
    """This package as a reproducible ZIP archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            inside = path.relative_to(PACKAGE.parent)
            if path.is_file() and path.suffix not in (".pyc", ".pyi"):
                archive.writestr(zipfile.ZipInfo(inside.as_posix()), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
