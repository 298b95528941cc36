"""Functions of entries inside compositions: each is traced once for what it was closed over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import TensorNode
from ..function import Function, trace
from ..nodes import NonlinearNode

MOST = 4096
_TRACED: dict[Any, Function] = {}


def entry(function: Callable[..., Any], *sources: TensorNode) -> NonlinearNode:
    """A node of a Python function that is made of rules, of its arguments, and of what it was closed over."""
    key = (function.__code__, tuple([cell.cell_contents for cell in function.__closure__ or ()]), len(sources))
    found = _TRACED.get(key)
    if found is None:
        if len(_TRACED) >= MOST:
            _TRACED.clear()
        found = _TRACED[key] = trace(function, len(sources))
    return NonlinearNode(found, *sources)
