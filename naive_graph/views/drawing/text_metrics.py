"""Text in labels: make it printable, shorten it, and estimate its width."""

from __future__ import annotations

import re
import unicodedata

from ..theme import DIGITS, TEXT

JOINERS = "\u200c\u200d"  # zero-width characters that shape the letters around them
MOST_LETTERS = 40
# Widths of letters as shares of the font size; all others are 0.64.
WIDTHS = {
    letter: width
    for letters, width in (("ijlI.,:;'|! ", 0.32), ('frt()[]/\\-"', 0.41), ("mwMW@%&−×+=<>^~…", 0.9))
    for letter in letters
}


def visible(text: str, most: int = MOST_LETTERS) -> str:
    """A learner's text on one line, with what cannot be printed made visible.

    >>> visible("two\\nlines")
    'two⏎lines'
    """
    printable = "".join(map(_visible_letter, text))
    return printable if len(printable) <= most else f"{printable[: most - 3]}..."


def _visible_letter(letter: str) -> str:
    if letter in "\r\n":
        return "⏎"
    if letter == "\t":
        return "⇥"
    if letter.isprintable() or letter in JOINERS:
        return letter
    return " " if unicodedata.category(letter) == "Zs" else "�"


def round_numbers(formula: str) -> str:
    """A formula with its decimal numbers rounded to five digits.

    >>> round_numbers("t[i]/1.4142135623730951 + 1e-05")
    't[i]/1.4142 + 1e-05'
    """
    return re.sub(r"\b\d+\.\d+(e[-+]?\d+)?", lambda match: f"{float(match[0]):.{DIGITS}g}", formula)


def text_width(text: str, size: float = TEXT) -> float:
    """About how wide a text is, in a font as wide as DejaVu Sans: what fits there fits in others.

    >>> round(text_width("grad −0.18182 mWiljxx")), round(text_width("y[i] = Σ[a] W[i,a] * x[a]"))
    (157, 158)
    """
    double_width = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)  # such as Chinese ones: 1.0
    return size * sum(WIDTHS.get(letter, 0.64) for letter in text) + 0.36 * size * double_width
