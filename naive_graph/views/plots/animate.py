"""Write an optimizer's path as an animated GIF: the background is drawn once; only path, point and title change.

matplotlib.animation would draw the contours anew for each frame, which takes four times as long.
"""

from __future__ import annotations

# First: it says which extra to install.
from ...core.number import shortened
from .figure import Plot, ignore_missing_glyphs, our_style

# isort: split
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ...core.progress import progress
from ...errors import HistoryError
from ...graph.nodes import Node
from ..drawing.picture import checked_path, save_atomically
from ..theme import LIGHT, TEXT, format_number
from .walk import SIZE, WALK, Walk, draw_background, plot_walk, read_walk

DPI = 100
PACE, PAUSE = 80, 1500  # milliseconds that each frame is shown, and the last one


def animate_walk(history: Any, f: Node, x: Node, y: Node | None, path: Any, frames: int) -> Path:
    """Implement `History.animate`: write the path as .gif, or as an interactive .html page."""
    target = checked_path(path, "A film", [".gif", ".html"], HistoryError)
    if target.suffix.lower() == ".html":
        plot: Plot = plot_walk(history, f, x, y, "", None)
        if plot.interactive is None:
            raise HistoryError("No page: it cannot compute this f. Save the film as .gif.")
        return plot.save(target)
    walk = read_walk(history, f, x, y)
    places = choose_frames(len(walk.spots), frames)
    with our_style():
        figure = Plot(figsize=SIZE, layout="constrained")
        panel = figure.subplots()
        draw_background(panel, walk, has_colorbar=True)
        room = int(60 * figure.get_figwidth() / (0.64 * TEXT))  # letters of a line
        texts = {place: fill(_caption(walk, place), room) for place in places}
        title = panel.set_title(max(texts.values(), key=lambda text: text.count("\n")), parse_math=False)
        (way,) = panel.plot([], [], color=WALK, linewidth=1.6, zorder=5)
        (point_mark,) = panel.plot([], [], "o", color=WALK, markeredgecolor=LIGHT["ink"], markersize=10, zorder=6)

        def show(place: int) -> None:
            way.set_data(*zip(*walk.spots[: place + 1]))
            point_mark.set_data(*zip(walk.spots[place]))
            title.set_text(texts[place])

        write_film(target, figure, [way, point_mark, title], places, show)
    return target


def choose_frames(steps: int, frames: int) -> list[int]:
    """At most `frames` of the steps, evenly spaced, including the first and the last."""
    if not isinstance(frames, int) or isinstance(frames, bool) or frames < 1:
        raise HistoryError(f"A film has at least 1 frame, not {shortened(frames)}.")
    return sorted({round((steps - 1) * index / max(1, frames - 1)) for index in range(frames)})


def _caption(walk: Walk, place: int) -> str:
    point = walk.points[place]
    numbers = zip([*walk.names, walk.name], [*point, walk.surface.at(*point)])
    parts = [f"{label_name} = {format_number(value, 6)}" for label_name, value in numbers]
    return ",  ".join([f"step {walk.steps[place]:,}", *parts])


def write_film(
    target: Path, figure: Plot, moving: Sequence[Any], places: Sequence[int], show: Callable[[int], None]
) -> None:
    """Write a GIF with a frame for each step; only the `moving` artists, which `show(step)` updates, are redrawn."""
    from PIL import Image

    images = []
    with ignore_missing_glyphs():
        for artist in moving:
            artist.set_animated(True)
        figure.set_dpi(DPI)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        ground = canvas.copy_from_bbox(figure.bbox)
        for place in progress(places, label="frames"):
            canvas.restore_region(ground)
            show(place)
            for artist in moving:
                artist.axes.draw_artist(artist)
            images.append(Image.fromarray(np.array(canvas.buffer_rgba())[..., :3]))
    buffer = io.BytesIO()
    paces = [PACE] * (len(images) - 1) + [PAUSE]
    images[0].save(buffer, format="GIF", save_all=True, append_images=images[1:], duration=paces, loop=0)
    save_atomically(target, buffer.getvalue())
