"""Find dense layers (matrix products) in a plan: DOT rows over the same inputs.

>>> from naive_graph import Graph, total
>>> from naive_graph.engines.passes.lowering import Lowering
>>> from naive_graph.engines.passes.stages import sections
>>> a, b, c, d = weights = [Graph.Variable(value) for value in range(4)]
>>> x, y = Graph.PlaceHolder(), Graph.PlaceHolder()
>>> loss = total((a * x + b * y) * (c * x + d * y))
>>> wrt = [weight.row for weight in weights]
>>> ir = Lowering(loss.tables, [loss.row], wrt, frozenset([x.row, y.row])).ir
>>> for line in str(ir).splitlines()[6:10]:
...     print(line)
   6 dot 0*4 + 1*5  (group 1)
   7 dot 2*4 + 3*5  (group 1)
   8 mul 6 7  (group 1)
   9 total 8
>>> (layer,) = find_dense_layers(ir, sections(ir)[0])
>>> layer.outputs, layer.inputs, layer.weights
([6, 7], [4, 5], [[0, 1], [2, 3]])

A layer's outputs are dots over the same inputs. Found together, they are computed in
tiles whose numbers stay in registers.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from .ir import DOT, IR, NONE
from .stages import Section

ONE = -2  # an input that is 1 for every sample


class DenseLayer(NamedTuple):
    """outputs[j] = bias[j] + sum over k of weights[j][k] * inputs[k], for every sample.

    bias: NONE where there is none. An input may be ONE.
    """

    outputs: list[int]
    inputs: list[int]
    weights: list[list[int]]
    bias: list[int]


def find_dense_layers(ir: IR, section: Section) -> list[DenseLayer]:
    """The layers of a section of samples."""
    alike = defaultdict(list)
    for row in section.rows.tolist():
        if ir.kinds[row] == DOT:
            read = _parse_dot(ir, row)
            if read is not None:
                inputs, weights, bias = read
                alike[inputs, bias >= 0].append((row, weights, bias))
    return [
        DenseLayer(
            [row for row, *_ in rows],
            list(inputs),
            [weights for _, weights, _ in rows],
            [bias for *_, bias in rows],
        )
        for (inputs, _), rows in alike.items()
        if len(rows) >= 2
    ]


def _parse_dot(ir: IR, row: int) -> tuple[tuple[int, ...], list[int], int] | None:
    """The inputs, weights and bias of a dot that is one output of a layer; None if it is not.

    Where the bias comes first the sum begins with it; a scalar that is added
    later is the weight of an input that is 1 for every sample.
    """
    pairs = ir.of(row)
    bias = NONE
    if pairs[1] == NONE and ir.groups[pairs[0]] == 0:
        bias, pairs = pairs[0], pairs[2:]
    inputs, weights = [], []
    for x, y in zip(pairs[::2], pairs[1::2], strict=True):
        alone = y == NONE and ir.groups[x] == 0
        if not alone and (y == NONE or (ir.groups[x] > 0) == (ir.groups[y] > 0)):
            return None
        if alone:
            inputs.append(ONE)
            weights.append(x)
        else:
            fed, weight = (x, y) if ir.groups[x] > 0 else (y, x)
            inputs.append(fed)
            weights.append(weight)
    return (tuple(inputs), weights, bias) if any(input_ != ONE for input_ in inputs) else None
