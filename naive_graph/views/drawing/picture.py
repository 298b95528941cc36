"""A drawn graph: SVG, PNG and DOT of one scene, made when somebody looks."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property
from html import escape
from pathlib import Path
from typing import Any

from ...core import files
from ...core.files import path_of
from ...errors import DrawingError, MissingToolError, NaiveGraphError
from ..look import LEAST, SMALL, page_style
from ..policy import policy
from .dot import dot_text, draws_letters, has_graphviz
from .dress import bare, dressed
from .graphviz_tool import run_dot
from .ink import layered_svg
from .routes import paged
from .scene import Scene

GRAPHVIZ_LIMIT = 400  # boxes, beyond which graphviz takes seconds


class Picture:
    """What `draw` returns. It shows itself in a notebook; `.svg`, `.png`, `.dot`, `.html`; `.save(path)`."""

    def __init__(self, scene: Scene, direction: str = "LR", whole: Scene | None = None, name: str = "") -> None:
        self.scene = scene
        self.direction = direction
        self.name = name or "A computation graph"  # of what is drawn
        self.whole = whole  # of a scene that was made shorter: all of it, for a page where it can be searched

    @cached_property
    def svg(self) -> str:
        """The picture as SVG text. Nodes are groups with ids such as `row-3`, edges such as `edge-0-3-1`."""
        drawn, _ = self._by_graphviz
        svg = layered_svg(self.scene, self.direction) if drawn is None else bare(drawn)
        return dressed(svg, self.scene, self.alt())

    @cached_property
    def png(self) -> bytes:
        """The picture as PNG. Raises MissingToolError where no graphviz is at hand."""
        if not has_graphviz():
            raise MissingToolError('A PNG needs graphviz: pip install "naive-graph[draw]". SVG works without.')
        if not draws_letters(self.scene):
            raise DrawingError(
                "graphviz-pure has no glyphs for these names in a PNG. Save it as SVG, or install graphviz."
            )
        laid_out, reason = self._by_graphviz
        made = run_dot(self._placed, "png") if laid_out is not None else None
        if made is None:
            raise DrawingError(
                f"No PNG from graphviz: {reason}. Save it as SVG, or show less: draw(..., most=100) or fold=True."
            )
        return made

    @cached_property
    def _by_graphviz(self) -> tuple[bytes | None, str]:
        """The SVG as graphviz laid it out; None, and the reason, if it did not."""
        if self._count() > GRAPHVIZ_LIMIT:
            return None, f"{self._count():,} boxes would take it too long"
        if not has_graphviz():
            return None, 'it is not installed (pip install "naive-graph[draw]")'
        return run_dot(self._placed, "svg"), "it took too long or failed"

    @cached_property
    def _placed(self) -> str:
        """The picture in DOT with all its places, for graphviz to draw."""
        return dot_text(self.scene, self.direction, paged(self.scene, self.direction))

    @cached_property
    def dot(self) -> str:
        """The picture in graphviz's DOT language."""
        return dot_text(self.scene, self.direction)

    @cached_property
    def html(self) -> str:
        """The picture for a notebook or a page: an image that a script, where it may run, makes one to follow."""
        # An <img> survives where scripts and bare SVG are dropped; GitHub shows the PNG.
        data = base64.b64encode(self.svg.encode()).decode()
        box = re.search(r'viewBox="\S+ \S+ (\S+) ', self.svg)
        wide = float(box[1]) if box else 0.0
        size = f"width:{wide:.0f}px;max-width:100%;min-width:{wide * LEAST / SMALL:.0f}px"
        image = f'<img style="{size}" alt="{escape(self.alt())}" src="data:image/svg+xml;base64,{data}">'
        style = _packed("picture.css")
        return (
            f'<div class="ng-picture"><div class="ng-view" tabindex="0" role="group" aria-label="a picture" '
            f'style="overflow-x:auto">{image}</div>{self._template()}</div>'
            f"<style>{page_style('.ng-picture')}{style}</style><script>{script()}</script>"
        )

    def _template(self) -> str:
        """The whole graph, kept ready where scripts may run."""
        if self.whole is None:
            return ""
        whole = Picture(replace(self.whole, title=self.scene.title, caption=""), self.direction)
        return f"<template>{dressed(layered_svg(whole.scene, whole.direction), whole.scene, whole.alt())}</template>"

    @property
    def page(self) -> str:
        """The picture as a page of its own."""
        title = escape(self.scene.title or self.name)
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
            f"{policy(script())}<title>{title}</title>"
            '<meta name="viewport" content="width=device-width"><style>:root { color-scheme: light dark }'
            "h1 { font: bold 20px/1.3 system-ui, sans-serif; margin: 12px 8px; overflow-wrap: anywhere }</style>"
            f"</head><body><main><h1>{title}</h1>{self.html}</main></body></html>\n"
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture as its suffix says: .svg, .png, .dot or .html. The file appears whole or not at all."""
        target = file_of(path, "A picture", (".svg", ".png", ".dot", ".html"), DrawingError)
        made = self.page if target.suffix.lower() == ".html" else getattr(self, target.suffix.lower()[1:])
        write_whole(target, made.encode() if isinstance(made, str) else made)
        return target

    def alt(self) -> str:
        """The picture in a sentence, for those who do not see it."""
        shown = f"Graph of {self._count()} nodes and {len(self.scene.arrows)} edges."
        return " ".join(part for part in (shown, self.scene.title, self.scene.caption) if part)

    def _count(self) -> int:
        """How many boxes there are, stubs aside."""
        return sum(box.kind != "rest" for box in self.scene.boxes)

    def __repr__(self) -> str:
        return f"<Picture: {self.alt()} Save it with .save('graph.svg').>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/html": self.html, "text/plain": repr(self)}
        with suppress(MissingToolError, DrawingError):  # the SVG stands without it
            bundle["image/png"] = base64.b64encode(self.png).decode()
        return bundle


@cache
def script() -> str:
    """What brings every picture of a page to life, in a block of its own."""
    return f"{{{_packed('folded.js')}{_packed('picture.js')}}}"


def _packed(name: str) -> str:
    """A file beside this one, without indents and lines that only explain: it is in every output of a notebook."""
    lines = map(str.strip, Path(__file__).with_name(name).read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//"))


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
