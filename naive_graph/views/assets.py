"""Load the HTML, JavaScript and CSS files of the views; wrap a page; translate texts of pages."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from ..errors import NaiveGraphError
from .theme import LAYOUT, page_style

HERE = Path(__file__).parent
PAGE = "page | "  # prefix of page texts in a catalogue of translations: a short word may mean another thing elsewhere


def read_asset(name: str) -> str:
    """Read a file of the views by its path below this folder, such as "stepper/page.html"."""
    return (HERE / name).read_text(encoding="utf-8")


def packed(name: str) -> str:
    """Read a script or style without indents and `//` lines, to be short: every output in a notebook has a copy."""
    lines = map(str.strip, read_asset(name).replace('"LAYOUT"', json.dumps(LAYOUT)).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def standalone_page(title: str, body: str, policy: str) -> str:
    """A complete HTML document around `body`. policy: its Content-Security-Policy, see csp.py."""
    return read_asset("own.html").format(title=escape(title), body=body, policy=policy, style=root_style())


def root_style() -> str:
    """CSS of a page's root: background and text colour, in light and dark mode."""
    return page_style(":root", "ground", "ink")


def translate_page_text(text: str) -> str:
    """Translate a text of a page into the chosen language; unchanged if the catalogue lacks it."""
    return NaiveGraphError.texts().get(PAGE + text, text)


def page_translations() -> dict[str, str]:
    """All texts of pages that have a translation into the chosen language, by text."""
    texts = NaiveGraphError.texts().items()
    return {text.removeprefix(PAGE): translation for text, translation in texts if text.startswith(PAGE)}
