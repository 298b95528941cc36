"""Which code answers at once, and which one comes later.

A small plan, and one of samples, has code of its own from the first call on. A larger one of scalars answers in level
runs; after PATIENCE of them, when they have taken about as long as LLVM will, a thread makes its code, and a later
run moves there. Values and gradients have the same bits before and after. A plan that is too long for LLVM stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..passes.ir import IR
from .plan import CompiledPlan, Runnable
from .runs import LevelRuns

FEW_OPERANDS = 1_600  # LLVM takes some 0.1 s for as many
MOST_OPERANDS = 80_000  # and some 3 s
# Level runs before code is made: in a chain of 1,000 rows, where code gains most, they take some 0.05 s, and LLVM some
# 0.07 s. Until then such a chain takes 1.3 of CasADi's time.
PATIENCE = 4_000
SOON = 1_000  # runs after which a Program looks again whether its code is there


def has_samples(ir: IR) -> bool:
    return len(ir.samples) > 1


def is_small(ir: IR) -> bool:
    """Whether code is made for it before it answers."""
    return has_samples(ir) or len(ir.operands) <= FEW_OPERANDS


def choose(
    ir: IR, wanted: Sequence[int], carried: Sequence[int] = (), engine: str | None = None
) -> tuple[Runnable, Callable[[], Runnable] | None]:
    """What runs now, and what makes the code that comes later. engine: "runs" or "compiled" where one was asked for."""
    if engine == "compiled" or has_samples(ir) or (engine is None and is_small(ir)):
        return CompiledPlan(ir, wanted, carried), None
    runs = LevelRuns(ir, wanted, carried)
    if engine == "runs" or len(ir.operands) > MOST_OPERANDS:
        return runs, None
    return runs, lambda: CompiledPlan(ir, wanted, carried)
