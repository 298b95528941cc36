"""Diagnose a wrong answer from its outcomes: compare them with mutants of the solution, never with its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, NamedTuple

from .cases import ROADS, ExerciseCase, name_by_index
from .exercise import Exercise, is_close
from .near_misses import RAISED, SENTENCES, AnswerRunner, find_relation, find_repair, flat
from .run_answer import AnswerOutcome, Asked, to_json_value

NEARLY_ALL = 0.985  # share of cases in which a function without `return` gives None
ENOUGH = 0.94  # of the cases where the answer or the mistake is wrong
FEW = 8  # cases that agree, for one in which an answer found no end


class Mistake(NamedTuple):
    """A diagnosed mistake: its name, a sentence for the learner, the first case it explains (None: all that fail)."""

    name: str
    sentence: str
    case: int | None = None


def diagnose(exercise: Exercise, outcome_pairs: Asked, again: AnswerRunner | None = None) -> list[Mistake]:
    """The mistakes that explain a wrong answer, or []. again: runs the answer again, to confirm a diagnosis."""
    if again is not None and _is_right_in_isolation(exercise, outcome_pairs, again):
        return [Mistake("keeps_state", f"{AFTER_OTHERS} {KEPT}")]
    for general in GENERAL:
        if (general_mistake := general(exercise, outcome_pairs)) is not None:
            if general_mistake.name == "unfinished" and outcome_pairs[0][0].kind == "gave":
                # or returned in the loop, which looks alike
                fits = _find_misconception(exercise, outcome_pairs, again)
                return fits or _find_slip(exercise, outcome_pairs, again) or [general_mistake]
            return [general_mistake]
    mistakes = _find_misconception(exercise, outcome_pairs, again) or list(_find_failures(exercise, outcome_pairs))
    if not mistakes or mistakes[0].name in ("returns_nothing", "raises", "never_ends"):
        mistakes = _find_slip(exercise, outcome_pairs, again) or mistakes
    if not mistakes and (related := find_relation(exercise, outcome_pairs))[0]:
        mistakes = [Mistake(*related)]
    changes = any(first.mutated for first, _ in outcome_pairs)
    return [*mistakes, Mistake("changes_argument", CHANGES)] if changes else mistakes


def _find_misconception(exercise: Exercise, outcomes: Asked, again: AnswerRunner | None) -> list[Mistake]:
    """The misconception that fits, with a case that shows it; [] if a standard or fresh case refutes it."""
    key = best_misconception(exercise, outcomes)
    if not key or _is_refuted(exercise, outcomes, key):
        return []
    if again is not None and exercise.fresh is not None:
        for fresh_outcomes in again.ask([exercise.fresh]):
            if not fresh_outcomes or _is_refuted(exercise.fresh, fresh_outcomes, key):
                return []
            if not _fits_fresh_cases(exercise.fresh, fresh_outcomes, key):
                return []
    for i, (first, _) in enumerate(outcomes):
        is_wrong = not exercise.right(i, first._replace(mutated=False))
        if is_wrong and exercise.same_mistake(i, first, exercise.outcome_with(i, key)[0]):
            return [Mistake(*exercise.misconceptions[key][:2], i)]
    return []


def _find_slip(exercise: Exercise, outcomes: Asked, again: AnswerRunner | None) -> list[Mistake]:
    """The slip whose change makes the answer right, as a list; [] if there is none, or the answer cannot run again."""
    kind, line = find_repair(exercise, outcomes, again) if again is not None else ("", "")
    return [Mistake(kind, SENTENCES[kind].format(line))] if kind else []


def _is_refuted(exercise: Exercise, outcomes: Asked, key: str) -> bool:
    """Whether the answer is right in a case where the mutant with this misconception is wrong.

    Where several values are right, another order of steps may hide a mistake: there it says nothing.
    """
    if exercise.complaint is not None:
        return False
    right = [i for i, (first, _) in enumerate(outcomes) if exercise.right(i, first._replace(mutated=False))]
    return not all(exercise.outcome_with(i, key)[1] for i in right)


def _fits_fresh_cases(exercise: Exercise, outcomes: Asked, key: str) -> bool:
    """Whether the misconception also explains the outcomes in fresh random cases."""
    gave = [first for first, _ in outcomes]
    wrong = [not exercise.right(i, first._replace(mutated=False)) for i, first in enumerate(gave)]
    both_right = not any(wrong) and all(exercise.outcome_with(i, key)[1] for i in range(len(gave)))
    return both_right or _agreement(exercise, gave, wrong, key) > ENOUGH


def _is_right_in_isolation(exercise: Exercise, outcomes: Asked, again: AnswerRunner) -> bool:
    """Whether the first failing cases pass when each runs alone: then the answer keeps state between calls.

    Each is asked twice: who goes through a set may be right once by chance.
    """
    wrong = [i for i, (first, _) in enumerate(outcomes) if not exercise.right(i, first)]
    if not wrong or wrong[0] == 0 or any(outcomes[i][0].kind != "gave" for i in wrong):
        return False
    alone = [exercise.at([index]) for index in wrong[:5] * 2]
    return all(asked and each.right(0, asked[0][0]) for each, asked in zip(alone, again.ask(alone)))


# --- mistakes of one exercise ---------------------------------------------------


def best_misconception(exercise: Exercise, asked: Asked) -> str:
    """The misconception whose mutant agrees best with the answer; "" if none agrees enough."""
    gave = [first for first, _ in asked]
    wrong = [not exercise.right(i, first._replace(mutated=False)) for i, first in enumerate(gave)]
    shares = {"": 0.0} | {key: _agreement(exercise, gave, wrong, key) for key in exercise.misconceptions}
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] > ENOUGH else ""


def _agreement(exercise: Exercise, gave: list[AnswerOutcome], wrong: list[bool], key: str) -> float:
    """The share of cases, of those where answer or mutant is wrong, in which they agree; 0.0 if far from enough."""
    agree = differ = neither = 0
    for i in sorted(range(len(wrong)), key=wrong.__getitem__, reverse=True):  # where it is wrong they soon differ
        one, (other, other_right) = gave[i], exercise.outcome_with(i, key)
        other_wrong = not other_right
        if not (wrong[i] or other_wrong):
            continue
        if exercise.same_mistake(i, one, other):
            agree += wrong[i]
        elif one.error.startswith("IndexError") and other_wrong:  # a wrong index may raise here and not there
            neither += 1
        elif one.kind == "endless" and other.kind == "gave":  # an answer may not run for ever; ours may
            neither += FEW
        else:
            differ += 1
            if differ > (1.0 - ENOUGH) * len(gave):
                return 0.0
    return agree / (agree + differ) if agree > neither else 0.0


# --- mistakes that belong to no exercise ----------------------------------------

SLOW = ("endless", "crashed")
LOOKS = "`in` looks through a whole list; a set or a dict finds a node at once."
ONCE = "Each node is to have its turn once: keep what is known of it."
AFTER_OTHERS = "It is right when it is asked nothing else before, and wrong after other calls: something is kept."
KEPT = "Make lists and dicts inside the function, never as a default or outside."
CHANGES = "The arguments are changed by the call. Work on a copy, list(w), and leave what you were given as it was."


def _check_library_use(exercise: Exercise, outcomes: Asked) -> Mistake | None:
    used = next((first.error for first, _ in outcomes if first.kind == "refused"), None)
    return Mistake("uses_library", f"It calls the library's own {used}. Write it yourself here.") if used else None


def _check_returns_none(exercise: Exercise, outcomes: Asked) -> Mistake | None:
    due = [first for i, (first, _) in enumerate(outcomes) if not exercise.accepts(i, None)]
    nothing = [first for first in due if first.kind == "gave" and first.value is None]
    if len(nothing) < NEARLY_ALL * len(due) or len(nothing) < len(due) < len(outcomes):
        return None  # or None means something here
    if len(nothing) < len(due) or any(first.value is not None for first, _ in outcomes):
        message = f"It returns None in {len(nothing)} of the {len(due)} cases where something else is right."
        return Mistake("returns_nothing", message, _first_none(exercise, outcomes))
    printed = any(first.printed for first in due)
    message = "It prints something, but it returns nothing" if printed else "It returns nothing"
    return Mistake("returns_nothing", f"{message}: what comes back is always None. End with return.")


def _first_none(exercise: Exercise, outcomes: Asked) -> int | None:
    empty = ((i, first) for i, (first, _) in enumerate(outcomes) if first.kind == "gave" and first.value is None)
    return next((i for i, first in empty if not exercise.right(i, first)), None)


def _check_unfinished(exercise: Exercise, outcomes: Asked) -> Mistake | None:
    if all(first.error.startswith("NotImplementedError") for first, _ in outcomes):
        return Mistake("unfinished", "It is not written yet: it raises NotImplementedError.")
    if any(first.kind != "gave" for first, _ in outcomes):
        return None
    values = [first.value for first, _ in outcomes]
    wants = [outcome.value for outcome in exercise.expected]
    if isinstance(values[0], dict) and values[0].keys() == {"kind"}:
        return None  # of such a thing no more is known
    if all(is_close(value, values[0]) for value in values) and not all(is_close(want, wants[0]) for want in wants):
        return Mistake("unfinished", f"Whatever it is given, it returns the same: {format_value(values[0])}.")
    if all(_is_made_of_arguments(case, value) for case, value in zip(exercise.cases, values)):
        return Mistake("unfinished", "It returns what it was given, as it was given.")
    return None


def _is_made_of_arguments(case: ExerciseCase, value: Any) -> bool:
    """Whether a value is one of the arguments, or is made of such."""
    question = case.ask(False)
    arguments = to_json_value(question.arguments, question.nodes)
    parts = value if isinstance(value, list) else []
    return value in arguments or (bool(parts) and all(part in arguments for part in parts))


def _check_keeps_state(exercise: Exercise, outcomes: Asked) -> Mistake | None:
    wanted = (outcome.value is not None for outcome in exercise.expected)  # None says little: it may be right by chance
    pairs = ((i, one, two) for (i, (one, two)), says in zip(enumerate(outcomes), wanted) if two is not None and says)
    again = [(exercise.right(i, one), exercise.right(i, two)) for i, one, two in pairs]
    if (True, False) not in again or (False, True) in again:
        return None
    after = again[again.index((True, False)) + 1 :]
    by_chance = after.count((True, True)) >= again.count((True, False))  # the order of a set
    if by_chance or any(one.mutated for one, _ in outcomes):
        return None
    text = "It is right the first time and wrong when it is asked the same again: something is kept between the calls."
    return Mistake("keeps_state", f"{text} {KEPT}")


def _check_changes_argument(exercise: Exercise, outcomes: Asked) -> Mistake | None:
    right = all(exercise.right(i, first._replace(mutated=False)) for i, (first, _) in enumerate(outcomes))
    changes = CHANGES[0].lower() + CHANGES[1:]
    return Mistake("changes_argument", f"The result is right, but {changes}") if right else None


def _check_too_slow(exercise: Exercise, outcomes: Asked) -> Mistake | None:
    """Right but too slow: exponentially many paths are followed, or the whole graph is swept repeatedly."""
    mistake = None
    for i, (first, _) in enumerate(outcomes):
        roads = next((feature for feature in exercise.cases[i].features if ROADS in feature), "")
        if first.kind in SLOW and roads:
            visits = f" after {first.visits:,} visits" * (first.visits > 0)
            return Mistake("drives_every_road", f"It drives every road: {roads}. It was stopped{visits}. {ONCE}")
        if first.visits > exercise.cases[i].most and exercise.right(i, first._replace(visits=0)):
            size = getattr(exercise.cases[i].recipe, "size", 0)
            mistake = Mistake("sweeps_again", f"It asks for partials {first.visits:,} times for {size} nodes. {ONCE}")
        elif first.kind in SLOW and "there are thousands of nodes" in exercise.cases[i].features:
            size = getattr(exercise.cases[i].recipe, "size", 0)
            message = f"What it finds is right, but it takes too long for {size:,} nodes. {LOOKS}"
            mistake = Mistake("too_slow", message, i)
        elif not exercise.right(i, first):
            return None
    return mistake


def _find_failures(exercise: Exercise, outcomes: Asked) -> Iterator[Mistake]:
    wrong = [i for i, (first, _) in enumerate(outcomes) if not exercise.right(i, first)]
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


def _check_wrong_shape(exercise: Exercise, outcomes: Asked) -> Mistake | None:
    """Whether one conversion (array to list, dict to list, ...) makes every wrong value right."""
    wrong = [(i, first) for i, (first, _) in enumerate(outcomes) if not exercise.right(i, first)]
    if any(first.kind != "gave" or first.value is None for _, first in wrong):
        return None
    if _is_permuted(exercise, [first.value for first, _ in outcomes]):
        message = "What it finds is right, its shape is not: the parts are there in another order than asked."
        return Mistake("wrong_shape", message)
    for message, change in SHAPES:
        changed = [(i, change(exercise, first.value, exercise.expected[i].value)) for i, first in wrong]
        if all(any(exercise.accepts(i, way) for way in ways) for i, ways in changed):
            what = {"kind": "", **(wrong[0][1].value if isinstance(wrong[0][1].value, dict) else {})}["kind"]
            return Mistake("wrong_shape", "What it finds is right, its shape is not: " + message.format(kind=what))
    return None


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
    if not count or not all(isinstance(each, list) and len(each) == count for each in values):
        return False
    orders = ([[value[k] for k in order] for value in values] for order in permutations(range(count)))
    return any(all(exercise.accepts(i, candidate) for i, candidate in enumerate(some)) for some in orders)


def _one_part_only(index: int) -> Callable[[Exercise, Any, Any], Iterator[Any]]:
    def change(exercise: Exercise, value: Any, want: Any) -> Iterator[Any]:
        if index < len(exercise.parts) and is_close(value, want[index]):
            yield want

    return change


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


GENERAL = [
    _check_too_slow,
    _check_library_use,
    _check_keeps_state,
    _check_returns_none,
    _check_unfinished,
    _check_changes_argument,
    _check_wrong_shape,
]


# --- showing values -------------------------------------------------------------


def format_value(value: Any, most: int = 300) -> str:
    """Format a value, as converted by run_answer, in Python's notation; long ones are cut."""
    text = _format_value(value)
    if len(text) <= most:
        return text
    beginning = text[: most - 30].rpartition(" ")[0] or text[: most - 30]  # no word is broken
    return f"{beginning} ... ({len(text) - len(beginning):,} more letters)"


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_format_value, value[:200])) + (", ..." if len(value) > 200 else "") + "]"
    if isinstance(value, float) and abs(value) < 1e15 and value == int(value):
        return str(int(value))  # whether it was an int or a float is not told apart
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
