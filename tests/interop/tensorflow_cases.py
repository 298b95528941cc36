"""For every TensorFlow operator that a row names: inputs, attributes, and what NumPy gives."""

from __future__ import annotations

import math

import numpy as np
from graphdefs import Drawn, Shape

random = np.random.default_rng(3)


def x(*shape, low=-1.5, high=1.5):
    """Numbers that are fed."""
    return random.uniform(low, high, shape)


class Known:
    """Numbers that stand in the graph."""

    def __init__(self, value, kind=np.int32):
        self.array = np.array(value, kind)


def floats(value):
    return Known(value, np.float64)


def truths(value):
    return Known(value, np.bool_)


CASES = []


def case(op, inputs, expected, **attributes):
    CASES.append((op, inputs, attributes, expected))


def drawn(op, inputs, attributes):
    """The GraphDef of a case, and what its Placeholders are fed."""
    drawing, fed, names = Drawn(), {}, []
    for at, each in enumerate(inputs):
        if isinstance(each, Known):
            names.append(drawing.const(each.array, f"c{at}"))
        else:
            names.append(drawing.placeholder(each.shape, f"x{at}", each.dtype.str[1:]))
            fed[names[-1]] = each
    drawing.node(op, *names, name="y", **attributes)
    return drawing.graph, fed


# --- entry by entry -----------------------------------------------------------

UNARY = {
    "Abs": np.abs, "Acosh": np.arccosh, "Asinh": np.arcsinh, "Atan": np.arctan, "Cos": np.cos, "Cosh": np.cosh,
    "Exp": np.exp, "Expm1": np.expm1, "Identity": lambda x: x, "Log": np.log, "Log1p": np.log1p, "Neg": np.negative,
    "Reciprocal": lambda x: 1 / x, "Inv": lambda x: 1 / x, "Relu": lambda x: np.maximum(x, 0),
    "Relu6": lambda x: np.clip(x, 0, 6), "Rsqrt": lambda x: 1 / np.sqrt(x), "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Sign": np.sign, "Sin": np.sin, "Sinh": np.sinh, "Softplus": lambda x: np.log1p(np.exp(x)),
    "Softsign": lambda x: x / (1 + abs(x)), "Sqrt": np.sqrt, "Square": np.square, "Tan": np.tan, "Tanh": np.tanh,
    "Erf": np.vectorize(math.erf), "Elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "Selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "Acos": np.arccos, "Asin": np.arcsin, "Atanh": np.arctanh, "Ceil": np.ceil, "Floor": np.floor,
    "Rint": np.rint, "Round": np.round,
}  # fmt: skip
ABOVE = {"Acosh": 1.1, "Log": 0.1, "Rsqrt": 0.1, "Sqrt": 0.1}
for op, function in UNARY.items():
    low, high = (
        (-0.9, 0.9)
        if op in ("Acos", "Asin", "Atanh", "Log1p")
        else (ABOVE.get(op, -2.0), 7.0 if op == "Relu6" else 2.0)
    )
    case(op, [x(2, 3, low=low, high=high)], function)
case("LeakyRelu", [x(2, 3)], lambda x: np.where(x > 0, x, 0.2 * x))
case("LeakyRelu", [x(2, 3)], lambda x: np.where(x > 0, x, 0.25 * x), alpha=0.25)

BINARY = {
    "Add": np.add, "AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply, "RealDiv": np.divide, "Div": np.divide,
    "Pow": np.power, "Maximum": np.maximum, "Minimum": np.minimum, "Atan2": np.arctan2, "Greater": np.greater,
    "Less": np.less, "GreaterEqual": np.greater_equal, "LessEqual": np.less_equal, "Equal": np.equal,
    "NotEqual": np.not_equal, "SquaredDifference": lambda a, b: (a - b) ** 2,
}  # fmt: skip
for op, function in BINARY.items():
    case(op, [x(2, 3, low=0.2), x(3, low=0.2)], function)
    case(op, [x(2, 3, low=0.2), floats(0.7)], function)
for op, function in {"Equal": np.equal, "NotEqual": np.not_equal}.items():
    case(op, [x(2, 3), x(2, 3)], function, incompatible_shape_error=True)
    case(op, [np.array([0.5, 1.0]), floats([0.5, 2.0])], function)
both = [truths([True, True, False, False]), truths([True, False, True, False])]
case("LogicalAnd", both, np.logical_and)
case("LogicalOr", both, np.logical_or)
case("LogicalNot", both[:1], np.logical_not)
case("AddN", [x(2, 3), x(2, 3), x(2, 3)], lambda *xs: sum(xs), N=3)
case("AccumulateNV2", [x(2, 3), x(2, 3)], lambda *xs: sum(xs), N=2, shape=Shape((2, 3)))
case("SelectV2", [truths([True, False, True]), x(2, 3), x(3)], np.where)
case("Select", [truths([[True, False, True]] * 2), x(2, 3), x(2, 3)], np.where)
case("Select", [truths([True, False]), x(2, 3), x(2, 3)], lambda c, a, b: np.where(c[:, None], a, b))
case("ClipByValue", [x(3, 4), floats(-0.5), floats(0.75)], np.clip)

# --- along axes ---------------------------------------------------------------


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


case("Softmax", [x(2, 3)], softmax)
case("LogSoftmax", [x(2, 3)], lambda x: np.log(softmax(x)))
REDUCED = {"Sum": np.sum, "Mean": np.mean, "Max": np.max, "Min": np.min, "Prod": np.prod,
           "EuclideanNorm": lambda x, axis, keepdims=False: np.sqrt(np.sum(x**2, axis, keepdims=keepdims))}  # fmt: skip
for op, function in REDUCED.items():
    case(op, [x(2, 3, 4), Known([0, 2])], lambda x, axes, f=function: f(x, tuple(axes)))
    case(op, [x(2, 3), Known(-1)], lambda x, axis, f=function: f(x, -1, keepdims=True), keep_dims=True)
    case(op, [x(2, 3), Known([1])], lambda x, axis, f=function: f(x, 1), keep_dims=False)
for op, function in {"ArgMax": np.argmax, "ArgMin": np.argmin}.items():
    case(op, [x(3, 4), Known(1)], lambda x, axis, f=function: f(x, 1))
    case(op, [x(3, 4), Known(-2)], lambda x, axis, f=function: f(x, 0))
case("Cumsum", [x(2, 3), Known(1)], np.cumsum)
case("Cumsum", [x(3), Known(0)], lambda x, axis: np.cumsum(x) - x, exclusive=True, reverse=False)
case("Cumsum", [x(3), Known(0)], lambda x, axis: np.cumsum(x[::-1])[::-1], exclusive=False, reverse=True)
case("Cumprod", [x(2, 3), Known(1)], np.cumprod)
case("Cumprod", [x(3), Known(0)], lambda x, axis: np.cumprod([1, *x[:-1]]), exclusive=True, reverse=False)
case("Cumprod", [x(3), Known(0)], lambda x, axis: np.cumprod(x[::-1])[::-1], exclusive=False, reverse=True)
case("TopKV2", [x(2, 5), Known(2)], lambda x, k: -np.sort(-x, -1)[:, :2])
case("TopKV2", [x(5), Known(3)], lambda x, k: -np.sort(-x)[:3], sorted=True)

# --- products -----------------------------------------------------------------

case("MatMul", [x(2, 3), x(3, 4)], np.matmul)
case("MatMul", [x(3, 2), x(3, 4)], lambda a, b: a.T @ b, transpose_a=True, transpose_b=False, grad_a=False, grad_b=True)
case("MatMul", [x(2, 3), x(4, 3)], lambda a, b: a @ b.T, transpose_a=False, transpose_b=True)
for op in ("BatchMatMul", "BatchMatMulV2"):
    case(op, [x(2, 2, 3), x(2, 3, 4)], np.matmul)
    case(
        op,
        [x(2, 3, 2), x(2, 3, 4)],
        lambda a, b: a.swapaxes(1, 2) @ b,
        adj_x=True,
        adj_y=False,
        grad_x=True,
        grad_y=False,
    )
    case(op, [x(2, 2, 3), x(2, 4, 3)], lambda a, b: a @ b.swapaxes(1, 2), adj_x=False, adj_y=True)
case("Einsum", [x(2, 3), x(3, 4)], lambda a, b: np.einsum("ij,jk->ik", a, b), equation="ij,jk->ik", N=2)
case("Cross", [x(2, 3), x(2, 3)], np.cross)
case("BiasAdd", [x(1, 2, 2, 3), x(3)], np.add)
case("BiasAdd", [x(1, 2, 2, 3), x(3)], np.add, data_format="NHWC")
case("BiasAdd", [x(1, 3, 2, 2), x(3)], lambda x, b: x + b[:, None, None], data_format="NCHW")

# --- windows ------------------------------------------------------------------


def pads(extent, k, s, d, padding, explicit=(0, 0)):
    if padding == "EXPLICIT":
        return explicit
    if padding == "VALID":
        return 0, 0
    total = max((-(-extent // s) - 1) * s + (k - 1) * d + 1 - extent, 0)
    return total // 2, total - total // 2


def slid(image, k, s, d, padding, fill, explicit=(0, 0, 0, 0)):
    """All windows of images (N, H, W, C): (N, P, Q, kh, kw, C)."""
    room = [pads(image.shape[1 + at], k[at], s[at], d[at], padding, explicit[2 * at : 2 * at + 2]) for at in (0, 1)]
    image = np.pad(image, [(0, 0), *room, (0, 0)], constant_values=fill)
    counts = [(image.shape[1 + at] - (k[at] - 1) * d[at] - 1) // s[at] + 1 for at in (0, 1)]
    rows = np.arange(counts[0])[:, None] * s[0] + np.arange(k[0]) * d[0]
    columns = np.arange(counts[1])[:, None] * s[1] + np.arange(k[1]) * d[1]
    return image[:, rows[:, None, :, None], columns[None, :, None, :]]


def last(x):
    return x.transpose(0, 2, 3, 1)


def first(x):
    return x.transpose(0, 3, 1, 2)


def convolved(x, w, s=(1, 1), d=(1, 1), padding="VALID", explicit=(0, 0, 0, 0)):
    return np.einsum("npqijc,ijcf->npqf", slid(x, w.shape[:2], s, d, padding, 0.0, explicit), w)


def deep(x, w, s=(1, 1), d=(1, 1), padding="VALID", explicit=(0, 0, 0, 0)):
    found = np.einsum("npqijc,ijcm->npqcm", slid(x, w.shape[:2], s, d, padding, 0.0, explicit), w)
    return found.reshape(*found.shape[:3], -1)


for op, function, w in (("Conv2D", convolved, x(3, 2, 2, 3)), ("DepthwiseConv2dNative", deep, x(3, 2, 2, 2))):
    image, on_cpu = x(2, 6, 5, 2), {} if op != "Conv2D" else {"use_cudnn_on_gpu": True}
    case(op, [image, w], function, strides=[1, 1, 1, 1], padding="VALID")
    case(op, [image, w], lambda x, w, f=function: f(x, w, (2, 2), padding="SAME"),
         strides=[1, 2, 2, 1], padding="SAME", data_format="NHWC", dilations=[1, 1, 1, 1], **on_cpu)  # fmt: skip
    case(op, [image, w], lambda x, w, f=function: f(x, w, d=(2, 3), padding="SAME"),
         strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 3, 1])  # fmt: skip
    case(op, [first(image), w], lambda x, w, f=function: first(f(last(x), w, (2, 2), padding="SAME")),
         strides=[1, 1, 2, 2], padding="SAME", data_format="NCHW", dilations=[1, 1, 1, 1])  # fmt: skip
    case(op, [image, w], lambda x, w, f=function: f(x, w, (2, 2), (1, 1), "EXPLICIT", (1, 0, 2, 1)),
         strides=[1, 2, 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 2, 1, 0, 0])  # fmt: skip
    case(op, [first(image), w],
         lambda x, w, f=function: first(f(last(x), w, (1, 1), (1, 1), "EXPLICIT", (1, 0, 2, 1))),
         strides=[1, 1, 1, 1], padding="EXPLICIT", data_format="NCHW", 
         explicit_paddings=[0, 0, 0, 0, 1, 0, 2, 1])  # fmt: skip


def transposed(sizes, w, y, s=(1, 1), d=(1, 1), padding="VALID", explicit=(0, 0, 0, 0)):
    """What Conv2D's gradient along its image is: the adjoint of `convolved`, entry by entry."""
    found = np.zeros(tuple(sizes))
    for place in np.ndindex(*found.shape):
        one = np.zeros(found.shape)
        one[place] = 1.0
        found[place] = (convolved(one, w, s, d, padding, explicit) * y).sum()
    return found


def size(*shape):
    return Known(list(shape))


case(
    "Conv2DBackpropInput",
    [size(1, 4, 4, 2), x(2, 2, 2, 3), x(1, 3, 3, 3)],
    transposed,
    strides=[1, 1, 1, 1],
    padding="VALID",
)
case("Conv2DBackpropInput", [size(1, 4, 5, 2), x(3, 3, 2, 3), x(1, 2, 3, 3)],
     lambda s, w, y: transposed(s, w, y, (2, 2), padding="SAME"), strides=[1, 2, 2, 1], padding="SAME",
     data_format="NHWC", dilations=[1, 1, 1, 1], use_cudnn_on_gpu=True)  # fmt: skip
case("Conv2DBackpropInput", [size(1, 2, 4, 4), x(2, 2, 2, 1), x(1, 1, 2, 2)],
     lambda s, w, y: first(transposed((1, 4, 4, 2), w, last(y), (2, 2))), strides=[1, 1, 2, 2], padding="VALID",
     data_format="NCHW")  # fmt: skip
case("Conv2DBackpropInput", [size(1, 5, 5, 1), x(2, 2, 1, 2), x(1, 3, 3, 2)],
     lambda s, w, y: transposed(s, w, y, d=(2, 2)), strides=[1, 1, 1, 1], padding="VALID",
     dilations=[1, 2, 2, 1])  # fmt: skip
case("Conv2DBackpropInput", [size(1, 4, 4, 1), x(2, 2, 1, 2), x(1, 4, 4, 2)],
     lambda s, w, y: transposed(s, w, y, (1, 1), (1, 1), "EXPLICIT", (1, 0, 0, 1)), strides=[1, 1, 1, 1],
     padding="EXPLICIT", explicit_paddings=[0, 0, 1, 0, 0, 1, 0, 0])  # fmt: skip


def largest(x, k=(2, 2), s=(2, 2), padding="VALID", explicit=(0, 0, 0, 0)):
    return slid(x, k, s, (1, 1), padding, -np.inf, explicit).max((3, 4))


def mean(x, k=(2, 2), s=(2, 2), padding="VALID"):
    return np.nanmean(slid(x, k, s, (1, 1), padding, np.nan), (3, 4))


for op, function in (("MaxPool", largest), ("AvgPool", mean)):
    image = x(2, 5, 4, 3)
    case(op, [image], function, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    case(op, [image], lambda x, f=function: f(x, (3, 2), (2, 1), "SAME"), ksize=[1, 3, 2, 1], strides=[1, 2, 1, 1],
         padding="SAME", data_format="NHWC")  # fmt: skip
    case(op, [first(image)], lambda x, f=function: first(f(last(x), (2, 2), (1, 1), "SAME")), ksize=[1, 1, 2, 2],
         strides=[1, 1, 1, 1], padding="SAME", data_format="NCHW")  # fmt: skip
case("MaxPool", [x(1, 4, 4, 1)], lambda x: largest(x, (2, 2), (2, 2), "EXPLICIT", (1, 1, 0, 0)), ksize=[1, 2, 2, 1],
     strides=[1, 2, 2, 1], padding="EXPLICIT", explicit_paddings=[0, 0, 1, 1, 0, 0, 0, 0])  # fmt: skip


def dilated(x, w, s=(1, 1), r=(1, 1), padding="VALID"):
    return (slid(x, w.shape[:2], s, r, padding, -np.inf) + w).max((3, 4))


case("Dilation2D", [x(1, 4, 4, 2), x(2, 2, 2)], dilated, strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding="VALID")
case("Dilation2D", [x(1, 5, 5, 1), x(2, 3, 1)], lambda x, w: dilated(x, w, (2, 1), (2, 1), "SAME"),
     strides=[1, 2, 1, 1], rates=[1, 2, 1, 1], padding="SAME")  # fmt: skip

# --- normalised ---------------------------------------------------------------


def normed(x, scale, bias, mean=None, variance=None, epsilon=1e-4):
    if not np.size(mean) or mean is None:
        mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return scale * (x - mean) / np.sqrt(variance + epsilon) + bias


for op in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"):
    given = [x(2, 3, 2, 3), x(3), x(3), x(3), x(3, low=0.5)]
    empty = [*given[:3], floats([]), floats([])]
    case(op, empty, normed)
    case(op, given, normed, is_training=False)
    case(op, given, lambda *a: normed(*a, epsilon=0.5), is_training=False, epsilon=0.5, data_format="NHWC")
    case(
        op,
        [first(given[0]), *given[1:]],
        lambda x, *a: first(normed(last(x), *a)),
        is_training=False,
        data_format="NCHW",
    )
    case(op, empty, normed, is_training=True, exponential_avg_factor=1.0)

# --- moved --------------------------------------------------------------------

case("Reshape", [x(2, 3, 2), Known([-1, 4])], lambda x, s: x.reshape(3, 4))
case("Reshape", [x(1, 1), Known([])], lambda x, s: x.reshape(()))
case("Transpose", [x(2, 3, 4), Known([2, 0, 1])], np.transpose)
case("Squeeze", [x(1, 2, 1)], np.squeeze)
case("Squeeze", [x(1, 2, 1)], np.squeeze, squeeze_dims=[])
case("Squeeze", [x(1, 2, 1)], lambda x: x[:, :, 0], squeeze_dims=[-1])
case("ExpandDims", [x(2, 3), Known(-1)], lambda x, axis: x[..., None])
case("BroadcastTo", [x(3), Known([2, 3])], lambda x, s: np.broadcast_to(x, (2, 3)))
case("Tile", [x(2, 3), Known([2, 1])], np.tile)
case("Pad", [x(2, 3), Known([[1, 0], [0, 2]])], np.pad)
case("PadV2", [x(2, 3), Known([[1, 0], [0, 2]]), floats(0.5)], lambda x, p, v: np.pad(x, p, constant_values=0.5))
case("MirrorPad", [x(2, 3), Known([[1, 0], [2, 1]])], lambda x, p: np.pad(x, p, "reflect"), mode="REFLECT")
case("MirrorPad", [x(2, 3), Known([[1, 2], [3, 1]])], lambda x, p: np.pad(x, p, "symmetric"), mode="SYMMETRIC")
case("ReverseV2", [x(2, 3), Known([1])], lambda x, axes: x[:, ::-1])
case("Roll", [x(2, 4), Known([1, -2]), Known([0, 1])], lambda x, by, axes: np.roll(x, (1, -2), (0, 1)))
case(
    "ReverseSequence",
    [x(2, 3), Known([2, 3])],
    lambda x, n: np.stack([[x[0, 1], x[0, 0], x[0, 2]], x[1, ::-1]]),
    seq_dim=1,
)
case("ReverseSequence", [x(3, 2), Known([2, 1])], lambda x, n: np.stack([[x[1, 0], x[0, 0], x[2, 0]], x[:, 1]], 1),
     seq_dim=0, batch_dim=1)  # fmt: skip
case("ConcatV2", [x(2, 3), x(2, 1), Known(-1)], lambda a, b, axis: np.concatenate([a, b], 1), N=2)
case("Concat", [Known(0), x(1, 3), x(2, 3)], lambda axis, *xs: np.concatenate(xs), N=2)
case("Pack", [x(3), x(3)], lambda *xs: np.stack(xs), N=2)
case("Pack", [x(3), x(3)], lambda *xs: np.stack(xs, -1), N=2, axis=-1)
case("Unpack", [x(2, 3)], lambda x: x[0], num=2)
case("Unpack", [x(2, 3)], lambda x: x[:, 0], num=3, axis=1)
case("Split", [Known(1), x(2, 4)], lambda axis, x: x[:, :2], num_split=2)
case("SplitV", [x(5, 2), Known([2, 3]), Known(0)], lambda x, s, axis: x[:2], num_split=2)
case("SplitV", [x(5, 2), Known([-1, 3]), Known(0)], lambda x, s, axis: x[:2], num_split=2)
case("Slice", [x(3, 4), Known([1, 0]), Known([-1, 2])], lambda x, b, s: x[1:, :2])
masked = {"begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": 0}


def strided(index, shape, begin, end, steps, **masks):
    case("StridedSlice", [x(*shape), Known(begin), Known(end), Known(steps)], lambda x, *_: x[index], **masks)


strided(np.s_[1:3, ::-2], (4, 5), [1, -1], [3, -6], [1, -2])
strided(np.s_[:3, 1:], (4, 5), [9, 1], [3, 0], [1, 1], **masked | {"begin_mask": 1, "end_mask": 2})
strided(np.s_[..., -1], (2, 3, 4), [0, -1], [0, 0], [1, 1], ellipsis_mask=1, shrink_axis_mask=2)
strided(np.s_[None, 1, :, None], (2, 3), [0, 1, 0, 0], [0, 2, 3, 0], [1, 1, 1, 1], new_axis_mask=9, shrink_axis_mask=2)
strided(np.s_[::-1], (3, 2), [0], [0], [-1], begin_mask=1, end_mask=1)

# --- by places ----------------------------------------------------------------

case("GatherV2", [x(4, 3), Known([2, 0, 2]), Known(0)], lambda x, p, axis: x[p])
case("GatherV2", [x(2, 3, 2), Known([[1, 0], [2, 2]]), Known(1)],
     lambda x, p, axis: np.stack([x[0, p[0]], x[1, p[1]]]), batch_dims=1)  # fmt: skip
case("GatherV2", [Known(np.arange(6).reshape(2, 3)), Known([[1, 0], [2, 2]]), Known(-1)],
     lambda x, p, axis: np.stack([x[0, p[0]], x[1, p[1]]]), batch_dims=1)  # fmt: skip
case("GatherV2", [x(4, 3), np.array([2, 0]), Known(1)], lambda x, p, axis: x[:, p.astype(int)], batch_dims=0)
case("Gather", [x(4, 3), Known([[1], [3]])], lambda x, p: x[p])
case("Gather", [x(4), Known(1)], lambda x, p: x[1], validate_indices=True)
case("GatherNd", [x(2, 3), Known([[0, 1], [1, 2]])], lambda x, p: x[p[:, 0], p[:, 1]])
case("GatherNd", [x(2, 3), Known([[1]])], lambda x, p: x[[1]], bad_indices_policy="")
case("OneHot", [Known([0, -1, 2]), Known(3), floats(2.0), floats(-1.0)],
     lambda p, *_: np.where(p[:, None] == np.arange(3), 2.0, -1.0))  # fmt: skip
case(
    "OneHot",
    [np.array([1, -1]), Known(2), floats(1.0), floats(0.0)],
    lambda p, *_: np.array([[0.0, 0.0], [1.0, 0.0]]),
    axis=0,
)
case("DynamicPartition", [x(4, 2), Known([1, 0, 0, 1])], lambda x, p: x[1:3], num_partitions=2)
for op, function in {"TensorScatterUpdate": lambda old, new: new, "TensorScatterAdd": np.add}.items():

    def put(x, p, u, f=function):
        return np.array([x[0], f(x[1], u[1]), x[2], f(x[3], u[0])])

    case(op, [x(4), Known([[3], [1]]), x(2)], put)
    case(op, [x(4), Known([[3], [1]]), x(2)], put, bad_indices_policy="")


def to_depth(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 2, w // 2, 4 * c)


def to_space(x):
    n, h, w, c = x.shape
    return x.reshape(n, h, w, 2, 2, c // 4).transpose(0, 1, 3, 2, 4, 5).reshape(n, 2 * h, 2 * w, c // 4)


for op, function, shape in (("SpaceToDepth", to_depth, (1, 4, 2, 3)), ("DepthToSpace", to_space, (1, 2, 3, 8))):
    image = x(*shape)
    case(op, [image], function, block_size=2)
    case(op, [image], function, block_size=2, data_format="NHWC")
    case(op, [first(image)], lambda x, f=function: first(f(last(x))), block_size=2, data_format="NCHW")
case("SpaceToBatchND", [x(1, 2, 3, 1), Known([2, 2]), Known([[0, 0], [1, 0]])],
     lambda x, *_: np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 0)]).reshape(1, 1, 2, 2, 2, 1).transpose(2, 4, 0, 1, 3, 5)
     .reshape(4, 1, 2, 1))  # fmt: skip
case("SpaceToBatch", [x(1, 2, 3, 1), Known([[0, 0], [1, 0]])],
     lambda x, *_: np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 0)]).reshape(1, 1, 2, 2, 2, 1).transpose(2, 4, 0, 1, 3, 5)
     .reshape(4, 1, 2, 1), block_size=2)  # fmt: skip
case("BatchToSpace", [x(4, 1, 2, 1), Known([[0, 0], [1, 0]])],
     lambda x, *_: x.reshape(2, 2, 1, 1, 2, 1).transpose(2, 3, 0, 4, 1, 5).reshape(1, 2, 4, 1)[:, :, 1:],
     block_size=2)  # fmt: skip
case("BatchToSpaceND", [x(4, 1, 2, 1), Known([2, 2]), Known([[0, 0], [1, 0]])],
     lambda x, *_: x.reshape(2, 2, 1, 1, 2, 1).transpose(2, 3, 0, 4, 1, 5).reshape(1, 2, 4, 1)[:, :, 1:])  # fmt: skip
case("SoftmaxCrossEntropyWithLogits", [x(2, 3), softmax(x(2, 3))], lambda z, y: -(y * np.log(softmax(z))).sum(-1))
case("SparseSoftmaxCrossEntropyWithLogits", [x(2, 3), Known([2, 0])],
     lambda z, t: -np.log(softmax(z))[[0, 1], [2, 0]])  # fmt: skip
