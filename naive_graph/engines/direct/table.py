"""A dispatch table of compiled rules, by operator number: the addresses through which kernels call any rule.

An entry has three numbers: the address of the value function, that of the partials, and
whether the rule selects a branch. The catalogue's rules are compiled together, once; a
learner's own rule is compiled when it is first used.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

from ...core import catalogue, ieee
from ...core.catalogue import BUILT_IN
from ...core.rules import BY_NUMBER, Rule
from ..llvm.compile import Library, compiled
from ..llvm.emit import NotCompilable, compiling, traceable
from ..llvm.functions import Module, link_modules
from ..llvm.machine import sources
from ..llvm.python import TranslatedModule
from ..llvm.values import Callee
from .kernel import ENTRIES

# Sources, in the Python subset, of the two functions of a table entry: the value of a rule, and all its partials.
VALUE_SOURCE = """
def value{number}(xs: Floats, count: int) -> float:
    return value({operands})
"""
PARTIALS_SOURCE = """
def partials{number}(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    {lines}
"""
PARTIAL_IF_WANTED = "if wanted[{k}]:\n        partials[{k}] = slope{k}({operands}, y)"
# The bodies of `partials` of rules with any number of operands, by the rule's name.
PARTIAL_LOOPS = {
    "add": "for i in range(count):\n        partials[i] = 1.0",
    "mul": "products_of_others(xs, count, partials)",
    "logsumexp": "softmax_shares(xs, count, partials)",
    "softmax_share": """partials[0] = y
    softmax_shares(xs[1:], count - 1, partials[1:])
    for i in range(1, count):
        partials[i] *= -y""",
}
LOOP_CALLEES: dict[str, tuple[Callable[..., float], int]] = {  # functions that these loops call, and their arities
    "below_one": (ieee.below_one, 1), "div": (ieee.div, 2), "exp_below": (ieee.exp_below, 2),
    "maximum": (ieee.maximum, 2), "math.log1p": (math.log1p, 1),
}  # fmt: skip


class Table:
    """Addresses of all rules; 0 for a rule that is not compiled yet.

    arities: for each rule its number of operands, -1 for any number. merging: whether `(a + b) + c` becomes one sum.
    """

    def __init__(self) -> None:
        self.addresses, self.arities, self.merging = array("q"), array("i"), array("i")
        self.not_compilable: dict[int, NotCompilable] = {}  # by rule
        self.libraries: list[Library] = []  # kept alive: the addresses point into them
        self.lock = RLock()
        self.grow()
        self.enter(compiled(lambda: text(BY_NUMBER[:BUILT_IN]), f"{sources()} rules", True), BY_NUMBER[:BUILT_IN])

    def grow(self) -> None:
        """Add an entry for each rule that was defined since the last call."""
        with self.lock:
            rules = BY_NUMBER[len(self.arities) :]
            if rules:  # new, longer arrays: running machine code may still read the old ones
                self.addresses = self.addresses + array("q", [x for rule in rules for x in (0, 0, int(rule.selects))])
                self.merging = self.merging + array("i", [int(rule.associative) for rule in rules])
                self.arities = self.arities + array("i", [-1 if rule.arity is None else rule.arity for rule in rules])

    def enter(self, library: Library, rules: Sequence[Rule]) -> None:
        """Enter the addresses of rules that a library has."""
        self.libraries.append(library)
        for rule in rules:
            for offset, part in enumerate(("value", "partials")):
                self.addresses[ENTRIES * rule.number + offset] = library.address(f"{part}{rule.number}")

    def learn(self, number: int) -> None:
        """Compile a rule, and enter its addresses. Raises NotCompilable, on each call, if that cannot be done."""
        rule = BY_NUMBER[number]
        with self.lock:
            if number not in self.not_compilable:
                try:
                    return self.enter(compiled(text([rule])), [rule])
                except NotCompilable as error:
                    self.not_compilable[number] = NotCompilable(str(error))  # without its traceback
            raise self.not_compilable[number]


def text(rules: Sequence[Rule]) -> str:
    """LLVM IR of the rules' values and partials. Raises NotCompilable if a rule cannot be traced."""
    module, loops = Module(), TranslatedModule()
    if any(rule.arity is None for rule in rules):
        loops.known = {
            name: trace_callee(module, name, traceable(callee), arity) for name, (callee, arity) in LOOP_CALLEES.items()
        }
    for rule in (rule for rule in rules if rule.arity is None):
        add_loops(loops, rule)
    texts = [str(translate_rule(module, rule)) for rule in rules if rule.arity is not None]
    return "\n".join([link_modules(module), str(loops), *texts])


def add_loops(program: TranslatedModule, rule: Rule) -> None:
    """Add value and partials of a rule with any number of operands. Raises NotCompilable unless it has a loop."""
    if rule.name not in PARTIAL_LOOPS:
        raise NotCompilable(
            f"The operator '{rule.name}' has no loop over its operands. Write one in engines/direct/table.py."
        )
    named = rule.value.__code__.co_argcount
    operands = [*(f"xs[{k}]" for k in range(named)), f"xs[{named}:]", f"count - {named}"]
    program.add_source(VALUE_SOURCE.format(number=rule.number, operands=", ".join(operands)), {"value": rule.value})
    lines = PARTIALS_SOURCE.format(number=rule.number, lines=PARTIAL_LOOPS[rule.name])
    program.add_source(lines, {**vars(catalogue), **vars(ieee)})


def translate_rule(module: Module, rule: Rule) -> TranslatedModule:
    """The value and partials of a rule with a fixed number of operands, which are read from the array `xs`."""
    assert rule.arity is not None and not callable(rule.partials)
    operands = ", ".join(f"xs[{k}]" for k in range(rule.arity))
    with compiling([rule]):
        callees = {"value": trace_callee(module, f"value of {rule.name}", rule, rule.arity)}
        for k, slope in enumerate(rule.partials):
            if slope is not None:
                callees[f"slope{k}"] = trace_callee(module, f"slope {k} of {rule.name}", slope, rule.arity + 1)
    lines = [
        PARTIAL_IF_WANTED.format(k=k, operands=operands) if f"slope{k}" in callees else f"wanted[{k}] = 0"
        for k in range(rule.arity)
    ]
    program = TranslatedModule(callees)
    program.add_source(VALUE_SOURCE.format(number=rule.number, operands=operands))
    program.add_source(PARTIALS_SOURCE.format(number=rule.number, lines="\n    ".join(lines)))
    return program


def trace_callee(module: Module, name: str, function: Callable[..., Any], arity: int) -> Callee:
    """Trace a function of numbers, so that functions of the Python subset can call it."""
    return Callee(module.define(name, function, arity), ["double"] * arity, "double")
