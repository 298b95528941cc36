"""A network as machine code: its entries as scalar nodes, in which the engine finds the vectors again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...errors import FeedError
from ...program.program import Program
from ...tensor.base import TensorNode
from ...tensor.lower import lower
from ...tensor.nodes import LeafNode


class Compiled:
    """Called as the network is; gives what it gives. The weights are those that the network had when this was made."""

    def __init__(
        self,
        inputs: Mapping[str, LeafNode],
        outputs: Mapping[str, TensorNode],
        ordered: Callable[..., list[Any]],
        how: Mapping[str, Any],
    ) -> None:
        self.inputs, self.outputs, self.ordered = inputs, outputs, ordered
        lowered = [lower(each) for each in outputs.values()]
        self.program = Program(
            [node for each in lowered for node in each], (), [list(lower(each)) for each in inputs.values()], **how
        )

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output's array; of several outputs, a dict of them by name."""
        given = self.ordered(arrays, named)
        for leaf, array in zip(self.inputs.values(), given):
            if array.shape != leaf.shape:
                raise FeedError(f"This is compiled for {leaf.label}, not for an array of shape {array.shape}.")
        values = np.array(self.program(*[each.reshape(-1) for each in given]).value)
        ends = np.cumsum([each.size for each in self.outputs.values()])[:-1]
        parts = np.split(values, ends)
        found = {name: part.reshape(each.shape) for (name, each), part in zip(self.outputs.items(), parts)}
        return found if len(found) > 1 else next(iter(found.values()))
