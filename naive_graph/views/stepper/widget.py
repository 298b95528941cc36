"""RecordedWalk, the base of Steps and Firings: it saves itself as a page, and shows itself in a notebook.

There it is an anywidget, with a static picture where scripts do not run.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from ...core.did_you_mean import Suggesting
from ...core.number import whole
from ...errors import DrawingError, MissingToolError, NodeError
from ..assets import translate_page_text
from ..drawing.picture import checked_path, graphviz_for_this_cell, save_atomically
from ..steps.packing import StepperPayload
from .page import page, page_frame, script, stepper_css

COUNT = "{count:,} steps."
HOW = "To step through it, run this cell in a notebook (File, Trust Notebook), or save it: steps.save('walk.html')."


class RecordedWalk(Suggesting, Sequence[Any]):
    """Recorded steps that a reader can go through in a browser."""

    _owner = "walk"

    def walk(self, title: str = "") -> StepperPayload:
        """The steps as a browser shows them."""
        raise NotImplementedError

    def at(self, step_indices: Sequence[int]) -> Iterator[Any]:
        """The steps with these indices, which must ascend."""
        wanted = set(step_indices)
        return (step for step in islice(self, max(wanted, default=-1) + 1) if step.index in wanted)

    def __getitem__(self, place: Any) -> Any:
        """A step by its number; a slice as a list of steps."""
        chosen = range(len(self))[place]
        if isinstance(chosen, int):
            return next(self.at([chosen]))
        steps_by_index = {step.index: step for step in self.at(sorted(chosen))}
        return [steps_by_index[index] for index in chosen]

    def table(self, first: int = 0, count: int = 60) -> str:
        """The steps as lines of text."""
        first, count = whole(first, "The first step"), whole(count, "The number of steps")
        return "\n".join(f"{step.index:5}  {step.sentence}" for step in self[first : first + count])

    def save(self, path: str | os.PathLike[str], title: str = "") -> Path:
        """Write the walk as one HTML page that needs nothing else: no network, no Python."""
        target = checked_path(path, "A walk", (".html", ".htm"), NodeError)
        save_atomically(target, page(self.walk(title)).encode())
        return target

    def _ipython_display_(self) -> None:
        """Display the static picture and below it the widget, which hides the picture once it runs.

        They are two outputs: exported pages and notebooks that are not trusted show no widget, but the picture.
        """
        from IPython import display as shown

        display: Any = shown.display
        payload = self.walk()
        display(static_bundle(payload, repr(self)), raw=True)
        with suppress(ImportError):
            display(_make_widget(payload))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return static_bundle(self.walk(), repr(self))


def static_bundle(walk: StepperPayload, said: str) -> dict[str, str]:
    """The MIME bundle of a picture, the graph halfway through the steps; without anywidget also the page, in a frame.

    said: the walk in a line of text.
    """
    bundle = {"text/plain": said}
    count, advice = translate_page_text(COUNT).format(count=walk.count), translate_page_text(HOW)
    markup = f"<p>{escape(walk.title)}: {escape(count)} {escape(advice)}</p>"
    if walk.picture is not None:
        with suppress(MissingToolError, DrawingError):  # each stands without the other
            data = base64.b64encode(walk.picture.svg.encode()).decode()
            markup = (
                f'<img style="max-width:100%" alt="{escape(walk.title)}: the graph half-way" '
                f'src="data:image/svg+xml;base64,{data}">{markup}'
            )
            bundle["image/png"] = base64.b64encode(walk.picture.png).decode()
    still = f'<div data-ng-still="{preview_key(walk)}">{markup}</div>'
    try:
        import anywidget  # noqa: F401
    except ImportError:  # it is not there, or does not go with what is
        still = embed_page(walk, still)
    return {**bundle, "text/html": still}


def preview_key(walk: StepperPayload) -> str:
    """A hash by which the widget finds its static picture in a page; deterministic, for reproducible lessons."""
    return sha256(f"{walk.title} {walk.count} {walk.picture and walk.picture.alt()}".encode()).hexdigest()[:16]


def embed_page(walk: StepperPayload, still: str) -> str:
    """The whole page in an <iframe>, used without anywidget; the static picture is behind it."""
    frame_style = "position:absolute; top:0; left:0; width:100%; height:100%; background:Canvas"
    frame = page_frame(page(walk), "stepper", frame_style)
    return f'<div style="position:relative; min-height:680px">{still}{frame}</div>'


def _make_widget(walk: StepperPayload) -> Any:
    import anywidget
    import traitlets

    class Stepper(anywidget.AnyWidget):
        """One view of a walk. The whole walk goes to the browser, so that it lives on when the kernel has ended."""

        _esm = script()
        _css = stepper_css()
        walk = traitlets.Bytes().tag(sync=True)
        index = traitlets.Int(0).tag(sync=True)
        still = traitlets.Unicode().tag(sync=True)
        dot = traitlets.Unicode().tag(sync=True)  # Graphviz, in one cell of the notebook for all
        live = traitlets.Unicode().tag(sync=True)  # JavaScript that computes the walk anew, see live_graph.py

    return Stepper(walk=walk.blob, still=preview_key(walk), dot=graphviz_for_this_cell(), live=walk.live)
