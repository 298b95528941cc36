"""What a tensor node knows of the operator that made it (operator, properties, operands), and further methods.

    y = x.softmax(axis=0);        y.operator, y.properties, y.operands        # softmax, {"axis": 0}, (x,)

The rest gives tensors what NumPy's arrays have: methods (`x.sum()`, `x @ y`, `x.T`), and calls by NumPy's functions
(`np.sum(x)`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from ...core.did_you_mean import explains, suggest
from ...core.number import shortened
from ...core.rules import Rule
from ...errors import NodeError, OperandError
from ..arithmetic import broadcast
from ..base import TensorNode, method
from ..differentiate import ancestors
from ..notation import equation, equations, unique_names
from . import moves
from .matrices import matmul
from .operator_def import OperatorDef
from .reductions import reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum
from .table import TABLE, make_method


def _operator(node: TensorNode) -> OperatorDef | None:
    """The operator whose result the node is; None for a leaf, or a node built by equation (linear, transform)."""
    operator = node.call.operator if node.call else None
    return TABLE[operator.name] if isinstance(operator, Rule) else operator


def _properties(node: TensorNode) -> Mapping[str, Any]:
    """The operator's properties by name, defaults included."""
    return node.call.properties if node.call else {}


def args(node: TensorNode) -> tuple[Any, ...]:
    """All operands of the operator; the sources for a node that no operator made.

    >>> from naive_graph.tensor import LeafNode, args
    >>> a, b = LeafNode.parameter([1.0], name="a"), LeafNode.parameter([2.0], name="b")
    >>> args(a * b)
    (<LeafNode 'a' (1)>, <LeafNode 'b' (1)>)
    """
    return node.call.operands if node.call else node.sources


for _name, _getter in (("operator", _operator), ("properties", _properties), ("operands", args)):
    setattr(TensorNode, _name, property(_getter))


def arg(node: TensorNode, place: int = 0) -> Any:
    """One operand, by its position: the first by default.

    >>> from naive_graph.tensor import LeafNode, arg
    >>> a, b = LeafNode.parameter([1.0], name="a"), LeafNode.parameter([2.0], name="b")
    >>> arg(a * b), arg(a * b, 1)
    (<LeafNode 'a' (1)>, <LeafNode 'b' (1)>)
    """
    operands = args(node)
    if not isinstance(place, int):
        raise NodeError(f"An operand is asked for by a whole number, not {shortened(place)}.")
    if not -len(operands) <= place < len(operands):
        raise NodeError(f"{node.label} has no operand {shortened(place)}: it has {len(operands)}.")
    return operands[place]


def larg(node: TensorNode) -> Any:
    """The left operand.

    >>> from naive_graph.tensor import LeafNode, larg
    >>> larg(LeafNode.parameter([1.0], name="a") - [2.0])
    <LeafNode 'a' (1)>
    """
    return arg(node, 0)


def rarg(node: TensorNode) -> Any:
    """The right operand.

    >>> from naive_graph.tensor import LeafNode, rarg
    >>> rarg(LeafNode.parameter([1.0], name="a") - [2.0])
    [2.0]
    """
    return arg(node, 1)


def outputs(node: TensorNode) -> tuple[TensorNode, ...]:
    """All results of the operator that the node is a result of.

    >>> from naive_graph.tensor import outputs, top_k
    >>> values, places = top_k([3.0, 1.0, 2.0], k=2)
    >>> [output.eval().tolist() for output in outputs(places)]
    [[3.0, 2.0], [0.0, 2.0]]
    """
    return (node.call.results if node.call else ()) or (node,)


def inner(node: TensorNode, name: str) -> TensorNode:
    """Find an ancestor by name, also as `y["h"]`.

    name: the name that it was given, that of the operator's call (softmax_1), or that in equations and pictures (t3).

    >>> import naive_graph as ng
    >>> y = (ng.LeafNode.parameter([0.0, 0.0], "x") * 2.0).softmax(name="p").sum()
    >>> y.inner("p").operator.name, y.inner("x").shape
    ('softmax', (2,))
    """
    if not isinstance(name, str):
        raise NodeError(f"An inner node is asked for by its name, a text, not {shortened(name)}.")
    by_name: dict[str | None, TensorNode] = {}
    for ancestor in reversed(ancestors([node])):
        by_name.setdefault(ancestor.given_name, ancestor)
        by_name.setdefault(ancestor.call.name if ancestor.call else None, ancestor)
    for ancestor, generated_name in unique_names(ancestors([node])).items():  # those in equations and pictures
        by_name.setdefault(generated_name, ancestor)
    if name not in by_name:
        raise NodeError(f"{node.label} is made of no node {name!r}.{suggest(name, filter(None, by_name))}")
    return by_name[name]


@method
def compose(node: TensorNode, operator: str, *operands: Any, **properties: Any) -> TensorNode:
    """Apply a composition of the scalar catalogue to tensors: the tensor operator of that name."""
    result: TensorNode = TABLE[operator](*operands, **properties)
    return result


# --- NumPy's names and protocols -------------------------------------------------------


def flatten(x: TensorNode) -> Any:
    """All entries, row by row, as one axis.

    >>> from naive_graph.tensor import LeafNode, flatten
    >>> flatten(LeafNode.constant([[1.0, 2.0], [3.0, 4.0]])).eval().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """
    return moves.reshape(x, (-1,))


def require_tensor(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a tensor method as a function that checks that its argument is a tensor node."""

    @wraps(function)
    def call(x: TensorNode, *arguments: Any, **keywords: Any) -> Any:
        if not isinstance(x, TensorNode):
            raise NodeError(
                f"{function.__name__} takes a tensor node, not {type(x).__name__}. Wrap it: LeafNode.constant(...)."
            )
        return function(x, *arguments, **keywords)

    return call


# Aliases of operators, and methods that are also exported as functions.
METHODS: dict[str, Callable[..., Any]] = {
    "sum": reduce_sum, "mean": reduce_mean, "max": reduce_max, "min": reduce_min, "prod": reduce_prod,
    "logsumexp": reduce_logsumexp, "flatten": flatten,
    **{func.__name__: func for func in (arg, args, inner, larg, outputs, rarg, broadcast, equation, equations)},
}  # fmt: skip
FUNCTIONS = {
    name: func if isinstance(func, OperatorDef) else explains(require_tensor(func)) for name, func in METHODS.items()
}

for _name, _function in METHODS.items():
    setattr(TensorNode, _name, make_method(_function, _name) if isinstance(_function, OperatorDef) else _function)


@method
def reshape(self: TensorNode, *shape: Any) -> Any:
    """The same entries, row by row, in another shape; one extent may be -1."""
    return moves.reshape(self, shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape)


@method
def transpose(self: TensorNode, *axes: Any) -> Any:
    """The axes in another order; reversed if none is given."""
    order = axes[0] if len(axes) == 1 and isinstance(axes[0], (list, tuple)) else axes
    return moves.transpose(self, order or None)


@method
def __matmul__(self: TensorNode, other: Any) -> Any:
    """Matrix product, as NumPy's: over the last axis of the first and the last but one of the second."""
    return matmul(self, other)


@method
def __rmatmul__(self: TensorNode, other: Any) -> Any:
    return matmul(other, self)


# NumPy's functions that take tensors: NumPy's name -> our function, which has the same parameters.
NUMPY_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: METHODS[name] for name in ("sum", "mean", "max", "min", "prod")}, "amax": reduce_max, "amin": reduce_min,
    **{name: TABLE[name] for name in ("where", "clip", "stack", "reshape", "transpose", "squeeze", "expand_dims")},
    "concatenate": TABLE["concat"],
    "shape": lambda x: x.shape, "ndim": lambda x: x.rank, "size": lambda x: x.size,
}  # fmt: skip


@method
def __array_function__(node: TensorNode, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
    """NumPy's protocol for np.sum(node) and the like: call our function of that name, reject functions without one."""
    our_function = NUMPY_FUNCTIONS.get(function.__name__)
    if our_function is None:
        raise OperandError(
            f"NumPy's {function.__name__} takes no tensor node. See operators() for what does, and t @ u for products; "
            "its numbers now are t.eval()."
        )
    return our_function(*arguments, **keywords)


TensorNode.T = property(transpose)  # type: ignore[attr-defined, method-assign, assignment, unused-ignore]
