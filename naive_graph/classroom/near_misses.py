"""One small change of an answer's own source that makes it right, and how wrong values stand to right ones.

A guess about a place is made only where the place is: the learner's own line, changed in one thing, does what is right
in every case. So the guess is true, and says where.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import os
import re
import sys
import textwrap
import tomllib
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from select import select
from time import process_time
from typing import Any, NamedTuple

from .exercise import Exercise, same
from .mutation import OTHERS
from .run_answer import AnswerWatch, Asked, Stopped, patience

SAID = tomllib.loads(Path(__file__).with_name("misconceptions.toml").read_text(encoding="utf-8"))
SENTENCES, RELATIONS, RAISED = SAID["slips"], SAID["relations"], SAID["raised"]  # the surest first
TWINS = {"tanh": "tan", "max": "min", "min": "max", "sin": "cos", "cos": "sin", "last": "next", "next": "last"}
LINES = 20_000  # that a changed answer may run in one case
LONGEST = 2.0  # seconds of processor time, in which changes are tried


def repair(exercise: Exercise, asked: Asked, answer: Any) -> tuple[str, str]:
    """The kind of the one change that makes the answer right, and the line that it changes; empty if there is none."""
    try:
        text = textwrap.dedent(inspect.getsource(answer))
        tree = ast.parse(text)
        written: Any = tree.body[0]
        written.decorator_list.clear()
    except (OSError, TypeError, SyntaxError, ValueError, IndexError, AttributeError):
        return "", ""  # its source is not there, or is a part of a line
    if exercise.text or getattr(answer, "__closure__", None) or getattr(written, "name", "") != answer.__name__:
        return "", ""
    right = [exercise.right(i, first) for i, (first, _) in enumerate(asked)]
    places = sorted(range(len(right)), key=right.__getitem__)  # where it is wrong first
    kind, line = _apart(lambda: _first_that_is_right(exercise, answer, tree, places))
    if not kind:
        return "", ""
    code = answer.__init__.__code__ if inspect.isclass(answer) else answer.__code__
    first = code.co_firstlineno if not inspect.isclass(answer) else inspect.getsourcelines(answer)[1]
    return kind, f"line {first + line - 1}: {text.splitlines()[line - 1].strip()}"


def _first_that_is_right(exercise: Exercise, answer: Any, tree: ast.Module, places: list[int]) -> tuple[str, int]:
    known = answer.__init__ if inspect.isclass(answer) else answer
    until = process_time() + LONGEST
    for slip in slips(tree):
        if process_time() > until:
            break
        scope = dict(getattr(known, "__globals__", {}))
        with suppress(Stopped, Exception), AnswerWatch(1, LINES, refuses=False) as watch:
            exec(slip.code(tree), scope)
            if all(_is_right(exercise, scope[answer.__name__], place, watch) for place in places):
                return slip.kind, slip.line
    return "", 0


def _is_right(exercise: Exercise, answer: Any, place: int, watch: AnswerWatch) -> bool:
    watch.left = LINES
    return exercise.right(place, exercise.imagine(answer, exercise.cases[place]))


def _apart(find: Callable[[], tuple[str, int]]) -> tuple[str, int]:
    """What is found, in a process of its own where there can be one: changed code may do anything."""
    if sys.platform != "linux":
        return find()
    out, into = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # threads of ours that wait do not matter to the child
        child = os.fork()
    if not child:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os.write(into, json.dumps(find()).encode())
        finally:
            os._exit(0)
    os.close(into)
    try:
        told = os.read(out, 1 << 12) if select([out], [], [], patience())[0] else b""
        kind, line = json.loads(told or b'["", 0]')
        return str(kind), int(line)
    finally:
        os.close(out)
        with suppress(ProcessLookupError):
            os.kill(child, 9)
        os.waitpid(child, 0)


def relation(exercise: Exercise, asked: Asked) -> tuple[str, str]:
    """How all wrong values stand to the right ones: the name of that, and a sentence; empty if there is no one way."""
    if exercise.text:
        return "", ""  # each question there is another one
    wrong = [(i, first) for i, (first, _) in enumerate(asked) if not exercise.right(i, first)]
    if any(first.kind != "gave" or (first.value is None and exercise.complaint is None) for _, first in wrong):
        return "", ""
    if exercise.complaint is not None:
        told = {str(exercise.complaint(exercise.cases[i], first.value)) for i, first in wrong}
        only, sentence = min(told), f"{min(told)[:1].upper()}{min(told)[1:]}, wherever it is wrong."
        return (re.sub(r"\W+", "_", only), sentence) if len(told) == 1 else ("", "")
    pairs = [(first.value, exercise.wanted[i].value) for i, first in wrong]
    for name, sentence in RELATIONS.items():
        if name in ENTRIES and (exercise.parts or exercise.is_class):
            continue  # these are no list
        if found := HOLDS[name](exercise, pairs):
            return name, sentence.format(found)
    return "", ""


ENTRIES = {"first_wrong", "last_wrong", "right_at_first", "right_at_last", "another_order", "some_missing", "too_much"}
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


class Slip(NamedTuple):
    """A change of a program: its kind, the line, and what stands in a field of a node of the tree instead."""

    kind: str
    line: int
    parent: ast.AST
    field: str
    new: Any

    def code(self, tree: ast.Module) -> Any:
        """The changed program; the tree stays as it is. None if it is none."""
        before = getattr(self.parent, self.field)
        setattr(self.parent, self.field, self.new)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of what a change makes of a program
                return compile(ast.fix_missing_locations(tree), "<a change>", "exec")
        except (SyntaxError, ValueError, TypeError):
            return None
        finally:
            setattr(self.parent, self.field, before)


def slips(tree: ast.Module) -> list[Slip]:
    """Every small change of a program, the likeliest kinds first."""
    found: list[Slip] = []
    names = {each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    names |= {each.arg for each in ast.walk(tree) if isinstance(each, ast.arg)}
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            whole = value if isinstance(value, list) else [value]
            for place, node in enumerate(whole):
                if isinstance(node, ast.AST):
                    line = getattr(node, "lineno", getattr(parent, "lineno", 1))
                    for kind, span, new in _slips(node, whole[place + 1 :], sorted(names), field in ("test", "ifs")):
                        changed = [*whole[:place], *new, *whole[place + span :]]
                        found.append(
                            Slip(kind, line, parent, field, changed if isinstance(value, list) else changed[0])
                        )
    order = [*SENTENCES]
    return sorted(found, key=lambda slip: order.index(slip.kind))


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
        yield "line_too_much", 1, [ast.Pass()]
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and not isinstance(node.targets[0], ast.Tuple):
        yield "replaces", 1, [ast.AugAssign(node.targets[0], ast.Add(), node.value)]  # type: ignore[arg-type]
        yield "begins_otherwise", 1, [ast.Assign(node.targets, ast.Constant(0))]
    if isinstance(node, ast.AugAssign):
        stored: Any = node.target
        yield "adds_up", 1, [ast.Assign([stored], node.value)]
        yield from (("other_operation", 1, [ast.AugAssign(stored, op(), node.value)]) for op in _others(node.op))
    if isinstance(node, (ast.For, ast.While)):
        yield from _at_a_loop(node, rest)
    if isinstance(node, ast.If):
        yield "condition", 1, [*node.body]


def _at_a_loop(node: ast.For | ast.While, rest: list[ast.AST]) -> Iterator[tuple[str, int, list[Any]]]:
    again = {each: getattr(node, each) for each in node._fields}
    for behind in rest[:1]:
        if not isinstance(behind, ast.Return):
            yield "behind_the_loop", 2, [type(node)(**{**again, "body": [*node.body, behind]})]
    *before, last = node.body
    if before:
        kind = "returns_in_loop" if isinstance(last, ast.Return) else "inside_the_loop"
        yield kind, 1, [type(node)(**{**again, "body": before}), last]
        if isinstance(node.body[0], ast.Assign):
            yield "begins_anew", 1, [node.body[0], type(node)(**{**again, "body": node.body[1:]})]
    if isinstance(node, ast.For):
        for kind, function in (("other_order", "reversed"), ("each_once", "dict.fromkeys")):
            taken = ast.Call(ast.Name("list", ast.Load()), [node.iter], [])
            walked: Any = ast.Call(ast.parse(function, mode="eval").body, [taken], [])
            yield kind, 1, [ast.For(node.target, walked, node.body, node.orelse)]


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
            yield from (("other_comparison", ast.Compare(left, [o()], [right])) for o in _others(op))
        case ast.IfExp(_, body, orelse):
            yield from (("condition", each) for each in (body, orelse))
        case ast.Constant(int() | float() as value) if not isinstance(value, bool):
            yield from (("other_number", ast.Constant(other)) for other in {value + 1, value - 1, value * 2, 0, 1})
        case ast.Call(function, arguments):
            yield from (("call_too_much", each) for each in arguments[:1])
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
            yield from (("part_too_much", type(node)(each, node.ctx)) for each in fewer)
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
