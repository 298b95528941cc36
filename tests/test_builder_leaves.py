"""Leaves that compiled code makes are those that Python makes."""

from inspect import signature

import pytest
from built import tables

from naive_graph import Constant, Graph, PlaceHolder, Variable, builder
from naive_graph.engines.llvm.layout import ROWS
from naive_graph.errors import NaiveGraphError
from naive_graph.handles import CURRENT
from naive_graph.tables import Tables

pytestmark = pytest.mark.usefixtures("compiled_builder")


def test_compiled_code_makes_leaves_too():
    first, *others = [Variable(0.5), Variable(1), Constant(2.0), PlaceHolder()]
    margin = CURRENT.tables.margin
    assert type(CURRENT.tables) is not Tables and margin.words[ROWS] == len(others)
    assert [node.value for node in (first, *others)] == [0.5, 1.0, 2.0, None]
    assert type(CURRENT.tables) is Tables and margin.words[ROWS] == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: Variable(True), lambda: Variable("a"), lambda: Constant(None), lambda: Constant(10**400),
        lambda: Variable(), lambda: Variable(1.0, 2), lambda: Variable(1.0, ""), lambda: Variable(1.0, "x", 3),
        lambda: PlaceHolder(1.0), lambda: PlaceHolder("p", "q"), lambda: Constant(valeu=1.0),
        lambda: Variable(Variable(1.0)), lambda: Variable(1.0, value=2.0), lambda: Variable(1.0, "x", name="x"),
    ],
)  # fmt: skip
def test_a_leaf_is_refused_as_in_python(make):
    said = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            x = Variable(1.0)
            _ = x * x
            with pytest.raises((NaiveGraphError, TypeError)) as error:
                make()
            said.append((type(error.value), str(error.value), tables()))
    assert said[0] == said[1]


def test_a_refused_leaf_is_blank_as_in_python():
    node = Variable.__new__(Variable)
    with pytest.raises(NaiveGraphError):
        node.__init__("a")
    with pytest.raises(AttributeError):
        node.row
    node.__init__(2.0)
    assert (node.row, node.value) == (0, 2.0)


def test_leaves_have_the_signature_that_python_gives_them():
    for kind in (Variable, Constant, PlaceHolder):
        seen = []
        for choice in ("python", "compiled"):
            builder.use(choice)
            seen.append([(each.name, each.default, each.kind) for each in signature(kind).parameters.values()])
        assert seen[0] == seen[1]


def test_a_leaf_made_by_the_package_has_the_learners_line():
    with Graph.scratch():
        total = [Variable(1.0), Variable(2.0), Graph.sum([])][-1]
    with Graph.scratch():
        leaves = [Variable(1.0), Variable(2.0), Graph.sum([])]
        assert len({node.origin.line for node in leaves}) == 1 and leaves[2].origin.filename == __file__
    assert "stale" in repr(total)


def test_a_node_that_is_made_again_belongs_to_the_graph_of_now():
    node = Variable(1.0)
    _ = [Variable(2.0) for _ in range(5)]
    before = CURRENT.tables
    Graph.renew()
    _ = [Variable(2.0) for _ in range(5)]
    Variable.__init__(node, 3.0)
    assert (node.row, node.value, node.tables is before) == (5, 3.0, False)
    assert Graph.node_list[5] is node
