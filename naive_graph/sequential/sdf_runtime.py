"""Run a synchronous dataflow graph: an operator fires as soon as each of its input streams holds a sample.

`NetworkMachine.fire` computes one firing. `firings` runs a whole network sample
by sample, as the stepper shows it; training and its workers fire blocks of
samples by the same machine.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import SequentialError
from .compute import LayerArithmetic, Loss
from .dataflow import Dataflow, StreamOperator
from .network import MOST_AT_ONCE, Network
from .splitjoin import dilate_delta, join_results, locate_weights, split_samples, worker_arithmetic

Array = Any


class Firing(NamedTuple):
    """One firing of an operator: its inputs and outputs by stream, and the gradients and losses that it computed.

    From `firings` it is for one sample, otherwise for a block: the samples lie
    along the first axis, gradients are summed, and loss lists the losses.
    """

    operator: str
    iteration: int  # number of the first sample, from 1
    taken: dict[str, Array]  # inputs, by stream
    given: dict[str, Array]  # outputs, by stream
    gradients: dict[str, Array]  # of the weights, by name; of a backward operator
    loss: Any = None  # of the loss operator
    part: Mapping[str, Any] = {}  # by name: the index of the gradients within the layer's weights


class NetworkMachine:
    """Computes what each operator of a network does with a block of samples.

    later: defer weight gradients: a backward gives the pair (delta, saved) that they are computed from, and
    `sum_gradients` computes them for up to MOST_AT_ONCE samples at once, by one matrix product instead of several.
    """

    def __init__(self, network: Network, training: bool = True, last: str = "", later: bool = False) -> None:
        self.arithmetic = network.arithmetic
        self.loss = Loss(network.loss, network.output_shape)
        self.seed = network.seed
        self.layers = network.layers
        self.shares: dict[str, LayerArithmetic] = {}  # of workers, by operator
        self.training = training
        self.last = last  # an output stream without a reader: not computed
        self.later = later

    def fire(
        self, operator: StreamOperator, taken: Mapping[str, Array], weights: Mapping[str, Array], iteration: int
    ) -> Firing:
        """Fire an operator once. weights: of the operator's layer, by name. iteration: number of the first sample,
        from 1; it decides what a Dropout drops."""
        inputs, weights = [taken[name] for name in operator.inputs], self._select_weights(operator, weights)
        gradients: dict[str, Array] = {}
        loss = None
        placed = self.layers[operator.layer - 1]
        if operator.kind in ("copy", "duplicate"):
            results = inputs * len(operator.outputs)
        elif operator.kind == "loss":
            loss, slope = self.loss(*inputs)
            results = [slope]
        elif operator.kind == "roundrobin":
            results = split_samples(placed, operator, inputs[0])
        elif operator.kind == "dilate":
            results = [dilate_delta(placed, inputs[0])]
        elif operator.kind == "join":
            results = [join_results(placed, operator, inputs)] * len(operator.outputs)
        elif operator.kind == "forward":
            results = self._forward(operator, inputs[0], weights, iteration)
        else:
            layer, delta_and_residual = self._layer(operator), (inputs[0], inputs[1] if len(inputs) > 1 else None)
            results = [None if operator.outputs == [self.last] else layer.backward(*delta_and_residual, weights)]
            deferred = dict(zip(("delta", "saved"), delta_and_residual)) if placed.weight_shapes else {}
            gradients = deferred if self.later else layer.weight_gradients(*delta_and_residual, weights)
        return Firing(operator.name, iteration, dict(taken), dict(zip(operator.outputs, results)), gradients, loss)

    def _select_weights(self, operator: StreamOperator, weights: Mapping[str, Array]) -> Mapping[str, Array]:
        """The operator's share of its layer's weights."""
        if operator.share is None:
            return weights
        index_by_name = locate_weights(self.layers[operator.layer - 1], operator)
        return {name: weights[name][index] for name, index in index_by_name.items()}

    def _layer(self, operator: StreamOperator) -> LayerArithmetic:
        if operator.share is None:
            return self.arithmetic[operator.layer - 1]
        if operator.name not in self.shares:
            self.shares[operator.name] = worker_arithmetic(self.layers[operator.layer - 1], operator)
        return self.shares[operator.name]

    def add_gradients(self, total: dict[str, Array], block_gradients: Mapping[str, Array]) -> None:
        """Add a block's gradients to the totals; with `later`, append its (delta, saved) pair.

        The first block's arrays are stored without a copy: nobody writes into them.
        """
        for name, array in block_gradients.items():
            if name in total:
                array = np.concatenate([total[name], array]) if self.later else total[name] + array
            total[name] = array

    def sum_gradients(
        self, operator: StreamOperator, total: dict[str, Array], weights: Mapping[str, Array]
    ) -> dict[str, Array]:
        """The weight gradients of an operator, summed over a group, from the totals of `add_gradients`."""
        if not self.later or not total:
            return total
        sums: dict[str, Array] = {}
        for start in range(0, len(total["delta"]), MOST_AT_ONCE):
            delta, saved = (total[name][start : start + MOST_AT_ONCE] for name in ("delta", "saved"))
            gradients = self._layer(operator).weight_gradients(delta, saved, self._select_weights(operator, weights))
            sums = {name: sums[name] + array if sums else array for name, array in gradients.items()}
        return sums

    def _forward(self, operator: StreamOperator, x: Array, weights: Mapping[str, Array], iteration: int) -> list[Array]:
        numbers = range(iteration, iteration + len(x))
        seeds = [(self.seed, operator.layer, number) for number in numbers] if self.training else None
        result, residual = self._layer(operator).forward(x, weights, seeds)
        residual_stream = f"F{operator.layer}_B{operator.layer}"  # the residual's stream, read by the layer's backward
        return [residual if name == residual_stream else result for name in operator.outputs]


def training_machine(network: Network, later: bool = False) -> NetworkMachine:
    """The machine for training: it skips the gradient at the data, which has no reader."""
    return NetworkMachine(network, last=network.streams.result, later=later)


def _drop_sample_axis(flow: Dataflow, fired: Firing) -> Firing:
    """Drop the sample axis from a firing of one sample, and fill in `part`."""
    operator = flow.operators[fired.operator]
    taken, produced = ({name: array[0] for name, array in arrays.items()} for arrays in (fired.taken, fired.given))
    loss = None if fired.loss is None else fired.loss[0]
    part = locate_weights(flow.layers[operator.layer - 1], operator) if fired.gradients else {}
    return fired._replace(taken=taken, given=produced, loss=loss, part=part)


def firings(
    flow: Dataflow,
    machine: NetworkMachine,
    weights: Sequence[Mapping[str, Array]],
    feeds: Mapping[str, Sequence[Array]],
) -> Iterator[Firing]:
    """Push samples through the streams, until nothing can fire. feeds: samples of each stream from outside.

    >>> from .layers import Dense
    >>> net = Network([Dense(3, 0), Dense(2, 0)], 4, initializer=0.5)
    >>> x, y = net.samples([[1, 2, 3, 4]], [[1, 0]])
    >>> feeds = {"data": x, "label": y}
    >>> for each in firings(net.expand(), NetworkMachine(net), net.weights, feeds):
    ...     print(each.operator, {name: array.tolist() for name, array in each.given.items()})
    copy {'copy_1': [1.0, 2.0, 3.0, 4.0], 'copy_2': [1.0, 2.0, 3.0, 4.0]}
    FComp1 {'F1_F2': [5.0, 5.0, 5.0], 'F1_B2': [5.0, 5.0, 5.0]}
    FComp2 {'F2_loss': [7.5, 7.5]}
    lossComp {'_Loss': [6.5, 7.5]}
    BComp2 {'B2_B1': [7.0, 7.0, 7.0]}
    BComp1 {'res': [10.5, 10.5, 10.5, 10.5]}
    """
    queues = {name: deque(feeds.get(name, ())) for name in flow.streams}
    for name in feeds:
        if name not in queues or flow.streams[name].writer:
            outside = [stream.name for stream in flow.streams.values() if not stream.writer]
            raise SequentialError("UNDECLARED_STREAM", f"from outside come {', '.join(outside)}.", name)
    count = dict.fromkeys(flow.operators, 0)
    for name in ready_operators(flow, lambda name: all(queues[stream] for stream in flow.operators[name].inputs)):
        operator = flow.operators[name]
        count[name] += 1
        inputs = {stream: queues[stream].popleft()[None] for stream in operator.inputs}
        layer_weights = weights[operator.layer - 1] if operator.layer else {}
        fired = _drop_sample_axis(flow, machine.fire(operator, inputs, layer_weights, count[name]))
        for stream, sample in fired.given.items():
            queues[stream].append(sample)
        yield fired


def ready_operators(flow: Dataflow, can_fire: Callable[[str], bool]) -> Iterator[str]:
    """Yield each operator as soon as it can fire; the caller fires it before taking the next."""
    ready = deque(filter(can_fire, flow.operators))
    while ready:
        name = ready.popleft()
        if can_fire(name):
            yield name
            readers = [flow.streams[stream].reader for stream in flow.operators[name].outputs]
            ready += [candidate for candidate in dict.fromkeys([*readers, name]) if candidate and can_fire(candidate)]
