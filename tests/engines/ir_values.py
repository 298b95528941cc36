"""A plan in plain Python, one row after the other: what every pass is held against."""

import math
import struct
from collections import Counter

import numpy as np

from naive_graph.core import ieee, sweep
from naive_graph.core.plan import plan_for
from naive_graph.core.rules import BY_NUMBER
from naive_graph.engines.passes.ir import DOT, IR, LARGEST, NONE, REDUCE, TOTAL, Lanes
from naive_graph.engines.passes.reverse_symbolic import Count
from naive_graph.graph.node_factory import CURRENT

EPS = 2.0**-53


def evaluated(ir, given):
    """The value of each row: a float, or a list with one for each sample of its group.

    given: where leaves' values come from: given[source] is a number, or one for each sample.
    """
    values = []
    for row in range(len(ir)):
        kind, operands = int(ir.kinds[row]), [values[each] if each != NONE else None for each in ir.of(row)]
        if not operands:
            values.append(leaf(ir, row, given))
        elif kind in (TOTAL, REDUCE):
            values.append(collected(ir, row, operands))
        elif ir.groups[row] == 0:
            values.append(computed(kind, operands))
        else:
            count = ir.samples[ir.groups[row]]
            values.append([computed(kind, lane(operands, sample)) for sample in range(count)])
    return values


def leaf(ir, row, given):
    if row in ir.constants:
        return ir.constants[row]
    source = ir.sources[row]
    if isinstance(source, Lanes):
        return [number if at is None else given[at] for number, at in zip(*source)]
    return float(ir.samples[source.group]) if isinstance(source, Count) else given[source]


def computed(kind, operands):
    if kind == DOT:
        total = None
        for x, y in zip(operands[::2], operands[1::2], strict=True):
            term = x if y is None else x * y
            total = term if total is None else total + term
        return total
    return ieee.largest(operands) if kind == LARGEST else BY_NUMBER[kind].value(*operands)


def collected(ir, row, operands):
    """A sum over the samples of the group that the operands are lanes of."""
    group = max(int(ir.groups[each]) for each in ir.of(row) if each != NONE)
    assert group > 0, f"row {row} sums over samples, but none of its operands varies"
    terms = []
    for sample in range(ir.samples[group]):
        each = lane(operands, sample)
        terms += [x if y is None else x * y for x, y in zip(each[::2], each[1::2], strict=True)]
    return left_fold(terms) if ir.kinds[row] == TOTAL else exact_sum(terms)


def left_fold(terms):
    total = terms[0]
    for term in terms[1:]:
        total += term
    return total


def exact_sum(terms):
    try:
        return math.fsum(terms)
    except (OverflowError, ValueError):  # an intermediate overflow, or inf - inf
        return left_fold(terms)


def lane(operands, sample):
    return [each[sample] if isinstance(each, list) else each for each in operands]


def at(values, found):
    """The value of a row that may be one of many lanes."""
    value = values[found.row]
    return value[found.lane] if isinstance(value, list) and found.lane != NONE else value


# --- what the graph says ------------------------------------------------------


def table_values():
    """The value of each row of the tables; only leaves' count."""
    return list(CURRENT.tables.values)


def plan_values(nodes):
    """The plan of these nodes, and the value of each step, as the reference engine has it."""
    tables = CURRENT.tables
    plan, held = plan_for(tables, [node.row for node in nodes]), table_values()
    values = [held[row] if kind < 0 else None for row, kind in zip(plan.rows, plan.kinds)]
    sweep.evaluate(plan, values)
    return plan, values


def reference_values(nodes):
    """row -> value, for all that these nodes depend on."""
    plan, values = plan_values(nodes)
    return dict(zip(plan.rows, values, strict=True))


# --- comparing ----------------------------------------------------------------


def same(a, b):
    """Bit for bit; one NaN is as good as another."""
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return (a != a and b != b) or struct.pack("d", a) == struct.pack("d", b)


def near(a, b, magnitude, count):
    """Within 2 n eps times the sum of the terms' magnitudes; subnormals may lose a little more."""
    if not math.isfinite(magnitude) or not math.isfinite(a):
        return True  # a run that is not finite is replayed on the reference engine
    return abs(a - b) <= 2 * count * EPS * magnitude + 1e-300


def operands_come_first(ir):
    return all(each < row for row in range(len(ir)) for each in ir.of(row))


def edges(ir):
    """What the columns promise: as many operands as the starts say, and none from nowhere."""
    assert len(ir.starts) == len(ir) + 1 and len(ir.groups) == len(ir)
    assert ir.starts[0] == 0 and ir.starts[-1] == len(ir.operands)
    assert (np.diff(ir.starts) >= 0).all() and operands_come_first(ir)
    assert set(ir.leaves().tolist()) == set(ir.constants) | set(ir.sources)


def counts(ir):
    """How many rows there are of each name."""
    return dict(Counter(ir.name(row) for row in range(len(ir))))


def ir_of(plan):
    """The plan as columns. Every leaf, a Constant too, is loaded from its own step."""
    columns = (plan.kinds, plan.starts, plan.operand_steps)
    kinds, starts, operands = (np.array(column, np.int32) for column in columns)
    ir = IR(kinds, starts, operands, np.zeros(len(kinds), np.int32))
    ir.sources = {row: row for row in ir.leaves().tolist()}
    return ir
