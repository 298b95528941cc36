"""The law of live pages, asked of their code in node: any graph follows its leaves."""

from __future__ import annotations

import json
import math
import struct
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from graphs import NUMBERS, build, tame
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naive_graph import Graph, Operator

BITS = """
const bits = x => { const b = Buffer.alloc(8); b.writeDoubleBE(x ?? 0); return b.toString("hex"); };
const float = text => Buffer.from(text, "hex").readDoubleBE(0);
const told = JSON.parse(require("fs").readFileSync(0));
const tell = numbers => console.log([...numbers].map(bits).join(" "));
"""


def bits(numbers: Sequence[float]) -> list[str]:
    """Numbers as JSON can carry them, NaN and infinities too; `float` in node reads them."""
    return [struct.pack(">d", x).hex() for x in numbers]


def in_node(program: str, told: Any) -> list[list[float]]:
    """The lines of numbers that a program `tell`s, given what is `told`."""
    done = subprocess.run(
        ["node", "-e", BITS + program], input=json.dumps(told), text=True, capture_output=True, check=True
    )
    return [[struct.unpack(">d", bytes.fromhex(each))[0] for each in line.split()] for line in done.stdout.splitlines()]


def close(one: float, other: float) -> bool:
    """Equal but for the last digits: the browser's functions are not those of the C library."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other or abs(one - other) <= 1e-9 * max(1.0, abs(one))


def computed(y: Any, leaves: Sequence[int], numbers: Sequence[float]) -> Callable[[Sequence[int]], list[float]]:
    """Give leaves these values and ask the reference engine; the gradients of rows, afterwards."""
    for row, number in zip(leaves, numbers):
        Graph.node_list[row].value = number
    Graph.forward(y, engine="reference")
    Graph.backward(y, engine="reference")
    return lambda rows: [Graph.node_list[row].grad or 0.0 for row in rows]


def check_any_graph(live: Callable[[Any], tuple[list[Any], list[int], list[int], list[int]] | None], text: str) -> None:
    """A page's numbers are those of the reference engine, for any graph and any values of its leaves.

    live: of a result, what the page is told of it, the rows of its leaves, and those whose
    values and gradients the program `text` tells; None where a page does not compute.
    """
    told: list[Any] = []
    due: list[list[float]] = []

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(tame(), st.lists(NUMBERS, min_size=4, max_size=4))
    def law(recipe: Any, numbers: list[float]) -> None:
        with Graph.scratch():
            y = build(recipe)[-1]
            known = live(y) if isinstance(y, Operator) else None
            if known is None:
                return
            facts, leaves, valued, graded = known
            told.append([*facts, bits(numbers[: len(leaves)])])
            grads = computed(y, leaves, numbers)
            due.append([*(Graph.node_list[row].value for row in valued), *grads(graded)])

    law()
    for found, numbers in zip(in_node(text, json.loads(json.dumps(told))), due, strict=True):
        assert len(found) == len(numbers)
        assert [pair for pair in zip(found, numbers) if not close(*pair)] == []
    assert len(told) > 20
