"""Render the HTML reports of a graded class: a page for each student, and an overview for the teacher."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from html import escape
from itertools import groupby
from pathlib import Path
from statistics import fmean, median
from typing import Any
from urllib.parse import quote

from ..views.csp import csp_meta
from ..views.drawing.picture import page_script
from ..views.theme import page_style
from .exercises import EXERCISES
from .grading import Result, list_unmarked, untimed
from .handed_in import printable_name
from .language import current_language, translate
from .manual_marks import WAITS

NUMBERS = {exercise.name: exercise.number for exercise in EXERCISES}
UNWRITTEN = {"missing", "unfinished"}  # mistakes of an answer that is not there
# Mistakes of an answer that does not run to its end, and so shows no misconception
CRASHES = {"raises", "ends_python", "never_ends", "calls_itself", "does_not_run", "sets_a_fact"}
NAMELESS = "without a name: "  # begins the name of a mistake that has none; the answer's fingerprint follows
HOW_TO_NAME = (
    "What you name is a mistake from then on. Write the line shown to exercises/mistakes.toml in the course, "
    'and below it name = "..." and sentence = "..."; then grade again.'
)


def student_page(student: str, results: list[Result]) -> str:
    """A student's page: points of each lesson, mistakes by name, and a drawing of the smallest failing case."""
    who = printable_name(student)
    body = [f"<h1>{escape(who)}</h1>", f"<p>{_points_text(results)}</p>"]
    for result in results:
        late = f" ({_translate_html('late')})" if result.late else ""
        points = _points_text([result]) if result.has_mark else _translate_html("Not handed in.")
        body.append(f"<h2>{escape(result.lesson)}{late}: {escape(result.ungraded) or points}</h2>")
        body += [f"<p><b>{_translate_html(f'Not graded: {reason}.')}</b></p>" for reason in result.left_out]
        body += map(_answer_section, result.answers if result.has_mark else [])
    return _fill_page(who, body)


def _answer_section(answer: dict[str, Any]) -> str:
    title = f"{NUMBERS.get(answer['exercise'], '')} {answer['exercise']}".strip()
    mistakes = ", ".join(escape(name) for name, _ in answer["mistakes"])
    return (
        f'<section class="{"right" if answer["passed"] else "wrong"}">'
        f"<h3>{escape(title)}: {answer['points']:g} / {answer['of']:g}</h3>"
        + (f"<p>{_translate_html('mistakes:')} <b>{mistakes}</b></p>" if mistakes else "")
        + f"<pre>{_translate_html(answer['message'])}</pre>{answer['picture']}</section>"
    )


def class_page(results: list[Result], not_graded: list[str]) -> str:
    """The teacher's page: misconceptions by frequency, similar answers, and marks by exercise and by student."""
    count = len({result.student for result in results})
    counted = _translate_html(f"{count} students.")
    body = [f"<h1>{_translate_html('The class')}</h1>", f"<p>{counted} {_points_text(results)}</p>"]
    failed = [result for result in results if result.ungraded]
    lines = [f"{printable_name(result.student)}, {result.lesson}: {result.ungraded}" for result in failed]
    lines += [*list_unmarked(results), *untimed(results)]
    body += [f"<p><b>{_translate_html(line)}</b></p>" for line in lines]
    if not_graded:
        body += [f"<h2>{_translate_html('Handed in, and not graded')}</h2>", "<ul>"]
        body += [*(f"<li>{_translate_html(line.removeprefix('not graded: '))}</li>" for line in not_graded), "</ul>"]
    nameless = _mistakes_table(results, lambda name: name.startswith(NAMELESS))
    misconceptions = _mistakes_table(results, lambda name: name not in CRASHES and not name.startswith(NAMELESS))
    for title, part in (
        ("What is not understood, most frequent first", misconceptions),
        ("Wrong answers without a name, by what they do", f"<p>{_translate_html(HOW_TO_NAME)}</p>" + nameless),
        ("What breaks off, or does not run", _mistakes_table(results, CRASHES.__contains__)),
        ("Answers that are alike beyond their names", _similar_answers_table(results)),
        ("The marks", _marks_table(results)),
        ("Exercise by exercise", _exercises_table(results)),
        ("Student by student", _students_table(results)),
    ):
        body += [f"<h2>{_translate_html(title)}</h2>", part]
    return _fill_page(translate("The class"), body)


# By (lesson, exercise, mistake): the students who made it, as (student, answer, sentence about the mistake).
StudentsByMistake = dict[tuple[str, str, str], list[tuple[str, dict[str, Any], str]]]


def _group_mistakes(results: list[Result]) -> StudentsByMistake:
    """Group answers by lesson, exercise and mistake; a mistake without a name is identified by its fingerprint."""
    mistakes: StudentsByMistake = defaultdict(list)
    for result in results:
        for answer in result.answers:
            nameless = [["", ""]] * answer["message"].startswith("Not yet")
            for name, sentence in answer["mistakes"] or nameless:
                if name in UNWRITTEN:
                    continue
                key = result.lesson, answer["exercise"], name or NAMELESS + answer.get("does", "")
                mistakes[key].append((result.student, answer, sentence))
    return mistakes


def _mistakes_table(results: list[Result], chosen: Callable[[str], bool]) -> str:
    """Table of the mistakes with these names, most frequent first, each with its smallest failing case."""
    mistakes = _group_mistakes(results)
    rows = []
    for key in sorted((key for key in mistakes if chosen(key[2])), key=lambda key: (-len(mistakes[key]), key)):
        lesson, exercise, name = key
        marked = [result for result in results if result.lesson == lesson and result.has_mark]
        total = sum(answer["exercise"] == exercise for result in marked for answer in result.answers)
        names, count = ", ".join(_student_link(who) for who, *_ in mistakes[key]), len(mistakes[key])
        if count > 6:
            names = f"<details><summary>{_translate_html(f'{count} students')}</summary>{names}</details>"
        share = f"{count} ({count / total:.0%})"
        rows.append((share, escape(exercise), _describe_mistake(exercise, name, mistakes[key]), names))
    nobody = f"<p>{_translate_html('Nobody made such a mistake.')}</p>"
    return _html_table(("students", "exercise", "mistake", "who"), rows) if rows else nobody


def _describe_mistake(exercise: str, name: str, entries: list[tuple[str, dict[str, Any], str]]) -> str:
    """A mistake in words (of one without a name, how to name it), and its smallest failing case.

    Only the cases of answers with no other mistake count: those of others may belong to the other mistake.
    """
    wrong = [answer for _, answer, _ in entries if answer["message"].startswith("Not yet")]
    alone = [answer for answer in wrong if len(answer["mistakes"]) < 2]
    cases = (translate(answer["message"]).splitlines()[1:4] for answer in alone)
    case = escape("\n".join(line.strip() for line in min(cases, key=lambda lines: len(lines[0]), default=[])))
    text = f"<b>{escape(name)}</b> {_translate_html(Counter(entry[2] for entry in entries).most_common(1)[0][0])}"
    if name.startswith(NAMELESS):
        key = f"[{exercise}.{name.removeprefix(NAMELESS)}]"
        text = f"{_translate_html('To name it:')} <code>{escape(key)}</code>"
    more = f"<details><summary>{_translate_html('smallest case')}</summary><pre>{case}</pre></details>"
    return text + more * bool(case)


def _similar_answers_table(results: list[Result]) -> str:
    """Table of students whose answers have the same structure, whatever their names and numbers are."""
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in results:
        for answer in (answer for answer in result.answers if answer.get("shape")):
            who[answer["exercise"], answer["shape"]].append(result.student)
    alike = [(name, students) for (name, _), students in who.items() if len(students) > 1]
    rows = [(escape(name), ", ".join(map(_student_link, students))) for name, students in alike]
    none = f"<p>{_translate_html('None, among answers that are long enough to tell.')}</p>"
    return _html_table(("exercise", "who"), rows) if rows else none


def _marks_table(results: list[Result]) -> str:
    """Table of the lessons: number of submissions, mean, median, and a histogram of the points in five bins."""
    rows: list[tuple[Any, ...]] = []
    for lesson in sorted({result.lesson for result in results}):
        lesson_results = [result for result in results if result.lesson == lesson]
        marked = [result for result in lesson_results if result.has_mark]
        max_points = max(sum(answer["of"] for answer in result.answers) for result in lesson_results)
        head = escape(lesson), f"{len(marked)} ({len(marked) / len(lesson_results):.0%})", max_points
        if not marked or not max_points:
            rows.append((*head, *[""] * 7))
            continue
        points = [result.points for result in marked]
        fifths = Counter(min(4, int(5 * point / max_points)) for point in points)
        rows.append((*head, round(fmean(points), 2), round(median(points), 2), *(fifths[fifth] for fifth in range(5))))
    shares = [f"{20 * fifth} - {20 * fifth + 20} %" for fifth in range(5)]
    return _html_table(("lesson", "handed in", "points", "mean", "median", *shares), rows)


def _exercises_table(results: list[Result]) -> str:
    """Table of the exercises: how many answers are right, wrong, not marked, not written, not handed in."""
    by_exercise: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        for answer in result.answers:
            by_exercise[result.lesson, answer["exercise"]].append({**answer, "has_mark": result.has_mark})
    rows = []
    for (lesson, exercise), all_answers in by_exercise.items():
        answers = [answer for answer in all_answers if answer["has_mark"] and answer["message"] != "Not handed in."]
        right = sum(answer["passed"] for answer in answers)
        unwritten = sum(any(name in UNWRITTEN for name, _ in answer["mistakes"]) for answer in answers)
        waiting = sum(answer["message"].startswith(WAITS) for answer in answers)
        wrong = len(answers) - right - unwritten - waiting
        share = f"{right} ({right / len(answers):.0%})" if answers else "0"
        counts = share, wrong, waiting, unwritten, len(all_answers) - len(answers)
        rows.append((escape(exercise), escape(lesson), *counts))
    return _html_table(("exercise", "lesson", "right", "wrong", "not marked", "not written", "not handed in"), rows)


def _students_table(results: list[Result]) -> str:
    lessons = sorted({result.lesson for result in results})
    rows: list[tuple[Any, ...]] = []
    for student, group in groupby(results, key=lambda result: result.student):
        by_lesson = {result.lesson: result for result in group}
        marks = [by_lesson[lesson] for lesson in lessons if lesson in by_lesson]
        cells = [mark.points if mark.has_mark else "" for mark in marks]
        total = sum(mark.points for mark in marks if mark.has_mark)
        rows.append((_student_link(student), *cells, total if any(mark.has_mark for mark in marks) else ""))
    return _html_table(("student", *map(escape, lessons), "all"), rows)


# --- parts ----------------------------------------------------------------------


def _translate_html(text: str) -> str:
    """A message translated into the course's language, escaped for HTML."""
    return escape(translate(text))


def _fill_page(title: str, body: Iterable[str]) -> str:
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    language = current_language() or "en"
    parts = {"title": escape(title), "style": page_style(), "policy": csp_meta(page_script()), "body": "\n".join(body)}
    return page.format(language=language, **parts)


def _points_text(results: list[Result]) -> str:
    marked = [result for result in results if result.has_mark]
    most = sum(answer["of"] for result in marked for answer in result.answers)
    return _translate_html(f"{sum(result.points for result in marked):g} of {most:g} points")


def _student_link(student: str) -> str:
    return f'<a href="students/{quote(os.fsencode(student))}.html">{escape(printable_name(student))}</a>'


def _html_table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """An HTML table; numbers are right-aligned, strings are inserted as HTML."""
    lines = ["<tr>" + "".join(f"<th>{translate(title)}</th>" for title in head) + "</tr>"]
    for row in rows:
        cells = (f"<td>{cell}</td>" if isinstance(cell, str) else f'<td class="number">{cell:g}</td>' for cell in row)
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "<table>" + "\n".join(lines) + "</table>"
