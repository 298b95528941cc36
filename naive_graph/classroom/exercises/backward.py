"""Exercise of lesson 5: backward, reverse-mode derivatives by a walk over the graph from y to the leaves.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, choose_targets, graph_case, many_graphs, name_by_index
from ..exercise import Exercise


def backward(order, y, partials):
    """Return a dict {node: dy/dnode} with an entry for every node in order, 0.0 where y does not depend on it.

    order: all nodes in Kahn's order, with their values. partials(node): the
    partial derivatives of a node with respect to its operands node.last, one
    for each position.
    """
    grads = dict.fromkeys(order, 0.0)
    grads[y] = 1.0
    for node in reversed(order):
        for operand, partial in zip(node.last, partials(node)):
            contribution = grads[node] * partial
            grads[operand] = grads[operand] + contribution
    return grads


def _backward_cases() -> Iterator[ExerciseCase]:
    for recipe in many_graphs(40):
        for target in choose_targets(recipe) if recipe.size < 21 else [recipe.size - 1]:

            def arrange(nodes: list[Any], partials: Any, target: int = target) -> tuple[Any, ...]:
                return (list(nodes), nodes[target], partials)

            yield graph_case(recipe, arrange, f", y = {name_by_index(target)}", target)


BACKWARD = Exercise(backward, _backward_cases)
