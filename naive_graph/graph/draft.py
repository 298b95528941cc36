"""Drafts: nodes that are only pencilled in, simplified as they are drawn.

A derivative graph that is written straight into the tables is full of `1 * g`
and `x ** 1`. So the sweeps first run over drafts. A draft stands for a row that
exists, or for a rule over other drafts; only what the answer needs is inked.
Numbers that formulas bring along stay plain floats.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from ..core.number import number
from ..core.progress import many
from ..core.rules import Arithmetic, Rule
from ..core.tables import CONSTANT, Tables
from .handles import grow, handle
from .nodes import Constant, Node
from .simplify import LAWS


class Draft(Arithmetic):
    """A node that exists (`row`), or one that would apply `rule` to `operands`."""

    __slots__ = ("book", "known", "operands", "row", "rule", "serial")

    def __init__(
        self, book: Book, row: int | None = None, rule: Rule | None = None, operands: tuple[Any, ...] = ()
    ) -> None:
        self.book = book
        self.row = row
        self.rule = rule
        self.operands = operands
        self.known: float | None = None  # the number of a Constant
        self.serial = len(book.tables) + len(book.drafts) if row is None else row

    def apply(self, rule: Rule, *operands: Any) -> Any:
        checked = [each if type(each) in (Draft, float) else number(each, f"'{rule.name}'") for each in operands]
        return self.book.apply(rule, tuple(checked))

    def is_rule(self, name: str) -> bool:
        return self.rule is not None and self.rule.name == name


class Book:
    """All drafts over one graph. Equal applications of a rule are one draft."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.drafts: list[Draft] = []  # in an order in which operands come first
        self.memory: dict[int, dict[Any, Draft]] = defaultdict(dict)  # by rule and operands

    def node(self, row: int, rule: Rule | None = None, operands: tuple[Any, ...] = ()) -> Draft:
        """The draft of a node that exists."""
        draft = Draft(self, row, rule, operands)
        if self.tables.operators[row] == CONSTANT:
            draft.known = self.tables.values[row]
        if rule is not None:
            self.memory[rule.number][operands] = draft
        return draft

    def apply(self, rule: Rule, operands: tuple[Any, ...]) -> Any:
        """The rule over these operands: remembered, simplified, or drafted anew."""
        memory, key = self.memory[rule.number], operands
        if 0.0 in operands:  # -0.0 equals it, and is another number
            key = tuple([each.hex() if type(each) is float else each for each in operands])
        found = memory.get(key)
        if found is None:
            simpler = LAWS[rule.name](*operands) if rule.name in LAWS else None
            if simpler is not None:
                return simpler
            found = memory[key] = Draft(self, None, rule, operands)
            self.drafts.append(found)
        return found

    def ink(self, answers: list[Any]) -> list[Node]:
        """The answers as nodes: what they need is appended to the tables, and nothing else; on an error, nothing."""
        return [
            Constant(answer) if isinstance(answer, float) else handle(self.tables, answer)
            for answer in self.rows(answers)
        ]

    def rows(self, answers: list[Any]) -> list[int | float]:
        """The row of each answer, appended with all that it needs; an answer that is a number stays one."""
        tables = self.tables
        with tables.lock:
            mark = tables.mark()
            try:
                needed = self._needed(answers)
                for draft in many(self.drafts, "gradients", len(self.drafts)):
                    if id(draft) in needed:
                        draft.row = self._grown(draft, mark.rows)
                return [answer.row if isinstance(answer, Draft) else answer for answer in answers]  # type: ignore[misc]
            except BaseException:
                tables.cut(mark)
                for draft in self.drafts:
                    draft.row = None
                raise

    def _grown(self, draft: Draft, new: int) -> int:
        assert draft.rule is not None  # a draft without a row applies a rule
        sources: list[Any] = [each.row if isinstance(each, Draft) else each for each in draft.operands]
        row: int = grow(self.tables, draft.rule, sources, merge_from=new)._row
        return row

    def _needed(self, answers: list[Any]) -> set[int]:
        found: set[int] = set()
        waiting = [answer for answer in answers if isinstance(answer, Draft)]
        while waiting:
            draft = waiting.pop()
            if draft.row is None and id(draft) not in found:
                found.add(id(draft))
                waiting.extend(each for each in draft.operands if isinstance(each, Draft))
        return found
