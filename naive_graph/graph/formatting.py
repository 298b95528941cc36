"""Formatting of nodes: formulas, text tables, HTML for notebooks, line wrapping, and code in C or JavaScript."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from shutil import get_terminal_size
from textwrap import fill
from typing import TypeVar

from ..core.interpreters.text import formula
from ..core.number import shortened
from ..core.plan import Plan, check_set, plan_for
from ..core.tables import CONSTANT, PLACEHOLDER, VARIABLE, Tables
from ..errors import NaiveGraphError, NodeError, PlaceHolderError

Item = TypeVar("Item")
NARROWEST = 30  # minimum characters per line, in any terminal
WIDTH, CELL = 80, 28  # maximum characters per terminal line, and per table cell
MOST_NODES = 30  # up to so many nodes, a formula is shown in one line
MOST_ROWS = 60  # rows of a table; of a longer one the middle is left out
MOST_LINES = 200  # lines of a formula
PRE = "<pre style='margin:0; font-family:monospace'>"  # explicit font: exported pages style a bare pre like prose


class Printed(str):
    """A string whose repr is the string itself, so that a notebook or prompt shows it as printed."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"{PRE}{escape(self)}</pre>"


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """A table for a notebook; a row of one cell is as wide as the table.

    >>> html_table(["n"], [["<1>"]])
    '<table><thead><tr><th>n</th></tr></thead><tbody><tr><td>&lt;1&gt;</td></tr></tbody></table>'
    """
    caption = f"<caption style='text-align:left'>{escape(title)}</caption>" if title else ""
    wide = f' colspan="{len(head)}"'
    lines = ["".join(f"<td{wide if len(row) < len(head) else ''}>{escape(cell)}</td>" for cell in row) for row in rows]
    named = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table>{caption}<thead><tr>{named}</tr></thead><tbody>{body}</tbody></table>"


def write_formula(tables: Tables, plan: Plan, style: str = "text", most_lines: int = MOST_LINES) -> str:
    """The formula of the plan's first target, after its definitions; `most_lines` of these are shown."""
    definitions, result = formula(tables, plan, style)
    if style == "text":
        lines = [f"{name} = {text}" for name, text in definitions]
        return "\n".join([*leave_out_middle(lines, most_lines, "... ({:,} more lines)"), result])
    if not definitions:
        return result
    lines = [f"{name} &= {text}" for name, text in definitions]
    lines = leave_out_middle(lines, most_lines, r"&\vdots \quad \text{{({:,} more)}}")
    return r"\begin{aligned}" + r" \\ ".join([*lines, f"&{result}"]) + r"\end{aligned}"


def leave_out_middle(items: Sequence[Item], most: int, note: str) -> list[Item | str]:
    """At most so many items, and where others are left out a note of their number, for which it has a `{}`."""
    left_out = len(items) - most
    if left_out <= 0:
        return [*items]
    return [*items[: most // 2], note.format(left_out), *items[most // 2 + left_out :]]


def summarize_node(tables: Tables, row: int) -> str:
    """Name, formula and value of a node, as far as it has them: `f = log(x) = 1.5`. A long formula is left out."""
    kind, name, value = tables.operators[row], tables.name(row), tables.value(row)
    parts = [name] if name and kind >= 0 else []
    parts.append(_short_formula(tables, row) or f"{tables.kind(row)}(...)")
    if value is not None and (name or kind != CONSTANT):  # a Constant without a name is written as its value
        parts.append(repr(value))
    return " = ".join(parts)


def _short_formula(tables: Tables, row: int) -> str | None:
    """The formula, if it is short; None if many nodes are needed, or edges drawn by hand make none."""
    needed, waiting = {row}, [row]
    while waiting:
        operands = {*tables.operands(waiting.pop())} - needed
        needed |= operands
        waiting += operands
        if len(needed) > MOST_NODES:
            return None
    try:
        text = write_formula(tables, plan_for(tables, [row]))
    except NaiveGraphError:
        return None
    return text if len(text) <= WIDTH and "\n" not in text else None


def format_tables(tables: Tables, plan: Plan) -> Printed:
    """The table of nodes, then the table of edges, of everything in the plan."""
    rows = sorted(plan.rows)
    edges = [*tables.adjacency.edges(rows)]
    node_table = _table(["row", "kind", "name", "value", "grad"], rows, lambda row: node_row(tables, row))
    edge_table = _table(["source", "target"], edges, lambda edge: [str(row) for row in edge])
    return Printed(f"nodes ({len(rows):,})\n{node_table}\n\nedges ({len(edges):,})\n{edge_table}")


def node_row(tables: Tables, row: int) -> tuple[str, str, str, str, str]:
    """One row of the table of nodes; a dot for a number that was not computed."""
    return (
        str(row),
        tables.kind(row),
        tables.name(row) or "",
        format_number(tables.value(row)),
        format_number(None if tables.grads_are_zero else tables.grad(row)),
    )


def format_number(value: float | None) -> str:
    """Six significant digits; a dot for a number that was not computed."""
    return "." if value is None else f"{value:.6g}"


def node_html(tables: Tables, plan: Plan) -> str:
    """Formula, value and gradient of the plan's target, for a notebook."""
    row = plan.rows[plan.targets[0]]
    text = write_formula(tables, plan, most_lines=8)
    if len(text) > 2000:
        text = f"{text[:1000]} ... {text[-900:]}"
    details = [tables.label(row), f"value {format_number(tables.value(row))}"]
    if tables.grad(row) is not None:
        details.append(f"grad {format_number(tables.grad(row))}")
    return f"<div>{PRE}{escape(text)}</pre><small>{escape(', '.join(details))}</small></div>"


def align_columns(lines: Sequence[Sequence[str] | str]) -> list[str]:
    """Align lines of cells in columns; columns that do not fit the width follow in further blocks.

    A line that is a string stays as it is. The first column is repeated in every block.

    >>> align_columns([["row", "x"], ["0", "2.5"]])
    ['row    x', '  0  2.5']
    """
    cells = [line if isinstance(line, str) else [_cut(cell, CELL) for cell in line] for line in lines]
    widths = [max(map(len, column)) + 2 for column in zip(*(line for line in cells if not isinstance(line, str)))]
    starts = [1]
    for column in range(2, len(widths)):
        if widths[0] - 2 + sum(widths[starts[-1] : column + 1]) > WIDTH:
            starts.append(column)
    blocks = [[0, *range(*ends)] for ends in pairwise([*starts, max(len(widths), 1)])]
    shown = [[_line(line, block, widths) for line in cells] for block in blocks]
    return [line for number, block in enumerate(shown) for line in (*[""] * bool(number), *block)]


def _line(cells: Sequence[str] | str, block: Sequence[int], widths: Sequence[int]) -> str:
    if isinstance(cells, str):
        return cells
    return "".join(cells[column].rjust(widths[column]) for column in block)[2:].rstrip()


def _cut(text: str, most: int) -> str:
    """The text; its middle is left out if it is longer than `most`."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"


def wrap_to_terminal(text: str) -> str:
    """The text wrapped to the terminal's width at the time of printing; 80 at most."""
    return wrap_text(text, min(WIDTH, max(NARROWEST, get_terminal_size((WIDTH, 24)).columns)))


def wrap_text(text: str, width: int = WIDTH) -> str:
    """Break long lines between words; a long word stays whole.

    Continuation lines are indented; those of a numbered line start below its text.

    >>> wrap_text("f = " + " + ".join(["x"] * 30)).splitlines()[1]
    '    x + x + x + x + x + x + x + x + x + x + x'
    """
    return "\n".join(line if len(line) <= width else _break_line(line, width) for line in text.splitlines())


def _break_line(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()))
    number = re.match(r" *\d+  ", line)
    further = " " * len(number[0]) if number else f"{indent}    "
    return fill(
        line.lstrip(), width, initial_indent=indent, subsequent_indent=further,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _table(head: list[str], items: Sequence[Item], cells: Callable[[Item], Sequence[str]]) -> str:
    lines: list[Sequence[str]] = [head]
    for item in leave_out_middle(items, MOST_ROWS, "... ({:,} more)"):
        lines.append(item if isinstance(item, str) else cells(item))
    return "\n".join(align_columns(lines))


def generate_code(tables: Tables, row: int, language: str, wrt: Sequence[int] | None, name: str) -> Printed:
    """The row's value and gradient as code. wrt: rows of leaves; None: all leaves that it depends on."""
    from ..core.interpreters.code import code, is_name
    from ..core.interpreters.translate import LANGUAGES

    if not isinstance(language, str) or language not in LANGUAGES:
        raise NodeError(f'Code is written in "c" or "javascript", not {shortened(language)}.')
    if not is_name(name):
        raise NodeError(
            f"The function's name must be one that C and JavaScript take, such as 'f', not {shortened(name)}."
        )
    plan = plan_for(tables, [row])
    plan.check_complete(tables)
    leaves = [leaf for leaf, kind in zip(plan.rows, plan.kinds) if kind in (VARIABLE, PLACEHOLDER)]
    inputs = sorted(leaves) if wrt is None else list(wrt)
    _check_inputs(tables, inputs)
    outside = set(leaves).difference(inputs)
    for leaf in sorted(outside):
        if tables.operators[leaf] == PLACEHOLDER:
            raise PlaceHolderError(f"{tables.label(leaf)} is fed, so it must be an input: name it in wrt.")
    check_set(tables, outside)
    return Printed(code(tables, plan, inputs, language, name))


def _check_inputs(tables: Tables, rows: Sequence[int]) -> None:
    for row in rows:
        if tables.operators[row] not in (VARIABLE, PLACEHOLDER):
            raise NodeError(f"wrt takes Variables and PlaceHolders, not {tables.label(row)}.")
    if len(set(rows)) < len(rows):
        raise NodeError("wrt names a leaf twice: each is one input.")
