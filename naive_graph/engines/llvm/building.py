"""`x + y` in compiled code: one more row in the margin, and its handle.

This is `handles.grow_short`, step for step, in the subset of Python that
compiles; an address is an int. Whatever is not the common case (another graph
or thread, a margin that is full, an operand that is neither a node nor a
number) is left to Python, which is asked with the same operands.

Only documented functions of Python's C interface are called, and `objects` says
what is read in Python's objects. What may start the garbage collector, and with
it anything, comes first. Between the first look at the margin and the last write
to it Python runs no other code, so a row is there whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable

from ...tables import MOST_MERGED
from .layout import (
    ASK,
    CAPACITY,
    CODE,
    CURRENT,
    DEGREE,
    EDGE_COLUMN,
    EDGES,
    EXACT,
    FAILED,
    FIRST,
    FIRST_EDGE,
    FLOAT,
    HOME,
    INSTRUCTION,
    INT,
    MOST_NODES,
    NEW_CODE,
    NEXT,
    NO_SPARE,
    NODES,
    NUMBER_ROW,
    NUMBERS,
    OPERATOR,
    OWNER,
    REGISTER,
    ROW_COLUMN,
    ROWS,
    SOURCE,
    TABLES,
    TARGET,
    WRITTEN_BY,
)
from .objects import CLASS, NO_NODE, row_of
from .python import Bytes, Floats, Ints, Longs
from .spares import bind, spare

# These names are Python's only once they are compiled.
PyErr_Occurred: Callable[..., int]
PyEval_GetFrame: Callable[..., int]
PyFrame_GetCode: Callable[..., int]
PyFrame_GetLasti: Callable[..., int]
PyLong_AsLongLong: Callable[..., int]
PyObject_CallObject: Callable[..., int]
PyObject_Size: Callable[..., int]
PyThread_get_thread_ident: Callable[..., int]
PyTuple_New: Callable[..., int]
PyTuple_SetItem: Callable[..., int]
PyType_GenericAlloc: Callable[..., int]
peek: Callable[[int, int], int]
PyFloat_AsDouble: Callable[[int], float]
PyErr_Clear: Callable[[], None]
Py_DecRef: Callable[[int], None]
Py_IncRef: Callable[[int], None]
nodes_now: Callable[[], int]  # and these are LLVM's: see `entries`
build_now: Callable[..., int]


def apply(known: Longs, place: int, me: int, other: int, left: int, right: int) -> int:
    """The node that `me` makes with `other`, which is 0 where there is none; 0 if it raised an error.

    place: where the operator stands in `known`. left, right: the operands in their order.
    """
    if not there_is_room(known):
        return 0
    frame = PyEval_GetFrame()
    made = ASK
    if frame != 0:
        made = build_now(place, left, right, 0, frame)
        if made < FAILED:  # NO_SPARE or NEW_CODE, and what helps may run anything
            made = build_anew(known, place, left, right, frame)
    if made == FAILED:
        return 0
    if made != ASK:
        return made
    operands = PyTuple_New(1 if other == 0 else 2)
    if operands == 0:
        return 0
    Py_IncRef(me)
    PyTuple_SetItem(operands, 0, me)
    if other != 0:
        Py_IncRef(other)
        PyTuple_SetItem(operands, 1, other)
    answer = PyObject_CallObject(known[place + 2], operands)
    Py_DecRef(operands)
    return answer


def build_anew(known: Longs, place: int, left: int, right: int, frame: int) -> int:
    """As `build`, with a handle that was never one before. To make it may run anything."""
    node = PyType_GenericAlloc(known[OPERATOR], 0)
    if node == 0:
        return FAILED
    made = FAILED
    if there_is_room(known):
        made = build_now(place, left, right, node, frame)
        if made == NEW_CODE and author_is_noted(known, frame):
            made = build_now(place, left, right, node, frame)
        if made == NEW_CODE:
            made = ASK
    if made != node:
        Py_DecRef(node)
    return made


def there_is_room(known: Longs) -> int:
    """Whether the margin has room for a node, if need be after Python has entered those it has; 0: an error."""
    if nodes_now() < MOST_NODES:
        return 1
    none = PyObject_CallObject(known[REGISTER], 0)
    if none == 0:
        return 0
    Py_DecRef(none)
    return 1


def author_is_noted(known: Longs, frame: int) -> int:
    """Have Python note whose code makes the next row; 0: an error."""
    code = PyFrame_GetCode(frame)
    given = PyTuple_New(1)
    if given == 0:
        Py_DecRef(code)
        return 0
    PyTuple_SetItem(given, 0, code)  # which takes it
    none = PyObject_CallObject(known[WRITTEN_BY], given)
    Py_DecRef(given)
    if none == 0:
        return 0
    Py_DecRef(none)
    return 1


def is_open(known: Longs, margin: Longs) -> int:
    """Whether this thread may write two more rows, and the graph is the current one."""
    if margin[OWNER] != PyThread_get_thread_ident() or margin[HOME] != peek(known[CURRENT], known[TABLES]):
        return 0
    if PyObject_Size(margin[ROW_COLUMN]) != margin[FIRST] or PyObject_Size(margin[EDGE_COLUMN]) != margin[FIRST_EDGE]:
        return 0
    return 1 if margin[ROWS] < CAPACITY - 1 and margin[NODES] < MOST_NODES else 0


def is_number(known: Longs, thing: int) -> int:
    """Whether it is a float or a small int, and no bool or other relative."""
    kind = peek(thing, known[CLASS])
    if kind == known[FLOAT]:
        return 1
    if kind != known[INT]:
        return 0
    whole = PyLong_AsLongLong(thing)
    if whole == -1 and PyErr_Occurred() != 0:
        PyErr_Clear()
        return 0
    return 1 if whole <= EXACT and whole >= -EXACT else 0


def number_of(known: Longs, thing: int) -> float:
    if peek(thing, known[CLASS]) == known[FLOAT]:
        return PyFloat_AsDouble(thing)
    return 1.0 * PyLong_AsLongLong(thing)


def build(
    known: Longs, margin: Longs, ints: Ints, kinds: Bytes, values: Floats, known_kinds: Bytes, known_degrees: Ints,
    operator: int, left: int, right: int, node: int, frame: int,
) -> int:  # fmt: skip
    """Make `node` the handle of a new row that applies the operator; or say why not.

    operator: where it stands in `known`. left, right, node, frame: Python's
    objects; right is 0 where there is one operand. node: blank, or 0 for one
    that was another row's and that nobody holds any more.
    """
    if not is_open(known, margin):
        return ASK
    place = margin[NODES]  # among the margin's nodes
    if node == 0:
        place = margin[NEXT]
        node = spare(known, margin)
        if node == NO_SPARE:
            return NO_SPARE
    at, numbers = margin[ROWS], margin[NUMBERS]
    row = margin[FIRST] + at
    number = 0
    if is_number(known, left):
        number = left
        source = row
    else:
        source = row_of(known, left, margin[HOME], row)
    other = 0
    if right != 0:
        if is_number(known, right):
            number = right
            other = row
        else:
            other = row_of(known, right, margin[HOME], row)
    if source == NO_NODE or other == NO_NODE:
        return ASK
    code = PyFrame_GetCode(frame)
    Py_DecRef(code)  # the frame holds it
    if code != margin[CODE]:
        return NEW_CODE

    if number != 0:
        ints[DEGREE + at] = 0
        ints[INSTRUCTION + at] = PyFrame_GetLasti(frame)
        kinds[2 * at] = 255  # CONSTANT, which is -1
        kinds[2 * at + 1] = 255
        ints[NUMBER_ROW + numbers] = row
        values[numbers] = number_of(known, number)
        numbers += 1
        row += 1
        at += 1

    count = 1 if right == 0 else 2
    rule = known[operator]
    if known[operator + 1] and source != other:
        if source >= margin[FIRST]:
            drawn = ints[DEGREE + source - margin[FIRST]]
            same = kinds[2 * (source - margin[FIRST])] + 256 * kinds[2 * (source - margin[FIRST]) + 1]
        else:
            drawn = known_degrees[source]
            same = known_kinds[2 * source] + 256 * known_kinds[2 * source + 1]
        if same == rule and drawn >= 2 and drawn < MOST_MERGED:
            count = drawn + 1
            source = -1 - source

    edge = margin[EDGES]
    ints[SOURCE + edge] = source
    ints[TARGET + edge] = row
    edge += 1
    if right != 0:
        ints[SOURCE + edge] = other
        ints[TARGET + edge] = row
        edge += 1
    ints[DEGREE + at] = count
    ints[INSTRUCTION + at] = PyFrame_GetLasti(frame)
    kinds[2 * at] = rule
    kinds[2 * at + 1] = rule >> 8

    if not bind(known, margin, ints, node, row, place):
        return FAILED
    margin[NUMBERS] = numbers
    margin[EDGES] = edge
    margin[ROWS] = at + 1
    return node
