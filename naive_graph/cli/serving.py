"""Open pages in this machine's browser: a file, or a folder served over HTTP to localhost only."""

from __future__ import annotations

import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..errors import FolderError

KINDS = {".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm"}


def browse(address: str) -> None:
    """Show a page in this machine's browser, or say that there is none."""
    if not webbrowser.open(address):
        print("note: there is no browser here to show it.", flush=True)


class LocalFileHandler(SimpleHTTPRequestHandler):
    """Serves files of one folder to this computer alone."""

    # Kinds of our own: a machine's list may lack what browsers insist on.
    extensions_map = SimpleHTTPRequestHandler.extensions_map | KINDS

    def send_head(self) -> Any:
        """The beginning of every answer: an error unless the request is for localhost and stays inside the folder."""
        host = self.headers.get("Host", "").rpartition(":")[0].lower()
        if host not in ("127.0.0.1", "localhost"):  # a page of elsewhere whose name leads here
            self.send_error(403, "Only this machine is answered")
            return None
        try:
            inside = Path(self.translate_path(self.path)).resolve().is_relative_to(Path(self.directory).resolve())
        except (OSError, ValueError):  # no path at all, such as one with a NUL
            inside = False
        if not inside:  # a link leads out of the folder
            self.send_error(404, "File not found")
        return super().send_head() if inside else None

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: what a page loads is of no interest."""


def make_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """An HTTP server of a folder, for localhost only, at `server_port`. Raises FolderError if the port is taken."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(LocalFileHandler, directory=str(folder)))
    except OSError as error:
        how = "Choose another: --port 8123"
        raise FolderError(f"Nothing can be served at port {port}: {error.strerror}. {how}") from None


def serve(folder: Path, port: int | None, what: str, opened: bool) -> None:
    """Serve a folder until Ctrl-C. port: None takes a free one; opened: whether to open a browser."""
    with make_server(folder, port or 0) as http_server:
        address = f"http://127.0.0.1:{http_server.server_port}/"
        print(f"The {what} is at {address} until you press Ctrl-C.", flush=True)
        if opened:
            browse(address)
        http_server.serve_forever()
