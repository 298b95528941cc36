"""The longest that one step of a loop waits, from an empty cache: code is made while the loop runs.

    python tests/benchmarks/pauses.py            all loops, about a minute
    python tests/benchmarks/pauses.py rk4 loop   those whose name begins so

Each in a process of its own. The first step is told apart: it may compile what a process needs once.
A machine that is busy pauses loops too, so the longest steps are told with their numbers: those
of a run that were caused by us come again in the next one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import chain
from time import perf_counter

import numpy as np
from calls import any_graph, long_chain, rk4

import naive_graph as ng
from naive_graph import Graph, Program, Variable

STEPS, TOLD = 200_000, 3


def lstm(steps=6, width=4):
    """A cell that remembers, over some steps: its last outputs' sum, fed the inputs."""
    dice = np.random.default_rng(3)
    gates = [[[Variable(w) for w in row] for row in dice.normal(size=(width, width + 3)).tolist()] for _ in range(4)]
    x = [[ng.PlaceHolder() for _ in range(2)] for _ in range(steps)]
    h = c = [0.0] * width
    for now in x:
        given = [1.0, *now, *h]
        i, f, o, g = ([sum((w * v for w, v in zip(row, given)), 0.0) for row in gate] for gate in gates)
        i, f, o, g = *([ng.sigmoid(each) for each in gate] for gate in (i, f, o)), [ng.tanh(each) for each in g]
        c = [a * b + p * q for a, b, p, q in zip(f, c, i, g)]
        h = [a * ng.tanh(b) for a, b in zip(o, c)]
    inputs = list(chain(*x))
    weights = list(chain(*chain(*gates)))
    return Program(Graph.sum([each * each for each in h]), weights, inputs=inputs), dice.normal(size=2 * steps).tolist()


def asked(make):
    program, given = make()
    return partial(program, *given)


def through_the_graph(size):
    """Forward and backward of a small graph, which moves on to faster engines."""
    x = f = Variable(0.5)
    for _ in range(size // 4):
        f = (f * x + 0.25).tanh()

    def step():
        Graph.forward()
        Graph.backward(f)
        Graph.kill_grad()

    return step


LOOPS = {
    "rk4, 40 steps": partial(asked, rk4), "lstm, 6 steps": partial(asked, lstm),
    "random graph of 500": partial(asked, partial(any_graph, 500)),
    "random graph of 1,000": partial(asked, partial(any_graph, 1000)),
    "chain of 1,000": partial(asked, partial(long_chain, 1000)),
    "loop of forward and backward, 30 rows": partial(through_the_graph, 30),
    "loop of forward and backward, 300 rows": partial(through_the_graph, 300),
}  # fmt: skip


def measured(name: str) -> str:
    """A row of the table."""
    step, took = LOOPS[name](), np.empty(STEPS)
    begun = last = perf_counter()
    for place in range(STEPS):
        step()
        now = perf_counter()
        took[place], last = now - last, now
    slowest = sorted(range(1, STEPS), key=took.__getitem__)[: -TOLD - 1 : -1]
    told = ", ".join(f"{took[place] * 1e3:.0f} ms (step {place:,})" for place in slowest)
    return (
        f"| {name} | {took[0] * 1e3:.0f} ms | {told} | {np.median(took[-1000:]) * 1e6:.1f} us | {last - begun:.1f} s |"
    )


def main(chosen: list[str]) -> None:
    if chosen[:1] == ["--one"]:
        print(measured(chosen[1]))
        return
    print(
        "| loop | first step | longest after it | median of the last 1,000 | all |\n|---|---|---|---|---|", flush=True
    )
    for name in LOOPS:
        if not chosen or name.startswith(tuple(chosen)):
            with tempfile.TemporaryDirectory() as cache:
                command = [sys.executable, __file__, "--one", name]
                subprocess.run(command, env={**os.environ, "NAIVE_GRAPH_CACHE": cache}, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
