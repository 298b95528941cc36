"""Scalar Variables as weights: the interface between trainers and weights, which the parameters of a Model have too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

from ..core.number import as_list, number, shortened
from ..errors import TrainingError
from ..graph.node_factory import CURRENT
from ..graph.nodes import Variable, is_leaf_variable, rows_of


def make_range_check(least: float, most: float, description: str) -> Callable[[Any, str], float]:
    """Make a validator (value, name) -> float that raises TrainingError unless least <= value <= most.

    description: the valid range in words, for the message.
    """

    def check(value: Any, name: str) -> float:
        result = number(value, name)
        if not least <= result <= most:
            raise TrainingError(f"{name} is a {description}, not {shortened(value)}.")
        return result

    return check


LARGEST = sys.float_info.max
check_fraction = make_range_check(0.0, 1.0, "number from 0 to 1")


class ScalarWeight:
    """One scalar Variable, with the methods by which trainers move any weights, or array of weights.

    where: the part to read or write: None or `...` for all (None: as a copy), or an index of rows.
    """

    updated = True

    def __init__(self, node: Variable) -> None:
        self.node = node

    def select_part(self, sparse: bool) -> Any:
        """The part (`where`) that the next update changes; False for nothing. sparse: only rows with a gradient."""
        return None

    def read(self, where: Any) -> float:
        """The weights there."""
        value: float = self.node.value
        return value

    def slope(self, where: Any) -> float:
        """Their gradient."""
        slope = self.node.grad
        if slope is None:
            label = CURRENT.tables.label(self.node.row)
            raise TrainingError(f"{label} has no gradient yet. Call Graph.forward() and Graph.backward(f) first.")
        return float(slope)

    def write(self, where: Any, weights: float) -> None:
        """Set the weights there."""
        self.node.value = weights

    def shrink(self, factor: float) -> None:
        """Multiply all weights by a factor (weight decay)."""
        self.node.value *= factor

    def clear_gradient(self) -> None:
        """Set the gradient to zero."""
        CURRENT.tables.grads[self.node.row] = 0.0

    def zeros(self) -> float:
        """A zero, or an array of zeros of the weights' shape, to initialize optimizer state."""
        return 0.0


class HasWeightDecay:
    """Mixin with a weight decay setting; after every update w <- (1 - weight_decay_lambda) * w."""

    _decay = 0.0

    @property
    def weight_decay_lambda(self) -> float:
        return self._decay

    @weight_decay_lambda.setter
    def weight_decay_lambda(self, share: float) -> None:
        self._decay = check_fraction(share, "weight_decay_lambda")


class VariableList(HasWeightDecay):
    """A list of Variables in place of a Model, as in AdamTrainer([x, y]). Raises TrainingError for anything else."""

    def __init__(self, nodes: Any) -> None:
        if isinstance(nodes, (Variable, str)) or not isinstance(nodes, Iterable):
            raise TrainingError("A trainer takes a Model or a list of Variables: AdamTrainer([x, y]).")
        variables: list[Variable] = as_list(nodes, "A trainer", "a Model or a list of Variables: AdamTrainer([x, y])")
        if not variables:
            raise TrainingError("There is nothing to train. Give a Model, or Variables: AdamTrainer([x, y]).")
        for node in variables:
            if not is_leaf_variable(node):
                raise TrainingError(
                    f"A trainer moves Variables, or all parameters of a Model, not {shortened(node)}. Of tensors: "
                    "model = Model(), p = model.add_parameters(shape), the leaf parameter(p), and AdamTrainer(model)."
                )
        if len(set(rows_of(variables, "A trainer"))) < len(variables):
            raise TrainingError("A Variable stands twice in the list. Name each one once.")
        self.parameters = [ScalarWeight(node) for node in variables]
