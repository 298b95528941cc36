"""What a whole sample costs that is a new graph: forget it, build, forward, backward; beside micrograd.

    pip install -e ".[bench]" && python tests/benchmarks/samples.py

Both write the same lines of Python and make their leaves anew. Rounds are
interleaved, and the least seconds count. With --without-llvmlite the first row
runs as it does where nothing can be compiled, in a browser for example.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from collections.abc import Callable
from typing import Any

Leaf = Callable[[float], Any]


def network(leaf: Leaf) -> Any:
    """2-8-8-1 with relu, and a squared error: weights, inputs and target are leaves."""
    signals = [leaf(0.5), leaf(-0.3)]
    for width in (8, 8, 1):
        signals = [neuron(leaf, signals, place, width > 1) for place in range(width)]
    error = signals[0] - leaf(1.0)
    return error * error


def neuron(leaf: Leaf, signals: list[Any], place: int, bent: bool) -> Any:
    y = leaf(0.1)
    for number, signal in enumerate(signals):
        y = y + leaf(((place * 7 + number * 5) % 11 - 5) / 10) * signal
    return y.relu() if bent else y


def tree(leaf: Leaf) -> Any:
    """A new shape each time: parts are joined in random order, by cells of two weights and a relu."""
    parts = [leaf(random.uniform(-1.0, 1.0)) for _ in range(145)]
    weights = [leaf(random.uniform(-1.0, 1.0)) for _ in range(6)]
    while len(parts) > 1:
        left, right = parts.pop(random.randrange(len(parts))), parts.pop(random.randrange(len(parts)))
        cell = random.choice(weights) * left + random.choice(weights) * right + random.choice(weights)
        parts.append(cell.relu() if random.random() < 0.7 else cell * cell * 0.1 - left)
    return parts[0]


def large(leaf: Leaf) -> Any:
    """100,000 nodes: many dot products, and their sum by halves."""
    xs = [leaf(0.001 * place) for place in range(100)]
    sums = []
    for _ in range(330):
        y = leaf(0.1)
        for x in xs:
            y = y + leaf(0.2) * x
        sums.append(y.relu())
    while len(sums) > 1:
        sums = [one + other for one, other in zip(sums[::2], sums[1::2])] + sums[len(sums) & ~1 :]
    return sums[0]


def ours(build: Callable[[Leaf], Any]) -> tuple[float, float]:
    """Seconds for a whole sample, and for its building."""
    from naive_graph import Graph, Variable

    start = time.perf_counter()
    Graph.renew()
    y = build(Variable)
    built = time.perf_counter()
    Graph.forward()
    Graph.backward(y)
    return time.perf_counter() - start, built - start


def theirs(build: Callable[[Leaf], Any]) -> tuple[float, float]:
    from micrograd.engine import Value

    start = time.perf_counter()
    y = build(Value)
    built = time.perf_counter()
    backward(y)
    return time.perf_counter() - start, built - start


def backward(y: Any) -> None:
    """micrograd's own, which recurses: the limit has to be lifted for the deep ones."""
    y.backward()


def measured(build: Callable[[Leaf], Any], rounds: int) -> tuple[tuple[float, float], tuple[float, float]]:
    found: tuple[list[Any], list[Any]] = ([], [])
    for place in range(rounds):
        for kept, run in zip(found, (ours, theirs)):
            random.seed(place)
            kept.append(run(build))
        if place % 10 == 0:
            gc.collect()
    one, other = (tuple(map(min, zip(*kept))) for kept in found)
    return one, other  # type: ignore[return-value]


def main() -> None:
    sys.setrecursionlimit(100_000)
    if "--without-llvmlite" in sys.argv:
        sys.modules["llvmlite"] = None  # type: ignore[assignment]
    from naive_graph import Graph
    from naive_graph.engines.select import AHEAD

    workloads = [(network, 300), (tree, 150), (large, 5)]
    for build, rounds in workloads[:1] if "--without-llvmlite" in sys.argv else workloads:
        for _ in range(max(4, 60_000 // rounds // 300)):
            ours(build)  # until the choice has been made
        while not AHEAD.is_done():  # a background thread compiles the direct engine
            time.sleep(0.01)
        ours(build)
        size = len(Graph.node_list)
        (whole, building), (peer, peer_building) = measured(build, rounds)
        print(
            f"{build.__name__:8} {size:6} nodes  ours {whole * 1e6:9.0f} us, building {building * 1e6:9.0f}  "
            f"micrograd {peer * 1e6:9.0f} us, building {peer_building * 1e6:9.0f}  ratio {whole / peer:.2f}"
        )


if __name__ == "__main__":
    main()
