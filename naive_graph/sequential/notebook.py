"""`%%sequential`: a notebook's cell in the sequential language.

Once before: `%load_ext naive_graph.sequential.notebook`. The cell's networks
are then names of the notebook; the program is shown in colours.
"""

from __future__ import annotations

import html
import re
import sys
from typing import Any

from ..errors import SequentialError
from ..views.look import LIGHT, page_style
from .fields import METHODS
from .language import ParsedProgram, parse
from .layers import LAYERS
from .reading import RESERVED

WORD = re.compile(r"//[^\n]*|/\*.*?\*/|\"[^\"\n]*\"|'[^'\n]*'|[A-Za-z_]\w*|\d[\d.eE]*|.", re.DOTALL)
COLOURS = {"comment": "soft", "text": "right", "word": "now", "layer": "queued", "number": "gradient"}


def coloured(text: str) -> str:
    """The text as HTML, each word in the colour of its kind.

    >>> coloured("add r;")
    '<pre style="font-family:monospace"><span style="color:var(--ng-now,#b3261e)">add</span> r;</pre>'
    """
    return '<pre style="font-family:monospace">' + "".join(_painted(each) for each in WORD.findall(text)) + "</pre>"


def _painted(word: str) -> str:
    kind = _kind(word)
    if not kind:
        return html.escape(word)
    name = COLOURS[kind]  # where styles are dropped, the colour on light ground stays
    return f'<span style="color:var(--ng-{name},{LIGHT[name]})">{html.escape(word)}</span>'


def _kind(word: str) -> str:
    if word.startswith(("//", "/*")) and len(word) > 1:
        return "comment"
    if word[0] in "\"'" and len(word) > 1:
        return "text"
    if word in RESERVED:
        return "word"
    if word in LAYERS or word in METHODS:
        return "layer"
    return "number" if word[0].isdigit() else ""


class ShownProgram:
    """A program that a notebook writes in colours."""

    def __init__(self, program: ParsedProgram) -> None:
        self.program = program

    def _repr_html_(self) -> str:
        style = page_style(".ng-program", *COLOURS.values())
        return f'<div class="ng-program"><style>{style}</style>{coloured(self.program.text())}</div>'

    def __repr__(self) -> str:
        return self.program.text()


def load_ipython_extension(shell: Any) -> None:
    """Make `%%sequential` known to a notebook."""

    def sequential(line: str, cell: str) -> ShownProgram | None:
        try:
            program = parse(cell)
        except SequentialError as error:
            print(error, file=sys.stderr)  # its place in the cell says all; a traceback would hide it
            return None
        shell.push({name: program[name] for name in program} | ({line.strip(): program} if line.strip() else {}))
        return ShownProgram(program)

    shell.register_magic_function(sequential, "cell", "sequential")
