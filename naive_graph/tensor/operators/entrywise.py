"""Python functions of entries inside compositions, traced once for each set of closed-over values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import TensorNode
from ..function import Function, trace
from ..nodes import NonlinearNode

MOST = 4096
_TRACED: dict[Any, Function] = {}


def entry(function: Callable[..., Any], *sources: TensorNode) -> NonlinearNode:
    """A nonlinear node for a Python function of rules; what it closes over is part of it."""
    key = (function.__code__, tuple([cell.cell_contents for cell in function.__closure__ or ()]), len(sources))
    found = _TRACED.get(key)
    if found is None:
        if len(_TRACED) >= MOST:
            _TRACED.clear()
        found = _TRACED[key] = trace(function, len(sources))
    return NonlinearNode(found, *sources)
