"""Places outside their table: an error that names them, or NaN where they were read; never 0 in silence."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, LeafNode, Program, lower
from naive_graph.errors import NumericWarning, PlaceError
from naive_graph.tensor.operators.table import operators

PLACES = st.lists(
    st.sampled_from([-6.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0, 0.5, math.nan, math.inf]), min_size=1, max_size=4
)
READING = {
    "gather": lambda table, places: table.gather(places),
    "gather along an axis": lambda table, places: table.T.gather(places, axis=1).T,
    "gather_elements": lambda table, places: table.gather_elements(places.expand_dims(1).broadcast((places.size, 2))),
    "gather_nd": lambda table, places: table.gather_nd(places.expand_dims(1)),
}


def asked(table, places, way):
    """What is read at computed places, a loss of it, and the leaf that is fed."""
    fed = LeafNode.input((len(places),), "fed")
    values = way(table, fed + 1.0)
    return values, (values * values).sum(), fed, np.array(places) - 1.0


def is_inside(places, extent):
    return np.array([place in range(-extent, extent) for place in places])


def read(table, places):
    """The rows that NumPy reads, NaN for a place outside, and the derivative of the sum of squares of the others."""
    inside = is_inside(places, len(table))
    rows, slopes = np.full((len(places), 2), np.nan), np.zeros_like(table)
    chosen = np.array(places)[inside].astype(int)
    rows[inside] = table[chosen]
    np.add.at(slopes, chosen, 2.0 * table[chosen])
    return rows, slopes


@pytest.mark.parametrize("way", READING.values(), ids=READING)
@settings(max_examples=12)
@given(extent=st.integers(1, 3), places=PLACES)
def test_a_computed_place_outside_its_table_is_named_or_gives_nan_in_its_row(way, extent, places):
    numbers = np.arange(1.0, 2 * extent + 1).reshape(extent, 2)
    table = LeafNode.parameter(numbers)
    values, loss, fed, feed = asked(table, places, way)
    rows, slopes = read(numbers, places)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericWarning)
        for engine in ("reference", "runs"):
            np.testing.assert_array_equal(Program(values, wrt=[], inputs=[fed], engine=engine)(feed).value, rows)
            answer = Program(loss, wrt=[table], inputs=[fed], engine=engine)(feed)
            np.testing.assert_array_equal(answer.value, (rows * rows).sum())
            np.testing.assert_array_equal(answer.gradient[0], slopes)
        lowered, total = lower(values), lower(loss)
        lower(fed).values = feed
        Graph.forward()
        Graph.backward(total[()])
    np.testing.assert_array_equal(lowered.values, rows)
    np.testing.assert_array_equal(lower(table).grads, slopes)
    fed.value = feed
    if np.isnan(rows).any():
        with pytest.raises(PlaceError, match="which is no place"):
            values.eval()
    else:
        np.testing.assert_array_equal(values.eval(), rows)


@pytest.mark.parametrize("engine", ["direct", "compiled"])
def test_every_engine_gives_nan_for_a_computed_place_outside_its_table(engine):
    table, fed = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]), LeafNode.input((3,))
    values = table.gather(fed + 1.0)
    program = Program((values * values).sum(), wrt=[table], inputs=[fed], engine=engine)
    assert program([0.0, -1.0, 0.0]).value == 55.0
    with pytest.warns(NumericWarning, match=r"div\(0.0, 0.0\) = nan"):
        value, (slopes,) = program([0.0, -1.0, 1.0])
    assert math.isnan(value)
    assert slopes.tolist() == [[2.0, 4.0], [6.0, 8.0]]


@pytest.mark.parametrize("reduction", ["none", "add"])
@given(places=st.lists(st.sampled_from([0.0, 1.0, -1.0, 3.0, -4.0, 0.5]), min_size=2, max_size=2, unique=True))
def test_what_is_put_at_a_computed_place_outside_makes_its_line_nan(reduction, places):
    x, updates = LeafNode.parameter([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), LeafNode.parameter([[7.0], [8.0]])
    fed = LeafNode.input((2, 1))
    values = x.scatter_elements(updates, fed + 1.0, axis=1, reduction=reduction)
    wanted = x.held.copy()
    for line, place, update in zip(wanted, places, (7.0, 8.0)):
        if is_inside([place], 3)[0]:
            line[int(place)] = update + (line[int(place)] if reduction == "add" else 0.0)
        else:
            line[:] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericWarning)
        program = Program(values, wrt=[], inputs=[fed], engine="runs")
        np.testing.assert_array_equal(program(np.reshape(places, (2, 1)) - 1.0).value, wanted)


def test_a_computed_class_that_is_ignored_is_no_place_outside():
    x, target = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), LeafNode.input((3,))
    weight = LeafNode.parameter([1.0, 2.0])
    for sources in ([x], [x, weight]):
        losses = operators()["nll_loss"](*sources, target=target + 1.0, ignore_index=-1, reduction="none")
        program = Program(losses, wrt=[], inputs=[target])
        assert program([-1.0, -2.0, -1.0]).value.tolist() == [-1.0, 0.0, -5.0]
        with pytest.warns(NumericWarning):
            assert np.isnan(program([-1.0, -2.0, 4.0]).value).tolist() == [False, False, True]


def test_one_of_two_axes_whose_place_is_outside_makes_the_entry_nan():
    table, fed = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]]), LeafNode.input((4, 2))
    program = Program(table.gather_nd(fed + 1.0), wrt=[], inputs=[fed])
    with pytest.warns(NumericWarning):
        values = program([[0.0, -1.0], [0.0, 1.0], [1.0, -1.0], [-3.0, 0.0]]).value
    np.testing.assert_array_equal(values, [3.0, np.nan, np.nan, 2.0])


def test_the_guard_is_two_nodes_for_each_place_and_none_where_places_are_known():
    table, fed = LeafNode.parameter(np.ones((3, 2))), LeafNode.input((4,))
    for known in ([0, 2, 1], LeafNode.constant([0.0, 2.0])):
        assert "/" not in lower(table.gather(known))[0, 0].formula()
    lower(table.gather(fed))
    guards = [node for node in Graph.node_list if isinstance(node, Graph.Operator) and node.operator == "div"]
    assert len(guards) == 4
    assert all(guard.last[1].in_deg == 3 for guard in guards)  # the sum of what is chosen, of three rows
