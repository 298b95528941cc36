"""Extract a student's answer from a notebook: find the calls check("...", answer), and run the code that it needs.

`evaluate_answer` runs only the statements that the answer depends on (program_slice.py), under limits. If there is no
answer to test, an AnswerProblem says why.
"""

from __future__ import annotations

import ast
import io
import linecache
import re
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import chain
from typing import Any, NamedTuple, NoReturn

from .program_slice import bound_names, slice_statements
from .run_answer import AnswerWatch, Stopped, format_error, learners_line

CELL_LIMITS = 10, 10**12, False  # for AnswerWatch: 10 times a call's seconds, hardly a limit of lines, any function
MOST_CANDIDATES = 3  # expressions that may be the answer and are tried
MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)  # commands of IPython, which Python does not know


class AnswerProblem(NamedTuple):
    """Why there is no answer to test: a name (missing, unfinished, does_not_run; sandbox.UNREADABLE) and a sentence."""

    name: str
    sentence: str


def parse_cell(cell: str) -> ast.Module:
    """Parse a cell, with IPython magics replaced by `pass`. Raises SyntaxError."""
    try:
        return ast.parse(cell)
    except SyntaxError as error:
        try:
            return ast.parse(MAGIC.sub(r"\1pass", cell))
        except SyntaxError:
            raise error from None


def find_checks_in(cell: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the check(...) calls in a cell: the exercise's name or number, and the answer's expression.

    >>> [(name, ast.unparse(answer)) for name, answer in find_checks_in('check("kahn", my_kahn)')]
    [('kahn', 'my_kahn')]
    >>> [(name, ast.unparse(answer)) for name, answer in find_checks_in('check(answer=mine, name="kahn")')]
    [('kahn', 'mine')]
    """
    for call in find_calls(cell, "check"):
        arguments = dict(zip(("name", "answer"), call.args)) | {keyword.arg: keyword.value for keyword in call.keywords}
        if isinstance(arguments.get("name"), ast.Constant) and "answer" in arguments:
            yield str(arguments["name"].value), arguments["answer"]


def find_calls(cell: str, name: str) -> Iterator[Any]:
    """The calls of the function `name` in a cell whose first argument is a constant, as in check("kahn", f).

    Calls of check with keyword arguments are found as well.
    """
    try:
        tree = parse_cell(cell)
    except (SyntaxError, ValueError):
        return
    for part in ast.walk(tree):
        if not isinstance(part, ast.Call) or name not in (getattr(part.func, "id", ""), getattr(part.func, "attr", "")):
            continue
        if (part.args and isinstance(part.args[0], ast.Constant)) or (name == "check" and part.keywords):
            yield part


def candidate_expressions(cells: list[str], exercise_names: set[str], expression: str) -> list[str]:
    """Candidate expressions for the answer: the expected one, then those of the notebook's checks, last one first.

    exercise_names: the exercise's name and number, by which checks call it.
    """
    checks = chain.from_iterable(map(find_checks_in, cells))
    answers = [ast.unparse(answer) for name, answer in checks if name in exercise_names]
    return list(dict.fromkeys([expression, *reversed(answers)]))[:MOST_CANDIDATES]


def evaluate_answer(cells: list[str], exercise_names: set[str], expression: str) -> tuple[AnswerProblem | None, Any]:
    """Run the statements that the answer depends on, up to the last cell that checks it. Returns (problem, answer).

    A statement that raises does not keep those after it from running (a notebook would skip the rest of its cell).
    """
    needed_names = {part.id for part in ast.walk(ast.parse(expression)) if isinstance(part, ast.Name)}
    cell_of_statement, syntax_problem = _statements_to_check(cells, exercise_names)
    scope: dict[str, Any] = {"__name__": "__main__"}
    raised: list[BaseException] = []
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), AnswerWatch(*CELL_LIMITS) as watch:
        try:
            for statement in slice_statements(cell_of_statement, needed_names):
                _run_statement(cells, cell_of_statement[statement], statement, scope, raised)
            answer = eval(expression, scope)
        except Stopped:
            message = "do not end when they are run; they were stopped"
            return AnswerProblem("does_not_run", f"The cells {message}{watch.where and f' in {watch.where}'}."), None
        except BaseException as error:
            return _diagnose(raised, error, syntax_problem, needed_names), None
    if not callable(answer):
        return AnswerProblem("does_not_run", f"{expression} is no function, but of type {type(answer).__name__}."), None
    return None, answer


def _run_statement(
    cells: list[str], index: int, statement: ast.stmt, scope: dict[str, Any], raised: list[BaseException]
) -> None:
    """Run a statement of cell `index`; append what it raises to `raised`."""
    cell, file = cells[index], f"<cell {index + 1}>"
    linecache.cache[file] = len(cell), None, cell.splitlines(keepends=True), file  # for tracebacks
    try:
        exec(compile(ast.Module([statement], []), file, "exec"), scope)
    except Stopped:
        raise
    except BaseException as error:
        raised.append(error)
        if isinstance(error, ImportError) and isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name in bound_names(statement):
                scope.setdefault(name, FailedImport(str(error.name)))


class FailedImport:
    """Stands for a name whose import failed: a call, a loop, an index or an attribute raises ImportError."""

    def __init__(self, module: str) -> None:
        self._module = module

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ImportError(f"{self._module} cannot be imported here: beside the notebook no file is looked at")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    __call__ = __iter__ = __getitem__ = _refuse


def _diagnose(
    raised: list[BaseException], error: BaseException, syntax_problem: str, needed_names: set[str]
) -> AnswerProblem:
    """Why there is no answer: not written, not defined, or the first exception with its line."""
    if any(isinstance(exception, NotImplementedError) for exception in raised):
        return AnswerProblem("unfinished", "It is not written yet: it raises NotImplementedError.")
    if not raised and isinstance(error, NameError) and error.name in needed_names:
        return AnswerProblem("missing", syntax_problem or f"There is no {error.name} in the notebook.")
    first = [*raised, error][0]
    where = learners_line(first)
    return AnswerProblem("does_not_run", f"The cells cannot be run: {format_error(first)}{where and f' ({where})'}.")


def _statements_to_check(cells: list[str], exercise_names: set[str]) -> tuple[dict[ast.stmt, int], str]:
    """The statements down to the last check, in order, each with the index of its cell; and the syntax problem.

    The syntax problem is a sentence about the last cell that is no Python and is left out; "" if there is none.
    """
    end = len(cells)
    for cell_index, cell in enumerate(cells):
        if any(name in exercise_names for name, _ in find_checks_in(cell)):
            end = cell_index + 1
    cell_of_statement: dict[ast.stmt, int] = {}
    syntax_problem = ""
    for cell_index, cell in enumerate(cells[:end]):
        try:
            cell_of_statement.update(dict.fromkeys(parse_cell(cell).body, cell_index))
        except (SyntaxError, ValueError) as error:
            line = f", line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else f": {error}"
            syntax_problem = f"A cell cannot be read as Python: cell {cell_index + 1}{line}."
    return cell_of_statement, syntax_problem
