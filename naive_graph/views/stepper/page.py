"""A walk as one HTML page that needs nothing else: no network, no Python."""

from __future__ import annotations

import base64
from functools import cache
from html import escape
from pathlib import Path

from ..look import page_style
from ..policy import policy
from ..steps.packing import Walk

SCRIPTS = ("figures", "columns", "words", "sweeps", "flow", "closeup", "marks", "picture", "charts", "panel", "stepper")


@cache
def stepper_file(name: str) -> str:
    """A file that a browser runs or shows, or the frame of a page."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """All that a browser runs, as one module: notebooks and pages share it."""
    return "\n".join(stepper_file(f"{name}.js") for name in SCRIPTS)


@cache
def style() -> str:
    """How it looks, in the colours of all views."""
    return page_style(".ng-stepper") + stepper_file("stepper.css")


def page(walk: Walk) -> str:
    """The page as text."""
    whole = f"{script()}\nstart();\n"
    return stepper_file("page.html").format(
        title=escape(walk.title),
        walk=base64.b64encode(walk.blob).decode(),
        script=whole,
        style=style(),
        policy=policy(whole, style=style()),
    )
