"""What each task of a tensor expression computes: the steps of the simple engine, one at a time.

    F(v)     the value of v
    B(v,k)   what v contributes to its k-th source
    G(v)     the derivative with respect to v, the sum of what its consumers contributed

A work is called with the results of the tasks that it needs, in their order.
It can be pickled, and then computes in another process what it computes here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..base import TensorNode
from ..calculus import Calculus
from ..differentiate import Adjoint, contribution, joined, settled
from ..evaluate import Arrays, computed, ones_like, operand
from ..index import Ids
from ..recipes import Recipe
from ..selection import SelectionNode
from .sending import received, sent
from .strides import received_result, sent_result

ONE = Adjoint(None)  # the derivative of the result with respect to itself: a 1, whose array is made when F is known


class Given(NamedTuple):
    """F of a value that came from another process, as layout.py sends it."""

    value: Any

    def __call__(self) -> Array:
        return received_result(self.value)


class Kept(NamedTuple):
    """F of a leaf, or of a node that was evaluated before: its value is there."""

    node: TensorNode

    def __call__(self) -> Array:
        return operand(self.node)

    def __reduce__(self) -> tuple[Any, ...]:
        return Given, (sent_result(operand(self.node)),)


class Evaluate(NamedTuple):
    """F of a node that is computed."""

    recipe: Recipe

    def __call__(self, *values: Array) -> Array:
        known = dict(zip(filter(_is_computed, self.recipe.reads), values))
        with np.errstate(all="ignore"):  # one for each thread
            return computed(self.recipe, _lookup(known))

    def __reduce__(self) -> tuple[Any, ...]:
        node, factors = self.recipe
        others = list(dict.fromkeys([*node.sources, *(each for each, _ in factors)]))
        return _received_evaluate, (sent(node, others), [(others.index(each), ids) for each, ids in factors])


def _received_evaluate(data: tuple[Any, ...], factors: Sequence[tuple[int, Ids]]) -> Evaluate:
    node, others = received(*data)
    return Evaluate(Recipe(node, [(others[place], ids) for place, ids in factors]))


class Contribute(NamedTuple):
    """B: `values` are those of the `known` nodes, the node itself and its sources."""

    node: TensorNode
    position: int
    known: tuple[TensorNode, ...]

    def __call__(self, adjoint: Adjoint, *values: Array) -> Adjoint:
        known = dict(zip(self.known, values))
        if adjoint.sum is None:
            adjoint = Adjoint(ones_like(known[self.node]))
        with np.errstate(all="ignore"):
            share = contribution(Calculus(Arrays(), (), _lookup(known)), self.node, self.position, adjoint)
        assert share is not None  # tasks are made only where the node responds
        return share

    def __reduce__(self) -> tuple[Any, ...]:
        others = list(dict.fromkeys(self.node.sources))
        known = [others.index(each) if each in others else -1 for each in self.known]
        return _received_contribute, (sent(self.node, others), self.position, known)


def _received_contribute(data: tuple[Any, ...], position: int, known: Sequence[int]) -> Contribute:
    node, others = received(*data)
    return Contribute(node, position, tuple(others[place] if place >= 0 else node for place in known))


class Total(NamedTuple):
    """G: contributions are added in their order, which is that of the simple engine."""

    node: TensorNode

    def __call__(self, first: Adjoint = ONE, *others: Adjoint) -> Adjoint:
        if first.sum is None:
            return first
        calculus = Calculus(Arrays(), (), operand)
        with np.errstate(all="ignore"):
            for each in others:
                first = joined(calculus, self.node, first, each)
            return settled(calculus, self.node, first)

    def __reduce__(self) -> tuple[Any, ...]:
        return _received_total, (sent(self.node, self.node.sources),)


def _received_total(data: tuple[Any, ...]) -> Total:
    return Total(received(*data)[0])


Work = Given | Kept | Evaluate | Contribute | Total


def _is_computed(node: TensorNode) -> bool:
    return not isinstance(node, SelectionNode)  # a selection is known without computing, and never written out


def _lookup(known: Mapping[TensorNode, Array]) -> Callable[[TensorNode], Any]:
    return lambda node: node if isinstance(node, SelectionNode) else known[node]
