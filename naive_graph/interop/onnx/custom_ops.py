"""Round-trip operators that ONNX lacks, as local functions whose metadata names the operator and its call.

On import the metadata restores the original operator. Other programs, and
versions without the operator, use the function's body (its composition) instead.
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
from ...tensor.operators.families import RuleOperator
from ...tensor.operators.mapping import Attribute, to_attributes
from ...tensor.operators.table import TABLE

DOMAIN = "naive_graph"  # ONNX domain of the local functions
PARAMETERS = f"{DOMAIN}.parameters"  # metadata key: the names of the trainable weights
SETTINGS = f"{DOMAIN}.sequential"  # metadata key: how a Sequential is trained


def describe_call(operator: str, inputs: Sequence[Any], operands: Sequence[Any], properties: Mapping[str, Any]
) -> dict[str, str]:  # fmt: skip
    """Metadata of a local function: the operator, its operands (as positions among the inputs), its properties."""
    metadata = {"operator": operator}
    if any(isinstance(value, TensorNode) for value in properties.values()):
        return metadata  # a property computed at run time cannot be stored

    def place(operand: Any) -> Any:
        if isinstance(operand, (list, tuple)):
            return [place(part) for part in operand]
        same = (position for position, input_ in enumerate(inputs) if input_ is operand)
        return None if operand is None else next(same)

    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in properties.items()}
    return metadata | {"operands": json.dumps(place(list(operands))), "properties": json.dumps(plain)}


def operator_name(function: Any) -> str:
    """Name of the operator in a local function's metadata."""
    return _parse_metadata(function)[0]


def custom_name(call: Call) -> tuple[str, dict[str, Any]]:
    """Name and attributes of an operator outside ONNX's own set: its Onnx(...) name, or else the operator's name."""
    row = call.operator
    for mapping in row.mappings:
        homes: dict[str, Any] = mapping.homes()
        is_plain = mapping.operands is None and all(isinstance(home, Attribute) for home in homes.values())
        if mapping.framework == "onnx" and is_plain and not defs.has(mapping.operator):
            with suppress(KeyError):
                attributes: dict[str, Any] = {}
                for property_name, home in homes.items():
                    attributes |= to_attributes(home, call.properties[property_name])
                if not any(isinstance(value, TensorNode) for value in attributes.values()):
                    return mapping.operator, {name: value for name, value in attributes.items() if value is not None}
    return row.name, {}


def rebuild_call(function: Any, inputs: Sequence[Any], name: str) -> Any:
    """Call the operator that a local function's metadata names. Raises NaiveGraphError."""
    operator, operands, properties = _parse_metadata(function)

    def find(operand: Any) -> Any:
        if isinstance(operand, list):
            return [inputs[position] for position in operand]
        return None if operand is None else inputs[operand]

    arguments = [*map(find, operands)]
    operator_def = _operator(operator)
    if isinstance(operator_def, (Rule, RuleOperator)):
        return operator_def(*arguments, name=name)
    return operator_def(**dict(zip(operator_def.operand_names, arguments)), **properties, name=name)


def is_own_export(function: Any) -> bool:
    """Whether naive_graph exported a local function: its metadata is a valid call of one of our operators."""
    if function.domain != DOMAIN:
        return False
    try:
        operator, operands, properties = _parse_metadata(function)
        row = _operator(operator)
        positions: list[Any] = []
        for operand in operands:
            positions += operand if isinstance(operand, list) else [operand]
        fits = {*positions} - {None} == {*range(len(function.input))}
        if isinstance(row, Rule):
            return fits and not properties and row.arity in (None, len(operands)) and None not in operands
        return fits and properties.keys() <= set(row.property_names)
    except (NaiveGraphError, KeyError, TypeError, ValueError, RecursionError):
        return False


def _operator(name: str) -> Any:
    """Look up an operator by name: a helper rule, which only derivatives use, or a row of the table."""
    rule = RULES.get(name)
    return rule if rule is not None and rule.helper else TABLE[name]


def stored_parameters(metadata: Mapping[str, str]) -> set[str] | None:
    """The names of the trainable weights, from a file's metadata; None if it has none."""
    try:
        names = json.loads(metadata[PARAMETERS])
        return {name for name in names if isinstance(name, str)} if isinstance(names, list) else None
    except (KeyError, ValueError, RecursionError):
        return None


def _parse_metadata(function: FunctionProto) -> tuple[str, list[Any], dict[str, Any]]:
    metadata = {entry.key.removeprefix(f"{DOMAIN}."): entry.value for entry in function.metadata_props}
    operands, properties = json.loads(metadata["operands"]), json.loads(metadata["properties"])
    if not isinstance(operands, list) or not isinstance(properties, dict):
        raise ValueError
    return metadata["operator"], operands, properties
