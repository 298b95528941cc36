"""Exercises of lesson 5: forward-mode derivatives over a graph, and the number of paths between two nodes.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, graph_case, many_graphs, name_by_index
from ..exercise import Exercise


def tangents(order, x, partials):
    """Forward mode: return a dict {node: dnode/dx} with an entry for every node, 0.0 where it does not depend on x.

    order: all nodes in Kahn's order. partials(node): the partial derivatives of
    a node with respect to its operands node.last, one for each position.
    """
    slopes = dict.fromkeys(order, 0.0)
    slopes[x] = 1.0
    for node in order:
        for operand, partial in zip(node.last, partials(node)):
            share = slopes[operand] * partial
            slopes[node] = slopes[node] + share
    return slopes


def _tangent_cases() -> Iterator[ExerciseCase]:
    for recipe in many_graphs(25):
        for index in {0, recipe.size // 2}:

            def arrange(nodes: list[Any], partials: Any, index: int = index) -> tuple[Any, ...]:
                return list(nodes), nodes[index], partials

            yield graph_case(recipe, arrange, f", x = {name_by_index(index)}")


def count_roads(order, y, x):
    """Return how many roads lead from y down to x, over the edges to the operands. From y to itself there is one.

    order: all nodes in Kahn's order. node.last: the operands of a node; each
    position is an edge of its own. There may be a billion roads: count, do not drive.
    """
    roads = dict.fromkeys(order, 0)
    roads[y] = 1
    for node in reversed(order):
        for operand in node.last:
            roads[operand] += roads[node]
    return roads[x]


def _road_cases() -> Iterator[ExerciseCase]:
    for recipe in many_graphs(25):
        for y, x in sorted({(recipe.size - 1, 0), (recipe.size - 1, recipe.size // 2), (recipe.size // 2, 0)}):

            def arrange(nodes: list[Any], partials: Any, y: int = y, x: int = x) -> tuple[Any, ...]:
                return list(nodes), nodes[y], nodes[x]

            suffix = f", y = {name_by_index(y)}, x = {name_by_index(x)}"
            yield graph_case(recipe, arrange, suffix, y, ["x is y"] * (x == y))


TANGENTS = Exercise(tangents, _tangent_cases)
COUNT_ROADS = Exercise(count_roads, _road_cases)
