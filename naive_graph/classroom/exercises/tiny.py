"""A learner's own engine, tiny.py: part by part, a file that is asked by small programs.

The reference is the text tiny.txt, in parts by lesson. A mistake is what somebody writes instead in one place of it;
the places stand beside the sentences, in tiny.toml.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from ..cases import LARGE, ExerciseCall, ExerciseCase
from ..exercise import Exercise, load_texts

REFERENCE = (Path(__file__).parents[1] / "tiny.txt").read_text(encoding="utf-8")
MARK = "# --- lesson "
LIBRARY = """
from naive_graph import Graph, cos, exp, log, sin, tanh
Tiny, backward = Graph.Variable, Graph.backward
def forward(result):
    Graph.forward(result)
    return result.value
"""


def tiny_text(lesson: int) -> str:
    """The reference as it is after a lesson."""
    head, *parts = REFERENCE.split(MARK)
    return MARK.join([head, *(each for each in parts if int(each.split(":")[0]) <= lesson)])


@cache
def _code(text: str) -> CodeType:
    return compile(text, "tiny.py", "exec")


def run_tiny(answer: Any, arguments: tuple[str, ...]) -> Any:
    """What the last line of a program gives that runs after the file. answer: its code, or a function that gives it."""
    *lines, last = arguments[0].splitlines()
    scope: dict[str, Any] = {"__name__": "tiny", "OPERANDS": []}
    for code in (answer() if callable(answer) else answer, compile("\n".join(lines), "tiny.py", "exec")):
        exec(code, scope)
    value = eval(last, scope)
    return _order_told(value, scope["y"]) if last == "order(y)" else value


def _order_told(nodes: Any, result: Any) -> Any:
    """What is to be said of an order; several are right."""
    if not isinstance(nodes, list):
        return [nodes] if isinstance(nodes, str) else nodes  # nobody says for themselves that it is right
    due, place = {result: None}, {node: i for i, node in enumerate(nodes)}
    waiting = [result]
    for node in waiting:
        waiting += [each for each in dict.fromkeys(node.last) if each not in due]
        due.update(dict.fromkeys(node.last))
    if len(place) < len(nodes):
        return "a node stands twice"
    if missing := [node for node in due if node not in place]:
        return "the result is missing" if missing == [result] else "a node is missing"
    early = any(place[operand] > place[node] for node in due for operand in node.last)
    return "a node stands before its operand" if early else f"operands first, {len(nodes)} nodes"


# --- cases: programs, the smallest first ------------------------------------------


def _programs(part: str) -> Iterator[str]:
    """The programs of a part. {small} in one stands for each of the small formulas, and so on."""
    words: dict[str, list[str]] = load_texts()["tiny"]["words"]
    for program in load_texts()[part]["programs"]:
        name = next((each for each in words if f"{{{each}}}" in program), "")
        yield from (program.replace(f"{{{name}}}", each) for each in words.get(name, [""]))


def _case(program: str) -> ExerciseCase:
    special = load_texts()["tiny"]["special"].items()
    told = frozenset(what for what, parts in special if any(part in program for part in parts))
    nodes = [None] * (LARGE + 1 if "there are thousands of nodes" in told else 0)  # so more lines may run
    return ExerciseCase(program.replace("\n", "\n    "), lambda real: ExerciseCall((program,), nodes), told)


@dataclass(frozen=True)
class TinyPart(Exercise):
    """A part of the file: a mistake changes its text alone, and what is asked is the code of the whole file."""

    before: str = ""  # the parts of earlier lessons
    own_order: str = ""  # the learner's own, which is right: what a mistake does may depend on it

    def answer_with(self, mistake: str = "") -> CodeType:
        program = self.own_order + self.misconceptions[mistake].program if mistake else self.program
        return _code(self.before + program)


def _part(name: str, text: str, before: str = "") -> TinyPart:
    def solve(program: str) -> Any: ...

    solve.__name__ = name
    return TinyPart(solve, lambda: map(_case, _programs(name)), call=run_tiny, text=text, before=before)


def _of_lesson(name: str, lesson: int) -> TinyPart:
    before, mark, text = tiny_text(lesson).rpartition(MARK)
    return _part(name, mark + text, before)


TINY = [
    *(_of_lesson(name, lesson) for name, lesson in load_texts()["tiny"]["parts"].items()),
    _part("tiny_library", LIBRARY),
]


# --- grading ----------------------------------------------------------------------


def graded_part(name: str) -> Exercise | None:
    """The part of tiny.py with this name, on which a class can be graded; None for another name."""
    return next((part for part in TINY[:-1] if part.name == name), None)


def as_cell(file: str) -> tuple[list[str], str]:
    """A learner's file as the cell of a notebook, and what is asked of it: an answer is called, and gives its code."""
    return [f"tiny = compile({file!r}, 'tiny.py', 'exec')"], "tiny.replace"
