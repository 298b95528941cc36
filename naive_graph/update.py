"""How a weight moves: by a rate, or by an update formula of one's own, read before it is used.

The rate 0.1 is the formula w <- w - 0.1 * g. A formula that remembers takes
more: `momentum(w, g, v)` gives the new w and the new v, and each weight has its v.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

from .errors import NodeError, NumberError
from .number import number

FORMULA = "An update formula"


def formula_of(rule: Any) -> Callable[..., Any]:
    if callable(rule):
        return rule  # type: ignore[no-any-return]
    if isinstance(rule, str) or not hasattr(rule, "__float__") or hasattr(rule, "update"):
        raise NumberError(
            "minimize takes a rate such as 0.1, or an update formula such as naive_graph.training.formulas.adam, "
            f"not {rule!r}."
        )
    rate = number(rule, "A rate")
    if not math.isfinite(rate):
        raise NodeError(f"A rate is a finite number, not {rate}. Take a small one: minimize(0.1).")
    return lambda w, g: w - rate * g


def made_by(formula: Callable[..., Any], given: Sequence[Any], time: dict[str, Any]) -> Sequence[Any]:
    """What the formula makes of a weight, its slope and its memory: as many numbers, without the slope."""
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
    if any(each.name == "t" for each in plain):
        raise NodeError(f"{FORMULA} takes t, the number of the step, by its name: def f(w, g, *, t).")
    if len(plain) < 2:
        raise NodeError(f"{FORMULA} takes a weight and its gradient, then what it remembers: f(w, g, v).")
    for each in taken:
        if each.kind == each.KEYWORD_ONLY and each.default is each.empty and each.name != "t":
            raise NodeError(
                f"{FORMULA} is given one keyword, t, the number of the step; {each.name!r} needs a default."
            )
    return len(plain) - 2, any(each.name == "t" and each.kind == each.KEYWORD_ONLY for each in taken)
