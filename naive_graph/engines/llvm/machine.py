"""`@machine`: this function of the small subset of Python runs as machine code.

The functions of one file are compiled together when the first of them is
called, and kept on disk. `function.python` is the plain function, which gives
the same numbers, slowly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache as once
from functools import update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any

from .compile import Library, compiled
from .precision import DOUBLE, Precision
from .python import Program, result_type, scalars, syntax

EIGHT = 8  # registers whose sums lie in one


def _halved(precision: Precision) -> list[str]:
    """Registers of sixteen become registers of eight first: the upper half is added to the lower."""
    lines = []
    for k in range(EIGHT):
        for half in range(2):
            mask = ", ".join(f"i32 {EIGHT * half + place}" for place in range(EIGHT))
            lines.append(
                f"%h{k}.{half} = shufflevector {precision.vector} %w{k}, {precision.vector} poison, <8 x i32> <{mask}>"
            )
        lines.append(f"%x{k} = fadd <8 x {precision.type}> %h{k}.0, %h{k}.1")
    return lines


def _sums(precision: Precision) -> str:
    """The sums of eight registers in one: neighbours are added crosswise, three times.

    Where a register has more room, -0.0 fills it: it can be added to anything.
    """
    steps = [
        ([0, 8, 2, 10, 4, 12, 6, 14], [1, 9, 3, 11, 5, 13, 7, 15]),
        ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
        ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
    ]
    wide, eight = precision.lanes > EIGHT, f"<8 x {precision.type}>"
    names = [f"%x{k}" for k in range(EIGHT)]
    lines = _halved(precision) if wide else []
    for step, halves in enumerate(steps):
        made = []
        for pair in range(0, len(names), 2):
            for side, places in enumerate(halves):
                mask = ", ".join(f"i32 {place}" for place in places)
                operands = f"{eight} {names[pair]}, {eight} {names[pair + 1]}"
                lines.append(f"%s{step}.{pair}.{side} = shufflevector {operands}, <8 x i32> <{mask}>")
            made.append(f"%t{step}.{pair}")
            lines.append(f"{made[-1]} = fadd {eight} %s{step}.{pair}.0, %s{step}.{pair}.1")
        names = made
    if wide:
        mask = ", ".join(f"i32 {place}" for place in range(precision.lanes))
        nothing = f"<{', '.join([f'{precision.type} -0.0'] * EIGHT)}>"
        lines.append(f"%all = shufflevector {eight} {names[0]}, {eight} {nothing}, <{precision.lanes} x i32> <{mask}>")
        names = ["%all"]
    parameters = ", ".join(f"{precision.vector} %{'w' if wide else 'x'}{k}" for k in range(EIGHT))
    head = f"define internal {precision.vector} @sums({parameters}) alwaysinline {{"
    return "\n  ".join([head, *lines, f"ret {precision.vector} {names[0]}"]) + "\n}"


def _outside(precision: Precision) -> str:
    """A call of the kernel at a place of a table of addresses, and the sum of a register's lanes."""
    real, vector, suffix = precision.type, precision.vector, precision.suffix(precision.lanes)
    return f"""
define internal void @call_run(ptr %table, i64 %k, ptr %scalars, ptr %index, i64 %base, i64 %to, i64 %length) {{
  %place = getelementptr ptr, ptr %table, i64 %k
  %kernel = load ptr, ptr %place
  call void %kernel(ptr %scalars, ptr %index, i64 %base, i64 %to, i64 %length)
  ret void
}}
define internal void @call_lanes(ptr %table, i64 %k, ptr %code, i64 %at, ptr %lanes, i64 %width, i64 %count) {{
  %place = getelementptr ptr, ptr %table, i64 %k
  %kernel = load ptr, ptr %place
  call void %kernel(ptr %code, i64 %at, ptr %lanes, i64 %width, i64 %count)
  ret void
}}
declare {real} @llvm.vector.reduce.fadd{suffix}({real}, {vector})
define internal {real} @sum_lanes({vector} %x) alwaysinline {{
  %sum = call reassoc {real} @llvm.vector.reduce.fadd{suffix}({real} -0.0, {vector} %x)
  ret {real} %sum
}}
{_sums(precision)}
"""


def _known(precision: Precision) -> dict[str, tuple[str, list[str], str]]:
    return {
        "sums": ("sums", [precision.vector] * EIGHT, precision.vector),
        "call_run": ("call_run", ["ptr", "i64", "ptr", "ptr", "i64", "i64", "i64"], "void"),
        "call_lanes": ("call_lanes", ["ptr", "i64", "ptr", "i64", "ptr", "i64", "i64"], "void"),
        "sum_lanes": ("sum_lanes", [precision.vector], precision.type),
    }


C_TYPES = {"double": ctypes.c_double, "i64": ctypes.c_int64, "void": None}
_OF_FILE: dict[str, list[Machine]] = {}


class Machine:
    """A function that compiles when it is first called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.python = function
        self._call: Callable[..., Any] | None = None
        _OF_FILE.setdefault(function.__module__, []).append(self)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function: arrays of NumPy's as they lie, whole numbers and floats."""
        if self._call is None:
            self._call = self._function()
        return self._call(*[getattr(each, "ctypes", each) for each in arguments])

    def address(self) -> int:
        """Where the machine code starts."""
        return library_of(self.python.__module__).address(self.python.__name__)

    def _function(self) -> Callable[..., Any]:
        tree = syntax(self.python)
        words = scalars(DOUBLE)
        kinds = [str(each.annotation.id) for each in tree.args.args]  # type: ignore[union-attr]
        types = [C_TYPES[words[kind]] if kind in words else _Array for kind in kinds]
        library = library_of(self.python.__module__)
        return library.function(self.python.__name__, C_TYPES[result_type(tree)], types)


class _Array:
    """How ctypes takes an array's address."""

    @staticmethod
    def from_param(view: Any) -> Any:
        return view.data_as(ctypes.c_void_p) if hasattr(view, "data_as") else view


def machine(function: Callable[..., Any]) -> Machine:
    """Run this function as machine code."""
    return Machine(function)


@once
def library_of(module: str, precision: Precision = DOUBLE) -> Library:
    """The compiled functions of one file, for floats of that precision."""
    ours = module.partition(".")[0] == __name__.partition(".")[0]  # of other files we have no digest
    key = f"{sources()} {module} {precision.name}" if ours else None
    return compiled(lambda: _text(module, precision), key=key, optimised=True)


def _text(module: str, precision: Precision) -> str:
    program = Program(_known(precision), precision)
    for each in _OF_FILE[module]:
        program.add(each.python)
    entries = [_entry(each, precision) for each in _OF_FILE[module]]
    return "\n".join([_outside(precision), str(program), *entries])


def _entry(function: Machine, precision: Precision) -> str:
    """The function again, as NAME.packed, with all its arguments in one array: one is quicker to pass than many."""
    tree = syntax(function.python)
    types = scalars(precision)
    kinds = [types.get(each.annotation.id, "ptr") for each in tree.args.args]  # type: ignore[union-attr]
    lines = [f'define void @"{tree.name}.packed"(ptr %packed) {{']
    for place, kind in enumerate(kinds):
        lines.append(f"%p{place} = getelementptr i64, ptr %packed, i64 {place}")
        lines.append(f"%a{place} = load {kind}, ptr %p{place}")
    arguments = ", ".join(f"{kind} %a{place}" for place, kind in enumerate(kinds))
    result = result_type(tree, precision)
    call = f"call {result} @{tree.name}({arguments})"
    return "\n  ".join([*lines, call if result == "void" else f"%result = {call}", "ret void"]) + "\n}\n"


@once
def sources() -> str:
    """A digest of everything that the machine code is made from."""
    home = Path(__file__).parent.parent.parent
    files = sorted([*home.glob("*.py"), *(home / "engines").rglob("*.py")])
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
