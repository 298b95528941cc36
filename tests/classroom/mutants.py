"""Every program that differs from a given one in one operator, constant, comparison, branch or line."""

import ast
import copy

OTHERS = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult, ast.FloorDiv),
    ast.Pow: (ast.Mult,), ast.Eq: (ast.NotEq, ast.LtE, ast.GtE), ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE, ast.NotEq),
    ast.Gt: (ast.GtE, ast.LtE), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.And: (ast.Or,), ast.Or: (ast.And,),
}  # fmt: skip


def changes(node):
    """The ways to change one node in place, as functions."""
    if isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)):
        for other in OTHERS.get(type(node.op), ()):
            yield lambda node, other=other: setattr(node, "op", other())
    if isinstance(node, ast.Compare):
        for other in OTHERS.get(type(node.ops[0]), ()):
            yield lambda node, other=other: node.ops.__setitem__(0, other())
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        for value in {node.value + 1, node.value * 2, -node.value, 0} - {node.value}:
            yield lambda node, value=value: setattr(node, "value", value)
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        for value in (True, False):
            yield lambda node, value=value: setattr(node, "test", ast.Constant(value))
        yield lambda node: setattr(node, "test", ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield lambda node: setattr(node, "op", ast.UAdd())
    for name in ("body", "orelse"):
        lines = getattr(node, name, None)
        for place, line in enumerate(lines if isinstance(lines, list) else []):
            if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)) and not isinstance(
                node, ast.Module
            ):
                yield lambda node, name=name, place=place: getattr(node, name).__setitem__(place, ast.Pass())


def mutants(text):
    """(what was changed, the changed program) for every change."""
    tree = ast.parse(text)
    for place, node in enumerate(ast.walk(tree)):
        for change in changes(node):
            mutant = copy.deepcopy(tree)
            change(list(ast.walk(mutant))[place])
            changed = ast.unparse(ast.fix_missing_locations(mutant))
            lines = [line.strip() for line in ast.unparse(tree).splitlines()]
            yield (
                next((line.strip() for line in changed.splitlines() if line.strip() not in lines), "") or "pass",
                changed,
            )
