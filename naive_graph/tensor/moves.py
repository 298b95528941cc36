"""How a product with selections reads: as moved indices, x[2*i+a], and as conditions, [i = a+1].

A picker says `one = place(many)`: the index of one axis, given those of others.
If `one` is summed, the sum has a single term, and the place can stand for the
index wherever it occurs. An identity can be read from either side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .base import TensorNode
from .index import Ids
from .selection import Picker, SelectionNode

LARGEST_TABLE = 8  # places that are written out


class Meeting(NamedTuple):
    """A picker of a selection, and which indices of the product its axes have."""

    picker: Picker
    one: int
    many: Ids
    inside: bool  # whether every place is within the axis
    same: bool  # whether it is an identity

    @classmethod
    def of(cls, selection: SelectionNode, picker: Picker, ids: Ids) -> Meeting:
        many = tuple(ids[axis] for axis in picker.axes)
        lengths = [selection.shape[axis] for axis in (*picker.axes, picker.axis)]
        steady = picker.table is None and picker.offset == 0 and tuple(picker.strides) == (1,)
        inside = bool((picker.picks(selection.shape) >= 0).all())
        return cls(picker, ids[picker.axis], many, inside, steady and len(set(lengths)) == 1)


class Product(NamedTuple):
    """A product as text: its factors, and the indices that are still summed over."""

    conditions: list[str]
    tensors: list[tuple[TensorNode, list[str]]]
    summed: list[str]


class Factors:
    """Writes the factors of a product. letters: of each index; dummies: those that are summed."""

    def __init__(self, letters: Mapping[int, str], dummies: Iterable[int], tex: bool) -> None:
        self.letters = letters
        self.summed = list(dummies)
        self.tex = tex
        self.replaced: dict[int, Meeting | int] = {}  # what stands for an index: a place, or another index

    def product(self, sources: Sequence[TensorNode], ids: Sequence[Ids]) -> Product:
        meetings = [
            Meeting.of(source, picker, own)
            for source, own in zip(sources, ids)
            if isinstance(source, SelectionNode)
            for picker in source.pickers
        ]
        tensors = [(source, own) for source, own in zip(sources, ids) if not isinstance(source, SelectionNode)]
        rest = [each for each in meetings if not self._replace(each, {index for _, own in tensors for index in own})]
        conditions = [f"[{self.text(each.one)} = {self.place(each)}]" for each in rest]
        entries = [(source, [self.text(each) for each in own]) for source, own in tensors]
        return Product(conditions, entries, [self.letters[each] for each in self.summed])

    def _replace(self, meeting: Meeting, of_tensors: set[int]) -> bool:
        """Replace a summed index by an expression of others, where the sum has one term only."""
        # A place beyond the edge gives 0 as the index of a tensor, but could meet another condition by chance.
        places: list[tuple[int, Meeting | int]] = []
        if meeting.inside or meeting.one in of_tensors:
            places.append((meeting.one, meeting))
        if meeting.same:
            places.append((meeting.many[0], meeting.one))
        for index, stand_in in places:
            if index in self.summed and index not in self._behind(stand_in):
                self.summed.remove(index)
                self.replaced[index] = stand_in
                return True
        return False

    def _behind(self, stand_in: Meeting | int) -> set[int]:
        """The indices that the expression in place of an index consists of."""
        found: set[int] = set()
        waiting: list[Meeting | int] = [stand_in]
        while waiting:
            each = waiting.pop()
            if isinstance(each, Meeting):
                waiting.extend(each.many)
            elif each in self.replaced:
                waiting.append(self.replaced[each])
            else:
                found.add(each)
        return found

    def text(self, index: int) -> str:
        """The letter of an index, or the expression in its place."""
        stand_in = self.replaced.get(index, None)
        if stand_in is None:
            return self.letters[index]
        return self.place(stand_in) if isinstance(stand_in, Meeting) else self.text(stand_in)

    def place(self, meeting: Meeting) -> str:
        """`2*i+a-1`, the index that a picker determines."""
        letters = [self.text(each) for each in meeting.many]
        picker = meeting.picker
        if picker.table is not None:
            return self._looked_up(np.asarray(picker.table), letters)
        terms = [self._times(stride, letter) for stride, letter in zip(picker.strides, letters) if stride]
        if picker.offset or not terms:
            before = bool(terms) and terms[0].startswith("-")
            terms.insert(0 if before else len(terms), str(picker.offset))
        return "+".join(terms).replace("+-", "-")

    def _times(self, stride: int, letter: str) -> str:
        if stride == 1:
            return letter
        inside = f"({letter})" if any(sign in letter for sign in "+-") else letter
        return f"-{inside}" if stride == -1 else f"{stride}{'' if self.tex else '*'}{inside}"

    def _looked_up(self, table: np.ndarray, letters: Sequence[str]) -> str:
        """A short list of places as text: `[2,0,1][i]`."""
        if table.ndim == 1 and table.size <= LARGEST_TABLE:
            places = ",".join(map(str, table.tolist()))
            return f"({places})_{{{letters[0]}}}" if self.tex else f"[{places}][{letters[0]}]"
        called = r"\operatorname{table}" if self.tex else "table"
        return f"{called}({','.join(letters)})"
