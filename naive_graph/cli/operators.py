"""`naive-graph operators [NAME]`: print the table of tensor operators, or one operator's definition."""

from __future__ import annotations

from typing import Any


def show_operators(name: str | None) -> None:
    """Print the table, or the operators with this name here, in ONNX or in TensorFlow, in any case."""
    from ..tensor.operators.describe import describe_operator, list_operators
    from ..tensor.operators.table import operators

    print(list_operators() if name is None else "\n\n".join(map(describe_operator, _find_operators(name, operators()))))


def _find_operators(name: str, table: Any) -> list[Any]:
    """The operators with this exact name, or else those with it in another case or framework."""
    if name in table:
        return [table[name]]
    names = {key: {key, *(mapping.operator for mapping in row.mappings)} for key, row in table.items()}
    matches = {row.name: row for key, row in table.items() if name.lower() in map(str.lower, names[key])}
    return list(matches.values()) or [table[name]]  # which says what is near
