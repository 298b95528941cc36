"""A firing takes a block of samples: it computes what single samples give, to rounding."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from written_networks import small

from naive_graph.sequential.layers import Activation, AveragePooling2D, Conv2D, Dense, MaxPooling2D
from naive_graph.sequential.model import Sequential
from naive_graph.sequential.sdf_runtime import training_machine
from naive_graph.sequential.weight_staleness import doubled, in_series, process_group
from naive_graph.training.optimizers import SimpleSGDTrainer

PICTURES = [Conv2D(3, (2, 3), (2, 1), padding=(1, 2)), MaxPooling2D(2), AveragePooling2D((1, 2)), Dense(3),
            Activation("softmax")]  # fmt: skip


@given(st.integers(1, 9), st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_many_samples_at_once_are_each_alone(count, seed):
    network = Sequential(PICTURES, (7, 6, 2), 0.1, 12, "crossEntropy", "gaussRandom")
    x = np.random.default_rng(seed).normal(size=(count, 7, 6, 2))
    np.testing.assert_allclose(network.predict(x), [network.predict(each) for each in x], rtol=1e-13, atol=1e-15)


@given(st.integers(1, 13))
@settings(max_examples=6, deadline=None)
def test_blocks_regroup_sums_and_change_nothing_else(block):
    """The weights of 30 samples, three groups: off by at most 2 n eps times their sizes, here 1e-13. Dropout too."""
    network, x, y = small()
    *_, one = in_series(network, doubled(network.weights), x, y, block=1)
    *_, many = in_series(network, doubled(network.weights), x, y, block=block)
    for half, other in zip(one.buffers, many.buffers):
        for a, b in zip(half, other):
            for name in a:
                np.testing.assert_allclose(a[name], b[name], rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(one.losses, many.losses, rtol=1e-13)


@given(st.integers(1, 30), st.integers(0, 9))
@settings(max_examples=8, deadline=None)
def test_a_blocks_sums_are_within_the_stated_bound_of_the_fold_over_samples(block, seed):
    """2 n eps times the sum of the terms' magnitudes; n: the samples, and the terms of all inner products."""
    network, x, y = small(seed=seed)
    flow, machine = network.expand(), training_machine(network)

    def sums(samples, size):
        members = range(samples.start, samples.stop)
        return process_group(machine, flow, network.weights, x, y, members, 0, size)[0]

    fold, blocks = sums(slice(0, 30), 1), sums(slice(0, 30), block)
    terms = [sums(slice(at, at + 1), 1) for at in range(30)]
    count = 30 + sum(sum(shape) for each in network.layers for shape in each.weight_shapes.values())
    for name, found in fold.items():
        for kind, total in found.items():
            size = sum(np.abs(each[name][kind]) for each in terms)
            assert (np.abs(blocks[name][kind] - total) <= 2 * count * np.finfo(float).eps * size).all()


def test_a_wild_step_is_refused_by_plain_descent_as_by_its_trainer():
    found = []
    for given_trainer in (False, True):
        network = Sequential([Dense(2)], 2, 1.0, initializer=1e200)
        trainer = SimpleSGDTrainer(network, 1.0) if given_trainer else None
        before = network.values.copy()
        try:
            network.fit(np.full((4, 2), 1e200), np.ones((4, 2)), trainer=trainer, progress=False)
        except ArithmeticError as error:
            found.append(str(error))
        assert (network.values == before).all()
    assert len(found) == 2
