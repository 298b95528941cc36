"""Functions and methods of `Graph` that build nodes by an operator's name: `Graph.sin(x)`, `Graph.sum([x, y])`.

The names are those of the note on a static graph that this toolkit began with, so that its code runs here as it is
printed; naive.py has them, too. The result is a node, or a tensor: numbers become Constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..core.catalogue import softmax
from ..core.compositions import COMPOSITIONS
from ..core.did_you_mean import explain_calls, explains
from ..core.number import as_list, number
from ..core.rules import RULES, Arithmetic, Rule, rule_named
from ..errors import NodeError, OperatorNameError
from .nodes import Constant, Node, build, rows_of
from .refusals import IN_NAIVE


@explains
def unary_function_frame(node: Any, operator: str) -> Any:
    """Apply the operator of that name to one operand.

    >>> from naive_graph import Graph, unary_function_frame
    >>> y = unary_function_frame(Graph.Variable(0.0), "cos")
    >>> Graph.forward(y)
    >>> y.value
    1.0
    """
    return _apply_rule(rule_named(operator), node)


@explains
def binary_function_frame(node1: Any, node2: Any, operator: str) -> Any:
    """Apply the operator of that name to two operands.

    >>> from naive_graph import Graph, Variable, binary_function_frame
    >>> y = binary_function_frame(Variable(5.0), Variable(3.0), "sub")
    >>> Graph.forward(y)
    >>> y.value
    2.0
    """
    return _apply_rule(rule_named(operator), node1, node2)


@explains
def commutable_binary_function_frame(node1: Any, node2: Any, operator: str) -> Any:
    """Apply an operator whose operands may be gathered: (a + b) + c becomes one sum of three.

    >>> from naive_graph import Variable, commutable_binary_function_frame
    >>> a, b, c = Variable(1.0, name="a"), Variable(2.0, name="b"), Variable(3.0, name="c")
    >>> y = commutable_binary_function_frame(a + b, c, "add")
    >>> print(y.formula(), y.in_deg)
    a + b + c 3
    """
    rule = rule_named(operator)
    if not rule.associative:
        raise OperatorNameError(f"'{operator}' does not gather operands. Use Graph.binary_function_frame.")
    return _apply_rule(rule, node1, node2)


class CalculateTable(Mapping[str, Callable[[Node], float]]):
    """Operator name -> function that computes a node's value from its operands' present values."""

    def __getitem__(self, name: str) -> Callable[[Node], float]:
        if name not in RULES:
            raise KeyError(name)
        return lambda node: float(RULES[name](*[operand.value for operand in node.last]))

    def __setitem__(self, name: str, calculate: object) -> NoReturn:
        raise NodeError(
            "An operator of your own is made with its partial derivatives: "
            f"{name} = operator({name!r}, value, partials). {IN_NAIVE}"
        )

    def __iter__(self) -> Iterator[str]:
        return (name for name, rule in RULES.items() if not rule.helper)

    def __len__(self) -> int:
        return sum(1 for _ in self)


if TYPE_CHECKING:  # with a method for each operator
    from ._methods import Named
else:
    Named = object


class ByName(Named):
    """The functions of `Graph` that build nodes by an operator's name."""

    __slots__ = ()

    operator_calculate_table = CalculateTable()
    unary_function_frame = staticmethod(unary_function_frame)
    binary_function_frame = staticmethod(binary_function_frame)
    commutable_binary_function_frame = staticmethod(commutable_binary_function_frame)

    @classmethod
    def add_node(cls, node: Node) -> Node:
        """Nodes register themselves; this returns the node if it is in the graph, and says so if it is not."""
        rows_of([node], "Graph.add_node")
        return node

    @classmethod
    def sum(cls, operands: Iterable[Any]) -> Node:
        """One node that adds all the operands, however many."""
        terms = as_list(operands, "Graph.sum", "a list of numbers or nodes")
        return build(RULES["add"], terms) if terms else Constant(0.0)

    @classmethod
    def prod(cls, operands: Iterable[Any]) -> Node:
        """One node that multiplies all the operands, however many."""
        factors = as_list(operands, "Graph.prod", "a list of numbers or nodes")
        return build(RULES["mul"], factors) if factors else Constant(1.0)

    @classmethod
    def softmax(cls, xs: Iterable[Any]) -> Any:
        """exp(x) / (sum of all exp) for each x of a list, as nodes."""
        if isinstance(xs, Arithmetic):
            return softmax(xs)
        operands = as_list(xs, "'softmax'", "a list of numbers or nodes")
        checked = [x if isinstance(x, Arithmetic) else number(x, "'softmax'") for x in operands]
        return softmax([x if isinstance(x, Arithmetic) else Constant(x) for x in checked])


def _apply_rule(rule: Rule, *operands: Any) -> Any:
    """Apply the rule: a node, even if all operands are numbers; with tensors, a tensor."""
    if rule.arity is None and len(operands) == 1 and not isinstance(operands[0], Arithmetic):  # Graph.add([x, y])
        if isinstance(operands[0], Iterable):
            operands = tuple(as_list(operands[0], f"'{rule.name}'", "a list of numbers or nodes"))
    has_node = any(isinstance(operand, Arithmetic) for operand in operands)
    return rule(*operands) if has_node else build(rule, operands)


def method_of(rule: Rule) -> Any:
    """The rule as a class method of `Graph`."""

    def method(cls: type[ByName], *operands: Any) -> Any:
        return _apply_rule(rule, *operands)

    method.__name__, method.__qualname__ = rule.name, f"Graph.{rule.name}"
    method.__doc__ = f"{rule.usage()}, as the function naive_graph.{rule.name}."
    return classmethod(method)


def _method_composed(composition: Callable[..., Any]) -> Any:
    """The composition (compositions.py) as a class method of `Graph`."""

    def method(cls: type[ByName], x: Any, *properties: Any, **named: Any) -> Any:
        result = composition(x, *properties, **named)  # wrong arguments raise before a number becomes a node
        return result if isinstance(result, Arithmetic) else composition(Constant(x), *properties, **named)

    method.__name__, method.__doc__ = composition.__name__, composition.__doc__
    method.__qualname__ = f"Graph.{composition.__name__}"
    return classmethod(method)


for _rule in [rule for rule in RULES.values() if not rule.helper]:
    setattr(ByName, _rule.name, method_of(_rule))
for _name, _composition in COMPOSITIONS.items():
    setattr(ByName, _name, _method_composed(_composition))
explain_calls(ByName)
