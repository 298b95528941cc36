"""All that the exercises say to a learner: in their toml files, in their statements, and in the programs that judge."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

import naive_graph.classroom as classroom
from naive_graph.classroom.exercise import load_texts
from naive_graph.classroom.exercises import ALL_EXERCISES
from naive_graph.classroom.notebook import JUDGED_BY, predictions

ROOM = Path(classroom.__file__).parent
SPEAKERS = (
    "../cli/lessons.py ../cli/tiny.py language.py judging.py misconceptions.py near_misses.py run_answer.py "
    "notebook.py tiny.py cases.py"
    " exercises/*.py"
)
# What has a space and is said to nobody: programs, a page's markup, a question of Python's own messages.
SILENT = re.compile(
    r"[<^]|.* [*/+=] |(Graph|lambda|import|from|def|Tiny,)[ .]|return result|.*\{\}, (where \{|given|as dual)"
    r"|has no setter$|adjoint x scale"
)


# What has too few words to be found, and what is put together of several texts.
SHORT = (
    "**Exercise {}: `{}`**", "This course in English",
    "You have made your guess? This is what the cell shows.", "Expected output:",
    "Right. {}", "raises {}", "raises {} ({})", "gives {}", "{}, where right is {}",
    "{} is to be a function, not a {}. Give it without brackets: {}.", "{}, given as [{}]",
    "{} is to be a class, not a {}. Give it without brackets: {}.", "{}, in line {}, in {}: {}", "line {}, in {}: {}",
    "{} roads lead through {} nodes", "{} and changes what it was given", "{}, after {} calls of partials",
    "{} passed", "{} not tried yet", "{} tried {} time{}", "exercise {} right in {} cases", "exercise {} NOT YET",
    "copied: {}", "renewed (you had not changed it): {}", "kept, with your changes: {}", "already there: {}",
)  # fmt: skip


def spoken(lessons: Container[str] | None = None) -> list[str]:
    """Each text of these lessons, such as 14a, and those of all, once. What changes in a text is {}."""
    told = dict.fromkeys([*SHORT, *_of_programs(), *_of_predictions(lessons), *_of_exercises(lessons)])
    return [each for each in told if not each.isidentifier()]  # a name, as programs have it


def _of_exercises(lessons: Container[str] | None) -> Iterator[str]:
    for exercise in (each for each in ALL_EXERCISES if _of_a_lesson(each.number, lessons)):
        yield from (" ".join(each.split()) for each in exercise.statement.split("\n\n") if each)
        told = load_texts()[exercise.name]
        yield from (told["rule"], *told["hints"], *told.get("parts", ()))
        yield from told.get("features", ())
        yield from (each.sentence for each in exercise.misconceptions.values())
    yield from load_texts()["tiny"]["special"]
    yield from _strings(tomllib.loads((ROOM / "misconceptions.toml").read_text(encoding="utf-8")))


def _of_a_lesson(number: str, lessons: Container[str] | None) -> bool:
    return lessons is None or number.partition(".")[0] in lessons


def _strings(told: Any) -> Iterator[str]:
    if isinstance(told, dict):
        for each in told.values():
            yield from _strings(each)
    else:
        yield told


def _of_predictions(lessons: Container[str] | None) -> Iterator[str]:
    for asked in (each for number, each in predictions().items() if _of_a_lesson(number, lessons)):
        yield asked["why"]
        for told in (told for told in asked.values() if isinstance(told, dict)):
            yield from (text for guess, text in told.items() if guess not in JUDGED_BY)


def _of_programs() -> Iterator[str]:
    for file in (file for pattern in SPEAKERS.split() for file in sorted(ROOM.glob(pattern))):
        for text in _templates(ast.parse(file.read_text(encoding="utf-8"))):
            for line in re.split(r"\n|;(?! )", text):
                words = re.findall(r"[A-Za-z]{2,}|\ba\b", re.sub(r"\{\w*\}", "", line))
                if len(words) > 1 and " " in line.strip() and not SILENT.match(line.strip()):
                    yield line.strip(" *")


def _templates(tree: ast.AST) -> Iterator[str]:
    """The texts in a program that are no docstrings, with holes where something is put in."""
    bodies = [body for each in ast.walk(tree) if isinstance(body := getattr(each, "body", None), list)]
    silent = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for each in ast.walk(tree):
        if isinstance(each, ast.JoinedStr):
            silent |= set(map(id, each.values))
    for each in ast.walk(tree):
        if isinstance(each, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in each.values)
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and id(each) not in silent:
            yield each.value
