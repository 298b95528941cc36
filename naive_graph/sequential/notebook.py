"""`%%sequential`: a notebook's cell in the sequential language.

Load it with `%load_ext naive_graph.sequential.notebook`. The cell's networks
become variables of the notebook, and the cell is syntax-highlighted.
"""

from __future__ import annotations

import html
import json
import re
import sys
from importlib.resources import files
from typing import Any

from ..errors import SequentialError
from ..views.theme import LIGHT, page_style
from .compile import ParsedProgram, parse
from .layer_args import METHODS
from .layers import LAYERS
from .parser import RESERVED

COLOURS = {"comment": "soft", "text": "right", "word": "now", "layer": "queued", "number": "gradient"}
PATTERN = (  # token kinds; the same pattern (without the P) is used by cell.js
    r"(?P<comment>//[^\n]*|/\*[\s\S]*?\*/)|(?P<text>\"[^\"\n]*\"|'[^'\n]*')|"
    rf"(?P<word>\b(?:{'|'.join(sorted(RESERVED))})\b)|(?P<layer>\b(?:{'|'.join([*LAYERS, *METHODS])})\b)|"
    r"(?P<number>\b\d[\d.eE]*)"
)


def highlight_html(text: str) -> str:
    """Highlight program text as HTML.

    >>> highlight_html("add r;")
    '<pre style="font-family:monospace"><span style="color:var(--ng-now,#b3261e)">add</span> r;</pre>'
    """
    return f'<pre style="font-family:monospace">{re.sub(PATTERN, _paint_word, html.escape(text, quote=False))}</pre>'


def _paint_word(word: re.Match[str]) -> str:
    name = COLOURS[str(word.lastgroup)]  # the light theme's colour is the fallback without styles
    return f'<span style="color:var(--ng-{name},{LIGHT[name]})">{word[0]}</span>'


class HighlightedProgram:
    """A program with highlighting of its notebook cell; where that is not possible, a highlighted copy is shown."""

    def __init__(self, program: ParsedProgram) -> None:
        self.program = program

    def _repr_html_(self) -> str:
        marks = "".join(f"::highlight(ng-{kind}) {{ color: var(--ng-{name}) }}" for kind, name in COLOURS.items())
        style = page_style(".ng-program", *COLOURS.values()) + marks
        paint = files(__package__).joinpath("cell.js").read_text(encoding="utf-8")
        script = f"{paint}({json.dumps(PATTERN.replace('?P<', '?<'))})".replace("</", "<\\/")
        shown = highlight_html(self.program.text())
        return f'<div class="ng-program"><style>{style}</style>{shown}<script>{script}</script></div>'

    def __repr__(self) -> str:
        return self.program.text()


def load_ipython_extension(shell: Any) -> None:
    """Register the cell magic `%%sequential`."""

    def sequential(line: str, cell: str) -> HighlightedProgram | None:
        try:
            program = parse(cell)
        except SequentialError as error:
            print(error, file=sys.stderr)  # the position in the cell suffices; a traceback would hide it
            return None
        shell.push({name: program[name] for name in program} | ({line.strip(): program} if line.strip() else {}))
        return HighlightedProgram(program)

    shell.register_magic_function(sequential, "cell", "sequential")
