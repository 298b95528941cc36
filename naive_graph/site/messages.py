"""What errors say, as the source has it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

from .. import errors
from ..graph.printed import Printed

Functions = defaultdict[str, list[ast.FunctionDef]]  # of a file


def messages(name: str) -> list[str]:
    """What an error says: with ... where a name or a number is put in."""
    kind = getattr(errors, name)
    texts = (
        " ".join(text.split())
        for arguments, functions in _calls()[name]
        for text in _expand_message(kind, arguments, functions)
    )
    return sorted({text for text in texts if re.search(r"\w+ \w+", text)})


@cache
def _calls() -> defaultdict[str, list[tuple[list[ast.expr], Functions]]]:
    """By an error's name what each call gives that makes one, and the functions around it.

    A function that makes one says so by what it returns, and takes a code and the text as `says`.
    """
    calls = defaultdict[str, list[tuple[list[ast.expr], Functions]]](list)
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        parts, functions = list(ast.walk(ast.parse(file.read_text("utf-8")))), Functions(list)
        for part in parts:
            if isinstance(part, ast.FunctionDef):
                functions[part.name].append(part)
        for call in parts:
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
                calls[call.func.id].append((call.args, functions))
                for maker in functions[call.func.id]:
                    arguments = dict(zip([argument.arg for argument in maker.args.args], call.args))
                    if isinstance(maker.returns, ast.Name) and "says" in arguments:
                        calls[maker.returns.id].append(
                            ([arguments.get("code", call.func), arguments["says"]], functions)
                        )
    return calls


def _expand_message(kind: type[Exception], arguments: list[ast.expr], functions: Functions) -> Iterator[str]:
    """The error's text; one that puts it together from what it is given does so."""
    if "__str__" not in vars(kind):
        return _texts(arguments[0], functions)
    parts = [
        [Printed(text) for text in _texts(argument, functions)] for argument in arguments[:4]
    ]  # then comes a place in a text
    return (str(kind(*combination)) for combination in product(*parts))


def _texts(part: ast.expr, functions: Functions) -> Iterator[str]:
    """What is written there; what a function of the file returns, if it is asked for it."""
    made = functions[ast.unparse(part.func)] if isinstance(part, ast.Call) else []
    for node in (inner for function in made for inner in ast.walk(function)):
        if isinstance(node, ast.Return) and node.value:
            yield from _texts(node.value, functions)
    if not made:
        parts = part.values if isinstance(part, ast.JoinedStr) else [part]
        yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else "..." for piece in parts)
