"""Plot, a matplotlib figure in the package's style that displays in notebooks and saves atomically; helpers for it.

Importing this file imports matplotlib: it is imported when something is plotted. A user's rcParams and styles come
before ours. Figures are built without pyplot, so that none stays open and none shows twice in a notebook; only if the
user's pyplot has a backend with windows is the figure made by it, so that `plt.show()` opens one.
"""

from __future__ import annotations

import base64
import io
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from itertools import chain, pairwise
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from ...core.optional_deps import door
from ...errors import HistoryError
from ..assets import standalone_page
from ..csp import csp_meta
from ..drawing.picture import checked_path, save_atomically
from ..drawing.text_metrics import text_width
from ..theme import LEAST, LIGHT, LINE, OTHER_FONTS, SERIES, TEXT, THEMES, TITLE, format_number, svg_style

with door("A plot needs", "plot"):
    import matplotlib.style
    from matplotlib import font_manager
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter, LogFormatter

STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
POINT = 0.72  # typographic points in a pixel: a plot has 100 pixels to the inch
KEY = 44  # pixels that a legend needs beside each text
WIDE = 5.2  # inches of a plot of one column: it fits the narrowest screen with its text still legible
TALLEST = 7.4  # inches: a figure does not grow beyond this for a panel's legend
LOOK = {
    "figure.facecolor": LIGHT["ground"], "axes.facecolor": LIGHT["ground"], "axes.edgecolor": LIGHT["line"],
    "axes.labelcolor": LIGHT["ink"], "axes.titlecolor": LIGHT["ink"], "legend.labelcolor": LIGHT["ink"],
    "text.color": LIGHT["ink"],
    "xtick.color": LIGHT["soft"], "ytick.color": LIGHT["soft"], "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "grid.color": LIGHT["line"], "grid.alpha": 0.3, "grid.linewidth": 0.6, "axes.axisbelow": True,
    "font.size": POINT * TEXT, "axes.titlesize": POINT * TEXT, "axes.titlelocation": "left", "lines.linewidth": 1.8,
    "hatch.linewidth": 0.5, "legend.frameon": False, "svg.hashsalt": "naive_graph",
}  # fmt: skip
DPI = 150  # sharp on a fine screen; the metadata keeps its size
# Without dates and versions, the same plot gives the same bytes.
METADATA: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}


def line_style(place: int) -> dict[str, Any]:
    """Colour, dash style and marker of a line, by its number: our colours, or those of the user's prop_cycle."""
    colours = [light for light, _ in SERIES]
    if _is_changed("axes.prop_cycle"):
        colours = matplotlib.rcParams["axes.prop_cycle"].by_key().get("color", colours)
    return {
        "color": colours[place % len(colours)], "linestyle": STYLES[place % len(STYLES)],
        "marker": MARKERS[place % len(MARKERS)],
    }  # fmt: skip


Save = str | os.PathLike[str] | None  # the file to save a plot in, if any


NO_WINDOWS = ("agg", "cairo", "inline", "pdf", "pgf", "ps", "svg", "template")  # backends without windows


def new_plot(size: tuple[float, float], figsize: tuple[float, float] | None = None) -> Plot:
    """An empty figure of this size in inches, made by pyplot if that has windows.

    figsize: what a user asked for, which `finish_figure` holds to; our own size grows with legend and title.
    """
    pyplot, backend = sys.modules.get("matplotlib.pyplot"), matplotlib.get_backend().lower()
    has_windows = pyplot is not None and backend not in NO_WINDOWS and not backend.startswith("module:")
    make: Callable[..., Plot] = partial(pyplot.figure, FigureClass=Plot) if pyplot and has_windows else Plot
    plot = make(figsize=figsize or size, layout="constrained")
    plot.figsize = figsize
    return plot


class Plot(Figure):
    """A figure that saves itself whole, and shows itself in a notebook."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the plot atomically as its suffix says: .png, .svg or .pdf; an interactive one also as .html."""
        forms = (".png", ".svg", ".pdf", *[".html"] * (self.interactive is not None))
        target = checked_path(path, "A plot", forms, HistoryError)
        form = target.suffix.lower()[1:]
        if form == "html":
            policy = csp_meta(self.interactive.script())
            data = standalone_page(self.alt(), self.interactive.html(self._image()), policy).encode()
        else:
            data = self.drawn(form)
        save_atomically(target, data)
        return target

    def drawn(self, form: str) -> bytes:
        """Render as "png", "svg" or "pdf"; an SVG follows the reader's light or dark theme."""
        buffer = io.BytesIO()
        with our_style(), ignore_missing_glyphs():
            self.savefig(buffer, format=form, dpi=DPI, metadata=METADATA[form])
        return _apply_theme(buffer.getvalue().decode()).encode() if form == "svg" else buffer.getvalue()

    def show(self, *_: object, **__: object) -> NoReturn:
        """Raise HistoryError: unlike a figure of pyplot, a plot opens no window by itself."""
        raise HistoryError(
            "A plot shows itself in a notebook, as the last line of a cell. In a script write "
            'plot.save("plot.svg"), or .png, and open that file.'
        )

    figsize: tuple[float, float] | None = None  # that a user asked for
    interactive: Any = None  # of a walk or a film: an InteractivePath or BoundaryFilm, which writes HTML and script
    told = ""  # a description of the plot, if more can be said than the titles of its axes

    def alt(self) -> str:
        """The plot in a sentence, for those who do not see it."""
        if self.told:
            return self.told
        titles = chain.from_iterable((axes.get_title(loc="left"), axes.get_ylabel()) for axes in self.axes)
        named = [title for title in titles if title]
        across = next((axes.get_xlabel() for axes in reversed(self.axes) if axes.get_xlabel()), "steps")
        return f"Plot of {', '.join(named) or 'numbers'} against {across}."

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        # Not IPython's own picture of a figure: ours has the same bytes everywhere, also without pyplot.
        image = self._image()
        shown_as = image if self.interactive is None else self.interactive.html(image)
        png = base64.b64encode(self.drawn("png")).decode()
        themes = f"<style>.ng-plot {{ color-scheme: light dark; }}\n{THEMES.format('.ng-plot')}</style>"
        html = f'{themes}<div style="overflow-x:auto" tabindex="0">{shown_as}</div>'
        bundle = {"text/html": html, "image/png": png, "text/plain": repr(self)}
        return bundle, {"image/png": {"width": round(100 * self.get_figwidth())}}

    def _image(self) -> str:
        svg = base64.b64encode(self.drawn("svg")).decode()
        width = round(self.get_figwidth() * 100)
        style = f"width:100%; max-width:{width}px; min-width:{min_readable_width(width)}px"
        return f'<img class="ng-plot" style="{style}" alt="{escape(self.alt())}" src="data:image/svg+xml;base64,{svg}">'


def min_readable_width(width: float) -> int:
    """The width in pixels below which a plot's text could not be read; in a narrower page it scrolls."""
    return math.ceil(width * LEAST / TEXT)


def _apply_theme(svg: str) -> str:
    """Turn matplotlib's inline styles into attributes, add CSS for dark mode, and shorten coordinates."""
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r' style="([^"]*)"', lambda style: re.sub(r"\s*([^:;]+):\s*([^;]+);?", r' \1="\2"', style[1]), svg)
    svg = re.sub(r'(<path id="m\w+" d="[^"]*") stroke="[^"]*"', r"\1", svg)  # a marker has the colour of its <use>
    svg = re.sub(r' (d|x|y)="[^"]*"', lambda attribute: re.sub(r"\s+([LMQCz]) ?|(\.\d)\d+", r"\1\2", attribute[0]), svg)
    return svg.replace("<svg ", '<svg class="naive-graph" ', 1).replace("</style>", f"\n{svg_style(svg)}</style>", 1)


@contextmanager
def our_style() -> Iterator[None]:
    """Apply our rcParams, except those the user changed; if the user set any colour, all colours stay theirs."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    fonts = ["DejaVu Sans", *(name for name in OTHER_FONTS if name in installed)]
    settings = {name: value for name, value in {**LOOK, "font.family": fonts}.items() if not _is_changed(name)}
    if any(name.endswith("color") for name in LOOK.keys() - settings.keys()):
        settings = {name: value for name, value in settings.items() if not name.endswith("color")}
    with matplotlib.style.context(settings):
        yield


def _is_changed(setting: str) -> bool:
    """Whether a user, or a style of theirs, has changed it; a value that our own context set does not count."""
    settings: tuple[Any, Any] = matplotlib.rcParams, matplotlib.rcParamsDefault
    current, default_value = (source[setting] for source in settings)
    return bool(current != default_value and current != LOOK.get(setting))


@contextmanager
def ignore_missing_glyphs() -> Iterator[None]:
    """Suppress matplotlib's warnings about missing glyphs: the letter is drawn as an empty box."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield


# --- texts, shown as they are: a name such as `$a_b` is no formula ---


def label_axes(panel: Any, across: str, up: str) -> None:
    """Label both axes, shortened to fit; a short y label is not rotated."""
    wide, high = panel.figure.bbox.size / panel.figure.dpi * 100 * 0.7
    panel.set_xlabel(fit_text(across, wide)).set_parse_math(False)
    upright = {"rotation": 0, "ha": "right", "va": "center"} if len(up) <= 3 else {}
    panel.set_ylabel(fit_text(up, high), **upright).set_parse_math(False)
    for axis in (panel.xaxis, panel.yaxis):
        if axis.isDefault_majfmt:  # and no names of rows
            axis.set_major_formatter(TickFormatter())
        if axis.get_scale() == "log":
            axis.set_minor_formatter(MinorLogFormatter())


class TickFormatter(Formatter):
    """Tick labels with as many digits as are needed to distinguish them, and a true minus sign."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """A text for each number."""
        near = 1e-3 * min((abs(b - a) for a, b in pairwise(values)), default=0.0)
        plain = [0.0 if abs(value) < near else value for value in values]
        true = (n for n in range(5, 17) if all(abs(float(f"{value:.{n}g}") - value) <= near for value in plain))
        digits = next(true, 17)
        return [format_number(value, digits) for value in plain]

    def __call__(self, value: float, place: int | None = None) -> str:
        return format_number(value)


class MinorLogFormatter(LogFormatter):
    """Minor tick labels of a log axis, shown if it spans few decades."""

    def __call__(self, value: float, place: int | None = None) -> str:
        return format_number(value) if super().__call__(value, place) else ""


def add_legend(figure: Figure, handles: Sequence[Any]) -> None:
    """A legend of artists by their labels above the panels, where it covers nothing; the figure grows by its lines."""
    if handles:
        wide, high = figure.get_size_inches()
        columns = fit_legend(handles, 100 * wide, 100 * wide - KEY)
        figure.set_size_inches(wide, high + -(-len(handles) // columns) * LINE * 1.2 / 100)
        add_legend_to(figure, handles, columns, loc="outside upper left", borderaxespad=0.3)


def add_legend_to_panel(panel: Any, handles: Sequence[Any]) -> None:
    """A legend between a panel's title and its axes; the figure grows by it, up to a screen."""
    figure = panel.figure
    wide = 100 * figure.get_figwidth() - 100  # beside the numbers of the axis
    columns = fit_legend(handles, wide, wide / min(4, len(handles)) - KEY)
    high = -(-len(handles) // columns) * LINE * 1.2
    placement = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0, "handlelength": 1.5}
    add_legend_to(panel, handles, columns, **placement)
    panel.set_title(panel.get_title("left"), pad=POINT * (high + 6))
    figure.set_figheight(max(figure.get_figheight(), min(TALLEST, figure.get_figheight() + high / 100)))


def fit_legend(handles: Sequence[Any], wide: float, widest: float) -> int:
    """Shorten the labels to `widest` pixels; return how many columns of them fit into this width."""
    for handle in handles:
        handle.set_label(fit_text(handle.get_label(), widest))
    widths = [text_width(handle.get_label()) + KEY for handle in handles]
    return len(handles) if sum(widths) <= wide else max(1, int(wide / max(widths)))


def add_legend_to(owner: Any, handles: Sequence[Any], columns: int, **where: Any) -> None:
    """Add a legend to a figure or to axes, with labels shown literally."""
    legend = owner.legend(
        handles, [str(index) for index in range(len(handles))],  # matplotlib would drop a text that begins with _
        alignment="left", ncols=columns, handletextpad=0.5, columnspacing=1.3, **where,
    )  # fmt: skip
    for text, handle in zip(legend.get_texts(), handles):
        text.set(text=handle.get_label(), parse_math=False)


def fill_style(colour: str, hatch: str) -> dict[str, Any]:
    """Fill, edge and hatch of a bar or cell in a theme colour; hatched, so that colour is not the only sign."""
    return {"facecolor": LIGHT[f"{colour}-ground"], "edgecolor": LIGHT[colour], "hatch": hatch}


def write_on_fill(panel: Any, x: float, y: float, text: str, colour: str, pad: float) -> None:
    """A text in the middle of a bar or cell, with no hatching behind its letters. pad: around it, in its height."""
    ground = {"boxstyle": f"round,pad={pad}", "facecolor": LIGHT[f"{colour}-ground"], "edgecolor": "none"}
    style = {"ha": "center", "va": "center", "color": LIGHT["ink"], "bbox": ground, "zorder": 4}
    panel.text(x, y, text, parse_math=False, **style)


def fit_text(text: str, wide: float, size: float = TEXT) -> str:
    """The text, without its middle where it has more than so many pixels.

    >>> fit_text("the loss of the first half of the sentences", 150)
    'the loss …sentences'
    """
    length = len(text)
    short = text
    while length > 2 and text_width(short, size) > wide:
        length -= 1
        short = f"{text[: (length + 1) // 2]}…{text[len(text) - length // 2 :]}"
    return short


def finish_figure(figure: Plot, title: str, save: Save) -> Plot:
    """Add the title, apply the user's figsize, and save if `save` is a path."""
    wrapped, size = fill(title, int(100 * figure.get_figwidth() / (0.66 * TITLE))), POINT * TITLE
    if title and figure.legends:  # matplotlib would draw a title of the figure over the legend
        figure.legends[0].set_title(wrapped, prop=font_manager.FontProperties(size=size))
        figure.legends[0].get_title().set_parse_math(False)
    elif title:
        figure.suptitle(wrapped, x=0.01, ha="left", fontsize=size, parse_math=False)
    if title:
        figure.set_figheight(figure.get_figheight() + (wrapped.count("\n") + 1) * TITLE * 1.4 / 100)
    if figure.figsize is not None:
        figure.set_size_inches(figure.figsize)
    if save is not None:
        figure.save(save)
    return figure


def draw_panel(
    draw: Callable[[Any], Sequence[Any]], size: tuple[float, float], title: str, save: Save, ax: Any, figsize: Any
) -> Any:
    """Make a figure with one panel that `draw` fills; or draw into the user's axes `ax`. draw returns the artists of
    the legend, whose labels are its texts."""
    if ax is not None:
        return finish_axes(ax, draw(ax), title)
    with our_style():
        figure = new_plot(size, figsize)
        add_legend(figure, draw(figure.subplots()))
        return finish_figure(figure, title, save)


def finish_axes(ax: Any, handles: Sequence[Any], title: str) -> Any:
    """Axes of a user's with legend and title, in their own style."""
    if handles:
        add_legend_to(ax, handles, 1)
    if title:
        ax.set_title(title, parse_math=False)
    return ax
