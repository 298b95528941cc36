"""The nodes of a network for inputs of certain shapes, and how its outputs are computed from them, all in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import ImportModelError
from ...tensor.base import TensorNode, check_tensors
from ...tensor.differentiate import ancestors
from ...tensor.evaluate import computed, operand, written_out
from ...tensor.index import Shape
from ...tensor.nodes import LeafNode
from ...tensor.recipes import Recipe, missing, recipes
from .building import Builder
from .folding import check_entries
from .reading import Content
from .weights import Weights


class Sized:
    """The nodes of a network, for inputs of certain shapes."""

    def __init__(
        self, content: Content, weights: Weights, known: Mapping[str, Any], shapes: Mapping[str, Shape]
    ) -> None:
        builder = Builder(weights)
        for slot in content.inputs:
            builder.types[slot.name] = slot.type
            if slot.name in known:
                builder.values[slot.name] = known[slot.name]
                continue
            shape = shapes[slot.name]
            check_entries(shape, f"Input {slot.name!r}")
            if 0 in shape:
                raise ImportModelError(f"Input {slot.name!r} of shape {shape} has no entries. A tensor here has some.")
            builder.values[slot.name] = LeafNode.input(shape, slot.name)
        for step in content.steps:
            builder.take(step)
        self.inputs = {name: builder.values[name] for name in shapes}
        self.values = {each.name: builder.value(each.name) for each in content.outputs}
        self.outputs = {
            name: builder.node(name, value) if isinstance(value, np.ndarray) else value
            for name, value in self.values.items()
            if not isinstance(value, np.ndarray) or value.size
        }
        found = {name: each for name, each in builder.values.items() if isinstance(each, TensorNode)}
        self.nodes = found | builder.nodes
        self.computed = {name: each for name, each in self.values.items() if isinstance(each, TensorNode)}
        self.inner = [each for each in ancestors([*self.computed.values()]) if each.sources]

    @cached_property
    def plan(self) -> list[Recipe]:
        """How all outputs are computed, found once."""
        found: list[Recipe] = []
        done: set[TensorNode] = set()
        for target in self.computed.values():
            found += recipes(missing(target, done.__contains__), target)
            done.update(each.node for each in found)
        return found

    def run(self) -> dict[str, Any]:
        """The outputs' arrays, from the inputs' present ones; inner nodes are evaluated with them."""
        check_tensors("A network", self.computed.values())
        for each in self.inner:
            each._value = None
        with np.errstate(all="ignore"):  # values follow IEEE 754
            for recipe in self.plan:
                recipe.node._value = computed(recipe, operand)
        return {
            name: written_out(operand(each)) if isinstance(each, TensorNode) else each
            for name, each in self.values.items()
        }
