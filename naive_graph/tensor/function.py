"""The function of an elementwise node: a small scalar graph of its own.

A Python function of numbers is traced once into small tables of scalar operations (as in jax.make_jaxpr);
applied to floats, arrays or blocks of rows it runs the same forward sweep,
and its derivative is appended to the same tables by symbolic differentiation (graph/derive.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from ..core.interpreters.text import formula
from ..core.number import number
from ..core.origin import user_frame_above
from ..core.plan import Plan, plan_for
from ..core.rules import Arithmetic, Rule
from ..core.sweep import evaluate
from ..core.tables import CONSTANT, PLACEHOLDER, Tables
from ..errors import NaiveGraphError, OperandError
from ..graph.derive import derived_expressions


class TraceValue(Arithmetic):
    """A tracer: an argument of the function being traced, or a value computed from arguments."""

    __slots__ = ("row", "tables")

    def __init__(self, tables: Tables, row: int) -> None:
        self.tables = tables
        self.row = row

    def apply(self, rule: Rule, *operands: Any) -> TraceValue:
        rule.check_arity(len(operands))
        rows = [self._row(operand, rule) for operand in operands]
        return TraceValue(self.tables, add_row(self.tables, rule.number, rows))

    def _row(self, operand: Any, rule: Rule) -> int:
        if isinstance(operand, TraceValue) and operand.tables is self.tables:
            return operand.row
        if isinstance(operand, Arithmetic):
            raise OperandError(
                f"'{rule.name}' met {operand!r} inside a function of tensors' elements. Such a function is made of "
                "its arguments and of numbers; give everything else to it as an argument."
            )
        return constant_row(self.tables, number(operand, f"'{rule.name}'"))


def add_row(tables: Tables, kind: int, sources: Sequence[int]) -> int:
    """Append a row to a function's tables. kind: a rule's number or a leaf kind; sources: the operands' rows."""
    frame = user_frame_above()
    return tables.add_row(kind, sources, frame.f_code, frame.f_lasti)


def constant_row(tables: Tables, value: float) -> int:
    row = add_row(tables, CONSTANT, ())
    tables.set_leaf_value(row, value)
    return row


class Function:
    """A function of one or more numbers, as rows of its own small tables.

    >>> from naive_graph import exp
    >>> bell = trace(lambda x: exp(-x * x), 1)
    >>> bell(0.0), bell.derivative(0)(0.0)
    (1.0, -0.0)
    >>> print(bell.derivative(0).formula(["x"]))
    -2*(x*exp(-x*x))
    """

    def __init__(self, tables: Tables, arguments: Sequence[int], result: int) -> None:
        self.tables = tables
        self.arguments = arguments
        self.result = result
        self.slopes: dict[int, Function | float] = {}  # argument position -> derivative, cached

    @property
    def plan(self) -> Plan:
        return plan_for(self.tables, [self.result])

    @property
    def name(self) -> str:
        """The name shown in drawings: a rule's, if the function only applies it to the arguments in order; else "f"."""
        plan = self.plan
        rule = plan.rule(plan.targets[0])
        if rule is None or self.tables.operands(self.result) != list(self.arguments):
            return "f"
        return rule.name

    @property
    def branches(self) -> dict[int, int]:
        """If the function is `where` over its arguments: which of them is the condition (0), and which a branch (1, 2).

        >>> from naive_graph import where
        >>> trace(lambda c, x: where(c, x, 0.0), 2).branches
        {0: 0, 1: 1}
        """
        plan = self.plan
        rule = plan.rule(plan.targets[0])
        if rule is None or not rule.selects:
            return {}
        operands = self.tables.operands(self.result)
        numbered = enumerate(operands)
        branch_of = {self.arguments.index(row): position for position, row in numbered if row in self.arguments}
        is_plain = all(row in self.arguments or self.tables.operators[row] == CONSTANT for row in operands)
        return branch_of if is_plain and operands.count(operands[0]) == 1 and operands[0] in self.arguments else {}

    def __call__(self, *values: Any) -> Any:
        plan, columns = self.plan, self.columns(values)
        evaluate(plan, columns)
        return columns[plan.targets[0]]

    def columns(self, values: Iterable[Any]) -> list[Any]:
        """A value for each row of the plan, arguments and constants: those of rules are computed from them, in order.

        x**2 + 1 has the rows 0: x, 1: 2.0, 2: 1.0, 3: pow(0, 1), 4: add(3, 2), of which the last two are None.
        """
        argument_values = dict(zip(self.arguments, values, strict=True))
        return [argument_values[row] if row in argument_values else self.tables.value(row) for row in self.plan.rows]

    def derivative(self, position: int) -> Function | float:
        """The derivative with respect to one argument, as a Function; a number if it is constant."""
        if position not in self.slopes:
            with self.tables.lock:
                plan = self.plan
                row = self.arguments[position]
                step = plan.rows.index(row) if row in plan.rows else None
                expressions, answers = derived_expressions(self.tables, plan, [step])
                (slope,) = expressions.rows(answers)
            self.slopes[position] = slope if isinstance(slope, float) else Function(self.tables, self.arguments, slope)
        return self.slopes[position]

    def formula(self, names: Sequence[str], style: str = "text") -> str:
        """The function as a formula, with these names for its arguments."""
        with self.tables.lock:
            for row, name in zip(self.arguments, names, strict=True):
                self.tables.names[row] = name
            definitions, text = formula(self.tables, self.plan, style)
        return "; ".join([*(f"{name} = {part}" for name, part in definitions), text])

    def __repr__(self) -> str:
        count = len(self.arguments)
        names = ["x"] if count == 1 else [f"x{position}" for position in range(count)]
        return f"<function {self.formula(names)}>"


def trace(function: Callable[..., Any], arity: int) -> Function:
    """Trace a Python function: call it with `arity` tracers and record the operations. Raises OperandError."""
    tables = Tables()
    arguments = [add_row(tables, PLACEHOLDER, ()) for _ in range(arity)]
    try:
        result = function(*[TraceValue(tables, row) for row in arguments])
    except TypeError as error:
        if isinstance(error, NaiveGraphError):
            raise
        mend = "Write it with naive_graph's functions (naive_graph.sin, not math.sin)"
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            mend = f"Here it is given {arity}: let it take as many as there are tensors"
        raise OperandError(f"A function of tensors' elements cannot be applied: {error}. {mend}.") from error
    if not isinstance(result, TraceValue):
        return Function(tables, arguments, constant_row(tables, number(result, "A function of tensors' elements")))
    return Function(tables, arguments, result.row)


_trace_rule = cache(trace)  # a rule is traced only once


def function_of(what: Callable[..., Any] | Function, arity: int) -> Function:
    """Convert a rule or a Python function to a Function (traced; each rule only once)."""
    if isinstance(what, Function):
        return what
    if not isinstance(what, Rule):
        return trace(what, arity)
    return _trace_rule(what, arity)
