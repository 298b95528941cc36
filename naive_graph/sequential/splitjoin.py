"""Decompose one dataflow operator into a splitjoin: splits, parallel workers that each do a share, and a join.

    Dense forward     duplicate x; worker j computes the results of its units
    Dense backward    roundrobin x, duplicate delta; worker i has rows i of W
    Conv forward      duplicate x; each worker its filters
    Conv backward     dilate delta, duplicate that and x; each worker its channels
    Pool, both        roundrobin x (and delta); each worker its channels

A roundrobin splits along the last axis, and the join concatenates in that order.
The result is that of the undivided operator, up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.number import shortened
from ..errors import SequentialError
from ..tensor.evaluation.cached_function import PlannedFunction
from ..tensor.nodes import LeafNode
from ..tensor.operators.convolution import conv2d
from .compute import LayerArithmetic, make_arithmetic
from .dataflow import Dataflow, StreamOperator
from .layer_args import is_integer
from .layers import Conv2D, Dense, LayerInNetwork, Pooling

Array = Any


def decompose_operators(flow: Dataflow, grain: int | Mapping[str, int] = 1) -> Dataflow:
    """Decompose every Dense, Conv2D and pooling operator of a dataflow into split, workers and join.

    grain: units, rows or channels per worker; a dict by operator name decomposes only those.

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
    made = Dataflow(flow.layers, flow.name)
    readers: dict[str, str] = {}  # by input stream of a decomposed operator: its new reader
    for operator in flow.operators.values():
        count = max_shares(flow, operator)
        if count is None or operator.name not in grains:
            made.add(StreamOperator(operator.name, operator.kind, operator.layer))
        else:
            step = grains[operator.name]
            ranges = [range(start, min(start + step, count)) for start in range(0, count, step)]
            readers |= _split_operator(made, flow, operator, ranges)
    for stream in flow.streams.values():
        writer = stream.writer if stream.writer in ("", *made.operators) else f"{stream.writer}.join"
        made.connect(stream.name, writer, readers.get(stream.name, stream.reader), stream.shape)
    for operator in flow.operators.values():
        if f"{operator.name}.join" in made.operators:
            _connect_parts(made, operator)
    return made


def _split_operator(made: Dataflow, flow: Dataflow, operator: StreamOperator, ranges: list[range]) -> dict[str, str]:
    """Add the splits, workers and join of an operator; return the new reader of each of its input streams."""
    placed = flow.layers[operator.layer - 1]
    readers = {}
    for stream in operator.inputs:
        delta = operator.kind == "backward" and operator.inputs[0] == stream  # of a backward, the gradient comes first
        name = readers[stream] = f"{operator.name}.split_{'delta' if delta else 'x'}"
        if isinstance(placed.layer, Conv2D) and delta:
            readers[stream] = f"{operator.name}.dilate"
            made.add(StreamOperator(readers[stream], "dilate", operator.layer))
        every = delta or operator.kind == "forward"
        is_duplicated = isinstance(placed.layer, Conv2D) or (isinstance(placed.layer, Dense) and every)
        cuts = () if is_duplicated else tuple(span.start for span in ranges[1:])
        made.add(StreamOperator(name, "duplicate" if is_duplicated else "roundrobin", operator.layer, cuts=cuts))
    for number, share in enumerate(ranges):
        made.add(StreamOperator(f"{operator.name}.worker_{number}", operator.kind, operator.layer, share=share))
    made.add(StreamOperator(f"{operator.name}.join", "join", operator.layer))
    return readers


def _connect_parts(made: Dataflow, operator: StreamOperator) -> None:
    """Connect splits to workers, and workers to the join, by streams of the right shapes."""
    placed, name = made.layers[operator.layer - 1], operator.name
    parts = [worker for worker in made.operators.values() if worker.share and worker.name.startswith(f"{name}.worker_")]
    small = [worker_layer(placed, worker) for worker in parts]
    for stream in operator.inputs:
        reader, shape = made.streams[stream].reader, made.streams[stream].shape
        if made.operators[reader].kind == "dilate":
            reader, before = f"{name}.split_delta", reader
            shape = dilated_shape(placed)
            made.connect(f"{before}_out", before, reader, shape)
        for number, (part, share) in enumerate(zip(small, parts)):
            if made.operators[reader].kind == "roundrobin":
                shape = part.output_shape if reader.endswith("delta") else part.input_shape
            made.connect(f"{reader}_{number}", reader, share.name, shape)
    for part, share in zip(small, parts):
        shape = part.output_shape if share.kind == "forward" else part.input_shape
        made.connect(f"{share.name}_out", share.name, f"{name}.join", shape)


def max_shares(flow: Dataflow, operator: StreamOperator) -> int | None:
    """Into how many parts an operator can be split at most; None if it cannot be split."""
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
    layer, forwards, count = placed.layer, operator.kind == "forward", len(operator.share or ())
    biased = {"use_bias": int("b" in locate_weights(placed, operator))}
    shape = placed.input_shape
    small: Any = layer
    if isinstance(layer, Dense):
        small = Dense(count if forwards else layer.units, **biased)
        shape = shape if forwards else (count,)
    elif isinstance(layer, Conv2D):
        filters = count if forwards else layer.filters
        small = Conv2D(filters, layer.kernel_size, layer.strides, padding=layer.padding, **biased)
        shape = shape if forwards else (*shape[:2], count)
    else:
        shape = (*shape[:2], count)
    return LayerInNetwork(small, placed.number, None, shape)


def locate_weights(placed: LayerInNetwork, operator: StreamOperator) -> dict[str, Any]:
    """By name, the index of an operator's part within its layer's weights: read by both, updated by a backward."""
    if operator.kind not in ("forward", "backward"):
        return {}
    share = operator.share
    if share is None:
        return dict.fromkeys(placed.weight_shapes, ...)
    cut = slice(share.start, share.stop)
    if operator.kind == "forward":
        last = (..., cut) if isinstance(placed.layer, Dense) else (cut,)
        return {name: last if name == "W" else cut for name in placed.weight_shapes}
    first = (cut,) if isinstance(placed.layer, Dense) else (slice(None), cut)
    mine = {"W": first} | ({} if share.start else {"b": ...})  # only the first worker has the bias
    return {name: mine[name] for name in mine if name in placed.weight_shapes}


class WorkerArithmetic:
    """The arithmetic of one worker: a smaller layer, applied to its part of the whole layer's weights."""

    def __init__(self, placed: LayerInNetwork, operator: StreamOperator) -> None:
        assert operator.share is not None
        self.index = locate_weights(placed, operator)
        self.channels = slice(operator.share.start, operator.share.stop)
        part = worker_layer(placed, operator)
        spread = isinstance(placed.layer, Conv2D) and operator.kind == "backward"
        self.arithmetic = DilatedConvArithmetic(part) if spread else make_arithmetic(part)

    def forward(self, x: Array, whole: Mapping[str, Array]) -> tuple[Array, Array | None]:
        return self.arithmetic.forward(x, self._own_weights(whole))

    def backward(self, delta: Array, held: Array | None, whole: Mapping[str, Array]) -> Array:
        return self.arithmetic.backward(delta, self._seen(held), self._own_weights(whole))

    def learned(self, delta: Array, held: Array | None, whole: Mapping[str, Array]) -> dict[str, Array]:
        """The gradients of this part of the weights."""
        return self.arithmetic.learned(delta, self._seen(held), self._own_weights(whole))

    def _own_weights(self, weights: Mapping[str, Array]) -> dict[str, Array]:
        return {name: weights[name][index] for name, index in self.index.items()}

    def _seen(self, held: Array | None) -> Array | None:
        if held is None or not isinstance(self.arithmetic, DilatedConvArithmetic):
            return held
        return held[..., self.channels]


class DilatedConvArithmetic(LayerArithmetic):
    """A convolution's backward from the dilated delta: dx is its correlation with the flipped kernel."""

    def _made(self, count: int) -> tuple[PlannedFunction, PlannedFunction]:
        _, learned = super()._made(count)
        layer: Any = self.layer_in_network.layer
        (ph, pw), (height, width, _) = layer.padding, self.layer_in_network.input_shape
        spread = LeafNode.input((count, *dilated_shape(self.layer_in_network)), "E")
        kernel: Any = LeafNode.input(self.layer_in_network.weight_shapes["W"], "W")
        turned = kernel[:, :, ::-1, ::-1].transpose(2, 3, 0, 1)  # (kh, kw, filters, channels)
        padded_dx: Any = conv2d(spread, turned)
        dx = padded_dx[:, ph : ph + height, pw : pw + width]
        return PlannedFunction([spread, kernel], [dx]), learned

    def backward(self, delta: Array, held: Array | None, weights: Mapping[str, Array]) -> Array:
        return self.planned_functions(len(delta))[0](delta, weights["W"])[0]

    def learned(self, delta: Array, held: Array | None, weights: Mapping[str, Array]) -> dict[str, Array]:
        return super().learned(delta[:, *_dilation_slices(self.layer_in_network)], held, weights)
