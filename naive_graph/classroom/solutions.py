"""The solution of an exercise, to be read: its function with all switches off, and without them."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from .exercise import Exercise

WIDTH = 84  # of a line of a statement


class Fold(ast.NodeTransformer):
    """Takes out what depends on switches alone: each of them is the empty text."""

    def __init__(self, switches: set[str]) -> None:
        self.switches = switches

    def _known(self, node: ast.expr) -> Any:
        """The value of an expression over switches alone; None if it is of something else."""
        names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        if not names or not names <= self.switches:
            return node.value if isinstance(node, ast.Constant) and isinstance(node.value, bool) else None
        code = compile(ast.Expression(ast.fix_missing_locations(node)), "a switch", "eval")
        return bool(eval(code, {}, dict.fromkeys(self.switches, "")))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.generic_visit(node)
        decides = isinstance(node.op, ast.Or)
        known = [self._known(part) for part in node.values]
        if decides in known:
            return ast.Constant(decides)
        parts = [part for part, value in zip(node.values, known) if value is None]
        return ast.Constant(not decides) if not parts else parts[0] if len(parts) == 1 else ast.BoolOp(node.op, parts)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        known = self._known(node.operand) if isinstance(node.op, ast.Not) else None
        return node if known is None else ast.Constant(not known)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self.generic_visit(node)
        known = self._known(node.test)
        return node if known is None else node.body if known else node.orelse

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        known = self._known(node.test)
        return node if known is None else node.body if known else node.orelse

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.returns, node.args.kwonlyargs, node.args.kw_defaults = None, [], []
        for argument in node.args.args:
            argument.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        return ast.Assign([node.target], node.value) if node.value else node


def solution_text(exercise: Exercise) -> str:
    """The solution as somebody would write it who knows.

    >>> from .judging import exercise_named
    >>> print(solution_text(exercise_named("slope")).splitlines()[-1])
        return rise / (2 * h)
    """
    if exercise.text:
        return exercise.text
    tree = ast.parse(textwrap.dedent(inspect.getsource(exercise.solve)))
    whole: Any = tree.body[0]
    switches = {argument.arg for argument in whole.args.kwonlyargs}
    folded = Fold(switches).visit(whole)
    del folded.body[0]  # the statement comes again, in lines that a notebook shows whole
    made = folded
    if exercise.is_class:  # the function makes it: its body is the solution, but for its end
        folded = ast.Module(folded.body[:-1], [])
        made = next(part for part in folded.body if isinstance(part, ast.ClassDef))
    made.body.insert(0, ast.Expr(ast.Constant(_told(exercise.statement))))
    text = ast.unparse(ast.fix_missing_locations(folded))
    return "import math\n\n" * ("math." in text) + text


def _told(statement: str) -> str:
    """A statement as a docstring."""
    first, *rest = [part for line in statement.splitlines() for part in textwrap.wrap(line, WIDTH) or [""]]
    return first if not rest else "\n".join([first, *(f"    {line}".rstrip() for line in rest), "    "])


def blank_text(exercise: Exercise) -> str:
    """What a learner begins with: the first line and the statement, and dots in place of the rest."""
    tree = ast.parse(solution_text(exercise))
    made: Any = next(each for each in tree.body if getattr(each, "name", "") == exercise.name)
    made.body[1:] = [ast.Expr(ast.Constant(...))]
    return ast.unparse(made)
