"""`naive-graph step EXPRESSION`: step through forward and reverse sweep in the terminal, or save it as a page."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import CommandError
from ..graph.formatting import wrap_to_terminal
from ..graph.graph import Graph
from ..graph.nodes import Constant
from ..views.drawing.picture import checked_path
from ..views.steps.record import step
from ..views.steps.recording import Participants
from ..views.steps.steps import Step, Steps
from .draw import parse_assignments, report_file
from .expression import read

HELP = "right, Enter: next   left: back   Home, End: ends   b: next contribution   a number, Enter: go there   q: leave"
KEYS = {
    "\x1b[C": "next", "\x1b[D": "back", "\x1b[H": "first", "\x1b[F": "last", "\r": "next", "\n": "next", " ": "next",
    "q": "quit", "\x1b": "quit", "b": "contribution", "?": "help", "\x03": "quit", "\x04": "quit",
}  # fmt: skip


def step_expression(
    expression: str, values: Sequence[str], mode: str, output: Path | None, listed: bool, opened: bool
) -> None:
    """Step through the expression: one key a step in a terminal, else all steps as lines."""
    assignments = parse_assignments(values)
    if output is not None:
        checked_path(output, "A walk", (".html", ".htm"), CommandError)
    with Graph.scratch(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = read(expression, assignments)
        if f.name is None and not isinstance(f, Constant):
            f.name = "f"
        steps = step(f, mode="forward" if isinstance(f, Constant) else mode)
        if output is not None:
            report_file(steps.save(output, expression), opened)
        elif listed or not sys.stdin.isatty() or not sys.stdout.isatty():
            events = enumerate(select_visible_steps(steps))
            lines = [f"{position:5}  {_sentence_with_sum(event)}" for position, event in events]
            print(wrap_to_terminal("\n".join(lines)))
        else:
            walk(steps, read_key, lambda text: print(wrap_to_terminal(text)))


def select_visible_steps(steps: Steps) -> list[Step]:
    """The steps as a page counts them when it opens: without the queue, and without the values of Constants."""
    constants = set[int]().union(*(run.cast.constants for run in steps.runs))
    shown = (event for event in steps if event.kind != "enqueued")
    return [event for event in shown if event.kind != "read" or event.row not in constants]


def walk(steps: Steps, read_key_function: Callable[[], str], say: Callable[[str], object]) -> None:
    """Show steps as keys are pressed, until `q`."""
    position, digits, events = 0, "", select_visible_steps(steps)
    say(HELP)
    say(format_step(steps, events, 0))
    while True:
        pressed = read_key_function()
        if pressed.isdigit():
            digits += pressed
            continue
        command = "jump" if digits and KEYS.get(pressed) == "next" else KEYS.get(pressed, "")
        if command == "quit":
            return
        if command == "help":
            say(HELP)
        if command == "jump" and int(digits) >= len(events):
            say(f"There is no step {digits}: the last is {len(events) - 1}.")
        target, digits = _target_position(events, position, command, digits), ""
        if target != position:
            position = target
            say(format_step(steps, events, position))


def _target_position(events: Sequence[Step], position: int, command: str, digits: str) -> int:
    """The position that a command leads to, clamped to the range of steps. digits: of the number typed for "jump"."""
    if command == "contribution":
        later = range(position + 1, len(events))
        return next((index for index in later if events[index].kind == "contributed"), position)
    wanted = {"next": position + 1, "back": position - 1, "first": 0, "last": len(events) - 1}.get(command, position)
    if command == "jump":
        wanted = int(digits)
    return max(0, min(len(events) - 1, wanted))


def format_step(steps: Steps, events: Sequence[Step], position: int) -> str:
    """A step as a few lines: its sentence, and the nodes that are ready or that wait, with their counts."""
    step = events[position]
    queue = ", ".join(_participants_of(steps, row).called(row) for row in step.queue[:10])
    lines = [f"\n[{position}/{len(events) - 1}] {step.phase}: {_sentence_with_sum(step)}"]
    lines += [f"    ready: {queue}"] if queue else []
    counts = list(step.degrees.items())[:6]
    lines += [f"    waits for: {_participants_of(steps, row).called(row)} {count}" for row, count in counts]
    return "\n".join(lines)


def _sentence_with_sum(step: Step) -> str:
    """The step's sentence, followed by the running sum of the gradient, if there is one."""
    return f"{step.sentence} So far {step.running}." if step.running else step.sentence


def _participants_of(steps: Steps, row: int) -> Participants:
    return next(run.cast for run in steps.runs if row in run.cast.step_of)


def read_key() -> str:
    """The next key, as soon as it is pressed; a whole escape sequence for an arrow."""
    try:
        import termios
        import tty
        from select import select
    except ImportError:  # Windows
        import msvcrt

        pressed = msvcrt.getwch()  # type: ignore[attr-defined]
        arrows = {"M": "\x1b[C", "K": "\x1b[D", "G": "\x1b[H", "O": "\x1b[F"}
        return arrows.get(msvcrt.getwch(), "") if pressed in "\x00\xe0" else str(pressed)  # type: ignore[attr-defined]
    number = sys.stdin.fileno()
    settings = termios.tcgetattr(number)
    try:
        tty.setcbreak(number, termios.TCSADRAIN)  # keys that were pressed meanwhile count
        pressed = os.read(number, 1) or b"q"  # nothing: the terminal is gone
        if pressed == b"\x1b" and select([number], [], [], 0.1)[0]:
            pressed += os.read(number, 2)
        return pressed.decode(errors="ignore")
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, settings)
