"""If, Loop and Scan: choose the branch of an If; unroll a Loop or a Scan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto

from ...errors import ImportModelError
from ...tensor import slicing
from ...tensor.operators.table import TABLE
from .import_graph import OnnxBuilder, attributes_of, import_rule
from .steps import MOST_STEPS, OnnxStep, expand_subgraph


def build_subgraph(
    builder: OnnxBuilder, step: OnnxStep, graph: Any, iteration: int | str, inputs: Sequence[Any] = (),
    types: Sequence[int] = (),
) -> list[Any]:  # fmt: skip
    """Build a subgraph for these inputs and return its results; names are prefixed by the step and the iteration."""
    inner_steps, names, results = expand_subgraph(step, graph, f"{step.name}/{iteration}/")
    if len(names) != len(inputs):
        raise ImportModelError(f"{step.label} has a graph of {len(names)} inputs, not {len(inputs)}.")
    builder.values.update(zip(names, inputs))
    builder.types.update(zip(names, types))
    builder.take_inside(inner_steps, f"in a graph of {step.label}")
    outputs = results[len(results) - len(step.outputs) :]  # a Loop says before whether it goes on
    for mine, inner_name in zip(step.outputs, outputs):
        if inner_name in builder.types:
            builder.types[mine] = builder.types[inner_name]
    return [builder.value(result) for result in results]


@import_rule("If")
def branch(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """If: build the branch that a known condition chooses."""
    chosen = "then_branch" if builder.known_array(step, 0).all() else "else_branch"
    return build_subgraph(builder, step, step.attributes[chosen].g, chosen)


@import_rule("Loop")
def loop(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Loop: unroll as many iterations as are known beforehand."""
    body, most, condition = step.attributes["body"].g, builder.known_array(step, 0), builder.known_array(step, 1)
    states = [builder.input(step, position) for position in range(2, len(step.inputs))]
    types = [builder.type(step, position) for position in range(2, len(step.inputs))]
    types = [TensorProto.INT64, TensorProto.BOOL, *types]
    count, iteration, outputs_by_iteration = len(states), 0, list[Any]()
    while (most is None or iteration < most) and (condition is None or condition.all()):
        _check_unrolled_size(step, body, iteration)
        inputs = [np.array(iteration), np.array(True), *states]
        condition, *results = build_subgraph(builder, step, body, iteration, inputs, types)
        if not isinstance(condition, np.ndarray):
            raise ImportModelError(f"{step.label}: how often it turns must be known before the network runs.")
        states, iteration = results[:count], iteration + 1
        outputs_by_iteration.append(results[count:])
    return [*states, *(_stack_results(builder, step, values, 0) for values in zip(*outputs_by_iteration))]


@import_rule("Scan")
def scan(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Scan: unroll one iteration for each entry along an axis of the scanned inputs."""
    attributes, body = attributes_of(step), step.attributes["body"].g
    scan_count = attributes["num_scan_inputs"]
    if step.opset < 9 or not 0 < scan_count <= len(step.inputs):
        raise ImportModelError(f"{step.label} is read from opset 9 on, with something to go through.")
    values = [builder.input(step, position) for position in range(len(step.inputs))]
    types = [builder.type(step, position) for position in range(len(step.inputs))]
    states, scanned = values[: len(values) - scan_count], values[len(values) - scan_count :]
    count, results = len(states), len(body.output) - len(states)
    axes, back = (attributes.get(f"scan_input_{name}", [0] * scan_count) for name in ("axes", "directions"))
    outputs_by_iteration = []
    iterations = scanned[0].shape[axes[0]]
    _check_unrolled_size(step, body, iterations)
    for iteration in range(iterations):
        indices = [-1 - iteration if turned else iteration for turned in back]
        parts = [_take_entry(x, axis, index) for x, axis, index in zip(scanned, axes, indices)]
        outputs = build_subgraph(builder, step, body, iteration, [*states, *parts], types)
        states = outputs[:count]
        outputs_by_iteration.append(outputs[count:])
    axes, back = (attributes.get(f"scan_output_{name}", [0] * results) for name in ("axes", "directions"))
    return [*states, *(_stack_results(builder, step, entries[::-1] if turned else entries, axis)
                       for entries, axis, turned in zip(zip(*outputs_by_iteration), axes, back))]  # fmt: skip


def _check_unrolled_size(step: OnnxStep, body: Any, turn: int) -> None:
    if turn * len(body.node) > MOST_STEPS:
        raise ImportModelError(f"{step.label} makes more than {MOST_STEPS:,} nodes, turn after turn.")


def _take_entry(x: Any, axis: int, index: int) -> Any:
    return np.take(x, index, axis) if isinstance(x, np.ndarray) else slicing.index_axis(x, axis % x.rank, index)


def _stack_results(builder: OnnxBuilder, step: OnnxStep, values: Sequence[Any], axis: int) -> Any:
    if all(isinstance(value, np.ndarray) for value in values):
        return np.stack(values, axis)
    nodes = [builder.node(f"{step.name}/{index}", value) if isinstance(value, np.ndarray) else value
             for index, value in enumerate(values)]  # fmt: skip
    return TABLE["stack"](nodes, axis)
