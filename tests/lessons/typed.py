"""What a learner types into the cells of a lesson: first something wrong, then what is right."""

import re

from naive_graph.classroom import judge
from naive_graph.classroom.exercises import EXERCISES
from naive_graph.classroom.mutation import mutants
from naive_graph.classroom.notebook import JUDGED_BY, predictions
from naive_graph.classroom.solutions import blank_text, solution_text

BLANKS = {blank_text(exercise): exercise for exercise in EXERCISES}


def typed(source):
    """(wrong, right) for a cell that waits for the learner; None for any other."""
    if source in BLANKS:
        return mistaken(BLANKS[source]), solution_text(BLANKS[source])
    found = re.fullmatch(r'predict\("([\da-z.]+)", .*\)', source)
    return guesses(found[1]) if found else None


def mistaken(exercise):
    """The first change of the solution that is wrong in a notebook too, where a name that went may be a variable."""
    for _, text in mutants(solution_text(exercise)):
        scope = {}
        try:
            exec(text, scope)
        except Exception:
            continue
        verdict = judge(exercise.name, scope[exercise.name])
        if not verdict.passed and "NameError" not in str(verdict):
            return text


def guesses(number):
    asked = {name: told for name, told in predictions()[number].items() if name != "why"}
    wrong = {name: next(key for key in told if key not in JUDGED_BY) for name, told in asked.items()}
    right = {name: told["right"] for name, told in asked.items()}
    return tuple(
        f"predict({number!r}, {', '.join(f'{name}={literal(value)}' for name, value in each.items())})"
        for each in (wrong, right)
    )


def literal(value):
    return value if re.fullmatch(r"-?[\d.]+", str(value)) else repr(value)
