"""Animate a classifier's decision boundary: its answer over a 2-D input plane at each recorded training step.

The boundary is where the answer is 0. A page plays the frames, each with the colours of the answers, the boundary and
the misclassified points; a static image shows up to four of them.
"""

from __future__ import annotations

# First: it says which extra to install.
from .figure import WIDE, Plot, Save, finish_axes, finish_figure, fit_text, label_axes, new_plot, our_style

# isort: split
import base64
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from inspect import signature
from typing import Any

import numpy as np

from ...core.number import as_list, number
from ...core.progress import progress
from ...errors import HistoryError
from ..assets import packed, translate_page_text
from ..theme import COLD, LIGHT, SERIES, WARM, format_number, heatmap_color, page_style
from .animate import choose_frames
from .surface import LARGEST

ACROSS, UP = 41, 27  # columns and rows of the grid of inputs for which the answer is computed
TINT = 0.75  # opacity of the colour where the answer is farthest from 0, so that points stand out on it
BANDS = 10  # bands of colour in a static image
STILLS = (0.0, 0.05, 0.3, 1.0)  # the frames of a static image, as shares of the film: it moves most at its beginning
MARKS = ((True, "o", "gradient"), (False, "^", "queued"))  # whether a label is above 0, its marker and its colour
CAPTION = "step {step}: {name} = {value}, {right} of {count} right"
CAPTION_WITHOUT_VALUE = "step {step}: {right} of {count} right"  # where the series has no value

Answer = Callable[[dict[str, float], float, float], Any]


@dataclass
class FilmFrame:
    """One step of training: the answers over the plane, and which points are misclassified."""

    step: int
    text: str  # the caption in English, for images: their fonts may lack other letters
    told: str  # the caption in the reader's language, for pages
    answers: Any  # an array of UP rows, the lowest y first
    wrong: list[int]  # indices of the misclassified points


@dataclass(frozen=True)
class InputPlane:
    """The rectangle of inputs that is evaluated, the names of its axes, and the labelled points."""

    names: tuple[str, str]
    sides: tuple[tuple[float, float], tuple[float, float]]
    points: list[tuple[float, float, float]]

    def grid(self) -> list[Any]:
        """The x of each column and the y of each row for which the answer is computed."""
        return [np.linspace(*side, count) for side, count in zip(self.sides, (ACROSS, UP))]

    def colours(self, answers: Any, most: float) -> Any:
        """An RGBA array of the answers: sign as hue, size (of at most `most`) as opacity, for light and dark pages."""
        share = np.nan_to_num(np.clip(answers / most, -1, 1))
        tones = [[int(tone[start : start + 2], 16) for start in (1, 3, 5)] for tone in (COLD[0], WARM[0])]
        opaque = np.rint(255 * TINT * abs(share))[..., None]
        return np.concatenate([np.where(share[..., None] > 0, tones[1], tones[0]), opaque], axis=2).astype(np.uint8)

    def draw(self, panel: Any, moment: FilmFrame, most: float) -> None:
        """Draw one frame into matplotlib axes."""
        grid = self.grid()
        bands = [heatmap_color((2 * band + 1) / BANDS - 1)[0] for band in range(BANDS)]
        levels = np.linspace(-most, most, BANDS + 1)
        coarse = [*(axis[::2] for axis in grid), np.ma.masked_invalid(moment.answers[::2, ::2])]  # for a small file
        panel.contourf(*coarse, levels=levels, colors=bands, extend="both")
        if _has_zero_line(moment.answers):
            panel.contour(*grid, moment.answers, levels=[0], colors=LIGHT["ink"], linewidths=1.2)
        for is_above, mark, colour in MARKS:
            spots = np.array([(x, y) for x, y, label in self.points if (label > 0) == is_above]).reshape(-1, 2)
            panel.plot(*spots.T, mark, color=LIGHT[colour], markersize=4, linestyle="none")
        wrong = np.array([self.points[index][:2] for index in moment.wrong]).reshape(-1, 2)
        style = {"markerfacecolor": "none", "markeredgecolor": LIGHT["now"], "markersize": 8, "linestyle": "none"}
        panel.plot(*wrong.T, "o", **style)
        panel.set(xlim=self.sides[0], ylim=self.sides[1])
        label_axes(panel, *self.names)


@dataclass(frozen=True)
class BoundaryFilm:
    """The interactive film for a page: a base figure, and for each frame an overlay (image, boundary, marks)."""

    ground: Plot
    panels: tuple[Any, Any]  # that of the plane, and that of the series below
    plane: InputPlane
    moments: list[FilmFrame]  # the frames
    most: float  # the largest absolute answer in any frame

    def html(self, image: str) -> str:
        """The static pictures, and the film that replaces them where scripts run."""
        ground = self.ground._image()  # first: it lays the panels out
        spots = np.round(self.pixels((x, y) for x, y, _ in self.plane.points), 1).tolist()
        facts = {"moments": [self._frame_data(moment) for moment in self.moments], "points": spots}
        wide, high = (100 * inch for inch in self.ground.get_size_inches())
        (left, bottom), (right, top) = self.pixels(zip(*self.plane.sides))
        across, tall = right - left, bottom - top
        inside = f'x="{left:.1f}" y="{top:.1f}" width="{across:.1f}" height="{tall:.1f}"'
        dx, dy = across / (ACROSS - 1), tall / (UP - 1)  # a grid point is the middle of a cell of the image
        field = (
            f'<image preserveAspectRatio="none" x="{left - dx / 2:.2f}" y="{top - dy / 2:.2f}" '
            f'width="{across + dx:.2f}" height="{tall + dy:.2f}"/>'
        )
        marks = ""
        for (x, y), (_, _, label) in zip(spots, self.plane.points):
            shape = f'<circle cx="{x}" cy="{y}" r="3.6"/>' if label > 0 else f'<path d="M{x},{y - 4.4}l4.4,8h-8.8z"/>'
            marks += f'<g class="ng-{"above" if label > 0 else "below"}">{shape}</g>'
        over = (
            f'<svg class="ng-over" viewBox="0 0 {wide:.0f} {high:.0f}" aria-hidden="true">'
            f'<svg {inside} viewBox="{left:.1f} {top:.1f} {across:.1f} {tall:.1f}">{field}<path class="ng-zero"/>'
            f'{marks}<path class="ng-wrong"/></svg><path class="ng-now"/></svg>'
        )
        return (
            f'<div class="ng-film" data-film="{escape(json.dumps(facts))}"><div class="ng-stills">{image}</div>'
            f'<div class="ng-plotted">{ground}{over}</div></div>'
            f"<style>{page_style('.ng-film')}{packed('plots/decision_boundary_film.css')}</style><script>{self.script()}</script>"
        )

    def script(self) -> str:
        code = packed("plots/decision_boundary_film.js")
        for text in ("play", "pause", "step"):
            code = code.replace(f'"{text}"', json.dumps(translate_page_text(text)))
        return f"{{{code}}}"

    def pixels(self, points: Iterable[Any], panel: int = 0) -> Any:
        """Points (x, y) of a panel as pixels from the page's left top."""
        inches = self.panels[panel].transData.transform([*points]) / self.ground.dpi
        return 100 * (inches * (1, -1) + (0, self.ground.get_figheight()))

    def _frame_data(self, moment: FilmFrame) -> list[Any]:
        """A frame as JSON data: caption, image, decision boundary, misclassified points, marker in the lower panel."""
        image, zero = _png_data_url(self.plane.colours(moment.answers, self.most)[::-1]), ""
        if _has_zero_line(moment.answers):
            for line in Plot().subplots().contour(*self.plane.grid(), moment.answers, levels=[0]).allsegs[0]:
                zero += "M" + "L".join(f"{x:.0f},{y:.0f}" for x, y in self.pixels(line))
        (x, bottom), (_, top) = self.pixels([(moment.step, end) for end in self.panels[1].get_ylim()], 1)
        return [moment.told, image, zero, moment.wrong, f"M{x:.1f},{top:.1f}v{bottom - top:.1f}"]


def make_film(
    history: Any, answer: Answer, points: Sequence[Any], series: str | None, frames: int, title: str, save: Save,
    *, ax: Any = None, figsize: tuple[float, float] | None = None,
) -> Any:  # fmt: skip
    """The figure that `History.film` returns, or the axes that it was given, with the last frame drawn into them."""
    if not history.names:
        raise HistoryError("There is nothing to film: this history is empty. Record what it answers by at each step.")
    plane, name = _make_plane(answer, points), series or history.names[0]
    recorded = history[name]  # raises HistoryError if there is no such series
    steps = choose_frames(len(recorded), frames) if ax is None else [len(recorded) - 1]
    moments = [_evaluate_frame(history, answer, plane, name, step) for step in progress(steps, label="frames")]
    most = max((float(np.nanmax(abs(moment.answers), initial=0.0)) for moment in moments), default=0.0) or 1.0
    if ax is not None:
        plane.draw(ax, moments[-1], most)
        return finish_axes(ax, [], title)
    with our_style():
        ground = Plot(figsize=(WIDE, 4.6), layout="constrained")
        upper, lower = ground.subplots(2, 1, height_ratios=[3, 1])
        upper.set(xlim=plane.sides[0], ylim=plane.sides[1])
        _draw_series(lower, recorded, name)
        label_axes(upper, *plane.names)
        ground.told = f"The answer over {' and '.join(plane.names)}, and below it {name} at each step."
        figure = _draw_stills(plane, moments, most, figsize)
        figure.interactive = BoundaryFilm(ground, (upper, lower), plane, moments, most)
        return finish_figure(figure, title, save)


def _make_plane(answer: Answer, points: Sequence[Any]) -> InputPlane:
    """The plane around the points, with axis names from the parameters of `answer`. Raises HistoryError."""
    try:
        names = [*signature(answer).parameters]
    except (TypeError, ValueError):  # it is no function, or a builtin that does not say
        names = []
    if len(names) != 3:
        raise HistoryError("A film asks a function of what was recorded at a step and two numbers: answer(step, x, y).")
    asked, samples = "points (x, y, label)", []
    for point in as_list(points, "film", asked):
        samples.append(tuple(number(part, "A point of a film") for part in as_list(point, "film", asked)))
    if not samples or any(len(point) != 3 for point in samples):
        raise HistoryError("A film takes points (x, y, label), at least one; a label is above or below 0.")
    low, high = np.min(samples, axis=0), np.max(samples, axis=0)
    room = 0.15 * (high - low) + 0.5 * (high == low)
    across, up, _ = zip((low - room).tolist(), (high + room).tolist())
    return InputPlane((names[1], names[2]), (across, up), samples)  # type: ignore[arg-type]


def _evaluate_frame(history: Any, answer: Answer, plane: InputPlane, name: str, step: int) -> FilmFrame:
    """Evaluate the frame of a step: the answers on a grid, and the misclassified points. name: the series below."""
    recorded = history[step]

    def answer_at(x: float, y: float) -> float:
        value = number(answer(dict(recorded), x, y), "An answer of a film")
        return value if abs(value) < LARGEST else float("nan")

    across, up = (axis.tolist() for axis in plane.grid())
    answers = np.array([[answer_at(x, y) for x in across] for y in up])
    wrong = [index for index, (x, y, label) in enumerate(plane.points) if not answer_at(x, y) * label > 0]
    count = len(plane.points)
    facts = {"step": f"{step:,}", "name": name, "right": f"{count - len(wrong):,}", "count": f"{count:,}"}
    value = recorded.get(name)
    text = CAPTION_WITHOUT_VALUE if value is None else CAPTION
    facts["value"] = "" if value is None else format_number(value, 4)
    return FilmFrame(step, text.format(**facts), translate_page_text(text).format(**facts), answers, wrong)


def _draw_stills(
    plane: InputPlane, film_frames: list[FilmFrame], answer_limit: float, figsize: tuple[float, float] | None
) -> Plot:
    """The static image: four frames, or as many as there are, in rows of two. answer_limit: of the colours."""
    moments = [film_frames[index] for index in sorted({round(part * (len(film_frames) - 1)) for part in STILLS})]
    rows = -(-len(moments) // 2)
    figure = new_plot((WIDE * min(1.7, len(moments)), 2.5 * rows), figsize)
    panels = figure.subplots(rows, min(2, len(moments)), squeeze=False, sharex=True, sharey=True)
    for moment, panel in zip(moments, panels.flat):
        plane.draw(panel, moment, answer_limit)
        panel.label_outer()
        panel.set_title(fit_text(moment.text, 76 * WIDE), parse_math=False)
    for empty in panels.flatten()[len(moments) :]:
        empty.remove()
    figure.told = f"The answer over {' and '.join(plane.names)}, from {film_frames[0].text}, to {film_frames[-1].text}."
    return figure


def _has_zero_line(answers: Any) -> bool:
    """Whether the boundary runs through the plane: some answers are below 0 and some above."""
    return bool((answers < 0).any() and (answers > 0).any())


def _draw_series(panel: Any, values: Sequence[float | None], name: str) -> None:
    """A series of the history, under its film."""
    finite = [(step, value) for step, value in enumerate(values) if value is not None and abs(value) < LARGEST]
    panel.plot(*np.reshape(finite, (-1, 2)).T, color=SERIES[0][0])
    label_axes(panel, "step", "")
    panel.set_title(fit_text(name, 90 * WIDE), parse_math=False)
    panel.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)


def _png_data_url(colours: Any) -> str:
    """An RGBA array as a PNG image in a data URL."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(colours).save(buffer, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
