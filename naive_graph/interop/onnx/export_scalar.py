"""Scalar rules and scalar nodes as they are written: one operator of ONNX each, or a local function."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...core.numpy_protocol import rule_for
from ...core.plan import plan_for
from ...core.rules import RULES, Arithmetic, Rule
from ...core.tables import CONSTANT, PLACEHOLDER, Tables
from ...errors import NaiveGraphError
from ...graph.nodes import Node
from ...tensor.evaluation.entries import VALUES
from ...tensor.operators.table import TABLE
from .custom_ops import describe_call
from .export_graph import GraphBuilder, function
from .export_values import BOOL, InputValue, ModelBuilder, Order, Refused, StoredValue, Value

LAST = 2**31 - 1  # beyond the ends of all axes


class BuilderArray:
    """A value of a graph that is being written, as an array."""

    __array_ufunc__ = None  # so that NumPy leaves sums and products with its arrays to this

    def __init__(self, value: Value) -> None:
        self.value, self.builder = value, value.builder
        self.shape, self.ndim, self.dtype = value.shape, len(value.shape), float

    def __array_namespace__(self) -> ArrayFunctions:
        return ArrayFunctions(self.builder)

    def _on(self, operator: str, *others: Any) -> BuilderArray:
        return BuilderArray(entrywise(self.builder, operator, [self, *others]))

    def astype(self, kind: Any) -> BuilderArray:
        return self

    def reshape(self, *shape: Any) -> BuilderArray:
        return BuilderArray(
            self.builder.reshape(self.value, shape[0] if isinstance(shape[0], (tuple, list)) else shape)
        )

    def transpose(self, order: Sequence[int]) -> BuilderArray:
        return BuilderArray(self.builder.transpose(self.value, order))

    def __getitem__(self, place: tuple[int, ...]) -> BuilderArray:
        """The entry at a place that every axis has a number in."""
        flat = self.builder.reshape(self.value, (math.prod(self.shape),))
        at = np.array(np.ravel_multi_index(place, self.shape) if place else 0)
        return BuilderArray(self.builder.emit("Gather", [flat, at], [()])[0])

    def __ne__(self, other: object) -> Any:
        if other is self:
            return self._on("IsNaN")
        truth = isinstance(other, (int, float)) and other == 0 and any(kind == BOOL for kind, _ in self.value.forms)
        return self if truth else self._on("Equal", other)._on("Not")

    __hash__ = None  # type: ignore[assignment]


OPERATORS = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "truediv": "Div", "pow": "Pow", "neg": "Neg", "abs": "Abs",
    "lt": "Less", "gt": "Greater", "le": "LessOrEqual", "ge": "GreaterOrEqual", "eq": "Equal", "and": "And", "or": "Or",
}  # fmt: skip


def _define(name: str, operator: str) -> None:
    """The methods of one of Python's operators."""

    def method(self: BuilderArray, *other: Any) -> BuilderArray:
        return self._on(operator, *other)

    def reflected(self: BuilderArray, other: Any) -> BuilderArray:
        return BuilderArray(entrywise(self.builder, operator, [other, self]))

    setattr(BuilderArray, f"__{name}__", method)
    setattr(BuilderArray, f"__r{name}__", reflected)


for _name, _operator in OPERATORS.items():
    _define(_name, _operator)


class ArrayFunctions:
    """The functions of an array library that rules and selections call. NumPy's names; ONNX's operators."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder, self.__name__ = builder, "onnx"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rule = RULES[rule_for(name)[0]]
        return lambda *operands: BuilderArray(emit_rule(self.builder, rule, operands))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return BuilderArray(entrywise(self.builder, "Where", [condition, a, b]))

    def take(self, x: BuilderArray, places: Any, axis: int) -> BuilderArray:
        places = np.asarray(places)
        shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
        steps = np.unique(np.diff(places)) if places.ndim == 1 else places[:0]
        if len(steps) == 1 and steps[0]:
            last = places[-1] + steps[0]
            ends = ([places[0]], [last if last >= 0 else -LAST], [axis], steps)
            return BuilderArray(self.builder.emit("Slice", [x.value, *map(np.array, ends)], [shape])[0])
        return BuilderArray(self.builder.emit("Gather", [x.value, places], [shape], axis=axis)[0])

    def full_like(self, pattern: Any, value: float) -> BuilderArray:
        return BuilderArray(self.builder.constant(float(value)))

    # --- rules that ONNX lacks, with all their digits ---

    def square(self, a: Any) -> Any:
        return a * a

    def expm1(self, a: Any) -> Any:
        return self.tanh(0.5 * a) * (self.exp(a) + 1.0)

    def log1p(self, a: Any) -> Any:
        return self.where(abs(a) < 0.5, 2.0 * self.arctanh(a / (a + 2.0)), self.log(1.0 + a))

    def hypot(self, a: Any, b: Any) -> Any:
        a, b = abs(a), abs(b)
        large, small = self.maximum(a, b), self.minimum(a, b)
        slope = small / large
        return self.where((large == 0.0) | (large == math.inf), large, large * self.sqrt(1.0 + slope * slope))

    def remainder(self, a: Any, b: Any) -> Any:
        rest: Any = BuilderArray(entrywise(self.builder, "Mod", [a, b], fmod=1))
        return self.where((rest == 0.0) | ((rest < 0.0) == (b < 0.0)), rest, rest + b)

    def arctan2(self, a: Any, b: Any) -> Any:
        left, below = ((each < 0.0) | (1.0 / each < 0.0) for each in (b, a))  # of -0.0, too
        right = self.where((a == 0.0) & (b == 0.0), a, self.arctan(a / b))
        return self.where(left, right + self.where(below, -math.pi, math.pi), right)  # -0.0 + 0.0 would be 0.0


def as_value(builder: GraphBuilder, operand: Any) -> Value:
    """What a rule is given, as a value: a value, something drawn, a number or an array of numbers or truth values."""
    if isinstance(operand, (BuilderArray, Value)):
        return operand.value if isinstance(operand, BuilderArray) else operand
    array = np.asarray(operand)
    return builder.constant(array if array.dtype == bool else array.astype(float))


def entrywise(
    builder: GraphBuilder, operator: str, operands: Sequence[Any], label: str = "", scope: str = "", **attributes: Any
) -> Value:
    """One operator of ONNX, entry by entry, its operands spread as NumPy does."""
    values = [as_value(builder, each) for each in operands]
    if not any(each.shape for each in values):  # scalar nodes
        return builder.emit(operator, values, [()], label, scope=scope, **attributes)[0]
    order = common_order(values)
    orders = [order if each.shape else None for each in values]
    shape = np.broadcast_shapes(*(each.shape for each in values))
    return builder.emit(operator, values, [shape], label, scope=scope, orders=orders, turned=[order], **attributes)[0]


def common_order(values: Sequence[Value]) -> Order | None:
    """In which order of axes all lie, if they do not lie straight: then nothing is turned."""
    large = [each for each in values if each.shape]
    if not large or len({each.shape for each in large}) > 1:
        return None
    lying = [{order for _, order in each.forms} for each in large]
    common = set.intersection(*lying)
    return None if large[0].straight in common else next(iter(common), None)


# --- rules --------------------------------------------------------------------


@lru_cache(maxsize=1024)
def onnx_name(rule: Rule, opset: int) -> str | None:
    """ONNX's operator that is the rule, in this opset."""
    mappings = TABLE[rule.name].mappings if rule.name in TABLE else []
    return next((each.operator for each in mappings if each.framework == "onnx" and each.since <= opset), None)


def emit_rule(builder: GraphBuilder, rule: Rule, operands: Sequence[Any], label: str = "", scope: str = "") -> Value:
    """A rule, as one operator of ONNX or as a call of its function. Raises Refused."""
    name = onnx_name(rule, builder.model_builder.opset)
    if name is None:
        return _called(builder, rule, [as_value(builder, each) for each in operands], label or rule.name, scope)
    if rule.arity is None and len(operands) != 2:
        if rule.name == "add":
            return entrywise(builder, "Sum", operands, label, scope)
        first, *rest = operands
        for place, each in enumerate(rest):  # ONNX multiplies two at a time
            last = place == len(rest) - 1
            first = entrywise(builder, name, [first, each], label if last else "", scope)
        return as_value(builder, first)
    return entrywise(builder, name, operands, label, scope)


def _called(builder: GraphBuilder, rule: Rule, values: Sequence[Value], label: str, scope: str) -> Value:
    key = rule.name, len(values)
    if key not in builder.model_builder.named:
        builder.model_builder.named[key] = _function(builder.model_builder, rule, len(values))
    shape = np.broadcast_shapes(*(each.shape for each in values))
    return builder.call(builder.model_builder.named[key], values, [shape], label, scope)[0]


def _function(model_builder: ModelBuilder, rule: Rule, count: int) -> str:
    """The name of the rule's local function."""
    inside = GraphBuilder(model_builder, inside=True)
    letters = [BuilderArray(InputValue(inside, (), f"x_{place}")) for place in range(count)]
    if rule.name in VALUES:
        result: Any = VALUES[rule.name](ArrayFunctions(inside), *letters)
    else:
        result = _composition(rule, [BuilderOperand(each) for each in letters])
    said = describe_call(rule.name, letters, letters, {})
    return model_builder.enter(function(inside, rule.name, [as_value(inside, result)], said))


class BuilderOperand(Arithmetic):
    """An operand of a learner's rule, which draws what is done with it."""

    __slots__ = ("drawn",)

    def __init__(self, given: BuilderArray) -> None:
        self.drawn = given

    def apply(self, rule: Rule, *operands: Any) -> BuilderOperand:
        given = [each.drawn if isinstance(each, BuilderOperand) else float(each) for each in operands]
        return BuilderOperand(BuilderArray(emit_rule(self.drawn.builder, rule, given)))


def _composition(rule: Rule, letters: Sequence[BuilderOperand]) -> Any:
    """What a learner's rule computes, if it is made of rules. Raises Refused."""
    try:
        result = rule.value(*letters)
        return result.drawn if isinstance(result, BuilderOperand) else float(result)
    except Refused:
        raise
    except (TypeError, ValueError, NaiveGraphError):
        raise Refused(
            f"operator '{rule.name}' computes with Python's own functions, which no file can hold. Write its value "
            "with naive_graph's functions (exp, log, where ...)"
        ) from None


# --- scalar nodes -------------------------------------------------------------


class ScalarWriter:
    """Writes scalar nodes, each once. refused: where what cannot leave is noted."""

    def __init__(self, builder: GraphBuilder, refused: dict[str, None]) -> None:
        self.builder, self.refused = builder, refused
        self.rows: dict[Tables, dict[int, Value]] = {}

    def __call__(self, nodes: Sequence[Node]) -> list[Value]:
        """Nodes of one graph, and all that they depend on."""
        if not nodes:
            return []
        tables = nodes[0].tables
        rows = self.rows.setdefault(tables, {})
        missing = [node.row for node in nodes if node.row not in rows]
        if missing:
            self._write(tables, missing, rows)
        return [rows[node.row] for node in nodes]

    def _write(self, tables: Tables, targets: Sequence[int], rows: dict[int, Value]) -> None:
        plan = plan_for(tables, targets)
        for step, row in enumerate(plan.rows):
            if row in rows:
                continue
            rule, name = plan.rule(step), tables.name(row) or ""
            if rule is not None:
                scope = tables.scope(row)
                operands = [rows[plan.rows[each]] for each in plan.operands(step)]
                rows[row] = self._applied(rule, operands, name, scope.path if scope else "")
            else:
                rows[row] = self._leaf(tables, row, plan.kinds[step], name)

    def _leaf(self, tables: Tables, row: int, kind: int, name: str) -> Value:
        if kind == PLACEHOLDER:
            return InputValue(self.builder, (), name or "input")
        number: Any = tables.value(row)
        if number is None:
            self.refused[f"{tables.label(row)} has no value. Set it: x.value = 1.0"] = None
        array = np.array(0.0 if number is None else number)
        constant = kind == CONSTANT and not name
        return self.builder.constant(array) if constant else StoredValue(self.builder, array, name or "variable", True)

    def _applied(self, rule: Rule, operands: Sequence[Value], name: str, scope: str) -> Value:
        try:
            return emit_rule(self.builder, rule, operands, name, scope)
        except Refused as refused:
            self.refused[str(refused)] = None
            return self.builder.constant(0.0)
