"""Show recorded steps in a notebook: an anywidget, with a static picture where scripts do not run."""

from __future__ import annotations

import base64
from contextlib import suppress
from hashlib import sha256
from html import escape
from typing import Any

from ...errors import DrawingError, MissingToolError
from ..assets import translate_page_text
from ..drawing.picture import graphviz_for_this_cell
from ..steps.packing import StepperPayload
from .page import page, script, stepper_css

COUNT = "{count:,} steps."
HOW = "To step through it, run this cell in a notebook (File, Trust Notebook), or save it: steps.save('walk.html')."


def show_in_notebook(walk: StepperPayload, said: str) -> None:
    """Display the static picture and below it the widget, which hides the picture once it runs.

    They are two outputs, since exported pages and notebooks that are not trusted show no widget: they have the picture.
    """
    from IPython import display as shown

    display: Any = shown.display
    display(static_bundle(walk, said), raw=True)
    with suppress(ImportError):
        display(_make_widget(walk))


def static_bundle(walk: StepperPayload, said: str) -> dict[str, str]:
    """The MIME bundle of the picture; without anywidget, of the page in a frame. said: the walk in a line of text."""
    still, png = static_preview(walk)
    try:
        import anywidget  # noqa: F401
    except ImportError:
        still = embed_page(walk, still)
    return {"text/html": still, "text/plain": said, **png}


def preview_key(walk: StepperPayload) -> str:
    """A hash by which the widget finds its static picture in a page; deterministic, for reproducible lessons."""
    return sha256(f"{walk.title} {walk.count} {walk.picture and walk.picture.alt()}".encode()).hexdigest()[:16]


def static_preview(walk: StepperPayload) -> tuple[str, dict[str, str]]:
    """HTML with an image of the graph halfway through the steps, and the same as PNG for the MIME bundle."""
    count, advice = translate_page_text(COUNT).format(count=walk.count), translate_page_text(HOW)
    markup = f"<p>{escape(walk.title)}: {escape(count)} {escape(advice)}</p>"
    png: dict[str, str] = {}
    if walk.picture is not None:
        with suppress(MissingToolError, DrawingError):  # each stands without the other
            data = base64.b64encode(walk.picture.svg.encode()).decode()
            markup = (
                f'<img style="max-width:100%" alt="{escape(walk.title)}: the graph half-way" '
                f'src="data:image/svg+xml;base64,{data}">{markup}'
            )
            png["image/png"] = base64.b64encode(walk.picture.png).decode()
    return f'<div data-ng-still="{preview_key(walk)}">{markup}</div>', png


def embed_page(walk: StepperPayload, still: str) -> str:
    """The whole page in an <iframe>, used without anywidget; the static picture is behind it."""
    return (
        f'<div style="position:relative; min-height:680px">{still}<iframe sandbox="allow-scripts" title="stepper" '
        'style="position:absolute; top:0; left:0; width:100%; height:100%; border:0; background:Canvas" '
        f'srcdoc="{escape(page(walk), quote=True)}"></iframe></div>'
    )


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
