"""The pipeline on Dask: one task is one worker's part of one group. Right, not fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import MissingToolError, TrainingError
from ..tensor.tasks.on_dask import gathered, said
from .dataflow import Dataflow
from .network import Network, Weights
from .sdf_runtime import learning
from .splitjoin import owned
from .weight_staleness import Gradients, Versions, all_summed, block_size, blocks, check_policy, groups, passed
from .workers import Division, Ran, checked

Array = Any
Streams = dict[str, list[Array]]  # the samples of a group, by stream


def on_dask(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Division | None = None, before: tuple[int, int] = (0, 0), timed: bool = False,
) -> Ran:  # fmt: skip
    """A pipelined run on the present Dask client, or on one of this process's threads if there is none."""
    try:
        from distributed import Client, default_client
    except ImportError:
        raise MissingToolError('This run needs Dask: pip install "naive-graph[dask]".') from None
    check_policy(policy)
    flow, parts = checked(network, partition)
    try:
        client, own = default_client(), False  # type: ignore[no-untyped-call]
    except ValueError:
        client, own = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None), True  # type: ignore[no-untyped-call]
    try:
        with said(TrainingError):
            return _run(client, network, buffers, samples, labels, policy, flow=flow, parts=parts, before=before)
    finally:
        if own:
            client.close()


def _run(
    client: Any, network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str, *,
    flow: Dataflow, parts: list[list[str]], before: tuple[int, int],
) -> Ran:  # fmt: skip
    between = [each.name for each in flow.crossing(parts)]
    (shared,) = client.scatter([(network, flow)], broadcast=True)
    versions: list[list[Any]] = [[half[layer] for half in buffers] for layer in range(len(network.layers))]
    losses: list[Any] = []
    first, number = before[1], before[0]
    for number, members in enumerate(groups(len(samples), network.batch_size), before[0]):
        outside = {network.streams.data: samples[members], network.streams.labels: labels[members]}
        held = [both[number % 2] for both in versions]
        arrived: list[Any] = []
        for part in parts:
            fired = client.submit(
                _part_of_group, shared, part, held, outside, list(arrived), between, first, pure=False
            )
            arrived.append(fired)
        for layer, both in enumerate(versions):
            base = both[(number + 1) % 2] if policy == "delayed" else both[number % 2]
            both[number % 2] = client.submit(_learned, shared, base, list(arrived), layer + 1, len(members), pure=False)
        losses.append(client.submit(_losses, list(arrived), pure=False))
        first += len(members)
    found, each_loss = gathered(client, [[[both[half] for both in versions] for half in (0, 1)], losses])
    return Ran(found, number + 1, [loss for each in each_loss for loss in each], [])


def _part_of_group(
    shared: tuple[Network, Dataflow], part: Sequence[str], held: Weights, outside: Mapping[str, Array],
    arrived: Sequence[Any], between: Sequence[str], first: int,
) -> tuple[Streams, Gradients, list[float]]:  # fmt: skip
    """The operators of one part, for all blocks of a group: streams to other parts, sums of gradients, losses."""
    network, flow = shared
    machine, operators = learning(network, later=True), [flow.operators[name] for name in part]
    given: Streams = {name: [] for name in between if flow.streams[name].writer in part}
    come: Streams = {name: each for streams, _, _ in arrived for name, each in streams.items()}
    mine = [name for operator in operators for name in operator.inputs if name in come]
    totals: Gradients = {}
    losses: list[float] = []
    for number, block in enumerate(blocks(range(len(outside[network.streams.data])), block_size(network))):
        streams = {name: come[name][number] for name in mine}
        streams |= {name: samples[block.start : block.stop] for name, samples in outside.items()}
        losses += passed(machine, operators, held, streams, totals, first + block.start + 1)
        for name, samples in given.items():
            samples.append(streams[name])
    return given, all_summed(machine, flow, held, totals), losses


def _learned(
    shared: tuple[Network, Dataflow], base: Mapping[str, Array], arrived: Sequence[Any], layer: int, count: int
) -> dict[str, Array]:
    network, flow = shared
    versions = Versions(
        [[dict(base)], [{name: array.copy() for name, array in base.items()}]], "delayed", network.learning_rate
    )
    for operator in flow.operators.values():
        for _, totals, _ in arrived:
            if operator.layer == layer and operator.name in totals:
                mine = owned(network.layers[layer - 1], operator)
                versions.learn(0, 1, mine, totals[operator.name], count)
    return versions.of(0, 1)


def _losses(arrived: Sequence[Any]) -> list[float]:
    return [loss for _, _, losses in arrived for loss in losses]
