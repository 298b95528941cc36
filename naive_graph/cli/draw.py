"""`naive-graph draw EXPRESSION`: evaluate and differentiate a formula, and save its graph as a picture."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..errors import CommandError, ExpressionError, NaiveGraphError
from ..graph.formatting import wrap_to_terminal
from ..graph.graph import Graph
from ..graph.nodes import Constant, Node, is_leaf_variable
from ..views.drawing.draw import draw
from ..views.drawing.picture import FORMS, checked_path
from .expression import read
from .serving import browse


def draw_expression(expression: str, values: Sequence[str], output: Path, opened: bool, **wishes: Any) -> None:
    """Parse, evaluate, differentiate and draw an expression; print its formula, value and gradients."""
    checked_path(output, "A picture", FORMS, CommandError)  # before anything is printed
    assignments = parse_assignments(values)
    with Graph.scratch(), warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        f = read(expression, assignments)
        Graph.forward(f)
        if not isinstance(f, Constant):
            Graph.backward(f)
        print(wrap_to_terminal(_summary(f)))
        draw(f, **wishes).save(output)
    for note in caught_warnings:
        # Where it was written is a line of this program, which says nothing to the reader.
        print(wrap_to_terminal(f"note: {re.split(', (?:written|made) on ', str(note.message))[0]}"))
    report_file(output, opened)


def report_file(output: Path, opened: bool) -> None:
    """Print where the file was written; open it in the browser if `opened`."""
    print(f"written: {output}")
    if opened:
        browse(output.resolve().as_uri())


def parse_assignments(words: Sequence[str]) -> dict[str, float]:
    """{"x": 6.0} for ["x=6"]."""
    values = parse_pairs(words, float, _make_assignment_error)
    for name in values:
        if not name.isidentifier():
            raise ExpressionError(f"'{name}' is no name for a number. Write it like x=6, and quote the expression.")
    return values


def _make_assignment_error(word: str) -> ExpressionError:
    return ExpressionError(f"'{word}' is no number for a name. Write it like x=6, and quote the expression.")


def parse_pairs(
    words: Sequence[str], convert: Callable[[str], Any], make_error: Callable[[str], NaiveGraphError]
) -> dict[str, Any]:
    """{"x": 6.0} for ["x=6"].

    convert: makes a value of its text, or raises ValueError. make_error: makes the error for a word that is no pair.
    """
    values: dict[str, Any] = {}
    for word in words:
        name, _, text = (part.strip() for part in word.rpartition("="))
        if name in values:
            raise CommandError(f"'{name}' is given two values. Keep one.")
        try:
            values[name] = convert(text if name else "")
        except ValueError:
            raise make_error(word) from None
    return values


def _summary(f: Node) -> str:
    leaves = [node for node in Graph.node_list if is_leaf_variable(node)]
    lines = [f"f = {f.formula()}", f"f = {f.value:.15g}" if f.value is not None else ""]
    lines += [f"df/d{leaf.name} = {leaf.grad:.15g}  at {leaf.name} = {leaf.value:.15g}" for leaf in leaves]
    return "\n".join(lines)
