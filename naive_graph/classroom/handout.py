"""Make the notebooks of a graded lesson: the teacher's, with solutions, and the students', with blanks.

The cells carry the metadata of nbgrader (version 3), and the folders have its
names, so that its commands know them as well:
source/LESSON/LESSON.ipynb and release/LESSON/LESSON.ipynb.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator
from functools import partial
from textwrap import indent
from typing import Any

from ..errors import LessonError
from .answers import find_checks_in, parse_cell
from .exercise import Exercise
from .judging import exercise_named
from .lessons import remove_outputs
from .solutions import ACCEPTED, blank_text, solution_text

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
BEGIN_TESTS, END_TESTS = "### BEGIN HIDDEN TESTS", "### END HIDDEN TESTS"
# The hidden test of a graded cell: the notebook's cells run again, in a separate process that has no solutions.
HIDDEN_TEST = """\
import naive_graph.classroom.sandbox

verdict = naive_graph.classroom.sandbox.judged_apart("{}", "{}", In)
assert verdict.passed, verdict.message"""
HELPERS = {"hint", "solution", "working"}  # functions that an assessed lesson does without
QUOTES = '"""'
BLANK = "# YOUR CODE HERE\nraise NotImplementedError()"
Notebook = dict[str, Any]


def cell_texts(notebook: Notebook) -> list[str]:
    """The texts of a notebook's code cells. Raises LessonError for what is no notebook."""
    try:
        cells = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
        return ["".join(cell) for cell in cells]
    except (KeyError, TypeError):
        raise LessonError("It is no notebook of nbformat 4.") from None


def latest_checks(cells: list[str]) -> Iterator[tuple[int, Exercise, ast.expr]]:
    """Yield (cell index, exercise, expression) of the last check of each exercise."""
    latest = {}
    for index, cell in enumerate(cells):
        for name, answer in find_checks_in(cell):
            exercise = exercise_named(name)
            latest[exercise.name] = index, exercise, answer
    yield from latest.values()


def make_teacher_notebook(lesson: Notebook, points: dict[str, float]) -> Notebook:
    """The teacher's notebook: a lesson with solutions, and a graded cell for each exercise that gives points."""
    notebook = remove_outputs(lesson)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for index, exercise, answer in latest_checks(cell_texts(notebook)):
        if exercise.name in points:
            name = ast.unparse(answer)
            check_cell = _remove_check(code[index], exercise)
            new_cells = [_graded_cell(exercise, name, points[exercise.name])]
            blank = next((cell for cell in reversed(code[: index + 1]) if _find_definition(cell, name)), None)
            if blank is None:
                blank = {**copy.deepcopy(check_cell), "id": f"blank-{exercise.name}", "source": ""}
                new_cells.insert(0, blank)
            _insert_solution(blank, exercise, name)
            position = next(i for i, cell in enumerate(notebook["cells"]) if cell is check_cell)
            kept = [check_cell] if _text(check_cell).strip() else []
            notebook["cells"][position : position + 1] = kept + new_cells
    return notebook


def make_student_notebook(teacher_notebook: Notebook) -> Notebook:
    """The students' notebook: solutions replaced by blanks, hidden tests removed."""
    notebook = copy.deepcopy(teacher_notebook)
    for cell in notebook["cells"]:
        replace = partial(_replace_solution, cell["cell_type"])
        text = re.sub(rf"^( *){BEGIN}\n.*?^ *{END}$", replace, _text(cell), flags=re.M | re.S)
        cell["source"] = re.sub(rf"\n *{BEGIN_TESTS}\n.*?^ *{END_TESTS}$", "", text, flags=re.M | re.S)
    return notebook


def _replace_solution(kind: str, match: re.Match[str]) -> str:
    return indent(BLANK if kind == "code" else "YOUR ANSWER HERE", match[1])


def compose_lesson(name: str, exercises: Iterable[str]) -> Notebook:
    """A lesson made of exercises: a title, and for each exercise a cell with its blank and a check."""
    title = {"cell_type": "markdown", "id": "title", "metadata": {}, "source": f"# {name.replace('_', ' ')}"}
    texts = ["from naive_graph.classroom.notebook import check"]
    texts += [f'{blank_text(exercise_named(exercise))}\n\ncheck("{exercise}", {exercise})' for exercise in exercises]
    kernel = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
    cells = [_code_cell(f"cell-{index}", text, {}) for index, text in enumerate(texts)]
    return {"cells": [title, *cells], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def remove_exercises(lesson: Notebook, names: set[str]) -> Notebook:
    """Remove the cells of these exercises, since the student is set another variant."""
    left_out = {f"{part}{name}" for name in names for part in ("", "check-")}
    cells = [cell for cell in lesson["cells"] if cell["metadata"].get("nbgrader", {}).get("grade_id") not in left_out]
    return {**lesson, "cells": cells}


def remove_help(lesson: Notebook) -> Notebook:
    """Remove all statements and lines of text that call hint, solution or working."""
    notebook = copy.deepcopy(lesson)
    for cell in notebook["cells"]:
        text = _text(cell)
        if cell["cell_type"] != "code":
            lines = (line for line in text.splitlines() if not re.search(rf"\b({'|'.join(HELPERS)})\(", line))
            cell["source"] = "\n".join(lines)
        elif re.search(rf"\b({'|'.join(HELPERS)})\b", text):
            cell["source"] = "\n".join(filter(None, map(_drop_helpers, parse_cell(text).body)))
    return notebook


def _drop_helpers(part: ast.stmt) -> str:
    """The source of a statement: without the helpers, of an import; "" if it calls one."""
    if isinstance(part, ast.ImportFrom):
        part.names = [name for name in part.names if name.name not in HELPERS]
        return ast.unparse(part) if part.names else ""
    calls = [node for node in ast.walk(part) if isinstance(node, ast.Call)]
    asks_for_help = any(getattr(call.func, "id", "") in HELPERS for call in calls)
    return "" if asks_for_help else ast.unparse(part)


# --- cells ----------------------------------------------------------------------


def _code_cell(cell_id: str, source: str, metadata: dict[str, Any]) -> Notebook:
    return {"cell_type": "code", "id": cell_id, "metadata": metadata, "source": source, "outputs": [],
            "execution_count": None}  # fmt: skip


def _text(cell: Notebook) -> str:
    return "".join(cell["source"])


def _build_metadata(name: str, **flags: Any) -> dict[str, Any]:
    usual = {"grade": False, "grade_id": name, "locked": False, "schema_version": 3, "solution": False, "task": False}
    return {"nbgrader": usual | flags}


def _find_definition(cell: Notebook, name: str) -> ast.stmt | None:
    """The statement in a cell that defines this function or class; None if there is none."""
    definitions = [part for part in parse_cell(_text(cell)).body if isinstance(part, (ast.FunctionDef, ast.ClassDef))]
    return next((definition for definition in definitions if definition.name == name), None)


def _remove_check(cell: Notebook, exercise: Exercise) -> Notebook:
    """Remove the lines that check an exercise from a cell, in place."""
    lines = _text(cell).splitlines()
    for part in reversed(parse_cell(_text(cell)).body):
        names = [name for name, _ in find_checks_in(ast.unparse(part))]
        if isinstance(part, ast.Expr) and set(names) & {exercise.name, exercise.number}:
            del lines[part.lineno - 1 : part.end_lineno]
    cell["source"] = "\n".join(lines).rstrip()
    return cell


def _graded_cell(exercise: Exercise, answer: str, points: float) -> Notebook:
    """A graded cell: it shows the verdict to the student, and has a hidden test that fails if the answer is wrong."""
    call = f'check("{exercise.name}", {answer})'
    hidden = HIDDEN_TEST.format(exercise.name, answer)
    metadata = _build_metadata(f"check-{exercise.name}", grade=True, locked=True, points=points)
    source = f"{call}\n{BEGIN_TESTS}\n{hidden}\n{END_TESTS}"
    return _code_cell(f"check-{exercise.name}"[:64], source, metadata)


def _insert_solution(cell: Notebook, exercise: Exercise, name: str) -> None:
    """Replace the blank definition in a cell by the solution, in place."""
    cell["metadata"] = {**cell.get("metadata", {}), **_build_metadata(exercise.name, solution=True)}
    blank, lines = _find_definition(cell, name), _text(cell).splitlines()
    solved = _solution_with_markers(exercise, name).splitlines()
    lines[blank.lineno - 1 if blank else 0 : blank.end_lineno if blank else 0] = solved
    cell["source"] = "\n".join(lines)


def _solution_with_markers(exercise: Exercise, name: str) -> str:
    """The solution with nbgrader's markers around its body: imports, signature and docstring stay visible."""
    text = solution_text(exercise)
    body = ast.parse(text).body
    imports = [statement for statement in body if isinstance(statement, (ast.Import, ast.ImportFrom))]
    index = next(i for i, statement in enumerate(body) if getattr(statement, "name", "") == exercise.name)
    definition: Any = body[index]
    lines = text.splitlines()
    head = "\n".join(lines[definition.lineno - 1 : definition.body[0].end_lineno])
    head = re.sub(rf"^(def|class) {exercise.name}\b", rf"\1 {name}", head)
    head = f"{head.removesuffix(QUOTES).rstrip()}\n\n    {ACCEPTED}\n    {QUOTES}" if head.endswith(QUOTES) else head
    before = "\n".join(ast.unparse(statement) for statement in body[:index] if statement not in imports)
    inner = indent(before, "    ") + "\n" * bool(before)
    inner += "\n".join(lines[definition.body[0].end_lineno : definition.end_lineno])
    after = "\n\n" + "\n".join(lines[definition.end_lineno :]).strip("\n") if len(body) > index + 1 else ""
    head = "\n".join([*map(ast.unparse, imports), "", "", head] if imports else [head])
    return f"{head}\n    {BEGIN}\n{inner}{after}\n    {END}"
