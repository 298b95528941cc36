"""What machines do with whole registers and the subset of Python has no word for, in LLVM's language.

Each text is a function of its own.
"""

from __future__ import annotations

from .typed import LANES, MASK, VECTOR, Callee


def gathered() -> str:
    """Numbers from where the entries of an index say."""
    gather, all_of = f"@llvm.masked.gather.v{LANES}f64.v{LANES}p0", ", ".join(["i1 true"] * LANES)
    return f"""
declare {VECTOR} {gather}(<{LANES} x ptr>, i32, {MASK}, {VECTOR})
define internal {VECTOR} @gathered(ptr %xs, ptr %index, i64 %at) alwaysinline {{
  %where = getelementptr i32, ptr %index, i64 %at
  %rows = load <{LANES} x i32>, ptr %where, align 4
  %places = getelementptr double, ptr %xs, <{LANES} x i32> %rows
  %all = call {VECTOR} {gather}(<{LANES} x ptr> %places, i32 8, {MASK} <{all_of}>, {VECTOR} poison)
  ret {VECTOR} %all
}}"""


def lane() -> str:
    """One lane of a register."""
    return f"""
define internal double @lane({VECTOR} %x, i64 %k) alwaysinline {{
  %one = extractelement {VECTOR} %x, i64 %k
  ret double %one
}}"""


def known() -> dict[str, Callee]:
    """What the subset of Python may call of this file."""
    found = (
        Callee("gathered", ["ptr", "ptr", "i64"], VECTOR, gathered()),
        Callee("lane", [VECTOR, "i64"], "double", lane()),
    )
    return {each.name: each for each in found}
