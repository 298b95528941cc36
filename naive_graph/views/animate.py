"""A walk as a film: a gif, or a page of its own that needs no network.

The ground is drawn once; on it only the walk moves.
"""

from __future__ import annotations

# First: it says which extra to install.
from .figure import COLOURS, Recorded, our_style, quiet_about_glyphs

# isort: split
import base64
import io
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ..core.progress import progress
from ..errors import HistoryError
from ..graph.nodes import Node
from .look import shown
from .picture import file_of, write_whole
from .walk import Stage, set_stage

DPI, SCALE = 100, 2  # a page's picture is drawn finer, for fine screens
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
    moments = [Frame(at, _said(stage, f.name or "f", at)) for at in chosen(len(stage.spots), frames)]
    write_whole(target, (_gif if target.suffix.lower() == ".gif" else _page)(stage, moments))
    return target


def chosen(steps: int, frames: int) -> list[int]:
    """So many of the steps at most, evenly spaced, with the first and the last."""
    if not isinstance(frames, int) or isinstance(frames, bool) or frames < 1:
        raise HistoryError(f"A film has at least 1 frame, not {frames!r}.")
    return sorted({round((steps - 1) * place / max(1, frames - 1)) for place in range(frames)})


def _said(stage: Stage, name: str, at: int) -> str:
    point = stage.walk.points[at]
    said = zip([*stage.walk.names, name], [*point, stage.surface.at(*point)])
    return ",  ".join([f"step {stage.walk.steps[at]:,}", *(f"{each} = {shown(value, 6)}" for each, value in said)])


# --- a gif --------------------------------------------------------------------


def _gif(stage: Stage, moments: list[Frame]) -> bytes:
    """The walk so far, once for each moment."""
    with our_style():
        title = stage.panel.set_title("step 0", loc="left", fontsize=10.5)
        title.set_parse_math(False)
        (way,) = stage.panel.plot([], [], color=COLOURS[1], linewidth=1.6, zorder=5)
        (here,) = stage.panel.plot([], [], "o", color=COLOURS[1], markeredgecolor="black", markersize=10, zorder=6)

        def show(moment: Frame) -> None:
            way.set_data(*zip(*stage.spots[: moment.reached + 1]))
            here.set_data(*zip(stage.spots[moment.reached]))
            title.set_text(moment.text)

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
                stage.panel.draw_artist(artist)
            pictures.append(Image.fromarray(np.array(canvas.buffer_rgba())[..., :3]))
    # One palette for all, without dithering: what stands still must not flicker.
    palette = pictures[-1].quantize(colors=128)
    images = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    nearly_white = 250  # Pillow finds the nearest colour only roughly; paper must be white
    for image in images:
        image.putpalette([255 if part >= nearly_white else part for part in image.getpalette() or ()])
    buffer = io.BytesIO()
    paces = [PACE] * (len(images) - 1) + [PAUSE]
    images[0].save(buffer, format="GIF", save_all=True, append_images=images[1:], duration=paces, loop=0)
    return buffer.getvalue()


def _canvas(stage: Stage) -> Any:
    """The ground, drawn."""
    stage.figure.set_dpi(DPI)
    canvas: Any = FigureCanvasAgg(stage.figure)
    canvas.draw()
    return canvas


# --- a page -------------------------------------------------------------------


def _page(stage: Stage, moments: list[Frame]) -> bytes:
    """The ground as one picture, and the walk as points over it."""
    with our_style():
        _canvas(stage)
        width, height = stage.figure.bbox.width, stage.figure.bbox.height
        spots = stage.panel.transData.transform(stage.spots)
    points = [[round(x, 2), round(height - y, 2)] if math.isfinite(y) else None for x, y in spots.tolist()]
    film = {"points": points, "moments": [[moment.reached, moment.text] for moment in moments], "pace": PACE}
    picture = base64.b64encode(stage.figure.drawn("png", dpi=SCALE * DPI)).decode()
    words = {"picture": picture, "width": round(width), "height": round(height), "colour": COLOURS[1]}
    page = Path(__file__).with_name("film.html").read_text(encoding="utf-8")
    for word, value in words.items():
        page = page.replace(f"@{word}@", escape(str(value)))
    # A name may hold "</script>".
    return page.replace("@shown@", json.dumps(film).replace("<", "\\u003c")).encode()
