"""A matplotlib figure that shows itself in a notebook and saves itself whole.

Importing this file imports matplotlib: only `plot` does so, when something is
plotted.
"""

from __future__ import annotations

import base64
import io
import os
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from ..errors import HistoryError
from .picture import write_whole

SHOWN_DPI = 150  # sharp on a fine screen; the metadata keeps its size
# Without dates and versions, the same plot gives the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


class Plot(Figure):
    """A figure that pyplot does not know of, so it stays open nowhere and shows once."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the plot as its suffix says: .png, .svg or .pdf. The file appears whole or not at all."""
        target = Path(path)
        form = target.suffix.lower().lstrip(".")
        if form not in METADATA:
            raise HistoryError(f"A plot is saved as .png, .svg or .pdf, not {target.suffix or 'without a suffix'!r}.")
        write_whole(target, self.drawn(form, dpi=150))
        return target

    def drawn(self, form: str, dpi: int = 100) -> bytes:
        """The plot in one of the forms, as bytes."""
        import matplotlib

        buffer = io.BytesIO()
        with matplotlib.rc_context({"svg.hashsalt": "naive_graph"}):
            self.savefig(buffer, format=form, dpi=dpi, metadata=METADATA[form])
        return buffer.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        # A picture of our own: the same bytes in every notebook, also where pyplot was never imported.
        picture = base64.b64encode(self.drawn("png", dpi=SHOWN_DPI)).decode()
        width = round(self.get_figwidth() * 100)
        return {"image/png": picture, "text/plain": repr(self)}, {"image/png": {"width": width}}
