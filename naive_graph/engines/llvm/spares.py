"""A handle that nobody holds any more becomes the next row's: making one and letting it go costs more than the row.

    y = y + w * x    # two new nodes; two handles die, that of w * x and that of y as it was

The margin holds the nodes that were made lately. One that nothing but the margin
holds, and to which there is no weak reference, is gone for everybody else: nobody
can tell whether the next node is this object or a new one. So it is made the
next row's handle, and its own row has none, as if it had died.
"""

from __future__ import annotations

from collections.abc import Callable

from .layout import HOME, NEXT, NO_SPARE, NODE_ROW, NODES, OPERATOR, YOUNG
from .objects import CLASS, HELD, HOME_SLOT, ROW_SLOT, WEAK
from .python import Ints, Longs

# These names are there only once they are compiled.
peek: Callable[[int, int], int]
poke: Callable[[int, int, int], None]
Py_DecRef: Callable[[int], None]
Py_IncRef: Callable[[int], None]
PyList_GetItem: Callable[[int, int], int]
PyList_SetItem: Callable[[int, int, int], int]
PyLong_FromLongLong: Callable[[int], int]


def spare(known: Longs, margin: Longs) -> int:
    """An operator's handle that can be another row's, which stands at margin[NEXT]; or NO_SPARE.

    One place is looked at, and the next time the one after it, so that a few
    handles that live shortly take turns. At the end it is the first place's turn
    before that of a handle yet to be made, which will be in use. Nothing else may
    happen until the spare one has its row: whoever enters the margin's nodes takes
    all that are held for handles of the rows that they had.
    """
    place = margin[NEXT]
    margin[NEXT] = place + 1 if place + 1 < margin[NODES] else 0
    if place >= margin[NODES]:
        return NO_SPARE
    node = PyList_GetItem(margin[YOUNG], place)
    if peek(node, known[CLASS]) != known[OPERATOR] or peek(node, known[HELD]) != 1:
        return NO_SPARE
    if peek(node, known[WEAK]) != 0 or peek(node, known[HOME_SLOT]) != margin[HOME]:
        return NO_SPARE
    return node


def bind(known: Longs, margin: Longs, ints: Ints, node: int, row: int, place: int) -> int:
    """Make a spare handle, or a blank node, the handle of this row, for the caller to hold; 0: an error.

    place: where it stands among the margin's nodes, or will.
    """
    number = PyLong_FromLongLong(row)
    if number == 0:
        return 0
    before = peek(node, known[ROW_SLOT])
    poke(node, known[ROW_SLOT], number)  # which takes it
    Py_IncRef(node)
    if before != 0:
        Py_DecRef(before)  # a whole number: nothing is run as it dies
    if peek(node, known[HOME_SLOT]) == 0:
        poke(node, known[HOME_SLOT], margin[HOME])
        Py_IncRef(margin[HOME])
        if PyList_SetItem(margin[YOUNG], place, node) != 0:  # which takes the node, and lets go of None
            return 0
        margin[NODES] += 1
    ints[NODE_ROW + place] = row
    return 1
