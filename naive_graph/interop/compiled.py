"""A network as machine code: its entries as scalar nodes, in which the engine finds the vectors again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import FeedError
from ..program.program import Program
from ..tensor.base import TensorNode
from ..tensor.lowering.lower import lower
from ..tensor.nodes import LeafNode


class Compiled:
    """Called as the network is; gives what it gives. The weights are those that the network had when this was made."""

    def __init__(
        self,
        inputs: Mapping[str, LeafNode],
        outputs: Mapping[str, TensorNode],
        ordered: Callable[..., list[Any]],
        how: Mapping[str, Any],
    ) -> None:
        self.leaves, self.ordered = list(inputs.values()), ordered
        ends = np.cumsum([0, *(each.size for each in outputs.values())]).tolist()
        self.parts = [(name, slice(*ends[at : at + 2]), each.shape) for at, (name, each) in enumerate(outputs.items())]
        lowered = [lower(each) for each in outputs.values()]
        self.program = Program(
            [node for each in lowered for node in each], (), [list(lower(each)) for each in inputs.values()], **how
        )

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output's array; of several outputs, a dict of them by name."""
        given = self.ordered(arrays, named)
        for leaf, array in zip(self.leaves, given):
            if array.shape != leaf.shape:
                raise FeedError(f"This is compiled for {leaf.label}, not for an array of shape {array.shape}.")
        values = np.array(self.program(*[each.reshape(-1) for each in given]).value)
        found = {name: values[part].reshape(shape) for name, part, shape in self.parts}
        return found if len(found) > 1 else found[self.parts[0][0]]
