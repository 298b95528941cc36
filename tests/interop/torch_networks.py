"""Networks as people write them in torch, through its exporters: values and gradients beside torch's own.

python tests/interop/torch_networks.py             # all of them, by both exporters; needs torch and onnxscript
"""

import io
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")  # the doctests of all files are looked for, also where it is missing

from torch import nn  # noqa: E402

from naive_graph import Graph  # noqa: E402
from naive_graph.interop import from_onnx  # noqa: E402

F = nn.functional


class Of(nn.Module):
    """A module of parts, by name, and what they compute."""

    def __init__(self, forward, **parts):
        super().__init__()
        self.parts, self.computes = nn.ModuleDict(parts), forward

    def forward(self, *x):
        return self.computes(self.parts, *x)


class Weighted(nn.Module):
    """A function of a tensor and of one weight."""

    def __init__(self, forward, *shape):
        super().__init__()
        self.w, self.computes = nn.Parameter(0.3 * torch.randn(shape)), forward

    def forward(self, x):
        return self.computes(x, self.w)


def _beside(inner):
    return Of(lambda p, x: torch.relu(p["inner"](x) + x), inner=inner)


def _attention(p, x):
    q, k, v = (each.reshape(2, 5, 2, 4).transpose(1, 2) for each in p["qkv"](x).chunk(3, -1))
    mask = torch.full((5, 5), float("-inf")).triu(1)
    y = torch.softmax(q @ k.transpose(-1, -2) / 2.0 + mask, -1) @ v
    return p["out"](y.transpose(1, 2).reshape(2, 5, 8)) + x


def _unet(p, x):
    a = torch.relu(p["down"](x))
    b = torch.relu(p["low"](F.max_pool2d(a, 2)))
    return p["out"](torch.cat([F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False), a], 1))


def _rotary(p, x):
    angles = torch.arange(5.0)[:, None] * torch.tensor([1.0, 0.1, 0.01, 0.001])
    q = p["q"](x)
    turned = torch.cat([-q[..., 4:], q[..., :4]], -1)
    cos, sin = (torch.cat([each, each], -1) for each in (angles.cos(), angles.sin()))
    return p["out"](F.silu(q * cos + turned * sin) * p["gate"](x))


def _aligned(p, x):
    theta = x.new_tensor([[[0.9, 0.1, 0.0], [-0.1, 0.9, 0.1]]]).repeat(2, 1, 1)
    return p["conv"](F.grid_sample(x, F.affine_grid(theta, [2, 3, 6, 6], align_corners=False), align_corners=False))


IMAGE, STEPS = (2, 3, 8, 8), (2, 5, 8)
NETWORKS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 3)), (4, 6)),
    "activations": (lambda: nn.Sequential(*(part for each in (
        nn.ELU(), nn.SELU(), nn.CELU(), nn.Softplus(), nn.Hardswish(), nn.Mish(), nn.LeakyReLU(), nn.PReLU(), nn.SiLU(),
        nn.Hardsigmoid(), nn.Tanh(), nn.LogSigmoid(), nn.Softsign(), nn.GLU(),
    ) for part in (nn.Linear(4 if isinstance(each, nn.Linear) else 8, 8), each)), nn.Linear(4, 2)), (3, 8)),
    "lenet": (lambda: nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(4, 4, 3), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(4, 3), nn.LogSoftmax(1)), IMAGE),
    "resnet": (lambda: nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), _beside(nn.Sequential(
        nn.Conv2d(4, 4, 3, 1, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.Conv2d(4, 4, 3, 1, 1))),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3)), IMAGE),
    "mobilenet": (lambda: nn.Sequential(
        nn.Conv2d(3, 6, 3, 2, 1, groups=3), nn.ReLU6(), nn.Conv2d(6, 4, 1), nn.Hardswish(),
        nn.Conv2d(4, 4, 3, padding=2, dilation=2, groups=4)), IMAGE),
    "squeeze": (lambda: Of(lambda p, x: x * torch.sigmoid(p["up"](p["down"](x.mean((2, 3))).relu()))[..., None, None],
                           down=nn.Linear(3, 2), up=nn.Linear(2, 3)), IMAGE),
    "densenet": (lambda: Of(lambda p, x: torch.cat([x, y := torch.relu(p["a"](x)), p["b"](torch.cat([x, y], 1))], 1),
                            a=nn.Conv2d(3, 4, 3, 1, 1), b=nn.Conv2d(7, 2, 1)), IMAGE),
    "unet": (lambda: Of(_unet,
                        down=nn.Conv2d(3, 4, 3, 1, 1), low=nn.Conv2d(4, 4, 3, 1, 1), out=nn.Conv2d(8, 2, 1)), IMAGE),
    "upwards": (lambda: nn.Sequential(nn.ConvTranspose2d(3, 4, 3, 2, 1, 1), nn.Upsample(scale_factor=2),
                                      nn.Conv2d(4, 8, 1), nn.PixelShuffle(2), nn.ZeroPad2d(1),
                                      nn.ReflectionPad2d(2)), (1, 3, 3, 3)),
    "autoencoder": (lambda: nn.Sequential(nn.Conv2d(3, 4, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 3, 4, 2, 1),
                                          nn.Sigmoid()), IMAGE),
    "norms": (lambda: nn.Sequential(nn.GroupNorm(1, 3), nn.InstanceNorm2d(3, affine=True), nn.LayerNorm([8, 8]),
                                    nn.LocalResponseNorm(2), nn.Conv2d(3, 2, 1)), IMAGE),
    "conv1d": (lambda: nn.Sequential(nn.Conv1d(8, 4, 2, padding=1), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(4, 2, 1)),
               (2, 8, 6)),
    "wavenet": (lambda: Of(lambda p, x: torch.tanh(p["f"](y := F.pad(x, (2, 0)))) * torch.sigmoid(p["g"](y)) + x,
                           f=nn.Conv1d(8, 8, 2, dilation=2), g=nn.Conv1d(8, 8, 2, dilation=2)), (2, 8, 6)),
    "conv3d": (lambda: nn.Sequential(nn.Conv3d(2, 3, 2), nn.ReLU(), nn.AvgPool3d(2), nn.Conv3d(3, 1, 1)),
               (1, 2, 5, 5, 5)),
    "rnn": (lambda: Of(lambda p, x: p["out"](p["rnn"](x)[0]), rnn=nn.RNN(8, 4), out=nn.Linear(4, 2)), STEPS),
    "lstm": (lambda: Of(lambda p, x: p["out"](p["lstm"](x)[0][:, -1]), lstm=nn.LSTM(8, 4, 2, batch_first=True),
                        out=nn.Linear(4, 2)), STEPS),
    "bilstm": (lambda: Of(lambda p, x: p["out"](p["lstm"](x)[0]), lstm=nn.LSTM(8, 4, bidirectional=True),
                          out=nn.Linear(8, 2)), STEPS),
    "gru": (lambda: Of(lambda p, x: p["out"](p["gru"](x)[1][0]), gru=nn.GRU(8, 4), out=nn.Linear(4, 2)), STEPS),
    "attention": (lambda: Of(_attention, qkv=nn.Linear(8, 24), out=nn.Linear(8, 8)), STEPS),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16, 0.0), STEPS),
    "multihead": (lambda: Of(lambda p, x: p["mha"](x, x, x, need_weights=False)[0],
                             mha=nn.MultiheadAttention(8, 2)), STEPS),
    "rotary": (lambda: Of(_rotary, q=nn.Linear(8, 8), gate=nn.Linear(8, 8), out=nn.Linear(8, 8)), STEPS),
    "mixer": (lambda: Of(lambda p, x: x + p["t"](p["n"](x).transpose(1, 2)).transpose(1, 2), n=nn.LayerNorm(8),
                         t=nn.Sequential(nn.Linear(5, 6), nn.GELU("tanh"), nn.Linear(6, 5))), STEPS),
    "words": (lambda: Of(lambda p, x: p["out"](p["table"](x).mean(1)), table=nn.Embedding(9, 4),
                         out=nn.Linear(4, 2)), None),
    "einsum": (lambda: Weighted(lambda x, w: torch.einsum("bti,ij,buj->btu", x, w, x).softmax(-1), 8, 8), STEPS),
    "sampled": (lambda: Of(_aligned, conv=nn.Conv2d(3, 2, 3)), (2, 3, 8, 8)),
    "picked": (lambda: Weighted(lambda x, w: (x @ w).topk(3, -1)[0].cumsum(-1).clamp(-1, 1).pow(2), 8, 6), STEPS),
    "masked": (lambda: Weighted(lambda x, w: torch.where((y := x @ w) > 0, y.exp(), y.abs().sqrt()).norm(dim=-1), 8, 4),
               STEPS),
    "gathered": (lambda: Weighted(lambda x, w: (y := x @ w).gather(2, y.argsort(-1)[..., :2]).flatten(1), 8, 4), STEPS),
    "stacked": (lambda: Weighted(lambda x, w: torch.stack([each.roll(1, 0) for each in (x @ w).unbind(1)], 1).tril(),
                                 8, 5), STEPS),
}  # fmt: skip


def network(name):
    """The network, an input of its, and what it gives."""
    torch.manual_seed(0)
    build, shape = NETWORKS[name]
    module = build().eval()
    for each in module.parameters():  # so that no two are equal, which exporters would make one
        nn.init.normal_(each, 0.0, 0.4)
    x = torch.randint(0, 9, (3, 4)) if shape is None else torch.randn(shape)
    return module, x


def exported(module, x, dynamo):
    """The bytes of a file, written by torch's present exporter, or by the one before."""
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder, "network.onnx")
        out, sys.stdout = sys.stdout, io.StringIO()
        try:
            torch.onnx.export(
                module,
                (x,),
                str(path),
                dynamo=dynamo,
                **({} if dynamo else {"training": torch.onnx.TrainingMode.PRESERVE}),
            )
        finally:
            sys.stdout = out
        import onnx

        return onnx.load(path).SerializeToString()


def compared(name, dynamo):
    """How far values and gradients are from torch's, of the largest: single precision is what torch exports.

    An exporter may join parameters (a norm becomes part of a convolution): then those of the inputs are compared alone.
    """
    module, x = network(name)
    data = exported(module, x, dynamo)
    module.double()
    whole = x.dtype == torch.int64
    x = x if whole else x.double().requires_grad_()
    with Graph.scratch():
        ours = from_onnx(data)
        due, value = module(x), ours(x.detach().numpy())
        (y,), (fed,) = ours.outputs.values(), ours.inputs.values()
        weights = np.random.default_rng(0).normal(size=due.shape)
        (y * weights).sum().backward(full=True)
        (due * torch.tensor(weights)).sum().backward()
        found = [each.gradient() for each in ours.parameters.values()]
        theirs = [each.grad.numpy() for each in module.parameters() if each.grad is not None]
        pairs = [] if whole else [(fed.gradient(), x.grad.numpy())]
        if sorted(each.size for each in found) == sorted(each.size for each in theirs):  # an exporter may turn some
            pairs.append([np.sort(np.concatenate([*map(np.ravel, some)])) for some in (found, theirs)])
        return off(value, due.detach().numpy()), max(off(*each) for each in pairs)


def off(ours, theirs):
    return np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())


if __name__ == "__main__":
    asked = sys.argv[1:] or list(NETWORKS)
    for each in asked:
        for dynamo in (False, True):
            try:
                said = "values {:.1e}, gradients {:.1e}".format(*compared(each, dynamo))
            except Exception as error:  # what this looks for
                said = f"{type(error).__name__} {str(error)[:300]}"
            print(f"{each} ({'dynamo' if dynamo else 'trace'}): {said}", flush=True)
