"""An exercise: a solution, common misconceptions (each a change of the solution's source), and test cases.

A TOML file beside the solution holds its texts and the misconceptions. A misconception is a sentence for the learner
who has it, and the program that such a learner writes: the solution with a piece of its text (old) replaced (new), or a
function of its own. A learner whose answer gives the same values as that program is shown the sentence.

    [backward.misconceptions.overwrites]
    sentence = "A node that is used twice keeps one contribution alone: add them."
    old = "grads[operand] +="
    new = "grads[operand] ="
"""

from __future__ import annotations

import ast
import math
import sys
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from inspect import Parameter, getsource, isclass, signature
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any, NamedTuple

from .cases import ExerciseCase, arguments_text, fresh_cases, plain_case
from .run_answer import AnswerOutcome, run_unwatched

# Errors of a slip of the pen: two of these are the same mistake only if of one kind; any two others are.
CARELESS_ERRORS = {
    *("NameError", "UnboundLocalError", "AttributeError", "TypeError", "KeyError", "RecursionError", "SystemExit"),
    *("UnknownNameError", "ArityError"),  # the package's own NameError and TypeError
}
TEXTS = Path(__file__).parent / "exercises"
LARGEST_FLOAT = sys.float_info.max  # keeps the tolerance finite for infinities
TOLERANCE = 1e-9  # relative, and absolute below 1: other orders of operations round differently


@cache
def load_texts() -> dict[str, Any]:
    """The TOML tables of all exercises, by name: rule, hints, misconceptions."""
    return tomllib.loads("\n".join(file.read_text(encoding="utf-8") for file in sorted(TEXTS.glob("*.toml"))))


class Misconception(NamedTuple):
    """A common mistake: its name, a sentence for the learner, and the program of somebody who makes it."""

    name: str
    sentence: str
    program: str


def parse_misconceptions(table: dict[str, Any], program: str) -> dict[str, Misconception]:
    """Parse the misconceptions of a TOML table. `name:variant` has the sentence of `name`, unless it has its own.

    Raises ValueError if a change does not fit the program.
    """
    by_key: dict[str, Misconception] = {}
    for key, entry in table.items():
        name = key.partition(":")[0]
        sentence = entry.get("sentence") or next(other.sentence for other in by_key.values() if other.name == name)
        by_key[key] = Misconception(name, sentence, _change_program(key, entry, program))
    return by_key


def _change_program(key: str, entry: dict[str, Any], program: str) -> str:
    """The program with the changes of a misconception (old and new are a text, or lists), or its own function."""
    if "function" in entry:
        return str(entry["function"])
    olds, news = ([side] if isinstance(side, str) else side for side in (entry["old"], entry["new"]))
    changes = []
    for old, new in zip(olds, news, strict=True):
        if program.count(old) != 1:
            where = f"stands {program.count(old)} times in the solution"
            raise ValueError(f"{key}: {old!r} {where}. Write so much of the line that it stands there once.")
        changes.append((program.index(old), old, new))
    for begin, old, new in sorted(changes, reverse=True):  # from the end, so that earlier places stay
        program = program[:begin] + new + program[begin + len(old) :]
    return program


def source_without_docstring(definition: Any) -> str:
    """The source of a function or class, without its docstring."""
    text = dedent(getsource(definition))
    first = ast.parse(text).body[0].body[0]  # type: ignore[attr-defined]
    if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
        return text
    lines = text.splitlines(keepends=True)
    assert first.end_lineno is not None
    return "".join([*lines[: first.lineno - 1], *lines[first.end_lineno :]])


@dataclass(frozen=True)
class Exercise:
    """A solution, the test cases of an answer, and the misconceptions that a wrong answer may show.

    solve: the solution, a function or a class; its docstring is the statement of the exercise.
    make_cases: yields ExerciseCases, or the arguments of a call, from which a case is made.
    complaint: where several values are right, says what is wrong with a value; None if nothing is.
    call: calls an answer with the arguments. helpers: functions that the solution needs.
    """

    solve: Callable[..., Any]
    make_cases: Callable[[], Iterable[ExerciseCase | Sequence[Any]]]
    complaint: Callable[[ExerciseCase, Any], str | None] | None = None
    call: Callable[[Any, tuple[Any, ...]], Any] = field(default=lambda answer, arguments: answer(*arguments))
    helpers: tuple[Callable[..., Any], ...] = ()
    own_texts: dict[str, Any] = field(default_factory=dict)  # of a lecturer's exercise: its table, not in load_texts()
    text: str = ""  # the source of the solution, where it is not that of solve
    shared: Exercise | None = None  # the same exercise with only the cases that all students share

    def __post_init__(self) -> None:
        for name, value in {"parts": [], "features": {}, **(self.own_texts or load_texts()[self.name])}.items():
            if name != "misconceptions":
                object.__setattr__(self, name, value)  # the dataclass is frozen

    number: str = field(init=False)
    rule: str = field(init=False)
    hints: list[str] = field(init=False)
    parts: list[str] = field(init=False)  # the names of the entries of a right value, such as ("loss", "gradient")
    features: dict[str, Any] = field(init=False)  # what may be special about arguments -> a condition on them

    @property
    def name(self) -> str:
        return self.solve.__name__

    @property
    def is_class(self) -> bool:
        return isclass(self.solve)

    @property
    def statement(self) -> str:
        definition: Any = ast.parse(dedent(getsource(self.solve))).body[0]
        return ast.get_docstring(definition) or ""  # of the source: python -OO keeps no docstrings

    @cached_property
    def program(self) -> str:
        """The solution without its statement: what misconceptions change."""
        return self.text or "\n\n".join(map(source_without_docstring, (self.solve, *self.helpers)))

    @cached_property
    def misconceptions(self) -> dict[str, Misconception]:
        texts = self.own_texts or load_texts()[self.name]
        return parse_misconceptions(texts.get("misconceptions", {}), self.program)

    @cached_property
    def cases(self) -> list[ExerciseCase]:
        return self._build_cases()

    @cached_property
    def fresh(self) -> Exercise | None:
        """The exercise with new random cases, to test a diagnosis; None if its cases are not random."""
        standard = {case.text for case in self._build_cases()}
        with fresh_cases():
            others = [case for case in self._build_cases() if case.text not in standard]
        return replace(self, make_cases=lambda: others) if others else None

    def with_cases(self, indices: list[int]) -> Exercise:
        """The exercise restricted to these cases."""
        chosen = [self.cases[index] for index in indices]
        return replace(self, make_cases=lambda: chosen)

    def _build_cases(self) -> list[ExerciseCase]:
        return [entry if isinstance(entry, ExerciseCase) else self._make_case(entry) for entry in self.make_cases()]

    def _make_case(self, arguments: Sequence[Any]) -> ExerciseCase:
        """A case of the arguments of a call, with their features."""
        special = ";".join(feature for feature, holds in self._feature_tests.items() if holds(*arguments))
        return plain_case(arguments_text(signature(self.solve).parameters, arguments), *arguments, features=special)

    @cached_property
    def _feature_tests(self) -> dict[str, Callable[..., Any]]:
        """A predicate of the arguments for each feature; those in TOML files are compiled from expressions."""
        solve: Any = self.solve
        names = signature(solve).parameters
        head = ", ".join(f"{name}=None" for name in names if names[name].kind is not Parameter.KEYWORD_ONLY)
        tests = dict(self.features)
        for feature, holds in tests.items():
            if isinstance(holds, str):
                tests[feature] = eval(f"lambda {head}: {holds}", solve.__globals__)
        return tests

    @cached_property
    def expected(self) -> list[AnswerOutcome]:
        """The solution's outcome in each case."""
        return [run_unwatched(self, self.answer_with(), case) for case in self.cases]

    def answer_with(self, mistake: str = "") -> Any:
        """The solution as a function, or the program of this misconception."""
        if not mistake:
            return self.solve
        names = getattr(self.solve, "__globals__", None) or vars(sys.modules[self.solve.__module__])
        scope = {"math": math, **names}  # the namespace of the solution's file
        exec(_compile(self.misconceptions[mistake].program, f"<{self.name}>"), scope)
        return scope[self.name]

    def outcome_with(self, case_index: int, mistake: str) -> tuple[AnswerOutcome, bool]:
        """The outcome of a misconception's program in one case, and whether it is right; cached."""
        outcomes = self._outcome_cache.setdefault(mistake, {})
        if case_index not in outcomes:
            outcome = run_unwatched(self, self.answer_with(mistake), self.cases[case_index])
            outcomes[case_index] = outcome, self.is_right(case_index, outcome)
        return outcomes[case_index]

    @cached_property
    def _outcome_cache(self) -> dict[str, dict[int, tuple[AnswerOutcome, bool]]]:
        return {}

    def accepts(self, case_index: int, value: Any) -> bool:
        """Whether a value is right in a case."""
        if self.complaint is not None:
            return self.complaint(self.cases[case_index], value) is None
        return is_close(value, self.expected[case_index].value)

    def is_right(self, case_index: int, outcome: AnswerOutcome) -> bool:
        """Whether an outcome is right in a case: the value, arguments left alone, few enough calls of `partials`."""
        gave = outcome.kind == "gave" and not outcome.mutated and outcome.visits <= self.cases[case_index].max_visits
        return gave and self.accepts(case_index, outcome.value)

    def same_mistake(self, case_index: int, one: AnswerOutcome, other: AnswerOutcome) -> bool:
        """Whether two outcomes show the same mistake: exceptions do if of one kind, or if neither is a careless one."""
        if one.kind != "gave" or other.kind != "gave":
            kinds = [outcome.error.partition(":")[0] for outcome in (one, other)]
            return one.kind == other.kind and (kinds[0] == kinds[1] or not CARELESS_ERRORS & set(kinds))
        if self.complaint is None:
            return is_close(one.value, other.value)
        complaints = [self.complaint(self.cases[case_index], outcome.value) for outcome in (one, other)]
        return complaints[0] == complaints[1] and _as_set(one.value) == _as_set(other.value)


@lru_cache(10_000)
def _compile(program: str, file: str) -> CodeType:
    """Compile a program; cached, since each is run again for many cases."""
    return compile(program, file, "exec")


def _as_set(value: Any) -> Any:
    """A list as the set of its entries' reprs, which ignores order and repetition; another value as it is."""
    return set(map(repr, value)) if isinstance(value, list) else value


def is_close(one: Any, other: Any) -> bool:
    """Whether two values, as converted by run_answer, are equal up to rounding."""
    if isinstance(one, float) and isinstance(other, float):
        if one == other or (math.isnan(one) and math.isnan(other)):
            return True
        return abs(one - other) <= TOLERANCE * max(1.0, min(abs(one), abs(other), LARGEST_FLOAT))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_close, one, other))
    if isinstance(one, dict) and isinstance(other, dict) and "pairs" in one and "pairs" in other:
        return is_close(*(sorted(mapping["pairs"], key=lambda pair: repr(pair[0])) for mapping in (one, other)))
    if isinstance(one, dict) and isinstance(other, dict) and "of" in one and "of" in other:
        return bool(one["kind"] == other["kind"]) and is_close(one["of"], other["of"])
    return type(one) is type(other) and bool(one == other)
