"""How a recurrent layer runs: its extents, its steps along time in each direction, its gates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import catalogue, compositions
from ...errors import ShapeError
from .. import arithmetic, picks
from ..base import TensorNode
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType
from .joins import stack
from .kinds import entry
from .moves import Extents

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "Relu": catalogue.relu, "Tanh": catalogue.tanh, "Sigmoid": catalogue.sigmoid, "Softplus": catalogue.softplus,
    "Elu": compositions.elu, "LeakyRelu": compositions.leaky_relu, "Softsign": compositions.softsign,
    "HardSigmoid": compositions.hard_sigmoid,
}  # fmt: skip


def activations_of(value: Any) -> tuple[str, ...] | None:
    found = value if value is None else (value,) if isinstance(value, str) else tuple(value)
    if found is not None and not set(found) <= ACTIVATIONS.keys():
        raise ValueError
    return found


class RecurrentLayout:
    """The extents of a recurrent layer. Raises ShapeError where they do not fit together."""

    def __init__(
        self, gates: int, x: Extents, w: Extents, r: Extents, b: Any, states: Sequence[Any],
        *, direction: str, lengths: Any, batch_first: bool, activations: Any = None, functions: int = 0,
    ) -> None:  # fmt: skip
        if len(x) != 3:
            raise ShapeError(f"x has shape {x}. It takes sequences: (time, batch, features).")
        self.time, self.batch, features = (x[1], x[0], x[2]) if batch_first else x
        self.ways = 2 if direction == "bidirectional" else 1
        self.hidden = r[-1] if r else 1
        stacked = gates * self.hidden
        due: dict[str, Any] = {"w": (w, (self.ways, stacked, features)), "r": (r, (self.ways, stacked, self.hidden))}
        due["b"] = (b, (self.ways, 2 * stacked))
        due |= {f"initial state {at}": (each, (self.ways, self.batch, self.hidden)) for at, each in enumerate(states)}
        for name, (shape, fits) in due.items():
            if shape is not None and shape != fits:
                raise ShapeError(f"{name} of shape {shape} must be {fits}, for {gates} gates of {self.hidden} states.")
        if lengths is not None and (len(lengths) != self.batch or not 0 <= min(lengths) <= max(lengths) <= self.time):
            raise ShapeError(f"lengths={list(lengths)} needs a number up to {self.time} for each of {self.batch}.")
        if activations is not None and len(activations) != functions * self.ways:
            raise ShapeError(f"activations={list(activations)} needs {functions} for each of {self.ways} directions.")


State = tuple[TensorNode, ...]


def run(
    x: TensorNode, w: TensorNode, r: TensorNode, b: Any, states: Sequence[Any], *, direction: str, lengths: Any,
    batch_first: bool, cell: Callable[[int, TensorNode, State, TensorNode, Any], State],
) -> list[TensorNode]:  # fmt: skip
    """All states, and the last of each kind, of a cell that steps along time in each direction."""
    x = arithmetic.transpose(x, 1, 0, 2) if batch_first else x
    ways = ["forward", "reverse"] if direction == "bidirectional" else [direction]
    through: list[list[TensorNode]] = []
    last: list[State] = []
    for way, turn in enumerate(ways):
        weights, recurrent = picks.entry(w, 0, way), picks.entry(r, 0, way)
        biases = None if b is None else picks.entry(b, 0, way)
        fed = LinearNode(OpType.mul, (1, 2, 3), (1, 2, -4), (3, -4), x, weights)  # for all steps at once
        first = LeafNode.constant(np.zeros((x.shape[1], recurrent.shape[-1])))
        state: State = tuple(first if each is None else picks.entry(each, 0, way) for each in states)
        seen: dict[int, TensorNode] = {}
        for at in range(x.shape[0]) if turn == "forward" else reversed(range(x.shape[0])):
            after = cell(way, picks.entry(fed, 0, at), state, recurrent, biases)
            seen[at], state = _kept(after, state, at, lengths)
        through.append([seen[at] for at in range(x.shape[0])])
        last.append(state)
    whole = stack.function([stack.function(each, 0) for each in through], 1)
    ends = [stack.function([state[kind] for state in last], 0) for kind in range(len(states))]
    if batch_first:
        return [arithmetic.transpose(whole, 2, 0, 1, 3), *(arithmetic.transpose(each, 1, 0, 2) for each in ends)]
    return [whole, *ends]


def _kept(after: State, before: State, at: int, lengths: Any) -> tuple[TensorNode, State]:
    """The output and the state after a step: a sequence that is over gives 0, and keeps its state."""
    if lengths is None or min(lengths) > at:
        return after[0], after
    goes_on = LeafNode.constant(np.repeat(np.array(lengths)[:, None] > at, after[0].shape[1], 1).astype(float))
    chosen = tuple(NonlinearNode(catalogue.where, goes_on, new, old) for new, old in zip(after, before))
    return entry(lambda c, y: catalogue.where(c, y, 0.0), goes_on, after[0]), chosen


def times(h: TensorNode, recurrent: TensorNode) -> TensorNode:
    """The product of the state h (N, H) and the weights r (G H, H) of all gates."""
    return LinearNode(OpType.mul, (1, 2), (1, -3), (2, -3), h, recurrent)


def part(node: TensorNode, gate: int, size: int, count: int = 1) -> TensorNode:
    """The entries of one gate, or of several, along the last axis."""
    return picks.pick(node, node.rank - 1, (count * size,), (1,), gate * size)


def with_bias(node: TensorNode, bias: Any) -> TensorNode:
    return node if bias is None else LinearNode(OpType.add, (1, 2), (1, 2), (2,), node, bias)


def both(biases: Any, gates: int, size: int) -> tuple[Any, Any]:
    """The biases of w and of r."""
    return (None, None) if biases is None else (part(biases, 0, size, gates), part(biases, gates, size, gates))


def functions(activations: Any, default: Sequence[str], way: int) -> list[Callable[..., Any]]:
    names = default if activations is None else activations[way * len(default) :][: len(default)]
    return [ACTIVATIONS[each] for each in names]


def turned(state: Any, batch_first: bool) -> Any:
    return (state[1], state[0], *state[2:]) if batch_first and state is not None else state


def states(states: Sequence[Any], batch_first: bool) -> list[Any]:
    return [arithmetic.transpose(each, 1, 0, 2) if batch_first and each is not None else each for each in states]


def rows(recurrent: TensorNode, first: int, count: int) -> TensorNode:
    return picks.pick(recurrent, 0, (count,), (1,), first)
