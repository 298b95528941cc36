"""A toy sentiment dataset: sentence trees about a soup, labelled by whether the speaker likes it; parser and generator.

A sentence is a tree. Its leaves are words; its inner nodes are "not", "and", "or"
and "but", in prefix notation: `("not", ("and", "good", "bad"))` is "not (good and bad)".
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ..errors import ExpressionError

LIKED = ("good", "fine", "warm", "fresh", "rich")
DISLIKED = ("bad", "dull", "cold", "stale", "thin")
WORDS = LIKED + DISLIKED
MEANING: dict[str, Callable[..., bool]] = {
    "not": lambda part: not part,
    "and": lambda left, right: left and right,
    "or": lambda left, right: left or right,
    "but": lambda left, right: right,  # what comes after "but" is what the speaker means
}
JOINTS = tuple(MEANING)
SEED, COUNT, LONGEST = 7, 500, 6

Tree = Any  # a word, or a joint and its one or two trees


class Sentence(NamedTuple):
    """A tree, and 1.0 if its speaker likes the soup, else 0.0."""

    tree: Tree
    label: float

    @property
    def text(self) -> str:
        return write(self.tree)


def fold(tree: Tree, word: Callable[[str], Any], joint: Callable[..., Any]) -> Any:
    """Evaluate a tree bottom-up: word(w) at its leaves, joint(name, *parts) at its inner nodes.

    >>> fold(("and", "good", ("not", "bad")), lambda word: 1, lambda name, *parts: sum(parts))
    2
    """
    order, pending = [], [tree]
    while pending:
        part = pending.pop()
        order.append(part)
        pending.extend(part[1:] if isinstance(part, tuple) else ())
    results: list[Any] = []
    for part in reversed(order):
        if isinstance(part, tuple):
            first = len(results) + 1 - len(part)
            results[first:] = [joint(part[0], *results[first:])]
        else:
            results.append(word(part))
    return results.pop()


def meaning(tree: Tree) -> bool:
    """Whether the speaker likes the soup.

    >>> meaning(("not", ("and", "good", "bad")))
    True
    """
    return bool(fold(tree, LIKED.__contains__, lambda name, *parts: MEANING[name](*parts)))


def write(tree: Tree) -> str:
    """The tree as a sentence.

    >>> write(("but", ("not", ("and", "good", "fresh")), "warm"))
    'not (good and fresh) but warm'
    """

    def joined(name: str, *parts: str) -> str:
        return f"({parts[0]} {name} {parts[1]})" if len(parts) > 1 else f"{name} {parts[0]}"

    text: str = fold(tree, str, joined)
    return text[1:-1] if isinstance(tree, tuple) and len(tree) > 2 else text


# --- reading --------------------------------------------------------------------


def read(text: str) -> Tree:
    """The tree of a sentence. "not" takes the word or the bracket after it; the rest is read from left to right.

    Raises ExpressionError if it is no sentence.

    >>> read("not good and warm or thin")
    ('or', ('and', ('not', 'good'), 'warm'), 'thin')
    """
    open_parts: list[list[Any]] = [[]]  # what was read inside each bracket that is open
    for token in re.findall(r"[()]|[^\s()]+", text.lower()):
        if token == "(":
            open_parts.append([])
        elif token == ")":
            inner = _finish_tree(open_parts.pop(), text)
            if not open_parts:
                raise ExpressionError(f"A bracket is closed in {text!r} that was never opened. Take it away.")
            _attach_opinion(open_parts[-1], inner, text)
        elif token in JOINTS:
            _add_joint(open_parts[-1], token, text)
        elif token in WORDS:
            _attach_opinion(open_parts[-1], token, text)
        else:
            raise ExpressionError(f"Nobody taught us the word {token!r}. Use {', '.join(WORDS + JOINTS)}.")
    if len(open_parts) > 1:
        raise ExpressionError(f"A bracket in {text!r} is never closed. Close it: ')'.")
    return _finish_tree(open_parts.pop(), text)


def _attach_opinion(parts: list[Any], part: Tree, text: str) -> None:
    """Append an opinion; a preceding "not" or joint takes it as its operand."""
    while parts and parts[-1] == "not":
        part = (parts.pop(), part)
    if parts:
        if parts[-1] not in JOINTS:
            raise ExpressionError(f"Two opinions stand side by side in {text!r}. Join them: good and warm.")
        name, left = parts.pop(), parts.pop()
        part = (name, left, part)
    parts.append(part)


def _add_joint(parts: list[Any], name: str, text: str) -> None:
    ready = bool(parts) and parts[-1] not in JOINTS  # whether an opinion comes before
    if ready == (name == "not"):
        missing = "a joint before" if ready else "an opinion before"
        raise ExpressionError(f"{name!r} lacks {missing} it in {text!r}. Write: good and not bad.")
    parts.append(name)


def _finish_tree(parts: list[Any], text: str) -> Tree:
    if len(parts) != 1 or parts[0] in JOINTS:
        raise ExpressionError(f"An opinion is missing in {text!r}. Write one, such as: good and not bad.")
    return parts[0]


# --- the data -------------------------------------------------------------------


def grow(chance: random.Random, words: int, negated: bool = False) -> Tree:
    """A random tree with so many words. Only `random()` is used, which gives the same in every Python version."""
    if not negated and chance.random() < 0.3:
        return ("not", grow(chance, words, negated=True))
    if words == 1:
        return _choose_one(WORDS, chance)
    left = 1 + int(chance.random() * (words - 1))
    return (_choose_one(JOINTS[1:], chance), grow(chance, left), grow(chance, words - left))


def draw_sentences(seed: int = SEED, count: int = COUNT, longest: int = LONGEST) -> list[Sentence]:
    """Different sentences of 2 to `longest` words, liked and disliked by turns."""
    chance, sentences = random.Random(seed), dict[str, Sentence]()
    while len(sentences) < count:
        tree = grow(chance, 2 + int(chance.random() * (longest - 1)))
        if meaning(tree) == len(sentences) % 2:
            sentences.setdefault(write(tree), Sentence(tree, float(meaning(tree))))
    return list(sentences.values())


def load(held_out: int = 100) -> tuple[list[Sentence], list[Sentence]]:
    """The sentences to learn from, and the last ones, to be tested on."""
    sentences = draw_sentences()
    return sentences[:-held_out], sentences[-held_out:]


def _choose_one(choices: tuple[str, ...], chance: random.Random) -> str:
    return choices[int(chance.random() * len(choices))]
