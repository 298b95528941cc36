"""`naive-graph step`: walk through a written expression in the terminal, forwards and backwards."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from ..graph.graph import Graph
from ..graph.nodes import Constant
from ..graph.printed import wrapped_to_terminal
from ..views.steps.record import step
from ..views.steps.recording import Participants
from ..views.steps.step import Step
from ..views.steps.widgets import Steps
from .draw import check_suffix, numbers, written
from .expression import read

HELP = "right, Enter: next   left: back   Home, End: ends   b: next contribution   a number, Enter: go there   q: leave"
KEYS = {
    "\x1b[C": "next", "\x1b[D": "back", "\x1b[H": "first", "\x1b[F": "last", "\r": "next", "\n": "next", " ": "next",
    "q": "quit", "\x1b": "quit", "b": "contribution", "?": "help", "\x03": "quit", "\x04": "quit",
}  # fmt: skip


def step_expression(
    expression: str, values: Sequence[str], mode: str, output: Path | None, listed: bool, opened: bool
) -> int:
    """Step through the expression: one key a step in a terminal, else all steps as lines."""
    known = numbers(values)
    if output is not None:
        check_suffix(output, (".html", ".htm"))
    with Graph.scratch(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = read(expression, known)
        if f.name is None and not isinstance(f, Constant):
            f.name = "f"
        steps = step(f, mode="forward" if isinstance(f, Constant) else mode)
        if output is not None:
            written(steps.save(output, expression), opened)
        elif listed or not sys.stdin.isatty() or not sys.stdout.isatty():
            events = told(steps)
            print(wrapped_to_terminal("\n".join(f"{place:5}  {_sentence(each)}" for place, each in enumerate(events))))
        else:
            walk(steps, one_key, lambda text: print(wrapped_to_terminal(text)))
    return 0


def told(steps: Steps) -> list[Step]:
    """The steps as a page counts them when it opens: without the queue, and without the values of Constants."""
    return [
        each for each in steps
        if each.kind != "enqueued" and not (each.kind == "read" and each.row in _cast(steps, each.row).constants)
    ]  # fmt: skip


def walk(steps: Steps, key: Callable[[], str], say: Callable[[str], object]) -> None:
    """Show steps as keys are pressed, until `q`."""
    place, typed, events = 0, "", told(steps)
    say(HELP)
    say(shown(steps, events, 0))
    while True:
        pressed = key()
        if pressed.isdigit():
            typed += pressed
            continue
        wish = "jump" if typed and KEYS.get(pressed) == "next" else KEYS.get(pressed, "")
        if wish == "quit":
            return
        if wish == "help":
            say(HELP)
        if wish == "jump" and int(typed) >= len(events):
            say(f"There is no step {typed}: the last is {len(events) - 1}.")
        target, typed = _target(events, place, wish, typed), ""
        if target != place:
            place = target
            say(shown(steps, events, place))


def _target(events: Sequence[Step], place: int, wish: str, typed: str) -> int:
    """Where a wish leads; beyond an end, the end."""
    if wish == "contribution":
        return next((at for at in range(place + 1, len(events)) if events[at].kind == "contributed"), place)
    wanted = {"next": place + 1, "back": place - 1, "first": 0, "last": len(events) - 1}.get(wish, place)
    if wish == "jump":
        wanted = int(typed)
    return max(0, min(len(events) - 1, wanted))


def shown(steps: Steps, events: Sequence[Step], place: int) -> str:
    """A step as a few lines."""
    step = events[place]
    queue = ", ".join(_cast(steps, row).called(row) for row in step.queue[:10])
    lines = [f"\n[{place}/{len(events) - 1}] {step.phase}: {_sentence(step)}"]
    lines += [f"    ready: {queue}"] if queue else []
    counts = list(step.degrees.items())[:6]
    lines += [f"    waits for: {_cast(steps, row).called(row)} {count}" for row, count in counts]
    return "\n".join(lines)


def _sentence(step: Step) -> str:
    """What happens, and the sum as it has grown by it."""
    return f"{step.sentence} So far {step.running}." if step.running else step.sentence


def _cast(steps: Steps, row: int) -> Participants:
    return next(run.cast for run in steps.runs if row in run.cast.step_of)


def one_key() -> str:
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
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number, termios.TCSADRAIN)  # keys that were pressed meanwhile count
        pressed = os.read(number, 1) or b"q"  # nothing: the terminal is gone
        if pressed == b"\x1b" and select([number], [], [], 0.1)[0]:
            pressed += os.read(number, 2)
        return pressed.decode(errors="ignore")
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)
