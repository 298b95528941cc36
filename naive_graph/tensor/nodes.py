"""The four kinds of tensor node, each an equation in einsum-like index notation (index.py).

    leaf        numbers
    transform   dst[I1] = alpha * sum over the dummies of src[I2]
    linear      dst[I1] = sum over the dummies of (left[I2] op right[I3]), op one of + - *
    nonlinear   dst[I] = f(src[I], ...)

They are closed under differentiation: the derivative of each is again a composition of these four.
Evaluation is lazy: building a node only checks its operands and infers its shape. "dst" is the node's
result, "src" a source (operand), a dummy is an index that is summed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import EnumMeta, IntEnum
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..core.number import number, shortened
from ..core.tables import Tables
from ..errors import IndexSpecError, NodeError, OperandError, ShapeError
from ..graph.node_factory import CURRENT
from ..graph.nodes import Node
from .base import TensorNode, check_tensors, checked_shape
from .evaluation.arrays import Array, as_array, library_of
from .function import Function, function_of
from .index import LinearIndex, Shape, TransformIndex
from .versions import Watch, own_copy, write_tick


class _HelpfulEnumMeta(EnumMeta):
    """An enumeration whose error for an unknown member names the members."""

    def __call__(cls, *asked: Any, **more: Any) -> Any:
        try:
            return super().__call__(*asked, **more)
        except (TypeError, ValueError):
            members = ", ".join(map(str, cls))
            raise OperandError(f"{cls.__name__} is one of {members}, not {', '.join(map(shortened, asked))}.") from None


class LeafType(IntEnum, metaclass=_HelpfulEnumMeta):
    """Whether a leaf is an input, a parameter or a constant."""

    INPUT = 0
    PARAMETER = 1
    CONSTANT = 2


# The first letter of generated names (x1, w2, ...) of leaves without a name.
UNNAMED = {LeafType.INPUT: "x", LeafType.PARAMETER: "w", LeafType.CONSTANT: "c"}


class OpType(IntEnum, metaclass=_HelpfulEnumMeta):
    """The arithmetic operation of a LinearNode: left + right, left - right or left * right."""

    add = 0
    sub = 1
    mul = 2


# Member names of the original specification; set here because Enum rejects such names in its class body.
for _kind, _names in ((LeafType, ("_leafIn_", "_leafPara_", "_leafConst_")), (OpType, ("_add_", "_sub_", "_mul_"))):
    for _name, _member in zip(_names, _kind):
        setattr(_kind, _name, _member)


class LeafNode(TensorNode):
    """A tensor without sources: an input, a parameter or a constant."""

    kind = "leaf"
    _leafIn_, _leafPara_, _leafConst_ = LeafType

    def __init__(self, leaf_type: LeafType, shape: Shape, value: object = None, name: str | None = None) -> None:
        self.leaf_type = LeafType(leaf_type)
        self.letter = UNNAMED[self.leaf_type]
        super().__init__(checked_shape(shape), (), name)
        if value is not None:
            self._hold(value)

    @classmethod
    def input(cls, shape: Shape | int, name: str | None = None) -> LeafNode:
        """A tensor that is fed: no value until `leaf.value = array`."""
        return cls(LeafType.INPUT, (shape,) if isinstance(shape, int) else shape, name=name)

    @classmethod
    def parameter(cls, array: object, name: str | None = None) -> LeafNode:
        """A tensor that is learned: weights or biases."""
        value = as_array(array, "LeafNode.parameter")
        return cls(LeafType.PARAMETER, tuple(value.shape), value, name)

    @classmethod
    def constant(cls, array: object, name: str | None = None) -> LeafNode:
        """A tensor whose value never changes."""
        value = as_array(array, "LeafNode.constant")
        return cls(LeafType.CONSTANT, tuple(value.shape), value, name)

    @classmethod
    def of(cls, nodes: object, name: str | None = None) -> LeafNode:
        """A tensor whose entries are existing scalar nodes: nested lists of Nodes, or one Node (one leaf for each)."""
        if isinstance(nodes, Node):
            return _leaf_of(nodes, name)
        array = np.array(nodes, dtype=object)
        if not all(isinstance(node, Node) for node in array.flat):
            raise NodeError(f"LeafNode.of takes scalar nodes in nested lists of equal lengths, not {shortened(nodes)}.")
        leaf = cls(LeafType.INPUT, array.shape, name=name)
        leaf.nodes, leaf.watch = [node for node in array.flat if node.row >= 0], Watch()
        return leaf

    source: Any = None  # the parameter of a Model that the leaf reads, if any
    rows: Any = None  # the rows of that parameter that it reads; None for all
    places: Any = None  # the positions of its entries in the Model's flat arrays
    nodes: list[Node] | None = None  # the scalar nodes that are the leaf's entries, if it was made by LeafNode.of
    watch: Watch | None = None  # detects in-place writes by other holders of the array; None if there can be none

    @property
    def value(self) -> Any:
        """The array; None for an input that was not fed. In-place writes are noticed; a constant's is read-only."""
        array = self.held
        if self.watch is not None or type(array) is not np.ndarray:
            return array
        if self.leaf_type == LeafType.CONSTANT:
            array = array.view()
            array.flags.writeable = False
        else:  # the caller may now write into the array, so later evaluations compare it with this copy
            self.watch = Watch(own_copy(array), self._version)
            write_tick()
        return array

    @value.setter
    def value(self, value: object) -> None:
        if self.leaf_type == LeafType.CONSTANT or self.nodes is not None:
            why = "a constant stays" if self.nodes is None else "its entries are scalar nodes: set those"
            raise NodeError(f"{self.label} cannot be set: {why}.")
        self._version = write_tick()  # before and after, so that a value computed meanwhile counts as stale
        self._hold(value)
        self._version = write_tick()

    @property
    def held(self) -> Any:
        """The current array, for reading only (unlike `value`, not watched); None for an input that was not fed."""
        if self.nodes is not None:
            values = [node.value for node in self.nodes]
            return None if None in values else np.array(values).reshape(self.shape)
        return self._value

    def version(self) -> int:
        """The tick (see versions.py) of the last write to the array, in-place writes included."""
        return self._version if self.watch is None else max(self._version, self.watch.look(self.held))

    def _hold(self, value: object) -> None:
        """Store a copy of the value as the leaf's array."""
        array = self._to_leaf_array(value)
        if not isinstance(value, (list, tuple, int, float)):
            array = own_copy(array)
        is_mutable_elsewhere = library_of(array) == "torch"
        self._value, self.watch = array, Watch() if is_mutable_elsewhere else None

    def receive(self, gradient: Array) -> None:
        """Accept the gradient of a backward run. A leaf of a Model's parameter adds it to that parameter's `g`."""

    def _to_leaf_array(self, value: object) -> Array:
        array = as_array(value, self.label)
        if tuple(array.shape) != self.shape:
            raise ShapeError(f"{self.label} cannot hold an array of shape {tuple(array.shape)}.")
        return array

    def __copy__(self) -> LeafNode:
        """A new leaf of the same type and name, with a copy of the current array."""
        if self.nodes is not None:
            raise NodeError(f"{self.label} stands for scalar nodes, which have one graph. Copy its numbers: t.eval().")
        return LeafNode(self.leaf_type, self.shape, self.held, self.given_name)

    def __deepcopy__(self, memo: Any) -> LeafNode:
        return self.__copy__()


def constant_of(array: Array) -> LeafNode:
    """A constant leaf that shares this array instead of copying it; the array must not be written to afterwards."""
    leaf = LeafNode(LeafType.CONSTANT, tuple(array.shape))
    leaf._value = array
    return leaf


_LEAVES: WeakKeyDictionary[Tables, WeakValueDictionary[int, LeafNode]] = WeakKeyDictionary()  # per graph: row -> leaf


def _leaf_of(node: Node, name: str | None) -> LeafNode:
    """The 0-dimensional leaf that represents a scalar node in tensor expressions; cached, one for each node."""
    leaves = _LEAVES.setdefault(CURRENT.tables, WeakValueDictionary())
    leaf, checkpoints = leaves.get(node.row), CURRENT.tables.checkpoints
    checkpoint = checkpoints[-1] if checkpoints else None
    if leaf is None or leaf.nodes is None or leaf.nodes[0] is not node or leaf._checkpoint is not checkpoint:
        leaf = LeafNode(LeafType.INPUT, ())
        leaf.nodes, leaf.watch = [node], Watch()
        leaves[node.row] = leaf
    leaf.name = name or node.name or leaf.given_name
    return leaf


class TransformNode(TensorNode):
    """dst[I1] = alpha * sum over the dummies of src[I2]: transposes, partial sums, broadcasts.

    indexDst, indexSrc: one id for each dimension; see index.py. alpha: a
    number, which is never differentiated. shape: the destination's, needed for
    new indices; None stands for an extent that the source gives.

    >>> from naive_graph import LeafNode
    >>> b = LeafNode.parameter([[1, 2], [3, 4]])
    >>> TransformNode((1,), (1, -1), b).shape  # the sum of each row
    (2,)
    """

    kind = "transform"

    def __init__(
        self,
        indexDst: Iterable[int],
        indexSrc: Iterable[int],
        source: TensorNode,
        alpha: float = 1.0,
        shape: Sequence[int | None] | None = None,
        name: str | None = None,
    ) -> None:
        check_tensors("A TransformNode", [source])
        self.index = TransformIndex(tuple(indexDst), tuple(indexSrc)).check()
        self.alpha = number(alpha, "A TransformNode's alpha")
        super().__init__(checked_shape(self.index.shape(source.shape, shape)), (source,), name)

    indexDst = property(lambda self: self.index.dst)
    indexSrc = property(lambda self: self.index.src)
    DummyIndex = property(lambda self: self.index.counts[0], doc="How many indices of the source are summed.")
    NewIndex = property(lambda self: self.index.counts[1], doc="How many indices of the destination are new.")
    RepeatedIndex = property(lambda self: self.index.counts[2], doc="How many indices both have.")

    def canonical(self) -> tuple[Any, ...]:
        """A key that is equal for equal transforms of one source, whatever their index numbers."""
        return ("transform", self.index.canonical(), self.alpha, self.shape)


class LinearNode(TensorNode):
    """dst[I1] = sum over the dummies of (left[I2] op right[I3]), op one of "add", "sub", "mul".

    indexDst, indexSrcL, indexSrcR: one id for each dimension; see index.py.

    >>> from naive_graph.tensor import LeafNode, LinearNode
    >>> a, b = LeafNode.parameter([[1, 2], [3, 4]]), LeafNode.parameter([[1], [1]])
    >>> LinearNode("mul", (1, 2), (1, -3), (-3, 2), a, b).shape  # a matrix product
    (2, 1)
    """

    kind = "linear"
    _add_, _sub_, _mul_ = OpType

    def __init__(
        self,
        op: str | OpType,
        indexDst: Iterable[int],
        indexSrcL: Iterable[int],
        indexSrcR: Iterable[int],
        left: TensorNode,
        right: TensorNode,
        name: str | None = None,
    ) -> None:
        check_tensors("A LinearNode", [left, right])
        self.op = checked_op(op)
        self.index = LinearIndex(tuple(indexDst), tuple(indexSrcL), tuple(indexSrcR)).check()
        super().__init__(self.index.shape(left.shape, right.shape), (left, right), name)

    indexDst = property(lambda self: self.index.dst)
    indexSrcL = property(lambda self: self.index.left)
    indexSrcR = property(lambda self: self.index.right)
    DummyIndex = property(lambda self: self.index.counts[0], doc="How many indices are summed.")
    RepeatedIndex = property(lambda self: self.index.counts[1], doc="How many indices are in all three arrays.")

    def canonical(self) -> tuple[Any, ...]:
        """A key that is equal for equal linear nodes of the same sources, whatever their index numbers."""
        return ("linear", self.op, self.index.canonical(), self.shape)


def is_product(node: TensorNode) -> TypeGuard[LinearNode]:
    """Whether a node multiplies two tensors, entry by entry or as a contraction."""
    return isinstance(node, LinearNode) and node.op == OpType.mul


class NonlinearNode(TensorNode):
    """dst[I] = f(src[I], ...), entry by entry.

    f: a rule of the catalogue, or any Python function made of them, of as many
    numbers as there are sources. The sources have one shape.

    >>> from naive_graph import LeafNode
    >>> x = LeafNode.parameter([1.0, 2.0])
    >>> NonlinearNode(lambda a: a * a, x).function.formula(["x"])
    'x*x'
    """

    kind = "nonlinear"

    def __init__(self, f: Callable[..., Any] | Function, *sources: TensorNode, name: str | None = None) -> None:
        if not callable(f):
            raise NodeError(f"A NonlinearNode's function is called with numbers, which {shortened(f)} cannot be.")
        if not sources:
            raise NodeError("A NonlinearNode needs at least one source.")
        check_tensors("A NonlinearNode", sources)
        for source in sources[1:]:
            if source.shape != sources[0].shape:
                raise ShapeError(
                    f"A NonlinearNode's sources have one shape, not {sources[0].shape} and {source.shape}. "
                    "Broadcast them first: t.broadcast(shape)."
                )
        self.function = function_of(f, len(sources))
        super().__init__(sources[0].shape, sources, name)

    f = property(lambda self: self.function)

    def canonical(self) -> tuple[Any, ...]:
        """A key that is equal for equal nonlinear nodes of the same sources."""
        names = [f"x{position}" for position in range(len(self.sources))]
        return ("nonlinear", self.function.formula(names), self.shape)


# --- shared -------------------------------------------------------------------


def checked_op(op: str | OpType) -> OpType:
    try:
        return OpType[op] if isinstance(op, str) else OpType(op)
    except (KeyError, OperandError):
        raise IndexSpecError(f'A LinearNode\'s op is "add", "sub" or "mul", not {shortened(op)}.') from None
