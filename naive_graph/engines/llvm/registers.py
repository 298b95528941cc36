"""What machines do with whole registers and the subset of Python has no word for, in LLVM's language.

Each text is a function of its own. What kernels call stands in `tape/sums.py` too,
under the same name, as the plain Python that it stands for.
"""

from __future__ import annotations

from .typed import LANES, MASK, VECTOR, Callee


def sum_lanes() -> str:
    """The sum of a register's lanes."""
    reduce = f"@llvm.vector.reduce.fadd.v{LANES}f64"
    return f"""
declare double {reduce}(double, {VECTOR})
define internal double @sum_lanes({VECTOR} %x) alwaysinline {{
  %sum = call reassoc double {reduce}(double -0.0, {VECTOR} %x)
  ret double %sum
}}"""


def add_first() -> str:
    """Add the first lanes of a register to what lies in memory, or to nothing where that begins."""
    places, numbers = f"<{LANES} x i64>", ", ".join(f"i64 {place}" for place in range(LANES))
    load, store = (f"@llvm.masked.{what}.v{LANES}f64.p0" for what in ("load", "store"))
    return f"""
declare {VECTOR} {load}(ptr, i32, {MASK}, {VECTOR})
declare void {store}({VECTOR}, ptr, i32, {MASK})
define internal void @add_first(ptr %xs, i64 %at, i64 %size, {VECTOR} %x, i64 %begins) alwaysinline {{
  %one = insertelement {places} poison, i64 %size, i64 0
  %all = shufflevector {places} %one, {places} poison, <{LANES} x i32> zeroinitializer
  %mask = icmp slt {places} <{numbers}>, %all
  %place = getelementptr double, ptr %xs, i64 %at
  %goes.on = icmp eq i64 %begins, 0
  %read = select i1 %goes.on, {MASK} %mask, {MASK} zeroinitializer
  %nothing = fneg {VECTOR} zeroinitializer
  %old = call {VECTOR} {load}(ptr %place, i32 4, {MASK} %read, {VECTOR} %nothing)
  %new = fadd {VECTOR} %old, %x
  call void {store}({VECTOR} %new, ptr %place, i32 4, {MASK} %mask)
  ret void
}}"""


def gathered() -> str:
    """Numbers from where the entries of an index say; side by side, if the first entry is -1 - slot."""
    gather, all_of = f"@llvm.masked.gather.v{LANES}f64.v{LANES}p0", ", ".join(["i1 true"] * LANES)
    return f"""
declare {VECTOR} {gather}(<{LANES} x ptr>, i32, {MASK}, {VECTOR})
define internal {VECTOR} @gathered(ptr %xs, ptr %index, i64 %at) alwaysinline {{
  %where = getelementptr i32, ptr %index, i64 %at
  %entry = load i32, ptr %where
  %beside = icmp slt i32 %entry, 0
  br i1 %beside, label %near, label %far
near:
  %slot = xor i32 %entry, -1
  %line = getelementptr double, ptr %xs, i32 %slot
  %both = load {VECTOR}, ptr %line, align 8
  ret {VECTOR} %both
far:
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


def crosswise() -> str:
    """As many rows as a register has lanes, laid down sample by sample: first of all rows the first sample."""
    head = "ptr %xs, ptr %code, i64 %slots, i64 %rows, i64 %width, i64 %i, i64 %at"
    lines = ["%last = sub i64 %rows, 1", "%to = getelementptr double, ptr %xs, i64 %at"]
    for k in range(LANES):
        lines += [
            f"%m{k} = call i64 @llvm.smin.i64(i64 %last, i64 {k})",
            f"%n{k} = add i64 %slots, %m{k}",
            f"%c{k} = getelementptr i32, ptr %code, i64 %n{k}",
            f"%s{k} = load i32, ptr %c{k}",
            f"%t{k} = sext i32 %s{k} to i64",
            f"%u{k} = mul i64 %t{k}, %width",
            f"%v{k} = add i64 %u{k}, %i",
            f"%p{k} = getelementptr double, ptr %xs, i64 %v{k}",
            f"%r1.{k} = load {VECTOR}, ptr %p{k}, align 4",
        ]
    lines += turned()
    for k in range(LANES):
        lines.append(f"%q{k} = getelementptr double, ptr %to, i64 {k * LANES}")
        lines.append(f"store {VECTOR} %r{LANES}.{k}, ptr %q{k}, align 4")
    body = "\n  ".join([*lines, "ret void"])
    return (
        f"declare i64 @llvm.smin.i64(i64, i64)\ndefine internal void @crosswise({head}) alwaysinline {{\n  {body}\n}}"
    )


def turned() -> list[str]:
    """The instructions that turn the square of registers %r1.0, %r1.1 ...: %r{LANES}.k is its k-th column.

    Neighbours change places, then pairs, then fours: three steps for eight rows.
    """
    lines, size = [], 1
    while size < LANES:
        for k in range(LANES):
            rows = f"{VECTOR} %r{size}.{k & ~size}, {VECTOR} %r{size}.{k | size}"
            places = [(lane & ~size) + (k & size) + (LANES if lane & size else 0) for lane in range(LANES)]
            mask = ", ".join(f"i32 {place}" for place in places)
            lines.append(f"%r{2 * size}.{k} = shufflevector {rows}, <{LANES} x i32> <{mask}>")
        size *= 2
    return lines


def known() -> dict[str, Callee]:
    """What the subset of Python may call of this file."""
    found = (
        Callee("sum_lanes", [VECTOR], "double", sum_lanes()),
        Callee("add_first", ["ptr", "i64", "i64", VECTOR, "i64"], "void", add_first()),
        Callee("gathered", ["ptr", "ptr", "i64"], VECTOR, gathered()),
        Callee("lane", [VECTOR, "i64"], "double", lane()),
        Callee("crosswise", ["ptr", "ptr", *["i64"] * 5], "void", crosswise()),
    )
    return {each.name: each for each in found}
