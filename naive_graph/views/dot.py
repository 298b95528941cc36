"""A scene as DOT text. Every label is escaped: it can only be text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from ..errors import MissingToolError
from .folding import by_scope, shared
from .graphviz_tool import dot_program
from .lettering import ideographs
from .look import LIGHT, LOOKS, SMALL, TEXT, TITLE
from .scene import Arrow, Box, Scene

MEASURED = "Helvetica"  # of a list of fonts graphviz would know no measures, and take those of Times
MARGINS = {"ellipse": "0.04,0.02", "hexagon": "0.02,0.02", "box3d": "0.2,0.1"}  # these shapes have room, or need it


def dot_text(scene: Scene, direction: str) -> str:
    """The scene in the DOT language, as the graphviz package writes it."""
    graph = _graphviz().Digraph("naive_graph")
    graph.attr(
        rankdir=direction,
        bgcolor=LIGHT["ground"],
        fontcolor=LIGHT["ink"],
        fontname=MEASURED,
        ranksep="0.45",
        nodesep="0.25",
        ordering="in",
    )
    graph.attr(
        "node",
        fontname=MEASURED,
        fontsize=str(TEXT),
        fontcolor=LIGHT["ink"],
        margin="0.12,0.06",
        height="0.35",
        width="0.4",
    )
    graph.attr(
        "edge",
        fontname=MEASURED,
        fontsize=str(SMALL),
        arrowsize="0.7",
        color=LIGHT["soft"],
        fontcolor=LIGHT["gradient"],
    )
    if heading(scene):
        place, size = ("t", TITLE) if scene.title else ("b", SMALL)
        # At the left, where a picture that scrolls is seen first; \l ends a line that is set so.
        graph.attr(label=_label(heading(scene), "\\l"), labelloc=place, labeljust="l", fontsize=str(size))
    _add_boxes(graph, scene)
    for arrow in scene.arrows:
        graph.edge(arrow.source, arrow.target, **_arrow_attributes(arrow))
    return str(graph.source)


def heading(scene: Scene) -> list[str]:
    """The title, then the caption in lines that fit a page."""
    return ([scene.title] if scene.title else []) + textwrap.wrap(scene.caption, 90)


def _add_boxes(graph: Any, scene: Scene) -> None:
    """The boxes, scope by scope: one cluster for each open scope, nested as the scopes are."""
    place = by_scope(box.scope for box in scene.boxes)
    open_now: tuple[str, ...] = ()
    for box in sorted(scene.boxes, key=lambda box: place[box.scope]):
        common = shared(open_now, box.scope)
        graph.body += ["}\n"] * (len(open_now) - common)
        for name in box.scope[common:]:
            graph.body.append(f'subgraph "cluster_{name}" {{\n')
            attributes = {"label": _label([scene.scope_names[name]]), "id": name, "color": LIGHT["scope"]}
            graph.attr("graph", **attributes, style="rounded", fontsize=str(SMALL), labelloc="t", labeljust="l")
        open_now = box.scope
        graph.node(box.id, id=box.id, label=_label(box.lines), **_box_attributes(box))
    graph.body += ["}\n"] * len(open_now)


def _box_attributes(box: Box) -> dict[str, str]:
    look = LOOKS[box.kind]
    if look.shape == "plaintext":
        return {"shape": "plaintext", "margin": "0.02", "width": "0.2", "height": "0.2"}
    rounded, outline = look.shape == "rounded", look.outline.replace("solid", "")
    attributes = {
        "shape": "box" if rounded else look.shape,
        "style": ",".join(filter(None, ["filled", "rounded" if rounded else "", outline])),
        "fillcolor": look.fill,
        "color": look.line,
        "fontcolor": LIGHT[look.ink],
        "penwidth": str(look.thickness),
    }
    if look.shape in MARGINS:
        attributes["margin"] = MARGINS[look.shape]
    wide = max(map(ideographs, box.lines))
    if wide:
        # Some layouts measure an ideograph as a space: say how wide the text is.
        attributes["width"] = f"{0.17 * wide + 0.09 * (max(map(len, box.lines)) - wide) + 0.4:.2f}"
    return attributes


def _arrow_attributes(arrow: Arrow) -> dict[str, str]:
    attributes = {"id": arrow.id}
    if arrow.label:  # the two apart would be read as one
        place = f"{arrow.place}: " if arrow.place else ""
        attributes["label"] = _label([f" {place}{arrow.label} "])
    elif arrow.place:
        attributes["headlabel"] = arrow.place
        attributes |= {"labelfontcolor": LIGHT["soft"], "labelfontsize": str(SMALL), "labeldistance": "1.6"}
    return attributes


def _label(lines: Iterable[str], end: str = "") -> Any:
    """Lines as one label; `end` after each sets it to one side, else they are centred."""
    graphviz = _graphviz()
    # Graphviz reads entities in plain labels too: &lt; would come out as <.
    escaped = [str(graphviz.escape(line.replace("&", "&amp;"))) for line in lines]
    return graphviz.nohtml("".join(line + end for line in escaped) if end else "\\n".join(escaped))


def draws_letters(scene: Scene) -> bool:
    """Whether a PNG can show the names: graphviz-pure has no glyphs for ideographs. In SVG the viewer brings them."""
    written = [*heading(scene), *scene.scope_names.values(), *(line for box in scene.boxes for line in box.lines)]
    return "graphviz-pure" not in (dot_program() or "") or not any(map(ideographs, written))


def _graphviz() -> Any:
    try:
        import graphviz
    except ImportError:
        raise MissingToolError('DOT text needs the graphviz package: pip install "naive-graph[draw]".') from None
    return graphviz


def has_graphviz() -> bool:
    """Whether the scene can go through graphviz at all."""
    try:
        _graphviz()
    except MissingToolError:
        return False
    return dot_program() is not None
