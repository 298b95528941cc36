"""The pages of a graded class: one for each student, and one for the teacher."""

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

from ..views.csp import policy
from ..views.drawing.picture import script
from ..views.theme import page_style
from .exercises import EXERCISES
from .grading import Result, untimed, waiting_marks
from .handed_in import printable_name
from .language import told, wished_language
from .manual_marks import WAITS

NUMBERS = {each.name: each.number for each in EXERCISES}
UNWRITTEN = {"missing", "unfinished"}  # no misconceptions
# Crashes, and no misconceptions
BREAKS = {"raises", "ends_python", "never_ends", "calls_itself", "does_not_run", "sets_a_fact"}
NAMELESS = "without a name: "  # begins the key of an answer; its fingerprint follows
HOW = (
    "What you name is a mistake from then on. Write the line shown to exercises/mistakes.toml in the course, "
    'and below it name = "..." and sentence = "..."; then grade again.'
)


def student_page(student: str, results: list[Result]) -> str:
    """What one student got, lesson by lesson: the mistakes by name, and the smallest failing case, drawn."""
    who = printable_name(student)
    body = [f"<h1>{escape(who)}</h1>", f"<p>{_points(results)}</p>"]
    for result in results:
        late = f" ({_say('late')})" if result.late else ""
        points = _points([result]) if result.has_mark else _say("Not handed in.")
        body.append(f"<h2>{escape(result.lesson)}{late}: {escape(result.ungraded) or points}</h2>")
        body += [f"<p><b>{_say(f'Not graded: {each}.')}</b></p>" for each in result.left_out]
        body += map(_section, result.answers if result.has_mark else [])
    return _page(who, body)


def _section(answer: dict[str, Any]) -> str:
    title = f"{NUMBERS.get(answer['exercise'], '')} {answer['exercise']}".strip()
    mistakes = ", ".join(escape(name) for name, _ in answer["mistakes"])
    return (
        f'<section class="{"right" if answer["passed"] else "wrong"}">'
        f"<h3>{escape(title)}: {answer['points']:g} / {answer['of']:g}</h3>"
        + (f"<p>{_say('mistakes:')} <b>{mistakes}</b></p>" if mistakes else "")
        + f"<pre>{_say(answer['message'])}</pre>{answer['picture']}</section>"
    )


def class_page(results: list[Result], not_graded: list[str]) -> str:
    """What the class has not understood, most frequent first; marks, exercise by exercise, student by student."""
    count = len({each.student for each in results})
    body = [f"<h1>{_say('The class')}</h1>", f"<p>{_say(f'{count} students.')} {_points(results)}</p>"]
    ungraded = [f"{printable_name(each.student)}, {each.lesson}: {each.ungraded}" for each in results if each.ungraded]
    body += [f"<p><b>{_say(each)}</b></p>" for each in [*ungraded, *waiting_marks(results), *untimed(results)]]
    if not_graded:
        body += [f"<h2>{_say('Handed in, and not graded')}</h2>", "<ul>"]
        body += [*(f"<li>{_say(each.removeprefix('not graded: '))}</li>" for each in not_graded), "</ul>"]
    nameless = _misconceptions(results, lambda name: name.startswith(NAMELESS))
    misconceptions = _misconceptions(results, lambda name: name not in BREAKS and not name.startswith(NAMELESS))
    for title, part in (
        ("What is not understood, most frequent first", misconceptions),
        ("Wrong answers without a name, by what they do", f"<p>{_say(HOW)}</p>" + nameless),
        ("What breaks off, or does not run", _misconceptions(results, BREAKS.__contains__)),
        ("Answers that are alike beyond their names", _alike(results)),
        ("The marks", _marks(results)),
        ("Exercise by exercise", _exercises(results)),
        ("Student by student", _students(results)),
    ):
        body += [f"<h2>{_say(title)}</h2>", part]
    return _page(told("The class"), body)


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
        asked = sum(
            each["exercise"] == exercise
            for one in results
            if one.lesson == lesson and one.has_mark
            for each in one.answers
        )
        names, many = ", ".join(_link(who) for who, *_ in found[key]), len(found[key])
        short = names if many < 7 else f"<details><summary>{_say(f'{many} students')}</summary>{names}</details>"
        share = f"{many} ({many / asked:.0%})"
        rows.append((share, escape(exercise), _described(exercise, name, found[key]), short))
    nobody = f"<p>{_say('Nobody made such a mistake.')}</p>"
    return _table(("students", "exercise", "mistake", "who"), rows) if rows else nobody


def _described(exercise: str, name: str, made: list[tuple[str, dict[str, Any], str]]) -> str:
    """A mistake in words; below it the smallest case of those who made it alone; of one without a name, how to name it.

    Where an answer makes two mistakes its case may belong to the other one.
    """
    wrong = [answer for _, answer, _ in made if answer["message"].startswith("Not yet")]
    alone = [each for each in wrong if len(each["mistakes"]) < 2]
    cases = (told(answer["message"]).splitlines()[1:4] for answer in alone)
    case = escape("\n".join(line.strip() for line in min(cases, key=lambda each: len(each[0]), default=[])))
    text = f"<b>{escape(name)}</b> {_say(Counter(each[2] for each in made).most_common(1)[0][0])}"
    if name.startswith(NAMELESS):
        key = f"[{exercise}.{name.removeprefix(NAMELESS)}]"
        text = f"{_say('To name it:')} <code>{escape(key)}</code>"
    return text + f"<details><summary>{_say('smallest case')}</summary><pre>{case}</pre></details>" * bool(case)


def _alike(results: list[Result]) -> str:
    """Who wrote the same but for names and numbers. It is a list, no verdict: people learn together."""
    who: dict[tuple[str, str], list[str]] = defaultdict(list)
    for result in results:
        for answer in (each for each in result.answers if each.get("shape")):
            who[answer["exercise"], answer["shape"]].append(result.student)
    rows = [(escape(name), ", ".join(map(_link, all_of))) for (name, _), all_of in who.items() if len(all_of) > 1]
    none = f"<p>{_say('None, among answers that are long enough to tell.')}</p>"
    return _table(("exercise", "who"), rows) if rows else none


def _marks(results: list[Result]) -> str:
    """Of each lesson how many handed it in, their mean and median, and how many are in each fifth of the points."""
    rows: list[tuple[Any, ...]] = []
    for lesson in sorted({each.lesson for each in results}):
        all_of = [each for each in results if each.lesson == lesson]
        marked = [each for each in all_of if each.has_mark]
        most = max(sum(answer["of"] for answer in each.answers) for each in all_of)
        head = escape(lesson), f"{len(marked)} ({len(marked) / len(all_of):.0%})", most
        if not marked or not most:
            rows.append((*head, *[""] * 7))
            continue
        points = [each.points for each in marked]
        fifths = Counter(min(4, int(5 * each / most)) for each in points)
        rows.append((*head, round(fmean(points), 2), round(median(points), 2), *(fifths[place] for place in range(5))))
    shares = [f"{20 * place} - {20 * place + 20} %" for place in range(5)]
    return _table(("lesson", "handed in", "points", "mean", "median", *shares), rows)


def _exercises(results: list[Result]) -> str:
    went: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for result in results:
        for answer in result.answers:
            went[result.lesson, answer["exercise"]].append({**answer, "has_mark": result.has_mark})
    rows = []
    for (lesson, exercise), all_of in went.items():
        answers = [each for each in all_of if each["has_mark"] and each["message"] != "Not handed in."]
        right = sum(each["passed"] for each in answers)
        unwritten = sum(any(name in UNWRITTEN for name, _ in each["mistakes"]) for each in answers)
        waiting = sum(each["message"].startswith(WAITS) for each in answers)
        wrong = len(answers) - right - unwritten - waiting
        share = f"{right} ({right / len(answers):.0%})" if answers else "0"
        counts = share, wrong, waiting, unwritten, len(all_of) - len(answers)
        rows.append((escape(exercise), escape(lesson), *counts))
    return _table(("exercise", "lesson", "right", "wrong", "not marked", "not written", "not handed in"), rows)


def _students(results: list[Result]) -> str:
    lessons = sorted({each.lesson for each in results})
    rows: list[tuple[Any, ...]] = []
    for student, own in groupby(results, key=lambda each: each.student):
        by_lesson = {each.lesson: each for each in own}
        marks = [by_lesson[each] for each in lessons if each in by_lesson]
        cells = [each.points if each.has_mark else "" for each in marks]
        total = sum(each.points for each in marks if each.has_mark)
        rows.append((_link(student), *cells, total if any(each.has_mark for each in marks) else ""))
    return _table(("student", *map(escape, lessons), "all"), rows)


# --- parts ----------------------------------------------------------------------


def _say(text: str) -> str:
    """A text of ours in the course's language, as HTML."""
    return escape(told(text))


def _page(title: str, body: Iterable[str]) -> str:
    page = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    language = wished_language() or "en"
    parts = {"title": escape(title), "style": page_style(), "policy": policy(script()), "body": "\n".join(body)}
    return page.format(language=language, **parts)


def _points(results: list[Result]) -> str:
    marked = [each for each in results if each.has_mark]
    most = sum(answer["of"] for result in marked for answer in result.answers)
    return _say(f"{sum(each.points for each in marked):g} of {most:g} points")


def _link(student: str) -> str:
    return f'<a href="students/{quote(os.fsencode(student))}.html">{escape(printable_name(student))}</a>'


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """Numbers to the right; texts are HTML already."""
    lines = ["<tr>" + "".join(f"<th>{told(each)}</th>" for each in head) + "</tr>"]
    for row in rows:
        cells = (f"<td>{each}</td>" if isinstance(each, str) else f'<td class="number">{each:g}</td>' for each in row)
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "<table>" + "\n".join(lines) + "</table>"
