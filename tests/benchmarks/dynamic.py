"""What a new graph for every sample costs: building it here, beside evaluating it in micrograd.

    pip install -e ".[bench]" && python tests/benchmarks/dynamic.py

In micrograd building is evaluating: an expression computes as it is written.
Here it only writes rows, and the graph before is forgotten with Graph.renew().
Both write the same 100 lines of Python for a sample, and make their leaves anew.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

SAMPLES = 50  # that are built in one measurement
ROUNDS = 25
Leaf = Callable[[float], Any]


def product_chain(leaf: Leaf) -> Any:
    """y = y * x - x, again and again."""
    x = leaf(0.5)
    y = x
    for _ in range(100):
        y = y * x
        y = y - x
    return y


def dot_product(leaf: Leaf) -> Any:
    """y = y + w * x: the sum that a beginner writes."""
    x, w = leaf(0.5), leaf(1.5)
    y = x
    for _ in range(100):
        y = y + w * x
    return y


def halvings(leaf: Leaf) -> Any:
    """y = y * 0.5: each line makes an operator and a constant."""
    y = leaf(0.5)
    for _ in range(100):
        y = y * 0.5
    return y


def layers(leaf: Leaf) -> Any:
    """Three layers of four neurons, weights and all: every third node is a leaf."""
    signals = [leaf(0.1 * place) for place in range(4)]
    for _ in range(3):
        signals = [neuron(leaf, signals) for _ in range(4)]
    return signals[0]


def neuron(leaf: Leaf, signals: list[Any]) -> Any:
    y = leaf(0.3)
    for signal in signals:
        y = y + leaf(0.2) * signal
    return y.relu()


WORKLOADS = (product_chain, dot_product, halvings, layers)


def samples(build: Callable[[Leaf], Any], leaf: Leaf, forget: Callable[[], Any]) -> float:
    """Seconds for one sample: forget the last graph, build the next."""
    start = time.perf_counter()
    for _ in range(SAMPLES):
        forget()
        build(leaf)
    return (time.perf_counter() - start) / SAMPLES


def measured(build: Callable[[Leaf], Any], collecting: bool) -> tuple[float, float]:
    """The least seconds of a sample, here and in micrograd, in interleaved rounds."""
    from micrograd.engine import Value

    from naive_graph import Graph, Variable

    ours, theirs = [], []
    for _ in range(ROUNDS):
        gc.collect()
        (gc.enable if collecting else gc.disable)()
        ours.append(samples(build, Variable, Graph.renew))
        theirs.append(samples(build, Value, lambda: None))
        gc.enable()
    return min(ours), min(theirs)


def nodes(build: Callable[[Leaf], Any]) -> int:
    from naive_graph import Graph, Variable

    with Graph.scratch():
        build(Variable)
        return len(Graph.node_list)


def main() -> None:
    print("one sample: rebuilding here, beside evaluating in micrograd")
    for build in WORKLOADS:
        for collecting in (True, False):
            ours, theirs = measured(build, collecting)
            print(
                f"  {build.__name__:14} {nodes(build)} nodes  collector {'on ' if collecting else 'off'}  "
                f"ours {ours * 1e6:4.0f} us  micrograd {theirs * 1e6:4.0f} us  ratio {ours / theirs:.2f}"
            )


if __name__ == "__main__":
    main()
