"""A row has at most one node, and a node one row, though compiled code uses handles again that nobody holds."""

import gc
import weakref

import pytest
from built import tables
from graphs import check_consistent
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, Variable, builder, calls
from naive_graph.engines.llvm import objects
from naive_graph.engines.llvm.layout import NODES
from naive_graph.errors import MissingToolError
from naive_graph.handles import CURRENT

pytestmark = pytest.mark.usefixtures("compiled_builder")
FATES = st.sampled_from(["use", "use", "let go", "keep", "weak", "look", "leaf", "again"])
STEPS = st.lists(st.tuples(st.sampled_from("+-*n"), st.integers(0, 2), st.integers(0, 2), FATES), min_size=1)


def follow(steps):
    """The nodes that are kept, those that are only referred to, each with the row it had when it was made."""
    nodes, kept, referred = [Variable(0.5), Variable(1.5), Variable(2.5)], [], []
    for sign, left, right, fate in steps:
        a, b = nodes[left], nodes[right]
        node = a + b if sign == "+" else a - b if sign == "-" else a * b * a if sign == "*" else -a
        if fate == "use":
            nodes[right] = node
        elif fate == "keep":
            kept.append((node, node.row))
        elif fate == "weak":
            referred.append((weakref.ref(node), node.row))
        elif fate == "look":
            assert Graph.node_list[node.row] is node
        elif fate == "leaf":
            nodes[left] = Variable(1.0)
        elif fate == "again" and kept:
            nodes[left] = Graph.node_list[kept[-1][1]]
            assert nodes[left] is kept[-1][0]
    return [*kept, *((node, node.row) for node in nodes)], referred


@settings(max_examples=80, deadline=None)
@given(STEPS, st.integers(1, 40))
def test_who_is_held_keeps_its_row_and_who_is_not_has_none(steps, rounds):
    seen = []
    for choice in ("python", "compiled"):
        builder.use(choice)
        with Graph.scratch():
            kept, referred = follow(steps * rounds)
            assert all(node.row == row for node, row in kept)
            assert all(each() is None or each().row == row for each, row in referred)
            seen.append((tables(), [row for _, row in kept], [row for _, row in referred]))
            assert all(Graph.node_list[row] is node for node, row in kept)
            assert all(each() is None or each() is Graph.node_list[row] for each, row in referred)
            check_consistent()
    assert seen[0] == seen[1]


def test_in_a_sum_that_grows_a_few_handles_take_turns():
    x, w = Variable(0.5), Variable(1.5)
    y = x
    for _ in range(300):
        y = y + w * x
    assert type(CURRENT.tables).__name__ == "Open" and CURRENT.tables.margin.words[NODES] < 100


def test_a_node_with_a_weak_reference_becomes_no_other():
    x = Variable(0.5)
    died = []
    references = [weakref.ref(x * x, died.append) for _ in range(200)]
    rows = [each().row for each in references if each() is not None]
    assert len(rows) == len(set(rows))
    assert len(Graph.node_list) == 201
    gc.collect()
    assert all(each() is None for each in references) and len(died) == 200


def test_a_finalizer_that_builds_while_handles_are_used_again_harms_nothing():
    x = Variable(0.5)
    y, kept = x, []

    class Sneaky:
        def __del__(self):
            z = x * x + x
            kept.append((z, z.row))

    before = gc.get_threshold()
    gc.set_threshold(3)
    try:
        for place in range(3000):
            sneaky = Sneaky()
            sneaky.itself = sneaky
            del sneaky
            y = y - x * x
            if place % 5 == 0:
                kept.append((y, y.row))
            if place % 97 == 0:
                assert Graph.node_list[y.row] is y
    finally:
        gc.set_threshold(*before)
    gc.collect()
    check_consistent()
    assert len({row for _, row in kept}) == len(kept) > 3000
    assert all(node.row == row and Graph.node_list[row] is node for node, row in kept)


@pytest.mark.parametrize("what", [builder, calls])
def test_where_python_s_objects_are_others_nothing_is_compiled(monkeypatch, what):
    if what is calls and not calls.can_be_compiled():
        pytest.skip("the calls of a loop are Python here")
    before = what.now()
    what.use("python")
    monkeypatch.setattr(what, "_made", [])
    monkeypatch.setattr(objects, "place_of_slot", lambda slot: objects.place(Other(), lambda: None, lambda *_: False))
    with pytest.raises(MissingToolError, match=r"its way in a Other of this Python.*use\(\"python\"\)"):
        what.use("compiled")
    assert what.now() == "python"
    monkeypatch.undo()
    what.use(before)


class Other:
    __slots__ = ("first",)
