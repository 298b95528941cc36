"""A sheet that is written, as a message of protobuf: a model's graph, or a local function."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import FunctionProto, GraphProto, helper

from .own import DOMAIN
from .sheet import Fed, Held, Sheet, Turned, Value


def graph(sheet: Sheet, name: str, outputs: Sequence[Value], names: Sequence[str] = ()) -> GraphProto:
    """The graph, with these results, under these names if they are free."""
    here = [_result(sheet, value) for value in outputs]
    inputs = [each.info for each in sheet.fed if each.info]
    leaves = {*(each.name for each in sheet.weights), *(each.name for each in inputs)}
    renamed: dict[str, str] = {}
    for own, due in zip(here, names):
        if due and due != own and due not in (*leaves, *here, *renamed.values()):
            renamed[own] = due
    for node in sheet.nodes if renamed else ():
        for part in (node.input, node.output):
            part[:] = [renamed.get(each, each) for each in part]
    infos = [
        helper.make_tensor_value_info(renamed.get(each, each), sheet.book.real, value.shape)
        for each, value in zip(here, outputs)
    ]
    return helper.make_graph(sheet.nodes, name, inputs, infos, sheet.weights)


def _result(sheet: Sheet, value: Value) -> str:
    """The name of a result: its own, or that of a copy, if it is no operator's or was given already."""
    here = value.form()
    if isinstance(value, (Held, Fed, Turned)) or here in sheet.given:
        name = sheet.named(value.label, True)
        sheet.node("Identity", [here], [name], name)
        here = name
    sheet.given.add(here)
    return here


def function(sheet: Sheet, name: str, outputs: Sequence[Value], said: dict[str, str]) -> FunctionProto:
    """The sheet as a local function; `said` is written into its properties."""
    proto = FunctionProto(name=name, domain=DOMAIN)
    proto.input.extend(each.form() for each in sheet.fed)
    proto.output.extend(_result(sheet, each) for each in outputs)
    proto.node.extend(sheet.nodes)
    proto.opset_import.append(helper.make_opsetid("", sheet.book.opset))
    if any(each.domain == DOMAIN for each in sheet.nodes):
        proto.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    for key, text in said.items():
        proto.metadata_props.add(key=f"{DOMAIN}.{key}", value=text)
    return proto
