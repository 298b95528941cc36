"""Schedule a plan after the passes: sections, and in those of samples the calls of kernels.

A section has rows that are computed once (scalars), or rows computed for every sample (lanes):

    stage 0    scalars    rows that depend on no sample: learning rates, norms of weights
    stage 1    lanes      values and derivatives of every sample
    stage 2    scalars    rows that depend on sums over the samples

A section depends only on sections before it. Most plans have the three above; one
whose samples need a sum over all samples (batch normalisation, say) has more.

>>> from naive_graph import Graph, mean
>>> from naive_graph.engines.passes.lowering import Lowering
>>> x = Graph.PlaceHolder()
>>> centred = x - mean(x)
>>> loss = mean(centred * centred)
>>> ir = Lowering(loss.tables, [loss.row], [], frozenset([x.row])).ir
>>> print(ir)
   0 leaf
   1 leaf  (group 1)
   2 total 1
   3 div 2 0
   4 sub 1 3  (group 1)
   5 mul 4 4  (group 1)
   6 total 5
   7 div 6 0
>>> [(part.stage, part.rows.tolist()) for part in sections(ir)]
[(1, [2]), (2, [3]), (3, [4, 5, 6]), (4, [7])]

A section of samples becomes kernel calls for dense layers and outer products, with straight-line code in between. A
layer's outputs are dots over the same inputs: computed together, in tiles whose numbers stay in registers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..llvm.machine import machine
from ..llvm.values import Ints
from ..passes.ir import DOT, IR, NONE, REDUCE, TOTAL, Array, PlanColumns

ONE = -2  # an input of a layer that is 1 for every sample
LONGEST = 1_000  # rows of a region: LLVM's compile time grows with the square of its length
DENSE_LEAST, OUTER_LEAST = 32, 24  # least weights of a layer, least results of an outer product: below, no kernel call


class Section(NamedTuple):
    """Rows that run together, in topological order. group: 0 for scalars, else the number of their sample group."""

    stage: int
    group: int
    rows: Array


def sections(ir: IR, wanted: Iterable[int] = ()) -> list[Section]:
    """The plan's sections, in the order in which they run; leaves belong to none.

    wanted: rows of results. A sample group of which only leaves are wanted gets an empty section, which exports them.
    """
    stages = np.zeros(len(ir), np.int32)
    stage_rows(len(ir), ir.columns, stages)
    computed = (ir.kinds >= 0) | (ir.kinds <= DOT)
    collecting = (ir.kinds == TOTAL) | (ir.kinds == REDUCE)
    runs_in = np.where(collecting, stages - 1, stages)
    groups = ir.groups.copy()
    for row in np.flatnonzero(collecting).tolist():
        groups[row] = max(ir.groups[operand] for operand in ir.of(row) if operand >= 0)
    parts = []
    for stage in range(int(runs_in.max(initial=0)) + 1):
        in_stage = computed & (runs_in == stage)
        parts += [
            Section(stage, group, np.flatnonzero(in_stage & (groups == group)).astype(np.int32))
            for group in sorted(set(groups[in_stage].tolist()))
        ]
    fed = {int(ir.groups[row]) for row in wanted}.difference([0], (part.group for part in parts))
    return parts + [Section(1, group, np.zeros(0, np.int32)) for group in sorted(fed)]


@machine
def stage_rows(rows: int, of: PlanColumns, stages: Ints) -> None:
    """Number the stage of each row: even for scalars, odd for lanes; a sum over lanes has the stage after theirs."""
    for row in range(rows):
        collects = 1 if of.kinds[row] == TOTAL or of.kinds[row] == REDUCE else 0
        stage = 1 if of.groups[row] > 0 else 0
        for edge in range(of.starts[row], of.starts[row + 1]):
            operand = of.operands[edge]
            if operand >= 0:
                before = stages[operand]
                if of.groups[operand] == 0 and (of.groups[row] > 0 or collects):
                    before += 1
                if before > stage:
                    stage = before
        stages[row] = stage + 1 if collects else stage


# --- dense layers and outer products ---


class DenseLayer(NamedTuple):
    """outputs[j] = bias[j] + sum over k of weights[j][k] * inputs[k], for every sample.

    bias: NONE where there is none. An input may be ONE.
    """

    outputs: list[int]
    inputs: list[int]
    weights: list[list[int]]
    bias: list[int]


def find_dense_layers(ir: IR, section: Section) -> list[DenseLayer]:
    """The layers of a section of samples: DOT rows over the same inputs.

    >>> from naive_graph import Graph, total
    >>> from naive_graph.engines.passes.lowering import Lowering
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
    """
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


class Outer(NamedTuple):
    """results[j][k] = the sum over the samples, and over pairs p, of lefts[j][p] * rights[k][p]."""

    lefts: list[tuple[int, ...]]
    rights: list[tuple[int, ...]]
    results: list[list[int]]


def find_outer_products(ir: IR, rows: Sequence[int]) -> list[Outer]:
    """Find outer products among a section's sums over samples."""
    by_left: dict[tuple[int, ...], dict[tuple[int, ...], int]] = defaultdict(dict)
    for row in rows:
        operands = ir.of(row)
        if ir.kinds[row] == REDUCE and all(operand >= 0 and ir.groups[operand] for operand in operands):
            by_left[tuple(operands[::2])].setdefault(tuple(operands[1::2]), row)
    grids = defaultdict(list)
    for left, rights in by_left.items():
        grids[tuple(sorted(rights))].append(left)
    products = []
    for columns, lefts in grids.items():
        if len(lefts) * len(columns) >= OUTER_LEAST and len(columns) > 2:
            products.append(Outer(lefts, [*columns], [[by_left[left][right] for right in columns] for left in lefts]))
    return products


Step = Any  # a DenseLayer, an Outer, or a list of rows: a region


def schedule_section(ir: IR, section: Section) -> list[Step]:
    """A section of samples as layers, outer products and regions of straight-line code, in topological order."""
    dense = [tile for tile in find_dense_layers(ir, section) if len(tile.outputs) * len(tile.inputs) >= DENSE_LEAST]
    outer = find_outer_products(ir, section.rows.tolist())
    first = {min(layer.outputs): layer for layer in dense}
    last = {max(row for line in product.results for row in line): product for product in outer}
    taken = {row for layer in dense for row in layer.outputs} | {
        row for e in outer for line in e.results for row in line
    }
    steps: list[Step] = []
    for row in section.rows.tolist():
        steps += [step_at[row] for step_at in (first, last) if row in step_at]
        if row not in taken:
            if not steps or not isinstance(steps[-1], list):
                steps.append([])
            steps[-1].append(row)
    return merge_steps(ir, steps)


def merge_steps(ir: IR, steps: list[Step]) -> list[Step]:
    """Merge regions by levels: a kernel call is one level after its operands, other rows join their operands' level."""
    level: dict[int, int] = {}
    layers: dict[int, list[Step]] = defaultdict(list)
    regions: dict[int, list[int]] = defaultdict(list)
    for step in steps:
        if isinstance(step, list):
            for row in step:
                level[row] = max((level.get(operand, 0) for operand in ir.of(row)), default=0)
                regions[level[row]].append(row)
        else:
            made, operands = operands_of(ir, step)
            depth = 1 + max((level.get(operand, 0) for operand in operands), default=0)
            layers[depth].append(step)
            level |= dict.fromkeys(made, depth)
    merged_steps: list[Step] = []
    for depth in range(max([0, *layers, *regions]) + 1):
        merged_steps += sorted(layers[depth], key=lambda step: isinstance(step, Outer))
        merged_steps += [regions[depth][first : first + LONGEST] for first in range(0, len(regions[depth]), LONGEST)]
    return merged_steps


def operands_of(ir: IR, step: Step) -> tuple[list[int], list[int]]:
    """The rows that a step computes, and those that it reads (NONE: a bias that is missing)."""
    if isinstance(step, list):
        return step, [operand for row in step for operand in ir.of(row)]
    if isinstance(step, Outer):
        read = [row for side in (step.lefts, step.rights) for line in side for row in line]
        return [row for line in step.results for row in line], read
    scalars = [*step.bias, *(weight for line in step.weights for weight in line)]
    return step.outputs, [input_ for input_ in step.inputs if input_ != ONE] + scalars
