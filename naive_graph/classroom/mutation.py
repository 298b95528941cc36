"""Mutate programs: mutants of a solution, to test an exercise's cases; and slips, typical edits to a learner's code.

Slips are applied to the learner's source, one at a time, to find the one that makes it right. The changed answers run
where the answer ran (see run_answer.py and sandbox.py). Only outcomes are sent, since a sandbox has no right values.
"""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import process_time
from typing import Any, NamedTuple

from .run_answer import AnswerWatch, RunnableExercise, SendLine, Stopped, run_unwatched

# For each operator those that it may be confused with; the relation is symmetric.
CONFUSABLE: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add, ast.Pow), ast.Pow: (ast.Mult,),
    ast.Div: (ast.Mult, ast.FloorDiv), ast.FloorDiv: (ast.Div,), ast.And: (ast.Or,), ast.Or: (ast.And,),
    ast.Eq: (ast.NotEq, ast.LtE, ast.GtE), ast.NotEq: (ast.Eq, ast.Lt), ast.Lt: (ast.LtE, ast.GtE, ast.NotEq),
    ast.LtE: (ast.Lt, ast.Gt, ast.Eq), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt, ast.Eq),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
}  # fmt: skip
MUTANT_KINDS = {"condition", "other_operation", "other_comparison", "other_number", "sign", "line_too_much"}
OTHER_NAMES = {"tanh": "tan", "max": "min", "min": "max", "sin": "cos", "cos": "sin", "last": "next", "next": "last"}
LINES = 20_000  # that a changed answer may run in one case
SECONDS = 4.0  # of processor time for all changes; those that remain then are not tried


def mutants(text: str) -> Iterator[tuple[str, str]]:
    """Yield (changed line, mutated program) for every slip that changes an operator, a number, a test or a line."""
    tree = ast.parse(text)
    lines = {line.strip() for line in ast.unparse(tree).splitlines()}
    for slip in slips(tree):
        if slip.kind in MUTANT_KINDS:
            with slip.apply():
                changed = ast.unparse(ast.fix_missing_locations(tree))
            new = (line.strip() for line in changed.splitlines() if line.strip() not in lines)
            yield next(new, "") or "pass", changed


# --- slips ----------------------------------------------------------------------


def send_changes(exercise: RunnableExercise, answer: Any, only: list[int], send: SendLine) -> None:
    """Run the answer with each slip applied, and send the slip's kind, its line and the outcomes as JSON lines.

    only: those of the slips to run; empty for all. Nothing is sent for an answer whose source is not available.
    """
    try:
        text = textwrap.dedent(inspect.getsource(answer))
        tree = ast.parse(text)
        definition: Any = tree.body[0]
        definition.decorator_list.clear()
        name, function = answer.__name__, answer.__init__ if inspect.isclass(answer) else answer
        first_line = inspect.getsourcelines(answer)[1] if inspect.isclass(answer) else function.__code__.co_firstlineno
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, AttributeError):
        return  # the source is not available, or is a part of a line, as of a lambda
    if getattr(answer, "__closure__", None) or getattr(definition, "name", "") != name:
        return
    deadline = process_time() + SECONDS
    for number, slip in enumerate(slips(tree)):
        if process_time() > deadline:
            return
        if only and number not in only:
            continue
        scope = dict(getattr(function, "__globals__", {}))
        with suppress(Stopped, Exception), AnswerWatch(1, LINES, forbids_library=False) as watch:
            with slip.apply(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as a SyntaxWarning about the changed program
                code = compile(ast.fix_missing_locations(tree), "<a change>", "exec")
            exec(code, scope)
            outcomes = []
            for case in exercise.cases:
                watch.lines_left = LINES
                outcomes.append(run_unwatched(exercise, scope[name], case))
            line = f"line {first_line + slip.line - 1}: {text.splitlines()[slip.line - 1].strip()}"
            send(json.dumps([number, slip.kind, line, [json.dumps(outcome) for outcome in outcomes]]))


class Slip(NamedTuple):
    """A change of a program: its kind, its line, and the new value of one field of a node of the tree."""

    kind: str
    line: int
    parent: ast.AST
    field: str
    new: Any

    @contextmanager
    def apply(self) -> Iterator[None]:
        """Context manager: the change is applied to the tree, and undone at the end."""
        before = getattr(self.parent, self.field)
        setattr(self.parent, self.field, self.new)
        try:
            yield
        finally:
            setattr(self.parent, self.field, before)


def slips(tree: ast.Module) -> list[Slip]:
    """All slips of a program: small changes, each of which would undo a learner's typical mistake."""
    all_slips: list[Slip] = []
    nodes = list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    for parent in nodes:
        for field, value in ast.iter_fields(parent):
            siblings = value if isinstance(value, list) else [value]
            for child_index, node in enumerate(siblings):
                if isinstance(node, ast.AST):
                    line = getattr(node, "lineno", getattr(parent, "lineno", 1))
                    rest = siblings[child_index + 1 :]
                    for kind, span, new in _slips_at(node, rest, sorted(names), field in ("test", "ifs")):
                        changed = [*siblings[:child_index], *new, *siblings[child_index + span :]]
                        replaced = changed if isinstance(value, list) else changed[0]
                        all_slips.append(Slip(kind, line, parent, field, replaced))
    return all_slips


def _slips_at(
    node: ast.AST, rest: list[ast.AST], names: list[str], is_condition: bool
) -> Iterator[tuple[str, int, list[Any]]]:
    """Yield the slips at a node: kind, number of nodes replaced, new nodes. rest: the nodes after it."""
    if is_condition:
        tests = ast.Constant(True), ast.Constant(False), ast.UnaryOp(ast.Not(), node)  # type: ignore[arg-type]
        yield from (("condition", 1, [test]) for test in tests)
    if isinstance(node, ast.expr):
        yield from ((kind, 1, [new]) for kind, new in _expression_slips(node, names))
    elif isinstance(node, ast.stmt):
        yield from _statement_slips(node, rest)


def _statement_slips(node: ast.stmt, rest: list[ast.AST]) -> Iterator[tuple[str, int, list[Any]]]:
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Return)) and not is_docstring:
        yield "line_too_much", 1, [ast.Pass()]
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple):
        yield "replaces", 1, [ast.AugAssign(node.targets[0], ast.Add(), node.value)]  # type: ignore[arg-type]
        yield "begins_otherwise", 1, [ast.Assign(node.targets, ast.Constant(0))]
    if isinstance(node, ast.AugAssign):
        stored: Any = node.target
        yield "adds_up", 1, [ast.Assign([stored], node.value)]
        for other in _other_operators(node.op):
            yield "other_operation", 1, [ast.AugAssign(stored, other(), node.value)]
    if isinstance(node, (ast.For, ast.While)):
        yield from _loop_slips(node, rest)
    if isinstance(node, ast.If):
        yield "condition", 1, [*node.body]


def _loop_slips(node: ast.For | ast.While, rest: list[ast.AST]) -> Iterator[tuple[str, int, list[Any]]]:
    """Yield the slips at a loop, as `_slips_at` does: a statement moved into or out of it, or another order."""
    fields = {field: getattr(node, field) for field in node._fields}
    for next_statement in rest[:1]:
        if not isinstance(next_statement, ast.Return):
            yield "behind_the_loop", 2, [type(node)(**{**fields, "body": [*node.body, next_statement]})]
    *before, last = node.body
    if before:
        kind = "returns_in_loop" if isinstance(last, ast.Return) else "inside_the_loop"
        yield kind, 1, [type(node)(**{**fields, "body": before}), last]
        if isinstance(node.body[0], ast.Assign):
            yield "begins_anew", 1, [node.body[0], type(node)(**{**fields, "body": node.body[1:]})]
    if isinstance(node, ast.For):
        for kind, function in (("other_order", "reversed"), ("each_once", "dict.fromkeys")):
            entries = ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
            changed_iter: Any = ast.Call(ast.parse(function, mode="eval").body, [entries], [])
            yield kind, 1, [ast.For(node.target, changed_iter, node.body, node.orelse)]


def _other_operators(operator: ast.AST) -> tuple[Any, ...]:
    return CONFUSABLE.get(type(operator), ())


def _expression_slips(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the slips in an expression: kind, and the new expression."""
    match node:
        case ast.BinOp(left, op, right):
            yield from (("other_operation", ast.BinOp(left, other(), right)) for other in _other_operators(op))
            yield "exchanged", ast.BinOp(right, op, left)
            yield from (("part_too_much", part) for part in (left, right))
            yield "sign", ast.UnaryOp(ast.USub(), node)
            if isinstance(left, ast.BinOp):
                yield "brackets", ast.BinOp(left.left, left.op, ast.BinOp(left.right, op, right))
            if isinstance(right, ast.BinOp):
                yield "brackets", ast.BinOp(ast.BinOp(left, op, right.left), right.op, right.right)
        case ast.UnaryOp(_, operand):
            yield "sign" if isinstance(node.op, ast.USub) else "condition", operand
        case ast.BoolOp(op, values):
            yield from (("condition", each) for each in values)
            yield "condition", ast.BoolOp(ast.And() if isinstance(op, ast.Or) else ast.Or(), values)
        case ast.Compare(left, [op, *_], [right]):
            yield from (("other_comparison", ast.Compare(left, [o()], [right])) for o in _other_operators(op))
        case ast.IfExp(_, body, orelse):
            yield from (("condition", each) for each in (body, orelse))
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            others = {value + 1, value - 1, value * 2, 0, 1} - {value}
            yield from (("other_number", ast.Constant(other)) for other in others)
        case ast.Call(function, arguments):
            yield from (("call_too_much", argument) for argument in arguments[:1])
            if ast.unparse(function) in ("len", "range"):
                yield from (("other_number", each) for each in _shifted_ranges(node))
        case ast.Subscript(ast.Subscript(whole, first), second):
            yield "indices_exchanged", ast.Subscript(ast.Subscript(whole, second, ast.Load()), first, node.ctx)
        case ast.Subscript(value, ast.Slice(lower)) if isinstance(node.ctx, ast.Load):
            first = lower or ast.Constant(0)
            ends = ast.Slice(first, ast.BinOp(first, ast.Add(), ast.Constant(1))), ast.Slice(ast.Constant(2), None)
            cut = (ast.Subscript(value, end, ast.Load()) for end in ends)
            yield from (("part_of_a_list", each) for each in (value, *cut))
        case ast.List(parts) | ast.Tuple(parts) if isinstance(node.ctx, ast.Load):
            fewer = ([*parts[:i], *parts[i + 1 :]] for i in range(len(parts)))
            yield from (("part_too_much", type(node)(each, node.ctx)) for each in fewer)
        case ast.Name(name, ast.Load()) if name in names:
            yield from (("other_name", ast.Name(other, ast.Load())) for other in names if other != name)
    yield from _swapped_names(node)
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Slice, ast.Constant)):
        yield from (("other_number", ast.Subscript(node.value, each, node.ctx)) for each in _plus_minus_one(node.slice))


def _swapped_names(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Name(name, context) if name in OTHER_NAMES:
            yield "other_function", ast.Name(OTHER_NAMES[name], context)
        case ast.Attribute(value, name, context) if name in OTHER_NAMES:
            kind = "other_side" if name in ("last", "next") else "other_function"
            yield kind, ast.Attribute(value, OTHER_NAMES[name], context)


def _plus_minus_one(number: ast.expr) -> list[ast.expr]:
    """One more, and one less."""
    return [ast.BinOp(number, step(), ast.Constant(1)) for step in (ast.Add, ast.Sub)]


def _shifted_ranges(call: ast.Call) -> Iterator[ast.expr]:
    """Variants of range() and len() that are one more, one less, or begin at 1."""
    *before, last = call.args
    if ast.unparse(call.func) == "len":
        yield from _plus_minus_one(call)
    else:
        yield from (ast.Call(call.func, [*before, each], []) for each in _plus_minus_one(last))
        if not before:
            yield ast.Call(call.func, [ast.Constant(1), last], [])
