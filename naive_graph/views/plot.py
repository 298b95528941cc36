"""Histories and walks as matplotlib figures.

Figures are built without pyplot, so that nothing stays open, nothing shows
twice in a notebook, and the same history gives the same bytes.
"""

from __future__ import annotations

import base64
import io
import math
import os
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engines.reference import evaluate
from ..errors import HistoryError, MissingToolError, NodeError
from ..handles import CURRENT
from ..nodes import Node, rows_of
from ..plan import plan_for
from .picture import write_whole

if TYPE_CHECKING:
    from .figure import Plot
    from .history import History

# Okabe and Ito's palette; line styles and markers differ too, so that colour is never the only sign.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
STYLES = ("-", "--", "-.", ":")
CURVE_POINTS, GRID_POINTS = 300, 70
CJK_FONTS = ("Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
             "Microsoft YaHei", "PingFang SC", "SimHei", "Arial Unicode MS")  # fmt: skip
LOOK = {
    "figure.facecolor": "white", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.6, "font.size": 10.5, "axes.titlesize": 11.5, "lines.linewidth": 1.8,
    "svg.hashsalt": "naive_graph", "legend.frameon": False, "axes.axisbelow": True,
}  # fmt: skip


def plot_histories(
    histories: Sequence[History],
    series: str | Sequence[str] | None,
    labels: Sequence[str] | None,
    log: bool,
    title: str,
    save: str | os.PathLike[str] | None,
) -> Plot:
    """One panel for each series, one line in it for each history."""
    if not any(len(history) for history in histories):
        raise HistoryError("There is nothing to plot: no step was recorded.")
    if labels is not None and len(labels) != len(histories):
        raise HistoryError(f"{len(histories)} histories need {len(histories)} labels, not {len(labels)}.")
    names = [series] if isinstance(series, str) else list(series or _all_names(histories))
    known = _all_names(histories)
    for name in names:
        if name not in known:
            raise HistoryError(f"There is no series {name!r} in this history. Recorded: {', '.join(known)}.")
    titles = list(labels) if labels else [f"history {place + 1}" for place in range(len(histories))]
    with _look([*names, *titles, title]):
        figure, panels = _panels(len(names))
        for panel, name in zip(panels, names):
            for place, history in enumerate(histories):
                if name in history.names:
                    _draw_series(panel, history[name], titles[place], place, log)
            panel.set_ylabel(name)
            if log:
                panel.set_yscale("log")
        panels[-1].set_xlabel("step")
        if len(histories) > 1:
            panels[0].legend()
        return _finished(figure, title, save)


def _all_names(histories: Sequence[History]) -> list[str]:
    return list(dict.fromkeys(name for history in histories for name in history.names))


def _panels(count: int) -> tuple[Plot, list[Any]]:
    figure = _figure((6.4, 1.2 + 2.3 * count))
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)
    return figure, [row[0] for row in panels]


def _draw_series(panel: Any, values: Sequence[float | None], label: str, place: int, log: bool) -> None:
    """A line with gaps where there is no number to show, and a mark where it is infinite or NaN."""
    plain = [math.nan if value is None or not math.isfinite(value) else value for value in values]
    shown = [math.nan if log and value <= 0 else value for value in plain]
    marker = "o" if len(shown) <= 30 else None
    panel.plot(
        range(len(shown)), shown, label=label, marker=marker, markersize=4,
        color=COLOURS[place % len(COLOURS)], linestyle=STYLES[place % len(STYLES)],
    )  # fmt: skip
    broken = [step for step, value in enumerate(values) if value is not None and not math.isfinite(value)]
    if broken:
        panel.plot(
            broken, [0.02] * len(broken), "x", transform=panel.get_xaxis_transform(),
            color="#d55e00", label=f"{len(broken)} not finite",
        )  # fmt: skip
        panel.legend()


# --- walks --------------------------------------------------------------------


def plot_walk(
    history: History, f: Node, x: Node, y: Node | None, title: str, save: str | os.PathLike[str] | None
) -> Plot:
    """The recorded walk, on the curve of f over x or on the contours over x and y."""
    surface = _Surface(f, [x] if y is None else [x, y])
    names, walk = _walk(history, x, y)
    with _look([*names, title, f.name or "f"]):
        figure = _figure((6.4, 4.4) if y is None else (6.2, 5.4))
        panel = figure.subplots()
        if y is None:
            _draw_curve(panel, surface, walk[0])
            panel.set_ylabel(f.name or "f")
        else:
            _draw_contours(figure, panel, surface, walk)
            panel.set_ylabel(names[1])
        panel.set_xlabel(names[0])
        panel.legend(frameon=True, facecolor="white", framealpha=0.9)
        return _finished(figure, title, save)


def _walk(history: History, x: Node, y: Node | None) -> tuple[list[str], list[list[float]]]:
    if not len(history):
        raise HistoryError("There is nothing to plot: no step was recorded.")
    found = [history.walked(x, "x")] + ([] if y is None else [history.walked(y, "y")])
    walk = [series for _, series in found]
    if not all(math.isfinite(value) for series in walk for value in series):
        raise HistoryError("The walk leaves the finite numbers; plot the part before: history[:n].plot_path(...).")
    return [name for name, _ in found], walk


class _Surface:
    """f as a function of one or two leaves, evaluated apart: the graph is left as it is."""

    def __init__(self, f: Node, leaves: Sequence[Node]) -> None:
        from ..derive import leaf_values

        rows_of([f, *leaves], "plot_path")
        self.plan = plan_for(CURRENT.tables, [f.row])
        self.values = leaf_values(self.plan)
        steps = {row: step for step, row in enumerate(self.plan.rows)}
        for leaf in leaves:
            if leaf.row not in steps or self.plan.rule(steps[leaf.row]) is not None:
                raise NodeError(f"plot_path moves leaves that f depends on; {CURRENT.tables.label(leaf.row)} is none.")
        self.steps = [steps[leaf.row] for leaf in leaves]

    def at(self, *point: float) -> float:
        values = self.values[:]
        for step, value in zip(self.steps, point):
            values[step] = value
        evaluate(self.plan, values)
        found = values[self.plan.targets[0]]
        return found if math.isfinite(found) else math.nan


def _range(walk: Sequence[float], count: int) -> list[float]:
    """Evenly spaced numbers over the walk and a margin around it."""
    low, high = min(walk), max(walk)
    margin = 0.35 * (high - low) or max(1.0, 0.5 * abs(low))
    return [low - margin + (high - low + 2 * margin) * place / (count - 1) for place in range(count)]


def _draw_curve(panel: Any, surface: _Surface, walk: Sequence[float]) -> None:
    grid = _range(walk, CURVE_POINTS)
    panel.plot(grid, [surface.at(value) for value in grid], color="#555555", label="f")
    heights = [surface.at(value) for value in walk]
    panel.plot(walk, heights, color=COLOURS[1], linestyle="none", marker=".", markersize=5, label="walk")
    _draw_ends(panel, (walk[0], heights[0]), (walk[-1], heights[-1]))


def _draw_contours(figure: Plot, panel: Any, surface: _Surface, walk: Sequence[Sequence[float]]) -> None:
    xs, ys = (_range(series, GRID_POINTS) for series in walk)
    heights = [[surface.at(x, y) for x in xs] for y in ys]
    if all(math.isnan(height) for row in heights for height in row):
        raise HistoryError("f is nowhere finite around this walk, so there are no contours to draw.")
    shades = panel.contourf(xs, ys, heights, levels=20, cmap="cividis", alpha=0.75)
    panel.contour(xs, ys, heights, levels=20, colors="#333333", linewidths=0.4)
    figure.colorbar(shades, ax=panel, label="f")
    panel.plot(walk[0], walk[1], color=COLOURS[1], marker=".", markersize=4, linewidth=1.2, label="walk")
    _draw_ends(panel, (walk[0][0], walk[1][0]), (walk[0][-1], walk[1][-1]))


def _draw_ends(panel: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    panel.plot(*start, "o", color="white", markeredgecolor="black", markersize=9, label="start", zorder=5)
    panel.plot(*end, "*", color=COLOURS[4], markeredgecolor="black", markersize=14, label="end", zorder=6)


# --- films --------------------------------------------------------------------


def animate_walk(history: History, f: Node, x: Node, y: Node | None, path: Path, frames: int) -> Path:
    """Write the growing walk as a .gif, or as .html that carries its pictures."""
    if path.suffix.lower() not in (".gif", ".html"):
        raise HistoryError(f"A film is saved as .gif or .html, not {path.suffix or 'without a suffix'!r}.")
    if not isinstance(frames, int) or frames < 1:
        raise HistoryError(f"A film has at least 1 frame, not {frames!r}.")
    _walk(history, x, y)
    last = len(history) - 1
    ends = sorted({round(last * place / max(1, frames - 1)) for place in range(frames)})
    pictures = [_frame(history, f, x, y, end) for end in ends]
    data = _gif(pictures) if path.suffix.lower() == ".gif" else _page(pictures)
    write_whole(path, data)
    return path


def _frame(history: History, f: Node, x: Node, y: Node | None, end: int) -> bytes:
    """The walk up to one step, as PNG. The axes are those of the whole walk."""
    names, walk = _walk(history, x, y)
    surface = _Surface(f, [x] if y is None else [x, y])
    with _look([*names]):
        figure = _figure((6.0, 4.4))
        panel = figure.subplots()
        if y is None:
            _draw_curve(panel, surface, walk[0])
            point = (walk[0][end], surface.at(walk[0][end]))
        else:
            _draw_contours(figure, panel, surface, walk)
            point = (walk[0][end], walk[1][end])
        panel.plot(*point, "o", color=COLOURS[1], markeredgecolor="black", markersize=11, zorder=7)
        panel.set_xlabel(names[0])
        panel.set_ylabel(names[1] if y is not None else f.name or "f")
        panel.set_title(f"step {end}")
        return figure.drawn("png", dpi=90)


def _gif(pictures: Sequence[bytes]) -> bytes:
    try:
        from PIL import Image
    except ImportError:
        raise MissingToolError('A gif needs Pillow: pip install "naive-graph[plot]".') from None
    images = [Image.open(io.BytesIO(picture)).convert("P", palette=Image.Palette.ADAPTIVE) for picture in pictures]
    buffer = io.BytesIO()
    images[0].save(buffer, format="GIF", save_all=True, append_images=images[1:], duration=100, loop=0)
    return buffer.getvalue()


def _page(pictures: Sequence[bytes]) -> bytes:
    frames = ",".join(f'"{base64.b64encode(picture).decode()}"' for picture in pictures)
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>A walk downhill</title>
<body style="font-family:sans-serif;background:white;color:black">
<img id="picture" alt="The walk, one step after another"><br>
<label>step <input id="at" type="range" min="0" max="{len(pictures) - 1}" value="0"></label>
<button id="play" type="button">pause</button>
<script>
const frames=[{frames}], at=document.getElementById("at"), play=document.getElementById("play");
const show=()=>{{document.getElementById("picture").src="data:image/png;base64,"+frames[at.value];}};
let running=!matchMedia("(prefers-reduced-motion: reduce)").matches;
const name=()=>{{play.textContent=running?"pause":"play";}};
at.oninput=()=>{{running=false;name();show();}}; play.onclick=()=>{{running=!running;name();}};
setInterval(()=>{{if(running){{at.value=(+at.value+1)%frames.length;show();}}}},120); name(); show();
</script></body></html>
""".encode()


# --- the sheet ----------------------------------------------------------------


@contextmanager
def _look(texts: Sequence[str]) -> Iterator[None]:
    """Our style while a figure is drawn, with a font for ideographs if a text has any."""
    matplotlib = _matplotlib()
    fonts = ["DejaVu Sans"]
    if any(unicodedata.east_asian_width(letter) in "WF" for text in texts for letter in text):
        from matplotlib import font_manager

        installed = {font.name for font in font_manager.fontManager.ttflist}
        fonts = [name for name in CJK_FONTS if name in installed][:1] + fonts
    with matplotlib.rc_context({**LOOK, "font.family": fonts}):
        yield


def _figure(size: tuple[float, float]) -> Plot:
    from .figure import Plot

    return Plot(figsize=size, layout="constrained")


def _finished(figure: Plot, title: str, save: str | os.PathLike[str] | None) -> Plot:
    if title:
        figure.suptitle(title)
    if save is not None:
        figure.save(save)
    return figure


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise MissingToolError('A plot needs matplotlib: pip install "naive-graph[plot]".') from None
    return matplotlib
