"""Just-in-time compilation of a training loop: one compiled call runs the forward and the reverse sweep.

    while ...:
        Graph.forward()
        Graph.backward(f)
        x.value -= 0.01 * x.grad
        Graph.kill_grad()

In such a loop the graph does not change, so all checks come out as they did the
last time. Once a small graph has run often enough, both sweeps are compiled to one piece of
machine code that works right in the tables: `forward` calls it, and `backward` finds
the gradients done. LLVM compiles in a background thread (`core/background.py`). The compiled step
is stored in the tables' cache, which any change of the graph empties; then the usual path is
taken again.
"""

from __future__ import annotations

import ctypes
from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from ..core.background import BackgroundTask
from ..core.plan import Plan, plan_for
from ..core.sweep import Evaluated, Finished, forward_sweep, reverse_sweep
from ..core.tables import CONSTANT, Tables
from ..engines.llvm.compile import compiled, place
from ..engines.llvm.emit import NotCompilable
from ..engines.llvm.functions import FunctionWriter, Module, StraightLineFunction
from ..engines.select import LARGEST, Setting, engine_named, is_short
from .run_checks import add_absorbed_adjoints, compute_absorbed_values

# Keys in the tables' cache: of the step when it is ready (Graph.forward looks there), and while it is compiled.
KEY, COMING = "quick", "quick, when its code is there"
PARAMETERS = "ptr %values, ptr %adjoints, ptr %staged"


class CompiledStep:
    """Both sweeps over a graph's tables, as one compiled call.

    row: the result whose gradients are computed. `forward` writes them into a column of its own, `adjoints`, which
    `backward` copies to the tables. If a result or a gradient is infinite or NaN no value is written, and the usual
    path reports what went wrong. whole: the plan of the whole graph. plan: that of the result.
    """

    __slots__ = ("adjoints", "code", "fresh", "held", "is_whole", "packed", "row", "run", "tables")

    def __init__(self, tables: Tables, whole: Plan, plan: Plan) -> None:
        self.code = BackgroundTask(partial(compiled, emit_sweeps(tables, whole, plan)))
        self.tables, self.row = tables, plan.rows[plan.targets[0]]
        self.is_whole = sorted(plan.rows) == sorted(whole.rows)  # whether the result depends on every other row
        size = len(tables)
        staged = array("d", bytes(8 * (size + 1)))
        self.adjoints = array("d", bytes(8 * size))
        words = array("q", map(place, [tables.values, self.adjoints, staged, tables.stamps]))
        # Keeps the arrays alive while their addresses are in use; a column with a view on it is not moved.
        self.held = (staged, words, memoryview(tables.values), memoryview(tables.stamps))
        # packed: the address of the four addresses. fresh: the clock of the run that `adjoints` belong to.
        self.packed, self.fresh = place(words), -1

    def is_ready(self) -> bool:
        """Whether the machine code is ready; with "compiled" as the default engine, wait for it."""
        if engine_named(Setting.default) != "compiled" and not self.code.is_done():
            return False
        address = self.code.result().address("quick")
        self.run = ctypes.PYFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(address)
        return True

    def forward(self) -> bool:
        """Compute values and gradients; False, with nothing written, if one is infinite or NaN."""
        tables = self.tables
        now = tables.clock
        tables.clock = now + 1
        if self.run(self.packed, now):
            return False
        self.fresh = now
        return True

    def matches(self, targets: Any) -> bool:
        """Whether a forward run for these targets would compute the whole graph."""
        if not targets:
            return True
        return self.is_whole and len(targets) == 1 and self.own(targets[0])

    def own(self, node: Any) -> bool:
        """Whether this node is the result whose gradients are computed."""
        return getattr(node, "_row", -1) == self.row and node._home is self.tables

    def backward(self, node: Any) -> bool:
        """Copy the gradients to the tables; False if another node's are asked for, or a leaf has changed since."""
        tables = self.tables
        if tables.written > self.fresh or not self.own(node):
            return False
        tables.grads, tables.grads_are_zero = self.adjoints[:], False
        return True


def enable(tables: Tables, rows: Sequence[int]) -> None:
    """Start compilation if the graph qualifies, and use the step as soon as it is ready. rows: targets."""
    cache = tables.cache
    try:
        if COMING not in cache:
            cache[COMING] = _compiled_step(tables, rows)
        quick = cache[COMING]
        if quick is None or quick.is_ready():
            cache[KEY] = quick
    except NotCompilable:
        cache[KEY] = None


def _compiled_step(tables: Tables, rows: Sequence[int]) -> CompiledStep | None:
    """The step, still without machine code; None if the graph does not qualify."""
    plan, full_plan = plan_for(tables, rows), plan_for(tables)
    simple = (
        len(plan.targets) == 1
        and plan.kinds[plan.targets[0]] >= 0
        and is_short(full_plan, LARGEST)
        and not full_plan.placeholders()
    )
    return CompiledStep(tables, full_plan, plan) if simple else None


def emit_sweeps(tables: Tables, whole: Plan, plan: Plan) -> str:
    """The code of both sweeps, and of `quick`, which calls them.

    Values go to `staged`, followed by a number that is 0 if all is finite, else NaN.
    """
    code = StraightLineFunction(Module(), "sweeps", PARAMETERS)
    registers: list[Any] = [code.leaf("values", row) for row in whole.rows]
    for step, row in enumerate(whole.rows):
        if whole.kinds[step] == CONSTANT:
            registers[step] = tables.values[row]  # a constant in the code
    nonfinite: Any = 0.0
    computed: dict[int, None] = {}  # rows whose values are staged, in order
    results = {whole.rows[step] for step in whole.targets}
    for event in forward_sweep(whole, registers):
        if isinstance(event, Evaluated):
            code.store("staged", event.row, event.value)
            computed[event.row] = None
            if event.row in results:
                nonfinite = _add_nonfinite(nonfinite, event.value)
            code.forget_old_results()
    value_of = dict(zip(whole.rows, registers, strict=True))
    for row in compute_absorbed_values(whole, tables.operators, value_of):
        code.store("staged", row, value_of[row])
        computed[row] = None
        code.forget_old_results()
    adjoints: dict[int, Any] = defaultdict(float)
    values = [value_of[row] for row in plan.rows]
    for reverse_event in reverse_sweep(plan, values, dict.fromkeys(plan.targets, 1.0), plan.varies()):
        if isinstance(reverse_event, Finished):
            code.store("adjoints", reverse_event.row, reverse_event.adjoint)
            adjoints[reverse_event.row] = reverse_event.adjoint
            nonfinite = _add_nonfinite(nonfinite, reverse_event.adjoint)
            code.forget_old_results()
    for row in add_absorbed_adjoints(plan, tables.operators, value_of, adjoints):
        code.store("adjoints", row, adjoints[row])
        code.forget_old_results()
    code.store("staged", len(tables), nonfinite)
    return f"{code}\n{emit_commit(computed, len(tables))}"


def _add_nonfinite(nonfinite: Any, x: Any) -> Any:
    """Add x - x to the finiteness flag: 0 for a finite x, else NaN."""
    return nonfinite if isinstance(x, float) else nonfinite + (x - x)


def emit_commit(rows: Iterable[int], size: int) -> str:
    """LLVM function `quick`: run the sweeps; if all is finite, copy values and stamps to the tables, else return 1."""
    code = FunctionWriter("define i64 @quick(ptr %packed, i64 %now)")
    pointers = [code.let(f"load ptr, ptr {code.at('%packed', index, 'ptr')}") for index in range(4)]
    values, adjoints, staged, stamps = pointers
    code.do(f'call void @"sweeps"(ptr {values}, ptr {adjoints}, ptr {staged})')
    is_finite = code.let(f"fcmp oeq double {code.load(staged, size)}, 0.0")
    code.do(f"br i1 {is_finite}, label %commit, label %leave")
    code.label("leave")
    code.do("ret i64 1")
    code.label("commit")
    for row in rows:
        code.store(code.load(staged, row), values, row)
        code.store("%now", stamps, row, "i64")
    return code.finish_with_return("i64", "0")
