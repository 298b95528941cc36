"""`naive-graph site`: the course, the reference and the gallery as static files, and a server that shows them."""

from __future__ import annotations

from pathlib import Path

from ..site.build import build
from ..views.playground.folder import server


def make_site(folder: Path, serve: bool, port: int | None) -> int:
    """Write the site into the folder; show it to this machine alone, if that is wished, until Ctrl-C."""
    count = sum(1 for _ in build(folder))
    print(f"written: {count} pages. Open {folder / 'index.html'}, or put the folder '{folder}' on any web server.")
    if serve:
        with server(folder, port or 0) as serving:
            print(f"The site is at http://127.0.0.1:{serving.server_port}/ until you press Ctrl-C.", flush=True)
            serving.serve_forever()
    return 0
