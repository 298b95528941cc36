"""The site's gallery: run each program of programs.md, and render the picture that its last line evaluates to."""

from __future__ import annotations

import ast
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote

from ..graph.graph import Graph
from ..views.playground.running import to_html

# Words in a program that needs NumPy or a compiler, which a playground may lack.
NEEDS_MORE = re.compile(r"\b(numpy|Sequential|Program)\b")
Result = TypeVar("Result")


class GalleryProgram(NamedTuple):
    """A program of the gallery; `code` ends with an expression whose value is a picture."""

    name: str
    title: str
    says: str
    code: str

    @property
    def link(self) -> str:
        """A link that opens it in the playground; empty if it needs more than Python."""
        address = f"../playground/index.html#program={quote(self.code, safe='')}"
        return "" if NEEDS_MORE.search(self.code) else address

    def html(self) -> str:
        """Its picture, as interactive HTML."""
        return run_program(self.code, to_html)

    def still(self) -> str:
        """Its picture as a static image (a data URI), for the overview."""
        svg = run_program(self.code, lambda picture: str(picture.svg))
        return f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"


def gallery_programs() -> Iterator[GalleryProgram]:
    """All programs of the gallery, in order."""
    text = Path(__file__).with_name("programs.md").read_text("utf-8")
    for title, says, code in re.findall(r"^# (.*)\n\n(.*)\n\n((?:    .*\n|\n)+)", text, re.MULTILINE):
        yield GalleryProgram(re.sub(r"\W+", "-", title.lower()), title, says, dedent(code).strip())


def lenet_program() -> str:
    """The program that shows LeNet at every zoom level; its page is so large that it is built separately."""
    return Path(__file__).with_name("lenet.txt").read_text("utf-8")


def run_program(code: str, convert: Callable[[Any], Result]) -> Result:
    """Run a program in a graph of its own; return `convert(value)` of its last line, called while that graph exists."""
    *lines, last = ast.parse(code).body
    namespace: dict[str, Any] = {}
    with Graph.scratch():
        exec(compile(ast.Module(lines, []), "gallery", "exec"), namespace)
        return convert(eval(ast.unparse(last), namespace))
