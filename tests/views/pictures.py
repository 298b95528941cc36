"""What the tests of pictures share: reading an SVG, and drawing a scene in two ways."""

import xml.etree.ElementTree as ElementTree

from naive_graph import Variable
from naive_graph.views.drawing.layout import lay_out_in_direction
from naive_graph.views.drawing.svg import render_svg

SVG = "{http://www.w3.org/2000/svg}"
NASTY = [
    '"><script>alert(1)</script>', "a\\", "a\\\\", "<b>bold</b>", "<<b>>", "\\N", "\\G\\n\\l", "a & b", "&amp;", "100%",
    "two\nlines", "{a|b}", "'quoted'", '"', "--><!--", "]]>", "学习率", "\x00\x1b\ud800", "\u202eevil", "x" * 200,
]  # fmt: skip


def groups(svg):
    """The id of each group of an SVG text, with its lines of text; an id must not come twice."""
    found = {}
    for group in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if group.get("id"):
            assert group.get("id") not in found
            found[group.get("id")] = [
                str(text.text).strip().replace("\xa0", " ") for text in group.findall(f"{SVG}text")
            ]
    return found


def texts(svg):
    """Every text of an SVG."""
    return [str(text.text).strip().replace("\xa0", " ") for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def both(drawn):
    """The picture as it is, and from top to bottom with its boxes in one line each."""
    return [drawn.svg, drawn_in(drawn, "TB", True)]


def drawn_in(drawn, direction, flat=False):
    """The picture in one way."""
    return render_svg(lay_out_in_direction(drawn.scene, direction, flat), drawn.alt())


def minimum_problem():
    x = Variable(6, name="x")
    return x, ((x - 7) ** 2 + 10).log()
