"""The pages of a graded class: one for each student, and one for the teacher."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..views.drawing.picture import script
from ..views.look import page_style
from ..views.policy import policy
from .exercises import EXERCISES
from .grading import Result, readable, untimed
from .manual_marks import WAITS

NUMBERS = {each.name: each.number for each in EXERCISES}
UNWRITTEN = {"missing", "unfinished"}  # no misconceptions
BREAKS = {"raises", "never_ends", "calls_itself", "does_not_run", "sets_a_fact"}  # crashes, and no misconceptions
NAMELESS = "without a name: "  # begins the key of an answer; its fingerprint follows
HOW = (
    "<p>What you name is a mistake from then on. Write the line shown to <code>exercises/mistakes.toml</code> in "
    'the course, and below it <code>name = "..."</code> and <code>sentence = "..."</code>; then grade again.</p>'
)


def student_page(student: str, results: list[Result]) -> str:
    """What one student got, lesson by lesson: the mistakes by name, and the smallest failing case, drawn."""
    who = readable(student)
    body = [f"<h1>{escape(who)}</h1>", f"<p>{_points(results)}</p>"]
    for result in results:
        late = " (late)" if result.late else ""
        body.append(f"<h2>{escape(result.lesson)}{late}: {escape(result.ungraded) or _points([result])}</h2>")
        body += map(_section, result.answers)
    return _page(who, body)


def _section(answer: dict[str, Any]) -> str:
    title = f"{NUMBERS.get(answer['exercise'], '')} {answer['exercise']}".strip()
    mistakes = ", ".join(escape(name) for name, _ in answer["mistakes"])
    return (
        f'<section class="{"right" if answer["passed"] else "wrong"}">'
        f"<h3>{escape(title)}: {answer['points']:g} of {answer['of']:g}</h3>"
        + (f"<p>mistakes: <b>{mistakes}</b></p>" if mistakes else "")
        + f"<pre>{escape(answer['message'])}</pre>{answer['picture']}</section>"
    )


def class_page(results: list[Result]) -> str:
    """What the class has not understood, most frequent first; how each exercise and each student went."""
    body = ["<h1>The class</h1>", f"<p>{len({each.student for each in results})} students. {_points(results)}</p>"]
    ungraded = [f"{readable(each.student)}, {each.lesson}: {each.ungraded}" for each in results if each.ungraded]
    body += [f"<p><b>{escape(each)}</b></p>" for each in [*ungraded, *untimed(results)]]
    body += ["<h2>What is not understood, most frequent first</h2>"]
    body += [_misconceptions(results, lambda name: name not in BREAKS and not name.startswith(NAMELESS))]
    body += ["<h2>Wrong answers without a name, by what they do</h2>", HOW]
    body += [_misconceptions(results, lambda name: name.startswith(NAMELESS))]
    body += ["<h2>What breaks off, or does not run</h2>", _misconceptions(results, BREAKS.__contains__)]
    body += ["<h2>Answers that are alike beyond their names</h2>", _alike(results)]
    body += ["<h2>Exercise by exercise</h2>", _exercises(results)]
    body += ["<h2>Student by student</h2>", _students(results)]
    return _page("The class", body)


Mistaken = dict[tuple[str, str, str], list[tuple[str, dict[str, Any], str]]]  # who, what they gave, and a sentence


def _mistaken(results: list[Result]) -> Mistaken:
    """By lesson, exercise and mistake who made it; what has no name is kept apart by what it does."""
    found: Mistaken = defaultdict(list)
    for result in results:
        for answer in result.answers:
            nameless = [["", ""]] * answer["message"].startswith("Not yet")
            for name, sentence in (each for each in answer["mistakes"] or nameless if each[0] not in UNWRITTEN):
                key = result.lesson, answer["exercise"], name or NAMELESS + answer.get("does", "")
                found[key].append((result.student, answer, sentence))
    return found


def _misconceptions(results: list[Result], chosen: Callable[[str], bool]) -> str:
    """The mistakes of these names, most frequent first, each with its smallest case."""
    found = _mistaken(results)
    rows = []
    for key in sorted((each for each in found if chosen(each[2])), key=lambda each: (-len(found[each]), each)):
        lesson, exercise, name = key
        asked = sum(each["exercise"] == exercise for one in results if one.lesson == lesson for each in one.answers)
        names, many = ", ".join(_link(who) for who, *_ in found[key]), len(found[key])
        short = names if many < 7 else f"<details><summary>{many} students</summary>{names}</details>"
        share = f"{many} ({many / asked:.0%})"
        rows.append((share, escape(exercise), _told(exercise, name, found[key]), short))
    return _table(("students", "exercise", "mistake", "who"), rows) if rows else "<p>Nobody made such a mistake.</p>"


def _told(exercise: str, name: str, made: list[tuple[str, dict[str, Any], str]]) -> str:
    """A mistake in words; below it the smallest case of all who made it; of one without a name, how to name it."""
    cases = (answer["message"].splitlines()[1:4] for _, answer, _ in made if answer["message"].startswith("Not yet"))
    case = escape("\n".join(line.strip() for line in min(cases, key=lambda each: len(each[0]), default=[])))
    told = f"<b>{escape(name)}</b> {escape(Counter(each[2] for each in made).most_common(1)[0][0])}"
    if name.startswith(NAMELESS):
        told = f"To name it: <code>[{escape(exercise)}.{escape(name.removeprefix(NAMELESS))}]</code>"
    return told + f"<details><summary>smallest case</summary><pre>{case}</pre></details>" * bool(case)


def _alike(results: list[Result]) -> str:
    """Who wrote the same but for names and numbers. It is a list, no verdict: people learn together."""
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in results:
        for answer in (each for each in result.answers if each.get("shape")):
            who[answer["exercise"], answer["shape"]].append(result.student)
    rows = [(escape(name), ", ".join(map(_link, all_of))) for (name, _), all_of in who.items() if len(all_of) > 1]
    return _table(("exercise", "who"), rows) if rows else "<p>None, among answers that are long enough to tell.</p>"


def _exercises(results: list[Result]) -> str:
    went: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        for answer in result.answers:
            went[result.lesson, answer["exercise"]].append(answer)
    rows = []
    for (lesson, exercise), answers in went.items():
        missing = sum(each["message"] == "Not handed in." for each in answers)
        right = sum(each["passed"] for each in answers)
        unwritten = sum(any(name in UNWRITTEN for name, _ in each["mistakes"]) for each in answers)
        waiting = sum(each["message"].startswith(WAITS) for each in answers)
        counts = right, len(answers) - right - unwritten - missing - waiting, waiting, unwritten, missing
        rows.append((escape(exercise), escape(lesson), *counts))
    return _table(("exercise", "lesson", "right", "wrong", "not marked", "not written", "not handed in"), rows)


def _students(results: list[Result]) -> str:
    lessons = sorted({each.lesson for each in results})
    rows: list[tuple[Any, ...]] = []
    for student, own in groupby(results, key=lambda each: each.student):
        by_lesson = {each.lesson: each for each in own}
        points = [by_lesson[each] for each in lessons if each in by_lesson]
        rows.append((_link(student), *(each.points for each in points), sum(each.points for each in points)))
    return _table(("student", *map(escape, lessons), "all"), rows)


# --- parts ----------------------------------------------------------------------


def _page(title: str, body: Iterable[str]) -> str:
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    return page.format(title=escape(title), style=page_style(), policy=policy(script()), body="\n".join(body))


def _points(results: list[Result]) -> str:
    most = sum(each["of"] for result in results for each in result.answers)
    return f"{sum(each.points for each in results):g} of {most:g} points"


def _link(student: str) -> str:
    return f'<a href="students/{quote(os.fsencode(student))}.html">{escape(readable(student))}</a>'


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """Numbers to the right; texts are HTML already."""
    lines = ["<tr>" + "".join(f"<th>{each}</th>" for each in head) + "</tr>"]
    for row in rows:
        cells = (f"<td>{each}</td>" if isinstance(each, str) else f'<td class="number">{each:g}</td>' for each in row)
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "<table>" + "\n".join(lines) + "</table>"
