"""Grading a folder of notebooks: each behind walls, each result written whole as soon as it is known.

A result is kept with the fingerprint of all that it depends on. So grading that
was stopped goes on where it was, and who hands in again is graded again.
"""

from __future__ import annotations

import ast
import csv
import inspect
import io
import json
import os
import stat
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ..core.files import write_whole
from ..core.version import __version__
from ..errors import LessonError, MissingToolError
from . import sandbox
from .answers import calls, parsed
from .course import PREDICT, Course, Lesson
from .custom_exercises import NAMED
from .exercise import Exercise
from .exercises.tiny import as_cell, graded_part
from .handout import cell_texts, checked
from .judging import Verdict
from .manual_marks import FILE as BY_HAND
from .manual_marks import hand_answers, hand_cells, marked, marks_rows, read_marks
from .notebook import predicted
from .solutions import solution_text

MOST_LETTERS = 20_000  # of a cell that is compared
MOST_BYTES = 1 << 25  # of a file that is read
HEAD = ("student", "lesson", "exercise", "points", "of", "mistakes", "late")
Told = Callable[[str], Any]
READING = Lock()  # what a notebook may unfold to is large: one at a time


class Result(NamedTuple):
    """What somebody got for a lesson. answers: what `_answer` tells of each. late: if that is known."""

    student: str
    lesson: str
    answers: list[dict[str, Any]]
    late: bool | None = None
    ungraded: str = ""  # why there is no result
    lost: float = 0.0  # the share of the points that lateness takes
    untimed: bool = False  # there was a time for it, and nobody knows when it came

    @property
    def points(self) -> float:
        return float(sum(each["points"] for each in self.answers)) * (1.0 - self.lost)


def grade_all(course: Course, tell: Told) -> list[Result]:
    """The results of everybody for every lesson that gives points. tell: is given a line about each."""
    set_lessons = [each for each in (set_lesson(course, lesson) for lesson in course.lessons.values()) if each.worth]
    marks = read_marks(course.folder)
    students = sorted(_folders(course.folder / "submitted"))
    sandbox.grade([], [], course.limits, [])  # whether it works here, before anybody is blamed
    work = []
    for each in set_lessons:
        if any((course.folder / "submitted" / student / each.lesson.name).is_dir() for student in students):
            work += [(student, each) for student in students]
        else:  # rather no column than one of zeros
            tell(f"{each.lesson.name}: nobody has handed it in")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        waiting = [pool.submit(_judged, course, *each) for each in work]
        results = []
        try:
            for done in as_completed(waiting):
                result: Result = done.result()()
                answers = marked(_name(result.student), result.lesson, result.answers, marks)
                results.append(result._replace(answers=answers))
                tell(f"{len(results)} of {len(work)}: {_summary(results[-1])}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    results.sort(key=lambda each: each[:2])
    for line in untimed(results):
        tell(line)
    rows = marks_rows(((_name(each.student), each.lesson, each.answers) for each in results), marks)
    if rows:
        write_whole(course.folder / BY_HAND, _csv(rows).encode(), LessonError)
    return results


def untimed(results: list[Result]) -> list[str]:
    """Of each lesson whose time ended whose answers bear no time, and how to give them one."""
    who: dict[str, list[str]] = {}
    for each in results:
        if each.untimed:
            who.setdefault(each.lesson, []).append(readable(each.student))
    return [
        f"{lesson}: whether it came late is not known of {', '.join(names)}, so nothing is taken off. Write the time "
        f"to submitted/STUDENT/{lesson}/timestamp.txt, such as 2027-01-31 18:00:00 UTC, and grade again."
        for lesson, names in who.items()
    ]


class SetLesson(NamedTuple):
    """What is asked in a lesson: of each exercise the expression that the teacher's notebook checks; cells by hand."""

    lesson: Lesson
    expressions: dict[str, str]
    by_hand: dict[str, tuple[float, str]]

    @property
    def worth(self) -> bool:
        return bool(self.lesson.points or self.by_hand)


def _summary(result: Result) -> str:
    points = f"{result.points:g} of {sum(each['of'] for each in result.answers):g}"
    return f"{readable(result.student)}, {result.lesson}: {result.ungraded or points}"


def set_lesson(course: Course, lesson: Lesson) -> SetLesson:
    """What the teacher's notebook of a lesson asks. Raises LessonError where it does not ask what gives points."""
    source = course.source(lesson.name)
    try:
        notebook = json.loads(source.read_text(encoding="utf-8"))
        cells, by_hand = cell_texts(notebook), hand_cells(notebook)
    except (OSError, ValueError, LessonError) as error:
        if not lesson.points:
            return SetLesson(lesson, {}, {})
        raise LessonError(f"{source} cannot be read: {error}. Write it anew: naive-graph class new") from None
    found = {exercise.name: ast.unparse(answer) for _, exercise, answer in checked(cells)}
    found |= {name: "" for name in lesson.points if graded_part(name)}  # which are asked of a file beside it
    foretold = {PREDICT + str(call.args[0].value) for cell in cells for call in calls(cell, "predict")}
    for name in (each for each in lesson.points if each not in found.keys() | foretold):
        number = name.removeprefix(PREDICT)
        asks = f"predict({number!r}, ...)" if name in lesson.predictions else f"check({name!r}, {name})"
        raise LessonError(
            f"The course file gives points for {name} in {lesson.name}, but {source} does not ask it. "
            f"Take it out there, or add a cell: {asks}"
        )
    return SetLesson(lesson, found, by_hand)


# --- one notebook ---------------------------------------------------------------


def _judged(course: Course, student: str, task: SetLesson) -> Callable[[], Result]:
    """What finishes the result: with what is kept, if it is of this very notebook, or with new verdicts."""
    lesson = task.lesson
    folder = course.folder / "submitted" / student / lesson.name
    days = _days_late(folder, lesson)
    late = None if days is None else days > 0
    result = Result(student, lesson.name, [], late, lost=min(1.0, lesson.late * (days or 0)))
    place = course.folder / "results" / "verdicts" / student / f"{lesson.name}.json"
    try:
        names = lesson.exercises(course.seed_of(student))
        asked = [(course.exercise(name, student), task.expressions[name]) for name in names]
        own = [(inspect.getsource(each.solve), each.told, each.asking) for each, _ in asked if each.asking]
        named = _read(there) if (there := course.folder / "exercises" / NAMED).exists() else b""
        rest = lesson.points, [answer for _, answer in asked], course.limits, __version__, task.by_hand, own, named
        handed_in, tiny = _notebook(folder), _tiny(folder) if any(graded_part(name) for name in names) else b""
        digest = sha256(handed_in + tiny + repr(rest).encode()).hexdigest() if handed_in or tiny else ""
        result = result._replace(untimed=bool((handed_in or tiny) and lesson.due) and days is None)
        if (kept := _kept(place, digest)) is not None:
            return lambda: result._replace(answers=kept)
        parts = [each for each in asked if graded_part(each[0].name)]
        asked = [each for each in asked if each not in parts]
        verdicts, others, shapes = _verdicts(course, handed_in, asked, task)
        verdicts += _verdicts_of_tiny(course, tiny, [part for part, _ in parts])
        names = [*(each.name for each, _ in asked), *lesson.predictions, *(each.name for each, _ in parts)]
    except (LessonError, OSError) as error:
        told = str(error)
        return lambda: result._replace(ungraded=f"not graded: {told}")

    def finish() -> Result:  # not in the thread that judged: only one at a time draws
        answers = [_answer(each, lesson, verdict) for each, verdict in zip(names, verdicts)]
        for answer, shape in zip(answers, shapes):
            answer["shape"] = shape
        answers += others
        if digest:
            place.parent.mkdir(parents=True, exist_ok=True)
            write_whole(place, json.dumps({"digest": digest, "answers": answers}).encode(), LessonError)
        return result._replace(answers=answers)

    return finish


def _verdicts(
    course: Course, handed_in: bytes, asked: list[tuple[Exercise, str]], task: SetLesson
) -> tuple[list[Verdict], list[dict[str, Any]], list[str]]:
    """Of a notebook the verdicts, what is marked by hand, and the shapes of the answers."""
    try:
        with READING:
            notebook = json.loads(handed_in or '{"cells": []}')
            cells, others = cell_texts(notebook), hand_answers(task.by_hand, notebook)
    except (ValueError, RecursionError, LessonError, AttributeError, KeyError, TypeError):
        return _all_of("What was handed in is no notebook.", asked, task), hand_answers(task.by_hand, {"cells": []}), []
    if not handed_in:
        return _all_of("Not handed in.", asked, task), others, []
    verdicts = sandbox.grade(cells, asked, course.limits, _hidden(course)) if asked else []
    verdicts += [predicted(cells, name.removeprefix(PREDICT)) for name in task.lesson.predictions]
    return verdicts, others, [_shape(cells, *each) for each in asked]


def _verdicts_of_tiny(course: Course, handed_in: bytes, parts: list[Exercise]) -> list[Verdict]:
    """Of the learner's own engine, tiny.py beside the notebook, the verdicts on these parts."""
    if not handed_in or not parts:
        return [Verdict(False, "Not handed in.")] * len(parts)
    try:
        cells, answer = as_cell(handed_in.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return [Verdict(False, "The tiny.py that was handed in is no text in UTF-8.")] * len(parts)
    return sandbox.grade(cells, [(part, answer) for part in parts], course.limits, _hidden(course))


def _hidden(course: Course) -> list[str]:
    return [str(course.folder / each) for each in ("source", "release", "submitted", "results", "exercises")]


def _all_of(told: str, asked: list[tuple[Exercise, str]], task: SetLesson) -> list[Verdict]:
    return [Verdict(False, told)] * (len(asked) + len(task.lesson.predictions))


def _answer(name: str, lesson: Lesson, verdict: Verdict) -> dict[str, Any]:
    points = lesson.points[name]
    try:
        picture = verdict.drawn()
    except MissingToolError:
        picture = ""
    return {
        "exercise": name, "passed": verdict.passed, "points": points * verdict.passed, "of": points,
        "message": verdict.message, "mistakes": [list(each) for each in verdict.mistakes], "picture": picture,
        "does": verdict.does,
    }  # fmt: skip


def _shape(cells: list[str], exercise: Exercise, name: str) -> str:
    """A fingerprint of the answer beyond names, texts and comments; nothing for a short one, which many write alike."""
    made: list[ast.stmt] = []
    for cell in cells:
        if len(cell) < MOST_LETTERS:
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                made += [part for part in parsed(cell).body if getattr(part, "name", "") == name]
    parts = [type(part).__name__ for each in made[-1:] for part in ast.walk(each)]
    solved = sum(1 for _ in ast.walk(ast.parse(solution_text(exercise))))
    return sha256(" ".join(parts).encode()).hexdigest() if len(parts) > max(60, solved // 2) else ""


def _kept(place: Path, digest: str) -> list[dict[str, Any]] | None:
    try:
        kept = json.loads(place.read_text(encoding="utf-8"))
        return list(kept["answers"]) if kept["digest"] == digest else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


# --- what was handed in ---------------------------------------------------------


def _folders(place: Path) -> Iterator[str]:
    """The names of the folders in a folder; of no links, which may lead anywhere."""
    if not place.is_dir():
        raise LessonError(f"There is no folder {place}. Put there what was handed in: STUDENT/LESSON/LESSON.ipynb")
    return (each.name for each in os.scandir(place) if each.is_dir(follow_symlinks=False) and each.name[0] != ".")


def readable(student: str) -> str:
    r"""The name of a folder to be shown: bytes that are no letters here by their numbers, as \xc1."""
    return os.fsencode(student).decode(sys.getfilesystemencoding(), "backslashreplace")


def _notebook(folder: Path) -> bytes:
    """The notebook that was handed in: the one of the lesson's name, or the only one. Empty if there is none."""
    found = [each for each in folder.glob("*.ipynb") if _is_here(each)]
    named = [each for each in found if each.stem == folder.name] or found
    return _read(named[0]) if len(named) == 1 else b""


def _tiny(folder: Path) -> bytes:
    file = folder / "tiny.py"
    return _read(file) if os.path.lexists(file) and _is_here(file) else b""


def _is_here(file: Path) -> bool:
    """Whether it is a file: a link may lead anywhere, and a pipe or a device may have no end."""
    return not file.parent.is_symlink() and stat.S_ISREG(file.lstat().st_mode)


def _read(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES)


def _days_late(folder: Path, lesson: Lesson) -> int | None:
    """How many days were begun after its time, if nbgrader's timestamp.txt says when it came."""
    try:
        told = _read(stamp).decode() if _is_here(stamp := folder / "timestamp.txt") else ""
        day, hour, *zone = told.split()
        came = datetime.fromisoformat(f"{day} {hour}{zone[0] if zone and zone[0][0] in '+-' else ''}")
    except (OSError, ValueError):
        return None
    came = came if came.tzinfo else came.replace(tzinfo=UTC)
    return None if lesson.due is None else max(0, -((lesson.due - came) // timedelta(days=1)))


# --- the table ------------------------------------------------------------------


def table(results: list[Result]) -> str:
    """The results as CSV, a line for each answer.

    >>> answer = {"exercise": "kahn", "points": 0.0, "of": 2.0, "mistakes": [["one_leaf", "It ..."]]}
    >>> print(table([Result("ada", "02_kahns_order", [answer])]).splitlines()[1])
    ada,02_kahns_order,kahn,0,2,one_leaf,
    """
    rows: list[list[Any]] = [list(HEAD)]
    for result in results:
        late = {None: "", True: "late", False: "in time"}[result.late]
        for each in result.answers:
            names = " ".join(name for name, _ in each["mistakes"])
            points = f"{each['points'] * (1.0 - result.lost):g}", f"{each['of']:g}"
            rows.append([_name(result.student), result.lesson, each["exercise"], *points, names, late])
    return _csv(rows)


def spreadsheets(results: list[Result]) -> dict[str, str]:
    """A line for each student, a column for each lesson: as Moodle reads marks, and as Canvas does.

    >>> answer = {"exercise": "kahn", "points": 2.0, "of": 2.0, "mistakes": []}
    >>> print(spreadsheets([Result("ada", "02_kahns_order", [answer])])["moodle.csv"])
    username,02_kahns_order
    ada,2
    <BLANKLINE>
    """
    lessons = {each.lesson: sum(answer["of"] for answer in each.answers) for each in results if each.answers}
    marks: dict[str, dict[str, str]] = {}
    for each in results:
        marks.setdefault(each.student, {})[each.lesson] = f"{each.points:g}"
    moodle: list[list[Any]] = [["username", *lessons]] + [
        [_name(who), *map(own.get, lessons)] for who, own in marks.items()
    ]
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    canvas: list[list[Any]] = [
        [*head, *lessons],
        ["Points Possible", "", "", "", "", *(f"{each:g}" for each in lessons.values())],
    ]
    canvas += [[_name(who), "", "", _name(who), "", *map(own.get, lessons)] for who, own in marks.items()]
    return {"moodle.csv": _csv(moodle), "canvas.csv": _csv(canvas)}


def _csv(rows: list[list[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _name(student: str) -> str:
    told = readable(student)
    return "'" * (told[0] in "=+-@") + told  # a spreadsheet would compute it
