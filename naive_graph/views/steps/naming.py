"""What a walk goes through, as the learner knows it: its title as text, its heading as a formula."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ...core.arithmetics.text import tex_name
from ...graph.handles import handle
from ..scene import READABLE
from .mathml import mathml
from .run import Cast

LONGEST, DEEPEST = 160, 6  # letters of a formula that stands as a heading, and brackets within brackets


def title_of(casts: Sequence[Cast]) -> str:
    if not casts:
        return "An empty walk"
    first = casts[0]
    return "A walk through " + ", ".join(first.called(row) for row in first.targets[:3])


def heading_of(casts: Sequence[Cast]) -> str:
    """The formula of the first graph's result as MathML; empty where it is long, or the graph is gone."""
    cast = next(iter(casts), None)
    if cast is None or not cast.is_there() or len(cast.rows) > READABLE or len(cast.targets) != 1:
        return ""
    node = handle(cast.tables, cast.targets[0])
    text, tex = node.formula(), node.formula("tex")
    # Brackets grow with what they hold.
    deep = max(accumulate((letter == "(") - (letter == ")") for letter in text))
    if "\n" in text or len(text) > LONGEST or deep > DEEPEST:
        return ""
    return mathml(f"{tex_name(cast.called(node.row))} = {tex}")
