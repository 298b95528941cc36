"""What a node is not: a number, a truth value, an array, a thing to copy; asking for it says what to write instead."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from ..core.did_you_mean import names_elsewhere
from ..core.numpy_protocol import unsupported_message
from ..core.rules import Arithmetic, Rule
from ..errors import NodeError, OperandError, UpdateWarning

if TYPE_CHECKING:  # the class with a method for each operator of the catalogue
    from ._methods import NodeMethods as _Methods
else:
    _Methods = Arithmetic


IN_NAIVE = "In naive_graph.naive, where a node is a plain object, this works as it stands."


class NodeRefusals(_Methods):
    """The base of nodes: refuses what Python, NumPy and other libraries ask of a number or an array."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise OperandError(
            "A node has no truth value: it stands for a number that may change. "
            "Compare its value (x.value > 0), or build the choice into the graph: where(x > 0, a, b), "
            "and for max, min and clip: minimum(maximum(x, low), high)."
        )

    def __float__(self: Any) -> NoReturn:
        later = "" if self.value is not None else ", once Graph.forward() has computed it"
        raise OperandError(
            "A node is not a number, and turning it into one would cut the graph. "
            f"Use naive_graph's functions (naive_graph.sin, not math.sin), or node.value for the number{later}."
        )

    __int__ = __index__ = __float__

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise OperandError(
            "Python's round gives a number, and would cut the graph. Write round(node.value, 2) for the number, or "
            "naive_graph.tensor.round(x), whose slope is 0, for a node."
        )

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, Arithmetic) and not isinstance(other, NodeRefusals):
            return NotImplemented  # a tensor handles it
        raise OperandError(unsupported_message("matmul", type(self).__name__))

    __rmatmul__ = __matmul__

    def __getitem__(self, index: object) -> NoReturn:
        raise OperandError(
            "A node is a single number, and has no entries. Write x for the number itself; entries are those of a list "
            "of nodes, [x, y][0], or of a tensor, LeafNode.parameter([1.0, 2.0])[0]."
        )

    def __array_function__(self, function: Any, types: Any, operands: Any, named: Any) -> Any:
        """NumPy's default, but np.where raises: NumPy would take a node, which has [0], for a list, and test it."""
        if function.__name__ == "where":
            bool(self)
        return function._implementation(*operands, **named)

    def __setitem__(self, index: object, value: object) -> None:
        self[index]

    def __reduce__(self) -> NoReturn:
        raise NodeError(
            "A node cannot be copied or pickled: it is a row of this process's graph, and its copy would be the node "
            "itself. Keep its value, best = x.value, and set it again, x.value = best; or make another node, "
            "Variable(x.value)."
        )

    def __dir__(self) -> list[str]:
        return [name for name in object.__dir__(self) if name not in NOT_SET]

    if not TYPE_CHECKING:  # type checkers shall report unknown names

        def __getattr__(self, name: str) -> NoReturn:
            if name in names_elsewhere("numpy"):  # NumPy looks up its functions' names on each node of an array
                kind = type(self).__name__
                message = f"This {kind} has no attribute {name!r}. {unsupported_message(name, kind)}"
                raise AttributeError(message, name=name, obj=self)
            super().__getattr__(name)


def _refuse_name(name: str) -> property:
    """A name that other libraries have, as in `x.data = 5`: reading and setting say what to write here."""

    def refuse(node: Any, value: object = None) -> None:
        node.__getattr__(name)  # which raises

    return property(refuse, refuse)


NOT_SET = ("data", "requires_grad", "val", "gradient", "item", "numpy")
for _name in NOT_SET:
    setattr(NodeRefusals, _name, _refuse_name(_name))


def refuse_assignment(name: str) -> Callable[[Any, object], None]:
    """The setter of a read-only property: raises AttributeError."""

    def refuse(node: Any, value: object) -> None:
        if name != "operator" or value != node.operator:  # a learner's own operator class may set its name
            raise AttributeError(f"{name} of a node is found in the graph, and cannot be set. {IN_NAIVE}")

    return refuse


def warn_in_place(rule: Rule) -> Any:
    """`x -= number` makes an operator; on a Variable that has a gradient it warns: an update may have been meant."""
    sign = f"{rule.infix}="

    def operator(self: Any, other: Any) -> Any:
        if self.grad and not isinstance(other, Arithmetic):  # a number, and a gradient: as in a gradient step
            warnings.warn(
                f"x {sign} a number makes a new operator and calls it x: the Variable stays where it is, and so does "
                f"what was built on it. To move the Variable write x.value {sign} a number.",
                UpdateWarning,
                stacklevel=2,
            )
        return rule(self, other)

    return operator
