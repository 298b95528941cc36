"""A matplotlib figure in our style, that shows itself in a notebook and saves itself whole.

Importing this file imports matplotlib: it is imported when something is
plotted. Figures are built without pyplot, so that nothing stays open, nothing
shows twice in a notebook, and the same numbers give the same bytes.
"""

from __future__ import annotations

import base64
import io
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any, Protocol

from ..errors import HistoryError, MissingToolError
from ..graph.nodes import Node
from .picture import file_of, write_whole

try:
    import matplotlib.style
    from matplotlib import font_manager
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch
except ImportError:
    raise MissingToolError('A plot needs matplotlib: pip install "naive-graph[plot]".') from None

# Okabe and Ito's palette; line styles and markers differ too, so that colour is never the only sign.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LOOK = {
    "figure.facecolor": "white", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.6, "font.size": 10.5, "axes.titlesize": 11.5, "lines.linewidth": 1.8,
    "legend.frameon": False, "axes.axisbelow": True, "svg.hashsalt": "naive_graph",
}  # fmt: skip
# Fonts with letters that matplotlib's own has not: ideographs, kana, hangul, other scripts.
OTHER_FONTS = (
    "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Microsoft YaHei",
    "PingFang SC", "Hiragino Sans GB", "SimHei", "Noto Sans", "FreeSans", "Arial Unicode MS",
)  # fmt: skip
SHOWN_DPI = 150  # sharp on a fine screen; the metadata keeps its size
# Without dates and versions, the same plot gives the same bytes.
METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def look_of(place: int) -> dict[str, Any]:
    """How the line at this place among several looks."""
    return {
        "color": COLOURS[place % len(COLOURS)], "linestyle": STYLES[place % len(STYLES)],
        "marker": MARKERS[place % len(MARKERS)],
    }  # fmt: skip


Save = str | os.PathLike[str] | None  # where a plot is to be saved, if it is


class Recorded(Protocol):
    """What a plot asks of a `History`."""

    @property
    def names(self) -> list[str]: ...

    def __getitem__(self, series: str) -> Any: ...

    def walked(self, node: Node, fallback: str) -> tuple[str, list[float | None]]: ...


class Plot(Figure):
    """A figure that pyplot does not know of, so it stays open nowhere and shows once."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the plot as its suffix says: .png, .svg or .pdf. The file appears whole or not at all."""
        target = file_of(path, "A plot", (".png", ".svg", ".pdf"), HistoryError)
        write_whole(target, self.drawn(target.suffix.lower()[1:], dpi=150))
        return target

    def drawn(self, form: str, dpi: int = 100) -> bytes:
        """The plot in one of the forms, as bytes."""
        buffer = io.BytesIO()
        with our_style(), quiet_about_glyphs():
            self.savefig(buffer, format=form, dpi=dpi, metadata=METADATA[form])
        return buffer.getvalue()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        # A picture of our own: the same bytes in every notebook, also where pyplot was never imported.
        picture = base64.b64encode(self.drawn("png", dpi=SHOWN_DPI)).decode()
        width = round(self.get_figwidth() * 100)
        return {"image/png": picture, "text/plain": repr(self)}, {"image/png": {"width": width}}


@contextmanager
def our_style() -> Iterator[None]:
    """Our style whatever the user's settings are, with the fonts of ours that are installed here."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in OTHER_FONTS if name in installed)]
    with matplotlib.style.context({**LOOK, "font.family": fonts}, after_reset=True):
        yield


@contextmanager
def quiet_about_glyphs() -> Iterator[None]:
    """A letter that no font here has is drawn as an empty box, which says enough."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


# --- texts, shown as they are: a name such as `$a_b` is no formula ---


def label_axes(panel: Any, across: str, up: str) -> None:
    """Name both axes; a short name stands upright beside its axis."""
    panel.set_xlabel(_shortened(across)).set_parse_math(False)
    upright = {"rotation": 0, "ha": "right", "va": "center"} if len(up) <= 3 else {}
    panel.set_ylabel(_shortened(up), **upright).set_parse_math(False)


def add_legend(figure: Figure, handles: Sequence[Any], texts: Sequence[str]) -> None:
    """A legend above the panels, where it covers nothing."""
    texts = [_shortened(text) for text in texts]
    in_a_row = sum(map(len, texts)) + 7 * len(texts) <= 84
    columns = len(texts) if in_a_row else max(1, 84 // (7 + max(map(len, texts))))
    legend = figure.legend(
        handles, [str(place) for place in range(len(texts))],  # matplotlib would drop a text that begins with _
        loc="outside upper left", alignment="left", ncols=columns, borderaxespad=0.3,
        handletextpad=0.5, columnspacing=1.3,
    )  # fmt: skip
    for handle, shown, text in zip(handles, legend.get_texts(), texts):
        handle.set_label(text)
        shown.set_text(text)
        shown.set_parse_math(False)


def hatched(fill: str, hatch: str) -> Patch:
    """A kind of bar or cell as a legend shows it; hatching, so that colour is not its only sign."""
    return Patch(facecolor=fill, hatch=hatch, edgecolor="white")


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def finished(figure: Plot, title: str, save: Save) -> Plot:
    """The figure with its title, saved if asked for."""
    wrapped, size = fill(title, 72), 11.5
    if title and figure.legends:  # matplotlib would draw a title of the figure over the legend
        figure.legends[0].set_title(wrapped, prop=font_manager.FontProperties(size=size))
        figure.legends[0].get_title().set_parse_math(False)
    elif title:
        figure.suptitle(wrapped, x=0.01, ha="left", fontsize=size).set_parse_math(False)
    if save is not None:
        figure.save(save)
    return figure
