"""A walk as one HTML page that needs nothing else: no network, no Python."""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from ...core.progress import progress
from ..steps.pages import PAGE, Walk
from ..steps.steps import StepLog

MOST_STEPS = 20_000  # that a page carries; of a longer walk, the first half and the last half of so many


@cache
def stepper_file(name: str) -> str:
    """stepper.js or stepper.css, which notebooks and pages share, or the frame of a page."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def page(steps: StepLog, title: str = "") -> str:
    """The page as text."""
    walk = Walk(steps, title)
    contents, note = whole(walk)
    script, style = f"{stepper_file('stepper.js')}\nstart();\n", stepper_file("stepper.css")
    return stepper_file("page.html").format(
        title=escape(walk.title),
        walk=as_data(contents),
        note=note,
        script=script,
        script_digest=_digest(script),
        style=style,
        style_digest=_digest(style),
    )


def _digest(text: str) -> str:
    """By which the page's policy knows its own script and style, and lets no other in."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def whole(walk: Walk) -> tuple[dict[str, Any], str]:
    """The walk with its pages, and what to say if the middle is left out."""
    contents = walk.contents()
    if walk.count <= MOST_STEPS:
        contents["pages"] = {str(number): walk.page(number) for number in progress(walk.pages(), label="pages")}
        return contents, ""
    kept = MOST_STEPS // PAGE // 2
    chosen = [*walk.pages()[:kept], *walk.pages()[-kept:]]
    pages = [walk.page(number) for number in progress(chosen, label="pages")]
    return _joined(contents, pages), (
        f"<p>The walk has {walk.count:,} steps. This page carries the first and the last "
        f"{kept * PAGE:,}; see all of them in a notebook.</p>\n"
    )


def _joined(contents: dict[str, Any], pages: list[dict[str, Any]]) -> dict[str, Any]:
    """Pages from the two ends, numbered as one walk. A short last page stays last."""
    place: dict[int, int] = {}
    for number, each in enumerate(pages):
        each["first"] = number * PAGE
        for at, step in enumerate(each["steps"]):
            place[step["i"]] = each["first"] + at
    contents["total"], contents["count"] = contents["count"], len(place)
    contents["pages"] = {str(number): each for number, each in enumerate(pages)}
    contents["iterations"] = [place[index] for index in contents["iterations"] if index in place] or [0]
    return contents


def as_data(contents: Any) -> str:
    """JSON that can stand inside a page: no character of it can end the element or begin another."""
    text = json.dumps(contents, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
