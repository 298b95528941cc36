"""NumPy's names for our rules, and what to write for those of its functions that have no rule.

`np.sin(x)` of a node is `sin(x)`: NumPy asks the node what its function shall do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .guesses import guesses

# The same function under another name; of the others NumPy has our name, or none.
NAMES = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow", "float_power": "pow",
    "negative": "neg", "absolute": "abs", "fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "remainder": "mod",
}  # fmt: skip

# A rule, given something besides, that has the digits of NumPy's function.
FROM_RULES: dict[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "exp2": ("pow", lambda *operands: (2.0, *operands)),
    "logaddexp": ("logsumexp", lambda *operands: operands),
}

# NumPy applies a function to an array of nodes by asking each for a method of the function's name.
METHODS = ("arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh", "hypot", "exp2")

COMPARISONS = ("greater", "less", "greater_equal", "less_equal", "equal", "not_equal")


def rule_for(name: str) -> tuple[str, Callable[..., tuple[Any, ...]]]:
    """The name of the rule that a function of NumPy's is, and what the rule is given.

    >>> rule_for("arctan2")[0], rule_for("sin")[0]
    ('atan2', 'sin')
    >>> rule, given = rule_for("exp2")
    >>> rule, given(3.0)
    ('pow', (2.0, 3.0))
    """
    return FROM_RULES.get(name) or (NAMES.get(name, name), lambda *operands: operands)


def refusal(name: str, kind: str) -> str:
    """Why there is no node for NumPy's function of that name, and what to write. kind: of node."""
    article = "an" if kind[0] in "AEIOU" else "a"
    repair = guesses("numpy").get(name, "Use naive_graph's functions, or node.value for the number").format(name)
    return f"NumPy's {name} cannot take {article} {kind}. {repair}."


def unwrap_scalar(operand: Any) -> Any:
    """The operand of a comparison; its number, where NumPy hands on an array without dimensions for one."""
    return operand.item() if getattr(operand, "ndim", None) == 0 and hasattr(operand, "item") else operand
