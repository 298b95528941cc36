"""The functions that Python's interpreter calls for `calling`, and the machine's own words, as LLVM code."""

from __future__ import annotations

from . import objects
from .calling import BACKWARD, FORWARD, FUNCTIONS, KILL_GRAD, NONE, backward, forward, grad, kill_grad, set_value, value
from .python import Program

_ROOMS = """@known = internal global ptr null
define void @know(ptr %known) {
  store ptr %known, ptr @known
  ret void
}
define internal i64 @peek_short(i64 %column, i64 %row) alwaysinline {
  %base = inttoptr i64 %column to ptr
  %at = getelementptr i16, ptr %base, i64 %row
  %found = load i16, ptr %at
  %wide = sext i16 %found to i64
  ret i64 %wide
}
define internal double @peek_double(i64 %column, i64 %row) alwaysinline {
  %base = inttoptr i64 %column to ptr
  %at = getelementptr double, ptr %base, i64 %row
  %found = load double, ptr %at
  ret double %found
}
define internal void @poke_double(i64 %column, i64 %row, double %x) alwaysinline {
  %base = inttoptr i64 %column to ptr
  %at = getelementptr double, ptr %base, i64 %row
  store double %x, ptr %at
  ret void
}
define internal i64 @sweep(i64 %run, i64 %packed, i64 %now) alwaysinline {
  %function = inttoptr i64 %run to ptr
  %amiss = call i64 %function(i64 %packed, i64 %now)
  ret i64 %amiss
}
define internal i64 @set_item(i64 %fields, i64 %name, i64 %thing) alwaysinline {
  %failed = call i32 @PyDict_SetItem(i64 %fields, i64 %name, i64 %thing)
  %wide = sext i32 %failed to i64
  ret i64 %wide
}
define internal i64 @is_subtype(i64 %class, i64 %other) alwaysinline {
  %is = call i32 @PyType_IsSubtype(i64 %class, i64 %other)
  %wide = sext i32 %is to i64
  ret i64 %wide
}
define internal i64 @call_method(i64 %name, i64 %thing) {
  %room = alloca i64
  store i64 %thing, ptr %room
  %answer = call i64 @PyObject_VectorcallMethod(i64 %name, ptr %room, i64 1, i64 0)
  ret i64 %answer
}
"""
_OWN = {
    **objects.WORDS,
    "peek_short": ("peek_short", ["i64", "i64"], "i64"),
    "peek_double": ("peek_double", ["i64", "i64"], "double"),
    "poke_double": ("poke_double", ["i64", "i64", "double"], "void"),
    "sweep": ("sweep", ["i64", "i64", "i64"], "i64"),
    "is_subtype": ("is_subtype", ["i64", "i64"], "i64"),
    "set_item": ("set_item", ["i64", "i64", "i64"], "i64"),
    "call_method": ("call_method", ["i64", "i64"], "i64"),
}
# A function of Graph's, called with any operands; {place}: where in `known` its Python is.
_FUNCTION = """define i64 @call.{name}(i64 %self, ptr %operands, i64 %count, i64 %names) {{
  %known = load ptr, ptr @known
  %named = icmp ne i64 %names, 0
  %many = icmp ugt i64 %count, 1
  %other = or i1 %named, %many
  br i1 %other, label %ask, label %look
look:
  %alone = icmp eq i64 %count, 0
  br i1 %alone, label %try, label %take
take:
  %first = load i64, ptr %operands
  br label %try
try:
  %node = phi i64 [ 0, %look ], [ %first, %take ]
  %went = call i64 @{name}(ptr %known, i64 %count, i64 %node)
  switch i64 %went, label %ask [ i64 1, label %done i64 -1, label %failed ]
done:
  %none.at = getelementptr i64, ptr %known, i64 {none}
  %none = load i64, ptr %none.at
  call void @Py_IncRef(i64 %none)
  ret i64 %none
failed:
  ret i64 0
ask:
  %python.at = getelementptr i64, ptr %known, i64 {place}
  %python = load i64, ptr %python.at
  %answer = call i64 @PyObject_Vectorcall(i64 %python, ptr %operands, i64 %count, i64 %names)
  ret i64 %answer
}}
"""
# A column of a node. What the descriptor holds: Python's ways to get it, to set it and to delete it, and whether it
# is a leaf's value.
_GET = """define i64 @get.{name}(i64 %self, ptr %python) {{
  %room = alloca i64
  %known = load ptr, ptr @known
  %found = call i64 @{name}(ptr %known, i64 %self)
  %missing = icmp eq i64 %found, 0
  br i1 %missing, label %ask, label %done
done:
  ret i64 %found
ask:
  call void @PyErr_Clear()
  store i64 %self, ptr %room
  %get = load i64, ptr %python
  %answer = call i64 @PyObject_Vectorcall(i64 %get, ptr %room, i64 1, i64 0)
  ret i64 %answer
}}
"""
_SET = """define i32 @set(i64 %self, i64 %number, ptr %python) {
  %room = alloca [2 x i64]
  store i64 %self, ptr %room
  %second = getelementptr i64, ptr %room, i64 1
  store i64 %number, ptr %second
  %deleted = icmp eq i64 %number, 0
  br i1 %deleted, label %ask, label %look
look:
  %leaf.at = getelementptr i64, ptr %python, i64 3
  %leaf = load i64, ptr %leaf.at
  %fixed = icmp eq i64 %leaf, 0
  br i1 %fixed, label %ask, label %try
try:
  %known = load ptr, ptr @known
  %went = call i64 @set_value(ptr %known, i64 %self, i64 %number)
  switch i64 %went, label %ask [ i64 1, label %done i64 -1, label %failed ]
done:
  ret i32 0
failed:
  ret i32 -1
ask:
  %place = select i1 %deleted, i64 2, i64 1
  %count = select i1 %deleted, i64 1, i64 2
  %python.at = getelementptr i64, ptr %python, i64 %place
  %set = load i64, ptr %python.at
  %answer = call i64 @PyObject_Vectorcall(i64 %set, ptr %room, i64 %count, i64 0)
  %raised = icmp eq i64 %answer, 0
  br i1 %raised, label %failed, label %drop
drop:
  call void @Py_DecRef(i64 %answer)
  ret i32 0
}
"""


def text() -> str:
    """The module: `know(known)`, call.forward and its like, get.value, get.grad and set."""
    program = Program({**_OWN, **{name: (name, kinds, result) for name, (kinds, result) in FUNCTIONS.items()}})
    for each in (value, set_value, grad, forward, backward, kill_grad):
        program.add(each, outside=False)
    declared = [f"declare {result} @{name}({', '.join(kinds)})" for name, (kinds, result) in FUNCTIONS.items()]
    functions = [
        _FUNCTION.format(name=name, place=place, none=NONE)
        for name, place in (("forward", FORWARD), ("backward", BACKWARD), ("kill_grad", KILL_GRAD))
    ]
    columns = [_GET.format(name="value"), _GET.format(name="grad"), _SET]
    return "\n".join([_ROOMS, objects.TEXT, *declared, str(program), *functions, *columns])
