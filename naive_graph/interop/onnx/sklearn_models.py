"""Expand scikit-learn's operators (domain ai.onnx.ml) to standard ONNX operators, with weights as initializers.

An expansion is the new nodes and the weights by name; None leaves the node as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

DOMAIN = "ai.onnx.ml"
LABELS = (TensorProto.INT64, TensorProto.STRING)  # entry types of a classifier's label output
AFTER = {b"NONE": "", b"LOGISTIC": "Sigmoid", b"SOFTMAX": "Softmax"}  # ONNX operator of each post_transform
Arrays = dict[str, Any]
Expansion = tuple[list[NodeProto], Arrays]


def expand_operators(nodes: Iterable[NodeProto]) -> Expansion:
    """Expand scikit-learn's nodes; return all nodes, and the weights of the expanded ones. Unknown nodes stay."""
    expanded, weights = list[NodeProto](), Arrays()
    for node in nodes:
        expand = EXPANSIONS.get(node.op_type) if node.domain == DOMAIN else None
        attributes = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
        parts = expand(node, attributes) if expand else None
        new, arrays = parts or ([node], {})
        expanded += new
        weights |= arrays
    return expanded, weights


def _linear(node: NodeProto, attributes: Mapping[str, Any]) -> Expansion | None:
    """LinearRegressor, LinearClassifier: x C^T + b, then the sigmoid or softmax that post_transform names."""
    activation, result = AFTER.get(attributes.get("post_transform", b"NONE")), node.output[-1]
    rows = len(attributes.get("intercepts", ())) or attributes.get("targets", 1)
    if activation is None or not rows or len(attributes["coefficients"]) % rows or (rows == 1 and len(node.output) > 1):
        return None
    weights = np.array(attributes["coefficients"], np.float32).reshape(rows, -1)
    bias = np.array(attributes.get("intercepts", [0.0] * rows), np.float32)
    names = [f"{node.name or result}.{suffix}" for suffix in ("coefficients", "intercepts")]
    scores = f"{result}/scores" if activation else result
    nodes = [helper.make_node("Gemm", [node.input[0], *names], [scores], node.name, transB=1)]
    nodes += [helper.make_node(activation, [scores], [result], f"{node.name}/{activation}")] if activation else []
    return nodes, dict(zip(names, (weights, bias)))


def _scaler(node: NodeProto, attributes: Mapping[str, Any]) -> Expansion:
    names = [f"{node.name or node.output[0]}.{suffix}" for suffix in ("offset", "scale")]
    shifted = f"{node.output[0]}/moved"
    nodes = [helper.make_node("Sub", [node.input[0], names[0]], [shifted], f"{node.name}/Sub"),
             helper.make_node("Mul", [shifted, names[1]], [node.output[0]], node.name)]  # fmt: skip
    return nodes, {name: np.array(attributes[what], np.float32) for name, what in zip(names, ("offset", "scale"))}


def _normalizer(node: NodeProto, attributes: Mapping[str, Any]) -> Expansion | None:
    p = {b"L1": 1, b"L2": 2}.get(attributes.get("norm", b"MAX"))
    if p is None:
        return None
    return [helper.make_node("LpNormalization", node.input, node.output, node.name, axis=-1, p=p)], {}


def _rename_operator(operator: str, **attributes: Any) -> Callable[[NodeProto, Mapping[str, Any]], Expansion]:
    return lambda node, options: ([helper.make_node(operator, node.input, node.output, node.name, **attributes)], {})


EXPANSIONS: dict[str, Callable[[NodeProto, Mapping[str, Any]], Expansion | None]] = {
    "LinearRegressor": _linear,
    "LinearClassifier": _linear,
    "Scaler": _scaler,
    "Normalizer": _normalizer,
    "ArrayFeatureExtractor": _rename_operator("Gather", axis=-1),
    "FeatureVectorizer": _rename_operator("Concat", axis=1),
    "ZipMap": _rename_operator("Identity"),
}
