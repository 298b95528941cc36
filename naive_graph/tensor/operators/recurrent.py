"""Recurrent layers, step by step: rnn, gru, lstm, with the arrangement of weights that ONNX has.

x: (T, N, I), time first (batch first: (N, T, I)). Weights are stacked by
direction D (1, or 2 for "bidirectional") and gate: w (D, G H, I), r (D, G H, H),
b (D, 2 G H), that of w before that of r. Gates: gru z, r, h; lstm i, o, f, c.
Results: all states (T, D, N, H), and the last one of each direction (D, N, H).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np

from ...core import catalogue
from ...errors import ShapeError
from .. import arithmetic, picks
from ..base import TensorNode
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType
from .elementwise import hard_sigmoid, softsign
from .joins import stack
from .mapping import Attribute, Input, Onnx, truth
from .moves import Extents
from .properties import Kind, Maybe, MaybeWholes, Tensor, one_of
from .row import example
from .table import tensor_operator

ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "Relu": catalogue.relu, "Tanh": catalogue.tanh, "Sigmoid": catalogue.sigmoid, "Softplus": catalogue.softplus,
    "Elu": catalogue.elu, "LeakyRelu": catalogue.leaky_relu, "Softsign": softsign.function,
    "HardSigmoid": hard_sigmoid.function,
}  # fmt: skip


def _activations(value: Any) -> tuple[str, ...] | None:
    found = value if value is None else (value,) if isinstance(value, str) else tuple(value)
    if found is not None and not set(found) <= ACTIVATIONS.keys():
        raise ValueError
    return found


Direction = Annotated[str, one_of("forward", "reverse", "bidirectional")]
Functions = Annotated[Any, Kind(f"a list of {', '.join(ACTIVATIONS)}, or None", _activations)]
OF_ONNX: dict[str, Any] = {
    "operands": [0, 1, 2, 3, 5],
    "lengths": Input(4, None),
    "direction": Attribute("direction", "forward"),
    "activations": Attribute("activations", None),
    "batch_first": Attribute("layout", 0, truth, since=14),
    "harmless": ("hidden_size", "output_sequence"),
    "refused": {"activation_alpha": None, "activation_beta": None, "clip": None},
}


class Layout:
    """The extents of a recurrent layer. Raises ShapeError where they do not fit together."""

    def __init__(
        self, gates: int, x: Extents, w: Extents, r: Extents, b: Any, states: Sequence[Any],
        *, direction: str, lengths: Any, batch_first: bool, activations: Any = None, functions: int = 0,
    ) -> None:  # fmt: skip
        if len(x) != 3:
            raise ShapeError(f"x has shape {x}. It takes sequences: (time, batch, features).")
        self.time, self.batch, features = (x[1], x[0], x[2]) if batch_first else x
        self.ways = 2 if direction == "bidirectional" else 1
        self.hidden = r[-1] if r else 1
        stacked = gates * self.hidden
        due: dict[str, Any] = {"w": (w, (self.ways, stacked, features)), "r": (r, (self.ways, stacked, self.hidden))}
        due["b"] = (b, (self.ways, 2 * stacked))
        due |= {f"initial state {at}": (each, (self.ways, self.batch, self.hidden)) for at, each in enumerate(states)}
        for name, (shape, fits) in due.items():
            if shape is not None and shape != fits:
                raise ShapeError(f"{name} of shape {shape} must be {fits}, for {gates} gates of {self.hidden} states.")
        if lengths is not None and (len(lengths) != self.batch or not 0 <= min(lengths) <= max(lengths) <= self.time):
            raise ShapeError(f"lengths={list(lengths)} needs a number up to {self.time} for each of {self.batch}.")
        if activations is not None and len(activations) != functions * self.ways:
            raise ShapeError(f"activations={list(activations)} needs {functions} for each of {self.ways} directions.")

    def results(self, batch_first: bool, states: int = 1) -> list[Extents]:
        whole = (self.time, self.ways, self.batch, self.hidden)
        last = (self.ways, self.batch, self.hidden)
        if batch_first:
            whole, last = (self.batch, self.time, self.ways, self.hidden), (self.batch, self.ways, self.hidden)
        return [whole, *[last] * states]


State = tuple[TensorNode, ...]


def _run(
    x: TensorNode, w: TensorNode, r: TensorNode, b: Any, states: Sequence[Any], *, direction: str, lengths: Any,
    batch_first: bool, cell: Callable[[int, TensorNode, State, TensorNode, Any], State],
) -> list[TensorNode]:  # fmt: skip
    """All states, and the last of each kind, of a cell that steps along time in each direction."""
    x = arithmetic.transpose(x, 1, 0, 2) if batch_first else x
    ways = ["forward", "reverse"] if direction == "bidirectional" else [direction]
    through: list[list[TensorNode]] = []
    last: list[State] = []
    for way, turn in enumerate(ways):
        weights, recurrent = picks.entry(w, 0, way), picks.entry(r, 0, way)
        biases = None if b is None else picks.entry(b, 0, way)
        fed = LinearNode(OpType.mul, (1, 2, 3), (1, 2, -4), (3, -4), x, weights)  # for all steps at once
        first = LeafNode.constant(np.zeros((x.shape[1], recurrent.shape[-1])))
        state: State = tuple(first if each is None else picks.entry(each, 0, way) for each in states)
        seen: dict[int, TensorNode] = {}
        for at in range(x.shape[0]) if turn == "forward" else reversed(range(x.shape[0])):
            after = cell(way, picks.entry(fed, 0, at), state, recurrent, biases)
            seen[at], state = _kept(after, state, at, lengths)
        through.append([seen[at] for at in range(x.shape[0])])
        last.append(state)
    whole = stack.function([stack.function(each, 0) for each in through], 1)
    ends = [stack.function([state[kind] for state in last], 0) for kind in range(len(states))]
    if batch_first:
        return [arithmetic.transpose(whole, 2, 0, 1, 3), *(arithmetic.transpose(each, 1, 0, 2) for each in ends)]
    return [whole, *ends]


def _kept(after: State, before: State, at: int, lengths: Any) -> tuple[TensorNode, State]:
    """What is seen at a step, and the state: a sequence that is over gives 0, and keeps its state."""
    if lengths is None or min(lengths) > at:
        return after[0], after
    goes_on = LeafNode.constant(np.repeat(np.array(lengths)[:, None] > at, after[0].shape[1], 1).astype(float))
    chosen = tuple(NonlinearNode(catalogue.where, goes_on, new, old) for new, old in zip(after, before))
    return NonlinearNode(lambda c, y: catalogue.where(c, y, 0.0), goes_on, after[0]), chosen


def _times(h: TensorNode, recurrent: TensorNode) -> TensorNode:
    """h (N, H) times r (G H, H)."""
    return LinearNode(OpType.mul, (1, 2), (1, -3), (2, -3), h, recurrent)


def _part(node: TensorNode, gate: int, size: int, count: int = 1) -> TensorNode:
    """The entries of one gate, or of several, along the last axis."""
    return picks.pick(node, node.rank - 1, (count * size,), (1,), gate * size)


def _with(node: TensorNode, bias: Any) -> TensorNode:
    return node if bias is None else LinearNode(OpType.add, (1, 2), (1, 2), (2,), node, bias)


def _both(biases: Any, gates: int, size: int) -> tuple[Any, Any]:
    """The biases of w and of r."""
    return (None, None) if biases is None else (_part(biases, 0, size, gates), _part(biases, gates, size, gates))


def _functions(activations: Any, default: Sequence[str], way: int) -> list[Callable[..., Any]]:
    names = default if activations is None else activations[way * len(default) :][: len(default)]
    return [ACTIVATIONS[each] for each in names]


# --- rnn ----------------------------------------------------------------------


def _rnn_shape(
    x: Extents, w: Extents, r: Extents, b: Any, initial_h: Any, *, direction: str, lengths: Any, batch_first: bool,
    activations: Any,
) -> list[Extents]:  # fmt: skip
    initial_h = _turned(initial_h, batch_first)
    layout = Layout(
        1,
        x,
        w,
        r,
        b,
        [initial_h],
        direction=direction,
        lengths=lengths,
        batch_first=batch_first,
        activations=activations,
        functions=1,
    )
    return layout.results(batch_first)


def _turned(state: Any, batch_first: bool) -> Any:
    return (state[1], state[0], *state[2:]) if batch_first and state is not None else state


def _states(states: Sequence[Any], batch_first: bool) -> list[Any]:
    return [arithmetic.transpose(each, 1, 0, 2) if batch_first and each is not None else each for each in states]


@tensor_operator(
    shape=_rnn_shape,
    examples=[
        example((2, 1, 2), (1, 2, 2), (1, 2, 2), (1, 4)),
        example((3, 2, 1), (2, 2, 1), (2, 2, 2), direction="bidirectional"),
        example((3, 2, 1), (1, 1, 1), (1, 1, 1), lengths=[3, 1], direction="reverse"),
    ],
    onnx=Onnx("RNN", **OF_ONNX),
)  # fmt: skip
def rnn(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Maybe = None,
    initial_h: Maybe = None,
    *,
    direction: Direction = "forward",
    lengths: MaybeWholes = None,
    batch_first: bool = False,
    activations: Functions = None,
) -> Any:
    """h <- tanh(w x + r h + b). Source: Elman, 1990."""
    size = r.shape[-1]

    def cell(way: int, fed: TensorNode, state: State, recurrent: TensorNode, biases: Any) -> State:
        (f,) = _functions(activations, ("Tanh",), way)
        of_w, of_r = _both(biases, 1, size)
        total = _with(_with(fed, of_w), of_r) + _times(state[0], recurrent)
        return (NonlinearNode(f, total),)

    return _run(
        x,
        w,
        r,
        b,
        _states([initial_h], batch_first),
        direction=direction,
        lengths=lengths,
        batch_first=batch_first,
        cell=cell,
    )


# --- gru ----------------------------------------------------------------------


def _gru_shape(
    x: Extents, w: Extents, r: Extents, b: Any, initial_h: Any, *, direction: str, lengths: Any, batch_first: bool,
    activations: Any,
) -> list[Extents]:  # fmt: skip
    initial_h = _turned(initial_h, batch_first)
    layout = Layout(
        3,
        x,
        w,
        r,
        b,
        [initial_h],
        direction=direction,
        lengths=lengths,
        batch_first=batch_first,
        activations=activations,
        functions=2,
    )
    return layout.results(batch_first)


@tensor_operator(
    shape=_gru_shape,
    examples=[
        example((2, 1, 2), (1, 3, 2), (1, 3, 1), (1, 6), linear_before_reset=True),
        example((2, 2, 1), (1, 6, 1), (1, 6, 2), None, (1, 2, 2)),
    ],
    onnx=Onnx("GRU", **OF_ONNX, linear_before_reset=Attribute("linear_before_reset", 0, truth)),
)  # fmt: skip
def gru(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Maybe = None,
    initial_h: Maybe = None,
    *,
    direction: Direction = "forward",
    lengths: MaybeWholes = None,
    batch_first: bool = False,
    activations: Functions = None,
    linear_before_reset: bool = False,
) -> Any:
    """h <- (1 - z) * c + z * h, where z keeps and the candidate c sees h through a reset. Source: Cho et al., 2014.

    linear_before_reset: the reset multiplies r h + b, not h.
    """
    size = r.shape[-1]

    def cell(way: int, fed: TensorNode, state: State, recurrent: TensorNode, biases: Any) -> State:
        f, g = _functions(activations, ("Sigmoid", "Tanh"), way)
        h, (of_w, of_r) = state[0], _both(biases, 3, size)
        fed = _with(fed, of_w)
        gates, candidates = _rows(recurrent, 0, 2 * size), _rows(recurrent, 2 * size, size)
        of_gates, of_candidate = (None, None) if of_r is None else (_part(of_r, 0, size, 2), _part(of_r, 2, size))
        zr = NonlinearNode(f, _part(fed, 0, size, 2) + _with(_times(h, gates), of_gates))
        z, reset = _part(zr, 0, size), _part(zr, 1, size)
        if linear_before_reset:
            seen = reset * _with(_times(h, candidates), of_candidate)
        else:
            seen = _with(_times(reset * h, candidates), of_candidate)
        c = NonlinearNode(g, _part(fed, 2, size) + seen)
        return (NonlinearNode(lambda z, c, h: (1.0 - z) * c + z * h, z, c, h),)

    return _run(
        x,
        w,
        r,
        b,
        _states([initial_h], batch_first),
        direction=direction,
        lengths=lengths,
        batch_first=batch_first,
        cell=cell,
    )


def _rows(recurrent: TensorNode, first: int, count: int) -> TensorNode:
    return picks.pick(recurrent, 0, (count,), (1,), first)


# --- lstm ---------------------------------------------------------------------


def _lstm_shape(
    x: Extents, w: Extents, r: Extents, b: Any, initial_h: Any, initial_c: Any, p: Any, *, direction: str, lengths: Any,
    batch_first: bool, activations: Any,
) -> list[Extents]:  # fmt: skip
    states = [_turned(each, batch_first) for each in (initial_h, initial_c)]
    layout = Layout(
        4,
        x,
        w,
        r,
        b,
        states,
        direction=direction,
        lengths=lengths,
        batch_first=batch_first,
        activations=activations,
        functions=3,
    )
    if p is not None and p != (layout.ways, 3 * layout.hidden):
        raise ShapeError(f"p of shape {p} must be {(layout.ways, 3 * layout.hidden)}: a peephole for i, o and f.")
    return layout.results(batch_first, 2)


@tensor_operator(
    shape=_lstm_shape,
    examples=[
        example((2, 1, 2), (1, 4, 2), (1, 4, 1), (1, 8)),
        example((2, 2, 1), (1, 4, 1), (1, 4, 1), None, (1, 2, 1), (1, 2, 1), (1, 3), lengths=[1, 2]),
    ],
    onnx=Onnx("LSTM", **OF_ONNX | {"operands": [0, 1, 2, 3, 5, 6, 7]},
              input_forget=Attribute("input_forget", 0, truth)),
)  # fmt: skip
def lstm(
    x: Tensor,
    w: Tensor,
    r: Tensor,
    b: Maybe = None,
    initial_h: Maybe = None,
    initial_c: Maybe = None,
    p: Maybe = None,
    *,
    direction: Direction = "forward",
    lengths: MaybeWholes = None,
    batch_first: bool = False,
    activations: Functions = None,
    input_forget: bool = False,
) -> Any:
    """c <- f * c + i * g, h <- o * tanh(c): gates forget, let in and let out. Source: Hochreiter & Schmidhuber, 1997.

    p: peepholes, through which the gates i, o and f see c. input_forget: f is 1 - i.
    """
    size = r.shape[-1]

    def cell(way: int, fed: TensorNode, state: State, recurrent: TensorNode, biases: Any) -> State:
        f, g, last = _functions(activations, ("Sigmoid", "Tanh", "Tanh"), way)
        (h, c), (of_w, of_r) = state, _both(biases, 4, size)
        total = _with(_with(fed, of_w), of_r) + _times(h, recurrent)
        i, o, forget, new = (_part(total, gate, size) for gate in range(4))
        peep = [None] * 3 if p is None else [_part(picks.entry(p, 0, way), gate, size) for gate in range(3)]
        i = NonlinearNode(f, _peeped(i, peep[0], c))
        kept = NonlinearNode(lambda a: 1.0 - a, i) if input_forget else NonlinearNode(f, _peeped(forget, peep[2], c))
        c = NonlinearNode(lambda k, c, i, n: k * c + i * g(n), kept, c, i, new)
        o = _peeped(o, peep[1], c)
        return NonlinearNode(lambda o, c: f(o) * last(c), o, c), c

    return _run(
        x,
        w,
        r,
        b,
        _states([initial_h, initial_c], batch_first),
        direction=direction,
        lengths=lengths,
        batch_first=batch_first,
        cell=cell,
    )


def _peeped(gate: TensorNode, peephole: Any, c: TensorNode) -> TensorNode:
    if peephole is None:
        return gate
    total: TensorNode = gate + LinearNode(OpType.mul, (1, 2), (1, 2), (2,), c, peephole)
    return total
