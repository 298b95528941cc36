"""Two sentiment models: a recursive neural network over the sentence tree, and a bag of words; their training loop.

Both hold their weights in a Model, and build a new graph for every sentence:

    reader = TreeReader(seed=1)
    teach(reader, AdamTrainer(reader.model, 0.01), learn_from)
    share_right(reader, test_on)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from ..graph.graph import Graph, scope
from ..tensor.base import TensorNode
from ..tensor.losses import sigmoid_cross_entropy
from ..training.initialisers import const
from ..training.loop import Outcome, fit
from ..training.model import Model, lookup, parameter
from ..training.parameters import LookupParameter
from ..training.trainer import Trainer
from .sentences import JOINTS, WORDS, Sentence, Tree, fold

VOCABULARY = WORDS + JOINTS


class TreeReader:
    """A recursive network: a vector for each word; for each joint a layer that combines the vectors of its parts.

    A joint (an inner node of the tree) has one part or two; with one, the formula has no term with R.

    meaning(word) = a row of a table
    meaning(joint, left, right) = tanh(L[joint] left + R[joint] right + b[joint])
    score = out . meaning(sentence)

    Source: Socher et al., EMNLP 2013, in its simplest form.
    """

    def __init__(self, size: int = 6, seed: int | None = None) -> None:
        self.model = Model(seed)
        self.words = self.model.add_lookup_parameters((len(WORDS), size), name="words")
        self.left = self.model.add_lookup_parameters((len(JOINTS), size, size), name="left")
        self.right = self.model.add_lookup_parameters((len(JOINTS), size, size), name="right")
        self.shift = self.model.add_lookup_parameters((len(JOINTS), size), const(0.0), name="shift")
        self.out = self.model.add_parameters(size, name="out")

    def word(self, word: str) -> TensorNode:
        """The meaning of a word: its row of the table."""
        leaf: TensorNode = _row(self.words, WORDS.index(word), word)
        return leaf

    def joint(self, name: str, *parts: TensorNode) -> TensorNode:
        """The meaning of an inner node, from the meanings of its parts. A drawing folds it into one box."""
        row = JOINTS.index(name)
        with scope(name):
            total = _row(self.shift, row, "b")
            for letter, table, part in zip("LR", (self.left, self.right), parts):
                total = total + _row(table, row, letter) @ part
            node_meaning: TensorNode = total.tanh()
        return node_meaning

    def score(self, tree: Tree) -> TensorNode:
        out: Any = parameter(self.out)
        score: TensorNode = out @ fold(tree, self.word, self.joint)
        score.name = "score"
        return score


def _row(table: LookupParameter, row: int, name: str) -> Any:
    """A row of a table as a leaf. name: its name in drawings."""
    leaf = lookup(table, row)
    leaf.name = name
    return leaf


class WordCounter:
    """A bag of words: a weight for each word and joint, summed over the sentence, plus a bias (`shift`)."""

    def __init__(self) -> None:
        self.model = Model()
        self.weights = self.model.add_lookup_parameters((len(VOCABULARY), 1), const(0.0), name="weights")
        self.shift = self.model.add_parameters(1, const(0.0), name="shift")

    def score(self, tree: Tree) -> TensorNode:
        tokens: list[str] = fold(tree, lambda word: [word], lambda name, *parts: [name, *chain(*parts)])
        rows = [VOCABULARY.index(word) for word in tokens]
        score: TensorNode = lookup(self.weights, rows).sum() + parameter(self.shift).sum()
        return score


Reader = TreeReader | WordCounter  # its `score` is above 0 if it predicts that the speaker likes the soup


def loss_of(reader: Reader, sentence: Sentence) -> TensorNode:
    """The cross-entropy of the score and the label, in a graph of its own: the one before is forgotten."""
    Graph.renew()
    loss: TensorNode = sigmoid_cross_entropy(sentence.label, reader.score(sentence.tree))
    return loss


def teach(reader: Reader, trainer: Trainer, sentences: Sequence[Sentence], **settings: Any) -> Outcome:
    """Train on one sentence at a time. settings: those of `fit`, such as epochs=10."""
    return fit(trainer, lambda batch: loss_of(reader, batch[0]), sentences, batch_size=1, **settings)


def likes(reader: Reader, tree: Tree) -> bool:
    """Whether the reader predicts that the speaker of a sentence likes the soup."""
    Graph.renew()
    return bool(reader.score(tree).eval() > 0.0)


def share_right(reader: Reader, sentences: Sequence[Sentence]) -> float:
    """The accuracy: the share of the sentences for which the reader predicts the label."""
    return sum(likes(reader, sentence.tree) == sentence.label for sentence in sentences) / len(sentences)
