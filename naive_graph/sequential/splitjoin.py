"""Decompose one dataflow operator into a splitjoin: splits, parallel workers that each do a share, and a join.

    Dense forward     duplicate x; each worker computes the results of its units
    Dense backward    roundrobin x, duplicate delta; each worker has its rows of W
    Conv forward      duplicate x; each worker has its filters
    Conv backward     dilate delta, duplicate that and x; each worker has its channels
    Pool, both        roundrobin x (and delta); each worker has its channels

x is the layer's input, delta the gradient at its output. A split hands all workers the whole sample (duplicate), or
each a slice of the last axis (roundrobin); the join concatenates their results in that order. The result is that of
the undivided operator, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.number import shortened
from ..errors import SequentialError
from ..tensor.evaluation.evaluate import PlannedFunction
from ..tensor.nodes import LeafNode
from ..tensor.operators.convolution import conv2d
from .compute import LayerArithmetic, make_arithmetic
from .dataflow import Dataflow, StreamOperator
from .layer_args import is_integer
from .layers import Conv2D, Dense, LayerInNetwork, Pooling

Array = Any


def decompose_operators(flow: Dataflow, grain: int | Mapping[str, int] = 1) -> Dataflow:
    """Decompose every Dense, Conv2D and pooling operator of a dataflow into split, workers and join.

    grain: units, rows, filters or channels per worker; a dict by operator name decomposes only those.

    >>> from .layers import connect_layers
    >>> from .dataflow import expand_layers
    >>> flow = decompose_operators(expand_layers(connect_layers([Dense(2)], (3,))), grain=2)
    >>> [each.name for each in flow.operators.values() if each.layer]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['FComp1.split_x', 'FComp1.worker_0', 'FComp1.join',
     'BComp1.split_delta', 'BComp1.split_x', 'BComp1.worker_0', 'BComp1.worker_1', 'BComp1.join']
    """
    grains = grain if isinstance(grain, Mapping) else dict.fromkeys(flow.operators, grain)
    if not all(is_integer(size) and size >= 1 for size in grains.values()):
        raise SequentialError("ARG_RANGE", f"it is a whole number of at least 1, not {shortened(grain)}.", "grain")
    decomposed = Dataflow(flow.layers, flow.name)
    readers: dict[str, str] = {}  # by input stream of a decomposed operator: its new reader
    for operator in flow.operators.values():
        count = max_shares(flow, operator)
        if count is None or operator.name not in grains:
            decomposed.add(StreamOperator(operator.name, operator.kind, operator.layer))
        else:
            step = grains[operator.name]
            ranges = [range(start, min(start + step, count)) for start in range(0, count, step)]
            readers |= _split_operator(decomposed, flow, operator, ranges)
    for stream in flow.streams.values():
        writer = stream.writer if stream.writer in ("", *decomposed.operators) else f"{stream.writer}.join"
        decomposed.connect(stream.name, writer, readers.get(stream.name, stream.reader), stream.shape)
    for operator in flow.operators.values():
        if f"{operator.name}.join" in decomposed.operators:
            _connect_workers(decomposed, operator)
    return decomposed


def _split_operator(
    decomposed: Dataflow, flow: Dataflow, operator: StreamOperator, ranges: list[range]
) -> dict[str, str]:
    """Add the splits, workers and join of an operator; return the new reader of each of its input streams.

    ranges: each worker's units, rows, filters or channels.
    """
    placed = flow.layers[operator.layer - 1]
    readers = {}
    for stream in operator.inputs:
        is_delta = operator.kind == "backward" and operator.inputs[0] == stream  # a backward's first input is delta
        name = readers[stream] = f"{operator.name}.split_{'delta' if is_delta else 'x'}"
        if isinstance(placed.layer, Conv2D) and is_delta:
            readers[stream] = f"{operator.name}.dilate"
            decomposed.add(StreamOperator(readers[stream], "dilate", operator.layer))
        is_whole_needed = is_delta or operator.kind == "forward"
        is_duplicated = isinstance(placed.layer, Conv2D) or (isinstance(placed.layer, Dense) and is_whole_needed)
        cuts = () if is_duplicated else tuple(share.start for share in ranges[1:])
        kind = "duplicate" if is_duplicated else "roundrobin"
        decomposed.add(StreamOperator(name, kind, operator.layer, cuts=cuts))
    for number, share in enumerate(ranges):
        decomposed.add(StreamOperator(f"{operator.name}.worker_{number}", operator.kind, operator.layer, share=share))
    decomposed.add(StreamOperator(f"{operator.name}.join", "join", operator.layer))
    return readers


def _connect_workers(decomposed: Dataflow, operator: StreamOperator) -> None:
    """Connect splits to workers, and workers to the join, by streams of the right shapes."""
    placed, name, operators = decomposed.layers[operator.layer - 1], operator.name, decomposed.operators
    workers = [each for each in operators.values() if each.share and each.name.startswith(f"{name}.worker_")]
    layers = [worker_layer(placed, worker) for worker in workers]
    for stream in operator.inputs:
        split, shape = decomposed.streams[stream].reader, decomposed.streams[stream].shape
        if operators[split].kind == "dilate":
            dilate, split = split, f"{name}.split_delta"
            shape = dilated_shape(placed)
            decomposed.connect(f"{dilate}_out", dilate, split, shape)
        for number, (layer, worker) in enumerate(zip(layers, workers)):
            if operators[split].kind == "roundrobin":
                shape = layer.output_shape if split.endswith("delta") else layer.input_shape
            decomposed.connect(f"{split}_{number}", split, worker.name, shape)
    for layer, worker in zip(layers, workers):
        shape = layer.output_shape if worker.kind == "forward" else layer.input_shape
        decomposed.connect(f"{worker.name}_out", worker.name, f"{name}.join", shape)


def max_shares(flow: Dataflow, operator: StreamOperator) -> int | None:
    """The largest number of workers that an operator can be split into; None if it cannot be split."""
    if operator.kind not in ("forward", "backward"):
        return None
    placed = flow.layers[operator.layer - 1]
    layer = placed.layer
    if isinstance(layer, Dense):
        return int(layer.units if operator.kind == "forward" else np.prod(placed.input_shape))
    if isinstance(layer, Conv2D):
        return int(layer.filters) if operator.kind == "forward" else placed.input_shape[2]
    return placed.input_shape[2] if isinstance(layer, Pooling) else None


# --- splits, joins and workers ------------------------------------------------------------


def split_samples(placed: LayerInNetwork, operator: StreamOperator, samples: Array) -> list[Array]:
    """The roundrobin: a slice of the last axis for each worker."""
    if isinstance(placed.layer, Dense):
        samples = samples.reshape(len(samples), -1)
    return np.split(samples, operator.cuts, axis=-1)


def join_results(placed: LayerInNetwork, operator: StreamOperator, parts: list[Array]) -> Array:
    """The join: concatenate the workers' results along the last axis."""
    shape = placed.output_shape if operator.name.startswith("F") else placed.input_shape
    return np.concatenate(parts, axis=-1).reshape(-1, *shape)


def dilated_shape(placed: LayerInNetwork) -> tuple[int, ...]:
    """The shape of a convolution's dilated delta: a correlation with its kernel has the shape of the padded input."""
    layer: Any = placed.layer
    extents = zip(placed.input_shape[:2], layer.padding, layer.kernel_size, strict=True)
    return (*(n + 2 * p + k - 1 for n, p, k in extents), layer.filters)


def dilate_delta(placed: LayerInNetwork, delta: Array) -> Array:
    """Dilate delta for a convolution's backward: E[k - 1 + s i, k - 1 + s j] = delta[i, j], and zeros elsewhere."""
    dilated = np.zeros((len(delta), *dilated_shape(placed)))
    dilated[:, *_dilation_slices(placed)] = delta
    return dilated


def _dilation_slices(placed: LayerInNetwork) -> tuple[slice, ...]:
    """The slices of the dilated array that hold the entries of delta."""
    layer: Any = placed.layer
    extents = zip(layer.kernel_size, layer.strides, placed.output_shape)
    return tuple(slice(k - 1, k - 1 + s * n, s) for k, s, n in extents)


def worker_layer(placed: LayerInNetwork, operator: StreamOperator) -> LayerInNetwork:
    """The smaller layer of one worker: its share of the units, inputs, filters or channels."""
    layer, is_forward, count = placed.layer, operator.kind == "forward", len(operator.share or ())
    use_bias = int("b" in locate_weights(placed, operator))
    shape = placed.input_shape
    smaller: Any = layer
    if isinstance(layer, Dense):
        smaller = Dense(count if is_forward else layer.units, use_bias=use_bias)
        shape = shape if is_forward else (count,)
    elif isinstance(layer, Conv2D):
        filters = count if is_forward else layer.filters
        smaller = Conv2D(filters, layer.kernel_size, layer.strides, padding=layer.padding, use_bias=use_bias)
        shape = shape if is_forward else (*shape[:2], count)
    else:
        shape = (*shape[:2], count)
    return LayerInNetwork(smaller, placed.number, None, shape)


def locate_weights(placed: LayerInNetwork, operator: StreamOperator) -> dict[str, Any]:
    """For each weight's name, the index of an operator's share of it. A forward and a backward read their shares, and
    a backward updates its own.

    The worker of a Dense forward has columns of W, that of a Dense backward rows; a convolution's W begins with
    (filters, channels), of which a forward has filters and a backward channels.
    """
    if operator.kind not in ("forward", "backward"):
        return {}
    share = operator.share
    if share is None:
        return dict.fromkeys(placed.weight_shapes, ...)
    cut, is_dense = slice(share.start, share.stop), isinstance(placed.layer, Dense)
    index: dict[str, Any]
    if operator.kind == "forward":
        index = {"W": (..., cut) if is_dense else (cut,), "b": cut}
    else:
        index = {"W": (cut,) if is_dense else (slice(None), cut)}
        if not share.start:  # only the first worker has the bias
            index["b"] = ...
    return {name: index[name] for name in index if name in placed.weight_shapes}


def worker_arithmetic(placed: LayerInNetwork, operator: StreamOperator) -> LayerArithmetic:
    """The arithmetic of one worker: that of a smaller layer, for its share of the whole layer's weights."""
    layer = worker_layer(placed, operator)
    if isinstance(placed.layer, Conv2D) and operator.kind == "backward" and operator.share is not None:
        return DilatedConvArithmetic(layer, slice(operator.share.start, operator.share.stop))
    return make_arithmetic(layer)


class DilatedConvArithmetic(LayerArithmetic):
    """A convolution's backward from the dilated delta E: dx is the correlation of E with the flipped kernel.

    channels: the worker's channels of the layer's input, which a duplicate hands over whole.
    """

    def __init__(self, layer_in_network: LayerInNetwork, channels: slice) -> None:
        super().__init__(layer_in_network)
        self.channels = channels

    def _plan(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        _, backward = super()._plan(count)
        layer: Any = self.layer_in_network.layer
        (ph, pw), (height, width, _) = layer.padding, self.layer_in_network.input_shape
        dilated = LeafNode.input((count, *dilated_shape(self.layer_in_network)), "E")
        kernel: Any = LeafNode.input(self.layer_in_network.weight_shapes["W"], "W")
        flipped = kernel[:, :, ::-1, ::-1].transpose(2, 3, 0, 1)  # (kernel height and width, filters, channels)
        padded_dx: Any = conv2d(dilated, flipped)
        dx = padded_dx[:, ph : ph + height, pw : pw + width]
        return PlannedFunction([dilated, kernel], [dx]), backward  # no forward: dx takes its place

    def backward(self, delta: Array, saved: Array | None, weights: Mapping[str, Array]) -> Array:
        return self.planned_functions(len(delta))[0](delta, weights["W"])[0]

    def weight_gradients(self, delta: Array, saved: Array | None, weights: Mapping[str, Array]) -> dict[str, Array]:
        assert saved is not None
        small_delta = delta[:, *_dilation_slices(self.layer_in_network)]
        return super().weight_gradients(small_delta, saved[..., self.channels], weights)
