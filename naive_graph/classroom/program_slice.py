"""Program slicing: the statements that a name depends on, transitively.

A check runs only those statements of a learner's notebook that the answer depends on. What a statement binds and uses
is read from its syntax tree, so a slice may hold too many statements, such as those that change an object by a call.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from symtable import symtable
from typing import Any

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
DYNAMIC_BINDERS = {"exec", "globals", "setattr"}  # calls that may bind any name
THIS_PACKAGE = __name__.partition(".")[0]


def slice_statements(statements: Iterable[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements that these names depend on, in order. `import *` is always included, and so are settings of other
    packages: statements that use nothing but these packages, such as np.random.seed(0).

    >>> program = ast.parse("import math; a = 2; b = a; c = b; b += math.pi; print(c)")
    >>> [ast.unparse(each) for each in slice_statements(program.body, {"b"})]
    ['import math', 'a = 2', 'b = a', 'b += math.pi']
    """
    parts = [(statement, set(bound_names(statement)), set(find_used_names(statement))) for statement in statements]
    _add_side_effects(parts)
    needed_names, previous_count = {"*", *names}, -1
    while previous_count < len(needed_names):
        previous_count = len(needed_names)
        needed_names.update(*(uses for _, binds, uses in parts if binds & needed_names))
    return [statement for statement, binds, _ in parts if binds & needed_names]


def _add_side_effects(parts: list[tuple[ast.stmt, set[str], set[str]]]) -> None:
    """Add to the names that a statement binds those that it changes by calling the notebook's functions.

    parts: each statement with the names that it binds and uses; "*" is added to those bound if it may change anything.
    """
    package_of_import: dict[str, str] = {}
    for statement, *_ in parts:
        if isinstance(statement, IMPORTS):
            package_of_import.update(_list_imports(statement))
    library_names = {name for name, module in package_of_import.items() if module == THIS_PACKAGE}
    changed_names: dict[str, set[str]] = {}  # by function
    for statement, _, uses in parts:
        if isinstance(statement, DEFINITIONS):
            changed_names[statement.name] = uses & _find_changed_names(statement)
    for _ in changed_names:  # as often as there are functions, which may call each other in a chain
        for statement, _, uses in parts:
            if isinstance(statement, DEFINITIONS):
                changed_names[statement.name].update(*(changed_names[name] for name in uses & changed_names.keys()))
    for statement, binds, uses in parts:
        if isinstance(statement, IMPORTS):
            continue
        binds -= library_names
        for name, call in _find_calls(statement):
            if name in changed_names:
                binds |= changed_names[name]
                binds.update(part for argument in getattr(call, "args", []) for part in _root_name(argument))
        others = package_of_import.keys() - library_names
        if (uses & others and uses <= others | vars(builtins).keys()) or uses & DYNAMIC_BINDERS:
            binds.add("*")


def _list_imports(part: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """The names that an import binds, each with the package that it comes from."""
    for alias in part.names:
        name = (alias.asname or alias.name).partition(".")[0]
        yield name, (getattr(part, "module", None) or alias.name).partition(".")[0]


def _find_changed_names(function: ast.stmt) -> set[str]:
    """The names that a function's statements bind, its local ones too, or whose objects they change."""
    inner = (part for part in ast.walk(function) if isinstance(part, ast.stmt) and part is not function)
    return {name for part in inner for name in bound_names(part)}


def _find_calls(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield (name, call) of the functions that a statement calls by name, also as decorators."""
    calls: list[Any] = [part for part in _walk_module_scope(statement) if isinstance(part, ast.Call)]
    for part in [*calls, *getattr(statement, "decorator_list", [])]:
        yield from ((name, part) for name in _root_name(getattr(part, "func", part)))


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or whose object it seems to change: x = 1, x[0] = 1, x.append(1)."""
    if isinstance(statement, DEFINITIONS):
        yield statement.name
        for decorator in statement.decorator_list:
            function = decorator.func if isinstance(decorator, ast.Call) else decorator
            yield from _root_name(function) if isinstance(function, ast.Attribute) else ()
        return
    for part in _walk_module_scope(statement):
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load):
            yield from _root_name(part)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            if isinstance(part.value.func, ast.Attribute):
                yield from _root_name(part.value.func)
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif isinstance(part, (*DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and part.name:
            yield part.name


def find_used_names(statement: ast.stmt) -> Iterator[str]:
    """The notebook's names that a statement reads: in a function, all but the function's own."""
    try:
        pending_tables = [symtable(ast.unparse(statement), "a statement", "exec")]
    except (SyntaxError, ValueError, RecursionError):  # reported when the statement runs, if it is needed
        return
    for table in pending_tables:
        pending_tables += table.get_children()
        is_module = table.get_type() == "module"
        yield from (symbol.get_name() for symbol in table.get_symbols() if is_module or symbol.is_global())


def _walk_module_scope(statement: ast.AST) -> Iterator[ast.AST]:
    """Walk a statement's nodes in module scope, without descending into functions and lambdas."""
    yield statement
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, (*DEFINITIONS, ast.Lambda)):
            yield from [part] if isinstance(part, DEFINITIONS) else []
        else:
            yield from _walk_module_scope(part)


def _root_name(part: ast.expr) -> Iterator[str]:
    """The variable at the root of an expression: x of x.grad[3]."""
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        part = part.value
    if isinstance(part, ast.Name):
        yield part.id
