"""Contraction (einsum) of arrays and selections: selections become gathers and scatters, then one einsum runs.

A factor is an array or a selection with its index numbers (ids), one for each axis, equal for axes that meet.
Selections are replaced one picker at a time: a gather or scatter on one array where possible, otherwise by
first contracting the arrays that they connect, and at worst by a dense array of zeros and ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import opt_einsum

from ..index import Ids, Shape
from ..sparse_selector import AxisSelection, SelectionNode
from .arrays import Array, convert_like, namespace, to_common_library
from .einsum_kernels import find_kernel
from .gather_scatter import gather, gather_batched, permute_axes, scatter, scatter_batched

Factor = tuple[Any, Ids]  # an array or a selection, and the ids of its axes


def product(factors: list[Factor], dst: Ids, masks: list[Factor] | None = None) -> Array:
    """The sum, over every id that is not in dst, of the product of the factors.

    masks: for each factor, 1 for ordinary entries and 0 for structural zeros, whose products are skipped, so that
    0 * inf is not NaN there.
    """
    if masks is not None:
        return _masked_product(factors, masks, dst)
    return contract_arrays(apply_selections(factors, dst) or [(np.array(1.0), ())], dst)


def _masked_product(factors: list[Factor], masks: list[Factor], dst: Ids) -> Array:
    (arrays, moves), present = _split_selections(factors, dst), _split_selections(masks, dst)[0]
    for move in moves:
        move(arrays)
        move(present)
        pairs = zip(arrays, present, strict=True)
        arrays[:] = [(namespace(x).where(convert_like(x, mask) != 0.0, x, 0.0), ids) for (x, ids), (mask, _) in pairs]
    if len(arrays) > 1 and isinstance(arrays[0][0], (np.ndarray, np.generic)):
        return _contract_masked(arrays, present, dst)
    return contract_arrays(arrays or [(np.array(1.0), ())], dst)


def has_finite_sum(array: Array) -> bool:
    """Whether a NumPy array holds neither NaN nor infinity; True, unchecked, for arrays of other libraries."""
    if not isinstance(array, (np.ndarray, np.generic)):
        return True
    with np.errstate(all="ignore"):  # no warning where inf + -inf gives NaN
        return math.isfinite(np.add.reduce(array, axis=None))


def _contract_masked(arrays: list[Factor], masks: list[Factor], dst: Ids) -> Array:
    """A contraction that skips structural zeros (mask 0) although einsum multiplies them.

    Finite terms are summed by one einsum; terms that are inf, -inf or NaN are counted by others.
    """

    def total(weigh: Callable[[Array], Array]) -> Array:
        pairs = zip(arrays, masks, strict=True)
        return contract_arrays([(np.where(mask != 0.0, weigh(x), 0.0), ids) for (x, ids), (mask, _) in pairs], dst)

    finite = total(lambda x: np.where(np.isfinite(x), x, 0.0))
    infinite = total(lambda x: (x == x) & (x != 0)) - total(lambda x: np.isfinite(x) & (x != 0))
    signs = total(lambda x: np.nan_to_num(np.sign(x))) - total(lambda x: np.where(np.isfinite(x), np.sign(x), 0.0))
    wild = total(np.ones_like) - total(np.isfinite) - infinite  # the number of NaN terms: 0 * inf, or a NaN factor
    up, down = (np.where(count > 0, np.inf, 0.0) for count in (infinite + signs, infinite - signs))
    return np.where(wild > 0, np.nan, finite + up - down)


def apply_selections(factors: list[Factor], dst: Ids) -> list[Factor]:
    """The array factors after all selections among the factors were applied to them."""
    arrays, moves = _split_selections(factors, dst)
    for move in moves:
        move(arrays)
    return arrays


def _split_selections(factors: list[Factor], dst: Ids) -> tuple[list[Factor], list[Move]]:
    """Split factors into the arrays, and the moves that apply the selections to them."""
    arrays = [(array, ids) for array, ids in factors if not isinstance(array, SelectionNode)]
    selections = [(array, ids) for array, ids in factors if isinstance(array, SelectionNode)]
    return arrays, _plan_moves(selections, [ids for _, ids in arrays], dst) if selections else []


Move = Callable[[list[Factor]], None]  # updates the list of arrays in place: gather, scatter, contract, or densify


def _plan_moves(selections: Sequence[tuple[SelectionNode, Ids]], lying: list[Ids], dst: Ids) -> list[Move]:
    """Plan the moves that eliminate the selections of a contraction.

    lying: the ids of each array; updated to those after the moves.
    """
    picks, moves = list[SelectionTerm](), list[Move]()
    for selection, ids in selections:
        for picker in selection.selections:
            many = [ids[axis] for axis in picker.axes]
            picks.append(SelectionTerm(selection.shape, picker, many, ids[picker.axis]))
    while picks:
        tries = ((pick, pick.move(lying, _find_used_ids(dst, picks, pick))) for pick in picks)
        pick_done, move = next((pair for pair in tries if pair[1]), (picks[0], None))
        if move is None:
            joins = (pick.contract_move(lying, _find_used_ids(dst, picks, pick)) for pick in picks)
            join = next(filter(None, joins), None)
            if join:
                moves.append(join)
                continue
        moves.append(
            move or pick_done.densify_move(lying)
        )  # no gather or scatter is possible: make one selection dense
        picks = [pick for pick in picks if pick is not pick_done]  # not remove(): == of table arrays is ambiguous
    return moves


class SelectionTerm(NamedTuple):
    """One index map of a selection within a contraction, with the ids of its axes."""

    shape: Shape  # of the selection
    picker: AxisSelection
    many: list[int]  # the ids of picker.axes
    one: int  # the id of picker.axis, the axis that they determine

    def densify_move(self, lying: list[Ids]) -> Move:
        """The move that appends the dense 0/1 array of this picker (the last resort)."""
        axes = sorted((*self.picker.axes, self.picker.axis))
        names = dict(zip((*self.picker.axes, self.picker.axis), (*self.many, self.one)))
        ids = tuple(names[axis] for axis in axes)
        lying.append(ids)

        def write(arrays: list[Factor]) -> None:
            dense = self.picker.dense(self.shape).reshape([self.shape[axis] for axis in axes])
            arrays.append((convert_like(arrays[0][0], dense) if arrays else dense, ids))

        return write

    def contract_move(self, lying: list[Ids], needed: set[int]) -> Move | None:
        """The move that contracts the arrays that share an axis with this pick into one, which can be scattered.

        Ids that no other array, pick or the result uses are summed. None if that does not help.
        """
        meant = [number for number, ids in enumerate(lying) if not {*self.many, self.one}.isdisjoint(ids)]
        used = needed.union(self.many, [self.one], *(ids for number, ids in enumerate(lying) if number not in meant))
        joined = dict.fromkeys(chain.from_iterable(lying[number] for number in meant))
        ids = tuple(index for index in joined if index in used)
        if len(meant) < 2 or self.one in ids or needed.intersection(self.many) or not set(self.many) <= set(ids):
            return None
        lying[:] = [*(others for number, others in enumerate(lying) if number not in meant), ids]

        def join(arrays: list[Factor]) -> None:
            product = contract_arrays([arrays[number] for number in meant], ids)
            arrays[:] = [*(array for number, array in enumerate(arrays) if number not in meant), (product, ids)]

        return join

    def move(self, lying: list[Ids], needed: set[int]) -> Move | None:
        """The move that gathers or scatters within one array; None if that is impossible.

        needed: the ids that the result or other picks use.
        """
        shape, picker, picker_ids, one = self
        with_one = [number for number, ids in enumerate(lying) if one in ids]
        with_many = [number for number, ids in enumerate(lying) if any(index in ids for index in picker_ids)]
        if one not in needed and len(with_one) == 1:
            number, ids = with_one[0], lying[with_one[0]]
            axis, shared = ids.index(one), [index for index in picker_ids if index in ids]
            rest = tuple(index for index in ids if index not in (one, *shared))
            if not shared:
                spread = (*ids[:axis], *picker_ids, *ids[axis + 1 :])
                return _make_move(lying, number, spread, lambda x: gather(x, axis, picker, shape))
            if picker.table is not None:
                order = [ids.index(index) for index in (*shared, one, *rest)]
                along = picker.with_batch_axes([picker_ids.index(index) for index in shared], shape)
                ids = (*picker_ids, *rest)
                return _make_move(lying, number, ids, lambda x: gather_batched(permute_axes(x, order), *along))
            return None
        if not picker_ids and lying and not with_one:
            with_many = [0]  # an index map without axes puts an array at one index of a new axis
        shared = [index for index in picker_ids if index in needed]
        if len(with_many) == 1 and with_many[0] not in with_one and (picker.table is not None or not shared):
            number, ids = with_many[0], lying[with_many[0]]
            if all(index in ids for index in picker_ids):
                axes = tuple(ids.index(index) for index in picker_ids)
                rest = tuple(index for index in ids if index not in picker_ids)
                if not shared:
                    return _make_move(lying, number, (one, *rest), lambda x: scatter(x, axes, picker, shape))
                along = picker.with_batch_axes([picker_ids.index(index) for index in shared], shape)
                return _make_move(lying, number, (*shared, one, *rest), lambda x: scatter_batched(x, axes, *along))
        return None


def _make_move(array_ids: list[Ids], number: int, ids: Ids, change: Callable[[Array], Array]) -> Move:
    array_ids[number] = ids

    def move(arrays: list[Factor]) -> None:
        arrays[number] = (change(arrays[number][0]), ids)

    return move


def _find_used_ids(dst: Ids, picks: list[SelectionTerm], done: SelectionTerm) -> set[int]:
    """The ids that are still needed after pick `done`: by the result or by other picks."""
    return set(dst).union(*([*pick.many, pick.one] for pick in picks if pick is not done))


def contract_arrays(arrays: list[Factor], dst: Ids) -> Array:
    """The einsum of arrays (no selections): by plain NumPy calls if there is a kernel, else by opt_einsum."""
    if len(arrays) == 1 and arrays[0][1] == dst:
        return arrays[0][0]
    ids = tuple(axis_ids for _, axis_ids in arrays)
    if all(type(array) is np.ndarray for array, _ in arrays) and len(arrays) <= 2:
        kernel = find_kernel(ids, dst)
        if kernel is not None:
            return kernel(*[array for array, _ in arrays])
    expression = _expression(ids, dst, tuple(tuple(array.shape) for array, _ in arrays))
    return expression(*to_common_library([array for array, _ in arrays]))


@lru_cache(maxsize=4096)
def _expression(ids: tuple[Ids, ...], dst: Ids, shapes: tuple[Shape, ...]) -> Callable[..., Array]:
    """An opt_einsum expression with a contraction order for these shapes; cached."""
    letters: dict[int, str] = {}
    for index in chain(*ids):
        letters.setdefault(index, opt_einsum.get_symbol(len(letters)))
    *terms, result = ("".join(map(letters.__getitem__, own)) for own in (*ids, dst))
    # Without BLAS if an extent is 1: NumPy's tensordot gives 0, not NaN, for 0 * inf if a factor is a single number.
    is_safe = all(extent != 1 for extent in chain(*shapes))
    equation = f"{','.join(terms)}->{result}"
    expression: Callable[..., Array] = opt_einsum.contract_expression(equation, *shapes, use_blas=is_safe)
    return expression
