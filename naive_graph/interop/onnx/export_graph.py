"""A graph of ONNX while it is written, of a whole model or of one local function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import FunctionProto, GraphProto, NodeProto, TensorProto, helper

from .custom_ops import DOMAIN
from .export_values import SHARED, Extents, InputValue, ModelBuilder, Order, StoredValue, Turned, Value, numbered


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
        """Numbers that have no name. Sizes are stored for each reader, who may leave them open."""
        array = np.asarray(value)
        if array.dtype.kind in "iu":
            return StoredValue(self, array.astype(np.int64), "sizes")
        held = StoredValue(self, array, "constant")
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


# --- as messages of protobuf --------------------------------------------------


def graph(builder: GraphBuilder, name: str, outputs: Sequence[Value], names: Sequence[str] = ()) -> GraphProto:
    """The graph, with these results, under these names if they are free."""
    here = [_result(builder, value) for value in outputs]
    inputs = [each.info for each in builder.fed if each.info]
    leaves = {*(each.name for each in builder.weights), *(each.name for each in inputs)}
    renamed: dict[str, str] = {}
    for own, due in zip(here, names):
        if due and due != own and due not in (*leaves, *here, *renamed.values()):
            renamed[own] = due
    for node in builder.nodes if renamed else ():
        for part in (node.input, node.output):
            part[:] = [renamed.get(each, each) for each in part]
    infos = [
        helper.make_tensor_value_info(renamed.get(each, each), builder.model_builder.real, value.shape)
        for each, value in zip(here, outputs)
    ]
    return helper.make_graph(builder.nodes, name, inputs, infos, builder.weights)


def _result(builder: GraphBuilder, value: Value) -> str:
    """The name of a result: its own, or that of a copy, if it is no operator's or was given already."""
    here = value.form()
    if isinstance(value, (StoredValue, InputValue, Turned)) or here in builder.given:
        name = builder.named(value.label, True)
        builder.node("Identity", [here], [name], name)
        here = name
    builder.given.add(here)
    return here


def function(builder: GraphBuilder, name: str, outputs: Sequence[Value], said: dict[str, str]) -> FunctionProto:
    """The graph as a local function; `said` is written into its properties."""
    proto = FunctionProto(name=name, domain=DOMAIN)
    proto.input.extend(each.form() for each in builder.fed)
    proto.output.extend(_result(builder, each) for each in outputs)
    proto.node.extend(builder.nodes)
    proto.opset_import.append(helper.make_opsetid("", builder.model_builder.opset))
    if any(each.domain == DOMAIN for each in builder.nodes):
        proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    for key, text in said.items():
        proto.metadata_props.add(key=f"{DOMAIN}.{key}", value=text)
    return proto
