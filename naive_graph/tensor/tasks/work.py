"""What each task of a tensor expression computes: the steps of the simple engine, one at a time.

    F(v)     the value of v
    B(v,k)   what v contributes to its k-th source
    D(v,k)   what the own derivative of v's operator gives for its k-th operand
    G(v)     the derivative with respect to v, the sum of what its consumers contributed

A work is called with the results of the tasks that it needs, in their order.
serialization.py brings it to another process, where it computes what it computes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..base import Call, TensorNode
from ..calculus import Calculus
from ..differentiate import Adjoint, contribution, differentiate_call, finish_adjoint, merge_adjoints
from ..evaluation.arrays import Array
from ..evaluation.backprop import ones_like
from ..evaluation.evaluate import Arrays, computed, operand
from ..evaluation.recipes import Recipe
from ..selection import SelectionNode

ONE = Adjoint(None)  # the derivative of the result with respect to itself: a 1, whose array is made when F is known


class Given(NamedTuple):
    """The work of F for a value that came from another process."""

    value: Any

    def __call__(self) -> Array:
        return self.value


class Kept(NamedTuple):
    """The work of F for a leaf, or a node that was evaluated before: its value is known."""

    node: TensorNode

    def __call__(self) -> Array:
        return operand(self.node)


class Evaluate(NamedTuple):
    """The work of F for a node that is computed."""

    recipe: Recipe

    def __call__(self, *values: Array) -> Array:
        value_by_node = dict(zip(filter(_is_computed, self.recipe.reads), values))
        with np.errstate(all="ignore"):  # one for each thread
            return computed(self.recipe, _lookup(value_by_node))


class Contribute(NamedTuple):
    """The work of B, a contribution to a source, and of D, to an operand of a call that has its own derivative.

    values: of the `known` nodes, the node itself and what its contribution is computed from.
    """

    node: TensorNode
    position: int
    call: Call | None
    known: tuple[TensorNode, ...]

    def __call__(self, adjoint: Adjoint | None, *values: Array) -> Adjoint | None:
        if adjoint is None:
            return None
        value_by_node = dict(zip(self.known, values))
        if adjoint.sum is None:
            adjoint = Adjoint(ones_like(value_by_node[self.node]))
        calculus = Calculus(Arrays(), (), _lookup(value_by_node))
        with np.errstate(all="ignore"):
            if self.call is None:
                return contribution(calculus, self.node, self.position, adjoint)
            (share,) = differentiate_call(calculus, self.call, self.node, adjoint.sum, [self.position])
        return None if share is None else Adjoint(share)


class Total(NamedTuple):
    """The work of G: the sum of a node's contributions, in the order of the simple engine."""

    node: TensorNode

    def __call__(self, *shares: Adjoint | None) -> Adjoint | None:
        if not shares:
            return ONE
        total, calculus = None, Calculus(Arrays(), (), operand)
        with np.errstate(all="ignore"):
            for share in shares:
                if share is not None:  # an operator's own derivative may say that there is none
                    total = share if total is None else merge_adjoints(calculus, self.node, total, share)
            return total and finish_adjoint(calculus, self.node, total)


Work = Given | Kept | Evaluate | Contribute | Total


def _is_computed(node: TensorNode) -> bool:
    return not isinstance(node, SelectionNode)  # a selection is known without computing, and never written out


def _lookup(value_by_node: Mapping[TensorNode, Array]) -> Callable[[TensorNode], Any]:
    return lambda node: node if isinstance(node, SelectionNode) else value_by_node[node]
