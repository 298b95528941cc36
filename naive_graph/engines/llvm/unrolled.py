"""Lists of registers, and loops over them, written out: what has one name in Python becomes many variables.

    sums = [many(0.0) for n in range(2)]     sums.0 = many(0.0)
                                             sums.1 = many(0.0)
    for n in unrolled(2):                    sums.0 = fma(x, y.0, sums.0)
        sums[n] = fma(x, y[n], sums[n])      sums.1 = fma(x, y.1, sums.1)

How long they are must be known when they are compiled: from numbers, from names
of the file, and from parameters that are `Fixed`, for each of whose values a
function is compiled anew.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from .fields import copied
from .typed import NotInSubset, is_fixed


def written_out(tree: ast.FunctionDef, names: Mapping[str, Any]) -> ast.FunctionDef:
    """The function without lists and unrolled loops. names: what names stand for, of which whole numbers are used."""
    unrolling = _Unrolled(tree.name, names)
    for each in tree.args.args:
        if is_fixed(each) and each.arg not in names:
            raise NotInSubset(f"{tree.name}: the parameter {each.arg} is Fixed, and what it is given is not known.")
    if not any(isinstance(each, ast.ListComp) or getattr(each, "id", "") == "unrolled" for each in ast.walk(tree)):
        return tree
    made = unrolling.visit(copied(tree))
    assert isinstance(made, ast.FunctionDef)
    return made


def whole_number(node: ast.expr, names: Mapping[str, Any]) -> int | None:
    """The number that an expression stands for, if that is known now."""
    known = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            known[each.id] = names.get(each.id)
        elif not isinstance(each, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)):
            return None
    if not all(isinstance(each, int) for each in known.values()):
        return None
    found = eval(compile(ast.Expression(ast.fix_missing_locations(node)), "<fixed>", "eval"), {}, known)
    return found if isinstance(found, int) else None


class _Unrolled(ast.NodeTransformer):
    def __init__(self, function: str, names: Mapping[str, Any]) -> None:
        self.function, self.names = function, names
        self.lists: dict[str, int] = {}  # name -> how many it has

    def visit_Assign(self, node: ast.Assign) -> Any:
        if not isinstance(node.value, ast.ListComp):
            return self.generic_visit(node)
        target, loop = node.targets[0], node.value.generators[0]
        count = self._count(loop.iter, "range")
        plain = len(node.targets) == len(node.value.generators) == 1 and not loop.ifs
        if count is None or not plain or not isinstance(target, ast.Name) or not isinstance(loop.target, ast.Name):
            raise self._refused(node)
        values = [self._with(loop.target.id, n, [node.value.elt])[0] for n in range(count)]
        self.lists[target.id] = count
        made = [ast.Assign([ast.Name(_one(target.id, n), ast.Store())], value) for n, value in enumerate(values)]
        return [ast.fix_missing_locations(ast.copy_location(each, node)) for each in made]

    def visit_For(self, node: ast.For) -> Any:
        count = self._count(node.iter, "unrolled")
        if count is None:
            return self.generic_visit(node)
        leaves = any(isinstance(each, (ast.Break, ast.Continue)) for inner in node.body for each in ast.walk(inner))
        if leaves or not isinstance(node.target, ast.Name):
            raise self._refused(node)
        name = node.target.id
        return [made for n in range(count) for made in self._with(name, n, node.body)]

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not isinstance(node.value, ast.Name) or node.value.id not in self.lists:
            return self.generic_visit(node)
        place = whole_number(node.slice, self.names) if not isinstance(node.slice, ast.Slice) else None
        if place is None or not 0 <= place < self.lists[node.value.id]:
            raise self._refused(node)
        return ast.copy_location(ast.Name(_one(node.value.id, place), node.ctx), node)

    def _count(self, iterated: ast.expr, word: str) -> int | None:
        """The number n in `word(n)`."""
        if not isinstance(iterated, ast.Call) or ast.unparse(iterated.func) != word or len(iterated.args) != 1:
            return None
        return whole_number(iterated.args[0], self.names)

    def _with(self, name: str, number: int, nodes: Sequence[Any]) -> list[Any]:
        """Copies of the nodes with the number in place of the name, written out."""
        made = []
        for node in nodes:
            found = self.visit(_Fixed(name, number).visit(copied(node)))
            made += found if isinstance(found, list) else [found]
        return made

    def _refused(self, node: ast.AST) -> NotInSubset:
        line = ast.unparse(node).split("\n")[0]
        return NotInSubset(
            f"{self.function}: a list or an unrolled loop of unknown length cannot be compiled, in `{line}`. "
            "See naive_graph/engines/llvm/unrolled.py."
        )


class _Fixed(ast.NodeTransformer):
    """A number in place of a name."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.copy_location(ast.Constant(self.number), node) if node.id == self.name else node


def _one(name: str, place: int) -> str:
    return f"{name}.{place}"  # no name of Python's has a dot
