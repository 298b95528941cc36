"""The graph is two tables: columns that grow and shrink together."""

from array import array
from types import CodeType

import pytest
from graphs import any_graph, build, check_consistent, snapshot
from hypothesis import given, settings

from naive_graph import Constant, Graph, PlaceHolder, Variable, scope
from naive_graph.core.origin import Origin
from naive_graph.core.rules import RULES
from naive_graph.core.tables import CONSTANT, NEVER, PLACEHOLDER, VARIABLE, Tables
from naive_graph.core.waiting import NewRows
from naive_graph.errors import StaleNodeError
from naive_graph.graph.node_factory import CURRENT

CODE: CodeType = compile("x + y", "a learner's file", "eval")


def small():
    """rows: x 0, 7 1, x - 7 2."""
    tables = Tables()
    for kind in (VARIABLE, CONSTANT):
        tables.add_row(kind, (), CODE, 0)
    tables.add_row(RULES["sub"].number, (0, 1), CODE, 0)
    return tables


def test_a_table_prints_as_a_table():
    x = Variable(6, name="x")
    y = x - 7
    Graph.forward()
    assert str(y.table()) == (
        "nodes (3)\nrow      kind  name  value  grad\n  0  Variable     x      6     .\n"
        "  1  Constant            7     .\n  2       sub           -1     .\n\n"
        "edges (2)\nsource  target\n     0       2\n     1       2"
    )


@settings(max_examples=100, deadline=None)
@given(any_graph())
def test_operands_and_consumers_are_two_views_of_the_same_edges(recipe):
    with Graph.scratch():
        build(recipe)
        live = [node for node in Graph.node_list if not node.absorbed]
        fed = sorted((operand.row, node.row) for node in live for operand in node.last)
        feeding = sorted((node.row, consumer.row) for node in Graph.node_list for consumer in node.next)
        assert fed == feeding
        assert all(node.in_deg == len(node.last) and node.out_deg == len(node.next) for node in live)
        check_consistent()


def test_a_row_has_its_kind_and_its_operands_in_order():
    tables = small()
    assert [tables.kind(row) for row in range(3)] == ["Variable", "Constant", "sub"]
    assert (tables.operands(2), tables.consumers(0), tables.consumers(2)) == ([0, 1], [2], [])


def test_a_value_is_unknown_until_it_is_written():
    tables = small()
    assert tables.value(0) is None and tables.stamp(0) == NEVER
    tables.set_leaf_value(0, 0.0)
    assert tables.value(0) == 0.0 and tables.value(1) is None


def test_a_later_write_has_a_later_stamp_than_an_earlier_run():
    tables = small()
    tables.set_leaf_value(0, 1.0)
    evaluated = tables.clock
    tables.clock += 1
    tables.set_leaf_value(0, 2.0)
    assert tables.stamp(0) > evaluated


def test_gradients_belong_to_all_but_constants():
    tables = small()
    assert [tables.grad(row) for row in range(3)] == [None, None, None]
    tables.clear_grads()
    assert [tables.grad(row) for row in range(3)] == [0.0, None, 0.0]


def test_an_absorbers_edges_are_its_own_and_those_it_took_over():
    a, b, c = Variable(1.0), Variable(2.0), Variable(3.0)
    total = a + b + c
    tables = total.tables
    assert (tables.operands(4), tables.in_degrees[4]) == ([0, 1, 2], 3)
    assert tables.adjacency.live_rows() == [0, 1, 2, 4]
    assert list(tables.adjacency.edges([4])) == [(0, 4), (1, 4), (2, 4)]
    assert tables.adjacency.absorptions([4]) == [(4, 3, [0, 1, 2], 2)] and len(tables.sources) == 4


def test_a_chain_of_absorbed_rows_unfolds_without_recursion():
    tables, size, add = Tables(), 2_000, RULES["add"].number
    rows = range(2, size)
    new = NewRows(
        array("h", [VARIABLE, add] + [add] * len(rows)),
        array("i", [0, 2, *[row + 1 for row in rows]]),
        array("i", [0, 0, *[source for row in rows for source in (~(row - 1), 0)]]),
        array("i", [1, 1, *[row for row in rows for _ in range(2)]]),
        array("d"),
        array("q"),
    )
    tables.add_rows(new, [(0, Origin(CODE, 0))])
    assert tables.operands(size - 1) == [0] * size


def test_cutting_back_gives_the_same_tables_as_never_having_grown():
    with scope("outer"):
        y = Variable(2.0, name="x") * 3.0
    before, mark = snapshot(), CURRENT.tables.mark()
    with scope("inner"):
        z = (y + 1.0).sin()
        z.name = "z"
    exec(compile("y * 5.0", "another file", "exec"), {"y": y})
    CURRENT.tables.cut(mark, "was cut back")
    assert snapshot() == before
    check_consistent()


@settings(max_examples=60, deadline=None)
@given(any_graph(), any_graph())
def test_cutting_back_forgets_any_graph(first, second):
    with Graph.scratch():
        build(first)
        before, mark = snapshot(), CURRENT.tables.mark()
        build(second)
        CURRENT.tables.cut(mark, "was cut back")
        assert snapshot() == before
        check_consistent()


def test_an_edge_that_cannot_be_drawn_leaves_the_columns_as_they_were():
    tables = small()
    assert len(tables) == 3
    with pytest.raises((TypeError, OverflowError)):
        tables.add_edge("x", 2)  # type: ignore[arg-type]
    assert (len(tables.sources), len(tables.targets), tables.in_degrees[2]) == (2, 2, 2)


def test_a_row_remembers_the_code_that_made_it():
    tables = small()
    other: CodeType = compile("x * y", "another file", "eval")
    tables.add_row(PLACEHOLDER, (), other, 2)
    tables.add_row(PLACEHOLDER, (), CODE, 4)
    origins = [tables.origin(row) for row in (0, 2, 3, 4)]
    assert [origin.filename for origin in origins] == [
        "a learner's file", "a learner's file", "another file", "a learner's file",
    ]  # fmt: skip
    assert len(tables.codes) == 4  # one entry for each change, not for each row


@pytest.mark.parametrize(("file", "where"), [
    ("/tmp/ipykernel_71/305.py", "a notebook cell"), ("/home/me/ipykernel/tests.py", "tests.py"), ("cell 3", "cell 3"),
])  # fmt: skip
def test_a_place_is_called_by_its_file_and_that_in_a_notebook_a_cell(file, where):
    assert str(Origin(compile("x * y", file, "eval"), 2)) == f"line 1 of {where}"


def test_messages_call_a_node_by_its_kind_and_name_or_row():
    x, p, c = Variable(1.0, name="x"), PlaceHolder(), Constant(2.0)
    y = x * c
    assert [CURRENT.tables.label(node.row) for node in (x, p, c, y)] == [
        "Variable 'x'", "PlaceHolder (row 1)", "Constant (row 2)", "'mul' (row 3)",
    ]  # fmt: skip


def test_closed_tables_are_empty_and_say_why():
    tables = small()
    tables.close("was cleared")
    assert (len(tables), tables.closed) == (0, "was cleared")
    with pytest.raises(StaleNodeError, match="The graph was cleared while it was worked on"):
        len(tables.sources)
