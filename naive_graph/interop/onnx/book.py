"""What all sheets of one model share: the type of its numbers, its opset, its local functions, its size."""

from __future__ import annotations

from typing import Any

from onnx import FunctionProto, TensorProto, defs

from ...errors import ExportError

FLOAT, DOUBLE, BOOL, INT64, INT32 = (
    int(each) for each in (
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL, TensorProto.INT64, TensorProto.INT32,
    )
)  # fmt: skip
SPELT = {FLOAT: "float", DOUBLE: "double", BOOL: "bool", INT64: "int64", INT32: "int32"}
MOST_BYTES = 2**31 - 2**20  # protobuf's own limit, less room for all but the weights


class Refused(Exception):
    """One thing that cannot leave: what, and how to mend it."""


class Book:
    """What all sheets of one model share: the type of its numbers, its opset, its local functions."""

    def __init__(self, real: int, opset: int) -> None:
        self.real, self.opset = real, opset
        self.functions: dict[bytes, FunctionProto] = {}  # by what they compute
        self.names: dict[str, int] = {}  # of functions, and how many have each
        self.named: dict[Any, str] = {}  # a scalar rule's function, once it is written
        self.bytes = 0

    def grow(self, size: int) -> None:
        """Take note of so many bytes more. Raises ExportError for more than a file can hold."""
        self.bytes += size
        if self.bytes > MOST_BYTES:
            raise ExportError(
                "The weights take more than the 2 GB that an ONNX file can hold. "
                'Write dtype="float32", or fewer of them.'
            )

    def schema(self, operator: str) -> Any:
        return defs.get_schema(operator, self.opset, "")

    def enter(self, function: FunctionProto) -> str:
        """The function's name; that of an equal one, if there is one. Names are operators' own, numbered if need be."""
        key = function.SerializeToString(deterministic=True)
        if key not in self.functions:
            function.name = numbered(self.names, function.name)
            self.functions[key] = function
        return self.functions[key].name


def numbered(taken: dict[str, int], name: str) -> str:
    """The name, or the first of name_1, name_2 ... that nothing has taken; it is taken now."""
    while (count := taken.get(name, 0)) or name in taken:
        taken[name] = count + 1
        name = f"{name}_{count}"
    taken[name] = 1
    return name
