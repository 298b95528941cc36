"""The compiled builder's module: what Python calls, and how the code finds Python and the margin of now."""

from __future__ import annotations

from collections.abc import Sequence

from . import building, layout, leaves, objects
from .layout import AT, FUNCTIONS, KNOWN
from .python import Program

UNARY, INFIX, REFLECTED = "i64 %self, i64 0", "i64 %self, i64 %other", "i64 %other, i64 %self"
LEAF = "leaf"


def entry(place: int) -> str:
    """What the compiled function at this place is called."""
    return f"function{place}"


def text(orders: Sequence[str]) -> str:
    """The module: `know(words)`, and a function for each operator and kind of leaf.

    orders: what each does with (self, other), which Python calls it with; or LEAF.
    """
    known = {name: (name, kinds, _wide(result)) for name, (kinds, result) in FUNCTIONS.items()}
    known |= {
        **objects.WORDS,
        "is_subtype": known["PyType_IsSubtype"],
        "nodes_now": ("nodes_now", [], "i64"),
        "build_now": ("build_now", ["i64"] * 5, "i64"),
        "build_leaf_now": ("build_leaf_now", ["i64"] * 4, "i64"),
    }
    program = Program(known)
    for function in (building.build, building.apply, leaves.build_leaf, leaves.fill):
        program.add(function, outside=False)
    asked = [_asked(name, *kinds) for name, kinds in FUNCTIONS.items()]
    entries = [_entry(place, order) for place, order in enumerate(orders)]
    return "\n".join([objects.TEXT, _NOW.format_map(vars(layout)), *asked, str(program), *entries])


def _wide(result: str) -> str:
    return "i64" if result == "i32" else result


def _asked(name: str, kinds: list[str], result: str) -> str:
    """A function of Python's, called at the address that Python itself gave."""
    given = ", ".join(f"{kind} %a{place}" for place, kind in enumerate(kinds))
    lines = [f"define internal {_wide(result)} @{name}({given}) alwaysinline {{"]
    lines += [" %known = load ptr, ptr @known", f" %where = getelementptr ptr, ptr %known, i64 {AT[name]}"]
    lines += [" %function = load ptr, ptr %where"]
    call = f"call {result} %function({given})"
    if result == "void":
        lines += [f" {call}", " ret void"]
    elif result == "i32":
        lines += [f" %short = {call}", " %answer = sext i32 %short to i64", " ret i64 %answer"]
    else:
        lines += [f" %answer = {call}", f" ret {result} %answer"]
    return "\n".join([*lines, "}"])


def _entry(place: int, order: str) -> str:
    words = len(KNOWN) + 3 * place
    if order == LEAF:
        given = "i64 %self, ptr %given, i64 %count, i64 %names"
        call = f"call i64 @fill(ptr %known, i64 {words}, {given})"
    else:
        given = "i64 %self, i64 %other"
        call = f"call i64 @apply(ptr %known, i64 {words}, {given}, {order})"
    return f"""define i64 @{entry(place)}({given}) {{
  %known = load ptr, ptr @known
  %answer = {call}
  ret i64 %answer
}}"""


# The margin and its columns are others whenever Python has run, so they are found anew each time.
_NOW = """@known = internal global ptr null
define void @know(ptr %known) {{
  store ptr %known, ptr @known
  ret void
}}
define internal i64 @word_now(i64 %place) alwaysinline {{
  %known = load ptr, ptr @known
  %margin = load ptr, ptr %known
  %at = getelementptr i64, ptr %margin, i64 %place
  %word = load i64, ptr %at
  ret i64 %word
}}
define internal i64 @nodes_now() alwaysinline {{
  %nodes = call i64 @word_now(i64 {NODES})
  ret i64 %nodes
}}
define internal i64 @build_now(i64 %operator, i64 %left, i64 %right, i64 %node, i64 %frame) alwaysinline {{
  %known = load ptr, ptr @known
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
  ret i64 %made
}}
define internal i64 @build_leaf_now(i64 %kind, i64 %number, i64 %node, i64 %frame) alwaysinline {{
  %known = load ptr, ptr @known
  %margin = load ptr, ptr %known
  %at0 = getelementptr ptr, ptr %margin, i64 {END}
  %at1 = getelementptr ptr, ptr %at0, i64 1
  %at2 = getelementptr ptr, ptr %at0, i64 2
  %ints = load ptr, ptr %at0
  %kinds = load ptr, ptr %at1
  %values = load ptr, ptr %at2
  %made = call i64 @build_leaf(ptr %known, ptr %margin, ptr %ints, ptr %kinds, ptr %values,
    i64 %kind, i64 %number, i64 %node, i64 %frame)
  ret i64 %made
}}"""
