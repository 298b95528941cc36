"""Writes the networks of this folder: small ones, exported by PyTorch with its present exporter.

Run with an interpreter that has torch, onnx and onnxscript, from anywhere:

    python tests/interop/networks/make.py

The files are committed, so tests need no PyTorch. The weights are near PyTorch's own
beginnings; what the networks compute is told by onnxruntime in the tests.
"""

import tempfile
from pathlib import Path

import onnx
import torch
from torch import nn

HERE = Path(__file__).parent


class LeNet(nn.Module):
    """Two convolutions with pooling, three dense layers; for images of 16 x 16."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 4, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(4, 8, 5), nn.Tanh(), nn.MaxPool2d(2)
        )
        self.classifier = nn.Sequential(nn.Linear(32, 24), nn.Tanh(), nn.Linear(24, 16), nn.Tanh(), nn.Linear(16, 10))

    def forward(self, images):
        return self.classifier(torch.flatten(self.features(images), 1))


class Residual(nn.Module):
    """A block of a ResNet: two convolutions with batch normalisation, and a way around them."""

    def __init__(self, channels=6):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(x + self.second_norm(self.second(y)))


class Tagger(nn.Module):
    """An LSTM over sequences, and a dense layer at every step."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 8)
        self.dense = nn.Linear(8, 3)

    def forward(self, steps):
        return self.dense(self.lstm(steps)[0])


class Encoder(nn.Module):
    """Token and place embeddings, two layers of a transformer's encoder, and a score for each token."""

    def __init__(self, tokens=20, length=6, width=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, tokens)

    def forward(self, ids):
        return self.head(self.layers(self.tokens(ids) + self.places.weight))


class Gain(nn.Module):
    """Each vector divided by its own size, and multiplied by gains that are learned."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight


class Llama(nn.Module):
    """A block of a Llama. Its angles, its mask and its scale are buffers, which nobody learns."""

    def __init__(self, width=16, heads=2, length=5, inner=24):
        super().__init__()
        self.heads, self.first, self.second = heads, Gain(width), Gain(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)
        turns = torch.outer(torch.arange(length), 100 ** -torch.arange(0, 1, 2 * heads / width)).repeat(1, 2)
        self.register_buffer("cos", turns.cos())
        self.register_buffer("sin", turns.sin())
        self.register_buffer("mask", torch.triu(torch.full((length, length), float("-inf")), 1))
        self.register_buffer("scale", torch.tensor([(width / heads) ** -0.5]))

    def forward(self, x):
        batch, length, _ = x.shape
        y = self.first(x)
        q, k, v = (each(y).view(batch, length, self.heads, -1).transpose(1, 2) for each in (self.q, self.k, self.v))
        q, k = (each * self.cos + turned(each) * self.sin for each in (q, k))
        weights = torch.softmax(q @ k.transpose(-1, -2) * self.scale + self.mask, -1)
        x = x + self.o((weights @ v).transpose(1, 2).reshape(batch, length, -1))
        y = self.second(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def turned(x):
    left, right = x.chunk(2, -1)
    return torch.cat([-right, left], -1)


def networks():
    """Each network by the name of its file, and an input as it takes it."""
    mlp = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(-1))
    yield "mlp", mlp, torch.randn(4, 6)
    yield "lenet", LeNet(), torch.randn(2, 1, 16, 16)
    block = Residual()
    for _ in range(3):  # so that the running means are not 0
        block(torch.randn(4, 6, 8, 8) + 0.5)
    yield "resnet_block", block, torch.randn(2, 6, 8, 8)
    yield "lstm", Tagger(), torch.randn(7, 2, 5)
    yield "transformer", Encoder(), torch.randint(0, 20, (2, 6))
    yield "llama", Llama(), torch.randn(2, 5, 16)


def without_traces(model):
    """The model without what says on which machine and line it was made."""
    holders = [
        model,
        model.graph,
        *model.graph.node,
        *model.graph.value_info,
        *model.graph.initializer,
        *model.functions,
    ]
    for each in [*holders, *model.graph.input, *model.graph.output, *(n for f in model.functions for n in f.node)]:
        del each.metadata_props[:]
        each.doc_string = ""
    return model


def main():
    for name, network, given in networks():
        with torch.no_grad():  # else equal beginnings, as of all layer norms, would be one weight in the file
            for each in network.parameters():
                each.add_(0.05 * torch.randn_like(each))
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/{name}.onnx"
            torch.onnx.export(
                network.eval(),
                (given,),
                path,
                input_names=["x"],
                output_names=["y"],
                dynamo=True,
                external_data=False,
                verbose=False,
                optimize=name != "resnet_block",  # which would fold the normalisation
                dynamic_shapes=[{0: "batch"}] if name in ("mlp", "llama") else None,
            )
            model = without_traces(onnx.load(path))
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, HERE / f"{name}.onnx")
        used = ", ".join(sorted({each.op_type for each in model.graph.node}))
        size, opset = (HERE / f"{name}.onnx").stat().st_size, model.opset_import[0].version
        print(f"{name}: {size:,} bytes, opset {opset}: {used}")


if __name__ == "__main__":
    torch.manual_seed(0)
    main()
