"""The theme of all views: font sizes, spacing, number format, and colours by meaning, for light and dark mode.

SVG, pages, plots and films take them from here (a terminal's tables: graph/formatting). A colour is named by
its meaning: `LIGHT["gradient"]` in Python, `var(--ng-gradient)` in a page, which follows the reader's theme.
An SVG is drawn in the light colours; a style inside it replaces each by its dark one in dark mode, so a
program that ignores styles still shows the light picture.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# --- sizes, in pixels ---------------------------------------------------------

TITLE, TEXT, SMALL, LEAST = 15, 13, 11, 9  # font sizes: a title, a label, a remark, the smallest that can be read
READ = 10  # the font size at which text is comfortable to read
LINE, RADIUS = 16, 6  # the height of a line of text; the corner radius of an operator's box
# Sizes of boxes, frames and the page around them. A page lays out by the same numbers: `LAYOUT` in drawing/viewport.js.
APART, THIN = 10, 20  # a flat box has its texts in one line: the space between them, and the box's height
BASE = 4.5  # from the middle of a line of text down to its baseline
BEHIND, ROUND = 4, 14  # how far a folded scope's second sheet sticks out; the corner radius of a Variable's pill
# The padding of a box by its shape: left and right together, above and below together.
ROOMS = {"pill": (18, 8), "hexagon": (24, 6), "sheets": (14, 10), "plaintext": (4, 0)}
USUAL_ROOM = 12, 6  # of any other shape
MARGIN = 8  # around the whole picture
# The layouts that are tried in this order: (direction, whether boxes are flat). The first that fits into a screen is
# taken, or if none does, the one that shows the largest share.
WAYS = (("LR", False), ("TB", False), ("TB", True), ("LR", True))
LAYOUT = {
    "TEXT": TEXT, "SMALL": SMALL, "LEAST": LEAST, "READ": READ, "LINE": LINE, "APART": APART, "THIN": THIN,
    "BASE": BASE, "BEHIND": BEHIND, "ROUND": ROUND, "ROOMS": ROOMS, "USUAL_ROOM": USUAL_ROOM, "MARGIN": MARGIN,
    "WAYS": [[way, *["flat"] * flat] for way, flat in WAYS],
}  # fmt: skip
OWN_FONT = "Naive Graph Sans"  # for PNG and PDF: made from Liberation Sans, as wide as Helvetica and Arial
FONT = f"{OWN_FONT},Helvetica,Arial,Noto Sans CJK SC,PingFang SC,Microsoft YaHei,WenQuanYi Micro Hei,sans-serif"
# Fonts for letters that ours lacks: ideographs, kana, hangul, other scripts.
OTHER_FONTS = (
    "Noto Sans CJK SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei", "Microsoft YaHei",
    "PingFang SC", "Hiragino Sans GB", "SimHei", "Noto Sans", "FreeSans", "Arial Unicode MS",
)  # fmt: skip

# --- numbers ------------------------------------------------------------------

DIGITS = 5
MINUS = "−"


def format_number(value: float, digits: int = DIGITS) -> str:
    """Format with `digits` significant digits and a true minus sign; NaN and infinity as words.

    >>> format_number(-0.181818182), format_number(-2.5e-7), format_number(float("inf")), format_number(float("nan"))
    ('−0.18182', '−2.5e−7', 'infinite', 'not a number')
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    head, e, power = f"{value:.{digits}g}".partition("e")
    return (head + e + str(int(power)) if e else head).replace("-", MINUS)


# --- colours ------------------------------------------------------------------

# Meaning of a colour: (hex value in light mode, in dark mode).
COLOURS = {
    "ground": ("#ffffff", "#16181c"),  # behind everything
    "panel": ("#f5f6f8", "#22252b"),  # behind side panels and tables
    "ink": ("#1a1a1a", "#ececec"),  # names and values
    "soft": ("#555555", "#b4b4b4"),  # remarks, arrows
    "line": ("#808080", "#8c8c8c"),  # frames, rules
    "gradient": ("#8a3b00", "#ffb074"),
    "now": ("#b3261e", "#ff8a80"),  # what acts at this step
    "queued": ("#0b5cad", "#8ab8ff"),  # what waits, and what has the focus
    "mark": ("#fff3b0", "#453900"),  # behind what is pointed at
    "wrong": ("#b3261f", "#ff8a81"),  # NaN, infinity, a failure
    "wrong-ground": ("#fde7e9", "#4a1a17"),
    "right": ("#00704a", "#5fd3a5"),
    "variable": ("#0072b2", "#56b4e9"),
    "variable-ground": ("#d6ebf7", "#12344d"),
    "placeholder": ("#9a6200", "#e6ab3c"),
    "placeholder-ground": ("#fdf3d0", "#3d3000"),
    "constant": ("#767676", "#9a9a9a"),
    "constant-ground": ("#f2f2f2", "#2a2d33"),
    "operator": ("#333333", "#c8c8c8"),
    "operator-ground": ("#fefefe", "#1e2126"),
    "scope": ("#00805d", "#2fbf93"),
    "scope-ground": ("#e5f3ee", "#10352b"),
}
LIGHT = {name: light for name, (light, _) in COLOURS.items()}
DARK = {name: dark for name, (_, dark) in COLOURS.items()}
# (light, dark) colours of the lines of plots; each stands out against every shade of a surface.
SERIES = (
    ("#0067a8", "#56b4e9"), ("#bf4400", "#ff9a5c"), ("#007048", "#3ecb99"), ("#a8367a", "#f08cc4"),
    ("#7d5a00", "#e6c04a"), ("#6a4fbf", "#b7a4ff"), ("#1a1a1b", "#ececed"),
)  # fmt: skip
# (light, dark) shades of a surface, from low to high.
SHADES = (("#ffffff", "#16181c"), ("#e9f0f7", "#1b232c"), ("#d5e2ef", "#1f2d3b"), ("#c3d5e8", "#24374a"))
TONES = 12  # steps between the lowest and the highest shade of a surface
COLD, WARM = ("#5aa2d8", "#2a6da3"), ("#eda04e", "#94530f")  # a heat map: far below zero, and far above
HEATS = 8  # steps of colour from zero to COLD, and to WARM


class BoxStyle(NamedTuple):
    """The style of a kind of box. Kinds differ in shape and outline, not only in colour."""

    shape: str
    colour: str  # the name of the line's colour; "<colour>-ground" is that of the fill
    outline: str = "solid"
    thickness: int = 1
    ink: str = "ink"

    @property
    def fill(self) -> str:
        return LIGHT.get(f"{self.colour}-ground", "none")

    @property
    def line(self) -> str:
        return LIGHT.get(self.colour, "none")


# The style of each kind of box. In a task graph: F computes values, B contributions, G sums gradients.
LOOKS = {
    "constant": BoxStyle("box", "constant", "dashed"),
    "variable": BoxStyle("pill", "variable", thickness=2),
    "placeholder": BoxStyle("hexagon", "placeholder", thickness=2),
    "operator": BoxStyle("rounded", "operator"),
    "absorbed": BoxStyle("rounded", "operator", "dotted", ink="soft"),
    "scope": BoxStyle("sheets", "scope", thickness=2),
    "carried": BoxStyle("pill", "scope", "dashed"),
    "rest": BoxStyle("plaintext", "none"),
    "dot": BoxStyle("rounded", "scope", thickness=3),
    "total": BoxStyle("box", "scope", thickness=2),
    "task F": BoxStyle("rounded", "variable", thickness=2),
    "task B": BoxStyle("box", "placeholder"),
    "task G": BoxStyle("pill", "scope"),
}


def heatmap_color(share: float) -> tuple[str, str]:
    """The fill of a heat map's cell, for light and dark mode; share: from -1, far below zero, to 1.

    >>> heatmap_color(0.0) == COLOURS["ground"], heatmap_color(1.0)[0], heatmap_color(-1.0)[0]
    (True, '#eda04e', '#5aa2d8')
    """
    step = round(min(1.0, abs(share)) * HEATS) / HEATS
    return tuple(_mix_colours(*pair, step) for pair in zip(COLOURS["ground"], WARM if share > 0 else COLD))  # type: ignore[return-value]


def surface_color(share: float) -> tuple[str, str]:
    """The fill of a contour band, for light and dark mode; share: from 0, lowest, to 1.

    >>> surface_color(0.0) == COLOURS["ground"], surface_color(1.0)[0]
    (True, '#c3d5e8')
    """
    step = round(share * TONES) / TONES * (len(SHADES) - 1)
    below = min(int(step), len(SHADES) - 2)
    return tuple(_mix_colours(*pair, step - below) for pair in zip(SHADES[below], SHADES[below + 1]))  # type: ignore[return-value]


def _mix_colours(one: str, other: str, share: float) -> str:
    mixed = (a + (b - a) * share for a, b in zip(_rgb_channels(one), _rgb_channels(other)))
    return "#" + "".join(f"{round(part):02x}" for part in mixed)


def _rgb_channels(colour: str) -> list[int]:
    return [int(colour[start : start + 2], 16) for start in (1, 3, 5)]


# --- themes -------------------------------------------------------------------

# JupyterLab and VS Code say which theme they show; elsewhere the reader's system does.
THEMES = (
    '[data-jp-theme-light="true"] {0}, .vscode-light {0} {{ color-scheme: light; }}\n'
    '[data-jp-theme-light="false"] {0}, .vscode-dark {0} {{ color-scheme: dark; }}\n'
)


def page_style(selector: str = ":root", *names: str) -> str:
    """CSS that defines our colours (all, or these names) as variables such as `--ng-ink`, by the reader's theme."""
    chosen = {name: COLOURS[name] for name in names or COLOURS}
    light = " ".join(f"--ng-{name}: {light};" for name, (light, _) in chosen.items())
    both = " ".join(f"--ng-{name}: light-dark({light}, {dark});" for name, (light, dark) in chosen.items())
    return (
        f"{selector} {{ color-scheme: light dark; {light} }}\n"
        f"@supports (color: light-dark(red, red)) {{ {selector} {{ {both} }} }}\n{THEMES.format(selector)}"
    )


def svg_style(svg: str, selector: str = "svg.naive-graph") -> str:
    """CSS that turns the light colours of an SVG text into the dark ones, by the reader's theme."""
    heats = (heatmap_color(level / HEATS) for level in range(-HEATS, HEATS + 1))
    pairs = dict([*COLOURS.values(), *SERIES, *heats, *(surface_color(tone / TONES) for tone in range(TONES + 1))])
    rules = []
    for light, dark in pairs.items():
        for attribute in ("fill", "stroke"):
            if f'{attribute}="{light}"' in svg:
                rules.append(f'{selector} [{attribute}="{light}"] {{ {attribute}: light-dark({light}, {dark}); }}\n')
    return f"{selector} {{ color-scheme: light dark; }}\n{THEMES.format(selector)}{''.join(rules)}"
