"""Load a lecturer's own exercises: each a Python file, and a TOML file with rule, hints and misconceptions.

    exercises/mean.py     def mean(numbers), the solution, and def cases(chance), its test cases
    exercises/mean.toml   [mean]: its rule, hints, and misconceptions, each with a sentence and a change of the solution

`cases` may take a random.Random: then every student has cases of their own besides those that all have. Where several
values are right, the file has a third function, complaint(value, ...), of a value and the arguments: what is wrong with
the value, or None.
"""

from __future__ import annotations

import ast
import inspect
import runpy
import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from traceback import extract_tb
from typing import Any

from ..core.files import write_file_in
from ..errors import LessonError
from .cases import ExerciseCase, draw_cases
from .exercise import Exercise, parse_misconceptions, source_without_docstring

# Folders that are searched for exercises: beside a notebook, and in the course above it. `open_course` puts one before.
SEARCH_PATH = [Path("exercises"), Path("../../exercises")]
MISTAKE_NAMES = "mistakes.toml"  # a lecturer's names of mistakes that had none: [slope.3f2a91c0], name and sentence
FIELD_TYPES = {"number": str, "rule": str, "hints": list, "parts": list, "misconceptions": dict, "private": bool}


def open_course(folder: Path) -> None:
    """Look for exercises in this course first."""
    SEARCH_PATH[:] = [folder / "exercises", *SEARCH_PATH[-2:]]
    _read_names(SEARCH_PATH[0] / MISTAKE_NAMES)  # raises for a mistake in it before anybody is judged


def is_private(name: str) -> bool:
    """Whether an exercise is private here: only its TOML file is present, so that only the teacher can judge it."""
    file = exercise_files().get(name)
    return file is not None and not file.exists()


def files_for_learners(exercise: Exercise, is_graded: bool) -> dict[str, str]:
    """The files that learners get, text by file name; of a private or graded exercise only a TOML file that says so."""
    file = Path(inspect.getsourcefile(exercise.solve) or "")
    files = [file, file.with_suffix(".toml")]
    if is_graded or exercise.own_texts["private"]:
        return {files[1].name: f"[{exercise.name}]\nprivate = true\n"}
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def exercise_files() -> dict[str, Path]:
    """The Python files of all custom exercises on the search path, by name; the first of a name counts."""
    by_name: dict[str, Path] = {}
    for folder in SEARCH_PATH:
        for file in sorted(set(folder.glob("*.toml")) - {folder / MISTAKE_NAMES}):
            by_name.setdefault(file.stem, file.with_suffix(".py"))
    return by_name


def find_lecturer_name(exercise: str, fingerprint: str) -> tuple[str, str] | None:
    """The name and sentence that a lecturer gave to the mistake with a fingerprint; None if it has no name."""
    candidates = [_read_names(folder / MISTAKE_NAMES).get(exercise, {}).get(fingerprint) for folder in SEARCH_PATH]
    return next((candidate for candidate in candidates if candidate), None)


def _read_names(file: Path) -> dict[str, dict[str, tuple[str, str]]]:
    """Read mistakes.toml: (name, sentence) by exercise and fingerprint. Raises LessonError if malformed."""
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        for exercise, names in table.items():
            table[exercise] = {key: (str(entry["name"]), str(entry["sentence"])) for key, entry in names.items()}
        return table
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        hint = (
            'Write [slope.3f2a91c0], as the page of the class shows it, and below it name = "..." and sentence = "..."'
        )
        raise LessonError(f"{file} cannot be read: {type(error).__name__}: {error}. {hint}") from error


def own_exercise(file: Path, seed: str = "") -> Exercise:
    """The exercise in a file. seed: of the student's own cases, if its cases are random.

    Raises LessonError, which names the file, what is wrong there, and how to mend it.
    """
    try:
        source = file.read_text(encoding="utf-8")
        texts = tomllib.loads(file.with_suffix(".toml").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        hint = f"Begin with: naive-graph class new-exercise {file}"
        raise LessonError(f"{error.filename} is missing. An exercise is a .py and a .toml file. {hint}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LessonError(f"{file.with_suffix('.toml')} cannot be read: {error}. Mend that place.") from None
    return _make_exercise(file, source, repr(texts), seed)


@cache
def _make_exercise(file: Path, source: str, texts_repr: str, seed: str) -> Exercise:
    """Make the exercise of a file, cached by its contents. texts_repr: its TOML table as a repr, which has a hash."""
    scope = _run_file(file, source)
    solve, cases = _get_function(file, scope, file.stem), _get_function(file, scope, "cases")
    texts = _check_texts(file, solve, ast.literal_eval(texts_repr)) | {"features": scope.get("FEATURES", {})}
    complaint = _wrap_complaint(_get_function(file, scope, "complaint")) if "complaint" in scope else None
    takes_random = bool(inspect.signature(cases).parameters)
    make_cases: Any = (lambda: draw_cases(cases, seed)) if takes_random else cases
    shared = _make_exercise(file, source, texts_repr, "") if seed and takes_random else None
    return Exercise(solve, make_cases, complaint, own_texts=texts, shared=shared)


def _run_file(file: Path, source: str) -> dict[str, Any]:
    """Run an exercise's file; return its global names. Raises LessonError with the line that raised."""
    try:
        ast.parse(source)
        return runpy.run_path(str(file))
    except Exception as error:
        frames = extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(file)]
        line = getattr(error, "lineno", None) or (lines or [0])[-1]
        problem = f"{type(error).__name__}: {getattr(error, 'msg', error)}"
        raise LessonError(f"{file} cannot be run: {problem}, in line {line}. Mend that line.") from error


def _get_function(file: Path, scope: dict[str, Any], name: str) -> Callable[..., Any]:
    function = scope.get(name)
    if not inspect.isfunction(function):
        what = "its cases" if name == "cases" else "the exercise, whose name is that of the file"
        raise LessonError(f"{file} has no function {name}, {what}. Write: def {name}(...):")
    return function


def _wrap_complaint(complaint: Callable[..., Any]) -> Callable[[ExerciseCase, Any], str | None]:
    return lambda case, value: complaint(value, *case.make_call(False).arguments)


def _check_texts(file: Path, solve: Callable[..., Any], table: dict[str, Any]) -> dict[str, Any]:
    """Check and complete the TOML table of an exercise: number, hints, parts and misconceptions are optional."""
    toml_file, name = file.with_suffix(".toml"), file.stem
    entries = table.get(name)
    if not isinstance(entries, dict) or "rule" not in entries:
        raise LessonError(f'{toml_file} has no [{name}] with a rule. Write: [{name}], and below it rule = "..."')
    entries = {"number": "", "hints": [], "misconceptions": {}, "private": False, **entries}
    for entry, value in entries.items():
        if not isinstance(value, FIELD_TYPES.get(entry, ())):
            allowed = ", ".join(f"{field} ({kind.__name__})" for field, kind in FIELD_TYPES.items())
            raise LessonError(f"{toml_file}: {entry} = {value!r} in [{name}] is none of: {allowed}.")
    if not solve.__doc__:
        raise LessonError(f"{file}: {name} has no docstring. It is the statement: write there what is to be done.")
    for key, misconception in entries["misconceptions"].items():
        _check_misconception(f"{toml_file}: the misconception {key}", solve, key, misconception)
    return entries


def _check_misconception(who: str, solve: Callable[..., Any], key: str, misconception: Any) -> None:
    """Raise LessonError if it has no sentence, or does not change the solution to another Python program."""
    has_program = isinstance(misconception, dict) and (
        isinstance(misconception.get("function"), str) or {"old", "new"} <= misconception.keys()
    )
    if not has_program or not isinstance(misconception.get("sentence"), str):
        hint = 'Write sentence = "..." to who holds it, old = "..." of the solution, and new = "..." in its place'
        raise LessonError(f"{who} is not whole. {hint}; or function, in place of both.")
    try:
        ast.parse(parse_misconceptions({key: misconception}, source_without_docstring(solve))[key].program)
    except SyntaxError as error:
        raise LessonError(f"{who} makes what is no Python of the solution: {error.msg}. Mend its new text.") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise LessonError(f"{who} does not fit: {error}") from None


def new_exercise(file: Path) -> list[Path]:
    """Write an exercise to start from: a Python and a TOML file, which pass `naive-graph class check-exercise`."""
    name = file.stem
    if file.suffix != ".py" or not name.isidentifier():
        raise LessonError(f"{file} is no name for an exercise. Give one as a function has it: exercises/mean.py")
    new_files = [file, file.with_suffix(".toml")]
    for path in new_files:
        if path.exists():
            raise LessonError(f"{path} is there already. Take another name, or edit it.")
    templates = tomllib.loads((files(__package__) / "own_exercise.toml").read_text(encoding="utf-8"))
    for path, text in zip(new_files, (templates["python"], templates["sentences"])):
        write_file_in(path.parent, path.name, text.replace("NAME", name).encode())
    return new_files
