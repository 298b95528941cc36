"""Elementwise operators beyond the scalar catalogue's rules: activations, bounds, rounding, logic.

Each is a function of numbers, applied by one nonlinear node. The functions are
defined in core/compositions.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import compositions
from .examples import Example, example
from .mapping import Attribute, Input, Onnx, TensorFlow, to_scalar
from .operator_def import OperatorDef
from .table import tensor_operator

HUGE = 3.4028234663852886e38  # float32's maximum, which older ONNX files use for no bound


def elementwise_operator(*examples: Example, **options: Any) -> Callable[[Callable[..., Any]], OperatorDef]:
    """Define an elementwise operator: a function of numbers, applied entry by entry."""
    return tensor_operator(kind="elementwise", examples=examples, **options)


def kinked_operator(*examples: Example, **options: Any) -> Callable[[Callable[..., Any]], OperatorDef]:
    """Define an elementwise operator that is not smooth everywhere (no second-order checks)."""
    return elementwise_operator(*examples, smooth=False, **options)


# --- activations --------------------------------------------------------------

leaky_relu: OperatorDef = kinked_operator(
    example((2, 3)), example((3,), alpha=0.3),
    onnx=Onnx("LeakyRelu", alpha=Attribute("alpha", 0.01)),
    tensorflow=TensorFlow("LeakyRelu", alpha=Attribute("alpha", 0.2)),
)(compositions.leaky_relu)  # fmt: skip
elu: OperatorDef = kinked_operator(
    example((2, 3)), example((3,), alpha=0.5),
    onnx=Onnx("Elu", alpha=Attribute("alpha", 1.0)), tensorflow=TensorFlow("Elu"),
)(compositions.elu)  # fmt: skip
selu: OperatorDef = kinked_operator(
    example((2, 3)), example((3,), alpha=1.5, gamma=2.0),
    onnx=Onnx("Selu", alpha=Attribute("alpha", 1.67326319217681884765625),
              gamma=Attribute("gamma", 1.05070102214813232421875)),
    tensorflow=TensorFlow("Selu"),
)(compositions.selu)  # fmt: skip
silu: OperatorDef = elementwise_operator(
    example((2, 3)), example((3,), alpha=1.5), also=["swish"],
    onnx=Onnx("Swish", alpha=Attribute("alpha", 1.0), since=24),
)(compositions.silu)  # fmt: skip
gelu: OperatorDef = elementwise_operator(
    example((2, 3)), example((3,), approximate="tanh"),
    onnx=Onnx("Gelu", approximate=Attribute("approximate", "none"), since=20),
)(compositions.gelu)  # fmt: skip
mish: OperatorDef = elementwise_operator(onnx=Onnx("Mish", since=18))(compositions.mish)
celu: OperatorDef = kinked_operator(
    example((2, 3)), example((3,), alpha=0.5), onnx=Onnx("Celu", alpha=Attribute("alpha", 1.0), since=12)
)(compositions.celu)
hard_swish: OperatorDef = kinked_operator(onnx=Onnx("HardSwish", since=14), domain=(-4.0, 4.0))(compositions.hard_swish)
hard_sigmoid: OperatorDef = kinked_operator(
    example((2, 3)), example((3,), alpha=0.1, beta=0.4), domain=(-4.0, 4.0),
    onnx=Onnx("HardSigmoid", alpha=Attribute("alpha", 0.2), beta=Attribute("beta", 0.5)),
)(compositions.hard_sigmoid)  # fmt: skip
thresholded_relu: OperatorDef = kinked_operator(
    example((2, 3)), example((3,), alpha=0.2),
    onnx=Onnx("ThresholdedRelu", alpha=Attribute("alpha", 1.0), since=10),
)(compositions.thresholded_relu)  # fmt: skip
shrink: OperatorDef = kinked_operator(
    example((2, 3)), example((3,), lambd=0.7, bias=0.2),
    onnx=Onnx("Shrink", lambd=Attribute("lambd", 0.5), bias=Attribute("bias", 0.0), since=9),
)(compositions.shrink)  # fmt: skip
prelu: OperatorDef = kinked_operator(onnx=Onnx("PRelu"))(compositions.prelu)
relu6: OperatorDef = kinked_operator(domain=(-2.0, 8.0), tensorflow=TensorFlow("Relu6"))(compositions.relu6)
softsign: OperatorDef = kinked_operator(onnx=Onnx("Softsign"), tensorflow=TensorFlow("Softsign"))(compositions.softsign)

# --- arithmetic ---------------------------------------------------------------
identity: OperatorDef = elementwise_operator(
    onnx=[Onnx("Identity")], tensorflow=[TensorFlow("Identity"), TensorFlow("NoOp")]
)(compositions.identity)
cube: OperatorDef = elementwise_operator()(compositions.cube)
rsqrt: OperatorDef = elementwise_operator(domain=(0.2, 2.0), tensorflow=TensorFlow("Rsqrt"))(compositions.rsqrt)
squared_difference: OperatorDef = elementwise_operator(tensorflow=TensorFlow("SquaredDifference"))(
    compositions.squared_difference
)
clip: OperatorDef = kinked_operator(
    example((2, 3), min=-0.5, max=0.7), example((3,), min=0.0), example((3,), max=0.4), example((2,)),
    onnx=Onnx("Clip", min=(Attribute("min", -HUGE, until=10), Input(1, None, to_scalar, since=11)),
              max=(Attribute("max", HUGE, until=10), Input(2, None, to_scalar, since=11))),
    tensorflow=TensorFlow("ClipByValue", min=Input(1), max=Input(2)),
)(compositions.clip)  # fmt: skip

ceil: OperatorDef = kinked_operator(onnx=Onnx("Ceil"), tensorflow=TensorFlow("Ceil"))(compositions.ceil)
round: OperatorDef = kinked_operator(
    onnx=Onnx("Round", since=11), tensorflow=[TensorFlow("Round"), TensorFlow("Rint")]
)(compositions.round)
fmod: OperatorDef = kinked_operator()(compositions.fmod)

# --- logic: 1 where it holds, else 0; no gradient ---------------------------

logical_and: OperatorDef = kinked_operator(onnx=Onnx("And"), tensorflow=TensorFlow("LogicalAnd"))(
    compositions.logical_and
)
logical_or: OperatorDef = kinked_operator(onnx=Onnx("Or"), tensorflow=TensorFlow("LogicalOr"))(compositions.logical_or)
logical_not: OperatorDef = kinked_operator(onnx=Onnx("Not"), tensorflow=TensorFlow("LogicalNot"))(
    compositions.logical_not
)
logical_xor: OperatorDef = kinked_operator(onnx=Onnx("Xor"))(compositions.logical_xor)
