"""Near misses: find the one-line change that makes an answer right, or a relation of wrong values to right ones.

`find_repair` tries small changes of single lines of the learner's code (mutation.py calls them slips): it names a line
only if the changed answer passes all cases, so the hint is certain. `find_relation` looks at values only: are all wrong
ones, for instance, wrong by the same factor, in another order, or too large? misconceptions.toml has the sentences.

Outcomes come in pairs, one pair for each case, since each case is run twice (see run_answer.py): first, second.
Values are JSON, as run_answer.to_json_value makes it: numbers, lists, {"text": text}, {"node": index}; a dict is
{"pairs": [[key, value], ...]}, another container {"kind": name of its type, "of": its entries}.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from .exercise import Exercise, is_close
from .mutation import send_changes
from .run_answer import AnswerOutcome, OutcomePairs, parse_outcome, run_all_cases, run_isolated

MISCONCEPTIONS = tomllib.loads(Path(__file__).with_name("misconceptions.toml").read_text(encoding="utf-8"))
# By name: a sentence for the learner; in order, the surest first. RAISED: by a piece of an error's text.
SENTENCES, RELATIONS, RAISED = MISCONCEPTIONS["slips"], MISCONCEPTIONS["relations"], MISCONCEPTIONS["raised"]
FIRST_TRIED = 4  # every change is tried on at most so many wrong cases; those that pass are then tried on all cases


class TriedChange(NamedTuple):
    """A change that was tried: its number, its kind and line, and the outcomes of the changed answer."""

    number: int
    kind: str
    line: str
    outcomes: list[AnswerOutcome]


class AnswerRunner(Protocol):
    """Runs an answer again to confirm a diagnosis, where it ran before: on this machine or in the sandbox."""

    def run_again(self, exercises: list[Exercise]) -> Iterable[OutcomePairs]:
        """The outcomes in each variant of the exercise (other or fewer cases); [] for one that could not run."""

    def run_changed(self, exercise: Exercise, only: list[int]) -> list[TriedChange]:
        """The outcomes of the answer with each change applied. only: the numbers of the changes to try; [] for all."""


class LocalRunner(NamedTuple):
    """Runs the answer of a learner who calls `check`, on the learner's machine."""

    answer: Any

    def run_again(self, exercises: list[Exercise]) -> Iterable[OutcomePairs]:
        return (run_all_cases(exercise, self.answer) for exercise in exercises)

    def run_changed(self, exercise: Exercise, only: list[int]) -> list[TriedChange]:
        text, _ = run_isolated(lambda send: send_changes(exercise, self.answer, only, send))
        return parse_changes(exercise, text)


def parse_changes(exercise: Exercise, text: str) -> list[TriedChange]:
    """Parse the lines that `send_changes` sent. Raises ValueError, TypeError or LookupError for other lines."""
    sizes = [case.node_count for case in exercise.cases]
    changes = []
    for line in text.split("\n")[:-1]:
        number, kind, where, outcomes = json.loads(line)
        parsed = [parse_outcome(outcome, size) for outcome, size in zip(outcomes, sizes, strict=True)]
        changes.append(TriedChange(int(number), str(kind), str(where)[:300], parsed))
    return changes


def find_repair(exercise: Exercise, outcome_pairs: OutcomePairs, runner: AnswerRunner) -> tuple[str, str]:
    """Kind and line of the change that makes the answer right; ("", "") if there is none.

    Of several, the one whose kind misconceptions.toml lists first.
    """
    wrong = [i for i, (first, _) in enumerate(outcome_pairs) if not exercise.is_right(i, first)]
    if exercise.text or not wrong:
        return "", ""  # a part of tiny is no single function; what is wrong only the second time has no case here
    stride = math.ceil(len(wrong) / FIRST_TRIED)
    few_cases = wrong[::stride]
    numbers = [change.number for change in _passing_changes(exercise.with_cases(few_cases), runner, [])]
    right = _passing_changes(exercise, runner, numbers) if numbers else []
    order = [*SENTENCES]
    best = min(right, key=lambda change: order.index(change.kind), default=None)
    return (best.kind, best.line) if best else ("", "")


def _passing_changes(exercise: Exercise, runner: AnswerRunner, only: list[int]) -> list[TriedChange]:
    """The changes that make the answer right in all cases of this exercise. only: numbers to try; [] for all."""
    return [
        change
        for change in runner.run_changed(exercise, only)
        if change.kind in SENTENCES and all(exercise.is_right(i, outcome) for i, outcome in enumerate(change.outcomes))
    ]


def find_relation(exercise: Exercise, outcome_pairs: OutcomePairs) -> tuple[str, str]:
    """Name and sentence of a relation that holds between all wrong values and the right ones; ("", "") if none does."""
    if exercise.text:
        return "", ""  # the cases of a part of tiny ask different things, so their values have no common relation
    wrong = [(i, first) for i, (first, _) in enumerate(outcome_pairs) if not exercise.is_right(i, first)]
    if any(first.kind != "gave" or (first.value is None and exercise.complaint is None) for _, first in wrong):
        return "", ""
    if exercise.complaint is not None:
        complaints = {str(exercise.complaint(exercise.cases[i], first.value)) for i, first in wrong}
        if len(complaints) != 1:
            return "", ""
        (complaint,) = complaints
        sentence = f"{complaint[:1].upper()}{complaint[1:]}, wherever it is wrong."
        return re.sub(r"\W+", "_", complaint), sentence
    pairs = [(first.value, exercise.expected[i].value) for i, first in wrong]
    for name, sentence in RELATIONS.items():
        if name in LIST_RELATIONS and (exercise.parts or exercise.is_class):
            continue  # the value of such an exercise has named parts, not the entries of a list
        if detail := RELATION_TESTS[name](exercise, pairs):
            return name, sentence.format(detail)
    return "", ""


LIST_RELATIONS = {
    "first_wrong", "last_wrong", "right_at_first", "right_at_last", "another_order", "some_missing", "too_much",
}  # fmt: skip
Pairs = list[tuple[Any, Any]]  # (wrong value, right value)


def _wrong_part(exercise: Exercise, pairs: Pairs) -> str:
    """The name of the only part of the result that is wrong; "" if there are several."""
    count = len(exercise.parts)
    if not all(isinstance(got, list) and len(got) == count for got, _ in pairs):
        return ""
    wrong = [k for k in range(count) if not all(is_close(got[k], want[k]) for got, want in pairs)]
    return exercise.parts[wrong[0]] if len(wrong) == 1 else ""


# The tests of relations (_wrong_part, _match_..., _compare_pairs, _common_number) return a detail for the sentence, or
# "so" where it needs none, if the relation holds between all pairs; "" if not.


def _match_entries(pairs: Pairs, which: Callable[[list[bool]], bool]) -> str:
    """ "so" if `which` holds for the flags "entry is right" of every list of two or more; else ""."""
    lists = all(isinstance(value, list) for pair in pairs for value in pair)
    alike = lists and all(len(got) == len(want) for got, want in pairs)
    rights = [list(map(is_close, got, want)) for got, want in pairs if len(got) > 1] if alike else []
    return "so" if rights and all(map(which, rights)) else ""


def _match_equal_rows(exercise: Exercise, pairs: Pairs) -> str:
    several = [pair for pair in pairs if isinstance(pair[0], list) and pair[0][1:] and isinstance(pair[0][0], list)]
    return "so" if several and all(got.count(got[0]) == len(got) and got != want for got, want in several) else ""


def _match_sizes(exercise: Exercise, pairs: Pairs) -> str:
    lists = all(isinstance(value, list) for pair in pairs for value in pair)
    if not lists or any(len(got) == len(want) for got, want in pairs):
        return ""
    got, want = pairs[0]
    return f"{len(got)}, where right is {len(want)}"


def _round_value(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def _match_counts(pairs: Pairs, relation: Callable[[Counter[str], Counter[str]], bool]) -> str:
    """ "so" if the relation holds between the counted entries of each wrong and right list; else ""."""
    if not all(isinstance(value, list) for pair in pairs for value in pair):
        return ""
    counted = [[Counter(map(_round_value, flat(value))) for value in pair] for pair in pairs]
    return "so" if counted and all(any(got) and relation(got, want) for got, want in counted) else ""


def _number_pairs(pairs: Pairs) -> list[tuple[float, float]]:
    """All (number, right number) pairs; [] if the values do not have the same number of entries, all floats."""
    numbers = [(list(flat(got)), list(flat(want))) for got, want in pairs]
    if any(len(got) != len(want) or not all(isinstance(x, float) for x in got + want) for got, want in numbers):
        return []
    return [pair for got, want in numbers for pair in zip(got, want)]


def flat(value: Any) -> Iterator[Any]:
    """The numbers and texts in a value, from left to right."""
    if isinstance(value, list):
        for entry in value:
            yield from flat(entry)
    elif isinstance(value, dict) and {"of", "pairs"} & value.keys():
        yield from flat(value.get("of", [part for _, part in value.get("pairs", [])]))
    else:
        yield value


def _compare_pairs(pairs: Pairs, relation: Callable[[float, float], bool]) -> str:
    """Return "so" if the relation holds for all pairs, at least three, all of numbers; else ""."""
    numbers = all(isinstance(number, float) for pair in pairs for number in pair)
    return "so" if len(pairs) > 2 and numbers and all(relation(*pair) for pair in pairs) else ""


def _common_number(numbers: list[float]) -> str:
    """The number that all are equal to, as text; "" if they differ or it is 0."""
    if not numbers or not numbers[0] or not all(map(math.isfinite, numbers)):
        return ""
    return f"{numbers[0]:.6g}" if max(numbers) - min(numbers) <= 1e-6 * abs(numbers[0]) else ""


def _common_factor(numbers: list[tuple[float, float]]) -> str:
    """The factor by which all (wrong, right) numbers differ, as text; "" if there is none.

    >>> _common_factor([(4.0, 2.0), (0.0, 0.0)]), _common_factor([(4.0, 2.0), (3.0, 0.0)])
    ('2', '')
    """
    if not all(is_close(got, want) for got, want in numbers if not want):
        return ""  # something else than 0 is no multiple of 0
    return _common_number([got / want for got, want in numbers if want])


RELATION_TESTS: dict[str, Callable[[Exercise, Pairs], str]] = {
    "one_part": _wrong_part,
    "constant_factor": lambda _, pairs: _common_factor(_number_pairs(pairs)),
    "constant_offset": lambda _, pairs: _common_number([got - want for got, want in _number_pairs(pairs)]),
    "another_order": lambda _, pairs: _match_counts(pairs, lambda got, want: got == want),
    "some_missing": lambda _, pairs: _match_counts(pairs, lambda got, want: got < want),
    "too_much": lambda _, pairs: _match_counts(pairs, lambda got, want: got > want),
    "first_wrong": lambda _, pairs: _match_entries(pairs, lambda right: not right[0] and all(right[1:])),
    "last_wrong": lambda _, pairs: _match_entries(pairs, lambda right: not right[-1] and all(right[:-1])),
    "right_at_first": lambda _, pairs: _match_entries(pairs, lambda right: right[0] and not right[-1]),
    "right_at_last": lambda _, pairs: _match_entries(pairs, lambda right: right[-1] and not right[0]),
    "says_yes": lambda _, pairs: "so" if all(got is True and want is False for got, want in pairs) else "",
    "says_no": lambda _, pairs: "so" if all(got is False and want is True for got, want in pairs) else "",
    "too_large": lambda _, pairs: _compare_pairs(pairs, lambda got, want: got > want),
    "too_small": lambda _, pairs: _compare_pairs(pairs, lambda got, want: got < want),
    "one_row": _match_equal_rows,
    "other_size": _match_sizes,
}
