"""Render recorded steps as one self-contained HTML page: no network, no Python."""

from __future__ import annotations

import base64
from functools import cache
from html import escape

from ..assets import in_words, packed, piece, root_style
from ..csp import policy
from ..drawing.engine import graphviz_code
from ..steps.packing import PackedWalk
from ..theme import page_style

DRAWN = ("engine", "viewport", "axes", "compute", "controls")  # shared with pictures
SCRIPTS = (
    "figures", "columns", "words", "sweeps", "flow", "closeup", "marks", "picture", "charts", "panel", "live",
    "stepper",
)  # fmt: skip


@cache
def script() -> str:
    """The stepper's JavaScript, as one module for notebooks and pages."""
    stepper_scripts = [piece(f"stepper/{name}.js") for name in SCRIPTS]
    return "\n".join([*(packed(f"drawing/{name}.js") for name in DRAWN), *stepper_scripts])


@cache
def style() -> str:
    """The stepper's CSS."""
    drawn = packed("drawing/viewport.css") + packed("drawing/controls.css")
    return page_style(".ng-stepper") + drawn + piece("stepper/stepper.css")


def page(walk: PackedWalk) -> str:
    """The HTML of the page."""
    look = root_style() + style()
    full_script = f"{script()}\n{walk.live}\nstart({'{ rules, trainers }' if walk.live else ''});\n"
    return piece("stepper/page.html").format(
        language=in_words("en"),  # a catalogue says which language it is
        title=escape(walk.title),
        walk=base64.b64encode(walk.blob).decode(),
        dot=graphviz_code(),
        script=full_script,
        style=look,
        policy=policy(full_script, style=look, dot=True),
    )
