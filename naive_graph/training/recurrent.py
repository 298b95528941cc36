"""Recurrent layers step by step (as DyNet's builders): a state takes an input and returns the next state.

They are the operators rnn, gru and lstm of `naive_graph.tensor` over sequences of one step, with parameters of a Model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..core.did_you_mean import Suggesting
from ..core.number import whole
from ..errors import ShapeError, TrainingError
from ..tensor.base import TensorNode
from ..tensor.nodes import LeafNode
from ..tensor.operators.recurrent import gru, lstm, rnn
from .initialisers import const
from .model import Model, parameter


class RNNBuilder(Suggesting):
    """The weights of recurrent layers, one on the other: `SimpleRNNBuilder`, `GRUBuilder`, `LSTMBuilder`.

    model: the Model that keeps the weights. inputs: the size of an input. hidden: the size of a state.

    >>> from naive_graph import Model
    >>> from naive_graph.training import LSTMBuilder
    >>> state = LSTMBuilder(Model(seed=1), inputs=3, hidden=2).initial_state()
    >>> state = state.add_input([1.0, 2.0, 3.0]).add_input([0.5, 0.0, 1.0])
    >>> state.output().shape
    (2,)
    """

    _owner = "builder"
    gates: ClassVar[int]  # how many blocks of `hidden` rows the weights have
    states: ClassVar[int] = 1  # h; an LSTM has c, too
    cell: ClassVar[Callable[..., Any]]  # the operator: rnn, gru or lstm

    def __init__(self, model: Model, inputs: int, hidden: int, layers: int = 1, name: str = "rnn") -> None:
        if not isinstance(model, Model):
            raise TrainingError(f"A builder keeps its weights in a Model: {type(self).__name__}(model, 3, 2).")
        self.hidden, self.layers = whole(hidden, "hidden", 1), whole(layers, "layers", 1)
        self.inputs, rows = whole(inputs, "inputs", 1), self.gates * self.hidden
        self.weights = [
            (
                model.add_parameters((1, rows, self.hidden if layer else self.inputs), name=f"{name}.{layer}.w"),
                model.add_parameters((1, rows, self.hidden), name=f"{name}.{layer}.r"),
                model.add_parameters((1, 2 * rows), init=const(0.0), name=f"{name}.{layer}.b"),
            )
            for layer in range(self.layers)
        ]

    def initial_state(self) -> RNNState:
        """The state before the first input: zeros. It reads the present weights."""
        zeros = LeafNode.constant([[[0.0] * self.hidden]])
        leaves = [tuple(map(parameter, weights)) for weights in self.weights]
        return RNNState(self, leaves, [(zeros,) * self.states] * self.layers)

    def transduce(self, inputs: Iterable[Any]) -> list[TensorNode]:
        """The output after each of the inputs, from the initial state on."""
        state, outputs = self.initial_state(), []
        for x in inputs:
            state = state.add_input(x)
            outputs.append(state.output())
        return outputs


@dataclass(frozen=True)
class RNNState(Suggesting):
    """The state of recurrent layers after some inputs; immutable: `add_input` returns the next state."""

    builder: RNNBuilder
    leaves: list[tuple[Any, ...]]
    memory: list[tuple[TensorNode, ...]]  # of each layer h, and c of an LSTM: (1, 1, hidden)
    _owner: ClassVar[str] = "builder"

    def add_input(self, x: Any) -> RNNState:
        """The state after one more input. x: a tensor or list of `inputs` numbers."""
        x = x if isinstance(x, TensorNode) else LeafNode.constant(x)
        if x.shape != (self.builder.inputs,):
            raise ShapeError(f"add_input takes {self.builder.inputs} numbers, not shape {x.shape}.")
        layer_input, memory = x.reshape((1, 1, x.size)), []
        for (w, r, b), state in zip(self.leaves, self.memory):
            _, *after = self.builder.cell(layer_input, w, r, b, *state)
            memory.append(tuple(after))
            layer_input = after[0]
        return RNNState(self.builder, self.leaves, memory)

    def output(self) -> TensorNode:
        """The upper layer's h, of shape (hidden,)."""
        return self.memory[-1][0].reshape((self.builder.hidden,))


class SimpleRNNBuilder(RNNBuilder):
    """h <- tanh(w x + r h + b), as `naive_graph.tensor.rnn`."""

    gates, cell = 1, staticmethod(rnn)


class GRUBuilder(RNNBuilder):
    """Gated recurrent unit, as `naive_graph.tensor.gru`."""

    gates, cell = 3, staticmethod(gru)


class LSTMBuilder(RNNBuilder):
    """Long short-term memory, as `naive_graph.tensor.lstm`."""

    gates, states, cell = 4, 2, staticmethod(lstm)
