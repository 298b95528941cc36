"""The samples hidden in an unrolled graph become lanes of one graph.

>>> from naive_graph import Graph
>>> from naive_graph.engines.passes.dots import dots
>>> from naive_graph.engines.passes.build_ir import build_ir
>>> w = Graph.Variable(2.0)
>>> loss = Graph.sum([(w * x).sin() for x in range(8)])
>>> ir, _ = build_ir(loss.tables, [loss.row])
>>> for line in str(ir).splitlines()[:7]:
...     print(line)
   0 leaf
   1 leaf 0.0
   2 mul 0 1
   3 sin 2
   4 leaf 1.0
   5 mul 0 4
   6 sin 5
>>> ir, place = dots(ir, keep=[len(ir) - 1])
>>> ir, now = lanes(ir, wanted=[0], keep=[place[-1]])
>>> print(ir)
   0 leaf
   1 leaf  (group 1)
   2 mul 0 1  (group 1)
   3 sin 2  (group 1)
   4 total 3
   5 dot 4

A loop over samples writes the same rows again and again, with other numbers in
them. `repeats` guesses which rows are whose; here each sample's are laid beside
the first one's, operand for operand. What is the same row in all stays one row with
one value. What differs becomes a row with a value for each sample; a leaf holds all
their numbers. Where samples take another one of their own rows, as `h[label]` does,
the row is chosen among them. Where they meet in a sum, there is their total; other
terms of it stay. Sums of sums are one, but for those that a comparison depends on:
these keep their written order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...core.tables import CONSTANT
from .cse import eliminate_dead_code
from .ir import DOT, IR, NONE, SUB, TOTAL, WHERE, Array, Lanes, Sample, replace_rows
from .repeats import FEWEST, SUM, candidate_partitions, find_owners, is_compared, is_part, uses_of

MOST_GROUPS = 16
MOST_CHOICES = 64  # rows among which samples choose
LESS, UNLIKE = -3, -4  # stand for -1, with which a term is multiplied that is taken away; and for nothing that fits
LEAST_WORK = 3  # rows and operands of a sample


def lanes(ir: IR, wanted: Array, keep: Array, alone: Sequence[int] = ()) -> tuple[IR, dict[int, Sample]]:
    """The plan with its hidden samples as lanes, and where the rows of `wanted` and `keep` are now.

    wanted: leaves whose gradients are asked for; one that is not shared must
    not be used outside its own sample. keep: rows that somebody wants to see.
    alone: those of them that are to be differentiated, and so must not become
    one lane of many: an adjoint begins at 1 in every lane.
    """
    now = {int(row): Sample(int(row), NONE) for row in (*wanted, *keep)}
    for by_identity in (True, False):
        if len(ir.samples) > 1:
            break
        while len(ir.samples) <= MOST_GROUPS:
            seen = WantedRows(*([now[int(row)].row for row in rows] for rows in (wanted, keep, alone)))
            group = next(
                (
                    candidate
                    for guess in candidate_partitions(ir, by_identity)
                    if (candidate := _align_samples(ir, guess, seen))
                ),
                None,
            )
            if group is None:
                break
            ir, new_place = group.as_lanes()
            now = {
                row: new_place[sample.row]._replace(lane=sample.lane) if sample.lane != NONE else new_place[sample.row]
                for row, sample in now.items()
            }
            ir, new_row = eliminate_dead_code(ir, np.array([sample.row for sample in now.values()], np.int32))
            now = {row: Sample(int(new_row[sample.row]), sample.lane) for row, sample in now.items()}
    return ir, now


class WantedRows(NamedTuple):
    """Leaves that are wanted, rows that are kept, and those of them that must stay alone."""

    wanted: list[int]
    keep: list[int]
    alone: list[int]


class Root(NamedTuple):
    """A sum in which samples meet: its terms in pairs, whose each is, and whether they are in the written order."""

    row: int
    terms: Array
    samples: Array
    ordered: bool


class NewRow(NamedTuple):
    """A row of the new plan. key: the old row behind which it stands; its operands are old rows and new ones."""

    key: int
    kind: int
    group: int
    operands: list[int]


def _align_samples(ir: IR, guess: Array, seen: WantedRows) -> AlignedSamples | None:
    """The samples of a guess that are the same rows in the same places; None if there are too few."""
    uses = uses_of(ir)
    uses[[*seen.keep, *seen.alone]] += 2
    while True:
        sample = find_owners(ir, uses, guess)
        if sample is None or (sample[seen.alone] >= 0).any():
            return None
        roots = [root for row in _outermost_sums(ir, uses, sample) if (root := _collect_terms(ir, uses, sample, row))]
        if not roots:
            return None
        kinds, kind, count = np.unique(_shapes(ir, sample, roots), return_inverse=True, return_counts=True)
        if len(kinds) == 1 or count.max() < FEWEST:
            break
        like = kind == count.argmax()
        number = np.where(like, np.cumsum(like) - 1, NONE)
        guess = np.where(sample >= 0, number[sample], NONE).astype(np.int32)
    found = AlignedSamples(ir, sample, roots, seen)
    return found if count.max() >= FEWEST and found.fits() else None


def _outermost_sums(ir: IR, uses: Array, sample: Array) -> list[int]:
    """The sums over samples that are no part of another one."""
    at = np.flatnonzero((ir.operands >= 0) & (sample[ir.operands] == SUM))
    by = np.searchsorted(ir.starts, at, side="right") - 1
    edges = zip(at.tolist(), by.tolist(), strict=True)
    parts = [ir.operands[x] for x, row in edges if sample[row] == SUM and is_part(row, x, ir.columns, uses)]
    tops: list[int] = np.setdiff1d(np.flatnonzero(sample == SUM), parts).tolist()
    return tops


def _collect_terms(ir: IR, uses: Array, sample: Array, top: int) -> Root:
    """The terms of a sum with those of the sums in it. A term of two samples is the first one's: then nothing fits."""
    terms, waiting, ordered = [], [(top, NONE)], True
    while waiting:
        row, y = waiting.pop()
        if row != top and (y != NONE or sample[row] != SUM or uses[row] != 1):
            terms.append((row, y))
            continue
        below = ir.of(row)
        signs = [NONE, LESS] if ir.kinds[row] == SUB else [NONE] * len(below)
        waiting += reversed(list(zip(below[::2], below[1::2]) if ir.kinds[row] == DOT else zip(below, signs)))
        ordered = ordered and (row == top or not terms)
    pairs = np.array(terms, np.int32).T
    owners = np.where(pairs >= 0, np.maximum(sample[pairs], NONE), NONE)
    return Root(top, pairs, owners.max(0), ordered)


def _shapes(ir: IR, sample: Array, roots: Iterable[Root]) -> Array:
    """A number for each sample: what its rows compute, in their order, and to how many terms of which sums it adds."""
    rows, starts = _in_order(sample)
    position = (np.arange(len(rows)) - np.repeat(starts[:-1], np.diff(starts))).astype(np.uint64)
    signature = (ir.kinds[rows] * 4099 + np.diff(ir.starts)[rows] + (1 << 20)).astype(np.uint64)
    shapes = np.add.reduceat(signature * (2 * position + 1) * np.uint64(0x9E3779B97F4A7C15), starts[:-1])
    for root in roots:
        terms = np.bincount(root.samples[root.samples >= 0], minlength=len(starts) - 1)
        shapes += terms.astype(np.uint64) * np.uint64(2 * root.row + 1) * np.uint64(0xC2B2AE3D27D4EB4F)
    return shapes


def _in_order(sample: Array) -> tuple[Array, Array]:
    """The samples' rows, one sample after the other; and where each one's begin, and the last ends."""
    rows = np.flatnonzero(sample >= 0)
    rows = rows[np.argsort(sample[rows], kind="stable")]
    return rows, np.concatenate([[0], np.cumsum(np.bincount(sample[rows]))])


class AlignedSamples:
    """Samples with as many rows of the same kinds each, laid side by side; and what becomes of them.

    order: the samples, as they are added up. rows: [place, sample]. made: the new
    rows by number, in an order in which operands come first.
    """

    def __init__(self, ir: IR, sample: Array, roots: list[Root], seen: WantedRows) -> None:
        self.ir, self.sample, self.roots, self.seen = ir, sample, roots, seen
        self.group, self.choices = len(ir.samples), 0
        first = roots[0].samples
        self.order = first[np.sort(np.unique(first, return_index=True)[1])]
        self.order = self.order[self.order >= 0]
        rows, starts = _in_order(sample)
        self.count = len(starts) - 1
        even = not np.diff(starts, 2).any() and len(self.order) == self.count
        self.rows: Array = (
            rows.reshape(self.count, -1).T[:, self.order] if even else np.zeros((0, self.count), np.int32)
        )
        self.made: dict[int, NewRow] = {}
        self.own: list[int] = []  # the new row of each place
        self.leaves: dict[bytes, int] = {}  # the new leaf of old ones
        self.held: dict[int, Lanes] = {}
        self.inside = np.zeros(len(ir), np.int32)  # how often samples use each leaf

    def fits(self) -> bool:
        """Lay them side by side, operand for operand; False if they differ in more than leaves and choices."""
        ir = self.ir
        degrees = np.diff(ir.starts)[self.rows]
        if not len(degrees) or (degrees != degrees[:, :1]).any() or len(self.rows) + degrees[:, 0].sum() < LEAST_WORK:
            return False
        self.place = np.full(len(ir) + 1, NONE, np.int32)
        self.place[self.rows] = np.arange(len(self.rows))[:, None]
        for row, degree in zip(self.rows, degrees[:, 0].tolist(), strict=True):
            key, kind = int(row.max()), int(ir.kinds[row[0]])
            operands = [self._operand(ir.operands[ir.starts[row] + each], key) for each in range(degree)]
            if UNLIKE in operands or (ir.kinds[row] != kind).any():
                return False
            self.own.append(self._make(NewRow(key, kind, self.group, operands)))
        return all(map(self._added_up, self.roots)) and self._wanted_alone()

    def _make(self, row: NewRow, number: int = NONE) -> int:
        if LESS in row.operands:
            less = self._hold(Lanes([-1.0], [None]))
            row = row._replace(operands=[less if x == LESS else x for x in row.operands])
        number = len(self.ir) + len(self.made) if number == NONE else number
        self.made[number] = row
        return number

    def _operand(self, column: Array, key: int) -> int:
        """The new row for what stands at one place of all samples; UNLIKE if it is nothing that they may differ in."""
        ir, first = self.ir, int(column[0])
        owners, places = np.where(column >= 0, self.sample[column], NONE), self.place[column]
        if (column == first).all() and owners[0] < 0:
            return first if first < 0 or ir.groups[first] == 0 else UNLIKE
        if (owners == self.order).all():
            return self.own[places[0]] if (places == places[0]).all() else self._chosen(places, key)
        leaf = (column >= 0) & (ir.starts[column] == ir.starts[column + 1]) & (ir.groups[column] == 0)
        return self._leaf(column) if leaf.all() else UNLIKE

    def _leaf(self, column: Array) -> int:
        """The leaf that holds these leaves' numbers."""
        ir, key, rows = self.ir, column.tobytes(), column.tolist()
        self.inside[column] += 1
        if key not in self.leaves:
            held = Lanes([ir.constants.get(row, 0.0) for row in rows], [ir.sources.get(row) for row in rows])
            self.leaves[key] = self._hold(held, int(ir.kinds[rows[0]]))
        return self.leaves[key]

    def _hold(self, held: Lanes, kind: int = CONSTANT) -> int:
        """A new leaf; one Constant, written again for each sample, is one number."""
        same = held.constant and len({np.float64(number).tobytes() for number in held.numbers}) == 1
        made = self._make(NewRow(NONE, kind, 0 if same else self.group, []))
        self.held[made] = held
        return made

    def _chosen(self, places: Array, key: int) -> int:
        """Each sample's own one of some rows: the sum of all of them, each where it is the one. -0.0 adds nothing."""
        among = np.unique(places).tolist()
        self.choices += len(among)
        if self.choices > max(MOST_CHOICES, len(self.rows)):
            return UNLIKE
        nothing, pairs = self._hold(Lanes([-0.0], [None])), []
        for each in among:
            mark = self._hold(Lanes((places == each).astype(float).tolist(), [None] * len(places)))
            pairs += [self._make(NewRow(key, WHERE, self.group, [mark, self.own[each], nothing])), NONE]
        return self._make(NewRow(key, DOT, self.group, pairs))

    def _added_up(self, root: Root) -> bool:
        """Write a total in the place of the samples' first term; False if they cannot be added up in another order."""
        mine = np.flatnonzero(root.samples >= 0)
        each, first = len(mine) // self.count, int(mine[0])
        ordered = each == 1 and root.ordered and mine[-1] == self.count - 1
        if not (ordered and (root.samples[mine] == self.order).all()) and is_compared(self.ir, root.row):
            return False
        mine = mine[np.argsort(root.samples[mine], kind="stable")].reshape(self.count, each)[self.order].T
        pairs = [self._operand(root.terms[side, some], root.row) for some in mine for side in (0, 1)]
        if UNLIKE in pairs:
            return False
        if each > 1:
            pairs = [self._make(NewRow(root.row, DOT, self.group, pairs)), NONE]
        kept = (root.samples < 0) | (np.arange(len(root.samples)) == first)
        root.terms[:, first] = self._make(NewRow(root.row, TOTAL, 0, pairs)), NONE
        self._make(NewRow(root.row, DOT, 0, root.terms[:, kept].T.reshape(-1).tolist()), root.row)
        return True

    def _wanted_alone(self) -> bool:
        """Whether each wanted leaf that is one of many stands in one place only, and only its own sample uses it."""
        ir, columns = self.ir, [np.frombuffer(column, np.int32) for column in self.leaves]
        stands = np.bincount(np.concatenate([np.zeros(0, np.int32), *columns]), minlength=len(ir))
        if stands[self.seen.alone].any():  # an output that is a leaf: its adjoint would begin at 1 in every lane
            return False
        wanted = [row for row in self.seen.wanted if stands[row]]
        return bool((stands[wanted] == 1).all() and (uses_of(ir)[wanted] == self.inside[wanted]).all())

    def as_lanes(self) -> tuple[IR, dict[int, Sample]]:
        """The plan with them as one group of lanes, and where the rows are that somebody wants to see."""
        ir, seen = self.ir, {*self.seen.wanted, *self.seen.keep, *self.seen.alone}
        alone = np.flatnonzero((self.sample == NONE) & (np.diff(ir.starts) > 0)).tolist()
        rows = {row: NewRow(row, int(ir.kinds[row]), int(ir.groups[row]), ir.of(row)) for row in alone}
        rows |= self.made
        used = seen.union(*(each.operands for each in rows.values()))
        leaves = sorted(row for row in used if 0 <= row < len(ir) and ir.starts[row] == ir.starts[row + 1])
        rows = {row: NewRow(NONE, int(ir.kinds[row]), int(ir.groups[row]), []) for row in leaves} | rows
        order = sorted(rows, key=lambda row: rows[row].key)
        place = np.full(len(ir) + len(self.made) + 1, NONE, np.int32)
        place[order] = np.arange(len(order))
        made = [rows[row] for row in order]
        new = replace_rows(ir, place, [(each.kind, place[each.operands].tolist(), each.group) for each in made])
        new.samples = [*ir.samples, self.count]
        for row, held in self.held.items():
            if rows[row].group == 0:
                new.constants[int(place[row])] = held.numbers[0]
            else:
                new.sources[int(place[row])] = held
        new.constants, new.sources = (dict(sorted(each.items())) for each in (new.constants, new.sources))
        now = {row: Sample(int(place[row]), NONE) for row in seen} | self._lanes_of(self.seen.wanted, place)
        lane_of, inner = np.argsort(self.order), [row for row in seen if self.sample[row] >= 0]
        here = {row: Sample(int(place[self.own[self.place[row]]]), int(lane_of[self.sample[row]])) for row in inner}
        return new, now | here

    def _lanes_of(self, wanted: Sequence[int], place: Array) -> dict[int, Sample]:
        """Of the wanted leaves that are one of many, where they are now."""
        marked = np.zeros(len(self.ir), bool)
        found: dict[int, Sample] = {}
        marked[wanted] = True
        for column, leaf in self.leaves.items():
            rows = np.frombuffer(column, np.int32)
            found |= {int(rows[lane]): Sample(int(place[leaf]), int(lane)) for lane in np.flatnonzero(marked[rows])}
        return found
