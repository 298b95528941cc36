"""Import of DFT and STFT, as products with constant matrices of cosines and sines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...tensor import slicing
from ...tensor.base import TensorNode
from ...tensor.nodes import LeafNode, LinearNode
from .import_graph import OnnxBuilder, import_rule
from .import_rules import attributes_of
from .steps import OnnxStep


@import_rule("DFT")
def dft(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    attributes, x, length = attributes_of(step), builder.operand(step, 0), builder.known_array(step, 1)
    axis = attributes.get("axis", 1) if step.opset < 20 else builder.known_array(step, 2)
    dft_axis = int(-2 if axis is None else axis) % x.rank
    inverse, half = attributes.get("inverse", 0), attributes.get("onesided", 0)
    count = 2 * (x.shape[dft_axis] - 1) if inverse and half else x.shape[dft_axis]
    return [_spectrum(builder, step, x, dft_axis, count if length is None else int(length), inverse, half)]


@import_rule("STFT")
def stft(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """STFT: the DFT of each frame of a signal."""
    hop, length = builder.known_array(step, 1), builder.known_array(step, 3)
    x, window = builder.operand(step, 0), builder.operand(step, 2)
    size = int(window.size if length is None else length)
    frames = slicing.gather_axis(x, 1, ((x.shape[1] - size) // int(hop) + 1, size), (int(hop), 1))
    windowed: Any = frames if window is None else frames * slicing.reshape(window, (size, 1))
    return [_spectrum(builder, step, windowed, 2, size, False, attributes_of(step).get("onesided", 1))]


def _spectrum(
    builder: OnnxBuilder, step: OnnxStep, x: TensorNode, dft_axis: int, count: int, inverse: Any, onesided: Any
) -> TensorNode:
    """DFT along one axis. The last axis holds the real part, and the imaginary part if there is one."""
    rows = count // 2 + 1 if inverse and onesided else count
    builder.hold(32 * rows * count, step.label)
    j, k = np.ogrid[:rows, : count // 2 + 1 if onesided and not inverse else count]
    wave = np.exp((2j if inverse else -2j) * np.pi * (j * k % count) / count) / (count if inverse else 1)
    if inverse and onesided:  # the other half is the mirror image of this one
        wave = wave * np.where((j == 0) | (2 * j == count), 1.0, 2.0)
    parts = [[wave.real, -wave.imag], [wave.imag, wave.real]]  # to a part, from a part
    table = np.array(parts)[: 1 if inverse and onesided else 2, : x.shape[-1]].transpose(2, 1, 3, 0)  # j, from, k, to
    x, rank = slicing.pad_axis(x, dft_axis, 0, rows - x.shape[dft_axis]), x.rank
    left = [-(axis + 1) if axis in (dft_axis, rank - 1) else axis + 1 for axis in range(rank)]
    dst = [*range(1, rank + 1)]
    dst[-1], dst[dft_axis] = rank + 2, rank + 1
    return LinearNode(
        "mul", dst, left, (-(dft_axis + 1), -rank, rank + 1, rank + 2), x, LeafNode.constant(table.copy())
    )
