"""DFT and STFT, as products with constant matrices of cosines and sines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensor import picks
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode, LinearNode
from .import_graph import OnnxBuilder, import_rule
from .import_rules import attributes_of
from .steps import Application


@import_rule("DFT")
def dft(builder: OnnxBuilder, step: Application) -> Sequence[Any]:
    said, x, length = attributes_of(step), builder.operand(step, 0), builder.known_array(step, 1)
    axis = said.get("axis", 1) if step.opset < 20 else builder.known_array(step, 2)
    at = int(-2 if axis is None else axis) % x.rank
    inverse, half = said.get("inverse", 0), said.get("onesided", 0)
    count = 2 * (x.shape[at] - 1) if inverse and half else x.shape[at]
    return [_spectrum(builder, step, x, at, count if length is None else int(length), inverse, half)]


@import_rule("STFT")
def stft(builder: OnnxBuilder, step: Application) -> Sequence[Any]:
    """STFT: the DFT of each frame of a signal."""
    by, length = builder.known_array(step, 1), builder.known_array(step, 3)
    x, window = builder.operand(step, 0), builder.operand(step, 2)
    size = int(window.size if length is None else length)
    frames = picks.pick(x, 1, ((x.shape[1] - size) // int(by) + 1, size), (int(by), 1))
    seen: Any = frames if window is None else frames * picks.reshape(window, (size, 1))
    return [_spectrum(builder, step, seen, 2, size, False, attributes_of(step).get("onesided", 1))]


def _spectrum(
    builder: OnnxBuilder, step: Application, x: TensorNode, at: int, count: int, inverse: Any, half: Any
) -> TensorNode:
    """DFT along one axis. The last axis holds the real part, and the imaginary part if there is one."""
    rows = count // 2 + 1 if inverse and half else count
    builder.hold(32 * rows * count, step.label)
    j, k = np.ogrid[:rows, : count // 2 + 1 if half and not inverse else count]
    wave = np.exp((2j if inverse else -2j) * np.pi * (j * k % count) / count) / (count if inverse else 1)
    if inverse and half:  # the other half is the mirror image of this one
        wave = wave * np.where((j == 0) | (2 * j == count), 1.0, 2.0)
    parts = [[wave.real, -wave.imag], [wave.imag, wave.real]]  # to a part, from a part
    table = np.array(parts)[: 1 if inverse and half else 2, : x.shape[-1]].transpose(2, 1, 3, 0)  # j, from, k, to
    x, rank = picks.padded(x, at, 0, rows - x.shape[at]), x.rank
    left = [-(each + 1) if each in (at, rank - 1) else each + 1 for each in range(rank)]
    dst = [rank + 1 if each == at else rank + 2 if each == rank - 1 else each + 1 for each in range(rank)]
    return LinearNode("mul", dst, left, (-(at + 1), -rank, rank + 1, rank + 2), x, LeafNode.constant(table.copy()))
