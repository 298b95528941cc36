"""Prepare a model for the altitudes page: its tensors grouped by layer, its samples, and its dataflow graph.

The page shows one model at several levels of detail. For `Sequential([Dense(2), tanh, Dense(1)], 3)` the subject
has the groups "the sample" (the input of shape (3,)), one for each layer with the tensors that it computes, and
"the result" (label and loss). A layer's tensors are those built in its scope, as in `scope("1 Dense(2)")`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ...core.number import shortened
from ...core.records import around
from ...errors import DrawingError, ShapeError
from ...tensor.base import TensorNode
from ...tensor.differentiate import ancestors
from ...tensor.nodes import LeafNode, LeafType
from ...tensor.sparse_selector import SelectionNode
from ..drawing.text_metrics import visible

MOST_SAMPLES = 50  # that a page holds
MAX_OPERATORS = 26  # that a layer's dataflow may have, with its workers, to be drawn
# Titles of the groups of tensors that belong to no layer.
INPUT, END = "the sample", "the result"


class TensorLayer(NamedTuple):
    """A layer: its title, its tensors, and the dataflow of its operators split into workers (None if it has none)."""

    title: str
    tensors: list[TensorNode]
    flow: Any


class Subject(NamedTuple):
    """What a page shows. loss: what is differentiated; samples, labels: rows of numbers for `sample` and `label`."""

    title: str
    layers: list[TensorLayer]
    sample: LeafNode | None
    label: LeafNode | None
    output: TensorNode
    loss: TensorNode
    samples: Any
    labels: Any
    flow: Any


def make_subject(model: Any, data: Any = None, labels: Any = None) -> Subject:
    """A network, an imported network, or a tensor, with samples. Raises DrawingError, ShapeError."""
    if hasattr(type(model), "expand"):  # a Sequential
        return _subject_of_sequential(model, data, labels)
    if labels is not None:
        raise DrawingError("altitudes: labels are of a Sequential, which has a loss. Leave labels out.")
    output = _find_output(model)
    inputs = [leaf for leaf in ancestors([output]) if isinstance(leaf, LeafNode) and leaf.leaf_type == LeafType.INPUT]
    if len(inputs) > 1:
        raise DrawingError(
            f"altitudes: there are {len(inputs)} inputs, and one sample is shown. Give the others values."
        )
    sample = inputs[0] if inputs else None
    if data is None and sample is not None and sample.value is not None:
        data = np.asarray(sample.value)
    rows = _samples_as_rows(data, sample.shape) if sample is not None else np.zeros((1, 0))
    model_name = None if model is output else getattr(model, "name", None)
    title = visible(model_name or output.given_name or "A tensor", 60)
    return Subject(title, _group_by_layer(output, {}), sample, None, output, output, rows, None, None)


def _subject_of_sequential(model: Any, data: Any, labels: Any) -> Subject:
    sample, label = LeafNode.input(model.input_shape, "x"), LeafNode.input(model.output_shape, "label")
    output = model(sample)
    output.name = output.given_name or "y"
    loss = model.loss_of(output, label)
    loss.name = "loss"
    rows = _samples_as_rows(data, model.input_shape)
    if labels is None:
        labels = np.zeros((len(rows), *model.output_shape))
        if len(model.output_shape) == 1 and model.output_shape[0] > 1:
            labels[:, 0] = 1.0  # one-hot: the first class
    if np.shape(labels) == () and len(rows) == 1:
        labels = [labels]
    targets = model.encode_labels(rows.reshape(len(rows), *model.input_shape), np.asarray(labels)[: len(rows)])
    flow = model.expand()
    expand_workers = cache(lambda grain: model.expand(True, grain))
    # The keys are the names of the scopes in which the model builds its layers' tensors.
    flows = {f"{layer.number} {layer.layer!r}": _layer_dataflow(expand_workers, layer.number) for layer in flow.layers}
    result_name = model.streams.result
    if result_name == "res":  # the default
        result_name = "A network of one layer" if len(flow.layers) == 1 else f"A network of {len(flow.layers)} layers"
    title = visible(result_name, 60)
    label_rows = targets.reshape(len(rows), -1)
    return Subject(title, _group_by_layer(loss, flows), sample, label, output, loss, rows, label_rows, flow)


def _find_output(model: Any) -> TensorNode:
    """The tensor that a model computes."""
    if hasattr(type(model), "graph_of"):  # an imported network
        first, *others = model.with_sizes().outputs.values()
        if others:
            raise DrawingError("altitudes: the network has several outputs. Give one: altitudes(network.outputs[...]).")
        model = first
    if not isinstance(model, TensorNode):
        description = f"{type(model).__name__} {shortened(model)}"
        raise DrawingError(f"altitudes takes a Sequential, an imported network or a tensor, not {description}.")
    return model


def _samples_as_rows(data: Any, shape: tuple[int, ...]) -> Any:
    """Samples as rows of numbers; without data one, a ramp. Raises ShapeError."""
    size = int(np.prod(shape))
    if data is None:
        return np.linspace(0.0, 1.0, size).reshape(1, size)
    array = np.asarray(data, dtype=np.float64)
    if not size or array.size % size or not array.size or not np.isfinite(array).all():
        raise ShapeError(f"altitudes takes finite samples of shape {shape}, not an array of shape {array.shape}.")
    return array.reshape(-1, size)[:MOST_SAMPLES]


def _group_by_layer(output: TensorNode, flows: Mapping[str, Any]) -> list[TensorLayer]:
    """Group the tensors by their outermost scope, in the order of their first nodes.

    Nodes in no scope: those that depend on no layer are the group INPUT; the others are END, always the last.
    """
    nodes_by_scope: dict[str, list[TensorNode]] = {}
    for node in ancestors([output]):
        if not isinstance(node, SelectionNode):
            title = _outermost_scope_name(node) or (INPUT if _is_input_side(node) else END)
            nodes_by_scope.setdefault(title, []).append(node)
    if END in nodes_by_scope:  # moved to the end
        nodes_by_scope[END] = nodes_by_scope.pop(END)
    return [TensorLayer(title, nodes, flows.get(title)) for title, nodes in nodes_by_scope.items()]


def _outermost_scope_name(node: TensorNode) -> str:
    return next((scope.name for scope in around(node.scope)), "")


def _is_input_side(node: TensorNode) -> bool:
    """Whether it belongs to the group INPUT: neither it nor anything it depends on is in a layer.

    The label and the loss belong to END. In a tensor without scopes every node, the result too, is INPUT.
    """
    return not any(map(_outermost_scope_name, ancestors([node]))) and node.name not in ("label", "loss")


def _layer_dataflow(expand_workers: Callable[[int], Any], number: int) -> Any:
    """The dataflow of one layer, its operators split into as many workers as can be drawn.

    expand_workers(grain): the whole dataflow; the larger the grain, the more each worker does, and the fewer there are.
    """
    grain = 1
    while True:
        flow = expand_workers(grain)
        operators = {name: operator for name, operator in flow.operators.items() if operator.layer == number}
        if len(operators) <= MAX_OPERATORS:
            ends = operators.keys()
            streams = {name: stream for name, stream in flow.streams.items() if ends & {stream.writer, stream.reader}}
            return SimpleNamespace(operators=operators, streams=streams, layers=flow.layers)
        grain *= 2
