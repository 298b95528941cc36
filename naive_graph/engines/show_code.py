"""Generate straight-line LLVM IR for both sweeps of a small graph, for display: see `Graph.machine_code`.

The sweeps are traced: they run once over registers (`llvm.emit`) instead of numbers, and emit
the reference engine's operations in its order. `graph/jit.py` compiles and runs the same code
for a small graph that runs very often.
"""

from __future__ import annotations

from typing import Any

from ..core.plan import Plan
from ..core.sweep import Evaluated, Finished, forward_sweep, reverse_sweep
from .llvm.compile import assembly as assembled
from .llvm.emit import compiling
from .llvm.functions import Module, StraightLineFunction


def ir(plan: Plan) -> str:
    """Both sweeps in LLVM's language, one instruction a line."""
    return f"{forward_code(plan)}\n\n{reverse_code(plan)}"


def assembly(plan: Plan) -> str:
    """Both sweeps as the processor's instructions."""
    return "\n".join(assembled(str(code)) for code in (forward_code(plan), reverse_code(plan)))


def forward_code(plan: Plan) -> StraightLineFunction:
    """Trace the forward sweep. Raises NotCompilable if an operator cannot be traced."""
    code = StraightLineFunction(Module(), "forward")
    registers: list[Any] = [code.leaf("values", step) if plan.kinds[step] < 0 else None for step in range(len(plan))]
    steps = (step for step in range(len(plan)) if plan.kinds[step] >= 0)
    with compiling(map(plan.rule, steps)):
        for event in forward_sweep(plan, registers):
            if isinstance(event, Evaluated):
                code.store("values", next(steps), event.value)
                code.forget_old_results()
    return code


def reverse_code(plan: Plan, seeded: bool = False) -> StraightLineFunction:
    """Trace the reverse sweep. It reads the values that a forward run left.

    seeded: whether the targets' seeds are read from `adjoints`; if not, they are 1.
    """
    code = StraightLineFunction(Module(), "reverse")
    seeds = {step: code.leaf("adjoints", step) if seeded else 1.0 for step in plan.targets}
    registers = [code.leaf("values", step) for step in range(len(plan))]
    steps = iter(reversed(range(len(plan))))
    with compiling(map(plan.rule, steps)):
        for event in reverse_sweep(plan, registers, seeds, plan.varies()):
            if isinstance(event, Finished):
                code.store("adjoints", next(steps), event.adjoint)
                code.forget_old_results()
    return code
