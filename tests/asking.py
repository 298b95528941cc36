"""Programs of dtype float32, asked: what their tests share."""

import math

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from large_graphs import grown, leaves_of

from naive_graph import PlaceHolder, Program

LAW = settings(max_examples=12, deadline=None)
SEEDS = st.integers(0, 10**6)
SIZES = st.integers(3, 300)
SAMPLES = st.sampled_from([1, 7, 8, 15, 16, 17, 33, 100, 300])
ENGINES = ["reference", "tape", "native", None]
of_each_engine = pytest.mark.parametrize("engine", ENGINES)
of_each_machine = pytest.mark.parametrize("engine", ENGINES[1:])
SINGLES = st.floats(width=32)
NASTY = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4028235e38, -1e38, 1e39]
GATHERED = {"total", "mean"}


def asking(outputs, wrt=(), engine=None, **rest):
    return Program(outputs, wrt=wrt, engine=engine, dtype="float32", **rest)


def fed_graph(seed, size, operators):
    """A random graph, and the PlaceHolders that its output depends on."""
    nodes = grown(seed, size, [name for name in operators if name not in GATHERED])
    p = PlaceHolder(name="p")
    p.value = 0.5
    return nodes[-1] * p, [*leaves_of(nodes), p]


def fed(seed, leaves, samples):
    """A batch for each PlaceHolder."""
    dice = np.random.default_rng(seed)
    return {leaf: dice.uniform(-2, 2, samples) for leaf in leaves if isinstance(leaf, PlaceHolder)}
