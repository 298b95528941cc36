"""Judge an answer to an exercise: run it on all cases; the Verdict names a failing case and the mistake.

The case shown is the smallest that fails, or the first that the diagnosed mistake explains.

    judge("slope", lambda f, x, h=1e-5: (f(x + h) - f(x)) / h)    Not yet: slope is wrong in ... cases. ...

`verdict` does the same for outcomes that are known already, such as those from the sandbox.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from html import escape
from typing import Any

from ..core.number import shortened
from ..errors import LessonError
from ..graph.graph import Graph
from .cases import ExerciseCase
from .custom_exercises import exercise_files, find_lecturer_name, own_exercise
from .exercise import Exercise
from .exercises import ALL_EXERCISES, EXERCISES
from .language import translate
from .lessons import OLD_EXERCISES
from .misconceptions import Mistake, diagnose, format_value
from .near_misses import RELATIONS, AnswerRunner, LocalRunner
from .run_answer import AnswerOutcome, OutcomePair, OutcomePairs, run_all_cases


@dataclass(frozen=True)
class Verdict:
    """The result of testing an answer. A notebook displays it, with the graph of the failing case that it shows.

    >>> from naive_graph.classroom.judging import judge
    >>> verdict = judge("transpose", lambda W: W)
    >>> verdict.passed, verdict.mistakes[0].name
    (False, 'unfinished')
    """

    passed: bool
    message: str
    mistakes: list[Mistake] = field(default_factory=list)
    case: ExerciseCase | None = field(default=None, repr=False)
    does: str = field(default="", repr=False)  # fingerprint of a wrong answer: a hash of its outcomes in failing cases
    share: float = field(default=0.0, repr=False)  # the share of the cases in which a wrong answer is right

    def __repr__(self) -> str:
        return translate(self.message)

    def picture(self) -> Any:
        """The graph of the case that is shown, drawn; None if it has none, or one of 60 nodes or more."""
        if self.case is None or self.case.recipe is None or not 0 < self.case.recipe.size < 60:
            return None
        from ..views.drawing.draw import draw

        with Graph.scratch():
            self.case.recipe.make_nodes()
            picture = draw(Graph, grads=False)
            picture.live_graph = None  # a static picture, so that a page of many results needs only one script
            picture.svg  # noqa: B018 - drawn now, since the scratch graph ends with this block
            return picture

    def picture_html(self) -> str:
        """The picture as HTML; empty if there is none."""
        picture = self.picture()
        return "" if picture is None else str(picture._repr_mimebundle_()["text/html"])

    def _repr_html_(self) -> str:
        return f'<pre style="white-space:pre-wrap">{escape(repr(self))}</pre>{self.picture_html()}'


def name_as_text(name: object) -> str:
    """A name or a number as text, whatever it is: Python does not print a number of thousands of digits."""
    return name if isinstance(name, str) else shortened(name)


def exercise_named(name: str) -> Exercise:
    """The exercise of that name or number."""
    text = name_as_text(name)
    current_name = OLD_EXERCISES.get(text, text)
    for exercise in ALL_EXERCISES:
        if current_name in (exercise.name, exercise.number):
            return exercise
    custom_files = exercise_files()
    if text in custom_files:
        return own_exercise(custom_files[text])
    suggestions = get_close_matches(text, [*custom_files, *(exercise.name for exercise in EXERCISES)], 1, 0.5)
    meant = ' Give its name first: check("kahn", kahn).' * callable(name)
    meant = f" Did you mean {suggestions[0]!r}?" if suggestions else meant
    raise LessonError(f"There is no exercise {shortened(name)}.{meant} progress() lists all of them.")


def judge(name: str, answer: Any) -> Verdict:
    """Test an answer on all cases of the exercise with this name or number.

    >>> judge("slope", lambda f, x, h=1e-5: (f(x + h) - f(x)) / h).mistakes[0].name
    'forward_difference'
    """
    exercise = exercise_named(name)
    if not callable(answer):
        due, hint = "class" if exercise.is_class else "function", f'check("{exercise.name}", {exercise.name})'
        message = f"{exercise.name} is to be a {due}, not a {type(answer).__name__}. Give it without brackets: {hint}."
        raise LessonError(message)
    return verdict(exercise, run_all_cases(exercise, answer), LocalRunner(answer))


def verdict(exercise: Exercise, outcome_pairs: OutcomePairs, runner: AnswerRunner | None = None) -> Verdict:
    """Make the verdict from an answer's outcomes. runner: runs the answer again, to confirm a diagnosis."""
    wrong = failing_cases(exercise, outcome_pairs)
    if not wrong:
        return Verdict(True, f"Right: {exercise.name} does what it should in all {len(outcome_pairs)} cases.")
    common_failures = [index for index in wrong if index < len((exercise.shared or exercise).cases)] or wrong
    does = repr([(index, _round_value(outcome_pairs[index])) for index in common_failures])
    fingerprint = sha256(does.encode()).hexdigest()[:8]
    lecturer_name = find_lecturer_name(exercise.name, fingerprint)
    mistakes = [Mistake(*lecturer_name)] if lecturer_name else diagnose(exercise, outcome_pairs, runner)
    explained_cases = [mistake.case for mistake in mistakes if mistake.case is not None]
    shown_case = explained_cases[0] if explained_cases else wrong[0]
    message = _compose_message(exercise, outcome_pairs, wrong, shown_case, mistakes)
    share = (len(outcome_pairs) - len(wrong)) / len(exercise.cases)
    return Verdict(False, message, mistakes, exercise.cases[shown_case], fingerprint, share)


def failing_cases(exercise: Exercise, outcome_pairs: OutcomePairs) -> list[int]:
    """The indices of the cases in which an answer is wrong, in the first run or the second."""
    return [index for index, pair in enumerate(outcome_pairs) if _find_failure(exercise, index, pair) is not None]


def _round_value(outcome: Any) -> Any:
    """An outcome with rounded numbers and without error texts, for the fingerprint."""
    if isinstance(outcome, AnswerOutcome):
        return outcome.kind, outcome.error.partition(":")[0], _round_value(outcome.value)
    if isinstance(outcome, (list, tuple)):
        return [_round_value(entry) for entry in outcome]
    if isinstance(outcome, dict):
        return [(key, _round_value(value)) for key, value in outcome.items()]
    return f"{outcome:.6g}" if isinstance(outcome, float) else outcome


def _find_failure(exercise: Exercise, index: int, outcomes: OutcomePair) -> AnswerOutcome | None:
    """The outcome that is wrong in a case: the first, or the second if only that is; None if both are right."""
    wrong = (outcome for outcome in outcomes if outcome is not None and not exercise.is_right(index, outcome))
    return next(wrong, None)


def _compose_message(
    exercise: Exercise, outcomes: OutcomePairs, wrong: list[int], index: int, mistakes: list[Mistake]
) -> str:
    """The message of a wrong answer. index: of the case that is shown."""
    outcome = _find_failure(exercise, index, outcomes[index])
    assert outcome is not None
    second_run = " when it is asked the same a second time" if outcome is not outcomes[index][0] else ""
    smallest = f"Not yet: {exercise.name} is wrong in {len(wrong)} of {len(outcomes)} cases. The smallest of them:"
    other = f"Not yet: {exercise.name} is wrong in {len(wrong)} of {len(outcomes)} cases. One of them:"
    lines = [
        smallest if index == wrong[0] else other,
        f"    {exercise.cases[index].text}",
        f"    your answer{second_run} {_describe_outcome(exercise, outcome)}",
        f"    {_describe_expected(exercise, index, outcome)}",
    ]
    if guesses := [mistake for mistake in mistakes if mistake.name != "raises"]:  # the error was shown above
        lines += ["A guess, from what it does:", *(f"  * {mistake.sentence}" for mistake in guesses)]
    if not mistakes or mistakes[0].name in RELATIONS:
        lines += _common_features(exercise, outcomes, wrong)
    return "\n".join(lines)


def _format_for_exercise(exercise: Exercise, value: Any) -> str:
    """A value as a learner writes it: a value with named parts is a tuple, or an object of the learner's class."""
    text = format_value(value)
    parts = isinstance(value, list) and len(value) == len(exercise.parts) and text.endswith("]")
    if not parts or not value or isinstance(value[0], dict):
        return text
    return f"{exercise.name * exercise.is_class}({text[1:-1]})"


def _describe_outcome(exercise: Exercise, outcome: AnswerOutcome) -> str:
    text = {
        "gave": f"gives {_format_for_exercise(exercise, outcome.value)}",
        "raised": f"raises {outcome.error}" + (f" ({outcome.where})" if outcome.where else ""),
        "endless": "does not end; it was stopped",
        "refused": f"calls {outcome.error}, which it is to do without",
        "crashed": "makes Python itself give up",
    }[outcome.kind]
    visits = f", after {outcome.visits:,} calls of partials" if outcome.visits > 100 else ""
    return text + visits + (" and changes what it was given" if outcome.mutated else "")


def _describe_expected(exercise: Exercise, index: int, outcome: AnswerOutcome) -> str:
    want = _format_for_exercise(exercise, exercise.expected[index].value)
    if exercise.complaint is None or exercise.expected[index].value is None:
        return f"right is {want}"
    complaint = exercise.complaint(exercise.cases[index], outcome.value) if outcome.kind == "gave" else None
    return (f"which is wrong: {complaint}. " if complaint else "") + f"right is, for example, {want}"


# --- if no mistake was diagnosed ------------------------------------------------


def _common_features(exercise: Exercise, outcomes: OutcomePairs, wrong: list[int]) -> list[str]:
    """A sentence about the feature that failing cases share and passing ones lack, if there is one."""
    failing = [exercise.cases[index].features for index in wrong]
    passing = [exercise.cases[index].features for index in range(len(outcomes)) if index not in set(wrong)]
    shared = frozenset.intersection(*failing) if passing else frozenset()
    by_rarity = sorted((sum(feature in features for features in passing), feature) for feature in shared)
    lines = []
    for _, feature in by_rarity[:1]:
        if not any(feature in features for features in passing):
            lines.append(f"Of the cases asked, it is wrong whenever {feature}, and right in all others.")
        elif any(feature not in features for features in passing):
            lines.append(f"Of the cases asked, it is wrong only where {feature}, but not always there.")
    return lines
