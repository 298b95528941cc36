"""`naive-graph tiny`: the learner's own engine, begun and checked in a terminal."""

from __future__ import annotations

from pathlib import Path

from ..classroom.language import told
from ..classroom.tiny import start_tiny, tiny_verdicts
from ..errors import LessonError


def start(lesson: int, file: Path) -> int:
    """Write the file as it is before a lesson."""
    print(start_tiny(lesson, file))
    return 0


def check(lesson: int, file: Path) -> int:
    """A line about each part that is right, and all that is known of the first that is not. 1 if there is one."""
    if not file.exists():
        raise LessonError(f"No {file} is here. It lies beside your notebooks. Or begin one: naive-graph tiny start")
    file.open().close()  # what cannot be read is told as by every command
    for part, verdict in tiny_verdicts(lesson, file):
        state = f"right in {len(part.cases)} cases" if verdict.passed else "NOT YET"
        print(told(f"exercise {part.number:5} {part.name:15} {state}"))
    print(verdict)
    return 0 if verdict.passed else 1
