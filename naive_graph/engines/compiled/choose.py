"""Choose between compiling a plan now and running it in level runs first (tiered execution).

A small plan, or one with samples, is compiled before its first call. A larger plan of scalars starts in level runs.
After PATIENCE runs, which have taken about as long as LLVM will, a background thread compiles it, and a later run
switches to the code. Values and gradients have the same bits before and after. A plan that is too long for LLVM stays
in level runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..passes.ir import IR
from .plan import CompiledPlan, Runnable
from .runs import LevelRuns

FEW_OPERANDS = 1_600  # compiled before the first call: LLVM takes some 0.1 s for as many
MOST_OPERANDS = 80_000  # the most that are compiled after level runs: LLVM takes some 3 s
# Level runs before a plan is compiled. For a chain of 1,000 rows, where compiled code gains most, these runs take some
# 0.05 s, and LLVM some 0.07 s. Until then such a chain takes 1.3 times as long as in CasADi.
PATIENCE = 4_000
SOON = 1_000  # runs after which a Program checks again whether its code is ready


def has_samples(ir: IR) -> bool:
    return len(ir.samples) > 1


def choose(
    ir: IR, wanted: Sequence[int], carried: Sequence[int] = (), engine: str | None = None
) -> tuple[Runnable, Callable[[], Runnable] | None]:
    """What runs now, and a function that compiles what replaces it later (or None).

    engine: "runs" or "compiled" if the user named one. See `CompiledPlan` for the other parameters.
    """
    if engine == "compiled" or has_samples(ir) or (engine is None and len(ir.operands) <= FEW_OPERANDS):
        return CompiledPlan(ir, wanted, carried), None
    runs = LevelRuns(ir, wanted, carried)
    if engine == "runs" or len(ir.operands) > MOST_OPERANDS:
        return runs, None
    return runs, lambda: CompiledPlan(ir, wanted, carried)
