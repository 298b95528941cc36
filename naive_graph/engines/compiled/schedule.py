"""Schedule a section of samples: kernel calls for dense layers and outer products, straight-line code in between."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..passes.dense_layers import ONE, find_dense_layers
from ..passes.ir import IR, REDUCE
from ..passes.stages import Section

LONGEST = 1_000  # rows of a region: LLVM's compile time grows with the square of its length
DENSE_LEAST, OUTER_LEAST = 32, 24  # least weights of a layer, least results of an outer product: below, no kernel call


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
            made, operands = operands_of(step)
            depth = 1 + max((level.get(operand, 0) for operand in operands), default=0)
            layers[depth].append(step)
            level |= dict.fromkeys(made, depth)
    merged_steps: list[Step] = []
    for depth in range(max([0, *layers, *regions]) + 1):
        merged_steps += sorted(layers[depth], key=lambda step: isinstance(step, Outer))
        merged_steps += [regions[depth][first : first + LONGEST] for first in range(0, len(regions[depth]), LONGEST)]
    return merged_steps


def operands_of(step: Step) -> tuple[list[int], list[int]]:
    """The rows that a layer or an outer product computes, and the rows of samples that it reads."""
    if isinstance(step, Outer):
        read = [row for side in (step.lefts, step.rights) for line in side for row in line]
        return [row for line in step.results for row in line], read
    return step.outputs, [input_ for input_ in step.inputs if input_ != ONE]
