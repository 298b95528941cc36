"""Learning to read: the network that has the sentence's shape does, the bag of words cannot."""

import numpy as np
import pytest

from naive_graph import AdamTrainer, Graph, lower
from naive_graph.classroom.sentences import JOINTS, LONGEST, WORDS, Sentence, draw_sentences, fold, load, read
from naive_graph.classroom.trees import TreeReader, WordCounter, likes, loss_of, share_right, teach


@pytest.fixture(autouse=True)
def scratch():
    with Graph.scratch():
        yield


def test_a_meaning_is_the_tanh_of_what_its_parts_give():
    reader = TreeReader(3, seed=1)
    good, bad = reader.words.values[[WORDS.index("good"), WORDS.index("bad")]]
    place = JOINTS.index("and")
    left, right, shift = (table.values[place] for table in (reader.left, reader.right, reader.shift))
    expected = reader.out.values @ np.tanh(left @ good + right @ bad + shift)
    assert float(reader.score(read("good and bad")).eval()) == pytest.approx(float(expected), rel=1e-14)


def test_a_word_counter_sees_no_order():
    counter = WordCounter()
    counter.weights.values[...] = np.arange(14.0)[:, None]
    scores = [float(counter.score(read(text)).eval()) for text in ("not good and bad", "good and not bad")]
    assert scores[0] == scores[1]


def test_a_sentence_moves_only_the_rows_that_it_uses():
    reader = TreeReader(3, seed=1)
    loss_of(reader, Sentence(read("good or bad"), 1.0)).backward()
    assert reader.words.non_zero_grads == {WORDS.index("good"), WORDS.index("bad")}
    assert reader.left.non_zero_grads == {JOINTS.index("or")}


def test_every_sentence_has_a_graph_of_its_own():
    reader, version = TreeReader(seed=1), Graph.version
    teach(reader, AdamTrainer(reader.model), draw_sentences(count=5), epochs=2)
    assert Graph.version == version + 10


def test_the_scalars_of_a_sentence_give_the_same_score():
    score = TreeReader(2, seed=1).score(read("not (good and bad)"))
    scalar = lower(score)[()]
    Graph.forward(scalar)
    assert scalar.value == pytest.approx(float(score.eval()), rel=1e-14)


def test_a_tree_reads_what_a_bag_of_words_cannot():
    learn_from, test_on = load()
    tree, bag = TreeReader(seed=1), WordCounter()
    teach(tree, AdamTrainer(tree.model, 0.02), learn_from, epochs=1)
    teach(bag, AdamTrainer(bag.model, 0.02), learn_from, epochs=2)
    assert share_right(tree, test_on) >= 0.9
    assert share_right(bag, test_on) <= 0.65


def words(tree):
    return fold(tree, lambda word: 1, lambda name, *parts: sum(parts))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_from_every_seed_it_learns_to_read_longer_sentences_than_it_was_taught(seed):
    learn_from, test_on = load()
    tree = TreeReader(seed=seed)
    teach(tree, AdamTrainer(tree.model, 0.01), learn_from, epochs=6, seed=seed)
    longer = [each for each in draw_sentences(seed=100, count=300, longest=12) if words(each.tree) > LONGEST]
    assert share_right(tree, test_on) >= 0.95
    assert len(longer) > 100 and share_right(tree, longer) >= 0.85


def test_a_reader_says_yes_or_no():
    reader = TreeReader(seed=1)
    assert likes(reader, "good") is (float(reader.score("good").eval()) > 0.0)
