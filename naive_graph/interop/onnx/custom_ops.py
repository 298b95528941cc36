"""Operators that ONNX lacks: written as local functions whose metadata names the operator and its call.

So a file that left from here comes back as what it was. Elsewhere, and where
the table lacks the operator, its composition stands for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from onnx import FunctionProto, defs

from ...core.rules import RULES, Rule
from ...errors import NaiveGraphError
from ...tensor.base import Call, TensorNode
from ...tensor.operators.kinds import OfRule
from ...tensor.operators.mapping import Attribute, undone
from ...tensor.operators.table import TABLE

DOMAIN = "naive_graph"  # of the operators that ONNX lacks
PARAMETERS = f"{DOMAIN}.parameters"  # by which a file says which weights are learned


def describe_call(operator: str, inputs: Sequence[Any], operands: Sequence[Any], properties: Mapping[str, Any]
) -> dict[str, str]:  # fmt: skip
    """Metadata of a local function: the operator, its operands (as positions among the inputs), its properties."""
    said = {"operator": operator}
    if any(isinstance(each, TensorNode) for each in properties.values()):
        return said  # what was found at run time is no property of a call that can be made again

    def place(operand: Any) -> Any:
        if isinstance(operand, (list, tuple)):
            return [place(each) for each in operand]
        return None if operand is None else next(at for at, each in enumerate(inputs) if each is operand)

    plain = {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in properties.items()}
    return said | {"operands": json.dumps(place(list(operands))), "properties": json.dumps(plain)}


def operator_name(function: Any) -> str:
    """Name of the operator in a local function's metadata."""
    return _parse_metadata(function)[0]


def custom_name(call: Call) -> tuple[str, dict[str, Any]]:
    """Name and attributes of an operator outside ONNX's own set: its Onnx(...) name, or else the operator's name."""
    row = call.operator
    for mapping in row.mappings:
        homes = mapping.homes()
        if mapping.framework == "onnx" and not defs.has(mapping.operator) and mapping.operands is None:
            plain = all(isinstance(each, Attribute) for each in homes.values())
            with suppress(KeyError):
                said = {name: each for at, home in homes.items() if isinstance(home, Attribute)
                        for name, each in undone(home, call.properties[at]).items() if each is not None}  # fmt: skip
                if plain and not any(isinstance(each, TensorNode) for each in said.values()):
                    return mapping.operator, said
    return row.name, {}


def rebuild_call(function: Any, inputs: Sequence[Any], name: str) -> Any:
    """Call the operator that a local function's metadata names. Raises NaiveGraphError."""
    operator, operands, properties = _parse_metadata(function)
    given = [None if at is None else [inputs[each] for each in at] if isinstance(at, list) else inputs[at]
             for at in operands]  # fmt: skip
    row = _operator(operator)
    if isinstance(row, Rule):
        node = row(*given)
        node.name = name
        return node
    if isinstance(row, OfRule):
        return row(*given, name=name)
    return row(**dict(zip(row.operand_names, given)), **properties, name=name)


def is_ours(function: Any) -> bool:
    """Whether a local function was written here: its metadata is a valid call of an operator of the table."""
    if function.domain != DOMAIN:
        return False
    try:
        operator, operands, properties = _parse_metadata(function)
        row = _operator(operator)
        places = {at for each in operands for at in (each if isinstance(each, list) else [each]) if at is not None}
        fits = places == set(range(len(function.input)))
        if isinstance(row, Rule):
            return fits and not properties and row.arity in (None, len(operands)) and None not in operands
        return fits and properties.keys() <= set(row.property_names)
    except (NaiveGraphError, KeyError, TypeError, ValueError, RecursionError):
        return False


def _operator(name: str) -> Any:
    """Look up an operator of the table, or a rule that occurs only in derivatives."""
    rule = RULES.get(name)
    return rule if rule is not None and rule.helper else TABLE[name]


def stored_parameters(said: Mapping[str, str]) -> set[str] | None:
    """The names of the weights that are parameters; None if the file does not say."""
    try:
        names = json.loads(said[PARAMETERS])
        return {each for each in names if isinstance(each, str)} if isinstance(names, list) else None
    except (KeyError, ValueError, RecursionError):
        return None


def _parse_metadata(function: FunctionProto) -> tuple[str, list[Any], dict[str, Any]]:
    said = {each.key.removeprefix(f"{DOMAIN}."): each.value for each in function.metadata_props}
    operands, properties = json.loads(said["operands"]), json.loads(said["properties"])
    if not isinstance(operands, list) or not isinstance(properties, dict):
        raise ValueError
    return said["operator"], operands, properties
