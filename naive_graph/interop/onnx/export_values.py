"""Tracer values of ONNX export: arithmetic on a `Value` writes ONNX nodes; inputs, weights and constants."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, ValueInfoProto, helper, numpy_helper

from ...core.numpy_protocol import rule_and_operands_for
from ...core.rules import RULES, Arithmetic, Rule
from ...errors import ExportError

GraphBuilder = Any  # export_graph.GraphBuilder, which imports this file

FLOAT, DOUBLE, BOOL, INT64, INT32 = (
    int(kind) for kind in (
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL, TensorProto.INT64, TensorProto.INT32,
    )
)  # fmt: skip
LAST = 2**31 - 1  # an end index beyond all axes
Order = tuple[int, ...]
Extents = Sequence[Any]  # integers, or names of dynamic dimensions


def unique_name(used: dict[str, int], name: str) -> str:
    """Reserve and return the name, or the first free one that a number behind it makes."""
    while count := used.get(name, 0):
        used[name] = count + 1
        name = f"{name}_{count}"
    used[name] = 1
    return name


class ExportRefused(Exception):
    """Raised for something that cannot be exported: says what it is, and how to fix it."""


class Value(Arithmetic):
    """A tensor of a graph that is being written. Arithmetic on it writes nodes, so rules run on it as on an array.

    exact: whether it holds integers, which keep an integer type where operators allow it.
    """

    __array_ufunc__: Any = None  # so that NumPy arrays defer to this class's operators
    dtype = float

    def __init__(self, builder: GraphBuilder, shape: Iterable[Any], label: str, exact: bool = False) -> None:
        self.builder, self.shape, self.label, self.exact = builder, tuple(shape), label, exact
        self.natural_order: Order = tuple(range(len(self.shape)))  # the identity permutation of its axes
        self.forms: dict[tuple[int, Order], str] = {}

    def form(self, kind: int | None = None, order: Order | None = None) -> str:
        """Name of the value in this entry type and axis order; Cast and Transpose are written when first needed."""
        wanted = self.builder.real if kind is None else kind, self.natural_order if order is None else order
        if not self.forms:
            self.begin(*wanted)
        if wanted not in self.forms:
            closest = max(self.forms, key=lambda form: (form[0] == wanted[0], form[1] == wanted[1]))
            name = self.forms[closest]
            if closest[0] != wanted[0]:
                name = self._derive_form("Cast", name, (wanted[0], closest[1]), to=wanted[0])
            if closest[1] != wanted[1]:
                name = self._derive_form("Transpose", name, wanted, perm=[closest[1].index(axis) for axis in wanted[1]])
        return self.forms[wanted]

    def whole(self) -> Value:
        """The same value, to be read as integers."""
        value = Value(self.builder, self.shape, self.label, exact=True)
        value.forms[INT64, self.natural_order] = self.form(INT64)
        return value

    def begin(self, kind: int, order: Order) -> None:
        """Write a leaf in its first type and axis order, when it is first read."""
        raise NotImplementedError

    # --- as an array ---

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __array_namespace__(self) -> ArrayFunctions:
        return ArrayFunctions(self.builder)

    def apply(self, rule: Rule, *operands: Any) -> Any:
        return self.builder.rule(rule, operands)

    def astype(self, kind: Any) -> Value:
        return self

    def reshape(self, *shape: Any) -> Any:
        return self.builder.reshape(self, shape[0] if isinstance(shape[0], (tuple, list)) else shape)

    def transpose(self, order: Sequence[int]) -> Any:
        return self.builder.transpose(self, order)

    def __getitem__(self, index: tuple[int, ...]) -> Any:
        """One entry; index: an index along every axis."""
        offset = np.array(np.ravel_multi_index(index, self.shape) if index else 0)
        return self.builder.emit("Gather", [self.reshape(math.prod(self.shape)), offset], [()])[0]

    def __eq__(self, other: object) -> Any:
        return self.builder.emit_elementwise("Equal", [self, other])

    def __ne__(self, other: object) -> Any:
        if other is self:
            return self.builder.emit_elementwise("IsNaN", [self])
        truth = isinstance(other, (int, float)) and other == 0 and any(kind == BOOL for kind, _ in self.forms)
        return self if truth else self.builder.emit_elementwise("Not", [self == other])

    def __and__(self, other: Any) -> Any:
        return self.builder.emit_elementwise("And", [self, other])

    def __or__(self, other: Any) -> Any:
        return self.builder.emit_elementwise("Or", [self, other])

    __hash__ = object.__hash__

    def _derive_form(self, operator: str, source: str, form: tuple[int, Order], **attributes: Any) -> str:
        name = self.forms[form] = unique_name(self.builder.taken, self.label)
        self.builder.node(operator, [source], [name], name, **attributes)
        return name


class StoredValue(Value):
    """A weight or constant, stored when it is first read, in the type and layout of that reader."""

    def __init__(self, builder: GraphBuilder, array: Any, label: str, weight: bool = False) -> None:
        super().__init__(builder, array.shape, label, array.dtype.kind in "iu")
        self.array, self.weight = array, weight

    def begin(self, kind: int, order: Order) -> None:
        if (self.weight and kind == BOOL) or (kind != self.builder.real and not self._fits_type(kind)):
            kind = self.builder.real  # other types are cast from it
        with np.errstate(over="ignore"):  # a bound may exceed the file's type
            array = np.asarray(self.array, helper.tensor_dtype_to_np_dtype(kind)).transpose(order)
        if self.weight and kind == FLOAT and np.isinf(array).any() and np.isfinite(self.array).all():
            raise ExportError(f'{self.label!r} has numbers beyond single precision. Write dtype="float64".')
        name = self.forms[kind, order] = unique_name(self.builder.taken, self.label)
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self.builder.hold(tensor)
        if self.weight:
            self.builder.model_builder.learned.append(name)

    def _fits_type(self, kind: int) -> bool:
        """Whether an integer or truth type holds the numbers exactly (-0.0 it does not)."""
        array = np.asarray(self.array, np.float64)
        converted = np.asarray(self.array, helper.tensor_dtype_to_np_dtype(kind))
        return not (np.signbit(array) & (array == 0.0)).any() and np.array_equal(converted, self.array)


class TransposedValue(Value):
    """A transposed view of a value; a Transpose is written only if the reader's layout does not cancel it."""

    def __init__(self, base: Value, perm: Sequence[int], label: str) -> None:
        super().__init__(base.builder, [base.shape[axis] for axis in perm], label, base.exact)
        self.base, self.perm = base, tuple(perm)

    def form(self, kind: int | None = None, order: Order | None = None) -> str:
        return self.base.form(kind, tuple(self.perm[axis] for axis in order or self.natural_order))


class InputValue(Value):
    """An input of the graph. Its first reader decides whether it holds integers, so that indices do."""

    def __init__(self, builder: GraphBuilder, shape: Iterable[Any], label: str, kind: int | None = None) -> None:
        super().__init__(builder, shape, label)
        self.kind = kind
        self.info: ValueInfoProto | None = None
        builder.fed.append(self)

    def begin(self, kind: int, order: Order) -> None:
        holds_numbers = self.builder.inside or kind == BOOL  # truth values are read from numbers by a Cast
        kind = self.kind or (self.builder.real if holds_numbers else kind)
        name = self.forms[kind, self.natural_order] = unique_name(self.builder.taken, self.label)
        self.info = helper.make_tensor_value_info(name, kind, self.shape)


class ArrayFunctions:
    """The array functions that rules and selections call, under NumPy's names, which write ONNX nodes."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.builder, self.__name__ = builder, "onnx"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        rule = RULES[rule_and_operands_for(name)[0]]
        return lambda *operands: self.builder.rule(rule, operands)

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        return self.builder.emit_elementwise("Where", [condition, a, b])

    def take(self, x: Value, indices: Any, axis: int) -> Any:
        indices = np.asarray(indices)
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        steps = np.unique(np.diff(indices)) if indices.ndim == 1 else indices[:0]
        if len(steps) == 1 and steps[0]:
            last = indices[-1] + steps[0]
            ends = ([indices[0]], [last if last >= 0 else -LAST], [axis], steps)
            return self.builder.emit("Slice", [x, *map(np.array, ends)], [shape])[0]
        return self.builder.emit("Gather", [x, indices], [shape], axis=axis)[0]

    def full_like(self, pattern: Any, value: float) -> Any:
        return self.builder.constant(float(value))

    # --- rules that ONNX lacks, without loss of precision ---

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
        rest = self.builder.emit_elementwise("Mod", [a, b], fmod=1)
        return self.where((rest == 0.0) | ((rest < 0.0) == (b < 0.0)), rest, rest + b)

    def arctan2(self, a: Any, b: Any) -> Any:
        left, below = ((value < 0.0) | (1.0 / value < 0.0) for value in (b, a))  # of -0.0, too
        right = self.where((a == 0.0) & (b == 0.0), a, self.arctan(a / b))
        return self.where(left, right + self.where(below, -math.pi, math.pi), right)  # -0.0 + 0.0 would be 0.0
