"""Convert a picture's SVG to PNG (resvg) and PDF (cairosvg), with the same font, colours and layout.

The font is in the package, so that a picture is the same on every machine;
letters that it lacks, such as Chinese ones, come from the machine's fonts.
"""

from __future__ import annotations

import ctypes
import re
from ctypes.util import find_library
from functools import cache
from pathlib import Path

from ...core.optional_deps import door
from ...errors import DrawingError, MissingToolError
from ..theme import OTHER_FONTS, OWN_FONT
from .svg import strip_style

ZOOM = 4 / 3  # pixels of a PNG for one of the drawing
FONT_FILE = Path(__file__).parent.parent / "fonts" / "NaiveGraphSans.ttf"
UNKNOWN_FONT = "No font has this name"
UNKNOWN_LETTER = "\U0010fffd"  # no font has this letter


def svg_to_png(svg: str) -> bytes:
    """The picture as PNG. Raises MissingToolError without resvg-py, DrawingError for letters that no font here has."""
    return _render_png(svg, ZOOM, use_system_fonts=_needs_other_fonts(svg, "PNG"))


def svg_to_pdf(svg: str) -> bytes:
    """The picture as PDF. Raises MissingToolError without cairosvg, DrawingError as `svg_to_png` does."""
    try:
        import cairosvg
    except (ImportError, OSError):  # OSError: without the system's cairo
        raise MissingToolError(
            'A PDF needs cairosvg, and cairo on the system: pip install "naive-graph[pdf]". SVG and PNG do without.'
        ) from None
    plain = strip_style(svg)  # neither tool supports CSS light-dark()
    if _needs_other_fonts(svg, "PDF"):  # cairosvg takes all letters of a text from one font
        other = next((font for font in OTHER_FONTS if _is_installed(font)), OWN_FONT)
        plain = re.sub(r"<text (?=[^<]*[\u2e80-\U0010ffff])", f'<text font-family="{other}" ', plain)
    if not _register_font_with_cairo():
        plain = plain.replace(OWN_FONT, "Arial")  # systems without fontconfig have it
    return bytes(cairosvg.svg2pdf(bytestring=plain.encode()))


@cache
def _register_font_with_cairo() -> bool:
    """Register our font with fontconfig, for this process, so that cairo finds it; whether that worked."""
    try:
        is_added = ctypes.CDLL(find_library("fontconfig") or "").FcConfigAppFontAddFile(None, str(FONT_FILE).encode())
    except (OSError, AttributeError):
        return False
    return bool(is_added)


def _needs_other_fonts(svg: str, form: str) -> bool:
    """Whether a picture needs letters of other fonts than ours. Raises DrawingError for those that none here has."""
    text = re.sub(r"<title>.*?</title>|<[^>]*>", "", strip_style(svg), flags=re.DOTALL)
    uncommon = sorted({letter for letter in text if letter > "\u024f" and not letter.isspace()})  # beyond Latin
    foreign = [letter for letter in uncommon if not _has_letter(letter)]
    lacking = "".join(letter for letter in foreign if not _has_letter(letter, borrow=True))
    if lacking:
        raise DrawingError(
            f"No {form}: no font on this machine has {lacking[:20]!r}. Install one that has, such as Noto Sans CJK "
            "(fonts-noto-cjk) for Chinese, or save the picture as .svg, to be shown where there is one."
        )
    return bool(foreign)


def _render_png(svg: str, zoom: float = 1.0, use_system_fonts: bool = False) -> bytes:
    """The SVG as PNG. use_system_fonts: for letters that our font lacks."""
    with door("A PNG needs", "draw"):
        import resvg_py
    wide = re.search(r'<svg [^>]*?width="(\d+)"', svg)
    made = resvg_py.svg_to_bytes(
        svg_string=strip_style(svg),
        font_files=[str(FONT_FILE)],
        skip_system_fonts=not use_system_fonts,
        font_family=OWN_FONT,
        sans_serif_family=OWN_FONT,
        width=round(int(wide[1]) * zoom) if wide else None,
    )
    return bytes(made)


@cache
def _is_installed(family: str) -> bool:
    """Whether the machine has a font of this name: a text in a missing font looks like one in an unknown font."""
    return _render_sample("a", family, True) not in (
        _render_sample("a", UNKNOWN_FONT, True),
        _render_sample("", family, True),
    )


@cache
def _has_letter(letter: str, borrow: bool = False) -> bool:
    """Whether our font (or a system font) has a letter: a missing one looks like a letter that no font has."""
    shown = _render_sample(letter, OWN_FONT, borrow)
    return shown not in (_render_sample("", OWN_FONT, borrow), _render_sample(UNKNOWN_LETTER, OWN_FONT, borrow))


@cache
def _render_sample(text: str, family: str, borrow: bool) -> bytes:
    page = f'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30" font-family="{family}">'
    return _render_png(f'{page}<text x="5" y="20">{text}</text></svg>', use_system_fonts=borrow)
