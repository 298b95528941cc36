"""Parameters of a Model: named weight arrays with gradients, views of the model's flat arrays; and lookup tables."""

from __future__ import annotations

# Imported first: without NumPy it raises an error that names the extra to install.
from ..tensor.evaluation.arrays import as_array

# isort: split
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ..core.did_you_mean import Suggesting
from ..core.number import number
from ..errors import OperandError, ShapeError
from ..tensor.base import size_of
from ..tensor.versions import Watch


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

    def __init__(self, model: Any, start: int, shape: Sequence[int], name: str) -> None:
        self.model = model  # a Model, whose arrays hold all weights and all gradients
        self.start, self.end = start, start + size_of(shape)
        self.shape = tuple(shape)
        self.name = name
        self.watch = Watch()  # detects in-place writes to the weights
        self.updated = True  # False freezes the parameter: no update, no decay, no part in gradient clipping

    @property
    def values(self) -> Any:
        """The weights, as an array that may be written into: a view of this parameter's part of the model's."""
        return self.model.held[self.start : self.end].reshape(self.shape)

    @values.setter
    def values(self, values: Any) -> None:
        array = as_array(values, self.label)
        if tuple(array.shape) != self.shape:
            raise ShapeError(f"{self.label} has shape {self.shape}; it cannot hold shape {tuple(array.shape)}.")
        self.values[...] = array

    @property
    def g(self) -> Any:
        """The gradient that backward has added up since the last update."""
        return self.model.gradients[self.start : self.end].reshape(self.shape)

    @property
    def label(self) -> str:
        return f"{type(self).__name__} {self.name!r}"

    def receive(self, gradient: Any, rows: Any = None) -> None:
        """Accumulate a gradient into `g`, for some rows or for all (None)."""
        if rows is None:
            self.g[...] += np.asarray(gradient)
        else:
            np.add.at(self.g, rows, np.asarray(gradient))  # sums over repeated rows

    # --- the interface that trainers use (that of ScalarWeight, which says what `where` is) ---

    def select_part(self, sparse: bool) -> Any:
        return None

    def read(self, where: Any) -> Any:
        return self.values.copy() if where is None else self.values[where]

    def slope(self, where: Any) -> Any:
        return self.g.copy() if where is None else self.g[where]

    def write(self, where: Any, weights: Any) -> None:
        self.values[... if where is None else where] = weights

    def shrink(self, factor: float) -> None:
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
    """An embedding table: each sample uses a few of its rows. `non_zero_grads` are the rows that have a gradient.

    >>> from naive_graph import Model
    >>> from naive_graph.training import lookup
    >>> table = Model(seed=0).add_lookup_parameters((4, 2))
    >>> lookup(table, [1, 3]).sum().backward()
    >>> sorted(table.non_zero_grads)
    [1, 3]
    """

    __slots__ = ("non_zero_grads",)

    def __init__(self, model: Any, start: int, shape: Sequence[int], name: str) -> None:
        super().__init__(model, start, shape, name)
        self.non_zero_grads: set[int] = set()

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
