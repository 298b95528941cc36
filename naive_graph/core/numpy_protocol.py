"""NumPy interoperability: the rule (operator, rules.py) that a ufunc maps to, and what to write where there is none.

`np.sin(x)` of a node is `sin(x)`: NumPy calls the node's `__array_ufunc__` (rules.py).
"""

from __future__ import annotations

from .did_you_mean import names_elsewhere

# NumPy's names that differ from the rule's; ufuncs listed neither here nor below have the rule's own name, or no rule.
RULE_OF_UFUNC = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow", "float_power": "pow",
    "negative": "neg", "absolute": "abs", "fabs": "abs", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "remainder": "mod", "logaddexp": "logsumexp", "exp2": "pow",  # of 2.0 and the operand
}  # fmt: skip

# On an array of nodes, NumPy calls each node's method of the function's name.
OBJECT_ARRAY_METHODS = ("arcsin", "arccos", "arctan", "arctan2", "arcsinh", "arccosh", "arctanh")


def unsupported_message(name: str, kind: str) -> str:
    """Error message: NumPy's function takes no node; and what to write instead. kind: the class of the node."""
    article = "an" if kind[0] in "AEIOU" else "a"
    suggestion = (
        names_elsewhere("numpy").get(name, "Use naive_graph's functions, or node.value for the number").format(name)
    )
    return f"NumPy's {name} cannot take {article} {kind}. {suggestion}."
