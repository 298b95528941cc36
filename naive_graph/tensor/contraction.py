"""Products of arrays and selections: entries are moved first, and one Einstein sum does the rest."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import opt_einsum

from .arrays import Array, like, together
from .index import Ids, Shape
from .picking import gather, scatter
from .selection import Picker, SelectionNode
from .ways import way

Factor = tuple[Any, Ids]  # an array or a selection, and the ids of its axes


def product(given: list[Factor], dst: Ids) -> Array:
    """The sum, over every id that is not in dst, of the product of the factors."""
    arrays = [(array, ids) for array, ids in given if not isinstance(array, SelectionNode)]
    picks = [
        Pick(array, picker, [ids[axis] for axis in picker.axes], ids[picker.axis])
        for array, ids in given
        if isinstance(array, SelectionNode)
        for picker in array.pickers
    ]
    while picks:
        done = next((each for each in picks if _picked(arrays, each, _used(dst, picks, each))), None)
        if done is None:  # none can be done by moving entries: write one out
            done = picks[0]
            arrays.append(done.written_out(arrays))
        picks.remove(done)
    return contracted(arrays or [(np.array(1.0), ())], dst)


class Pick(NamedTuple):
    """A picker in a product: the ids of its axes, and of the one that they determine."""

    selection: SelectionNode
    picker: Picker
    many: list[int]
    one: int

    def written_out(self, arrays: list[Factor]) -> Factor:
        own = sorted((*self.picker.axes, self.picker.axis))
        names = dict(zip((*self.picker.axes, self.picker.axis), (*self.many, self.one)))
        dense = self.selection.factor(self.picker).reshape([self.selection.shape[axis] for axis in own])
        return (like(arrays[0][0], dense) if arrays else dense), tuple(names[axis] for axis in own)


def _used(dst: Ids, picks: list[Pick], but: Pick) -> set[int]:
    """The ids that are asked for after this pick: by the result, or by other picks."""
    others = {each for pick in picks if pick is not but for each in (*pick.many, pick.one)}
    return {*dst, *others}


def _picked(arrays: list[Factor], pick: Pick, kept: set[int]) -> bool:
    """Gather or scatter, if only one array is concerned; say whether that could be done."""
    selection, picker, many, one = pick
    with_one = [place for place, (_, ids) in enumerate(arrays) if one in ids]
    with_many = [place for place, (_, ids) in enumerate(arrays) if any(each in ids for each in many)]
    if one not in kept and len(with_one) == 1 and with_one[0] not in with_many:
        array, ids = arrays[with_one[0]]
        axis = ids.index(one)
        arrays[with_one[0]] = (gather(array, axis, picker, selection.shape), (*ids[:axis], *many, *ids[axis + 1 :]))
        return True
    if not many and arrays and not with_one:
        with_many = [0]  # a picker of no axes puts an array at one place of a new axis
    if len(with_many) == 1 and with_many[0] not in with_one and not kept.intersection(many):
        array, ids = arrays[with_many[0]]
        if all(each in ids for each in many):
            axes = tuple(ids.index(each) for each in many)
            rest = tuple(each for each in ids if each not in many)
            arrays[with_many[0]] = (scatter(array, axes, picker, selection.shape), (one, *rest))
            return True
    return False


def contracted(arrays: list[Factor], dst: Ids) -> Array:
    """The Einstein sum of these arrays."""
    if len(arrays) == 1 and arrays[0][1] == dst:
        return arrays[0][0]
    ids = tuple(each for _, each in arrays)
    if all(type(array) is np.ndarray for array, _ in arrays) and len(arrays) <= 2:
        found = way(ids, dst)
        if found is not None:
            return found(*[array for array, _ in arrays])
    equation = _equation(ids, dst)
    expression = _expression(equation, tuple(tuple(array.shape) for array, _ in arrays))
    return expression(*together([array for array, _ in arrays]))


@lru_cache(maxsize=4096)
def _equation(ids: tuple[Ids, ...], dst: Ids) -> str:
    letters: dict[int, str] = {}
    for each in (each for own in ids for each in own):
        letters.setdefault(each, opt_einsum.get_symbol(len(letters)))
    return (
        f"{','.join(''.join(letters[each] for each in own) for own in ids)}->{''.join(letters[each] for each in dst)}"
    )


@lru_cache(maxsize=4096)
def _expression(equation: str, shapes: tuple[Shape, ...]) -> Callable[..., Array]:
    """A contraction whose order was found once for these shapes."""
    found: Callable[..., Array] = opt_einsum.contract_expression(equation, *shapes)
    return found
