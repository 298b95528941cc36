"""Parameters: the weights of a model, in pieces of one shape, each with its gradient."""

from __future__ import annotations

# First: it says which extra to install.
from ..tensor.evaluation.arrays import as_array

# isort: split
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from ..core.guesses import Suggesting
from ..core.number import number
from ..errors import OperandError, ShapeError
from ..tensor.base import size_of
from ..tensor.versions import Watch

SMALLEST_FACTOR = 0.25  # of a table that decays lazily


class Owner(Protocol):
    """The owner of parameters, such as a `Model`: all weights, and all gradients, in one array each."""

    held: Any
    gradients: Any


class Parameter(Suggesting):
    """Some weights of a model, of one shape. `values` and `g` are views of the model's arrays.

    >>> from naive_graph.training import Model, parameter
    >>> p = Model().add_parameters(2, name="p")
    >>> p.values = [1.0, 2.0]
    >>> (parameter(p) ** 2).sum().backward()
    >>> p.values.tolist(), p.g.tolist()
    ([1.0, 2.0], [2.0, 4.0])
    """

    __slots__ = ("end", "model", "name", "shape", "start", "updated", "watch")
    _owner = "parameter"
    in_expressions = "Bring a Parameter into the expression first: parameter(p), of naive_graph.training"
    factor = 1.0  # by what the weights are to be multiplied that are held; only a table has another

    def __init__(self, model: Owner, start: int, shape: Sequence[int], name: str) -> None:
        self.model = model
        self.start, self.end = start, start + size_of(shape)
        self.shape = tuple(shape)
        self.name = name
        self.watch = Watch()  # of all its weights, which may be written in place
        self.updated = True  # a parameter that is not stays as it is: no update, no decay, no part in clipping

    @property
    def values(self) -> Any:
        """The weights, as an array that may be written into."""
        self.settle()
        return self.held

    @values.setter
    def values(self, values: Any) -> None:
        array = as_array(values, self.label)
        if tuple(array.shape) != self.shape:
            raise ShapeError(f"{self.label} has shape {self.shape}; it cannot hold shape {tuple(array.shape)}.")
        self.values[...] = array

    @property
    def held(self) -> Any:
        """This parameter's part of the model's array."""
        return self.model.held[self.start : self.end].reshape(self.shape)

    def settle(self) -> None:
        """Multiply the held weights by the factor that is due: a table that decays lazily puts that off."""

    @property
    def g(self) -> Any:
        """The gradient that backward has added up since the last update."""
        return self.model.gradients[self.start : self.end].reshape(self.shape)

    @property
    def label(self) -> str:
        return f"{type(self).__name__} {self.name!r}"

    def receive(self, gradient: Any, rows: Any = None) -> None:
        """Add a gradient, for some rows or for all."""
        if rows is None:
            self.g[...] += np.asarray(gradient)
        else:
            np.add.at(self.g, rows, np.asarray(gradient))  # a row that stands twice gets both

    # --- what a trainer asks (see scalars.Movable) ---

    def select_part(self, sparse: bool) -> Any:
        return None

    def read(self, where: Any) -> Any:
        return self.values.copy() if where is None else self.values[where]

    def slope(self, where: Any) -> Any:
        return self.g.copy() if where is None else self.g[where]

    def write(self, where: Any, weights: Any) -> None:
        self.values[... if where is None else where] = weights

    def shrink(self, factor: float, lazily: bool) -> None:
        self.values[...] *= factor

    def clear_gradient(self) -> None:
        self.g[...] = 0.0

    def scale_gradient(self, factor: float) -> None:
        """Multiply the gradient by a factor."""
        self.g[...] *= number(factor, "scale_gradient's factor")

    def zeros(self) -> Any:
        return np.zeros(self.shape)

    def __repr__(self) -> str:
        return f"<{self.label} {self.shape}>"

    def _refuse_operation(self, *others: object) -> NoReturn:
        raise OperandError(f"{self.in_expressions}. For the numbers that it holds write p.values.")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse_operation
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __neg__ = __abs__ = __getitem__ = __float__ = _refuse_operation
    __gt__ = __lt__ = __ge__ = __le__ = _refuse_operation
    __array_ufunc__ = None


class LookupParameter(Parameter):
    """A table of rows, of which each sample uses a few. `non_zero_grads` are the rows that have a gradient.

    A table that decays lazily holds its weights divided by a factor, until
    somebody asks for all of them.

    >>> from naive_graph import Model
    >>> from naive_graph.training import lookup
    >>> table = Model(seed=0).add_lookup_parameters((4, 2))
    >>> lookup(table, [1, 3]).sum().backward()
    >>> sorted(table.non_zero_grads)
    [1, 3]
    """

    __slots__ = ("factor", "non_zero_grads")

    def __init__(self, model: Owner, start: int, shape: Sequence[int], name: str) -> None:
        super().__init__(model, start, shape, name)
        self.non_zero_grads: set[int] = set()
        self.factor = 1.0

    def settle(self) -> None:
        if self.factor != 1.0:
            weights = self.held * self.factor
            self.held[...], self.factor = weights, 1.0

    def read(self, where: Any) -> Any:
        if where is None or self.factor == 1.0:
            return super().read(where)
        return self.held[where] * self.factor

    def write(self, where: Any, weights: Any) -> None:
        if where is None:
            super().write(None, weights)
        else:
            self.held[where] = weights / self.factor

    def shrink(self, factor: float, lazily: bool) -> None:
        if not lazily:
            super().shrink(factor, lazily)
        else:
            self.factor *= factor
            if self.factor < SMALLEST_FACTOR:
                self.settle()  # before the held weights grow too large

    def receive(self, gradient: Any, rows: Any = None) -> None:
        super().receive(gradient, rows)
        self.non_zero_grads.update(range(self.shape[0]) if rows is None else np.ravel(rows).tolist())

    def select_part(self, sparse: bool) -> Any:
        if not sparse:
            return None
        return np.array(sorted(self.non_zero_grads)) if self.non_zero_grads else False

    def clear_gradient(self) -> None:
        super().clear_gradient()
        self.non_zero_grads.clear()
