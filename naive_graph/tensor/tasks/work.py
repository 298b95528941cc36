"""The callables of the tasks of a task graph; together they compute exactly what the serial engine computes.

    F(v)     the value of v
    B(v,k)   v's contribution to the derivative of its k-th source
    D(v,k)   the custom derivative of v's operator for its k-th operand
    G(v)     the derivative with respect to v: the sum of its consumers' contributions

The callable of a task (its work) gets the results of the tasks that it needs, in their order. It can run in
another process; serialization.py sends it there.
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
from ..evaluation.eval_plan import EvalStep
from ..evaluation.evaluate import ArrayAlgebra, cached_array, computed
from ..sparse_selector import SelectionNode

ONE = Adjoint(None)  # the seed: d output / d output; its array of ones is made once the output's value is known


class KnownValue(NamedTuple):
    """The work of F for a leaf or an evaluated node: returns the value that it has."""

    value: Any

    def __call__(self) -> Array:
        return self.value


class Evaluate(NamedTuple):
    """The work of F for a node to be computed, from the values that its step of the evaluation plan reads."""

    step: EvalStep

    def __call__(self, *values: Array) -> Array:
        computed_sources = [node for node in self.step.reads if not isinstance(node, SelectionNode)]
        value_by_node = dict(zip(computed_sources, values))
        with np.errstate(all="ignore"):  # the error state is per thread
            return computed(self.step, _lookup(value_by_node))


class Contribute(NamedTuple):
    """The work of B (a contribution to a source) or D (to an operand of a call with a custom derivative).

    Called with G of the node, and the values of the `known` nodes: the node itself and what its vjp reads.
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
        calculus = Calculus(ArrayAlgebra(), (), _lookup(value_by_node))
        with np.errstate(all="ignore"):
            if self.call is None:
                return contribution(calculus, self.node, self.position, adjoint)
            (share,) = differentiate_call(calculus, self.call, self.node, adjoint.sum, [self.position])
        return None if share is None else Adjoint(share)


class SumContributions(NamedTuple):
    """The work of G: the sum of the contributions to a node, in the order of the serial engine."""

    node: TensorNode

    def __call__(self, *shares: Adjoint | None) -> Adjoint | None:
        if not shares:
            return ONE
        total, calculus = None, Calculus(ArrayAlgebra(), (), cached_array)
        with np.errstate(all="ignore"):
            for share in shares:
                if share is not None:  # None: a custom derivative may return no gradient
                    total = share if total is None else merge_adjoints(calculus, self.node, total, share)
            return total and finish_adjoint(calculus, self.node, total)


Work = KnownValue | Evaluate | Contribute | SumContributions


def _lookup(value_by_node: Mapping[TensorNode, Array]) -> Callable[[TensorNode], Any]:
    return lambda node: node if isinstance(node, SelectionNode) else value_by_node[node]
