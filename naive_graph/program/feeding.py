"""What is given to a Program, checked: numbers for one sample, or batches of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

import numpy as np

from ..core.number import floats, number
from ..core.tables import Tables
from ..errors import FeedError, NodeError, NumberError, PlaceHolderError
from ..graph.nodes import Node, PlaceHolder, is_leaf_variable, rows_of
from ..graph.registry import CURRENT
from ..graph.running import fed_rows
from .given import Batch, Inputs


def nodes_of(given: Any, who: str) -> list[Any]:
    """A node, or a list of them, as a list."""
    if isinstance(given, Node):
        return [given]
    if hasattr(given, "shape") and hasattr(given, "sources"):  # a tensor, of which this floor knows nothing else
        raise NodeError(
            f"{who} takes nodes of the scalar graph, not {given!r}. Unfold the tensor first: Program(lower(loss), ...)."
        )
    if isinstance(given, (str, Mapping, Set)) or not _is_iterable(given):  # a set has no order, so no first output
        raise _no_node(given, who)
    nodes = list(given)
    for each in nodes:
        if not isinstance(each, Node):
            raise _no_node(each, who)
    return nodes


def _no_node(given: Any, who: str) -> NodeError:
    hint = " A number becomes a node so: x = Graph.Variable(1.0)." if hasattr(given, "__float__") else ""
    if isinstance(given, (list, tuple)):
        hint = " Give one list, without lists in it."
    return NodeError(f"{who} takes nodes, not {type(given).__name__} {given!r}.{hint}")


def _is_iterable(given: Any) -> bool:
    """Whether it can be gone through, as an array without axes cannot."""
    with suppress(TypeError):
        iter(given)
        return True
    return False


def is_single(given: Any) -> bool:
    """Whether it is one node, or an unfolded tensor of one."""
    return isinstance(given, Node) or getattr(given, "shape", None) == ()


def input_rows(inputs: Any) -> list[tuple[int, ...] | int]:
    """For each input the row of a PlaceHolder, or the rows of a list of them."""
    if not _is_iterable(inputs) or isinstance(inputs, (str, Node)):
        inputs = [inputs]
    found = [_rows_of_input(each) for each in inputs]
    rows = [row for each in found for row in (each if isinstance(each, tuple) else (each,))]
    if twice := [row for row, count in Counter(rows).items() if count > 1]:
        raise FeedError(f"{CURRENT.tables.label(twice[0])} stands twice among the inputs. Name it once.")
    return found


def _rows_of_input(input: Any) -> tuple[int, ...] | int:
    alone = isinstance(input, (str, Node)) or not _is_iterable(input)
    many = [input] if alone else list(input)
    for each in many or [input]:
        if not isinstance(each, PlaceHolder):
            what, repair = repr(each), ""
            if is_leaf_variable(each):
                what = CURRENT.tables.label(each.row)
                repair = (
                    " A Variable is set: x.value = 1.0. Those that gradients are asked for go in one list: wrt=[x]."
                )
            raise FeedError(f"An input is a PlaceHolder, or a list of them, not {what}.{repair}")
    rows = rows_of(many, "Program's inputs")
    return rows[0] if alone else tuple(rows)


def checked(tables: Tables, feed: Mapping[Any, Any] | None, pairs: Iterable[tuple[Any, Any]]) -> Inputs:
    """All that is given. feed: by PlaceHolder; pairs: rows of an input, and what is given for it."""
    given = Inputs(tables, {}, [])
    for rows, values in pairs:
        if isinstance(rows, tuple):
            _add_columns(given, rows, values)
        else:
            _add(given, rows, values)
    seen = {*given.numbers, *(row for batch in given.batches for row in batch.rows)} if feed else set()
    for row, values in fed_rows({} if feed is None else feed):
        if row in seen:
            raise FeedError(f"{tables.label(row)} is fed twice. Feed it among the inputs, or by name.")
        _add(given, row, values)
    if len({batch.columns.shape[1] for batch in given.batches}) > 1:
        sizes = ", ".join(f"{tables.label(batch.rows[0])} {batch.columns.shape[1]}" for batch in given.batches)
        raise FeedError(f"All batches must have one length; here: {sizes}.")
    return given


def _array(values: Any, takes: str) -> Any:
    """The values as an array of numbers, with something in it."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise FeedError(f"{takes}, not rows of unlike lengths.") from error
    except (TypeError, RuntimeError) as error:  # a tensor that is differentiated elsewhere, or lies on another machine
        raise FeedError(f"{takes}. This {type(values).__name__} cannot be made one: {error}") from error
    if not array.size and array.ndim:
        raise FeedError(f"{takes}, of one sample at least; this array of shape {array.shape} has no sample in it.")
    if array.dtype.kind not in "fiu":
        raise FeedError(f"{takes}; not an array of shape {array.shape} and kind {array.dtype}. {_numbers_of(array)}")
    if hasattr(values, "mask") and np.ma.is_masked(values):
        raise FeedError(f"{takes}; of this array some are masked. Choose numbers for them: values.filled(0.0).")
    return array


def _numbers_of(array: Any) -> str:
    """How an array of something else becomes one of numbers."""
    if array.dtype.names:
        return "Take the columns of the table: np.column_stack([table[name] for name in table.dtype.names])."
    if array.dtype.kind in "US":
        return "What is read from a file is text at first: np.array(rows, float)."
    if array.dtype.kind == "c":
        return "Use its parts: z.real and z.imag."
    return "Convert it first: np.array(values, float)."


def _is_clear(values: Any, dimensions: int) -> bool:
    """Whether it is an array of floats with something in it, as it mostly is: then there is no more to ask."""
    return type(values) is np.ndarray and values.ndim == dimensions and values.dtype == np.float64 and values.size > 0


def _add(given: Inputs, row: int, values: Any) -> None:
    """A number, or one number for each sample."""
    if _is_clear(values, 1):
        given.batches.append(Batch((row,), values[None]))
        return
    label = given.tables.label(row)
    takes = f"{label} takes a number, or a row of numbers, one for each sample"
    if getattr(values, "ndim", 0) == 0 and not isinstance(values, (list, tuple, range)):
        given.numbers[row] = _one_number(values, label, takes)
        return
    batch = _array(values, takes)
    if batch.ndim != 1:
        flat = f" Give its {batch.size} numbers in one row: array.ravel()." if 1 in batch.shape else ""
        raise FeedError(f"{takes}; not an array of shape {batch.shape} and kind {batch.dtype}.{flat}")
    given.batches.append(Batch((row,), floats(batch, label)[None]))


def _one_number(values: Any, label: str, takes: str) -> float:
    if isinstance(values, Node):
        raise NumberError(f"{takes}, not {CURRENT.tables.label(values.row)}. Feed what it holds: node.value.")
    if isinstance(values, Mapping) and values:
        raise FeedError(f"{takes}, not a {type(values).__name__}. What is fed by name is named so: feed={{p: 1.0}}.")
    if hasattr(values, "__iter__") and not isinstance(values, (str, bytes, Mapping)) and not hasattr(values, "shape"):
        raise FeedError(f"{takes}, not a {type(values).__name__}. Make a list of it: list(values).")
    return number(values, label)


def _add_columns(given: Inputs, rows: tuple[int, ...], values: Any) -> None:
    """A number for each PlaceHolder, or for each sample a row of them."""
    if _is_clear(values, 2) and values.shape[1] == len(rows):
        given.batches.append(Batch(rows, values.T))
        return
    takes = f"An input of {len(rows)} PlaceHolders takes an array of {len(rows)} columns"
    array = _array(values, takes)
    if array.ndim not in (1, 2) or array.shape[-1] != len(rows):
        turned = " Its lines are columns here: array.T." if array.ndim == 2 and len(array) == len(rows) else ""
        if array.ndim == 1 and len(rows) == 1:
            turned = " Give each sample a line of its own: array.reshape(-1, 1)."
        raise FeedError(f"{takes}, not one of shape {array.shape} and kind {array.dtype}.{turned}")
    if array.ndim == 1:
        given.numbers.update(zip(rows, floats(array, takes).tolist(), strict=True))
    else:
        given.batches.append(Batch(rows, floats(array, takes).T))


def too_many(tables: Tables, inputs: Sequence[tuple[int, ...] | int], count: int) -> FeedError:
    """What a Program says that was given more than it takes."""
    if not inputs:
        return FeedError(
            f"This Program takes no inputs, and was given {count}. "
            "Name them when you make it: Program(..., inputs=[x])."
        )
    each = [f"an array of {len(rows)} columns" if isinstance(rows, tuple) else tables.label(rows) for rows in inputs]
    takes = f"{len(inputs)} input{'s' if len(inputs) > 1 else ''} ({', '.join(each)})"
    return FeedError(f"This Program takes {takes}, and was given {count}.")


def missing(tables: Tables, inputs: Sequence[tuple[int, ...] | int], row: int) -> PlaceHolderError:
    """What a Program says that needs the value of a PlaceHolder."""
    called = tables.name(row) or "p"
    places = [k for k, rows in enumerate(inputs, 1) if row == rows or (isinstance(rows, tuple) and row in rows)]
    among = f" It is part of input {places[0]} of {len(inputs)}, which a call takes in order." if places else ""
    return PlaceHolderError(
        f"{tables.label(row)} has no value. Feed it: program(feed={{{called}: 1.0}}).{among} "
        f"It was made on {tables.origin(row)}."
    )
