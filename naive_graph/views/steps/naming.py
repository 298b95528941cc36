"""Title (text) and heading (MathML formula) of recorded steps, from the result's name or formula."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ...core.interpreters.text import tex_name
from ...graph.node_factory import handle
from ..assets import translate_page_text
from ..drawing.names import formula_line
from ..drawing.scene import READABLE, SCREENFUL
from .mathml import mathml
from .recording import Participants

LONGEST, DEEPEST = 160, 6  # a formula with more letters, or with deeper nested brackets, is no heading
LONG = 60  # letters of a formula in a title


def walk_title(casts: Sequence[Participants]) -> str:
    """Such as "A walk through f": the first graph's results by their names, or else by their shortened formulas."""
    if not casts:
        return "An empty walk"
    first = casts[0]
    names = ", ".join(first.then.name(row) or _result_name(first, row) for row in first.targets[:3])
    return f"{translate_page_text('A walk through')} {names}"


def _result_name(cast: Participants, row: int) -> str:
    if cast.is_there() and len(cast.rows) <= SCREENFUL:
        return formula_line(handle(cast.tables, row), LONG)
    return f"a graph of {len(cast.rows):,} nodes"


def walk_heading(casts: Sequence[Participants]) -> str:
    """The formula of the first graph's result as MathML; "" if it is too long, or the graph was cleared."""
    cast = next(iter(casts), None)
    if cast is None or not cast.is_there() or len(cast.rows) > READABLE or len(cast.targets) != 1:
        return ""
    node = handle(cast.tables, cast.targets[0])
    text, tex = node.formula(), node.formula("tex")
    # Each level of brackets is drawn larger than what it encloses.
    deep = max(accumulate((letter == "(") - (letter == ")") for letter in text))
    if "\n" in text or tex.startswith(r"\begin{aligned}") or len(text) > LONGEST or deep > DEEPEST:
        return ""
    return mathml(f"{tex_name(cast.called(node.row))} = {tex}")
