"""Expand softmax rows so that the elements of one softmax share their exponentials and the sum of these.

>>> from naive_graph import Graph, softmax as shares_of
>>> from naive_graph.engines.passes.build_ir import build_ir
>>> p, q = shares_of([Graph.Variable(2.0), Graph.Variable(3.0)])
>>> ir, _ = build_ir(p.tables, [p.row, q.row])
>>> print(ir)
   0 leaf
   1 leaf
   2 softmax_share 0 0 1
   3 softmax_share 1 0 1
>>> print(softmax(ir, wanted=[2, 3])[0])
   0 leaf
   1 leaf
   2 largest 0 1
   3 exp_below 0 2
   4 exp_below 1 2
   5 dot 3 + 4
   6 div 3 5
   7 div 4 5

A share of a softmax is exp(x - largest) over the sum of all such exponentials; subtracting the
largest operand avoids overflow. The expanded rows compute the largest, the exponentials and the
sum once for all shares. The shares are the derivatives of logsumexp, so a logsumexp of the same
operands is expanded too, and reads the same rows. The results keep their bits.

Rows of very many operands are replaced too, as a kernel with instructions for each of its operands
would take long to compile: a sum becomes a dot, a product a fold of short rows, a logsumexp as above.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.rules import RULES
from ...core.tables import CONSTANT
from .ir import ADD, DOT, IR, LARGEST, MUL, NONE, SUB, Array, replace_rows

SHARE, LOGSUMEXP = RULES["softmax_share"].number, RULES["logsumexp"].number
DIV, LESS, LOG1P, EXP_BELOW = (RULES[name].number for name in ("div", "less", "log1p", "exp_below"))
WIDEST, WIDEST_FOLD = 8, 64  # most operands of a row that is not expanded: of a logsumexp; of a sum or a product


def softmax(ir: IR, wanted: Array) -> tuple[IR, Array]:
    """Expand softmax shares and wide rows; returns the plan, and the new row of each old one."""
    rows = len(ir)
    most = np.where(ir.kinds == LOGSUMEXP, WIDEST, WIDEST_FOLD)
    wide = np.isin(ir.kinds, (ADD, MUL, LOGSUMEXP)) & (np.diff(ir.starts) > most)
    if not (wide | (ir.kinds == SHARE)).any():
        return ir, np.arange(rows, dtype=np.int32)
    made: list[tuple[int, list[int], int]] = []
    moved = np.empty(rows, np.int32)

    def add(kind: int, of: list[int], group: int) -> int:
        made.append((kind, of, group))
        return len(made) - 1

    def fold(kind: int, of: Sequence[int], group: int) -> int:
        """A left fold, in rows of at most WIDEST operands: the first operand is the fold so far."""
        total = add(kind, list(of[:WIDEST]), group)
        for start in range(WIDEST, len(of), WIDEST - 1):
            total = add(kind, [total, *of[start : start + WIDEST - 1]], group)
        return total

    def pieces(xs: tuple[int, ...], group: int) -> tuple[int, list[int], int]:
        """The rows of the largest of xs, of the exponentials, and of their sum; made once for equal operands."""
        if xs not in pieces_of:
            top = fold(LARGEST, xs, group)
            exponentials = [add(EXP_BELOW, [x, top], group) for x in xs]
            pieces_of[xs] = top, exponentials, add(DOT, _alone(exponentials), group)
        return pieces_of[xs]

    def logsumexp(xs: tuple[int, ...], group: int) -> int:
        """largest + log1p(sum of the exponentials, without one of the largest's, which is 1).

        That sum is of the exponentials below 1, plus 1 for each further operand that equals the largest (ties).
        """
        top, exponentials, _ = pieces(xs, group)
        one, others = number(1.0), number(len(xs) - 1.0)
        below_one = [add(LESS, [exponential, one], group) for exponential in exponentials]
        rest = add(DOT, [factor for pair in zip(exponentials, below_one, strict=True) for factor in pair], group)
        ties = add(SUB, [others, add(DOT, _alone(below_one), group)], group)
        return add(DOT, _alone([top, add(LOG1P, [add(DOT, _alone([rest, ties]), group)], group)]), group)

    def number(value: float) -> int:
        """The row of a constant, made once."""
        if value not in numbers:
            numbers[value] = add(CONSTANT, [], 0)
        return numbers[value]

    numbers: dict[float, int] = {}
    pieces_of: dict[tuple[int, ...], tuple[int, list[int], int]] = {}  # the largest, the exponentials, and their sum
    shared = {tuple(ir.of(row)[1:]) for row in np.flatnonzero(ir.kinds == SHARE).tolist()}
    for row in range(rows):
        kind, group = int(ir.kinds[row]), int(ir.groups[row])
        operands = [int(moved[operand]) if operand >= 0 else NONE for operand in ir.of(row)]
        if kind == SHARE and operands[0] in operands[1:]:
            xs = tuple(operands[1:])
            _, numerators, total = pieces(xs, group)
            moved[row] = add(DIV, [numerators[xs.index(operands[0])], total], group)
        elif kind == LOGSUMEXP and (wide[row] or tuple(ir.of(row)) in shared):
            moved[row] = logsumexp(tuple(operands), group)
        elif kind == ADD and wide[row]:
            moved[row] = add(DOT, _alone(operands), group)
        else:
            moved[row] = (fold if wide[row] else add)(kind, operands, group)
    new, made_constants = replace_rows(ir, moved, made), {row: value for value, row in numbers.items()}
    # In the order of rows, because `share` keeps the first of equal constants.
    new.constants = dict(sorted({**new.constants, **made_constants}.items()))
    return new, moved


def _alone(terms: list[int]) -> list[int]:
    """The operands of a DOT that only adds them."""
    return [operand for term in terms for operand in (term, NONE)]
