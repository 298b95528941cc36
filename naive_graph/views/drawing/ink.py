"""A laid-out page as SVG text of our own, for when graphviz is missing or would take too long."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from ..look import LIGHT, LINE, RADIUS, SMALL, TEXT, TITLE, Look
from .lettering import text_width
from .routes import MARGIN, Page, ground, paged
from .scene import Arrow, Box, Cell, Scene


def layered_svg(scene: Scene, direction: str) -> str:
    """The scene as SVG text."""
    return inked(paged(scene, direction))


def inked(page: Page) -> str:
    """The page as SVG text."""
    body = [_frame(name, page) for name in page.frames]
    for box in page.scene.boxes:
        body += [_box(box, *page.boxes[box.id]), *(_cell(*each) for each in page.cells(box))]
    body += [_arrow(arrow, page) for arrow in page.scene.arrows]
    body += [_text(MARGIN, MARGIN + LINE, line, "ink", TITLE) for line in page.title]
    foot = page.high - MARGIN - LINE * (len(page.caption) - 1)
    body += [_text(MARGIN, foot + LINE * place, line, "ink", SMALL) for place, line in enumerate(page.caption)]
    tip = (
        '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
        f'<path d="M0,1 L7,4 L0,7 z" fill="{LIGHT["soft"]}"/></marker></defs>'
    )
    ground = f'<rect width="100%" height="100%" fill="{LIGHT["ground"]}"/>'
    size = f'width="{page.wide:.0f}" height="{page.high:.0f}" viewBox="0 0 {page.wide:.0f} {page.high:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{tip}{ground}\n' + "\n".join(body) + "</svg>\n"


def _arrow(arrow: Arrow, page: Page) -> str:
    first, *points = (f"{x:.1f},{y:.1f}" for x, y in page.curves[arrow.id])
    path = f"M{first}" + "".join(f" C{' '.join(points[at : at + 3])}" for at in range(0, len(points), 3))
    drawn = f'<path d="{path}" fill="none" stroke="{LIGHT["soft"]}" marker-end="url(#tip)"/>'
    if arrow.label:
        x, y = page.labels[arrow.id]
        wide = text_width(arrow.label) + 6
        drawn += _rectangle(x - wide / 2, y - LINE / 2, wide, LINE, 0.0, f'fill="{LIGHT["ground"]}"')
        drawn += _text(x, y + 4, arrow.label, "gradient", TEXT, "middle")
    if arrow.place:
        x, y = page.places[arrow.id]
        drawn += _text(x, y + 4, arrow.place, "soft", SMALL, "middle")
    return f"<g id={quoteattr(arrow.id)} class='edge'>{drawn}</g>"


def _box(box: Box, x: float, y: float, wide: float, high: float) -> str:
    look = box.look
    top = y - high / 2 + TEXT if box.grid else y - LINE * (len(box.lines) - 1) / 2 + 4.5
    lines = (_text(x, top + LINE * place, text, look.ink, TEXT, "middle") for place, text in enumerate(box.lines))
    shape = _shape(box, look, x, y, wide, high) if look.shape != "plaintext" else ""
    return f"<g id={quoteattr(box.id)} class='node'>{shape}{''.join(lines)}</g>"


def _cell(name: str, cell: Cell, left: float, top: float, wide: float, high: float) -> str:
    ink = f'fill="{ground(cell)[0]}" stroke="{LIGHT["line"]}" stroke-width="0.5"'
    if not cell.known:  # and no zero, which has a ground
        ink = f'fill="none" stroke="{LIGHT["soft"]}" stroke-dasharray="2"'
    text = _text(left + wide / 2, top + high / 2 + 4, cell.text, "ink", SMALL, "middle") if cell.text else ""
    return f"<g id={quoteattr(name)} class='cell'>{_rectangle(left, top, wide, high, 0.0, ink)}{text}</g>"


def _shape(box: Box, look: Look, x: float, y: float, wide: float, high: float) -> str:
    dashes = {"dashed": ' stroke-dasharray="4 3"', "dotted": ' stroke-dasharray="1 3"'}.get(look.outline, "")
    line, thickness = (LIGHT["wrong"], 3) if box.wrong else (look.line, look.thickness)
    ink = f'fill="{look.fill}" stroke="{line}" stroke-width="{thickness}"{dashes}'
    left, top, right, bottom = x - wide / 2, y - high / 2, x + wide / 2, y + high / 2
    if look.shape == "ellipse":
        return f'<ellipse cx="{x:.1f}" cy="{y:.1f}" rx="{wide / 2:.1f}" ry="{high / 2:.1f}" {ink}/>'
    if look.shape == "hexagon":
        near, far = left + wide / 4, right - wide / 4
        corners = [(left, y), (near, top), (far, top), (right, y), (far, bottom), (near, bottom)]
        return f'<polygon points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in corners)}" {ink}/>'
    behind = _rectangle(left + 4, top, wide - 4, high - 4, 0.0, ink) if look.shape == "box3d" else ""
    if behind:
        return behind + _rectangle(left, top + 4, wide - 4, high - 4, 0.0, ink)
    return _rectangle(left, top, wide, high, RADIUS if look.shape == "rounded" else 0.0, ink)


def _rectangle(left: float, top: float, wide: float, high: float, corner: float, ink: str) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="{corner:.1f}" {ink}/>'


def _frame(name: str, page: Page) -> str:
    left, top, right, bottom = page.frames[name]
    shape = _rectangle(left, top, right - left, bottom - top, 8.0, f'fill="none" stroke="{LIGHT["scope"]}"')
    label = _text(left + 8, top + 15, page.scene.scope_names[name], "ink", SMALL)
    return f"<g id={quoteattr(name)} class='cluster'>{shape}{label}</g>"


def _text(x: float, y: float, text: str, ink: str, size: int, anchor: str = "start") -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" fill="{LIGHT[ink]}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
