"""Operators as methods: `x.sin()` is `sin(x)`, `x.add(y)` is `add(x, y)`; installed on `Arithmetic`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Never

from ..errors import OperandError
from .did_you_mean import describe_misfit, explains
from .numpy_protocol import OBJECT_ARRAY_METHODS, rule_and_operands_for
from .rules import RULES, Arithmetic


def method_of(name: str) -> Callable[..., Any]:
    def method(self: Any, *others: Any, **unknown: Never) -> Any:
        if unknown:
            raise describe_misfit(method, (self, *others), unknown)
        return RULES[name](self, *others)

    method.operator = name  # type: ignore[attr-defined]
    return _label_method(method, name, f"{RULES[name].usage()}, of self")


def _numpys(name: str) -> Callable[..., Any]:
    ours, operands_of = rule_and_operands_for(name)

    def method(self: Any, *others: Any) -> Any:
        return RULES[ours](*operands_of(self, *others))

    return _label_method(method, name, f"numpy.{name} of self")


def _over_a_batch(name: str) -> Callable[..., Any]:
    def method(self: Any, **wishes: Any) -> Any:
        if wishes:  # NumPy's function of this name calls the method with keywords of its own
            raise OperandError(
                f"A node's {name} is over the samples of a batch: write {name}(x). "
                f"NumPy's takes a list of nodes: np.{name}([x, y])."
            )
        return RULES[name](self)

    return explains(_label_method(method, name, f"{name}(self), over the samples of a batch"))


def _label_method(method: Callable[..., Any], name: str, what: str) -> Callable[..., Any]:
    method.__name__, method.__qualname__, method.__doc__ = name, f"Node.{name}", f"{what}, as a node of its own."
    return method


def add_methods(over_a_batch: Iterable[str]) -> None:
    """Install a method for each operator (those over a batch have their own) and for some NumPy names."""
    for name, rule in RULES.items():
        if not rule.helper:
            setattr(Arithmetic, name, _over_a_batch(name) if name in over_a_batch else method_of(name))
    for name in OBJECT_ARRAY_METHODS:
        setattr(Arithmetic, name, _numpys(name))
