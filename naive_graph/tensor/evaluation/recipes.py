"""What has to be computed to evaluate a tensor, and in which order: planned before any array is touched.

A product that one other product uses, and nobody else, is folded into it: both
become one contraction, whose order opt_einsum chooses. So each recipe says
which tensors' arrays it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from ..base import TensorNode
from ..index import Ids
from ..nodes import LeafNode, LinearNode, multiplies

MOST_FACTORS = 6  # that one contraction gathers from products of products
Factors = list[tuple[TensorNode, Ids]]


class Recipe(NamedTuple):
    """How one tensor is computed: a product from its factors, any other from its sources."""

    node: TensorNode
    factors: Factors

    @property
    def reads(self) -> list[TensorNode]:
        """The tensors whose arrays it needs, each once."""
        return list(dict.fromkeys([source for source, _ in self.factors] or self.node.reads))


READS: Callable[[TensorNode], Iterable[TensorNode]] = attrgetter("reads")


def missing(
    target: TensorNode, valued: Callable[[TensorNode], bool], of: Callable[[TensorNode], Iterable[TensorNode]] = READS
) -> list[TensorNode]:
    """What has to be computed, sources first, and the leaves without a value that it needs."""
    visited: dict[TensorNode, None] = {}
    waiting = [target]
    while waiting:
        node = waiting.pop()
        if node not in visited and not valued(node):
            visited[node] = None
            waiting.extend(of(node))
    return sorted(visited, key=lambda tensor: tensor.serial)


def all_recipes(targets: Iterable[TensorNode], known: Iterable[TensorNode] = ()) -> list[Recipe]:
    """How to compute several nodes, each step once, from those that are known."""
    steps: list[Recipe] = []
    done = set(known)
    for target in targets:
        steps += recipes(missing(target, done.__contains__), target)
        done.update(recipe.node for recipe in steps)
    return steps


def recipes(nodes: Sequence[TensorNode], target: TensorNode) -> list[Recipe]:
    """How to compute these nodes, sources first; products that are folded into others have no recipe.

    >>> from ..nodes import LeafNode
    >>> a, b, v = (LeafNode.parameter([[1.0]], name) for name in "abv")
    >>> product = (a @ b) @ v
    >>> (recipe,) = recipes(missing(product, lambda node: not node.sources), product)
    >>> [node.name for node in recipe.reads]
    ['a', 'b', 'v']
    """
    pending: dict[TensorNode, Factors] = {}
    gathered = _find_folded_products(nodes, target)
    steps: list[Recipe] = []
    for node in nodes:
        if isinstance(node, LeafNode):
            continue
        factors = _expand_factors(node, pending) if multiplies(node) and not node.direct else []
        if node in gathered and len(factors) < MOST_FACTORS:
            pending[node] = factors
        else:
            steps.append(Recipe(node, factors))
    return steps


def _find_folded_products(nodes: Sequence[TensorNode], target: TensorNode) -> set[TensorNode]:
    """Products used by one other product only, which become part of that one's contraction."""
    users: dict[TensorNode, list[TensorNode]] = {}
    for node in nodes:
        for source in node.reads:
            users.setdefault(source, []).append(node)
    return {
        node
        for node, consumers in users.items()
        if node is not target
        and len(consumers) == 1
        and all(multiplies(product) and not product.direct for product in (node, consumers[0]))
    }


def list_factors(node: LinearNode) -> Factors:
    """The two factors of a product."""
    return [(source, tuple(map(abs, ids))) for source, ids in zip(node.sources, node.index[1:])]


def _expand_factors(node: LinearNode, pending: dict[TensorNode, Factors]) -> Factors:
    """The factors of a product, those of gathered products in their place."""
    if pending.keys().isdisjoint(node.sources):
        return list_factors(node)
    factors: Factors = []
    top = max(map(abs, (0, *node.index.left, *node.index.right)))
    for source, ids in zip(node.sources, node.index[1:]):
        ids = tuple(map(abs, ids))
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
            factors.append((factor, tuple(renamed[each] for each in factor_ids)))
    return factors
