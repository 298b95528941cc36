"""The reference engine: the sweeps themselves. It is the law for every other engine.

Over floats it computes numbers; `derive` runs it over drafts and dual numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from .plan import Plan
from .progress import FEW, many
from .sweep import Event, Finished, forward, reverse


def evaluate(plan: Plan, values: list[Any]) -> None:
    """Fill in the operators' values. `values`: one for each step, the leaves' set."""
    computed = sum(1 for kind in plan.kinds if kind >= 0)
    deque(_watched(forward(plan, values), "forward", len(plan) + computed), maxlen=0)


def differentiate(plan: Plan, values: Sequence[Any], seeds: dict[int, Any], wanted: Sequence[bool]) -> list[Any]:
    """The adjoint of each step, 0.0 where the seeded results do not depend on it."""
    most = 2 * len(plan) + len(plan.operand_steps)
    events = _watched(reverse(plan, values, seeds, wanted), "backward", most)
    adjoints = [event.adjoint for event in events if isinstance(event, Finished)]
    adjoints.reverse()  # the sweep ran backwards
    return adjoints


def _watched(events: Iterator[Event], label: str, total: int) -> Iterable[Event]:
    """The events, with a bar where they take a while; the way of a short run passes no further file."""
    return events if total < FEW else many(events, label, total)
