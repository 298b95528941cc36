"""Pickling of tasks and their results for another process, by a cloudpickle.Pickler with reducers of our own.

A tensor node belongs to its process's graph, so it is not picklable by itself. A task sends its own node in full: the
equation and the array kernel. Of the nodes around it only the shapes are sent, and selections as they are. The receiver
rebuilds them as nodes outside any graph. A user-defined operator is sent with its Python functions, even those
of `__main__`. An array keeps its memory layout, because the order of a sum, and so its last bits, depend on it.

    data = serialize(task.work, node)        in this process
    work = pickle.loads(data)                on the worker
"""

from __future__ import annotations

import io
import pickle
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ...core.catalogue import BUILT_IN
from ...core.rules import BY_NUMBER, RULES, Rule, define, rule_named
from ...core.tables import CONSTANT, PLACEHOLDER, Tables
from ..base import TensorNode
from ..evaluation.arrays import Array
from ..function import Function, add_row, constant_row
from ..index import Shape
from ..sparse_selector import SelectionNode

NODE_ATTRIBUTES = ("index", "op", "rule", "alpha", "index_maps", "function", "sources", "direct")  # those that are sent
RULE_ATTRIBUTES = ("name", "value", "partials", "domain", "kink", "symbol", "tex")  # of a user-defined operator


def serialize(value: Any, full_node: TensorNode | None = None) -> bytes:
    """Serialize a task's callable or result; `pickle.loads` reads it. full_node: the node that is sent in full."""
    buffer = io.BytesIO()
    pickler = _pickler_class()(buffer)
    pickler.full_node = full_node
    pickler.dump(value)
    return buffer.getvalue()


@cache
def _pickler_class() -> Any:
    import cloudpickle  # comes with Dask

    class TaskPickler(cloudpickle.Pickler):  # type: ignore[misc]
        full_node: TensorNode | None

        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, TensorNode):
                return _reduce_node(value, value is self.full_node or value.pickle_in_full)
            if isinstance(value, Rule):
                if value.number < BUILT_IN:
                    return rule_named, (value.name,)
                return _rebuild_rule, (_serialize_definition(value),)
            if isinstance(value, Function):
                return _reduce_function(value)
            if type(value) is np.ndarray and not _is_c_contiguous(value):
                return _reduce_array(value)
            return super().reducer_override(value)

    return TaskPickler


# --- nodes ----------------------------------------------------------------------


def _reduce_node(node: TensorNode, in_full: bool) -> tuple[Any, ...]:
    is_selection = isinstance(node, SelectionNode)
    kind = type(node)
    if not in_full:
        kind = SelectionNode if is_selection else TensorNode
    state = {}
    if in_full or is_selection:
        state = {name: value for name, value in vars(node).items() if name in NODE_ATTRIBUTES}
    if node.pickle_in_full:
        state["_value"] = node._value
    state |= {"has_structural_zeros": is_selection, "is_structural": node.is_structural}
    return _make_node, (kind, node.shape), state


def _make_node(kind: type[TensorNode], shape: Shape) -> TensorNode:
    node = object.__new__(kind)
    node.shape = shape
    return node


# --- functions of entries -------------------------------------------------------

Row = tuple[Rule | int, Any]  # a rule and its operands' rows, or a kind of leaf and its value


def _reduce_function(function: Function) -> tuple[Any, ...]:
    """The reduce value of a Function: all rows of its tables, and which are its arguments, result and derivatives."""
    tables = function.tables
    with tables.lock:
        rows = [_row_data(tables, row) for row in range(len(tables))]
        known = function.slopes.items()
        slopes = {position: slope.result if isinstance(slope, Function) else slope for position, slope in known}
    return _rebuild_function, (rows, list(function.arguments), function.result, slopes)


def _row_data(tables: Tables, row: int) -> Row:
    kind = tables.operators[row]
    return (BY_NUMBER[kind], tables.operands(row)) if kind >= 0 else (kind, tables.value(row))


def _rebuild_function(rows: list[Row], arguments: list[int], result: int, slopes: dict[int, int | float]) -> Function:
    tables = Tables()
    for kind, content in rows:
        if kind == CONSTANT:
            constant_row(tables, content)
        else:
            add_row(tables, kind.number if isinstance(kind, Rule) else PLACEHOLDER, content or ())
    function = Function(tables, arguments, result)
    for position, slope in slopes.items():
        function.slopes[position] = slope if isinstance(slope, float) else Function(tables, arguments, slope)
    return function


@cache
def _serialize_definition(rule: Rule) -> bytes:
    return serialize([getattr(rule, name) for name in RULE_ATTRIBUTES])


@cache
def _rebuild_rule(definition: bytes) -> Rule:
    """Rebuild a user-defined operator in the receiving process; a rule that has its name already keeps the name."""
    name, value, partials, *rest = pickle.loads(definition)
    existing = RULES.get(name)
    rule = define(name, value, partials, **dict(zip(RULE_ATTRIBUTES[3:], rest)))
    RULES[name] = existing or rule
    return rule


# --- arrays ---------------------------------------------------------------------


def _reduce_array(array: np.ndarray[Any, Any]) -> Any:
    """The reduce value of a strided array: a flat copy of the memory that it spans, and its offset and strides.

    Where a stride is negative, the lowest address of the array is that of the last index along this axis.
    """
    steps = [stride // array.itemsize for stride in array.strides]
    if not array.size or any(stride % array.itemsize for stride in array.strides):
        return NotImplemented
    reaches = [step * (extent - 1) for step, extent in zip(steps, array.shape)]
    below = -sum(reach for reach in reaches if reach < 0)
    lowest = array[(*(-1 if reach < 0 else 0 for reach in reaches), ...)]
    flat = as_strided(lowest, (below + 1 + sum(reach for reach in reaches if reach > 0),), (array.itemsize,))
    return _rebuild_array, (flat.copy(), below, array.shape, array.strides)


def _rebuild_array(flat: Array, start: int, shape: Shape, strides: tuple[int, ...]) -> Array:
    return as_strided(flat[start:], shape, strides, writeable=False)


def _is_c_contiguous(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is C-contiguous, a layout that ordinary pickling keeps."""
    rows = [prod(array.shape[axis + 1 :]) * array.itemsize for axis in range(array.ndim)]
    return list(array.strides) == rows
