"""What all graphs of one model share: the type of its numbers, its opset, its local functions, its size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from onnx import FunctionProto, TensorProto, defs

from ...errors import ExportError

FLOAT, DOUBLE, BOOL, INT64, INT32 = (
    int(each) for each in (
        TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL, TensorProto.INT64, TensorProto.INT32,
    )
)  # fmt: skip
SPELT = {FLOAT: "float", DOUBLE: "double", BOOL: "bool", INT64: "int64", INT32: "int32"}
MOST_BYTES = 2**31 - 2**20  # protobuf's own limit, less room for all but the weights


Shapes = Sequence[Sequence[Any]]


class Refused(Exception):
    """One thing that cannot leave: what, and how to mend it."""


class Kinds(NamedTuple):
    """Types: of each input, as numbers and as whole numbers, and of each result. The last stand for all that follow."""

    inputs: list[tuple[int, int]]
    outputs: list[int]


def _first(kinds: Iterable[int], types: Collection[str]) -> int:
    return next((kind for kind in kinds if f"tensor({SPELT[kind]})" in types), TensorProto.UNDEFINED)


class ModelBuilder:
    """What all graphs of one model share: the type of its numbers, its opset, its local functions."""

    def __init__(self, real: int, opset: int) -> None:
        self.real, self.opset = real, opset
        self.functions: dict[bytes, FunctionProto] = {}  # by what they compute
        self.shapes: dict[str, list[Shapes]] = {}  # of what they are called with
        self.names: dict[str, int] = {}  # of functions, and how many have each
        self.named: dict[Any, str] = {}  # a scalar rule's function, once it is written
        self.known: dict[str, Kinds] = {}
        self.bytes = 0
        self.learned: list[str] = []  # names of parameters

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

    def kinds(self, operator: str) -> Kinds:
        """The types in which an operator takes and gives what we have."""
        if operator not in self.known:
            schema, reals = self.schema(operator), (self.real, BOOL, INT64, INT32)
            inputs = [(_first(reals, each.types), _first((INT64, INT32, *reals), each.types)) for each in schema.inputs]
            self.known[operator] = Kinds(inputs, [_first(reals, each.types) for each in schema.outputs])
        return self.known[operator]

    def enter(self, function: FunctionProto, shapes: Shapes) -> str:
        """The function's name; that of an equal one, if there is one. Names are operators' own, numbered if need be.

        shapes: of the inputs, as it is called now.
        """
        key = function.SerializeToString(deterministic=True)
        if key not in self.functions:
            function.name = numbered(self.names, function.name)
            self.functions[key] = function
        name = self.functions[key].name
        self.shapes.setdefault(name, []).append(shapes)
        return name


def numbered(taken: dict[str, int], name: str) -> str:
    """The name, or the first of name_1, name_2 ... that nothing has taken; it is taken now."""
    while (count := taken.get(name, 0)) or name in taken:
        taken[name] = count + 1
        name = f"{name}_{count}"
    taken[name] = 1
    return name
