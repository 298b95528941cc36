"""What float32 means, written with NumPy's own float32: the oracle for Programs of that dtype."""

import math

import numpy as np

from naive_graph.core.arithmetics.single import Single
from naive_graph.core.plan import plan_for
from naive_graph.core.rules import RULES
from naive_graph.engines.llvm.functions import ROUND_ONCE

ONE = np.float32(1)


def folded(operation):
    def value(*xs):
        result = xs[0]
        for x in xs[1:]:
            result = operation(result, x)
        return result

    return value


def precedence(a, b):
    tie = np.where(a == b, np.float32(0.5), np.float32(0))
    return np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), np.where(a > b, ONE, tie))


# Operators that round at most once, over arrays of float32.
PLAIN = {
    "add": folded(np.add), "sub": np.subtract, "mul": folded(np.multiply), "div": np.divide, "neg": np.negative,
    "abs": np.abs, "square": lambda a: a * a, "reciprocal": lambda a: ONE / a, "sqrt": np.sqrt,
    "sign": lambda a: np.where(np.isnan(a), a, (a > 0).astype(np.float32) - (a < 0).astype(np.float32)),
    "heaviside": lambda a: np.where(np.isnan(a), a, (a > 0).astype(np.float32)),
    "relu": lambda a: np.where((a > 0) | np.isnan(a), a, np.float32(0)),
    "maximum": lambda a, b: np.where((a > b) | np.isnan(a), a, b),
    "minimum": lambda a, b: np.where((a < b) | np.isnan(a), a, b),
    "greater": lambda a, b: (a > b).astype(np.float32), "less": lambda a, b: (a < b).astype(np.float32),
    "where": lambda c, a, b: np.where(c != 0, a, b), "total": lambda a: a, "mean": lambda a: a, "held": lambda a: a,
    "nonnegative": lambda a: np.where(a >= 0, a + np.float32(0), np.float32(np.nan)), "precedence": precedence,
}  # fmt: skip
assert set(PLAIN) | {"largest"} == ROUND_ONCE


def single(x):
    """As float32, without a word about what it cannot hold."""
    with np.errstate(all="ignore"):
        return np.asarray(x, np.float32)


def value_of(output, feed=None):
    """The output in NumPy's float32, operator after operator. feed: arrays by PlaceHolder."""
    plan = plan_for(output.tables, [output.row])
    fed = {node.row: single(numbers) for node, numbers in (feed or {}).items()}
    values = [fed.get(row, single(output.tables.values[row])) for row in plan.rows]
    with np.errstate(all="ignore"):
        for step in range(len(plan)):
            rule = plan.rule(step)
            if rule is not None:
                values[step] = PLAIN[rule.name](*[values[each] for each in plan.operands(step)])
    return np.asarray(values[plan.rows.index(output.row)], np.float32)


def same_bits(one, other):
    """Whether two arrays of float32 are equal, zeros by their sign; all NaN are one."""
    one, other = np.asarray(one), np.asarray(other)
    if one.dtype != np.float32 or other.dtype != np.float32 or one.shape != other.shape:
        return False
    return bool(np.all((one.view(np.int32) == other.view(np.int32)) | (np.isnan(one) & np.isnan(other))))


def units_apart(one, other):
    """How many float32 lie between two of them. All NaN are one; a value and NaN are infinitely far apart."""
    if one != one or other != other:
        return 0 if one != one and other != other else math.inf
    return abs(_place(one) - _place(other))


def _place(x):
    bits = int(np.float32(x).view(np.int32))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF)


def rounded_value(name, xs):
    """What the rule gives for float32 operands, computed in float64 and rounded; a softmax in rounded pieces."""
    return single(RULES[name](*[Single(x) for x in xs]))
