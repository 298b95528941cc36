"""Many samples once more, one by one, to find the node that went wrong.

A sample is evaluated as far as it needs no total over all samples; then the
totals are known, and the next round goes further. So a batch takes the memory of
one sample, and a `mean` in the middle of a graph is the mean that it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from ..core.plan import Plan
from ..core.rules import RULES

TOTAL, MEAN, WHERE = (RULES[name].number for name in ("total", "mean", "where"))


class Replay:
    """A plan over samples. leaves: for each sample the leaves' values, by step; batched: steps that are fed batches."""

    def __init__(self, plan: Plan, samples: int, batched: Sequence[int]) -> None:
        self.plan, self.samples = plan, samples
        self.known: dict[int, float] = {}  # a total's value, by its step
        self.varies = [False] * len(plan)
        for step in batched:
            self.varies[step] = True
        for step in range(len(plan)):
            if plan.kinds[step] not in (TOTAL, MEAN) and any(self.varies[each] for each in plan.operands(step)):
                self.varies[step] = True
        self.gathers = [
            step
            for step in range(len(plan))
            if plan.kinds[step] in (TOTAL, MEAN) and self.varies[plan.operands(step)[0]]
        ]

    def rounds(self, leaves: Any) -> Iterator[tuple[int, list[Any]]]:
        """(sample, values by step), round after round; None where a value needs a total that is not known yet."""
        while True:
            sums: dict[int, float] = {}
            for sample in range(self.samples):
                values = self.evaluated(leaves(sample))
                yield sample, values
                for step in self.gathers:
                    below = values[self.plan.operands(step)[0]]
                    if below is not None and step not in self.known:
                        sums[step] = sums[step] + below if sample else below
            for step, total in sums.items():
                self.known[step] = total / self.samples if self.plan.kinds[step] == MEAN else total
            if not sums:
                return

    def evaluated(self, values: list[Any]) -> list[Any]:
        """The leaves' values, and those of all steps that need no unknown total."""
        for step, kind in enumerate(self.plan.kinds):
            if kind >= 0:
                operands = [values[each] for each in self.plan.operands(step)]
                rule = self.plan.rule(step)
                if step in self.known:
                    values[step] = self.known[step]
                elif rule is not None and step not in self.gathers and None not in operands:
                    values[step] = rule(*operands)
                else:
                    values[step] = None
        return values


def first_wrong(plan: Plan, values: Sequence[Any], asked: Sequence[int], known: Any = ()) -> int | None:
    """The first step that made an asked value infinite or NaN; None if none did.

    The branch that a `where` did not take made nothing. known: totals, whose
    operands are other samples' too.
    """
    waiting = [step for step in asked if values[step] is not None and not isfinite(values[step])]
    found = set(waiting)
    guilty = []
    while waiting:
        step = waiting.pop()
        operands = [] if step in known else list(plan.operands(step))
        if plan.kinds[step] == WHERE:
            operands = [operands[0], operands[1 if values[operands[0]] != 0 else 2]]
        wrong = [each for each in operands if not isfinite(values[each])]
        if not wrong:
            guilty.append(step)
        waiting.extend(each for each in wrong if each not in found)
        found.update(wrong)
    return min(guilty, default=None)
