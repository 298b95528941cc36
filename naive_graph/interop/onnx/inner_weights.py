"""Weights in Constant nodes, or in the graph of an If, Loop or Scan: they become weights of the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnx import AttributeProto, TensorProto

from .arrays import array_of
from .inlining import Application, call_by, text

NUMBERS = {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}


def hoist_weights(
    steps: Sequence[Application], weights: dict[str, Any], types: dict[str, int], folder: Path | None
) -> list[Application]:
    """The steps without Constants of floats with an axis, which are entered into weights and types under their names.

    Those in a graph inside a step are entered as "step/then_branch/name".
    """
    rest = []
    for step in steps:
        tensor = _floats(step.op, step.attributes.values())
        if tensor is not None:
            weights[step.outputs[0]], types[step.outputs[0]] = array_of(tensor, folder), tensor.data_type
            continue
        for name, attribute in step.attributes.items():
            if isinstance(attribute, AttributeProto) and attribute.type == AttributeProto.GRAPH:
                _hoist_graph(attribute.g, f"{step.name}/{name}/", weights, types, folder)
        rest.append(step)
    return rest


def _hoist_graph(graph: Any, prefix: str, weights: dict[str, Any], types: dict[str, int], folder: Path | None) -> None:
    """Move the weights of a graph, and of those inside it, out of it: it takes them from outside from then on."""
    stored = {text(each.name): each for each in graph.initializer}
    nodes = []
    for node in graph.node:
        tensor = _floats(node.op_type, node.attribute)
        if tensor is not None:
            stored[text(node.output[0])] = tensor
        else:
            nodes.append(node)
        for each in node.attribute:
            if each.type == AttributeProto.GRAPH:
                _hoist_graph(
                    each.g, f"{prefix}{text(node.name or node.output[0])}/{each.name}/", weights, types, folder
                )
    for name, tensor in stored.items():
        weights[prefix + name], types[prefix + name] = array_of(tensor, folder), tensor.data_type
    del graph.initializer[:]
    call_by(graph, {name: prefix + name for name in stored})
    if len(nodes) < len(graph.node):
        kept = type(graph)(node=nodes)
        del graph.node[:]
        graph.node.extend(kept.node)


def _floats(op: str, attributes: Any) -> Any:
    """The tensor of a Constant of floats with an axis; None for all else."""
    if op != "Constant":
        return None
    for each in attributes:
        if each.type == AttributeProto.TENSOR and each.t.data_type in NUMBERS and each.t.dims and 0 not in each.t.dims:
            return each.t
    return None
