"""Records: what has fields in Python is a parameter for each of them in machine code.

    class Points(NamedTuple):
        xs: Floats
        ys: Floats

    def area(of: Points, at: int) -> float:      def area(of.xs: Floats, of.ys: Floats, at: int) -> float:
        return of.xs[at] * of.ys[at]                 return of.xs[at] * of.ys[at]

A record is a NamedTuple of arrays and numbers, in a file with `annotations` from
the future, which keeps their words. A function of the subset may read
its fields, write into its arrays, and hand it on as it is or made anew:
`area(Points(xs, ys), 0)`.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .typed import NotInSubset


def syntax(function: Callable[..., Any]) -> ast.FunctionDef:
    """The function's source as a tree, without records."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return spelled_out(tree, function.__globals__)


def flattened(arguments: Sequence[Any]) -> Iterator[Any]:
    """The arguments of a call, with a record's fields in its stead."""
    for each in arguments:
        yield from each if isinstance(each, tuple) else (each,)


def spelled_out(tree: ast.FunctionDef, names: Mapping[str, Any]) -> ast.FunctionDef:
    """The function without records. names: what names stand for."""
    records = {each.arg: record for each in tree.args.args if (record := _record(each.annotation, names)) is not None}
    tree.args.args = [part for each in tree.args.args for part in _parts(each, records.get(each.arg))]
    spelled: ast.FunctionDef = _Fields(tree.name, records, names).visit(tree)
    return spelled


def _record(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    """The record that a name stands for, if it does."""
    found = names.get(node.id) if isinstance(node, ast.Name) else None
    return found if isinstance(found, type) and hasattr(found, "_fields") else None


def _parts(parameter: ast.arg, record: Any) -> list[ast.arg]:
    if record is None:
        return [parameter]
    words = [getattr(kind, "__forward_arg__", None) or kind.__name__ for kind in record.__annotations__.values()]
    return [
        ast.arg(_one(parameter.arg, field), ast.Name(word, ast.Load()))
        for field, word in zip(record._fields, words, strict=True)
    ]


class _Fields(ast.NodeTransformer):
    """Names of fields, which no name of Python's can be, for the fields."""

    def __init__(self, function: str, records: Mapping[str, Any], names: Mapping[str, Any]) -> None:
        self.function, self.records, self.names = function, records, names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not isinstance(node.value, ast.Name) or node.value.id not in self.records:
            return self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or node.attr not in self.records[node.value.id]._fields:
            raise NotInSubset(
                f"{self.function}: `{ast.unparse(node)}` cannot be compiled. Of a record its fields can be read."
            )
        return ast.copy_location(ast.Name(_one(node.value.id, node.attr), node.ctx), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        given: list[ast.expr] = []
        for each in node.args:
            if isinstance(each, ast.Name) and each.id in self.records:
                given += [ast.Name(_one(each.id, field), ast.Load()) for field in self.records[each.id]._fields]
            elif isinstance(each, ast.Call) and _record(each.func, self.names) is not None:
                given += each.args
            else:
                given.append(each)
        node.args = given
        return self.generic_visit(node)


def _one(record: str, field: str) -> str:
    return f"{record}.{field}"
