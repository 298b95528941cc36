"""Evaluation plans: which tensors to compute, in topological order, with nested products fused.

A product whose only consumer is another product is folded into it: both become one contraction with more
than two factors, whose order opt_einsum chooses. An `EvalStep` is one step of the plan and names the
tensors whose arrays it reads. Planning touches no arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from ..base import TensorNode
from ..differentiate import Predecessors, ancestors
from ..index import Ids, LinearIndex
from ..nodes import LeafNode, LinearNode, is_product

MOST_FACTORS = 6  # a product with as many factors is not folded into its consumer
Factors = list[tuple[TensorNode, Ids]]  # the operands of a contraction, with the ids of their axes


class EvalStep(NamedTuple):
    """One step of an evaluation plan: a product is computed from its factors, any other node from its sources."""

    node: TensorNode
    factors: Factors

    @property
    def reads(self) -> list[TensorNode]:
        """The tensors whose arrays it needs, each once."""
        return list(dict.fromkeys([source for source, _ in self.factors] or self.node.reads))


READS: Predecessors = attrgetter("reads")


def missing_ancestors(target: TensorNode, has_value: Callable[[TensorNode], bool]) -> list[TensorNode]:
    """The nodes that a target is computed from and that have no value yet, in topological order, leaves included."""
    return ancestors([target], READS, has_value)


def plan_targets(targets: Iterable[TensorNode], known: Iterable[TensorNode] = ()) -> list[EvalStep]:
    """The plan for several targets, each step once. known: nodes whose values are given."""
    steps: list[EvalStep] = []
    done = set(known)
    for target in targets:
        steps += plan_evaluation(missing_ancestors(target, done.__contains__), target)
        done.update(step.node for step in steps)
    return steps


def plan_evaluation(nodes: Sequence[TensorNode], target: TensorNode) -> list[EvalStep]:
    """The plan for these nodes (in topological order); products that are folded into others have no step.

    >>> from ..nodes import LeafNode
    >>> a, b, v = (LeafNode.parameter([[1.0]], name) for name in "abv")
    >>> product = (a @ b) @ v
    >>> (step,) = plan_evaluation(missing_ancestors(product, lambda node: not node.sources), product)
    >>> [node.name for node in step.reads]
    ['a', 'b', 'v']
    """
    pending: dict[TensorNode, Factors] = {}
    gathered = _find_folded_products(nodes, target)
    steps: list[EvalStep] = []
    for node in nodes:
        if isinstance(node, LeafNode):
            continue
        factors = _expand_factors(node, pending) if is_product(node) and not node.direct else []
        if node in gathered and len(factors) < MOST_FACTORS:
            pending[node] = factors
        else:
            steps.append(EvalStep(node, factors))
    return steps


def _find_folded_products(nodes: Sequence[TensorNode], target: TensorNode) -> set[TensorNode]:
    """The products whose only consumer is another product, into whose contraction they are folded."""
    users: dict[TensorNode, list[TensorNode]] = {}
    for node in nodes:
        for source in node.reads:
            users.setdefault(source, []).append(node)
    return {
        node
        for node, consumers in users.items()
        if node is not target
        and len(consumers) == 1
        and all(is_product(product) and not product.direct for product in (node, consumers[0]))
    }


def list_factors(index: LinearIndex, sources: Iterable[Any]) -> list[tuple[Any, Ids]]:
    """The two factors of a product (tensors, arrays or masks), with the ids of their axes."""
    return [(source, tuple(map(abs, ids))) for source, ids in zip(sources, index[1:])]


def _expand_factors(node: LinearNode, pending: dict[TensorNode, Factors]) -> Factors:
    """The factors of a product; a folded product is replaced by its own factors, with renamed ids.

    pending: the factors of folded products.
    """
    own_factors = list_factors(node.index, node.sources)
    if pending.keys().isdisjoint(node.sources):
        return own_factors
    factors: Factors = []
    top = max(map(abs, (0, *node.index.left, *node.index.right)))
    for source, ids in own_factors:
        if source not in pending:
            factors.append((source, ids))
            continue
        assert isinstance(source, LinearNode)
        renamed = dict(zip(source.index.dst, ids))
        for factor, factor_ids in pending.pop(source):
            for axis_id in factor_ids:
                if axis_id not in renamed:
                    top += 1
                    renamed[axis_id] = top
            factors.append((factor, tuple(renamed[axis_id] for axis_id in factor_ids)))
    return factors
