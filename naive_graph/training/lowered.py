"""A model's loss, unfolded into scalars and compiled: training at the lowest altitude.

    loss = LoweredLoss(mean_squared_error(y, network(x)), inputs=[x, y])
    for images, labels in batches:
        loss.backward(images, labels)       # the numbers of loss.tensor.backward()
        trainer.update()
    fit(trainer, loss, samples)             # the whole loop; a sample is (image, label)

Every element of every tensor is a node of the graph, and a Program over these
nodes runs them. It reads the weights in the model's own array, where they lie;
after a run the gradients are added to the model's. (Of a loss over several
models the weights are copied into one array first.)
"""

from __future__ import annotations

# First: it says which extra to install.
from ..tensor.base import TensorNode

# isort: split
import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import ShapeError, TrainingError
from ..program.program import Program
from ..program.update import called
from ..tensor.differentiate import ancestors
from ..tensor.lowering.lower import lower
from ..tensor.nodes import LeafNode, LeafType
from .model import ParameterLeaf
from .parameters import Parameter


class LoweredLoss:
    """The loss of a model as a compiled question.

    tensor: of one element. inputs: its leaves of kind input, in the order in
    which `backward` takes their arrays; a loss without inputs needs none.
    engine: as `Program` takes it. Raises TrainingError if the tensor is no loss
    of a model's parameters, and BudgetError if it is too large to be unfolded.

    >>> from naive_graph.training.initialisers import const
    >>> from naive_graph.training.model import Model, parameter
    >>> model = Model()
    >>> w = model.add_parameters(2, init=const(1.5))
    >>> loss = LoweredLoss((parameter(w) * parameter(w)).sum())
    >>> loss.backward(), w.g.tolist()
    (4.5, [3.0, 3.0])
    """

    def __init__(
        self,
        tensor: TensorNode,
        inputs: Iterable[LeafNode] = (),
        engine: str | None = None,
    ) -> None:
        self.tensor, self.parameters = tensor, _parameters(tensor)
        self.inputs = _inputs(tensor, inputs)
        (output,) = lower(tensor)
        lowered = [lower(leaf) for leaf in self.parameters]
        ends = np.cumsum([0, *map(len, lowered)]).tolist()
        self._parts = [slice(*each) for each in pairwise(ends)]
        self._whole = _neighbours(self.parameters)
        self._model = self.parameters[0].source.model
        self._tables = [leaf.source for leaf in self.parameters if type(leaf.source) is not Parameter]
        self._gathered = any(leaf.source.model is not self._model for leaf in self.parameters)
        self._array, places = self._model.held, np.concatenate([_places(leaf) for leaf in self.parameters])
        if self._gathered:
            self._array, places = np.empty(ends[-1]), np.arange(ends[-1])
        wrt = [node for each in lowered for node in each]
        taken = [list(lower(each)) for each in self.inputs]
        held = self._array, places
        self.program = Program(output, wrt, taken, engine=engine, weights=held)

    def forward(self, *arrays: Any) -> float:
        """The loss for these inputs and the present weights."""
        return self._ask(arrays)[0]

    def backward(self, *arrays: Any) -> float:
        """The loss; and every parameter's gradient is added to its own, as `tensor.backward()` does it."""
        value, gradient = self._ask(arrays)
        if self._whole is not None:
            self._model.gradients[self._whole] += gradient
        else:
            for leaf, part in zip(self.parameters, self._parts, strict=True):
                leaf.receive(gradient[part].reshape(leaf.shape))
        return value

    def __call__(self, samples: Sequence[Any]) -> Fed:
        """The loss of some samples, as `fit` asks for it: each sample is an array for each input, or one for one."""
        columns = zip(*samples) if len(self.inputs) > 1 else [samples]
        return Fed(self, [np.stack([np.asarray(each) for each in column]) for column in columns])

    def _ask(self, arrays: tuple[Any, ...]) -> tuple[float, Any]:
        if len(arrays) != len(self.inputs):
            raise TrainingError(self._wrong_number(len(arrays)))
        given = [_flat(leaf, array) for leaf, array in zip(self.inputs, arrays, strict=True)]
        self._settle()
        answer = self.program(*given)
        return float(answer.value), answer.gradient

    def _settle(self) -> None:
        """Have the present weights lie where the Program reads them."""
        for table in self._tables:
            table.settle()
        if self._gathered:
            for leaf, part in zip(self.parameters, self._parts, strict=True):
                self._array[part] = np.ravel(leaf.value)
        elif self._model.held is not self._array:  # more parameters were added
            self._array = self._model.held
            self.program.hold(self._array)

    def _wrong_number(self, count: int) -> str:
        if not self.inputs:
            return f"This loss has no inputs, and was given {count} arrays. Write loss.backward()."
        each = ", ".join(leaf.label for leaf in self.inputs)
        names = ", ".join(leaf.name or f"array{place + 1}" for place, leaf in enumerate(self.inputs))
        return (
            f"This loss takes {len(self.inputs)} arrays, one for each input: {each}. It was given {count}: "
            f"loss.backward({names})."
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise TrainingError(
            "A LoweredLoss cannot be copied with its model: its tensor has the parameters of this model. "
            "Copy the model, and write the loss of the copy: LoweredLoss(loss)."
        )

    def __reduce__(self) -> NoReturn:
        raise TrainingError(
            "A LoweredLoss cannot be pickled: it is compiled for this process's graph. "
            "Save the model instead, and write its loss again."
        )

    def __copy__(self) -> LoweredLoss:
        return self  # as its tensor

    def __repr__(self) -> str:
        return f"<LoweredLoss of {len(self.parameters)} parameters and {len(self.inputs)} inputs>"


class Fed(NamedTuple):
    """A LoweredLoss and what it is fed with."""

    loss: LoweredLoss
    arrays: list[Any]

    def backward(self) -> float:
        return self.loss.backward(*self.arrays)


def _parameters(tensor: Any) -> list[ParameterLeaf]:
    if not isinstance(tensor, TensorNode) or tensor.size != 1:
        what = f"shape {tensor.shape}" if isinstance(tensor, TensorNode) else repr(tensor)
        raise TrainingError(f"A loss is a tensor of one element, not {what}. Sum it up or take its mean.")
    found = [node for node in ancestors([tensor]) if isinstance(node, ParameterLeaf)]
    if not found:
        raise TrainingError("This loss depends on no parameter of a model. Bring one in with parameter(p).")
    return sorted(found, key=lambda leaf: leaf.source.start)


def _neighbours(leaves: list[ParameterLeaf]) -> slice | None:
    """Where the parameters lie in their model's arrays, if they lie there one after the other; None if not."""
    starts, ends = [leaf.source.start for leaf in leaves], [leaf.source.end for leaf in leaves]
    plain = all(type(leaf.source) is Parameter and leaf.source.model is leaves[0].source.model for leaf in leaves)
    return slice(starts[0], ends[-1]) if plain and starts[1:] == ends[:-1] else None


def _places(leaf: ParameterLeaf) -> Any:
    """Where the leaf's elements lie in its model's arrays."""
    source = leaf.source
    places = np.arange(source.start, source.end).reshape(source.shape)
    return np.ravel(places if leaf.rows is None else places[leaf.rows])


def _inputs(tensor: TensorNode, given: Any) -> list[LeafNode]:
    """The inputs of the loss, all of them, in the order in which they were named."""
    if isinstance(given, TensorNode) or not isinstance(given, Iterable):
        raise TrainingError(f"inputs= takes a list of the loss's inputs, not {_called(given)}. Write inputs=[x].")
    inputs = list(given)
    needed = [node for node in ancestors([tensor]) if isinstance(node, LeafNode) and node.leaf_type == LeafType.INPUT]
    for place, each in enumerate(inputs):
        if not any(each is node for node in needed):
            raise TrainingError(f"{_called(each)} is no input of this loss.{_repair(each)}")
        if any(each is earlier for earlier in inputs[:place]):
            raise TrainingError(f"{each.label} stands twice among the inputs. Name it once.")
    for leaf in needed:
        if not any(leaf is each for each in inputs):
            raise TrainingError(f"{leaf.label} is an input of this loss. Name it: LoweredLoss(loss, inputs=[...]).")
    return inputs


def _called(thing: Any) -> str:
    if isinstance(thing, TensorNode):
        return thing.label
    return f"a {type(thing).__name__}" if isinstance(thing, (dict, list, tuple)) else called(thing)


def _repair(thing: Any) -> str:
    if hasattr(thing, "shape") and not isinstance(thing, TensorNode):
        return " Arrays come with every call: loss.backward(array)."
    return "" if isinstance(thing, TensorNode) else " Inputs are made with x = LeafNode.input(shape)."


def _flat(leaf: LeafNode, array: Any) -> Any:
    """The array's elements, row by row."""
    if type(array) is np.ndarray and array.dtype == np.float64 and array.shape == leaf.shape:
        return array.reshape(-1)
    try:
        numbers = np.asarray(array)
    except ValueError as error:
        raise ShapeError(f"{leaf.label} takes an array of shape {leaf.shape}, not rows of unlike lengths.") from error
    if numbers.dtype.kind not in "fiu":
        what = f"of kind {numbers.dtype}" if numbers.ndim else _called(array)
        raise TrainingError(f"{leaf.label} takes an array of numbers, not {what}. Try array.astype(float).")
    if numbers.shape != leaf.shape:
        raise ShapeError(
            f"{leaf.label} has shape {leaf.shape}; it cannot take an array of shape {numbers.shape}."
            + _reshaped(leaf.shape, numbers)
        )
    return numbers.reshape(-1)


def _reshaped(shape: tuple[int, ...], numbers: Any) -> str:
    """How the array could be made to fit."""
    if numbers.size == math.prod(shape):
        return f" Give it array.reshape({', '.join(map(str, shape))})."
    if numbers.ndim == len(shape) and numbers.shape[1:] == shape[1:]:
        return f" A loss is compiled for one number of samples: {shape[0]} here, not {len(numbers)}. Make one for each."
    return ""
