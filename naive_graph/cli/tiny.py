"""`naive-graph tiny start|check`: write and check tiny.py, the small autograd engine that the learner codes."""

from __future__ import annotations

from pathlib import Path

from ..classroom.language import translate
from ..classroom.tiny import check_parts, start_tiny
from ..errors import LessonError


def start(lesson: int, file: Path) -> None:
    """Write tiny.py as it is at the start of a lesson; never overwrites."""
    print(start_tiny(lesson, file))


def check(lesson: int, file: Path) -> int:
    """Print a line for each part that passes, and the message of the first that fails; exit code 1 if one does."""
    if not file.exists():
        raise LessonError(f"No {file} is here. It lies beside your notebooks. Or begin one: naive-graph tiny start")
    file.open().close()  # raises OSError early, which the command line reports as for every command
    for part, verdict in check_parts(lesson, file):
        state = f"right in {len(part.cases)} cases" if verdict.passed else "NOT YET"
        print(translate(f"exercise {part.number:5} {part.name:15} {state}"))
    print(verdict)
    return 0 if verdict.passed else 1
