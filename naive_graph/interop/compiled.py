"""A network as machine code: its entries as scalar nodes, in which the engine finds the vectors again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..errors import FeedError
from ..program.program import Program
from ..tensor.base import TensorNode
from ..tensor.nodes import LeafNode


class Compiled:
    """Called as the network is; gives what it gives, with its present weights."""

    def __init__(
        self,
        inputs: Mapping[str, LeafNode],
        outputs: Mapping[str, TensorNode],
        ordered: Callable[..., list[Any]],
        how: Mapping[str, Any],
    ) -> None:
        self.leaves, self.ordered = list(inputs.values()), ordered
        self.names = list(outputs)
        self.program = Program(list(outputs.values()), (), list(inputs.values()), **how)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output's array; of several outputs, a dict of them by name."""
        given = self.ordered(arrays, named)
        for leaf, array in zip(self.leaves, given):
            if array.shape != leaf.shape:
                raise FeedError(f"This is compiled for {leaf.label}, not for an array of shape {array.shape}.")
        values = self.program(*given).value
        found = dict(zip(self.names, map(np.asarray, values)))
        return found if len(found) > 1 else found[self.names[0]]
