"""An exercise: one function with switches, and the cases that it is asked."""

from __future__ import annotations

import ast
import math
import sys
import tomllib
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from inspect import getsource, signature
from itertools import combinations, product
from pathlib import Path
from textwrap import dedent
from types import CodeType
from typing import Any

from .cases import ExerciseCase, arguments_text, plain_case
from .run_answer import AnswerOutcome, plain

Switches = tuple[tuple[str, str], ...]  # what is set, and to which mistake
BLUNDERS = {"NameError", "UnboundLocalError", "AttributeError", "TypeError", "KeyError", "RecursionError", "SystemExit"}
TEXTS = Path(__file__).parent / "exercises"
LARGEST = sys.float_info.max  # inf is not near -inf
CLOSE = 1e-9  # relative, and absolute below 1: other orders of operations round differently


@cache
def texts() -> dict[str, Any]:
    """What is said in each exercise, by its name."""
    return tomllib.loads("\n".join(file.read_text(encoding="utf-8") for file in sorted(TEXTS.glob("*.toml"))))


@dataclass(frozen=True)
class Exercise:
    """What is asked, what is right, and what people do instead.

    solve: with no switch set it is the solution; its docstring is the
    statement. make_cases: gives cases, or the arguments of one each. complaint:
    what is wrong with a value, or None, where several are right. call: how an
    answer is asked. is_class: whether solve makes the answer, instead of being it.
    """

    solve: Callable[..., Any]
    make_cases: Callable[[], Iterable[ExerciseCase | Sequence[Any]]]
    complaint: Callable[[ExerciseCase, Any], str | None] | None = None
    call: Callable[[Any, tuple[Any, ...]], Any] = field(default=lambda answer, arguments: answer(*arguments))
    is_class: bool = False
    told: dict[str, Any] = field(default_factory=dict)  # what is said, where that is in no toml file of ours
    asking: str = ""  # what asks, as the text of a module, where that is in no file of ours
    text: str = ""  # of the solution, where it is not that of solve
    shared: Exercise | None = None  # with the first cases alone, which everybody is asked, where some are asked others

    def __post_init__(self) -> None:
        for fact, told in {"parts": [], "features": {}, **(self.told or texts()[self.name])}.items():
            object.__setattr__(self, fact, told)
        for switch, told in self.switches.items():
            self.switches[switch] = told if isinstance(told, dict) else {switch: told}

    number: str = field(init=False)
    rule: str = field(init=False)
    hints: list[str] = field(init=False)
    parts: list[str] = field(init=False)  # what a right value is made of, if it has parts
    features: dict[str, Any] = field(init=False)  # what may be special about arguments, each with when it is
    switches: dict[str, dict[str, str]] = field(init=False)  # for each switch its mistakes, each with a sentence

    @property
    def name(self) -> str:
        return self.solve.__name__

    @property
    def statement(self) -> str:
        written: Any = ast.parse(dedent(getsource(self.solve))).body[0]
        return ast.get_docstring(written) or ""  # of the source: python -OO keeps no docstrings

    @cached_property
    def cases(self) -> list[ExerciseCase]:
        return [each if isinstance(each, ExerciseCase) else self._plain(each) for each in self.make_cases()]

    def _plain(self, arguments: Sequence[Any]) -> ExerciseCase:
        """A case over these arguments, which have the names that they have in the solution."""
        text = arguments_text(signature(self.solve).parameters, arguments)
        told = ";".join(told for told, holds in self._special.items() if holds(*arguments))
        return plain_case(text, *arguments, features=told)

    @cached_property
    def _special(self) -> dict[str, Callable[..., Any]]:
        """The features. A file of ours writes an expression of the arguments, which are None if they are left out."""
        solve: Any = self.solve
        positional = [each for each in signature(solve).parameters.values() if each.kind is not each.KEYWORD_ONLY]
        head = ", ".join(f"{each.name}=None" for each in positional)
        return {
            told: eval(f"lambda {head}: {holds}", solve.__globals__) if isinstance(holds, str) else holds
            for told, holds in self.features.items()
        }

    @cached_property
    def wanted(self) -> list[AnswerOutcome]:
        return [self.imagine(self.under(), case) for case in self.cases]

    def under(self, switches: Switches = ()) -> Any:
        """The answer of somebody who makes these mistakes."""
        return self.solve(**dict(switches)) if self.is_class else partial(self.solve, **dict(switches))

    def imagined(self, place: int, switches: Switches) -> tuple[AnswerOutcome, bool]:
        """What that answer does in one case, and whether it is right there. Each is computed once."""
        kept = self._kept.setdefault(switches, {})
        if place not in kept:
            given = self.imagine(self.under(switches), self.cases[place])
            kept[place] = given, self.right(place, given)
        return kept[place]

    @cached_property
    def _kept(self) -> dict[Switches, dict[int, tuple[AnswerOutcome, bool]]]:
        return {}

    def imagine(self, answer: Any, case: ExerciseCase) -> AnswerOutcome:
        """What an answer of ours does in a case."""
        question = case.ask(False)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a mistake of ours that overflows is nobody's concern
                return AnswerOutcome("gave", plain(self.call(answer, question.arguments), question.nodes))
        except Exception as error:
            return AnswerOutcome("raised", error=type(error).__name__)

    def mistakes(self, count: int) -> Iterable[Switches]:
        """Every way to make so many mistakes at once, one to a switch."""
        for names in combinations(self.switches, count):
            for values in product(*(self.switches[name] for name in names)):
                yield tuple(zip(names, values))

    def accepts(self, place: int, value: Any) -> bool:
        """Whether a value is right in the case at that place."""
        if self.complaint is not None:
            return self.complaint(self.cases[place], value) is None
        return same(value, self.wanted[place].value)

    def right(self, place: int, given: AnswerOutcome) -> bool:
        done = given.kind == "gave" and not given.changed and given.visits <= self.cases[place].most
        return done and self.accepts(place, given.value)

    def agree(self, place: int, one: AnswerOutcome, other: AnswerOutcome) -> bool:
        """Whether two outcomes show the same mistake. Whoever raises agrees with whoever raises, blunders aside."""
        if one.kind != "gave" or other.kind != "gave":
            kinds = [each.error.partition(":")[0] for each in (one, other)]
            return one.kind == other.kind and (kinds[0] == kinds[1] or not BLUNDERS & set(kinds))
        if self.complaint is None:
            return same(one.value, other.value)
        complaints = [self.complaint(self.cases[place], each.value) for each in (one, other)]
        return complaints[0] == complaints[1] and _held(one.value) == _held(other.value)


def _held(value: Any) -> Any:
    """What a list holds, in whatever order and however often."""
    return set(map(repr, value)) if isinstance(value, list) else value


def instead(solve: Callable[..., Any], switch: str, mistake: str, **given: Any) -> Any:
    """What somebody computes who makes this mistake: its formula in the toml file, of what it is given by name."""
    scope: Any = solve
    return eval(_formula(solve.__name__, switch, mistake), {**scope.__globals__, **given})


@cache
def _formula(exercise: str, switch: str, mistake: str) -> CodeType:
    return compile(texts()[exercise]["instead"][switch][mistake], f"<{exercise}: {mistake}>", "eval")


def same(one: Any, other: Any) -> bool:
    """Whether two values, as `plain` tells them, are equal but for rounding."""
    if isinstance(one, float) and isinstance(other, float):
        if one == other or (math.isnan(one) and math.isnan(other)):
            return True
        return abs(one - other) <= CLOSE * max(1.0, min(abs(one), abs(other), LARGEST))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict) and "pairs" in one and "pairs" in other:
        return same(*(sorted(each["pairs"], key=lambda pair: repr(pair[0])) for each in (one, other)))
    return type(one) is type(other) and bool(one == other)
