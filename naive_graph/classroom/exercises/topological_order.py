"""Exercises of lesson 2: topological order (make it, check it), what a node depends on, and the times of a recipe.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Set
from typing import Any

from .. import cases
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


def _order_complaint(case: cases.ExerciseCase, value: Any) -> str | None:
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


def _kahn_cases() -> Iterator[cases.ExerciseCase]:
    recipes = [cases.GraphRecipe(()), *cases.small_graphs(), *cases.CYCLES]
    recipes += [*cases.random_graphs(40), *cases.many_path_graphs()]
    for seed, recipe in enumerate(recipes):
        recipe, _ = recipe.shuffle_operators(seed)
        order = sorted(range(recipe.size), key=lambda place: random.Random(seed * 100 + place).random())
        if recipe.size > 1 and order == sorted(order):
            order.reverse()
        names, suffix = cases.naming_mode(seed, recipe.size), f", given as [{cases.names_text(order)}]"
        yield cases.graph_case(recipe, [order], suffix, names=names)


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


def _depends_cases() -> Iterator[cases.ExerciseCase]:
    for seed, original in enumerate([*cases.many_graphs(40), cases.chain(5000)]):
        size = original.size
        recipe, new_index = original.shuffle_operators(seed) if size < cases.LARGE else (original, range(size))
        for target in [new_index[index] for index in (cases.choose_targets(original) if size < 40 else [size - 1])]:
            suffix = "" if size > cases.LARGE else f", y = {cases.name_by_index(target)}"
            yield cases.graph_case(recipe, [target], suffix, target, names=cases.naming_mode(seed, recipe.size))


DEPENDS_ON = Exercise(depends_on, _depends_cases, complaint=lambda case, value: _list_complaint(value, case.reachable))


def is_order(nodes, order):
    """Return True if order lists all nodes, each once, and every operand before its users; else False.

    nodes: the nodes of a graph. order: a list of some of them. node.last: the
    operands of a node.
    """
    if len(set(order)) < len(order):
        return False
    if set(order) != set(nodes):
        return False
    listed = set()
    for node in order:
        late = [operand not in listed for operand in node.last]
        if any(late):
            return False
        listed.add(node)
    return True


def _order_cases() -> Iterator[cases.ExerciseCase]:
    chance = cases.make_random(5)
    for seed, original in enumerate(cases.many_graphs(12)):
        recipe, right = original.shuffle_operators(seed)
        shuffled = sorted(right, key=lambda index: chance.random())
        # One node missing; one listed twice; one listed twice in place of another.
        wrong = [right[:-1], [*right, right[-1]], [*right[:-1], *right[:1]]]
        for order in [right, right[::-1], shuffled, *wrong] if original.size < 21 else [right]:
            special = ["a node is missing"] * (set(order) < set(right))
            special += ["a node is listed twice"] * (len(order) > recipe.size)
            names, suffix = cases.naming_mode(seed, recipe.size), f", order = [{cases.names_text(order)}]"
            yield cases.graph_case(recipe, (range(recipe.size), order), suffix, None, special, names)


def finish_times(minutes, needs):
    """Return a dict {step: when it is finished}. A step starts as soon as all that it needs is finished.

    minutes: a dict, how long each step takes; each step comes after those that
    it needs. needs: a dict, the list of steps that each one needs. A step that
    needs nothing starts at 0. There are enough cooks.
    """
    finish = {}
    for step, time in minutes.items():
        before = [finish[need] for need in needs[step]]
        start = max(before, default=0.0)
        finish[step] = start + time
    return finish


def _recipes() -> Iterator[tuple[Any, ...]]:
    yield {}, {}
    yield {"boil": 8.0}, {"boil": []}
    yield {"boil": 8.0, "cook": 10.0}, {"boil": [], "cook": ["boil"]}
    yield {"chop": 5.0, "boil": 8.0}, {"chop": [], "boil": []}
    needs = {"chop": [], "boil": [], "cook": ["boil"], "serve": ["chop", "cook"]}
    yield {"chop": 5.0, "boil": 8.0, "cook": 10.0, "serve": 1.0}, needs
    chance = cases.make_random(6)
    for count in (3, 4, 5, 6, 8):
        for _ in range(3):
            steps = [f"step {cases.name_by_index(place)}" for place in range(count)]
            needed = [[before for before in steps[:place] if chance.random() < 0.45] for place in range(count)]
            yield {step: float(1 + int(chance.random() * 9)) for step in steps}, dict(zip(steps, needed))
    yield _diamonds(30)


def _diamonds(count: int) -> tuple[Any, ...]:
    """Two steps that need one, and one that needs both, again and again."""
    needs: dict[str, list[str]] = {"wash": []}
    for place in range(count):
        before, chop, fry = list(needs)[-1], f"chop {place}", f"fry {place}"
        needs |= {chop: [before], fry: [before], f"stir {place}": [chop, fry]}
    return dict.fromkeys(needs, 2.0), needs


IS_ORDER = Exercise(is_order, _order_cases)
FINISH_TIMES = Exercise(finish_times, _recipes)
