"""Render recorded steps as one self-contained HTML page: no network, no Python."""

from __future__ import annotations

import base64
from functools import cache
from html import escape

from ..assets import packed, read_asset, root_style, translate_page_text
from ..csp import csp_meta
from ..drawing.engine import graphviz_code
from ..steps.packing import StepperPayload
from ..theme import page_style

DRAWN = ("engine", "viewport", "axes", "compute", "controls")  # scripts of drawing/, which pictures use as well
SCRIPTS = (
    "figures", "columns", "words", "sweeps", "flow", "closeup", "marks", "picture", "charts", "panel", "live",
    "stepper",
)  # fmt: skip


@cache
def script() -> str:
    """The stepper's JavaScript, as one module for notebooks and pages."""
    stepper_scripts = [read_asset(f"stepper/{name}.js") for name in SCRIPTS]
    return "\n".join([*(packed(f"drawing/{name}.js") for name in DRAWN), *stepper_scripts])


@cache
def stepper_css() -> str:
    """The stepper's CSS."""
    drawn = packed("drawing/viewport.css") + packed("drawing/controls.css")
    return page_style(".ng-stepper") + drawn + read_asset("stepper/stepper.css")


def page(walk: StepperPayload) -> str:
    """The HTML of the page that shows this walk."""
    full_script = f"{script()}\n{walk.live}\nstart({'{ rules, trainers }' if walk.live else ''});\n"
    return fill_page("stepper/page.html", walk.title, walk.blob, full_script, stepper_css())


def fill_page(template: str, title: str, blob: bytes, full_script: str, css: str) -> str:
    """A page that shows packed data by a script. template: an HTML file of the views."""
    style = root_style() + css
    return read_asset(template).format(
        language=translate_page_text("en"),  # a catalogue says which language it is
        title=escape(title),
        blob=base64.b64encode(blob).decode(),
        dot=graphviz_code(),
        script=full_script,
        style=style,
        policy=csp_meta(full_script, style=style, dot=True),
    )


def page_frame(page: str, title: str, style: str) -> str:
    """An <iframe> that holds a whole page. title: as HTML."""
    return (
        f'<iframe sandbox="allow-scripts" title="{title}" style="{style}; border:0" '
        f'srcdoc="{escape(page, quote=True)}"></iframe>'
    )
