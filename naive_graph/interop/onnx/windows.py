"""Import of convolution and pooling in one and three dimensions, built from the 2-D operators.

A sequence (batch, channels, length) is treated as an image of one row. A volume is pooled along two
axes, then along the third; for a convolution, the depth positions in a window become channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from ...errors import ImportAttributeError
from ...tensor import arithmetic, slicing
from ...tensor.base import TensorNode
from ...tensor.operators.convolution import add_overlapping_windows
from ...tensor.operators.moves import squeeze
from ...tensor.sliding import make_window
from ...tensor.sparse_selector import IndexMap
from .import_graph import OnnxBuilder, attributes_of, import_rule, mapping_of
from .steps import OnnxStep

# Attributes with an entry for each spatial axis (pads: two) -> the entry for an axis of extent 1 that is added,
# which is also the least that an entry may be.
NEW_AXIS_ENTRIES = {"kernel_shape": 1, "strides": 1, "dilations": 1, "output_padding": 0, "output_shape": 1, "pads": 0}
POOLS = ("MaxPool", "AveragePool", "LpPool")


@import_rule("Conv", "ConvTranspose", *POOLS, "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "DepthToSpace",
          "SpaceToDepth")  # fmt: skip
def windows(builder: OnnxBuilder, step: OnnxStep) -> Sequence[Any]:
    """Treat a sequence as an image of one row, and a volume as images whose depth axis is handled separately."""
    x = builder.operand(step, 0)
    if "Space" in step.op and x.rank != 4:
        raise ImportAttributeError(step.label, "rank of input 0", x.rank, "Images are read, of rank 4.")
    if not 3 <= x.rank <= 5:
        raise ImportAttributeError(
            step.label, "rank of input 0", x.rank, "Sequences, images and volumes are read, of rank 3, 4 and 5."
        )
    for name, attribute in step.attributes.items():
        due = (x.rank - 2) * (2 if name == "pads" else 1)
        if name in NEW_AXIS_ENTRIES and len(attribute.ints) != due:
            why = f"Due {'is 1 number' if due == 1 else f'are {due} numbers'} for an input of rank {x.rank}."
            raise ImportAttributeError(step.label, name, list(attribute.ints), why)
    if x.rank == 4:
        return builder.by_row(step)
    for name, least in NEW_AXIS_ENTRIES.items():  # here, since the image operator would name other numbers
        numbers = list(step.attributes[name].ints) if name in step.attributes else [least]
        if min(numbers) < least:
            raise ImportAttributeError(step.label, name, numbers, f"Its numbers are {least} or more.")
    return (_slide_sequence if x.rank == 3 else _slide_volume)(builder, step, x)


def _slide_sequence(builder: OnnxBuilder, step: OnnxStep, x: TensorNode) -> Sequence[Any]:
    inputs = [x, *(builder.operand(step, position) for position in range(1, len(step.inputs)))]
    inputs[:2] = [arithmetic.expand_dims(value, 2) for value in inputs[:2]]
    return [squeeze.function(_slide_image(builder, step, [None, 0], inputs), [2])]


def _slide_image(builder: OnnxBuilder, step: OnnxStep, axes: Sequence[int | None], values: Sequence[Any]) -> TensorNode:
    """Apply the image operator along two spatial axes; None is a new axis of extent 1."""
    names = [f"{name}/image" if value is not None else "" for name, value in zip(step.inputs, values)]
    builder.values |= {name: value for name, value in zip(names, values) if name}
    step = _choose_axes(step._replace(inputs=tuple(names), outputs=step.outputs[:1]), axes)
    return builder.by_row(step)[0]  # type: ignore[no-any-return]


def _choose_axes(step: OnnxStep, axes: Sequence[int | None]) -> OnnxStep:
    """The step with its attributes for these spatial axes; None is a new axis of extent 1."""
    changed = {}
    for name, attribute in step.attributes.items():
        changed[name] = copied = type(attribute)()
        copied.CopyFrom(attribute)
        if name in NEW_AXIS_ENTRIES:
            count = len(attribute.ints) // (1 + (name == "pads"))
            entries: list[int] = []
            for first in range(0, len(attribute.ints), count):
                entries += [NEW_AXIS_ENTRIES[name] if axis is None else attribute.ints[first + axis] for axis in axes]
            copied.ints[:] = entries
    return step._replace(attributes=changed)


# --- volumes ------------------------------------------------------------------


def _slide_volume(builder: OnnxBuilder, step: OnnxStep, x: TensorNode) -> Sequence[Any]:
    n, c, depth, *image = x.shape
    if step.op in POOLS:  # pool images first, then along the depth
        flat = _slide_image(builder, step, [1, 2], [slicing.reshape(x, (n, c * depth, *image))])
        after = flat.shape[2:]
        deep = _slide_image(builder, step, [0, None], [slicing.reshape(flat, (n, c, depth, prod(after)))])
        return [slicing.reshape(deep, (n, c, deep.shape[2], *after))]
    if step.op.startswith("Global"):
        pooled = _slide_image(builder, step, [1, 2], [slicing.reshape(x, (n, c, depth * image[0], image[1]))])
        return [slicing.reshape(pooled, (n, c, 1, 1, 1))]
    w, bias = builder.operand(step, 1), builder.operand(step, 2)
    result = (_transpose_convolve_volume if step.op == "ConvTranspose" else _convolve_volume)(builder, step, x, w)
    return [result if bias is None else result + slicing.reshape(bias, (bias.size, 1, 1, 1))]


def _depth_properties(builder: OnnxBuilder, step: OnnxStep) -> dict[str, Any]:
    """The properties of the image operator along the depth: of each pair the first counts."""
    return builder.properties(_choose_axes(step, [0, None]), *mapping_of(step.op, step.opset))


def _convolve_volume(builder: OnnxBuilder, step: OnnxStep, x: TensorNode, w: TensorNode) -> TensorNode:
    """3-D convolution: the depth positions in a window become channels of an image."""
    n, _, depth, *image = x.shape
    along_depth = _depth_properties(builder, step)
    stride, dilation = along_depth["strides"][0], along_depth["dilations"][0]
    window = make_window(depth, w.shape[2], stride, along_depth["padding"], dilation)
    depth_windows = arithmetic.transpose(window.extract(x, 2), 0, 2, 1, 3, 4, 5)
    images = slicing.reshape(depth_windows, (n * window.out, -1, *image))
    y = _slide_image(builder, step, [1, 2], [images, slicing.reshape(w, (w.shape[0], -1, *w.shape[3:]))])
    return arithmetic.transpose(slicing.reshape(y, (n, window.out, *y.shape[1:])), 0, 2, 1, 3, 4)


def _transpose_convolve_volume(builder: OnnxBuilder, step: OnnxStep, x: TensorNode, w: TensorNode) -> TensorNode:
    """3-D transposed convolution: channels of an image are scattered along the depth."""
    attributes, (n, _, depth, *image) = attributes_of(step), x.shape
    for name in ("output_shape", "auto_pad"):
        if attributes.get(name, "NOTSET") != "NOTSET":
            raise ImportAttributeError(
                step.label, name, attributes[name], "Of volumes, pads are read. Export the network with pads."
            )
    along_depth = _depth_properties(builder, step)
    stride, dilation, output_padding = (along_depth[name][0] for name in ("strides", "dilations", "output_padding"))
    before, _, after, _ = along_depth["padding"]
    out = (depth - 1) * stride + (w.shape[2] - 1) * dilation + 1 + output_padding - before - after
    images = slicing.reshape(arithmetic.transpose(x, 0, 2, 1, 3, 4), (n * depth, -1, *image))
    y = _slide_image(builder, step, [1, 2], [images, slicing.reshape(w, (w.shape[0], -1, *w.shape[3:]))])
    y = slicing.reshape(y, (n, depth, -1, w.shape[2], *y.shape[2:]))
    selection = IndexMap((0, 1), 2, (stride, dilation), -before)
    y = add_overlapping_windows(arithmetic.transpose(y, 0, 1, 3, 2, 4, 5), 1, selection, out)
    return arithmetic.transpose(y, 0, 2, 1, 3, 4)
