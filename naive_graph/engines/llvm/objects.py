"""What compiled code reads in Python's objects: how often one is held, its class, and the slots of a node.

Python's C interface has functions for most of that, but their calls took longer
than all else that such code does. So these words of an object are read directly.
Where they are is not taken for granted: `places` looks for them in an object
that is changed in a known way. Where one is not found, Python goes on by itself.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

from ...errors import MissingToolError
from .python import Longs

# The first words that compiled code knows. NOW: where it writes or reads at the moment; NODE: the class of nodes; then
# which word of an object says how often it is held, its class, its weak references, and a node's graph and row.
NAMES = ("now", "Node", "held", "class", "weak", "_home", "_row")
NOW, NODE, HELD, CLASS, WEAK, HOME_SLOT, ROW_SLOT = range(len(NAMES))
NO_NODE = -1
FUNCTIONS = {"PyType_IsSubtype": (["i64", "i64"], "i32"), "PyLong_AsLongLong": (["i64"], "i64")}  # of Python's
WORDS = {"peek": ("peek", ["i64", "i64"], "i64"), "poke": ("poke", ["i64", "i64", "i64"], "void")}  # and of LLVM's
TEXT = """define internal i64 @peek(i64 %address, i64 %place) alwaysinline {
  %base = inttoptr i64 %address to ptr
  %at = getelementptr i64, ptr %base, i64 %place
  %found = load i64, ptr %at
  ret i64 %found
}
define internal void @poke(i64 %address, i64 %place, i64 %x) alwaysinline {
  %base = inttoptr i64 %address to ptr
  %at = getelementptr i64, ptr %base, i64 %place
  store i64 %x, ptr %at
  ret void
}
"""
peek: Callable[[int, int], int]  # these names are there only once they are compiled; is_subtype is PyType_IsSubtype
is_subtype: Callable[[int, int], int]
PyLong_AsLongLong: Callable[[int], int]


def row_of(known: Longs, thing: int, home: int, end: int) -> int:
    """The row of a node of this graph, which has rows up to `end`; NO_NODE if the thing is none."""
    if is_subtype(peek(thing, known[CLASS]), known[NODE]) == 0:
        return NO_NODE
    if peek(thing, known[HOME_SLOT]) != home:
        return NO_NODE
    row = peek(thing, known[ROW_SLOT])
    if row == 0:  # it is being made
        return NO_NODE
    found = PyLong_AsLongLong(row)
    return found if found < end else NO_NODE


def places(node: type, home: Any, row: Any) -> dict[str, int]:
    """The places among NAMES for this class of nodes and the descriptors of its slots.

    Raises MissingToolError where Python's objects are not what they were wherever this was tested.
    """
    blank: Any = object.__new__(node)
    return {
        "held": place(blank, lambda: [blank] * 1000, lambda before, after: after - before == 1000),
        "class": place(blank, lambda: node, lambda before, after: before == after == id(node)),
        "weak": place(blank, lambda: weakref.ref(blank), lambda before, after: before == 0 != after),
        "_home": place_of_slot(home),
        "_row": place_of_slot(row),
    }


def place_of_slot(slot: Any) -> int:
    """In which word of an object its slot is, by the slot's descriptor.

    >>> class Two:
    ...     __slots__ = ("first", "second")
    >>> place_of_slot(Two.second) - place_of_slot(Two.first)
    1
    """
    blank, content = object.__new__(slot.__objclass__), object()
    return place(blank, lambda: slot.__set__(blank, content), lambda before, after: (before, after) == (0, id(content)))


def place(thing: Any, change: Callable[[], Any], shows: Callable[[int, int], bool]) -> int:
    """The one word of a thing that shows, before and after, that this was changed."""
    words = (ctypes.c_int64 * (type(thing).__basicsize__ // 8)).from_address(id(thing))
    before = list(words)
    kept = change()
    found = [at for at, pair in enumerate(zip(before, words)) if shows(*pair)]
    del kept
    if len(found) != 1:
        raise MissingToolError(
            f"Compiled code cannot find its way in a {type(thing).__name__} of this Python. "
            'Stay with Python: naive_graph.builder.use("python"), naive_graph.calls.use("python").'
        )
    return found[0]
