"""A walk in a notebook: a widget where a kernel answers, a still picture where scripts are not run."""

from __future__ import annotations

import base64
from contextlib import suppress
from hashlib import sha256
from html import escape
from typing import Any

from ...errors import DrawingError, MissingToolError
from ..steps.pages import Walk
from ..steps.steps import StepLog
from .page import page, stepper_file
from .stops import next_stop

HOW = "To step through it, run this cell in a notebook (File, Trust Notebook), or save it: steps.save('walk.html')."


def show(steps: StepLog) -> None:
    """Show a walk in a notebook: the still picture, and below it the widget, which hides the picture once it lives.

    They are two outputs. A page that an exporter makes would leave a widget's
    place blank, and has the picture; so has a notebook that is not trusted.
    """
    from IPython import display as shown

    display: Any = shown.display
    walk = Walk(steps)
    display(bundle(steps, walk), raw=True)
    with suppress(ImportError):
        display(_widget(walk))


def bundle(steps: StepLog, walk: Walk | None = None) -> dict[str, str]:
    """What stands for a walk where no kernel answers."""
    still, png = still_picture(walk or Walk(steps))
    try:
        import anywidget  # noqa: F401
    except ImportError:
        still = in_frame(steps, still)
    return {"text/html": still, "text/plain": repr(steps), **png}


def still_key(walk: Walk) -> str:
    """By what a widget finds its still picture: the same for the same walk, so that lessons are built alike."""
    picture = walk.casts[0].picture(room=False) if walk.casts else None
    return sha256(f"{walk.title} {walk.count} {picture and picture.svg}".encode()).hexdigest()[:16]


def still_picture(walk: Walk) -> tuple[str, dict[str, str]]:
    """The graph before the first step as an image, which also shows where scripts are dropped; and its PNG."""
    said = f"<p>{escape(walk.title)}: {walk.count:,} steps. {escape(HOW)}</p>"
    picture = walk.casts[0].picture(room=False) if walk.casts else None
    png: dict[str, str] = {}
    if picture is not None:
        data = base64.b64encode(picture.svg.encode()).decode()
        said = (
            f'<img style="max-width:100%" alt="{escape(walk.title)}: the graph before the first step" '
            f'src="data:image/svg+xml;base64,{data}">{said}'
        )
        with suppress(MissingToolError, DrawingError):  # the SVG stands without it
            png["image/png"] = base64.b64encode(picture.png).decode()
    return f'<div data-ng-still="{still_key(walk)}">{said}</div>', png


def in_frame(steps: StepLog, still: str) -> str:
    """The whole page in a frame, where anywidget is not installed; where frames are dropped, the picture behind it."""
    return (
        f'<div style="position:relative; min-height:680px">{still}<iframe sandbox="allow-scripts" title="stepper" '
        'style="position:absolute; top:0; left:0; width:100%; height:100%; border:0; background:Canvas" '
        f'srcdoc="{escape(page(steps), quote=True)}"></iframe></div>'
    )


def _widget(walk: Walk) -> Any:
    import anywidget
    import traitlets

    class Stepper(anywidget.AnyWidget):
        """One view of a walk, which asks for what it needs when it needs it."""

        _esm = stepper_file("stepper.js")
        _css = stepper_file("stepper.css")
        walk = traitlets.Dict().tag(sync=True)
        first_page = traitlets.Dict().tag(sync=True)
        index = traitlets.Int(0).tag(sync=True)
        still = traitlets.Unicode().tag(sync=True)

        def __init__(self, walk: Walk) -> None:
            self.pages = walk
            first = walk.page(0) if walk.count else {}
            super().__init__(walk=walk.contents(), first_page=first, still=still_key(walk))
            self.on_msg(self._asked)

        def _asked(self, _: Any, question: Any, __: Any) -> None:
            if isinstance(question, dict):
                self.send({"id": question.get("id"), "answer": answer(self.pages, question)})

    return Stepper(walk)


def answer(walk: Walk, question: dict[str, Any]) -> Any:
    """A page, or the index of the next stop; None for what the walk has not."""
    if "find" in question:
        stop, start, direction = question["find"], question["from"], question["direction"]
        return next_stop(walk.steps, stop["at"], set(stop["rows"]), start, direction)
    number = question.get("page")
    return walk.page(number) if isinstance(number, int) and number in walk.pages() else None
