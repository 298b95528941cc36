"""`naive-graph site`: the course, the reference and the gallery as static files, and a server that shows them."""

from __future__ import annotations

from pathlib import Path

from ..core.progress import progress
from ..graph.formatting import wrap_to_terminal
from ..site.build import build
from ..site.lab import write_lab
from ..views.playground.folder import write_playground
from .serving import serve

ESTIMATED_PAGES = 520  # for the progress bar: their number is known only when all are built


def make_site(
    output: Path, playground: str | bool | None, lite: bool, url: str, served: bool, port: int | None, opened: bool
) -> None:
    """Write the site into a folder; if `served`, serve it on localhost until Ctrl-C."""
    parts = Path(playground) if isinstance(playground, str) else None
    if lite:
        write_lab(output / "lite", parts)
    if playground:
        # Before the pages, which link to it if it exists.
        write_playground(output / "playground", parts, '<a href="../index.html">naive_graph</a>')
    count = sum(1 for _ in progress(build(output, url=url), "pages", ESTIMATED_PAGES))
    next_step = f"Open {output / 'index.html'}, or put the folder '{output}' on any web server."
    print(wrap_to_terminal(f"written: {count} pages. {next_step}"))
    if served:
        serve(output, port, "site", opened)
