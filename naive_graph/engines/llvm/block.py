"""The straight-line code for a block of samples, as many as a register has lanes: eight, or sixteen in float32."""

from __future__ import annotations

from .emit import Emitted, Value
from .functions import Module
from .listing import Scratch, Straight
from .registers import numbers

BLOCK = "ptr %values, ptr %adjoints, ptr %scratch, ptr %feeds, ptr %lanes, ptr %outs, i64 %stride, i64 %left"


class Block(Straight):
    """The code for a block of samples; what has one value for all of them is spread over a register where needed."""

    def __init__(self, module: Module, name: str, scratch: Scratch, whole: bool = False) -> None:
        super().__init__(module, name, BLOCK, scratch, whole)

    def operand(self, value: Value) -> str:
        if isinstance(value, Emitted) and value.writer.module.width == 1:
            one, vector, alone = self._loaded(value), self.module.real, value.writer.module.real
            first = self.line(f"insertelement {vector} poison, {alone} {one}, i64 0").name
            everywhere = f"<{self.module.width} x i32> zeroinitializer"
            return self.line(f"shufflevector {vector} {first}, {vector} poison, {everywhere}").name
        return super().operand(value)

    def fused(self, x: Value, y: Value, total: Value) -> Emitted:
        """x * y + total, rounded once."""
        return self.outside("llvm.fma.f64", [x, y, total])

    def real_only(self, value: Value, other: Value) -> Emitted:
        """The value in the lanes of samples, and the other one in lanes beyond the last."""
        lanes, vector = self.module.width, self.module.real
        left = self.line(f"insertelement <{lanes} x i64> poison, i64 %left, i64 0").name
        every = f"shufflevector <{lanes} x i64> {left}, <{lanes} x i64> poison, <{lanes} x i32> zeroinitializer"
        mask = self.line(f"icmp slt <{lanes} x i64> <{numbers(lanes)}>, {self.line(every).name}").name
        return self.line(
            f"select {self.module.truth} {mask}, {vector} {self.operand(value)}, {vector} {self.operand(other)}"
        )

    def _address_lines(self, array: str, index: int) -> list[str]:
        if array in ("feeds", "outs"):
            return [f"mul i64 %stride, {index}", f"getelementptr {self.module.precision.type}, ptr %{array}, i64 {{0}}"]
        return super()._address_lines(array, index)
