"""Grade a folder of submitted notebooks in a sandbox, in parallel; each result is cached on disk as soon as known.

A result is cached under a hash of everything it depends on. So grading that was
interrupted resumes, and a new submission is graded again.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from ..core.files import write_atomically, write_file_in
from ..core.progress import PrintLine
from ..core.version import __version__
from ..errors import LessonError, MissingToolError
from . import manual_marks, sandbox
from .answers import find_calls, parse_cell
from .course import PREDICT, Course, Lesson
from .custom_exercises import MISTAKE_NAMES
from .exercise import Exercise
from .exercises.tiny import as_cell, graded_part
from .handed_in import SubmittedFiles, days_late, list_misplaced, printable_name, read_submission, student_folders
from .handout import cell_texts, latest_checks
from .judging import Verdict, exercise_named
from .notebook import current_number, judge_prediction
from .solutions import solution_text

MOST_LETTERS = 20_000  # of a cell that is compared with those of others
MOST_CELLS = 5_000  # of a notebook
CACHE_FORMAT = 2  # of the cached results; results in another format are graded anew
CANARY = "kahn"  # an exercise whose solution is run first, to see whether the sandbox works
PARSE_LOCK = Lock()  # a parsed notebook may need much memory: one at a time


class Result(NamedTuple):
    """A student's result for a lesson. answers: a dict for each exercise (see _answer_entry). late: None if unknown."""

    student: str
    lesson: str
    answers: list[dict[str, Any]]
    late: bool | None = None
    ungraded: str = ""  # why there is no result
    late_penalty: float = 0.0  # the share of the points that lateness takes
    untimed: bool = False  # whether there is a due date, but no time of submission
    handed_in: bool = True  # whether there is something that can be graded
    left_out: tuple[str, ...] = ()  # the files that are not graded, each with the reason

    @property
    def points(self) -> float:
        return float(sum(answer["points"] for answer in self.answers)) * (1.0 - self.late_penalty)

    @property
    def has_mark(self) -> bool:
        """Whether there is anything to mark: a student who handed in nothing has no mark, which is not 0."""
        return not self.ungraded and (self.handed_in or any(answer.get("marked") for answer in self.answers))

    @property
    def mark(self) -> str:
        """The points as a table cell: empty where there is no mark."""
        return f"{self.points:g}" if self.has_mark else ""


def check_sandbox(limits: sandbox.Limits) -> None:
    """Raise LessonError unless a known right answer passes in the sandbox: else everybody would get 0."""
    if not limits.enclosed:
        sandbox.grade([], [], limits, [])  # without a sandbox: raises if no process can be started
        return
    right = exercise_named(CANARY)
    patient = limits._replace(seconds=max(60, limits.seconds))
    (verdict,) = sandbox.grade([solution_text(right)], [(right, right.name)], patient, [])
    if not verdict.passed:
        why = verdict.message.splitlines()[0]
        raise LessonError(
            f"Nobody is graded: the right answer to {CANARY}, put through the same walls, does not pass here ({why}) "
            f"Are you root of a container that knows no other user? Grade as another user. {sandbox.TRUST_HINT}"
        )


def grade_all(course: Course, print_line: PrintLine, only_student: str = "") -> list[Result]:
    """Grade everybody, or one student, in every lesson that gives points. print_line: called with each message."""
    tasks = [read_task(course, lesson) for lesson in course.lessons.values()]
    set_lessons = [task for task in tasks if task.lesson.points or task.by_hand]
    students = sorted(student_folders(course.folder / "submitted"))
    if only_student and only_student not in students:
        folder = course.folder / "submitted" / only_student
        raise LessonError(f"There is no folder {folder}. Name one of those in submitted.")
    marks = manual_marks.read_marks(course.folder, partial(_points_of_parts, course, students, set_lessons))
    for line in list_unknown_extensions(course, students):
        print_line(line)
    check_sandbox(course.limits)
    work = []
    for task in set_lessons:
        if any((course.folder / "submitted" / student / task.lesson.name).is_dir() for student in students):
            work += [(student, task) for student in students if only_student in ("", student)]
        else:  # the tables get no column for it
            print_line(f"{task.lesson.name}: nobody has handed it in")
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        waiting = [pool.submit(_judge_lesson, course, *pair) for pair in work]
        results = []
        try:
            for done in as_completed(waiting):
                result: Result = done.result()()
                who = manual_marks.spreadsheet_name(result.student)
                given = (marks.get((who, result.lesson, answer["exercise"])) for answer in result.answers)
                results.append(result._replace(answers=[*map(manual_marks.apply_mark, result.answers, given)]))
                print_line(f"{len(results)} of {len(work)}: {_result_line(results[-1])}")
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    if any(is_sandbox_failure(answer) for result in results for answer in result.answers):
        check_sandbox(course.limits)  # raises if the sandbox has broken meanwhile
    results.sort(key=lambda result: result[:2])
    for line in [*untimed(results), *list_not_graded(course, results), *list_unmarked(results)]:
        print_line(line)
    answers = ((manual_marks.spreadsheet_name(result.student), result.lesson, result.answers) for result in results)
    rows = manual_marks.mark_table_rows(answers, marks)
    if rows and not only_student:
        write_atomically(course.folder / manual_marks.FILE, manual_marks.csv_text(rows).encode(), LessonError)
    return results


def _points_of_parts(
    course: Course, students: list[str], set_lessons: list[LessonTask], who: str, lesson: str
) -> dict[str, float] | None:
    """The points of each part that a student is set in a lesson; None if `who`, of by_hand.csv, is no student."""
    student = next((candidate for candidate in students if manual_marks.spreadsheet_name(candidate) == who), None)
    if student is None:
        return None
    for task in set_lessons:
        if task.lesson.name == lesson:
            names = [*task.lesson.exercises(course.student_seed(student)), *task.lesson.predictions]
            by_hand = {name: most for name, (most, _) in task.by_hand.items()}
            return {name: task.lesson.points[name] for name in names} | by_hand
    return {}


# --- what the lecturer is to know -----------------------------------------------


def untimed(results: list[Result]) -> list[str]:
    """A message for each lesson with a due date and submissions without a timestamp."""
    who: dict[str, list[str]] = {}
    for result in results:
        if result.untimed:
            who.setdefault(result.lesson, []).append(printable_name(result.student))
    return [
        f"{lesson}: whether it came late is not known of {', '.join(names)}, so nothing is taken off. Write the time "
        f"to submitted/STUDENT/{lesson}/timestamp.txt, such as 2027-01-31 18:00:00 UTC, and grade again."
        for lesson, names in who.items()
    ]


def list_not_graded(course: Course, results: list[Result]) -> list[str]:
    """A message for each submitted file that is not graded, with the reason."""
    lines = []
    for student in dict.fromkeys(result.student for result in results):
        beside = list_misplaced(course.folder / "submitted" / student, course.lessons)
        lines += [f"not graded: {printable_name(student)}: {line}" for line in beside]
        for result in (result for result in results if result.student == student):
            lines += [f"not graded: {printable_name(student)}, {result.lesson}: {line}" for line in result.left_out]
    return lines


def list_unmarked(results: list[Result]) -> list[str]:
    """A message for each part with answers that still need a manual mark."""
    waiting: dict[str, list[str]] = {}
    for result in results:
        for answer in result.answers:
            if answer["message"].startswith(manual_marks.WAITS):
                part = f"{result.lesson}, {answer['exercise']}"
                waiting.setdefault(part, []).append(printable_name(result.student))
    return [
        f"waiting for your marks in {manual_marks.FILE}: {part}, of {', '.join(who)}. Until then they count 0 in the "
        "tables."
        for part, who in waiting.items()
    ]


def list_unknown_extensions(course: Course, students: Iterable[str]) -> list[str]:
    """Messages about extensions for students without a folder: a misspelt name would cost somebody points."""
    messages = []
    for lesson in course.lessons.values():
        for student in sorted(lesson.extensions.keys() - students):
            messages.append(f"{lesson.name}: an extension for {student!r}, who has no folder in submitted")
    return messages


def is_sandbox_failure(answer: dict[str, Any]) -> bool:
    """Whether the sandbox process died, by the answer or by a fault of ours: such a result is not cached."""
    return any(name == sandbox.UNREADABLE for name, _ in answer["mistakes"])


class LessonTask(NamedTuple):
    """What to grade in a lesson: each exercise's expression in the teacher's notebook, and cells marked by hand.

    by_hand: by the cell's id, its points and text.
    """

    lesson: Lesson
    expressions: dict[str, str]
    by_hand: dict[str, tuple[float, str]]


def _result_line(result: Result) -> str:
    most = sum(answer["of"] for answer in result.answers)
    outcome = result.ungraded or (result.mark and f"{result.mark} of {most:g}")
    return f"{printable_name(result.student)}, {result.lesson}: {outcome or 'nothing to grade'}"


def predictions_asked(cells: Iterable[str]) -> set[str]:
    """The predictions that a notebook asks, as a course file names them."""
    return {PREDICT + current_number(str(call.args[0].value)) for cell in cells for call in find_calls(cell, "predict")}


def read_task(course: Course, lesson: Lesson) -> LessonTask:
    """Read the teacher's notebook of a lesson. Raises LessonError if an exercise with points is missing there."""
    source = course.source(lesson.name)
    try:
        notebook = json.loads(source.read_text(encoding="utf-8"))
        cells, by_hand = cell_texts(notebook), manual_marks.manually_graded_cells(notebook)
    except (OSError, ValueError, LessonError) as error:
        if not lesson.points:
            return LessonTask(lesson, {}, {})
        raise LessonError(f"{source} cannot be read: {error}. Write it anew: naive-graph class new") from None
    expressions = {exercise.name: ast.unparse(answer) for _, exercise, answer in latest_checks(cells)}
    expressions |= {name: "" for name in lesson.points if graded_part(name)}  # which are asked of a file beside it
    for name in (point for point in lesson.points if point not in expressions.keys() | predictions_asked(cells)):
        number = name.removeprefix(PREDICT)
        asks = f"predict({number!r}, ...)" if name in lesson.predictions else f"check({name!r}, {name})"
        raise LessonError(
            f"The course file gives points for {name} in {lesson.name}, but {source} does not ask it. "
            f"Take it out there, or add a cell: {asks}"
        )
    return LessonTask(lesson, expressions, by_hand)


# --- one notebook ---------------------------------------------------------------


def _judge_lesson(course: Course, student: str, task: LessonTask) -> Callable[[], Result]:
    """Judge a student's lesson, from the cache if nothing changed; returns a function that makes the Result."""
    lesson = task.lesson
    folder = course.folder / "submitted" / student / lesson.name
    due = lesson.extensions.get(student, lesson.due)
    days = days_late(folder, due)
    late = None if days is None else days > 0
    result = Result(student, lesson.name, [], late, late_penalty=min(1.0, lesson.late * (days or 0)))
    path = course.folder / "results" / "verdicts" / student / f"{lesson.name}.json"
    try:
        names = lesson.exercises(course.student_seed(student))
        questions = [(course.exercise(name, student), task.expressions[name]) for name in names]
        sources = [Path(inspect.getsourcefile(question.solve) or "") for question, _ in questions if question.own_texts]
        custom = [(file.read_bytes(), file.with_suffix(".toml").read_bytes(), course.seed) for file in sources]
        names_file = course.folder / "exercises" / MISTAKE_NAMES
        lecturer_names = names_file.read_bytes() if names_file.exists() else b""
        answers = [answer for _, answer in questions]
        versions = CACHE_FORMAT, __version__, course.limits
        cache_key = versions, lesson.points, lesson.partial, answers, task.by_hand, custom, lecturer_names
        handed_in = read_submission(folder, any(graded_part(name) for name in names))
        result = result._replace(left_out=handed_in.left_out, handed_in=bool(handed_in.notebook or handed_in.tiny))
        digest = sha256(handed_in.notebook + handed_in.tiny + repr(cache_key).encode()).hexdigest()
        result = result._replace(untimed=bool(result.handed_in and due) and days is None)
        if (cached_answers := _read_cached(path, digest)) is not None:
            return lambda: result._replace(answers=cached_answers)
        tiny_parts = [question for question in questions if graded_part(question[0].name)]
        questions = [question for question in questions if question not in tiny_parts]
        notebook, why = _read_notebook(handed_in)
        if why and handed_in.notebook:
            result = result._replace(left_out=(*handed_in.left_out, why), handed_in=bool(handed_in.tiny))
        verdicts, shapes = _judge_notebook(course, notebook, why, questions, task)
        verdicts += _judge_tiny(course, handed_in.tiny, [part for part, _ in tiny_parts])
        names = [exercise.name for exercise, _ in questions]
        names += [*lesson.predictions, *(part.name for part, _ in tiny_parts)]
    except (LessonError, OSError) as error:
        message = str(error)
        return lambda: result._replace(ungraded=f"not graded: {message}")

    def finish() -> Result:
        """Draw the pictures, and cache the answers. Called in the main thread, since only one thread may draw."""
        answers = [_answer_entry(name, lesson, verdict) for name, verdict in zip(names, verdicts)]
        for answer, shape in zip(answers, shapes):
            answer["shape"] = shape
        answers += manual_marks.ungraded_answers(task.by_hand, notebook)
        if result.handed_in and not (why and handed_in.notebook) and not any(map(is_sandbox_failure, answers)):
            write_file_in(path.parent, path.name, json.dumps({"digest": digest, "answers": answers}).encode())
        return result._replace(answers=answers)

    return finish


def _read_notebook(handed_in: SubmittedFiles) -> tuple[dict[str, Any], str]:
    """The notebook as it is saved, and why it is not graded; empty if it is."""
    if not handed_in.notebook:
        return {"cells": []}, handed_in.problem
    try:
        with PARSE_LOCK:
            notebook = json.loads(handed_in.notebook)
            count = len(cell_texts(notebook))
            manual_marks.manually_graded_cells(notebook)
    except (ValueError, RecursionError, LessonError, AttributeError, KeyError, TypeError):
        return {"cells": []}, "the notebook cannot be read as one"
    if count > MOST_CELLS:
        return {"cells": []}, f"the notebook has {count:,} cells of code, and at most {MOST_CELLS:,} are read"
    return notebook, ""


def _judge_notebook(
    course: Course, notebook: dict[str, Any], why: str, questions: list[tuple[Exercise, str]], task: LessonTask
) -> tuple[list[Verdict], list[str]]:
    """Judge a notebook: verdicts, and structure hashes of the answers. why: the reason if it cannot be graded."""
    if why or not notebook["cells"]:
        message = f"Not graded: {why}." if why else "Not handed in."
        return [Verdict(False, message)] * (len(questions) + len(task.lesson.predictions)), []
    cells = cell_texts(notebook)
    verdicts = sandbox.grade(cells, questions, course.limits, _hidden_folders(course)) if questions else []
    verdicts += [judge_prediction(cells, name.removeprefix(PREDICT)) for name in task.lesson.predictions]
    return verdicts, [_structure_hash(cells, *question) for question in questions]


def _judge_tiny(course: Course, handed_in: bytes, parts: list[Exercise]) -> list[Verdict]:
    """Judge these parts of the student's tiny.py, the engine that is submitted beside the notebook."""
    if not handed_in or not parts:
        return [Verdict(False, "Not handed in.")] * len(parts)
    try:
        cells, answer = as_cell(handed_in.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return [Verdict(False, "The tiny.py that was handed in is no text in UTF-8.")] * len(parts)
    return sandbox.grade(cells, [(part, answer) for part in parts], course.limits, _hidden_folders(course))


def _hidden_folders(course: Course) -> list[str]:
    return [str(course.folder / name) for name in ("source", "release", "submitted", "results", "exercises")]


def _answer_entry(name: str, lesson: Lesson, verdict: Verdict) -> dict[str, Any]:
    """An answer as results, pages and tables have it: points of at most `of`, message, [name, sentence] of mistakes."""
    most = lesson.points[name]
    points = most if verdict.passed else round(most * verdict.share * lesson.partial, 2)
    try:
        picture = verdict.picture_html()
    except MissingToolError:
        picture = ""
    return {
        "exercise": name, "passed": verdict.passed, "points": points, "of": most,
        "message": verdict.message, "mistakes": [[mistake.name, mistake.sentence] for mistake in verdict.mistakes],
        "picture": picture, "does": verdict.does,
    }  # fmt: skip


def _structure_hash(cells: list[str], exercise: Exercise, name: str) -> str:
    """A hash of the answer's syntax tree without names and constants, to find copies; "" if it is too short."""
    definitions: list[ast.stmt] = []
    for cell in cells:
        if len(cell) < MOST_LETTERS:
            with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
                definitions += [part for part in parse_cell(cell).body if getattr(part, "name", "") == name]
    parts = [type(part).__name__ for definition in definitions[-1:] for part in ast.walk(definition)]
    solution_size = sum(1 for _ in ast.walk(ast.parse(solution_text(exercise))))
    return sha256(" ".join(parts).encode()).hexdigest() if len(parts) > max(60, solution_size // 2) else ""


def _read_cached(path: Path, digest: str) -> list[dict[str, Any]] | None:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        return list(stored["answers"]) if stored["digest"] == digest else None
    except (OSError, ValueError, TypeError, KeyError):
        return None
