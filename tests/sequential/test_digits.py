"""A network that is written as text learns to read digits, on one worker and on two."""

import numpy as np
import pytest

from naive_graph.sequential.compile import parse

TEXT = """stream<double x> res, images, digits;
res = sequential (images, digits) ((8, 8, 1), 0.2, 16, "crossEntropy", "glorotUniform") {
  add Conv2D(8, 3);  add MaxPooling2D(2);
  add Dense(32);  add Activation("relu");
  add Dense(10);  add Activation("softmax");
};"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [None, "threads"])
def test_it_reads_95_of_100_digits_that_it_has_not_seen(workers):
    load_digits = pytest.importorskip("sklearn.datasets").load_digits
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order].reshape(-1, 8, 8, 1) / 16, labels[order]
    fifth = len(images) // 5
    network = parse(TEXT)["res"]
    network.fit(images[fifth:], labels[fifth:], epochs=10, workers=workers, progress=False)
    assert network.evaluate(images[:fifth], labels[:fifth])["accuracy"] >= 0.95
