"""Diagnose a wrong answer by what it does: compare its outcomes in all cases with those of known mistakes.

In this order, until one explains the outcomes: mistakes that any function can have (GENERAL_CHECKS), the exercise's
misconceptions (each is a program, see exercise.py), a slip in the learner's source, an error or a missing result, and a
relation between wrong and right values (near_misses.py for slips and relations). A slip comes before an error, since it
names the line to mend. Style does not matter, since programs are compared by their outcomes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

from .cases import ROADS, ExerciseCase, name_by_index
from .exercise import Exercise, is_close
from .near_misses import RAISED, SENTENCES, AnswerRunner, find_relation, find_repair, flat
from .run_answer import AnswerOutcome, OutcomePairs, to_json_value

NEARLY_ALL = 0.985  # the share of cases in which a function without `return` gives None, at least
ENOUGH = 0.94  # the share of cases in which answer and misconception agree, of those where one of them is wrong
ENDLESS_WEIGHT = 8  # a case in which only the answer is endless is outweighed by more than 8 that agree


class Mistake(NamedTuple):
    """A diagnosed mistake: its name, a sentence for the learner, and the first case that it explains (None: all)."""

    name: str
    sentence: str
    case: int | None = None


def diagnose(exercise: Exercise, outcome_pairs: OutcomePairs, runner: AnswerRunner | None = None) -> list[Mistake]:
    """The mistakes that explain a wrong answer, or []. runner: runs the answer again, to confirm a diagnosis."""
    if runner is not None and _is_right_in_isolation(exercise, outcome_pairs, runner):
        return [Mistake("keeps_state", f"{RIGHT_WHEN_ALONE} {KEEPS_STATE_HINT}")]
    for check in GENERAL_CHECKS:
        if (general_mistake := check(exercise, outcome_pairs)) is not None:
            if general_mistake.name == "unfinished" and outcome_pairs[0][0].kind == "gave":
                # A `return` inside the loop looks the same as what is not finished, and is the better diagnosis.
                specific = _find_misconception(exercise, outcome_pairs, runner)
                return specific or _find_slip(exercise, outcome_pairs, runner) or [general_mistake]
            return [general_mistake]
    mistakes = _find_misconception(exercise, outcome_pairs, runner) or list(_find_failures(exercise, outcome_pairs))
    if not mistakes or mistakes[0].name in ("returns_nothing", "raises", "never_ends"):
        mistakes = _find_slip(exercise, outcome_pairs, runner) or mistakes
    if not mistakes and (relation := find_relation(exercise, outcome_pairs))[0]:
        mistakes = [Mistake(*relation)]
    is_mutating = any(first.mutated for first, _ in outcome_pairs)
    return [*mistakes, Mistake("changes_argument", MUTATES)] if is_mutating else mistakes


def _find_misconception(exercise: Exercise, outcomes: OutcomePairs, runner: AnswerRunner | None) -> list[Mistake]:
    """The misconception that fits, with a case that shows it; [] if a standard or fresh case refutes it."""
    key = best_misconception(exercise, outcomes)
    if not key or _is_refuted(exercise, outcomes, key):
        return []
    if runner is not None and exercise.fresh is not None:
        for fresh_outcomes in runner.run_again([exercise.fresh]):
            if not fresh_outcomes or _is_refuted(exercise.fresh, fresh_outcomes, key):
                return []
            if not _fits_fresh_cases(exercise.fresh, fresh_outcomes, key):
                return []
    for i, (first, _) in enumerate(outcomes):
        is_wrong = not exercise.is_right(i, first._replace(mutated=False))
        if is_wrong and exercise.same_mistake(i, first, exercise.outcome_with(i, key)[0]):
            return [Mistake(*exercise.misconceptions[key][:2], i)]
    return []


def _find_slip(exercise: Exercise, outcomes: OutcomePairs, runner: AnswerRunner | None) -> list[Mistake]:
    """The slip whose repair makes the answer right, as a list; [] if there is none, or the answer cannot run again."""
    kind, line = find_repair(exercise, outcomes, runner) if runner is not None else ("", "")
    return [Mistake(kind, SENTENCES[kind].format(line))] if kind else []


def _is_refuted(exercise: Exercise, outcomes: OutcomePairs, key: str) -> bool:
    """Whether the answer is right in a case where the misconception's program is wrong.

    Where several values are right this refutes nothing, since another order of steps may hide a mistake.
    """
    if exercise.complaint is not None:
        return False
    right = [i for i, (first, _) in enumerate(outcomes) if exercise.is_right(i, first._replace(mutated=False))]
    return not all(exercise.outcome_with(i, key)[1] for i in right)


def _fits_fresh_cases(exercise: Exercise, outcomes: OutcomePairs, key: str) -> bool:
    """Whether the misconception also explains the outcomes in fresh random cases."""
    gave = [first for first, _ in outcomes]
    wrong = [not exercise.is_right(i, first._replace(mutated=False)) for i, first in enumerate(gave)]
    both_right = not any(wrong) and all(exercise.outcome_with(i, key)[1] for i in range(len(gave)))
    return both_right or _agreement(exercise, gave, wrong, key) > ENOUGH


def _is_right_in_isolation(exercise: Exercise, outcomes: OutcomePairs, runner: AnswerRunner) -> bool:
    """Whether the first failing cases pass when each runs alone: then the answer keeps state between calls.

    Each runs twice, since an answer that iterates over a set may be right once by chance.
    """
    wrong = [i for i, (first, _) in enumerate(outcomes) if not exercise.is_right(i, first)]
    if not wrong or wrong[0] == 0 or any(outcomes[i][0].kind != "gave" for i in wrong):
        return False
    single = [exercise.with_cases([index]) for index in wrong[:5] * 2]
    return all(pairs and one_case.is_right(0, pairs[0][0]) for one_case, pairs in zip(single, runner.run_again(single)))


# --- mistakes of one exercise ---------------------------------------------------


def best_misconception(exercise: Exercise, outcome_pairs: OutcomePairs) -> str:
    """The misconception whose program agrees best with the answer; "" if none agrees enough."""
    gave = [first for first, _ in outcome_pairs]
    wrong = [not exercise.is_right(i, first._replace(mutated=False)) for i, first in enumerate(gave)]
    shares = {"": 0.0} | {key: _agreement(exercise, gave, wrong, key) for key in exercise.misconceptions}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] > ENOUGH else ""


def _agreement(exercise: Exercise, gave: list[AnswerOutcome], wrong: list[bool], key: str) -> float:
    """The share of cases in which answer and misconception agree, of those where one is wrong; 0.0 if far from ENOUGH.

    gave: the answer's outcomes. wrong: whether each is wrong. key: the misconception.
    """
    agree = differ = undecided = 0
    for i in sorted(range(len(wrong)), key=wrong.__getitem__, reverse=True):  # wrong ones first: they soon differ
        answer, (mistaken, mistaken_is_right) = gave[i], exercise.outcome_with(i, key)
        if not wrong[i] and mistaken_is_right:
            continue
        if exercise.same_mistake(i, answer, mistaken):
            agree += wrong[i]
        elif answer.error.startswith("IndexError") and not mistaken_is_right:  # a wrong index raises in some programs
            undecided += 1
        elif answer.kind == "endless" and mistaken.kind == "gave":  # an answer has a limit, our programs have none
            undecided += ENDLESS_WEIGHT
        else:
            differ += 1
            if differ > (1.0 - ENOUGH) * len(gave):
                return 0.0
    return agree / (agree + differ) if agree > undecided else 0.0


# --- mistakes that belong to no exercise ----------------------------------------

STOPPED = ("endless", "crashed")
SLOW_SEARCH_HINT = "`in` looks through a whole list; a set or a dict finds a node at once."
VISIT_ONCE = "Each node is to have its turn once: keep what is known of it."
RIGHT_WHEN_ALONE = "It is right when it is asked nothing else before, and wrong after other calls: something is kept."
KEEPS_STATE_HINT = "Make lists and dicts inside the function, never as a default or outside."
MUTATES = "The arguments are changed by the call. Work on a copy, list(w), and leave what you were given as it was."


def _check_library_use(exercise: Exercise, outcomes: OutcomePairs) -> Mistake | None:
    used = next((first.error for first, _ in outcomes if first.kind == "refused"), None)
    return Mistake("uses_library", f"It calls the library's own {used}. Write it yourself here.") if used else None


def _check_returns_none(exercise: Exercise, outcomes: OutcomePairs) -> Mistake | None:
    due = [first for i, (first, _) in enumerate(outcomes) if not exercise.accepts(i, None)]
    nothing = [first for first in due if first.kind == "gave" and first.value is None]
    if len(nothing) < NEARLY_ALL * len(due) or len(nothing) < len(due) < len(outcomes):
        return None  # here None is a result
    if len(nothing) < len(due) or any(first.value is not None for first, _ in outcomes):
        message = f"It returns None in {len(nothing)} of the {len(due)} cases where something else is right."
        return Mistake("returns_nothing", message, _first_none(exercise, outcomes))
    printed = any(first.printed for first in due)
    message = "It prints something, but it returns nothing" if printed else "It returns nothing"
    return Mistake("returns_nothing", f"{message}: what comes back is always None. End with return.")


def _first_none(exercise: Exercise, outcomes: OutcomePairs) -> int | None:
    empty = ((i, first) for i, (first, _) in enumerate(outcomes) if first.kind == "gave" and first.value is None)
    return next((i for i, first in empty if not exercise.is_right(i, first)), None)


def _check_unfinished(exercise: Exercise, outcomes: OutcomePairs) -> Mistake | None:
    if all(first.error.startswith("NotImplementedError") for first, _ in outcomes):
        return Mistake("unfinished", "It is not written yet: it raises NotImplementedError.")
    if any(first.kind != "gave" for first, _ in outcomes):
        return None
    values = [first.value for first, _ in outcomes]
    wants = [outcome.value for outcome in exercise.expected]
    if isinstance(values[0], dict) and values[0].keys() == {"kind"}:
        return None  # only the type of such values is known
    if all(is_close(value, values[0]) for value in values) and not all(is_close(want, wants[0]) for want in wants):
        return Mistake("unfinished", f"Whatever it is given, it returns the same: {format_value(values[0])}.")
    if all(_is_made_of_arguments(case, value) for case, value in zip(exercise.cases, values)):
        return Mistake("unfinished", "It returns what it was given, as it was given.")
    return None


def _is_made_of_arguments(case: ExerciseCase, value: Any) -> bool:
    """Whether a value is one of the arguments, or a list of arguments."""
    call = case.make_call(False)
    arguments = to_json_value(call.arguments, call.nodes)
    parts = value if isinstance(value, list) else []
    return value in arguments or (bool(parts) and all(part in arguments for part in parts))


def _check_keeps_state(exercise: Exercise, outcomes: OutcomePairs) -> Mistake | None:
    right_pairs: list[tuple[bool, bool]] = []  # whether the first run is right, and the second
    for i, (first, second) in enumerate(outcomes):
        if second is not None and exercise.expected[i].value is not None:  # None may be right by chance
            right_pairs.append((exercise.is_right(i, first), exercise.is_right(i, second)))
    if (True, False) not in right_pairs or (False, True) in right_pairs:
        return None
    after = right_pairs[right_pairs.index((True, False)) + 1 :]
    is_chance = after.count((True, True)) >= right_pairs.count((True, False))  # such as the order of a set
    if is_chance or any(first.mutated for first, _ in outcomes):
        return None
    text = "It is right the first time and wrong when it is asked the same again: something is kept between the calls."
    return Mistake("keeps_state", f"{text} {KEEPS_STATE_HINT}")


def _check_changes_argument(exercise: Exercise, outcomes: OutcomePairs) -> Mistake | None:
    right = all(exercise.is_right(i, first._replace(mutated=False)) for i, (first, _) in enumerate(outcomes))
    changes = MUTATES[0].lower() + MUTATES[1:]
    return Mistake("changes_argument", f"The result is right, but {changes}") if right else None


def _check_too_slow(exercise: Exercise, outcomes: OutcomePairs) -> Mistake | None:
    """Right but too slow: it follows exponentially many paths, sweeps the graph again and again, or searches lists."""
    mistake = None
    for i, (first, _) in enumerate(outcomes):
        case = exercise.cases[i]
        roads = next((feature for feature in case.features if ROADS in feature), "")
        if first.kind in STOPPED and roads:
            visits = f" after {first.visits:,} visits" * (first.visits > 0)
            return Mistake("drives_every_road", f"It drives every road: {roads}. It was stopped{visits}. {VISIT_ONCE}")
        if first.visits > case.max_visits and exercise.is_right(i, first._replace(visits=0)):
            message = f"It asks for partials {first.visits:,} times for {case.node_count} nodes. {VISIT_ONCE}"
            mistake = Mistake("sweeps_again", message)
        elif first.kind in STOPPED and "there are thousands of nodes" in case.features:
            message = f"What it finds is right, but it takes too long for {case.node_count:,} nodes. {SLOW_SEARCH_HINT}"
            mistake = Mistake("too_slow", message, i)
        elif not exercise.is_right(i, first):
            return None
    return mistake


def _find_failures(exercise: Exercise, outcomes: OutcomePairs) -> Iterator[Mistake]:
    wrong = [i for i, (first, _) in enumerate(outcomes) if not exercise.is_right(i, first)]
    broken = [i for i in wrong if outcomes[i][0].kind != "gave" or outcomes[i][0].value is None]
    if not broken or (broken[0] != wrong[0] and len(broken) * 2 < len(wrong)):
        kinds = {(_type_name(outcomes[i][0].value), _type_name(exercise.expected[i].value)) for i in wrong}
        if not broken and len(kinds) == 1 and len(set(*kinds)) == 2:
            yield Mistake("wrong_shape", "It gives {} where {} is asked for.".format(*kinds.pop()))
        return
    first, text = outcomes[broken[0]][0], exercise.cases[broken[0]].text
    if first.kind == "endless":
        message = f"It does not end for {text}: it was stopped. What should end its loop?"
        yield Mistake("never_ends", message, broken[0])
    elif first.kind == "raised":
        where = f", in {first.where}" if first.where else ""
        for error, sentences in RAISED.items():
            if error in first.error and ("argument_missing" not in sentences or exercise.text):
                for name, says in sentences.items():
                    yield Mistake(name, says.format(case=text, where=where[5:]), broken[0])
                return
        yield Mistake("raises", f"It raises {first.error}{where} (for {text}).", broken[0])
    elif first.kind == "crashed":
        yield Mistake("raises", f"Python itself gives up for {text}.", broken[0])
    elif exercise.name != "kahn" or len(wrong) == 1:  # in Kahn's order None means something
        message = f"For {text} it returns nothing: None. Not every way through it has a return."
        yield Mistake("returns_nothing", message, broken[0])


def _type_name(value: Any) -> str:
    """The type of a value, in words."""
    if isinstance(value, dict):
        other = "a text" if "text" in value else f"something of type {value.get('kind')}"
        return "a dict" if "pairs" in value else other
    return {list: "a list", float: "a number", bool: "True or False"}.get(type(value), "None")


# --- right in another shape -----------------------------------------------------


def _check_wrong_shape(exercise: Exercise, outcomes: OutcomePairs) -> Mistake | None:
    """Right but in another shape: one conversion of SHAPES (dict to list, ...) makes every wrong value right."""
    wrong = [(i, first) for i, (first, _) in enumerate(outcomes) if not exercise.is_right(i, first)]
    if any(first.kind != "gave" or first.value is None for _, first in wrong):
        return None
    if _is_permuted(exercise, [first.value for first, _ in outcomes]):
        message = "What it finds is right, its shape is not: the parts are there in another order than asked."
        return Mistake("wrong_shape", message)
    for message, change in SHAPES:
        converted = [(i, change(exercise, first.value, exercise.expected[i].value)) for i, first in wrong]
        if all(any(exercise.accepts(i, candidate) for candidate in candidates) for i, candidates in converted):
            kind = {"kind": "", **(wrong[0][1].value if isinstance(wrong[0][1].value, dict) else {})}["kind"]
            return Mistake("wrong_shape", "What it finds is right, its shape is not: " + message.format(kind=kind))
    return None


# Each function below yields conversions of an answer's value to another shape; `want` is a right value.


def _unwrap_value(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    if isinstance(value, dict) and isinstance(value.get("of"), list):
        yield value["of"]


def _dict_as_list(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    if isinstance(value, dict) and "pairs" in value and isinstance(want, list):
        yield [key for key, _ in value["pairs"]]
        yield [entry for _, entry in value["pairs"]]


def _as_dict(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    """The entries without their keys, or with other keys, in the order of what is right."""
    if isinstance(want, dict) and "pairs" in want:
        if isinstance(value, dict) and "pairs" in value:
            value = [entry for _, entry in value["pairs"]]
        if isinstance(value, list) and value and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            yield {"pairs": value}
        elif isinstance(value, list) and len(value) == len(want["pairs"]):
            yield {"pairs": [[key, entry] for (key, _), entry in zip(want["pairs"], value)]}


def _as_nodes(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    if isinstance(value, list) and exercise.complaint:
        names = {name_by_index(index): index for index in range(max(26, len(value)))}
        texts = [entry.get("text", "") if isinstance(entry, dict) else "" for entry in value]
        pairs = zip(value, texts)
        yield [{"node": int(entry) if isinstance(entry, float) else names.get(text, -1)} for entry, text in pairs]


def _any_nesting(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    if exercise.complaint and isinstance(want, list) and value == len(want):
        yield want
    if is_close(list(flat(value)), list(flat(want))) and exercise.complaint is None and not isinstance(want, dict):
        yield want


def _flat_nodes(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    if exercise.complaint and isinstance(value, list) and any(isinstance(entry, list) for entry in value):
        yield [node for entry in value for node in (entry if isinstance(entry, list) else [entry])]


def _transpose_rows(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    if exercise.complaint is None and isinstance(value, list) and all(isinstance(row, list) for row in value):
        if any(value):
            yield [list(column) for column in zip(*value)]
        else:
            yield None if [*flat(want)] else want


def _unwrap_dual(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
    if exercise.is_class and isinstance(value, list) and value[0] == {"text": "no Dual"}:
        yield want if is_close(value[1], want[0]) else value[1]


def _is_permuted(exercise: Exercise, values: list[Any]) -> bool:
    """Whether one order of the parts is right in all cases."""
    count = len(exercise.parts)
    if not count or not all(isinstance(value, list) and len(value) == count for value in values):
        return False
    for order in permutations(range(count)):
        if all(exercise.accepts(i, [value[k] for k in order]) for i, value in enumerate(values)):
            return True
    return False


def _one_part_only(index: int) -> Callable[[Exercise, Any, Any], Iterator[Any]]:
    def change(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
        if index < len(exercise.parts) and is_close(value, want[index]):
            yield want

    return change


# A sentence, and the conversion that makes a value right; {kind} is the name of the value's type.
SHAPES: list[tuple[str, Callable[[Exercise, Any, Any], Iterator[Any]]]] = [
    ("it comes as {kind}. Return a list.", _unwrap_value),
    ("it comes in a dict. Return a list.", _dict_as_list),
    ("return a dict whose keys are the nodes.", _as_dict),
    ("return the nodes themselves, not their names or places.", _as_nodes),
    ("lists lie inside the list. Return one list of nodes.", _flat_nodes),
    ("only the first part is returned.", _one_part_only(0)),
    ("only the second part is returned.", _one_part_only(1)),
    ("only the third part is returned.", _one_part_only(2)),
    ("it is a number, or its numbers are nested in another way than asked.", _any_nesting),
    ("an operation gives something that is no Dual.", _unwrap_dual),
    ("rows and columns are exchanged.", _transpose_rows),
]


GENERAL_CHECKS = [  # each returns the mistake that explains all outcomes, or None
    _check_too_slow,
    _check_library_use,
    _check_keeps_state,
    _check_returns_none,
    _check_unfinished,
    _check_changes_argument,
    _check_wrong_shape,
]


# --- showing values -------------------------------------------------------------


def format_value(value: Any, max_length: int = 300) -> str:
    """Format a value, as converted by run_answer, in Python's notation; long ones are cut."""
    text = _format_value(value)
    if len(text) <= max_length:
        return text
    beginning = text[: max_length - 30].rpartition(" ")[0] or text[: max_length - 30]  # cut at a space
    return f"{beginning} ... ({len(text) - len(beginning):,} more letters)"


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_format_value, value[:200])) + (", ..." if len(value) > 200 else "") + "]"
    if isinstance(value, float) and abs(value) < 1e15 and value == int(value):
        return str(int(value))  # the value may have been an int: to_json_value makes it a float
    if not isinstance(value, dict):
        return repr(value)
    if "pairs" in value:
        pairs = (f"{_format_value(key)}: {_format_value(entry)}" for key, entry in value["pairs"][:200])
        return f"{{{', '.join(pairs)}}}"
    if "node" in value:
        return name_by_index(value["node"])
    if value.get("kind") == "complex":
        return repr(complex(*value["of"]))
    if "text" in value:
        return repr(value["text"])
    return f"{value['kind']}({_format_value(value['of'])})" if "of" in value else f"something of type {value['kind']}"
