"""Answers that come near: they do what the solution does with one small slip, and that is said of them.

Nothing of the answer's text is read: whether it does the same, in every case,
is all that counts. A slip has a kind, which says what is wrong, not where.
"""

from __future__ import annotations

import ast
import math
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from .exercise import Exercise, same
from .mutants import OTHERS
from .run_answer import AnswerWatch, Asked, Stopped
from .solutions import solution_text

SAID = tomllib.loads(Path(__file__).with_name("slips.toml").read_text(encoding="utf-8"))
SENTENCES, RELATIONS, RAISED = SAID["slips"], SAID["relations"], SAID["raised"]  # the surest first
TWINS = {"tanh": "tan", "max": "min", "min": "max", "sin": "cos", "cos": "sin", "last": "next", "next": "last"}
STYLES = Path(__file__).parent / "exercises" / "styles.txt"
LINES = 20_000  # that a changed solution may run in one case


def near(exercise: Exercise, asked: Asked) -> str:
    """The kind of a slip with which the solution does what the answer does in every case; empty if there is none."""
    gave = [first for first, _ in asked]
    right = [exercise.right(i, each) for i, each in enumerate(gave)]
    places = sorted(range(len(gave)), key=lambda i: right[i])  # where it is wrong first: there most slips differ
    if exercise.text or all(each.kind != "gave" for i, each in enumerate(gave) if not right[i]):
        return ""  # a whole file, or nothing that could be the same
    texts = [solution_text(exercise), *([] if exercise.is_class else styles().get(exercise.name, []))]
    found = {kind for text in texts for kind, code in slips(text) if _same(exercise, code, gave, right, places)}
    return min(found, key=[*SENTENCES].index, default="")


def _same(exercise: Exercise, code: Any, gave: list[Any], right: list[bool], places: list[int]) -> bool:
    """Whether this program does in all these places what was given."""
    scope: dict[str, Any] = {}
    try:
        with AnswerWatch(1, LINES, refuses=False) as watch:
            exec(code, scope)
            for i in places:
                watch.left = LINES
                done = exercise.imagine(scope[exercise.name], exercise.cases[i])
                if exercise.right(i, done) != right[i] or not (right[i] or exercise.agree(i, gave[i], done)):
                    return False
            return True
    except (Stopped, Exception):
        return False


@cache
def styles() -> dict[str, list[str]]:
    """By exercise right answers in other styles, as many write them."""
    found: dict[str, list[str]] = {}
    for block in re.split(r"^# ", STYLES.read_text(encoding="utf-8"), flags=re.M)[1:]:
        name, _, text = block.partition("\n")
        found.setdefault(name, []).append(text)
    return found


def relation(exercise: Exercise, asked: Asked) -> tuple[str, str]:
    """How all wrong values stand to the right ones: the name of that, and a sentence; empty if there is no one way."""
    wrong = [(i, first) for i, (first, _) in enumerate(asked) if not exercise.right(i, first)]
    if any(first.kind != "gave" or (first.value is None and exercise.complaint is None) for _, first in wrong):
        return "", ""
    if exercise.complaint is not None:
        told = {str(exercise.complaint(exercise.cases[i], first.value)) for i, first in wrong}
        only, sentence = min(told), f"{min(told)[:1].upper()}{min(told)[1:]}, wherever it is wrong."
        return (re.sub(r"\W+", "_", only), sentence) if len(told) == 1 else ("", "")
    pairs = [(first.value, exercise.wanted[i].value) for i, first in wrong]
    for name, sentence in RELATIONS.items():
        if found := HOLDS[name](exercise, pairs):
            return name, sentence.format(found)
    return "", ""


Pairs = list[tuple[Any, Any]]  # of a wrong value and the right one


def _one_part(exercise: Exercise, pairs: Pairs) -> str:
    """The part that alone is wrong."""
    count = len(exercise.parts)
    if not all(isinstance(got, list) and len(got) == count for got, _ in pairs):
        return ""
    wrong = {k for got, want in pairs for k in range(count) if not same(got[k], want[k])}
    return exercise.parts[min(wrong)] if len(wrong) == 1 else ""


def _entries(pairs: Pairs, which: Callable[[list[bool]], bool]) -> str:
    """Whether it is so with which entries of all lists of several are right."""
    lists = all(isinstance(each, list) for pair in pairs for each in pair)
    alike = lists and all(len(got) == len(want) for got, want in pairs)
    rights = [list(map(same, got, want)) for got, want in pairs if len(got) > 1] if alike else []
    return "so" if rights and all(map(which, rights)) else ""


def _one_row(exercise: Exercise, pairs: Pairs) -> str:
    several = [pair for pair in pairs if isinstance(pair[0], list) and pair[0][1:] and isinstance(pair[0][0], list)]
    return "so" if several and all(got.count(got[0]) == len(got) and got != want for got, want in several) else ""


def _other_size(exercise: Exercise, pairs: Pairs) -> str:
    lists = all(isinstance(each, list) for pair in pairs for each in pair)
    if not lists or any(len(got) == len(want) for got, want in pairs):
        return ""
    got, want = pairs[0]
    return f"{len(got)}, where right is {len(want)}"


def _counted(pairs: Pairs) -> Iterator[tuple[Counter[str], Counter[str]]]:
    """What stands in each two lists, and how often; nothing, unless all are lists."""
    if all(isinstance(each, list) for pair in pairs for each in pair):
        for pair in pairs:
            got, want = (Counter(map(_rounded, flat(each))) for each in pair)
            yield got, want


def _rounded(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else repr(value)


def _holds(pairs: Pairs, relation: Callable[[Counter[str], Counter[str]], bool]) -> str:
    counted = list(_counted(pairs))
    return "so" if counted and all(any(got) and relation(got, want) for got, want in counted) else ""


def _flat_pairs(pairs: Pairs) -> list[tuple[float, float]]:
    """The numbers, each beside the right one; nothing where something else stands, or more, or fewer."""
    numbers = [(list(flat(got)), list(flat(want))) for got, want in pairs]
    if any(len(got) != len(want) or not all(isinstance(x, float) for x in got + want) for got, want in numbers):
        return []
    return [each for got, want in numbers for each in zip(got, want)]


def flat(value: Any) -> Iterator[Any]:
    """The numbers and texts in a value, from left to right."""
    if isinstance(value, list):
        for each in value:
            yield from flat(each)
    elif isinstance(value, dict) and {"of", "pairs"} & value.keys():
        yield from flat(value.get("of", [each for _, each in value.get("pairs", [])]))
    else:
        yield value


def _compared(pairs: Pairs, relation: Callable[[float, float], bool]) -> str:
    """Whether it is so with all pairs, if they are of numbers, and several."""
    numbers = all(isinstance(each, float) for pair in pairs for each in pair)
    return "so" if len(pairs) > 2 and numbers and all(relation(*pair) for pair in pairs) else ""


def _alike(numbers: list[float]) -> str:
    """The number that all of them are; empty if they differ, or if it is 0."""
    if not numbers or not numbers[0] or not all(map(math.isfinite, numbers)):
        return ""
    return f"{numbers[0]:.6g}" if max(numbers) - min(numbers) <= 1e-6 * abs(numbers[0]) else ""


HOLDS: dict[str, Callable[[Exercise, Pairs], str]] = {
    "one_part": _one_part,
    "constant_factor": lambda _, pairs: _alike([got / want for got, want in _flat_pairs(pairs) if want]),
    "constant_offset": lambda _, pairs: _alike([got - want for got, want in _flat_pairs(pairs)]),
    "another_order": lambda _, pairs: _holds(pairs, lambda got, want: got == want),
    "some_missing": lambda _, pairs: _holds(pairs, lambda got, want: got < want),
    "too_much": lambda _, pairs: _holds(pairs, lambda got, want: got > want),
    "first_wrong": lambda _, pairs: _entries(pairs, lambda right: not right[0] and all(right[1:])),
    "last_wrong": lambda _, pairs: _entries(pairs, lambda right: not right[-1] and all(right[:-1])),
    "right_at_first": lambda _, pairs: _entries(pairs, lambda right: right[0] and not right[-1]),
    "right_at_last": lambda _, pairs: _entries(pairs, lambda right: right[-1] and not right[0]),
    "says_yes": lambda _, pairs: "so" if all(got is True and want is False for got, want in pairs) else "",
    "says_no": lambda _, pairs: "so" if all(got is False and want is True for got, want in pairs) else "",
    "too_large": lambda _, pairs: _compared(pairs, lambda got, want: got > want),
    "too_small": lambda _, pairs: _compared(pairs, lambda got, want: got < want),
    "one_row": _one_row,
    "other_size": _other_size,
}


@lru_cache(maxsize=128)
def slips(text: str) -> list[tuple[str, Any]]:
    """Every program that differs from a given one by a slip: its kind, and its code."""
    tree, found = ast.parse(text), []
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    names |= {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
    for parent in list(ast.walk(tree)):
        for field, value in list(ast.iter_fields(parent)):
            whole = value if isinstance(value, list) else [value]
            for place, node in enumerate(whole):
                if isinstance(node, ast.AST):
                    asks = field in ("test", "ifs")
                    for kind, span, new in _slips(node, whole[place + 1 :], sorted(names), asks):
                        changed = [*whole[:place], *new, *whole[place + span :]]
                        setattr(parent, field, changed if isinstance(value, list) else changed[0])
                        with suppress(SyntaxError, ValueError, TypeError), warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # of what a slip makes of a program
                            found.append((kind, compile(ast.fix_missing_locations(tree), "<a slip>", "exec")))
                        setattr(parent, field, value)
    return found


def _slips(node: ast.AST, rest: list[ast.AST], names: list[str], asks: bool) -> Iterator[tuple[str, int, list[Any]]]:
    """The slips at a node: a kind, and what stands in the place of how many nodes. rest: what stands behind it."""
    if asks:
        tests = ast.Constant(True), ast.Constant(False), ast.UnaryOp(ast.Not(), node)  # type: ignore[arg-type]
        yield from (("condition", 1, [test]) for test in tests)
    if isinstance(node, ast.expr):
        yield from ((kind, 1, [new]) for kind, new in _in_an_expression(node, names))
    elif isinstance(node, ast.stmt):
        yield from _in_a_statement(node, rest)


def _in_a_statement(node: ast.stmt, rest: list[ast.AST]) -> Iterator[tuple[str, int, list[Any]]]:
    if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Return)) and not _is_text(node):
        yield "step_missing", 1, [ast.Pass()]
    if isinstance(node, ast.Assign):
        yield "begins_with_nothing", 1, [ast.Assign(node.targets, ast.Constant(0))]
    if isinstance(node, ast.AugAssign):
        stored: Any = node.target
        yield "keeps_the_last", 1, [ast.Assign([stored], node.value)]
        yield from (("other_operation", 1, [ast.AugAssign(stored, op(), node.value)]) for op in _others(node.op))
    if isinstance(node, (ast.For, ast.While)):
        again = {each: getattr(node, each) for each in node._fields}
        for behind in rest[:1]:
            moved = [type(node)(**{**again, "body": [*node.body, behind]})]
            yield "returns_in_loop" if isinstance(behind, ast.Return) else "inside_the_loop", 2, [*moved]
        if isinstance(node.body[0], (ast.Assign, ast.AnnAssign)) and len(node.body) > 1:
            yield "not_begun_anew", 1, [node.body[0], type(node)(**{**again, "body": node.body[1:]})]
        if isinstance(node, ast.For):
            for kind, function in (("other_order", "reversed"), ("each_once", "dict.fromkeys")):
                taken = ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
                walked: Any = ast.Call(ast.parse(function, mode="eval").body, [taken], [])
                yield kind, 1, [ast.For(node.target, walked, node.body, node.orelse)]
        yield "first_turn_only", 1, [type(node)(**{**again, "body": [*node.body, ast.Break()]})]
        if isinstance(node, ast.While):
            yield "once", 1, [ast.If(node.test, node.body, [])]
    if isinstance(node, ast.If):
        yield "condition", 1, [*node.body]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _others(operator: ast.AST) -> tuple[Any, ...]:
    return OTHERS.get(type(operator), ())


def _in_an_expression(node: ast.expr, names: list[str]) -> Iterator[tuple[str, ast.expr]]:
    """The slips in an expression: a kind, and what stands there instead."""
    match node:
        case ast.BinOp(left, op, right):
            yield from (("other_operation", ast.BinOp(left, other(), right)) for other in _others(op))
            yield "exchanged", ast.BinOp(right, op, left)
            yield from (("part_missing", part) for part in (left, right))
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
            yield from (("other_comparison", ast.Compare(left, [o()], [right])) for o in _others(op))
        case ast.IfExp(_, body, orelse):
            yield from (("condition", each) for each in (body, orelse))
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            yield from (("other_number", ast.Constant(other)) for other in {value + 1, value - 1, value * 2, 0, 1})
        case ast.Call(function, arguments):
            yield from (("call_missing", each) for each in arguments[:1])
            if ast.unparse(function) in ("len", "range"):
                yield from (("other_number", each) for each in _other_ends(node))
        case ast.Subscript(ast.Subscript(whole, first), second):
            yield "indices_exchanged", ast.Subscript(ast.Subscript(whole, second, ast.Load()), first, node.ctx)
        case ast.Subscript(value, ast.Slice(lower)) if isinstance(node.ctx, ast.Load):
            first = lower or ast.Constant(0)
            ends = ast.Slice(first, ast.BinOp(first, ast.Add(), ast.Constant(1))), ast.Slice(ast.Constant(2), None)
            cut = (ast.Subscript(value, end, ast.Load()) for end in ends)
            yield from (("part_of_a_list", each) for each in (value, *cut))
        case ast.List(parts) | ast.Tuple(parts) if isinstance(node.ctx, ast.Load):
            fewer = ([*parts[:i], *parts[i + 1 :]] for i in range(len(parts)))
            yield from (("part_missing", type(node)(each, node.ctx)) for each in fewer)
        case ast.Name(name, ast.Load()) if name in names:
            yield from (("other_name", ast.Name(other, ast.Load())) for other in names if other != name)
    yield from _twins(node)
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
        yield from (("other_number", ast.Subscript(node.value, each, node.ctx)) for each in _beside(node.slice))


def _twins(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match node:
        case ast.Name(name, context) if name in TWINS:
            yield "other_function", ast.Name(TWINS[name], context)
        case ast.Attribute(value, name, context) if name in TWINS:
            kind = "other_side" if name in ("last", "next") else "other_function"
            yield kind, ast.Attribute(value, TWINS[name], context)


def _beside(number: ast.expr) -> list[ast.expr]:
    """One more, and one less."""
    return [ast.BinOp(number, step(), ast.Constant(1)) for step in (ast.Add, ast.Sub)]


def _other_ends(call: ast.Call) -> Iterator[ast.expr]:
    """range and len that are one more, or one less, or begin at 1."""
    *before, last = call.args
    if ast.unparse(call.func) == "len":
        yield from _beside(call)
    else:
        yield from (ast.Call(call.func, [*before, each], []) for each in _beside(last))
        if not before:
            yield ast.Call(call.func, [ast.Constant(1), last], [])
