"""Inputs and weights of a Program's run: checked, and passed to its code.

Single numbers are copied to where the code reads them; batches, and weights in an array, are read in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from ..core.number import floats, is_iterable, number, shortened
from ..core.tables import Tables
from ..errors import FeedError, NodeError, PlaceHolderError
from ..graph.node_factory import CURRENT
from ..graph.nodes import Node, PlaceHolder, is_leaf_variable, is_tensor, rows_of
from ..graph.run_checks import feed_items


class InputSlot(NamedTuple):
    """One input of a Program: the rows of its PlaceHolders, an array's shape for one sample, and the tensor, if any.

    A PlaceHolder by itself has the shape (), and a list of n of them the shape (n,).
    """

    rows: tuple[int, ...]
    shape: tuple[int, ...]
    leaf: Any = None

    def label(self, tables: Tables) -> str:
        """How messages speak of it."""
        if self.leaf is not None:
            return str(self.leaf.label)
        return f"an input of {len(self.rows)} PlaceHolders" if self.shape else tables.label(self.rows[0])


class Batch(NamedTuple):
    """Many samples for some PlaceHolders: rows in the tables, and an array with a line of samples for each of them."""

    rows: tuple[int, ...]
    columns: Any


class Inputs(NamedTuple):
    """All leaves' values for a run: numbers by row and batches for PlaceHolders, and the tables for the Variables."""

    tables: Tables
    numbers: dict[int, float]
    batches: list[Batch]

    @property
    def samples(self) -> int:
        return self.batches[0].columns.shape[1] if self.batches else 1

    def number(self, row: int) -> float:
        """The value of a leaf: the number that was given for its row, or the one in the tables."""
        return self.numbers[row] if row in self.numbers else self.tables.values[row]

    def sample(self, place: int) -> dict[int, float]:
        """The numbers of one sample, by row."""
        fed = {row: float(line[place]) for rows, lines in self.batches for row, line in zip(rows, lines, strict=True)}
        return {**self.numbers, **fed}


class Weights(NamedTuple):
    """A contiguous float64 array that holds Variables' values instead of the tables. places: row -> index in it."""

    array: Any
    places: dict[int, int]


def feed(code: Any, inputs: Inputs) -> None:
    """Pass inputs to the code: copy numbers, and give it pointers to batches, which must be kept alive for the run."""
    if inputs.batches and code.samples[1] != inputs.samples:
        code.set_samples([1, inputs.samples])
    for batch in inputs.batches:
        read, leaves = places_of(code, batch.rows, of_samples=True)
        code.read_samples(leaves, batch.columns, read)
    if code.fed_rows:
        code.scalars[code.fed_at] = [inputs.number(row) for row in code.fed_rows]


def places_of(code: Any, rows: Sequence[int], of_samples: bool) -> tuple[Any, Any]:
    """The indices of those rows that the code reads; and their slots in its scalars, or their lines of samples."""
    fed = [code.ir.sources[leaf].row for leaf in code.generator.group[1].fed] if of_samples else code.fed_rows
    place_of = {row: offset for offset, row in enumerate(fed, 0 if of_samples else code.fed_at.start)}
    read = [index for index, row in enumerate(rows) if row in place_of]
    return slice_if_consecutive(read), slice_if_consecutive([place_of[rows[index]] for index in read])


def slice_if_consecutive(places: Sequence[int]) -> Any:
    """The indices as a slice if they are consecutive (which copies several times faster), else as an array."""
    first = places[0] if places else 0
    neighbours = list(places) == list(range(first, first + len(places)))
    return slice(first, first + len(places)) if neighbours else np.array(places, np.intp)


# --- what a call gives, checked ----------------------------------------------------


def as_node_list(given: Any, who: str) -> list[Any]:
    """A node, or a list of them, as a list."""
    nodes = ensure_list(given, Node, str, Mapping, Set)  # a set has no order, so no first output
    for node in nodes:
        if not isinstance(node, Node):
            raise not_a_node_error(node, who)
    return nodes


def not_a_node_error(given: Any, who: str) -> NodeError:
    hint = " A number becomes a node so: x = Graph.Variable(1.0)." if hasattr(given, "__float__") else ""
    if isinstance(given, (list, tuple)):
        hint = " Give one list, without lists in it."
    if is_tensor(given):  # in something that was gone through once
        hint = " Give tensors in a list: [a, b]."
    return NodeError(f"{who} takes nodes, not {type(given).__name__} {shortened(given)}.{hint}")


def ensure_list(given: Any, *alone: type) -> list[Any]:
    """Several things as a list; a list of one for a thing that is of a type of `alone` or cannot be gone through."""
    return list(given) if not isinstance(given, alone) and is_iterable(given) else [given]


def make_slots(inputs: list[Any], slot: Callable[[Any], InputSlot]) -> list[InputSlot]:
    """The slots that a call fills, one for each input. slot: makes the slot of an input."""
    slots = [slot(input_) for input_ in inputs]
    count = Counter(row for input_slot in slots for row in input_slot.rows)
    for input_slot in slots:
        for row in input_slot.rows:
            if count[row] > 1:
                label = CURRENT.tables.label(row) if input_slot.leaf is None else input_slot.leaf.label
                raise FeedError(f"{label} stands twice among the inputs. Name it once.")
    return slots


def make_slot(input: Any) -> InputSlot:
    """The slot of a PlaceHolder, or of a list of them."""
    placeholders = ensure_list(input, str, Node)
    for candidate in placeholders or [input]:
        if not isinstance(candidate, PlaceHolder):
            what, repair = shortened(candidate), ""
            if is_leaf_variable(candidate):
                what = CURRENT.tables.label(candidate.row)
                repair = (
                    " A Variable is set: x.value = 1.0. Those that gradients are asked for go in one list: wrt=[x]."
                )
            raise FeedError(f"An input is a PlaceHolder, or a list of them, not {what}.{repair}")
    rows = rows_of(placeholders, "Program's inputs")
    return InputSlot(tuple(rows), () if placeholders[0] is input else (len(rows),))


def check_inputs(tables: Tables, feed: Mapping[Any, Any] | None, pairs: Iterable[tuple[InputSlot, Any]]) -> Inputs:
    """All that a call gives, checked. feed: by PlaceHolder; pairs: an input's slot, and what is given for it."""
    fed = Inputs(tables, {}, [])
    for slot, values in pairs:
        _add_input(fed, slot, values)
    seen = {*fed.numbers, *(row for batch in fed.batches for row in batch.rows)} if feed else set()
    for row, values in feed_items({} if feed is None else feed):
        if row in seen:
            raise FeedError(f"{tables.label(row)} is fed twice. Feed it among the inputs, or by name.")
        _add_input(fed, InputSlot((row,), ()), values)
    if len({batch.columns.shape[1] for batch in fed.batches}) > 1:
        sizes = ", ".join(f"{tables.label(batch.rows[0])} {batch.columns.shape[1]}" for batch in fed.batches)
        raise FeedError(f"All batches must have one length; here: {sizes}.")
    return fed


def _array(values: Any, takes: str) -> Any:
    """The values as an array of numbers; a FeedError if it has none, or other things."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise FeedError(f"{takes}, not rows of unlike lengths.") from error
    except (TypeError, RuntimeError) as error:  # a tensor that is differentiated elsewhere, or lies on another machine
        raise FeedError(f"{takes}. This {type(values).__name__} cannot be made one: {error}") from error
    if not array.size and array.ndim:
        raise FeedError(f"{takes}, of one sample at least; this array of shape {array.shape} has no sample in it.")
    if array.dtype.kind not in "fiu":
        what = f"an array of shape {array.shape} and kind {array.dtype}"
        raise FeedError(f"{takes}; not {what}. Convert it first: np.array(values, float).")
    if hasattr(values, "mask") and np.ma.is_masked(values):
        raise FeedError(f"{takes}; of this array some are masked. Choose numbers for them: values.filled(0.0).")
    return array


def _is_plain_float_array(values: Any, dimensions: int) -> bool:
    """Whether it is a plain array of floats, not empty: the usual case, which needs no further check."""
    return type(values) is np.ndarray and values.ndim == dimensions and values.dtype == np.float64 and values.size > 0


def _add_input(fed: Inputs, slot: InputSlot, values: Any) -> None:
    """Add what is given for a slot: a number or an array, as its shape says, or one for each sample."""
    rows, shape = slot.rows, slot.shape
    if _is_plain_float_array(values, len(shape) + 1) and values.shape[1:] == shape:
        fed.batches.append(Batch(rows, values.reshape(-1, len(rows)).T))
        return
    label, hint, instead = slot.label(fed.tables), "", ", not one"
    if shape:
        kind = f"{len(rows)} columns" if slot.leaf is None else f"shape {shape}, or one for each sample"
        takes = f"{label[0].upper()}{label[1:]} takes an array of {kind}"
    elif getattr(values, "ndim", 0) == 0 and not isinstance(values, (list, tuple, range)):
        fed.numbers[rows[0]] = number(values, label)
        return
    else:
        takes = f"{label} takes a number, or a row of numbers, one for each sample"
        hint, instead = " One row: array.ravel().", "; not an array"
    array = _array(values, takes)
    if array.shape != shape and (array.ndim == 0 or array.shape[1:] != shape):
        if slot.leaf is not None and array.ndim and shape and array.shape[1:] == shape[1:]:
            hint = f" The tensor has {shape[0]} samples, not {len(array)}. Make a Program for each number of them."
        raise FeedError(f"{takes}{instead} of shape {array.shape} and kind {array.dtype}.{hint}")
    numbers = floats(array, label).reshape(-1, len(rows))
    if array.ndim == len(shape):
        fed.numbers.update(zip(rows, numbers[0].tolist(), strict=True))
    else:
        fed.batches.append(Batch(rows, numbers.T))


def too_many_inputs_error(tables: Tables, inputs: Sequence[InputSlot], count: int) -> FeedError:
    """The error for a call with more inputs than the Program takes."""
    if not inputs:
        return FeedError(
            f"This Program takes no inputs, and was given {count}. "
            "Name them when you make it: Program(..., inputs=[x])."
        )
    descriptions = [
        f"an array of {len(s.rows)} columns" if s.shape and s.leaf is None else s.label(tables) for s in inputs
    ]
    takes = f"{len(inputs)} input{'s' if len(inputs) > 1 else ''} ({', '.join(descriptions)})"
    return FeedError(f"This Program takes {takes}, and was given {count}.")


def missing_value_error(tables: Tables, inputs: Sequence[InputSlot], row: int) -> PlaceHolderError:
    """The error for a PlaceHolder that is needed and has no value."""
    places = [k for k, slot in enumerate(inputs, 1) if row in slot.rows]
    leaf = inputs[places[0] - 1].leaf if places else None
    if leaf is not None:
        called = leaf.given_name or "array"
        return PlaceHolderError(
            f"{leaf.label} has no value. Name it, inputs=[{called}], and give its array with the call: "
            f"program({called}); or set it: leaf.value = array. It was made on {leaf.origin}."
        )
    called = tables.name(row) or "p"
    among = f" It is part of input {places[0]} of {len(inputs)}, which a call takes in order." if places else ""
    return PlaceHolderError(
        f"{tables.label(row)} has no value. Feed it: program(feed={{{called}: 1.0}}).{among} "
        f"It was made on {tables.origin(row)}."
    )


# --- weights: in the graph's Variables, or in an array that the caller provides ---------------
#
#     Program(loss, wrt=w)                    reads the Variables
#     Program(loss, wrt=w, weights=array)     reads the array instead, in place
#
# A Model keeps all its parameters in one array, so a Program over it copies nothing.


class VariableWeights:
    """The weights are Variables of the graph. rows: theirs, in the order of wrt."""

    held: Weights | None = None

    def __init__(self, tables: Tables, rows: Sequence[int]) -> None:
        self.tables, self.rows, self._where = tables, rows, slice_if_consecutive(rows)

    def source(self) -> Any:
        """The array that holds them. It stays where it is while there is a view of it."""
        return self.tables._values

    def before_moving(self) -> None:
        """What `minimize` checks before the first step: here nothing, every Variable can be moved."""

    def read(self) -> Any:
        """The values as a copy: as long as there is a view of the column, the column cannot grow."""
        return np.frombuffer(self.tables.values)[self._where].copy()

    def write(self, values: Any) -> None:
        self.tables.set_leaf_values(self._where, values)


class ArrayWeights:
    """The weights are elements of an array, which the Variables know nothing of."""

    def __init__(self, rows: Sequence[int], array: Any, places: Any) -> None:
        _check_weights(array)
        where = np.arange(len(rows)) if places is None else np.asarray(places)
        if where.shape != (len(rows),) or (places is None and len(array) != len(rows)):
            raise FeedError(
                f"wrt has {len(rows)} weights, and weights= {len(array) if places is None else where.size} places. "
                "Give an element for each, or the array and the place of each: weights=(array, places)."
            )
        if where.size and (where.dtype.kind not in "iu" or where.min() < 0 or where.max() >= len(array)):
            raise FeedError(f"The places of weights are whole numbers from 0 to {len(array) - 1}.")
        self._where = slice_if_consecutive(where.tolist())
        self.held = Weights(array, dict(zip(rows, where.tolist(), strict=True)))

    def source(self) -> Any:
        """The array that holds them."""
        return self.held.array

    def before_moving(self) -> None:
        """Raise FeedError unless every weight can be moved by itself."""
        if not self.held.array.flags.writeable:
            raise FeedError("These weights cannot be moved: the array of weights= is read-only. Give a copy.")
        if len(set(self.held.places.values())) < len(self.held.places):
            raise FeedError(
                "These weights cannot be moved: two lie at one place of the array, and minimize moves each by itself. "
                "Make them one Variable, or write program.weights yourself."
            )

    def hold(self, array: Any) -> None:
        """Read another array from now on, laid out as the last one was."""
        _check_weights(array)
        needed = max(self.held.places.values(), default=-1) + 1
        if len(array) < needed:
            raise FeedError(
                f"The weights lie at places up to {needed - 1}, and this array has {len(array)}. "
                "Give one that is laid out as the one of weights=."
            )
        self.held = Weights(array, self.held.places)

    def read(self) -> Any:
        return self.held.array[self._where].copy()

    def write(self, values: Any) -> None:
        self.held.array[self._where] = values


def _check_weights(array: Any) -> None:
    plain = isinstance(array, np.ndarray) and not isinstance(array, np.ma.MaskedArray)
    flat = plain and array.dtype == np.float64 and array.dtype.isnative and array.ndim == 1
    if not flat or not array.flags.c_contiguous or not array.flags.aligned:
        what = f"of kind {array.dtype} and shape {array.shape}" if plain else shortened(array)
        raise FeedError(
            f"weights= takes a flat array of float64 that is not masked, whose elements lie side by side and are read "
            f"where they lie, not {type(array).__name__} {what}. Make one, and keep it: "
            "w = np.array(weights, float).ravel()."
        )
