"""Linear algebra: matrix products (matmul, gemm), einsum, cross; sums and means of several tensors; bias_add.

A product is one LinearNode: A @ B is C[i,j] = sum over k of A[i,k] * B[k,j]. An einsum of more tensors is a chain of
such products.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from opt_einsum.parser import parse_einsum_input

from ...errors import ShapeError
from .. import arithmetic
from ..base import TensorNode
from ..build import linear, transform
from ..index import canonicalize_axis
from ..nodes import OpType
from ..slicing import flat_indices, gather_flat
from ..sliding import find_channel_axis
from .examples import example
from .mapping import ALL, Attribute, Onnx, TensorFlow, to_bool
from .moves import Extents
from .properties import Axis, Layout, Maybe, Tensor, Tensors
from .table import composition


def transpose_matrices(x: TensorNode, swap: bool = True) -> TensorNode:
    """Transpose each matrix if `swap`; else return x."""
    return arithmetic.transpose(x, *range(x.rank - 2), x.rank - 1, x.rank - 2) if swap else x


@composition(
    example((2, 3), (3, 2)), example((2, 2, 3), (2, 4, 3), transpose_b=True), example((3,), (3, 2)),
    example((3, 2), (3,), transpose_a=True),
    onnx=Onnx("MatMul"),
    tensorflow=[TensorFlow("MatMul", transpose_a=Attribute("transpose_a", False),
                           transpose_b=Attribute("transpose_b", False), harmless=("grad_a", "grad_b")),
                *(TensorFlow(op_name, transpose_a=Attribute("adj_x", False), transpose_b=Attribute("adj_y", False),
                             harmless=("grad_x", "grad_y"))
                  for op_name in ("BatchMatMul", "BatchMatMulV2"))],
)  # fmt: skip
def matmul(a: Tensor, b: Tensor, transpose_a: bool = False, transpose_b: bool = False) -> Any:
    """The matrix product, as NumPy's; of stacks of matrices, pair by pair."""
    for name, x, transposes in (("transpose_a", a, transpose_a), ("transpose_b", b, transpose_b)):
        if transposes and x.rank < 2:
            raise ShapeError(f"{name}=True needs a matrix, not shape {x.shape}.")
    return arithmetic.matmul(transpose_matrices(a, transpose_a), transpose_matrices(b, transpose_b))


@composition(
    example((2, 3), (3, 2)), example((3, 2), (3, 4), (4,), alpha=0.5, beta=2.0, transpose_a=True),
    example((2, 3), (2, 3), (2, 1), transpose_b=True),
    onnx=Onnx("Gemm", alpha=Attribute("alpha", 1.0), beta=Attribute("beta", 1.0),
              transpose_a=Attribute("transA", 0, to_bool), transpose_b=Attribute("transB", 0, to_bool),
              harmless=("broadcast",)),
)  # fmt: skip
def gemm(
    a: Tensor,
    b: Tensor,
    c: Maybe = None,
    alpha: float = 1.0,
    beta: float = 1.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Any:
    """alpha * (a @ b) + beta * c, where a and b may be transposed and c is spread."""
    if a.rank != 2 or b.rank != 2:
        raise ShapeError(
            f"a and b are matrices, not of shapes {a.shape} and {b.shape}. For stacks of them there is matmul."
        )
    product = matmul.function(a, b, transpose_a, transpose_b)
    if c is not None and arithmetic.broadcast_or_none(c.shape, product.shape) != product.shape:
        raise ShapeError(f"c of shape {c.shape} cannot be spread to the product's {product.shape}.")
    product = product if alpha == 1.0 else arithmetic.scale_by(product, alpha)
    return product if c is None else product + (c if beta == 1.0 else arithmetic.scale_by(c, beta))


# --- einsum -------------------------------------------------------------------


def _parse_equation(shapes: list[Extents], equation: str) -> tuple[list[str], str]:
    """The letters of each operand and of the result, `...` spelt out."""
    try:
        terms, result, _ = parse_einsum_input((equation, *shapes), shapes=True)
    except ValueError as error:
        raise ShapeError(f"equation={equation!r}: {str(error).rstrip('.')}. Write letters, as 'ij,jk->ik'.") from None
    for letters, shape in zip(terms.split(","), shapes):
        if len(letters) != len(shape) or len({*zip(letters, shape)}) != len({*letters}):
            raise ShapeError(f"equation={equation!r}: {letters!r} does not name the axes of shape {shape}.")
    return terms.split(","), result


@composition(
    example([(2, 3), (3, 2)], equation="ij,jk->ik"), example([(2, 3)], equation="ij->j"),
    example([(3, 3)], equation="ii->i"), example([(2, 3), (3,), (2,)], equation="ij,j,i"),
    example([(2, 2, 3), (2, 3, 2)], equation="...ij,...jk->...ik"),
    onnx=Onnx("Einsum", operands=[ALL], equation=Attribute("equation"), since=12),
    tensorflow=TensorFlow("Einsum", operands=[ALL], equation=Attribute("equation"), harmless=("N",)),
)  # fmt: skip
def einsum(tensors: Tensors, equation: str) -> Any:
    """Products summed over the letters that the result lacks: 'ij,jk->ik' is a matrix product."""
    terms, result = _parse_equation([tensor.shape for tensor in tensors], equation)
    parts = [_take_diagonal(tensor, letters) for tensor, letters in zip(tensors, terms)]
    total, total_letters = parts[0]
    for position, (operand, letters) in enumerate(parts[1:], 1):
        needed_letters = result + "".join(later_letters for _, later_letters in parts[position + 1 :])
        kept_letters = "".join(dict.fromkeys(letter for letter in total_letters + letters if letter in needed_letters))
        total, total_letters = linear(f"{total_letters},{letters}->{kept_letters}", total, operand), kept_letters
    return transform(f"{total_letters}->{result}", total)


def _take_diagonal(x: TensorNode, letters: str) -> tuple[TensorNode, str]:
    """Take diagonals of axes with equal letters; returns the tensor and its letters, each once."""
    distinct = "".join(dict.fromkeys(letters))
    if distinct == letters:
        return x, letters
    return gather_flat(x, np.einsum(f"{letters}->{distinct}", flat_indices(x.shape))), distinct


# --- sums and vectors ---------------------------------------------------------


@composition(
    example([(2, 3), (2, 3), (3,)]), example([(2,)]),
    onnx=Onnx("Sum", operands=[ALL]),
    tensorflow=[TensorFlow("AddN", operands=[ALL], harmless=("N",)),
                TensorFlow("AccumulateNV2", operands=[ALL], harmless=("N", "shape"))],
)  # fmt: skip
def add_n(tensors: Tensors) -> Any:
    """The sum of all tensors, left to right."""
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total


@composition(example([(2, 3), (2, 3), (3,)]), onnx=Onnx("Mean", operands=[ALL]))
def mean_n(tensors: Tensors) -> Any:
    """The mean of all tensors, entry by entry."""
    return arithmetic.scale_by(add_n.function(tensors), 1.0 / len(tensors))


@composition(
    example((2, 3), (3,)), example((1, 3, 2, 2), (3,), data_format="NCHW"),
    tensorflow=TensorFlow("BiasAdd", data_format=Attribute("data_format", "NHWC")),
)  # fmt: skip
def bias_add(x: Tensor, bias: Tensor, data_format: Layout = "NHWC") -> Any:
    """Add a bias vector, one number for each channel."""
    return arithmetic.apply_along_axis(OpType.add, x, bias, find_channel_axis(x, data_format, 2, bias=bias))


@composition(example((3,), (3,)), example((3, 2), (3, 2), axis=0), tensorflow=TensorFlow("Cross"))
def cross(a: Tensor, b: Tensor, axis: Axis = -1) -> Any:
    """The cross product of vectors along an axis of extent 3."""
    axis_index = canonicalize_axis(axis, a.rank)
    if a.shape != b.shape or a.shape[axis_index] != 3:
        raise ShapeError(f"shapes {a.shape} and {b.shape} must be equal, and 3 along axis {axis}.")
    next_, after_next = [1, 2, 0], [2, 0, 1]  # (a x b)[i] = a[i+1] b[i+2] - a[i+2] b[i+1], indices modulo 3
    a1, a2, b1, b2 = (arithmetic.gather(v, order, axis_index) for v in (a, b) for order in (next_, after_next))
    return a1 * b2 - a2 * b1
