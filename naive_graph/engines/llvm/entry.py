"""Ways from Python into machine code that take no longer than a call of Python's own `abs`.

ctypes takes 0.2 us for a call, as it converts every argument. Here everything
that a call needs is written into an array of words once, and machine code that
follows Python's C interface reads it there. Only documented functions of that
interface are called. Where this was not tested, ctypes does the same.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache as once
from typing import Any

import numpy as np

from . import filling, registers
from .compile import Library, compiled, is_direct, llvmlite
from .filling import ALONE, resized
from .precision import Precision, precision_named

_NO_ARGUMENTS, _ARGUMENTS = 4, 0x80  # METH_NOARGS and METH_FASTCALL
_C_CONTIGUOUS, _FORMAT = 0x38, 0x4  # what is asked of a buffer: that it lies in C's order, and says what is in it
_PYTHON = (
    "PyFloat_FromDouble", "PyLong_AsVoidPtr", "PyBool_FromLong", "PyObject_GetBuffer", "PyBuffer_Release",
    "PyErr_Clear", "PyObject_Type", "Py_DecRef",
)  # fmt: skip

# run: words hold a function, its argument, where its first result is, and whether all are finite; then where lines of
# results are, and how many floats they hold.
# feed: words hold how many arrays there are, where the tape's lines are, the class of arrays, and of each its words:
# its dimensions, samples, columns, stride, and the line of each column; or 1, how many numbers, how many places they
# go to, ALONE, and these (`filling.batch`, `filling.singles`).
# A buffer is {address, owner, bytes, bytes of an item, i32 read-only, i32 dimensions, format, shape, ...}.
_TEXT = """
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyBool_FromLong(i64)
declare i32 @PyObject_GetBuffer(ptr, ptr, i32)
declare void @PyBuffer_Release(ptr)
declare void @PyErr_Clear()
declare ptr @PyObject_Type(ptr)
declare void @Py_DecRef(ptr)

define ptr @enter_run(ptr %self, ptr %nothing) {{
  %words = call ptr @PyLong_AsVoidPtr(ptr %self)
  %function = load ptr, ptr %words
  %argument.at = getelementptr ptr, ptr %words, i64 1
  %argument = load ptr, ptr %argument.at
  call void %function(ptr %argument)
  %value.where = getelementptr ptr, ptr %words, i64 2
  %value.at = load ptr, ptr %value.where
  %value = load {real}, ptr %value.at
  %amiss.where = getelementptr ptr, ptr %words, i64 3
  %amiss.at = load ptr, ptr %amiss.where
  %scalars = load {real}, ptr %amiss.at
  %lines.at = getelementptr ptr, ptr %words, i64 4
  %lines = load ptr, ptr %lines.at
  %floats.at = getelementptr i64, ptr %words, i64 5
  %floats = load i64, ptr %floats.at
  %lanes = call {real} @unusual(ptr %lines, i64 %floats)
  %amiss = fadd {real} %scalars, %lanes
  %fine = fcmp oeq {real} %amiss, 0.0
  %exact = {shown}
  %shown = select i1 %fine, double %exact, double 0x7FF8000000000000
  %answer = call ptr @PyFloat_FromDouble(double %shown)
  ret ptr %answer
}}

define ptr @enter_feed(ptr %self, ptr %arrays, i64 %given) {{
  %buffer = alloca [10 x i64]
  %words = call ptr @PyLong_AsVoidPtr(ptr %self)
  %count = load i64, ptr %words
  %feeds.at = getelementptr ptr, ptr %words, i64 1
  %feeds = load ptr, ptr %feeds.at
  %all = icmp eq i64 %given, %count
  br i1 %all, label %test, label %unfit
test:
  %k = phi i64 [ 0, %0 ], [ %next, %done ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %ask, label %fit
ask:
  %array.at = getelementptr ptr, ptr %arrays, i64 %k
  %array = load ptr, ptr %array.at
  %class = call ptr @PyObject_Type(ptr %array)
  call void @Py_DecRef(ptr %class)
  %plain.at = getelementptr ptr, ptr %words, i64 2
  %plain = load ptr, ptr %plain.at
  %is.plain = icmp eq ptr %class, %plain
  br i1 %is.plain, label %borrow, label %unfit
borrow:
  %refused = call i32 @PyObject_GetBuffer(ptr %array, ptr %buffer, i32 {asked})
  %none = icmp ne i32 %refused, 0
  br i1 %none, label %clear, label %look
look:
  %batch.where = getelementptr ptr, ptr %feeds.at, i64 2
  %batch.at = getelementptr ptr, ptr %batch.where, i64 %k
  %batch = load ptr, ptr %batch.at
  %dimensions.at = getelementptr i32, ptr %buffer, i64 9
  %dimensions = load i32, ptr %dimensions.at
  %wide = sext i32 %dimensions to i64
  %expected = load i64, ptr %batch
  %alike = icmp eq i64 %wide, %expected
  br i1 %alike, label %kind, label %release
kind:
  %format.where = getelementptr ptr, ptr %buffer, i64 5
  %format.at = load ptr, ptr %format.where
  %format = load i16, ptr %format.at, align 1
  %is.double = icmp eq i16 %format, 100
  %is.single = icmp eq i16 %format, 102
  %is.known = or i1 %is.double, %is.single
  %narrow = zext i1 %is.single to i64
  %size = select i1 %is.single, i64 4, i64 8
  %shape.where = getelementptr ptr, ptr %buffer, i64 6
  %shape = load ptr, ptr %shape.where
  %length = load i64, ptr %shape
  %samples.at = getelementptr i64, ptr %batch, i64 1
  %samples = load i64, ptr %samples.at
  %as.long = icmp eq i64 %length, %samples
  %bytes.at = getelementptr i64, ptr %buffer, i64 2
  %bytes = load i64, ptr %bytes.at
  %columns.at = getelementptr i64, ptr %batch, i64 2
  %across = load i64, ptr %columns.at
  %stride.at = getelementptr i64, ptr %batch, i64 3
  %stride = load i64, ptr %stride.at
  %single = icmp eq i64 %stride, {alone}
  %columns = select i1 %single, i64 1, i64 %across
  %numbers = mul i64 %samples, %columns
  %room = mul i64 %numbers, %size
  %as.wide = icmp eq i64 %bytes, %room
  %right = and i1 %is.known, %as.long
  %good = and i1 %right, %as.wide
  br i1 %good, label %copy, label %release
copy:
  %from = load ptr, ptr %buffer
  br i1 %single, label %one, label %many
one:
  call void @scatter(ptr %batch, ptr %from, i64 %narrow)
  br label %done
many:
  call void @fill(ptr %batch, ptr %feeds, ptr %from, i64 %narrow)
  br label %done
done:
  call void @PyBuffer_Release(ptr %buffer)
  %next = add i64 %k, 1
  br label %test
release:
  call void @PyBuffer_Release(ptr %buffer)
  br label %unfit
clear:
  call void @PyErr_Clear()
  br label %unfit
fit:
  %yes = call ptr @PyBool_FromLong(i64 1)
  ret ptr %yes
unfit:
  %no = call ptr @PyBool_FromLong(i64 0)
  ret ptr %no
}}
"""


class _Method(ctypes.Structure):
    """PyMethodDef, of Python's stable interface."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


@once
def _entries(precision: Precision) -> tuple[Library, dict[str, _Method]]:
    llvm = llvmlite()
    for name in _PYTHON:
        llvm.add_symbol(name, ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value)
    text = _TEXT.format(
        real=precision.type, asked=_C_CONTIGUOUS | _FORMAT, alone=ALONE,
        shown=resized("%value", precision.type, "double"),
    )  # fmt: skip
    text += filling.text(precision) + registers.unusual(precision.type, precision.lanes)
    library = compiled(text, optimised=True)
    flags = {"enter_run": _NO_ARGUMENTS, "enter_feed": _ARGUMENTS}
    return library, {name: _Method(name.encode(), library.address(name), kind, None) for name, kind in flags.items()}


def _entry(name: str, words: Any, precision: Precision) -> Callable[..., Any]:
    """A function of Python's that hands these words to machine code. Good for as long as they are held."""
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Callable[..., Any] = make(ctypes.addressof(_entries(precision)[1][name]), words.ctypes.data, None)
    return made


def runner(
    library: Library, name: str, argument: int, out: Any, value: int, amiss: int, short: bool, lines: Any = None
) -> Any:
    """A function without arguments: runs the compiled one, and gives out[value]; NaN unless all results are finite.

    name: of a function of one address, `argument`. out: an array of floats;
    out[amiss] is 0.0 where those are finite that come before. short: whether the
    run is so short that other threads may wait for it. lines: more results, a
    line for each; what lies between them is finite where they are.
    Returns it with what must be held for as long as it is used.
    """
    if short and is_direct():
        places = [out.ctypes.data + out.itemsize * place for place in (value, amiss)]
        more = (0, 0) if lines is None else (lines.ctypes.data, lines.strides[0] // lines.itemsize * len(lines))
        words = np.array([library.address(name), argument, *places, *more], np.int64)
        return _entry("enter_run", words, precision_named(out.dtype)), (library, words, out, lines)
    function, item, nan = library.function(name, None, [ctypes.c_void_p]), out.item, float("nan")

    def run() -> float:
        function(argument)
        found: float = item(value)
        fine = item(amiss) == 0.0 and (lines is None or np.isfinite(lines).all())
        return found if fine else nan

    return run, (library, out, lines)


def feeder(feeds: Any, arrays: Sequence[Sequence[int]]) -> Any:
    """A function of arrays: copies them to where they are read, or gives False if one is not what is expected.

    Only NumPy's own class of arrays is: a kind of it, as a masked array, may mean other numbers than lie in its memory.

    feeds: a view of floats with a line for each leaf that is fed a batch, or any array of the same floats.
    arrays: the words of each, as `filling.batch` and `filling.singles` give them. Returns it with
    what must be held for as long as it is used; None where machine code cannot
    be entered directly.
    """
    if not is_direct():
        return None
    each = [np.array(words, np.int64) for words in arrays]
    words = np.array([len(each), feeds.ctypes.data, id(np.ndarray), *(array.ctypes.data for array in each)], np.int64)
    return _entry("enter_feed", words, precision_named(feeds.dtype)), (feeds, each, words)
