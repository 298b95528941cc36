"""The texts that the specification names, and a small network to run."""

import numpy as np

from naive_graph.sequential.layers import Activation, Dense, Dropout
from naive_graph.sequential.model import Sequential

V1 = """stream<double x> res, data, label;
res = sequential (data, label) (4, 0.1, 7, "variance", 0.5) {
  add Dense(3, 0);  add Dense(2, 0);
};"""
V2 = """stream<double x> out, img, cls;                                     // V2
out = sequential (img, cls) ((5,5,1), 0.01, 12, "crossEntropy", ('gaussRandom', 0, 0.1)) {
  add Conv2D(3, (2,2), 1, 1);  add MaxPooling2D(2);  add Dense(5);  add Activation("softmax");
};"""
V3 = """stream<double x> g, a, b;                                           // V3
g = sequential (a, b) (28*28, 1e-2, 16, initializer='gaussRandom') {
  add Dense(100); add Activation('relu'); add Dropout(0.5); add Dense(10, use_bias=0); add Activation("sigmoid");
};"""


def small(**wishes):
    """A network with every kind of stream, and samples for it: whole groups and a short one."""
    layers = [Dense(5), Activation("relu"), Dropout(0.3), Dense(3), Activation("softmax")]
    given = {"batch_size": 13, "loss": "crossEntropy", "initializer": "glorotUniform", "seed": 3} | wishes
    network = Sequential(layers, 4, **given)
    random = np.random.default_rng(0)
    return network, random.random((30, 4)), np.eye(3)[random.integers(0, 3, 30)]


def same(one, other):
    """Whether two lists of weights have the same bits."""
    return all(np.array_equal(a[name], b[name]) for a, b in zip(one, other, strict=True) for name in a)
