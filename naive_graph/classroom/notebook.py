"""What a learner types into a notebook: check, hint, solution, progress, predict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import LessonError
from . import progress as kept
from .exercises import EXERCISES
from .judge import Verdict, exercise_named, judge
from .solutions import solution_text


class Text(str):
    """A text that shows itself without quotes."""

    def __repr__(self) -> str:
        return str(self)


def check(name: str, answer: Any) -> Verdict:
    """Check an answer: `check("kahn", kahn)`, or by its number, `check("2.1", kahn)`."""
    verdict = judge(name, answer)
    kept.note(exercise_named(name).name, tried=True, passed=verdict.passed)
    return verdict


def hint(name: str) -> Text:
    """The next hint for an exercise; after the last one they begin again."""
    exercise = exercise_named(name)
    shown = int(kept.read().get(exercise.name, {}).get("hints") or 0)
    kept.note(exercise.name, hints=1)
    which = shown % len(exercise.hints)
    return Text(f"Hint {which + 1} of {len(exercise.hints)} for {exercise.name}: {exercise.hints[which]}")


def solution(name: str) -> Text:
    """A solution of an exercise, as text."""
    return Text(solution_text(exercise_named(name)))


def progress() -> Text:
    """What was passed and what was tried, exercise by exercise."""
    known = kept.read()
    lines = []
    for exercise in sorted(EXERCISES, key=lambda each: each.number):
        told = known.get(exercise.name, {})
        tries = told.get("tries", 0)
        state = (
            "passed" if told.get("passed") else f"tried {tries} time{'s' * (tries != 1)}" if tries else "not tried yet"
        )
        lines.append(f"{exercise.number:4} {exercise.name:22} {state}")
    right = [name for name in PREDICTIONS if known.get(f"predict {name}", {}).get("passed")]
    if PREDICTIONS:
        lines.append(f"Predictions that came true: {len(right)} of {len(PREDICTIONS)}.")
    return Text("\n".join(lines))


# --- predictions ------------------------------------------------------------------


@dataclass(frozen=True)
class Prediction:
    """A question before a cell answers it. wrong: what to say to likely wrong numbers, by name and number."""

    answers: dict[str, Any]
    wrong: dict[tuple[str, Any], str]


PREDICTIONS: dict[str, Prediction] = {}  # by number; the lessons fill it


def predict(number: str, **guesses: Any) -> Verdict:
    """Say what a cell will show, before it does: `predict("1.2", nodes=2, edges=2)`."""
    if not isinstance(number, str) or number not in PREDICTIONS:
        known = ", ".join(sorted(PREDICTIONS)) or "none yet"
        raise LessonError(f"There is no prediction {number!r}. There are: {known}.")
    prediction = PREDICTIONS[number]
    if guesses.keys() != prediction.answers.keys():
        asked = ", ".join(f"{name}=..." for name in prediction.answers)
        raise LessonError(f"Prediction {number} asks for other names. Write predict({number!r}, {asked}).")
    missed = [name for name, guess in guesses.items() if guess != prediction.answers[name]]
    told = [
        prediction.wrong.get((name, guesses[name]), f"{name} is not {guesses[name]!r}. Look again.") for name in missed
    ]
    kept.note(f"predict {number}", tried=True, passed=not missed)
    return Verdict(not missed, "\n".join(told) if missed else "Right. Now run the cell and see.")
