"""Tensors of indexed nodes: closed under differentiation, lowered onto scalars, evaluated on arrays.

index, base      which entry meets which, and how that turns on the way back; what all tensor nodes are
versions         when a leaf was written, and what is stale since
nodes, function  the kinds, each an equation; what an elementwise one computes
reduction, reduction_vjp    the largest, the product, logsumexp along axes, as one node; how it responds to its entries
build            `linear("ij,j->i", W, x)`: nodes written with letters
calculus, differentiate    the rules of the kinds; both walks
arithmetic, subscript, reduce, selection, picks, sliding    what NumPy has, as compositions of the four kinds
repeated         a cell along sequences: one node, and every step for who looks inside
operators/                the table of operators with properties
losses                    rows that say how far predictions are from labels
equation_text, notation    how a node reads: `y[i] = sum_{a} W[i,a] * v[a]`, and its indices in plain words
check            every mode of differentiation against finite differences
evaluation/      on arrays
lowering/        every element a scalar node
tasks/           forward and backward as tasks

Beside what is named below, the room hands out every operator of the table as a
function, a learner's own among them, and what tensors have as methods.
"""

from ..core.imports import door
from ..core.lazy_exports import lazy_exports

with door("Tensors need", "tensor"):
    import numpy as _numpy  # noqa: F401
    import opt_einsum as _opt_einsum  # noqa: F401

# What tensors can do, they can from the start: these files give them methods.
from . import check, notation, subscript  # noqa: F401
from .evaluation import backprop, eager, evaluate  # noqa: F401
from .lowering import lower as _lower  # noqa: F401
from .operators import every  # noqa: F401
from .operators.methods import FUNCTIONS
from .operators.table import TABLE

__getattr__, __dir__, __all__ = lazy_exports(__name__, {
    "base": "TensorNode",
    "build": "linear nonlinear transform",
    "differentiate": "gradients tangents",
    "evaluation.backprop": "backward gradient",
    "evaluation.evaluate": "eval forward incremental_forward",
    "lowering.lower": "element_of lower",
    "nodes": "LeafNode LeafType LinearNode NonlinearNode OpType TransformNode",
    "operators.examples": "example",
    "operators.properties": "between one_of",
    "operators.table": "tensor_operator",
    "reduction": "ReductionNode",
    "tasks.engine": "DAGExecutionEngine",
    "tasks.on_dask": "DaskEngine",
}, FUNCTIONS, TABLE)  # fmt: skip
