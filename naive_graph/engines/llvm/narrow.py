"""The graph's values, which are float64, rounded to float32 once a run, before blocks of samples read them.

A block loads a value for all of its samples, as any number in memory, in the
instruction that computes with it. A float64 would have to be rounded first, in
every block again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .listing import PARAMETERS

NARROW = """
define internal void @narrow(ptr %from, ptr %to, i64 %count) {
begin:
  br label %test
test:
  %k = phi i64 [0, %begin], [%k.next, %one]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %one, label %end
one:
  %a.at = getelementptr double, ptr %from, i64 %k
  %a = load double, ptr %a.at
  %b = fptrunc double %a to float
  %b.at = getelementptr float, ptr %to, i64 %k
  store float %b, ptr %b.at
  %k.next = add i64 %k, 1
  br label %test
end:
  ret void
}
"""


class Neighbours(NamedTuple):
    """Values that lie side by side: the first one's place, where in scratch it goes, and how many there are."""

    source: int
    place: int
    many: int


def narrowing(name: str, every: Sequence[Neighbours]) -> str:
    """The function of that name, which rounds them all, and what it calls."""
    lines = [f'define internal void @"{name}"({PARAMETERS}) {{']
    for k, (source, place, many) in enumerate(every):
        lines += [
            f"%from{k} = getelementptr double, ptr %values, i64 {source}",
            f"%to{k} = getelementptr float, ptr %scratch, i64 {place}",
            f"call void @narrow(ptr %from{k}, ptr %to{k}, i64 {many})",
        ]
    return NARROW + "\n  ".join([*lines, "ret void"]) + "\n}"
