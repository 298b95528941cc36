"""What the words mean that Python and the compiled builder share: those of a margin, and what the code knows."""

from __future__ import annotations

from . import objects

# The words of a margin. OWNER: the one thread that may write, 0 when it is closed.
OWNER, HOME, CODE, YOUNG, OPERATORS, DEGREES = range(6)
ROW_COLUMN, EDGE_COLUMN, FIRST, FIRST_EDGE = range(6, 10)  # two columns, and how long they are
# NEXT: which of the margin's nodes is looked at next, whether anybody holds it.
ROWS, EDGES, NUMBERS, NODES, NEXT, END = range(10, 16)
CAPACITY = 1024  # rows of a margin
MOST_NODES = 256  # nodes that it holds until Python has looked which of them are still in use
# Where the columns begin in a margin's integers: a row has at most two edges.
DEGREE, INSTRUCTION, SOURCE, TARGET, NUMBER_ROW, NODE_ROW = (CAPACITY * place for place in (0, 1, 2, 4, 6, 7))
SIZE = NODE_ROW + MOST_NODES
EXACT = 2**53  # up to here every int is a float
ASK, FAILED, NEW_CODE, NO_SPARE = 0, -1, -2, -3  # answers besides a node

# Python's functions, each with its operands' types and its result's.
FUNCTIONS = {
    **objects.FUNCTIONS,
    "PyType_GenericAlloc": (["i64", "i64"], "i64"),
    "PyEval_GetFrame": ([], "i64"),
    "PyFrame_GetCode": (["i64"], "i64"),
    "PyFrame_GetLasti": (["i64"], "i32"),
    "PyLong_FromLongLong": (["i64"], "i64"),
    "PyFloat_AsDouble": (["i64"], "double"),
    "PyObject_Size": (["i64"], "i64"),
    "PyList_GetItem": (["i64", "i64"], "i64"),
    "PyList_SetItem": (["i64", "i64", "i64"], "i32"),
    "PyThread_get_thread_ident": ([], "i64"),
    "PyErr_Occurred": ([], "i64"),
    "PyErr_Clear": ([], "void"),
    "PyTuple_New": (["i64"], "i64"),
    "PyTuple_SetItem": (["i64", "i64", "i64"], "i32"),
    "PyObject_CallObject": (["i64", "i64"], "i64"),
    "PyMethod_New": (["i64", "i64"], "i64"),
    "PyObject_Vectorcall": (["i64", "ptr", "i64", "i64"], "i64"),
    "Py_NewRef": (["i64"], "i64"),
    "Py_IncRef": (["i64"], "void"),
    "Py_DecRef": (["i64"], "void"),
}
# What is known to the code: as `objects` has it, where NOW is the margin; then addresses, but of `tables` the place
# of that slot; then three words for each function that it stands for: the rule's number or the leaf's kind, whether
# it merges or takes a value, and its Python.
KNOWN = (
    *objects.NAMES,
    *FUNCTIONS,
    "Operator",
    "float",
    "int",
    "None",
    "CURRENT",
    "tables",
    "register",
    "written_by",
)
AT = {name: place for place, name in enumerate(KNOWN)}
OPERATOR, FLOAT, INT, NONE, CURRENT, TABLES, REGISTER, WRITTEN_BY = range(AT["Operator"], len(KNOWN))
