"""Calling one rule's machine code: on one number, and on many, eight at once."""

import ctypes
import math
import struct
from functools import cache

import numpy as np

from naive_graph.engines.compiled.operators import kernels
from naive_graph.engines.llvm.compile import compiled
from naive_graph.engines.llvm.functions import LANES, Module

EXACT = {
    "add", "sub", "mul", "div", "neg", "square", "sqrt", "reciprocal", "abs", "sign", "heaviside", "relu", "maximum",
    "minimum", "greater", "less", "greater_equal", "less_equal", "equal", "not_equal", "where",
    "total", "mean", "nonnegative", "held", "precedence",
}  # fmt: skip
NASTY = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -2.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.2250738585072014e-308,
    1.7976931348623157e308, -1e308, 709.78, 710.0, -708.5, -745.1, -746.0, 22.0, 28.0, 0.625, -1.0000000000000002,
    1e5, 1e22, 2.0**53, 2.0**53 + 2,
]  # fmt: skip
SIGNATURE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, *[ctypes.c_int64] * 3)


@cache
def one_by_one(rule, arity):
    """The rule as compiled code, called with numbers."""
    module = Module(1)
    inner = module.define("traced", lambda *xs: xs[0].writer.apply(rule, xs), arity)
    names = ", ".join(f"double %x{place}" for place in range(arity))
    text = f'{module}\ndefine double @one({names}) {{\n %y = call double @"{inner}"({names})\n ret double %y\n}}'
    return compiled(text).function("one", ctypes.c_double, [ctypes.c_double] * arity)


@cache
def _run(rule, arity):
    code = kernels(rule.number, arity)
    function = SIGNATURE(code.address("run"))
    function.kept = code
    return function


def at_once(rule, *operands):
    """The rule over as many numbers for each operand as there are, eight at a time."""
    count = -(-len(operands[0]) // LANES) * LANES
    values = np.ones((len(operands) + 1, count))
    for row, numbers in zip(values, operands, strict=False):
        row[: len(numbers)] = numbers
    index = np.arange(len(operands) * count, dtype=np.int32)  # where the operands lie
    _run(rule, len(operands))(values.ctypes.data, index.ctypes.data, 0, len(index), count)
    return values[-1, : len(operands[0])].tolist()


def units_apart(one, other):
    """How many floats lie between two floats. All NaN are one; the two zeros are far apart, for 1/x tells them."""
    if one != one or other != other:
        return 0 if one != one and other != other else math.inf
    if one == other == 0 and math.copysign(1.0, one) != math.copysign(1.0, other):
        return math.inf
    return abs(_place(one) - _place(other))


def _place(x):
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF) - 1
