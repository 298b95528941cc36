"""Operators as methods: `x.sin()` is `sin(x)`, `x.add(y)` is `add(x, y)`; installed on `Arithmetic`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never

from ..errors import OperandError
from .did_you_mean import describe_misfit
from .numpy_protocol import OBJECT_ARRAY_METHODS, rule_and_operands_for
from .rules import OF_A_LIST, RULES, Arithmetic


def method_of(name: str) -> Callable[..., Any]:
    """The operator of that name as a method, whose first operand is self."""

    def method(self: Any, *others: Any, **unknown: Never) -> Any:
        if unknown:
            if name in OF_A_LIST:  # np.mean(x) calls x.mean(axis=None)
                raise OperandError(OF_A_LIST[name])
            raise describe_misfit(method, (self, *others), unknown)
        return RULES[name](self, *others)

    method.operator = name  # type: ignore[attr-defined]
    return _label_method(method, name, f"{RULES[name].usage()}, of self")


def _numpy_method(name: str) -> Callable[..., Any]:
    """A method with the name of a NumPy function, as NumPy calls it for each entry of an array of nodes."""
    ours, operands_of = rule_and_operands_for(name)

    def method(self: Any, *others: Any) -> Any:
        return RULES[ours](*operands_of(self, *others))

    return _label_method(method, name, f"numpy.{name} of self")


def _label_method(method: Callable[..., Any], name: str, what: str) -> Callable[..., Any]:
    method.__name__, method.__qualname__, method.__doc__ = name, f"Node.{name}", f"{what}, as a node of its own."
    return method


def add_methods() -> None:
    """Install a method for each operator but the helpers, and for some NumPy names."""
    for name, rule in RULES.items():
        if not rule.helper:
            setattr(Arithmetic, name, method_of(name))
    for name in OBJECT_ARRAY_METHODS:
        setattr(Arithmetic, name, _numpy_method(name))
