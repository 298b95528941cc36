"""What a learner may write, for the tests of who builds the nodes: the same again in Python and in compiled code."""

import weakref

import pytest
from graphs import NUMBERS, snapshot
from hypothesis import strategies as st

from naive_graph import Constant, Graph, PlaceHolder, Variable
from naive_graph.errors import NaiveGraphError
from naive_graph.handles import CURRENT

SIGNS, WHICH = st.sampled_from("+-*/p+++sv?rnVCPKNMET"), st.integers(0, 40)
STEPS = st.lists(st.tuples(SIGNS, WHICH, WHICH | NUMBERS), max_size=60)


def elsewhere(a, b):
    return a - b


class Mine(Variable):
    def __init__(self, value):
        super().__init__(value * 2)


class Careful(Constant):
    def __init__(self, value):
        self.before = weakref.ref(self)
        with pytest.raises(NaiveGraphError):
            super().__init__("no number")
        super().__init__(value)


def leaf(sign, b):
    """A leaf, made in one way or the other."""
    if sign == "V":
        return Variable(b)
    if sign == "C":
        return Graph.Constant(b)
    if sign == "P":
        return PlaceHolder()
    if sign == "K":
        return Variable(value=b) if b > 1 else Constant(b, None)
    if sign == "N":
        return [Variable(b, "x"), Variable(b, name="x"), PlaceHolder("p"), PlaceHolder(name="p")][int(b) % 4]
    return Mine(b) if b > 1 else Careful(b)


def refused():
    for wrong in (True, "a", None, 1j, 10**400, [1]):
        with pytest.raises(NaiveGraphError):
            Variable(wrong)
    with pytest.raises(TypeError):
        PlaceHolder(1, 2)


def follow(steps):
    """Nodes by operators, with looks at the tables and other functions' nodes in between."""
    nodes = [Variable(0.5), PlaceHolder(), Constant(2.0)]
    for sign, left, right in steps:
        a = nodes[left % len(nodes)]
        b = right if isinstance(right, float) else nodes[right % len(nodes)] if right < 30 else right
        if sign == "+":
            nodes.append(a + b)
        elif sign == "-":
            nodes.append(elsewhere(a, b) if left % 2 else a - b)
        elif sign == "*":
            nodes.append(a * b)
        elif sign == "/":
            nodes.append(a / b)
        elif sign == "p":
            nodes.append(a**b)
        elif sign == "s":
            nodes.append(a.sin())
        elif sign == "r":
            nodes.append(0.25 - a if left % 2 else 3 * a)
        elif sign == "n":
            nodes.append(-a if left % 2 else elsewhere(2, a))
        elif sign == "v":
            nodes.append(Variable(1.0))
        elif sign in "VCPKNM":
            nodes.append(leaf(sign, b if isinstance(b, float) else right))
        elif sign == "E":
            refused()
        elif sign == "T":
            node = Variable(1.0)
            Variable.__init__(node, 2.0)
            nodes.append(node)
        else:
            assert nodes[-1].in_deg <= 33
    return nodes


def tables():
    """All that the tables hold; a line and columns for each instruction, which calls may name in two ways."""
    positions = [CURRENT.tables.origin(row)._position() for row in range(len(Graph.node_list))]
    return {**snapshot(), "current": None, "instructions": positions, "written": CURRENT.tables.written}
