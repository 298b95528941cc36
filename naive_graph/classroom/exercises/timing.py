"""Exercises of lesson 2: check a topological order, and find when each step of a recipe is finished.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, graph_case, make_random, many_graphs, name_by_index, names_text, naming_mode
from ..exercise import Exercise


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


def _order_cases() -> Iterator[ExerciseCase]:
    chance = make_random(5)
    for seed, original in enumerate(many_graphs(12)):
        recipe, right = original.shuffle_operators(seed)
        shuffled = sorted(right, key=lambda index: chance.random())
        # One node missing; one listed twice; one listed twice in place of another.
        wrong = [right[:-1], [*right, right[-1]], [*right[:-1], *right[:1]]]
        for order in [right, right[::-1], shuffled, *wrong] if original.size < 21 else [right]:

            def arrange(nodes: list[Any], partials: Any, order: list[int] = order) -> tuple[Any, ...]:
                return list(nodes), [nodes[index] for index in order]

            special = ["a node is missing"] * (set(order) < set(right))
            special += ["a node is listed twice"] * (len(order) > recipe.size)
            names = naming_mode(seed, recipe.size)
            yield graph_case(recipe, arrange, f", order = [{names_text(order)}]", None, special, names)


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
    chance = make_random(6)
    for count in (3, 4, 5, 6, 8):
        for _ in range(3):
            steps = [f"step {name_by_index(place)}" for place in range(count)]
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
