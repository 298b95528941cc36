"""An operator taken apart: a split, workers that each do a share, and a join.

    Dense forward     x to all; worker j computes the results of its units
    Dense backward    x in turns, delta to all; worker i has rows i of W
    Conv forward      x to all; each worker its filters
    Conv backward     delta spread out (`dilated`) and x to all; each worker its channels
    Pool, both        x (and delta) in turns; each worker its channels

What goes in turns is cut along its last axis, and joined again in that order.
Together they compute what the undivided operator computes, to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import SequentialError
from ..tensor.differentiate import gradients
from ..tensor.nodes import LeafNode
from ..tensor.operators.convolution import conv2d
from .compute import Calculation, LayerArithmetic, arithmetic
from .dataflow import Dataflow, StreamOperator
from .fields import is_whole
from .layers import Conv2D, Dense, Placed, Pooling

Array = Any


def decomposed(flow: Dataflow, grain: int = 1) -> Dataflow:
    """The dataflow with every Dense, Conv2D and pooling operator taken apart. grain: units, rows or channels a worker.

    >>> from .layers import placed
    >>> from .dataflow import expanded
    >>> flow = decomposed(expanded(placed([Dense(2)], (3,))), grain=2)
    >>> [each.name for each in flow.operators.values() if each.layer]
    ... # doctest: +NORMALIZE_WHITESPACE
    ['FComp1.split_x', 'FComp1.worker_0', 'FComp1.join',
     'BComp1.split_delta', 'BComp1.split_x', 'BComp1.worker_0', 'BComp1.worker_1', 'BComp1.join']
    """
    if not is_whole(grain) or grain < 1:
        raise SequentialError("ARG_RANGE", f"it is a whole number of at least 1, not {grain!r}.", "grain")
    made = Dataflow(flow.layers)
    ends: dict[str, list[str]] = {}  # of an operator: what reads each of its inputs, by stream
    for operator in flow.operators.values():
        count = shares(flow, operator)
        if count is None:
            made.add(StreamOperator(operator.name, operator.kind, operator.layer))
            continue
        for stream in operator.inputs:
            made.add(StreamOperator(_split(operator, stream), "split", operator.layer))
        for number, start in enumerate(range(0, count, grain)):
            share = range(start, min(start + grain, count))
            made.add(StreamOperator(f"{operator.name}.worker_{number}", operator.kind, operator.layer, share=share))
        made.add(StreamOperator(f"{operator.name}.join", "join", operator.layer))
        ends[operator.name] = list(operator.inputs)
    for each in flow.streams.values():
        writer = f"{each.writer}.join" if each.writer in ends else each.writer
        reader = _split(flow.operators[each.reader], each.name) if each.reader in ends else each.reader
        made.connect(each.name, writer, reader, each.shape)
    for name in ends:
        _inner_streams(made, flow.operators[name])
    return made


def _split(operator: StreamOperator, stream: str) -> str:
    """The split of one input: of a backward, the gradient comes first."""
    delta = operator.kind == "backward" and operator.inputs[0] == stream
    return f"{operator.name}.split_{'delta' if delta else 'x'}"


def _inner_streams(made: Dataflow, operator: StreamOperator) -> None:
    workers = [each for each in made.operators if each.startswith(f"{operator.name}.worker_")]
    for stream in operator.inputs:
        split = _split(operator, stream)
        for worker in workers:
            number = worker.rpartition("_")[2]
            made.connect(f"{split}_{number}", split, worker, made.streams[stream].shape)
    for worker in workers:
        made.connect(f"{worker}_out", worker, f"{operator.name}.join", ())


def shares(flow: Dataflow, operator: StreamOperator) -> int | None:
    """Into how many parts an operator can be taken; None if it stays whole."""
    if operator.kind not in ("forward", "backward"):
        return None
    placed = flow.layers[operator.layer - 1]
    layer = placed.layer
    if isinstance(layer, Dense):
        return int(layer.units if operator.kind == "forward" else np.prod(placed.input_shape))
    if isinstance(layer, Conv2D):
        return int(layer.filters) if operator.kind == "forward" else placed.input_shape[2]
    return placed.input_shape[2] if isinstance(layer, Pooling) else None


# --- what the parts do ------------------------------------------------------------


def divided(placed: Placed, operator: StreamOperator, flow: Dataflow, array: Array) -> list[Array]:
    """What a split gives its workers: all of it, or a slice of the last axis each."""
    whole, _, end = operator.name.partition(".")
    workers = [flow.operators[f"{whole}.worker_{stream.rpartition('_')[2]}"] for stream in operator.outputs]
    kind, layer, delta = workers[0].kind, placed.layer, end == "split_delta"
    if isinstance(layer, Conv2D) and delta:
        array = dilated(layer, array, placed.input_shape)
    if isinstance(layer, Conv2D) or (isinstance(layer, Dense) and (kind == "forward" or delta)):
        return [array] * len(workers)
    if isinstance(layer, Dense):
        array = array.reshape(-1)
    return [array[..., each.share.start : each.share.stop] for each in workers if each.share is not None]


def joined(placed: Placed, operator: StreamOperator, parts: list[Array]) -> Array:
    """The workers' results, one after the other along the last axis."""
    shape = placed.output_shape if operator.name.startswith("F") else placed.input_shape
    return np.concatenate(parts, axis=-1).reshape(shape)


def dilated(layer: Any, delta: Array, input_shape: tuple[int, ...]) -> Array:
    """delta spread out for a convolution's backward: E[k - 1 + s i, k - 1 + s j] = delta[i, j], and zeros between."""
    (kh, kw), (sh, sw), (ph, pw) = layer.kernel_size, layer.strides, layer.padding
    spread = np.zeros((input_shape[0] + 2 * ph + kh - 1, input_shape[1] + 2 * pw + kw - 1, delta.shape[2]))
    spread[kh - 1 :: sh, kw - 1 :: sw][: delta.shape[0], : delta.shape[1]] = delta
    return spread


class Share:
    """One worker: a smaller layer with its part of the weights."""

    def __init__(self, placed: Placed, operator: StreamOperator) -> None:
        assert operator.share is not None
        layer, share = placed.layer, operator.share
        self.forwards = operator.kind == "forward"
        self.index = {name: _part(layer, name, self.forwards, share) for name in placed.weight_shapes}
        if not self.forwards and share.start:
            self.index.pop("b", None)  # the first worker alone has the bias
        biased = {"use_bias": int("b" in self.index)}
        count = len(share)
        shape = placed.input_shape
        if isinstance(layer, Dense):
            small: Any = Dense(count if self.forwards else layer.units, **biased)
            shape = shape if self.forwards else (count,)
        elif isinstance(layer, Conv2D):
            filters = count if self.forwards else layer.filters
            small = Conv2D(filters, layer.kernel_size, layer.strides, padding=layer.padding, **biased)
            shape = shape if self.forwards else (*shape[:2], count)
        else:
            small, shape = layer, (*shape[:2], count)
        self.share = share
        part = Placed(small, placed.number, None, shape)
        spread = isinstance(layer, Conv2D) and not self.forwards
        self.arithmetic = SpreadArithmetic(part) if spread else arithmetic(part)

    def weights(self, whole: Mapping[str, Array]) -> dict[str, Array]:
        return {name: whole[name][index] for name, index in self.index.items()}

    def fire(self, inputs: list[Array], whole: Mapping[str, Array]) -> tuple[Array, dict[str, Array]]:
        """The result, and the gradients of this part of the weights."""
        mine = self.weights(whole)
        if self.forwards:
            return self.arithmetic.forward(inputs[0], mine)[0], {}
        held = inputs[1] if len(inputs) > 1 else None
        if isinstance(self.arithmetic, SpreadArithmetic) and held is not None:
            held = held[..., self.share.start : self.share.stop]
        return self.arithmetic.backward(inputs[0], held, mine)


def _part(layer: Any, name: str, forwards: bool, share: range) -> Any:
    """Where a worker's weights lie in the layer's."""
    cut = slice(share.start, share.stop)
    if name == "b":
        return cut if forwards else slice(None)
    if isinstance(layer, Dense):
        return (slice(None), cut) if forwards else (cut,)
    return (cut,) if forwards else (slice(None), cut)


class SpreadArithmetic(LayerArithmetic):
    """A convolution's backward from delta spread out: dx correlates it with the kernel turned round."""

    def __init__(self, placed: Placed) -> None:
        super().__init__(placed)
        layer: Any = placed.layer
        (kh, kw), (ph, pw), (height, width, _) = layer.kernel_size, layer.padding, placed.input_shape
        spread = LeafNode.input((height + 2 * ph + kh - 1, width + 2 * pw + kw - 1, layer.filters), "E")
        kernel: Any = self.weights[0]
        turned = kernel[:, :, ::-1, ::-1].transpose(2, 3, 0, 1)  # (kh, kw, filters, channels)
        whole: Any = conv2d(spread, turned)
        dx = whole[ph : ph + height, pw : pw + width]
        self.correlated = Calculation([spread, self.weights[0]], [dx])
        found = gradients((self.result * self.delta).sum(), self.weights)
        self.learned = Calculation([self.delta, self.x, *self.weights], found)

    def backward(
        self, delta: Array, held: Array | None, weights: Mapping[str, Array]
    ) -> tuple[Array, dict[str, Array]]:
        layer: Any = self.placed.layer
        (kh, kw), (sh, sw) = layer.kernel_size, layer.strides
        high, wide, _ = self.placed.output_shape
        given = [weights[name] for name in self.names]
        undone = delta[kh - 1 :: sh, kw - 1 :: sw][:high, :wide]
        (dx,) = self.correlated(delta, given[0])
        return dx, dict(zip(self.names, self.learned(undone, held, *given)))
