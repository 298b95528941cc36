"""What pages are made of: scripts, styles and frames that stand beside the code that fills them."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

from ..errors import NaiveGraphError
from .theme import LAYOUT, page_style

HERE = Path(__file__).parent
SPOKEN = re.compile(
    r'spoken\("([^"]+)"|button\((?=[^,]+, "([^"]+)")|CO[A-Z]+ED = "([^"]+)"|(?:KEYS|SPEEDS|LEVELS) = ([\[{].*?[\]}]);',
    re.DOTALL,
)
PAGE = "page | "  # before a text in a catalogue: its words are short, and may be names elsewhere


def piece(name: str) -> str:
    """A file as it is, by its place in here: "stepper/page.html"."""
    return (HERE / name).read_text(encoding="utf-8")


def packed(name: str) -> str:
    """A file of ours without indents and lines that only explain: it is in every output of a notebook."""
    lines = map(str.strip, piece(name).replace('"LAYOUT"', json.dumps(LAYOUT)).splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def page_of_its_own(title: str, body: str, policy: str) -> str:
    """A page that needs no network."""
    return piece("own.html").format(title=escape(title), body=body, policy=policy, style=root_style())


def root_style() -> str:
    """How a page of ours looks behind what it shows: one ground everywhere, also where it is dark."""
    return page_style(":root", "ground", "ink")


def in_words(text: str) -> str:
    """A text of a page's in the language that is wished; as it is where that has no word for it."""
    return NaiveGraphError.words(PAGE + text).removeprefix(PAGE)


def texts_of(*names: str) -> list[str]:
    """What these scripts say, but for the names of keys."""
    spoken = (text for name in names for texts in SPOKEN.findall(piece(name)) for text in texts if text)
    all_of = {phrase for text in spoken for phrase in (re.findall(r'"([^"]+)"', text) if text[0] in "[{" else [text])}
    return sorted(phrase for phrase in all_of if re.search("[a-z]{2}", phrase) and "  " not in phrase)
