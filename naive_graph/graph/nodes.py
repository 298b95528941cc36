"""Node classes: Constant, Variable, PlaceHolder and Operator, the objects by which a learner holds rows of the graph.

A node stores its home tables and its row. Its value, gradient and neighbours are
looked up in the tables; at most one node exists for each row, so `is` means
"the same node".
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from math import isfinite
from typing import Any, Never, NoReturn, ParamSpec, TypeGuard, TypeVar

from ..core.catalogue import UNARY
from ..core.did_you_mean import describe_misfit, explain_calls, explains
from ..core.lock import GUARD
from ..core.number import as_list, number, shortened
from ..core.origin import Origin, user_frame_above
from ..core.plan import plan_for
from ..core.rules import BY_NUMBER, RULES, Arithmetic, Rule, rule_named
from ..core.tables import CONSTANT, NEVER, PLACEHOLDER, VARIABLE, Scope, Tables
from ..core.waiting import BEFORE, FULL, NOTHING, operator_entries
from ..errors import ArityError, ForeignNodeError, NodeError, NumberError, NumericError, OperandError, StaleNodeError
from .formatting import Printed, format_tables, generate_code, node_html, summarize_node, write_formula
from .node_factory import CURRENT, KINDS, OPERATOR, append, check_name, handle, register, user_frame
from .refusals import IN_NAIVE, NodeRefusals, refuse_assignment, warn_in_place

P = ParamSpec("P")
R = TypeVar("R")
_getframe, _new = sys._getframe, object.__new__  # faster to look up


def _locked(question: Callable[P, R]) -> Callable[P, R]:
    """Decorator of methods that read the graph: they hold the lock, so no other thread truncates or clears it."""

    question = explains(question)

    @wraps(question)
    def ask(*arguments: P.args, **named: P.kwargs) -> R:
        node: Any = arguments[0]
        home: Tables = node._home
        with home.lock, GUARD:
            return question(*arguments, **named)

    return ask


class _Counter:
    """A counter for a learner's own algorithm: it starts as the degree of that name; the package never reads it."""

    def __init__(self, degree: str) -> None:
        self.degree = degree

    def __get__(self, node: Node, kind: type) -> Any:
        return self if node is None else node.tables.counters.get((self.degree, node._row), getattr(node, self.degree))

    def __set__(self, node: Node, count: int) -> None:
        with node._home.lock, GUARD:
            node.tables.counters[self.degree, node._row] = count


class Node(NodeRefusals):
    """One node of the graph: a Constant, a Variable, a PlaceHolder or an Operator.

    Comparisons: `a > b`, `a < b`, `a >= b` and `a <= b` are nodes, whose value is 1.0 or 0.0,
    so they can be factors, or conditions: `where(a > b, a, b)`. A node has no truth value:
    `if a > b:`, `a < b < c`, `and`, `or` and `not` are refused. Ask the numbers instead,
    `if a.value > b.value:`. `a == b` and `a != b` ask whether a and b are one and the same
    node, True or False, as sets and dictionaries of nodes need it: `3 * (a == b)` is 0 or 3,
    and `x == 2.0` is always False. Whether the values are equal is `equal(a, b)`, a node, or
    `a.value == b.value`.

    Values: `value` is None until `Graph.forward()` has computed it, and `grad` is None until
    `Graph.backward(y)`. Python's error for None in arithmetic (`unsupported operand
    type(s) ... 'NoneType'`) means that this call was left out. Both are those of the last
    run. `grad` is a number, not a function: the derivative of f by x is `gradients(f, x)`.
    """

    __slots__ = ("__weakref__", "_home", "_row")
    _owner = "node"
    _home: Tables
    _row: Any  # None as long as it waits for its row

    def __init__(self, name: str | None = None) -> None:
        """A node of a learner's own class has a value and a gradient, as a Variable."""
        if type(self) is Node:
            raise NodeError("Make a Constant, a Variable, a PlaceHolder or an Operator; a bare Node is neither.")
        register(self, VARIABLE, None, name)

    # --- building ---

    def apply(self, rule: Rule, *operands: Any) -> Any:
        """A new Operator node that applies `rule` to the operands; numbers become Constants."""
        for operand in operands:
            if not isinstance(operand, Node) and isinstance(operand, Arithmetic):
                return NotImplemented  # such as a tensor, which handles nodes itself
        return build(rule, operands)

    def build_edge(self, consumer: Node) -> None:
        """Draw the edge self -> consumer by hand: self becomes the consumer's next operand."""
        home, source = CURRENT.tables, self.row
        if not isinstance(consumer, Operator):
            what = f"a {type(consumer).__name__}" if isinstance(consumer, Node) else shortened(consumer)
            is_derived = isinstance(consumer, Node) and type(consumer) not in KINDS.values()
            hint = f" Derive it from Graph.Operator. {IN_NAIVE}" if is_derived else ""
            raise NodeError(f"An edge leads to an Operator, not to {what}.{hint}")
        target = consumer.row
        rule = BY_NUMBER[home.operators[target]]
        with home.lock, GUARD:
            if rule.arity is not None and home.in_degrees[target] >= rule.arity:
                raise ArityError(f"{home.label(target)} takes {rule.arity} operands and has them all.")
            if rule.associative and ~target in home.sources:  # only these merge; the search takes all edges
                raise NodeError(
                    f"{home.label(target)} was merged into a larger {rule.name}; draw the edge to that node instead."
                )
            home.add_edge(source, target)

    # --- the columns ---

    @property
    def row(self) -> int:
        """The node's row in the tables; its place in `Graph.node_list`."""
        home = self._home
        if home.waiting:
            home.flush()
        if self._home is not CURRENT.tables or home.closed:
            self._refuse()
        row: int = self._row
        return row

    @property
    def tables(self) -> Tables:
        """The tables that the node is a row of."""
        self.row  # noqa: B018 - refuses a stale node
        return self._home

    @property
    def value(self) -> Any:
        """The node's value, a float; None where it was not computed or fed yet."""
        home, row = self._home, self._row
        try:
            if row is not None and home is CURRENT.tables:  # inlined: loops read it again and again
                value = home._values[row] if home._stamps[row] != NEVER else None
                if self._home is home:
                    return value
        except IndexError:  # another thread has truncated the graph
            pass
        with home.lock, GUARD:
            return self.tables.value(self._row)

    @value.setter
    def value(self, value: Any) -> None:
        home = self._home
        if value is None and type(self) not in KINDS.values():
            if isinstance(self, Variable | PlaceHolder):
                raise NumberError(f"{self.tables.label(self._row)} takes a real number, not None. {IN_NAIVE}")
            with home.lock, GUARD:  # a learner's own node class may start so
                self.tables.mark_unset(self._row)
            return
        if type(value) is not float:
            value = number(value, self.tables.label(self._row))
        with home.lock, GUARD:
            self.tables.set_leaf_value(self._row, value)

    @property
    def grad(self) -> Any:
        """The gradient, a float, of the last backward's result; None before any, and for a Constant always."""
        home, row = self._home, self._row
        try:
            if row is not None and home is CURRENT.tables:
                grad = home.grads[row] if home._operators[row] != CONSTANT else None
                if self._home is home:
                    return grad
        except IndexError:  # as above, or there is no gradient yet
            pass
        with home.lock, GUARD:
            return self.tables.grad(self._row)

    @grad.setter
    def grad(self, grad: float) -> None:
        if isinstance(self, Constant):
            raise NodeError(f"{self.tables.label(self._row)} has no gradient. Make it a Variable if it should.")
        checked = number(grad, "A gradient")
        with self.tables.lock, GUARD:
            self._home.grow_grads()
            self._home.grads[self._row] = checked

    @property
    @_locked
    def name(self) -> str | None:
        """What the learner calls the node; None if it was not named."""
        return self.tables.name(self._row)

    @name.setter
    def name(self, name: str | None) -> None:
        check_name(name)
        with self._home.lock, GUARD:
            if name is None:
                self.tables.names.pop(self._row, None)
            else:
                self.tables.names[self._row] = name

    @property
    @_locked
    def last(self) -> list[Node]:
        """The operands in order, one entry for each operand position."""
        return [handle(self._home, row) for row in self.tables.operands(self._row)]

    @property
    @_locked
    def next(self) -> list[Node]:
        """The consumers, one entry for each operand position that this node fills."""
        return [handle(self._home, row) for row in self.tables.consumers(self._row)]

    @property
    @_locked
    def in_deg(self) -> int:
        """How many operand positions the node has filled."""
        return self.tables.in_degrees[self.row]

    @property
    @_locked
    def out_deg(self) -> int:
        """How many operand positions the node fills."""
        return len(self.tables.consumers(self._row))

    in_deg_com = _Counter("in_deg")
    out_deg_com = _Counter("out_deg")

    @property
    @_locked
    def absorbed(self) -> bool:
        """Whether a merged node took this one's operands and nobody else uses it."""
        return self.tables.is_absorbed(self._row)

    @property
    @_locked
    def scope(self) -> Scope | None:
        """The innermost `with scope(...)` that the node was made in."""
        return self.tables.scope(self._row)

    @property
    @_locked
    def origin(self) -> Origin:
        """The line of Python that made the node."""
        return self.tables.origin(self._row)

    # --- reading ---

    @_locked
    def formula(self, style: str = "text") -> str:
        """The node as a formula over its leaves, in "text" (Python) or "tex".

        Parts that are used more than once and long get a line of their own, so
        the text stays linear in the graph.

        >>> from naive_graph import Variable
        >>> x = Variable(6, name="x")
        >>> print(((x - 7) ** 2 + 10).log().formula())
        log((x - 7)**2 + 10)
        """
        return write_formula(self.tables, plan_for(self._home, [self._row]), style)

    @_locked
    def code(self, language: str = "c", wrt: Iterable[Node] | None = None, name: str = "f") -> Printed:
        """The node's value and gradient as a function in "c" or "javascript", with the reference engine's bits.

        wrt: the Variables and PlaceHolders that are its inputs, in this order; by
        default all, as they were made. A Variable that is not among them is written
        as its value. In C it is `void f(const double *inputs, double *value, double
        *gradient)`, to be compiled with -ffp-contract=off; in JavaScript
        `function f(inputs)`, which returns {value, gradient}.
        Raises NodeError for another language, for what is no leaf, for a
        PlaceHolder outside `wrt`, and for an operator that computes in Python.

        >>> from naive_graph import Variable
        >>> x = Variable(3.0, name="x")
        >>> print(((x - 7.0) * x).code("javascript"))
        function f(inputs) {
            const x = inputs[0];
            const t1 = x - 7.0;
            const d_x = t1 + x;
            const value = t1 * x;
            const gradient = [
                d_x,
            ];
            return {value, gradient};
        }
        <BLANKLINE>
        """
        rows = None if wrt is None else rows_of(wrt, "code")
        return generate_code(self.tables, self.row, language, rows, name)

    @_locked
    def table(self) -> Printed:
        """The node and all that it depends on as two tables, of nodes and of edges."""
        return format_tables(self.tables, plan_for(self._home, [self._row]))

    @_locked
    def _repr_html_(self) -> str:
        return node_html(self.tables, plan_for(self._home, [self._row]))

    def get_value(self) -> Any:
        """The value, as a call: the same as `node.value`."""
        return self.value

    # --- how a node is written ---

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        if self.value is None:
            label = self.tables.label(self._row)
            raise NodeError(f"{label} is not computed yet, so it has no digits. Call Graph.forward() first.")
        return format(self.value, spec)

    def __repr__(self) -> str:
        with self._home.lock, GUARD:
            return self._stale_text() or summarize_node(self._home, self.row)

    def __str__(self) -> str:
        return self._stale_text() or repr(self.value)

    def _stale_text(self) -> str:
        is_stale = self._home is not CURRENT.tables or self._home.closed
        return f"<stale {type(self).__name__}>" if is_stale else ""

    def _refuse(self) -> NoReturn:
        kind = type(self).__name__
        with self._home.lock:  # wait for a thread that is clearing the graph: it sets `closed` last
            pass
        if self._home.closed:
            raise StaleNodeError(f"This {kind} belongs to a graph that {self._home.closed}. Build it again.")
        raise ForeignNodeError(
            f"This {kind} belongs to another graph than the current one. "
            "Inside Graph.scratch(), build every node that you use there."
        )


_EXACT = 2**53  # up to here every int is a float


# The three ways by which most nodes are made, inlined for speed: one append.


def _infix(rule: Rule, reflected: bool = False) -> Any:
    """The infix method of a rule, with a fast path for two nodes, or a node and a number.

    reflected: the number comes first, as in 2.0 * x.
    """
    number = rule.number
    apply: Callable[..., Any] = (lambda x, other: rule(other, x)) if reflected else rule

    def operator(self: Node, other: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            raise ArityError("'pow' takes 2 operands, not 3. For the remainder write mod(x ** 2, 5), or x ** 2 % 5.")
        home = CURRENT.tables
        if self._home is not home or home.computes_at_once:
            return apply(self, other)
        if isinstance(other, Node):
            if other._home is not home or reflected:
                return apply(self, other)
            value = None
        else:
            value = other
            if (kind := type(other)) is not float:
                if kind is not int or not -_EXACT <= other <= _EXACT:
                    return apply(self, other)
                value = float(other)
        frame = _getframe(1)
        code = frame.f_code
        if code is not home.code_now:
            frame = user_frame(home, frame)
            code = frame.f_code
        node, instruction = _new(Operator), frame.f_lasti
        node._home, node._row = home, None
        waiting = home.waiting
        if value is None:
            waiting += (number, self, other, 0.0, code, instruction, node)
        else:  # one append of both nodes: no other thread or Ctrl-C can come between them
            left, right = (BEFORE, self) if reflected else (self, BEFORE)
            waiting += (
                CONSTANT, NOTHING, NOTHING, value, code, instruction, None,
                number, left, right, 0.0, code, instruction, node,
            )  # fmt: skip
        if len(waiting) >= FULL:
            home.flush_if_free()
        return node

    return operator


def _method(rule: Rule) -> Any:
    """The rule as a method of nodes, with a fast path."""
    number = rule.number

    def method(self: Node, *more: Any, **named: Any) -> Any:
        if more or named:
            return rule(self, *more, **named)
        home, frame = CURRENT.tables, _getframe(1)
        if self._home is not home or home.computes_at_once:
            return rule(self)
        code = frame.f_code
        if code is not home.code_now:
            frame = user_frame(home, frame)
            code = frame.f_code
        node = _new(Operator)
        node._home, node._row = home, None
        waiting = home.waiting
        waiting += (number, self, NOTHING, 0.0, code, frame.f_lasti, node)
        if len(waiting) >= FULL:
            home.flush_if_free()
        return node

    method.__name__, method.__qualname__ = rule.name, f"Node.{rule.name}"
    method.__doc__ = f"{rule.name}(self), as a node of its own."
    return method


INFIX = {"__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "div", "__pow__": "pow"}
for _sign, _name in INFIX.items():
    setattr(Node, _sign, _infix(RULES[_name]))
    setattr(Node, _sign.replace("__", "__r", 1), _infix(RULES[_name], reflected=True))

for _name in UNARY:
    setattr(Node, _name, _method(RULES[_name]))
Node.__neg__, Node.__abs__ = Node.neg, Node.abs  # type: ignore[method-assign]


class Constant(Node):
    """A number that stays: a value, and no gradient."""

    __slots__ = ()

    def __init__(self, value: float, name: str | None = None) -> None:
        register(self, CONSTANT, number(value, "A Constant"), name)

    def _refuse_value(self, value: object) -> None:
        label = self.tables.label(self._row)
        raise NodeError(f"{label} cannot be set: its value is fixed. Make it a Variable if it should change.")

    value = Node.value.setter(_refuse_value)  # type: ignore[attr-defined]


NO_VALUE: Any = object()  # no argument, as opposed to None, which is a mistake


class Variable(Node):
    """A number that may change: a value and a gradient. Made without a value, it has none until it is set."""

    __slots__ = ()

    def __init__(self, value: Any = NO_VALUE, name: str | None = None, *more: Never, **unknown: Never) -> None:
        if type(value) is not float or name is not None or more or unknown:
            if more or unknown:
                raise describe_misfit(Variable.__init__, (self, value, name, *more), unknown)
            return register(self, VARIABLE, None if value is NO_VALUE else number(value, "A Variable"), name)
        home, frame = CURRENT.tables, _getframe(1)
        code = frame.f_code
        if code is not home.code_now:
            frame = user_frame(home, frame)
            code = frame.f_code
        self._home, self._row = home, None
        waiting = home.waiting
        waiting += (VARIABLE, NOTHING, NOTHING, value, code, frame.f_lasti, self)
        if len(waiting) >= FULL:
            home.flush_if_free()


class PlaceHolder(Node):
    """A number that is fed: no value until `Graph.forward(feed={p: 1.0})` or `p.value = 1.0`."""

    __slots__ = ()

    def __init__(self, name: str | None = None) -> None:
        register(self, PLACEHOLDER, 0.0, name)


class Operator(Variable):
    """A Variable that computes its value from its operands, by the rule of its name.

    Expressions make operators: `x + y` is one. Operator("add") alone has no
    operands yet: draw its edges with `a.build_edge(operator)`.
    """

    __slots__ = ()

    def __init__(self, operator: str, name: str | None = None) -> None:
        register(self, rule_named(operator).number, (), name)

    @property
    def operator(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def rule(self) -> Rule:
        return BY_NUMBER[self.tables.operators[self.row]]

    def _refuse_value(self, value: object) -> None:
        raise NodeError(f"{self.tables.label(self._row)} cannot be set: its value is computed.")

    value = Node.value.setter(_refuse_value)  # type: ignore[attr-defined]

    def calculate(self, node: Operator | None = None) -> float:
        """The rule's value from the operands' present values; the graph is left as it is.

        node: another operator to do this for; code that calls `node.calculate(node)` runs, too.
        """
        if node is not None and node is not self:
            if not isinstance(node, Operator):
                raise NodeError(f"calculate takes an operator, not {shortened(node)}. Of this one: y.calculate().")
            return node.calculate()
        values = [operand.value for operand in self.last]
        if None in values:
            raise NodeError(
                f"{self._home.label(self._row)} has an operand without a value. Call Graph.forward() first."
            )
        return float(self.rule(*values))

    def __str__(self) -> str:
        return self._stale_text() or self.operator


# No warning for Operators: `s += x` is a usual way to build.
for _sign, _name in INFIX.items():
    _inplace = _sign.replace("__", "__i", 1)
    setattr(Variable, _inplace, warn_in_place(RULES[_name]))
    setattr(Operator, _inplace, getattr(Node, _sign))


for _name in ("last", "next", "in_deg", "out_deg"):
    setattr(Node, _name, getattr(Node, _name).setter(refuse_assignment(_name)))
Operator.operator = Operator.operator.setter(refuse_assignment("operator"))  # type: ignore[attr-defined,method-assign]


def is_tensor(thing: object) -> TypeGuard[Any]:
    """Whether it is a tensor node (classes of naive_graph.tensor, which this file cannot import)."""
    return isinstance(thing, Arithmetic) and not isinstance(thing, Node)


def is_leaf_variable(node: object) -> bool:
    """Whether the node is a Variable that may be set; an Operator is a Variable, too, but computed."""
    return isinstance(node, Variable) and not isinstance(node, Operator)


for _kind in (Node, Constant, Variable, PlaceHolder, Operator):
    explain_calls(_kind)

KINDS.update({CONSTANT: Constant, VARIABLE: Variable, PLACEHOLDER: PlaceHolder, OPERATOR: Operator})


# --- checking ---------------------------------------------------------------


def build(rule: Rule, operands: Iterable[Any]) -> Operator:
    """A new Operator node in the current graph. Everything is checked before anything is registered."""
    home, checked = CURRENT.tables, []
    for operand in operands:
        if isinstance(operand, Node):
            if operand._home is not home:
                operand._refuse()
        elif type(operand) is not float:
            try:
                operand = number(operand, f"'{rule.name}'")
            except NumberError as error:
                raise OperandError(str(error)) from None
        checked.append(operand)
    rule.check_arity(len(checked))
    frame, node = user_frame_above(), _new(Operator)
    node._home, node._row = home, None
    entries = operator_entries(rule.number, checked, frame.f_code, frame.f_lasti, node)
    if not home.computes_at_once:
        append(home, entries)
        return node
    with home.lock, GUARD:  # eager: building computes
        value = _value_now(home, rule, checked)
        append(home, entries)
        if value is not None:
            home.set_computed_value(node.row, value)
    return node


def _value_now(home: Tables, rule: Rule, operands: Iterable[Node | float]) -> float | None:
    """The rule's value from the operands' present values (renew(immediate_compute=True)); None if one has none."""
    values = [operand.value if isinstance(operand, Node) else operand for operand in operands]
    if None in values:
        return None
    value = float(rule(*values))
    if home.checks_validity and not isfinite(value):
        raise NumericError(f"'{rule.name}' of {', '.join(map(repr, values))} is {value!r}. Mend its operands.")
    return value


def rows_of(nodes: Iterable[Any], who: str) -> list[int]:
    """The rows of nodes of the current graph. Raises NodeError for what is not a node."""
    rows = []
    if not isinstance(nodes, (list, tuple)):
        nodes = [nodes] if isinstance(nodes, Node) else as_list(nodes, who, "a node or a list of nodes")
    for node in nodes:
        if not isinstance(node, Node):
            more = " Of tensors write y.gradients(x)." if isinstance(node, Arithmetic) else ""
            raise NodeError(f"{who} takes nodes of single numbers, not {type(node).__name__} {shortened(node)}.{more}")
        rows.append(node.row)
    return rows
