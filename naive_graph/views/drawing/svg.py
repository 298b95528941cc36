"""Render a laid-out scene as SVG: shapes and texts, ARIA labels for screen readers, data-* attributes for scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape

from ..theme import BASE, FONT, LIGHT, LINE, MARGIN, SMALL, TEXT, TITLE, heatmap_color, svg_style
from .dot import dot_text, heading
from .layout import SceneLayout
from .names import ordinal
from .scene import Arrow, Box, Scene
from .shapes import box_size, outline, place_lines
from .text_metrics import text_width

DASHES = {"dashed": ' stroke-dasharray="4 3"', "dotted": ' stroke-dasharray="1 3"', "solid": ""}


def render_svg(page: SceneLayout, description: str) -> str:
    """Render as SVG text. description: the ARIA label. Frames and boxes come last: no arrow runs over a text."""
    scene, boxes = page.scene, {box.id: box for box in page.scene.boxes}
    scope_paths = {name: box.scope[:depth] for box in scene.boxes for depth, name in enumerate(box.scope)}
    body = [
        *(_render_arrow(arrow, page, boxes) for arrow in scene.arrows),
        *(_render_frame(name, page, path) for name, path in scope_paths.items()),
        *(_render_box(box, page) for box in scene.boxes),
    ]
    graph_svg = f'<g class="graph">\n{"".join(body)}</g>\n{"".join(_render_heading(page))}'
    background = f'<rect class="ground" width="{page.wide:.0f}" height="{page.high:.0f}" fill="{LIGHT["ground"]}"/>\n'
    size = f'width="{page.wide:.0f}" height="{page.high:.0f}" viewBox="0 0 {page.wide:.0f} {page.high:.0f}"'
    facts = f'role="graphics-document document" aria-label={quoteattr(description)} font-family={quoteattr(FONT)}'
    style = svg_style(background + graph_svg)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} class="naive-graph" data-way="{page.direction}'
        f'{" flat" if page.flat else ""}" {facts}><style>\n{style}</style>\n{background}{graph_svg}</svg>\n'
    )


def _render_heading(page: SceneLayout) -> Iterator[str]:
    lines, title = heading(page.scene), bool(page.scene.title)
    if title:
        yield _render_text(MARGIN, MARGIN + LINE, lines.pop(0), "ink", TITLE, "start")
    foot = page.high - MARGIN - LINE * (len(lines) - 1)
    for index, line in enumerate(lines):
        yield _render_text(MARGIN, foot + LINE * index, line, "ink", SMALL, "start")


def _render_box(box: Box, page: SceneLayout) -> str:
    look, (wide, high) = box.look, box_size(box, page.flat)
    stroke, thick = (LIGHT["wrong"], 3) if box.wrong else (look.line, look.thickness)
    ink = f'fill="{look.fill}" stroke="{stroke}" stroke-width="{thick}"{DASHES[look.outline]}/>'
    label = box.said or ", ".join(box.lines)
    facts = {"tabindex": "0", "role": "graphics-symbol", "aria-label": label, "data-scope": " ".join(box.scope)}
    facts |= {"data-shape": look.shape} | {f"data-{name}": fact for name, fact in box.facts.items()}
    x, y = page.boxes.get(box.id, (0.0, 0.0))
    texts = (_render_text(*line, TEXT) for line in place_lines(box, page.flat))
    written = " ".join(f"{name}={quoteattr(fact)}" for name, fact in facts.items())
    return (
        f'<g id={quoteattr(box.id)} class="node" transform="translate({x:.1f} {y:.1f})" {written}>'
        f"{_render_tooltip(label)}{outline(look.shape, wide, high).replace('/>', f' {ink}')}{''.join(texts)}"
        f"{''.join(_cells(box, high))}</g>\n"
    )


def quoteattr(text: str) -> str:
    """An attribute's value, in its quotes."""
    from xml.sax import saxutils  # imported here: it pulls in urllib, 20 ms

    return saxutils.quoteattr(text)


def _cells(box: Box, high: float) -> Iterator[str]:
    """The entries of the box's matrix."""
    if not box.grid:
        return
    across, tall = box.grid.size
    left, top = -across * box.grid.columns / 2, high / 2 - 5 - tall * box.grid.rows
    for index, cell in enumerate(box.grid.cells):
        x, y = left + cell.column * across, top + cell.row * tall
        fill = LIGHT["wrong-ground"] if cell.share is None else heatmap_color(cell.share)[0]
        paint = f'fill="{fill}" stroke="{LIGHT["line"]}" stroke-width="0.5"'
        if not cell.known:  # a zero is known: it has a fill
            paint = f'fill="none" stroke="{LIGHT["soft"]}" stroke-dasharray="2"'
        text = _render_text(x + across / 2, y + tall / 2 + 4, cell.text, "ink", SMALL) if cell.text else ""
        yield (
            f'<g id={quoteattr(f"{box.id}-cell-{index}")} class="cell" data-box={quoteattr(box.id)} data-at="{index}">'
            f"{_render_tooltip(cell.said)}"
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{across:.1f}" height="{tall:.1f}" {paint}/>'
            f"{text}</g>"
        )


def _render_arrow(arrow: Arrow, page: SceneLayout, boxes: dict[str, Box]) -> str:
    ends = " to ".join(boxes[name].lines[0] for name in (arrow.source, arrow.target) if name in boxes)
    operand = "" if arrow.place is None else f"{ordinal(arrow.place)} operand"
    facts = f"data-from={quoteattr(arrow.source)} data-to={quoteattr(arrow.target)}"
    facts += "" if arrow.partial is None else f' data-partial="{arrow.partial!r}"'
    soft, (x, y) = LIGHT["soft"], page.labels.get(arrow.id, (0.0, 0.0))
    head = " ".join(f"{a:.1f},{b:.1f}" for a, b in page.heads.get(arrow.id, ()))
    return (
        f'<g id={quoteattr(arrow.id)} class="edge" aria-hidden="true" {facts}>'
        f"{_render_tooltip(', '.join(filter(None, (ends, operand, arrow.label))))}"
        f'<path d="{page.curves.get(arrow.id, "")}" fill="none" stroke="{soft}"/>'
        f'<polygon points="{head}" fill="{soft}"/>'
        f"{_render_text(x, y + BASE, arrow.label, arrow.ink, TEXT) if arrow.label else ''}</g>\n"
    )


def _render_frame(name: str, page: SceneLayout, path: tuple[str, ...]) -> str:
    left, top, wide, high = page.frames.get(name, (0.0, 0.0, 0.0, 0.0))
    title = page.scene.scope_names[name]
    plate = f'width="{text_width(title, SMALL) + 4:.1f}" height="{SMALL + 4}" fill="{LIGHT["ground"]}"'
    return (
        f'<g id={quoteattr(name)} class="cluster" data-scope={quoteattr(" ".join(path))}>{_render_tooltip(title)}'
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="8" fill="none" '
        f'stroke="{LIGHT["scope"]}"/><rect class="ng-plate" x="{left + 6:.1f}" y="{top + 2:.1f}" {plate}/>'
        f"{_render_text(left + 8, top + 14, title, 'ink', SMALL, 'start')}</g>\n"
    )


def _render_text(x: float, y: float, text: str, ink: str, size: int, anchor: str = "middle") -> str:
    style = f'text-anchor="{anchor}" font-size="{size}" fill="{LIGHT[ink]}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text, quote=False)}</text>'


def _render_tooltip(text: str) -> str:
    return f"<title>{escape(text, quote=False)}</title>"


def render_unplaced_svg(scene: Scene, description: str) -> str:
    """The scene as SVG without coordinates: the page's script lays it out."""
    return render_svg(SceneLayout(scene, "LR", False, 1, 1), description)


def strip_style(svg: str) -> str:
    """The SVG without its <style>: in light colours, unless a page's CSS has others."""
    return re.sub(r"<style>.*?</style>", "", svg, flags=re.DOTALL)


def drawing_for_page(scene: Scene) -> dict[str, str]:
    """SVG without coordinates, and DOT text for a page's script; the page's policy forbids a <style>."""
    return {"svg": strip_style(render_unplaced_svg(scene, "")), "dot": dot_text(scene, "LR")}
