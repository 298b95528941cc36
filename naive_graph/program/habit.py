"""What a Program remembers of its last questions, so that it knows when the short way may be taken.

    NEW     nothing was asked yet, or the last question has no short way
    ONCE    the last question had a form; another one of the same form opens the short way
    OPEN    questions of that form go the short way, for as long as the graph stays as it is

A form is what the short way relies on: when the graph was changed last, how many
samples there are, which PlaceHolders are fed, and what kind of things are given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from .again import Again, never
from .given import Inputs

State = Enum("State", "NEW ONCE OPEN")
NEW, ONCE, OPEN = State


class Habit:
    """The state, the form that it is about, and the way, which is open while the graph has this age."""

    __slots__ = ("age", "form", "state", "way")

    def __init__(self) -> None:
        self.state, self.form = NEW, None
        self.close()

    def close(self) -> None:
        """No question goes the short way, until one of this form was asked again."""
        self.way: Again = never
        self.age = object()
        self.state = NEW if self.form is None else ONCE

    def ask(self, form: Any, stays: bool) -> None:
        """A question goes the long way. stays: whether what runs now is what will run from now on."""
        if self.state is OPEN and (form != self.form or not stays):  # what the short way uses may change now
            self.close()
        if form != self.form:
            self.form = form
            self.state = NEW

    def answer(self, age: object, finite: bool, make: Callable[[], Again]) -> None:
        """It was answered. make: gives the short way of such questions."""
        if self.state is ONCE and finite:
            self.way, self.age, self.state = make(), age, OPEN
        elif self.state is NEW and self.form is not None:
            self.state = ONCE


def form_of(age: object, given: Inputs, inputs: Sequence[Any]) -> Any:
    """The form of a question; None if it has no short way: one of lists."""
    if inputs and not hasattr(inputs[0], "ndim") and type(inputs[0]) is not float:
        return None
    return (age, given.samples, [batch.rows for batch in given.batches], [*map(type, inputs)])
