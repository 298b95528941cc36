"""What a walk goes through, as the learner knows it: its title as text, its heading as a formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from ...core.arithmetics.text import ATOM, PLAIN, Text, plain_number, tex_name
from ...graph.registry import handle
from ..assets import in_words
from ..drawing.scene import READABLE
from ..drawing.text_metrics import visible
from .mathml import mathml
from .recording import Participants

OMITTED = "…"
LONGEST, DEEPEST = 160, 6  # letters of a formula that stands as a heading, and brackets within brackets
LONG, DEEP, MANY = 60, 6, 4  # letters of a formula in a title, rules within rules, operands of a rule


def title_of(casts: Sequence[Participants]) -> str:
    """The result's name, or its formula shortened."""
    if not casts:
        return "An empty walk"
    first = casts[0]
    names = ", ".join(first.then.name(row) or _shortened(first, row) for row in first.targets[:3])
    return f"{in_words('A walk through')} {names}"


def _shortened(cast: Participants, row: int) -> str:
    """The formula, as deep as it fits a title."""
    texts = (str(_written(cast, row, deep)) for deep in range(DEEP, 0, -1))
    text = next((text for text in texts if len(text) <= LONG), OMITTED)
    says = text.count(OMITTED) <= len(re.findall(r"[^\W\d]\w*", text))  # more than that much was left out
    return visible(text, LONG) if says else _counted(cast, row)


def _counted(cast: Participants, row: int) -> str:
    """What a long formula is at its top: `a sum of 100 terms (601 nodes)`."""
    size = f"{len(cast.rows):,} nodes"
    while len(inner := [each for each in cast.operands(row) if each not in cast.constants]) == 1:
        (row,) = inner
    kind, terms, seen, left = cast.then.kind(row), 0, set[int](), [row]
    while left:
        each = left.pop()
        if cast.then.kind(each) == kind and each not in seen:
            seen.add(each)
            left += cast.operands(each)
        else:
            terms += each not in cast.constants
    parts = {"add": f"a sum of {terms:,} terms", "mul": f"a product of {terms:,} factors"}
    return f"{parts[kind]} ({size})" if kind in parts and terms > MANY else f"a graph of {size}"


def _written(cast: Participants, row: int, deep: int) -> Text:
    """A row's formula; a part that lies too deep, or between too many others, is a mark of omission."""
    rule, name = cast.rule(row), cast.then.name(row)
    if rule is None or (name and row not in cast.targets):
        fixed = row in cast.constants and name is None and cast.is_there()
        return plain_number(cast.tables.values[row], PLAIN) if fixed else Text(name or f"v{row}", ATOM, PLAIN)
    operands, omitted = cast.operands(row), Text(OMITTED, ATOM, PLAIN)
    if not deep:
        return omitted
    kept = operands if len(operands) <= MANY else operands[: MANY - 1]
    texts = [_written(cast, each, deep - 1) for each in kept]
    found: Text = rule(*texts, *[omitted] * (len(kept) < len(operands)))
    return found


def heading_of(casts: Sequence[Participants]) -> str:
    """The formula of the first graph's result as MathML; empty where it is long, or the graph is gone."""
    cast = next(iter(casts), None)
    if cast is None or not cast.is_there() or len(cast.rows) > READABLE or len(cast.targets) != 1:
        return ""
    node = handle(cast.tables, cast.targets[0])
    text, tex = node.formula(), node.formula("tex")
    # Brackets grow with what they hold.
    deep = max(accumulate((letter == "(") - (letter == ")") for letter in text))
    if "\n" in text or tex.startswith(r"\begin{aligned}") or len(text) > LONGEST or deep > DEEPEST:
        return ""
    return mathml(f"{tex_name(cast.called(node.row))} = {tex}")
