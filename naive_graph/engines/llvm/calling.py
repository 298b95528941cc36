"""What a learner's loop calls, in compiled code: forward, backward, value, grad and kill_grad.

These are `quick.Quick` and the columns of `nodes.Node`, step for step, in the
subset of Python that compiles; an address is an int. Whatever is not the common
case (another graph, an engine that is named, a value that is no float) is left
to Python, which is asked with the same operands. Only documented functions of
Python's C interface are called, and `objects` says what is read in Python's
objects. From the first look at the graph to the last write Python runs no other
code.
"""

from __future__ import annotations

from collections.abc import Callable

from . import objects
from .objects import CLASS, NO_NODE, row_of
from .objects import NOW as WORDS
from .python import Longs

# The words of a short way. HOME, QUICK: the graph it is for, and the object that is kept there as long as it holds;
# ROW: whose gradients; WHOLE: whether that depends on all; RUN: both sweeps, called with ONE or OTHER, which name the
# column that gradients go to, FIRST or SECOND; PENDING: the column that they went to last, and FRESH: when.
HOME, QUICK, SIZE, ROW, WHOLE, VALUES, STAMPS, OPERATORS = range(8)
RUN, ONE, OTHER, FIRST, SECOND, PENDING, FRESH, END = range(8, 16)

# Python's functions, each with its operands' types and its result's; objects are addresses.
FUNCTIONS = {
    **objects.FUNCTIONS,
    "Py_IncRef": (["i64"], "void"),
    "Py_DecRef": (["i64"], "void"),
    "PyErr_Clear": ([], "void"),
    "PyObject_Size": (["i64"], "i64"),
    "PyObject_GenericGetDict": (["i64", "i64"], "i64"),
    "PyObject_Vectorcall": (["i64", "ptr", "i64", "i64"], "i64"),
    "PyObject_VectorcallMethod": (["i64", "ptr", "i64", "i64"], "i64"),
    "PyDict_GetItemWithError": (["i64", "i64"], "i64"),
    "PyDict_SetItem": (["i64", "i64", "i64"], "i32"),
    "PyLong_FromLongLong": (["i64"], "i64"),
    "PyFloat_AsDouble": (["i64"], "double"),
    "PyFloat_FromDouble": (["double"], "i64"),
    "PySequence_GetItem": (["i64", "i64"], "i64"),
    "PySequence_Repeat": (["i64", "i64"], "i64"),
    "PyInterpreterState_ThreadHead": (["i64"], "i64"),
    "PyThreadState_Next": (["i64"], "i64"),
}
# What the code knows: as `objects` has it, where NOW are the words of the short way that was taken last, 0 if there is
# none; then addresses of objects, `tables` as the place of that slot.
KNOWN = (
    *objects.NAMES, "interpreter", "CURRENT", "tables", "WATCHERS", "float", "nothing", "true",
    "false", "zero", "cache", "quick", "clock", "written", "grads", "grads_are_blank", "forward", "backward",
    "kill_grad", "lock", "acquire", "release",
)  # fmt: skip
(
    INTERPRETER, CURRENT, TABLES_SLOT, WATCHERS, FLOAT, NONE, TRUE, FALSE, ZERO, CACHE_NAME, QUICK_NAME, CLOCK_NAME,
    WRITTEN_NAME, GRADS_NAME, BLANK_NAME, FORWARD, BACKWARD, KILL_GRAD, LOCK_NAME, ACQUIRE_NAME, RELEASE_NAME,
) = range(len(objects.NAMES), len(KNOWN))  # fmt: skip
CONSTANT = -1
DONE, ASK, FAILED = 1, 0, -1  # how a call went: done, to be asked of Python, or a Python error

# These names are Python's and the machine's only once they are compiled.
peek: Callable[[int, int], int]
peek_short: Callable[[int, int], int]
peek_double: Callable[[int, int], float]
poke: Callable[[int, int, int], None]
poke_double: Callable[[int, int, float], None]
sweep: Callable[[int, int, int], int]
set_item: Callable[[int, int, int], int]
call_method: Callable[[int, int], int]
Py_IncRef: Callable[[int], None]
Py_DecRef: Callable[[int], None]
PyErr_Clear: Callable[[], None]
PyObject_Size: Callable[[int], int]
PyObject_GenericGetDict: Callable[[int, int], int]
PyDict_GetItemWithError: Callable[[int, int], int]
PyLong_AsLongLong: Callable[[int], int]
PyLong_FromLongLong: Callable[[int], int]
PyFloat_AsDouble: Callable[[int], float]
PyFloat_FromDouble: Callable[[float], int]
PySequence_GetItem: Callable[[int, int], int]
PySequence_Repeat: Callable[[int, int], int]
PyInterpreterState_ThreadHead: Callable[[int], int]
PyThreadState_Next: Callable[[int], int]


def fields_now(known: Longs) -> int:
    """The current graph's dictionary, if the short way that is known is still kept there; else 0."""
    words = known[WORDS]
    if words == 0:
        return 0
    home = peek(known[CURRENT], known[TABLES_SLOT])
    if home != peek(words, HOME):
        return 0
    fields = PyObject_GenericGetDict(home, 0)
    if fields == 0:
        PyErr_Clear()
        return 0
    Py_DecRef(fields)  # the graph holds it
    cache = PyDict_GetItemWithError(fields, known[CACHE_NAME])
    if cache == 0:
        return 0
    return fields if PyDict_GetItemWithError(cache, known[QUICK_NAME]) == peek(words, QUICK) else 0


def row_here(known: Longs, node: int) -> int:
    """The row of a node of the graph that the short way is for; NO_NODE if it is none."""
    words = known[WORDS]
    return row_of(known, node, peek(words, HOME), peek(words, SIZE))


def value(known: Longs, node: int) -> int:
    """`node.value`, or ASK."""
    if fields_now(known) == 0:
        return ASK
    row = row_here(known, node)
    if row == NO_NODE:
        return ASK
    words = known[WORDS]
    if peek(peek(words, STAMPS), row) == 0:  # never computed
        return ASK
    return PyFloat_FromDouble(peek_double(peek(words, VALUES), row))


def set_value(known: Longs, node: int, number: int) -> int:
    """`node.value = number` for a leaf. Where there are other threads, one might be inside the graph's lock."""
    if peek(number, known[CLASS]) != known[FLOAT]:
        return ASK
    if PyThreadState_Next(PyInterpreterState_ThreadHead(known[INTERPRETER])) == 0:
        return write(known, node, number)
    fields = fields_now(known)
    if fields == 0:
        return ASK
    lock = PyDict_GetItemWithError(fields, known[LOCK_NAME])
    Py_IncRef(lock)
    went = FAILED
    acquired = call_method(known[ACQUIRE_NAME], lock)
    if acquired != 0:
        Py_DecRef(acquired)
        went = write(known, node, number)  # which looks at the graph anew
        released = call_method(known[RELEASE_NAME], lock)
        if released == 0:
            went = FAILED
        else:
            Py_DecRef(released)
    Py_DecRef(lock)
    return went


def write(known: Longs, node: int, number: int) -> int:
    """As `Tables.write` does it."""
    fields = fields_now(known)
    if fields == 0:
        return ASK
    row = row_here(known, node)
    if row == NO_NODE:
        return ASK
    words = known[WORDS]
    clock = PyDict_GetItemWithError(fields, known[CLOCK_NAME])
    if set_item(fields, known[WRITTEN_NAME], clock) != 0:
        return FAILED
    poke(peek(words, STAMPS), row, PyLong_AsLongLong(clock))
    poke_double(peek(words, VALUES), row, PyFloat_AsDouble(number))
    return DONE


def grad(known: Longs, node: int) -> int:
    """`node.grad`, or ASK."""
    fields = fields_now(known)
    if fields == 0:
        return ASK
    row = row_here(known, node)
    if row == NO_NODE:
        return ASK
    if peek_short(peek(known[WORDS], OPERATORS), row) == CONSTANT:
        return ASK
    grads = PyDict_GetItemWithError(fields, known[GRADS_NAME])
    if PyObject_Size(grads) <= row:
        return ASK
    return PySequence_GetItem(grads, row)


def forward(known: Longs, given: int, node: int) -> int:
    """`Graph.forward()`, or `Graph.forward(node)` where one is given."""
    fields = fields_now(known)
    if fields == 0 or PyObject_Size(known[WATCHERS]) != 0:
        return ASK
    words = known[WORDS]
    if given == 1:
        if peek(words, WHOLE) == 0:
            return ASK
        if row_here(known, node) != peek(words, ROW):
            return ASK
    now = PyLong_AsLongLong(PyDict_GetItemWithError(fields, known[CLOCK_NAME]))
    later = PyLong_FromLongLong(now + 1)
    if later == 0:
        return FAILED
    column = SECOND if PyDict_GetItemWithError(fields, known[GRADS_NAME]) == peek(words, FIRST) else FIRST
    packed = peek(words, OTHER) if column == SECOND else peek(words, ONE)
    went = ASK
    if sweep(peek(words, RUN), packed, now) == 0:
        went = DONE if set_item(fields, known[CLOCK_NAME], later) == 0 else FAILED
        poke(words, PENDING, peek(words, column))
        poke(words, FRESH, now)
    Py_DecRef(later)
    return went


def backward(known: Longs, given: int, node: int) -> int:
    """`Graph.backward(node)`: the gradients are done, and become visible."""
    fields = fields_now(known)
    if fields == 0 or given != 1 or PyObject_Size(known[WATCHERS]) != 0:
        return ASK
    words = known[WORDS]
    if row_here(known, node) != peek(words, ROW):
        return ASK
    if PyLong_AsLongLong(PyDict_GetItemWithError(fields, known[WRITTEN_NAME])) > peek(words, FRESH):
        return ASK
    failed = set_item(fields, known[GRADS_NAME], peek(words, PENDING))
    failed += set_item(fields, known[BLANK_NAME], known[FALSE])
    return DONE if failed == 0 else FAILED


def kill_grad(known: Longs, given: int, node: int) -> int:
    """`Graph.kill_grad()`."""
    fields = fields_now(known)
    if fields == 0 or given != 0:
        return ASK
    grads = PySequence_Repeat(known[ZERO], peek(known[WORDS], SIZE))
    if grads == 0:
        return FAILED
    failed = set_item(fields, known[GRADS_NAME], grads)
    Py_DecRef(grads)
    failed += set_item(fields, known[BLANK_NAME], known[TRUE])
    return DONE if failed == 0 else FAILED
