"""How fast the engines are, beside micrograd, CasADi, torch, JAX and C.

    python tests/benchmarks/engines.py             all of it, about five minutes
    python tests/benchmarks/engines.py moons seed  only these

One thread (but for `cores`), float64, minima of interleaved rounds. A ratio below 1 means that we are faster. Peers
round a product and its addition once; we round both. Those that are not installed are left out:
pip install micrograd casadi jax torch. C needs gcc.
"""

from __future__ import annotations

import os
import sys
import time
from functools import partial

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import calls  # noqa: E402 - after the number of threads is set
import numpy as np  # noqa: E402
import peers  # noqa: E402
from workloads import CHAIN_AT, LAYERS, chain, digits, moons, random_graph, replay  # noqa: E402

import naive_graph as ng  # noqa: E402
from naive_graph import Graph, Program, logsumexp, mean, relu  # noqa: E402

ROUNDS, BUDGET = 15, 0.15  # rounds, and seconds of each peer in a round
WARM = 1.0  # seconds that each runs before: a Program that is asked often compiles once more, and so does jax


def minima(works) -> dict[str, float]:
    """The least seconds of one step of each, in interleaved rounds."""
    works = {name: work for name, work in works.items() if work is not None}
    times, best = {}, {}
    for name, work in works.items():
        work()
        until, once = time.perf_counter() + WARM, float("inf")
        while (start := time.perf_counter()) < until:
            work()
            once = min(once, time.perf_counter() - start)  # some call compiles, and tells nothing
        times[name] = max(1, int(BUDGET / max(once, 1e-7)))
        best[name] = float("inf")
    for _ in range(ROUNDS):
        for name, work in works.items():
            if times[name] == 1 and best[name] < float("inf") and best[name] > 1:
                continue  # a second a step: one round tells enough
            start = time.perf_counter()
            for _ in range(times[name]):
                work()
            best[name] = min(best[name], (time.perf_counter() - start) / times[name])
    return best


def shown(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def row(work: str, found: dict[str, float]) -> None:
    """One line of the table: ours, then each peer's time and our share of it."""
    ours = found["ours"]
    rest = [f"{name} {shown(took)} ({ratio(ours / took)})" for name, took in found.items() if name != "ours"]
    print(f"| {work} | {shown(ours)} | {', '.join(rest)} |", flush=True)


def ratio(share: float) -> str:
    return f"1/{1 / share:,.3g}" if share < 0.1 else f"{share:.2g}"


def our_network(weights, layers):
    """The weights as Variables, and a function that applies the network to a list of nodes or numbers."""
    made = [
        ([[ng.Variable(w) for w in r] for r in w.tolist()], [ng.Variable(c) for c in b.tolist()]) for w, b in weights
    ]
    every = [each for w, b in made for each in [*(x for r in w for x in r), *b]]

    def network(h):
        for depth, (w, b) in enumerate(made):
            h = [sum((wi * xi for wi, xi in zip(r, h)), c) for r, c in zip(w, b)]
            h = h if depth == layers - 1 else [relu(x) for x in h]
        return h

    return every, network


def moons_rows() -> None:
    points, labels, weights = data = moons()
    makers = {
        "micrograd": peers.micrograd_moons, "CasADi": peers.casadi_moons, "torch": peers.torch_moons,
        "jax jit": peers.jax_moons, "C": peers.c_moons,
    }  # fmt: skip
    others = {name: make(*data) for name, make in makers.items()}
    with Graph.scratch():
        every, network = our_network(weights, len(LAYERS))
        losses = [relu(1 - y * network(x)[0]) for x, y in zip(points.tolist(), labels.tolist())]
        loss = sum(losses) * (1.0 / len(losses)) + 1e-4 * sum(x * x for x in every)
        row("moons 2-16-16-1, 100 samples, unrolled by a loop", minima({"ours": Program(loss, every), **others}))
    with Graph.scratch():
        row("the same, fed as a batch", minima({"ours": moons_step(*data), **others}))


def moons_step(points, labels, weights):
    """A step of the network, fed a batch."""
    every, network = our_network(weights, len(LAYERS))
    x, y = [ng.PlaceHolder(), ng.PlaceHolder()], ng.PlaceHolder()
    loss = mean(relu(1 - y * network(x)[0])) + 1e-4 * sum(x * x for x in every)
    return partial(Program(loss, every, inputs=[x, y]), points, labels)


def digits_rows() -> None:
    for size in (32, 64, 512, 4096):
        data = digits(size)
        others = {"torch": peers.torch_digits(*data), "jax jit": peers.jax_digits(*data)}
        with Graph.scratch():
            row(f"digits 64-32-10, batch of {size}", minima({"ours": digits_step(*data), **others}))


def digits_step(images, classes, weights):
    """A step of the network, fed a batch."""
    every, network = our_network(weights, 2)
    x, y = [ng.PlaceHolder() for _ in range(64)], [ng.PlaceHolder() for _ in range(10)]
    z = network(x)
    loss = mean(logsumexp(z) - sum(a * b for a, b in zip(y, z)))
    return partial(Program(loss, every, inputs=[x, y]), images, classes)


FUNCTIONS = {name: getattr(ng, name) for name in ("exp", "log", "sin", "cos", "tanh")}


def graph_rows() -> None:
    for size in (1_000, 10_000, 100_000, 1_000_000):
        leaves, steps = random_graph(size)
        with Graph.scratch():
            variables = [ng.Variable(x) for x in leaves]
            program = Program(replay(variables, steps, FUNCTIONS), variables)
            works = {"ours": program, "CasADi": peers.casadi_graph(leaves, steps)}
            row(f"random graph of {size:,} nodes", minima(works))


def batch_rows() -> None:
    leaves, steps = random_graph(1_000)
    with_jax = "--jax" in sys.argv
    for batch in (8, 64, 1024):
        with Graph.scratch():
            holders = [ng.PlaceHolder() for _ in leaves]
            program = Program(replay(holders, steps, FUNCTIONS), holders, inputs=[holders])
            values = np.tile(leaves, (batch, 1))
            works = {"ours": partial(program, values), "CasADi map": peers.casadi_graph(leaves, steps, batch)}
            if with_jax:
                works["jax jit"] = peers.jax_graph(leaves, steps, batch)
            row(f"the same of 1,000 nodes, batch of {batch}", minima(works))


def core_rows() -> None:
    """Ours on two cores beside ours on one, to which OMP_NUM_THREADS keeps it from the next call on."""
    leaves, steps = random_graph(1_000)
    for batch in (256, 1024, 8192):
        with Graph.scratch():
            holders = [ng.PlaceHolder() for _ in leaves]
            program = Program(replay(holders, steps, FUNCTIONS), holders, inputs=[holders])
            core_row(f"1,000 nodes, batch of {batch:,}", partial(program, np.tile(leaves, (batch, 1))))
    for size in (512, 4096):
        with Graph.scratch():
            core_row(f"digits 64-32-10, batch of {size:,}", digits_step(*digits(size)))
    for size in (4096, 16_384):
        with Graph.scratch():
            core_row(f"moons 2-16-16-1, fed, batch of {size:,}", moons_step(*moons(size)))
    for size in (256, 1024):
        with Graph.scratch():
            program, given = calls.cnn(size)
            core_row(f"small CNN, 8 x 8, batch of {size:,}", partial(program.backward, *given))


def core_row(work: str, step) -> None:
    """Single steps in turns: on a busy machine few of two threads go undisturbed for long."""
    best = {"ours": float("inf"), "on one core": float("inf")}
    for _ in range(500):
        for name, cores in (("ours", "2"), ("on one core", "1")):
            os.environ["OMP_NUM_THREADS"] = cores
            since = time.perf_counter()
            step()
            best[name] = min(best[name], time.perf_counter() - since)
    row(work, best)


def chain_rows() -> None:
    for size in (1_000, 100_000, 1_000_000):
        with Graph.scratch():
            leaves = [ng.Variable(x) for x in CHAIN_AT]
            program = Program(chain(size // 5, *leaves, ng.sin), leaves)
            row(
                f"chain of {size:,} nodes", minima({"ours": program, "CasADi": peers.casadi_chain(size // 5, CHAIN_AT)})
            )


def seed_rows() -> None:
    with Graph.scratch():
        x = ng.Variable(6.0)
        f = ((x - 7) ** 2 + 10).log()

        def step():
            Graph.forward()
            Graph.backward(f)
            x.value -= 0.01 * x.grad
            Graph.kill_grad()

        for _ in range(6000):  # until the choice of engine has settled
            step()
        works = {"ours": step, "micrograd": peers.micrograd_seed(), "CasADi": peers.casadi_seed()}
        row("log((x-7)**2+10), one iteration of a loop in Python", minima(works))
    for name, start, rate, loss in (
        ("the same loop", (6.0,), 0.01, lambda library, x: library.log((x - 7) ** 2 + 10)),
        ("Rosenbrock's function", (-1.0, 1.0), 1e-4, lambda _, a, b: (1 - a) ** 2 + 100 * (b - a**2) ** 2),
    ):
        with Graph.scratch():
            at = [ng.Variable(held) for held in start]
            program = Program(loss(ng, *at), at)
            works = {
                "ours": lambda program=program, rate=rate: program.minimize(rate, 100_000),
                "jax jit": peers.jax_descent(100_000, start, rate, loss),
            }
            row(f"{name} compiled, 100,000 iterations", minima(works))


ROWS = {
    "moons": moons_rows, "digits": digits_rows, "graph": graph_rows, "batch": batch_rows,
    "cores": core_rows, "chain": chain_rows, "seed": seed_rows,
}  # fmt: skip


if __name__ == "__main__":
    print("| work | ours | peers, and our share of their time |\n|---|---|---|")
    for chosen in [each for each in sys.argv[1:] if each in ROWS] or ROWS:
        ROWS[chosen]()
