"""Elementwise operators beyond the scalar catalogue's rules: activations, bounds, comparisons.

Each is a function of numbers, applied by one nonlinear node. The functions are
defined in core/compositions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import compositions
from .examples import Example, example
from .mapping import Attribute, Input, Onnx, TensorFlow, single
from .row import Row
from .table import tensor_operator

HUGE = 3.4028234663852886e38  # float32's maximum, which older ONNX files use for no bound


def entrywise(*examples: Example, **facts: Any) -> Callable[[Callable[..., Any]], Row]:
    """Define an elementwise operator: a function of numbers, applied entry by entry."""
    return tensor_operator(kind="elementwise", examples=examples, **facts)


def define_kinked(*examples: Example, **facts: Any) -> Callable[[Callable[..., Any]], Row]:
    """Define an elementwise operator whose derivative has jumps (no second-order checks)."""
    return entrywise(*examples, smooth=False, **facts)


# --- activations --------------------------------------------------------------

leaky_relu: Row = define_kinked(
    example((2, 3)), example((3,), alpha=0.3),
    onnx=Onnx("LeakyRelu", alpha=Attribute("alpha", 0.01)),
    tensorflow=TensorFlow("LeakyRelu", alpha=Attribute("alpha", 0.2)),
)(compositions.leaky_relu)  # fmt: skip
elu: Row = define_kinked(
    example((2, 3)), example((3,), alpha=0.5),
    onnx=Onnx("Elu", alpha=Attribute("alpha", 1.0)), tensorflow=TensorFlow("Elu"),
)(compositions.elu)  # fmt: skip
selu: Row = define_kinked(
    example((2, 3)), example((3,), alpha=1.5, gamma=2.0),
    onnx=Onnx("Selu", alpha=Attribute("alpha", 1.67326319217681884765625),
              gamma=Attribute("gamma", 1.05070102214813232421875)),
    tensorflow=TensorFlow("Selu"),
)(compositions.selu)  # fmt: skip
silu: Row = entrywise(
    example((2, 3)), example((3,), alpha=1.5), also=["swish"],
    onnx=Onnx("Swish", alpha=Attribute("alpha", 1.0), since=24),
)(compositions.silu)  # fmt: skip
gelu: Row = entrywise(
    example((2, 3)), example((3,), approximate="tanh"),
    onnx=Onnx("Gelu", approximate=Attribute("approximate", "none"), since=20),
)(compositions.gelu)  # fmt: skip
mish: Row = entrywise(onnx=Onnx("Mish", since=18))(compositions.mish)
celu: Row = define_kinked(
    example((2, 3)), example((3,), alpha=0.5), onnx=Onnx("Celu", alpha=Attribute("alpha", 1.0), since=12)
)(compositions.celu)
hard_swish: Row = define_kinked(onnx=Onnx("HardSwish", since=14), domain=(-4.0, 4.0))(compositions.hard_swish)
hard_sigmoid: Row = define_kinked(
    example((2, 3)), example((3,), alpha=0.1, beta=0.4), domain=(-4.0, 4.0),
    onnx=Onnx("HardSigmoid", alpha=Attribute("alpha", 0.2), beta=Attribute("beta", 0.5)),
)(compositions.hard_sigmoid)  # fmt: skip
thresholded_relu: Row = define_kinked(
    example((2, 3)), example((3,), alpha=0.2),
    onnx=Onnx("ThresholdedRelu", alpha=Attribute("alpha", 1.0), since=10),
)(compositions.thresholded_relu)  # fmt: skip
shrink: Row = define_kinked(
    example((2, 3)), example((3,), lambd=0.7, bias=0.2),
    onnx=Onnx("Shrink", lambd=Attribute("lambd", 0.5), bias=Attribute("bias", 0.0), since=9),
)(compositions.shrink)  # fmt: skip
prelu: Row = define_kinked(onnx=Onnx("PRelu"))(compositions.prelu)
relu6: Row = define_kinked(domain=(-2.0, 8.0), tensorflow=TensorFlow("Relu6"))(compositions.relu6)
softsign: Row = define_kinked(onnx=Onnx("Softsign"), tensorflow=TensorFlow("Softsign"))(compositions.softsign)

# --- arithmetic ---------------------------------------------------------------
identity: Row = entrywise(onnx=[Onnx("Identity")], tensorflow=[TensorFlow("Identity"), TensorFlow("NoOp")])(
    compositions.identity
)
cube: Row = entrywise()(compositions.cube)
rsqrt: Row = entrywise(domain=(0.2, 2.0), tensorflow=TensorFlow("Rsqrt"))(compositions.rsqrt)
squared_difference: Row = entrywise(tensorflow=TensorFlow("SquaredDifference"))(compositions.squared_difference)
clip: Row = define_kinked(
    example((2, 3), min=-0.5, max=0.7), example((3,), min=0.0), example((3,), max=0.4), example((2,)),
    onnx=Onnx("Clip", min=(Attribute("min", -HUGE, until=10), Input(1, None, single, since=11)),
              max=(Attribute("max", HUGE, until=10), Input(2, None, single, since=11))),
    tensorflow=TensorFlow("ClipByValue", min=Input(1), max=Input(2)),
)(compositions.clip)  # fmt: skip

ceil: Row = define_kinked(onnx=Onnx("Ceil"), tensorflow=TensorFlow("Ceil"))(compositions.ceil)
round: Row = define_kinked(onnx=Onnx("Round", since=11), tensorflow=[TensorFlow("Round"), TensorFlow("Rint")])(
    compositions.round
)
fmod: Row = define_kinked()(compositions.fmod)

# --- logic: 1 where it holds, else 0; no gradient ---------------------------

logical_and: Row = define_kinked(onnx=Onnx("And"), tensorflow=TensorFlow("LogicalAnd"))(compositions.logical_and)
logical_or: Row = define_kinked(onnx=Onnx("Or"), tensorflow=TensorFlow("LogicalOr"))(compositions.logical_or)
logical_not: Row = define_kinked(onnx=Onnx("Not"), tensorflow=TensorFlow("LogicalNot"))(compositions.logical_not)
logical_xor: Row = define_kinked(onnx=Onnx("Xor"))(compositions.logical_xor)
