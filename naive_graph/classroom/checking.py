"""For authors of exercises: check that the test cases detect each misconception and kill mutants of the solution.

A mutant is the solution with one small change (mutation.py); a test case kills it if its value is wrong there.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

from ..errors import LessonError
from .exercise import Exercise
from .judging import failing_cases, verdict
from .mutation import mutants
from .run_answer import OutcomePairs, run_all_cases
from .solutions import solution_text


def check_cases(exercise: Exercise) -> None:
    """Raise LessonError if cases do not fit the solution's signature, are not reproducible, or the solution fails."""
    name = exercise.name
    try:
        # A copy of the exercise makes its cases anew.
        texts = [[case.text for case in variant.cases] for variant in (exercise, replace(exercise))]
        for case in exercise.cases:
            inspect.signature(exercise.answer_with()).bind(*case.make_call(False).arguments)
    except Exception as error:
        hint = "A case is the list of the arguments: yield [[1.0, 2.0]] where a list alone is given."
        raise LessonError(f"The cases of {name} cannot be asked: {type(error).__name__}: {error}. {hint}") from error
    if not exercise.cases:
        raise LessonError(f"The exercise {name} has no cases. Let cases() yield the arguments of some.")
    if texts[0] != texts[1]:
        raise LessonError(f"The cases of {name} are others each time. Draw them from the chance that cases is given.")
    outcome = verdict(exercise, run_all_cases(exercise, _load_answer(exercise, solution_text(exercise))))
    if not outcome.passed:
        hint = "Learners see the function alone: what it needs is imported and made inside it."
        raise LessonError(f"The solution of {name} does not pass. {outcome.message}\n{hint}")


def _load_answer(exercise: Exercise, text: str) -> Any:
    scope: dict[str, Any] = {}
    exec(compile(text, f"<{exercise.name}>", "exec"), scope)
    return scope[exercise.name]


def _passes_all(exercise: Exercise, outcomes: OutcomePairs) -> bool:
    return len(outcomes) == len(exercise.cases) and not failing_cases(exercise, outcomes)


def undetected_mistakes(exercise: Exercise) -> Iterator[str]:
    """Yield a message for each misconception that passes all cases, and each pair that no case distinguishes."""
    done: dict[str, OutcomePairs] = {}
    for key in exercise.misconceptions:
        done[key] = run_all_cases(exercise, exercise.answer_with(key))
        if _passes_all(exercise, done[key]):
            yield f"{key}: no case shows it. Add a case in which it gives another value than the solution."
            del done[key]
    for one, other in combinations(done, 2):
        pairs = zip(done[one], done[other])
        if all(exercise.same_mistake(index, mine[0], theirs[0]) for index, (mine, theirs) in enumerate(pairs)):
            yield f"{one} and {other} do the same in every case. Add a case that tells them apart, or make them one."


def surviving_mutants(exercise: Exercise) -> tuple[list[str], int]:
    """The changed lines of mutants that pass all cases, and the number of mutants tried (mutation testing)."""
    passed, count = [], 0
    for line, text in mutants(solution_text(exercise)):
        try:
            answer = _load_answer(exercise, text)
        except Exception:
            continue  # it does not even define the function
        count += 1
        if _passes_all(exercise, run_all_cases(exercise, answer)):
            passed.append(line)
    return passed, count
