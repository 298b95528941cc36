"""Rows that a test defines are gone after it."""

import pytest

from naive_graph import TensorNode, operators
from naive_graph.core.reserved_names import TAKEN
from naive_graph.core.rules import RULES
from naive_graph.tensor.operators.table import TABLE


@pytest.fixture
def table_apart():
    """The table as it was, when the test ends."""
    list(operators())  # rows of the scalar catalogue are made when they are asked for
    rows, elsewhere, taken, rules = dict(TABLE.rows), dict(TABLE.by_foreign_name), set(TAKEN), set(RULES)
    yield
    for name in TABLE.rows.keys() - rows.keys():
        for home in TensorNode.__mro__[:2]:
            if name in vars(home):
                delattr(home, name)
    TABLE.rows, TABLE.by_foreign_name = rows, elsewhere
    TAKEN.intersection_update(taken)
    for name in RULES.keys() - rules:
        del RULES[name]
