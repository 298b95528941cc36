"""A walk as a film: a gif, or a page of its own that needs no network.

The ground is drawn once; on it only the walk moves.
"""

from __future__ import annotations

# First: it says which extra to install.
from ...core.number import shortened
from .figure import POINT, Recorded, least_width, our_style, quiet_about_glyphs

# isort: split
import io
import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ...core.progress import progress
from ...errors import HistoryError
from ...graph.nodes import Node
from ..assets import piece
from ..csp import policy
from ..drawing.picture import file_of, write_whole
from ..theme import LIGHT, TEXT, format_number, page_style, svg_style
from .walk import WALK, Stage, set_stage

DPI = 100
BESIDE = 140  # pixels of a page's height above and below its picture
PACE, PAUSE = 80, 1500  # milliseconds for a frame, and for the last


@dataclass
class Frame:
    """One moment: how much of the walk is behind, and what is said of it."""

    reached: int
    text: str


def animate_walk(history: Recorded, f: Node, x: Node, y: Node | None, path: Any, frames: int) -> Path:
    """Write the film that `History.animate` promises."""
    target = file_of(path, "A film", [".gif", ".html"], HistoryError)
    stage = set_stage(history, f, x, y)
    moments = [Frame(at, _said(stage, f.name or "f", at)) for at in choose_frames(len(stage.spots), frames)]
    write_whole(target, (_gif if target.suffix.lower() == ".gif" else _page)(stage, moments))
    return target


def choose_frames(steps: int, frames: int) -> list[int]:
    """So many of the steps at most, evenly spaced, with the first and the last."""
    if not isinstance(frames, int) or isinstance(frames, bool) or frames < 1:
        raise HistoryError(f"A film has at least 1 frame, not {shortened(frames)}.")
    return sorted({round((steps - 1) * place / max(1, frames - 1)) for place in range(frames)})


def _said(stage: Stage, name: str, at: int) -> str:
    point = stage.walk.points[at]
    said = zip([*stage.walk.names, name], [*point, stage.surface.at(*point)])
    return ",  ".join(
        [f"step {stage.walk.steps[at]:,}", *(f"{each} = {format_number(value, 6)}" for each, value in said)]
    )


# --- a gif --------------------------------------------------------------------


def _gif(stage: Stage, moments: list[Frame]) -> bytes:
    """The walk so far, once for each moment."""
    with our_style():
        room = int(60 * stage.figure.get_figwidth() / (0.64 * TEXT))  # letters of a line
        texts = {moment.text: fill(moment.text, room) for moment in moments}
        title = stage.panel.set_title(max(texts.values(), key=lambda text: text.count("\n")), parse_math=False)
        (way,) = stage.panel.plot([], [], color=WALK, linewidth=1.6, zorder=5)
        (here,) = stage.panel.plot([], [], "o", color=WALK, markeredgecolor=LIGHT["ink"], markersize=10, zorder=6)

        def show(moment: Frame) -> None:
            way.set_data(*zip(*stage.spots[: moment.reached + 1]))
            here.set_data(*zip(stage.spots[moment.reached]))
            title.set_text(texts[moment.text])

        return film(stage, [way, here, title], moments, show)


def film(stage: Stage, moving: Sequence[Any], moments: Sequence[Any], show: Callable[[Any], None]) -> bytes:
    """A gif with a frame for each moment. moving: what `show` changes on the ground, which is drawn once."""
    from PIL import Image

    pictures = []
    with quiet_about_glyphs():
        for artist in moving:
            artist.set_animated(True)
        canvas = _canvas(stage)
        ground = canvas.copy_from_bbox(stage.figure.bbox)
        for moment in progress(moments, label="frames"):
            canvas.restore_region(ground)
            show(moment)
            for artist in moving:
                artist.axes.draw_artist(artist)
            pictures.append(np.array(canvas.buffer_rgba())[..., :3])
    numbers, colours = _numbered(pictures)
    images = list(map(Image.fromarray, numbers))
    for image in images:
        image.putpalette(colours.astype(np.uint8).tobytes())
    buffer = io.BytesIO()
    paces = [PACE] * (len(images) - 1) + [PAUSE]
    images[0].save(buffer, format="GIF", save_all=True, append_images=images[1:], duration=paces, loop=0)
    return buffer.getvalue()


def _numbered(pictures: Sequence[Any]) -> tuple[list[Any], Any]:
    """Pictures as numbers of colours, and the colours: the 256 that the last has most, so that nothing flickers."""

    def parts(colours: Any) -> Any:
        return colours[:, None] >> np.array([16, 8, 0]) & 255

    packed = [picture @ np.array([1 << 16, 1 << 8, 1]) for picture in pictures]
    found, counts = np.unique(packed[-1], return_counts=True)
    kept, numbers = parts(found[np.argsort(-counts, kind="stable")][:256]), []
    for each in packed:
        colours, places = np.unique(each, return_inverse=True)
        nearest = np.square(parts(colours)[:, None] - kept).sum(axis=2).argmin(axis=1)
        numbers.append(nearest[places].reshape(each.shape).astype(np.uint8))
    return numbers, kept


def _canvas(stage: Stage) -> Any:
    """The ground, drawn."""
    stage.figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(stage.figure)
    canvas.draw()
    return canvas


# --- a page -------------------------------------------------------------------


def _page(stage: Stage, moments: list[Frame]) -> bytes:
    """The ground as one drawing, and in it, in its own measures, the walk as points."""
    figure = stage.figure
    ground = figure.drawn("svg").decode()  # first: it lays the figure out
    ground = re.sub(r' xmlns\S*="[^"]*"', "", ground[ground.index("<svg ") + len("<svg ") : ground.rindex("</svg>")])
    scale, width, height = 72 / figure.dpi, *(72 * inches for inches in figure.get_size_inches())
    spots = (scale * stage.panel.transData.transform(stage.spots)).tolist()
    points = [[round(x, 2), round(height - y, 2)] if math.isfinite(y) else None for x, y in spots]
    left, low, wide, high = (scale * each for each in stage.panel.bbox.bounds)
    told = {"points": points, "moments": [[moment.reached, moment.text] for moment in moments], "pace": PACE}
    words = {
        "style": page_style() + svg_style(f'fill="{WALK}" stroke="{WALK}" stroke="{LIGHT["ink"]}"'),
        "width": str(round(width / POINT)),
        "ratio": f"{width / height:.3f}",
        "beside": str(BESIDE),
        "least": str(least_width(width / POINT)),
        "colour": WALK,
        "ink": LIGHT["ink"],
        "ground": ground,
        "panel": f'x="{left:.2f}" y="{height - low - high:.2f}" width="{wide:.2f}" height="{high:.2f}"',
        "shown": json.dumps(told).replace("<", "\\u003c"),  # a name may hold "</script>"
    }
    page = piece("plots/film.html")
    script = page[page.index("<script>") + len("<script>") : page.index("</script>")]
    words["policy"] = policy(_filled(script, words))
    return _filled(page, words).encode()


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@(\w+)@", lambda found: words[found[1]], text)
