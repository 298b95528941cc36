"""`Model`: all weights of a network, independent of graphs, in one flat float64 array.

    model = Model(seed=1)
    W = model.add_parameters((2, 3))
    table = model.add_lookup_parameters((1000, 50))

A parameter is a view of its part of the array. `parameter(W)` brings it into a
tensor expression as a leaf that always reads the present weights; backward adds
its gradient to the parameter's own.
"""

from __future__ import annotations

# Imported first: without NumPy it raises an error that names the extra to install.
from ..core.number import shortened
from ..tensor import nodes as tensors
from ..tensor.evaluation.arrays import as_array

# isort: split
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np

from ..core.did_you_mean import Suggesting
from ..core.files import path_of
from ..core.optional_deps import defer_sigint
from ..errors import ShapeError, TrainingError
from ..graph.node_factory import CURRENT
from ..tensor.base import names_in
from ..tensor.differentiate import ancestors
from ..tensor.versions import Watch
from .archive import Shapes, check_name, quote_name, read, write
from .initialisers import Initialiser, glorot
from .parameter_protocol import HasWeightDecay, check_fraction
from .parameters import LookupParameter, Parameter

Kind = TypeVar("Kind", bound=Parameter)


class Model(Suggesting, HasWeightDecay):
    """The weights of a network with their gradients. How they are learned is a Trainer's matter.

    seed: of the random numbers that the initialisers draw.

    >>> from naive_graph.training.initialisers import const
    >>> model = Model(seed=1)
    >>> W = model.add_parameters((2, 2), name="W")
    >>> b = model.add_parameters(2, init=const(0.5), name="b")
    >>> b.values.tolist(), len(model.values)
    ([0.5, 0.5], 6)
    """

    _owner = "model"

    def __init__(self, seed: int | None = None) -> None:
        if seed is not None and not (type(seed) is int and seed >= 0):
            raise TrainingError(
                f"A Model takes a seed, a whole number of at least 0, not {shortened(seed)}. Weights are added: "
                "model.add_parameters(shape). Variables need no Model: AdamTrainer([x, y])."
            )
        self.held = np.zeros(0)
        self.gradients = np.zeros(0)
        self.parameters: list[Parameter] = []
        self.random = np.random.default_rng(seed)

    @property
    def values(self) -> Any:
        """All the weights, as one flat array that may be written into."""
        return self.held

    @values.setter
    def values(self, values: Any) -> None:
        self.values[...] = values

    def add_parameters(
        self, shape: int | Sequence[int], init: Initialiser | None = None, name: str | None = None
    ) -> Parameter:
        """Weights of a shape, filled by an initialiser (glorot() if none is given)."""
        return self._add(Parameter, shape, init, name)

    def add_lookup_parameters(
        self, shape: Sequence[int], init: Initialiser | None = None, name: str | None = None
    ) -> LookupParameter:
        """A table of shape (rows, ...). The initialiser makes it row by row, from the shape of one row."""
        return self._add(LookupParameter, shape, init, name)

    def _add(self, kind: type[Kind], shape: int | Sequence[int], init: Initialiser | None, name: str | None) -> Kind:
        is_table = kind is LookupParameter
        full_shape = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
        are_extents = all(type(extent) is int and 0 < extent < 2**62 for extent in full_shape)
        if len(full_shape) < 1 + is_table or not are_extents:
            raise ShapeError(f"A parameter's shape is made of whole numbers of at least 1, not {shortened(shape)}.")
        name = check_name(name or f"p{len(self.parameters)}")
        if any(param.name == name for param in self.parameters):
            raise TrainingError(f"The model has a parameter {name!r} already. Choose another name.")
        make = glorot() if init is None else init
        if not callable(make):
            raise TrainingError(
                f"An initialiser is one of training/initialisers.py, such as const(0.0), not {shortened(make)}."
            )
        try:
            if is_table:
                initial = np.stack([make(self.random, full_shape[1:]) for _ in range(full_shape[0])])
            else:
                initial = make(self.random, full_shape)
        except MemoryError:
            raise ShapeError(f"There is no room for a parameter of shape {full_shape}.") from None
        filled = as_array(initial, "A parameter")
        if filled.shape != full_shape:
            raise ShapeError(f"The initialiser of {name!r} gave shape {filled.shape}, not {full_shape}.")
        added = kind(self, len(self.held), full_shape, name)
        self.held = np.concatenate([self.held, filled.ravel()])
        self.gradients = np.concatenate([self.gradients, np.zeros(added.end - added.start)])
        self.parameters.append(added)
        return added

    def __getitem__(self, name: str) -> Any:
        """The parameter of this name, or the tensor of the current graph that is so named and made of parameters.

        >>> from naive_graph import LeafNode, Model
        >>> from naive_graph.training import parameter
        >>> model = Model(seed=1)
        >>> W = model.add_parameters((2, 3), name="W")
        >>> y = (parameter(W) @ LeafNode.input(3, "x")).softmax(name="h").sum()
        >>> model["W"], model["h"].shape
        (<Parameter 'W' (2, 3)>, (2,))
        """
        for param in self.parameters:
            if param.name == name:
                return param
        node = names_in(CURRENT.tables).nodes.get(name)
        for ancestor in ancestors([node]) if node is not None else ():
            if isinstance(ancestor, ParameterLeaf) and ancestor.source in self.parameters:
                return node
        names = ", ".join(repr(param.name) for param in self.parameters) or "none"
        raise TrainingError(
            f"The model has no parameter {name!r}, and no tensor that is made of one has this name. It has: {names}."
        )

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.parameters)

    def reset_gradient(self) -> None:
        """Set the gradient of every parameter to zero, as an update does."""
        for param in self.parameters:
            param.clear_gradient()

    def scale_gradient(self, factor: float) -> None:
        """Multiply the gradient of every parameter by a factor."""
        for param in self.parameters:
            param.scale_gradient(factor)

    # --- on disk ---

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the weights as .npz. If it is interrupted, or the disk is full, the old file stays as it was."""
        path = path_of(path, TrainingError)
        arrays = {quote_name(param.name): param.values for param in self.parameters}
        settings, more = self._extra_state()
        settings |= {"decay": self.weight_decay_lambda}
        return write(path, "model", settings, arrays | {f"more/{name}": array for name, array in more.items()})

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read weights of the same names and shapes. On an error nothing is changed."""
        self._restore(*read(path_of(path, TrainingError), "model", self._check_file))

    def _extra_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Extra settings and arrays that a subclass saves besides the parameters."""
        return {}, {}

    def _shapes(self) -> Shapes:
        return {param.name: param.shape for param in self.parameters}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Restore the weights and settings of a checked file."""
        loaded = np.concatenate([np.zeros(0), *(arrays[quote_name(param.name)].ravel() for param in self.parameters)])
        with defer_sigint():  # a Ctrl-C comes before or after
            self.held[...], self.weight_decay_lambda = loaded, settings["decay"]

    def _check_file(self, settings: dict[str, Any], shapes: Shapes) -> None:
        """Raise TrainingError unless a file's settings and shapes are those of this model."""
        if "decay" not in settings:
            raise TrainingError(f"The file has no settings of a model, such as its decay: {shortened(settings)}.")
        check_fraction(settings["decay"], "The file's decay")
        expected, shapes = self._shapes(), {unquote(name): shape for name, shape in shapes.items() if "/" not in name}
        if expected != shapes:
            differing = [
                f"{name!r} is {shapes.get(name)} there and {expected.get(name)} here"
                for name in sorted(expected.keys() | shapes.keys())
                if expected.get(name) != shapes.get(name)
            ]
            raise TrainingError(f"The file holds other parameters than this model: {'; '.join(differing)}")

    def __repr__(self) -> str:
        return f"<Model of {len(self.parameters)} parameters, {len(self.held):,} weights>"


# --- in expressions -------------------------------------------------------------


class ParameterLeaf(tensors.LeafNode):
    """A parameter, or some rows of a lookup table, as a leaf: reads current weights, passes gradients on to them."""

    def __init__(self, source: Parameter, rows: Any = None) -> None:
        part = source.values if rows is None else source.read(rows)
        self.source = source
        self.rows = rows
        super().__init__(tensors.LeafType.PARAMETER, part.shape, None, source.name if rows is None else None)
        self._value = part  # a view; only marks the leaf as having a value
        self.watch = source.watch if rows is None else Watch()

    @property
    def held(self) -> Any:
        """The current weights."""
        return self.source.values if self.rows is None else self.source.read(self.rows)

    def _hold(self, value: object) -> None:
        self.source.write(self.rows, self._to_leaf_array(value))

    @property
    def places(self) -> Any:
        """The positions of the entries in the model's flat arrays."""
        places = np.arange(self.source.start, self.source.end).reshape(self.source.shape)
        return places if self.rows is None else places[self.rows]

    def receive(self, gradient: Any) -> None:
        self.source.receive(gradient, self.rows)


def parameter(source: Parameter) -> ParameterLeaf:
    """Bring a parameter into a tensor expression.

    >>> from naive_graph.training.initialisers import const
    >>> from naive_graph.training import Model, SimpleSGDTrainer, parameter
    >>> model = Model()
    >>> w = model.add_parameters(2, init=const(1.0))
    >>> (parameter(w) * parameter(w)).sum().backward()
    >>> w.g.tolist()
    [2.0, 2.0]
    >>> SimpleSGDTrainer(model).update()
    >>> w.values.tolist()
    [0.8, 0.8]
    """
    if not isinstance(source, Parameter):
        raise TrainingError(f"parameter takes what model.add_parameters(...) gave, not {shortened(source)}.")
    return ParameterLeaf(source)


def lookup(source: LookupParameter, index: int | Sequence[int]) -> ParameterLeaf:
    """Bring one row of a table into a tensor expression, or several rows.

    >>> from naive_graph import Model
    >>> table = Model(seed=0).add_lookup_parameters((4, 2))
    >>> lookup(table, 3).shape, lookup(table, [1, 3, 3]).shape
    ((2,), (3, 2))
    """
    if not isinstance(source, LookupParameter):
        raise TrainingError(f"lookup takes what model.add_lookup_parameters(...) gave, not {shortened(source)}.")
    rows = np.asarray(index)
    if rows.dtype.kind not in "iu" or (rows.size and (rows.min() < 0 or rows.max() >= source.shape[0])):
        raise TrainingError(f"{source.label} has rows 0 to {source.shape[0] - 1}; {index!r} is none of them.")
    return ParameterLeaf(source, rows if rows.ndim else int(rows))
