"""A graph of ONNX while it is written, of a whole model or of one local function.

A value on it may lie there in several forms, in another type or with its axes
in another order. A form is written when something asks for it: so numbers that
were compared stay truth values where these are due, images of two convolutions
in a row are not turned between them, and weights are stored as they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ...errors import ExportError
from .model_builder import BOOL, FLOAT, INT64, ModelBuilder, numbered
from .own import DOMAIN

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
        name = self.forms[form] = self.builder.named(
            self.label, form == (self.builder.model_builder.real, self.straight)
        )
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


class GraphBuilder:
    """A graph that is being written. inside: whether it is a local function's, which holds no weights."""

    def __init__(self, model_builder: ModelBuilder, inside: bool = False) -> None:
        self.model_builder, self.inside = model_builder, inside
        self.nodes: list[NodeProto] = []
        self.fed: list[InputValue] = []
        self.weights: list[TensorProto] = []
        self.taken: dict[str, int] = {}  # names of values
        self.called: dict[str, int] = {}  # names of nodes
        self.reserved: set[str] = set()  # labels of results, which are theirs in the form that is promised
        self.given: set[str] = set()  # names of results
        self.constants: dict[Any, StoredValue] = {}

    def named(self, label: str, promised: bool = False) -> str:
        """A name that nothing else has; promised: of a result, as it is to leave."""
        return numbered(self.taken, label if promised or label not in self.reserved else f"{label}.there")

    def constant(self, value: Any) -> Value:
        """Numbers that have no name."""
        array = np.asarray(value)
        array = array.astype(np.int64) if array.dtype.kind in "iu" else array
        held = StoredValue(self, array, "sizes" if array.dtype.kind in "iu" else "constant")
        if array.size > SHARED:
            return held
        return self.constants.setdefault((array.tobytes(), array.shape, array.dtype.kind), held)

    def hold(self, tensor: TensorProto) -> None:
        """A tensor of numbers: a weight of the model, or a node of a function."""
        self.model_builder.grow(len(tensor.raw_data))
        if self.inside:
            self.node("Constant", [], [tensor.name], tensor.name, value=tensor)
        else:
            self.weights.append(tensor)

    def emit(
        self, operator: str, given: Sequence[Any], shapes: Sequence[Extents], label: str = "", *, scope: str = "",
        orders: Sequence[Order | None] = (), turned: Sequence[Order | None] = (), **attributes: Any,
    ) -> list[Value]:  # fmt: skip
        """Write one operator of ONNX; what it is given takes the types that the operator allows.

        given: values, numbers or arrays, or None for an input that is left out.
        shapes: of the results. orders, turned: how the axes of an input, or of a
        result, stand there.
        """
        kinds, label = self.model_builder.kinds(operator), label or operator.lower()
        asked = []
        for place, each in enumerate(given):
            value = each if each is None or isinstance(each, Value) else self.constant(each)
            kind = kinds.inputs[min(place, len(kinds.inputs) - 1)]
            order = orders[place] if place < len(orders) else None
            asked.append(None if value is None else (value, kind[value.exact], order))
        for _ in (1, 2):  # what one place takes for truth values may become numbers for the next
            inputs = ["" if each is None else each[0].form(*each[1:]) for each in asked]
        while inputs and not inputs[-1]:
            inputs.pop()
        results = []
        for place, shape in enumerate(shapes):
            result = Value(self, shape, label if len(shapes) == 1 else f"{label}_{place}")
            order = turned[place] if place < len(turned) else None
            form = kinds.outputs[min(place, len(kinds.outputs) - 1)], order or result.straight
            result.forms[form] = self.named(result.label, form == (self.model_builder.real, result.straight))
            results.append(result)
        self.write(operator, inputs, results, scope, attributes)
        return results

    def call(
        self, function: str, given: Sequence[Value], shapes: Sequence[Extents], label: str, scope: str = "",
        attributes: Mapping[str, Any] = {},
    ) -> list[Value]:  # fmt: skip
        """Write one local function, applied."""
        results = []
        for place, shape in enumerate(shapes):
            result = Value(self, shape, label if len(shapes) == 1 else f"{label}_{place}")
            result.forms[self.model_builder.real, result.straight] = self.named(result.label, True)
            results.append(result)
        self.write(function, [each.form() for each in given], results, scope, attributes, DOMAIN)
        return results

    def write(
        self, operator: str, inputs: Sequence[str], results: Sequence[Value], scope: str, attributes: Any,
        domain: str = "",
    ) -> None:  # fmt: skip
        outputs = [next(iter(each.forms.values())) for each in results]
        label = results[0].label if len(results) == 1 else results[0].label.removesuffix("_0")
        # Names of imported networks begin with their scopes.
        inside = not scope or label.removeprefix("/").startswith((f"{scope}/", f"{scope.replace('/', '.')}."))
        self.node(operator, inputs, outputs, label if inside else f"{scope}/{label}", domain=domain, **attributes)

    def node(self, operator: str, inputs: Sequence[str], outputs: Sequence[str], name: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(operator, inputs, outputs, numbered(self.called, name), **attributes))

    def call_it(self, value: Value, label: str) -> None:
        """Give the value that the last operator gave a name of a learner's."""
        form = self.model_builder.real, value.straight
        last = self.nodes[-1]
        if list(last.output) == [value.forms.get(form)]:
            value.label = label
            value.forms[form] = last.output[0] = self.named(label, True)
            last.name = numbered(self.called, label)

    # --- what is asked for often ---

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        return value if shape == value.shape else self.emit("Reshape", [value, _whole(shape)], [shape])[0]

    def transpose(self, value: Value, order: Sequence[int]) -> Value:
        if tuple(order) == value.straight:
            return value
        return self.emit("Transpose", [value], [[value.shape[each] for each in order]], perm=list(order))[0]

    def expand(self, value: Value, shape: Sequence[int]) -> Value:
        shape = tuple(shape)
        return value if shape == value.shape else self.emit("Expand", [value, _whole(shape)], [shape])[0]

    def total(self, value: Value, axes: Sequence[int]) -> Value:
        """The sum over some axes, which go."""
        rest = [extent for at, extent in enumerate(value.shape) if at not in axes]
        return self.emit("ReduceSum", [value, _whole(axes)], [rest], keepdims=0)[0] if axes else value


def _whole(numbers: Sequence[int]) -> Any:
    return np.array(numbers, dtype=np.int64)
