"""A node as text: its formula, its two tables, and how it shows itself in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TypeVar

from ..core.arithmetics.text import formula, show_formula
from ..core.plan import Plan
from ..core.tables import Tables

Item = TypeVar("Item")
MOST_ROWS = 60  # of a table; the middle of a longer one is left out
MOST_LINES = 200  # of a formula
PRE = "<pre style='margin:0; font-family:monospace'>"  # exported pages give a bare pre the font of their prose


class Printed(str):
    """A text that prints as itself, also where Python would show its repr."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"{PRE}{escape(self)}</pre>"


def write_formula(tables: Tables, plan: Plan, style: str = "text", most_lines: int = MOST_LINES) -> str:
    """The formula of the plan's first target, shortened in the middle beyond `most_lines`."""
    definitions, result = formula(tables, plan, style)
    return show_formula(definitions, result, style, most_lines)


def printed_tables(tables: Tables, plan: Plan) -> Printed:
    """The table of nodes, then the table of edges, of everything in the plan."""
    rows = sorted(plan.rows)
    sources, targets = tables.edges(rows)
    shown = [list(node_row(tables, row)) for row in _ends(rows)]
    edges = [[str(source), str(target)] for source, target in _ends(list(zip(sources, targets)))]
    return Printed(
        f"nodes ({len(rows):,})\n{_table(['row', 'kind', 'name', 'value', 'grad'], shown, len(rows))}\n\n"
        f"edges ({len(sources):,})\n{_table(['source', 'target'], edges, len(sources))}"
    )


def node_row(tables: Tables, row: int) -> tuple[str, str, str, str, str]:
    """One row of the table of nodes; a dot stands for what was not computed."""
    return (
        str(row),
        tables.kind(row),
        tables.name(row) or "",
        shown_number(tables.value(row)),
        shown_number(None if tables.grads_are_blank else tables.grad(row)),
    )


def shown_number(value: float | None) -> str:
    """Six significant digits; a dot for what was not computed."""
    return "." if value is None else f"{value:.6g}"


def node_html(tables: Tables, plan: Plan) -> str:
    """Formula, value and gradient of the plan's target, for a notebook."""
    row = plan.rows[plan.targets[0]]
    text = write_formula(tables, plan, most_lines=8)
    if len(text) > 2000:
        text = f"{text[:1000]} ... {text[-900:]}"
    facts = [tables.label(row), f"value {shown_number(tables.value(row))}"]
    if tables.grad(row) is not None:
        facts.append(f"grad {shown_number(tables.grad(row))}")
    return f"<div>{PRE}{escape(text)}</pre><small>{escape(', '.join(facts))}</small></div>"


def _ends(items: Sequence[Item]) -> list[Item]:
    """All of a short list, the first and last of a long one."""
    half = MOST_ROWS // 2
    return list(items) if len(items) <= MOST_ROWS else [*items[:half], *items[-half:]]


def aligned(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of cells as text in columns.

    >>> aligned([["row", "x"], ["0", "2.5"]])
    ['row    x', '  0  2.5']
    """
    widths = [max(map(len, column)) for column in zip(*lines)]
    return ["  ".join(map(str.rjust, line, widths)).rstrip() for line in lines]


def _table(head: list[str], lines: list[list[str]], size: int) -> str:
    text = aligned([head, *lines])
    if size > len(lines):
        text.insert(1 + len(lines) // 2, f"... ({size - len(lines):,} more)")
    return "\n".join(text)
