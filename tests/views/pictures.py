"""What the tests of pictures share: reading an SVG, and drawing a scene in both layouts."""

import xml.etree.ElementTree as ElementTree

from naive_graph import Variable
from naive_graph.views.drawing.ink import layered_svg

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
            found[group.get("id")] = [str(text.text).strip().replace("\xa0", " ") for text in group.iter(f"{SVG}text")]
    return found


def texts(svg):
    """Every text of an SVG."""
    return [str(text.text).strip().replace("\xa0", " ") for text in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def both(drawn):
    """The picture as graphviz lays it out, and as we do."""
    return [drawn.svg, layered_svg(drawn.scene, drawn.direction)]


def minimum_problem():
    x = Variable(6, name="x")
    return x, ((x - 7) ** 2 + 10).log()
