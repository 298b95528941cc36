"""The definition of an operator (`Rule`), the table of all rules, and the base class of everything they apply to.

A `Rule` has an operator's value and its partial derivatives. Called with numbers it computes.
Called with an `Arithmetic` (a traced or overloaded value, as in JAX), it calls that value's
`apply`. So one definition serves floats, dual numbers, graphs of gradients,
formulas and compiled code, and a derivative is written nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Never, NoReturn

from ..errors import ArityError, OperandError, OperatorNameError
from .did_you_mean import explain_calls, raise_unknown_attribute, suggest
from .number import as_list, number, shortened
from .numpy_protocol import RULE_OF_UFUNC, unsupported_message

Value = Any  # a float, or an Arithmetic
Partial = Callable[..., Value]


class Interval(NamedTuple):
    """The open interval in which an operand may lie for the value to be a finite real.

    >>> Interval(0.0)  # of log
    Interval(low=0.0, high=inf)
    """

    low: float = -math.inf
    high: float = math.inf


explain_calls(Interval)
OF_A_LIST = {
    "total": "total(x) adds up the samples of a batch. The sum of a list is Graph.sum([x, y]), or add([x, y]).",
    "mean": "mean(x) is over the samples of a batch. The mean of a list is Graph.sum([x, y]) / 2.0.",
}
REALS = Interval()
POSITIVE = Interval(0.0)


@dataclass(frozen=True, eq=False)
class Rule:
    """One operator: its value, and one partial derivative for each operand position.

    A partial is a function of the operands and then the result, written with
    other rules, so that it can be differentiated again; it is None where no gradient
    passes to the operand (of a comparison, say). A variadic rule (`arity` None)
    has instead one function of (operands, result) that gives all its partials.
    """

    name: str
    value: Callable[..., float]
    partials: tuple[Partial | None, ...] | Partial
    arity: int | None
    number: int
    associative: bool = False
    selects: bool = False  # like `where`: only the branch that is taken is differentiated
    domain: tuple[Interval, ...] = (REALS,)
    kink: Partial | None = None  # the slope jumps where this function of the operands is 0
    infix: str | None = None
    symbol: str | None = None
    tex: str | None = None
    expands_to: Partial | None = None  # how a helper rule is written with other rules
    onnx: str | None = None
    tensorflow: tuple[str, ...] = ()

    def __call__(self, *operands: Any, name: str | None = None, **unknown: Never) -> Any:
        if unknown:
            if self.name in OF_A_LIST:  # np.mean(x) calls x.mean(axis=None)
                raise OperandError(OF_A_LIST[self.name])
            raise ArityError(f"'{self.name}' takes no {next(iter(unknown))}=. Write {self.usage()}.")
        if name is not None:
            return call_and_name(self, operands, name, self.name)
        for operand in operands:
            if type(operand) is not float:
                break
        else:  # fast path for floats
            if len(operands) != self.arity and (self.arity or not operands):
                self.check_arity(len(operands))
            return self.value(*operands)
        if self.selects:
            operands = _condition_as_float(*operands)
        if self.arity is None and len(operands) == 1 and isinstance(operands[0], Iterable):
            operands = tuple(as_list(operands[0], f"'{self.name}'", "a list of numbers or nodes"))
        for operand in operands:
            if isinstance(operand, Arithmetic):
                result = operand.apply(self, *operands)
                if result is not NotImplemented:
                    return result
        self.check_arity(len(operands))
        if self.name in OF_A_LIST and isinstance(operands[0], (list, tuple)):
            raise OperandError(OF_A_LIST[self.name])
        return self.value(*[number(operand, self.name) for operand in operands])

    def partials_at(self, operands: Sequence[Any], result: Any, wanted: Sequence[bool]) -> list[Any]:
        """The partial at each wanted position; None where it is not wanted, or there is none."""
        if callable(self.partials):
            every = self.partials(operands, result)
            return [partial if is_wanted else None for partial, is_wanted in zip(every, wanted, strict=True)]
        return [
            partial(*operands, result) if is_wanted and partial is not None else None
            for partial, is_wanted in zip(self.partials, wanted, strict=True)
        ]

    @property
    def helper(self) -> bool:
        """Whether the rule is internal (it keeps digits in derivatives); formulas are written without it."""
        return self.expands_to is not None

    def responds_to(self, position: int) -> bool:
        """Whether the result can vary with the operand at `position` (counted from 0)."""
        return callable(self.partials) or self.partials[position] is not None

    def accepts_arity(self, count: int) -> bool:
        """Whether the rule takes this number of operands."""
        return count == self.arity or (self.arity is None and count > 0)

    def check_arity(self, count: int) -> None:
        if self.accepts_arity(count):
            return
        takes = "at least one operand" if self.arity is None else f"{self.arity} operand{'s' * (self.arity > 1)}"
        raise ArityError(f"'{self.name}' takes {takes}, not {count}. Write {self.usage()}.")

    def usage(self) -> str:
        """The operator's call with letters for operands, such as add([a, b, c])."""
        letters = "[a, b, c]" if self.arity is None else ", ".join("abcd"[: self.arity])
        return f"{self.name}({letters})"

    def __repr__(self) -> str:
        return f"<rule {self.usage()}>"


def call_and_name(function: Callable[..., Any], operands: Sequence[Any], name: str, who: str) -> Any:
    """Call the function and name the result if it is a node."""
    if not isinstance(name, str) or not name:
        raise OperandError(f"'{who}' takes a text such as 'y' for the result's name, not {shortened(name)}.")
    result = function(*operands)
    if hasattr(result, "name"):
        result.name = name
    return result


def _condition_as_float(condition: Any = None, *branches: Any) -> tuple[Any, ...]:
    """The operands of `where`: True becomes 1.0 and False 0.0, but beside nodes a bool is refused as a mistake."""
    if type(condition).__name__ not in ("bool", "bool_"):  # NumPy's has the second name
        return condition, *branches
    if any(isinstance(branch, Arithmetic) for branch in branches):
        raise OperandError(
            f"'where' was given {condition} for its condition: == and != ask whether two nodes are the same node. "
            "Write equal(x, 2.0) or not_equal(x, 2.0); what is known now is chosen by Python: a if known else b."
        )
    return float(condition), *branches


# --- the table ----------------------------------------------------------------

RULES: dict[str, Rule] = {}
BY_NUMBER: list[Rule] = []


def rule_named(name: str) -> Rule:
    """The rule of that name; raises OperatorNameError, which suggests the nearest, if there is none."""
    try:
        return RULES[name]
    except (KeyError, TypeError):
        define = "Define it: naive_graph.operator(name, value, partials)."
        hint = suggest(name, RULES, "Did you mean '{}'?") or define
        raise OperatorNameError(f"There is no operator {shortened(name)}. {hint}") from None


def define(
    name: str,
    value: Callable[..., float],
    partials: Sequence[Partial | None] | Partial,
    *,
    domain: Interval | tuple[Interval, ...] = REALS,
    **rest: Any,
) -> Rule:
    """Add a rule to the table."""
    arity = None if callable(partials) else len(partials)
    domains = domain if isinstance(domain[0], Interval) else (domain,) * (arity or 1)
    rule = Rule(
        name, value, partials if callable(partials) else tuple(partials), arity, len(BY_NUMBER), domain=domains, **rest
    )
    RULES[name] = rule
    BY_NUMBER.append(rule)
    return rule


# --- what a rule can be applied to --------------------------------------------


def _infix_method(name: str) -> Any:
    return lambda a, b: RULES[name](a, b)


def _reflected_method(name: str) -> Any:
    return lambda a, b: RULES[name](b, a)


class Arithmetic:
    """Infix operators and methods for anything that rules can be applied to.

    A subclass says in `apply(rule, *operands)` what applying means: dual numbers
    carry a slope along, nodes grow the graph, text grows a formula. It returns
    NotImplemented to leave the answer to another operand's arithmetic.
    """

    __slots__ = ()
    _owner: ClassVar[str] = ""  # one of the values of OWNERS in did_you_mean.py, for hints at wrong names

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **wishes: Any) -> Any:
        """NumPy's hook for functions of our values: np.sin(x) is sin(x), and np.float64(2) * x is a node."""
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        ours = RULE_OF_UFUNC.get(name, name)
        if name == "exp2":
            inputs = (2.0, *inputs)
        if name == "matmul":  # a rule of tensors only
            left, right = inputs
            return left @ right if isinstance(left, Arithmetic) else right.__rmatmul__(left)
        same = name in ("equal", "not_equal")  # == tests identity, beside NumPy's numbers too
        if same and not any(getattr(x, "ndim", 0) and not isinstance(x, Arithmetic) for x in inputs):
            return (inputs[0] is inputs[1]) == (name == "equal")
        if not wishes and not same and ours in RULES and RULES[ours].arity in (None, len(inputs)):
            return RULES[ours](*inputs)
        raise OperandError(unsupported_message(name, type(self).__name__.lstrip("_")))

    def apply(self, rule: Rule, *operands: Any) -> Any:
        raise NotImplementedError

    __add__, __sub__, __mul__ = map(_infix_method, ("add", "sub", "mul"))
    __truediv__, __pow__, __mod__ = map(_infix_method, ("div", "pow", "mod"))
    __radd__, __rsub__, __rmul__ = map(_reflected_method, ("add", "sub", "mul"))
    __rtruediv__, __rpow__, __rmod__ = map(_reflected_method, ("div", "pow", "mod"))
    __gt__, __lt__, __ge__, __le__ = map(_infix_method, ("greater", "less", "greater_equal", "less_equal"))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            if name == "_data":  # what numpy.ma reads first of an operand beside a masked array
                raise OperandError("A graph takes no masked arrays. Choose numbers: values.filled(0.0).")
            raise_unknown_attribute(f"This {type(self).__name__}", name, self._owner, self)

    def __xor__(self, other: Any) -> NoReturn:
        raise OperandError("A power is written with two stars, x ** 2; Python reads ^ as something else.")

    __rxor__ = __xor__

    def __and__(self, other: Any) -> NoReturn:
        raise OperandError(
            "Of comparisons write a product for `and`, as (x > 0) * (x < 1), maximum for `or`, 1.0 - (x > 0) for `not`."
        )

    __rand__ = __or__ = __ror__ = __and__

    def __invert__(self) -> Any:
        return self & self

    def __floordiv__(self, other: Any) -> NoReturn:
        raise OperandError(
            "A graph has no //: it goes in steps, whose slope is 0 or does not exist. "
            "Write x / y, or (x / y).floor() if steps are meant."
        )

    __rfloordiv__ = __divmod__ = __rdivmod__ = __floordiv__

    def __bool__(self) -> bool:
        raise OperandError(
            f"A function asks `if` about something that is no number yet ({type(self).__name__.lstrip('_')}): it would "
            "always go the same way. Write the choice with where(condition, a, b)."
        )

    def __neg__(self) -> Any:
        return RULES["neg"](self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return RULES["abs"](self)


def method_of(name: str) -> Callable[..., Any]:
    """The operator of that name as a method, whose first operand is self: `x.sin()` is `sin(x)`."""

    def method(self: Any, *others: Any, **named: Any) -> Any:
        return RULES[name](self, *others, **named)

    method.operator = name  # type: ignore[attr-defined] # by which `forget` finds it
    method.__name__, method.__qualname__ = name, f"Node.{name}"
    method.__doc__ = f"{RULES[name].usage()}, of self, as a node of its own."
    return method
