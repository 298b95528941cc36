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
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any, Protocol

from ..core.files import path_of
from ..errors import HistoryError, MissingToolError
from ..graph.nodes import Node
from .picture import write_whole

try:
    import matplotlib.style
    from matplotlib import font_manager
    from matplotlib.figure import Figure
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
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


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
        target = path_of(path, HistoryError)
        form = target.suffix.lower().lstrip(".")
        if form not in METADATA:
            raise HistoryError(f"A plot is saved as .png, .svg or .pdf, not {target.suffix or 'without a suffix'!r}.")
        write_whole(target, self.drawn(form, dpi=150))
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
def our_style(texts: Iterable[str] = ()) -> Iterator[None]:
    """Our style whatever the user's settings are, with fonts that have the letters of these texts."""
    fonts = ["DejaVu Sans", *_fonts_for("".join(texts))]
    with matplotlib.style.context({**LOOK, "font.family": fonts}, after_reset=True):
        yield


@contextmanager
def quiet_about_glyphs() -> Iterator[None]:
    """A letter that no font here has is drawn as an empty box, which says enough."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


def _fonts_for(text: str) -> list[str]:
    """The first font of ours that is installed here for each letter that DejaVu Sans has not."""
    missing, found = set(map(ord, text)) - _letters("DejaVu Sans"), []
    installed = {font.name for font in font_manager.fontManager.ttflist} if missing else set()
    for name in OTHER_FONTS:
        if name in installed and missing & _letters(name):
            found.append(name)
            missing -= _letters(name)
    return found


def _letters(font: str) -> set[int]:
    return set(font_manager.get_font(font_manager.findfont(font)).get_charmap())


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


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"


def finished(figure: Plot, title: str, save: str | os.PathLike[str] | None) -> Plot:
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
