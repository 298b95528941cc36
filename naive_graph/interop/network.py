"""A network that came from another framework: its tensors, by the names that they had there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ImportModelError
from ..tensor.base import TensorNode
from ..tensor.nodes import LeafNode

FEW = 8  # names in a message


class Network:
    """Inputs, parameters, outputs and all inner nodes, by name. Called with arrays, it computes.

    inputs: LeafNodes that are fed. parameters: LeafNodes that can be learned.
    outputs: what it is for. nodes: every tensor, by the name of the node there;
    a tuple where that has several results.
    """

    def __init__(
        self,
        inputs: Mapping[str, LeafNode],
        parameters: Mapping[str, LeafNode],
        outputs: Mapping[str, TensorNode],
        nodes: Mapping[str, Any],
    ) -> None:
        self.inputs, self.parameters = dict(inputs), dict(parameters)
        self.outputs, self.nodes = dict(outputs), dict(nodes)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The outputs' arrays: one alone as it is, several as a dictionary.

        Inputs in their order, or by name; names that Python has no letters for in a dictionary.
        """
        given = (
            dict(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], Mapping) else dict(zip(self.inputs, arrays))
        )
        if (
            len(arrays) > max(1, len(self.inputs))
            or given.keys() & named.keys()
            or not {*given, *named} <= {*self.inputs}
        ):
            raise ImportModelError(
                f"This network takes {listed(self.inputs)}, not {len(arrays)} arrays and {[*named]}."
            )
        for name, array in {**given, **named}.items():
            self.inputs[name].value = array
        found = {name: node.forward() for name, node in self.outputs.items()}
        return next(iter(found.values())) if len(found) == 1 else found

    def __repr__(self) -> str:
        size = sum(each.size for each in self.parameters.values())
        return (
            f"<Network {listed(self.inputs)} -> {listed(self.outputs)}: {len(self.nodes):,} nodes, "
            f"{size:,} weights in {len(self.parameters):,} parameters>"
        )


def listed(names: Any) -> str:
    """The names in a message, the first few of many."""
    shown = ", ".join(map(repr, [*names][:FEW])) or "nothing"
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW:,} more"
