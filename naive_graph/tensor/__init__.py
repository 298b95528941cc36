"""Tensors of indexed nodes: closed under differentiation, lowered onto scalars, evaluated on arrays.

index, base      einsum index arrays and their derivative rules; the base class of all tensor nodes
versions         write ticks of leaves: which cached arrays are stale
nodes, function  the four kinds of node, each an equation; the traced function of an elementwise one
reduction_node, reduction_vjp    max, product, logsumexp along axes as one node; its local partials
build            `linear("ij,j->i", W, x)`: nodes written with letters
calculus, differentiate    the vjp and jvp rules of each kind of node; reverse and forward mode
arithmetic, subscript, reductions_api, sparse_selector, slicing, sliding    what NumPy has, composed of the four
scan         a recurrent cell along sequences as one node (scan), unrolled only on demand
operators/                the table of operators with properties
losses                    loss functions, as operators of the table
equation_text, notation    how a node reads: `y[i] = sum_{a} W[i,a] * v[a]`, and its indices in plain words
check            every mode of differentiation against finite differences
evaluation/      forward evaluation and backpropagation on arrays
lowering/        every element of a tensor as a scalar node
tasks/           forward and backward as tasks

Besides the names below, the package exports every operator of the table as a
function, user-defined ones included, and the functions that are methods of tensors.
"""

from ..core.lazy_exports import lazy_exports
from ..core.optional_deps import door

with door("Tensors need", "tensor"):
    import numpy as _numpy  # noqa: F401
    import opt_einsum as _opt_einsum  # noqa: F401

# What tensors can do, they can from the start: these files give them methods.
from . import check, notation, subscript  # noqa: F401
from .evaluation import backprop, eager, evaluate  # noqa: F401
from .lowering import lower as _lower  # noqa: F401
from .operators import register_all  # noqa: F401
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
    "reduction_node": "ReductionNode",
    "tasks.engine": "DAGExecutionEngine",
    "tasks.on_dask": "DaskEngine",
}, FUNCTIONS, TABLE)  # fmt: skip
