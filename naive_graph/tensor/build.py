"""Builders: the four node types written with letters, as in `linear("ij,j->i", W, x)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.number import number, shortened
from ..errors import IndexSpecError, ShapeError
from .base import TensorNode, check_tensors, size_of
from .function import Function
from .index import IndexExtents, renumber
from .nodes import LinearNode, NonlinearNode, OpType, TransformNode, checked_op


def transform(
    equation: str,
    source: TensorNode,
    alpha: float = 1.0,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TransformNode:
    """A TransformNode by letters: `transform("ij->ji", a)`, or `transform("i->ij", a, sizes={"j": 3})`.

    Letters that only the source has are summed; those that only the result has
    are new, and `sizes` says how far they run. Raises IndexSpecError, ShapeError.

    >>> from naive_graph import LeafNode
    >>> a = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]])
    >>> transform("ij->jik", a, sizes={"k": 5}).shape
    (2, 2, 5)
    """
    check_tensors("transform", [source])
    (src,), dst = _parse_equation(equation, 1, "transform('ij->ji', a)")
    _check_rank(src, source, equation)
    shared = [letter for letter in dst if letter in src]
    ids = {letter: position for position, letter in enumerate(shared, 1)}
    sizes = dict(sizes or {})
    for letter in sizes:
        if letter not in dst:
            raise IndexSpecError(f"sizes gives {letter!r}, which is not in the result of {equation!r}.")
    extents = dict(zip(src, source.shape))
    for letter in dst:
        if letter not in src and letter not in sizes:
            raise ShapeError(
                f"{letter!r} is new in {equation!r}: nothing says how far it runs. Add sizes={{{letter!r}: 3}}."
            )
    shape = [sizes.get(letter, extents.get(letter)) for letter in dst]
    node = TransformNode(renumber(dst, ids), renumber(src, ids), source, alpha, shape, name)
    node.letters = dst + "".join(letter for letter in src if letter not in dst)
    return node


def linear(
    equation: str, left: TensorNode, right: TensorNode, op: str | OpType = "mul", name: str | None = None
) -> LinearNode:
    """A LinearNode by letters: `linear("ik,kj->ij", A, B)`; op is "mul", "add" or "sub".

    Letters that the result lacks are summed over. One that only one source has
    is summed there first; in a sum or difference the other source then counts
    once for each of its positions. Raises IndexSpecError, ShapeError.

    >>> from naive_graph import LeafNode
    >>> A, B = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]), LeafNode.parameter([10.0, 20.0])
    >>> linear("ik,i->i", A, B, op="add").eval().tolist()
    [23.0, 47.0]
    """
    check_tensors("linear", [left, right])
    op = checked_op(op)
    (ls, rs), dst = _parse_equation(equation, 2, "linear('ik,kj->ij', A, B)")
    for letters, source in ((ls, left), (rs, right)):
        _check_rank(letters, source, equation)
    _check_extents(ls, left, rs, right)
    for letter in dst:
        if letter not in ls and letter not in rs:
            raise IndexSpecError(
                f"{letter!r} in the result of {equation!r} is in no source. Broadcast one first: "
                f"transform('{ls}->{ls}{letter}', a, sizes={{{letter!r}: 3}})."
            )
    left, ls, right, rs = _sum_unshared_letters(op, ls, left, rs, right, dst)
    ids = {letter: position for position, letter in enumerate(dst, 1)}
    for letter in [*ls, *rs]:
        ids.setdefault(letter, -(len(ids) + 1))
    dst_ids, left_ids, right_ids = ([ids[letter] for letter in letters] for letters in (dst, ls, rs))
    node = LinearNode(op, dst_ids, left_ids, right_ids, left, right, name)
    letter_of = {number: letter for letter, number in ids.items()}
    node.letters = dst + "".join(letter_of[dummy] for dummy in node.index.dummies)
    return node


def nonlinear(f: Callable[..., Any] | Function, *sources: TensorNode, name: str | None = None) -> NonlinearNode:
    """dst[I] = f(src[I], ...): a rule, or any Python function made of rules, entry by entry.

    >>> from naive_graph import LeafNode
    >>> x = LeafNode.parameter([1.0, 2.0])
    >>> nonlinear(lambda a, b: a * a - b, x, x).eval().tolist()
    [0.0, 2.0]
    """
    return NonlinearNode(f, *sources, name=name)


def _sum_unshared_letters(
    op: OpType, ls: str, left: TensorNode, rs: str, right: TensorNode, dst: str
) -> tuple[TensorNode, str, TensorNode, str]:
    """Sum out the letters that only one source has; for add and sub, scale the other source to match."""
    only_left = [letter for letter in ls if letter not in rs and letter not in dst]
    only_right = [letter for letter in rs if letter not in ls and letter not in dst]
    if not only_left and not only_right:
        return left, ls, right, rs
    times_left = _count_positions(only_right, rs, right) if op != OpType.mul else 1
    times_right = _count_positions(only_left, ls, left) if op != OpType.mul else 1
    left, ls = _sum_letters(only_left, ls, left, times_left)
    right, rs = _sum_letters(only_right, rs, right, times_right)
    return left, ls, right, rs


def _count_positions(letters: list[str], source_letters: str, source: TensorNode) -> int:
    return size_of(source.shape[source_letters.index(letter)] for letter in letters)


def _sum_letters(letters: list[str], source_letters: str, source: TensorNode, scale: int) -> tuple[TensorNode, str]:
    kept_letters = "".join(letter for letter in source_letters if letter not in letters)
    if kept_letters == source_letters and scale == 1:
        return source, source_letters
    return transform(f"{source_letters}->{kept_letters}", source, number(scale)), kept_letters


def _parse_equation(equation: object, count: int, example: str) -> tuple[list[str], str]:
    """Parse `ij,jk->ik` into the letters of each source and of the result. Raises IndexSpecError."""
    if not isinstance(equation, str) or equation.count("->") != 1:
        raise IndexSpecError(f"An equation reads like {example}, not {shortened(equation)}.")
    before, dst = equation.replace(" ", "").split("->")
    sources = before.split(",")
    if len(sources) != count:
        takes = "one source" if count == 1 else "two sources"
        raise IndexSpecError(f"{equation!r} names {len(sources)} sources, and {takes} are given. Write {example}.")
    for letters in (*sources, dst):
        for letter in letters:
            if not letter.isalpha():
                raise IndexSpecError(f"{letter!r} in {equation!r} is no letter. Write {example}.")
            if letters.count(letter) > 1:
                other = next(candidate for candidate in "ijklmnpqrstuvw" if candidate not in equation)
                raise IndexSpecError(
                    f"{letter!r} stands twice in {letters!r} of {equation!r}. For a diagonal, write "
                    f"linear('{letters[::-1].replace(letter, other, 1)[::-1]},{letter}{other}->{dst}', a, "
                    "identity((n,)))."
                )
    return sources, dst


def _check_rank(letters: str, source: TensorNode, equation: str) -> None:
    if len(letters) != source.rank:
        have = f"{source.label} has {source.rank}"
        raise ShapeError(f"{letters!r} in {equation!r} names {len(letters)} dimensions; {have}.")


def _check_extents(ls: str, left: TensorNode, rs: str, right: TensorNode) -> None:
    """Raise ShapeError if a letter would have two extents; the message speaks of letters, as the learner did."""
    number_of = {letter: position for position, letter in enumerate(dict.fromkeys(ls + rs), 1)}
    extents = IndexExtents({position: repr(letter) for letter, position in number_of.items()})
    for letters, source in ((ls, left), (rs, right)):
        extents.note(tuple(number_of[letter] for letter in letters), source.shape, source.label)
