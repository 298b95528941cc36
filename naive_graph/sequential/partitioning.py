"""Partition a dataflow's operators among workers, by measured costs.

A worker's time for one sample is the work of its operators plus the cost of its
streams from and to other workers, times a factor for contention, which grows with the
number of workers (`Costs.lock`). The slowest worker decides the throughput, so
its time is minimized: exactly, over all partitions into runs of neighbours in
topological order.
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from ..core.number import shortened
from ..errors import SequentialError
from .dataflow import Dataflow, StreamOperator
from .network import Network
from .pipeline import at_least_one
from .sdf_runtime import NetworkMachine, training_machine
from .splitjoin import decompose_operators, max_shares
from .weight_staleness import DoubleBuffer, Gradients, block_size, doubled, fire_operators, sum_group_gradients

MESSAGE = 20e-6  # seconds to hand a block to another thread, measured
PIECES = 8  # a large operator is split into pieces of 1/8 of a worker's share of the work
LEAST_PIECE = 2**19  # multiplications of a piece for a block, at least: about 0.1 ms, much more than MESSAGE


@dataclass(frozen=True)
class Costs:
    """Seconds for one sample: of each operator, and of each stream between workers.

    lock: contention, the fraction by which a second worker slows the first: because of Python's GIL, and because
    memory bandwidth is shared.

    >>> Costs({"Dense_1()": 0.5, "Dense_2()": 0.25}, {}).serial
    0.75
    """

    work: Mapping[str, float]
    stream: Mapping[str, float]
    lock: float = 0.0

    @property
    def serial(self) -> float:
        """One sample through all operators, on one worker."""
        return sum(self.work.values())


def measure_costs(
    network: Network, flow: Dataflow | None = None, repeats: int = 20, lock: float | None = None
) -> Costs:
    """Measure the operators' costs on this machine: medians over firings of a random block.

    A stream costs MESSAGE for each block. lock: the contention, measured unless given.
    """
    flow = flow or Network.expand(network)
    size = block_size(network)
    times: dict[str, list[float]] = {name: [] for name in flow.operators}
    versions = DoubleBuffer(doubled(network.weights), "delayed", network.learning_rate)
    machine = training_machine(network, later=True)
    for _ in range(1 + repeats):
        _fire_all(machine, network, flow, versions, times)
    work = {name: median(firing_seconds[1:]) / size for name, firing_seconds in times.items()}
    stream_costs = dict.fromkeys(flow.streams, MESSAGE / size)
    return Costs(work, stream_costs, _measure_contention(machine, network, flow) if lock is None else lock)


def _fire_all(
    machine: NetworkMachine, network: Network, flow: Dataflow, versions: DoubleBuffer, times: dict[str, list[float]]
) -> None:
    """Fire every operator on a random block; append its seconds, with its share of a group's weight update."""
    random, size = np.random.default_rng(0), block_size(network)
    shapes = {network.streams.data: network.input_shape, network.streams.labels: network.output_shape}
    streams = {name: random.random((size, *shape)) for name, shape in shapes.items()}
    totals: Gradients = {}
    for operator in flow.operators.values():
        start = time.perf_counter()
        fire_operators(machine, [operator], network.weights, streams, totals, 1)
        fired = time.perf_counter() - start
        if operator.name in totals:
            total = totals.pop(operator.name)
            group = {name: np.resize(array, (network.batch_size, *array.shape[1:])) for name, array in total.items()}
            sums = sum_group_gradients(machine, flow, network.weights, {operator.name: group})
            versions.update_all(flow, 0, sums, network.batch_size)
        learned = time.perf_counter() - start - fired
        times[operator.name].append(fired + learned * size / network.batch_size)


def _measure_contention(machine: NetworkMachine, network: Network, flow: Dataflow, repeats: int = 3) -> float:
    """Measure contention: how much longer two threads take for the same work each than one (0 to 1)."""

    def work(versions: DoubleBuffer) -> None:
        for _ in range(repeats):
            _fire_all(machine, network, flow, versions, defaultdict(list))

    def seconds(count: int) -> float:
        threads = [threading.Thread(target=work, args=(replica,)) for replica in replicas[:count]]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - start

    replicas = [DoubleBuffer(doubled(network.weights), "delayed", network.learning_rate) for _ in range(2)]
    return min(1.0, max(0.0, seconds(2) / seconds(1) - 1.0))


@dataclass(frozen=True)
class Partition:
    """Runs of operators, one for each worker, and the seconds that each needs for a sample."""

    parts: list[list[str]]
    seconds: list[float]
    flow: Dataflow

    @property
    def slowest(self) -> float:
        return max(self.seconds)

    def __str__(self) -> str:
        rows = zip(self.parts, self.seconds)
        lines = []
        for number, (names, seconds) in enumerate(rows):
            last = f" to {names[-1]} ({len(names)})" if len(names) > 1 else ""
            lines.append(f"worker {number}: {1e6 * seconds:8.1f} us  {names[0]}{last}")
        return "\n".join(lines)


def partition(flow: Dataflow, workers: int, costs: Costs) -> Partition:
    """The optimal partition into at most `workers` runs: minimizes the slowest worker, by dynamic programming.

    >>> from naive_graph.sequential import Costs, Dense, partition
    >>> from naive_graph.sequential.dataflow import expand_layers
    >>> from naive_graph.sequential.layers import connect_layers
    >>> flow = expand_layers(connect_layers([Dense(2)], (3,)))
    >>> costs = Costs(dict.fromkeys(flow.operators, 2.0), dict.fromkeys(flow.streams, 0.0))
    >>> partition(flow, 2, costs).parts
    [['copy', 'FComp1'], ['lossComp', 'BComp1']]
    """
    if not isinstance(flow, Dataflow) or not isinstance(costs, Costs):
        says = f"they are what expand(network) gives, and Costs, not {shortened(flow)} and {shortened(costs)}."
        raise SequentialError("BAD_VALUE", says, "flow")
    if missing := [*(flow.operators.keys() - costs.work.keys()), *(flow.streams.keys() - costs.stream.keys())]:
        names_missing = f"{', '.join(sorted(missing)):.60}"
        says = f"they are of every operator and stream of the dataflow. None are told of {names_missing}."
        raise SequentialError("BAD_VALUE", says, "costs")
    workers, names = at_least_one(workers, "workers"), list(flow.operators)
    cost = run_costs(flow, costs)
    count = len(names)
    best = [cost[0]]  # best[k - 1][j]: the least slowest of k runs over the first j operators
    cuts: list[Any] = []
    for _ in range(1, min(workers, count)):
        slower = np.maximum(best[-1][:, None], cost)  # [i, j]: the last run is i to j
        cuts.append(slower.argmin(0))
        best.append(slower.min(0))
    slowdown = [1.0 + costs.lock * others for others in range(len(best))]
    used = min(range(len(best)), key=lambda number: best[number][count] * slowdown[number])
    ends = [count]
    for number in range(used, 0, -1):
        ends.insert(0, int(cuts[number - 1][ends[0]]))
    bounds = list(zip([0, *ends], ends))
    return Partition(
        [names[start:end] for start, end in bounds], [float(cost[bound]) * slowdown[used] for bound in bounds], flow
    )


def measure_and_partition(network: Network, workers: int) -> Partition:
    """Partition a network for fast training, by costs that are measured now.

    `network.blocks` is set so that groups pass in enough blocks to keep all workers busy with two groups under way.
    """
    network.blocks = max(1, -(-workers // 2))
    flow = split_large_operators(network, workers)
    return partition(flow, workers, measure_costs(network, flow, 3))


def split_large_operators(network: Network, workers: int) -> Dataflow:
    """Expand a network to its dataflow, and split operators that are a large part of a worker's work.

    Split operators sum in another order. So work is counted here, not measured: the bits of a training must not
    depend on how busy the machine is.
    """
    flow = Network.expand(network)
    work = {name: count_multiplications(flow, each) for name, each in flow.operators.items()}
    total = max(1, sum(work.values()))
    grains = {}
    for name, operator in flow.operators.items():
        count = max_shares(flow, operator) or 1
        wanted = math.ceil(PIECES * workers * work[name] / total)
        pieces = min(count, wanted, work[name] * block_size(network) // LEAST_PIECE)
        if workers > 1 and pieces > PIECES // 2:
            grains[name] = -(-count // pieces)
    return decompose_operators(flow, grains) if grains else flow


def count_multiplications(flow: Dataflow, operator: StreamOperator) -> int:
    """Number of multiplications for W and its gradients that an operator does for one sample; 0 without W."""
    if operator.kind not in ("forward", "backward") or "W" not in flow.layers[operator.layer - 1].weight_shapes:
        return 0
    placed = flow.layers[operator.layer - 1]
    once = math.prod(placed.weight_shapes["W"]) * math.prod(placed.output_shape[:-1])
    return once if operator.kind == "forward" else 2 * once  # backward: gradients at inputs, and of weights


def run_costs(flow: Dataflow, costs: Costs) -> Any:
    """Matrix [i, j]: seconds per sample of a worker that runs operators i to j - 1; infinite for an empty run."""
    names = list(flow.operators)
    position = {name: number for number, name in enumerate(names)}
    count = len(names)
    work = np.concatenate([[0.0], np.cumsum([costs.work[name] for name in names])])
    cost = work[None, :] - work[:, None]
    starts, ends = np.arange(count + 1)[:, None], np.arange(count + 1)[None, :]
    for stream in flow.inner_streams():
        writer, reader = position[stream.writer], position[stream.reader]
        sends = (starts <= writer) & (writer < ends)
        takes = (starts <= reader) & (reader < ends)
        cost = cost + costs.stream[stream.name] * (sends ^ takes)
    return np.where(starts < ends, cost, np.inf)
