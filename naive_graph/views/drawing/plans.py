"""The scene of a compiled plan: a box for each row of its IR; rows that are computed for every sample have a frame.

So a reader sees what each pass of the compiler made of the graph, such as products and sums that became one `dot`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from ...core.rules import BY_NUMBER
from ...core.tables import Tables
from ...engines.passes.ir import DOT, IR, NAMES, NONE, REDUCE, TOTAL, Lanes
from ...engines.passes.lowering import PassResult
from ...engines.passes.reverse_symbolic import Count
from ...program.backends import CompiledBackend
from ..theme import format_number
from .picture import Picture
from .scene import (
    KIND_NAMES,
    NEAREST,
    READABLE,
    Arrow,
    Box,
    Scene,
    bundle_arrows,
    check_options,
    nearest_first,
    operator_symbol,
    stub_boxes,
)
from .text_metrics import visible

BOX_KINDS = {**KIND_NAMES, DOT: "dot", TOTAL: "total", REDUCE: "total"}
MOST_TERMS = 4  # of a sum that are written in its box
MOST_LANES = 2  # of the samples' numbers that are written in a leaf


def draw_plan(
    backend: CompiledBackend, after: str, direction: str | None = None, title: str = "", most: int | None = None
) -> Picture:
    """Draw the plan of a compiled program as it is after the named pass: a box for each row that a result depends on.

    Of too many rows the nearest are drawn. The other arguments are those of `draw`.
    """
    check_options(direction, title, most)
    tables, stage = backend.tables, backend.stages()[after]
    ir, labels = stage.ir, _result_labels(backend, stage)
    assert ir is not None  # `CompiledBackend.stages` makes it again where it was not kept
    needed = list(nearest_first(stage.results, lambda row: (operand for operand in ir.of(row) if operand != NONE)))
    rows = sorted(needed if len(needed) <= (most or READABLE) else needed[: most or NEAREST])
    texts = {row: _leaf_lines(ir, tables, row) for row in needed}
    names = {row: labels.get(row) or (lines[-1] if lines[0] else f"r{row}") for row, lines in texts.items()}
    boxes = [_row_box(ir, row, texts[row], names) for row in rows]
    arrows = list(chain.from_iterable(_row_arrows(ir, row, {*rows}) for row in rows))
    frames = {f"samples-{group}": _format_sample_count(count) for group, count in enumerate(ir.samples[1:], 1)}
    caption = _caption(len(ir), len(needed), len(rows), most)
    new_scene = Scene(boxes + stub_boxes(boxes, arrows), arrows, frames, caption, visible(title, most=120))
    return Picture(new_scene, direction, name=f"The plan after {after}")


def _caption(rows: int, needed: int, drawn: int, most: int | None) -> str:
    sentences = []
    if needed < rows:
        sentences.append(f"{rows - needed:,} of {rows:,} rows are left out: no result depends on them.")
    if drawn < needed:
        more = max(1000, 2 * (most or READABLE))
        sentences.append(f"The {drawn:,} of {needed:,} rows nearest the results are shown. See more with most={more}.")
    return " ".join(sentences)


def _format_sample_count(count: int) -> str:
    """A number of samples in words; that of a batch is known only when it is fed."""
    return f"{count:,} samples" if count > 1 else "every sample"


# --- names --------------------------------------------------------------------


def _result_labels(answers: CompiledBackend, stage: PassResult) -> dict[int, str]:
    """A label for each result row: the outputs, then the derivatives of each. A row may have several."""
    names = [_node_name(answers.tables, row) for row in answers.rows]
    slopes = [f"d{output}/d{_node_name(answers.tables, leaf)}" for output in names for leaf in answers.wrt]
    labels: dict[int, str] = {}
    for row, label in zip(stage.results, [*(name or "result" for name in names), *slopes], strict=False):
        labels[row] = f"{labels[row]}, {label}" if row in labels else label
    return {row: visible(label) for row, label in labels.items()}


def _node_name(tables: Tables, row: int) -> str:
    """A node's name; without one, "" for an operator and its row for a leaf."""
    return tables.name(row) or ("" if tables.operators[row] >= 0 else f"(row {row})")


def _leaf_lines(ir: IR, tables: Tables, row: int) -> list[str]:
    """The lines of a leaf's box, the last of which is its name in a sum; "" first if it has no name of its own."""
    source = ir.sources.get(row)
    if row in ir.constants:
        return [format_number(ir.constants[row])]
    if isinstance(source, Count):
        return ["number of", "samples"]
    if isinstance(source, Lanes):  # the first samples' values: numbers, or names of nodes
        samples = zip(source.numbers[:MOST_LANES], source.sources, strict=False)
        texts = [format_number(number) if node is None else _source_lines(tables, node)[-1] for number, node in samples]
        return ["", ", ".join([*texts, "..."] if len(source.numbers) > MOST_LANES else texts)]
    return [""] if source is None else _source_lines(tables, source)


def _source_lines(tables: Tables, source: Any) -> list[str]:
    """The name of the node that a leaf takes its value from; without one, "" and its label."""
    row = getattr(source, "row", source)
    name = tables.name(row)
    return ["", tables.label(row)] if name is None else [visible(name)]


# --- boxes --------------------------------------------------------------------


def _row_box(ir: IR, row: int, leaf_lines: list[str], names: dict[int, str]) -> Box:
    kind, group = int(ir.kinds[row]), int(ir.groups[row])
    if ir.starts[row] < ir.starts[row + 1]:
        lines = _operator_lines(ir, row, names)
    else:
        lines = [line or names[row] for line in leaf_lines]
        lines += [] if names[row] in lines else [f"= {names[row]}"]
    return Box(f"row-{row}", BOX_KINDS.get(kind, "operator"), lines, (f"samples-{group}",) if group else ())


def _operator_lines(ir: IR, row: int, names: dict[int, str]) -> list[str]:
    """An operator's symbol and what its row is called; a sum's terms."""
    kind = int(ir.kinds[row])
    if kind not in BOX_KINDS:
        return [f"{names[row]}: {NAMES.get(kind) or operator_symbol(BY_NUMBER[kind])}"]
    below = ir.samples[max(int(ir.groups[operand]) for operand in ir.of(row) if operand != NONE)]
    over = [] if kind == DOT else [f"over {_format_sample_count(below)}"]
    return [f"{names[row]}: {NAMES[kind]}", _terms(ir.of(row), names.__getitem__), *over]


def _terms(pairs: Sequence[int], name: Callable[[int], str]) -> str:
    """A sum of products, the first terms of it if it is long.

    >>> _terms([0, 1, 2, -1], ["a", "−2", "c"].__getitem__)
    'a·(−2) + c'
    """
    terms = []
    for x, y in zip(pairs[::2], pairs[1::2], strict=True):
        terms.append(name(x) if y == NONE else f"{_factor(name(x))}·{_factor(name(y))}")
    more = [f"({len(terms) - MOST_TERMS:,} more)"] if len(terms) > MOST_TERMS else []
    return " + ".join([*terms[:MOST_TERMS], *more])


def _factor(name: str) -> str:
    return f"({name})" if name.startswith("−") else name


# --- arrows -------------------------------------------------------------------


def _row_arrows(ir: IR, row: int, shown_rows: set[int]) -> list[Arrow]:
    """An arrow for each operand position; those from rows that are not shown are bundled into one."""
    operands = ir.of(row)
    kind, name = int(ir.kinds[row]), f"row-{row}"
    ordered = kind >= 0 and kind not in NAMES and not BY_NUMBER[kind].associative and len(operands) > 1
    arrows = [
        Arrow(f"edge-{operand}-{row}-{position}", f"row-{operand}", name, "", position if ordered else None)
        for position, operand in enumerate(operands)
        if operand in shown_rows
    ]
    hidden = [(f"rest-{name}", name) for operand in operands if operand != NONE and operand not in shown_rows]
    return arrows + bundle_arrows(Counter(hidden))
