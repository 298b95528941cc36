"""Every program that differs from a given one in one operator, constant, comparison, branch or line."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

OTHERS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult, ast.FloorDiv),
    ast.Pow: (ast.Mult,), ast.Eq: (ast.NotEq, ast.LtE, ast.GtE), ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE, ast.NotEq),
    ast.Gt: (ast.GtE, ast.LtE), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip


def changes(node: Any) -> Iterator[Callable[[Any], Any]]:
    """The ways to change one node in place, as functions."""
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)):
        yield from (partial(_put, "op", other()) for other in OTHERS.get(type(node.op), ()))
    if isinstance(node, ast.Compare):
        yield from (partial(_put, "ops", [other(), *node.ops[1:]]) for other in OTHERS.get(type(node.ops[0]), ()))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        values = {node.value + 1, node.value * 2, -node.value, 0} - {node.value}
        yield from (partial(_put, "value", value) for value in values)
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        tests = ast.Constant(True), ast.Constant(False), ast.UnaryOp(ast.Not(), node.test)
        yield from (partial(_put, "test", test) for test in tests)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield partial(_put, "op", ast.UAdd())
    if not isinstance(node, ast.Module):
        yield from (partial(_leave_out, name, place) for name in ("body", "orelse") for place in _lines(node, name))


def _put(name: str, value: Any, node: Any) -> None:
    setattr(node, name, value)


def _leave_out(name: str, place: int, node: Any) -> None:
    getattr(node, name)[place] = ast.Pass()


def _lines(node: Any, name: str) -> Iterator[int]:
    """The places of the lines below a node, but of no docstring."""
    lines = getattr(node, name, None)
    for place, line in enumerate(lines if isinstance(lines, list) else []):
        if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)):
            yield place


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """(the line that was changed, the changed program) for every change."""
    tree = ast.parse(text)
    lines = [line.strip() for line in ast.unparse(tree).splitlines()]
    for place, node in enumerate(ast.walk(tree)):
        for change in changes(node):
            mutant = copy.deepcopy(tree)
            change(list(ast.walk(mutant))[place])
            changed = ast.unparse(ast.fix_missing_locations(mutant))
            new = (line.strip() for line in changed.splitlines() if line.strip() not in lines)
            yield next(new, "") or "pass", changed
