"""The course file: which lessons are set, what each exercise is worth, when it is due. The teacher edits it."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable
from datetime import date, datetime, time
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import LessonError
from .exercises import EXERCISES
from .sandbox import Limits

FILE = "course.toml"
HEAD = """\
# The course: which lessons are set, what each exercise is worth, and when a lesson is due.
# Take out what you do not set. A date may have a time: 2027-01-31T18:00:00, in the time of your machine.
# After a change: naive-graph class new . --renew

assessed = {assessed}  # whether what is handed out does without hints and solutions

[limits]  # of one answer while it is graded
seconds = 60
megabytes = 1024
"""
LESSON = """
[lessons.{name}]
# due = 2027-01-31
# late = 0.25  # the share of the points that each day begun after it takes
{points}"""


class Lesson(NamedTuple):
    """A lesson that is set: its notebook's name, the points of its exercises, and the end of the time for it."""

    name: str
    points: dict[str, float]
    due: datetime | None = None
    late: float = 0.0


class Course(NamedTuple):
    """A folder with a course file, and what that says."""

    folder: Path
    lessons: dict[str, Lesson]
    limits: Limits
    assessed: bool = False

    def source(self, lesson: str) -> Path:
        """The teacher's notebook of a lesson."""
        return self.folder / "source" / lesson / f"{lesson}.ipynb"


def course_text(lessons: Iterable[tuple[str, list[str]]], assessed: bool = False) -> str:
    """A course file for lessons and their exercises, a point each."""
    told = [HEAD.format(assessed=str(assessed).lower())]
    for name, exercises in lessons:
        points = ", ".join(f"{each} = 1" for each in exercises)
        told.append(LESSON.format(name=name, points=f"points = {{ {points} }}\n" if points else ""))
    return "".join(told)


def read_course(folder: Path) -> Course:
    """What the course file in a folder says. Raises LessonError, which names the file, the entry and the way out."""
    file = folder / FILE
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise LessonError(f"There is no {file}. Make a course there first: naive-graph class new {folder}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LessonError(f"{file} cannot be read: {error}. Mend that place.") from None
    _known(file, told, ("assessed", "limits", "lessons"), "the file")
    if not isinstance(assessed := told.get("assessed", False), bool):
        raise LessonError(f"{file}: assessed is {assessed!r}. Write assessed = true, or false.")
    lessons = _table(file, told, "lessons", "the file")
    return Course(folder, {name: _lesson(file, lessons, name) for name in lessons}, _limits(file, told), assessed)


def _lesson(file: Path, lessons: dict[str, Any], name: str) -> Lesson:
    told = _table(file, lessons, name, "lessons")
    _known(file, told, ("due", "late", "points"), name)
    late = _number(file, told, "late", name, least=0) if "late" in told else 0.0
    points = _table(file, told, "points", name)
    _known(file, points, [each.name for each in EXERCISES], f"{name}.points")
    worth = {each: _number(file, points, each, f"{name}.points", least=0) for each in points}
    return Lesson(name, worth, _due(file, told, name), late)


def _limits(file: Path, told: dict[str, Any]) -> Limits:
    limits = _table(file, told, "limits", "the file")
    _known(file, limits, ("seconds", "megabytes"), "limits")
    given: dict[str, Any] = {each: int(_number(file, limits, each, "limits", least=1)) for each in limits}
    return Limits(**given)


def _due(file: Path, told: dict[str, Any], where: str) -> datetime | None:
    due = told.get("due")
    if isinstance(due, date) and not isinstance(due, datetime):
        due = datetime.combine(due, time.max)  # to the end of the day
    if due is not None and not isinstance(due, datetime):
        raise LessonError(f"{file}: due of {where} is {due!r}, no date. Write it without quotes: due = 2027-01-31")
    return due.astimezone() if due else None


def _number(file: Path, table: dict[str, Any], name: str, where: str, least: float) -> float:
    number = table[name]
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not least <= number < math.inf:
        raise LessonError(f"{file}: {name} in {where} is {number!r}. Write a number from {least}: {name} = 1")
    return float(number)


def _table(file: Path, table: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    part = table.get(name, {})
    if not isinstance(part, dict):
        raise LessonError(f"{file}: {name} in {where} is {part!r}. Make it a table: its entries go below [{name}].")
    return part


def _known(file: Path, table: dict[str, Any], names: Iterable[str], where: str) -> None:
    """Raise LessonError for an entry that means nothing."""
    known = list(names)
    for name in table:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."
            raise LessonError(f"{file}: {where} has an entry {name!r}, which means nothing. {hint}")
