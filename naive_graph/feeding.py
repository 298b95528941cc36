"""What is given to a Program, checked: numbers for one sample, or batches of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .engines.given import Batch, Inputs
from .errors import FeedError, NodeError
from .handles import CURRENT
from .nodes import Node, PlaceHolder, Variable, rows_of
from .number import number
from .tables import Tables


def nodes_of(given: Any, who: str) -> list[Any]:
    """A node, or a list of them, as a list."""
    if isinstance(given, Node):
        return [given]
    if hasattr(given, "shape") and hasattr(given, "sources"):  # a tensor, of which this floor knows nothing else
        raise NodeError(
            f"{who} takes nodes of the scalar graph, not {given!r}. Unfold the tensor first: Program(lower(loss), ...)."
        )
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _no_node(given, who)
    nodes = list(given)
    for each in nodes:
        if not isinstance(each, Node):
            raise _no_node(each, who)
    return nodes


def _no_node(given: Any, who: str) -> NodeError:
    hint = " A number becomes a node so: x = Graph.Variable(1.0)." if hasattr(given, "__float__") else ""
    return NodeError(f"{who} takes nodes, not {type(given).__name__} {given!r}.{hint}")


def is_single(given: Any) -> bool:
    """Whether it is one node, or an unfolded tensor of one."""
    return isinstance(given, Node) or getattr(given, "shape", None) == ()


def input_rows(inputs: Any) -> list[tuple[int, ...] | int]:
    """For each input the row of a PlaceHolder, or the rows of a list of them."""
    if not isinstance(inputs, Iterable) or isinstance(inputs, (str, Node)):
        inputs = [inputs]
    found = [_rows_of_input(each) for each in inputs]
    seen: set[int] = set()
    for row in [row for each in found for row in (each if isinstance(each, tuple) else (each,))]:
        if row in seen:
            raise FeedError(f"{CURRENT.tables.label(row)} stands twice among the inputs. Name it once.")
        seen.add(row)
    return found


def _rows_of_input(input: Any) -> tuple[int, ...] | int:
    alone = isinstance(input, (str, Node)) or not isinstance(input, Iterable)
    many = [input] if alone else list(input)
    for each in many or [input]:
        if not isinstance(each, PlaceHolder):
            what, repair = repr(each), ""
            if isinstance(each, Variable):
                what, repair = CURRENT.tables.label(each.row), " A Variable is set: x.value = 1.0."
            raise FeedError(f"An input is a PlaceHolder, or a list of them, not {what}.{repair}")
    rows = rows_of(many, "Program's inputs")
    return rows[0] if alone else tuple(rows)


def checked(tables: Tables, feed: Mapping[Any, Any] | None, pairs: Iterable[tuple[Any, Any]]) -> Inputs:
    """All that is given. feed: by PlaceHolder; pairs: rows of an input, and what is given for it."""
    if feed is None:
        feed = {}
    if not isinstance(feed, Mapping):
        raise FeedError(f"A feed is a dictionary from PlaceHolders to numbers: feed={{p: 1.0}}, not {feed!r}.")
    given = Inputs(tables, {}, [])
    for rows, values in pairs:
        if isinstance(rows, tuple):
            _add_columns(given, rows, values)
        else:
            _add(given, rows, values)
    for node, values in feed.items():
        if not isinstance(node, PlaceHolder):
            what = tables.label(node.row) if isinstance(node, Node) else repr(node)
            raise FeedError(f"Only a PlaceHolder can be fed, not {what}. Set a Variable with x.value = 1.0.")
        _add(given, rows_of([node], "Program")[0], values)
    if feed:
        _check_once(given)
    if len({batch.columns.shape[1] for batch in given.batches}) > 1:
        sizes = ", ".join(f"{tables.label(batch.rows[0])} {batch.columns.shape[1]}" for batch in given.batches)
        raise FeedError(f"All batches must have one length; here: {sizes}.")
    return given


def _check_once(given: Inputs) -> None:
    """No PlaceHolder is fed twice."""
    seen = set(given.numbers)
    for batch in given.batches:
        for row in batch.rows:
            if row in seen:
                raise _twice(given, row)
            seen.add(row)


def _twice(given: Inputs, row: int) -> FeedError:
    return FeedError(f"{given.tables.label(row)} is fed twice. Feed it among the inputs, or by name.")


def _array(values: Any, who: str) -> Any:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise FeedError(f"{who}, not rows of unlike lengths.") from error


def _put(given: Inputs, row: int, value: float) -> None:
    if row in given.numbers:
        raise _twice(given, row)
    given.numbers[row] = value


def _is_clear(values: Any, dimensions: int) -> bool:
    """Whether it is an array of floats with something in it, as it mostly is: then there is no more to ask."""
    return type(values) is np.ndarray and values.ndim == dimensions and values.dtype == np.float64 and values.size > 0


def _check_some(array: Any, takes: str) -> None:
    if not array.size and array.ndim:
        raise FeedError(f"{takes}, of one sample at least; this array of shape {array.shape} has no sample in it.")


def _add(given: Inputs, row: int, values: Any) -> None:
    """A number, or one number for each sample."""
    if _is_clear(values, 1):
        given.batches.append(Batch((row,), values[None]))
        return
    label = given.tables.label(row)
    if getattr(values, "ndim", 0) == 0 and not isinstance(values, (list, tuple)):
        _put(given, row, number(values, label))
        return
    takes = f"{label} takes a number, or a row of numbers, one for each sample"
    batch = _array(values, takes)
    _check_some(batch, takes)
    if batch.ndim != 1 or not batch.size or batch.dtype.kind not in "fiu":
        raise FeedError(f"{takes}; not an array of shape {batch.shape} and kind {batch.dtype}.")
    given.batches.append(Batch((row,), batch.astype(np.float64)[None]))


def _add_columns(given: Inputs, rows: tuple[int, ...], values: Any) -> None:
    """A number for each PlaceHolder, or for each sample a row of them."""
    if _is_clear(values, 2) and values.shape[1] == len(rows):
        given.batches.append(Batch(rows, values.T))
        return
    takes = f"An input of {len(rows)} PlaceHolders takes an array of {len(rows)} columns"
    array = _array(values, takes)
    _check_some(array, takes)
    if array.ndim not in (1, 2) or array.shape[-1] != len(rows) or not array.size or array.dtype.kind not in "fiu":
        raise FeedError(f"{takes}, not one of shape {array.shape} and kind {array.dtype}.")
    if array.ndim == 1:
        for row, value in zip(rows, map(float, array), strict=True):
            _put(given, row, value)
    else:
        given.batches.append(Batch(rows, array.T))
