"""`TensorNode`, the base of all tensor nodes: a shape, sources, a name, and the graph it was made in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..core.did_you_mean import explain_calls, explains, raise_unknown_attribute
from ..core.number import as_list, shortened
from ..core.origin import Origin, user_frame_above
from ..core.rules import Arithmetic
from ..core.tables import Tables
from ..errors import ForeignNodeError, NodeError, ShapeError, StaleNodeError
from ..graph.node_factory import CURRENT, check_name
from .evaluation.arrays import Array
from .index import Shape

SERIAL_GAP = 2**32  # the gap between serials, so that nodes built lazily (unrolled scans) can be numbered in between
serials = count(step=SERIAL_GAP)  # creation numbers of nodes; sorting by them is a topological order
Method = TypeVar("Method", bound=Callable[..., Any])


class GraphNames:
    """The names of a graph's tensors, given ones and generated ones, and of the calls of operators."""

    def __init__(self) -> None:
        self.nodes: WeakValueDictionary[str, TensorNode] = WeakValueDictionary()  # of two of a name, the later
        self.counts: dict[str, Iterator[int]] = {}
        self.calls: Counter[str] = Counter()  # the number of calls of each operator

    def make_for_call(self, operator: str) -> str:
        """Generate a name that no other call in the graph has: conv2d, conv2d_1, conv2d_2 ..."""
        self.calls[operator] += 1
        return f"{operator}_{self.calls[operator] - 1}" if self.calls[operator] > 1 else operator

    def make(self, letter: str, node: TensorNode) -> str:
        """Generate a name that no other tensor of the graph has: t1, t2, ..."""
        counts = self.counts.setdefault(letter, count(1))
        name = next(name for number in counts if (name := f"{letter}{number}") not in self.nodes)
        self.nodes[name] = node
        return name


NAMES: WeakKeyDictionary[Tables, GraphNames] = WeakKeyDictionary()


def names_in(tables: Tables) -> GraphNames:
    """The names of the tensors of this graph."""
    return NAMES.get(tables) or NAMES.setdefault(tables, GraphNames())


@dataclass(slots=True, eq=False)
class Call:
    """A record of an operator call (operator, operands, properties), stored on the result nodes."""

    operator: Any  # a rule, or a row of the table of tensor operators
    operands: tuple[Any, ...]
    properties: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    first: int = -1  # nodes made inside the call have larger serials, up to the result's
    results: tuple[TensorNode, ...] = ()  # if there are several
    within: Call | None = None  # the inner call that returned the same node, if any


class ArrayKernel(NamedTuple):
    """An array kernel of a node: computes its array directly from other tensors, instead of by its composition.

    sources: the kernel's inputs. compute: forward, from their arrays. back: the vjp, from the node, a reader of
    arrays, the node's adjoint, and the positions of the inputs whose derivatives are wanted. Both may return None
    to decline, and then the composition is used. check: raises an error for invalid input arrays.
    """

    sources: tuple[TensorNode, ...]
    compute: Callable[..., Any]
    back: Callable[[TensorNode, Callable[[TensorNode], Any], Any, Collection[int]], Sequence[Any] | None] | None = None
    check: Callable[[Any], Any] | None = None


if TYPE_CHECKING:  # with the methods that the table of operators and other files of tensor/ attach
    from ._methods import TensorMethods as _Methods
else:
    _Methods = Arithmetic


class TensorNode(_Methods):
    """A tensor: its shape, and how its entries come from those of its sources."""

    kind = "tensor"
    given_name: str | None = None  # the name that the learner gave, if any
    _made_name: str | None = None
    sources: tuple[TensorNode, ...] = ()
    letter = "t"  # the prefix of generated names
    letters: str = ""  # the learner's letters for the result's indices, then for the summed ones
    call: Call | None = None  # the operator call whose result this node is, if any
    _owner = "tensor"
    is_structural = False  # whether it is a 0/1 tensor with structural zeros and ones: products with them are skipped
    flat = False  # whether its derivative is 0 with respect to everything
    direct: ArrayKernel | None = None  # an array kernel that replaces the composition in evaluation on arrays, if any
    pickle_in_full = False  # whether it is pickled in full, as part of another node's kernel, when sent to a process
    _version = 0  # of a leaf: the tick of its last write; else: the tick up to which the cached array is valid
    _asked: object = None  # the backward run whose gradient for this node was read
    is_settled = False  # whether the cached array stays valid until a leaf is set (no ancestor is watched)
    has_structural_zeros: bool | None = None  # whether some entries may be structural zeros; None: not determined yet

    def __init__(self, shape: Shape, sources: Sequence[TensorNode] = (), name: str | None = None) -> None:
        check_name(name)
        frame = user_frame_above()
        if type(self) is TensorNode:  # the kinds check what they are made of
            sources = as_list(sources, "TensorNode", "a list of tensors")
            check_tensors("TensorNode", sources)
            shape = checked_shape(shape)
        self.shape = tuple(shape)
        self.sources = tuple(sources)
        self.serial = next(serials)  # sources have lower ones, so serials sort a graph
        self.origin = Origin(frame.f_code, frame.f_lasti)
        self.scope = CURRENT.tables.scope_now
        self._home = CURRENT.tables
        self._checkpoint = self._home.checkpoints[-1] if self._home.checkpoints else None
        self._value: Array | None = None
        self._grad: Array | None = None
        if name is not None:
            self.name = name
        self._run: object = None  # the backward run that reached it last
        if self.sources and self._home.computes_at_once:  # subclasses end with this, so the node is whole
            self.compute_at_once()

    def __setattr__(self, name: str, value: Any) -> None:
        # Reject misspelt attributes of the package's own classes; a learner's subclass may add any.
        attributes = self.__dict__
        if name not in attributes and "_run" in attributes and not hasattr(type(self), name) and _is_ours(type(self)):
            raise_unknown_attribute(f"This {type(self).__name__}", name, self._owner, self)
        object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        """The given name; else a generated one, which no other tensor of its graph has.

        >>> from naive_graph import LeafNode
        >>> w = LeafNode.parameter([1.0, 2.0], "w")
        >>> y = (w * w).sum()
        >>> w.name, y.name, y["w"] is w
        ('w', 't1', True)
        """
        if self.given_name is not None:
            return self.given_name
        names = names_in(self._home)
        if self._made_name is None or names.nodes.get(self._made_name, self) is not self:  # since taken
            self._made_name = names.make(self.letter, self)
        return self._made_name

    @name.setter
    def name(self, name: str | None) -> None:
        check_name(name)
        self.given_name = name
        if name is not None:
            names_in(self._home).nodes[name] = self

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return size_of(self.shape)

    @property
    def reads(self) -> tuple[TensorNode, ...]:
        """The tensors that its array is computed from: its kernel's inputs, or its sources."""
        return self.direct.sources if self.direct else self.sources

    @property
    def backward_sources(self) -> tuple[TensorNode, ...]:
        """The tensors that it contributes derivatives to on arrays: its kernel's inputs, or its sources."""
        return self.direct.sources if self.direct and self.direct.back else self.sources

    @property
    def home(self) -> Tables:
        """The tables of the graph that the tensor was made in, which must be the current one."""
        if self._home is not CURRENT.tables:
            with self._home.lock:  # wait for a clear() in another thread to finish
                pass
        if self._home.closed:
            raise StaleNodeError(f"{self.label} belongs to a graph that {self._home.closed}. Build it again.")
        if self._checkpoint is not None and not any(mark is self._checkpoint for mark in self._home.checkpoints):
            raise StaleNodeError(f"{self.label} was cut back by revert(). Build it again.")
        if self._home is not CURRENT.tables:
            raise ForeignNodeError(f"{self.label} belongs to another graph than the current one. Build it in this one.")
        return self._home

    @property
    def label(self) -> str:
        """The tensor's description in error messages."""
        shape = " x ".join(map(str, self.shape)) or "a single number"
        called = f" {self.given_name!r}" if self.given_name else ""
        return f"{type(self).__name__}{called} ({shape})"

    def name_of(self, flat_index: int) -> str | None:
        """The name of the entry at this flat index: `y[0,2]`; None if the tensor has no name."""
        return self.given_name and entry_name(self.given_name, self.shape, flat_index)

    def __repr__(self) -> str:
        return f"<{self.label}>"

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError(f"{self.label} has no length: it is a single number.")
        return self.shape[0]

    def __bool__(self) -> NoReturn:
        raise NodeError(
            "A tensor node has no truth value: it stands for numbers that may change. Look at its eval(), or build the "
            "choice into the graph: where(t > 0.0, a, b); the largest entry is t.max(), the smallest t.min()."
        )

    def __float__(self) -> NoReturn:
        raise NodeError("A tensor node is not a number. Evaluate it: float(t.eval()).")

    __int__ = __index__ = __float__

    if not TYPE_CHECKING:  # hidden from type checkers, which would take a tensor for an array

        def __array__(self, *wishes: Any, **named: Any) -> NoReturn:
            raise NodeError("A tensor node is no array: its numbers may change. Those that it has now are t.eval().")

    def __reduce__(self) -> NoReturn:
        raise NodeError("A tensor node cannot be pickled: it belongs to this process's graph. Save t.eval() instead.")

    def __copy__(self) -> TensorNode:
        raise NodeError(f"{self.label} is not copied: it is made of others. Keep its numbers: before = t.eval().")

    def __deepcopy__(self, memo: Any) -> TensorNode:
        return self.__copy__()


explain_calls(TensorNode)

# --- shared by all ---


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("naive_graph.")


def method(function: Method) -> Method:
    """Decorator: also attach a function of a tensor node to TensorNode as a method."""
    setattr(TensorNode, function.__name__, explains(function))
    return function


def checked_shape(shape: Any) -> Shape:
    """Validate a shape; returns it as a tuple of ints. Raises ShapeError."""
    extents = tuple(as_list(shape, "A shape", "a list of whole numbers"))
    if {*map(type, extents)} <= {int} and min(extents, default=1) > 0:
        return extents
    for extent in extents:
        if not isinstance(extent, int) or isinstance(extent, bool) or extent < 1:
            raise ShapeError(f"A shape has whole numbers of at least 1, not {shortened(extent)} as in {extents}.")
    return tuple(map(int, extents))


def size_of(shape: Iterable[int]) -> int:
    """The number of entries of a tensor of this shape."""
    return prod(shape)


def entry_name(name: str, shape: Shape, flat_index: int) -> str:
    """The name of the entry at a flat index.

    >>> entry_name("y", (2, 3), 5)
    'y[1,2]'
    """
    return f"{name}[{','.join(map(str, np.unravel_index(flat_index, shape)))}]" if shape else name


def check_tensors(who: str, nodes: Iterable[object]) -> None:
    """Raise NodeError unless all are tensor nodes of the current graph."""
    for node in nodes:
        if not isinstance(node, TensorNode):
            raise NodeError(f"{who} takes tensor nodes, not {type(node).__name__}. Wrap it: LeafNode.constant(...).")
        node.home  # noqa: B018 - refuses a stale node
