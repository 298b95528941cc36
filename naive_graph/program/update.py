"""How a weight moves: by a rate, or by an update formula, which is checked before it is used.

The rate 0.1 is the formula w <- w - 0.1 * g. A formula that remembers takes
more: `momentum(w, g, v)` gives the new w and the new v, and each weight has its v.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

from ..core.number import number, shortened
from ..core.rules import Arithmetic
from ..errors import NodeError, NumberError

FORMULA = "An update formula"


def formula_of(rule: Any) -> Callable[..., Any]:
    """The rule as a function of a weight, its gradient and its memory. Raises NumberError if it is none."""
    if callable(rule) and not isinstance(rule, type):
        return rule  # type: ignore[no-any-return]
    if not isinstance(rule, (Real, Decimal)):
        raise NumberError(
            "minimize takes a rate such as 0.1, or an update formula such as naive_graph.training.formulas.adam, "
            f"not {describe_value(rule)}. What moves is named in wrt: Program(loss, wrt=[x]).minimize(0.1). "
            "A trainer takes its own steps, and one rate serves all weights."
        )
    rate = number(rule, "A rate")
    if not math.isfinite(rate):
        raise NodeError(f"A rate is a finite number, not {rate}. Take a small one: minimize(0.1).")
    return lambda w, g: w - rate * g


def describe_value(thing: Any) -> str:
    """A description, for messages, of something that stands where a number is due."""
    if isinstance(thing, Arithmetic):
        return f"a node of kind {type(thing).__name__}"
    if isinstance(thing, type):
        return f"the class {thing.__name__}"
    if isinstance(thing, (list, tuple)):
        return f"a {type(thing).__name__} of {len(thing)}"
    if hasattr(thing, "shape") and not isinstance(thing, Real):
        return f"an array of shape {tuple(thing.shape)}"
    return shortened(thing)


def made_by(formula: Callable[..., Any], given: Sequence[Any], time: dict[str, Any]) -> Sequence[Any]:
    """The new weight and the new memory that the formula gives, checked for their number."""
    made = formula(*given, **time)
    made = made if isinstance(made, (tuple, list)) else (made,)
    if len(made) != len(given) - 1:
        raise NodeError(
            f"{FORMULA} that takes {len(given)} numbers gives {len(given) - 1}: the new weight, and what it remembers. "
            f"This one gave {len(made)}."
        )
    return made


def memories_of(formula: Callable[..., Any]) -> tuple[int, bool]:
    """How many numbers the formula remembers of each weight, and whether it asks for the step's number."""
    try:
        taken = inspect.signature(formula).parameters.values()
    except (TypeError, ValueError) as error:  # functions written in C need not say
        raise NodeError(f"{FORMULA} must say what it takes, as f(w, g) does; {formula!r} does not.") from error
    plain = [
        each
        for each in taken
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD) and each.default is each.empty
    ]
    if any(argument.name == "t" for argument in plain):
        raise NodeError(f"{FORMULA} takes t, the number of the step, by its name: def f(w, g, *, t).")
    if len(plain) < 2:
        raise NodeError(f"{FORMULA} takes a weight and its gradient, then what it remembers: f(w, g, v).")
    for parameter in taken:
        if parameter.kind == parameter.KEYWORD_ONLY and parameter.default is parameter.empty and parameter.name != "t":
            raise NodeError(
                f"{FORMULA} is given one keyword, t, the number of the step; {parameter.name!r} needs a default."
            )
    return len(plain) - 2, any(each.name == "t" and each.kind == each.KEYWORD_ONLY for each in taken)
