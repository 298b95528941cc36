"""Tensors of indexed nodes: closed under differentiation, lowered onto scalars, evaluated on arrays.

index, base      which entry meets which; what all tensor nodes are
nodes, function  the kinds, each an equation; what an elementwise one computes
reduction, slopes    the largest, the product, logsumexp along axes, as one node; how it responds to its entries
build            `linear("ij,j->i", W, x)`: nodes written with letters
derivatives, calculus, differentiate    how index arrays turn; the rules; both walks
arithmetic, subscript, reduce, selection, picks, sliding    what NumPy has, as compositions of the four kinds
operators/                the table of operators with properties
weighing, losses          rows that say how far predictions are from labels
moves, sides, equation    how a node reads
check            every mode of differentiation against finite differences
evaluation/      on arrays
lowering/        every element a scalar node
tasks/           forward and backward as tasks
"""

from ..core.imports import door

with door("Tensors need", "tensor"):
    import numpy as _numpy  # noqa: F401
    import opt_einsum as _opt_einsum  # noqa: F401

from . import check as _check  # noqa: F401 - gives tensors a method
from . import subscript as _subscript  # noqa: F401 - gives them x[...]
from .base import TensorNode
from .build import linear, nonlinear, transform
from .differentiate import gradients, tangents
from .equation import equation, equations
from .evaluation.at_once import compute_at_once
from .evaluation.evaluate import backward, forward, incremental_forward
from .lowering.lower import element_of, lower
from .nodes import ElementwiseNode, LeafNode, LeafType, LinearNode, NonlinearNode, OpType, TransformNode
from .operators import every as _every  # noqa: F401 - rows enter the table
from .operators.convolution import conv2d
from .operators.joins import concat, stack
from .operators.pooling import avg_pool2d, max_pool2d
from .operators.reductions import log_softmax, softmax
from .reduction import ReductionNode
from .selection import SelectionNode, identity
from .tasks.engine import DAGExecutionEngine

__all__ = [
    "DAGExecutionEngine",
    "ElementwiseNode", "LeafNode", "LeafType", "LinearNode", "NonlinearNode", "OpType", "ReductionNode",
    "SelectionNode", "TensorNode",
    "TransformNode", "avg_pool2d", "backward", "compute_at_once", "concat", "conv2d", "element_of",
    "equation", "equations", "forward",
    "gradients", "identity",
    "incremental_forward", "linear", "log_softmax", "lower", "max_pool2d", "nonlinear", "softmax", "stack", "tangents",
    "transform",
]  # fmt: skip
