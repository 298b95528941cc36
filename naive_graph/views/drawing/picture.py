"""A drawn graph: SVG, PNG, PDF, DOT and interactive HTML of one scene, each rendered when it is asked for."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any

from ...core import files
from ...core.did_you_mean import Suggesting
from ...core.files import path_of
from ...core.optional_deps import door
from ...errors import DrawingError, MissingToolError, NaiveGraphError
from ..assets import packed, standalone_page
from ..csp import csp_meta
from ..theme import LEAST, SMALL, page_style
from .dot import dot_source, dot_text
from .engine import graphviz_code, run_graphviz
from .layout import SceneLayout, lay_out
from .live_graph import LiveGraph
from .raster import svg_to_pdf, svg_to_png
from .scene import Scene, with_placeholders
from .svg import render_svg, render_unplaced_svg

NARROW = 700  # pixels: a narrower picture fits into a notebook's column
FORMS = (".svg", ".png", ".pdf", ".dot", ".html")


class Picture(Suggesting):
    """What `draw` returns. It shows itself in a notebook; `.svg`, `.png`, `.pdf`, `.dot`, `.html`; `.save(path)`.

    >>> from naive_graph import Variable, draw
    >>> picture = draw(Variable(2.0, name="x") ** 2)
    >>> isinstance(picture, Picture), picture.dot.partition("{")[0]
    (True, 'digraph naive_graph ')
    """

    _owner = "picture"

    def __init__(
        self, scene: Scene, direction: str | None = None, full_scene: Scene | None = None, name: str = "",
        live_graph: LiveGraph | None = None,
    ) -> None:  # fmt: skip
        self.scene = scene
        self.requested_direction = direction
        self.name = name or "A computation graph"  # of what is drawn
        self.full_scene = full_scene  # if `scene` is folded or summarised: all of it, for a page to open and search
        self.live_graph = live_graph  # what a page computes

    @cached_property
    def scene_layout(self) -> SceneLayout:
        """The picture with its places. Raises DrawingError if dot would take too long."""
        return lay_out(self.scene, self.requested_direction)

    @property
    def direction(self) -> str:
        """Where its arrows lead: "LR", "RL", "TB" or "BT"."""
        return self.scene_layout.direction

    @cached_property
    def svg(self) -> str:
        """The picture as SVG text. Nodes are groups with ids such as `row-3`, edges such as `edge-0-3-1`.

        Raises MissingToolError where no Graphviz is at hand.
        """
        return render_svg(self.scene_layout, self.alt())

    @cached_property
    def png(self) -> bytes:
        """The picture as PNG. Raises MissingToolError without resvg-py."""
        return svg_to_png(self.svg)

    @cached_property
    def pdf(self) -> bytes:
        """The picture as PDF. Raises MissingToolError without cairosvg."""
        return svg_to_pdf(self.svg)

    @cached_property
    def dot(self) -> str:
        """The picture in Graphviz's DOT language, with its texts and colours."""
        return dot_source(self.scene, self.requested_direction or "LR")

    @property
    def digraph(self) -> Any:
        """The picture as a `graphviz.Source`, to be rendered by a system's Graphviz."""
        with door("This needs", "draw"):
            import graphviz
        return graphviz.Source(self.dot)

    @cached_property
    def html(self) -> str:
        """The picture as HTML: an image, which a script replaces by an interactive drawing."""
        return self._render_html(graphviz_code())

    def _render_html(self, code: str) -> str:
        # An <img> survives where scripts and bare SVG are dropped; GitHub shows the PNG.
        data = base64.b64encode(self.svg.encode()).decode()
        wide = self.scene_layout.wide
        size = f"width:{wide:.0f}px;max-width:100%;min-width:{wide * LEAST / SMALL:.0f}px"
        image = f'<img style="{size}" alt="{escape(self.alt())}" src="data:image/svg+xml;base64,{data}">'
        looks = [f"drawing/{name}.css" for name in ("viewport", "picture", *["controls"] * bool(self.live_graph))]
        copy = f'<script type="application/gzip" class="ng-dot">{code}</script>' if code else ""
        wish, text = self.requested_direction or "", escape(dot_text(self.scene, "LR"))
        attributes = f'data-wish="{wish}" data-dot="{text}"{self._live_attributes(code)}'
        return (
            f'<div class="ng-picture" {attributes}><div class="ng-view" tabindex="0" role="group" '
            f'aria-label="a picture" style="overflow-x:auto">{image}</div>{self._full_scene_template()}</div>{copy}'
            f"<style>{page_style('.ng-picture')}{''.join(map(packed, looks))}</style>"
            f"<script>{page_script(self.live_graph)}</script>"
        )

    def _live_attributes(self, code: str) -> str:
        """Data attributes of a live graph. Without dot in the page, also a layout with room for all numbers."""
        if self.live_graph is None:
            return ""
        facts = f' data-code="{self.live_graph.key}" data-graph="{escape(json.dumps(self.live_graph.facts))}"'
        if code:
            return facts
        keys = ("name", "id", "bb", "pos")
        laid = run_graphviz(dot_text(with_placeholders(self.scene), self.scene_layout.direction))
        positions = {name: [{fact: element[fact] for fact in keys if fact in element} for element in laid.get(name, ())]
                 for name in ("objects", "edges")}  # fmt: skip
        layout = json.dumps({"bb": laid["bb"], "way": self.scene_layout.direction, **positions})
        return f'{facts} data-places="{escape(layout)}"'

    def _full_scene_template(self) -> str:
        """The whole graph, for the page to lay out."""
        if self.full_scene is None:
            return ""
        scene = replace(self.full_scene, title=self.scene.title, caption="")
        drawn = render_unplaced_svg(scene, Picture(scene).alt())
        return f'<template data-dot="{escape(dot_text(scene, "LR"))}">{drawn}</template>'

    @property
    def page(self) -> str:
        """The picture as a page of its own."""
        return standalone_page(
            self.scene.title or self.name, self.html, csp_meta(page_script(self.live_graph), dot=True)
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as its suffix says: .svg, .png, .pdf, .dot or .html. The write is atomic."""
        target = checked_path(path, "A picture", FORMS, DrawingError)
        content = self.page if target.suffix.lower() == ".html" else getattr(self, target.suffix.lower()[1:])
        save_atomically(target, content.encode() if isinstance(content, str) else content)
        return target

    def alt(self) -> str:
        """The picture in a sentence, for those who do not see it."""
        count = sum(box.kind != "rest" for box in self.scene.boxes)
        counts_text = f"Graph of {count} nodes and {len(self.scene.arrows)} edges."
        return " ".join(part for part in (counts_text, self.scene.title, self.scene.caption) if part)

    def __repr__(self) -> str:
        return f"<Picture: {self.alt()} Save it with .save('graph.svg').>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # A small picture without scopes is never laid out again: it needs no dot in the page.
        is_fixed = self.full_scene is None and not self.scene.scope_names and self.scene_layout.wide < NARROW
        code = "" if is_fixed else graphviz_for_this_cell()
        bundle: dict[str, Any] = {"text/html": self._render_html(code), "text/plain": repr(self)}
        with suppress(MissingToolError, DrawingError):  # the SVG stands without it
            bundle["image/png"] = base64.b64encode(self.png).decode()
        return bundle


def page_script(live_graph: LiveGraph | None = None) -> str:
    """The JavaScript that makes pictures interactive: those with this live graph, or those without any."""
    arguments = f'"{live_graph.key}", {live_graph.code}' if live_graph else ""
    return f"{{{_files(live_graph is not None)}enliven({arguments});}}"


@cache
def _files(computes: bool) -> str:
    more = ("axes", "compute", "controls", "live_graph") if computes else ()
    return "".join(packed(f"drawing/{name}.js") for name in ("engine", "viewport", *more, "picture"))


_cell_with_graphviz: list[Any] = []  # the cell of this session whose output holds dot for all drawings


def graphviz_for_this_cell() -> str:
    """Graphviz for a page, as `graphviz_code` gives it, in the first cell of a session that draws; "" in later cells.

    All drawings of a notebook share that copy. If the first cell runs again, its new output has the copy again.
    """
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    parent: Any = getattr(getattr(shell, "kernel", None), "get_parent", dict)()
    cell = parent.get("metadata", {}).get("cellId")
    if not _cell_with_graphviz:
        _cell_with_graphviz.append(cell)
    elif cell is None or cell != _cell_with_graphviz[0]:
        return ""
    return graphviz_code()


def checked_path(path: Any, what: str, forms: Iterable[str], failure: type[NaiveGraphError]) -> Path:
    """The path, checked to have one of these suffixes. Raises `failure` for another, and for what is no path."""
    target = path_of(path, failure)
    *others, last = forms
    if target.suffix.lower() not in (*others, last):
        named = f"{', '.join(others)} or {last}" if others else last
        suffix = repr(target.suffix) if target.suffix else "without a suffix"
        raise failure(f"{what} is saved as {named}, not {suffix}.")
    return target


def save_atomically(target: Path, data: bytes) -> None:
    """Write a file atomically. Raises DrawingError if it cannot be written."""
    files.write_atomically(target, data, DrawingError)
