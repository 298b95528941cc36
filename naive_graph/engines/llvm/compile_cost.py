"""How long LLVM will take for a text, told before it is asked: nothing interrupts it, and a Ctrl-C waits for its end.

>>> HALF = '''define double @half(double %x) {
...   %y = fmul double %x, 0.5
...   ret double %y
... }'''
>>> weight(HALF, optimised=True)
4
>>> check(HALF)

Without its optimiser LLVM takes some 15 us for an instruction, and as much for
a few operands of a call. The optimiser writes functions out where they are
called, so there a function counts once for each call that leads to it.
"""

from __future__ import annotations

import re

from .emit import Opaque

MOST = 50_000  # instructions: some 0.7 s
MOST_OPTIMISED, MOST_WRITTEN_OUT = 6_000, 250_000  # some 0.7 s each
HEAD = re.compile(r'^define ([^@]*)@"?([^"(]+)"?\(', re.MULTILINE)
CALL = re.compile(r'call [^@\n]*@"?([^"(\n]+)"?\(([^\n]*)\)')
OPERAND = 4  # an operand of a call is as much work as so many instructions


def can_be_optimised(text: str) -> bool:
    """Whether LLVM's optimiser is done with the text within a second."""
    return weight(text, False) <= MOST_OPTIMISED and weight(text, True) <= MOST_WRITTEN_OUT


def check(text: str) -> None:
    """Raise Opaque where even without its optimiser LLVM would take over a second."""
    found = weight(text, False)
    if found > MOST:
        raise Opaque(f"Code of some {found:,} instructions keeps LLVM for too long; {MOST:,} is the most.")


def weight(text: str, optimised: bool) -> int:
    """How many instructions LLVM works on, all told."""
    heads = list(HEAD.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    own: dict[str, int] = {}
    called: dict[str, list[str]] = {}
    for head, end in zip(heads, ends):
        body = text[head.start() : end]
        calls = CALL.findall(body)
        called[head[2]] = [name for name, _ in calls]
        own[head[2]] = body.rstrip().count("\n") + 1 + OPERAND * sum(given.count(",") + 1 for _, given in calls)
    if not optimised:
        return sum(own.values())
    grown: dict[str, int] = {}
    for name in _callees_first(called):
        grown[name] = own[name] + sum(grown.get(each, 0) for each in called[name])
    return sum(grown[head[2]] for head in heads if "internal" not in head[1])


def _callees_first(called: dict[str, list[str]]) -> list[str]:
    """All functions, each behind those that it calls; in a circle some come before."""
    order: dict[str, None] = {}
    begun: set[str] = set()
    waiting = [(name, False) for name in called]
    while waiting:
        name, done = waiting.pop()
        if done:
            order[name] = None
        elif name in called and name not in begun:
            begun.add(name)
            waiting.append((name, True))
            waiting.extend((each, False) for each in called[name])
    return list(order)
