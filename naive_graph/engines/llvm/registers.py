"""What machines do with whole registers and the subset of Python has no word for, in LLVM's language.

Each text is a function of its own. What kernels call stands in `tape/sums.py` too,
under the same name, as the plain Python that it stands for.
"""

from __future__ import annotations


def sum_lanes(real: str, lanes: int) -> str:
    """The sum of a register's lanes."""
    vector, reduce = f"<{lanes} x {real}>", f"@llvm.vector.reduce.fadd.v{lanes}{suffix(real)}"
    return f"""
declare {real} {reduce}({real}, {vector})
define internal {real} @sum_lanes({vector} %x) alwaysinline {{
  %sum = call reassoc {real} {reduce}({real} -0.0, {vector} %x)
  ret {real} %sum
}}"""


def add_first(real: str, lanes: int) -> str:
    """Add the first lanes of a register to what lies in memory, or to nothing where that begins."""
    vector, mask, which = f"<{lanes} x {real}>", f"<{lanes} x i1>", "\n  ".join(first("%size", lanes))
    load, store = (f"@llvm.masked.{what}.v{lanes}{suffix(real)}.p0" for what in ("load", "store"))
    return f"""
declare {vector} {load}(ptr, i32, {mask}, {vector})
declare void {store}({vector}, ptr, i32, {mask})
define internal void @add_first(ptr %xs, i64 %at, i64 %size, {vector} %x, i64 %begins) alwaysinline {{
  {which}
  %place = getelementptr {real}, ptr %xs, i64 %at
  %goes.on = icmp eq i64 %begins, 0
  %read = select i1 %goes.on, {mask} %mask, {mask} zeroinitializer
  %nothing = fneg {vector} zeroinitializer
  %old = call {vector} {load}(ptr %place, i32 4, {mask} %read, {vector} %nothing)
  %new = fadd {vector} %old, %x
  call void {store}({vector} %new, ptr %place, i32 4, {mask} %mask)
  ret void
}}"""


def first(size: str, lanes: int) -> list[str]:
    """The instructions for %mask: which lanes are among the first ones, of which there are `size`."""
    places = f"<{lanes} x i64>"
    return [
        f"%one = insertelement {places} poison, i64 {size}, i64 0",
        f"%all = shufflevector {places} %one, {places} poison, <{lanes} x i32> zeroinitializer",
        f"%mask = icmp slt {places} <{numbers(lanes)}>, %all",
    ]


def numbers(lanes: int) -> str:
    """The places of a register: 0, 1, 2 ..."""
    return ", ".join(f"i64 {place}" for place in range(lanes))


def crosswise(real: str, lanes: int) -> str:
    """As many rows as a register has lanes, laid down sample by sample: first of all rows the first sample."""
    vector, head = f"<{lanes} x {real}>", "ptr %xs, ptr %code, i64 %slots, i64 %rows, i64 %width, i64 %i, i64 %at"
    lines = ["%last = sub i64 %rows, 1", f"%to = getelementptr {real}, ptr %xs, i64 %at"]
    for k in range(lanes):
        lines += [
            f"%m{k} = call i64 @llvm.smin.i64(i64 %last, i64 {k})",
            f"%n{k} = add i64 %slots, %m{k}",
            f"%c{k} = getelementptr i32, ptr %code, i64 %n{k}",
            f"%s{k} = load i32, ptr %c{k}",
            f"%t{k} = sext i32 %s{k} to i64",
            f"%u{k} = mul i64 %t{k}, %width",
            f"%v{k} = add i64 %u{k}, %i",
            f"%p{k} = getelementptr {real}, ptr %xs, i64 %v{k}",
            f"%r1.{k} = load {vector}, ptr %p{k}, align 4",
        ]
    lines += turned(vector, lanes)
    for k in range(lanes):
        lines.append(f"%q{k} = getelementptr {real}, ptr %to, i64 {k * lanes}")
        lines.append(f"store {vector} %r{lanes}.{k}, ptr %q{k}, align 4")
    body = "\n  ".join([*lines, "ret void"])
    return (
        f"declare i64 @llvm.smin.i64(i64, i64)\ndefine internal void @crosswise({head}) alwaysinline {{\n  {body}\n}}"
    )


def turned(vector: str, lanes: int) -> list[str]:
    """The instructions that turn the square of registers %r1.0, %r1.1 ...: %r{lanes}.k is its k-th column.

    Neighbours change places, then pairs, then fours: three steps for eight rows.
    """
    lines, size = [], 1
    while size < lanes:
        for k in range(lanes):
            rows = f"{vector} %r{size}.{k & ~size}, {vector} %r{size}.{k | size}"
            places = [(lane & ~size) + (k & size) + (lanes if lane & size else 0) for lane in range(lanes)]
            mask = ", ".join(f"i32 {place}" for place in places)
            lines.append(f"%r{2 * size}.{k} = shufflevector {rows}, <{lanes} x i32> <{mask}>")
        size *= 2
    return lines


def unusual(real: str, lanes: int) -> str:
    """0.0 if so many floats are finite, else NaN: x - x is 0 unless x is infinite or NaN. Whole registers are read."""
    vector, reduce = f"<{lanes} x {real}>", f"@llvm.vector.reduce.fadd.v{lanes}{suffix(real)}"
    return f"""
declare {real} {reduce}({real}, {vector})
define internal {real} @unusual(ptr %xs, i64 %size) {{
begin:
  br label %test
test:
  %i = phi i64 [0, %begin], [%next, %one]
  %sum = phi {vector} [zeroinitializer, %begin], [%more, %one]
  %on = icmp slt i64 %i, %size
  br i1 %on, label %one, label %end
one:
  %at = getelementptr {real}, ptr %xs, i64 %i
  %x = load {vector}, ptr %at, align 4
  %nothing = fsub {vector} %x, %x
  %more = fadd {vector} %sum, %nothing
  %next = add i64 %i, {lanes}
  br label %test
end:
  %found = call reassoc {real} {reduce}({real} 0.0, {vector} %sum)
  ret {real} %found
}}"""


def suffix(real: str) -> str:
    """How LLVM's names call a type."""
    return {"double": "f64", "float": "f32"}[real]


def known(real: str, lanes: int) -> dict[str, tuple[str, list[str], str]]:
    """The functions of this file: name -> (full name, the types of its operands, of its result)."""
    vector = f"<{lanes} x {real}>"
    return {
        "sum_lanes": ("sum_lanes", [vector], real),
        "add_first": ("add_first", ["ptr", "i64", "i64", vector, "i64"], "void"),
        "crosswise": ("crosswise", ["ptr", "ptr", *["i64"] * 5], "void"),
    }


def texts(real: str, lanes: int) -> str:
    return "\n".join(write(real, lanes) for write in (sum_lanes, add_first, crosswise))
