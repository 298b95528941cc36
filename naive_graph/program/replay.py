"""Evaluate a batch again, sample by sample, to find the node whose value became infinite or NaN.

A `total` or `mean` over the samples needs all of them. So in each round every sample is evaluated up to
the totals that are not known yet; after the round these are known, and the next round goes further. A batch
needs the memory of one sample only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from ..core.plan import Plan
from ..core.rules import RULES

TOTAL, MEAN = (RULES[name].number for name in ("total", "mean"))


class Replay:
    """A plan and the number of its samples. batched: the steps that are fed a number for each sample."""

    def __init__(self, plan: Plan, samples: int, batched: Collection[int]) -> None:
        self.plan, self.samples = plan, samples
        self.known: dict[int, float] = {}  # a total's value, by its step
        self.varies: list[bool] = []  # by step: whether its value depends on the sample
        self.gathers: list[int] = []  # steps that are a total or a mean over the samples
        for step, kind in enumerate(plan.kinds):
            below = any(self.varies[operand] for operand in plan.operands(step))
            if kind in (TOTAL, MEAN) and below:
                self.gathers.append(step)
            self.varies.append(step in batched or (below and kind not in (TOTAL, MEAN)))

    def rounds(self, leaves: Any) -> Iterator[tuple[int, list[Any]]]:
        """Each sample with its values by step, round after round; a value is None while it needs an unknown total."""
        while True:
            sums: dict[int, float] = {}
            for sample in range(self.samples):
                values = self.evaluate_sample(leaves(sample))
                yield sample, values
                for step in self.gathers:
                    below = values[self.plan.operands(step)[0]]
                    if below is not None and step not in self.known:
                        sums[step] = sums[step] + below if sample else below
            for step, total in sums.items():
                self.known[step] = total / self.samples if self.plan.kinds[step] == MEAN else total
            if not sums:
                return

    def evaluate_sample(self, values: list[Any]) -> list[Any]:
        """The values of all steps of one sample that need no unknown total. values: the leaves', and None."""
        for step in range(len(values)):
            if (rule := self.plan.rule(step)) is not None:
                operands = [values[operand] for operand in self.plan.operands(step)]
                if step in self.known:
                    values[step] = self.known[step]
                elif step in self.gathers or None in operands:
                    values[step] = None
                else:
                    values[step] = rule(*operands)
        return values
