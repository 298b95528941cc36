"""The reference engine: the sweeps themselves. It is the law for every other engine.

Over floats it computes numbers; `derive` runs it over drafts and dual numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from .plan import Plan
from .progress import FEW, is_watched, progress
from .sweep import Event, forward, reverse

REFERENCE_ONLY = "reference only"  # in the cache of a graph that has a rule which cannot be compiled


def evaluate(plan: Plan, values: list[Any]) -> None:
    """Fill in the operators' values. `values`: one for each step, the leaves' set."""
    told = len(plan) >= FEW and is_watched()
    computed = sum(1 for kind in plan.kinds if kind >= 0) if told else 0
    _drained(forward(plan, values, told), told, "forward", len(plan) + computed)


def differentiate(plan: Plan, values: Sequence[Any], seeds: dict[int, Any], wanted: Sequence[bool]) -> list[Any]:
    """The adjoint of each step, 0.0 where the seeded results do not depend on it."""
    told = len(plan) >= FEW and is_watched()
    adjoints: list[Any] = []
    most = 2 * len(plan) + len(plan.operand_steps)
    _drained(reverse(plan, values, seeds, wanted, adjoints, told), told, "backward", most)
    return adjoints


def _drained(events: Iterator[Event], told: bool, label: str, total: int) -> None:
    """Run the sweep, with a bar where it takes a while and somebody looks."""
    deque(progress(events, label, total) if told else events, maxlen=0)
