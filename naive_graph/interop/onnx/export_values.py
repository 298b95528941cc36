"""The values of a graph while it is written, and what all graphs of one model share."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from onnx import FunctionProto, TensorProto, ValueInfoProto, defs, helper, numpy_helper

from ...errors import ExportError

GraphBuilder = Any  # of export_graph.py, which stands on this file

FLOAT, DOUBLE, BOOL, INT64, INT32 = (
    int(each) for each in (
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL, TensorProto.INT64, TensorProto.INT32,
    )
)  # fmt: skip
SPELT = {FLOAT: "float", DOUBLE: "double", BOOL: "bool", INT64: "int64", INT32: "int32"}
MOST_BYTES = 2**31 - 2**20  # protobuf's own limit, less room for all but the weights


class Refused(Exception):
    """One thing that cannot leave: what, and how to mend it."""


class Kinds(NamedTuple):
    """Types: of each input, as numbers and as whole numbers, and of each result. The last stand for all that follow."""

    inputs: list[tuple[int, int]]
    outputs: list[int]


def _first(kinds: Iterable[int], types: Collection[str]) -> int:
    return next((kind for kind in kinds if f"tensor({SPELT[kind]})" in types), TensorProto.UNDEFINED)


class ModelBuilder:
    """What all graphs of one model share: the type of its numbers, its opset, its local functions."""

    def __init__(self, real: int, opset: int) -> None:
        self.real, self.opset = real, opset
        self.functions: dict[bytes, FunctionProto] = {}  # by what they compute
        self.names: dict[str, int] = {}  # of functions, and how many have each
        self.named: dict[Any, str] = {}  # a scalar rule's function, once it is written
        self.known: dict[str, Kinds] = {}
        self.bytes = 0
        self.learned: list[str] = []  # names of parameters

    def grow(self, size: int) -> None:
        """Take note of so many bytes more. Raises ExportError for more than a file can hold."""
        self.bytes += size
        if self.bytes > MOST_BYTES:
            raise ExportError(
                "The weights take more than the 2 GB that an ONNX file can hold. "
                'Write dtype="float32", or fewer of them.'
            )

    def schema(self, operator: str) -> Any:
        return defs.get_schema(operator, self.opset, "")

    def kinds(self, operator: str) -> Kinds:
        """The types in which an operator takes and gives what we have."""
        if operator not in self.known:
            schema, reals = self.schema(operator), (self.real, BOOL, INT64, INT32)
            inputs = [(_first(reals, each.types), _first((INT64, INT32, *reals), each.types)) for each in schema.inputs]
            self.known[operator] = Kinds(inputs, [_first(reals, each.types) for each in schema.outputs])
        return self.known[operator]

    def enter(self, function: FunctionProto) -> str:
        """The function's name; that of an equal one, if there is one. Names are operators' own, numbered if need be."""
        key = function.SerializeToString(deterministic=True)
        if key not in self.functions:
            function.name = numbered(self.names, function.name)
            self.functions[key] = function
        return self.functions[key].name


def numbered(taken: dict[str, int], name: str) -> str:
    """The name, or the first of name_1, name_2 ... that nothing has taken; it is taken now."""
    while (count := taken.get(name, 0)) or name in taken:
        taken[name] = count + 1
        name = f"{name}_{count}"
    taken[name] = 1
    return name


# --- values -------------------------------------------------------------------


SHARED = 64  # entries of an unnamed constant that is written once for all that ask for its numbers
Order = tuple[int, ...]
Extents = Sequence[Any]  # whole numbers, or the name of one that is not known


class Value:
    """A tensor of a graph being written. exact: whether it holds whole numbers, which stay whole where they may."""

    def __init__(self, builder: GraphBuilder, shape: Iterable[Any], label: str, exact: bool = False) -> None:
        self.builder, self.shape, self.label, self.exact = builder, tuple(shape), label, exact
        self.straight: Order = tuple(range(len(self.shape)))  # its axes in its own order
        self.forms: dict[tuple[int, Order], str] = {}

    def form(self, kind: int | None = None, order: Order | None = None) -> str:
        """The name of the value in this type (the model's), with its axes in this order (its own)."""
        wanted = self.builder.model_builder.real if kind is None else kind, self.straight if order is None else order
        if not self.forms:
            self.begin(*wanted)
        if wanted not in self.forms:
            near = next((each for each in self.forms if each[0] == wanted[0]), None)
            near = near or next((each for each in self.forms if each[1] == wanted[1]), None) or next(iter(self.forms))
            name = self.forms[near]
            if near[0] != wanted[0]:
                name = self._derived("Cast", name, (wanted[0], near[1]), to=wanted[0])
            if near[1] != wanted[1]:
                name = self._derived("Transpose", name, wanted, perm=[near[1].index(each) for each in wanted[1]])
        return self.forms[wanted]

    def whole(self) -> Value:
        """The same numbers as whole ones."""
        value = Value(self.builder, self.shape, self.label, exact=True)
        value.forms[INT64, self.straight] = self.form(INT64)
        return value

    def begin(self, kind: int, order: Order) -> None:
        """The first form, of what is written only when somebody asks."""
        raise NotImplementedError

    def _derived(self, operator: str, source: str, form: tuple[int, Order], **attributes: Any) -> str:
        promised = form == (self.builder.model_builder.real, self.straight)
        name: str = self.builder.named(self.label, promised)
        self.forms[form] = name
        self.builder.node(operator, [source], [name], name, **attributes)
        return name


class StoredValue(Value):
    """Numbers that are known: weights and constants. Where they are first asked for says how they are stored."""

    def __init__(self, builder: GraphBuilder, array: Any, label: str, weight: bool = False) -> None:
        super().__init__(builder, array.shape, label, array.dtype.kind in "iu")
        self.array, self.weight = array, weight

    def begin(self, kind: int, order: Order) -> None:
        if (self.weight and kind == BOOL) or (kind != self.builder.model_builder.real and not self._is_whole(kind)):
            kind = self.builder.model_builder.real  # the other follows from it
        with np.errstate(over="ignore"):  # of a bound that is beyond all numbers of the file
            array = np.asarray(self.array, helper.tensor_dtype_to_np_dtype(kind)).transpose(order)
        if self.weight and kind == FLOAT and np.isinf(array).any() and np.isfinite(self.array).all():
            raise ExportError(f'{self.label!r} has numbers beyond single precision. Write dtype="float64".')
        name = self.forms[kind, order] = self.builder.named(self.label, True)
        tensor = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
        self.builder.hold(tensor)
        if self.weight:
            self.builder.model_builder.learned.append(name)

    def _is_whole(self, kind: int) -> bool:
        """Whether a type of whole numbers or truth values can hold the numbers. None of them has a -0.0."""
        array = np.asarray(self.array, np.float64)
        return not (np.signbit(array) & (array == 0.0)).any() and np.array_equal(
            np.asarray(self.array, helper.tensor_dtype_to_np_dtype(kind)), self.array
        )


class Turned(Value):
    """A value with its axes in another order, which is written only where no other order cancels it."""

    def __init__(self, base: Value, perm: Sequence[int], label: str) -> None:
        super().__init__(base.builder, [base.shape[each] for each in perm], label, base.exact)
        self.base, self.perm = base, tuple(perm)

    def form(self, kind: int | None = None, order: Order | None = None) -> str:
        return self.base.form(kind, tuple(self.perm[each] for each in order or self.straight))


class InputValue(Value):
    """An input. Where it is first asked for says its type, so that places are whole numbers, if it has none yet."""

    def __init__(self, builder: GraphBuilder, shape: Iterable[Any], label: str, kind: int | None = None) -> None:
        super().__init__(builder, shape, label)
        self.kind = kind
        self.info: ValueInfoProto | None = None
        builder.fed.append(self)

    def begin(self, kind: int, order: Order) -> None:
        kind = self.builder.model_builder.real if self.builder.inside else self.kind or kind
        name = self.forms[kind, self.straight] = self.builder.named(self.label, True)
        self.info = helper.make_tensor_value_info(name, kind, self.shape)

    def form(self, kind: int | None = None, order: Order | None = None) -> str:
        if self.info is not None and self.info.type.tensor_type.elem_type == BOOL != kind and not self.kind:
            self._widen(self.info)
        return super().form(kind, order)

    def _widen(self, info: ValueInfoProto) -> None:
        """What was taken for truth values is numbers as well: those become the input, and the truth values follow."""
        truth, real = self.builder.named(info.name), self.builder.model_builder.real
        for node in self.builder.nodes:
            node.input[:] = [truth if each == info.name else each for each in node.input]
        self.builder.node("Cast", [info.name], [truth], truth, to=BOOL)
        self.builder.nodes.insert(0, self.builder.nodes.pop())
        self.forms[BOOL, self.straight], self.forms[real, self.straight] = truth, info.name
        info.type.tensor_type.elem_type = real
