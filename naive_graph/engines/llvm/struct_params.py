"""Flatten records (NamedTuples) in functions of the Python subset: each field becomes a parameter of its own.

    class Points(NamedTuple):
        xs: Floats
        ys: Floats

    def area(of: Points, at: int) -> float:      def area(of.xs: Floats, of.ys: Floats, at: int) -> float:
        return of.xs[at] * of.ys[at]                 return of.xs[at] * of.ys[at]

A record is a NamedTuple of arrays and numbers, in a file with `from __future__ import
annotations`, which keeps annotations as text. A function of the subset may read its fields,
write into its arrays, and pass on a record or a new one: `area(Points(xs, ys), 0)`.

A tuple of floats becomes an array and its length, so that a function can iterate over `*xs`:

    def largest(*xs: float) -> float:            def largest(xs: Floats, xs.count: int) -> float:
        top = -inf                                   top = -inf
        for x in xs:                                 for xs.x in range(xs.count):
            top = maximum(top, x)                        x = xs[xs.x]
        return top                                       top = maximum(top, x) ...
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

TUPLE, COUNT = "tuple[float, ...]", "count"


@lru_cache(512)
def syntax(function: Callable[..., Any]) -> ast.FunctionDef:
    """The syntax tree of the function, with records flattened. It is cached: callers must not change it."""
    code = function.__code__
    file = "".join(linecache.getlines(code.co_filename, function.__globals__))
    return without_records(_functions(file)[code.co_firstlineno], function.__globals__)


@lru_cache(32)
def _functions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions in a file's source text, by their first line (that of the first decorator)."""
    every = [node for node in ast.walk(ast.parse(file)) if isinstance(node, ast.FunctionDef)]
    return {
        min([definition.lineno, *(above.lineno for above in definition.decorator_list)]): definition
        for definition in every
    }


def words(function: Callable[..., Any]) -> list[str]:
    """The type names of a function's parameters, with records flattened, and last that of its result."""
    parameter_types = {**function.__annotations__}
    result, types = _annotation_text(parameter_types.pop("return", None)), []
    for word in map(_annotation_text, parameter_types.values()):
        record = function.__globals__.get(word)
        types += _words(record) if hasattr(record, "_fields") else [word]
    return [*types, result]


def without_records(tree: ast.FunctionDef, names: Mapping[str, Any]) -> ast.FunctionDef:
    """Rewrite a function's tree without records and tuples. names: the function's globals."""
    if (rest := tree.args.vararg) is not None and rest.annotation and ast.unparse(rest.annotation) == "float":
        tree.args.args.append(ast.arg(rest.arg, _expression(TUPLE)))
        tree.args.vararg = None
    parts = {parameter.arg: _parts(parameter, names) for parameter in tree.args.args}
    tree.args.args = [part for several in parts.values() for part in several]
    spelled: ast.FunctionDef = _Fields(parts, names).visit(tree)
    return spelled


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _record(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    """The record class that a name refers to, or None."""
    return record if isinstance(node, ast.Name) and hasattr(record := names.get(node.id), "_fields") else None


def _parts(parameter: ast.arg, names: Mapping[str, Any]) -> list[ast.arg]:
    """The parameters that a parameter becomes: itself, unless it is a record or a tuple."""
    record = _record(parameter.annotation, names)
    if record is not None:
        words = zip(record._fields, _words(record), strict=True)
        return [ast.arg(_name(parameter.arg, field), ast.Name(word, ast.Load())) for field, word in words]
    if parameter.annotation and ast.unparse(parameter.annotation) == TUPLE:
        return [ast.arg(parameter.arg, _expression("Floats")), ast.arg(_name(parameter.arg, COUNT), _expression("int"))]
    return [parameter]


def _words(record: Any) -> list[str]:
    """The types of a record's fields."""
    return [*map(_annotation_text, record.__annotations__.values())]


def _annotation_text(kind: Any) -> str:
    """The text of a type annotation."""
    return kind if isinstance(kind, str) else str(getattr(kind, "__forward_arg__", getattr(kind, "__name__", kind)))


class _Fields(ast.NodeTransformer):
    """Replaces field accesses by names such as "record.field", which no Python variable can have.

    parts: what each parameter became.
    """

    def __init__(self, parts: Mapping[str, Sequence[ast.arg]], names: Mapping[str, Any]) -> None:
        self.parts, self.names = parts, names

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if not isinstance(node.value, ast.Name) or node.value.id not in self.parts:
            return self.generic_visit(node)
        return ast.copy_location(ast.Name(_name(node.value.id, node.attr), node.ctx), node)

    def visit_For(self, node: ast.For) -> ast.AST:
        if isinstance(node.iter, ast.Name) and node.iter.id in self.parts:  # a tuple
            xs, index = node.iter, ast.Name(_name(node.iter.id, ast.unparse(node.target)), ast.Store())
            element = ast.Subscript(xs, ast.Name(index.id, ast.Load()), ast.Load())
            node.body.insert(0, ast.Assign([node.target], element))
            count = ast.Name(_name(xs.id, COUNT), ast.Load())
            node.target, node.iter = index, ast.Call(_expression("range"), [count], [])
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func) == "len" and (xs := ast.unparse(node.args[0])) in self.parts:  # a tuple
            return ast.Name(_name(xs, COUNT), ast.Load())
        arguments: list[ast.expr] = []
        for argument in node.args:
            if isinstance(argument, ast.Name) and argument.id in self.parts:
                arguments += [ast.Name(part.arg, ast.Load()) for part in self.parts[argument.id]]
            elif isinstance(argument, ast.Call) and _record(argument.func, self.names) is not None:
                arguments += argument.args
            else:
                arguments.append(argument)
        node.args = arguments
        return self.generic_visit(node)


def _name(record: str, field: str) -> str:
    """The name of the parameter that a field becomes."""
    return f"{record}.{field}"
