"""The reference engine: the sweeps themselves. It is the law for every other engine.

Over floats it computes numbers; `derive` runs it over drafts and dual numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from .plan import Plan
from .sweep import Finished, forward, reverse


def evaluate(plan: Plan, values: list[Any]) -> None:
    """Fill in the operators' values. `values`: one for each step, the leaves' set."""
    deque(forward(plan, values), maxlen=0)


def differentiate(plan: Plan, values: Sequence[Any], seeds: dict[int, Any], wanted: Sequence[bool]) -> list[Any]:
    """The adjoint of each step, 0.0 where the seeded results do not depend on it."""
    events = reverse(plan, values, seeds, wanted)
    adjoints = [event.adjoint for event in events if isinstance(event, Finished)]
    adjoints.reverse()  # the sweep ran backwards
    return adjoints
