"""Drafts: nodes that are only pencilled in, simplified as they are drawn.

A derivative graph that is written straight into the tables is full of `1 * g`
and `x ** 1`. So the sweeps first run over drafts. A draft stands for a row that
exists, or for a rule over other drafts; only what the answer needs is inked.
Numbers that formulas bring along stay plain floats.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from ..core import catalogue
from ..core.number import number
from ..core.origin import Origin, learners_frame
from ..core.progress import many
from ..core.rules import Arithmetic, Rule
from ..core.tables import CONSTANT, Bulk, Tables, Unpacked
from .handles import handle, let_go, merges
from .nodes import Constant, Node
from .simplify import LAWS


class Draft(Arithmetic):
    """A node that exists (`row`), or one that would apply `rule` to `operands`."""

    __slots__ = ("book", "known", "needed", "operands", "row", "rule", "serial")

    def __init__(
        self, book: Book, row: int | None = None, rule: Rule | None = None, operands: tuple[Any, ...] = ()
    ) -> None:
        self.book = book
        self.row = row
        self.rule = rule
        self.operands = operands
        self.known: float | None = None  # the number of a Constant
        self.needed = False
        self.serial = book.size + len(book.drafts) if row is None else row

    def apply(self, rule: Rule, *operands: Any) -> Any:
        checked = [each if type(each) in (Draft, float) else number(each, f"'{rule.name}'") for each in operands]
        return self.book.apply(rule, tuple(checked))


def infix(rule: Rule, reflected: bool = False) -> Callable[[Draft, Any], Any]:
    """The rule between two, as `Arithmetic` has it; between drafts and floats, without looking at everything again."""

    def applied(self: Draft, other: Any) -> Any:
        pair = (other, self) if reflected else (self, other)
        return self.book.apply(rule, pair) if type(other) in (Draft, float) else rule(*pair)

    return applied


for _name, _rule in (("add", catalogue.add), ("sub", catalogue.sub), ("mul", catalogue.mul)):
    setattr(Draft, f"__{_name}__", infix(_rule))
    setattr(Draft, f"__r{_name}__", infix(_rule, reflected=True))


class Book:
    """All drafts over one graph. Equal applications of a rule are one draft."""

    def __init__(self, tables: Tables, check: Callable[[], Any] = list) -> None:
        self.tables, self.size = tables, len(tables)
        self.check = check  # raises if the rows that the drafts stand for are no longer there
        self.drafts: list[Draft] = []  # in an order in which operands come first
        self.memory: dict[int, dict[Any, Draft]] = defaultdict(dict)  # by rule and operands

    def node(self, row: int, rule: Rule | None = None, operands: tuple[Any, ...] = ()) -> Draft:
        """The draft of a node that exists."""
        draft = Draft(self, row, rule, operands)
        if rule is not None:
            self.memory[rule.number][operands] = draft
        elif self.tables.operators[row] == CONSTANT:
            draft.known = self.tables.values[row]
        return draft

    def apply(self, rule: Rule, operands: tuple[Any, ...]) -> Any:
        """The rule over these operands: remembered, simplified, or drafted anew."""
        memory, key = self.memory[rule.number], operands
        if 0.0 in operands:  # -0.0 equals it, and is another number
            key = tuple([each.hex() if type(each) is float else each for each in operands])
        found = memory.get(key)
        if found is None:
            law = LAWS.get(rule.name)
            simpler = None if law is None else law(*operands)
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

    def close(self) -> None:
        """Forget the drafts at once: they and the book hold each other, and would wait for the garbage collector."""
        self.memory.clear()
        self.drafts.clear()

    def rows(self, answers: list[Any]) -> list[int | float]:
        """The row of each answer, appended with all that it needs; an answer that is a number stays one."""
        tables, needed = self.tables, self._needed(answers)
        with tables.lock:
            mark = tables.mark()
            try:
                self._append(needed, len(tables))
                return [answer.row if isinstance(answer, Draft) else answer for answer in answers]  # type: ignore[misc]
            except BaseException:
                let_go(tables, mark)
                for draft in needed:
                    draft.row = None
                raise

    def _append(self, drafts: Sequence[Draft], first: int) -> None:
        """A row for each draft, behind one for each of its numbers; merged as if they were written one by one."""
        tables, row, numbers = self.tables, first, []
        kinds, degrees, sources, targets = array("h"), array("i"), array("i"), array("i")
        for draft in many(drafts, "gradients", len(drafts)):
            rule, own = draft.rule, []
            assert rule is not None  # a draft without a row applies a rule
            for each in draft.operands:
                if type(each) is float:
                    kinds.append(CONSTANT)
                    degrees.append(0)
                    numbers.append((row - first, each))
                    row += 1
                own.append(row - 1 if type(each) is float else each.row)
            left, count = own[0] - first, len(own)
            if rule.associative and count == 2 and left >= 0 and kinds[left] == rule.number:
                if merges(degrees[left], *own):
                    own[0], count = ~own[0], 1 + degrees[left]
            kinds.append(rule.number)
            degrees.append(count)
            sources.extend(own)
            targets.extend([row] * len(own))
            draft.row = row
            row += 1
        room = bytes(8 * len(kinds) if numbers else 0)
        values, stamps = array("d", room), array("q", room)
        for place, value in numbers:
            values[place], stamps[place] = value, tables.clock
        new, frame = Unpacked(kinds, degrees, sources, targets, values, stamps), learners_frame()
        bulk = Bulk(new, first, [(first, Origin(frame.f_code, frame.f_lasti))])
        moved = tables.add_rows(bulk, self.check) - first
        for draft in drafts if moved else ():  # somebody else has built meanwhile
            draft.row += moved  # type: ignore[operator]

    def _needed(self, answers: Sequence[Any]) -> list[Draft]:
        """The drafts without a row that the answers depend on, operands first."""
        found = []
        for answer in answers:
            if isinstance(answer, Draft):
                answer.needed = True
        for draft in reversed(self.drafts):
            if draft.needed and draft.row is None:
                found.append(draft)
                for each in draft.operands:
                    if type(each) is Draft:
                        each.needed = True
            draft.needed = False
        return found[::-1]
