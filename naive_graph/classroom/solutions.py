"""Render an exercise as source text: its solution, and the blank that a learner starts from."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from .exercise import Exercise

WIDTH = 84  # of a line of a statement
ACCEPTED = "A tuple or an array does for a list, and NumPy's numbers do for numbers: only the numbers are compared."


def solution_text(exercise: Exercise) -> str:
    """The source of the solution, with its helper functions.

    >>> from .judging import exercise_named
    >>> print(solution_text(exercise_named("slope")).splitlines()[-1])
        return rise / (2 * h)
    """
    if exercise.text:
        return exercise.text
    text = "\n\n".join(textwrap.dedent(inspect.getsource(function)) for function in (exercise.solve, *exercise.helpers))
    return "import math\n\n\n" * ("math." in text) + text


def _format_docstring(statement: str) -> str:
    """A statement as a docstring."""
    first, *later_lines = [part for line in statement.splitlines() for part in textwrap.wrap(line, WIDTH) or [""]]
    return first if not later_lines else "\n".join([first, *(f"    {line}".rstrip() for line in later_lines), "    "])


def blank_text(exercise: Exercise) -> str:
    """The learner's starting point: the signature, the statement as docstring, and `...` as the body.

    Each statement ends with what is accepted, the same for all exercises.
    """
    tree = ast.parse(solution_text(exercise))
    definition: Any = next(statement for statement in tree.body if getattr(statement, "name", "") == exercise.name)
    docstring = _format_docstring(f"{exercise.statement}\n\n{ACCEPTED}")
    definition.body = [ast.Expr(ast.Constant(docstring)), ast.Expr(ast.Constant(...))]
    return ast.unparse(definition)
