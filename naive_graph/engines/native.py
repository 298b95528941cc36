"""The native engine: a small graph as straight-line machine code.

The sweeps run once over registers (`llvm.emit`) instead of numbers; what they
write down is compiled, and from then on a run is one call. The code has the
reference engine's operations in the reference engine's order, so on + - * / and
square roots it gives the same bits. It is worth its compilation for a graph of
up to a few hundred nodes that is run very often, and it can be read: see
`Graph.machine_code`.
"""

from __future__ import annotations

import ctypes
import warnings
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from threading import RLock
from typing import Any

from ..core import reference
from ..core.forks import ENGINES, held_over_forks
from ..core.origin import learners_level
from ..core.plan import Plan
from ..core.sweep import Evaluated, Finished, forward, reverse
from ..errors import EngineWarning
from .choice import is_short
from .llvm.compile import assembly as assembled
from .llvm.compile import compiled, llvmlite
from .llvm.emit import Opaque, opaque
from .llvm.functions import Module
from .llvm.listing import Straight

Run = Callable[..., None]
MOST_STEPS = 3_000  # LLVM, which a Ctrl-C waits for, takes some 0.5 s for as many, and for no plan more than that
MOST_KEPT = 128  # compiled plans, of which the oldest are let go
_KEPT: dict[Any, Run | Opaque] = {}  # Opaque: why it cannot be compiled
_LOCK = RLock()
held_over_forks(ENGINES, lambda: _LOCK)
POINTER = ctypes.c_void_p


def compiles(plan: Plan) -> bool:
    """Whether both sweeps of the plan can run as machine code. It is compiled on the way."""
    seeds, wanted = dict.fromkeys(plan.targets, 1.0), plan.varies()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        return _forward(plan) is not None and _reverse(plan, seeds, wanted) is not None


def ir(plan: Plan) -> str:
    """Both sweeps in LLVM's language, one instruction a line."""
    seeds, wanted = dict.fromkeys(plan.targets, 1.0), plan.varies()
    return f"{forward_code(plan)}\n\n{reverse_code(plan, seeds, wanted)}"


def assembly(plan: Plan) -> str:
    """Both sweeps as the processor's instructions."""
    seeds, wanted = dict.fromkeys(plan.targets, 1.0), plan.varies()
    return "\n".join(assembled(str(code)) for code in (forward_code(plan), reverse_code(plan, seeds, wanted)))


def evaluate(plan: Plan, values: list[Any]) -> None:
    """Fill in the operators' values. `values`: one for each step, the leaves' set."""
    run = _forward(plan)
    if run is not None:
        numbers = array("d", values)
        run(numbers, numbers)
        if all(isfinite(numbers[step]) for step in plan.targets):
            values[:] = numbers
            return
    reference.evaluate(plan, values)  # it also raises what a learner's own function raises


def differentiate(plan: Plan, values: Sequence[Any], seeds: dict[int, Any], wanted: Sequence[bool]) -> list[Any]:
    """The adjoint of each step, 0.0 where the seeded results do not depend on it."""
    run = _reverse(plan, seeds, wanted)
    if run is not None:
        adjoints = array("d", bytes(8 * len(plan)))
        run(array("d", values), adjoints)
        if all(map(isfinite, adjoints)):
            return adjoints.tolist()
    return reference.differentiate(plan, values, seeds, wanted)


def forward_code(plan: Plan) -> Straight:
    """The forward sweep, written down. Raises Opaque if an operator cannot be."""
    code = _begun(plan, "forward")
    registers: list[Any] = [code.leaf("values", step) if plan.kinds[step] < 0 else None for step in range(len(plan))]
    steps = (step for step in range(len(plan)) if plan.kinds[step] >= 0)
    with _naming_the_opaque(plan, steps):
        for event in forward(plan, registers):
            if isinstance(event, Evaluated):
                code.store("values", next(steps), event.value)
                code.breathe()
    return code


def reverse_code(plan: Plan, seeds: dict[int, float], wanted: Sequence[bool]) -> Straight:
    """The reverse sweep, written down. It reads the values that a forward run left."""
    code = _begun(plan, "reverse")
    registers = [code.leaf("values", step) for step in range(len(plan))]
    steps = iter(reversed(range(len(plan))))
    with _naming_the_opaque(plan, steps):
        for event in reverse(plan, registers, seeds, wanted):
            if isinstance(event, Finished):
                code.store("adjoints", next(steps), event.adjoint)
                code.breathe()
    return code


def _begun(plan: Plan, name: str) -> Straight:
    if not is_short(plan, MOST_STEPS):
        raise Opaque(
            f"A graph of {len(plan)} nodes and {len(plan.operand_steps)} operands is too large for straight-line code, "
            f"which is for some {MOST_STEPS}."
        )
    return Straight(Module(), name)


@contextmanager
def _naming_the_opaque(plan: Plan, steps: Iterator[int]) -> Iterator[None]:
    """Whatever a learner's function does when it meets registers, it is opaque. `steps`: those not yet done."""
    try:
        yield
    except Exception as error:
        rule = plan.rule(next(steps))
        assert rule is not None  # leaves have nothing to compile
        raise opaque(rule, error) from error


def _forward(plan: Plan) -> Run | None:
    return _kept(("forward", *_shape(plan)), lambda: forward_code(plan))


def _reverse(plan: Plan, seeds: dict[int, float], wanted: Sequence[bool]) -> Run | None:
    key = ("reverse", *_shape(plan), tuple(seeds.items()), bytes(wanted))
    return _kept(key, lambda: reverse_code(plan, seeds, wanted))


def _kept(key: Any, write: Callable[[], Straight]) -> Run | None:
    """The compiled run of that key; None, with a warning, where an operator cannot be compiled."""
    with _LOCK:
        if key not in _KEPT:
            llvmlite()  # or say at once that it is missing
            run: Run | Opaque
            try:
                run = _run(write())
            except Opaque as opaque:
                run = Opaque(str(opaque))  # without its traceback, which would keep the graph alive
            while len(_KEPT) >= MOST_KEPT:
                del _KEPT[next(iter(_KEPT))]
            _KEPT[key] = run
        kept = _KEPT[key]
    if isinstance(kept, Opaque):
        warnings.warn(EngineWarning(f"{kept} The reference engine runs this graph."), stacklevel=learners_level())
        return None
    return kept


def _run(code: Straight) -> Run:
    """The compiled code, to be called with the values and the adjoints."""
    function = compiled(str(code)).function(code.name, None, [POINTER, POINTER, POINTER])
    scratch = bytes(8 * code.spilled)

    def run(values: array[float], adjoints: array[float]) -> None:
        spare = array("d", scratch)
        function(values.buffer_info()[0], adjoints.buffer_info()[0], spare.buffer_info()[0])

    return run


def _shape(plan: Plan) -> tuple[bytes, ...]:
    """What the code depends on: two plans of one shape share it, whatever numbers their leaves hold."""
    return (plan.kinds.tobytes(), plan.starts.tobytes(), plan.operand_steps.tobytes())
