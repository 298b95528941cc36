"""Lesson 13: what can be found out about a sentence from its tree."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, plain_case
from ..exercise import Exercise
from ..sentences import LIKED, draw_sentences, write


def depth(
    tree: Any, *, word_is_1: str = "", counts_joints: str = "", shallowest: str = "", last_part: str = "",
    no_negation: str = "",
) -> Any:  # fmt: skip
    """Return how deep a tree is: a word has depth 0, a joint is one deeper than its deepest part.

    tree: a word, or a tuple of a joint and its one or two trees, such as
    ("not", ("and", "good", "bad")).
    """

    def below(part: Any) -> int:
        if not isinstance(part, tuple):
            return 0 if not word_is_1 else 1
        depths = [below(each) for each in part[1:]]
        if counts_joints or shallowest or last_part:
            return 1 + (sum(depths) if counts_joints else min(depths) if shallowest else depths[-1])
        return 1 + max(depths) if not no_negation or len(depths) > 1 else depths[0]

    return below(tree)


def bag(
    tree: Any, *, no_joints: str = "", no_words: str = "", once: str = "", first_part: str = "", one_level: str = ""
) -> Any:
    """Return a dict of how often each word and each joint stands in a tree.

    tree: a word, or a tuple of a joint and its one or two trees, such as
    ("not", ("and", "good", "bad")).
    """
    counts: dict[str, int] = {}

    def look(part: Any) -> None:
        name, *parts = part if isinstance(part, tuple) else (part,)
        if not (no_joints and parts) and not (no_words and not parts):
            counts[name] = counts.get(name, 0) + 1 if not once else 1
        if one_level and part is not tree:
            return
        for each in parts if not first_part else parts[:1]:
            look(each)

    look(tree)
    return counts


def is_liked(
    tree: Any, liked: Any, *, but_first: str = "", but_both: str = "", and_is_or: str = "", one_only: str = "",
    no_negation: str = "", counts: str = "",
) -> Any:  # fmt: skip
    """Return whether the speaker likes the soup: True or False.

    tree: a word, or a tuple of a joint and its one or two trees. liked: the
    friendly words. "not", "and" and "or" are Python's; what comes after "but" counts.
    """

    def means(part: Any) -> bool:
        if not isinstance(part, tuple):
            return part in liked
        joint, *parts = part
        meant = [means(each) for each in parts]
        if joint == "not":
            return not meant[0] if not no_negation else meant[0]
        left, right = meant
        if joint == "and":
            return left and right if not and_is_or else left or right
        if joint == "or":
            return left or right if not one_only else left != right
        return right if not (but_first or but_both) else left and (right or bool(but_first))

    return _more_friendly(tree, liked) if counts else means(tree)


def _more_friendly(tree: Any, liked: Any) -> bool:
    """Whether most words are friendly, whatever the joints say."""
    words, waiting = [], [tree]
    for part in waiting:
        if isinstance(part, tuple):
            waiting.extend(part[1:])
        else:
            words.append(part)
    return sum(word in liked for word in words) * 2 > len(words)


def meet(
    L: Any, R: Any, b: Any, left: Any, right: Any, *, no_tanh: str = "", no_shift: str = "", left_only: str = "",
    one_matrix: str = "", exchanged: str = "", by_columns: str = "",
) -> Any:  # fmt: skip
    """Return what a joint makes of its parts: the list tanh(L left + R right + b).

    L, R: matrices, as lists of rows. b, left, right: lists of numbers.
    """
    if by_columns:
        L, R = list(zip(*L)), list(zip(*R))
    if exchanged:
        left, right = right, left
    meant = []
    for L_row, R_row, shift in zip(L, R if not one_matrix else L, b):
        total = shift if not no_shift else 0.0
        total += sum(entry * value for entry, value in zip(L_row, left))
        if not left_only:
            total += sum(entry * value for entry, value in zip(R_row, right))
        meant.append(math.tanh(total) if not no_tanh else total)
    return meant


def _parts() -> Iterator[tuple[Any, ...]]:
    chance = random.Random(15)
    for size in (1, 1, 2, 2, 3):
        vectors = [[round(chance.gauss(0, 1), 1) for _ in range(size)] for _ in range(2 * size + 3)]
        yield vectors[:size], vectors[size : 2 * size], *vectors[2 * size :]


def _trees(*more: Any) -> Iterator[ExerciseCase]:
    small: list[Any] = ["good", "bad", ("not", "good"), ("not", ("not", "bad"))]
    pairs = [("good", "bad"), ("bad", "good"), ("good", "fine"), ("bad", "dull")]
    small += [(joint, *pair) for joint in ("and", "or", "but") for pair in pairs]
    small += [("not", ("and", "good", "bad")), ("and", ("not", "good"), "bad"), ("or", "good", ("and", "good", "good"))]
    for tree in [*small, *(each.tree for each in draw_sentences(seed=3, count=30))]:
        joints = write(tree).replace("(", "").replace(")", "").split()
        special = [f'"{joint}" stands in it' * (joint in joints) for joint in ("not", "and", "or", "but")]
        special += ["a joint stands in a joint" * any(isinstance(part, tuple) for part in tree[1:])]
        yield plain_case(f"{write(tree)}: tree = {tree!r}", tree, *more, features=";".join(special))


MEET = Exercise(meet, _parts)
DEPTH = Exercise(depth, _trees)
BAG = Exercise(bag, _trees)
IS_LIKED = Exercise(is_liked, lambda: _trees(list(LIKED)))
