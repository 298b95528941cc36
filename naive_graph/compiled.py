"""The compiled operators of nodes, made from the addresses of Python's own functions."""

from __future__ import annotations

import ctypes
from array import array
from types import CodeType
from typing import Any

from .engines.llvm import building
from .engines.llvm.compile import compiled
from .handles import CURRENT, Current
from .margin import Margin, Patience, be_patient
from .nodes import INFIX, METHODS_OF_ONE, Node, Operator
from .origin import is_ours
from .rules import RULES, Rule
from .tables import Tables

_GET, _SET = 54, 55  # Py_tp_descr_get and Py_tp_descr_set, numbers that Python's stable interface fixes
_METH_NOARGS, _METH_O = 4, 8
# The methods of nodes that are compiled: their rule, and what it does with (self, other).
METHODS: dict[str, tuple[Rule, str]] = {
    **{name: (RULES[rule], building.INFIX) for name, rule in INFIX.items()},
    **{f"__r{name[2:]}": (RULES[rule], building.REFLECTED) for name, rule in INFIX.items()},
    **{name: (RULES[rule], building.UNARY) for name, rule in METHODS_OF_ONE.items()},
}
_FOREVER: list[Any] = []  # what compiled code points at


class _Method(ctypes.Structure):
    """PyMethodDef, of Python's stable interface."""

    _fields_ = [
        ("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class Compiled:
    """The compiled operators, and the one margin that they may write."""

    def __init__(self) -> None:
        library = compiled(building.text([order for _, order in METHODS.values()]), optimised=True)
        self.held = [Margin(Tables())]  # the last is the one that words[0] points at
        self.words = array("q", self._known())
        self.words[0] = self.held[-1].address
        library.function("know", None, [ctypes.c_void_p])(self.words.buffer_info()[0])
        self.operators = {
            name: self._descriptor(name, library.address(building.entry(place)), order)
            for place, (name, (_, order)) in enumerate(METHODS.items())
        }
        _keep(self, library)

    def _known(self) -> list[int]:
        """What compiled code knows: the addresses of Python's functions and of our objects."""
        slots = {name: Node.__dict__[name] for name in ("_home", "_row")}
        get_slot = ctypes.pythonapi.PyType_GetSlot
        get_slot.restype, get_slot.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_int]
        kind = type(slots["_row"])
        objects = {
            "Operator": Operator,
            "float": float,
            "int": int,
            "CURRENT": CURRENT,
            "tables": Current.__dict__["tables"],
            **slots,
        }
        objects |= {"register": self.register, "written_by": self.written_by}
        found = {"margin": 0, "read_slot": get_slot(kind, _GET), "write_slot": get_slot(kind, _SET)}
        found |= {name: id(thing) for name, thing in objects.items()}
        for name in building.FUNCTIONS:
            if name not in found:
                found[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        _keep(objects)
        words = [found[name] for name in building.KNOWN]
        for name, (rule, _) in METHODS.items():
            python = getattr(Node, name)
            _keep(python)
            words += [rule.number, rule.associative, id(python)]
        return words

    def _descriptor(self, name: str, address: int, order: str) -> Any:
        method = _Method(name.encode(), address, _METH_NOARGS if order == building.UNARY else _METH_O, None)
        make = ctypes.pythonapi.PyDescr_NewMethod
        make.restype, make.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]
        _keep(method)
        return make(Node, ctypes.addressof(method))

    def begin(self) -> None:
        """Take the first chance to build."""
        be_patient(False)

    def register(self) -> None:
        """Enter the nodes of a margin that has no room for more."""
        margin = self.held[-1]
        with margin.home.lock:
            margin.register(margin.home.__dict__)

    def written_by(self, code: CodeType) -> None:
        """As `Tables.written_by`, for the margin's next row, if the code is the learner's."""
        margin = self.held[-1]
        with margin.home.lock:
            fields, words = margin.home.__dict__, margin.words
            if words[building.OWNER] and not is_ours.get(code.co_filename, True):
                fields["code_now"] = None  # interrupted here, the next node is noted again
                fields["codes"].append((words[building.FIRST] + words[building.ROWS], code))
                fields["code_now"] = code
                words[building.CODE] = id(code)

    def invite(self, home: Tables) -> None:
        """Let compiled code write the next rows of this graph. Called with the graph's lock held."""
        if Patience.left:
            Patience.left -= 1
            return
        margin = home.margin
        if margin is None:
            margin = home.margin = Margin(home)
        margin.start()
        if self.held[-1] is not margin:
            self.held.append(margin)
            self.words[0] = margin.address
            del self.held[:-1]


def _keep(*things: Any) -> None:
    """Keep things to the end of the process: nodes may be built while it ends."""
    for thing in things:
        _FOREVER.append(thing)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
