"""Lesson 5: the chain rule from the leaf to the result, and how many roads there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, called, graph_case, many_roads, random_graphs, shape_features, small_graphs
from ..exercise import Exercise


def tangents(
    order: Any, x: Any, partials: Any, *, no_seed: str = "", every_leaf: str = "", overwrites: str = "",
    backwards: str = "", no_incoming: str = "", no_partial: str = "", first_operand: str = "", loses_seed: str = "",
) -> Any:  # fmt: skip
    """Forward mode: return a dict {node: dnode/dx} with an entry for every node, 0.0 where it does not depend on x.

    order: all nodes in Kahn's order. partials(node): the partial derivatives of
    a node with respect to its operands node.last, one for each position.
    """
    slopes = dict.fromkeys(order, 0.0)
    if every_leaf:
        slopes = {node: 0.0 if node.last else 1.0 for node in order}
    if every_leaf != "every_leaf:only":
        slopes[x] = 1.0 if not no_seed else x.value
    for node in order if not backwards else order[::-1]:
        if loses_seed:
            slopes[node] = 0.0
        for operand, partial in zip(node.last if not first_operand else node.last[:1], partials(node)):
            share = slopes[operand] * partial if not no_incoming else partial
            if no_partial:
                share = slopes[operand]
            slopes[node] = slopes[node] + share if not overwrites else share
    return slopes


def _tangent_cases() -> Iterator[ExerciseCase]:
    for recipe in [*small_graphs(), *random_graphs(25), *many_roads()]:
        for place in {0, recipe.size // 2}:

            def arrange(nodes: list[Any], partials: Any, place: int = place) -> tuple[Any, ...]:
                return list(nodes), nodes[place], partials

            yield graph_case(recipe, arrange, f", x = {called(place)}", None, shape_features(recipe))


def count_roads(
    order: Any, y: Any, x: Any, *, distinct: str = "", yes_or_no: str = "", adds_one: str = "", overwrites: str = "",
    first_operand: str = "", longest: str = "",
) -> Any:  # fmt: skip
    """Return how many roads lead from y down to x, over the edges to the operands. From y to itself there is one.

    order: all nodes in Kahn's order. node.last: the operands of a node; each
    position is an edge of its own. There may be a billion roads: count, do not drive.
    """
    roads = dict.fromkeys(order, 0)
    roads[y] = 1
    for node in reversed(order):
        for operand in _chosen(node.last, first_operand) if distinct or first_operand else node.last:
            if longest or adds_one or overwrites:
                roads[operand] = _arrived(roads[operand], roads[node], longest, adds_one)
            else:
                roads[operand] += roads[node]
    if longest or yes_or_no:
        return min(roads[x], 1) if yes_or_no else max(0, roads[x] - 1)
    return roads[x]


def _arrived(before: int, more: int, longest: str, adds_one: str) -> int:
    """What somebody takes for the number of roads to an operand."""
    if not more:
        return before if longest or adds_one else 0
    return max(before, more + 1) if longest else before + 1 if adds_one else more


def _chosen(operands: list[Any], first_operand: str) -> list[Any]:
    return operands[:1] if first_operand else list(dict.fromkeys(operands))


def _road_cases() -> Iterator[ExerciseCase]:
    for recipe in [*small_graphs(), *random_graphs(25), *many_roads()]:
        for y, x in sorted({(recipe.size - 1, 0), (recipe.size - 1, recipe.size // 2), (recipe.size // 2, 0)}):

            def arrange(nodes: list[Any], partials: Any, y: int = y, x: int = x) -> tuple[Any, ...]:
                return list(nodes), nodes[y], nodes[x]

            special = shape_features(recipe, y) | ({"x is y"} if x == y else set())
            yield graph_case(recipe, arrange, f", y = {called(y)}, x = {called(x)}", y, special)


TANGENTS = Exercise(tangents, _tangent_cases)
COUNT_ROADS = Exercise(count_roads, _road_cases)
