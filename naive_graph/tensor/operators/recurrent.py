"""Recurrent layers rnn, gru and lstm, with ONNX's weight layout.

T: steps. N: sequences of a batch. I: features of an input. H: numbers of a state. G: gates. D: directions, 1 or 2.

x: (T, N, I), time first (batch first: (N, T, I)). Weights are stacked by
direction and gate: w (D, G H, I) multiplies the input, r (D, G H, H) the state;
b (D, 2 G H) holds the biases of w, then those of r. Gates: gru z, r, h; lstm i, o, f, c.
Results: all states (T, D, N, H), and the last one of each direction (D, N, H).
"""

from __future__ import annotations

from typing import Annotated, Any

from ..arithmetic import apply_along_axis
from ..base import TensorNode
from ..nodes import NonlinearNode, OpType
from .examples import example
from .families import map_entries
from .mapping import Attribute, Input, Onnx, to_bool
from .properties import Kind, Maybe, MaybeWholes, Tensor, one_of
from .recurrence import (
    ACTIVATIONS,
    Functions,
    State,
    gate_slice,
    parse_activations,
    project_state,
    scan_directions,
    with_bias,
)
from .table import tensor_operator

Direction = Annotated[str, one_of("forward", "reverse", "bidirectional")]
Activations = Annotated[Any, Kind(f"a list of {', '.join(ACTIVATIONS)}, or None", parse_activations)]
OF_ONNX: dict[str, Any] = {
    "operands": [0, 1, 2, 3, 5],
    "lengths": Input(4, None),
    "direction": Attribute("direction", "forward"),
    "activations": Attribute("activations", None),
    "batch_first": Attribute("layout", 0, to_bool, since=14),
    "harmless": ("hidden_size", "output_sequence"),
    "required_values": {"activation_alpha": None, "activation_beta": None, "clip": None},
}


# --- rnn ----------------------------------------------------------------------


@tensor_operator(
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
    activations: Activations = None,
) -> Any:
    """h <- tanh(w x + r h + b). Source: Elman, 1990.

    x: (T, N, I): T steps of N sequences of I features; with batch_first
    (N, T, I). For D directions (2 if "bidirectional", else 1) and H states,
    w: (D, H, I), r: (D, H, H), b: (D, 2 H), the bias of w before that of r,
    initial_h: (D, N, H), without it 0. lengths: the steps of each sequence.
    Results: h after each step, (T, D, N, H), and after the last, (D, N, H).

    >>> from naive_graph.tensor import rnn
    >>> each, last = rnn([[[1.0]], [[2.0]]], [[[1.0]]], [[[1.0]]])
    >>> each.eval().shape, each.eval().ravel().round(4).tolist(), last.eval().round(4).tolist()
    ((2, 1, 1, 1), [0.7616, 0.992], [[[0.992]]])
    """

    def cell(functions: Functions, projected: TensorNode, state: State, recurrent: TensorNode) -> State:
        return (NonlinearNode(functions[0], projected + project_state(state[0], recurrent)),)

    return scan_directions(
        x, w, r, b, [initial_h], gates=1, default_activations=["Tanh"], activations=activations,
        direction=direction, lengths=lengths, batch_first=batch_first, cell=cell,
    )  # fmt: skip


# --- gru ----------------------------------------------------------------------


@tensor_operator(
    examples=[
        example((2, 1, 2), (1, 3, 2), (1, 3, 1), (1, 6), linear_before_reset=True),
        example((2, 2, 1), (1, 6, 1), (1, 6, 2), None, (1, 2, 2)),
    ],
    onnx=Onnx("GRU", **OF_ONNX, linear_before_reset=Attribute("linear_before_reset", 0, to_bool)),
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
    activations: Activations = None,
    linear_before_reset: bool = False,
) -> Any:
    """h <- (1 - z) * c + z * h, where z keeps and the candidate c sees h through a reset. Source: Cho et al., 2014.

    x: (T, N, I): T steps of N sequences of I features; with batch_first
    (N, T, I). For D directions (2 if "bidirectional", else 1) and H states,
    w: (D, 3 H, I), r: (D, 3 H, H), b: (D, 6 H), that of w before that of r,
    initial_h: (D, N, H), without it 0. Of 3 H, the first H are the gate z, then
    the reset, then the candidate: the order of ONNX. lengths: the steps of each
    sequence. linear_before_reset: the reset multiplies r h + b, not h.
    Results: h after each step, (T, D, N, H), and after the last, (D, N, H).

    >>> from naive_graph.tensor import gru
    >>> each, last = gru([[[1.0]], [[2.0]]], [[[1.0], [1.0], [1.0]]], [[[1.0], [1.0], [1.0]]])
    >>> each.eval().shape, each.eval().ravel().round(4).tolist(), last.eval().round(4).tolist()
    ((2, 1, 1, 1), [0.2048, 0.2813], [[[0.2813]]])
    """

    def cell(
        functions: Functions, projected: TensorNode, state: State, recurrent: TensorNode, r_bias: Any = None
    ) -> State:
        (f, g), h, size = functions, state[0], recurrent.shape[-1]
        gates, candidates = gate_slice(recurrent, 0, size, 2, axis=0), gate_slice(recurrent, 2, size, axis=0)
        gate_biases = None if r_bias is None else gate_slice(r_bias, 0, size, 2)
        candidate_bias = None if r_bias is None else gate_slice(r_bias, 2, size)
        zr = NonlinearNode(f, gate_slice(projected, 0, size, 2) + with_bias(project_state(h, gates), gate_biases))
        z, reset = gate_slice(zr, 0, size), gate_slice(zr, 1, size)
        if linear_before_reset:
            recurrent_term = reset * with_bias(project_state(h, candidates), candidate_bias)
        else:
            recurrent_term = with_bias(project_state(reset * h, candidates), candidate_bias)
        c = NonlinearNode(g, gate_slice(projected, 2, size) + recurrent_term)
        return (map_entries(lambda z, c, h: (1.0 - z) * c + z * h, z, c, h),)

    return scan_directions(
        x, w, r, b, [initial_h], gates=3, default_activations=["Sigmoid", "Tanh"], activations=activations,
        direction=direction, lengths=lengths, batch_first=batch_first, cell=cell, separate_bias=True,
    )  # fmt: skip


# --- lstm ---------------------------------------------------------------------


@tensor_operator(
    examples=[
        example((2, 1, 2), (1, 4, 2), (1, 4, 1), (1, 8)),
        example((2, 2, 1), (1, 4, 1), (1, 4, 1), None, (1, 2, 1), (1, 2, 1), (1, 3), lengths=[1, 2]),
    ],
    onnx=Onnx("LSTM", **OF_ONNX | {"operands": [0, 1, 2, 3, 5, 6, 7]},
              input_forget=Attribute("input_forget", 0, to_bool)),
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
    activations: Activations = None,
    input_forget: bool = False,
) -> Any:
    """c <- f * c + i * g, h <- o * tanh(c): gates forget, let in and let out. Source: Hochreiter & Schmidhuber, 1997.

    x: (T, N, I): T steps of N sequences of I features; with batch_first
    (N, T, I). For D directions (2 if "bidirectional", else 1) and H states,
    w: (D, 4 H, I), r: (D, 4 H, H), b: (D, 8 H), that of w before that of r,
    initial_h, initial_c: (D, N, H), without them 0. Of 4 H, the first H are the
    gate i (let in), then o (let out), then f (keep), each a sigmoid, then the
    candidate g, a tanh: the order of ONNX, which calls g c. p: (D, 3 H),
    peepholes, through which i, o and f see c. lengths: the steps of each
    sequence. input_forget: f is 1 - i. Results: h after each step,
    (T, D, N, H), and h and c after the last, (D, N, H).

    >>> from naive_graph.tensor import lstm
    >>> each, h, c = lstm([[[1.0]], [[2.0]]], [[[1.0], [1.0], [1.0], [1.0]]], [[[1.0], [1.0], [1.0], [1.0]]])
    >>> each.eval().shape, each.eval().ravel().round(4).tolist()
    ((2, 1, 1, 1), [0.3696, 0.8112])
    >>> h.eval().round(4).tolist(), c.eval().round(4).tolist()
    ([[[0.8112]]], [[[1.4078]]])
    """

    def cell(
        functions: Functions, projected: TensorNode, state: State, recurrent: TensorNode, peepholes: Any = None
    ) -> State:
        (f, g, last), (h, c), size = functions, state, recurrent.shape[-1]
        total = projected + project_state(h, recurrent)
        i, o, forget, new = (gate_slice(total, gate, size) for gate in range(4))
        peep = [None if peepholes is None else gate_slice(peepholes, gate, size) for gate in range(3)]
        i = NonlinearNode(f, _add_peephole(i, peep[0], c))
        keep_gate = (
            map_entries(lambda a: 1.0 - a, i) if input_forget else NonlinearNode(f, _add_peephole(forget, peep[2], c))
        )
        c = map_entries(lambda k, c, i, n: k * c + i * g(n), keep_gate, c, i, new)
        o = _add_peephole(o, peep[1], c)
        return map_entries(lambda o, c: f(o) * last(c), o, c), c

    return scan_directions(
        x, w, r, b, [initial_h, initial_c], p, gates=4, default_activations=["Sigmoid", "Tanh", "Tanh"],
        activations=activations, direction=direction, lengths=lengths, batch_first=batch_first, cell=cell,
    )  # fmt: skip


def _add_peephole(gate: TensorNode, peephole: Any, c: TensorNode) -> TensorNode:
    if peephole is None:
        return gate
    total: TensorNode = gate + apply_along_axis(OpType.mul, c, peephole, 1)
    return total
