"""Trains the network of lesson 14 with PyTorch, and writes it and some pictures into naive_graph/classroom.

Run with an interpreter that has torch, onnx, onnxscript and scikit-learn, from anywhere:

    python tests/interop/networks/digits.py

Both files are committed, so nobody else needs PyTorch. The pictures are of E. Alpaydin and
C. Kaynak, Optical Recognition of Handwritten Digits (UCI Machine Learning Repository, 1998).
"""

import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn

HERE = Path(__file__).resolve()
THERE = HERE.parents[3] / "naive_graph" / "classroom"
SHOWN = 400  # pictures that the network never saw, for the lesson


class Reader(nn.Module):
    """Six windows of 3 x 3, the largest of each 2 x 2, and one dense layer."""

    def __init__(self):
        super().__init__()
        self.windows = nn.Conv2d(1, 6, 3)
        self.digits = nn.Linear(6 * 3 * 3, 10)

    def forward(self, pictures):
        seen = torch.max_pool2d(torch.relu(self.windows(pictures)), 2)
        return self.digits(torch.flatten(seen, 1))


def trained(pictures, labels):
    """After 60 epochs of Adam with batches of 32."""
    torch.manual_seed(3)
    network = Reader()
    adam = torch.optim.Adam(network.parameters(), lr=0.005, weight_decay=1e-4)
    for _ in range(60):
        for some in torch.randperm(len(pictures)).split(32):
            adam.zero_grad()
            nn.functional.cross_entropy(network(pictures[some]), labels[some]).backward()
            adam.step()
    return network


def shifted(pictures):
    """One row lower, and the lowest row gone."""
    return torch.nn.functional.pad(pictures, (0, 0, 1, -1))


def written(network, path):
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "raw.onnx"
        batch = torch.export.Dim("batch")
        torch.onnx.export(
            network, (torch.zeros(2, 1, 8, 8),), raw, input_names=["pictures"], output_names=["scores"],
            dynamic_shapes={"pictures": {0: batch}}, dynamo=True, external_data=False,
        )  # fmt: skip
        model = onnx.load(raw)
    for node in model.graph.node:
        del node.metadata_props[:]  # where each came from, in the exporter's words
    del model.metadata_props[:]
    model.doc_string = model.graph.doc_string = ""
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def main():
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.images))
    pictures = torch.tensor(data.images[order], dtype=torch.float32)[:, None] / 16
    labels = torch.tensor(data.target[order])
    network = trained(pictures[SHOWN:], labels[SHOWN:]).eval()
    with torch.no_grad():
        for name, given in (("as they are", pictures[:SHOWN]), ("shifted", shifted(pictures[:SHOWN]))):
            print(name, float((network(given).argmax(1) == labels[:SHOWN]).float().mean()))
    written(network, THERE / "digits.onnx")
    lines = [
        f"{label} " + "".join("0123456789abcdefg"[int(ink)] for ink in picture.ravel())
        for picture, label in zip(data.images[order[:SHOWN]], data.target[order[:SHOWN]], strict=True)
    ]
    (THERE / "digits.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


main()
