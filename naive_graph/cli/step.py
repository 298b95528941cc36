"""`naive-graph step`: walk through a written expression in the terminal, forwards and backwards."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from ..graph.graph import Graph
from ..graph.nodes import Constant
from ..graph.printed import wrapped
from ..views.steps.record import step
from ..views.steps.shown import Steps
from ..views.steps.step import Step
from .draw import check_suffix, numbers, written
from .expression import read

HELP = "right, Enter: next   left: back   Home, End: ends   b: next contribution   a number, Enter: go there   q: leave"
KEYS = {
    "\x1b[C": "next", "\x1b[D": "back", "\x1b[H": "first", "\x1b[F": "last", "\r": "next", "\n": "next", " ": "next",
    "q": "quit", "\x1b": "quit", "b": "contribution", "?": "help", "\x03": "quit", "\x04": "quit",
}  # fmt: skip


def step_expression(
    text: str, given: Sequence[str], mode: str, save: Path | None, listing: bool, opened: bool = False
) -> int:
    """Step through the expression: one key a step in a terminal, else all steps as lines."""
    values = numbers(given)
    if save is not None:
        check_suffix(save, (".html", ".htm"))
    with Graph.scratch(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = read(text, values)
        if f.name is None and not isinstance(f, Constant):
            f.name = "f"
        steps = step(f, mode="forward" if isinstance(f, Constant) else mode)
        if save is not None:
            written(steps.save(save, text), opened)
        elif listing or not sys.stdin.isatty() or not sys.stdout.isatty():
            print(wrapped(steps.table(0, len(steps))))
        else:
            walk(steps, one_key, lambda text: print(wrapped(text)))
    return 0


def walk(steps: Steps, key: Callable[[], str], say: Callable[[str], object]) -> None:
    """Show steps as keys are pressed, until `q`."""
    place, typed = 0, ""
    say(HELP)
    say(shown(steps, steps[0]))
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
        if wish == "jump" and int(typed) >= len(steps):
            say(f"There is no step {typed}: the last is {len(steps) - 1}.")
        target, typed = _target(steps, place, wish, typed), ""
        if target != place:
            place = target
            say(shown(steps, steps[place]))


def _target(steps: Steps, place: int, wish: str, typed: str) -> int:
    """Where a wish leads; beyond an end, the end."""
    if wish == "contribution":
        later = [step.index for step in steps.find(kind="contributed") if step.index > place]
        return later[0] if later else place
    wanted = {"next": place + 1, "back": place - 1, "first": 0, "last": len(steps) - 1}.get(wish, place)
    if wish == "jump":
        wanted = int(typed)
    return max(0, min(len(steps) - 1, wanted))


def shown(steps: Steps, step: Step) -> str:
    """A step as a few lines."""
    queue = ", ".join(_called(steps, step, row) for row in step.queue[:10])
    lines = [f"\n[{step.index}/{len(steps) - 1}] {step.phase}: {step.sentence}"]
    lines += [f"    {step.running}"] if step.running else []
    lines += [f"    ready: {queue}"] if queue else []
    lines += [f"    waits for: {_called(steps, step, row)} {count}" for row, count in list(step.degrees.items())[:6]]
    return "\n".join(lines)


def _called(steps: Steps, step: Step, row: int) -> str:
    cast = next(run.cast for run in steps.runs if row in run.cast.step_of)
    return cast.called(row)


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
