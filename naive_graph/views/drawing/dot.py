"""A scene as DOT text. Every label is escaped: it can only be text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from math import dist
from typing import Any

from ...errors import MissingToolError
from ..look import LIGHT, LINE, SMALL, TEXT, TITLE
from .folding import by_scope, shared
from .graphviz_tool import dot_program
from .lettering import ideographs, text_width
from .routes import MARGIN, TIP, Page, ground
from .scene import Arrow, Box, Scene

MEASURED = "DejaVu Sans"  # a font that graphviz has the measures of
INCH = 72.0


def dot_text(scene: Scene, direction: str, page: Page | None = None) -> str:
    """The scene in the DOT language, as the graphviz package writes it; with the places of a page, if there is one."""
    graph = _graphviz().Digraph("naive_graph")
    text = {"fontname": MEASURED, "fontcolor": LIGHT["ink"]}
    graph.attr(rankdir=direction, bgcolor=LIGHT["ground"], **text, **_page_attributes(page))
    graph.attr("node", fontsize=str(TEXT), margin="0.12,0.06", height="0.35", width="0.4", **text)
    text["fontcolor"] = LIGHT["gradient"]  # of partials
    graph.attr("edge", fontsize=str(TEXT), arrowsize="0.7", color=LIGHT["soft"], **text)
    if heading(scene):
        place, size = ("t", TITLE) if scene.title else ("b", SMALL)
        # At the left, where a picture that scrolls is seen first; \l ends a line that is set so.
        graph.attr(label=_label(heading(scene), "\\l"), labelloc=place, labeljust="l", fontsize=str(size))
    _add_boxes(graph, scene, page)
    for arrow in scene.arrows:
        graph.edge(arrow.source, arrow.target, **_arrow_attributes(arrow, page))
    return str(graph.source)


def heading(scene: Scene) -> list[str]:
    """The title, then the caption in lines that fit a page."""
    return ([scene.title] if scene.title else []) + textwrap.wrap(scene.caption, 90)


def _page_attributes(page: Page | None) -> dict[str, str]:
    if page is None:
        return {}
    lines = heading(page.scene)
    wide = max((text_width(line, TITLE if page.title else SMALL) for line in lines), default=0.0)
    high = LINE * len(lines) / 2
    label = MARGIN + wide / 2, MARGIN + high if page.title else page.high - MARGIN - high
    return {"pad": f"{MARGIN / INCH:.3f}", **({"lp": _at(page, label)} if lines else {})}


def _add_boxes(graph: Any, scene: Scene, page: Page | None) -> None:
    """The boxes, scope by scope: one cluster for each open scope, nested as the scopes are."""
    place = by_scope(box.scope for box in scene.boxes)
    open_now: tuple[str, ...] = ()
    for box in sorted(scene.boxes, key=lambda box: place[box.scope]):
        common = shared(open_now, box.scope)
        graph.body += ["}\n"] * (len(open_now) - common)
        for name in box.scope[common:]:
            graph.body.append(f'subgraph "cluster_{name}" {{\n')
            attributes = {"label": _label([scene.scope_names[name]]), "id": name, "color": LIGHT["scope"]}
            attributes |= _frame_attributes(page, name)
            graph.attr("graph", **attributes, style="rounded", fontsize=str(SMALL), labelloc="t", labeljust="l")
        open_now = box.scope
        label = _label(box.lines if page else [*box.lines, *_rows(box)])
        graph.node(box.id, id=box.id, label=label, **(_box_attributes(box) | _box_place(page, box)))
        for name, cell, left, top, wide, high in page.cells(box) if page else ():
            text = {"label": _label([cell.text]), "fontsize": str(SMALL), "margin": "0"}
            look = {"shape": "box", "style": "dotted", "color": LIGHT["soft"]}
            if cell.known:
                look |= {"style": "filled", "fillcolor": ground(cell)[0], "color": LIGHT["line"], "penwidth": "0.5"}
            size = {"width": f"{wide / INCH:.3f}", "height": f"{high / INCH:.3f}", "fixedsize": "true"}
            at = _at(page, (left + wide / 2, top + high / 2)) if page else ""
            graph.node(name, id=name, pos=at, **text, **look, **size)
    graph.body += ["}\n"] * len(open_now)


def _frame_attributes(page: Page | None, name: str) -> dict[str, str]:
    if page is None:
        return {}
    left, top, right, bottom = page.frames[name]
    wide = text_width(page.scene.scope_names[name], SMALL)
    corners = f"{left:.1f},{page.high - bottom:.1f},{right:.1f},{page.high - top:.1f}"
    return {"bb": corners, "lp": _at(page, (left + 8 + wide / 2, top + 11))}


def _box_attributes(box: Box) -> dict[str, str]:
    look = box.look
    if look.shape == "plaintext":
        return {"shape": "plaintext", "margin": "0.02", "width": "0.2", "height": "0.2"}
    rounded, outline = look.shape == "rounded", look.outline.replace("solid", "")
    return {
        "shape": "box" if rounded else look.shape,
        "style": ",".join(filter(None, ["filled", "rounded" if rounded else "", outline])),
        "fillcolor": look.fill,
        "color": LIGHT["wrong"] if box.wrong else look.line,
        "fontcolor": LIGHT[look.ink],
        "penwidth": str(3 if box.wrong else look.thickness),
        # Letters that graphviz has no measure of count as spaces there: say how wide the text is.
        "width": f"{(max(map(text_width, box.lines)) + 14) / INCH:.2f}",
    }


def _rows(box: Box) -> list[str]:
    """A matrix in lines, for who lays the text out again."""
    rows: dict[float, list[str]] = {}
    for cell in box.grid.cells if box.grid else ():
        rows.setdefault(cell.row, []).append(cell.text)
    return [",  ".join(row) for row in rows.values()] if any(map(any, rows.values())) else []


def _box_place(page: Page | None, box: Box) -> dict[str, str]:
    if page is None:
        return {}
    x, y, wide, high = page.boxes[box.id]
    sizes = {"width": f"{wide / INCH:.3f}", "height": f"{high / INCH:.3f}", "fixedsize": "true"}
    return {"pos": _at(page, (x, y)), "labelloc": "t" if box.grid else "c", **sizes}


def _arrow_attributes(arrow: Arrow, page: Page | None) -> dict[str, str]:
    attributes = {"id": arrow.id}
    if page is None:
        said = ": ".join(part for part in (arrow.place, arrow.label) if part)  # the two apart would be read as one
        return attributes | ({"label": _label([f" {said} "])} if said else {})
    *points, last = page.curves[arrow.id]
    share = TIP / max(TIP, dist(points[-1], last))  # the line ends where the head begins
    base = tuple(end + (before - end) * share for before, end in zip(points[-1], last))
    attributes["pos"] = f"e,{_at(page, last)} " + " ".join(_at(page, point) for point in [*points, base])
    if arrow.label:
        attributes |= {"label": _label([arrow.label]), "lp": _at(page, page.labels[arrow.id])}
    if arrow.place:
        attributes |= {"headlabel": arrow.place, "head_lp": _at(page, page.places[arrow.id])}
        attributes |= {"labelfontcolor": LIGHT["soft"], "labelfontsize": str(SMALL)}
    return attributes


def _at(page: Page, point: Iterable[float]) -> str:
    """A point as graphviz counts it: from below."""
    x, y = point
    return f"{x:.1f},{page.high - y:.1f}"


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
