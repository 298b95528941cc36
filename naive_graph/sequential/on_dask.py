"""Pipelined training on Dask: one task runs one worker's part of one group, and updates the part's weights.

Weights stay on the worker that updated them: a task takes the shares of the layers
that its operators read, and returns the shares that it updated, each as a separate
result, so that only what another worker reads is sent to it. Dask's loop takes some 50 ms of
processor time for a group beside two busy workers: a group has to take 0.3 s on one worker
(four layers of 2048 units, or samples by hundreds) before two are much faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..errors import MissingToolError, TrainingError
from ..tensor.tasks.on_dask import explain_lost_workers, gather_results
from .dataflow import Dataflow
from .network import Network, Weights
from .sdf_runtime import training_machine
from .splitjoin import locate_weights
from .weight_staleness import (
    DoubleBuffer,
    Gradients,
    block_size,
    blocks,
    check_policy,
    fire_operators,
    sum_group_gradients,
)
from .workers import Division, PipelineResult, resolve_partition

Array = Any
Streams = dict[str, list[Array]]  # the samples of a group, by stream
Shares = list[tuple[dict[str, Any], dict[str, Array]]]  # shares of a layer's weights: (index by name, array by name)


def on_dask(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Division | None = None, before: tuple[int, int] = (0, 0),
) -> PipelineResult:  # fmt: skip
    """Train in a pipeline on the current Dask client, or on a local one with threads if there is none."""
    try:
        from distributed import Client, default_client
    except ImportError:
        raise MissingToolError('This run needs Dask: pip install "naive-graph[dask]".') from None
    check_policy(policy)
    flow, parts = resolve_partition(network, partition)
    try:
        client, owns_client = default_client(), False  # type: ignore[no-untyped-call]
    except ValueError:
        client, owns_client = Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None), True  # type: ignore[no-untyped-call]
    try:
        with explain_lost_workers(TrainingError):
            return _train_on_client(
                client, network, buffers, samples, labels, policy, flow=flow, parts=parts, before=before
            )
    finally:
        if owns_client:
            client.close()


def _train_on_client(
    client: Any, network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str, *,
    flow: Dataflow, parts: list[list[str]], before: tuple[int, int],
) -> PipelineResult:  # fmt: skip
    between = [stream.name for stream in flow.crossing_streams(parts)]
    (shared,) = client.scatter([(network, flow)], broadcast=True, hash=False)
    layers = range(len(network.layers))
    begun = []  # for each layer both buffers, each one whole share
    for layer in layers:
        begun.append([[(dict.fromkeys(half[layer], ...), dict(half[layer]))] for half in buffers])
    # versions[layer][buffer][part]: the shares that a part wrote; part -1: the initial weights.
    versions: list[list[dict[int, Any]]] = [
        [{-1: future} for future in client.scatter(both, hash=False)] for both in begun
    ]
    reads = [{flow.operators[name].layer - 1 for name in part} - {-1} for part in parts]
    writes = [_find_learned_layers(flow, part) for part in parts]
    losses: list[Any] = []
    first, number = before[1], before[0]
    for number, members in enumerate(blocks(range(len(samples)), network.batch_size), before[0]):
        outside = {network.streams.data: samples[members], network.streams.labels: labels[members]}
        base = (number + 1) % 2 if policy == "delayed" else number % 2
        arrived: list[Any] = []
        learned: list[dict[int, Any]] = [{} for _ in layers]
        for worker, (part, read, write) in enumerate(zip(parts, reads, writes)):
            held = {layer: list(versions[layer][number % 2].values()) for layer in read}
            # A part updates only its own shares, so it does not wait for others' of the previous group.
            old = {layer: versions[layer][base].get(worker, versions[layer][base].get(-1)) for layer in write}
            fired = client.submit(
                _run_part, shared, part, held, old, outside, list(arrived), between, first, pure=False
            )
            if any(flow.streams[name].writer in part for name in between):
                arrived.append(client.submit(_pick_result, fired, "streams", pure=False))
            if "lossComp" in part:
                losses.append(client.submit(_pick_result, fired, "losses", pure=False))
            for layer in write:
                learned[layer][worker] = client.submit(_pick_result, fired, layer, pure=False)
        for layer, shares in enumerate(learned):
            if shares:
                versions[layer][number % 2] = shares
        first += len(members)
    halves = [[list(both[half].values()) for both in versions] for half in (0, 1)]
    results, each_loss = gather_results(client, [halves, losses])
    left = [[_join_shares(network, layer, shares) for layer, shares in enumerate(half)] for half in results]
    return PipelineResult(left, number + 1, [loss for group_losses in each_loss for loss in group_losses], [])


def _find_learned_layers(flow: Dataflow, part: Sequence[str]) -> set[int]:
    """The layers whose weights a part updates."""
    backward = (flow.operators[name] for name in part if flow.operators[name].kind == "backward")
    return {operator.layer - 1 for operator in backward if flow.layers[operator.layer - 1].weight_shapes}


def _pick_result(results: Mapping[Any, Any], name: Any) -> Any:
    """One of a task's results, so that the others are not sent along with it."""
    return results[name]


def _join_shares(network: Network, layer: int, arrived: Sequence[Shares]) -> dict[str, Array]:
    """Assemble a layer's weights from shares; a whole share is not copied."""
    shares = [share for task_shares in arrived for share in task_shares]
    if len(shares) == 1 and all(index is ... for index in shares[0][0].values()):
        return shares[0][1]
    weights = {name: np.empty(shape) for name, shape in network.layers[layer].weight_shapes.items()}
    for where, arrays in shares:
        for name, array in arrays.items():
            weights[name][where[name]] = array
    return weights


def _run_part(
    shared: tuple[Network, Dataflow], part: Sequence[str], held: Mapping[int, Sequence[Shares]],
    old: Mapping[int, Shares], outside: Mapping[str, Array], arrived: Sequence[Streams],
    between: Sequence[str], first: int,
) -> dict[Any, Any]:  # fmt: skip
    """The task: run one part's operators on all blocks of a group; returns outgoing streams, losses, and by layer the
    learned. held: the weights that they read; old: those from which they move."""
    network, flow = shared
    machine, operators = training_machine(network, later=True), [flow.operators[name] for name in part]
    weights = [
        _join_shares(network, layer, held[layer]) if layer in held else {} for layer in range(len(network.layers))
    ]
    outgoing: Streams = {name: [] for name in between if flow.streams[name].writer in part}
    come: Streams = {name: samples for streams in arrived for name, samples in streams.items()}
    inputs = {*chain.from_iterable(operator.inputs for operator in operators)}
    mine = [name for name in come if name in inputs]
    totals: Gradients = {}
    losses: list[float] = []
    count = len(outside[network.streams.data])
    for number, block in enumerate(blocks(range(count), block_size(network))):
        streams = {name: come[name][number] for name in mine}
        streams |= {name: samples[block.start : block.stop] for name, samples in outside.items()}
        losses += fire_operators(machine, operators, weights, streams, totals, first + block.start + 1)
        for name, samples in outgoing.items():
            samples.append(streams[name])
    learned: dict[int, Shares] = {layer: [] for layer in old}
    for name, total in sum_group_gradients(machine, flow, weights, totals).items():
        layer = flow.operators[name].layer - 1
        where = locate_weights(network.layers[layer], flow.operators[name])
        base = _select_share(old[layer], where)
        learned[layer].append((where, _update_share(base, total, count, network.learning_rate)))
    return {"streams": outgoing, "losses": losses, **learned}


def _select_share(shares: Shares, where: Mapping[str, Any]) -> dict[str, Array]:
    """The weights of a layer at these indices: a stored share, or a slice of the whole layer."""
    for places, arrays in shares:
        if places == where:
            return arrays
    ((_, arrays),) = shares
    return {name: arrays[name][index] for name, index in where.items()}


def _update_share(before: Mapping[str, Array], total: Mapping[str, Array], count: int, rate: float) -> dict[str, Array]:
    """A share of a layer's weights, updated by a group's gradients, as new arrays."""
    after = {name: np.empty_like(array) for name, array in before.items()}
    versions = DoubleBuffer([[dict(before)], [after]], "delayed", rate)
    versions.write_update(0, 1, dict.fromkeys(before, ...), total, count)
    return after
