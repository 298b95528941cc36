"""Create, check and load tiny.py, the small autograd engine that a learner writes (a micrograd of their own)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, ModuleType

from ..core.files import write_atomically
from ..errors import LessonError
from .exercise import Exercise, load_texts
from .exercises.tiny import TINY, TinyPart, tiny_text
from .judging import Verdict, verdict
from .language import translate
from .notebook import TranslatedText, record_progress
from .run_answer import run_all_cases

ASSESSED = "assessed.txt"  # marks a folder of a graded course: no reference code is given out there
LAST = 10  # the lesson in which tiny.py is completed


def start_tiny(lesson: int = 1, file: str | Path = "tiny.py") -> TranslatedText:
    """Write tiny.py as it is before a lesson, unless the file exists: that is never changed.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     said = start_tiny(1, Path(folder) / "tiny.py")
    ...     print((Path(folder) / "tiny.py").read_text("utf-8").split()[-2:])
    ['import', 'math']
    """
    path = Path(file)
    _check_lesson(lesson)
    if path.exists():
        return TranslatedText(f"{path} is there, and stays as it is. Open it, and write at its end.")
    last_given = 0 if (path.parent / ASSESSED).exists() else lesson - 1  # the last lesson whose code is written
    try:
        write_atomically(path, tiny_text(last_given).encode(), LessonError)
    except OSError as error:
        raise LessonError(f"{path} cannot be written: {error.strerror}. Choose another folder.") from None
    if last_given < lesson - 1:
        return TranslatedText(
            f"{path} is written, and is empty: here its parts give marks. Open it, and write at its end."
        )
    return TranslatedText(f"{path} is written, as it is before lesson {lesson}. Open it, and write at its end.")


def check_tiny(lesson: int = LAST, file: str | Path = "tiny.py") -> Verdict:
    """Whether tiny.py does all that it should after a lesson: the verdict on the first part that does not.

    >>> from pathlib import Path
    >>> from naive_graph.classroom import start_tiny
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     said = start_tiny(2, Path(folder) / "tiny.py")  # as it is before lesson 2
    ...     [check_tiny(lesson, Path(folder) / "tiny.py").passed for lesson in (1, 2)]
    [True, False]
    """
    *_, (_, last) = check_parts(lesson, file)
    return last


def working_tiny(lesson: int, file: str | Path = "tiny.py") -> ModuleType:
    """Your tiny.py as a module, if it is right up to a lesson; else the reference, so that a lesson can go on.

    >>> tiny = working_tiny(1, "no_such_file.py")
    Your tiny.py is not right so far. The lesson goes on with the reference; come back when you like.
    >>> tiny.__name__, hasattr(tiny, "Tiny")
    ('tiny', True)
    """
    is_right = check_tiny(lesson, file).passed
    if not is_right:
        so_far = "Your tiny.py is not right so far. The lesson goes on with the reference; come back when you like."
        print(translate(so_far))
    module = ModuleType("tiny")
    exec(_compile_file(Path(file)) if is_right else tiny_text(lesson), vars(module))
    return module


def check_parts(lesson: int, file: str | Path) -> Iterator[tuple[Exercise, Verdict]]:
    """Yield each part of tiny.py with its verdict; stops after the first failure."""
    _check_lesson(lesson)
    try:
        code, count = _compile_file(Path(file)), 0
    except LessonError as error:  # in a notebook the cells below go on
        yield TINY[0], Verdict(False, f"Not yet: {error}")
        return
    for part in TINY:
        part_lesson = load_texts()["tiny"]["parts"].get(part.name, LAST)
        if part_lesson > lesson:
            return
        if part_lesson < lesson and part.name in load_texts()["tiny"]["beside"]["names"]:
            continue
        outcome = _check_part(part, code, Path(file))
        record_progress(part.name, tried=True, passed=outcome.passed)
        count += len(part.cases)
        right = f"Right: {file} does what it should up to lesson {lesson}, in all {count} cases."
        yield part, Verdict(True, right) if outcome.passed else outcome
        if not outcome.passed:
            return


def _check_part(part: TinyPart, code: CodeType, path: Path) -> Verdict:
    """The verdict on a part: which name is missing, and what is wrong in cases without it; else that on all cases."""
    missing = [name for name in load_texts()[part.name].get("names", []) if name not in code.co_names]
    if missing:
        message = f"Not yet: {path} has no {missing[0]} so far. It is part of exercise {part.number}, {part.name}."
        message = f'{message} Write it, or paste solution("{part.name}"), and save the file.'
        remaining = [case for case in part.cases if not any(name in case.text for name in missing)]
        rest = replace(part, make_cases=lambda: remaining)
        verdict_on_rest = verdict(rest, run_all_cases(rest, code)) if remaining else None
        if verdict_on_rest is not None and not verdict_on_rest.passed:
            message = f"{message}\n{verdict_on_rest.message}"
        return Verdict(False, message)
    return verdict(replace(part, own_order=_learners_order_source(part, path)), run_all_cases(part, code))


def _learners_order_source(part: TinyPart, path: Path) -> str:
    """The source of the learner's `order` (their topological sort), for later parts; "" if there is none."""
    text = path.read_text(encoding="utf-8")
    definitions = [statement for statement in ast.parse(text).body if getattr(statement, "name", "") == "order"]
    if not definitions or "def order(" not in getattr(part, "before", ""):
        return ""
    return f"{ast.get_source_segment(text, definitions[-1])}\n\n\n"


def _compile_file(path: Path) -> CodeType:
    """Compile the learner's file. Raises LessonError if it is missing or not Python."""
    try:
        return compile(path.read_text(encoding="utf-8"), str(path), "exec")
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}. Begin one: naive-graph tiny start, or start_tiny(1)."
    except (SyntaxError, ValueError) as error:
        message = f"{path} cannot be read as Python: {error}. Mend that place."
    raise LessonError(message)


def _check_lesson(lesson: int) -> None:
    if lesson not in range(1, LAST + 1):
        raise LessonError(f"lesson is {lesson!r}. Give the number of a lesson, from 1 to {LAST}: start_tiny(5).")
