"""A drawn graph: SVG, PNG, PDF and DOT of one scene, made when somebody looks."""

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
from ...core.files import path_of
from ...core.guesses import Suggesting
from ...errors import DrawingError, MissingToolError, NaiveGraphError
from ..assets import packed, page_of_its_own
from ..csp import policy
from ..theme import LEAST, SMALL, page_style
from .dot import dot_source, dot_text
from .engine import packed_code, places
from .layout import Page, lay_out
from .live_graph import Alive
from .raster import pdf_of, png_of
from .scene import Scene, with_room
from .svg import render_svg, render_unplaced_svg

NARROW = 700  # pixels, of a notebook's column
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
        self, scene: Scene, direction: str | None = None, whole: Scene | None = None, name: str = "",
        living: Alive | None = None,
    ) -> None:  # fmt: skip
        self.scene = scene
        self.wished = direction
        self.name = name or "A computation graph"  # of what is drawn
        self.whole = whole  # of a scene that was made shorter: all of it, for a page where it can be searched
        self.living = living if living and living.code else None  # what a page computes

    @cached_property
    def laid_out_page(self) -> Page:
        """The picture with its places. Raises DrawingError if dot would take too long."""
        return lay_out(self.scene, self.wished)

    @property
    def direction(self) -> str:
        """Where its arrows lead: "LR", "RL", "TB" or "BT"."""
        return self.wished or self.laid_out_page.direction

    @cached_property
    def svg(self) -> str:
        """The picture as SVG text. Nodes are groups with ids such as `row-3`, edges such as `edge-0-3-1`.

        Raises MissingToolError where no Graphviz is at hand.
        """
        return render_svg(self.laid_out_page, self.alt())

    @cached_property
    def png(self) -> bytes:
        """The picture as PNG. Raises MissingToolError without resvg-py."""
        return png_of(self.svg)

    @cached_property
    def pdf(self) -> bytes:
        """The picture as PDF. Raises MissingToolError without cairosvg."""
        return pdf_of(self.svg)

    @cached_property
    def dot(self) -> str:
        """The picture in Graphviz's DOT language, with its texts and colours."""
        return dot_source(self.scene, self.wished or "LR")

    @cached_property
    def html(self) -> str:
        """The picture for a page: an image that a script, where it may run, makes one to follow."""
        return self._html(packed_code())

    def _html(self, code: str) -> str:
        # An <img> survives where scripts and bare SVG are dropped; GitHub shows the PNG.
        data = base64.b64encode(self.svg.encode()).decode()
        wide = self.laid_out_page.wide
        size = f"width:{wide:.0f}px;max-width:100%;min-width:{wide * LEAST / SMALL:.0f}px"
        image = f'<img style="{size}" alt="{escape(self.alt())}" src="data:image/svg+xml;base64,{data}">'
        looks = [f"drawing/{name}.css" for name in ("viewport", "picture", *["controls"] * bool(self.living))]
        copy = f'<script type="application/gzip" class="ng-dot">{code}</script>' if code else ""
        facts = f'data-wish="{self.wished or ""}" data-dot="{escape(dot_text(self.scene, "LR"))}"{self._facts(code)}'
        return (
            f'<div class="ng-picture" {facts}><div class="ng-view" tabindex="0" role="group" aria-label="a picture" '
            f'style="overflow-x:auto">{image}</div>{self._whole()}</div>{copy}'
            f"<style>{page_style('.ng-picture')}{''.join(map(packed, looks))}</style>"
            f"<script>{script(self.living)}</script>"
        )

    def _facts(self, code: str) -> str:
        """What a page computes the graph by; and where it has no dot, where the boxes are once they have more room."""
        if self.living is None:
            return ""
        facts = f' data-code="{self.living.key}" data-graph="{escape(json.dumps(self.living.facts))}"'
        if code:
            return facts
        keys = ("name", "id", "bb", "pos")
        laid = places(dot_text(with_room(self.scene), self.laid_out_page.direction))
        positions = {name: [{fact: element[fact] for fact in keys if fact in element} for element in laid.get(name, ())]
                 for name in ("objects", "edges")}  # fmt: skip
        layout = json.dumps({"bb": laid["bb"], "way": self.laid_out_page.direction, **positions})
        return f'{facts} data-places="{escape(layout)}"'

    def _whole(self) -> str:
        """The whole graph, for a page to lay out."""
        if self.whole is None:
            return ""
        full_scene = replace(self.whole, title=self.scene.title, caption="")
        drawn = render_unplaced_svg(full_scene, Picture(full_scene).alt())
        return f'<template data-dot="{escape(dot_text(full_scene, "LR"))}">{drawn}</template>'

    @property
    def page(self) -> str:
        """The picture as a page of its own."""
        return page_of_its_own(self.scene.title or self.name, self.html, policy(script(self.living), dot=True))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as its suffix says: .svg, .png, .pdf, .dot or .html. It is there whole or not at all."""
        target = file_of(path, "A picture", FORMS, DrawingError)
        made = self.page if target.suffix.lower() == ".html" else getattr(self, target.suffix.lower()[1:])
        write_whole(target, made.encode() if isinstance(made, str) else made)
        return target

    def alt(self) -> str:
        """The picture in a sentence, for those who do not see it."""
        count = sum(box.kind != "rest" for box in self.scene.boxes)
        shown = f"Graph of {count} nodes and {len(self.scene.arrows)} edges."
        return " ".join(part for part in (shown, self.scene.title, self.scene.caption) if part)

    def __repr__(self) -> str:
        return f"<Picture: {self.alt()} Save it with .save('graph.svg').>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # What is small and has no scopes is laid out once and for all.
        is_fixed = self.whole is None and not self.scene.scope_names and self.laid_out_page.wide < NARROW
        code = "" if is_fixed else copy_for_this_cell()
        bundle: dict[str, Any] = {"text/html": self._html(code), "text/plain": repr(self)}
        with suppress(MissingToolError, DrawingError):  # the SVG stands without it
            bundle["image/png"] = base64.b64encode(self.png).decode()
        return bundle


def script(living: Alive | None = None) -> str:
    """What brings the pictures of a page to life that compute as this one does, in a block of its own."""
    arguments = f'"{living.key}", {living.code}' if living else ""
    return f"{{{_files(living is not None)}enliven({arguments});}}"


@cache
def _files(computes: bool) -> str:
    more = ("axes", "compute", "controls", "live_graph") if computes else ()
    return "".join(packed(f"drawing/{name}.js") for name in ("engine", "viewport", *more, "picture"))


_carrier: list[Any] = []  # the cell of this session whose output holds dot for all drawings


def copy_for_this_cell() -> str:
    """dot for a page, for the first cell of a session that draws: the drawings of a notebook share that copy.

    When that cell is run again its output is a new one, and has the copy again.
    """
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    parent: Any = getattr(getattr(shell, "kernel", None), "get_parent", dict)()
    cell = parent.get("metadata", {}).get("cellId")
    if not _carrier:
        _carrier.append(cell)
    elif cell is None or cell != _carrier[0]:
        return ""
    return packed_code()


def file_of(path: Any, what: str, forms: Iterable[str], failure: type[NaiveGraphError]) -> Path:
    """The path of a file in one of these forms. Raises `failure` for another, and for what is no path."""
    target = path_of(path, failure)
    *others, last = forms
    if target.suffix.lower() not in (*others, last):
        named = f"{', '.join(others)} or {last}" if others else last
        raise failure(f"{what} is saved as {named}, not {target.suffix or 'without a suffix'!r}.")
    return target


def write_whole(target: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all. Raises DrawingError if it cannot be written."""
    files.write_whole(target, data, DrawingError)
