"""Pipelined training on Dask: one task runs one worker's part of one group, and updates the part's weights.

Weights stay on the worker that updated them: a task takes the shares of the layers
that its operators read, and returns the shares that it updated, each as a separate
result, so that only what another worker reads is sent to it. A share is a part of a
layer's weights, with its index; the whole layer is a share, too.

Dask's own work for a group takes some 50 ms of processor time beside two busy workers:
a group has to take 0.3 s on one worker (four layers of 2048 units, or hundreds of
samples) before two workers are much faster.
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
Shares = list[tuple[dict[str, Any], dict[str, Array]]]  # of a layer: pairs (index by weight name, array by weight name)


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
    """Submit the tasks of all groups, and gather the final buffers and the losses."""
    crossing = [stream.name for stream in flow.crossing_streams(parts)]
    (shared,) = client.scatter([(network, flow)], broadcast=True, hash=False)
    layers = range(len(network.layers))
    initial = []  # for each layer both buffers, each as one whole share
    for layer in layers:
        initial.append([[(dict.fromkeys(buffer[layer], ...), dict(buffer[layer]))] for buffer in buffers])
    # versions[layer][buffer][part]: the shares that a part wrote; part -1: the initial weights.
    versions: list[list[dict[int, Any]]] = [
        [{-1: future} for future in client.scatter(both, hash=False)] for both in initial
    ]
    reads = [{flow.operators[name].layer - 1 for name in part} - {-1} for part in parts]
    writes = [_find_updated_layers(flow, part) for part in parts]
    losses: list[Any] = []
    first, number = before[1], before[0]
    for number, members in enumerate(blocks(range(len(samples)), network.batch_size), before[0]):
        outside = {network.streams.data: samples[members], network.streams.labels: labels[members]}
        base = (number + 1) % 2 if policy == "delayed" else number % 2  # the buffer that an update starts from
        incoming: list[Any] = []
        updated: list[dict[int, Any]] = [{} for _ in layers]
        for worker, (part, read, write) in enumerate(zip(parts, reads, writes)):
            to_read = {layer: list(versions[layer][number % 2].values()) for layer in read}
            # A part updates only its own shares, so it does not wait for others' of the previous group.
            to_update = {layer: versions[layer][base].get(worker, versions[layer][base].get(-1)) for layer in write}
            fired = client.submit(
                _run_part, shared, part, to_read, to_update, outside, list(incoming), crossing, first, pure=False
            )
            if any(flow.streams[name].writer in part for name in crossing):
                incoming.append(client.submit(_pick_result, fired, "streams", pure=False))
            if "lossComp" in part:
                losses.append(client.submit(_pick_result, fired, "losses", pure=False))
            for layer in write:
                updated[layer][worker] = client.submit(_pick_result, fired, layer, pure=False)
        for layer, shares in enumerate(updated):
            if shares:
                versions[layer][number % 2] = shares
        first += len(members)
    shares_of_both = [[list(both[half].values()) for both in versions] for half in (0, 1)]
    shares_by_buffer, losses_by_group = gather_results(client, [shares_of_both, losses])
    final_buffers = []
    for shares_by_layer in shares_by_buffer:
        final_buffers.append([_join_shares(network, layer, shares) for layer, shares in enumerate(shares_by_layer)])
    return PipelineResult(final_buffers, number + 1, [*chain.from_iterable(losses_by_group)], [])


def _find_updated_layers(flow: Dataflow, part: Sequence[str]) -> set[int]:
    """The layers whose weights a part updates."""
    backward = (flow.operators[name] for name in part if flow.operators[name].kind == "backward")
    return {operator.layer - 1 for operator in backward if flow.layers[operator.layer - 1].weight_shapes}


def _pick_result(results: Mapping[Any, Any], name: Any) -> Any:
    """One of a task's results, so that the others are not sent along with it."""
    return results[name]


def _join_shares(network: Network, layer: int, shares_by_task: Sequence[Shares]) -> dict[str, Array]:
    """Assemble a layer's weights from shares; a whole share is not copied."""
    shares = [*chain.from_iterable(shares_by_task)]
    if len(shares) == 1 and all(index is ... for index in shares[0][0].values()):
        return shares[0][1]
    weights = {name: np.empty(shape) for name, shape in network.layers[layer].weight_shapes.items()}
    for index_by_name, arrays in shares:
        for name, array in arrays.items():
            weights[name][index_by_name[name]] = array
    return weights


def _run_part(
    shared: tuple[Network, Dataflow], part: Sequence[str], to_read: Mapping[int, Sequence[Shares]],
    to_update: Mapping[int, Shares], outside: Mapping[str, Array], incoming: Sequence[Streams],
    crossing: Sequence[str], first: int,
) -> dict[Any, Any]:  # fmt: skip
    """The task: run one part's operators on all blocks of a group.

    Returns {"streams": outgoing samples, "losses": losses, layer number: updated shares}.
    to_read: by layer, the weights that the operators read. to_update: the shares that the update starts from.
    crossing: names of the streams between parts. first: the number of samples before this group.
    """
    network, flow = shared
    machine, operators = training_machine(network, later=True), [flow.operators[name] for name in part]
    weights: list[dict[str, Array]] = [{} for _ in network.layers]
    for layer, shares in to_read.items():
        weights[layer] = _join_shares(network, layer, shares)
    outgoing: Streams = {name: [] for name in crossing if flow.streams[name].writer in part}
    inputs = {*chain.from_iterable(operator.inputs for operator in operators)}
    received: Streams = {}
    for part_streams in incoming:
        received |= {name: samples for name, samples in part_streams.items() if name in inputs}
    totals: Gradients = {}
    losses: list[float] = []
    count = len(outside[network.streams.data])
    for number, block in enumerate(blocks(range(count), block_size(network))):
        streams = {name: samples[number] for name, samples in received.items()}
        streams |= {name: samples[block.start : block.stop] for name, samples in outside.items()}
        losses += fire_operators(machine, operators, weights, streams, totals, first + block.start + 1)
        for name, samples in outgoing.items():
            samples.append(streams[name])
    updated: dict[int, Shares] = {layer: [] for layer in to_update}
    for name, total in sum_group_gradients(machine, flow, weights, totals).items():
        layer = flow.operators[name].layer - 1
        index_by_name = locate_weights(network.layers[layer], flow.operators[name])
        before = _select_share(to_update[layer], index_by_name)
        updated[layer].append((index_by_name, _update_share(before, total, count, network.learning_rate)))
    return {"streams": outgoing, "losses": losses, **updated}


def _select_share(shares: Shares, wanted: Mapping[str, Any]) -> dict[str, Array]:
    """The weights of a layer at these indices (by weight name): a stored share, or a slice of the whole layer."""
    for index_by_name, arrays in shares:
        if index_by_name == wanted:
            return arrays
    ((_, arrays),) = shares
    return {name: arrays[name][index] for name, index in wanted.items()}


def _update_share(before: Mapping[str, Array], total: Mapping[str, Array], count: int, rate: float) -> dict[str, Array]:
    """A share of a layer's weights, updated by a group's gradients, as new arrays."""
    after = {name: np.empty_like(array) for name, array in before.items()}
    versions = DoubleBuffer([[dict(before)], [after]], "delayed", rate)
    versions.write_update(0, 1, dict.fromkeys(before, ...), total, count)
    return after
