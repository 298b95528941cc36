"""How weights change while samples pass: one sample after the other, or in a pipeline.

With U_g the weights that group g of m samples uses, U_0 = U_1 the initial ones:

    serial      U_{g+1} = U_g     - rate * mean of the group's gradients at U_g
    delayed     U_{g+2} = U_{g+1} - rate * mean of the group's gradients at U_g
    alternate   U_{g+2} = U_g     - rate * mean of the group's gradients at U_g

The sum is a left fold over the samples, so that every way to run a scheme has
the same bits. Delayed weights are what two buffers and a pipeline need: while
group g + 1 is under way with U_{g+1}, group g writes U_{g+2} where U_g was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import SequentialError
from .dataflow import Dataflow, StreamOperator
from .firing import NetworkMachine
from .network import Network, Weights
from .pipeline import Schedule

POLICIES = ("serial", "delayed", "alternate")
Array = Any
Gradients = list[dict[str, Array]]


def copied(weights: Weights) -> Weights:
    return [{name: array.copy() for name, array in layer.items()} for layer in weights]


def updated(base: Mapping[str, Array], total: Mapping[str, Array], count: int, rate: float) -> dict[str, Array]:
    """A layer's new weights: U - rate * (sum / count)."""
    return {name: array - rate * (total[name] / count) for name, array in base.items()}


def added(total: dict[str, Array], found: Mapping[str, Array]) -> None:
    """One more sample's gradients in a sum, which nobody else holds."""
    for name, array in found.items():
        if name in total:
            total[name] += array
        else:
            total[name] = array.copy()  # a bias's gradient is the very array of another stream


def check_policy(policy: object) -> str:
    if policy not in POLICIES:
        raise SequentialError("BAD_VALUE", f"it is one of {', '.join(POLICIES)}, not {policy!r}.", "policy")
    return str(policy)


def doubled(weights: Weights) -> list[Weights]:
    """Where a training begins: U_0 and U_1, both the initial weights."""
    return [copied(weights), copied(weights)]


def newest(buffers: Sequence[Weights], ended: int) -> Weights:
    """The newest weights after so many groups."""
    return buffers[(ended + 1) % 2]


def passed(
    machine: NetworkMachine, operators: Iterable[StreamOperator], held: Sequence[Mapping[str, Array]],
    streams: dict[str, Array], totals: Gradients, iteration: int,
) -> list[float]:  # fmt: skip
    """Fire operators once, in their order; the loss, if it is among them.

    streams: a sample in each; what is taken goes, what is given comes. held, totals: weights and sums of gradients of
    all layers.
    """
    losses = []
    for operator in operators:
        taken = {name: streams.pop(name) for name in operator.inputs}
        fired = machine.fire(operator, taken, held[operator.layer - 1] if operator.layer else {}, iteration)
        streams.update(fired.given)
        added(totals[operator.layer - 1], fired.gradients)
        if fired.loss is not None:
            losses.append(fired.loss)
    return losses


def passed_group(
    machine: NetworkMachine, flow: Dataflow, held: Sequence[Mapping[str, Array]], samples: Array, labels: Array,
    members: range, first: int,
) -> tuple[Gradients, list[float]]:  # fmt: skip
    """Some samples, one after the other: the sums of their gradients, layer by layer, and their losses."""
    totals: Gradients = [{} for _ in held]
    data, label = (each.name for each in flow.streams.values() if not each.writer)
    losses: list[float] = []
    for sample in members:
        streams = {data: samples[sample], label: labels[sample]}
        losses += passed(machine, flow.operators.values(), held, streams, totals, first + sample + 1)
    return totals, losses


class Versions:
    """The weights of one layer, version by version: what group g uses, and what it will leave."""

    def __init__(self, even: Mapping[str, Array], odd: Mapping[str, Array], policy: str, rate: float) -> None:
        self.policy = check_policy(policy)
        self.rate = rate
        self.buffers = [dict(even), dict(odd)]  # of group g: buffer g mod 2

    def of(self, group: int) -> dict[str, Array]:
        return self.buffers[group % 2]

    def learn(self, group: int, total: Mapping[str, Array], count: int) -> None:
        """What a group that has ended leaves for the one after the next."""
        base = self.of(group + 1 if self.policy == "delayed" else group)
        self.buffers[group % 2] = updated(base, total, count, self.rate)


class GroupEnd(NamedTuple):
    """A group that has ended."""

    group: int
    losses: list[float]
    buffers: list[Weights]


def groups(count: int, size: int) -> list[range]:
    """The samples of each group; the last may be shorter."""
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def in_series(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    group: int = 0, first: int = 0,
) -> Iterator[GroupEnd]:  # fmt: skip
    """Each sample alone, in its order, group by group. group, first: groups and samples that other runs have seen."""
    flow, machine = network.expand(), NetworkMachine(network)
    layers = [Versions(even, odd, policy, network.learning_rate) for even, odd in zip(*buffers)]
    for number, members in enumerate(groups(len(samples), network.batch_size), group):
        held = [each.of(number) for each in layers]
        totals, losses = passed_group(machine, flow, held, samples, labels, members, first)
        for each, total in zip(layers, totals):
            each.learn(number, total, len(members))
        yield GroupEnd(number, losses, [[each.buffers[half] for each in layers] for half in (0, 1)])


# --- a pipeline, cycle by cycle ---------------------------------------------------


def in_cycles(
    network: Network, schedule: Schedule, weights: Weights, samples: Array, labels: Array, policy: str | None
) -> Weights:
    """The weights after a pipelined run that keeps to its cycles; in one cycle all stages see what earlier ones left.

    policy: "delayed" or "alternate" with two buffers, or None for the naive
    scheme: one buffer, updated after every backward.
    """
    size = network.batch_size if policy else 1
    flow, machine, count = schedule.dataflow, NetworkMachine(network), len(samples)
    layers = [Versions(each, each, policy or "delayed", network.learning_rate) for each in weights]
    waiting: dict[tuple[str, int], Array] = {}  # what lies in each stream, by iteration
    totals: Gradients = [{} for _ in layers]
    for cycle in range(1, schedule.cycles(count) + 1):
        writes = []
        for name, operator in flow.operators.items():
            iteration = schedule.iteration(name, cycle, count)
            if iteration is None:
                continue
            outside = {network.streams.data: samples[iteration - 1], network.streams.labels: labels[iteration - 1]}
            taken = {
                each: waiting.pop((each, iteration)) if flow.streams[each].writer else outside[each]
                for each in operator.inputs
            }
            layer, group = operator.layer - 1, (iteration - 1) // size
            mine = layers[layer].of(group if policy else 0) if operator.layer else {}
            fired = machine.fire(operator, taken, mine, iteration)
            waiting.update({(each, iteration): sample for each, sample in fired.given.items()})
            if fired.gradients:
                added(totals[layer], fired.gradients)
                if iteration % size == 0 or iteration == count:
                    writes.append((layer, group, (iteration - 1) % size + 1))
        for layer, group, members in writes:  # seen from the next cycle on
            if policy:
                layers[layer].learn(group, totals[layer], members)
            else:
                layers[layer].buffers[0] = updated(layers[layer].of(0), totals[layer], members, network.learning_rate)
            totals[layer] = {}
    ended = -(-count // size)
    return [dict(each.of(ended + 1 if policy else 0)) for each in layers]
