"""A network that came from a file: its inputs, parameters, outputs and inner nodes as ordinary tensor nodes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from onnx import ModelProto

from ...errors import FeedError, ImportModelError
from ...tensor.arrays import as_array
from ...tensor.base import TensorNode
from ...tensor.index import Shape
from ...tensor.nodes import LeafNode
from ...training.model import Model
from .building import unsupported
from .compiled import Compiled
from .inlining import check_known
from .own import learned
from .reading import Content, Slot, read, sized
from .sized import Sized
from .weights import Weight, Weights


class Network:
    """What `from_onnx` gives. Called with arrays, it gives the outputs' arrays.

    inputs, outputs: tensor nodes by name. parameters: the weights that are
    learned, leaves by name. nodes: every inner node by its name in the file, and
    by the name of its result; of an operator with several results a tuple.
    model: a Model of the parameters, for trainers and for saving.
    """

    def __init__(self, content: Content, sizes: Mapping[str, int], known: Mapping[str, Any]) -> None:
        self.name = content.name
        self.content = content
        self.sizes, self.known = dict(sizes), dict(known)
        self.weights = Weights(content.weights, statistics_of(content), learned(content.said))
        self.built: dict[tuple[Shape, ...], Sized] = {}
        self.slots = [each for each in content.inputs if each.name not in self.known]
        if all(map(self._is_sized, self.slots)):
            self.graph_of(tuple(self._shape(each) for each in self.slots))

    # --- what it is made of ---

    @property
    def graph(self) -> Sized:
        """The nodes for the sizes that were used last."""
        if not self.built:
            free = [each.name for each in self.slots if not self._is_sized(each)]
            names = {each for slot in self.slots for each in sized(slot, self.sizes) or () if isinstance(each, str)}
            raise ImportModelError(
                f"The network's nodes depend on the shapes of {', '.join(free)}, which the file leaves open. Call the "
                f"network with arrays, or give sizes: from_onnx(path, sizes={dict.fromkeys(sorted(names), 1)})."
            )
        return next(reversed(self.built.values()))

    @property
    def inputs(self) -> dict[str, LeafNode]:
        return self.graph.inputs

    @property
    def outputs(self) -> dict[str, TensorNode]:
        return self.graph.outputs

    @property
    def nodes(self) -> dict[str, Any]:
        return self.graph.nodes

    @property
    def parameters(self) -> dict[str, Weight]:
        self.graph  # noqa: B018 - which says what is used
        return self.weights.learned()

    @cached_property
    def model(self) -> Model:
        """A Model that owns the parameters: `AdamTrainer(network.model)`, `network.model.save(path)`."""
        self.graph  # noqa: B018 - which says what is used
        return self.weights.model()

    def compiled(self, **how: Any) -> Compiled:
        """The network as machine code, for inputs of the sizes that were used last, and for its present weights.

        Every entry of every tensor becomes a scalar node, as `lower` does it, and a
        Program of these runs; how: what that takes (`engine`, `dtype`, `fused`). It
        takes a second to make, and a small network then runs ten times faster.
        """
        return Compiled(self.graph.inputs, self.graph.computed, self._ordered, how)

    # --- building ---

    def _is_sized(self, slot: Slot) -> bool:
        extents = sized(slot, self.sizes)
        return extents is not None and all(isinstance(each, int) for each in extents)

    def _shape(self, slot: Slot) -> tuple[int, ...]:
        return tuple(int(each or 0) for each in sized(slot, self.sizes) or ())

    def graph_of(self, shapes: tuple[Shape, ...]) -> Sized:
        """The nodes for inputs of these shapes; built once."""
        graph = self.built.pop(shapes, None)
        if graph is None:
            named = {slot.name: shape for slot, shape in zip(self.slots, shapes)}
            graph = Sized(self.content, self.weights, self.known, named)
        self.built[shapes] = graph  # the last
        return graph

    # --- running ---

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The output's array, from an array for each input: in the file's order, or by name. Several: a dict."""
        given = self._ordered(arrays, named)
        graph = self.graph_of(tuple(each.shape for each in given))
        for leaf, array in zip(graph.inputs.values(), given):
            leaf.value = array
        found = graph.run()
        return found if len(found) > 1 else next(iter(found.values()))

    def _ordered(self, arrays: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        names = [each.name for each in self.slots]
        values = {**dict(zip(names, arrays)), **named}
        if len(arrays) + len(named) != len(names) or values.keys() != set(names):
            raise FeedError(
                f"The network takes {', '.join(names) or 'no inputs'}: an array for each, in order or by name."
            )
        found = [_array(values[each], f"Input {each!r}") for each in names]
        for slot, array in zip(self.slots, found):
            due = slot.extents
            if due is not None and (len(due) != array.ndim or any(
                isinstance(each, int) and each != extent for each, extent in zip(due, array.shape)
            )):  # fmt: skip
                raise FeedError(f"Input {slot.name!r} has the shape {due}; an array of {array.shape} was given.")
        return found

    def __repr__(self) -> str:
        said = ", ".join(f"{each.name} {each.extents}" for each in self.slots)
        return f"<Network {self.name!r} of {len(self.content.steps)} operators: {said}>"


def _array(value: Any, who: str) -> Any:
    truth = isinstance(value, np.ndarray) and value.dtype.kind == "b"
    return as_array(value.astype(float) if truth else value, who)


def statistics_of(content: Content) -> list[str]:
    """The weights that stand where the running mean and variance do."""
    return [name for step in content.steps if step.op == "BatchNormalization" for name in step.inputs[3:5]]


def from_onnx(
    source: str | os.PathLike[str] | bytes | ModelProto,
    sizes: Mapping[str, int] | None = None,
    known: Mapping[str, Any] | None = None,
) -> Network:
    """A network from an ONNX file of opset 7 on, as tensor nodes: to look at, differentiate, train and run.

    source: a path, the bytes of a file, or a ModelProto. sizes: numbers for
    dimensions that the file only names, as {"batch": 8}; without them the nodes
    are made when the network is first called, for the arrays that it is given,
    and made anew for arrays of another shape; the parameters stay the same. known:
    arrays for inputs that must be known beforehand, such as a shape.

    Weights keep the type that they have in the file until they are used, and
    are float64 from then on, as is all arithmetic. Those with more than one
    number, but for running means and variances, are parameters. What the file
    computes from shapes alone is computed now. Raises ImportModelError,
    UnknownOperatorError and ImportAttributeError, which name what is wrong.

    >>> import onnx.parser
    >>> network = from_onnx(onnx.parser.parse_model(
    ...     '<ir_version: 8, opset_import: ["": 17]> bent (float[n] x) => (float[n] y) { y = Relu(x) }'
    ... ))
    >>> network(x=[-1.0, 2.0]).tolist(), network.nodes["y"].operator.name
    ([0.0, 2.0], 'relu')
    """
    for what, given in (("sizes", sizes), ("known", known)):
        if given is not None and not isinstance(given, Mapping):
            raise ImportModelError(f"from_onnx takes {what}={{name: ...}}, a dict, not {given!r:.60}.")
    content = read(source)
    check_known(content.steps, unsupported)
    _check_sizes(content, sizes or {})
    names = [each.name for each in content.inputs]
    for name in known or {}:
        if name not in names:
            raise ImportModelError(f"known={{{name!r}: ...}}: there is no such input. There are {', '.join(names)}.")
    return Network(content, sizes or {}, {name: as_known(each, name) for name, each in (known or {}).items()})


def _check_sizes(content: Content, sizes: Mapping[str, int]) -> None:
    names = {each for slot in content.inputs for each in slot.extents or () if isinstance(each, str)}
    for name, size in sizes.items():
        if name not in names:
            said = f"There are {', '.join(sorted(names))}." if names else "It names none."
            raise ImportModelError(f"sizes={{{name!r}: ...}}: the file names no such dimension. {said}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ImportModelError(f"sizes={{{name!r}: {size!r:.60}}}: a size is a whole number from 1 on.")


def as_known(value: Any, name: str) -> Any:
    """An input that is given beforehand, as an array of numbers or truth values. Raises ImportModelError."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        raise ImportModelError(f"known={{{name!r}: ...}} takes an array of numbers, not {value!r:.60}.")
    return array
