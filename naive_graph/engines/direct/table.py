"""The rules as a table of addresses, by the number of the operator: a kernel calls them without knowing them.

An entry is where the value's code starts, where that of the partials does, and
whether the rule selects. The catalogue's rules are compiled together, once; a
learner's own rule alone, when it is first met.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any

from ...core.catalogue import BUILT_IN
from ...core.ieee import below_one, exp_below, log1p, maximum
from ...core.rules import BY_NUMBER, Rule
from ..llvm import tracing
from ..llvm.compile import Library, compiled
from ..llvm.emit import Opaque, opaque
from ..llvm.functions import Module, together
from ..llvm.machine import sources
from ..llvm.python import TranslatedModule
from ..llvm.typed import Callee, Floats, Ints
from .kernel import ENTRIES

VALUE = """define double @"{name} value"(ptr %xs, i64 %count) {{
{loads}
  %result = call double @"{full}"({operands})
  ret double %result
}}"""
PARTIALS = """define void @"{name} partials"(ptr %xs, i64 %count, double %y, ptr %wanted, ptr %partials) {{
{loads}
{each}
  ret void
}}"""
ONE_PARTIAL = """  %w{k} = getelementptr i32, ptr %wanted, i64 {k}
  %a{k} = load i32, ptr %w{k}
  %asked{k} = icmp ne i32 %a{k}, 0
  br i1 %asked{k}, label %give{k}, label %next{k}
give{k}:
  %partial{k} = call double @"{full}"({operands}, double %y)
  %to{k} = getelementptr double, ptr %partials, i64 {k}
  store double %partial{k}, ptr %to{k}
  br label %next{k}
next{k}:"""
NO_PARTIAL = "  %w{k} = getelementptr i32, ptr %wanted, i64 {k}\n  store i32 0, ptr %w{k}"


class Table:
    """Addresses of all rules known so far; 0 where a rule was not met yet."""

    def __init__(self) -> None:
        self.addresses, self.arities = array("q"), array("i")
        self.opaque: dict[int, Opaque] = {}
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
                self.arities = self.arities + array("i", [-1 if each.arity is None else each.arity for each in rules])

    def enter(self, library: Library, rules: Sequence[Rule]) -> None:
        self.libraries.append(library)
        for rule in rules:
            for place, what in enumerate(("value", "partials")):
                self.addresses[ENTRIES * rule.number + place] = library.address(f"{rule.name} {what}")

    def learn(self, number: int) -> None:
        """Compile a rule. Raises Opaque, again and again, if that cannot be done."""
        rule = BY_NUMBER[number]
        with self.lock:
            if number not in self.opaque:
                try:
                    return self.enter(compiled(text([rule])), [rule])
                except Opaque as error:
                    self.opaque[number] = Opaque(str(error))  # without its traceback
            raise self.opaque[number]


def text(rules: Sequence[Rule]) -> str:
    """The rules' code, in LLVM's language. Raises Opaque for what registers cannot follow."""
    module, program = Module(), TranslatedModule()
    if any(rule.arity is None for rule in rules):
        for name, (function, arity) in KNOWN.items():
            full = module.define(name, tracing.in_registers(function), arity)
            program.known[name] = Callee(full, ["double"] * arity, "double")
    wrapped = [looped(program, rule) if rule.arity is None else written(module, rule) for rule in rules]
    return "\n".join([together(module), str(program), *wrapped])


def looped(program: TranslatedModule, rule: Rule) -> str:
    """The loops of a rule of any number of operands, under the names that rules have here."""
    if rule.name not in LOOPS:
        raise Opaque(f"The operator '{rule.name}' has no loop over its operands. Write one in engines/direct/table.py.")
    value, partials = (program.add(each) for each in LOOPS[rule.name])
    return f'@"{rule.name} value" = alias i8, ptr @{value}\n@"{rule.name} partials" = alias i8, ptr @{partials}'


def written(module: Module, rule: Rule) -> str:
    """A rule's value and its partials, each called with the operands that lie in a row."""
    assert rule.arity is not None and not callable(rule.partials)
    loads = "\n".join(
        f"  %p{k} = getelementptr double, ptr %xs, i64 {k}\n  %x{k} = load double, ptr %p{k}" for k in range(rule.arity)
    )
    operands = ", ".join(f"double %x{k}" for k in range(rule.arity))
    each = [
        NO_PARTIAL.format(k=k)
        if slope is None
        else ONE_PARTIAL.format(
            k=k, operands=operands, full=traced(module, rule, f"slope {k} of", slope, rule.arity + 1)
        )
        for k, slope in enumerate(rule.partials)
    ]
    full = traced(module, rule, "", rule, rule.arity)
    value = VALUE.format(name=rule.name, loads=loads, full=full, operands=operands)
    return f"{value}\n{PARTIALS.format(name=rule.name, loads=loads, each=chr(10).join(each))}"


def traced(module: Module, rule: Rule, what: str, function: Callable[..., Any], arity: int) -> str:
    try:
        return module.define(f"{what} {rule.name}", function, arity)
    except Exception as error:  # whatever a learner's function does when it meets registers
        raise opaque(rule, error) from error


KNOWN: dict[str, tuple[Callable[..., float], int]] = {  # what the loops call
    "below_one": (below_one, 1), "exp_below": (exp_below, 2), "log1p": (log1p, 1), "maximum": (maximum, 2),
}  # fmt: skip


def add_value(xs: Floats, count: int) -> float:
    total = xs[0]
    for i in range(1, count):
        total += xs[i]
    return total


def add_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    for i in range(count):
        partials[i] = 1.0


def mul_value(xs: Floats, count: int) -> float:
    product = xs[0]
    for i in range(1, count):
        product *= xs[i]
    return product


def mul_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    """The product of the others: of those before, then of those after."""
    before, after = xs[0], xs[count - 1]
    for i in range(1, count):
        partials[i] = before
        before *= xs[i]
    for i in range(count - 2, 0, -1):
        partials[i] *= after
        after = xs[i] * after
    partials[0] = after if count > 1 else 1.0


def logsumexp_value(xs: Floats, count: int) -> float:
    top = largest(xs, 0, count)
    if top - top != 0.0:
        return top
    rest, ties = 0.0, -1.0
    for i in range(count):
        e = exp_below(xs[i], top)
        part = below_one(e)
        rest += e * part
        ties += 1.0 - part
    return top + log1p(rest + ties)


def logsumexp_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    shares(xs, 0, count, 1.0, partials)


def softmax_share_value(xs: Floats, count: int) -> float:
    top = largest(xs, 0, count)
    return exp_below(xs[0], top) / exponentials(xs, 1, count, top) if top == top else top


def softmax_share_partials(xs: Floats, count: int, y: float, wanted: Ints, partials: Floats) -> None:
    partials[0] = y
    shares(xs, 1, count, -y, partials)


def largest(xs: Floats, first: int, count: int) -> float:
    top = -1e999
    for i in range(first, count):
        top = maximum(top, xs[i])
    return top


def exponentials(xs: Floats, first: int, count: int, top: float) -> float:
    total = 0.0
    for i in range(first, count):
        total += exp_below(xs[i], top)
    return total


def shares(xs: Floats, first: int, count: int, factor: float, partials: Floats) -> None:
    """factor times each operand's share of the sum of all exponentials."""
    top = largest(xs, first, count)
    total = exponentials(xs, first, count, top)
    for i in range(first, count):
        partials[i] = factor * (exp_below(xs[i], top) / total if top == top else top)


LOOPS = {
    "add": (add_value, add_partials), "mul": (mul_value, mul_partials),
    "logsumexp": (logsumexp_value, logsumexp_partials), "softmax_share": (softmax_share_value, softmax_share_partials),
}  # fmt: skip
