"""The four kinds of tensor node, each an equation between indexed entries.

    leaf        numbers
    transform   dst[I1] = alpha * sum over the dummies of src[I2]
    linear      dst[I1] = sum over the dummies of (left[I2] op right[I3]), op one of + - *
    nonlinear   dst[I] = f(src[I], ...)

They are closed under differentiation: the derivative of each is made of these
four again. Writing an expression computes nothing; it checks, and finds shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from ..errors import ForeignNodeError, IndexSpecError, NodeError, ShapeError, StaleNodeError
from ..handles import CURRENT, check_name
from ..nodes import Node
from ..number import number
from ..origin import Origin, learners_frame
from ..rules import Arithmetic
from ..tables import Tables
from .arrays import Array, as_array
from .function import Function, function_of
from .index import Ids, LinearIndex, Shape, TransformIndex

_serials = count()
Method = TypeVar("Method", bound=Callable[..., Any])


class LeafType(IntEnum):
    """What a leaf is for."""

    INPUT = 0
    PARAMETER = 1
    CONSTANT = 2


class OpType(IntEnum):
    """What a LinearNode does with its two sources."""

    add = 0
    sub = 1
    mul = 2


class TensorNode(Arithmetic):
    """A tensor: its shape, and how its entries come from those of its sources."""

    kind = "tensor"
    sources: tuple[TensorNode, ...] = ()

    def __init__(self, shape: Shape, sources: Sequence[TensorNode] = (), name: str | None = None) -> None:
        check_name(name)
        frame = learners_frame()
        self.shape = tuple(shape)
        self.sources = tuple(sources)
        self.name = name
        self.serial = next(_serials)  # sources have lower ones, so serials sort a graph
        self.origin = Origin(frame.f_code, frame.f_lasti)
        self.scope = CURRENT.tables.scope_now
        self._home = CURRENT.tables
        self._value: Array | None = None
        self._grad: Array | None = None

    if TYPE_CHECKING:  # what other files of this room add with @method

        def __getattr__(self, name: str) -> Any: ...

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return size_of(self.shape)

    @property
    def home(self) -> Tables:
        """The tables of the graph that the tensor was made in, which must be the current one."""
        if self._home.closed:
            raise StaleNodeError(f"{self.label} belongs to a graph that {self._home.closed}. Build it again.")
        if self._home is not CURRENT.tables:
            raise ForeignNodeError(f"{self.label} belongs to another graph than the current one. Build it in this one.")
        return self._home

    @property
    def label(self) -> str:
        """How messages speak of the tensor."""
        shape = " x ".join(map(str, self.shape)) or "a single number"
        return f"{type(self).__name__} {self.name!r} ({shape})" if self.name else f"{type(self).__name__} ({shape})"

    def name_of(self, place: int) -> str | None:
        """What the entry at this place of the flattened tensor is called: `y[0,2]`."""
        return self.name and entry_name(self.name, self.shape, place)

    def __repr__(self) -> str:
        return f"<{self.label}>"

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError(f"{self.label} has no length: it is a single number.")
        return self.shape[0]

    def __bool__(self) -> NoReturn:
        raise NodeError("A tensor node has no truth value: it stands for numbers that may change. Look at its eval().")

    def __float__(self) -> NoReturn:
        raise NodeError("A tensor node is not a number. Evaluate it: float(t.eval()).")

    __int__ = __index__ = __float__

    def __reduce__(self) -> NoReturn:
        raise NodeError("A tensor node cannot be pickled: it belongs to this process's graph. Save t.eval() instead.")

    def __copy__(self) -> TensorNode:
        return self

    def __deepcopy__(self, memo: Any) -> TensorNode:
        return self


class LeafNode(TensorNode):
    """Numbers that come from outside: an input, a parameter or a constant."""

    kind = "leaf"
    _leafIn_, _leafPara_, _leafConst_ = LeafType

    def __init__(self, leaf_type: LeafType, shape: Shape, value: object = None, name: str | None = None) -> None:
        super().__init__(_checked_shape(shape), (), name)
        self.leaf_type = LeafType(leaf_type)
        if value is not None:
            self._value = self._fitting(value)

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
        """A tensor that stays."""
        value = as_array(array, "LeafNode.constant")
        return cls(LeafType.CONSTANT, tuple(value.shape), value, name)

    @classmethod
    def of(cls, nodes: object, name: str | None = None) -> LeafNode:
        """A tensor whose entries are scalar nodes that exist: a Node, or nested lists of them."""
        array = np.empty((), dtype=object) if isinstance(nodes, Node) else np.array(nodes, dtype=object)
        if isinstance(nodes, Node):
            array[()] = nodes
        if not all(isinstance(each, Node) for each in array.flat):
            raise NodeError(f"LeafNode.of takes scalar nodes in nested lists of equal lengths, not {nodes!r}.")
        leaf = cls(LeafType.INPUT, array.shape, name=name)
        leaf.nodes = [each for each in array.flat if each.row >= 0]
        return leaf

    structural = False  # whether its zeros and ones are the library's own, and what they multiply is not computed
    nodes: list[Node] | None = None  # the scalar nodes that the leaf stands for, if it was made of them

    @property
    def value(self) -> Array | None:
        """The array; None for an input that was not fed."""
        if self.nodes is not None:
            values = [node.value for node in self.nodes]
            return None if None in values else np.array(values).reshape(self.shape)
        return self._value

    @value.setter
    def value(self, value: object) -> None:
        if self.leaf_type == LeafType.CONSTANT or self.nodes is not None:
            why = "a constant stays" if self.nodes is None else "its entries are scalar nodes: set those"
            raise NodeError(f"{self.label} cannot be set: {why}.")
        self._value = self._fitting(value)

    def _fitting(self, value: object) -> Array:
        array = as_array(value, self.label)
        if tuple(array.shape) != self.shape:
            raise ShapeError(f"{self.label} cannot hold an array of shape {tuple(array.shape)}.")
        return array


class TransformNode(TensorNode):
    """dst[I1] = alpha * sum over the dummies of src[I2]: transposes, partial sums, broadcasts.

    indexDst, indexSrc: one id for each dimension; see index.py. alpha: a
    number, which is never differentiated. shape: the destination's, needed for
    new indices; None stands for an extent that the source gives.

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
        super().__init__(_checked_shape(self.index.shape(source.shape, shape)), (source,), name)

    @property
    def indexDst(self) -> Ids:
        return self.index.dst

    @property
    def indexSrc(self) -> Ids:
        return self.index.src

    @property
    def DummyIndex(self) -> int:
        """How many indices of the source are summed."""
        return self.index.counts[0]

    @property
    def NewIndex(self) -> int:
        """How many indices of the destination are new."""
        return self.index.counts[1]

    @property
    def RepeatedIndex(self) -> int:
        """How many indices both have."""
        return self.index.counts[2]

    def canonical(self) -> tuple[Any, ...]:
        """What two equal transforms of one source share."""
        return ("transform", self.index.canonical(), self.alpha, self.shape)


class LinearNode(TensorNode):
    """dst[I1] = sum over the dummies of (left[I2] op right[I3]), op one of "add", "sub", "mul".

    indexDst, indexSrcL, indexSrcR: one id for each dimension; see index.py.

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

    @property
    def indexDst(self) -> Ids:
        return self.index.dst

    @property
    def indexSrcL(self) -> Ids:
        return self.index.left

    @property
    def indexSrcR(self) -> Ids:
        return self.index.right

    @property
    def DummyIndex(self) -> int:
        """How many indices are summed."""
        return self.index.counts[0]

    @property
    def RepeatedIndex(self) -> int:
        """How many indices are in all three arrays."""
        return self.index.counts[1]

    def canonical(self) -> tuple[Any, ...]:
        """What two equal linear nodes of the same sources share."""
        return ("linear", self.op, self.index.canonical(), self.shape)


ElementwiseNode = LinearNode


class NonlinearNode(TensorNode):
    """dst[I] = f(src[I], ...), entry by entry.

    f: a rule of the catalogue, or any Python function made of them, of as many
    numbers as there are sources. The sources have one shape.

    >>> x = LeafNode.parameter([1.0, 2.0])
    >>> NonlinearNode(lambda a: a * a, x).function.formula(["x"])
    'x*x'
    """

    kind = "nonlinear"

    def __init__(self, f: Callable[..., Any] | Function, *sources: TensorNode, name: str | None = None) -> None:
        if not callable(f):
            raise NodeError(f"A NonlinearNode's function is called with numbers, which {f!r} cannot be.")
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

    @property
    def f(self) -> Function:
        return self.function

    def canonical(self) -> tuple[Any, ...]:
        """What two equal nonlinear nodes of the same sources share."""
        names = [f"x{place}" for place in range(len(self.sources))]
        return ("nonlinear", self.function.formula(names), self.shape)


# --- shared -------------------------------------------------------------------


def method(function: Method) -> Method:
    """Make a function of a tensor node a method of tensor nodes as well."""
    setattr(TensorNode, function.__name__, function)
    return function


def size_of(shape: Iterable[int]) -> int:
    """The number of entries of a tensor of this shape."""
    size = 1
    for extent in shape:
        size *= extent
    return size


def entry_name(name: str, shape: Shape, place: int) -> str:
    """What the entry at a flattened place is called.

    >>> entry_name("y", (2, 3), 5)
    'y[1,2]'
    """
    index: list[int] = []
    for extent in reversed(shape):
        place, rest = divmod(place, extent)
        index.insert(0, rest)
    return f"{name}[{','.join(map(str, index))}]" if shape else name


def checked_op(op: str | OpType) -> OpType:
    try:
        return OpType[op] if isinstance(op, str) else OpType(op)
    except (KeyError, ValueError):
        raise IndexSpecError(f'A LinearNode\'s op is "add", "sub" or "mul", not {op!r}.') from None


def check_tensors(who: str, nodes: Iterable[object]) -> None:
    """All are tensor nodes of the current graph."""
    for node in nodes:
        if not isinstance(node, TensorNode):
            raise NodeError(f"{who} takes tensor nodes, not {type(node).__name__}. Wrap it: LeafNode.constant(...).")
        node.home  # noqa: B018 - refuses a stale node


def _checked_shape(shape: Iterable[object]) -> Shape:
    extents = tuple(shape)
    for extent in extents:
        if not isinstance(extent, int) or isinstance(extent, bool) or extent < 1:
            raise ShapeError(f"A shape is made of whole numbers of at least 1, not {extent!r} as in {extents}.")
    return tuple(int(extent) for extent in extents)  # type: ignore[call-overload]
