"""The learner's functions in a notebook: check, hint, solution, working, progress, predict; progress is saved."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections.abc import Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ..core.files import user_folder, write_file_in
from ..errors import FolderError, LessonError
from ..graph.nodes import Node
from .answers import find_calls
from .custom_exercises import is_private
from .exercises import ALL_EXERCISES, number_key
from .judging import Verdict, exercise_named, judge, name_as_text
from .language import translate
from .lessons import OLD_PREDICTIONS
from .misconceptions import Mistake
from .solutions import solution_text


class PlainText(str):
    """A str whose repr has no quotes."""

    def __repr__(self) -> str:
        return str(self)


class TranslatedText(PlainText):
    """A message of the package, translated into the reader's language."""

    def __new__(cls, text: str) -> TranslatedText:
        return super().__new__(cls, translate(text))


def check(name: str, answer: Any = ...) -> Verdict:
    """Check an answer: `check("kahn", kahn)`, or by its number, `check("2.1", kahn)`.

    >>> from os import environ
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> with TemporaryDirectory() as apart, patch.dict(environ, NAIVE_GRAPH_DATA=apart):  # yours stays as it is
    ...     check("transpose", lambda W: [list(column) for column in zip(*W)])
    Right: transpose does what it should in all 8 cases.
    """
    if answer is ...:
        named = exercise_named(name).name  # raises if a function alone is given: its name comes first
        raise LessonError(f'What is to be checked stands behind its name: check("{named}", {named}).')
    if is_private(name_as_text(name)):
        return Verdict(False, f"{name} has no check here: it is judged when you have handed it in.")
    verdict = judge(name, answer)
    record_progress(exercise_named(name).name, tried=True, passed=verdict.passed)
    return verdict


def hint(name: str) -> TranslatedText:
    """The next hint for an exercise; the last one is its rule. After that: all hints, and how to get a solution.

    >>> from os import environ
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> with TemporaryDirectory() as apart, patch.dict(environ, NAIVE_GRAPH_DATA=apart):  # yours stays as it is
    ...     hint("transpose")
    Hint 1 of 3 for transpose: How many rows has the result?
    """
    exercise = exercise_named(name)
    hints = [*exercise.hints, f"The rule: {exercise.rule}"]
    shown_count, count = int(read().get(exercise.name, {}).get("hints") or 0), len(hints)
    record_progress(exercise.name, hints=1)
    lines = [f"Hint {i} of {count} for {exercise.name}: {text}" for i, text in enumerate(hints, 1)]
    if shown_count < count:
        return TranslatedText(lines[shown_count])
    return TranslatedText("\n".join(["There are no more hints.", *lines, f'A solution: solution("{exercise.name}")']))


def solution(name: str) -> PlainText:
    """A solution of an exercise, as text.

    >>> print(solution("transpose").splitlines()[-1].strip())
    return [[row[j] for row in W] for j in range(len(W[0]))]
    """
    return PlainText(solution_text(exercise_named(name)))


def working(name: str, answer: Any) -> Any:
    """The answer, if it is right; else a solution, so that a lesson can go on.

    >>> transpose = working("transpose", lambda W: W)
    Your transpose is not right yet. The lesson goes on with a solution; come back when you like.
    >>> transpose([[1.0, 2.0], [3.0, 4.0]])
    [[1.0, 3.0], [2.0, 4.0]]
    """
    exercise = exercise_named(name)
    if judge(name, answer).passed:
        return answer
    message = f"Your {exercise.name} is not right yet. The lesson goes on with a solution; come back when you like."
    print(translate(message))
    return exercise.answer_with()


def progress() -> TranslatedText:
    """What was passed and what was tried, exercise by exercise.

    >>> from os import environ
    >>> from tempfile import TemporaryDirectory
    >>> from unittest.mock import patch
    >>> with TemporaryDirectory() as apart, patch.dict(environ, NAIVE_GRAPH_DATA=apart):  # yours stays as it is
    ...     print(progress().splitlines()[0])
    1.1   evaluate               not tried yet
    """
    records = read()
    lines = []
    for exercise in sorted(ALL_EXERCISES, key=lambda exercise: number_key(exercise.number)):
        record = records.get(exercise.name, {})
        tries = record.get("tries", 0)
        state = f"tried {tries} time{'s' * (tries != 1)}" if tries else "not tried yet"
        state = "passed" if record.get("passed") else state
        lines.append(f"{exercise.number:5} {exercise.name:22} {state}")
    right = [name for name in predictions() if records.get(f"predict {name}", {}).get("passed")]
    lines.append(f"Predictions that came true: {len(right)} of {len(predictions())}.")
    return TranslatedText("\n".join(lines))


# --- predictions ------------------------------------------------------------------


JUDGED_BY = frozenset({"right", "also", "within"})  # the other keys of a prediction are wrong guesses, with replies


@cache
def predictions() -> dict[str, dict[str, Any]]:
    """The predictions by number: "why" for right guesses; for each name the right value and replies to wrong ones."""
    return tomllib.loads(Path(__file__).with_name("predictions.toml").read_text(encoding="utf-8"))


def predict(number: str, *unnamed: Any, **guesses: Any) -> Verdict:
    """Say what a cell will show, before it does: `predict("1.3", nodes=2, edges=2)`.

    >>> predict("1.2", before=..., after=...)
    Put your guess in the place of the dots, and run this cell again.
    """
    if unnamed:
        raise LessonError(f"A guess has a name: {_call_template(_check_number(name_as_text(number)))}.")
    verdict = judge_guesses(name_as_text(number), guesses)
    if ... not in guesses.values():
        record_progress(f"predict {current_number(name_as_text(number))}", tried=True, passed=verdict.passed)
    return verdict


def judge_guesses(number: str, guesses: dict[str, Any]) -> Verdict:
    """The verdict on guesses by name. Raises LessonError if there is no such prediction, or it asks for other names."""
    number = _check_number(number)
    questions = {name: question for name, question in predictions()[number].items() if name != "why"}
    if guesses.keys() != questions.keys():
        raise LessonError(f"Prediction {number} asks for other names. Write {_call_template(number)}.")
    if ... in guesses.values():
        texts = [name for name, question in questions.items() if isinstance(question["right"], str)]
        quotes = "".join(f' A text stands in quotes: {text}="..."' for text in texts[:1])
        return Verdict(False, f"Put your guess in the place of the dots, and run this cell again.{quotes}")
    wrong_names = [name for name, guess in guesses.items() if not _is_right_guess(guess, **questions[name])]
    answers = []
    for name in wrong_names:
        guess = _normalize_guess(guesses[name])
        reply = questions[name].get(guess) if guess not in JUDGED_BY else None
        answers.append(str(reply or f"{name} is not {guesses[name]!r}. Look again."))
    return Verdict(not wrong_names, "\n".join(answers) or f"Right. {predictions()[number]['why']}")


def current_number(number: str) -> str:
    """A prediction's current number: splitting lessons changed some."""
    return OLD_PREDICTIONS.get(number, number)


def _check_number(number: str) -> str:
    number = current_number(number)
    if number not in predictions():
        raise LessonError(f"There is no prediction {number!r}. There are: {', '.join(predictions())}.")
    return number


def _call_template(number: str) -> str:
    names = [name for name in predictions()[number] if name != "why"]
    return f"predict({number!r}, {', '.join(f'{name}=...' for name in names)})"


def judge_prediction(cells: list[str], number: str) -> Verdict:
    """The verdict on the last prediction of that number in a notebook's cells, which are read, never run."""
    calls = chain.from_iterable(find_calls(cell, "predict") for cell in cells)
    matching_calls = [call for call in calls if current_number(str(call.args[0].value)) == number]
    if not matching_calls:
        return Verdict(False, "There is no such prediction in the notebook.", [Mistake("missing", "")])
    try:
        keywords = matching_calls[-1].keywords
        return judge_guesses(number, {str(keyword.arg): _literal_guess(keyword.value) for keyword in keywords})
    except LessonError as error:
        return Verdict(False, str(error))


def _literal_guess(written: ast.expr) -> Any:
    try:
        return ast.literal_eval(written)
    except ValueError:
        return ast.unparse(written)  # a variable by its name


SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}


def _is_right_guess(guess: Any, right: Any, also: Sequence[Any] = (), within: float = 0.0, **_: str) -> bool:
    """Whether a guess equals the right value, an accepted alternative, or lies within the tolerance."""
    near = isinstance(guess, (int, float)) and within and abs(guess - right) <= within
    return bool(near or any(_spellings(guess) & _spellings(value) for value in (right, *also)))


def _spellings(value: Any) -> set[str]:
    """The accepted spellings of a value: an operator's name or sign; a node's name, str or repr."""
    if isinstance(value, Node):
        return {value.name or repr(value), str(value), repr(value)}
    return {_normalize_guess(value), SIGNS.get(str(value), _normalize_guess(value))}


def _normalize_guess(guess: Any) -> str:
    """Normalise a guess for comparison: 2 equals 2.0, texts lose extra quotes."""
    if isinstance(guess, str):
        return guess.strip(" '\"")
    return f"{guess:g}" if isinstance(guess, (int, float)) and not isinstance(guess, bool) else str(guess)


def progress_file() -> Path:
    """The path of progress.json: in $NAIVE_GRAPH_DATA, or in the user's data folder."""
    return user_folder("data") / "progress.json"


def read() -> dict[str, dict[str, Any]]:
    """Read the saved progress: for each exercise its tries, whether it was passed, and the number of hints shown."""
    try:
        records = json.loads(progress_file().read_text(encoding="utf-8"))
    except (FileNotFoundError, FolderError):
        return {}
    except (OSError, ValueError):
        records = None
    if isinstance(records, dict) and all(isinstance(record, dict) for record in records.values()):
        return records
    warnings.warn(f"The file {progress_file()} cannot be read. Progress starts anew.", RuntimeWarning, stacklevel=2)
    return {}


def record_progress(name: str, tried: bool = False, passed: bool = False, hints: int = 0) -> None:
    """Update the saved progress of an exercise; warns if the file cannot be written."""
    records = read()
    record = records.setdefault(name, {})
    for fact, more in (("tries", int(tried)), ("hints", hints)):
        if more or record.get(fact):
            record[fact] = int(record.get(fact) or 0) + more
    record["passed"] = bool(record.get("passed")) or passed
    try:
        file = progress_file()
        write_file_in(file.parent, file.name, json.dumps(records, indent=1, sort_keys=True).encode())
    except FolderError as error:
        warnings.warn(f"Progress is not kept: {error}", RuntimeWarning, stacklevel=2)
