"""The fast path of a Program: repeated calls with the same signature skip the checks that have been made before.

The second call of a signature builds the path. From then on such calls copy their numbers to where the code reads
them (or pass pointers to the samples), run the code, and copy the results.

The signature ("form") is what the path relies on: the state of the graph (its age), the number of samples, the
PlaceHolders that are fed, and the types of the inputs. A call that does not match, or whose result is infinite or
NaN, takes the slow path, which reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .backends import CompiledBackend, as_list
from .inputs import Inputs, InputSlot, places_of

Found = tuple[Any, Any]
FastCall = Callable[..., Found | None]
PLAIN = (np.dtype(np.float64), np.dtype(np.float32))  # each number of either is a float64
AGE = "age"  # key in the tables' cache: an object that is kept until the graph changes


def no_fast_path(inputs: Any) -> Found | None:
    """The null fast path: it returns None, so that the slow path is taken."""
    return None


class FastPath:
    """The signature ("form") of a Program's last call, and a fast path (`way`), valid while the graph has this age."""

    __slots__ = ("age", "form", "way")

    def __init__(self) -> None:
        self.form: Any = None
        self.close()

    def close(self) -> None:
        """Disable the fast path: the slow path may change the state that it uses."""
        self.way: FastCall = no_fast_path
        self.age = object()

    def remember(self, form: Any, age: object, make: Callable[[], FastCall]) -> None:
        """Record a call that the slow path answered; on the second of a form, build its fast path with `make`."""
        if form is not None and form == self.form:
            self.way, self.age = make(), age
        self.form = form


def call_signature(age: object, given: Inputs, inputs: Sequence[Any]) -> Any:
    """The signature (form) of a call; None if the first input is neither a float nor an array: no fast path then."""
    if inputs and not hasattr(inputs[0], "ndim") and type(inputs[0]) is not float:
        return None
    return (age, given.samples, [batch.rows for batch in given.batches], [*map(type, inputs)])


def fast_path(
    answers: Any, kept: Any, samples: int, single: bool, inputs: Sequence[InputSlot], given: Sequence[Any]
) -> FastCall:
    """Build the fast path for calls like the one just answered: a function from inputs to (values, slopes) or None.

    kept: the weights, in an array or in the graph, which are read in place. single: whether to return one output
    instead of a list. inputs, given: the slots and values of the call: all batches, or floats and arrays of one sample.
    """
    if not isinstance(answers, CompiledBackend) or not _can_be_fed(answers, inputs):
        return no_fast_path
    code, source = answers.tape, kept.source()
    with memoryview(source) as view:
        code.set_source(view)
    fit = _batches(code, samples, inputs, given) if answers.batched else _one_sample(code, inputs)
    read_values, *slope_readers = [pick.reader(code) for pick in answers.picks]
    nonfinite, call, packed = code.out.item, code.call, code.packed

    def again(inputs: tuple[Any, ...]) -> Found | None:
        _held = memoryview(source)  # as long as there is a view, the floats stay where they are
        if answers.tape is not code or kept.source() is not source:
            return None
        _fed = fit(inputs)
        if _fed is None:
            return None
        call(packed)
        if nonfinite(-1) != 0.0:  # something that is handed out is not finite
            return None
        values, slopes = as_list(read_values()), [read() for read in slope_readers]
        return (values[0], slopes[0] if slopes else []) if single else (values, slopes)

    return again if answers.is_final else _count_runs(answers, again)


def _count_runs(answers: CompiledBackend, way: FastCall) -> FastCall:
    """Wrap a fast path over level runs to count them: after enough, the slow path switches to compiled code."""

    def again(inputs: tuple[Any, ...]) -> Found | None:
        answer = way(inputs) if answers.patience > 1 else None
        if answer is not None:
            answers.patience -= 1
        return answer

    return again


def _can_be_fed(answers: CompiledBackend, inputs: Sequence[InputSlot]) -> bool:
    """Whether the inputs cover all PlaceHolders; then only the Variables can change, which are loaded in any case."""
    fed = {row for slot in inputs for row in slot.rows}
    return fed.issuperset([*answers.placeholders, *answers.tape.fed_rows])


Fit = Callable[..., Any]  # passes inputs to the code; returns what must be kept alive for the run, None if unfit


def _one_sample(code: Any, inputs: Sequence[InputSlot]) -> Fit:
    """A function that copies the floats and arrays of a call to where they are read; None if they do not fit.

    Only NumPy's own class of arrays is taken: a kind of it, as a masked array, may mean other numbers than it holds.
    """
    order = [(slot.shape, *places_of(code, slot.rows, of_samples=False)) for slot in inputs]
    scalars, plain_array = code.scalars, np.ndarray

    def fit(given: tuple[Any, ...]) -> Any:
        if len(given) != len(order):
            return None
        for value, (shape, read, where) in zip(given, order):
            if type(value) is float and not shape:
                scalars[where] = value
            elif type(value) is plain_array and shape and value.shape == shape and value.dtype in PLAIN:
                scalars[where] = value.reshape(-1)[read]
            else:
                return None
        return given

    return fit


def _batches(code: Any, samples: int, inputs: Sequence[InputSlot], arrays: Sequence[Any]) -> Fit:
    """A function that tells the code where the samples of a call lie; None if the arrays are not laid out as these."""
    order = []
    for slot, array in zip(inputs, arrays):
        array = np.asarray(array, float)
        read, leaves = places_of(code, slot.rows, of_samples=True)
        offsets = np.zeros(1, np.int64)
        for extent, stride in zip(slot.shape, array.strides[1:]):
            offsets = np.add.outer(offsets, stride * np.arange(extent)).ravel()
        code.feeds[1][leaves, 1] = array.strides[0]
        order.append(((samples, *slot.shape), array.strides, leaves, offsets[read]))
    begins, float64, plain_array = code.feeds[1][:, 0], np.dtype(float), np.ndarray

    def fit(given: tuple[Any, ...]) -> Any:
        if len(given) != len(order):
            return None
        held = []
        for array, (shape, strides, leaves, offsets) in zip(given, order):
            if type(array) is not plain_array or array.shape != shape or array.dtype not in PLAIN:
                return None
            if array.dtype is not float64:
                array = array.astype(float64)
            if array.strides != strides:
                return None
            begins[leaves] = offsets + array.ctypes.data
            held.append(array)
        return held

    return fit
