"""A walk as one HTML page that needs nothing else: no network, no Python."""

from __future__ import annotations

import base64
from functools import cache
from html import escape
from pathlib import Path

from ..drawing.engine import packed_code
from ..drawing.picture import packed_file
from ..look import page_style
from ..policy import policy
from ..steps.packing import PackedWalk

DRAWN = ("engine", "stage", "axes", "compute", "steer")  # shared with pictures
SCRIPTS = (
    "figures",
    "columns",
    "words",
    "sweeps",
    "flow",
    "closeup",
    "marks",
    "picture",
    "charts",
    "panel",
    "live",
    "stepper",
)


@cache
def stepper_file(name: str) -> str:
    """A file that a browser runs or shows, or the frame of a page."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """All that a browser runs, as one module: notebooks and pages share it."""
    own = [stepper_file(f"{name}.js") for name in SCRIPTS]
    return "\n".join([*(packed_file(f"{name}.js") for name in DRAWN), *own])


@cache
def style() -> str:
    """How it looks, in the colours of all views."""
    return page_style(".ng-stepper") + packed_file("stage.css") + packed_file("steer.css") + stepper_file("stepper.css")


def page(walk: PackedWalk) -> str:
    """The page as text."""
    whole = f"{script()}\n{walk.live}\nstart({'{ rules, trainers }' if walk.live else ''});\n"
    return stepper_file("page.html").format(
        title=escape(walk.title),
        walk=base64.b64encode(walk.blob).decode(),
        dot=packed_code(),
        script=whole,
        style=style(),
        policy=policy(whole, style=style(), dot=True),
    )
