"""The whole idea in one file: write a formula once; get its value and its gradient as often as you like.

>>> x = Graph.Variable(6)
>>> f = ((x - 7) ** 2 + 10).log()  # makes nodes, and computes nothing
>>> Graph.forward()                # gives every node its value
>>> Graph.backward(f)              # gives every node its gradient: how fast f changes with it
>>> round(f.value, 6), round(x.grad, 6)
(2.397895, -0.181818)

Read it from top to bottom: operators, nodes, the graph. Other books call `last`
operands, parents or inputs, and `next` users, children or consumers.
"""

import math
from collections import defaultdict
from functools import reduce
from numbers import Real
from operator import add as plus
from operator import attrgetter

# --- operators: what each computes, and its slope along each operand ---

operator_calculate_table = {}  # name -> function(node) -> its value
operator_derivative_table = {}  # name -> function(y, a, b, ...) -> a list: one partial derivative for each operand


def define_operator(name, value, partials):
    """Add an operator: value(a, b, ...), and partials(y, a, b, ...) where y is that value.

    >>> define_operator("relu", lambda a: max(a, 0.0), lambda y, a: [1.0 if a > 0 else 0.0])
    >>> y = Graph.unary_function_frame(3, "relu")
    """
    operator_calculate_table[name] = lambda node: value(*values_of(node.last))
    operator_derivative_table[name] = partials


value_of = attrgetter("value")


def values_of(nodes):
    return map(value_of, nodes)


def products_of_others(factors):
    """For each factor the product of all the others. Nothing is divided, so a factor may be 0.

    >>> products_of_others([2.0, 3.0, 5.0])
    [15.0, 10.0, 6.0]
    """
    if len(factors) == 2:
        return [factors[1], factors[0]]
    before, after = [1.0], [1.0]
    for x in factors[:-1]:
        before.append(before[-1] * x)
    for x in reversed(factors[1:]):
        after.append(after[-1] * x)
    return [b * a for b, a in zip(before, reversed(after))]


def pow_partials(y, a, b):
    """The slopes of y = a**b along a and along b."""
    along_a = b * math.pow(a, b - 1) if b != 0 else 0.0  # a**0 is 1, even at a = 0
    if a > 0:
        along_b = y * math.log(a)
    elif a == 0:
        along_b = 0.0
    else:
        along_b = math.nan  # (-2)**2 is 4, but (-2)**2.1 is no real number
    return [along_a, along_b]


# reduce(plus, xs) adds from left to right. The builtin sum(xs) rounds in another way since Python 3.12.
# fmt: off
#               name   value                          partial derivatives
define_operator("add", lambda *xs: reduce(plus, xs),  lambda y, *xs: [1.0] * len(xs))
define_operator("sub", lambda a, b: a - b,            lambda y, a, b: [1.0, -1.0])
define_operator("mul", lambda *xs: math.prod(xs),     lambda y, *xs: products_of_others(xs))
define_operator("div", lambda a, b: a / b,            lambda y, a, b: [1.0 / b, -y / b])
define_operator("pow", math.pow,                      pow_partials)
define_operator("neg", lambda a: -a,                  lambda y, a: [-1.0])
define_operator("exp", math.exp,                      lambda y, a: [y])
define_operator("log", math.log,                      lambda y, a: [1.0 / a])
define_operator("sin", math.sin,                      lambda y, a: [math.cos(a)])
define_operator("cos", math.cos,                      lambda y, a: [-math.sin(a)])
# fmt: on

# --- nodes: the numbers of a formula, and how they hang together ---


class Node:
    """A number in the graph. To make a node is to add it to the graph."""

    in_deg_com = out_deg_com = 0  # room for a sort of your own, which counts the degrees down and restores them

    def __init__(self, value=None, name=""):
        self.value = value
        self.name = name or f"node {len(Graph.node_list)}"  # what messages call it
        self.last = []  # the nodes that this one uses, in order; x * x uses x twice
        self.next = []  # the nodes that use this one
        self.in_deg, self.out_deg = 0, 0  # how many it uses, and how many use it
        Graph.add_node(self)

    def build_edge(self, node):
        """Draw the edge self -> node: that node uses this one."""
        self.out_deg += 1
        node.in_deg += 1
        self.next.append(node)
        node.last.append(self)
        Graph.order = None

    def get_value(self):
        return self.value

    def label(self):
        return f"{getattr(self, 'operator', type(self).__name__)} '{self.name}'"

    def __repr__(self):
        return str(self.value)

    # fmt: off
    def __add__(self, other):      return Graph.add(self, other)
    def __radd__(self, other):     return Graph.add(other, self)
    def __sub__(self, other):      return Graph.sub(self, other)
    def __rsub__(self, other):     return Graph.sub(other, self)
    def __mul__(self, other):      return Graph.mul(self, other)
    def __rmul__(self, other):     return Graph.mul(other, self)
    def __truediv__(self, other):  return Graph.div(self, other)
    def __rtruediv__(self, other): return Graph.div(other, self)
    def __pow__(self, other):      return Graph.pow(self, other)
    def __rpow__(self, other):     return Graph.pow(other, self)
    def __neg__(self):             return Graph.neg(self)
    def exp(self):                 return Graph.exp(self)
    def log(self):                 return Graph.log(self)
    def sin(self):                 return Graph.sin(self)
    def cos(self):                 return Graph.cos(self)
    # fmt: on


class Constant(Node):
    """A number that never changes. It has no gradient."""

    def __init__(self, value, name=""):
        super().__init__(as_number(value), name)


class Variable(Node):
    """A number that may be changed, and its gradient."""

    def __init__(self, value=None, name=""):
        super().__init__(None if value is None else as_number(value), name)
        self.grad = 0.0


class PlaceHolder(Node):
    """Room for an input: set its value before each forward(), and the graph need not grow."""

    def __init__(self, name=""):
        super().__init__(None, name)
        self.grad = 0.0


class Operator(Variable):
    """A node that computes its value from those that it uses. build_edge adds more of them."""

    def __init__(self, operator, *operands):
        if operator not in operator_calculate_table:
            raise ValueError(f"There is no operator {operator!r}, only {', '.join(operator_calculate_table)}.")
        nodes = as_nodes(operands)
        super().__init__()
        self.operator = operator
        self.calculate = operator_calculate_table[operator]
        for node in nodes:
            node.build_edge(self)

    def __repr__(self):
        return self.operator


def as_number(value):
    if not isinstance(value, Real):
        raise TypeError(f"{value!r} is neither a number nor a node of this graph.")
    return float(value)


def as_nodes(operands):
    """Make Constants of the numbers among the operands, once all are known to be numbers or nodes."""
    for operand in operands:
        if not isinstance(operand, Node):
            as_number(operand)
    return [operand if isinstance(operand, Node) else Constant(operand) for operand in operands]


# --- the graph: all nodes, and the two walks over them ---


class Graph:
    """There is one graph, kept on the class, so no instance is needed."""

    node_list = []
    merges = []  # pairs (a + b, a + b + c): the second took over the operands of the first
    order = None  # the nodes in topological order, kept until a node or an edge is added
    Node, Constant, Variable, PlaceHolder, Operator = Node, Constant, Variable, PlaceHolder, Operator

    @classmethod
    def add_node(cls, node):
        cls.node_list.append(node)
        Graph.order = None

    @classmethod
    def clear(cls):
        cls.node_list.clear()
        cls.merges.clear()
        Graph.order = None

    @classmethod
    def unary_function_frame(cls, node, operator):
        return Operator(operator, node)

    @classmethod
    def binary_function_frame(cls, node1, node2, operator):
        return Operator(operator, node1, node2)

    @classmethod
    def commutable_binary_function_frame(cls, node1, node2, operator):
        """For sums and products: (a + b) + c is one node that uses a, b and c.

        The node a + b stays as it is, for somebody may hold it. a + (b + c) is not
        merged, for floats added in another order round differently.

        >>> y = Graph.Variable(1) + Graph.Variable(2)
        >>> z = y + Graph.Variable(4)
        >>> z.in_deg, y.in_deg
        (3, 2)
        """
        can_merge = isinstance(node1, Operator) and node1.operator == operator and node1 is not node2
        if can_merge and node1.in_deg < 32:  # without a limit, a sum of n terms would take n * n / 2 edges
            merged = Operator(operator, *node1.last, node2)
            cls.merges.append((node1, merged))
            return merged
        return Operator(operator, node1, node2)

    # fmt: off
    @classmethod
    def add(cls, a, b): return cls.commutable_binary_function_frame(a, b, "add")
    @classmethod
    def sub(cls, a, b): return cls.binary_function_frame(a, b, "sub")
    @classmethod
    def mul(cls, a, b): return cls.commutable_binary_function_frame(a, b, "mul")
    @classmethod
    def div(cls, a, b): return cls.binary_function_frame(a, b, "div")
    @classmethod
    def pow(cls, a, b): return cls.binary_function_frame(a, b, "pow")
    @classmethod
    def neg(cls, a):    return cls.unary_function_frame(a, "neg")
    @classmethod
    def exp(cls, a):    return cls.unary_function_frame(a, "exp")
    @classmethod
    def log(cls, a):    return cls.unary_function_frame(a, "log")
    @classmethod
    def sin(cls, a):    return cls.unary_function_frame(a, "sin")
    @classmethod
    def cos(cls, a):    return cls.unary_function_frame(a, "cos")
    # fmt: on

    @classmethod
    def topological_order(cls):
        """All nodes, each after those that it uses: Kahn's sort. The order is kept until the graph changes."""
        if cls.order is not None and len(cls.order) == len(cls.node_list):
            return cls.order
        waiting = {node: node.in_deg for node in cls.node_list}  # for how many each still waits
        queue = [node for node in waiting if waiting[node] == 0]
        for node in queue:  # which grows while we walk along it: first in, first out
            for user in node.next:
                if user in waiting:  # and not in a graph that was cleared
                    waiting[user] -= 1
                    if waiting[user] == 0:
                        queue.append(user)
        if len(queue) < len(waiting):
            raise ValueError(cls.explain_stuck(waiting))
        Graph.order = tuple(queue)
        return cls.order

    @classmethod
    def explain_stuck(cls, waiting):
        """Walk from a waiting node to one that it waits for, until one comes again or is not in the graph."""
        node = next(node for node in waiting if waiting[node] > 0)
        path = {}  # a dict keeps the order like a list, and finds a node much faster
        while node in waiting and node not in path:
            path[node] = True
            node = next(operand for operand in node.last if waiting.get(operand) != 0)  # one that is not done
        if node not in waiting:
            return f"{node.label()} is used, but it is not in the graph any more. Make it again."
        path = list(path)
        cycle = [node, *reversed(path[path.index(node) :])]
        return "These edges form a cycle, so nobody can go first: " + " -> ".join(node.label() for node in cycle)

    @classmethod
    def forward(cls):
        """Compute the value of every operator. If that fails, all values stay as they were.

        >>> p = Graph.PlaceHolder()
        >>> y = 2 * p
        >>> p.value = 21.0
        >>> Graph.forward()
        >>> y.value
        42.0
        """
        order = cls.topological_order()
        for node in order:
            if node.value is None and node.next and not node.last:
                raise ValueError(f"{node.label()} has no value, and uses no nodes to compute it from. Set its value.")
        before = list(values_of(order))
        try:
            for node in order:
                if node.last:
                    node.value = node.calculate(node)
        except Exception as error:
            for changed, value in zip(order, before):
                changed.value = value
            error.add_note(describe_failure(node))
            raise

    @classmethod
    def backward(cls, y=None):
        """Compute the gradient of y with respect to every node. Without y: of the sum of all results.

        >>> x = Graph.Variable(3)
        >>> y = x * x  # uses x twice, so x gets two contributions
        >>> Graph.forward()
        >>> Graph.backward(y)
        >>> x.grad
        6.0
        """
        order = cls.topological_order()
        results = cls.find_results(y)
        for result in results:
            if result.value is None:
                raise ValueError(f"{result.label()} has no value yet. Call Graph.forward() before Graph.backward().")
        grads = defaultdict(float, {result: 1.0 for result in results})  # a node that is not in it has 0.0
        for node in reversed(order):  # all that use a node had their turn before it, so its gradient is complete
            if node.last and node in grads:
                grad = grads[node]
                for operand, partial in zip(node.last, find_partials(node)):
                    grads[operand] += grad * partial
        cls.add_merged_grads(grads)
        for node in order:  # nothing failed, so now the gradients may change
            if hasattr(node, "grad"):  # a Constant has none
                node.grad = grads.get(node, 0.0)

    @classmethod
    def add_merged_grads(cls, grads):
        """Where z = y + c took over the operands of y, give y its gradient as if z used y and c."""
        for y, z in reversed(cls.merges):  # the latest first: what y gets, it passes on to what it took over
            if z in grads:
                others = values_of(z.last[len(y.last) :])
                partials = operator_derivative_table[z.operator](z.value, y.value, *others)
                grads[y] += grads[z] * partials[0]

    @classmethod
    def find_results(cls, y):
        """What to differentiate: y, or else all operators that no other node uses."""
        if y is None:
            merged = {node for node, _ in cls.merges}
            return [node for node in cls.node_list if node.last and not node.next and node not in merged]
        if y not in cls.node_list or not hasattr(y, "grad"):
            raise TypeError(f"{y!r} has no gradient: it is a Constant, or no node of this graph.")
        return [y]

    @classmethod
    def kill_grad(cls):
        """Set every gradient to 0. Others call it zero_grad; our backward() does not need it."""
        for node in cls.node_list:
            if hasattr(node, "grad"):
                node.grad = 0.0


def find_partials(node):
    """The slope of an operator along each operand."""
    if node.operator not in operator_derivative_table:
        raise ValueError(f"{node.label()} has no derivative. Add it to operator_derivative_table.")
    try:
        return operator_derivative_table[node.operator](node.value, *values_of(node.last))
    except Exception as error:
        error.add_note(describe_failure(node))
        raise


def describe_failure(node):
    """What Python's own messages do not say."""
    return f"This happened at {node.label()} of {list(values_of(node.last))}."


naive_Graph = Graph
