"""Shared implementation of recurrent layers (rnn, gru, lstm): shape checks, the scan over time, slices of gates.

A layer gives its `cell`, which computes the next states from the present ones: for an rnn h <- tanh(w x + r h + b).
`scan_directions` computes w x for all steps at once, runs the cell along the sequences, once or in both directions, and
stacks the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import catalogue, compositions
from ...errors import ShapeError
from .. import arithmetic, slicing
from ..base import TensorNode
from ..index import identity_ids
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType
from ..scan import ScanNode, Step
from .families import map_entries
from .joins import stack
from .moves import Extents

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "Relu": catalogue.relu, "Tanh": catalogue.tanh, "Sigmoid": catalogue.sigmoid, "Softplus": catalogue.softplus,
    "Elu": compositions.elu, "LeakyRelu": compositions.leaky_relu, "Softsign": compositions.softsign,
    "HardSigmoid": compositions.hard_sigmoid,
}  # fmt: skip


def parse_activations(value: Any) -> tuple[str, ...] | None:
    """The names of activations as a tuple, from one name or several. Raises ValueError for an unknown one."""
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else tuple(value)
    if not set(names) <= ACTIVATIONS.keys():
        raise ValueError
    return names


class RecurrentShapes:
    """The extents of a recurrent layer, as in ONNX: w (D, G H, I), r (D, G H, H), b (D, 2 G H). Raises ShapeError."""

    def __init__(
        self, gates: int, x: Extents, w: Extents, r: Extents, b: Any, states: Sequence[Any],
        *, direction: str, lengths: Any, batch_first: bool, activations: Any = None, functions: int = 0,
    ) -> None:  # fmt: skip
        if len(x) != 3:
            raise ShapeError(f"x has shape {x}. It takes sequences: (time, batch, features).")
        self.time, self.batch, features = (x[1], x[0], x[2]) if batch_first else x
        directions = self.directions = 2 if direction == "bidirectional" else 1
        hidden = self.hidden = r[-1] if r else 1
        rows = gates * hidden  # of the weights: those of all gates
        shapes: list[tuple[str, Any, Extents]] = [  # (name, shape, expected shape)
            ("w", w, (directions, rows, features)),
            ("r", r, (directions, rows, hidden)),
            ("b", b, (directions, 2 * rows)),
        ]
        for position, state in enumerate(states):
            shapes.append((f"initial state {position}", state, (directions, self.batch, hidden)))
        for name, shape, expected in shapes:
            if shape is not None and shape != expected:
                raise ShapeError(f"{name} of shape {shape} must be {expected}, for {gates} gates of {hidden} states.")
        if lengths is not None and (len(lengths) != self.batch or not 0 <= min(lengths) <= max(lengths) <= self.time):
            raise ShapeError(f"lengths={list(lengths)} needs a number up to {self.time} for each of {self.batch}.")
        if activations is not None and len(activations) != functions * directions:
            raise ShapeError(f"activations={list(activations)} needs {functions} for each of {directions} directions.")


State = tuple[TensorNode, ...]


def scan_directions(
    x: TensorNode,
    w: TensorNode,
    r: TensorNode,
    b: Any,
    states: Sequence[Any],
    peepholes: Any = None,
    *,
    direction: str,
    lengths: Any,
    batch_first: bool,
    cell: Callable[..., State],
    separate_bias: bool = False,
) -> list[TensorNode]:
    """Run a cell over time in each direction; returns all outputs, and the last state of each kind.

    cell: the states after a step, from (direction, projected inputs, states, r, and the separate recurrent bias
    or the peepholes).
    """
    if batch_first:
        x = arithmetic.transpose(x, 1, 0, 2)
        states = [None if state is None else arithmetic.transpose(state, 1, 0, 2) for state in states]
    time, batch, hidden = x.shape[0], x.shape[1], r.shape[-1]
    is_running = [] if lengths is None or min(lengths) == time else [LeafNode.constant(
        np.repeat(np.arange(time)[:, None, None] < np.array(lengths)[:, None], hidden, 2).astype(float)
    )]  # fmt: skip
    output_sequences: list[TensorNode] = []
    final_states: list[list[TensorNode]] = []
    directions = ["forward", "reverse"] if direction == "bidirectional" else [direction]
    for direction_index, one_direction in enumerate(directions):
        weights = slicing.index_axis(w, 0, direction_index)
        projected = LinearNode(OpType.mul, (1, 2, 3), (1, 2, -4), (3, -4), x, weights)  # for all steps at once
        biases: list[Any] = [None, None]  # of w, and of r
        if b is not None:
            both_biases, gates = slicing.index_axis(b, 0, direction_index), w.shape[1] // hidden
            biases = [gate_slice(both_biases, first_gate, hidden, gates) for first_gate in (0, gates)]
        step_inputs = with_bias(projected, biases[0])
        step_inputs = step_inputs if separate_bias else with_bias(step_inputs, biases[1])
        shared = [slicing.index_axis(weight, 0, direction_index) for weight in (r, peepholes) if weight is not None]
        shared += [biases[1]] if separate_bias and b is not None else []
        zero = LeafNode.constant(np.zeros((batch, hidden)))
        initial_states = [zero if state is None else slicing.index_axis(state, 0, direction_index) for state in states]
        order = range(time) if one_direction == "forward" else range(time)[::-1]
        step = _make_step(cell, direction_index)
        all_states = ScanNode(step, order, [step_inputs, *is_running], initial_states, shared)
        by_kind = [slicing.index_axis(all_states, 0, kind) for kind in range(len(states))]
        outputs = by_kind[0]
        if is_running:
            outputs = map_entries(lambda c, y: catalogue.where(c, y, 0.0), *is_running, outputs)
        output_sequences.append(outputs)
        final_states.append([slicing.index_axis(history, 0, order[-1]) for history in by_kind])
    outputs = stack.function(output_sequences, 1)
    last_states = [stack.function([*by_direction], 0) for by_direction in zip(*final_states)]
    if batch_first:
        outputs = arithmetic.transpose(outputs, 2, 0, 1, 3)
        last_states = [arithmetic.transpose(state, 1, 0, 2) for state in last_states]
    return [outputs, *last_states]


def _make_step(cell: Callable[..., State], direction_index: int) -> Step:
    """Make the scan's step from a cell.

    The step's inputs are the projected input and, if sequences differ in length, 1 for those that are running, else 0:
    a sequence that has ended keeps its states.
    """

    def step(inputs: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]) -> Sequence[Any]:
        projected_input, *is_running = inputs
        new_states = cell(direction_index, projected_input, states, *shared)
        if not is_running:
            return new_states
        return [NonlinearNode(catalogue.where, is_running[0], new, old) for new, old in zip(new_states, states)]

    return step


def project_state(h: TensorNode, recurrent: TensorNode) -> TensorNode:
    """The product of the state h (N, H) and the weights r (G H, H) of all gates."""
    return LinearNode(OpType.mul, (1, 2), (1, -3), (2, -3), h, recurrent)


def gate_slice(node: TensorNode, gate: int, size: int, count: int = 1) -> TensorNode:
    """The entries of one gate, or of several, along the last axis."""
    return slicing.gather_axis(node, node.rank - 1, (count * size,), (1,), gate * size)


def with_bias(node: TensorNode, bias: Any) -> TensorNode:
    """The node plus a bias along its last axis; the node itself without one."""
    ids = identity_ids(node.rank)
    return node if bias is None else LinearNode(OpType.add, ids, ids, ids[-1:], node, bias)


def select_activations(activations: Any, default: Sequence[str], direction_index: int) -> list[Callable[..., Any]]:
    """The activation functions of one direction (0 or 1), by their names or the default ones."""
    names = default if activations is None else activations[direction_index * len(default) :][: len(default)]
    return [ACTIVATIONS[name] for name in names]


def time_first_shape(state: Any, batch_first: bool) -> Any:
    """The shape of an initial state with its first two axes exchanged, if the batch comes first."""
    return (state[1], state[0], *state[2:]) if batch_first and state is not None else state


def gate_rows(recurrent: TensorNode, first: int, count: int) -> TensorNode:
    """Some rows of the recurrent weights: those of one gate or of several."""
    return slicing.gather_axis(recurrent, 0, (count,), (1,), first)
