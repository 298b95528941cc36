"""Two walks over a graph: Kahn's order, and everything that a node depends on."""

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


def _ordered(case: ExerciseCase, value: Any) -> str | None:
    """What is wrong with an order of the nodes of a case."""
    recipe = case.recipe
    assert recipe is not None
    if recipe.is_cyclic:
        return None if value is None else "there is a cycle, so None is asked for"
    if value is None:
        return "None says that there is a cycle, and there is none"
    if (told := _listed(value, set(range(recipe.size)))) is not None:
        return told
    place = {each["node"]: i for i, each in enumerate(value)}
    late = {place[operand] > place[node] for node in place for operand in recipe.operands(node)}
    told = "every user stands before its operands" if False not in late else "a user stands before its operand"
    return told if True in late else None


def _listed(value: Any, due: Set[int]) -> str | None:
    """What is wrong with a list that should hold certain nodes, each once."""
    if not isinstance(value, list):
        return "it is not a list"
    if not all(isinstance(each, dict) and "node" in each for each in value):
        return "there is something in the list that is not one of the nodes"
    found = [each["node"] for each in value]
    if len(set(found)) < len(found):
        return "a node is listed twice"
    if due - set(found):
        return "a node is missing"
    return "there is a node too many" if set(found) - due else None


def _kahn_cases() -> Iterator[ExerciseCase]:
    asked = [GraphRecipe(()), *small_graphs(), *CYCLES, *random_graphs(40), *many_path_graphs()]
    for seed, recipe in enumerate(asked):
        recipe, _ = recipe.shuffle_operators(seed)
        order = sorted(range(recipe.size), key=lambda place: random.Random(seed * 100 + place).random())
        if recipe.size > 1 and order == sorted(order):
            order.reverse()

        def arrange(nodes: list[Any], partials: Any, order: list[int] = order) -> tuple[Any, ...]:
            return ([nodes[place] for place in order],)

        yield graph_case(recipe, arrange, f", given as [{names_text(order)}]", names=naming_mode(seed, recipe.size))


KAHN = Exercise(kahn, _kahn_cases, complaint=_ordered)


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
    for seed, known in enumerate([*many_graphs(40), chain(5000)]):
        recipe, new = known.shuffle_operators(seed) if known.size < LARGE else (known, range(known.size))
        for target in [new[place] for place in (choose_targets(known) if known.size < 40 else [known.size - 1])]:
            told = "" if recipe.size > LARGE else f", y = {name_by_index(target)}"

            def arrange(nodes: list[Any], partials: Any, target: int = target) -> tuple[Any, ...]:
                return (nodes[target],)

            yield graph_case(recipe, arrange, told, target, names=naming_mode(seed, recipe.size))


DEPENDS_ON = Exercise(depends_on, _depends_cases, complaint=lambda case, value: _listed(value, case.due))
