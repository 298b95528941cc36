"""Tensors of indexed nodes: closed under differentiation, lowered onto scalars, evaluated on arrays."""

from ..errors import MissingToolError

try:
    import numpy as _numpy  # noqa: F401
    import opt_einsum as _opt_einsum  # noqa: F401
except ImportError as missing:
    raise MissingToolError(
        f'Tensors need {missing.name}, which is not installed: pip install "naive-graph[tensor]".'
    ) from missing

from .at_once import compute_at_once
from .base import TensorNode
from .build import linear, nonlinear, transform
from .differentiate import gradients, tangents
from .evaluate import backward, forward, incremental_forward
from .lower import element_of, lower
from .nodes import ElementwiseNode, LeafNode, LeafType, LinearNode, NonlinearNode, OpType, TransformNode
from .operators import concat, stack
from .reduce import log_softmax, softmax
from .selection import SelectionNode, identity
from .tasks.engine import DAGExecutionEngine
from .windows import avg_pool2d, conv2d, max_pool2d
from .writing import equation, equations

__all__ = [
    "DAGExecutionEngine",
    "ElementwiseNode", "LeafNode", "LeafType", "LinearNode", "NonlinearNode", "OpType", "SelectionNode", "TensorNode",
    "TransformNode", "avg_pool2d", "backward", "compute_at_once", "concat", "conv2d", "element_of",
    "equation", "equations", "forward",
    "gradients", "identity",
    "incremental_forward", "linear", "log_softmax", "lower", "max_pool2d", "nonlinear", "softmax", "stack", "tangents",
    "transform",
]  # fmt: skip
