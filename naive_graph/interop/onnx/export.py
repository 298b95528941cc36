"""`to_onnx`: write tensors, scalars, models and networks as an ONNX file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from onnx import GraphProto, ModelProto, defs, helper

from ...core.files import path_of, write_atomically
from ...core.number import shortened
from ...core.version import __version__
from ...errors import ExportError
from ...graph.nodes import Node
from ...sequential.network import Network as Layers
from ...tensor.base import TensorNode
from ...training.model import Model
from ..network import ImportedNetwork, Sizes
from .custom_ops import DOMAIN
from .dynamic_axes import Written, write_with_dynamic_axes
from .export_graph import GraphBuilder, ModelBuilder, graph
from .export_layers import SAID, write_layers
from .export_nodes import NodeWriter
from .export_values import DOUBLE, FLOAT, StoredValue

KINDS = {"float32": FLOAT, "float64": DOUBLE}
OLDEST, NEWEST = 18, 26  # opsets that runtimes read today
OPSET = 24
NEWEST_IR = 13


def to_onnx(what: Any, path: str | os.PathLike[str], *, dtype: str = "float32", opset: int | None = None) -> Path:
    """Export to an ONNX file, written atomically.

    what: a tensor node, a scalar node, or several, in a list or by name in a dict,
    which become the results; what from_onnx or from_tensorflow gave; a Model, whose parameters
    become results; or a Sequential. dtype: "float32" or
    "float64". opset: from 18 to 26, by default 24. Parameters become initializers
    with their names, inputs stay inputs. Raises ExportError, which lists
    everything that cannot be exported.

    >>> import tempfile
    >>> from naive_graph import LeafNode
    >>> x = LeafNode.input((2, 2), "x")
    >>> y = (x @ LeafNode.parameter([[1.0, 0.0], [2.0, 1.0]], "W")).softmax(name="y")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_onnx(y, folder + "/model.onnx").name
    'model.onnx'
    """
    target = path_of(path, ExportError)
    write_atomically(target, export_model(what, dtype, opset).SerializeToString(), ExportError)
    return target


def export_model(what: Any, dtype: str = "float32", opset: int | None = None) -> ModelProto:
    """Build the ModelProto that `to_onnx` writes."""
    try:
        return _build_model(what, dtype, opset)
    except UnicodeEncodeError as error:
        raise ExportError(
            f"The name {shortened(error.object)} is no text that a file can hold. Choose another."
        ) from None


def _build_model(target: Any, dtype: str, opset: int | None) -> ModelProto:
    model_builder = ModelBuilder(*_check_options(dtype, opset))
    if isinstance(target, Layers):  # before Model: it is a subclass
        return make_model(model_builder, write_layers(model_builder, target), **{SAID: json.dumps(target.settings())})
    if isinstance(target, Model):
        return make_model(model_builder, _write_parameters(model_builder, target))
    if isinstance(target, ImportedNetwork):
        return make_model(*_write_imported(target, model_builder.real, model_builder.opset))
    return make_model(model_builder, _write_graph(model_builder, target))


def _write_imported(network: ImportedNetwork, element_type: int, opset: int) -> Written:
    """Write an imported network, with dynamic axes as named dimensions where possible."""
    built = network.with_sizes()
    shapes = tuple(built.inputs[slot.name].shape for slot in network.slots)

    def write(sizes: Sizes) -> Written:
        model_builder = ModelBuilder(element_type, opset, has_dynamic_axes=sizes != shapes)
        nodes = built if sizes == shapes else network.build(sizes)
        return model_builder, _write_graph(model_builder, nodes.outputs)

    return write_with_dynamic_axes(network, shapes, write)


def _write_graph(model_builder: ModelBuilder, target: Any) -> GraphProto:
    names: list[Any] = [*target] if isinstance(target, dict) else []
    results = [target]
    if names:
        results = [*target.values()]
    elif isinstance(target, (list, tuple)):
        results = [*target]
    if not all(isinstance(name, str) for name in names):
        raise ExportError(f"The results of a dict are called by texts, not by {shortened(names)}.")
    if not results or not all(isinstance(result, (TensorNode, Node)) for result in results):
        raise ExportError(
            "to_onnx takes a tensor node, a scalar node, several in a list or dict, a Model or a Sequential, "
            f"not {shortened(target)}."
        )
    builder = GraphBuilder(model_builder)
    writer = NodeWriter(builder)
    if names:
        writer.reserve_names(names, results)
    node_names = [(result.given_name if isinstance(result, TensorNode) else result.name) or "" for result in results]
    builder.reserved.update(filter(None, node_names))
    values = writer.write_or_raise(results)
    return graph(builder, "naive_graph", values, names or node_names)


def _check_options(dtype: Any, opset: Any) -> tuple[int, int]:
    if not isinstance(dtype, str) or dtype not in KINDS:
        raise ExportError(f'dtype is "float32" or "float64", not {shortened(dtype)}.')
    newest = min(NEWEST, defs.onnx_opset_version())
    chosen = min(OPSET, newest) if opset is None else opset
    if not isinstance(chosen, int) or isinstance(chosen, bool) or not OLDEST <= chosen <= newest:
        raise ExportError(f"opset is a whole number from {OLDEST} to {newest}, not {shortened(opset)}.")
    return KINDS[dtype], chosen


def make_model(model_builder: ModelBuilder, graph_proto: GraphProto, **metadata: str) -> ModelProto:
    """Wrap a graph as a ModelProto, with the local functions that it calls."""
    opsets = [helper.make_opsetid("", model_builder.opset)]
    if model_builder.functions:
        opsets.append(helper.make_opsetid(DOMAIN, 1))
    version = min(NEWEST_IR, max(10, helper.find_min_ir_version_for(opsets, ignore_unknown=True)))
    model = helper.make_model(
        graph_proto,
        producer_name="naive_graph",
        producer_version=__version__,
        opset_imports=opsets,
        ir_version=version,
        functions=list(model_builder.functions.values()),
    )
    for key, text in {**metadata, "parameters": json.dumps(model_builder.learned)}.items():
        model.metadata_props.add(key=f"{DOMAIN}.{key}", value=text)
    return model


def _write_parameters(model_builder: ModelBuilder, model: Model) -> GraphProto:
    """Write a model's parameters as the outputs of a graph."""
    builder = GraphBuilder(model_builder)
    values = [StoredValue(builder, parameter.values, parameter.name, True) for parameter in model]
    names = [value.form() for value in values]
    infos = [helper.make_tensor_value_info(name, model_builder.real, value.shape) for name, value in zip(names, values)]
    return helper.make_graph([], "naive_graph", [], infos, builder.weights)
