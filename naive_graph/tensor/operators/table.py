"""The registry ("table") of tensor operators, and the decorator `tensor_operator` that adds definitions.

The rules of the scalar catalogue, but for its helpers and `total` and `mean`, are included as elementwise operators.
The registry finds operators by name, and by their names in other frameworks (ONNX, TensorFlow).
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ...core.catalogue import BUILT_IN, OVER_A_BATCH
from ...core.did_you_mean import names_elsewhere
from ...core.number import shortened
from ...core.reserved_names import TAKEN
from ...core.rules import RULES, Arithmetic
from ...errors import OperandError, OperatorNameError
from ..base import TensorNode
from .examples import Example
from .families import Elementwise, Reduction, RuleOperator
from .mapping import ForeignOperator
from .operator_def import OperatorDef

# "window": slides over images; "move": only rearranges entries, or adds constants
KINDS: dict[str, type[OperatorDef]] = {
    "composition": OperatorDef,
    "elementwise": Elementwise,
    "move": OperatorDef,
    "reduction": Reduction,
    "window": OperatorDef,
}


class Operators(Mapping[str, OperatorDef]):
    """All operators by name: `operators()["conv2d"]`, `operators().call("conv2d", x, w)`."""

    def __init__(self) -> None:
        self.rows: dict[str, OperatorDef] = {}
        self.by_foreign_name: dict[tuple[str, str], OperatorDef] = {}  # (framework, its name there) -> operator

    def __getitem__(self, name: str) -> OperatorDef:
        row = (self.rows.get(name) or self._rule_operator(name)) if isinstance(name, str) else None
        if row is None:
            lower_name = name.lower() if isinstance(name, str) else ""
            close_names = [candidate for candidate in self if lower_name and lower_name in candidate]
            close_names = close_names or difflib.get_close_matches(lower_name, list(self))
            if lower_name in names_elsewhere("package"):
                hint = f"Write {names_elsewhere('package')[lower_name]}."
            elif close_names:
                hint = f"Did you mean {' or '.join(map(repr, close_names[:5]))}?"
            else:
                hint = "`naive-graph operators` lists all; @tensor_operator() defines one."
            raise OperatorNameError(f"There is no operator {shortened(name)}. {hint}")
        return row

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.rows or self._rule_operator(name) is not None)

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in RULES if self._rule_operator(name))
        yield from (name for name, row in self.rows.items() if not isinstance(row, RuleOperator))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def call(self, name: str, /, *operands: Any, **properties: Any) -> Any:
        """Look up an operator by name and call it."""
        return self[name](*operands, **properties)

    def named(self, framework: str, name: str) -> OperatorDef:
        """Look up an operator by its name in another framework. Raises OperatorNameError if there is none."""
        for rule in RULES:  # registers rules that were defined since
            self._rule_operator(rule)
        if (framework, name) not in self.by_foreign_name:
            raise OperatorNameError(f"No operator here is {name!r} of {framework}.")
        return self.by_foreign_name[framework, name]

    def mapping(
        self, framework: str, name: str, opset: int | None = None
    ) -> tuple[OperatorDef, ForeignOperator] | None:
        """The operator with this name in another framework, and the mapping valid in this opset; None if none is."""
        try:
            row = self.named(framework, name)
        except OperatorNameError:
            return None
        for foreign_name in row.mappings:
            if (foreign_name.framework, foreign_name.operator) == (framework, name):
                if opset is None or foreign_name.since <= opset <= (foreign_name.until or opset):
                    return row, foreign_name
        return None

    def add(self, row: OperatorDef) -> None:
        """Register an operator. Raises OperatorNameError if one of its names is taken, here or in a framework."""
        if not re.fullmatch(r"[A-Za-z_]\w*", row.name):
            raise OperatorNameError(
                f"An operator's name must be a Python name such as 'softclip', not {shortened(row.name)}."
            )
        for name in (row.name, *row.also):
            if name in self:
                raise OperatorNameError(
                    f"An operator {name!r} exists already. Choose another name for yours; or, if that one is yours, "
                    f"forget it: operators().forget({name!r})."
                )
        self._register(row)

    def forget(self, *names: str) -> None:
        """Remove user-defined operators from the registry; their names are free again.

        Unknown names are ignored; existing nodes keep their operator.
        Raises OperatorNameError for a built-in operator.
        """
        for name in names:
            if not isinstance(name, str):
                raise OperatorNameError(f"operators().forget takes names such as 'softclip', not {shortened(name)}.")
        for row in [self[name] for name in names if name in self]:
            if _is_ours(row):
                raise OperatorNameError(f"{row.name!r} is no operator of your own, and stays in the table.")
            RULES.pop(row.name, None)
            TAKEN.difference_update([row.name, *row.also])
            self.by_foreign_name = {key: other for key, other in self.by_foreign_name.items() if other is not row}
            for alias in (row.name, *row.also):
                self.rows.pop(alias, None)
                for home in (Arithmetic, TensorNode):
                    if getattr(vars(home).get(alias), "operator", None) == row.name:
                        delattr(home, alias)

    def _register(self, row: OperatorDef) -> None:
        foreign_names = [(mapping.framework, mapping.operator) for mapping in row.mappings]
        for key in foreign_names:
            if self.by_foreign_name.get(key, row) is not row:
                other = self.by_foreign_name[key].name
                raise OperatorNameError(f"{row.name!r}: {key[1]} of {key[0]} is {other!r} already.")
        self.by_foreign_name.update(dict.fromkeys(foreign_names, row))
        self.rows.update(dict.fromkeys([row.name, *row.also], row))
        if not isinstance(row, RuleOperator):
            TAKEN.update([row.name, *row.also])

    def _rule_operator(self, name: str) -> OperatorDef | None:
        rule = RULES.get(name)
        if rule is None or rule.helper or name in OVER_A_BATCH:  # OVER_A_BATCH: functions over samples, not entries
            return None
        row = self.rows.get(name)
        if row is None:
            row = RuleOperator(rule)
            self._register(row)
        return row


TABLE = Operators()


def operators() -> Operators:
    """The registry of operators: a mapping from names to definitions, user-defined ones included.

    >>> operators()["leaky_relu"].property_names
    ['alpha']
    """
    return TABLE


def tensor_operator(
    function: None = None, *, kind: str = "composition", method: bool = True, **options: Any
) -> Callable[[Callable[..., Any]], OperatorDef]:
    """Define a tensor operator from a function of operands and properties that returns a tensor or several.

    kind: "composition"; "elementwise", whose function is of numbers; "reduction",
    whose function is of (x, axis, keepdims); "move"; or "window". method: whether tensors (and nodes, if it is
    elementwise) also get it as a method. options: see OperatorDef. Raises OperatorNameError if the name is taken.

    >>> from naive_graph import LeafNode
    >>> @tensor_operator(shape=lambda x: x)
    ... def centred_example(x, scale: float = 1.0):
    ...     '''scale * (x - mean(x)).'''
    ...     return scale * (x - x.mean())
    >>> y = LeafNode.parameter([1.0, 3.0]).centred_example(scale=2.0)
    >>> y.eval().tolist(), y.operator.name, y.properties
    ([-2.0, 2.0], 'centred_example', {'scale': 2.0})
    """

    def define(function: Callable[..., Any]) -> OperatorDef:
        if not inspect.isfunction(function) or kind not in KINDS:
            raise OperandError(
                f"tensor_operator makes a row of a function, and of a kind of {', '.join(KINDS)}, not of "
                f"{shortened(function)} and {shortened(kind)}. Write it above a def: @tensor_operator()."
            )
        row = KINDS[kind](function, **options)
        row.kind = kind
        TABLE.add(row)
        home = Arithmetic if isinstance(row, Elementwise) else TensorNode
        for name in (row.name, *row.also):
            if method and not hasattr(TensorNode, name):
                setattr(home, name, make_method(row, name))
        return row

    return define if function is None else define(function)


def composition(*examples: Example, **options: Any) -> Callable[[Callable[..., Any]], OperatorDef]:
    """Define an operator that is a composition of others, of no special kind."""
    return tensor_operator(examples=examples, **options)


def make_method(row: OperatorDef, name: str) -> Callable[..., Any]:
    """A method of this name that calls the operator with `self` as its first operand."""

    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        return row(self, *arguments, **keywords)

    method.__name__, method.__doc__, method.__signature__ = name, row.__doc__, row.__signature__  # type: ignore[attr-defined]
    method.operator = row.name  # type: ignore[attr-defined]
    return method


def _is_ours(row: OperatorDef) -> bool:
    """Whether an operator came with the package."""
    if isinstance(row, RuleOperator):
        return row.rule.number < BUILT_IN
    return (row.function.__module__ or "").partition(".")[0] == __name__.partition(".")[0]
