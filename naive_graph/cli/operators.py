"""`naive-graph operators [NAME]`: the table of operators, or all that one row says."""

from __future__ import annotations

from typing import Any


def show_operators(name: str | None) -> int:
    """Print the table, or what is called so, here or elsewhere, in whatever case."""
    from ..tensor.operators.describe import described, listed
    from ..tensor.operators.table import operators

    print(listed() if name is None else "\n\n".join(map(described, _called(name, operators()))))
    return 0


def _called(name: str, table: Any) -> list[Any]:
    """The rows of that name: only one has it as it is written."""
    if name in table:
        return [table[name]]
    names = {each: {each, *(mapping.operator for mapping in row.mappings)} for each, row in table.items()}
    found = {row.name: row for each, row in table.items() if name.lower() in map(str.lower, names[each])}
    return list(found.values()) or [table[name]]  # which says what is near
