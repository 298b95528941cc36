"""Answers to the exercises about networks from somewhere else."""

import math

import numpy as np

from . import RIGHT, right, wrong

# --- channels_last ---

RIGHT += [
    ("channels_last", lambda picture: np.transpose(picture, (1, 2, 0)).tolist()),
    ("channels_last", lambda picture: [[list(pixel) for pixel in zip(*rows)] for rows in zip(*picture)]),
]


@right("channels_last")
def channels_last_by_appending(picture):
    result = []
    for i in range(len(picture[0])):
        row = []
        for j in range(len(picture[0][0])):
            pixel = []
            for channel in picture:
                pixel.append(channel[i][j])
            row.append(pixel)
        result.append(row)
    return result


@wrong("channels_last", "wrong_shape")
def channels_last_turned(picture):
    return np.array(picture).T.tolist()


# --- same_pads ---

RIGHT += [
    (
        "same_pads",
        lambda size, kernel, stride: [
            (zeros := max((math.ceil(size / stride) - 1) * stride + kernel - size, 0)) // 2,
            math.ceil(zeros / 2),
        ],
    ),
]


@right("same_pads")
def same_pads_by_trying(size, kernel, stride):
    before = behind = 0
    while (size + before + behind - kernel) // stride + 1 < -(-size // stride):
        if behind > before:
            before += 1
        else:
            behind += 1
    return [before, behind]


@right("same_pads")
def same_pads_by_the_rest(size, kernel, stride):
    rest = size % stride
    zeros = kernel - (rest if rest else stride)
    if zeros < 0:
        zeros = 0
    half = zeros // 2
    return [half, zeros - half]


# --- field_of_view ---

RIGHT += [
    (
        "field_of_view",
        lambda layers: (
            1 + sum((k - 1) * math.prod(s for _, s in layers[:place]) for place, (k, _) in enumerate(layers))
        ),
    ),
]


@right("field_of_view")
def field_of_view_by_jumps(layers):
    seen, jump = 1, 1
    for kernel, stride in layers:
        seen += (kernel - 1) * jump
        jump *= stride
    return seen


@right("field_of_view")
def field_of_view_by_asking(layers):
    if not layers:
        return 1
    *others, (kernel, _) = layers
    first = last = 0
    last = kernel - 1
    for k, s in others[::-1]:
        first, last = first * s, last * s + k - 1
    return last - first + 1
