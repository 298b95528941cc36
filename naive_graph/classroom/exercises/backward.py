"""backward: derivatives by a walk over the graph in reverse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, called, graph_case, many_roads, random_graphs, shape_features, small_graphs, targets
from ..exercise import Exercise, instead


def backward(
    order: Any, y: Any, partials: Any, *, seed: str = "", walk: str = "", adds: str = "", share: str = "",
    positions: str = "", keys: str = "", stops: str = "",
) -> Any:  # fmt: skip
    """Return a dict {node: dy/dnode} with an entry for every node in order, 0.0 where y does not depend on it.

    order: all nodes in Kahn's order, with their values. partials(node): the
    partial derivatives of a node with respect to its operands node.last, one
    for each position.
    """
    if walk == "hasty":
        return _hasty(order, y, partials)
    grads = dict.fromkeys(order, 0.0)
    if seed.startswith("seeds_"):
        grads |= dict.fromkeys([node for node in order if seed == "seeds_all" or not node.last], 1.0)
    if seed != "from_end":
        grads[y] = 1.0 if not seed else {"no_seed": 0.0, "seed_value": y.value, "seeds_leaves": grads[y]}.get(seed, 1.0)
    elif order:
        grads[order[-1]] = 1.0
    for node in reversed(order) if not walk else _walked(walk, order, y):
        for operand, partial in zip(node.last, partials(node)) if not positions else _paired(positions, node, partials):
            contribution = grads[node] * partial if not share else _shared(share, grads[node], partial, operand, node)
            grads[operand] = (
                _overwritten(adds, grads, node, operand, contribution) if adds else grads[operand] + contribution
            )
            if stops == "returns_in_loop:inner":
                return grads
        if stops == "returns_in_loop" or (stops == "returns_in_loop:operator" and node.last):
            return grads
    return _kept(keys, grads, order, y) if keys else grads


def _overwritten(adds: str, grads: dict[Any, float], node: Any, operand: Any, contribution: float) -> float:
    if adds == "multiplies":
        return (grads[operand] or 1.0) * contribution
    return contribution if adds == "overwrites" or grads[node] else grads[operand]


def _hasty(order: list[Any], y: Any, partials: Any) -> dict[Any, float]:
    """What comes out for who visits each node once, but as soon as somebody mentions it."""
    grads, done = dict.fromkeys(order, 0.0) | {y: 1.0}, {y}

    def visit(node: Any) -> None:
        for operand, partial in zip(node.last, partials(node)):
            grads[operand] += grads[node] * partial
            if operand not in done:
                done.add(operand)
                visit(operand)

    visit(y)
    return grads


def _walked(walk: str, order: list[Any], y: Any) -> list[Any]:
    if walk == "forwards":
        return order
    return order[: order.index(y)][::-1]


def _paired(positions: str, node: Any, partials: Any) -> list[tuple[Any, float]]:
    """The operands and their partials, as somebody takes them who confuses nodes and positions."""
    pairs = list(zip(node.last, partials(node)))
    if positions == "first_position":
        return pairs[:1]
    if positions == "two_positions":
        return pairs[:2]
    if positions == "last_position":
        return pairs[-1:]
    if positions == "once_a_node":
        return list(dict(reversed(pairs)).items())
    if positions == "last_of_a_node":
        return list(dict(pairs).items())
    if positions == "first_partial":
        return [(operand, pairs[node.last.index(operand)][1]) for operand in node.last]
    if positions == "partial_by_node":
        return [(operand, dict(pairs)[operand]) for operand in node.last]
    if positions == "same_partial":
        return [(operand, pairs[0][1]) for operand in node.last]
    if positions == "swapped":
        return list(zip(node.last, [partial for _, partial in reversed(pairs)]))
    return [pair for operand in node.last for pair in pairs if pair[0] is operand]


def _shared(share: str, grad: float, partial: float, operand: Any, node: Any) -> float:
    """What somebody hands on who does not multiply the incoming gradient by the partial."""
    return float(instead(backward, "share", share, grad=grad, partial=partial, operand=operand, node=node))


def _kept(keys: str, grads: dict[Any, float], order: list[Any], y: Any) -> dict[Any, Any]:
    reached = [y]
    for node in reached:
        reached.extend(operand for operand in dict.fromkeys(node.last) if operand not in reached)
    if keys == "none_for_unreached":
        return {node: grads[node] if node in reached else None for node in order}
    kept = instead(backward, "keys", keys, reached=reached, order=order, y=y, grads=grads)
    return {node: grads[node] for node in kept}


def _backward_cases() -> Iterator[ExerciseCase]:
    for recipe in [*small_graphs(), *random_graphs(40), *many_roads()]:
        for target in targets(recipe) if recipe.size < 21 else [recipe.size - 1]:

            def arrange(nodes: list[Any], partials: Any, target: int = target) -> tuple[Any, ...]:
                return (list(nodes), nodes[target], partials)

            yield graph_case(recipe, arrange, f", y = {called(target)}", target, shape_features(recipe, target))


BACKWARD = Exercise(backward, _backward_cases)
