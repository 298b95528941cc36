"""How exact a float is: the float64 of Python's floats, or float32, which takes half the room.

The same kernels are compiled for either. In float32 a register holds twice as
many numbers; that is what makes it fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.arithmetics.single import Single
from ...errors import EngineError
from .emit import literal


class Precision(NamedTuple):
    """What compiled code must know of its floats.

    name: NumPy's word. type: LLVM's. lanes: how many a register holds. bytes: how many one takes.
    number: what the reference engine computes with.
    """

    name: str
    type: str
    lanes: int
    bytes: int
    number: Callable[[float], float]

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.type}>"

    @property
    def mask(self) -> str:
        return f"<{self.lanes} x i1>"

    def suffix(self, width: int = 1) -> str:
        """How LLVM's own functions end: .f64, .v16f32."""
        return f".{f'v{width}' if width > 1 else ''}f{8 * self.bytes}"

    def rounded(self, value: float) -> float:
        """The nearest number of this precision, as a plain float."""
        return float(self.number(value))

    def literal(self, value: float) -> str:
        """A number in LLVM's notation, in which float32 too is written with the digits of float64."""
        return literal(self.rounded(value))


DOUBLE = Precision("float64", "double", 8, 8, float)
SINGLE = Precision("float32", "float", 16, 4, Single)


def precision_named(dtype: Any) -> Precision:
    """The precision of that name, or of NumPy's type. Raises EngineError for any other."""
    import numpy as np

    try:
        name = np.dtype(dtype).name
    except (TypeError, ValueError):
        name = ""
    for each in (DOUBLE, SINGLE):
        if name == each.name:
            return each
    raise EngineError(f"A Program computes in dtype 'float64' or 'float32', not in {dtype!r}.")
