"""The tape engine for `Graph.forward` and `Graph.backward`: every value and every gradient.

Somebody may look at any node, so all rows are handed out, and no pass may
dissolve one. A Program, which is asked for certain results only, is where the
passes have their freedom. A run whose results are not finite is replayed on the
reference engine, whose answer counts.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Sequence
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...core import reference
from ...core.forks import ENGINES, held_over_forks
from ...core.origin import learners_level
from ...core.plan import Plan
from ...errors import EngineWarning
from ..llvm.compile import llvmlite
from ..llvm.emit import Opaque
from .adjoint import adjoint
from .dots import with_dots
from .flat import Array, flat_of
from .share import share
from .softmax import softmax
from .tape import Tape

_LOCK = RLock()
held_over_forks(ENGINES, lambda: _LOCK)
_KEPT: WeakKeyDictionary[Plan, dict[Any, _Lowered | Opaque]] = WeakKeyDictionary()


class _Lowered:
    """A tape, and which of the plan's steps its results belong to."""

    def __init__(self, tape: Tape, steps: Array) -> None:
        self.tape, self.steps = tape, steps

    def __call__(self, leaves: Sequence[float]) -> Array:
        source = array("d", leaves)
        with _LOCK:
            self.tape.run(source.buffer_info()[0])
            return self.tape.out[: len(self.steps)].copy()


def compiles(plan: Plan) -> bool:
    """Whether both sweeps of the plan can run on the tape. It is made ready on the way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineWarning)
        backward = _backward(plan, dict.fromkeys(plan.targets, 1.0), plan.varies())
        return _forward(plan) is not None and backward is not None


def evaluate(plan: Plan, values: list[Any]) -> None:
    """Fill in the operators' values. `values`: one for each step, the leaves' set."""
    run = _forward(plan)
    if run is not None:
        computed = run(values)
        numbers = np.array(values)
        numbers[run.steps] = computed
        if np.isfinite(numbers[plan.targets]).all():
            values[:] = numbers.tolist()
            return
    reference.evaluate(plan, values)  # it also raises what a learner's own function raises


def differentiate(plan: Plan, values: Sequence[Any], seeds: dict[int, Any], wanted: Sequence[bool]) -> list[Any]:
    """The adjoint of each step, 0.0 where the seeded results do not depend on it."""
    run = _backward(plan, seeds, wanted) if all(seed == 1.0 for seed in seeds.values()) else None
    if run is not None:
        adjoints = np.zeros(len(plan))
        adjoints[run.steps] = run(values)
        if np.isfinite(adjoints).all():
            found: list[Any] = adjoints.tolist()
            return found
    return reference.differentiate(plan, values, seeds, wanted)


def _forward(plan: Plan) -> _Lowered | None:
    return _kept(plan, "forward", lambda: _lowered_forward(plan))


def _backward(plan: Plan, seeds: dict[int, Any], wanted: Sequence[bool]) -> _Lowered | None:
    return _kept(plan, ("backward", *seeds, bytes(wanted)), lambda: _lowered_backward(plan, seeds, wanted))


def _lowered_forward(plan: Plan) -> _Lowered:
    steps = np.flatnonzero(np.array(plan.kinds) >= 0)
    flat, place = softmax(with_dots(flat_of(plan)), steps)
    return _Lowered(Tape(flat, place[steps].tolist()), steps)


def _lowered_backward(plan: Plan, seeds: dict[int, Any], wanted: Sequence[bool]) -> _Lowered:
    """A leaf's value is loaded; an operator's is computed again on the way."""
    flat, asked = with_dots(flat_of(plan)), np.flatnonzero(np.array(wanted, bool)).astype(np.int32)
    grown, adjoints = adjoint(flat, list(seeds), asked)
    steps = asked[adjoints[asked] >= 0]
    narrow, moved = softmax(grown, adjoints[steps])
    rows = moved[adjoints[steps]]
    shared, place = share(narrow, rows)
    return _Lowered(Tape(shared, place[rows].tolist()), steps)


def _kept(plan: Plan, key: Any, make: Callable[[], _Lowered]) -> _Lowered | None:
    """The tape of that key; None, with a warning, where an operator cannot be compiled."""
    with _LOCK:
        kept = _KEPT.setdefault(plan, {})
        if key not in kept:
            llvmlite()  # or say at once that it is missing
            try:
                kept[key] = make()
            except Opaque as opaque:
                kept[key] = Opaque(str(opaque))  # without its traceback, which would keep the plan alive
        found = kept[key]
    if isinstance(found, Opaque):
        warnings.warn(EngineWarning(f"{found} The reference engine runs this graph."), stacklevel=learners_level())
        return None
    return found
