"""The fast path of a Program: repeated calls with the same signature skip the checks that have been made before.

The second call of a signature builds the path. From then on such calls copy their numbers to where the code reads
them (or pass pointers to the samples), run the code, and copy the results.

The signature is the state of the graph (its age), the number of samples, the PlaceHolders that are fed, and the types
of the inputs. The path itself checks only the age, and each input's type and shape. A call that does not fit, or
whose result is infinite or NaN, takes the slow path, which reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .backends import CompiledBackend, as_list
from .inputs import Inputs, InputSlot, places_of

Result = tuple[Any, Any]  # values, slopes
FastCall = Callable[..., Result | None]
PLAIN_TYPES = (np.dtype(np.float64), np.dtype(np.float32))  # every number of these types is a float64, too
AGE = "age"  # key in the tables' cache: an object that is kept until the graph changes


class FastPath:
    """The signature of a Program's last call, and the function that answers calls like it while the graph has this age.

    `fast_call(inputs)` returns (values, slopes), or None where the slow path must be taken.
    """

    __slots__ = ("age", "fast_call", "signature")

    def __init__(self) -> None:
        self.signature: Any = None
        self.close()

    def close(self) -> None:
        """Disable the fast path: the slow path may change the state that it uses."""
        self.fast_call: Any = None
        self.age = object()

    def remember(self, signature: Any, age: object, make: Callable[[], FastCall | None]) -> None:
        """Record a call that the slow path answered; if the last had its signature, build the fast path with `make`."""
        if signature is not None and signature == self.signature and (fast_call := make()) is not None:
            self.fast_call, self.age = fast_call, age
        self.signature = signature


def call_signature(age: object, checked: Inputs, inputs: Sequence[Any]) -> Any:
    """The signature of a call; None if the first input is neither a float nor an array: no fast path then."""
    if inputs and not hasattr(inputs[0], "ndim") and type(inputs[0]) is not float:
        return None
    return (age, checked.samples, [batch.rows for batch in checked.batches], [*map(type, inputs)])


def fast_path(
    backend: Any, weights: Any, samples: int, single: bool, slots: Sequence[InputSlot], values: Sequence[Any]
) -> FastCall | None:
    """Build the fast path for calls like the one just answered: a function from inputs to (values, slopes) or None.

    None if the code cannot be called like that.
    weights: where they are, in an array or in the graph; they are read in place. single: whether to return one output
    instead of a list. slots, values: the call's inputs: all batches, or floats and arrays of one sample.
    """
    fed = {row for slot in slots for row in slot.rows}
    if not isinstance(backend, CompiledBackend) or not fed.issuperset([*backend.placeholders, *backend.tape.fed_rows]):
        return None  # all PlaceHolders must be fed; then only the Variables can change, which are loaded in any case
    code, source = backend.tape, weights.source()
    with memoryview(source) as view:
        code.set_source(view)
    feed = _batch_feeder(code, samples, slots, values) if backend.batched else _scalar_feeder(code, slots)
    read_values, *slope_readers = [pick(code) for pick in backend.picks]
    nonfinite, call, packed = code.out.item, code.call, code.packed

    def fast_call(inputs: tuple[Any, ...]) -> Result | None:
        _held = memoryview(source)  # as long as there is a view, the floats stay where they are
        if backend.tape is not code or weights.source() is not source:
            return None
        _fed = feed(inputs)  # bound to a name: the arrays must live until the run has ended
        if _fed is None:
            return None
        call(packed)
        if nonfinite(-1) != 0.0:  # some result is not finite
            return None
        values, slopes = as_list(read_values()), [read() for read in slope_readers]
        return (values[0], slopes[0] if slopes else []) if single else (values, slopes)

    return fast_call if backend.patience <= 0 else _count_runs(backend, fast_call)


def _count_runs(backend: CompiledBackend, fast_call: FastCall) -> FastCall:
    """Wrap a fast path over level runs to count them: after enough, the slow path switches to compiled code."""

    def counted_call(inputs: tuple[Any, ...]) -> Result | None:
        answer = fast_call(inputs) if backend.patience > 1 else None
        if answer is not None:
            backend.patience -= 1
        return answer

    return counted_call


Feeder = Callable[..., Any]  # passes inputs to the code; returns what must live until the run ends, None if unfit


def _scalar_feeder(code: Any, slots: Sequence[InputSlot]) -> Feeder:
    """A function that copies the floats and arrays of a call to where the code reads them; None if they do not fit.

    Only `np.ndarray` itself is taken: in a subclass, such as a masked array, the elements may not be the numbers meant.
    """
    targets = [(slot.shape, *places_of(code, slot.rows, of_samples=False)) for slot in slots]
    scalars, plain_array = code.scalars, np.ndarray

    def feed(inputs: tuple[Any, ...]) -> Any:
        if len(inputs) != len(targets):
            return None
        for value, (shape, read, where) in zip(inputs, targets):
            if type(value) is float and not shape:
                scalars[where] = value
            elif type(value) is plain_array and shape and value.shape == shape and value.dtype in PLAIN_TYPES:
                scalars[where] = value.reshape(-1)[read]
            else:
                return None
        return inputs

    return feed


def _batch_feeder(code: Any, samples: int, slots: Sequence[InputSlot], arrays: Sequence[Any]) -> Feeder:
    """A function that gives the code pointers to a call's samples; None if the arrays' shape or strides differ."""
    layouts = []
    for slot, array in zip(slots, arrays):
        array = np.asarray(array, float)
        read, leaves = places_of(code, slot.rows, of_samples=True)
        offsets = np.zeros(1, np.int64)
        for extent, stride in zip(slot.shape, array.strides[1:]):
            offsets = np.add.outer(offsets, stride * np.arange(extent)).ravel()
        code.feeds[1][leaves, 1] = array.strides[0]
        layouts.append(((samples, *slot.shape), array.strides, leaves, offsets[read]))
    begins, float64, plain_array = code.feeds[1][:, 0], np.dtype(float), np.ndarray

    def feed(inputs: tuple[Any, ...]) -> Any:
        if len(inputs) != len(layouts):
            return None
        held = []
        for array, (shape, strides, leaves, offsets) in zip(inputs, layouts):
            if type(array) is not plain_array or array.shape != shape or array.dtype not in PLAIN_TYPES:
                return None
            if array.dtype is not float64:
                array = array.astype(float64)
            if array.strides != strides:
                return None
            begins[leaves] = offsets + array.ctypes.data
            held.append(array)
        return held

    return feed
