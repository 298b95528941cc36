"""`naive-graph class`: make a course's notebooks, collect and grade submissions, check and start own exercises."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ..classroom.checking import check_cases, surviving_mutants, undetected_mistakes
from ..classroom.collecting import collect, resolve_lesson
from ..classroom.course import FILE, Course, Lesson, course_text, read_course
from ..classroom.custom_exercises import MISTAKE_NAMES, files_for_learners, new_exercise, own_exercise
from ..classroom.exercises.tiny import graded_part
from ..classroom.gradescope import build_autograder
from ..classroom.grading import Result, grade_all, list_not_graded, predictions_asked, read_task
from ..classroom.handout import (
    cell_texts,
    compose_lesson,
    latest_checks,
    make_student_notebook,
    make_teacher_notebook,
    remove_exercises,
    remove_help,
)
from ..classroom.judging import exercise_named
from ..classroom.language import translate, use_language
from ..classroom.lessons import LINKED, PARTS, join_parts, lessons_of_the_package, remove_outputs
from ..classroom.mark_tables import lms_tables, points_table, read_ids
from ..classroom.pages import class_page, student_page
from ..classroom.tiny import ASSESSED
from ..core.files import write_atomically, write_file_in
from ..errors import CommandError, FolderError, LessonError

ASSESSED_TEXT = "In this course answers give marks: naive-graph tiny start writes no earlier parts of tiny.py.\n"


def new(folder: Path, names: Sequence[str], renew: bool, marked: Sequence[str] | None) -> None:
    """Write a course: its file, the teacher's notebooks, the students', and notes on each lesson.

    marked: None for a course with hints and solutions; else the lessons that stand behind --assessed.
    """
    names, is_assessed = [*names, *(marked or ())], marked is not None
    lessons = lessons_of_the_package()
    package_notebooks = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in lessons}
    if not (folder / FILE).exists():
        exercises_by_lesson = []
        for path in _select_lessons(lessons, names):
            checks = latest_checks(cell_texts(package_notebooks[path.stem]))
            exercises_by_lesson.append((path.stem, [exercise.name for _, exercise, _ in checks]))
        if custom := sorted(path.stem for path in (folder / "exercises").glob("*.py")):
            exercises_by_lesson.append(("own", custom))
        _write(folder / FILE, course_text(exercises_by_lesson, is_assessed))
    elif names or is_assessed:
        raise LessonError(f"{folder / FILE} is there already, and says which lessons are set. Edit it.")
    course = read_course(folder)
    for note in sorted(lessons[0].parent.glob("notes/*.md")):
        _write_once(folder / "notes" / note.name, note.read_text(encoding="utf-8"), renew)
    for name, lesson in course.lessons.items():
        source, notebook = course.source(name), _find_package_notebook(package_notebooks, lesson)
        if notebook is None and not source.exists():
            exercises = [point for point in lesson.points if point not in lesson.predictions and not graded_part(point)]
            if not lesson.points.keys() - {*lesson.predictions}:
                available = ", ".join(package_notebooks)
                hint = f"There are: {available}. Or give points to exercises, and a notebook is made of them."
                raise LessonError(f"{folder / FILE}: there is no lesson {name!r}, and no {source}. {hint}")
            notebook = compose_lesson(name, exercises)
        if notebook is not None:
            _write_once(source, _notebook_json(make_teacher_notebook(notebook, lesson.points)), renew)
        _write_release(course, lesson, renew)
        try:
            read_task(course, lesson)
        except LessonError as error:
            print(f"before you hand it out: {error}")
    submitted = folder / "submitted"
    submitted.mkdir(exist_ok=True)
    print(f"next: edit {folder / FILE}, hand out {folder / 'release'},")
    print(f"      naive-graph class collect ZIP {submitted}")
    print(f"      (or put each notebook at {submitted}/STUDENT/LESSON/LESSON.ipynb),")
    print(f"      naive-graph class grade {submitted}")


def _find_package_notebook(notebooks: dict[str, Any], lesson: Lesson) -> Any:
    """The package's notebook of a lesson, None if it has none.

    For a lesson that was split in two: both parts joined, if no notebook has its name any more, or if the course gives
    points for something that the second part asks.
    """
    if lesson.name in PARTS:
        cells = cell_texts(notebooks[PARTS[lesson.name][1]])
        exercises = {exercise.name for _, exercise, _ in latest_checks(cells)} | predictions_asked(cells)
        if lesson.name not in notebooks or exercises & lesson.points.keys():
            return join_parts(notebooks, lesson.name)
    return notebooks.get(lesson.name)


def _write_release(course: Course, lesson: Lesson, renew: bool) -> None:
    """Write the students' files of a lesson: one folder for all, or one for each student if there are variants."""
    # With the exercises of all variants.
    whole = make_student_notebook(remove_outputs(json.loads(course.source(lesson.name).read_text(encoding="utf-8"))))
    whole = remove_help(whole) if course.assessed else whole
    for student in _read_students(course) if lesson.variants else [""]:
        names = lesson.exercises(course.student_seed(student)) if student else list(lesson.points)
        folder = course.folder / "release" / student / lesson.name
        notebook = remove_exercises(whole, lesson.points.keys() - names)
        _write_once(folder / f"{lesson.name}.ipynb", _notebook_json(notebook), renew)
        for exercise in (exercise_named(name) for name in names if name not in lesson.predictions):
            for name, text in files_for_learners(exercise, course.assessed).items() if exercise.own_texts else ():
                _write_once(folder / "exercises" / name, text, renew)
        for page in (page for page in LINKED if (course.folder / page).exists()):
            for notebook_folder in (folder, course.source(lesson.name).parent):
                _write_once(notebook_folder / page, (course.folder / page).read_text(encoding="utf-8"), renew)
        if course.assessed:
            _write_once(folder / ASSESSED, ASSESSED_TEXT, renew)
        names_file = course.folder / "exercises" / MISTAKE_NAMES
        if names_file.exists() and not course.assessed:
            _write_once(folder / "exercises" / MISTAKE_NAMES, names_file.read_text(encoding="utf-8"), renew)


def _read_students(course: Course) -> list[str]:
    """The students, by the names that their folders will have."""
    file = course.folder / "students.txt"
    if not file.exists():
        hint = "Write the names of the students' folders there, by lines."
        raise LessonError(f"There are variants, but no {file}. {hint}")
    return [line.strip() for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


def grade(folder: Path, trust: bool, student: str) -> int:
    """Grade the submissions in a folder, and write tables and pages; for a single student print all messages instead.

    Exit code 1 if something could not be graded or written; for one student, also if a point is missing.
    """
    course = _course_of_submissions(folder)
    course = course._replace(limits=course.limits._replace(enclosed=not trust))
    if not trust and sys.platform != "linux":
        raise LessonError(
            "Only Linux has the walls that keep what is handed in from your files and your network. "
            "Grade on Linux (on Windows in WSL); or read every notebook, and add --trust: "
            "then they run with all your rights."
        )
    with use_language(course.language):
        try:
            results = grade_all(course, lambda line: print(line, flush=True), student)
        except KeyboardInterrupt:
            print("\nWhat was graded is kept: the same command goes on from there.", file=sys.stderr)
            raise
        complete = _print_answers(results) if student else _write_results(course, results)
    return 0 if complete and not any(result.ungraded for result in results) else 1


def _print_answers(results: list[Result]) -> bool:
    """Print every answer's points and message; False if a point is missing."""
    for result in results:
        for answer in result.answers:
            print(f"\n{result.lesson}, {answer['exercise']}: {answer['points']:g} of {answer['of']:g}")
            print(translate(answer["message"]))
    return all(answer["points"] >= answer["of"] for result in results for answer in result.answers)


def collect_zip(file: Path, folder: Path, lesson: str, renew: bool) -> int:
    """Unpack a ZIP from Moodle or Canvas into `submitted`; exit code 1 if something could not be taken."""
    return 0 if collect(_course_of_submissions(folder), file, lesson, renew, print) else 1


def export(system: str, lesson: str, folder: Path) -> None:
    """Write a lesson as an autograder of another system (Gradescope)."""
    course = read_course(folder)
    path = folder / f"{system}-{resolve_lesson(course, lesson)}.zip"
    write_atomically(path, build_autograder(course, resolve_lesson(course, lesson)), LessonError)
    print(f"written: {path}")
    print("next: put a wheel of naive_graph into it, beside setup.sh, and upload it as the autograder's ZIP")


def _course_of_submissions(submitted: Path) -> Course:
    if submitted.resolve().name != "submitted":
        raise CommandError(f"{submitted} is not called submitted. Give the folder of that name in a course.")
    return read_course(submitted.resolve().parent)


def check_exercise(file: Path) -> int:
    """Check that an exercise's cases detect and distinguish its misconceptions; exit code 0 if they do, else 1.

    Mutants of the solution that pass all cases are listed, and do not change the exit code.
    """
    exercise = own_exercise(file)
    check_cases(exercise)
    mistakes = len(exercise.misconceptions)
    print(f"{exercise.name}: {len(exercise.cases)} cases, in which the solution is right; {mistakes} mistakes.")
    undetected = list(undetected_mistakes(exercise))
    if not undetected:
        print("Each mistake is told apart.")
    else:
        print("\n".join(["Not told apart:", *map("  ".__add__, undetected)]))
    lines, count = surviving_mutants(exercise)
    print(f"{count} small changes of the solution, of which {count - len(lines)} are told to be wrong.")
    if lines:
        head = "Not told from right. Add a case for each, unless it computes the same:"
        print("\n".join([head, *(f"  {line}" for line in lines)]))
    return 1 if undetected else 0


def start_exercise(file: Path) -> None:
    """Write an exercise to begin with."""
    for path in new_exercise(file):
        print(f"written: {path}")
    print(f"next: edit both; naive-graph class check-exercise {file}")


def _write_results(course: Course, results: list[Result]) -> bool:
    """Write tables and pages; a page that cannot be written (because of its name, say) does not stop the others."""
    folder, complete = course.folder / "results", True
    _write(folder / "points.csv", points_table(results))
    for name, text in lms_tables(results, read_ids(course.folder)).items():
        _write(folder / name, text)
    _write(folder / "class.html", class_page(results, list_not_graded(course, results)))
    for student, group in groupby(results, key=lambda result: result.student):
        try:
            write_file_in(folder / "students", f"{student}.html", _encode_text(student_page(student, list(group))))
        except FolderError as error:
            complete = False
            print(error, file=sys.stderr)
    return complete


def _encode_text(text: str) -> bytes:
    """Encode as UTF-8; lone surrogates, which a learner's error message may contain, are escaped."""
    return text.encode(errors="backslashreplace")


def _select_lessons(lessons: list[Path], names: Sequence[str]) -> list[Path]:
    """The lessons whose names begin so; all of them without any names."""
    names = [name.zfill(2) if name.isdecimal() else name for name in names]  # 1 is lesson 01, and not 10, 11 and 12
    for name in names:
        if not any(lesson.stem.startswith(name) for lesson in lessons):
            available = ", ".join(lesson.stem for lesson in lessons)
            raise CommandError(f"There is no lesson {name!r}. There are: {available}.")
    return [lesson for lesson in lessons if not names or lesson.stem.startswith(tuple(names))]


def _notebook_json(notebook: dict[str, Any]) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _write_once(path: Path, text: str, renew: bool) -> None:
    """Write a file, but not over one that is there, unless it is to be renewed."""
    if path.exists() and not renew:
        if path.read_text(encoding="utf-8") != text:
            print(f"kept as it is: {path} (delete it to have it written anew; --renew writes all anew)")
        return
    _write(path, text)


def _write(path: Path, text: str) -> None:
    write_file_in(path.parent, path.name, _encode_text(text))
    print(f"written: {path}")
