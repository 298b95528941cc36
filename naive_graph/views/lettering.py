"""Text and colours that both layouts share: what a label may hold, how wide it is, how a kind of box looks."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

FONT = "Helvetica,Arial,Noto Sans CJK SC,PingFang SC,Microsoft YaHei,WenQuanYi Micro Hei,sans-serif"
EDGE, PARTIAL, ORDINAL = "#555555", "#8a3b00", "#666666"
JOINERS = "\u200c\u200d"  # they shape the letters around them, and show nothing of their own
MOST_LETTERS = 40


class Look(NamedTuple):
    """How a kind of box looks. Kinds differ in shape and outline, not by colour alone."""

    shape: str
    fill: str
    line: str
    outline: str = "solid"
    thickness: int = 1
    ink: str = "#000000"


# Okabe and Ito's colours, lightened to a ground for black text.
LOOKS = {
    "constant": Look("box", "#f2f2f2", "#808080", "dashed"),
    "variable": Look("ellipse", "#d6ebf7", "#0072b2", thickness=2),
    "placeholder": Look("hexagon", "#fdf3d0", "#b37400", thickness=2),
    "operator": Look("rounded", "#ffffff", "#333333"),
    "absorbed": Look("rounded", "#ffffff", "#777777", "dotted", ink="#595959"),
    "scope": Look("box3d", "#e5f3ee", "#009e73", thickness=2),
    "rest": Look("plaintext", "none", "none"),
    "dot": Look("rounded", "#e5f3ee", "#009e73", thickness=3),
    "total": Look("box", "#e5f3ee", "#009e73", thickness=2),
    "task F": Look("rounded", "#d6ebf7", "#0072b2", thickness=2),
    "task B": Look("box", "#fdf3d0", "#b37400"),
    "task G": Look("ellipse", "#e5f3ee", "#009e73"),
}
FRAME = LOOKS["scope"].line


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


def shown(value: float, digits: int = 5) -> str:
    """So many significant digits, with a true minus sign.

    >>> shown(-0.181818182)
    '−0.18182'
    """
    return f"{value:.{digits}g}".replace("-", "−")


def ideographs(text: str) -> int:
    """How many letters are twice as wide as the others."""
    return sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)


def columns(lines: Sequence[str]) -> int:
    """The width of the widest line in letters; an ideograph counts as two."""
    return max((len(line) + ideographs(line) for line in lines), default=0)
