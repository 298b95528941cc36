"""Extract the messages of our error classes from the package's source code, by its syntax trees.

The site's search finds them. ... stands for a name or number that is put in.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

from .. import errors
from ..graph.formatting import Printed

Functions = defaultdict[str, list[ast.FunctionDef]]  # the functions of a file, by name


def error_messages(name: str) -> list[str]:
    """All messages that the package raises with an error class, sorted."""
    kind = getattr(errors, name)
    texts = (
        " ".join(text.split())
        for arguments, functions in _calls_by_error()[name]
        for text in _expand_message(kind, arguments, functions)
    )
    return sorted({text for text in texts if re.search(r"\w+ \w+", text)})


@cache
def _calls_by_error() -> defaultdict[str, list[tuple[list[ast.expr], Functions]]]:
    """By error class name: the arguments of each call that makes one, and the functions of the call's file."""
    calls = defaultdict[str, list[tuple[list[ast.expr], Functions]]](list)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        parts, functions = list(ast.walk(ast.parse(file.read_text("utf-8")))), Functions(list)
        for part in parts:
            if isinstance(part, ast.FunctionDef):
                functions[part.name].append(part)
            elif isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.args:
                calls[part.func.id].append((part.args, functions))
                if part.func.id == "error_at":  # of sequential/parser: where it stands, then code and text
                    calls["SequentialError"].append((part.args[1:3], functions))
    return calls


def _expand_message(kind: type[Exception], arguments: list[ast.expr], functions: Functions) -> Iterator[str]:
    """The possible texts of one call; a class with its own __str__ makes them of its arguments."""
    if "__str__" not in vars(kind):
        return _possible_texts(arguments[0], functions)
    # Later arguments are positions in a text.
    parts = [[Printed(text) for text in _possible_texts(argument, functions)] for argument in arguments[:4]]
    return (str(kind(*combination)) for combination in product(*parts))


def _possible_texts(part: ast.expr, functions: Functions) -> Iterator[str]:
    """The texts of an argument: a literal or f-string, or what a called function of the file can return."""
    made = functions[ast.unparse(part.func)] if isinstance(part, ast.Call) else []
    for node in (inner for function in made for inner in ast.walk(function)):
        if isinstance(node, ast.Return) and node.value:
            yield from _possible_texts(node.value, functions)
    if not made:
        parts = part.values if isinstance(part, ast.JoinedStr) else [part]
        yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else "..." for piece in parts)
