"""Elementwise operators beyond the scalar catalogue's rules: activations, bounds, comparisons.

Each is a function of numbers, one node of a tensor; those that the scalar
catalogue has are taken from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from ...core import catalogue, compositions
from ...core.catalogue import abs as magnitude
from ...core.catalogue import (
    div,
    greater,
    less,
    maximum,
    minimum,
    reciprocal,
    relu,
    sign,
    softplus,
    sqrt,
    square,
    tanh,
    where,
)
from .examples import Example, example
from .mapping import Attribute, Input, Onnx, TensorFlow, single
from .properties import MaybeReal, one_of
from .row import Row
from .table import tensor_operator

HALF_ROOT = 0.7978845608028654  # sqrt(2 / pi)
HUGE = 3.4028234663852886e38  # float32's largest, which older files state where they mean no bound


def entrywise(*examples: Example, **facts: Any) -> Callable[[Callable[..., Any]], Row]:
    """A row of this kind."""
    return tensor_operator(kind="elementwise", examples=examples, **facts)


def kinked(*examples: Example, **facts: Any) -> Callable[[Callable[..., Any]], Row]:
    """A row of this kind whose slope jumps."""
    return entrywise(*examples, smooth=False, **facts)


# --- activations --------------------------------------------------------------

leaky_relu: Row = kinked(
    example((2, 3)), example((3,), alpha=0.3),
    onnx=Onnx("LeakyRelu", alpha=Attribute("alpha", 0.01)),
    tensorflow=TensorFlow("LeakyRelu", alpha=Attribute("alpha", 0.2)),
)(compositions.leaky_relu)  # fmt: skip
elu: Row = kinked(
    example((2, 3)), example((3,), alpha=0.5),
    onnx=Onnx("Elu", alpha=Attribute("alpha", 1.0)), tensorflow=TensorFlow("Elu"),
)(compositions.elu)  # fmt: skip
selu: Row = kinked(
    example((2, 3)), example((3,), alpha=1.5, gamma=2.0),
    onnx=Onnx("Selu", alpha=Attribute("alpha", 1.67326319217681884765625),
              gamma=Attribute("gamma", 1.05070102214813232421875)),
    tensorflow=TensorFlow("Selu"),
)(compositions.selu)  # fmt: skip
silu: Row = entrywise(
    example((2, 3)), example((3,), alpha=1.5), also=["swish"],
    onnx=Onnx("Swish", alpha=Attribute("alpha", 1.0), since=24),
)(compositions.silu)  # fmt: skip


@entrywise(
    example((2, 3)), example((3,), approximate="tanh"),
    onnx=Onnx("Gelu", approximate=Attribute("approximate", "none"), since=20),
)  # fmt: skip
def gelu(x: Any, approximate: Annotated[str, one_of("none", "tanh")] = "none") -> Any:
    """x * (1 + erf(x / sqrt(2))) / 2; approximately with tanh. Source: Hendrycks & Gimpel, 2016."""
    if approximate == "none":
        return compositions.gelu(x)
    return 0.5 * x * (1.0 + tanh(HALF_ROOT * (x + 0.044715 * x * x * x)))


@entrywise(onnx=Onnx("Mish", since=18))
def mish(x: Any) -> Any:
    """x * tanh(log(1 + exp(x))). Source: Misra, 2019."""
    return x * tanh(softplus(x))


@kinked(example((2, 3)), example((3,), alpha=0.5), onnx=Onnx("Celu", alpha=Attribute("alpha", 1.0), since=12))
def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, else alpha * (exp(x / alpha) - 1): its slope does not jump at 0. Source: Barron, 2017."""
    return where(greater(x, 0.0), x, alpha * catalogue.expm1(x / alpha))


@kinked(onnx=Onnx("HardSwish", since=14), domain=(-4.0, 4.0))
def hard_swish(x: Any) -> Any:
    """x * max(0, min(1, x / 6 + 1 / 2))."""
    return x * maximum(0.0, minimum(1.0, x / 6.0 + 0.5))


@kinked(
    example((2, 3)), example((3,), alpha=0.1, beta=0.4), domain=(-4.0, 4.0),
    onnx=Onnx("HardSigmoid", alpha=Attribute("alpha", 0.2), beta=Attribute("beta", 0.5)),
)  # fmt: skip
def hard_sigmoid(x: Any, alpha: float = 0.2, beta: float = 0.5) -> Any:
    """max(0, min(1, alpha * x + beta))."""
    return maximum(0.0, minimum(1.0, alpha * x + beta))


@kinked(
    example((2, 3)), example((3,), alpha=0.2),
    onnx=Onnx("ThresholdedRelu", alpha=Attribute("alpha", 1.0), since=10),
)  # fmt: skip
def thresholded_relu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > alpha, else 0."""
    return where(greater(x, alpha), x, 0.0)


@kinked(
    example((2, 3)), example((3,), lambd=0.7, bias=0.2),
    onnx=Onnx("Shrink", lambd=Attribute("lambd", 0.5), bias=Attribute("bias", 0.0), since=9),
)  # fmt: skip
def shrink(x: Any, lambd: float = 0.5, bias: float = 0.0) -> Any:
    """x + bias where x < -lambd, x - bias where x > lambd, else 0."""
    return where(greater(x, lambd), x - bias, where(less(x, -lambd), x + bias, 0.0))


@kinked(onnx=Onnx("PRelu"))
def prelu(x: Any, slope: Any) -> Any:
    """x where x > 0, else slope * x; the slope is learned. Source: He et al., 2015."""
    return where(greater(x, 0.0), x, slope * x)


@kinked(domain=(-2.0, 8.0), tensorflow=TensorFlow("Relu6"))
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6)."""
    return minimum(relu(x), 6.0)


@kinked(onnx=Onnx("Softsign"), tensorflow=TensorFlow("Softsign"))
def softsign(x: Any) -> Any:
    """x / (1 + |x|)."""
    return div(x, 1.0 + magnitude(x))


# --- arithmetic ---------------------------------------------------------------


@entrywise(onnx=[Onnx("Identity")], tensorflow=[TensorFlow("Identity"), TensorFlow("NoOp")])
def identity(x: Any) -> Any:
    """x."""
    return x


@entrywise()
def cube(x: Any) -> Any:
    """x * x * x."""
    return x * x * x


@entrywise(domain=(0.2, 2.0), tensorflow=TensorFlow("Rsqrt"))
def rsqrt(x: Any) -> Any:
    """1 / sqrt(x)."""
    return reciprocal(sqrt(x))


@entrywise(tensorflow=TensorFlow("SquaredDifference"))
def squared_difference(a: Any, b: Any) -> Any:
    """(a - b)**2."""
    return square(a - b)


@kinked(
    example((2, 3), min=-0.5, max=0.7), example((3,), min=0.0), example((3,), max=0.4), example((2,)),
    onnx=Onnx("Clip", min=(Attribute("min", -HUGE, until=10), Input(1, None, single, since=11)),
              max=(Attribute("max", HUGE, until=10), Input(2, None, single, since=11))),
    tensorflow=TensorFlow("ClipByValue", min=Input(1), max=Input(2)),
)  # fmt: skip
def clip(x: Any, min: MaybeReal = None, max: MaybeReal = None) -> Any:
    """min(max(x, low), high); a bound that is None is none."""
    bounded = x if min is None else maximum(x, min)
    return bounded + 0.0 if max is None and min is None else bounded if max is None else minimum(bounded, max)


# --- comparisons: 1 where it holds, else 0; no gradient -----------------------

SHAPES: dict[str, Any] = {"refused": {"incompatible_shape_error": True}}  # where the shapes do not fit


def _same(a: Any, b: Any) -> Any:
    unordered = sign(a) - sign(a) + sign(b) - sign(b)  # 0, but NaN for NaN, which equals nothing
    return where(unordered, 0.0, where(less(a, b), 0.0, where(greater(a, b), 0.0, 1.0)))


@kinked(onnx=Onnx("Equal"), tensorflow=TensorFlow("Equal", **SHAPES))
def equal(a: Any, b: Any) -> Any:
    """1 where a and b are equal, else 0."""
    return _same(a, b)


@kinked(tensorflow=TensorFlow("NotEqual", **SHAPES))
def not_equal(a: Any, b: Any) -> Any:
    """1 where a and b differ, else 0."""
    return 1.0 - _same(a, b)


@kinked(onnx=Onnx("GreaterOrEqual", since=12), tensorflow=TensorFlow("GreaterEqual"))
def greater_equal(a: Any, b: Any) -> Any:
    """1 where a >= b, else 0."""
    return greater(a, b) + _same(a, b)


@kinked(onnx=Onnx("LessOrEqual", since=12), tensorflow=TensorFlow("LessEqual"))
def less_equal(a: Any, b: Any) -> Any:
    """1 where a <= b, else 0."""
    return less(a, b) + _same(a, b)


@kinked(onnx=Onnx("And"), tensorflow=TensorFlow("LogicalAnd"))
def logical_and(a: Any, b: Any) -> Any:
    """1 where neither is 0, else 0."""
    return where(a, where(b, 1.0, 0.0), 0.0)


@kinked(onnx=Onnx("Or"), tensorflow=TensorFlow("LogicalOr"))
def logical_or(a: Any, b: Any) -> Any:
    """1 where one of them is not 0, else 0."""
    return where(a, 1.0, where(b, 1.0, 0.0))


@kinked(onnx=Onnx("Not"), tensorflow=TensorFlow("LogicalNot"))
def logical_not(x: Any) -> Any:
    """1 where x is 0, else 0."""
    return where(x, 0.0, 1.0)


@kinked(onnx=Onnx("Xor"))
def logical_xor(a: Any, b: Any) -> Any:
    """1 where exactly one of them is not 0, else 0."""
    return where(a, where(b, 0.0, 1.0), where(b, 1.0, 0.0))
