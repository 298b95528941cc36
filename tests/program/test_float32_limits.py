"""How float32 is asked for, and what is said of numbers that it cannot hold."""

import math
import re
import warnings

import numpy as np
import pytest
from asking import (
    asking,
    of_each_engine,
)

from naive_graph import PlaceHolder, Program, Variable, mean, total
from naive_graph.errors import EngineError, NumericWarning

# --- numbers that float32 cannot hold -------------------------------------------


@of_each_engine
def test_what_overflows_only_in_float32_is_named(engine):
    x = Variable(1e30, name="x")
    y = (x * x) / x  # the culprit
    with pytest.warns(NumericWarning, match=r"'mul' \(row 1\) gave mul\(1\.0\d*e\+30, 1\.0\d*e\+30\) = inf"):
        assert asking(y, [x], engine)().value == math.inf
    assert Program(y, [x], engine=engine)().value == pytest.approx(1e30)


@of_each_engine
def test_a_gradient_that_overflows_only_in_float32_is_named(engine):
    x = Variable(1e-30, name="x")
    with pytest.warns(NumericWarning, match="the gradient of Variable 'x' became -inf"):
        asking(1.0 / x, [x], engine)()


@of_each_engine
def test_a_leaf_that_float32_cannot_hold_is_named(engine):
    with pytest.warns(NumericWarning, match=re.escape("Variable 'x' holds 1e+39, inf in float32")):
        asking(Variable(1e39, name="x") * 1.0, engine=engine)()
    p = PlaceHolder(name="p")
    with pytest.warns(NumericWarning, match=re.escape("PlaceHolder 'p' was fed -1e+39, -inf in float32")):
        asking(p * 1.0, engine=engine)(feed={p: -1e39})


def test_a_sample_that_float32_cannot_hold_is_named():
    p = PlaceHolder(name="p")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asking(total(p * 2.0), inputs=[p])([1.0, 1e39, 2.0])
    (only,) = found  # and NumPy says nothing of its own
    assert "Sample 1. Forward: PlaceHolder 'p' was fed 1e+39, inf in float32" in str(only.message)


# --- asking ---------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", np.float32, np.dtype("float32"), "f4", np.dtype(">f4")])
def test_float32_may_be_named_as_numpy_names_it(dtype):
    x = Variable(0.1)
    assert Program(x * 1.0, dtype=dtype)().value == float(np.float32(0.1))


@pytest.mark.parametrize("dtype", ["float64", np.float64, float, None])
def test_float64_is_what_python_has(dtype):
    x = Variable(0.1)
    assert Program(x * 1.0, dtype=dtype)().value == 0.1


@pytest.mark.parametrize("dtype", ["float16", "int32", "single precision", np.int64, int, 32, object(), "f4,f4"])
def test_another_dtype_is_refused(dtype):
    x = Variable(1.0)
    with pytest.raises(EngineError, match=r"computes in dtype 'float64' or 'float32', not in"):
        Program(x * 1.0, dtype=dtype)


@of_each_engine
def test_explain_says_that_it_is_float32(engine):
    x = Variable(1.0)
    said = [Program(x * x, [x], engine=engine, dtype=dtype).explain(times=False) for dtype in ("float32", "float64")]
    assert said[0].endswith("All floats are float32.") and "float32" not in said[1]


def test_the_lanes_take_half_of_the_room():
    p, w = PlaceHolder(), Variable(0.5)
    loss = mean((w * p).tanh() * p)
    sizes = []
    for dtype in ("float64", "float32"):
        program = Program(loss, [w], inputs=[p], engine="tape", dtype=dtype)
        answers = program._ask(program._given(None, [np.zeros(960)]), None)
        sizes.append(sum(each.nbytes for each in (answers.tape.lanes, answers.tape.feed_room)) // 1000)
    assert sizes[1] <= sizes[0] / 2 + 1
