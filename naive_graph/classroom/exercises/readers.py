"""Exercises of lesson 13, on sentence trees (sentences.py): depth, bag of words, meaning, and a joint's formula.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..cases import ExerciseCase, make_random, plain_case
from ..exercise import Exercise
from ..sentences import LIKED, draw_sentences, write


def depth(tree):
    """Return how deep a tree is: a word has depth 0, a joint is one deeper than its deepest part.

    tree: a word, or a tuple of a joint and its one or two trees, such as
    ("not", ("and", "good", "bad")).
    """

    def below(part):
        if not isinstance(part, tuple):
            return 0
        depths = [below(each) for each in part[1:]]
        return 1 + max(depths)

    return below(tree)


def bag(tree):
    """Return a dict of how often each word and each joint stands in a tree.

    tree: a word, or a tuple of a joint and its one or two trees, such as
    ("not", ("and", "good", "bad")).
    """
    counts = {}

    def look(part):
        name, *parts = part if isinstance(part, tuple) else (part,)
        counts[name] = counts.get(name, 0) + 1
        for each in parts:
            look(each)

    look(tree)
    return counts


def is_liked(tree, liked):
    """Return whether the speaker likes the soup: True or False.

    tree: a word, or a tuple of a joint and its one or two trees. liked: the
    friendly words. "not", "and" and "or" are Python's; what comes after "but" counts.
    """

    def means(part):
        if not isinstance(part, tuple):
            return part in liked
        joint, *parts = part
        meant = [means(each) for each in parts]
        if joint == "not":
            return not meant[0]
        left, right = meant
        if joint == "and":
            return left and right
        if joint == "or":
            return left or right
        return right

    return means(tree)


def meet(L, R, b, left, right):
    """Return what a joint makes of its parts: the list tanh(L left + R right + b).

    L, R: matrices, as lists of rows. b, left, right: lists of numbers.
    """
    meant = []
    for L_row, R_row, shift in zip(L, R, b):
        total = shift
        total += sum(entry * value for entry, value in zip(L_row, left))
        total += sum(entry * value for entry, value in zip(R_row, right))
        meant.append(math.tanh(total))
    return meant


def _parts() -> Iterator[tuple[Any, ...]]:
    chance = make_random(15)
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
