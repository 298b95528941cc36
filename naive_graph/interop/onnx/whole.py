"""A graph that is written, as a message of protobuf: a model's graph, or a local function."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import FunctionProto, GraphProto, helper

from .graph_builder import GraphBuilder, InputValue, StoredValue, Turned, Value
from .own import DOMAIN


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
