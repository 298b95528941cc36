"""The part of a program that a name needs: what binds the name, what that uses, and so on.

A learner's notebook draws, plays and prints; of all this a check runs only what
the answer is made of. And of the exercises' own files, only what asks goes to
where answers run, never what solves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from symtable import symtable

MAKERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def needed(statements: Iterable[ast.stmt], names: set[str]) -> list[ast.stmt]:
    """The statements, in their order, that these names need. `import *` always stays: nobody knows what it binds.

    >>> program = ast.parse("import math; a = 2; b = a; c = b; b += math.pi; print(c)")
    >>> [ast.unparse(each) for each in needed(program.body, {"b"})]
    ['import math', 'a = 2', 'b = a', 'b += math.pi']
    """
    parts = [(each, set(bound(each)), set(used(each))) for each in statements]
    wanted, kept = {"*", *names}, -1
    while kept < len(wanted):
        kept = len(wanted)
        wanted.update(*(uses for _, binds, uses in parts if binds & wanted))
    return [each for each, binds, _ in parts if binds & wanted]


def bound(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds, or whose object it seems to change: x = 1, x[0] = 1, x.append(1)."""
    if isinstance(statement, MAKERS):
        yield statement.name
        return
    for part in _outside_functions(statement):
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(part.ctx, ast.Load):
            yield from _root(part)
        elif isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
            if isinstance(part.value.func, ast.Attribute):
                yield from _root(part.value.func)
        elif isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif isinstance(part, (*MAKERS, ast.ExceptHandler)) and part.name:
            yield part.name


def used(statement: ast.stmt) -> Iterator[str]:
    """The notebook's names that a statement reads: in a function, all but the function's own."""
    try:
        waiting = [symtable(ast.unparse(statement), "a statement", "exec")]
    except (SyntaxError, ValueError, RecursionError):  # who needs it will see
        return
    for table in waiting:
        waiting += table.get_children()
        whole = table.get_type() == "module"
        yield from (each.get_name() for each in table.get_symbols() if whole or each.is_global())


def _outside_functions(statement: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement whose names are the notebook's, not a function's own."""
    yield statement
    for part in ast.iter_child_nodes(statement):
        if isinstance(part, (*MAKERS, ast.Lambda)):
            yield from [part] if isinstance(part, MAKERS) else []
        else:
            yield from _outside_functions(part)


def _root(part: ast.expr) -> Iterator[str]:
    """x, of x.grad[3]."""
    while isinstance(part, (ast.Attribute, ast.Subscript)):
        part = part.value
    if isinstance(part, ast.Name):
        yield part.id


def imported(part: ast.stmt, names: set[str]) -> ast.stmt:
    """An import of these names only; another statement as it is."""
    if isinstance(part, ast.ImportFrom):
        return ast.ImportFrom(
            part.module, [each for each in part.names if (each.asname or each.name) in names], part.level
        )
    return part
