"""A walk in a notebook: a widget where a kernel answers, a still picture where scripts are not run."""

from __future__ import annotations

import base64
from contextlib import suppress
from html import escape
from typing import Any

from ...errors import DrawingError, MissingToolError
from ..steps.pages import Walk
from ..steps.steps import StepLog
from .page import page, stepper_js

HOW = "To step through it, run this cell in a notebook (File, Trust Notebook), or save it: steps.save('walk.html')."


def bundle(steps: StepLog) -> Any:
    """What the notebook shows of a walk, in the forms that it may choose from."""
    walk = Walk(steps)
    still, png = still_picture(walk)
    shown = {"text/html": still, "text/plain": repr(steps), **png}
    try:
        import anywidget  # noqa: F401
    except ImportError:
        return {**shown, "text/html": in_frame(steps, still)}
    view = _widget(walk)._repr_mimebundle_()
    data, metadata = view if isinstance(view, tuple) else (view or {}, {})
    return {**data, **shown}, metadata


def still_picture(walk: Walk) -> tuple[str, dict[str, str]]:
    """The graph before the first step as an image, which also shows where scripts are dropped; and its PNG."""
    said = f"<p>{escape(walk.title)}: {walk.count:,} steps. {escape(HOW)}</p>"
    picture = walk.casts[0].picture(room=False) if walk.casts else None
    if picture is None:
        return said, {}
    data = base64.b64encode(picture.svg.encode()).decode()
    png: dict[str, str] = {}
    with suppress(MissingToolError, DrawingError):  # the SVG stands without it
        png["image/png"] = base64.b64encode(picture.png).decode()
    image = (
        f'<img style="max-width:100%" alt="{escape(walk.title)}: the graph before the first step" '
        f'src="data:image/svg+xml;base64,{data}">'
    )
    return image + said, png


def in_frame(steps: StepLog, still: str) -> str:
    """The whole page in a frame of its own, where anywidget is not installed."""
    return (
        f'<iframe sandbox="allow-scripts" style="width:100%; height:640px; border:0" title="stepper" '
        f'srcdoc="{escape(page(steps), quote=True)}"></iframe><noscript>{still}</noscript>'
    )


def _widget(walk: Walk) -> Any:
    import anywidget
    import traitlets

    class Stepper(anywidget.AnyWidget):
        """One view; pages are sent when the browser asks for them."""

        _esm = stepper_js()
        walk = traitlets.Dict().tag(sync=True)
        first_page = traitlets.Dict().tag(sync=True)
        index = traitlets.Int(0).tag(sync=True)

        def __init__(self, walk: Walk) -> None:
            self.pages = walk
            super().__init__(walk=walk.contents(), first_page=walk.page(0) if walk.count else {})
            self.on_msg(self._asked)

        def _asked(self, _: Any, message: Any, __: Any) -> None:
            number = message.get("page") if isinstance(message, dict) else None
            if isinstance(number, int) and number in self.pages.pages():
                self.send({"page": number, "steps": self.pages.page(number)})

    return Stepper(walk)
