"""Exercises of lesson 2: Kahn's topological order, and the nodes that a node depends on.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Set
from typing import Any

from ..cases import (
    CYCLES,
    LARGE,
    ExerciseCase,
    GraphRecipe,
    chain,
    choose_targets,
    graph_case,
    many_graphs,
    many_path_graphs,
    name_by_index,
    names_text,
    naming_mode,
    random_graphs,
    small_graphs,
)  # fmt: skip
from ..exercise import Exercise


def kahn(nodes):
    """Return a list of all nodes in which every operand stands before its users; None if there is a cycle.

    nodes: the nodes in any order. A node is ready when all its operands have
    been listed. node.last: its operands, one entry for each position.
    node.next: its users, one entry for each position that it fills.
    """
    waiting = {}
    for node in nodes:
        before = node.last
        waiting[node] = len(before)
    listed = [node for node in nodes if waiting[node] == 0]
    for node in listed:
        after = node.next
        for consumer in after:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                listed.append(consumer)
    if len(listed) < len(nodes):
        return None
    return listed


def _order_complaint(case: ExerciseCase, value: Any) -> str | None:
    """What is wrong with a topological order of a case's nodes; None if nothing is."""
    recipe = case.recipe
    assert recipe is not None
    if recipe.is_cyclic:
        return None if value is None else "there is a cycle, so None is asked for"
    if value is None:
        return "None says that there is a cycle, and there is none"
    if (complaint := _list_complaint(value, set(range(recipe.size)))) is not None:
        return complaint
    position = {entry["node"]: i for i, entry in enumerate(value)}
    late = {position[operand] > position[node] for node in position for operand in recipe.operands(node)}
    complaint = "every user stands before its operands" if False not in late else "a user stands before its operand"
    return complaint if True in late else None


def _list_complaint(value: Any, expected: Set[int]) -> str | None:
    """What is wrong with a list that should hold the nodes with these indices, each once; None if nothing is."""
    if not isinstance(value, list):
        return "it is not a list"
    if not all(isinstance(entry, dict) and "node" in entry for entry in value):
        return "there is something in the list that is not one of the nodes"
    indices = [entry["node"] for entry in value]
    if len(set(indices)) < len(indices):
        return "a node is listed twice"
    if expected - set(indices):
        return "a node is missing"
    return "there is a node too many" if set(indices) - expected else None


def _kahn_cases() -> Iterator[ExerciseCase]:
    recipes = [GraphRecipe(()), *small_graphs(), *CYCLES, *random_graphs(40), *many_path_graphs()]
    for seed, recipe in enumerate(recipes):
        recipe, _ = recipe.shuffle_operators(seed)
        order = sorted(range(recipe.size), key=lambda place: random.Random(seed * 100 + place).random())
        if recipe.size > 1 and order == sorted(order):
            order.reverse()

        def arrange(nodes: list[Any], partials: Any, order: list[int] = order) -> tuple[Any, ...]:
            return ([nodes[place] for place in order],)

        yield graph_case(recipe, arrange, f", given as [{names_text(order)}]", names=naming_mode(seed, recipe.size))


KAHN = Exercise(kahn, _kahn_cases, complaint=_order_complaint)


def depends_on(y):
    """Return the list (any order, each once) of all nodes that y depends on, y itself included.

    node.last: the operands of a node. It must work for a chain of 5,000 nodes.
    """
    found, seen_nodes = [y], {y}
    for node in found:
        before = node.last
        for operand in before:
            if operand not in seen_nodes:
                seen_nodes.add(operand)
                found.append(operand)
    return found


def _depends_cases() -> Iterator[ExerciseCase]:
    for seed, original in enumerate([*many_graphs(40), chain(5000)]):
        size = original.size
        recipe, new_index = original.shuffle_operators(seed) if size < LARGE else (original, range(size))
        for target in [new_index[index] for index in (choose_targets(original) if size < 40 else [size - 1])]:
            suffix = "" if size > LARGE else f", y = {name_by_index(target)}"

            def arrange(nodes: list[Any], partials: Any, target: int = target) -> tuple[Any, ...]:
                return (nodes[target],)

            yield graph_case(recipe, arrange, suffix, target, names=naming_mode(seed, recipe.size))


DEPENDS_ON = Exercise(depends_on, _depends_cases, complaint=lambda case, value: _list_complaint(value, case.reachable))
