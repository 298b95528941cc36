"""User-defined operators: `operator` adds a rule to the table, checked when it is defined and when it is called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import OperandError, OperatorNameError
from .did_you_mean import explains
from .number import number, shortened
from .reserved_names import TAKEN
from .rules import REALS, RULES, Arithmetic, Interval, Partial, Rule, define, method_of


@explains
def operator(
    name: str,
    value: Callable[..., float],
    partials: Sequence[Partial | None],
    *,
    domain: Interval | tuple[Interval, ...] = REALS,
    kink: Partial | None = None,
    symbol: str | None = None,
    tex: str | None = None,
) -> Rule:
    """Define an operator of your own; returns the function that applies it.

    value: a function of as many floats as there are operands, giving a float.
    partials: for each operand, a function of the operands and the result,
    written with naive_graph's functions so that it can be differentiated again;
    None where the result does not respond.
    domain: an `Interval` where the value is finite, or one for each operand.
    kink: a function of the operands that is 0 where the slope jumps.
    symbol, tex: how drawings and TeX show it; `{0}`, `{1}` stand for operands.

    It becomes a method of nodes as well: `x.name(y)`. check_operator finds a wrong
    partial. Raises OperatorNameError if the name is taken; operators().forget(name)
    frees it. OperandError: no function, or a partial that does not take the operands
    and the result. When it is called, ArityError, or NumberError for what it gives.

    >>> import naive_graph as ng
    >>> cube = ng.operator("cubed_example", lambda a: a * a * a, [lambda a, y: 3.0 * a * a])
    >>> cube(2.0), bool(ng.check_operator(cube, [(2.0,), (-1.0,)]))
    (8.0, True)
    >>> x = ng.Variable(2.0, name="x")
    >>> ng.gradients(x.cubed_example(), x).formula()
    '3*(x*x)'
    """
    _check_name(name)
    if not callable(value):
        raise OperandError(f"Operator '{name}': value must be a function of floats, not {shortened(value)}.")
    if not isinstance(partials, (list, tuple)) or not partials:
        raise OperandError(f"Operator '{name}': partials must list one function (or None) for each operand.")
    for position, partial in enumerate(partials):
        if partial is not None and not callable(partial):
            raise OperandError(
                f"Operator '{name}': partial {position} must be a function of the operands "
                f"and the result, or None, not {shortened(partial)}."
            )
        if partial is not None:
            _check_takes(partial, len(partials) + 1, f"Operator '{name}': partial {position}")
    checked = [partial and _check_result(partial, f"A partial of operator '{name}'") for partial in partials]
    value = _check_result(value, f"The value of operator '{name}'")
    rule = define(name, value, checked, domain=domain, kink=kink, symbol=symbol, tex=tex)
    if not hasattr(Arithmetic, name):
        setattr(Arithmetic, name, method_of(name))
    return rule


def _check_result(function: Callable[..., Any], who: str) -> Callable[..., Any]:
    """Wrap the learner's function: its result must be a number, or an Arithmetic (such as a node)."""

    def checked(*operands: Any) -> Any:
        try:
            result = function(*operands)
        except TypeError as error:
            if not any(isinstance(operand, Arithmetic) for operand in operands):
                raise
            mend = "Write it with naive_graph's functions, as naive_graph.cos for math.cos"
            raise OperandError(f"{who} takes numbers alone ({error}), and is asked for more here. {mend}.") from error
        return result if isinstance(result, Arithmetic) else number(result, who)

    return checked


def _check_takes(function: Any, count: int, who: str) -> None:
    """Raise OperandError unless the function takes `count` operands; if its signature is unknown, pass."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except ValueError:  # some functions written in C have no signature
        return
    except TypeError:
        takes = len(inspect.signature(function).parameters)
        raise OperandError(f"{who} takes the operands and then the result, {count} in all, not {takes}.") from None


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise OperatorNameError(f"An operator's name must be a Python name such as 'softclip', not {shortened(name)}.")
    if name in RULES or name in TAKEN:
        raise OperatorNameError(
            f"An operator '{name}' exists already. Choose another name for yours; or, if that one is yours, "
            f"forget it: operators().forget('{name}')."
        )
