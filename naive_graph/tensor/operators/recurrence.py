"""Shared implementation of recurrent layers: shape checks, the scan over time in each direction, gate slicing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import catalogue, compositions
from ...errors import ShapeError
from .. import arithmetic, picks
from ..base import TensorNode
from ..index import straight
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType
from ..repeated import RepeatedNode, Step
from .joins import stack
from .kinds import entry
from .moves import Extents

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "Relu": catalogue.relu, "Tanh": catalogue.tanh, "Sigmoid": catalogue.sigmoid, "Softplus": catalogue.softplus,
    "Elu": compositions.elu, "LeakyRelu": compositions.leaky_relu, "Softsign": compositions.softsign,
    "HardSigmoid": compositions.hard_sigmoid,
}  # fmt: skip


def activations_of(value: Any) -> tuple[str, ...] | None:
    names = value if value is None else (value,) if isinstance(value, str) else tuple(value)
    if names is not None and not set(names) <= ACTIVATIONS.keys():
        raise ValueError
    return names


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
        due |= {
            f"initial state {position}": (state, (self.ways, self.batch, self.hidden))
            for position, state in enumerate(states)
        }
        for name, (shape, fits) in due.items():
            if shape is not None and shape != fits:
                raise ShapeError(f"{name} of shape {shape} must be {fits}, for {gates} gates of {self.hidden} states.")
        if lengths is not None and (len(lengths) != self.batch or not 0 <= min(lengths) <= max(lengths) <= self.time):
            raise ShapeError(f"lengths={list(lengths)} needs a number up to {self.time} for each of {self.batch}.")
        if activations is not None and len(activations) != functions * self.ways:
            raise ShapeError(f"activations={list(activations)} needs {functions} for each of {self.ways} directions.")


State = tuple[TensorNode, ...]


def run(
    x: TensorNode, w: TensorNode, r: TensorNode, b: Any, states: Sequence[Any], more: Any = None, *, direction: str,
    lengths: Any, batch_first: bool, cell: Callable[..., State], apart: bool = False,
) -> list[TensorNode]:  # fmt: skip
    """Run a cell over time in each direction; returns all outputs, and the last state of each kind.

    cell: the states after a step, from (direction, projected inputs, states, r, and the separate recurrent bias
    or the peepholes).
    """
    x = arithmetic.transpose(x, 1, 0, 2) if batch_first else x
    time, batch, hidden = x.shape[0], x.shape[1], r.shape[-1]
    goes_on = [] if lengths is None or min(lengths) == time else [LeafNode.constant(
        np.repeat(np.arange(time)[:, None, None] < np.array(lengths)[:, None], hidden, 2).astype(float)
    )]  # fmt: skip
    through: list[TensorNode] = []
    last: list[list[TensorNode]] = []
    for way, turn in enumerate(["forward", "reverse"] if direction == "bidirectional" else [direction]):
        fed = LinearNode(OpType.mul, (1, 2, 3), (1, 2, -4), (3, -4), x, picks.entry(w, 0, way))  # for all steps at once
        of_w, of_r = both(None if b is None else picks.entry(b, 0, way), w.shape[1] // hidden, hidden)
        brought = with_bias(fed, of_w) if apart else with_bias(with_bias(fed, of_w), of_r)
        shared = [picks.entry(weights, 0, way) for weights in (r, more) if weights is not None]
        shared += [of_r] if apart and b is not None else []
        first = LeafNode.constant(np.zeros((batch, hidden)))
        begin = [first if state is None else picks.entry(state, 0, way) for state in states]
        order = range(time) if turn == "forward" else range(time)[::-1]
        all_states = RepeatedNode(_step(cell, way), order, [brought, *goes_on], begin, shared)
        outputs = picks.entry(all_states, 0, 0)
        through.append(entry(lambda c, y: catalogue.where(c, y, 0.0), *goes_on, outputs) if goes_on else outputs)
        last.append([picks.entry(picks.entry(all_states, 0, kind), 0, order[-1]) for kind in range(len(states))])
    outputs = stack.function(through, 1)
    ends = [stack.function([*last_states], 0) for last_states in zip(*last)]
    if batch_first:
        return [arithmetic.transpose(outputs, 2, 0, 1, 3), *(arithmetic.transpose(end, 1, 0, 2) for end in ends)]
    return [outputs, *ends]


def _step(cell: Callable[..., State], way: int) -> Step:
    """Make the scan's step from a cell; a sequence that has ended keeps its states."""

    def step(fed: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]) -> Sequence[Any]:
        after = cell(way, fed[0], states, *shared)
        pairs = zip(after, states) if fed[1:] else ()
        return [NonlinearNode(catalogue.where, fed[1], new, old) for new, old in pairs] or after

    return step


def times(h: TensorNode, recurrent: TensorNode) -> TensorNode:
    """The product of the state h (N, H) and the weights r (G H, H) of all gates."""
    return LinearNode(OpType.mul, (1, 2), (1, -3), (2, -3), h, recurrent)


def part(node: TensorNode, gate: int, size: int, count: int = 1) -> TensorNode:
    """The entries of one gate, or of several, along the last axis."""
    return picks.pick(node, node.rank - 1, (count * size,), (1,), gate * size)


def with_bias(node: TensorNode, bias: Any) -> TensorNode:
    ids = straight(node.rank)
    return node if bias is None else LinearNode(OpType.add, ids, ids, ids[-1:], node, bias)


def both(biases: Any, gates: int, size: int) -> tuple[Any, Any]:
    """The biases of w and of r."""
    return (None, None) if biases is None else (part(biases, 0, size, gates), part(biases, gates, size, gates))


def functions(activations: Any, default: Sequence[str], way: int) -> list[Callable[..., Any]]:
    names = default if activations is None else activations[way * len(default) :][: len(default)]
    return [ACTIVATIONS[name] for name in names]


def swap_batch_first(state: Any, batch_first: bool) -> Any:
    return (state[1], state[0], *state[2:]) if batch_first and state is not None else state


def states(states: Sequence[Any], batch_first: bool) -> list[Any]:
    return [arithmetic.transpose(state, 1, 0, 2) if batch_first and state is not None else state for state in states]


def rows(recurrent: TensorNode, first: int, count: int) -> TensorNode:
    return picks.pick(recurrent, 0, (count,), (1,), first)
