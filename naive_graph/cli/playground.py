"""`naive-graph playground`: serve the in-browser Python playground on localhost, or write it as static files."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..graph.formatting import wrap_to_terminal
from ..views.playground.folder import write_playground
from .serving import serve


def playground(output: Path | None, parts: Path | None, port: int | None, opened: bool) -> None:
    """Write the playground's files, or serve them to this machine's browser until Ctrl-C."""
    if output is not None:
        write_playground(output, parts)
        print(f"written: {output / 'index.html'}")
        hint = "Any web server hands it out. A browser does not run it from the disk: it wants http or https."
        print(wrap_to_terminal(hint))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_playground(Path(folder), parts)
        serve(Path(folder), port, "playground", opened)
