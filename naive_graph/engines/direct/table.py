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

# Of a rule with so many operands, and of one that takes any number of them: their values, and what writes all partials.
VALUE = """
def value{number}(xs: Floats, count: int) -> float:
    return value({operands})
"""
PARTIALS = """
def partials{number}(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    {lines}
"""
IF_WANTED = "if wanted[{k}]:\n        partials[{k}] = slope{k}({operands}, y)"
OF_ANY_NUMBER = {
    "add": "for i in range(count):\n        partials[i] = 1.0",
    "mul": "products_of_others(xs, count, partials)",
    "logsumexp": "softmax_shares(xs, count, partials)",
    "softmax_share": """partials[0] = y
    softmax_shares(xs[1:], count - 1, partials[1:])
    for i in range(1, count):
        partials[i] *= -y""",
}
CALLED: dict[str, tuple[Callable[..., float], int]] = {  # by the loops: functions of so many numbers
    "below_one": (ieee.below_one, 1), "div": (ieee.div, 2), "exp_below": (ieee.exp_below, 2),
    "maximum": (ieee.maximum, 2), "math.log1p": (math.log1p, 1),
}  # fmt: skip


class Table:
    """Addresses of all rules known so far; 0 where a rule was not met yet."""

    def __init__(self) -> None:
        self.addresses, self.arities, self.merging = array("q"), array("i"), array("i")
        self.opaque: dict[int, NotCompilable] = {}
        self.libraries: list[Library] = []  # as long as the addresses are in use
        self.lock = RLock()
        self.grow()
        self.enter(compiled(lambda: text(BY_NUMBER[:BUILT_IN]), f"{sources()} rules", True), BY_NUMBER[:BUILT_IN])

    def grow(self) -> None:
        """An entry for every rule that was defined since."""
        with self.lock:
            rules = BY_NUMBER[len(self.arities) :]
            if rules:  # longer copies: machine code may have the addresses of these
                self.addresses = self.addresses + array("q", [x for rule in rules for x in (0, 0, int(rule.selects))])
                self.merging = self.merging + array("i", [int(rule.associative) for rule in rules])
                self.arities = self.arities + array("i", [-1 if rule.arity is None else rule.arity for rule in rules])

    def enter(self, library: Library, rules: Sequence[Rule]) -> None:
        self.libraries.append(library)
        for rule in rules:
            for offset, what in enumerate(("value", "partials")):
                self.addresses[ENTRIES * rule.number + offset] = library.address(f"{what}{rule.number}")

    def learn(self, number: int) -> None:
        """Compile a rule. Raises NotCompilable, again and again, if that cannot be done."""
        rule = BY_NUMBER[number]
        with self.lock:
            if number not in self.opaque:
                try:
                    return self.enter(compiled(text([rule])), [rule])
                except NotCompilable as error:
                    self.opaque[number] = NotCompilable(str(error))  # without its traceback
            raise self.opaque[number]


def text(rules: Sequence[Rule]) -> str:
    """The rules' code, in LLVM's language. Raises NotCompilable for what registers cannot follow."""
    module, loops = Module(), TranslatedModule()
    if any(rule.arity is None for rule in rules):
        loops.known = {
            name: trace_callee(module, name, traceable(function), arity) for name, (function, arity) in CALLED.items()
        }
    for rule in (rule for rule in rules if rule.arity is None):
        add_loops(loops, rule)
    texts = [str(translate_rule(module, rule)) for rule in rules if rule.arity is not None]
    return "\n".join([link_modules(module), str(loops), *texts])


def add_loops(program: TranslatedModule, rule: Rule) -> None:
    """The catalogue's own loops over any number of operands, behind those that it takes by name."""
    if rule.name not in OF_ANY_NUMBER:
        raise NotCompilable(
            f"The operator '{rule.name}' has no loop over its operands. Write one in engines/direct/table.py."
        )
    first = rule.value.__code__.co_argcount
    operands = [*(f"xs[{k}]" for k in range(first)), f"xs[{first}:]", f"count - {first}"]
    program.add_source(VALUE.format(number=rule.number, operands=", ".join(operands)), {"value": rule.value})
    lines = PARTIALS.format(number=rule.number, lines=OF_ANY_NUMBER[rule.name])
    program.add_source(lines, {**vars(catalogue), **vars(ieee)})


def translate_rule(module: Module, rule: Rule) -> TranslatedModule:
    """A rule's value and its partials, each called with the operands that lie in a row."""
    assert rule.arity is not None and not callable(rule.partials)
    operands = ", ".join(f"xs[{k}]" for k in range(rule.arity))
    with compiling([rule]):
        callees = {"value": trace_callee(module, f"value of {rule.name}", rule, rule.arity)}
        for k, slope in enumerate(rule.partials):
            if slope is not None:
                callees[f"slope{k}"] = trace_callee(module, f"slope {k} of {rule.name}", slope, rule.arity + 1)
    lines = [
        IF_WANTED.format(k=k, operands=operands) if f"slope{k}" in callees else f"wanted[{k}] = 0"
        for k in range(rule.arity)
    ]
    program = TranslatedModule(callees)
    program.add_source(VALUE.format(number=rule.number, operands=operands))
    program.add_source(PARTIALS.format(number=rule.number, lines="\n    ".join(lines)))
    return program


def trace_callee(module: Module, name: str, function: Callable[..., Any], arity: int) -> Callee:
    """A function of numbers, as loops call it."""
    return Callee(module.define(name, function, arity), ["double"] * arity, "double")
