"""What a laid-out SVG still needs: colours in both themes, words for those who do not see it, facts to follow."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

from ..look import FONT, LIGHT, LINE, TEXT, svg_style
from .lettering import text_width
from .scene import Arrow, Box, Scene

SVG = "http://www.w3.org/2000/svg"
ElementTree.register_namespace("", SVG)
DROPPED = ("font-family", "{http://www.w3.org/XML/1998/namespace}space")


def dressed(svg: str, scene: Scene, said: str) -> str:
    """The SVG with titles, roles and labels, each node reachable by Tab. said: the picture in a sentence."""
    root = ElementTree.fromstring(svg)
    wide, high = root.get("viewBox", "0 0 1 1").split()[2:]
    root.attrib |= {"width": f"{float(wide):.0f}", "height": f"{float(high):.0f}", "class": "naive-graph"}
    boxes, arrows = {box.id: box for box in scene.boxes}, {arrow.id: arrow for arrow in scene.arrows}
    around = {name: box.scope[:depth] for box in scene.boxes for depth, name in enumerate(box.scope)}
    cells = {
        f"{box.id}-cell-{place}": (box.id, cell.said)
        for box in scene.boxes
        for place, cell in enumerate(box.grid.cells if box.grid else ())
    }
    for element in root.iter():
        for name in DROPPED:
            element.attrib.pop(name, None)
    root.attrib |= {"role": "graphics-document document", "aria-label": said, "font-family": FONT}
    for group in root.iter(f"{{{SVG}}}g"):
        name, title = group.get("id", ""), group.find(f"{{{SVG}}}title")
        if title is not None:  # graphviz's own names
            group.remove(title)
        if name in cells:
            group.attrib |= {"class": "cell", "data-box": cells[name][0], "data-at": name.rpartition("-")[2]}
            _title(group, cells[name][1])
            for shape in group.findall("*[@stroke-dasharray]"):
                shape.set("stroke-dasharray", "2")  # graphviz's dots are too far apart for a small cell
        elif name in boxes:
            _dress_box(group, boxes[name])
        elif name in arrows:
            _dress_arrow(group, arrows[name], boxes)
        elif name in scene.scope_names:
            _title(group, scene.scope_names[name])
            group.set("data-scope", " ".join(around.get(name, ())))
    style = ElementTree.Element(f"{{{SVG}}}style")
    style.text = "\n" + svg_style(ElementTree.tostring(root, encoding="unicode"))
    root.insert(0, style)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _dress_box(group: ElementTree.Element, box: Box) -> None:
    said = box.said or ", ".join(box.lines)
    group.attrib |= {"role": "graphics-symbol", "tabindex": "0", "aria-label": said}
    group.attrib |= {f"data-{name}": fact for name, fact in box.facts.items()} | {"data-scope": " ".join(box.scope)}
    _title(group, said)
    for line, text in zip(box.lines, group.iter(f"{{{SVG}}}text")):
        if box.grid:  # graphviz leaves no room above
            text.set("y", f"{float(text.get('y', '0')) + 3:.1f}")
        if line.startswith("grad ") and line != box.lines[0]:
            text.set("fill", LIGHT["gradient"])


def _dress_arrow(group: ElementTree.Element, arrow: Arrow, boxes: dict[str, Box]) -> None:
    group.attrib |= {"aria-hidden": "true", "data-from": arrow.source, "data-to": arrow.target}
    if arrow.partial is not None:
        group.set("data-partial", repr(arrow.partial))
    ends = " to ".join(boxes[name].lines[0] for name in (arrow.source, arrow.target) if name in boxes)
    _title(group, ", ".join(part for part in (ends, arrow.place, arrow.label) if part))
    for place, text in enumerate([*group]):
        if text.tag == f"{{{SVG}}}text" and text.text != arrow.place and group.find(f"{{{SVG}}}rect") is None:
            wide, x, y = text_width(arrow.label) + 6, float(text.get("x", "0")), float(text.get("y", "0"))
            size = {"width": f"{wide:.1f}", "height": str(LINE), "fill": LIGHT["ground"]}  # the line stops before it
            plate = {"x": f"{x - wide / 2:.1f}", "y": f"{y - TEXT + 1:.1f}", **size}
            group.insert(place, ElementTree.Element(f"{{{SVG}}}rect", plate))


def _title(group: ElementTree.Element, said: str) -> None:
    title = ElementTree.Element(f"{{{SVG}}}title")
    title.text = said
    group.insert(0, title)


def bare(svg: bytes) -> str:
    """The <svg> element alone, without the remarks that name the program's version."""
    text = svg.decode("utf-8")
    return re.sub(r"<!--.*?-->\n?", "", text[text.index("<svg") :], flags=re.DOTALL).strip() + "\n"
