"""What torch computes for each row of the table: a function of its tensors and the row's properties."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="rows are compared with torch, which is not installed")
F = torch.nn.functional

last = "NHWC"


def image(x, data_format):
    return x.movedim(-1, -3) if data_format == last else x


def back(y, data_format):
    return y.movedim(-3, -1) if data_format == last else y


def pads_of(padding, extents, reaches, strides):
    """[top, left, bottom, right], written anew from what SAME means."""
    if padding == "VALID":
        return 0, 0, 0, 0
    if isinstance(padding, tuple):
        return padding
    totals = [max((-(-n // s) - 1) * s + reach - n, 0) for n, reach, s in zip(extents, reaches, strides)]
    small, large = [each // 2 for each in totals], [each - each // 2 for each in totals]
    return (*large, *small) if padding == "SAME_LOWER" else (*small, *large)


def around(x, pads, value=0.0):
    top, left, bottom, right = pads
    return F.pad(x, (left, right, top, bottom), value=value)


def conv2d(x, w, bias, strides, padding, dilations, groups, data_format):
    x = image(x, data_format)
    reaches = [(k - 1) * d + 1 for k, d in zip(w.shape, dilations)]
    x = around(x, pads_of(padding, x.shape[-2:], reaches, strides))
    return back(F.conv2d(x, w.permute(3, 2, 0, 1).contiguous(), bias, strides, 0, dilations, groups), data_format)


def depthwise(x, w, strides, padding, dilations, data_format):
    kh, kw, c, m = w.shape
    return conv2d(x, w.reshape(kh, kw, 1, c * m), None, strides, padding, dilations, c, data_format)


def conv2d_transpose(x, w, bias, strides, padding, dilations, groups, data_format, output_padding, output_shape):
    x, own = image(x, data_format), w.permute(3, 2, 0, 1).contiguous()
    y = F.conv_transpose2d(x, own, None, strides, 0, output_padding, groups, dilations)
    if output_shape is not None or str(padding).startswith("SAME"):
        out = output_shape or [n * s for n, s in zip(x.shape[-2:], strides)]
        totals = [max(a - b, 0) for a, b in zip(y.shape[-2:], out)]
        t, left = [each - each // 2 if padding == "SAME_LOWER" else each // 2 for each in totals]
        y = F.pad(y, (0, 9, 0, 9))[..., t : t + out[0], left : left + out[1]]
    elif padding != "VALID":
        t, left, b, r = padding
        y = y[..., t : y.shape[-2] - b, left : y.shape[-1] - r]
    return back(y if bias is None else y + bias[:, None, None], data_format)


def windows(x, pool, strides, padding, data_format, ceil_mode, dilations, fill):
    """The entries of each window along a last axis, and which of them are inside; plain loops over positions."""
    x = image(x, data_format)
    strides = strides or pool
    reaches = [(k - 1) * d + 1 for k, d in zip(pool, dilations)]
    pads = pads_of(padding, x.shape[-2:], reaches, strides)
    extents = [x.shape[-2] + pads[0] + pads[2], x.shape[-1] + pads[1] + pads[3]]
    count = []
    for axis in (0, 1):
        room = extents[axis] - reaches[axis]
        out = room // strides[axis] + 1
        if ceil_mode and -(-room // strides[axis]) + 1 > out and out * strides[axis] < x.shape[axis - 2] + pads[axis]:
            out += 1
        count.append(out)
    x = F.pad(around(x, pads, fill), (0, 20, 0, 20), value=fill)
    rows = [
        [s * p + d * i for i in range(k)]
        for p, s, d, k in ((p, strides[0], dilations[0], pool[0]) for p in range(count[0]))
    ]
    columns = [
        [s * q + d * j for j in range(k)]
        for q, s, d, k in ((q, strides[1], dilations[1], pool[1]) for q in range(count[1]))
    ]
    seen = torch.stack([torch.stack([x[..., r, :][..., c].flatten(-2) for c in columns], -2) for r in rows], -3)
    inside = np.array(
        [
            [
                [
                    (
                        pads[0] <= i < extents[0] - pads[2],
                        pads[1] <= j < extents[1] - pads[3],
                        i < extents[0] and j < extents[1],
                    )
                    for i in r
                    for j in c
                ]
                for c in columns
            ]
            for r in rows
        ]
    )
    return seen, torch.tensor(inside[..., 0] & inside[..., 1]), torch.tensor(inside[..., 2])


def max_pool2d(x, data_format, **how):
    seen, _, _ = windows(x, data_format=data_format, fill=-np.inf, **how)
    return back(seen.max(-1).values, data_format)


def avg_pool2d(x, data_format, count_include_pad, **how):
    seen, inside, padded = windows(x, data_format=data_format, fill=0.0, **how)
    counts = (padded if count_include_pad else inside).sum(-1)
    return back(seen.sum(-1) / counts, data_format) if (counts > 0).all() else None


def lp_pool2d(x, p, data_format, **how):
    seen, _, _ = windows(x, data_format=data_format, fill=0.0, **how)
    return back((seen.abs() ** p).sum(-1) ** (1 / p), data_format)


def over(x, data_format):
    return (-3, -2) if data_format == last else (-2, -1)


def axes_of(axis, x):
    return tuple(range(x.ndim)) if axis is None else axis


def reduce(function):
    return lambda x, axis, keepdims: function(x, axes_of(axis, x), keepdims)


def prod(x, axis, keepdims):
    for each in sorted((each % x.ndim for each in axis), reverse=True):
        x = x.prod(each, keepdim=keepdims)
    return x


def spread(vector, x, axis):
    return vector.reshape([-1 if at == axis else 1 for at in range(x.ndim)])


def batch_norm(x, scale, bias, mean, variance, epsilon, training, data_format):
    axis = x.ndim - 1 if data_format == last else 1
    if training:
        y = F.batch_norm(x.movedim(axis, 1), None, None, None, None, True, 0.0, epsilon).movedim(1, axis)
        return affine(y, scale, bias, axis)
    mean, variance = (spread(each, x, axis) for each in (mean, variance))
    return affine((x - mean) / (variance + epsilon).sqrt(), scale, bias, axis)


def affine(y, scale, bias, axis):
    """Apart: torch folds mean and scale into one factor, which is NaN beside an infinite scale."""
    return y * spread(scale, y, axis) + spread(bias, y, axis)


def layer_norm(x, scale, bias, axis, epsilon):
    y = F.layer_norm(x, x.shape[axis:], None, None, epsilon)
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


def rms_norm(x, scale, bias, axis, epsilon):
    return F.rms_norm(x, x.shape[axis:], scale, epsilon)


def instance_norm(x, scale, bias, epsilon, data_format):
    x = x.movedim(-1, 1) if data_format == last else x
    y = affine(F.instance_norm(x, None, None, None, None, True, 0.0, epsilon), scale, bias, 1)
    return y.movedim(1, -1) if data_format == last else y


def group_norm(x, scale, bias, groups, epsilon, data_format):
    x = x.movedim(-1, 1) if data_format == last else x
    y = affine(F.group_norm(x, groups, None, None, epsilon), scale, bias, 1)
    return y.movedim(1, -1) if data_format == last else y


def local_response_norm(x, size, alpha, beta, bias, data_format):
    x = x.movedim(-1, 1) if data_format == last else x
    c = x.shape[1]
    before = (size - 1) // 2
    squares = F.pad((x * x).movedim(1, -1), (before, size - 1 - before)).unfold(-1, size, 1).sum(-1).movedim(-1, 1)
    assert squares.shape[1] == c
    y = x / (bias + alpha / size * squares) ** beta
    return y.movedim(1, -1) if data_format == last else y


def pad(x, pads, mode, value, axis):
    axis = range(x.ndim) if axis is None else axis
    amounts = [(0, 0)] * x.ndim
    for place, at in enumerate(axis):
        amounts[at] = (pads[place], pads[place + len(axis)])
    if mode == "constant":
        return F.pad(x, [each for pair in reversed(amounts) for each in pair], value=value)
    numbers = np.pad(np.arange(x.numel()).reshape(x.shape), amounts, mode=mode)
    return x.flatten()[torch.tensor(numbers)]


def slices(x, begin, end, axis, steps, sizes):
    numbers = np.arange(x.numel()).reshape(x.shape)
    parts = [np.s_[:]] * x.ndim
    for at, place in enumerate(range(len(begin)) if axis is None else axis):
        stop = end[at] if sizes is None else (None if sizes[at] == -1 else begin[at] + sizes[at])
        parts[place] = np.s_[begin[at] : stop : 1 if steps is None else steps[at]]
    return x.flatten()[torch.tensor(numbers[tuple(parts)].copy())]


def gates(weights, order, size):
    """The gates in torch's order."""
    return torch.cat([weights[each * size : (each + 1) * size] for each in order])


def recurrent(kind, order):
    def run(x, w, r, b, states, direction, batch_first):
        size = r.shape[-1]
        x = x.transpose(0, 1) if batch_first else x
        net = kind(x.shape[-1], size, bidirectional=direction == "bidirectional", bias=True).double()
        x = x.flip(0) if direction == "reverse" else x
        names = {}
        count = len(order) * size
        for way, suffix in enumerate(["", "_reverse"][: w.shape[0]]):
            of_w, of_r = (torch.zeros(count), torch.zeros(count)) if b is None else (b[way][:count], b[way][count:])
            for name, weights in (("weight_ih", w[way]), ("weight_hh", r[way]), ("bias_ih", of_w), ("bias_hh", of_r)):
                names[f"{name}_l0{suffix}"] = gates(weights, order, size).double()
        states = [
            torch.zeros(w.shape[0], x.shape[1], size).double()
            if each is None
            else each.transpose(0, 1)
            if batch_first
            else each
            for each in states
        ]
        y, ends = torch.func.functional_call(net, names, (x, tuple(states) if len(states) > 1 else states[0]))
        ends = ends if isinstance(ends, tuple) else (ends,)
        y = y.flip(0) if direction == "reverse" else y
        y = y.reshape(*y.shape[:2], w.shape[0], size)
        if batch_first:
            return [y.transpose(0, 1), *(each.transpose(0, 1) for each in ends)]
        return [y.transpose(1, 2), *ends]

    return run


RNN, GRU = recurrent(torch.nn.RNN, [0]), recurrent(torch.nn.GRU, [1, 0, 2])
LSTM = recurrent(torch.nn.LSTM, [0, 2, 3, 1])  # i, o, f, c as i, f, g, o


def elements(x, places, axis):
    return torch.gather(x, axis, torch.tensor(places % x.shape[axis]))


def scatter(x, updates, places, axis, reduction):
    places = torch.tensor(places % x.shape[axis])
    if reduction == "none":
        if x.ndim == 1 and len(set(places.tolist())) < len(places):
            return None  # which of several counts is not defined there
        return x.scatter(axis, places, updates)
    name = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, places, updates, name)


def likelihood(x, weight, target, ignore_index, reduction, axis):
    target = torch.tensor(target)
    kept = torch.ones_like(target) if ignore_index is None else (target != ignore_index).long()
    weights = kept * (1.0 if weight is None else weight[target * kept])
    losses = -weights * x.gather(axis, (target * kept).unsqueeze(axis)).squeeze(axis)
    return {"none": losses, "sum": losses.sum(), "mean": losses.sum() / weights.sum()}[reduction]


def attention(q, k, v, mask, scale, causal):
    return F.scaled_dot_product_attention(q, k, v, mask, 0.0, causal, scale=scale)


def gemm(a, b, c, alpha, beta, transpose_a, transpose_b):
    y = alpha * ((a.T if transpose_a else a) @ (b.T if transpose_b else b))
    return y if c is None else y + beta * c


def gather(x, places, axis, batch_dims):
    if batch_dims:
        return torch.stack([gather(one, each, axis - 1, batch_dims - 1) for one, each in zip(x, places)])
    return x.index_select(axis, torch.tensor(places.reshape(-1) % x.shape[axis])).reshape(
        *x.shape[:axis], *places.shape, *x.shape[axis + 1 :]
    )


def running(total, first):
    def function(x, axis, exclusive, reverse):
        x = x.flip(axis) if reverse else x
        y = total(x, axis)
        if exclusive:
            begin = torch.full_like(x.narrow(axis, 0, 1), first)
            y = torch.cat([begin, y.narrow(axis, 0, x.shape[axis] - 1)], axis)
        return y.flip(axis) if reverse else y

    return function


def extreme(x, axis, keepdims, select_last_index):
    if select_last_index:
        return x.shape[axis] - 1 - x.flip(axis).argmax(axis, keepdims).double()
    return x.argmax(axis, keepdims).double()


def logical(function):
    return lambda *xs: function(*(x != 0 for x in xs)).double()


def expand_dims(x, axis):
    for each in sorted(each % (x.ndim + len(axis)) for each in axis):
        x = x.unsqueeze(each)
    return x


def gather_nd(x, places, batch_dims):
    if batch_dims:
        return torch.stack([gather_nd(one, each, batch_dims - 1) for one, each in zip(x, places)])
    return x[tuple(torch.tensor(places).movedim(-1, 0))]


def scatter_nd(x, updates, places, reduction):
    if reduction not in ("none", "add"):
        return None
    return x.index_put(tuple(torch.tensor(places).movedim(-1, 0)), updates, accumulate=reduction == "add")


def reverse_sequence(x, lengths, time_axis, batch_axis):
    x = x.movedim((time_axis, batch_axis), (0, 1))
    lines = [torch.cat([x[:n, at].flip(0), x[n:, at]]) for at, n in enumerate(lengths)]
    return torch.stack(lines, 1).movedim((0, 1), (time_axis, batch_axis))


def offsets(block):
    return list(itertools.product(*map(range, block)))


def space_to_batch(x, block, paddings):
    room = [(0, 0), *paddings, *[(0, 0)] * (x.ndim - len(block) - 1)]
    x = F.pad(x, [each for pair in reversed(room) for each in pair])
    return torch.cat([x[(np.s_[:], *(np.s_[i::b] for i, b in zip(at, block)))] for at in offsets(block)])


def batch_to_space(x, block, crops):
    parts = x.reshape(len(offsets(block)), -1, *x.shape[1:])
    inner = [extent * b for extent, b in zip(x.shape[1:], block)]
    whole = torch.zeros(parts.shape[1], *inner, *x.shape[1 + len(block) :], dtype=x.dtype)
    for at, part in zip(offsets(block), parts):
        whole[(np.s_[:], *(np.s_[i::b] for i, b in zip(at, block)))] = part
    return whole[(np.s_[:], *(np.s_[before : n - after] for n, (before, after) in zip(inner, crops)))]


def dilation2d(x, w, strides, rates, padding):
    how = {"pool": w.shape[:2], "strides": strides, "padding": padding, "dilations": rates, "ceil_mode": False}
    seen, _, _ = windows(x, data_format=last, fill=-np.inf, **how)
    return back((seen + w.permute(2, 0, 1).flatten(1)[:, None, None]).max(-1).values, last)


# --- losses -------------------------------------------------------------------


def reduced(losses, weights, reduce):
    spread = torch.ones_like(losses) if weights is None else weights.expand_as(losses)
    if reduce in ("none", "sum"):
        return losses * spread if reduce == "none" else (losses * spread).sum()
    count = spread.sum() if reduce == "mean_by_weight" else (spread != 0).sum()
    return torch.zeros(()).double() if count == 0 else (losses * spread).sum() / count  # the mean of none


def log_poisson(y, z, weights, reduce, full):
    stirling = torch.where(y > 1, y * y.log() - y + 0.5 * (2 * torch.pi * y).log(), 0.0)
    return reduced(z.exp() - y * z + (stirling if full else 0.0), weights, reduce)


def of_classes(z, weights, classes, reduce, ignore_index):
    kept = classes != ignore_index
    places = torch.tensor(np.where(kept, classes, 0))[..., None]
    weights = torch.ones(classes.shape) if weights is None else weights
    chosen = torch.where(torch.tensor(kept), F.log_softmax(z, -1).gather(-1, places)[..., 0], 0.0)
    return reduced(-chosen, weights * torch.tensor(kept), reduce)


def pairwise(y, p, weights, reduce):
    d = (p - y).reshape(*p.shape[:1], -1)
    n = d.shape[1]
    pairs = (d[:, :, None] - d[:, None, :]) ** 2
    return reduced(pairs.sum((1, 2)) / (n * (n - 1)) if n > 1 else 0.0 * d[:, 0] ** 2, weights, reduce)


def cosine(y, p, weights, axis, reduce):
    return reduced(1 - (p * y).sum(axis, True), weights, reduce)


def softmax_loss(y, z, weights, reduce, smoothing):
    y = y * (1 - smoothing) + smoothing / y.shape[-1]
    return reduced(-(y * F.log_softmax(z, -1)).sum(-1), weights, reduce)


def sigmoid_loss(y, z, weights, reduce, smoothing):
    y = y * (1 - smoothing) + smoothing / 2
    return reduced(-y * F.logsigmoid(z) - (1 - y) * F.logsigmoid(-z), weights, reduce)


LOSSES = {
    "absolute_difference": lambda y, p, w, reduce: reduced((p - y).abs(), w, reduce),
    "mean_squared_error": lambda y, p, w, reduce: reduced((p - y) ** 2, w, reduce),
    "huber": lambda y, p, w, reduce, delta: reduced(
        torch.where((p - y).abs() > delta, delta * ((p - y).abs() - delta / 2), (p - y) ** 2 / 2), w, reduce
    ),
    "log_loss": lambda y, p, w, reduce, epsilon: reduced(
        -y * (p + epsilon).log() - (1 - y) * (1 - p + epsilon).log(), w, reduce
    ),
    "hinge": lambda y, z, w, reduce: reduced((1 - (2 * y - 1) * z).relu(), w, reduce),
    "sigmoid_cross_entropy": sigmoid_loss,
    "weighted_cross_entropy_with_logits": lambda y, z, w, positive, reduce: reduced(
        -positive * y * F.logsigmoid(z) - (1 - y) * F.logsigmoid(-z), w, reduce
    ),
    "log_poisson": log_poisson,
    "softmax_cross_entropy": softmax_loss,
    "sparse_softmax_cross_entropy": of_classes,
    "cosine_distance": cosine,
    "mean_pairwise_squared_error": pairwise,
    "l2_loss": lambda x: x.square().sum() / 2,
}

TORCH = {
    "logical_and": logical(torch.logical_and),
    "logical_or": logical(torch.logical_or),
    "logical_not": logical(torch.logical_not),
    "logical_xor": logical(torch.logical_xor),
    "expand_dims": expand_dims,
    "flatten_to_matrix": lambda x, axis: x.reshape(int(np.prod(x.shape[:axis])), -1),
    "hardmax": lambda x, axis: F.one_hot(x.argmax(axis), x.shape[axis]).movedim(-1, axis).double(),
    "gather_nd": gather_nd,
    "scatter_nd": scatter_nd,
    "reverse_sequence": reverse_sequence,
    "dynamic_partition": lambda x, partitions, num_partitions: [
        x[torch.tensor(partitions == each)] for each in range(num_partitions)
    ],
    "space_to_batch_nd": space_to_batch,
    "batch_to_space_nd": batch_to_space,
    "dilation2d": dilation2d,
    "sparse_softmax_cross_entropy_with_logits": lambda z, target: (
        -torch.log_softmax(z, -1).gather(-1, torch.tensor(target)[..., None]).squeeze(-1)
    ),
    "leaky_relu": lambda x, alpha: F.leaky_relu(x, alpha),
    "elu": lambda x, alpha: F.elu(x, alpha),
    "selu": lambda x, alpha, gamma: gamma * F.elu(x, alpha),
    "silu": lambda x, alpha: x * torch.sigmoid(alpha * x),
    "gelu": lambda x, approximate: F.gelu(x, approximate=approximate),
    "mish": F.mish,
    "celu": lambda x, alpha: F.celu(x, alpha),
    "hard_swish": F.hardswish,
    "hard_sigmoid": lambda x, alpha, beta: torch.clamp(alpha * x + beta, 0, 1),
    "thresholded_relu": lambda x, alpha: F.threshold(x, alpha, 0.0),
    "prelu": lambda x, w: torch.where(x > 0, x, w * x),
    "shrink": lambda x, lambd, bias: torch.where(
        x > lambd, x - bias, torch.where(x < -lambd, x + bias, torch.where(x.isnan(), x, 0.0))
    ),
    "relu6": F.relu6,
    "softsign": F.softsign,
    "identity": lambda x: x * 1.0,
    "cube": lambda x: x**3,
    "rsqrt": torch.rsqrt,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "clip": lambda x, min, max: x * 1.0 if min is None and max is None else torch.clamp(x, min, max),
    "dropout": lambda x, mask, rate: x * 1.0 if mask is None else x * mask * (1 / (1 - rate) if rate < 1 else 0.0),
    "equal": lambda a, b: (a == b).double(),
    "not_equal": lambda a, b: (a != b).double(),
    "greater_equal": lambda a, b: (a >= b).double(),
    "less_equal": lambda a, b: (a <= b).double(),
    "ceil": torch.ceil,
    "round": torch.round,
    "fmod": torch.fmod,
    "softmax": torch.softmax,
    "log_softmax": torch.log_softmax,
    "reduce_sum": reduce(torch.sum),
    "reduce_mean": reduce(torch.mean),
    "reduce_max": reduce(torch.amax),
    "reduce_min": reduce(torch.amin),
    "reduce_prod": reduce(prod),
    "reduce_logsumexp": reduce(torch.logsumexp),
    "reduce_l1": reduce(lambda x, a, k: x.abs().sum(a, k)),
    "reduce_l2": reduce(lambda x, a, k: x.square().sum(a, k).sqrt()),
    "reduce_sum_square": reduce(lambda x, a, k: x.square().sum(a, k)),
    "reduce_log_sum": reduce(lambda x, a, k: x.sum(a, k).log()),
    "argmax": extreme,
    "argmin": lambda x, axis, keepdims, select_last_index: extreme(-x, axis, keepdims, select_last_index),
    "top_k": lambda x, k, axis, largest: [  # not topk: which of two equal entries that names is by chance
        each.narrow(axis, 0, k).double() for each in x.sort(dim=axis, descending=largest, stable=True)
    ],
    "cumsum": running(torch.cumsum, 0.0),
    "cumprod": running(torch.cumprod, 1.0),
    "reshape": lambda x, shape: x.reshape(shape),
    "transpose": lambda x, axes: x.permute(axes or tuple(range(x.ndim))[::-1]),
    "squeeze": lambda x, axis: x.squeeze() if axis is None else x.squeeze(axis),
    "expand": lambda x, shape: torch.broadcast_to(x, np.broadcast_shapes(x.shape, shape)),
    "concat": lambda tensors, axis: torch.cat(tensors, axis),
    "stack": lambda tensors, axis: torch.stack(tensors, axis),
    "split": lambda x, axis, sizes, parts: list(x.split(-(-x.shape[axis] // parts) if sizes is None else sizes, axis)),
    "unstack": lambda x, axis: list(x.unbind(axis)),
    "slice": slices,
    "tile": lambda x, repeats: x.repeat(repeats),
    "pad": pad,
    "trilu": lambda x, upper, k: x.triu(k) if upper else x.tril(k),
    "reverse": lambda x, axis: x.flip(axes_of(axis, x)),
    "roll": lambda x, shift, axis: x.roll(shift, axes_of(axis, x)),
    "space_to_depth": lambda x, block, data_format: (
        None
        if data_format == last
        else x.reshape(x.shape[0], x.shape[1], x.shape[2] // block, block, x.shape[3] // block, block)
        .permute(0, 3, 5, 1, 2, 4)
        .reshape(x.shape[0], -1, x.shape[2] // block, x.shape[3] // block)
    ),
    "depth_to_space": lambda x, block, data_format, mode: (
        back(F.pixel_shuffle(image(x, data_format), block), data_format) if mode == "CRD" else None
    ),
    "gather": gather,
    "gather_elements": elements,
    "scatter_elements": scatter,
    "one_hot": lambda x, depth, axis, on, off: (
        torch.nn.functional.one_hot(x.long() % depth, depth).movedim(-1, axis).double() * (on - off) + off
    ),
    "matmul": lambda a, b, transpose_a, transpose_b: (a.mT if transpose_a else a) @ (b.mT if transpose_b else b),
    "gemm": gemm,
    "einsum": lambda tensors, equation: torch.einsum(equation, *tensors),
    "attention": attention,
    "add_n": lambda tensors: sum(tensors[1:], tensors[0] * 1.0),
    "mean_n": lambda tensors: sum(tensors) / len(tensors),
    "cross": lambda a, b, axis: torch.linalg.cross(a, b, dim=axis),
    "bias_add": lambda x, bias, data_format: x + spread(bias, x, 1 if data_format == "NCHW" else x.ndim - 1),
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise,
    "conv2d_transpose": conv2d_transpose,
    "max_pool2d": max_pool2d,
    "avg_pool2d": avg_pool2d,
    "lp_pool2d": lp_pool2d,
    "global_avg_pool2d": lambda x, data_format: x.mean(over(x, data_format), True),
    "global_max_pool2d": lambda x, data_format: x.amax(over(x, data_format), True),
    "global_lp_pool2d": lambda x, data_format, p: (x.abs() ** p).sum(over(x, data_format), True) ** (1 / p),
    "batch_norm": batch_norm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "instance_norm": instance_norm,
    "group_norm": group_norm,
    "local_response_norm": local_response_norm,
    "lp_norm": lambda x, axis, p: F.normalize(x, p, axis, 0.0),
    "mean_variance_norm": lambda x, axis, epsilon: (
        (x - x.mean(axis, True)) / (x.var(axis, keepdim=True, correction=0) + epsilon).sqrt()
    ),
    "rnn": lambda x, w, r, b, initial_h, direction, lengths, batch_first, activations: (
        None if lengths or activations else RNN(x, w, r, b, [initial_h], direction, batch_first)
    ),
    "gru": lambda x, w, r, b, initial_h, direction, lengths, batch_first, activations, linear_before_reset: (
        None if lengths or not linear_before_reset else GRU(x, w, r, b, [initial_h], direction, batch_first)
    ),
    "lstm": lambda x, w, r, b, initial_h, initial_c, p, direction, lengths, batch_first, activations, input_forget: (
        None
        if lengths or p is not None or input_forget
        else LSTM(x, w, r, b, [initial_h, initial_c], direction, batch_first)
    ),
    "nll_loss": likelihood,
    "softmax_cross_entropy_loss": lambda x, axis, **how: likelihood(torch.log_softmax(x, axis), axis=axis, **how),
    "softmax_cross_entropy_with_logits": lambda z, y: -(y * torch.log_softmax(z, -1)).sum(-1),
    **LOSSES,
}

KEYWORDS = {"conv2d", "conv2d_transpose", "nll_loss", "softmax_cross_entropy_loss"}  # take operands by name

RULES = {
    "equal": torch.eq,
    "heaviside": lambda x: torch.where(x.isnan(), x.detach(), x > 0),
    "mod": torch.remainder,
    "logsumexp": lambda a, b: torch.logsumexp(torch.stack([a, b]), 0),
    "sign": lambda x: torch.where(x.isnan(), 0.0 * x, x.sign()),  # torch's own of NaN is 0
    "softplus": F.softplus,
    "where": lambda c, a, b: torch.where(c != 0, a, b),
}


def of_rule(name):
    """A rule of the scalar catalogue, in torch."""
    function = RULES.get(name) or getattr(torch, name)
    return lambda *xs: function(*torch.broadcast_tensors(*xs)).double()
