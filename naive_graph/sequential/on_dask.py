"""The pipeline on Dask: one task is one worker's part of one group. Right, not fast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import MissingToolError, TrainingError
from ..tensor.tasks.on_dask import gathered, said
from .firing import NetworkMachine
from .network import Network, Weights
from .schemes import Gradients, check_policy, groups, passed, updated
from .workers import Ran, checked, crossing

Array = Any
Streams = dict[str, list[Array]]  # the samples of a group, by stream


def on_dask(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Sequence[Sequence[str]] | None = None, before: tuple[int, int] = (0, 0), timed: bool = False,
) -> Ran:  # fmt: skip
    """A pipelined run on the present Dask client, or on one of this process's threads if there is none."""
    try:
        from distributed import Client, default_client
    except ImportError:
        raise MissingToolError('This run needs Dask: pip install "naive-graph[dask]".') from None
    check_policy(policy)
    parts = checked(network, partition)
    try:
        client, own = default_client(), False  # type: ignore[no-untyped-call]
    except ValueError:
        client, own = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None), True  # type: ignore[no-untyped-call]
    try:
        with said(TrainingError):
            return _run(client, network, buffers, samples, labels, policy, parts, before)
    finally:
        if own:
            client.close()


def _run(
    client: Any, network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str,
    parts: list[list[str]], before: tuple[int, int],
) -> Ran:  # fmt: skip
    between = crossing(network, parts)
    (shared,) = client.scatter([network], broadcast=True)
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
            both[number % 2] = client.submit(
                _learned, base, list(arrived), layer, len(members), network.learning_rate, pure=False
            )
        losses.append(client.submit(_losses, list(arrived), pure=False))
        first += len(members)
    found, each_loss = gathered(client, [[[both[half] for both in versions] for half in (0, 1)], losses])
    return Ran(found, number + 1, [loss for each in each_loss for loss in each], [])


def _part_of_group(
    network: Network, part: Sequence[str], held: Weights, outside: Mapping[str, Array], arrived: Sequence[Any],
    between: Sequence[str], first: int,
) -> tuple[Streams, Gradients, list[float]]:  # fmt: skip
    """The operators of one part, for all samples of a group: streams to other parts, sums of gradients, losses."""
    flow, machine = network.expand(), NetworkMachine(network)
    operators = [flow.operators[name] for name in part]
    given: Streams = {name: [] for name in between if flow.streams[name].writer in part}
    come: dict[str, Any] = {name: each for streams, _, _ in arrived for name, each in streams.items()} | dict(outside)
    mine = [name for operator in operators for name in operator.inputs if name in come]
    totals: Gradients = [{} for _ in network.layers]
    losses: list[float] = []
    for place in range(len(outside[network.streams.data])):
        streams = {name: come[name][place] for name in mine}
        losses += passed(machine, operators, held, streams, totals, first + place + 1)
        for name, samples in given.items():
            samples.append(streams[name])
    return given, totals, losses


def _learned(
    base: Mapping[str, Array], arrived: Sequence[Any], layer: int, count: int, rate: float
) -> dict[str, Array]:
    total: dict[str, Array] = next((totals[layer] for _, totals, _ in arrived if totals[layer]), {})
    return updated(base, total, count, rate) if total else dict(base)


def _losses(arrived: Sequence[Any]) -> list[float]:
    return [loss for _, _, losses in arrived for loss in losses]
