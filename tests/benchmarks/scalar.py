"""How fast and how small the scalar graph is, beside micrograd, measured in one interleaved run.

    pip install -e ".[bench]" && python tests/benchmarks/scalar.py

Ratios of minima are what to quote: machines differ, and are noisy.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable

NODES = 100_000
ROUNDS = 12


def product_chain(leaf: Callable[[float], object]) -> Callable[[], object]:
    """y = y * x - x, again and again: each line makes two nodes."""

    def build() -> object:
        x = leaf(0.5)
        y = x
        for _ in range(NODES // 2):
            y = y * x  # type: ignore[operator]
            y = y - x  # type: ignore[operator]
        return y

    return build


def dot_product(leaf: Callable[[float], object]) -> Callable[[], object]:
    """y = y + w * x: the sum a beginner writes."""

    def build() -> object:
        x, w = leaf(0.5), leaf(1.5)
        y = x
        for _ in range(NODES // 2):
            y = y + w * x  # type: ignore[operator]
        return y

    return build


def seconds(build: Callable[[], object], collecting: bool) -> float:
    gc.collect()
    (gc.enable if collecting else gc.disable)()
    start = time.perf_counter()
    kept = build()
    taken = time.perf_counter() - start
    gc.enable()
    del kept
    return taken


def build_rates() -> None:
    from micrograd.engine import Value

    from naive_graph import Graph, Variable

    print(f"building {NODES:,} nodes by overloading (nodes a second, source lines included in ours)")
    for workload in (product_chain, dot_product):
        for collecting in (True, False):
            ours = theirs = 0.0
            for _ in range(ROUNDS):
                with Graph.scratch():
                    ours = max(ours, NODES / seconds(workload(Variable), collecting))
                theirs = max(theirs, NODES / seconds(workload(Value), collecting))
            print(
                f"  {workload.__name__:14} collector {'on ' if collecting else 'off'}  {ours / 1e6:5.2f} M/s, "
                f"micrograd {theirs / 1e6:.2f} M/s, ratio {ours / theirs:5.2f}"
            )


def memory() -> None:
    from naive_graph import Graph, Variable

    print("memory (bytes a node, beyond the handles that are held)")
    for workload in (product_chain, dot_product):
        with Graph.scratch():
            gc.collect()
            tracemalloc.start()
            kept = workload(Variable)()
            size, _ = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            print(f"  {workload.__name__:14} {size / len(Graph.node_list):5.1f}, {len(Graph.node_list):,} nodes")
            del kept


def sweeps() -> None:
    from naive_graph import Graph, Variable

    with Graph.scratch():
        Graph.on_invalid = "ignore"
        y = product_chain(Variable)()
        for name, run in (("first forward (with its plan)", Graph.forward), ("forward", Graph.forward)):
            start = time.perf_counter()
            run(y, engine="reference")
            print(f"{name}: {1e9 * (time.perf_counter() - start) / NODES:,.0f} ns a node")
        start = time.perf_counter()
        Graph.backward(y, engine="reference")
        print(f"backward: {1e9 * (time.perf_counter() - start) / NODES:,.0f} ns a node")
        Graph.on_invalid = "warn"


def import_time() -> None:
    code = "import time; start = time.perf_counter(); import naive_graph; print(time.perf_counter() - start)"
    times = [float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
             for _ in range(ROUNDS)]  # fmt: skip
    print(f"import naive_graph: {1000 * min(times):.0f} ms")


if __name__ == "__main__":
    build_rates()
    memory()
    sweeps()
    import_time()
