"""`naive-graph operators [NAME]`: the table of operators, or all that one row says."""

from __future__ import annotations


def show_operators(name: str | None) -> int:
    """Print the table, or the operator of this name."""
    from ..tensor.operators.describe import described, listed
    from ..tensor.operators.table import operators

    print(listed() if name is None else described(operators()[name]))
    return 0
