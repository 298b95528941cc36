"""The display name of each node, in all views: its own, a short formula, or `the product in line 4`."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ...core.interpreters.text import ATOM, PLAIN, FormulaText
from ...core.rules import BY_NUMBER
from ...core.tables import CONSTANT, Tables
from ...graph.nodes import Node
from ..theme import format_number
from .text_metrics import round_numbers, visible

SHORT = 24  # letters of the longest formula that serves as a name
NOUNS = {"add": "sum", "sub": "difference", "mul": "product", "div": "quotient", "pow": "power"}
Alike = Mapping[tuple[str, int], list[int]]  # (kind of node, line of the program) -> its nameless rows, ascending


def names_of(tables: Tables, rows: Iterable[int]) -> dict[int, str]:
    """The display name of each row; unique, except for Constants, and nodes to which
    their owner gave the same name. rows: in topological order."""
    rows = list(rows)
    formulas = _short_formulas(tables, rows)
    counts, rows_by_line = Counter(formulas.values()), group_by_line(tables, rows)
    names: dict[int, str] = {}
    for row in rows:
        given_name, formula = tables.name(row), formulas.get(row, "")
        if given_name:
            names[row] = visible(given_name)
        elif tables.operators[row] == CONSTANT:
            names[row] = format_number(tables.values[row])
        else:
            names[row] = formula if counts[formula] == 1 and formula else name_by_line(tables, row, rows_by_line)
    return names


def _short_formulas(tables: Tables, rows: Iterable[int]) -> dict[int, str]:
    """The rows' formulas, those that are at most SHORT letters long."""
    texts: dict[int, FormulaText] = {}
    for row in rows:
        name, kind = tables.name(row), tables.operators[row]
        if name or kind == CONSTANT:
            texts[row] = FormulaText(name, ATOM, PLAIN) if name else PLAIN.number(tables.values[row])
        elif kind >= 0:
            operands = [texts.get(operand) for operand in tables.operands(row)]
            if operands and None not in operands and sum(len(str(operand)) for operand in operands) < SHORT:
                texts[row] = BY_NUMBER[kind](*operands)
    written = {row: round_numbers(str(text)) for row, text in texts.items()}
    return {row: visible(text) for row, text in written.items() if len(text) <= SHORT}


def formula_line(node: Node, most: int) -> str:
    """A node's formula in one line, shared parts behind it, cut after so many letters."""
    *shared, formula = node.formula().splitlines()
    return visible(formula + (f", where {', '.join(shared)}" if shared else ""), most)


def group_by_line(tables: Tables, rows: Iterable[int]) -> Alike:
    """Group the rows without a name of their own by kind of node and source line."""
    lines: dict[Any, int] = {}
    groups: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in sorted(rows):
        if tables.name(row):
            continue  # a drawing has absorbed sums with a name, a walk has not: counting them, the two would differ
        origin = tables.origin(row)
        key = id(origin.code), origin.instruction
        if key not in lines:
            lines[key] = origin.line
        groups[tables.kind(row), lines[key]].append(row)
    return groups


def name_by_line(tables: Tables, row: int, alike: Alike) -> str:
    """`the product in line 4`, `the 2nd product in line 4`."""
    kind, line = tables.kind(row), tables.origin(row).line
    rows = alike[kind, line]
    prefix = f"{ordinal(bisect_left(rows, row))} " if len(rows) > 1 else ""
    return f"the {prefix}{NOUNS.get(kind, kind)} in line {line}"


def ordinal(position: int) -> str:
    """Which of several it is in words, counted from 0: a is the 1st of a - b."""
    number = position + 1
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{suffix}"
