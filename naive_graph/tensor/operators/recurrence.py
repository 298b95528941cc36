"""Shared implementation of recurrent layers (rnn, gru, lstm): shape checks, the scan over time, slices of gates.

A layer gives its `cell`, which computes the next states from the present ones: for an rnn h <- tanh(w x + r h + b).
`scan_directions` checks all shapes, computes w x for all steps at once, runs the cell along the sequences, once or in
both directions, and stacks the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import catalogue, compositions
from ...errors import ShapeError
from .. import arithmetic, slicing
from ..base import TensorNode
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType
from ..scan import ScanNode, Step
from .families import map_entries
from .joins import stack

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


State = tuple[TensorNode, ...]
Functions = list[Callable[..., Any]]  # the activation functions of one direction


def scan_directions(
    x: TensorNode,
    w: TensorNode,
    r: TensorNode,
    b: Any,
    states: Sequence[Any],
    peepholes: Any = None,
    *,
    gates: int,
    default_activations: Sequence[str],
    direction: str,
    lengths: Any,
    batch_first: bool,
    activations: Any,
    cell: Callable[..., State],
    separate_bias: bool = False,
) -> list[TensorNode]:
    """Run a cell over time in each direction; returns all outputs, and the last state of each kind.

    gates: how many the weights hold, as in ONNX: w (D, G H, I), r (D, G H, H), b (D, 2 G H). cell: the states after a
    step, from (activation functions, projected inputs, states, r, and the separate recurrent bias or the peepholes).
    """
    if x.rank != 3:
        raise ShapeError(f"x has shape {x.shape}. It takes sequences: (time, batch, features).")
    time, batch = x.shape[1::-1] if batch_first else x.shape[:2]
    directions = ["forward", "reverse"] if direction == "bidirectional" else [direction]
    d, hidden, function_count = len(directions), r.shape[-1] if r.rank else 1, len(default_activations)
    state_shape = (batch, d, hidden) if batch_first else (d, batch, hidden)
    expected_shapes: list[tuple[str, Any, tuple[int, ...]]] = [
        ("w", w, (d, gates * hidden, x.shape[2])),
        ("r", r, (d, gates * hidden, hidden)),
        ("b", b, (d, 2 * gates * hidden)),
        ("p", peepholes, (d, 3 * hidden)),
        *((f"initial state {position}", state, state_shape) for position, state in enumerate(states)),
    ]
    for name, tensor, shape in expected_shapes:
        if tensor is not None and tensor.shape != shape:
            reason = ": a peephole for i, o and f" if name == "p" else f", for {gates} gates of {hidden} states"
            raise ShapeError(f"{name} of shape {tensor.shape} must be {shape}{reason}.")
    if lengths is not None and (len(lengths) != batch or not 0 <= min(lengths) <= max(lengths) <= time):
        raise ShapeError(f"lengths={list(lengths)} needs a number up to {time} for each of {batch}.")
    if activations is not None and len(activations) != function_count * d:
        raise ShapeError(f"activations={list(activations)} needs {function_count} for each of {d} directions.")
    names = [*default_activations] * d if activations is None else activations
    if batch_first:
        x = arithmetic.transpose(x, 1, 0, 2)
        states = [None if state is None else arithmetic.transpose(state, 1, 0, 2) for state in states]
    is_running = [] if lengths is None or min(lengths) == time else [LeafNode.constant(
        np.repeat(np.arange(time)[:, None, None] < np.array(lengths)[:, None], hidden, 2).astype(float)
    )]  # fmt: skip
    output_sequences: list[TensorNode] = []
    final_states: list[list[TensorNode]] = []
    for direction_index, one_direction in enumerate(directions):
        weights = slicing.index_axis(w, 0, direction_index)
        projected = LinearNode(OpType.mul, (1, 2, 3), (1, 2, -4), (3, -4), x, weights)  # for all steps at once
        biases: list[Any] = [None, None]  # of w, and of r
        if b is not None:
            both_biases = slicing.index_axis(b, 0, direction_index)
            biases = [gate_slice(both_biases, first_gate, hidden, gates) for first_gate in (0, gates)]
        step_inputs = with_bias(projected, biases[0])
        step_inputs = step_inputs if separate_bias else with_bias(step_inputs, biases[1])
        shared = [slicing.index_axis(weight, 0, direction_index) for weight in (r, peepholes) if weight is not None]
        shared += [biases[1]] if separate_bias and b is not None else []
        zero = LeafNode.constant(np.zeros((batch, hidden)))
        initial_states = [zero if state is None else slicing.index_axis(state, 0, direction_index) for state in states]
        order = range(time) if one_direction == "forward" else range(time)[::-1]
        functions = [ACTIVATIONS[name] for name in names[direction_index * function_count :][:function_count]]
        all_states = ScanNode(_make_step(cell, functions), order, [step_inputs, *is_running], initial_states, shared)
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


def _make_step(cell: Callable[..., State], functions: Functions) -> Step:
    """Make the scan's step from a cell.

    The step's inputs are the projected input and, if sequences differ in length, 1 for those that are running, else 0:
    a sequence that has ended keeps its states.
    """

    def step(inputs: Sequence[Any], states: Sequence[Any], shared: Sequence[Any]) -> Sequence[Any]:
        projected_input, *is_running = inputs
        new_states = cell(functions, projected_input, states, *shared)
        if not is_running:
            return new_states
        return [NonlinearNode(catalogue.where, is_running[0], new, old) for new, old in zip(new_states, states)]

    return step


def project_state(h: TensorNode, recurrent: TensorNode) -> TensorNode:
    """The product of the state h (N, H) and the weights r (G H, H) of all gates."""
    return LinearNode(OpType.mul, (1, 2), (1, -3), (2, -3), h, recurrent)


def gate_slice(node: TensorNode, gate: int, size: int, count: int = 1, axis: int = -1) -> TensorNode:
    """The entries of one gate, or of several, along an axis."""
    return slicing.gather_axis(node, axis % node.rank, (count * size,), (1,), gate * size)


def with_bias(node: TensorNode, bias: Any) -> TensorNode:
    """The node plus a bias along its last axis; the node itself without one."""
    return arithmetic.apply_along_axis(OpType.add, node, bias, node.rank - 1)
