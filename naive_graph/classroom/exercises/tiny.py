"""Exercises on tiny.py, the small autograd engine that a learner writes into a file, lesson by lesson.

Each part of the file is an exercise. Its solution is the part's text in tiny.txt, the reference. A test case is a small
program that runs after the file: the lines x = Tiny(3.0), y = x * x, and forward(y), whose value is judged. tiny.toml
has the programs, and the misconceptions, each a change of the part's text.
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
LESSON_MARK = "# --- lesson "  # begins the heading of each lesson's part in tiny.txt
# In place of a learner's file: the library under the file's names. A learner's file is to give the same values.
LIBRARY = """
from naive_graph import Graph, cos, exp, log, sin, tanh
Tiny, backward = Graph.Variable, Graph.backward
def forward(result):
    Graph.forward(result)
    return result.value
"""


def tiny_text(lesson: int) -> str:
    """The reference as it is after a lesson."""
    head, *parts = REFERENCE.split(LESSON_MARK)
    return LESSON_MARK.join([head, *(part for part in parts if int(part.split(":")[0]) <= lesson)])


@cache
def _compile_text(text: str) -> CodeType:
    return compile(text, "tiny.py", "exec")


def run_tiny(answer: Any, arguments: tuple[str, ...]) -> Any:
    """Run the file, then the case's program, and return the value of its last line.

    answer: the file's code, or a function that returns it. arguments: the program.
    """
    *lines, last = arguments[0].splitlines()
    scope: dict[str, Any] = {"__name__": "tiny", "OPERANDS": []}
    for code in (answer() if callable(answer) else answer, compile("\n".join(lines), "tiny.py", "exec")):
        exec(code, scope)
    value = eval(last, scope)
    return _describe_order(value, scope["y"]) if last == "order(y)" else value


def _describe_order(nodes: Any, result: Any) -> Any:
    """A description of a topological order, which is compared instead of the order, since several are right."""
    if not isinstance(nodes, list):
        return [nodes] if isinstance(nodes, str) else nodes  # in a list, so that a str is no description
    needed, position = {result: None}, {node: i for i, node in enumerate(nodes)}
    pending = [result]
    for node in pending:  # grows during the loop
        pending += [operand for operand in dict.fromkeys(node.last) if operand not in needed]
        needed.update(dict.fromkeys(node.last))
    if len(position) < len(nodes):
        return "a node stands twice"
    if missing := [node for node in needed if node not in position]:
        return "the result is missing" if missing == [result] else "a node is missing"
    early = any(position[operand] > position[node] for node in needed for operand in node.last)
    return "a node stands before its operand" if early else f"operands first, {len(nodes)} nodes"


# --- cases: programs, the smallest first ------------------------------------------


def _programs(part: str) -> Iterator[str]:
    """The programs of a part; one with {small} is repeated for each small formula in tiny.toml's words, and so on."""
    words: dict[str, list[str]] = load_texts()["tiny"]["words"]
    for program in load_texts()[part]["programs"]:
        name = next((word for word in words if f"{{{word}}}" in program), "")
        yield from (program.replace(f"{{{name}}}", formula) for formula in words.get(name, [""]))


def _make_case(program: str) -> ExerciseCase:
    special = load_texts()["tiny"]["special"].items()
    features = frozenset(feature for feature, parts in special if any(part in program for part in parts))
    # Only the number of nodes counts here: for a large graph run_answer allows more lines.
    nodes = [None] * (LARGE + 1 if "there are thousands of nodes" in features else 0)
    return ExerciseCase(program.replace("\n", "\n    "), lambda _: ExerciseCall((program,), nodes), features)


@dataclass(frozen=True)
class TinyPart(Exercise):
    """A part of the file as an exercise: a misconception changes this part's text, and the whole file is run."""

    before: str = ""  # the text of the parts of earlier lessons
    own_order: str = ""  # the source of the learner's `order`, on which the values of a misconception may depend

    def answer_with(self, mistake: str = "") -> CodeType:
        program = self.own_order + self.misconceptions[mistake].program if mistake else self.program
        return _compile_text(self.before + program)


def _make_part(name: str, text: str, before: str = "") -> TinyPart:
    def solve(program: str) -> Any: ...

    solve.__name__ = name
    return TinyPart(solve, lambda: map(_make_case, _programs(name)), call=run_tiny, text=text, before=before)


def _make_lesson_part(name: str, lesson: int) -> TinyPart:
    before, mark, text = tiny_text(lesson).rpartition(LESSON_MARK)
    return _make_part(name, mark + text, before)


TINY = [
    *(_make_lesson_part(name, lesson) for name, lesson in load_texts()["tiny"]["parts"].items()),
    _make_part("tiny_library", LIBRARY),
]


# --- grading ----------------------------------------------------------------------


def graded_part(name: str) -> Exercise | None:
    """The part of tiny.py with this name, if a class can be graded on it; else None."""
    return next((part for part in TINY[:-1] if part.name == name), None)


def as_cell(file: str) -> tuple[list[str], str]:
    """A learner's file as the cells of a notebook, and the answer's expression there: a call of it gives the code."""
    return [f"tiny = compile({file!r}, 'tiny.py', 'exec')"], "tiny.replace"
