"""Random graphs for property tests, and a picture of the tables to compare before and after."""

from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable
from naive_graph.graph.node_factory import CURRENT

# Operators that are smooth and finite wherever the numbers below can lead.
TAME_UNARY = ["sin", "cos", "tanh", "sigmoid", "softplus", "atan", "erf", "asinh", "square", "neg"]
BENT_UNARY = ["relu", "abs", "sign", "heaviside"]
WILD_UNARY = ["exp", "log", "sqrt", "reciprocal", "tan", "acosh", "atanh", "log1p", "expm1", "cosh"]
TAME_BINARY = ["add", "sub", "mul", "atan2", "hypot"]
BENT_BINARY = ["maximum", "minimum", "greater", "less", "greater_equal", "less_equal", "equal", "not_equal"]
WILD_BINARY = ["div", "pow"]
NUMBERS = st.floats(-2.0, 2.0).map(lambda number: round(number, 3))


@st.composite
def recipes(draw, unary, binary, most=14):
    """How to build a graph: leaves, then operators over what is there, shared operands and x - x included."""
    leaves = draw(st.lists(st.tuples(st.sampled_from("VVVPC"), NUMBERS), min_size=1, max_size=4))
    steps = []
    for size in range(len(leaves), len(leaves) + draw(st.integers(1, most))):
        pick = st.integers(0, size - 1)
        kind = draw(st.sampled_from(["unary", "binary", "binary", "nary", "where", "number"]))
        if kind == "unary":
            steps.append((draw(st.sampled_from(unary)), draw(pick)))
        elif kind == "binary":
            steps.append((draw(st.sampled_from(binary)), draw(pick), draw(pick)))
        elif kind == "nary":
            name = draw(st.sampled_from(["sum", "prod", "logsumexp"]))
            steps.append((name, *draw(st.lists(pick, min_size=1, max_size=4))))
        elif kind == "where":
            steps.append(("where", draw(pick), draw(pick), draw(pick)))
        else:
            steps.append((draw(st.sampled_from(["add", "mul", "sub"])), draw(pick), draw(NUMBERS)))
    return leaves, steps


def tame(most=14):
    """Smooth graphs: every derivative exists."""
    return recipes(TAME_UNARY, TAME_BINARY, most)


def any_graph(most=14):
    """Graphs with kinks, poles and numbers outside domains."""
    return recipes(TAME_UNARY + BENT_UNARY + WILD_UNARY, TAME_BINARY + BENT_BINARY + WILD_BINARY, most)


def build(recipe):
    """The nodes of a recipe in the current graph, leaves first."""
    leaves, steps = recipe
    nodes = []
    for place, (kind, value) in enumerate(leaves):
        if kind == "P":
            nodes.append(PlaceHolder(name=f"p{place}"))
            nodes[-1].value = value
        else:
            nodes.append((Variable if kind == "V" else Constant)(value, name=f"x{place}" if kind == "V" else None))
    for name, *operands in steps:
        operands = [nodes[each] if isinstance(each, int) else each for each in operands]
        apply = {"sum": Graph.sum, "prod": Graph.prod, "logsumexp": ng.logsumexp}.get(name)
        nodes.append(apply(operands) if apply else getattr(ng, name)(*operands))
    return nodes


def varying_leaves(nodes):
    return [node for node in nodes if type(node) in (Variable, PlaceHolder)]


def snapshot():
    """Everything that the tables of the current graph hold."""
    tables = CURRENT.tables
    columns = ("operators", "in_degrees", "instructions", "sources", "targets", "values", "stamps", "grads")
    return {
        **{name: repr(getattr(tables, name)) for name in columns},
        "codes": list(tables.codes),
        "names": dict(tables.names),
        "scopes": list(tables.scopes),
        "current": id(tables),
    }


def check_consistent():
    """The columns fit together, whatever happened before."""
    tables = CURRENT.tables
    rows = len(tables.operators)
    assert len(tables.in_degrees) == len(tables.instructions) == rows
    assert len(tables.sources) == len(tables.targets)
    assert max(len(tables.values), len(tables.stamps), len(tables.grads)) <= rows
    assert not any(tables.stamps[len(tables.values) :])  # a value that is not there was never computed
    assert all(target < rows for target in tables.targets)
    assert all((source if source >= 0 else ~source) < rows for source in tables.sources)
    assert all(len(tables.operands(row)) == tables.in_degrees[row] for row in range(rows))
    assert all(row < rows for row in tables.names)
