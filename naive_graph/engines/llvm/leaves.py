"""`Variable(0.5)` in compiled code: one more row in the margin, without operands.

This is `handles.register`, step for step; what is said in `building` holds
here. The node itself comes from Python, blank, to be filled. A name, anything
but one plain number, and a node that has a row already, which a second
`__init__` brings here, are left to Python.
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
    INSTRUCTION,
    NEW_CODE,
    NODES,
    NONE,
    NUMBER_ROW,
    NUMBERS,
    ROWS,
)
from .objects import HOME_SLOT
from .python import Bytes, Floats, Ints, Longs
from .spares import bind

if TYPE_CHECKING:  # these names are Python's only once they are compiled
    from .building import (
        Py_DecRef,
        PyEval_GetFrame,
        PyFrame_GetCode,
        PyFrame_GetLasti,
        peek,
    )
build_leaf_now: Callable[..., int]  # and this is LLVM's: see `entries`
PyMethod_New: Callable[[int, int], int]
Py_NewRef: Callable[[int], int]
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
        made = build_leaf_now(known[place], number, node, frame)
        if made == NEW_CODE and author_is_noted(known, frame):
            made = build_leaf_now(known[place], number, node, frame)
            if made == NEW_CODE:
                made = ASK
    if made == ASK:
        return ask_python(known, place, node, given, count, names)
    if made != node:
        return 0
    return Py_NewRef(known[NONE])


def ask_python(known: Longs, place: int, node: int, given: Longs, count: int, names: int) -> int:
    method = PyMethod_New(known[place + 2], node)
    if method == 0:
        return 0
    none = PyObject_Vectorcall(method, given, count, names)
    Py_DecRef(method)
    return none


def build_leaf(
    known: Longs, margin: Longs, ints: Ints, kinds: Bytes, values: Floats,
    kind: int, number: int, node: int, frame: int,
) -> int:  # fmt: skip
    """Write the row that `node` is the handle of; or say why not. number: 0 if it has none."""
    if not is_open(known, margin) or peek(node, known[HOME_SLOT]) != 0:
        return ASK
    at, numbers = margin[ROWS], margin[NUMBERS]
    row = margin[FIRST] + at
    code = PyFrame_GetCode(frame)
    Py_DecRef(code)  # the frame holds it
    if code != margin[CODE]:
        return NEW_CODE
    ints[DEGREE + at] = 0
    ints[INSTRUCTION + at] = PyFrame_GetLasti(frame)
    kinds[2 * at] = kind
    kinds[2 * at + 1] = 255  # a kind is negative
    if number != 0:
        ints[NUMBER_ROW + numbers] = row
        values[numbers] = number_of(known, number)
        numbers += 1
    if not bind(known, margin, ints, node, row, margin[NODES]):
        return FAILED
    margin[NUMBERS] = numbers
    margin[ROWS] = at + 1
    return node
