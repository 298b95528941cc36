"""Here functions of the subset of Python run as machine code from their first call."""

import pytest

from naive_graph.engines.llvm import machine


@pytest.fixture(autouse=True, scope="module")
def compiled_at_once():
    """Elsewhere they begin as plain Python, as they do for a user."""
    before, machine.MANY = machine.MANY, -1
    yield
    machine.MANY = before
