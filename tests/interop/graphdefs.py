"""GraphDefs for tests, written node by node."""

from __future__ import annotations

import numpy as np
from tensorboard.compat.proto import graph_pb2, types_pb2

TYPE = {
    "f8": "DT_DOUBLE", "f4": "DT_FLOAT", "f2": "DT_HALF", "i8": "DT_INT64", "i4": "DT_INT32", "i2": "DT_INT16",
    "i1": "DT_INT8", "u1": "DT_UINT8", "b1": "DT_BOOL",
}  # fmt: skip


class Drawn:
    """A GraphDef that grows: each method gives the name of a node."""

    def __init__(self):
        self.graph = graph_pb2.GraphDef()

    def node(self, op, *inputs, name=None, into=None, **attributes):
        made = (self.graph.node if into is None else into).add(op=op, input=inputs)
        made.name = name or f"{op.lower()}{len(self.graph.node)}"
        for key, value in attributes.items():
            attribute(made.attr[key], value)
        return made.name

    def const(self, array, name=None):
        made = self.node("Const", name=name)
        array = np.asarray(array)
        kind = types_pb2.DataType.Value(type_of(array.dtype))
        value = self.graph.node[-1].attr["value"].tensor
        value.dtype, value.tensor_content = kind, array.tobytes()
        for extent in array.shape:
            value.tensor_shape.dim.add(size=extent)
        self.graph.node[-1].attr["dtype"].type = kind
        return made

    def placeholder(self, shape, name=None, kind="f8"):
        return self.node("Placeholder", name=name, shape=Shape(shape), dtype=Type(kind))

    @property
    def bytes(self):
        return self.graph.SerializeToString()


class Type(str):
    """A type as an attribute: f4, i8."""


class Shape(tuple):
    """A shape as an attribute; -1 is unknown."""


def type_of(dtype):
    return TYPE[np.dtype(dtype).str.lstrip("<|")]


def attribute(target, value):
    if isinstance(value, Type):
        target.type = types_pb2.DataType.Value(TYPE[value])
    elif isinstance(value, Shape):
        target.shape.SetInParent()
        for extent in value:
            target.shape.dim.add(size=extent)
    elif isinstance(value, bool):
        target.b = value
    elif isinstance(value, int):
        target.i = value
    elif isinstance(value, float):
        target.f = value
    elif isinstance(value, str):
        target.s = value.encode()
    elif isinstance(value, list):
        target.list.SetInParent()
        target.list.i.extend(value)
    else:
        raise TypeError(value)
