"""What is given to a Program, checked: numbers for one sample, or batches of many."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .engines.questions import Batch, Inputs
from .errors import FeedError
from .nodes import Node, PlaceHolder, rows_of
from .number import number
from .tables import Tables


def input_rows(input: Any) -> tuple[int, ...] | int:
    """The row of a PlaceHolder, or the rows of a list of them."""
    many = [input] if isinstance(input, Node) else list(input)
    for each in many:
        if not isinstance(each, PlaceHolder):
            raise FeedError(f"An input is a PlaceHolder, or a list of them, not {each!r}.")
    rows = rows_of(many, "Program's inputs")
    return rows[0] if isinstance(input, Node) else tuple(rows)


def checked(tables: Tables, feed: Mapping[Any, Any], pairs: Iterable[tuple[Any, Any]]) -> Inputs:
    """All that is given. feed: by PlaceHolder; pairs: rows of an input, and what is given for it."""
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
    if len({batch.columns.shape[1] for batch in given.batches}) > 1:
        sizes = ", ".join(f"{tables.label(batch.rows[0])} {batch.columns.shape[1]}" for batch in given.batches)
        raise FeedError(f"All batches must have one length; here: {sizes}.")
    return given


def _add(given: Inputs, row: int, values: Any) -> None:
    """A number, or one number for each sample."""
    label = given.tables.label(row)
    if getattr(values, "ndim", 0) == 0 and not isinstance(values, (list, tuple)):
        given.numbers[row] = number(values, label)
        return
    batch = np.asarray(values)
    if batch.ndim != 1 or not batch.size or batch.dtype.kind not in "fiu":
        raise FeedError(
            f"{label} takes a number, or a row of numbers, one for each sample; not an array of shape {batch.shape} "
            f"and kind {batch.dtype}."
        )
    given.batches.append(Batch((row,), batch.astype(np.float64)[None]))


def _add_columns(given: Inputs, rows: tuple[int, ...], values: Any) -> None:
    """A number for each PlaceHolder, or for each sample a row of them."""
    array = np.asarray(values)
    if array.ndim not in (1, 2) or array.shape[-1] != len(rows) or not array.size or array.dtype.kind not in "fiu":
        raise FeedError(
            f"An input of {len(rows)} PlaceHolders takes an array of {len(rows)} columns, not one of shape "
            f"{array.shape} and kind {array.dtype}."
        )
    if array.ndim == 1:
        given.numbers.update(zip(rows, map(float, array), strict=True))
    else:
        given.batches.append(Batch(rows, array.T))
