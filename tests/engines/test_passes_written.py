"""Samples are found however their loop is written, and what is written otherwise in some of them changes no number.

All numbers here are small and whole, so sums are exact in any order: every value and slope has the reference's bits.
"""

from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Program, Variable

SEEDS = st.integers(0, 10**9)
STEPS = ("dense", "dense", "relu", "neg", "sub", "abs", "square")
EACH, LAYERS = "sample after sample", "layer after layer"
SUMS = ("ir", "per sample", "pairs", "by output", "taken away")


class Written:
    """A loss over samples. seed: of the numbers and of the network; order, total: how it is written."""

    def __init__(self, seed, samples, order, total, odd=0.0, data=Constant, labels=False):
        self.dice, self.samples, self.odd, self.labels = Random(seed), samples, odd, labels
        self.steps = [
            *self.dice.sample(STEPS, self.dice.randint(1, 3)),
            "dense",
        ]  # one square: numbers stay below 2**53
        self.weights, self.seen = [], []
        xs = [[self.leaf(data) for _ in range(2)] for _ in range(samples)]
        layers = [self.layer(step) for step in self.steps]
        if order == LAYERS:
            for layer in layers:
                xs = [layer(x, xs) for x in xs]
        else:
            inputs = [*xs]
            for place, x in enumerate(inputs):
                for layer in layers:
                    x = layer(x, inputs)
                xs[place] = x
        self.loss = getattr(self, total.replace(" ", "_"))([self.errors(x, place) for place, x in enumerate(xs)])
        self.leaves = [*self.weights, *(each for each in self.seen if type(each) is Variable)]

    def number(self):
        return float(self.dice.randint(-2, 2))

    def leaf(self, kind):
        made = kind() if kind is PlaceHolder else kind(self.number())
        if kind is PlaceHolder:
            made.value = self.number()
        self.seen.append(made)
        return made

    def layer(self, step):
        if step == "dense":
            rows = [[Variable(self.number()) for _ in range(3)] for _ in range(3)]
            self.weights += [w for row in rows for w in row]
            return self.oddly(lambda x: [sum((w * a for w, a in zip(row, x)), row[-1]) for row in rows])
        if step == "sub":
            return self.oddly(lambda x: [x[-1] - a for a in x[:-1]] + [x[0]])
        return self.oddly(lambda x: [ng.square(a) if step == "square" else getattr(ng, step)(a) for a in x])

    def oddly(self, layer):
        """Now and then a sample is written otherwise: it takes its numbers in another order, or another sample's."""

        def written(x, others):
            if self.dice.random() < self.odd:
                how = self.dice.randrange(3)
                x = x[::-1] if how == 0 else self.dice.choice(others) if how == 1 and others else [x[0]] * len(x)
            return layer(x)

        return written

    def errors(self, x, place):
        if self.labels:
            return [sum(x) * 2.0 - x[place * 7 % len(x)]]  # all of them are needed, and one is picked
        return [(a - self.number()) * (a + 1.0) for a in x]

    def ir(self, errors):
        loss = 0
        for each in errors:
            for error in each:
                loss = loss + error
        return loss

    def per_sample(self, errors):
        loss = Variable(1.0)
        for each in errors:
            loss = loss + sum(each)
        return loss

    def pairs(self, errors):
        errors = [error for each in errors for error in each]
        while len(errors) > 1:
            errors = [a + b for a, b in zip(errors[::2], errors[1::2])] + errors[len(errors) & ~1 :]
        return errors[0]

    def by_output(self, errors):
        return Graph.sum([error for each in zip(*errors) for error in reversed(each)]) * 2.0

    def taken_away(self, errors):
        loss = Variable(2.0) * 3.0
        for each in errors:
            for error in each:
                loss = loss - error
        return loss


def has_the_bits(loss, leaves):
    """Every value and slope of the tape is the reference engine's."""
    tape, law = (Program(loss, wrt=leaves, engine=engine)() for engine in ("compiled", "reference"))
    assert np.array_equal(tape.value, law.value) and np.array_equal(tape.gradient, law.gradient)


def samples_of(loss, leaves):
    return Program(loss, wrt=leaves, engine="compiled").stages()["lanes"].samples


@pytest.mark.parametrize("total", SUMS)
@pytest.mark.parametrize("order", [EACH, LAYERS])
@example(seed=242349, samples=15, data=PlaceHolder, labels=False)  # two hashes share a place in a table
@given(SEEDS, st.integers(8, 20), st.sampled_from([Constant, PlaceHolder]), st.booleans())
@settings(max_examples=4, deadline=None)
def test_samples_are_found_in_whatever_order_they_are_written(order, total, seed, samples, data, labels):
    with Graph.scratch():
        made = Written(seed, samples, order, total, data=data, labels=labels)
        has_the_bits(made.loss, made.weights)
        assert samples_of(made.loss, made.weights) == [1, samples]


@given(SEEDS, st.integers(8, 24), st.sampled_from([EACH, LAYERS]), st.sampled_from(SUMS), st.floats(0.01, 0.3),
       st.sampled_from([Constant, PlaceHolder, Variable]), st.booleans())  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_samples_of_which_some_are_written_otherwise_keep_every_bit(seed, samples, order, total, odd, data, labels):
    with Graph.scratch():
        made = Written(seed, samples, order, total, odd, data, labels)
        has_the_bits(made.loss, made.leaves)


@given(SEEDS, st.sampled_from(SUMS), st.sampled_from([EACH, LAYERS]))
@settings(max_examples=8, deadline=None)
def test_rows_of_samples_that_are_used_elsewhere_keep_every_bit(seed, total, order):
    with Graph.scratch():
        made = Written(seed, 12, order, total)
        inner = Random(seed).sample([node for node in Graph.node_list if node.in_deg and node is not made.loss], 3)
        has_the_bits(made.loss * inner[0] + inner[1], made.weights)
        tape, law = (Program([made.loss, *inner], engine=engine)() for engine in ("compiled", "reference"))
        assert tape.value == law.value


@given(SEEDS, st.sampled_from(SUMS))
@settings(max_examples=8, deadline=None)
def test_samples_that_need_a_sum_over_all_samples_keep_every_bit(seed, total):
    with Graph.scratch():
        dice, w, v = Random(seed), Variable(2.0), Variable(-1.0)
        made = object.__new__(Written)
        xs = [Constant(float(dice.randint(-3, 3))) * w + v for _ in range(16)]
        mean = Graph.sum(xs) * 0.0625
        loss = getattr(made, total.replace(" ", "_"))([[ng.square(x - mean), x * mean] for x in xs])
        has_the_bits(loss, [w, v])


@pytest.mark.parametrize("unused", [float("inf"), float("nan")])
def test_a_number_that_is_not_chosen_may_be_anything(unused):
    """A pick is no product with 0: what is not picked has no part in it, and a relu behind it hides nothing."""
    w, v, loss = Variable(1.0), Variable(0.5), 0
    for number in range(10):
        h = [w * float(number), v * (unused if number == 3 else 2.0), w * v * (unused if number == 5 else 1.0)]
        at = 0 if number in (3, 5) else number % 3
        seen = ng.where(Graph.sum(h) > 0.0, 1.0, 2.0)
        loss = loss + ng.relu(h[at]) * seen
    has_the_bits(loss, [w, v])


def test_a_sum_that_a_comparison_sees_is_not_put_together_from_pairs():
    w = Variable(0.1)
    terms = [(w * Constant(0.1 * k)).sin() * w for k in range(16)]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2])]
    law = Program(terms[0], engine="reference")().value
    seen = ng.where(terms[0] > law, 1.0, ng.where(terms[0] < law, 2.0, 3.0))
    assert Program(seen, engine="compiled")().value == 3.0


@example("ir")
@example("pairs")
@given(st.sampled_from(SUMS))
@settings(max_examples=5, deadline=None)
def test_sums_in_another_order_stay_within_their_bound(total):
    with Graph.scratch():
        w, v = Variable(0.3), Variable(-1.1)
        terms = [[(w * x).tanh() * v, (x - v).sin()] for x in np.linspace(-3.0, 3.0, 33).tolist()]
        made = object.__new__(Written)
        loss = getattr(made, total.replace(" ", "_"))(terms)
        Graph.forward(loss)
        tape, law = (Program(loss, wrt=[w, v], engine=engine)() for engine in ("compiled", "reference"))
        magnitude = sum(abs(term.value) for each in terms for term in each) + 6.0
        assert abs(tape.value - law.value) <= 2 * 70 * 2.0**-53 * magnitude
        assert np.allclose(tape.gradient, law.gradient, rtol=1e-12)
