"""Text that both layouts share: what a label may hold, and how wide it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

JOINERS = "\u200c\u200d"  # they shape the letters around them, and show nothing of their own
MOST_LETTERS = 40


def visible(text: str, most: int = MOST_LETTERS) -> str:
    """A learner's text on one line, with what cannot be printed made visible.

    >>> visible("two\\nlines")
    'two⏎lines'
    """
    shown = "".join(map(_visible_letter, text))
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def _visible_letter(letter: str) -> str:
    if letter in "\r\n":
        return "⏎"
    if letter == "\t":
        return "⇥"
    if letter.isprintable() or letter in JOINERS:
        return letter
    return " " if unicodedata.category(letter) == "Zs" else "�"


def ideographs(text: str) -> int:
    """How many letters are twice as wide as the others."""
    return sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def columns(lines: Sequence[str]) -> int:
    """The width of the widest line in letters; an ideograph counts as two."""
    return max((len(line) + ideographs(line) for line in lines), default=0)
