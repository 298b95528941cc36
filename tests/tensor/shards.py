"""Data-parallel training: each worker differentiates the loss of its own samples."""

import numpy as np

from naive_graph import Graph, LeafNode, Model, MomentumSGDTrainer
from naive_graph.training import parameter


def model():
    made = Model(seed=1)
    made.add_parameters((4, 8), name="W1")
    made.add_parameters((8, 3), name="W2")
    return made


def samples(shards=2, each=16):
    """(inputs, one-hot targets) for each shard."""
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(each, 4)), np.eye(3)[rng.integers(0, 3, each)]) for _ in range(shards)]


def gradient(weights, x, target):
    """The loss of a shard and its gradient, by whoever runs this."""
    with Graph.scratch():
        copy = model()
        copy.values[:] = weights
        hidden = (LeafNode.constant(x) @ parameter(copy["W1"])).tanh()
        log_shares = (hidden @ parameter(copy["W2"])).log_softmax()
        loss = -(log_shares * target).sum() / float(len(x))
        loss.backward()
        return float(loss.eval()), copy.gradients.copy()


def train(mapped, steps=20):
    """The losses and the last weights, the shards' gradients being found by `mapped`."""
    learned, shards = model(), samples()
    trainer = MomentumSGDTrainer(learned, 0.1)
    losses = []
    for _ in range(steps):
        found = mapped(gradient, [(learned.values.copy(), *shard) for shard in shards])
        for _, each in found:  # in the order of the shards, so that the sum's bits do not depend on who was first
            learned.gradients[:] += each
        losses.append(sum(loss for loss, _ in found))
        trainer.update(1.0 / len(shards))
    return losses, learned.values.copy()
