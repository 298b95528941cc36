"""Pickling of tasks and their results for another process, by a cloudpickle.Pickler with reducers of our own.

A tensor node belongs to its process's graph and is not picklable. Instead a task is sent as plain data: its
own node in full, and of the nodes around it only the shapes, and whether they are selections. The receiver
rebuilds them as nodes outside any graph. A learner's own operator is sent with its functions, also from
`__main__`. An array keeps its memory layout, on which the order of a sum, and so its last bits, depend.
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

OWN = ("index", "op", "rule", "alpha", "selections", "function", "sources", "direct")  # attributes sent of a node
DEFINED = ("name", "value", "partials", "domain", "kink", "symbol", "tex")  # attributes sent of a learner's operator


def packed(thing: Any, whole: TensorNode | None = None) -> bytes:
    """Serialize a task's work or result; `pickle.loads` reads it. whole: the node that is sent in full."""
    buffer = io.BytesIO()
    sender = _pickler_class()(buffer)
    sender.whole = whole
    sender.dump(thing)
    return buffer.getvalue()


@cache
def _pickler_class() -> Any:
    import cloudpickle  # comes with Dask

    class Sender(cloudpickle.Pickler):  # type: ignore[misc]
        whole: TensorNode | None

        def reducer_override(self, thing: Any) -> Any:
            if isinstance(thing, TensorNode):
                return _reduce_node(thing, thing is self.whole or thing.pickle_in_full)
            if isinstance(thing, Rule):
                if thing.number < BUILT_IN:
                    return rule_named, (thing.name,)
                return _rebuild_rule, (_pickle_definition(thing),)
            if isinstance(thing, Function):
                return _reduce_function(thing)
            if type(thing) is np.ndarray and not _is_plain(thing):
                return _reduce_array(thing)
            return super().reducer_override(thing)

    return Sender


# --- nodes ----------------------------------------------------------------------


def _reduce_node(node: TensorNode, with_sources: bool) -> tuple[Any, ...]:
    selection = isinstance(node, SelectionNode)
    kind = type(node)
    if not with_sources:
        kind = SelectionNode if selection else TensorNode
    state = {name: value for name, value in vars(node).items() if name in OWN} if with_sources or selection else {}
    if node.pickle_in_full:
        state["_value"] = node._value
    state |= {"has_structural_zeros": selection, "is_structural": node.is_structural}
    return _make_node, (kind, node.shape), state


def _make_node(kind: type[TensorNode], shape: Shape) -> TensorNode:
    node = object.__new__(kind)
    node.shape = shape
    return node


# --- functions of entries -------------------------------------------------------

Row = tuple[Rule | int, Any]  # a rule and its operands, or a kind of leaf and its value


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
    for what, content in rows:
        if what == CONSTANT:
            constant_row(tables, content)
        else:
            add_row(tables, what.number if isinstance(what, Rule) else PLACEHOLDER, content or ())
    function = Function(tables, arguments, result)
    for position, slope in slopes.items():
        function.slopes[position] = slope if isinstance(slope, float) else Function(tables, arguments, slope)
    return function


@cache
def _pickle_definition(rule: Rule) -> bytes:
    return packed([getattr(rule, name) for name in DEFINED])


@cache
def _rebuild_rule(definition: bytes) -> Rule:
    """Rebuild a learner's operator in the receiving process; an existing rule of that name keeps the name."""
    name, value, partials, *rest = pickle.loads(definition)
    existing = RULES.get(name)
    rule = define(name, value, partials, **dict(zip(DEFINED[3:], rest)))
    RULES[name] = existing or rule
    return rule


# --- arrays ---------------------------------------------------------------------


def _reduce_array(array: np.ndarray[Any, Any]) -> Any:
    """The reduce value of a strided array: a flat copy of the memory that it spans, and its offset and strides."""
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


def _is_plain(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is C-contiguous, a layout that ordinary pickling keeps."""
    rows = [prod(array.shape[axis + 1 :]) * array.itemsize for axis in range(array.ndim)]
    return list(array.strides) == rows
