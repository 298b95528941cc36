"""`x + y` in compiled code: one more row in the margin, and its handle.

This is `handles.grow_short`, step for step, in the subset of Python that
compiles; an address is an int. Whatever is not the common case (another graph
or thread, a margin that is full, an operand that is neither a node nor a
number) is left to Python, which is asked with the same operands.

Only documented functions of Python's C interface are called, and no object of
Python's is looked into: a node's slots are read by their own descriptors. What
may start the garbage collector, and with it anything, comes first. Between the
first look at the margin and the last write to it Python runs no other code, so
a row is there whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...tables import MOST_MERGED
from .python import Bytes, Floats, Ints, Longs, Program

# What the words of a margin mean. OWNER: the one thread that may write, 0 when it is closed.
OWNER, HOME, CODE, YOUNG, OPERATORS, DEGREES = range(6)
ROW_COLUMN, EDGE_COLUMN, FIRST, FIRST_EDGE = range(6, 10)  # two columns, and how long they are
ROWS, EDGES, CONSTANTS, NODES, END = range(10, 15)
CAPACITY = 1024  # rows of a margin
MOST_NODES = 256  # nodes that it holds until Python has looked which of them are still in use
# Where the columns begin in a margin's integers: a row has at most two edges.
DEGREE, INSTRUCTION, SOURCE, TARGET, CONSTANT_ROW, SIZE = (CAPACITY * place for place in (0, 1, 2, 4, 6, 7))
EXACT = 2**53  # up to here every int is a float
ASK, FAILED, NEW_CODE = 0, -1, -2  # answers besides a node
NO_NODE = -1

# Python's functions, each with its operands' types and its result's.
FUNCTIONS = {
    "PyType_GenericAlloc": (["i64", "i64"], "i64"),
    "PyEval_GetFrame": ([], "i64"),
    "PyFrame_GetCode": (["i64"], "i64"),
    "PyFrame_GetLasti": (["i64"], "i32"),
    "PyObject_Type": (["i64"], "i64"),
    "PyLong_FromLongLong": (["i64"], "i64"),
    "PyLong_AsLongLong": (["i64"], "i64"),
    "PyFloat_AsDouble": (["i64"], "double"),
    "PyObject_Size": (["i64"], "i64"),
    "PyList_SetItem": (["i64", "i64", "i64"], "i32"),
    "PyThread_get_thread_ident": ([], "i64"),
    "PyErr_Occurred": ([], "i64"),
    "PyErr_Clear": ([], "void"),
    "PyTuple_New": (["i64"], "i64"),
    "PyTuple_SetItem": (["i64", "i64", "i64"], "i32"),
    "PyObject_CallObject": (["i64", "i64"], "i64"),
    "Py_IncRef": (["i64"], "void"),
    "Py_DecRef": (["i64"], "void"),
    "read_slot": (["i64", "i64", "i64"], "i64"),  # how the descriptor of a slot is asked for it, and given it
    "write_slot": (["i64", "i64", "i64"], "i32"),
}
# What else is known to the code, as addresses; then follow (number, whether it merges, its Python) of each operator.
KNOWN = (
    "margin",
    *FUNCTIONS,
    "Operator",
    "float",
    "int",
    "CURRENT",
    "tables",
    "register",
    "written_by",
    "_home",
    "_row",
)
_AT = {name: place for place, name in enumerate(KNOWN)}
OPERATOR, FLOAT, INT, CURRENT, TABLES, HOME_SLOT, ROW_SLOT = (
    _AT[name] for name in ("Operator", "float", "int", "CURRENT", "tables", "_home", "_row")
)
OPERATORS_FROM = len(KNOWN)

# These names are Python's only once they are compiled.
PyErr_Occurred: Callable[..., int]
PyFrame_GetCode: Callable[..., int]
PyFrame_GetLasti: Callable[..., int]
PyList_SetItem: Callable[..., int]
PyLong_AsLongLong: Callable[..., int]
PyLong_FromLongLong: Callable[..., int]
PyObject_Size: Callable[..., int]
PyObject_Type: Callable[..., int]
PyThread_get_thread_ident: Callable[..., int]
read_slot: Callable[..., int]
write_slot: Callable[..., int]
PyFloat_AsDouble: Callable[[int], float]
PyErr_Clear: Callable[[], None]
Py_DecRef: Callable[[int], None]
Py_IncRef: Callable[[int], None]


def is_open(known: Longs, margin: Longs) -> int:
    """Whether this thread may write two more rows, and the graph is the current one."""
    current = read_slot(known[TABLES], known[CURRENT], 0)
    if current == 0:
        PyErr_Clear()
        return 0
    Py_DecRef(current)  # CURRENT holds it
    if margin[OWNER] != PyThread_get_thread_ident() or margin[HOME] != current:
        return 0
    if PyObject_Size(margin[ROW_COLUMN]) != margin[FIRST] or PyObject_Size(margin[EDGE_COLUMN]) != margin[FIRST_EDGE]:
        return 0
    return 1 if margin[ROWS] < CAPACITY - 1 and margin[NODES] < MOST_NODES else 0


def row_of(known: Longs, margin: Longs, node: int) -> int:
    """The node's row; NO_NODE if it is no node of this graph."""
    home = read_slot(known[HOME_SLOT], node, 0)
    if home == 0:  # the descriptor says that this is no node
        PyErr_Clear()
        return NO_NODE
    Py_DecRef(home)
    if home != margin[HOME]:
        return NO_NODE
    slot = read_slot(known[ROW_SLOT], node, 0)
    if slot == 0:
        PyErr_Clear()
        return NO_NODE
    row = PyLong_AsLongLong(slot)
    Py_DecRef(slot)
    return row if row < margin[FIRST] + margin[ROWS] else NO_NODE


def is_number(known: Longs, thing: int) -> int:
    """Whether it is a float or a small int, and no bool or other relative."""
    kind = PyObject_Type(thing)
    Py_DecRef(kind)
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
    kind = PyObject_Type(thing)
    Py_DecRef(kind)
    if kind == known[FLOAT]:
        return PyFloat_AsDouble(thing)
    return 1.0 * PyLong_AsLongLong(thing)


def build(
    known: Longs, margin: Longs, ints: Ints, kinds: Bytes, values: Floats, known_kinds: Bytes, known_degrees: Ints,
    operator: int, left: int, right: int, node: int, frame: int,
) -> int:  # fmt: skip
    """Make `node`, which is blank, the handle of a new row that applies the operator; or say why not.

    operator: where it stands in `known`. left, right, node, frame: Python's
    objects; right is 0 where there is one operand.
    """
    if not is_open(known, margin):
        return ASK
    at, constants = margin[ROWS], margin[CONSTANTS]
    row = margin[FIRST] + at
    number = 0
    if is_number(known, left):
        number = left
        source = row
    else:
        source = row_of(known, margin, left)
    other = 0
    if right != 0:
        if is_number(known, right):
            number = right
            other = row
        else:
            other = row_of(known, margin, right)
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
        ints[CONSTANT_ROW + constants] = row
        values[constants] = number_of(known, number)
        constants += 1
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

    place = PyLong_FromLongLong(row)
    if place == 0:
        return FAILED
    failed = write_slot(known[HOME_SLOT], node, margin[HOME])
    failed += write_slot(known[ROW_SLOT], node, place)
    Py_DecRef(place)
    Py_IncRef(node)
    failed += PyList_SetItem(margin[YOUNG], margin[NODES], node)  # which takes the node, and lets go of None
    if failed != 0:
        return FAILED
    margin[NODES] += 1
    margin[CONSTANTS] = constants
    margin[EDGES] = edge
    margin[ROWS] = at + 1
    return node


def entry(place: int) -> str:
    """What the compiled function of the operator at this place is called."""
    return f"operator{place}"


def text(orders: Sequence[str]) -> str:
    """The module: `know(words)`, and a function for each operator.

    orders: what each does with (self, other), which Python calls it with.
    """
    program = Program({name: (name, kinds, _wide(result)) for name, (kinds, result) in FUNCTIONS.items()})
    program.add(build, outside=False)
    asked = [_asked(name, *kinds) for name, kinds in FUNCTIONS.items()]
    entries = [_entry(place, order) for place, order in enumerate(orders)]
    return "\n".join([_FRAME.format_map(globals() | _AT), *asked, str(program), *entries])


def _wide(result: str) -> str:
    return "i64" if result == "i32" else result


def _asked(name: str, kinds: list[str], result: str) -> str:
    """A function of Python's, called at the address that Python itself gave."""
    given = ", ".join(f"{kind} %a{place}" for place, kind in enumerate(kinds))
    lines = [f"define internal {_wide(result)} @{name}({given}) alwaysinline {{"]
    lines += [" %known = load ptr, ptr @known", f" %where = getelementptr ptr, ptr %known, i64 {_AT[name]}"]
    lines += [" %function = load ptr, ptr %where"]
    call = f"call {result} %function({given})"
    if result == "void":
        lines += [f" {call}", " ret void"]
    elif result == "i32":
        lines += [f" %short = {call}", " %answer = sext i32 %short to i64", " ret i64 %answer"]
    else:
        lines += [f" %answer = {call}", f" ret {result} %answer"]
    return "\n".join([*lines, "}"])


UNARY, INFIX, REFLECTED = "i64 %self, i64 0", "i64 %self, i64 %other", "i64 %other, i64 %self"


def _entry(place: int, order: str) -> str:
    return f"""define i64 @{entry(place)}(i64 %self, i64 %other) {{
  %answer = call i64 @apply(i64 {OPERATORS_FROM + 3 * place}, i64 %self, i64 %other, {order})
  ret i64 %answer
}}"""


# What allocates, then what must not be interrupted, then what is left to Python.
_FRAME = """@known = internal global ptr null
define void @know(ptr %known) {{
  store ptr %known, ptr @known
  ret void
}}
define internal i64 @apply(i64 %operator, i64 %self, i64 %other, i64 %left, i64 %right) {{
  %known = load ptr, ptr @known
  %class.at = getelementptr i64, ptr %known, i64 {Operator}
  %class = load i64, ptr %class.at
  %node = call i64 @PyType_GenericAlloc(i64 %class, i64 0)
  %no.node = icmp eq i64 %node, 0
  br i1 %no.node, label %failed, label %count
count:
  %margin.now = load ptr, ptr %known
  %nodes.at = getelementptr i64, ptr %margin.now, i64 {NODES}
  %nodes = load i64, ptr %nodes.at
  %full = icmp sge i64 %nodes, {MOST_NODES}
  br i1 %full, label %register, label %find
register:
  %register.at = getelementptr i64, ptr %known, i64 {register}
  %registers = load i64, ptr %register.at
  %none = call i64 @PyObject_CallObject(i64 %registers, i64 0)
  %no.none = icmp eq i64 %none, 0
  br i1 %no.none, label %drop, label %registered
registered:
  call void @Py_DecRef(i64 %none)
  br label %find
find:
  %frame = call i64 @PyEval_GetFrame()
  %no.frame = icmp eq i64 %frame, 0
  br i1 %no.frame, label %clean, label %fill
fill:
  %again = phi i1 [ false, %find ], [ true, %wrote ]
  %margin = load ptr, ptr %known
  %at0 = getelementptr ptr, ptr %margin, i64 {END}
  %at1 = getelementptr ptr, ptr %at0, i64 1
  %at2 = getelementptr ptr, ptr %at0, i64 2
  %at3 = getelementptr ptr, ptr %margin, i64 {OPERATORS}
  %at4 = getelementptr ptr, ptr %margin, i64 {DEGREES}
  %ints = load ptr, ptr %at0
  %kinds = load ptr, ptr %at1
  %values = load ptr, ptr %at2
  %known.kinds = load ptr, ptr %at3
  %known.degrees = load ptr, ptr %at4
  %made = call i64 @build(ptr %known, ptr %margin, ptr %ints, ptr %kinds, ptr %values, ptr %known.kinds,
    ptr %known.degrees, i64 %operator, i64 %left, i64 %right, i64 %node, i64 %frame)
  %done = icmp eq i64 %made, %node
  br i1 %done, label %give, label %undone
undone:
  %new.code = icmp eq i64 %made, {NEW_CODE}
  %first.time = xor i1 %again, true
  %write = and i1 %new.code, %first.time
  br i1 %write, label %author, label %clean
author:
  %author.at = getelementptr i64, ptr %known, i64 {written_by}
  %author.python = load i64, ptr %author.at
  %code = call i64 @PyFrame_GetCode(i64 %frame)
  %given = call i64 @PyTuple_New(i64 1)
  %no.tuple = icmp eq i64 %given, 0
  br i1 %no.tuple, label %lost, label %tell
lost:
  call void @Py_DecRef(i64 %code)
  br label %drop
tell:
  %put = call i64 @PyTuple_SetItem(i64 %given, i64 0, i64 %code)
  %told = call i64 @PyObject_CallObject(i64 %author.python, i64 %given)
  call void @Py_DecRef(i64 %given)
  %untold = icmp eq i64 %told, 0
  br i1 %untold, label %drop, label %wrote
wrote:
  call void @Py_DecRef(i64 %told)
  br label %fill
give:
  ret i64 %node
clean:
  %why = phi i64 [ 0, %find ], [ %made, %undone ]
  call void @Py_DecRef(i64 %node)
  %broken = icmp eq i64 %why, {FAILED}
  br i1 %broken, label %failed, label %ask
drop:
  call void @Py_DecRef(i64 %node)
  ret i64 0
failed:
  ret i64 0
ask:
  %python.at = getelementptr i64, ptr %known, i64 %operator
  %python.place = getelementptr i64, ptr %python.at, i64 2
  %python = load i64, ptr %python.place
  %alone = icmp eq i64 %other, 0
  %count.of = select i1 %alone, i64 1, i64 2
  %operands = call i64 @PyTuple_New(i64 %count.of)
  %no.operands = icmp eq i64 %operands, 0
  br i1 %no.operands, label %failed, label %first
first:
  call void @Py_IncRef(i64 %self)
  %first.put = call i64 @PyTuple_SetItem(i64 %operands, i64 0, i64 %self)
  br i1 %alone, label %call, label %second
second:
  call void @Py_IncRef(i64 %other)
  %second.put = call i64 @PyTuple_SetItem(i64 %operands, i64 1, i64 %other)
  br label %call
call:
  %answer = call i64 @PyObject_CallObject(i64 %python, i64 %operands)
  call void @Py_DecRef(i64 %operands)
  ret i64 %answer
}}"""
