"""Extract a student's answer from a notebook: find the check("...", answer) cells and run the code it needs."""

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

CELLS = 10, 10**12, False  # limits: 10 times a call's seconds, no limit of lines, all functions allowed
MOST_NAMES = 3  # of one answer
MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)  # what IPython knows, and Python does not


class AnswerProblem(NamedTuple):
    """Why there is no answer to test: "missing", "unfinished" or "does_not_run", and a sentence."""

    name: str
    sentence: str


def parse_cell(cell: str) -> ast.Module:
    """Parse a cell, with IPython magics replaced by `pass`. Raises SyntaxError."""
    try:
        return ast.parse(cell)
    except SyntaxError as error:
        if not MAGIC.search(cell):
            raise
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
    """The calls of the function `name` in a cell whose first argument is a constant, as in predict("kahn", f).

    Calls of check with keyword arguments are found too.
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


def candidate_expressions(cells: list[str], known_as: set[str], expression: str) -> list[str]:
    """Candidate expressions for the answer: the expected one, then those of the notebook's checks, last one first."""
    checks = chain.from_iterable(map(find_checks_in, cells))
    answers = [ast.unparse(answer) for name, answer in checks if name in known_as]
    return list(dict.fromkeys([expression, *reversed(answers)]))[:MOST_NAMES]


def evaluate_answer(cells: list[str], exercise_names: set[str], expression: str) -> tuple[AnswerProblem | None, Any]:
    """Run the statements that the answer depends on, up to the last cell that checks it. Returns (problem, answer).

    A statement that raises does not keep those after it from running (a notebook would skip the rest of its cell).
    """
    needed_names = {part.id for part in ast.walk(ast.parse(expression)) if isinstance(part, ast.Name)}
    cell_of_statement, syntax_problem = _statements_to_check(cells, exercise_names)
    scope: dict[str, Any] = {"__name__": "__main__"}
    raised: list[BaseException] = []
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), AnswerWatch(*CELLS) as watch:
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


def _diagnose(raised: list[BaseException], error: BaseException, unread: str, wanted: set[str]) -> AnswerProblem:
    """Why there is no answer: not written, not defined, or the first exception with its place."""
    if any(isinstance(exception, NotImplementedError) for exception in raised):
        return AnswerProblem("unfinished", "It is not written yet: it raises NotImplementedError.")
    if not raised and isinstance(error, NameError) and error.name in wanted:
        return AnswerProblem("missing", unread or f"There is no {error.name} in the notebook.")
    first = [*raised, error][0]
    where = learners_line(first)
    return AnswerProblem("does_not_run", f"The cells cannot be run: {format_error(first)}{where and f' ({where})'}.")


def _statements_to_check(cells: list[str], known_as: set[str]) -> tuple[dict[ast.stmt, int], str]:
    """The statements down to the last check, in order, each with the index of its cell; and a sentence.

    The sentence says why the last of the unreadable cells is left out; "" if there is none.
    """
    checking = [index for index, cell in enumerate(cells) if any(name in known_as for name, _ in find_checks_in(cell))]
    home: dict[ast.stmt, int] = {}
    unread = ""
    for cell_index, cell in enumerate(cells[: checking[-1] + 1] if checking else cells):
        try:
            home.update(dict.fromkeys(parse_cell(cell).body, cell_index))
        except (SyntaxError, ValueError) as error:
            line = f", line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else f": {error}"
            unread = f"A cell cannot be read as Python: cell {cell_index + 1}{line}."
    return home, unread
