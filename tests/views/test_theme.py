"""One look: whatever is shown can be read, on light ground and on dark."""

import pytest

from naive_graph import Variable, draw
from naive_graph.views import theme

THEMES = [theme.LIGHT, theme.DARK]
TEXTS = ["ink", "soft", "gradient", "now", "queued", "wrong", "right"]
GROUNDS = ["ground", "panel", "mark", *(name for name in theme.COLOURS if name.endswith("-ground"))]


def contrast(one, other):
    """How well one colour is seen on the other, from 1 to 21. Source: WCAG 2.2, "contrast ratio"."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", THEMES)
@pytest.mark.parametrize("ground", GROUNDS)
def test_every_text_can_be_read_on_every_ground(colours, ground):
    assert min(contrast(colours[text], colours[ground]) for text in TEXTS) >= 4.5


@pytest.mark.parametrize("colours", THEMES)
def test_an_outline_can_be_seen_on_both_its_sides(colours):
    for kind in theme.LOOKS.values():
        if kind.colour in colours:
            assert contrast(colours[kind.colour], colours["ground"]) >= 3
            assert contrast(colours[kind.colour], colours[f"{kind.colour}-ground"]) >= 3


@pytest.mark.parametrize(("colours", "place"), [(theme.LIGHT, 0), (theme.DARK, 1)])
def test_numbers_can_be_read_in_every_cell_of_a_heat_map(colours, place):
    cells = [theme.heatmap_color(step / theme.HEATS)[place] for step in range(-theme.HEATS, theme.HEATS + 1)]
    assert min(contrast(colours["ink"], cell) for cell in cells) >= 4.5


@pytest.mark.parametrize("place", [0, 1])
def test_every_line_of_a_plot_is_seen_on_every_shade_of_a_surface(place):
    shades = [theme.surface_color(step / theme.TONES) for step in range(theme.TONES + 1)]
    pairs = [(line[place], shade[place]) for line in theme.SERIES for shade in shades]
    assert min(contrast(*pair) for pair in pairs) >= 3


def test_no_light_colour_has_two_dark_ones():
    heats = (theme.heatmap_color(step / theme.HEATS) for step in range(1, theme.HEATS + 1))
    shades = (theme.surface_color(step / theme.TONES) for step in range(theme.TONES + 1))
    pairs = [*theme.COLOURS.values(), *theme.SERIES, *heats, *shades]
    assert len(dict(pairs)) == len(set(pairs))


def test_nothing_is_written_smaller_than_can_be_read():
    assert min(theme.TITLE, theme.TEXT, theme.SMALL) >= theme.LEAST == 9


def test_every_colour_of_a_picture_is_one_of_ours():
    import re

    known = {*theme.LIGHT.values(), "none", "transparent"}
    svg = draw((Variable(2.0, name="x") * 3).sin()).svg
    assert set(re.findall(r'(?:fill|stroke)="([^"]*)"', svg)) <= known
