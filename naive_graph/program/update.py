"""The rule by which `minimize` moves a weight: a learning rate, or an update formula, checked before it is used.

    0.1                     the rate: w <- w - 0.1 * g
    momentum(w, g, v)       a formula: from a weight, its gradient and its memory v it gives the new w and the new v

Each weight has a memory of its own, numbers that begin at 0 (a momentum, a running mean).
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


def apply_formula(formula: Callable[..., Any], arguments: Sequence[Any], time: dict[str, Any]) -> Sequence[Any]:
    """The new weight and the new memory that the formula gives. Raises NodeError if their number is wrong.

    arguments: the weight, its gradient and its memory. time: {"t": step number}, or {} for a formula without t.
    """
    results = formula(*arguments, **time)
    results = results if isinstance(results, (tuple, list)) else (results,)
    if len(results) != len(arguments) - 1:
        raise NodeError(
            f"{FORMULA} that takes {len(arguments)} numbers gives {len(arguments) - 1}: the new weight, and what it "
            f"remembers. This one gave {len(results)}."
        )
    return results


def memories_of(formula: Callable[..., Any]) -> tuple[int, bool]:
    """How many numbers the formula remembers of each weight, and whether it asks for the step's number."""
    try:
        parameters = inspect.signature(formula).parameters.values()
    except (TypeError, ValueError) as error:  # functions written in C need not say
        raise NodeError(f"{FORMULA} must say what it takes, as f(w, g) does; {formula!r} does not.") from error
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    positional = [p.name for p in required if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if "t" in positional:
        raise NodeError(f"{FORMULA} takes t, the number of the step, by its name: def f(w, g, *, t).")
    if len(positional) < 2:
        raise NodeError(f"{FORMULA} takes a weight and its gradient, then what it remembers: f(w, g, v).")
    for parameter in required:
        if parameter.kind == parameter.KEYWORD_ONLY and parameter.name != "t":
            raise NodeError(
                f"{FORMULA} is given one keyword, t, the number of the step; {parameter.name!r} needs a default."
            )
    takes_step_number = any(p.name == "t" and p.kind == p.KEYWORD_ONLY for p in parameters)
    return len(positional) - 2, takes_step_number
