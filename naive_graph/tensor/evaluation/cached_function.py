"""A tensor expression as a function of arrays: planned once, called many times, caching no values on its nodes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base import TensorNode
from .arrays import Array
from .eval_plan import plan_targets
from .evaluate import cached_array, computed


class PlannedFunction:
    """A function from arrays for `inputs` to the arrays of `outputs`; the evaluation plan is made once.

    Unlike a node, it caches no values, so several threads may call it at the same time.

    >>> from ..nodes import LeafNode
    >>> a = LeafNode.input(2, "a")
    >>> double, total = PlannedFunction([a], [a + a, (a * 3.0).sum()])(np.array([1.0, 2.0]))
    >>> double.tolist(), float(total)
    ([2.0, 4.0], 9.0)
    """

    def __init__(self, inputs: Sequence[TensorNode], outputs: Sequence[TensorNode]) -> None:
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.steps = plan_targets(self.outputs, self.inputs)

    def __call__(self, *arrays: Array) -> list[Array]:
        values: dict[TensorNode, Array] = dict(zip(self.inputs, arrays, strict=True))

        def value(node: TensorNode) -> Array:
            return values[node] if node in values else cached_array(node)

        with np.errstate(all="ignore"):  # values follow IEEE 754
            for step in self.steps:
                values[step.node] = computed(step, value)
        return [value(output) for output in self.outputs]
