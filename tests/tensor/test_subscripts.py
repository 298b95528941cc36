"""x[...] means what NumPy means by it: values, shapes and gradients, on arrays and on scalars."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Graph, LeafNode
from naive_graph.errors import NaiveGraphError, NodeError, PlaceError, ShapeError
from naive_graph.tensor import equation

# --- subscripts ---------------------------------------------------------------


@st.composite
def subscripts(draw):
    """A shape, and any subscript that NumPy has words for: most fit the shape, some do not."""
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    meeting = tuple(draw(st.lists(st.integers(1, 3), max_size=2)))  # what lists of places are broadcast to
    parts, axis, gone = [], 0, draw(st.integers(0, len(shape)))  # `...` stands before this axis
    while axis < len(shape) and (axis < gone or draw(st.booleans())):
        if draw(st.integers(0, 5)) == 0:
            parts.append(draw(st.sampled_from([None, ..., True, np.True_, False, np.array(True), None, True])))
            axis += parts[-1] is ...
            continue
        part, taken = draw(part_of(shape[axis:], meeting))
        parts.append(part)
        axis += taken
    parts += draw(st.sampled_from([[]] * 8 + [[...], [None], [0]]))
    return shape, parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


@st.composite
def part_of(draw, extents, meeting):
    """One part, and how many axes it takes."""
    extent = extents[0]
    anywhere = st.integers(-extent, extent - 1)
    kind = draw(st.sampled_from(["number", "slice", "list", "list", "array", "mask", "odd"]))
    if kind == "number":
        return draw(anywhere.map(draw(st.sampled_from([int, np.int8, np.array])))), 1
    if kind == "slice":
        ends = st.none() | st.integers(-extent - 1, extent + 1)
        return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, -1, -2]))), 1
    if kind == "mask":
        rank = draw(st.integers(1, min(2, len(extents))))
        mask = np.array(draw(st.lists(st.booleans(), min_size=16, max_size=16)))
        mask = np.resize(mask, extents[:rank])
        return (mask.tolist() if draw(st.booleans()) else mask), rank
    if kind == "odd":
        return draw(st.sampled_from([[], np.zeros((0,), int), [extent], -extent - 1, [[0], [-1]]])), 1
    lengths = [draw(st.sampled_from([each, each, 1])) for each in meeting[draw(st.integers(0, len(meeting))) :]]
    table = np.array([draw(anywhere) for _ in range(int(np.prod(lengths)))], int).reshape(lengths)
    whole = st.sampled_from([np.int64, np.int8] + [np.uint64] * bool(table.min() >= 0))
    return (table.tolist() if kind == "list" else table.astype(draw(whole))), 1


def numbered(shape):
    """An array whose entries all differ."""
    return np.arange(1.0, 1.0 + np.prod(shape, dtype=int)).reshape(shape)


def of_numpy(array, parts):
    """What NumPy gives; None where it refuses, or gives no entry, which a tensor has."""
    try:
        found = array[parts]
    except IndexError:
        return None
    return found if found.size else None


def weighed(node):
    """A number whose slope differs at each entry of the tensor."""
    return (node * LeafNode.constant(numbered(node.shape) ** 2)).sum()


def scattered(shape, parts):
    """The gradient of `weighed`, by NumPy's own way to add at places that repeat."""
    gradient = np.zeros(shape)
    np.add.at(gradient, parts, numbered(np.zeros(shape)[parts].shape) ** 2)
    return gradient


# --- laws ---------------------------------------------------------------------


@settings(max_examples=200)
@given(subscripts())
@example(((4, 4), (np.arange(4), np.array([1, 0, 3, 2]))))
@example(((2, 3, 4), (slice(None), [0, 1], ..., [0, 1])))
@example(((2, 3, 4), (0, slice(None), [0, 1])))
@example(((2, 3, 4), ([0, 1], None, [0, 1])))
@example(((2,), (True, [0, 1, 1])))
@example(((), (True,)))
def test_a_subscript_gives_what_it_gives_of_an_array(case):
    shape, parts = case
    expected, x = of_numpy(numbered(shape), parts), LeafNode.parameter(numbered(shape))
    if expected is None:
        with pytest.raises(NaiveGraphError) as caught:
            x[parts]
        assert isinstance(caught.value, ShapeError)
        return
    picked = x[parts]
    assert picked.shape == expected.shape
    assert picked.eval().tolist() == expected.tolist()


@settings(max_examples=60)
@given(subscripts().filter(lambda case: of_numpy(numbered(case[0]), case[1]) is not None))
@example(((4,), ([1, 1, 3, 1],)))
def test_its_gradient_adds_up_what_falls_together_on_arrays_and_on_scalars(case):
    shape, parts = case
    with Graph.scratch():
        x = LeafNode.parameter(numbered(shape))
        y = weighed(x[parts])
        y.backward()
        assert x.gradient().tolist() == scattered(shape, parts).tolist()
        assert ng.gradients(y, x).eval().tolist() == scattered(shape, parts).tolist()
        node = ng.lower(y)[()]
        Graph.forward(node)
        Graph.backward(node)
        assert node.value == y.eval()
        assert np.nan_to_num(ng.lower(x).grads).tolist() == scattered(shape, parts).tolist()


@settings(max_examples=60)
@given(subscripts().filter(lambda case: of_numpy(numbered(case[0]), case[1]) is not None))
def test_its_tangent_and_its_formula_are_those_of_the_picks(case):
    shape, parts = case
    x = LeafNode.parameter(numbered(shape), "x")
    picked = x[parts]
    jacobian = ng.tangents(x, picked).eval().reshape(picked.shape + shape)
    places = np.arange(numbered(shape).size).reshape(shape)[parts]
    assert jacobian.reshape(picked.size, -1).argmax(1).tolist() == places.ravel().tolist()
    assert jacobian.sum() == picked.size
    assert isinstance(equation(picked), str)


REFUSED = {
    "a tensor": (lambda x, i: x[LeafNode.constant([0.0, 1.0])], NodeError, r"gather\(x, places\)"),
    "a node": (lambda x, i: x[i], NodeError, r"int\(i.value\)"),
    "a list of nodes": (lambda x, i: x[[i, i]], ShapeError, "whole numbers"),
    "a slice to a node": (lambda x, i: x[:i], ShapeError, "node.value"),
    "half a place": (lambda x, i: x[1.5], ShapeError, "whole numbers, slices and masks"),
    "halves": (lambda x, i: x[[0.5]], ShapeError, "whole numbers"),
    "a text": (lambda x, i: x["a"], NodeError, "made of no node 'a'"),
    "a ragged list": (lambda x, i: x[[[1], [1, 2]]], ShapeError, "whole numbers"),
    "a step of 0": (lambda x, i: x[::0], ShapeError, "zero"),
    "two ellipses": (lambda x, i: x[..., 0, ...], PlaceError, "twice"),
    "a mask of another shape": (lambda x, i: x[[True, False]], PlaceError, r"mask of shape \(2,\) does not cover"),
    "a wide mask of another shape": (lambda x, i: x[np.ones((3, 2), bool)], PlaceError, "axis is 3 .*extents of the"),
    "lists that do not meet": (lambda x, i: x[[0, 1], [0, 1, 2]], PlaceError, "could not be broadcast.* to one shape"),
    "a place beyond": (lambda x, i: x[[0, 3]], PlaceError, "runs from 0 to 2"),
    "a place beyond in one of two lists": (lambda x, i: x[[0, 1], [0, 3]], PlaceError, "axis 1 with size 3. Indices"),
    "an empty slice": (lambda x, i: x[2:1], ShapeError, "is empty: the axis runs from 0 to 2"),
    "an empty slice beside lists": (lambda x, i: x[True, [0], 2:1], ShapeError, "slices.* pick no entry"),
    "no places": (lambda x, i: x[[]], ShapeError, "pick no entry"),
    "a mask that keeps nothing": (lambda x, i: x[np.zeros(3, bool)], ShapeError, "pick no entry"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_subscript_is_refused_in_words(what):
    call, error, says = REFUSED[what]
    with pytest.raises(error, match=says):
        call(LeafNode.parameter(np.ones((3, 3))), Graph.Variable(1.0))


def test_a_place_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError):
        LeafNode.parameter([1.0, 2.0])[2]


def test_a_pick_takes_entries_and_no_tensor_of_zeros_and_ones(monkeypatch):
    """A dense selection of a million entries by a million would not fit into any memory."""
    x = LeafNode.parameter(np.arange(1e6).reshape(1000, 1000))
    rows = np.arange(1000).repeat(1000)
    y = x[rows, rows[::-1]].sum()
    y.backward()
    assert x.gradient().sum() == 1e6


def test_to_pick_from_a_large_tensor_makes_no_table_of_its_size():
    x, mask = LeafNode.parameter(np.zeros((1000, 1000))), np.arange(1000) < 3
    tracemalloc.start()
    assert x[7, [1, 2]].shape == x[[3, 4], [1, 2]].shape == (2,)
    assert x[mask].shape == (3, 1000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1e6


def test_many_picks_of_one_place_cost_what_as_many_of_different_places_do():
    x = LeafNode.parameter(np.ones(1000))
    x[np.zeros(1_000_000, int)].sum().backward()
    assert x.gradient()[0] == 1e6
