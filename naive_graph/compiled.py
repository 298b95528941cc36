"""The compiled operators and leaves, made from the addresses of Python's own functions."""

from __future__ import annotations

import ctypes
from array import array
from threading import RLock, get_ident
from types import CodeType
from typing import Any

from .engines.llvm import entries, layout, objects
from .engines.llvm.compile import compiled
from .handles import CURRENT, Current
from .margin import Margin, Patience, be_patient
from .nodes import INFIX, METHODS_OF_ONE, Constant, Node, Operator, PlaceHolder, Variable
from .origin import is_ours
from .rules import RULES
from .tables import CONSTANT, PLACEHOLDER, VARIABLE, Tables

_METH_KEYWORDS, _METH_NOARGS, _METH_O, _METH_FASTCALL = 2, 4, 8, 128
_FLAGS = {entries.UNARY: _METH_NOARGS, entries.LEAF: _METH_FASTCALL | _METH_KEYWORDS}
_REFLECTED = {f"__r{name[2:]}": rule for name, rule in INFIX.items()}
# What is compiled: (class, name) -> the rule's number or the leaf's kind; whether the
# rule merges, or the leaf takes a number; and what is done with what Python calls it with.
METHODS: dict[tuple[type, str], tuple[int, bool, str]] = {
    (Node, name): (RULES[rule].number, RULES[rule].associative, order)
    for rules, order in ((INFIX, entries.INFIX), (_REFLECTED, entries.REFLECTED), (METHODS_OF_ONE, entries.UNARY))
    for name, rule in rules.items()
}
METHODS |= {
    (kind, "__init__"): (number, number != PLACEHOLDER, entries.LEAF)
    for number, kind in ((CONSTANT, Constant), (VARIABLE, Variable), (PLACEHOLDER, PlaceHolder))
}
_FOREVER: list[Any] = []  # what compiled code points at


class _Method(ctypes.Structure):
    """PyMethodDef, of Python's stable interface."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class Compiled:
    """The compiled methods, and the one margin that they may write."""

    def __init__(self) -> None:
        library = compiled(entries.text([order for *_, order in METHODS.values()]), optimised=True)
        self.lock = RLock()  # taken after a graph's, never before
        self.held = [Margin(Tables())]  # the last is the one that words[0] points at
        self.words = array("q", self._known())
        self.words[0] = self.held[-1].address
        library.function("know", None, [ctypes.c_void_p])(self.words.buffer_info()[0])
        self.methods = {
            where: self._descriptor(*where, library.address(entries.entry(place)), order)
            for place, (where, (*_, order)) in enumerate(METHODS.items())
        }
        _keep(self, library)

    def _known(self) -> list[int]:
        """What compiled code knows: the addresses of Python's functions and of our objects."""
        things: dict[str, Any] = {
            "Node": Node,
            "Operator": Operator,
            "float": float,
            "int": int,
            "None": None,
            "CURRENT": CURRENT,
            "register": self.register,
            "written_by": self.written_by,
        }
        found: dict[str, Any] = {"now": 0, **objects.places(Node, Node.__dict__["_home"], Node.__dict__["_row"])}
        found["tables"] = objects.place_of_slot(Current.__dict__["tables"])
        found |= {name: id(thing) for name, thing in things.items()}
        for name in layout.FUNCTIONS:
            found[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        _keep(things)
        words = [found[name] for name in layout.KNOWN]
        for (kind, name), (number, flag, _) in METHODS.items():
            python = getattr(kind, name)
            _keep(python)
            words += [number, flag, id(python)]
        return words

    def _descriptor(self, kind: type, name: str, address: int, order: str) -> Any:
        takes = "value, name=None" if METHODS[kind, name][1] else "name=None"
        doc = f"{name}($self, {takes})\n--\n\n".encode()  # where Python looks for a signature
        method = _Method(name.encode(), address, _FLAGS.get(order, _METH_O), doc if order == entries.LEAF else None)
        make = ctypes.pythonapi.PyDescr_NewMethod
        make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
        _keep(method)
        return make(kind, ctypes.addressof(method))

    def begin(self) -> None:
        """Take the first chance to build."""
        be_patient(False)

    def register(self) -> None:
        """Enter the nodes of a margin that has no room for more."""
        margin, home = self.held[-1], self.held[-1].home
        with home.lock:
            if margin.words[layout.OWNER] == get_ident() and margin.home is home:  # nobody else came first
                margin.register(home.__dict__)

    def written_by(self, code: CodeType) -> None:
        """As `Tables.written_by`, for the margin's next row, if the code is the learner's."""
        margin, home = self.held[-1], self.held[-1].home
        with home.lock:
            fields, words = home.__dict__, margin.words
            if words[layout.OWNER] != get_ident() or margin.home is not home:  # somebody else came first
                return
            if not is_ours.get(code.co_filename, True):
                fields["code_now"] = None  # interrupted here, the next node is noted again
                fields["codes"].append((words[layout.FIRST] + words[layout.ROWS], code))
                fields["code_now"] = code
                words[layout.CODE] = id(code)

    def invite(self, home: Tables) -> None:
        """Let compiled code write the next rows of this graph. Called with the graph's lock held."""
        if home.closed:  # while this thread waited for the lock
            return
        if Patience.left:
            Patience.left -= 1
            return
        with self.lock:
            margin = home.margin
            if margin is None:
                last = self.held[-1]
                margin = home.margin = last if last.serve(home) else Margin(home)
            margin.start()
            address = margin.address
            while self.held[-1] is not margin or self.words[0] != address:
                self.held.append(margin)
                self.words[0] = address
                del self.held[:-1]


def _keep(*things: Any) -> None:
    """Keep things to the end of the process: nodes may be built while it ends."""
    for thing in things:
        _FOREVER.append(thing)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
