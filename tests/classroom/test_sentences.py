"""The sentences to learn from: a seed makes them, a bracketed text and a tree say the same."""

import random
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_graph.classroom import sentences
from naive_graph.errors import ExpressionError

trees = st.recursive(
    st.sampled_from(sentences.WORDS),
    lambda inner: st.tuples(st.just("not"), inner) | st.tuples(st.sampled_from(["and", "or", "but"]), inner, inner),
    max_leaves=12,
)


def test_a_seed_makes_the_same_sentences_in_every_python():
    texts = [f"{each.label:.0f} {each.text}\n" for each in sentences.draw_sentences()]
    assert sha256("".join(texts).encode()).hexdigest()[:16] == "83633d8a04a733be"


def test_another_seed_makes_other_sentences():
    assert sentences.draw_sentences(8, 10) != sentences.draw_sentences(9, 10)


def test_no_sentence_stands_twice_and_half_of_them_like_the_soup():
    learn_from, test_on = sentences.load()
    assert (len(learn_from), len(test_on)) == (400, 100)
    assert len({each.text for each in learn_from + test_on}) == 500
    for part in (learn_from, test_on):
        assert sum(each.label for each in part) == len(part) / 2


def test_every_label_is_the_meaning_of_its_sentence():
    learn_from, test_on = sentences.load()
    assert all(sentences.meaning(each.tree) == each.label for each in learn_from + test_on)


@given(trees)
def test_reading_what_was_written_gives_the_tree_again(tree):
    assert sentences.read(sentences.write(tree)) == tree


@pytest.mark.parametrize(
    ("text", "liked"),
    [
        ("good", True),
        ("not good", False),
        ("not (good and bad)", True),
        ("not good and bad", False),
        ("good but bad", False),
        ("bad but good or thin", True),
        ("NOT ((fresh))", False),
        ("not not warm", True),
    ],
)
def test_a_sentence_means_what_its_tree_says(text, liked):
    assert sentences.meaning(sentences.read(text)) is liked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tasty", "Nobody taught us the word 'tasty'. Use good, "),
        ("good bad", "Two opinions stand side by side in 'good bad'. Join them: good and warm."),
        ("(good and bad", "A bracket in '(good and bad' is never closed. Close it"),
        ("good)", "A bracket is closed in 'good)' that was never opened. Take it away."),
        ("", "An opinion is missing in ''. Write one, such as: good and not bad."),
        ("good and", "An opinion is missing in 'good and'."),
        ("not", "An opinion is missing in 'not'."),
        ("good and ()", "An opinion is missing in 'good and ()'."),
        ("and good", "'and' lacks an opinion before it in 'and good'. Write: good and not bad."),
        ("not and good", "'and' lacks an opinion before it in 'not and good'."),
        ("good not bad", "'not' lacks a joint before it in 'good not bad'. Write: good and not bad."),
    ],
)
def test_what_is_no_sentence_is_refused_with_its_repair(text, message):
    with pytest.raises(ExpressionError) as error:
        sentences.read(text)
    assert str(error.value).startswith(message)


def test_a_very_deep_tree_is_folded_written_and_read():
    tree = "good"
    for _ in range(50_001):
        tree = ("not", tree)
    assert sentences.meaning(tree) is False
    assert sentences.meaning(sentences.read("not " * 50_001 + "good")) is False
    assert sentences.fold(tree, lambda word: 0, lambda name, part: part + 1) == 50_001


def test_a_drawn_tree_has_the_words_that_were_asked_for():
    tree = sentences.grow(random.Random(1), 40)
    assert sentences.fold(tree, lambda word: 1, lambda name, *parts: sum(parts)) == 40
