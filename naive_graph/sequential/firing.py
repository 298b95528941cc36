"""Running a dataflow: an operator fires as soon as each of its streams holds a sample.

`firings` is the one way in which operators run: training drains it, the stepper
shows it, workers fire the operators of their part by the same `NetworkMachine`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import SequentialError
from .compute import Loss
from .dataflow import Dataflow, StreamOperator
from .network import Network
from .splitjoin import Share, divided, joined

Array = Any


class Firing(NamedTuple):
    """One firing: what the operator took, what it gave, and what else it found."""

    operator: str
    iteration: int
    taken: dict[str, Array]
    given: dict[str, Array]
    gradients: dict[str, Array]  # of the layer's weights, by a backward
    loss: float | None = None  # by the loss
    part: Mapping[str, Any] = {}  # by a worker of a splitjoin: where its gradients lie in the layer's


class NetworkMachine:
    """What the operators of a network do with the samples in their streams."""

    def __init__(self, network: Network, training: bool = True) -> None:
        self.arithmetic = network.arithmetic
        self.loss = Loss(network.loss, network.output_shape)
        self.seed = network.seed
        self.layers = network.layers
        self.shares: dict[str, Share] = {}
        self.training = training

    def fire(
        self, operator: StreamOperator, taken: Mapping[str, Array], weights: Mapping[str, Array], iteration: int,
        flow: Dataflow | None = None,
    ) -> Firing:  # fmt: skip
        """One firing. weights: of the operator's layer, by name. iteration: from 1; it decides what a Dropout drops.

        flow: where a split finds its workers.
        """
        inputs = [taken[name] for name in operator.inputs]
        gradients: dict[str, Array] = {}
        part: Mapping[str, Any] = {}
        loss = None
        placed = self.layers[operator.layer - 1]
        if operator.kind == "copy":
            results = inputs * len(operator.outputs)
        elif operator.kind == "loss":
            loss, slope = self.loss(*inputs)
            results = [slope]
        elif operator.kind == "split":
            assert flow is not None
            results = divided(placed, operator, flow, inputs[0])
        elif operator.kind == "join":
            results = [joined(placed, operator, inputs)] * len(operator.outputs)
        elif operator.share is not None:
            share = self.shares.get(operator.name) or self.shares.setdefault(operator.name, Share(placed, operator))
            result, gradients = share.fire(inputs, weights)
            results, part = [result], share.index
        elif operator.kind == "forward":
            results = self._forward(operator, inputs[0], weights, iteration)
        else:
            held = inputs[1] if len(inputs) > 1 else None
            slope, gradients = self.arithmetic[operator.layer - 1].backward(inputs[0], held, weights)
            results = [slope]
        return Firing(
            operator.name, iteration, dict(taken), dict(zip(operator.outputs, results)), gradients, loss, part
        )

    def _forward(self, operator: StreamOperator, x: Array, weights: Mapping[str, Array], iteration: int) -> list[Array]:
        chance = (self.seed, operator.layer, iteration) if self.training else None
        result, kept = self.arithmetic[operator.layer - 1].forward(x, weights, chance)
        own = f"F{operator.layer}_B{operator.layer}"  # the stream of what it keeps
        return [kept if name == own else result for name in operator.outputs]


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
            outside = [each.name for each in flow.streams.values() if not each.writer]
            raise SequentialError("UNDECLARED_STREAM", f"from outside come {', '.join(outside)}.", name)
    count = dict.fromkeys(flow.operators, 0)
    ready = deque(name for name in flow.operators if _can_fire(flow, name, queues))
    while ready:
        name = ready.popleft()
        if not _can_fire(flow, name, queues):
            continue
        operator = flow.operators[name]
        count[name] += 1
        taken = {stream: queues[stream].popleft() for stream in operator.inputs}
        fired = machine.fire(operator, taken, weights[operator.layer - 1] if operator.layer else {}, count[name], flow)
        for stream, sample in fired.given.items():
            queues[stream].append(sample)
        yield fired
        readers = [flow.streams[stream].reader for stream in operator.outputs]
        ready += [each for each in dict.fromkeys([*readers, name]) if each and _can_fire(flow, each, queues)]


def _can_fire(flow: Dataflow, name: str, queues: Mapping[str, Sequence[Array]]) -> bool:
    return all(queues[stream] for stream in flow.operators[name].inputs)
