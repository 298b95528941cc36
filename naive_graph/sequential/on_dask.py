"""Pipelined training on Dask: one task runs one worker's part of one group, and updates the part's weights.

Weights stay on the worker that updated them. A share is the part of a layer's weights that one backward operator
updates, often all of them: a task takes the shares of the layers that its operators read, and returns each share
that it updated as a separate result, so that only what another worker reads is sent to it.

Dask's own work for a group takes some 50 ms of processor time beside two busy workers:
a group has to take 0.3 s on one worker (four layers of 2048 units, or hundreds of
samples) before two workers are much faster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..core.optional_deps import door
from ..errors import TrainingError
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
    fire_operators,
    sum_group_gradients,
)
from .workers import Division, PipelineResult, resolve_partition

Array = Any
Streams = dict[str, list[Array]]  # the samples of a group, by stream
Share = dict[str, Array]  # of a layer's weights, by name


def on_dask(
    network: Network, buffers: Sequence[Weights], samples: Array, labels: Array, policy: str = "delayed",
    partition: Division | None = None, before: tuple[int, int] = (0, 0),
) -> PipelineResult:  # fmt: skip
    """Train in a pipeline on the current Dask client, or on a local one with threads if there is none."""
    with door("This run needs", "dask"):
        from distributed import Client, default_client
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
    layer_of = {name: flow.operators[name].layer for part in parts for name in part}
    versions: list[dict[str, Any]] = []  # for each buffer the shares, by the operator that updates them
    for buffer in buffers:
        shares: dict[str, Share] = {}
        for name in (name for name in layer_of if flow.operators[name].kind == "backward"):
            weights = buffer[layer_of[name] - 1]
            shares[name] = {weight: weights[weight][index] for weight, index in _locate_share(flow, name).items()}
        # Each in a list: of a dictionary, Dask would take the names as its own keys, and both buffers for one.
        versions.append({name: client.scatter([share], hash=False)[0] for name, share in shares.items() if share})
    losses: list[Any] = []
    first, number = before[1], before[0]
    for number, members in enumerate(blocks(range(len(samples)), network.batch_size), before[0]):
        outside = {network.streams.data: samples[members], network.streams.labels: labels[members]}
        base = (number + 1) % 2 if policy == "delayed" else number % 2  # the buffer that an update starts from
        incoming: list[Any] = []
        updated: dict[str, Any] = {}
        for part in parts:
            layers = {layer_of[name] for name in part}
            to_read = {name: share for name, share in versions[number % 2].items() if layer_of[name] in layers}
            # A part updates only its own shares, so it does not wait for others' of the previous group.
            to_update = {name: share for name, share in versions[base].items() if name in part}
            fired = client.submit(
                _run_part, shared, part, to_read, to_update, outside, list(incoming), crossing, first, pure=False
            )
            if any(flow.streams[name].writer in part for name in crossing):
                incoming.append(client.submit(_pick_result, fired, "streams", pure=False))
            if "lossComp" in part:
                losses.append(client.submit(_pick_result, fired, "losses", pure=False))
            updated |= {name: client.submit(_pick_result, fired, name, pure=False) for name in to_update}
        versions[number % 2] = updated
        first += len(members)
    shares_by_buffer, losses_by_group = gather_results(client, [versions, losses])
    final_buffers = [_join_shares(flow, shares) for shares in shares_by_buffer]
    return PipelineResult(final_buffers, number + 1, [*chain.from_iterable(losses_by_group)], [])


def _locate_share(flow: Dataflow, name: str) -> dict[str, Any]:
    """The index of an operator's share, by weight name; empty if it has none."""
    operator = flow.operators[name]
    return locate_weights(flow.layers[operator.layer - 1], operator)


def _join_shares(flow: Dataflow, shares: Mapping[str, Share]) -> Weights:
    """The weights of all layers from these shares, by the operator that updates them; a whole share is not copied."""
    weights: Weights = [{} for _ in flow.layers]
    for operator, share in shares.items():
        placed = flow.layers[flow.operators[operator].layer - 1]
        for name, index in _locate_share(flow, operator).items():
            if index is ...:
                weights[placed.number - 1][name] = share[name]
            else:
                whole = weights[placed.number - 1].setdefault(name, np.empty(placed.weight_shapes[name]))
                whole[index] = share[name]
    return weights


def _pick_result(results: Mapping[Any, Any], name: Any) -> Any:
    """One of a task's results, so that the others are not sent along with it."""
    return results[name]


def _run_part(
    shared: tuple[Network, Dataflow], part: Sequence[str], to_read: Mapping[str, Share],
    to_update: Mapping[str, Share], outside: Mapping[str, Array], incoming: Sequence[Streams],
    crossing: Sequence[str], first: int,
) -> dict[Any, Any]:  # fmt: skip
    """The task: run one part's operators on all blocks of a group.

    Returns {"streams": outgoing samples, "losses": losses, backward operator: its updated share}.
    to_read: the shares of the layers that the operators read. to_update: those that the update starts from.
    crossing: names of the streams between parts. first: the number of samples before this group.
    """
    network, flow = shared
    machine, operators = training_machine(network, later=True), [flow.operators[name] for name in part]
    weights = _join_shares(flow, to_read)
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
    updated: dict[str, Share] = {}
    for name, total in sum_group_gradients(machine, flow, weights, totals).items():
        updated[name] = {weight: np.empty_like(array) for weight, array in to_update[name].items()}
        versions = DoubleBuffer([[to_update[name]], [updated[name]]], "delayed", network.learning_rate)
        versions.write_update(0, 1, dict.fromkeys(updated[name], ...), total, count)
    return {"streams": outgoing, "losses": losses, **updated}
