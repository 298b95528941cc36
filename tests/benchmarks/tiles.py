"""How near the tiles of a layer come to the machine's peak of fused multiply-adds.

    python tests/benchmarks/tiles.py                # 32 outputs, 64 inputs, 64 samples
    python tests/benchmarks/tiles.py 128 128 128

One thread, minima of interleaved rounds. The peak is measured: sixteen sums
that never leave their registers. A value's product and sum are two roundings,
and two instructions; so half of the peak is the most that the written order allows.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from naive_graph.engines.llvm.machine import addresses, machine
from naive_graph.engines.llvm.typed import LANES, Floats, Ints, unrolled
from naive_graph.engines.tape.memory import aligned
from naive_graph.engines.tape.sums import Samples, dense, fma, many, outer

ROUNDS, SECONDS = 15, 0.05
SUMS = 16  # as many as hide the time that one addition takes


@machine
def fused_products(xs: Floats, times: int) -> None:
    """The peak: so many times SUMS products and additions of registers."""
    x, y = xs[0:LANES], xs[LANES : LANES + LANES]
    sums = [many(0.0) for n in range(SUMS)]
    for _ in range(times):
        for n in unrolled(SUMS):
            sums[n] = fma(x, y, sums[n])
    for n in unrolled(SUMS):
        xs[n * LANES : n * LANES + LANES] = sums[n]


@machine
def layer(code: Ints, on: Samples, times: int) -> None:
    for _ in range(times):
        dense(code, 0, on)


@machine
def weights_gradients(code: Ints, on: Samples, times: int) -> None:
    for _ in range(times):
        outer(code, 0, on)


def optimised(function, *given):
    """The function as LLVM's optimiser leaves it, called with how many times."""
    call = function.compiled(quick=False)
    return lambda times: call(*addresses((*given, times)))


def rates(works) -> dict[str, float]:
    """Products and additions in a second of each: {name: (work of a number of times, products at a time)}."""
    found = dict.fromkeys(works, 0.0)
    for _ in range(ROUNDS):
        for name, (work, products) in works.items():
            times = max(1, int(SECONDS / (products / 2e10)))
            since = time.perf_counter()
            work(times)
            found[name] = max(found[name], times * products / (time.perf_counter() - since))
    return found


def main(outputs: int = 32, inputs: int = 64, samples: int = 64) -> None:
    assert outputs % 4 == 0 and samples % LANES == 0, "tiles take outputs by the four, and samples by the eight"
    dice = np.random.default_rng(0)
    scalars, lanes = aligned(outputs * (inputs + 1)), aligned((outputs + inputs + 2 * LANES) * samples)
    scalars[:], lanes[:] = dice.normal(size=len(scalars)), dice.normal(size=len(lanes))
    heads = np.stack([np.arange(outputs), np.arange(outputs) * inputs, outputs * inputs + np.arange(outputs)], axis=1)
    read, many_products = np.arange(outputs, outputs + inputs), outputs * inputs * samples
    works = {"the peak": (optimised(fused_products, aligned(SUMS * LANES)), SUMS * LANES)}
    for name, fused in (("values, each product rounded", 0), ("gradients, fused", 1)):
        code = np.array([outputs, inputs, fused, 1, *heads.reshape(-1), *read], np.int32)
        works[name] = (
            optimised(layer, code, Samples(scalars, scalars, lanes, samples, samples, samples, 0)),
            many_products,
        )
    code = [outputs, inputs, outputs + inputs, *range(outputs), *read, *np.arange(outputs) * inputs]
    works["gradients of the weights"] = (
        optimised(
            weights_gradients, np.array(code, np.int32),
            Samples(scalars, np.zeros(len(scalars)), lanes, samples, samples, samples, 1),
        ),
        many_products,
    )  # fmt: skip
    found = rates(works)
    print(f"| a layer of {outputs} outputs, {inputs} inputs, {samples} samples | products a second | of the peak |")
    print("|---|---|---|")
    for name, rate in found.items():
        print(f"| {name} | {rate / 1e9:.1f} billion | {rate / found['the peak']:.2f} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
