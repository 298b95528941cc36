"""Dynamic axes on export: sizes that an imported network leaves open become named dimensions of the file.

A graph here has concrete sizes. So it is written twice, for two sizes that
occur nowhere else in it, and the files are compared: what differs is computed
from an input's Shape, or becomes -1 of a Reshape. A size that is used for
anything else stays fixed, at the value used last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, helper, numpy_helper

from ...errors import NaiveGraphError
from ..network import ImportedNetwork, Sizes, named_extents
from .export_graph import ModelBuilder
from .export_rules import NotExpressible, require_fit

Written = tuple[ModelBuilder, GraphProto]
Pair = tuple[int, int]  # an extent in the one file, and in the other


def write_with_dynamic_axes(network: ImportedNetwork, present: Sizes, write: Callable[[Sizes], Written]) -> Written:
    """Write a network with as many open sizes as possible as named dimensions."""
    extents: list[Sequence[Any]] = [named or shape for named, shape in zip(network.shapes.values(), present)]
    taken = {extent for node in network.with_sizes().inner for extent in node.shape}
    free = (size for size in count(2) if size not in taken)
    written, open_ = write(present), dict[str, Pair]()
    for name in named_extents(extents):
        tried = {**open_, name: (next(free), next(free))}
        try:
            files = []
            for index in (0, 1):
                chosen: Mapping[str, int] = {size_name: pair[index] for size_name, pair in tried.items()}
                files.append(write(tuple(tuple(map(chosen.get, *shapes)) for shapes in zip(extents, present))))
            written, open_ = _merge_files(files, tried), tried
        except (NotExpressible, NaiveGraphError):  # the network is valid only for the current size
            continue
    return written


def _merge_files(files: Sequence[Written], open_: Mapping[str, Pair]) -> Written:
    """Merge two files of different sizes: what differs is computed from the inputs' shapes.

    Raises NotExpressible.
    """
    (model_builder, graph), (other_builder, other) = files
    stored, others = ({tensor.name: tensor for tensor in proto.initializer} for proto in (graph, other))
    functions, changed = ([*builder.functions.values()] for builder in (model_builder, other_builder))
    require_fit(len(functions) == len(changed) and graph.node == other.node and [*stored] == [*others])
    for function, another in zip(functions, changed):
        _make_function_dynamic(function, another)
    names, axes = {pair: name for name, pair in open_.items()}, dict[Pair, tuple[str, int]]()
    for part in ("output", "input"):
        axes.clear()  # sizes are never computed from outputs
        for one, two in zip(getattr(graph, part), getattr(other, part)):
            for axis, dims in enumerate(zip(one.type.tensor_type.shape.dim, two.type.tensor_type.shape.dim)):
                pair = dims[0].dim_value, dims[1].dim_value
                axes[pair] = one.name, axis
                if pair[0] != pair[1]:
                    dims[0].dim_param = names.get(pair, "")
    opened = DynamicNumbers(axes, graph.node)
    initializers = [tensor if tensor == others[name] else opened.replace(tensor, others[name])
            for name, tensor in stored.items()]  # fmt: skip
    nodes = [*opened.nodes, *graph.node]
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(tensor for tensor in initializers if tensor is not None)
    graph.node.extend(nodes)
    return files[0]


def _make_function_dynamic(function: Any, other: Any) -> None:
    """Replace the sizes that differ in a local function by -1. Raises NotExpressible unless a Reshape reads them."""
    require_fit(len(function.node) == len(other.node) and function.name == other.name)
    numbers = DynamicNumbers({}, function.node)
    for node, changed in zip(function.node, other.node):
        if node != changed:
            require_fit((node.op_type, node.output) == ("Constant", changed.output))
            node.attribute[0].t.CopyFrom(numbers.replace(node.attribute[0].t, changed.attribute[0].t))


class DynamicNumbers:
    """Constants that depend on dynamic sizes. axes: (extent, extent) -> an input's axis. nodes: compute them."""

    def __init__(self, axes: Mapping[Pair, tuple[str, int]], readers: Sequence[NodeProto]) -> None:
        self.axes, self.readers, self.nodes = axes, [*readers], list[NodeProto]()

    def replace(self, tensor: Any, other: Any) -> Any:
        """Return the tensor to store instead; None if nodes compute it. Raises NotExpressible."""
        name, one, two = tensor.name, numpy_helper.to_array(tensor), numpy_helper.to_array(other)
        require_fit(one.ndim == two.ndim)
        if one.shape != two.shape:
            return self._expand(name, one, two)
        require_fit(one.dtype == np.int64 and one.ndim == 1)
        readers = {node.op_type for node in self.readers if name in node.input}
        if (one != two).sum() == 1 and readers == {"Reshape"} and min(one) > 0:
            return numpy_helper.from_array(np.where(one != two, -1, one), name)
        self._concat(name, zip(one.tolist(), two.tolist()))
        return None

    def _expand(self, name: str, one: Any, two: Any) -> Any:
        """Store an array that is constant along its open axes once, and expand it."""
        once = one[tuple(slice(None if a == b else 1) for a, b in zip(one.shape, two.shape))]
        require_fit(all(np.array_equal(array, np.broadcast_to(once, array.shape)) for array in (one, two)))
        self._concat(f"{name}.shape", zip(one.shape, two.shape))
        self.nodes.append(helper.make_node("Expand", [f"{name}.once", f"{name}.shape"], [name], name))
        return numpy_helper.from_array(once, f"{name}.once")

    def _concat(self, name: str, pairs: Any) -> None:
        """Compute a list of sizes from numbers and extents of inputs."""
        parts = []
        for index, (one, two) in enumerate(pairs):
            part = f"{name}.{index}"
            if one == two:
                node = helper.make_node("Constant", [], [part], part, value_ints=[one])
            else:
                require_fit((one, two) in self.axes)
                source, axis = self.axes[one, two]
                node = helper.make_node("Shape", [source], [part], part, start=axis, end=axis + 1)
            parts.append(part)
            self.nodes.append(node)
        self.nodes.append(helper.make_node("Concat", parts, [name], name, axis=0))
