"""Straight-line code run again and again, with what a run hands to the next one in registers.

A run reads leaves from its memory and writes results. In the loop both are
variables of its own, at places that are known, so LLVM makes registers of them:
what took a store, a load and the wait between them is then nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from .precision import DOUBLE, Precision

MOST_REGISTERS = 256  # floats; a larger memory is used as it lies

# The same over a memory of any size: what is handed on is read from a table.
LONG = """
@moves = private constant [{count} x [2 x i64]] [{moves}]
define void @again(ptr %values, ptr %results, ptr %memory, i64 %steps, ptr noalias %history) {{
  br label %step
step:
  %done = phi i64 [ 0, %0 ], [ %next, %end ]
  call void @run(ptr %values, ptr %results, ptr %memory)
  %watched.at = getelementptr {real}, ptr %results, i64 {watched}
  %watched = load {real}, ptr %watched.at
  %place = getelementptr {real}, ptr %history, i64 %done
  store {real} %watched, ptr %place
  br label %move
move:
  %k = phi i64 [ 0, %step ], [ %k1, %move ]
  %pair = getelementptr [2 x i64], ptr @moves, i64 %k
  %from.at = load i64, ptr %pair
  %to.where = getelementptr i64, ptr %pair, i64 1
  %to.at = load i64, ptr %to.where
  %from = getelementptr {real}, ptr %results, i64 %from.at
  %moved = load {real}, ptr %from
  %to = getelementptr {real}, ptr %memory, i64 %to.at
  store {real} %moved, ptr %to
  %k1 = add i64 %k, 1
  %more = icmp slt i64 %k1, {count}
  br i1 %more, label %move, label %end
end:
  %next = add i64 %done, 1
  %going = icmp slt i64 %next, %steps
  br i1 %going, label %step, label %out
out:
  ret void
}}
"""


def loop(
    moves: Sequence[tuple[int, int]], watched: int, results: int, memory: int, precision: Precision = DOUBLE
) -> str:
    """The function @again, which calls @run for so many steps.

    moves: after a run, the result at the first place becomes what the memory
    holds at the second one. watched: the result whose history is kept. results,
    memory: how many floats there are of each. The memory also holds words of 64
    bits: half of such a word is copied like a float, and no bit of it changes.

    >>> print(loop([(1, 0)], 0, 2, 1))
    define void @again(ptr %values, ptr %results, ptr %memory, i64 %steps, ptr noalias %history) {
      %found = alloca double, i64 2, align 8
      %own = alloca double, i64 1, align 8
      %given.0 = getelementptr double, ptr %memory, i64 0
      %start.0 = load double, ptr %given.0
      %own.0 = getelementptr double, ptr %own, i64 0
      store double %start.0, ptr %own.0
      br label %step
    step:
      %done = phi i64 [ 0, %0 ], [ %next, %step ]
      call void @run(ptr %values, ptr %found, ptr %own) alwaysinline
      %watched.at = getelementptr double, ptr %found, i64 0
      %watched = load double, ptr %watched.at
      %place = getelementptr double, ptr %history, i64 %done
      store double %watched, ptr %place
      %from.0 = getelementptr double, ptr %found, i64 1
      %moved.0 = load double, ptr %from.0
      %to.0 = getelementptr double, ptr %own, i64 0
      store double %moved.0, ptr %to.0
      %next = add i64 %done, 1
      %going = icmp slt i64 %next, %steps
      br i1 %going, label %step, label %out
    out:
      %left.0 = getelementptr double, ptr %own, i64 0
      %last.0 = load double, ptr %left.0
      %back.0 = getelementptr double, ptr %memory, i64 0
      store double %last.0, ptr %back.0
      ret void
    }
    <BLANKLINE>
    """
    real = precision.type
    if memory > MOST_REGISTERS or results > MOST_REGISTERS:
        table = ", ".join(f"[2 x i64] [i64 {source}, i64 {target}]" for source, target in moves)
        return LONG.format(count=len(moves), moves=table, watched=watched, real=real)
    lines = [f"%found = alloca {real}, i64 {results}, align 8", f"%own = alloca {real}, i64 {memory}, align 8"]
    for at in range(memory):
        lines += _copy("given", "start", "%memory", at, "own", "%own", at, at, real)
    lines += ["br label %step", "step:", "%done = phi i64 [ 0, %0 ], [ %next, %step ]"]
    lines += ["call void @run(ptr %values, ptr %found, ptr %own) alwaysinline"]
    lines += [
        f"%watched.at = getelementptr {real}, ptr %found, i64 {watched}",
        f"%watched = load {real}, ptr %watched.at",
    ]
    lines += [f"%place = getelementptr {real}, ptr %history, i64 %done", f"store {real} %watched, ptr %place"]
    for k, (source, target) in enumerate(moves):
        lines += _copy("from", "moved", "%found", source, "to", "%own", target, k, real)
    lines += ["%next = add i64 %done, 1", "%going = icmp slt i64 %next, %steps"]
    lines += ["br i1 %going, label %step, label %out", "out:"]
    for k, (_, target) in enumerate(moves):
        lines += _copy("left", "last", "%own", target, "back", "%memory", target, k, real)
    head = "define void @again(ptr %values, ptr %results, ptr %memory, i64 %steps, ptr noalias %history) {"
    return "\n".join([head, *(line if line.endswith(":") else f"  {line}" for line in [*lines, "ret void"]), "}\n"])


def _copy(at: str, name: str, source: str, place: int, to: str, target: str, goal: int, k: int, real: str) -> list[str]:
    """One float from a place of an array to a place of another."""
    return [
        f"%{at}.{k} = getelementptr {real}, ptr {source}, i64 {place}",
        f"%{name}.{k} = load {real}, ptr %{at}.{k}",
        f"%{to}.{k} = getelementptr {real}, ptr {target}, i64 {goal}",
        f"store {real} %{name}.{k}, ptr %{to}.{k}",
    ]
