"""`naive-graph playground`: a page to write Python in, on this machine or as files for a course's web page."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path

from ..graph.printed import wrapped
from ..views.playground.folder import server, write_playground


def playground(output: Path | None, given: Path | None, port: int | None, opened: bool = True) -> int:
    """Write the playground's files, or serve them to this machine's browser until Ctrl-C."""
    if output is not None:
        write_playground(output, given)
        print(f"written: {output / 'index.html'}")
        print(wrapped("Any web server hands it out. A browser does not run it from the disk: it wants http or https."))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        write_playground(Path(folder), given)
        with server(Path(folder), port or 0) as serving:
            address = f"http://127.0.0.1:{serving.server_port}/"
            print(f"The playground is at {address} until you press Ctrl-C.", flush=True)
            if opened and not webbrowser.open(address):
                print("note: there is no browser here to show it.", flush=True)
            serving.serve_forever()
    return 0
