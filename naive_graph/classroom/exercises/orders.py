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
    called,
    chain,
    graph_case,
    many_roads,
    random_graphs,
    shape_features,
    small_graphs,
    targets,
)
from ..exercise import Exercise, instead


def kahn(
    nodes: Any, *, arrows: str = "", waits: str = "", ready: str = "", stops: str = "", leaves: str = "",
    cycle: str = "", result: str = "",
) -> Any:  # fmt: skip
    """Return a list of all nodes in which every operand stands before its users; None if there is a cycle.

    nodes: the nodes in any order. A node is ready when all its operands have
    been listed. node.last: its operands, one entry for each position.
    node.next: its users, one entry for each position that it fills.
    """
    if result:
        return instead(kahn, "result", result, nodes=nodes)
    waiting = {}
    for node in nodes:
        before = node.next if arrows == "backwards" else node.last
        waiting[node] = len(set(before)) if waits == "distinct_operands" else len(before)
    listed = [node for node in nodes if waiting[node] == 0]
    if leaves in ("one_leaf", "no_leaf"):
        listed = listed[: leaves == "one_leaf"]
    if stops == "leaves_only":
        return listed
    if stops == "never_ready":
        return listed if len(listed) == len(nodes) else None
    for node in list(listed) if stops == "one_level" else listed:
        after = node.last if arrows == "backwards" else node.next
        for consumer in dict.fromkeys(after) if waits == "distinct_consumers" else after:
            waiting[consumer] -= 1
            if waiting[consumer] == 0 if not ready else _takes(ready, consumer, listed):
                listed.append(consumer)
            if stops == "returns_in_loop:inner":
                return listed
        if stops == "returns_in_loop":
            return listed
        if stops == "returns_in_loop:one":
            return [node]
    if cycle:
        return _ends(cycle, listed, nodes)
    if (
        len(listed) < len(nodes)
        or stops.startswith("returns_in_loop")
        or (ready.endswith(":none") and len(listed) > len(nodes))
    ):
        return None
    return _without(leaves, listed) if leaves.startswith("without") else listed


def _takes(ready: str, consumer: Any, listed: list[Any]) -> bool:
    """When somebody lists a consumer who does not wait for all operands, or does not see that it is listed."""
    if ready == "any_operand":
        return consumer not in listed
    if ready.startswith("every_time"):
        return len(listed) < 100
    if ready == "first_operand":
        return consumer not in listed and consumer.last[0] in listed
    return len(listed) < 100 and all(operand in listed for operand in consumer.last)


def _without(leaves: str, listed: list[Any]) -> list[Any]:
    return [node for node in listed if (node.last if leaves == "without_leaves" else node.next)]


def _ends(cycle: str, listed: list[Any], nodes: list[Any]) -> Any:
    if cycle == "raises_on_cycle" and len(listed) < len(nodes):
        raise ValueError
    rest = [node for node in nodes if node not in listed]
    return [] if cycle == "empty_on_cycle" and rest else listed + rest if cycle == "all_on_cycle" else listed


def _ordered(case: ExerciseCase, value: Any) -> str | None:
    """What is wrong with an order of the nodes of a case."""
    recipe = case.recipe
    assert recipe is not None
    if recipe.cyclic:
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
    asked = [GraphRecipe(()), *small_graphs(), *CYCLES, *random_graphs(40), *many_roads()]
    for seed, recipe in enumerate(asked):
        recipe, _ = recipe.shuffled(seed)
        order = sorted(range(recipe.size), key=lambda place: random.Random(seed * 100 + place).random())
        if recipe.size > 1 and order == sorted(order):
            order.reverse()
        names = ", ".join(map(called, order[:26])) + ", ..." * (recipe.size > 26)

        def arrange(nodes: list[Any], partials: Any, order: list[int] = order) -> tuple[Any, ...]:
            return ([nodes[place] for place in order],)

        yield graph_case(recipe, arrange, f", given as [{names}]", None, shape_features(recipe))


KAHN = Exercise(kahn, _kahn_cases, complaint=_ordered)


def depends_on(y: Any, *, walks: str = "", seen: str = "", operands: str = "", keeps: str = "", stops: str = "") -> Any:
    """Return the list (any order, each once) of all nodes that y depends on, y itself included.

    node.last: the operands of a node. It must work for a chain of 5,000 nodes.
    """
    if stops == "recurses":
        _descend_by_calls(y)
    if seen.startswith("repeats:"):
        return _marked_late(y, last_first=seen == "repeats:stack")
    found, seen_nodes = [y], {y}
    for node in found:
        before = node.next if walks == "follows_consumers" else node.last
        if walks == "both_directions":
            before = node.last + node.next
        for operand in before if not operands else _some(operands, before):
            if operand not in seen_nodes if not seen else _anew(seen, operand, found):
                seen_nodes.add(operand)
                found.append(operand)
            elif stops == "stops_at_seen":
                break
            if stops == "returns_in_loop":
                return found
        if stops == "direct_only" and node is y:
            break
        if stops == "two_levels" and node in y.last[-1:]:
            break
    return [node for node in found if _stays(keeps, node, y)] if keeps else found


def _descend_by_calls(y: Any) -> None:
    """Raise as a function does that calls itself for every node."""
    level, depth = [y], 0
    while level:
        depth, level = depth + 1, list(dict.fromkeys(operand for node in level for operand in node.last))
        if depth > 900:
            raise RecursionError


def _marked_late(y: Any, last_first: bool) -> list[Any]:
    """What is listed when a node counts as seen only after it was visited."""
    found: list[Any] = []
    seen: set[Any] = set()
    waiting = [y]
    while waiting and len(found) < 6000:  # it drives every road, which may be many
        found.append(waiting.pop(-1 if last_first else 0))
        seen.add(found[-1])
        waiting += [operand for operand in found[-1].last if operand not in seen]
    return found


def _some(operands: str, before: list[Any]) -> list[Any]:
    return before[:1] if operands == "first_operand" else before[-1:] if operands == "last_operand" else before[:2]


def _anew(seen: str, operand: Any, found: list[Any]) -> bool:
    """Whether somebody lists an operand who looks wrongly at what was seen."""
    if seen == "by_value":
        return all(operand.value != each.value for each in found)
    return len(found) < 500


def _stays(keeps: str, node: Any, y: Any) -> bool:
    if keeps == "without_y":
        return node is not y
    return not node.last if keeps == "leaves_only" else bool(node.last)


def _depended_on(case: ExerciseCase, value: Any) -> str | None:
    return _listed(value, case.due)


def _depends_cases() -> Iterator[ExerciseCase]:
    for seed, known in enumerate([*small_graphs(), *random_graphs(40), *many_roads(), chain(5000)]):
        recipe, new = known.shuffled(seed) if known.size < LARGE else (known, range(known.size))
        for target in [new[place] for place in (targets(known) if known.size < 40 else [known.size - 1])]:
            told = "" if recipe.size > LARGE else f", y = {called(target)}"

            def arrange(nodes: list[Any], partials: Any, target: int = target) -> tuple[Any, ...]:
                return (nodes[target],)

            yield graph_case(recipe, arrange, told, target, shape_features(recipe, target))


DEPENDS_ON = Exercise(depends_on, _depends_cases, complaint=_depended_on)
