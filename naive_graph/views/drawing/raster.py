"""PNG and PDF of a picture, made from its SVG: the same fonts, colours and places."""

from __future__ import annotations

import re
from functools import cache

from ...errors import DrawingError, MissingToolError
from ..look import OTHER_FONTS

ZOOM = 4 / 3  # pixels of a PNG for one of the drawing
# Fonts as wide as our boxes allow; the first that this machine has. Others lend the letters that it lacks.
FAMILIES = ("Arial", "Helvetica", "Liberation Sans", "DejaVu Sans", "Noto Sans", "Segoe UI", "Verdana", "Ubuntu")
NOBODY_S = "\U0010fffd"  # a letter that no font has


def png_of(svg: str) -> bytes:
    """The picture as PNG. Raises MissingToolError without resvg-py, DrawingError for letters that no font here has."""
    return _rendered(svg, _checked(svg, "PNG"), ZOOM)


def pdf_of(svg: str) -> bytes:
    """The picture as PDF. Raises MissingToolError without cairosvg, DrawingError as `png_of` does."""
    try:
        import cairosvg
    except (ImportError, OSError):  # OSError: without the system's cairo
        raise MissingToolError(
            'A PDF needs cairosvg, and cairo on the system: pip install "naive-graph[pdf]". SVG and PNG do without.'
        ) from None
    family = _checked(svg, "PDF")
    # No font lends letters to another there.
    other = next((each for each in OTHER_FONTS if _is_here(each)), family)
    fonted = re.sub(r"<text (?=[^<]*[\u2e80-\U0010ffff])", f'<text font-family="{other}" ', _plain(svg))
    made: bytes = cairosvg.svg2pdf(bytestring=fonted.encode())
    return made


def _checked(svg: str, form: str) -> str:
    """The font of a picture in which every letter can be written."""
    family = next(filter(_is_here, FAMILIES), None)
    if family is None:
        raise DrawingError(f"No {form}: this machine has no fonts. Install some (fonts-dejavu), or save it as .svg.")
    lacking = "".join(letter for letter in _letters(svg) if not _has(letter, family))
    if lacking:
        raise DrawingError(
            f"No {form}: no font on this machine has {lacking[:20]!r}. Install one that has, such as Noto Sans CJK "
            "(fonts-noto-cjk) for Chinese, or save the picture as .svg, to be shown where there is one."
        )
    return family


def _plain(svg: str) -> str:
    """The SVG in its light colours alone: neither tool knows `light-dark`."""
    return re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)


def _rendered(svg: str, family: str, zoom: float = 1.0) -> bytes:
    try:
        import resvg_py
    except ImportError:
        raise MissingToolError('A PNG needs resvg-py: pip install "naive-graph[draw]". SVG does without.') from None
    named = re.sub(r'font-family="[^"]*"', f'font-family="{family}"', _plain(svg))
    wide = re.search(r'<svg [^>]*?width="(\d+)"', named)
    across = round(int(wide[1]) * zoom) if wide else None
    return bytes(resvg_py.svg_to_bytes(svg_string=named, sans_serif_family=family, width=across))


def _letters(svg: str) -> list[str]:
    """The letters of the picture that are in few fonts."""
    said = re.sub(r"<title>.*?</title>|<[^>]*>", "", _plain(svg), flags=re.DOTALL)
    return sorted({letter for letter in said if letter > "\u024f" and not letter.isspace()})


@cache
def _is_here(family: str) -> bool:
    return _sample("a", family) != _sample("", family)


@cache
def _has(letter: str, family: str) -> bool:
    """Whether some font here has a letter: else it comes out as the letter that none has."""
    return _sample(letter, family) not in (_sample("", family), _sample(NOBODY_S, family))


@cache
def _sample(text: str, family: str) -> bytes:
    page = f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" font-family="{family}">'
    return _rendered(f'{page}<text x="5" y="20">{text}</text></svg>', family)
