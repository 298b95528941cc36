"""A machine function beside its plain Python."""

import math

import numpy as np

from naive_graph.engines.llvm.machine import addresses, flatten_records


def check_same(function, *arguments):
    """The function, compiled, gives what the plain one does, and leaves the same in arrays."""
    plain = [_copied(each) for each in arguments]
    with np.errstate(all="ignore"):
        expected = function.python(*plain)
    ours = [_copied(each) for each in arguments]
    assert same(function.compiled()(*addresses(ours)), expected)
    for one, other in zip(flatten_records(ours), flatten_records(plain), strict=True):
        assert not isinstance(one, np.ndarray) or np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _copied(argument):
    if isinstance(argument, tuple):
        return type(argument)(*map(_copied, argument))
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def same(one, other):
    if isinstance(one, float) and isinstance(other, float) and one != one:
        return other != other
    return one == other and math.copysign(1.0, one or 0.0) == math.copysign(1.0, other or 0.0)


def longs(size):
    return np.zeros(size, np.int64)
