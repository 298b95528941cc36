"""Loop re-rolling: the samples of an unrolled loop become lanes of one vectorised plan.

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

A loop over samples writes the same rows once per sample, with other numbers. `repeats`
guesses which row belongs to which sample; this pass aligns the samples operand by
operand. An operand that is the same row in all samples stays one scalar row. Operands
that differ become one row with a value for each sample, and a leaf holds the numbers of
all samples. Where each sample uses another one of its own rows, as `h[label]` does, the
row is selected with 0/1 masks. A sum over samples becomes a TOTAL row; its other terms
stay. Nested sums are flattened, except where a comparison depends on them: these keep
their written order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...core.tables import CONSTANT
from .cse import eliminate_dead_code
from .ir import DOT, IR, NONE, SUB, TOTAL, WHERE, Array, Lanes, Sample, replace_rows
from .repeats import FEWEST, SUM, candidate_partitions, is_compared, outermost_sums, propagate_samples, uses_of

MOST_GROUPS = 16
MOST_CHOICES = 64  # alternatives of all selections together, unless a sample has more rows than that
LESS, UNLIKE = -3, -4  # in place of a row: the coefficient -1 of a subtracted term; operands that cannot be aligned
LEAST_WORK = 3  # rows and operands that a sample must have


def lanes(ir: IR, wanted: Array, keep: Array, alone: Sequence[int] = ()) -> tuple[IR, dict[int, Sample]]:
    """Re-roll the hidden samples into lanes; returns the plan, and where the rows of `wanted` and `keep` are now.

    wanted: leaves whose gradients are requested; one that is not shared must not be used outside its own sample.
    keep: rows that must survive. alone: rows to be differentiated, which must not become one lane of many: the seed of
    a reverse sweep would be 1 in every lane.
    """
    now = {int(row): Sample(int(row), NONE) for row in (*wanted, *keep)}
    for by_identity in (True, False):
        if ir.has_samples:
            break
        while len(ir.samples) <= MOST_GROUPS:
            requested = WantedRows(*([now[int(row)].row for row in rows] for rows in (wanted, keep, alone)))
            group = next(
                (
                    candidate
                    for guess in candidate_partitions(ir, by_identity)
                    if (candidate := _align_samples(ir, guess, requested))
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
    """The parameters of `lanes`, as rows of the current plan."""

    wanted: list[int]
    keep: list[int]
    alone: list[int]


class SumRoot(NamedTuple):
    """A sum over samples, flattened.

    terms: [2, n], the two factors of each term (the second NONE or LESS if there is none). samples: of each term, or
    NONE. ordered: whether flattening kept the written order of additions.
    """

    row: int
    terms: Array
    samples: Array
    ordered: bool


class NewRow(NamedTuple):
    """A row of the new plan. key: sort key, the old row after which it is placed. operands: old or new rows."""

    key: int
    kind: int
    group: int
    operands: list[int]


def _align_samples(ir: IR, guess: Array, requested: WantedRows) -> AlignedSamples | None:
    """Align the samples of a guess that have the same shape, the most frequent one; None if there are too few."""
    uses = uses_of(ir)
    uses[[*requested.keep, *requested.alone]] += 2
    while True:
        sample = guess.copy()
        if not propagate_samples(len(ir), ir.columns, uses, sample) or (sample[requested.alone] >= 0).any():
            return None
        roots: list[SumRoot] = []
        shapes = _hash_shapes(ir, sample)
        if (shapes == shapes[:1]).all():  # collecting the terms takes longer, so it comes last
            roots = [_collect_terms(ir, uses, sample, row) for row in outermost_sums(ir, uses, sample)]
            if not roots:
                return None
            shapes = _hash_shapes(ir, sample, roots)
        kinds, kind, count = np.unique(shapes, return_inverse=True, return_counts=True)
        if count.max(initial=0) < FEWEST:
            return None
        if len(kinds) == 1 and roots:
            found = AlignedSamples(ir, sample, roots, requested)
            return found if found.fits() else None
        is_frequent = kind == count.argmax()
        number = np.where(is_frequent, np.cumsum(is_frequent) - 1, NONE)
        guess = np.where(sample >= 0, number[sample], NONE).astype(np.int32)


def _collect_terms(ir: IR, uses: Array, sample: Array, top: int) -> SumRoot:
    """Flatten a sum and its partial sums into terms. A term of two samples counts for one, and alignment will fail."""
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
    return SumRoot(top, pairs, owners.max(0), ordered)


def _hash_shapes(ir: IR, sample: Array, roots: Iterable[SumRoot] = ()) -> Array:
    """A hash for each sample: the kinds and arities of its rows in order, and its number of terms in each root sum."""
    rows, starts = _sort_by_sample(sample)
    position = (np.arange(len(rows)) - np.repeat(starts[:-1], np.diff(starts))).astype(np.uint64)
    signature = (ir.kinds[rows] * 4099 + np.diff(ir.starts)[rows] + (1 << 20)).astype(np.uint64)
    shapes = np.add.reduceat(signature * (2 * position + 1) * np.uint64(0x9E3779B97F4A7C15), starts[:-1])
    for root in roots:
        terms = np.bincount(root.samples[root.samples >= 0], minlength=len(starts) - 1)
        shapes += terms.astype(np.uint64) * np.uint64(2 * root.row + 1) * np.uint64(0xC2B2AE3D27D4EB4F)
    return shapes


def _sort_by_sample(sample: Array) -> tuple[Array, Array]:
    """The rows of the samples, sorted by sample; and the offsets at which each sample begins, with the end."""
    rows = np.flatnonzero(sample >= 0)
    rows = rows[np.argsort(sample[rows], kind="stable")]
    return rows, np.concatenate([[0], np.cumsum(np.bincount(sample[rows]))])


class AlignedSamples:
    """Samples of one shape, aligned row by row, and the vectorised rows that replace them.

    order: the samples in the order in which the first root adds them up. rows: [position in the sample, sample].
    made: the new rows by number, in topological order.
    """

    def __init__(self, ir: IR, sample: Array, roots: list[SumRoot], requested: WantedRows) -> None:
        self.ir, self.sample, self.roots, self.requested = ir, sample, roots, requested
        self.group, self.choices = len(ir.samples), 0
        first = roots[0].samples
        self.order = first[np.sort(np.unique(first, return_index=True)[1])]
        self.order = self.order[self.order >= 0]
        rows, starts = _sort_by_sample(sample)
        self.count = len(starts) - 1
        even = not np.diff(starts, 2).any() and len(self.order) == self.count
        self.rows: Array = (
            rows.reshape(self.count, -1).T[:, self.order] if even else np.zeros((0, self.count), np.int32)
        )
        self.made: dict[int, NewRow] = {}
        self.row_at: list[int] = []  # the new row for each position in a sample
        self.leaves: dict[bytes, int] = {}  # an array of old leaves, one per sample (its bytes) -> the new leaf
        self.lanes_of_leaf: dict[int, Lanes] = {}  # the numbers of each new leaf
        self.uses_by_samples = np.zeros(len(ir), np.int32)  # of each old leaf

    def fits(self) -> bool:
        """Align the samples operand by operand; False if they differ in more than leaves and selections."""
        ir = self.ir
        degrees = np.diff(ir.starts)[self.rows]
        if not len(degrees) or (degrees != degrees[:, :1]).any() or len(self.rows) + degrees[:, 0].sum() < LEAST_WORK:
            return False
        self.place = np.full(len(ir) + 1, NONE, np.int32)
        self.place[self.rows] = np.arange(len(self.rows))[:, None]
        for row, degree in zip(self.rows, degrees[:, 0].tolist(), strict=True):
            key, kind = int(row.max()), int(ir.kinds[row[0]])
            operands = [self._operand(ir.operands[ir.starts[row] + index], key) for index in range(degree)]
            if UNLIKE in operands or (ir.kinds[row] != kind).any():
                return False
            self.row_at.append(self._make(NewRow(key, kind, self.group, operands)))
        return all(map(self._emit_sum, self.roots)) and self._wanted_alone()

    def _make(self, row: NewRow, number: int = NONE) -> int:
        """Add a new row, under this number or the next free one; LESS among its operands becomes a constant -1."""
        if LESS in row.operands:
            less = self._add_leaf(Lanes([-1.0], [None]))
            row = row._replace(operands=[less if x == LESS else x for x in row.operands])
        number = len(self.ir) + len(self.made) if number == NONE else number
        self.made[number] = row
        return number

    def _operand(self, column: Array, key: int) -> int:
        """The new row for one operand position. column: that operand of each sample. UNLIKE if they do not align."""
        ir, first = self.ir, int(column[0])
        owners, places = np.where(column >= 0, self.sample[column], NONE), self.place[column]
        if (column == first).all() and owners[0] < 0:
            return first if first < 0 or ir.groups[first] == 0 else UNLIKE
        if (owners == self.order).all():
            return self.row_at[places[0]] if (places == places[0]).all() else self._select_position(places, key)
        leaf = (column >= 0) & (ir.starts[column] == ir.starts[column + 1]) & (ir.groups[column] == 0)
        return self._leaf(column) if leaf.all() else UNLIKE

    def _leaf(self, column: Array) -> int:
        """The new leaf with the numbers of these leaves, one for each sample; made once for equal columns."""
        ir, key, rows = self.ir, column.tobytes(), column.tolist()
        self.uses_by_samples[column] += 1
        if key not in self.leaves:
            held = Lanes([ir.constants.get(row, 0.0) for row in rows], [ir.sources.get(row) for row in rows])
            self.leaves[key] = self._add_leaf(held, int(ir.kinds[rows[0]]))
        return self.leaves[key]

    def _add_leaf(self, held: Lanes, kind: int = CONSTANT) -> int:
        """Make a new leaf; if it holds the same constant in all lanes, it is a scalar."""
        same = held.constant and len({np.float64(number).tobytes() for number in held.numbers}) == 1
        made = self._make(NewRow(NONE, kind, 0 if same else self.group, []))
        self.lanes_of_leaf[made] = held
        return made

    def _select_position(self, places: Array, key: int) -> int:
        """Select another row in each sample: the sum over the candidates of where(mask, row, -0.0); -0.0 adds nothing.

        places: the selected position of each sample. key: the row after which the selection is placed.
        """
        among = np.unique(places).tolist()
        self.choices += len(among)
        if self.choices > max(MOST_CHOICES, len(self.rows)):
            return UNLIKE
        nothing, pairs = self._add_leaf(Lanes([-0.0], [None])), []
        for position in among:
            mask = self._add_leaf(Lanes((places == position).astype(float).tolist(), [None] * len(places)))
            pairs += [self._make(NewRow(key, WHERE, self.group, [mask, self.row_at[position], nothing])), NONE]
        return self._make(NewRow(key, DOT, self.group, pairs))

    def _emit_sum(self, root: SumRoot) -> bool:
        """Replace the samples' terms of a root by one TOTAL row; False if this would change an order that matters."""
        terms = np.flatnonzero(root.samples >= 0)
        terms_each, first = len(terms) // self.count, int(terms[0])  # terms of each sample
        ordered = terms_each == 1 and root.ordered and terms[-1] == self.count - 1
        if not (ordered and (root.samples[terms] == self.order).all()) and is_compared(self.ir, root.row):
            return False
        terms = terms[np.argsort(root.samples[terms], kind="stable")].reshape(self.count, terms_each)[self.order].T
        pairs = [self._operand(root.terms[side, column], root.row) for column in terms for side in (0, 1)]
        if UNLIKE in pairs:
            return False
        if terms_each > 1:
            pairs = [self._make(NewRow(root.row, DOT, self.group, pairs)), NONE]
        kept = (root.samples < 0) | (np.arange(len(root.samples)) == first)
        root.terms[:, first] = self._make(NewRow(root.row, TOTAL, 0, pairs)), NONE
        self._make(NewRow(root.row, DOT, 0, root.terms[:, kept].T.reshape(-1).tolist()), root.row)
        return True

    def _wanted_alone(self) -> bool:
        """Whether each wanted leaf that became a lane is in one lane only, and is used by its own sample only."""
        ir, columns = self.ir, [np.frombuffer(column, np.int32) for column in self.leaves]
        stands = np.bincount(np.concatenate([np.zeros(0, np.int32), *columns]), minlength=len(ir))
        if stands[self.requested.alone].any():  # an output that is a leaf: its adjoint would begin at 1 in every lane
            return False
        wanted = [row for row in self.requested.wanted if stands[row]]
        return bool((stands[wanted] == 1).all() and (uses_of(ir)[wanted] == self.uses_by_samples[wanted]).all())

    def as_lanes(self) -> tuple[IR, dict[int, Sample]]:
        """The plan with the samples as one more group of lanes, and the new place of each wanted or kept row."""
        ir, requested = self.ir, {*self.requested.wanted, *self.requested.keep, *self.requested.alone}
        alone = np.flatnonzero((self.sample == NONE) & (np.diff(ir.starts) > 0)).tolist()
        rows = {row: NewRow(row, int(ir.kinds[row]), int(ir.groups[row]), ir.of(row)) for row in alone}
        rows |= self.made
        used = requested.union(*(each.operands for each in rows.values()))
        leaves = sorted(row for row in used if 0 <= row < len(ir) and ir.starts[row] == ir.starts[row + 1])
        rows = {row: NewRow(NONE, int(ir.kinds[row]), int(ir.groups[row]), []) for row in leaves} | rows
        order = sorted(rows, key=lambda row: rows[row].key)
        place = np.full(len(ir) + len(self.made) + 1, NONE, np.int32)
        place[order] = np.arange(len(order))
        made = [rows[row] for row in order]
        new = replace_rows(ir, place, [(each.kind, place[each.operands].tolist(), each.group) for each in made])
        new.samples = [*ir.samples, self.count]
        for row, held in self.lanes_of_leaf.items():
            if rows[row].group == 0:
                new.constants[int(place[row])] = held.numbers[0]
            else:
                new.sources[int(place[row])] = held
        new.constants, new.sources = (dict(sorted(each.items())) for each in (new.constants, new.sources))
        now = {row: Sample(int(place[row]), NONE) for row in requested} | self._lanes_of(self.requested.wanted, place)
        lane_of, inner = np.argsort(self.order), [row for row in requested if self.sample[row] >= 0]
        here = {row: Sample(int(place[self.row_at[self.place[row]]]), int(lane_of[self.sample[row]])) for row in inner}
        return new, now | here

    def _lanes_of(self, wanted: Sequence[int], place: Array) -> dict[int, Sample]:
        """The new row and lane of each wanted leaf that became a lane."""
        marked = np.zeros(len(self.ir), bool)
        found: dict[int, Sample] = {}
        marked[wanted] = True
        for column, leaf in self.leaves.items():
            rows = np.frombuffer(column, np.int32)
            found |= {int(rows[lane]): Sample(int(place[leaf]), int(lane)) for lane in np.flatnonzero(marked[rows])}
        return found
