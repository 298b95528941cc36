"""The playground as static files: any web server can hand them out, and nothing else is asked for."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from ...core.files import write_whole
from ...errors import FolderError
from ..drawing.engine import packed_code
from ..drawing.picture import packed_file
from ..look import page_style
from .parts import parts

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1]
OWN = ("playground.js", "frame.html")
KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}


def examples() -> dict[str, str]:
    """Programs to begin with, by their titles."""
    texts = (HERE / "examples.txt").read_text(encoding="utf-8").split("=== ")[1:]
    return {title: program.strip() + "\n" for title, _, program in (text.partition("\n") for text in texts)}


def write_playground(folder: Path, given: Path | None = None) -> None:
    """Write the playground into a folder, which is made. given: a folder with the parts, see `parts`.

    Raises FolderError where nothing can be written, and MissingToolError where a part cannot be had.
    """
    found = {**parts(given), **dict(_own())}
    for name, data in found.items():
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FolderError(f"{target.parent} cannot be made: {error.strerror}. Choose another place.") from None
        write_whole(target, data, FolderError)


def _own() -> Iterator[tuple[str, bytes]]:
    archive = packed()
    for name in OWN:
        yield name, (HERE / name).read_bytes()
    yield "worker.js", (packed_file("engine.js") + (HERE / "worker.js").read_text("utf-8")).encode()
    yield "playground.css", (page_style() + (HERE / "playground.css").read_text("utf-8")).encode()
    yield "dot.txt", packed_code().encode()
    yield "package.zip", archive
    yield "examples.json", json.dumps(examples()).encode()
    known = sha256(archive).hexdigest()[:16]
    yield "index.html", (HERE / "index.html").read_text("utf-8").replace("{package}", known).encode()


def packed() -> bytes:
    """This package as an archive, the same for the same files."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(PACKAGE.rglob("*")):
            inside = path.relative_to(PACKAGE.parent)
            if path.is_file() and path.suffix not in (".pyc", ".pyi"):
                archive.writestr(zipfile.ZipInfo(inside.as_posix()), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return found.getvalue()


class _Files(SimpleHTTPRequestHandler):
    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """The kind of a file, by our own list: a machine's may lack what browsers insist on."""
        return KINDS.get(Path(path).suffix) or super().guess_type(path)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what a page loads is of no interest."""


def server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """What hands out a folder to this machine alone, at `server_port`. Raises FolderError for a port that is taken."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Files, directory=str(folder)))
    except OSError as error:
        raise FolderError(
            f"Nothing can be served at port {port}: {error.strerror}. Choose another: --port 8123"
        ) from None
