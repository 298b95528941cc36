"""Contraction (einsum) of arrays and selections: selections become gathers and scatters, then one einsum runs.

    y[i,f] = sum over j of S[i,j] x[j,f]      with S[i,j] = 1 if j = 2 i + 1, else 0, is a gather: y = x[1::2]

A factor is an array or a selection with its index numbers (ids), one for each axis, equal for axes that meet.
Selections are replaced one index map at a time: by a gather or scatter on one array where possible, otherwise by
first contracting the arrays that they connect, and at worst by a dense array of zeros and ones. Such a replacement is
planned on ids alone, as a `Rewrite`, so it can be applied to arrays and to their masks alike.
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
from ..sparse_selector import IndexMap, SelectionNode
from .arrays import Array, convert_like, namespace, to_common_library
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
    (arrays, rewrites), array_masks = _split_selections(factors, dst), _split_selections(masks, dst)[0]
    for rewrite in rewrites:
        rewrite(arrays)
        rewrite(array_masks)
        pairs = zip(arrays, array_masks, strict=True)
        arrays[:] = [(namespace(x).where(convert_like(x, mask) != 0.0, x, 0.0), ids) for (x, ids), (mask, _) in pairs]
    if len(arrays) > 1 and isinstance(arrays[0][0], (np.ndarray, np.generic)):
        return _contract_masked(arrays, array_masks, dst)
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

    def contract(map_entry: Callable[[Array], Array]) -> Array:
        """The contraction of the arrays after a function of their entries; 0 for structural zeros."""
        pairs = zip(arrays, masks, strict=True)
        return contract_arrays([(np.where(mask != 0.0, map_entry(x), 0.0), ids) for (x, ids), (mask, _) in pairs], dst)

    # A product of indicators (0 or 1) of its factors indicates a term, so their contraction counts terms. A term is
    # infinite if no factor is 0 or NaN, and not all are finite; its sign is the product of the factors' signs.
    finite_sum = contract(lambda x: np.where(np.isfinite(x), x, 0.0))
    infinite = contract(lambda x: (x == x) & (x != 0)) - contract(lambda x: np.isfinite(x) & (x != 0))
    all_signs = contract(lambda x: np.nan_to_num(np.sign(x)))
    signs = all_signs - contract(lambda x: np.where(np.isfinite(x), np.sign(x), 0.0))  # +inf terms minus -inf terms
    nan_terms = contract(np.ones_like) - contract(np.isfinite) - infinite  # 0 * inf, or a NaN factor
    plus, minus = (np.where(count > 0, np.inf, 0.0) for count in (infinite + signs, infinite - signs))
    return np.where(nan_terms > 0, np.nan, finite_sum + plus - minus)


def apply_selections(factors: list[Factor], dst: Ids) -> list[Factor]:
    """The array factors after all selections among the factors were applied to them."""
    arrays, rewrites = _split_selections(factors, dst)
    for rewrite in rewrites:
        rewrite(arrays)
    return arrays


def _split_selections(factors: list[Factor], dst: Ids) -> tuple[list[Factor], list[Rewrite]]:
    """Split factors into the arrays, and the rewrites that apply the selections to them."""
    arrays = [(array, ids) for array, ids in factors if not isinstance(array, SelectionNode)]
    selections = [(array, ids) for array, ids in factors if isinstance(array, SelectionNode)]
    return arrays, _plan_rewrites(selections, [ids for _, ids in arrays], dst) if selections else []


Rewrite = Callable[[list[Factor]], None]  # updates the list of arrays in place: gather, scatter, contract, or densify


def _plan_rewrites(selections: Sequence[tuple[SelectionNode, Ids]], array_ids: list[Ids], dst: Ids) -> list[Rewrite]:
    """Plan the rewrites that eliminate the selections of a contraction.

    array_ids: the ids of each array; updated to those after the rewrites.
    """
    terms, rewrites = list[SelectionTerm](), list[Rewrite]()
    for selection, ids in selections:
        for index_map in selection.index_maps:
            source_ids = [ids[axis] for axis in index_map.axes]
            terms.append(SelectionTerm(selection.shape, index_map, source_ids, ids[index_map.axis]))
    while terms:
        attempts = ((term, term.gather_or_scatter(array_ids, _find_used_ids(dst, terms, term))) for term in terms)
        done, rewrite = next((pair for pair in attempts if pair[1]), (terms[0], None))
        if rewrite is None:
            joins = (term.contract(array_ids, _find_used_ids(dst, terms, term)) for term in terms)
            join = next(filter(None, joins), None)
            if join:
                rewrites.append(join)
                continue
            rewrite = done.densify(array_ids)  # no gather or scatter is possible: make one selection dense
        rewrites.append(rewrite)
        terms = [term for term in terms if term is not done]  # not remove(): == of table arrays is ambiguous
    return rewrites


class SelectionTerm(NamedTuple):
    """One index map of a selection within a contraction, with the ids of its axes."""

    shape: Shape  # of the selection
    index_map: IndexMap
    source_ids: list[int]  # the ids of index_map.axes
    target_id: int  # the id of index_map.axis, the axis that they index into

    def densify(self, array_ids: list[Ids]) -> Rewrite:
        """Append the dense 0/1 array of this index map (the last resort)."""
        axes = sorted((*self.index_map.axes, self.index_map.axis))
        id_of_axis = dict(zip((*self.index_map.axes, self.index_map.axis), (*self.source_ids, self.target_id)))
        ids = tuple(id_of_axis[axis] for axis in axes)
        array_ids.append(ids)

        def append_dense(arrays: list[Factor]) -> None:
            dense = self.index_map.dense(self.shape).reshape([self.shape[axis] for axis in axes])
            arrays.append((convert_like(arrays[0][0], dense) if arrays else dense, ids))

        return append_dense

    def contract(self, array_ids: list[Ids], needed: set[int]) -> Rewrite | None:
        """Contract the arrays that share an axis with this term into one, which can then be scattered.

        Ids that neither another array, nor another term, nor the result uses are summed. None if that does not help.
        """
        own_ids = {*self.source_ids, self.target_id}
        joined = [number for number, ids in enumerate(array_ids) if not own_ids.isdisjoint(ids)]
        used = needed.union(own_ids, *(ids for number, ids in enumerate(array_ids) if number not in joined))
        all_ids = dict.fromkeys(chain.from_iterable(array_ids[number] for number in joined))
        ids = tuple(index for index in all_ids if index in used)
        has_all_sources = set(self.source_ids) <= set(ids)
        if len(joined) < 2 or self.target_id in ids or needed.intersection(self.source_ids) or not has_all_sources:
            return None
        array_ids[:] = [*(others for number, others in enumerate(array_ids) if number not in joined), ids]

        def join(arrays: list[Factor]) -> None:
            product = contract_arrays([arrays[number] for number in joined], ids)
            arrays[:] = [*(array for number, array in enumerate(arrays) if number not in joined), (product, ids)]

        return join

    def gather_or_scatter(self, array_ids: list[Ids], needed: set[int]) -> Rewrite | None:
        """Gather or scatter within one array; None if that is impossible.

        A gather if the target axis is summed over and one array has it; a scatter if the source axes are summed over
        and one array has them. needed: the ids that the result or other terms use.
        """
        shape, index_map, source_ids, target = self
        with_target = [number for number, ids in enumerate(array_ids) if target in ids]
        with_sources = [number for number, ids in enumerate(array_ids) if any(index in ids for index in source_ids)]
        if target not in needed and len(with_target) == 1:
            number, ids = with_target[0], array_ids[with_target[0]]
            axis, shared = ids.index(target), [index for index in source_ids if index in ids]
            rest = tuple(index for index in ids if index not in (target, *shared))
            if not shared:
                new_ids = (*ids[:axis], *source_ids, *ids[axis + 1 :])
                return _rewrite_array(array_ids, number, new_ids, lambda x: gather(x, axis, index_map, shape))
            if index_map.table is not None:
                order = [ids.index(index) for index in (*shared, target, *rest)]
                batch = index_map.with_batch_axes([source_ids.index(index) for index in shared], shape)
                ids = (*source_ids, *rest)
                return _rewrite_array(array_ids, number, ids, lambda x: gather_batched(permute_axes(x, order), *batch))
            return None
        if not source_ids and array_ids and not with_target:
            with_sources = [0]  # an index map without axes puts an array at one index of a new axis
        shared = [index for index in source_ids if index in needed]
        if len(with_sources) != 1 or with_sources[0] in with_target or (shared and index_map.table is None):
            return None
        number, ids = with_sources[0], array_ids[with_sources[0]]
        if not set(source_ids) <= set(ids):
            return None
        axes = tuple(ids.index(index) for index in source_ids)
        new_ids = (*shared, target, *(index for index in ids if index not in source_ids))
        if not shared:
            return _rewrite_array(array_ids, number, new_ids, lambda x: scatter(x, axes, index_map, shape))
        batch = index_map.with_batch_axes([source_ids.index(index) for index in shared], shape)
        return _rewrite_array(array_ids, number, new_ids, lambda x: scatter_batched(x, axes, *batch))


def _rewrite_array(array_ids: list[Ids], number: int, ids: Ids, change: Callable[[Array], Array]) -> Rewrite:
    """The rewrite that changes one array, which then has these ids."""
    array_ids[number] = ids

    def rewrite(arrays: list[Factor]) -> None:
        arrays[number] = (change(arrays[number][0]), ids)

    return rewrite


def _find_used_ids(dst: Ids, terms: list[SelectionTerm], done: SelectionTerm) -> set[int]:
    """The ids that are still needed after the term `done`: by the result or by other terms."""
    return set(dst).union(*([*term.source_ids, term.target_id] for term in terms if term is not done))


def contract_arrays(arrays: list[Factor], dst: Ids) -> Array:
    """The einsum of arrays (no selections): by plain NumPy calls if there is a kernel, else by opt_einsum."""
    if len(arrays) == 1 and arrays[0][1] == dst:
        return arrays[0][0]
    ids = tuple(axis_ids for _, axis_ids in arrays)
    if all(type(array) is np.ndarray for array, _ in arrays) and len(arrays) <= 2:
        kernel = _find_kernel(ids, dst)
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
    *terms, result = ("".join(letters[index] for index in axis_ids) for axis_ids in (*ids, dst))
    # Without BLAS if an extent is 1: NumPy's tensordot gives 0, not NaN, for 0 * inf if a factor is a single number.
    is_safe = all(extent != 1 for extent in chain(*shapes))
    equation = f"{','.join(terms)}->{result}"
    expression: Callable[..., Array] = opt_einsum.contract_expression(equation, *shapes, use_blas=is_safe)
    return expression


# --- einsums of one or two arrays as plain NumPy calls ------------------------------

Kernel = Callable[..., Array]


@lru_cache(maxsize=4096)
def _find_kernel(ids: tuple[Ids, ...], dst: Ids) -> Kernel | None:
    """The function that computes this einsum of arrays; None if no plain NumPy call does."""
    return _sum_kernel(ids[0], dst) if len(ids) == 1 else _pair_kernel(ids[0], ids[1], dst)


def _sum_kernel(ids: Ids, dst: Ids) -> Kernel:
    """An einsum of one array: sum some axes, transpose the others."""
    summed = tuple(axis for axis, index in enumerate(ids) if index not in dst)
    rest = [index for index in ids if index in dst]
    order = _permutation(rest, dst)
    return (lambda a: a.sum(summed).transpose(order)) if summed else (lambda a: a.transpose(order))


def _pair_kernel(left: Ids, right: Ids, dst: Ids) -> Kernel | None:
    """An einsum of two arrays as one (batched) matrix product: (batch, rows, summed) @ (batch, summed, columns).

    Attention takes 0.43 of the time of np.einsum, which opt_einsum would call there.
    """
    both = [index for index in left if index in right]
    if any(index not in dst and index not in both for index in (*left, *right)):
        return None
    summed = [index for index in both if index not in dst]
    batch = [index for index in dst if index in both]
    rows, columns = ([index for index in dst if index in ids and index not in both] for ids in (left, right))
    if not summed or (batch and not rows and not columns):
        return None
    first, second = _permutation(left, (*batch, *rows, *summed)), _permutation(right, (*batch, *summed, *columns))
    out = _permutation((*batch, *rows, *columns), dst)

    def multiply(a: Array, b: Array) -> Array:
        a, b = a.transpose(first), b.transpose(second)
        batch_shape, lead = a.shape[: len(batch)], a.shape[len(batch) : len(batch) + len(rows)]
        tail = b.shape[len(batch) + len(summed) :]
        product = a.reshape(*batch_shape, math.prod(lead), -1) @ b.reshape(*batch_shape, -1, math.prod(tail))
        return product.reshape(batch_shape + lead + tail).transpose(out)

    return multiply


def _permutation(ids: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The transpose permutation that brings axes with these ids into the wanted order."""
    return [ids.index(index) for index in wanted]
