"""Expressions: nodes that are planned and simplified before any row is written.

A derivative graph that is written straight into the tables is full of `1 * g`
and `x ** 1`. So the sweeps first run over expressions. An expression stands for
a row that exists, or for a rule over other expressions; only what the answer
needs becomes rows. Numbers that formulas bring along stay plain floats.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..core import catalogue
from ..core.number import number
from ..core.origin import learners_frame
from ..core.progress import many
from ..core.rules import Arithmetic, Rule
from ..core.tables import CONSTANT, Tables
from ..core.waiting import operator_entries
from .nodes import Constant, Node
from .registry import handle
from .simplify import LAWS


class Expression(Arithmetic):
    """A node that exists (`_row`), or one that would apply `rule` to `operands`."""

    __slots__ = ("_row", "needed", "number", "operands", "owner", "rule", "serial")

    def __init__(
        self, owner: Expressions, row: int | None = None, rule: Rule | None = None, operands: tuple[Any, ...] = ()
    ) -> None:
        self.owner = owner
        self._row: Any = row
        self.rule = rule
        self.operands = operands
        self.number: float | None = None  # the number of a Constant
        self.needed = False
        self.serial = owner.size + len(owner.planned) if row is None else row

    def apply(self, rule: Rule, *operands: Any) -> Any:
        checked = [x if type(x) in (Expression, float) else number(x, f"'{rule.name}'") for x in operands]
        return self.owner.apply(rule, tuple(checked))


def infix(rule: Rule, reflected: bool = False) -> Callable[[Expression, Any], Any]:
    """The rule between two, as `Arithmetic` has it; between expressions and floats, without checking them again."""

    def applied(self: Expression, other: Any) -> Any:
        pair = (other, self) if reflected else (self, other)
        return self.owner.apply(rule, pair) if type(other) in (Expression, float) else rule(*pair)

    return applied


for _name, _rule in (("add", catalogue.add), ("sub", catalogue.sub), ("mul", catalogue.mul)):
    setattr(Expression, f"__{_name}__", infix(_rule))
    setattr(Expression, f"__r{_name}__", infix(_rule, reflected=True))


class Expressions:
    """All expressions over one graph. Equal applications of a rule are one expression."""

    def __init__(self, tables: Tables) -> None:
        self.tables, self.size = tables, len(tables)
        self.planned: list[Expression] = []  # in an order in which operands come first
        self.memory: dict[int, dict[Any, Expression]] = defaultdict(dict)  # by rule and operands

    def node(self, row: int, rule: Rule | None = None, operands: tuple[Any, ...] = ()) -> Expression:
        """The expression that stands for a node that exists."""
        expression = Expression(self, row, rule, operands)
        if rule is not None:
            self.memory[rule.number][operands] = expression
        elif self.tables.operators[row] == CONSTANT:
            expression.number = self.tables.values[row]
        return expression

    def apply(self, rule: Rule, operands: tuple[Any, ...]) -> Any:
        """The rule over these operands: remembered, simplified, or a new expression."""
        memory, key = self.memory[rule.number], operands
        if 0.0 in operands:  # -0.0 equals it, and is another number
            key = tuple([x.hex() if type(x) is float else x for x in operands])
        expression = memory.get(key)
        if expression is None:
            law = LAWS.get(rule.name)
            simpler = None if law is None else law(*operands)
            if simpler is not None:
                return simpler
            expression = memory[key] = Expression(self, None, rule, operands)
            self.planned.append(expression)
        return expression

    def to_nodes(self, answers: list[Any]) -> list[Node]:
        """The answers as nodes: what they need is appended to the tables, and nothing else; on an error, nothing."""
        return [
            Constant(answer) if isinstance(answer, float) else handle(self.tables, answer)
            for answer in self.rows(answers)
        ]

    def close(self) -> None:
        """Forget the expressions at once: they and this hold each other, and would wait for the garbage collector."""
        self.memory.clear()
        self.planned.clear()

    def rows(self, answers: list[Any]) -> list[int | float]:
        """The row of each answer, written with all that it needs; an answer that is a number stays one."""
        needed, frame = self._collect_needed(answers), learners_frame()
        entries: list[Any] = []
        code, instruction = frame.f_code, frame.f_lasti
        for expression in many(needed, "gradients", len(needed)):
            rule, left = expression.rule, expression.operands[0]
            assert rule is not None  # an expression without a row applies a rule
            is_new = type(left) is float or left._row is None  # a node that exists keeps its operands
            entries += operator_entries(rule.number, expression.operands, code, instruction, expression, is_new)
        self.tables.write_nodes(entries)  # which gives the expressions their rows
        return [answer._row if isinstance(answer, Expression) else answer for answer in answers]

    def _collect_needed(self, answers: Sequence[Any]) -> list[Expression]:
        """The expressions without a row that the answers depend on, operands first."""
        needed = []
        for answer in answers:
            if isinstance(answer, Expression):
                answer.needed = True
        for expression in reversed(self.planned):
            if expression.needed and expression._row is None:
                needed.append(expression)
                for operand in expression.operands:
                    if type(operand) is Expression:
                        operand.needed = True
            expression.needed = False
        return needed[::-1]
