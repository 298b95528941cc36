"""Program slicing: the statements that a name depends on, transitively.

A check runs only those statements of a learner's notebook that the answer depends
on. And of the exercises' files only the test cases go to the sandbox where answers
run, never the solutions.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from symtable import symtable
from typing import Any

MAKERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
ROUNDABOUT = {"exec", "globals", "setattr"}  # calls that may bind any name
HOUSE = __name__.partition(".")[0]


def slice_statements(statements: Iterable[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements that these names depend on, in order. `import *` and settings are always included.

    >>> program = ast.parse("import math; a = 2; b = a; c = b; b += math.pi; print(c)")
    >>> [ast.unparse(each) for each in slice_statements(program.body, {"b"})]
    ['import math', 'a = 2', 'b = a', 'b += math.pi']
    """
    parts = [(statement, set(bound(statement)), set(find_used_names(statement))) for statement in statements]
    _add_side_effects(parts)
    wanted, previous = {"*", *names}, -1
    while previous < len(wanted):
        previous = len(wanted)
        wanted.update(*(uses for _, binds, uses in parts if binds & wanted))
    return [statement for statement, binds, _ in parts if binds & wanted]


def _add_side_effects(parts: list[tuple[ast.stmt, set[str], set[str]]]) -> None:
    """Add to `binds` what a statement changes by calling the notebook's functions; "*" if it may change anything."""
    brought = {name: module for each, *_ in parts if isinstance(each, IMPORTS) for name, module in _list_imports(each)}
    ours = {name for name, module in brought.items() if module == HOUSE}
    changed = {each.name: uses & _find_changed_names(each) for each, _, uses in parts if isinstance(each, MAKERS)}
    for _ in changed:  # what functions change that call each other
        for statement, _, uses in parts:
            if isinstance(statement, MAKERS):
                changed[statement.name].update(*(changed[name] for name in uses & changed.keys()))
    for statement, binds, uses in parts:
        if isinstance(statement, IMPORTS):
            continue
        binds -= ours
        for name, call in _find_calls(statement):
            if name in changed:
                binds |= changed[name]
                binds.update(part for argument in getattr(call, "args", []) for part in _root(argument))
        settings = uses & (brought.keys() - ours) and uses <= (brought.keys() - ours) | vars(builtins).keys()
        if settings or uses & ROUNDABOUT:
            binds.add("*")


def _list_imports(part: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, each with the package that it comes from."""
    for alias in part.names:
        name = (alias.asname or alias.name).partition(".")[0]
        yield name, (getattr(part, "module", None) or alias.name).partition(".")[0]


def _find_changed_names(function: ast.stmt) -> set[str]:
    """The names that a function's lines bind or whose objects they change, its own names included."""
    inner = (part for part in ast.walk(function) if isinstance(part, ast.stmt) and part is not function)
    return {name for part in inner for name in bound(part)}


def _find_calls(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The functions that a statement calls by their names, as decorators too."""
    calls: list[Any] = [part for part in _outside_functions(statement) if isinstance(part, ast.Call)]
    for part in [*calls, *getattr(statement, "decorator_list", [])]:
        yield from ((name, part) for name in _root(getattr(part, "func", part)))


def bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or whose object it seems to change: x = 1, x[0] = 1, x.append(1)."""
    if isinstance(statement, MAKERS):
        yield statement.name
        for decorator in statement.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            yield from _root(function) if isinstance(function, ast.Attribute) else ()
        return
    for part in _outside_functions(statement):
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load):
            yield from _root(part)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            if isinstance(part.value.func, ast.Attribute):
                yield from _root(part.value.func)
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif isinstance(part, (*MAKERS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and part.name:
            yield part.name


def find_used_names(statement: ast.stmt) -> Iterator[str]:
    """The notebook's names that a statement reads: in a function, all but the function's own."""
    try:
        waiting = [symtable(ast.unparse(statement), "a statement", "exec")]
    except (SyntaxError, ValueError, RecursionError):  # who needs it will see
        return
    for table in waiting:
        waiting += table.get_children()
        is_module = table.get_type() == "module"
        yield from (symbol.get_name() for symbol in table.get_symbols() if is_module or symbol.is_global())


def _outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    """Walk a statement's nodes in module scope, without descending into functions and lambdas."""
    yield statement
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, (*MAKERS, ast.Lambda)):
            yield from [part] if isinstance(part, MAKERS) else []
        else:
            yield from _outside_functions(part)


def _root(part: ast.expr) -> Iterator[str]:
    """The variable at the root of an expression: x of x.grad[3]."""
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        part = part.value
    if isinstance(part, ast.Name):
        yield part.id


def filter_import(part: ast.stmt, names: set[str]) -> ast.stmt:
    """An import of these names only; another statement as it is."""
    if isinstance(part, ast.ImportFrom):
        return ast.ImportFrom(
            part.module, [name for name in part.names if (name.asname or name.name) in names], part.level
        )
    return part
