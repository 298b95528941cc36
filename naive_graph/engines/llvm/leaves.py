"""`Variable(0.5)` in compiled code: one more row in the margin, without operands.

This is `handles.register`, step for step; what is said in `building` holds
here. The node itself comes from Python, blank, to be filled. A name, and
anything but one plain number, is left to Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .building import author_is_noted, is_number, is_open, number_of, there_is_room
from .layout import (
    ASK,
    CODE,
    DEGREE,
    FAILED,
    FIRST,
    GIVE_HOME,
    GIVE_ROW,
    HOME,
    INSTRUCTION,
    NEW_CODE,
    NODE_ROW,
    NODES,
    NONE,
    NUMBER_ROW,
    NUMBERS,
    ROWS,
    YOUNG,
)
from .python import Bytes, Floats, Ints, Longs

if TYPE_CHECKING:  # these names are Python's only once they are compiled
    from .building import (
        Py_DecRef,
        Py_IncRef,
        PyEval_GetFrame,
        PyFrame_GetCode,
        PyFrame_GetLasti,
    )
build_leaf_now: Callable[..., int]  # and these are LLVM's: see `entries`
home_now: Callable[[], int]
row_now: Callable[[], int]
PyMethod_New: Callable[[int, int], int]
Py_NewRef: Callable[[int], int]
PyList_SetItem: Callable[[int, int, int], int]
PyLong_FromLongLong: Callable[[int], int]
write_slot: Callable[[int, int, int], int]
PyObject_Vectorcall: Callable[..., int]


def fill(known: Longs, place: int, node: int, given: Longs, count: int, names: int) -> int:
    """`node.__init__(*given)`: None, or 0 for an error.

    place: where the kind of leaf stands in `known`. given: so many arguments,
    and then those that names, a tuple or 0, has names for.
    """
    takes = known[place + 1]  # how many numbers
    number = 0
    if names != 0 or count != takes:
        return ask_python(known, place, node, given, count, names)
    if takes != 0:
        number = given[0]
        if not is_number(known, number):
            return ask_python(known, place, node, given, count, names)
    if not there_is_room(known):
        return 0
    frame = PyEval_GetFrame()
    made = ASK
    if frame != 0:
        made = written(known, known[place], number, node, frame)
        if made == NEW_CODE and author_is_noted(known, frame):
            made = written(known, known[place], number, node, frame)
            if made == NEW_CODE:
                made = ASK
    if made == ASK:
        return ask_python(known, place, node, given, count, names)
    if made != node:
        return 0
    return Py_NewRef(known[NONE])


def written(known: Longs, kind: int, number: int, node: int, frame: int) -> int:
    """Make `node` the handle of a new row of this kind, or say why not.

    A node that had a row before, which a second `__init__` brings here, lets go
    of its graph as it is given another. That may run anything: so it comes
    first, and the row counts only if it is still the next.
    """
    home, row = home_now(), row_now()
    if home == 0:
        return ASK
    place = PyLong_FromLongLong(row)
    if place == 0:
        return FAILED
    failed = write_slot(known[GIVE_HOME], node, home)
    failed += write_slot(known[GIVE_ROW], node, place)
    Py_DecRef(place)
    if failed != 0:
        return FAILED
    return build_leaf_now(kind, number, node, frame, home, row)


def ask_python(known: Longs, place: int, node: int, given: Longs, count: int, names: int) -> int:
    method = PyMethod_New(known[place + 2], node)
    if method == 0:
        return 0
    none = PyObject_Vectorcall(method, given, count, names)
    Py_DecRef(method)
    return none


def build_leaf(
    known: Longs, margin: Longs, ints: Ints, kinds: Bytes, values: Floats,
    kind: int, number: int, node: int, frame: int, home: int, row: int,
) -> int:  # fmt: skip
    """Write the row that `node` is the handle of; or say why not. number: 0 if it has none."""
    at = margin[ROWS]
    if margin[HOME] != home or margin[FIRST] + at != row or not is_open(known, margin):
        return ASK
    code = PyFrame_GetCode(frame)
    Py_DecRef(code)  # the frame holds it
    if code != margin[CODE]:
        return NEW_CODE
    ints[DEGREE + at] = 0
    ints[INSTRUCTION + at] = PyFrame_GetLasti(frame)
    kinds[2 * at] = kind
    kinds[2 * at + 1] = 255  # a kind is negative
    numbers = margin[NUMBERS]
    if number != 0:
        ints[NUMBER_ROW + numbers] = row
        values[numbers] = number_of(known, number)
        numbers += 1
    Py_IncRef(node)
    if PyList_SetItem(margin[YOUNG], margin[NODES], node) != 0:  # which takes the node, and lets go of None
        return FAILED
    ints[NODE_ROW + margin[NODES]] = row
    margin[NODES] += 1
    margin[NUMBERS] = numbers
    margin[ROWS] = at + 1
    return node
