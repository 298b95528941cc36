"""Weight updates of minibatch training, serial or pipelined with stale (delayed) weights.

With U_g the weights that group g of m samples uses, U_0 = U_1 the initial ones:

    serial      U_{g+1} = U_g     - rate * mean of the group's gradients at U_g
    delayed     U_{g+2} = U_{g+1} - rate * mean of the group's gradients at U_g
    alternate   U_{g+2} = U_g     - rate * mean of the group's gradients at U_g

The delayed policy suits a pipeline with two buffers of weights: while group g + 1 is
under way with U_{g+1}, group g writes U_{g+2} over U_g.

Operators fire for blocks of a group's samples (`blocks`). A group's gradients are summed
in one order, whoever fires the operators, so all ways to run a policy with blocks of one
size give the same bits. Sums over blocks of another size differ by rounding, at most by
2 n eps times the sum of the terms' magnitudes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.number import shortened
from ..errors import SequentialError
from .dataflow import Dataflow, StreamOperator
from .network import MOST_AT_ONCE, Network, Weights
from .pipeline import Schedule
from .sdf_runtime import NetworkMachine, training_machine
from .splitjoin import locate_weights

POLICIES = ("serial", "delayed", "alternate")
Array = Any
Gradients = dict[str, dict[str, Array]]  # by operator, then by the weight's name
IN_CACHE = 16_384  # entries that an update processes at a time, to stay in the cache


def copy_weights(weights: Weights) -> Weights:
    return [{name: array.copy() for name, array in layer.items()} for layer in weights]


def check_policy(policy: object) -> str:
    if policy not in POLICIES:
        raise SequentialError("BAD_VALUE", f"it is one of {', '.join(POLICIES)}, not {shortened(policy)}.", "policy")
    return str(policy)


def doubled(weights: Weights) -> list[Weights]:
    """The two buffers at the start of training: U_0 and U_1, both copies of the initial weights."""
    return [copy_weights(weights), copy_weights(weights)]


def newest(buffers: Sequence[Weights], ended: int) -> Weights:
    """The newest weights after `ended` groups."""
    return buffers[(ended + 1) % 2]


def fire_operators(
    machine: NetworkMachine, operators: Iterable[StreamOperator], weights: Sequence[Mapping[str, Array]],
    streams: dict[str, Array], totals: Gradients, iteration: int,
) -> list[float]:  # fmt: skip
    """Fire operators once each, in the given order; return the losses, if the loss operator is among them.

    streams: a block of samples by stream; inputs are removed, outputs are added. weights: the weights of all layers.
    totals: the sums of gradients by operator, added to. iteration: number of the first sample.
    """
    losses: list[float] = []
    for operator in operators:
        inputs = {name: streams.pop(name) for name in operator.inputs}
        fired = machine.fire(operator, inputs, weights[operator.layer - 1] if operator.layer else {}, iteration)
        streams.update(fired.given)
        if fired.gradients:
            machine.add_gradients(totals.setdefault(operator.name, {}), fired.gradients)
        losses += fired.loss or ()
    return losses


def process_group(
    machine: NetworkMachine, flow: Dataflow, weights: Sequence[Mapping[str, Array]], samples: Array, labels: Array,
    members: range, first: int, size: int = MOST_AT_ONCE,
) -> tuple[Gradients, list[float]]:  # fmt: skip
    """Pass a group of samples in blocks of `size`; return the summed gradients by operator, and the losses.

    members: the group's samples, by index. first: the number of samples in earlier runs.
    """
    totals: Gradients = {}
    data, label = (stream.name for stream in flow.streams.values() if not stream.writer)
    losses: list[float] = []
    for block in blocks(members, size):
        streams = {data: samples[block.start : block.stop], label: labels[block.start : block.stop]}
        losses += fire_operators(machine, flow.operators.values(), weights, streams, totals, first + block.start + 1)
    return sum_group_gradients(machine, flow, weights, totals), losses


def sum_group_gradients(
    machine: NetworkMachine, flow: Dataflow, weights: Sequence[Mapping[str, Array]], totals: Gradients
) -> Gradients:
    """The weight gradients of a group by operator, from the totals of its blocks (see NetworkMachine.sum_gradients)."""
    sums = {}
    for name, total in totals.items():
        operator = flow.operators[name]
        sums[name] = machine.sum_gradients(operator, total, weights[operator.layer - 1])
    return sums


class DoubleBuffer:
    """Double-buffered weights of all layers: group g reads U_g in buffer g mod 2, and writes U_{g+2} over it."""

    def __init__(self, buffers: Sequence[Weights], policy: str, rate: float) -> None:
        self.buffers = buffers  # of group g: buffer g mod 2
        self.policy = check_policy(policy)
        self.rate = rate

    def buffer_of(self, group: int) -> Weights:
        """The buffer that a group reads."""
        return self.buffers[group % 2]

    def write_update(
        self, layer: int, group: int, index_by_name: Mapping[str, Any], total: Mapping[str, Array], count: int
    ) -> None:
        """Write U_{g+2} over U_g, at these indices of a layer; in a correct pipeline nobody reads U_g any more.

        total: the summed gradients of `count` samples.
        """
        base, target = self.buffer_of(group + (self.policy == "delayed"))[layer], self.buffers[group % 2][layer]
        for name, index in index_by_name.items():
            old, new, rows = base[name][index], target[name][index], max(1, IN_CACHE // total[name][0].size)
            for start in range(0, len(new), rows):
                in_cache = slice(start, start + rows)
                step = total[name][in_cache] / count
                step *= self.rate
                np.subtract(old[in_cache], step, out=new[in_cache])

    def update_all(self, flow: Dataflow, group: int, totals: Gradients, count: int) -> None:
        """Apply the summed gradients of a group of `count` samples, each operator's to its own weights."""
        for name, total in totals.items():
            operator = flow.operators[name]
            index_by_name = locate_weights(flow.layers[operator.layer - 1], operator)
            self.write_update(operator.layer - 1, group, index_by_name, total, count)


class GroupEnd(NamedTuple):
    """The state after a group: its number, its samples' losses, and both weight buffers."""

    group: int
    losses: list[float]
    buffers: list[Weights]


def blocks(members: range, size: int) -> list[range]:
    """Divide samples into groups of `size`, or a group into blocks, one for each firing; the last may be shorter."""
    return [members[start : start + size] for start in range(0, len(members), size)]


def block_size(network: Network) -> int:
    """Samples of a block: a group passes in `network.blocks` blocks or more, so that several workers are busy."""
    return min(MOST_AT_ONCE, -(-network.batch_size // network.blocks))


def in_series(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    group: int = 0, first: int = 0, *, flow: Dataflow | None = None, block: int | None = None,
) -> Iterator[GroupEnd]:  # fmt: skip
    """Train group by group, in order, without a pipeline; yield a GroupEnd after each. Works on copies of the buffers.

    group, first: numbers of groups and samples in earlier runs. block: samples of one firing.
    """
    flow, machine = flow or Network.expand(network), training_machine(network, later=block is None)
    versions = DoubleBuffer([copy_weights(buffer) for buffer in buffers], policy, network.learning_rate)
    for number, members in enumerate(blocks(range(len(samples)), network.batch_size), group):
        weights = versions.buffers[number % 2]
        size = block or block_size(network)
        totals, losses = process_group(machine, flow, weights, samples, labels, members, first, size)
        versions.update_all(flow, number, totals, len(members))
        yield GroupEnd(number, losses, list(versions.buffers))


# --- a pipeline, cycle by cycle ---------------------------------------------------


def in_cycles(
    network: Network, schedule: Schedule, weights: Weights, samples: Array, labels: Array, policy: str | None
) -> Weights:
    """The newest weights after a pipelined run, simulated cycle by cycle; parameters as of `by_cycles`."""
    size = network.batch_size if policy else 1
    return newest(by_cycles(network, schedule, weights, samples, labels, policy), -(-len(samples) // size))


def by_cycles(
    network: Network, schedule: Schedule, weights: Weights, samples: Array, labels: Array, policy: str | None,
    workers: Sequence[int] | None = None,
) -> list[Weights]:  # fmt: skip
    """Both buffers after a pipelined run, simulated cycle by cycle, one sample for each firing.

    policy: "delayed" or "alternate" with two buffers, or None for the naive
    scheme: one buffer, updated after every backward. workers: the order in which
    the workers have their turns in each cycle. In a correct pipeline no order
    changes a bit; in an incorrect one the order decides the data races.
    """
    size, count = network.batch_size if policy else 1, len(samples)
    flow, machine = schedule.dataflow, training_machine(network)
    start = doubled(weights)
    versions = DoubleBuffer(start if policy else start[:1] * 2, policy or "delayed", network.learning_rate)
    waiting: dict[tuple[str, int], Array] = {}  # samples by stream and iteration
    totals: Gradients = {}
    outside = {network.streams.data: samples, network.streams.labels: labels}
    for cycle in range(1, schedule.cycles(count) + 1):
        for operator in schedule.turns(workers):
            iteration = schedule.iteration(operator.name, cycle, count)
            if iteration is None:
                continue
            group = (iteration - 1) // size
            streams = {
                name: waiting.pop((name, iteration)) if flow.streams[name].writer
                else outside[name][iteration - 1 : iteration]
                for name in operator.inputs
            }  # fmt: skip
            fire_operators(machine, [operator], versions.buffer_of(group), streams, totals, iteration)
            waiting.update({(name, iteration): samples for name, samples in streams.items()})
            if operator.name in totals and (iteration % size == 0 or iteration == count):
                total = {operator.name: totals.pop(operator.name)}
                versions.update_all(flow, group, total, (iteration - 1) % size + 1)
    return list(versions.buffers)
