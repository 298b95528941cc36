"""Sizes that a network leaves open stay open in what is written of it.

A graph here has numbers for all its sizes. So it is written for several sizes,
and what differs is computed in the file from the shape of an input: a number
and a multiple of each open size; of a Reshape, what is left. A size that says
something else stays closed, as it was used last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import GraphProto, NodeProto, helper, numpy_helper

from ...errors import NaiveGraphError
from ..network import ImportedNetwork, Sizes, sized
from .export_values import ModelBuilder

PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
Written = tuple[ModelBuilder, GraphProto]
Write = Callable[[Sizes], Written]


class FixedSize(Exception):
    """A size cannot be left open."""


class OpenSize(NamedTuple):
    """A size that is left open: its name, what it is at first, how much more then, and what it is in all variants."""

    name: str
    size: int
    more: int
    sizes: Sequence[int] = ()


def write_with_open_sizes(network: ImportedNetwork, present: Sizes, write: Write) -> Written:
    """What is written of a network, with as many of its sizes open as can be."""
    extents = [sized(each, network.sizes) or shape for each, shape in zip(network.slots, present)]
    taken = {each for node in network.with_sizes().inner for each in node.shape}
    free = iter([each for each in PRIMES if each not in taken])
    written, open_ = write(present), list[OpenSize]()
    for name in dict.fromkeys(each for some in extents for each in some if isinstance(each, str)):
        size, later = next(free, 101), next(free, 103)
        try:
            more = [*open_, OpenSize(name, size, later - size)]
            written, open_ = _write_variants(more, lambda chosen: write(_sizes(extents, present, chosen))), more
        except (FixedSize, NaiveGraphError):  # it has meaning for the sizes at hand alone
            continue
    return written


def _sizes(extents: Sequence[Sequence[Any]], present: Sizes, chosen: dict[str, int]) -> Sizes:
    return tuple(tuple(chosen.get(said, size) for said, size in zip(*each)) for each in zip(extents, present))


def _write_variants(open_: Sequence[OpenSize], write: Callable[[dict[str, int]], Written]) -> Written:
    """What is written for the sizes at first, for each of them changed, and for all."""
    first = {each.name: each.size for each in open_}
    last = {each.name: each.size + each.more for each in open_}
    variants = [write(first), *(write({**first, name: last[name]}) for name in last), write(last)]
    builders, graphs = zip(*variants)
    count = len(variants)
    open_ = [each._replace(sizes=[each.size + each.more * (at in (place, count - 1)) for at in range(count)])
             for place, each in enumerate(open_, 1)]  # fmt: skip
    functions = [[*each.functions.values()] for each in builders]
    if len({*map(len, functions)}) > 1 or any([*each.node] != [*graphs[0].node] for each in graphs):
        raise FixedSize
    for several in zip(*functions):
        calls = zip(*(each.shapes[several[0].name] for each in builders))
        _open_function(open_, several, [*calls])
    _open_graph(open_, graphs)
    return variants[0]


def _open_graph(open_: Sequence[OpenSize], graphs: Sequence[GraphProto]) -> None:
    graph = graphs[0]
    shapes = [[[dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in some.input] for some in graphs]
    body = OpenedBody(open_, [each.name for each in graph.input], [shapes], graph.node)
    stored = [{each.name: each for each in some.initializer} for some in graphs]
    if any([*each] != [*stored[0]] for each in stored):
        raise FixedSize
    kept = [body.number([each[name] for each in stored]) for name in stored[0]]
    _replace(graph.node, [*body.made, *graph.node])
    _replace(graph.initializer, [each for each in kept if each is not None])
    for part in ("input", "output"):
        for several in zip(*(getattr(each, part) for each in graphs)):
            for dims in zip(*(each.type.tensor_type.shape.dim for each in several)):
                _open_extent(open_, dims)


def _open_function(open_: Sequence[OpenSize], several: Sequence[Any], calls: Sequence[Any]) -> None:
    """The numbers in a local function, from the shapes that it is called with. It writes them as Constants."""
    function = several[0]
    if any(each.name != function.name or len(each.node) != len(function.node) for each in several):
        raise FixedSize
    body = OpenedBody(open_, function.input, calls, function.node)
    kept = []
    for nodes in zip(*(each.node for each in several)):
        node = nodes[0]
        if node.op_type != "Constant":
            if any(each != node for each in nodes):
                raise FixedSize
            kept.append(node)
            continue
        number = body.number([each.attribute[0].t for each in nodes])
        kept += [] if number is None else [helper.make_node("Constant", [], node.output, node.name, value=number)]
    _replace(function.node, [*body.made, *kept])


def _replace(part: Any, values: Iterable[Any]) -> None:
    values = list(values)
    del part[:]
    part.extend(values)


def _open_extent(open_: Sequence[OpenSize], dims: Sequence[Any]) -> None:
    sizes = [each.dim_value for each in dims]
    if len({*sizes}) > 1:
        dims[0].Clear()
        dims[0].dim_param = next((each.name for each in open_ if each.sizes == sizes), "")


class OpenedBody:
    """The nodes of a graph or a function. made: those that compute what depends on open sizes.

    calls: for each call the shapes of all inputs, in each variant.
    """

    def __init__(
        self, open_: Sequence[OpenSize], inputs: Sequence[str], calls: Sequence[Any], nodes: Sequence[Any]
    ) -> None:
        self.open, self.inputs, self.calls, self.nodes = open_, inputs, calls, nodes
        self.made: list[NodeProto] = []

    def number(self, tensors: Sequence[Any]) -> Any:
        """The tensor that stays; None if it is computed now."""
        first = tensors[0]
        if all(each == first for each in tensors):
            return first
        arrays = [numpy_helper.to_array(each) for each in tensors]
        if len({each.shape for each in arrays}) > 1:
            return self._spread(first.name, arrays)
        if arrays[0].dtype != np.int64 or arrays[0].ndim != 1:
            raise FixedSize
        varies = np.any([each != arrays[0] for each in arrays], axis=0)
        readers = [each for each in self.nodes if first.name in each.input]
        if varies.sum() == 1 and all(each.op_type == "Reshape" for each in readers) and min(arrays[0]) > 0:
            return numpy_helper.from_array(np.where(varies, -1, arrays[0]), first.name)
        self._compute(first.name, arrays)
        return None

    def _spread(self, name: str, arrays: Sequence[Any]) -> Any:
        """An array that is the same along its open axes: once, and spread."""
        shapes = [np.array(each.shape) for each in arrays]
        if len({*map(len, shapes)}) > 1:
            raise FixedSize
        once = arrays[0][tuple(slice(0, 1) if len({*each}) > 1 else slice(None) for each in zip(*shapes))]
        if not all(np.array_equal(each, np.broadcast_to(once, each.shape)) for each in arrays):
            raise FixedSize
        self._compute(f"{name}.shape", shapes)
        self._node("Expand", [f"{name}.once", f"{name}.shape"], name)
        return numpy_helper.from_array(once, f"{name}.once")

    def _compute(self, name: str, arrays: Sequence[Any]) -> None:
        """Nodes for an array that is a constant and multiples of open sizes."""
        slopes = [(each - arrays[0]) // size.more for each, size in zip(arrays[1:], self.open)]
        rest = arrays[0] - sum(slope * size.size for slope, size in zip(slopes, self.open))
        for array, *sizes in zip(arrays, *(each.sizes for each in self.open)):
            if not np.array_equal(array, rest + sum(slope * size for slope, size in zip(slopes, sizes))):
                raise FixedSize
        total = f"{name}.rest"
        self._node("Constant", [], total, value=numpy_helper.from_array(rest))
        for place, slope in enumerate(slopes, 1):
            if slope.any():
                term = self._term(f"{name}.{place}", place, slope)
                self._node("Add", [total, term], total := f"{term}.sum")
        self.made[-1].output[0] = name

    def _term(self, name: str, place: int, slope: Any) -> str:
        """A multiple of an open size, which is found at an axis of an input."""
        at, axis, times = self._source(place)
        if (slope % times).any():
            raise FixedSize
        self._node("Shape", [self.inputs[at]], f"{name}.size", start=axis, end=axis + 1)
        self._node("Constant", [], f"{name}.times", value=numpy_helper.from_array(slope // times))
        self._node("Mul", [f"{name}.size", f"{name}.times"], name)
        return name

    def _source(self, place: int) -> tuple[int, int, int]:
        """The input and the axis whose extent is a multiple of an open size in all calls, and what multiple."""
        due = self.open[place - 1].sizes
        for at in range(len(self.inputs)):
            for axis in range(min(len(each[0][at]) for each in self.calls)):
                times = {variant[at][axis] / each for call in self.calls for variant, each in zip(call, due)}
                if len(times) == 1 and (only := times.pop()).is_integer() and only:
                    return at, axis, int(only)
        raise FixedSize

    def _node(self, operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        self.made.append(helper.make_node(operator, inputs, [output], output, **attributes))
