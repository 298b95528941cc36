"""The golden index vectors of SPEC A4, and every check of A2."""

import numpy as np
import pytest

from naive_graph import LeafNode, gradients, linear, tangents
from naive_graph.errors import IndexSpecError, NodeError, NumberError, OperandError, ShapeError
from naive_graph.tensor import LinearNode, TransformNode, nonlinear, transform
from naive_graph.tensor.index import (
    LinearIndex,
    TransformIndex,
    product_adjoint,
    product_tangent,
    sum_adjoint,
    sum_tangent,
    transform_adjoint,
    transform_tangent,
)

SIZES = dict(zip("abcdeijklmn", (2, 3, 2, 3, 2, 2, 3, 4, 2, 3, 2)))
TRANSFORMS = {
    "T1": ("ij->ij", (1, 2), (1, 2), (0, 0, 2)),
    "T2": ("ijkl->ik", (1, 2), (1, -1, 2, -2), (2, 0, 2)),
    "T3": ("ik->ijkl", (1, -1, 2, -2), (1, 2), (0, 2, 2)),
    "T4": ("ik->kji", (1, -1, 2), (2, 1), (0, 1, 2)),
    "T5": ("ijkl->ki", (1, 2), (2, -1, 1, -2), (2, 0, 2)),
    "T6": ("ijkl->ikmn", (1, 2, -1, -2), (1, -1, 2, -2), (2, 2, 2)),
}
LINEARS = {
    "L1": ("acd,abce->abcde", "add", (1, 2, 3, 4, 5), (1, 3, 4), (1, 2, 3, 5), (0, 2)),
    "L2": ("acd,abce->abde", "sub", (1, 2, 3, 4), (1, -5, 3), (1, 2, -5, 4), (1, 1)),
    "L3": ("i,i->i", "mul", (1,), (1,), (1,), (0, 1)),
    "L4": ("ik,kj->ij", "mul", (1, 2), (1, -3), (-3, 2), (1, 0)),
    "L5": ("ki,kj->ij", "mul", (1, 2), (-3, 1), (-3, 2), (1, 0)),
    "L6": ("ia,ajk->ijk", "mul", (1, 2, 3), (1, -4), (-4, 2, 3), (1, 0)),
    "L7": ("ia,aji->ij", "mul", (1, 2), (1, -3), (-3, 2, 1), (1, 1)),
    "L8": ("abce,acd->abcde", "sub", (1, 2, 3, 4, 5), (1, 2, 3, 5), (1, 3, 4), (0, 2)),
    "L9": ("abce,acd->abde", "sub", (1, 2, 3, 4), (1, 2, -5, 4), (1, -5, 3), (1, 1)),
    "L10": ("abce,acd->abcde", "mul", (1, 2, 3, 4, 5), (1, 2, 3, 5), (1, 3, 4), (0, 2)),
}
H = (8, 9)  # two ids of the other tensor; the printed rules hold for any
SUM_ADJOINTS = {  # name, side: dst, src, (D, N, R without H)
    ("L1", 0): ((1, 3, 4), (1, -2, 3, 4, -5), (2, 0, 3)),
    ("L1", 1): ((1, 2, 3, 5), (1, 2, 3, -4, 5), (1, 0, 4)),
    ("L2", 0): ((1, -5, 3), (1, -2, 3, -4), (2, 1, 2)),
    ("L2", 1): ((1, 2, -5, 4), (1, 2, -3, 4), (1, 1, 3)),
    ("L8", 0): ((1, 2, 3, 5), (1, 2, 3, -4, 5), (1, 0, 4)),
    ("L8", 1): ((1, 3, 4), (1, -2, 3, 4, -5), (2, 0, 3)),
    ("L9", 0): ((1, 2, -5, 4), (1, 2, -3, 4), (1, 1, 3)),
    ("L9", 1): ((1, -5, 3), (1, -2, 3, -4), (2, 1, 2)),
}
PRODUCT_ADJOINTS = {  # name, side: dst, left, right, (D, R)
    ("L3", 0): ((1, *H), (1, *H), (1,), (0, 1)),
    ("L3", 1): ((1, *H), (1, *H), (1,), (0, 1)),
    ("L4", 0): ((1, 3, *H), (1, -2, *H), (3, -2), (1, 0)),
    ("L4", 1): ((3, 2, *H), (-1, 2, *H), (-1, 3), (1, 0)),
    ("L5", 0): ((3, 1, *H), (1, -2, *H), (3, -2), (1, 0)),
    ("L5", 1): ((3, 2, *H), (-1, 2, *H), (3, -1), (1, 0)),
    ("L6", 0): ((1, 4, *H), (1, -2, -3, *H), (4, -2, -3), (2, 0)),
    ("L6", 1): ((4, 2, 3, *H), (-1, 2, 3, *H), (-1, 4), (1, 0)),
    ("L7", 0): ((1, 3, *H), (1, -2, *H), (3, -2, 1), (1, 1)),
    ("L7", 1): ((3, 2, 1, *H), (1, 2, *H), (1, 3), (0, 1)),
    ("L10", 0): ((1, 2, 3, 5, *H), (1, 2, 3, -4, 5, *H), (1, 3, -4), (1, 2)),
    ("L10", 1): ((1, 3, 4, *H), (1, -2, 3, 4, -5, *H), (1, -2, 3, -5), (2, 2)),
}


def leaf(letters, seed=0):
    shape = [SIZES[letter] for letter in letters]
    return LeafNode.parameter(np.random.default_rng(seed).normal(size=shape))


def built(name):
    """The node of a row of the tables, from its letters."""
    if name in TRANSFORMS:
        equation = TRANSFORMS[name][0]
        source, result = equation.split("->")
        new = {letter: SIZES[letter] for letter in result if letter not in source}
        return transform(equation, leaf(source), 1.5 if name == "T6" else 1.0, new)
    equation, op = LINEARS[name][:2]
    left, right = equation.split("->")[0].split(",")
    return linear(equation, leaf(left, 1), leaf(right, 2), op)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_letters_give_the_golden_transform(name):
    node = built(name)
    assert (node.indexDst, node.indexSrc) == TransformIndex(*TRANSFORMS[name][1:3]).canonical()
    assert (node.DummyIndex, node.NewIndex, node.RepeatedIndex) == TRANSFORMS[name][3]


@pytest.mark.parametrize("name", LINEARS)
def test_letters_give_the_golden_linear_node(name):
    node = built(name)
    assert node.index.canonical() == LinearIndex(*LINEARS[name][2:5])
    assert (node.DummyIndex, node.RepeatedIndex) == LINEARS[name][5]


def test_t6_backwards_as_printed():
    index = transform_adjoint(TransformIndex((1, 2, -1, -2), (1, -1, 2, -2)), (3, 4, 5))
    assert index == TransformIndex((1, -1, 2, -2, 3, 4, 5), (1, 2, -1, -2, 3, 4, 5))
    assert index.counts == (2, 2, 5)


def test_t6_forwards_as_printed():
    index = transform_tangent(TransformIndex((1, 2, -1, -2), (1, -1, 2, -2)), (3, 4, 5))
    assert index == TransformIndex((1, 2, -1, -2, 3, 4, 5), (1, -1, 2, -2, 3, 4, 5))
    assert index.counts == (2, 2, 5)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_backwards_dummies_and_new_indices_change_places(name):
    dummy, new, repeated = TRANSFORMS[name][3]
    assert transform_adjoint(TransformIndex(*TRANSFORMS[name][1:3]), H).counts == (new, dummy, repeated + len(H))


@pytest.mark.parametrize("name, side", SUM_ADJOINTS)
def test_sums_backwards_as_printed(name, side):
    dst, src, (dummy, new, repeated) = SUM_ADJOINTS[name, side]
    index = sum_adjoint(LinearIndex(*LINEARS[name][2:5]), side, H)
    assert index == TransformIndex(dst + H, src + H)
    assert index.counts == (dummy, new, repeated + len(H))


@pytest.mark.parametrize("name, side", PRODUCT_ADJOINTS)
def test_products_backwards_as_printed(name, side):
    *arrays, counts = PRODUCT_ADJOINTS[name, side]
    index = product_adjoint(LinearIndex(*LINEARS[name][2:5]), side, H)
    assert index == LinearIndex(*arrays)
    assert index.counts == counts


@pytest.mark.parametrize("name", ["L1", "L2", "L8", "L9"])
def test_sums_forwards_take_h_along(name):
    index = LinearIndex(*LINEARS[name][2:5])
    moved = sum_tangent(index, H)
    assert moved == LinearIndex(*(ids + H for ids in index))
    assert moved.counts == (index.counts[0], index.counts[1] + len(H))


def test_l10_forwards_as_printed():
    index = LinearIndex(*LINEARS["L10"][2:5])
    assert product_tangent(index, 0, H) == LinearIndex((1, 2, 3, 4, 5, *H), (1, 2, 3, 5, *H), (1, 3, 4))
    assert product_tangent(index, 1, H) == LinearIndex((1, 2, 3, 4, 5, *H), (1, 2, 3, 5), (1, 3, 4, *H))
    assert product_tangent(index, 0, H).counts == product_tangent(index, 1, H).counts == (0, 2)


def brute_jacobian(node, source):
    """d node / d source, one entry of the source moved at a time; exact, since each node here is linear in it."""
    start, columns = source.value, []
    base = node.forward()
    for place in np.ndindex(start.shape):
        moved = start.copy()
        moved[place] += 1.0
        source.value = moved
        columns.append(node.forward() - base)
    source.value = start
    node.forward()
    return np.array(columns).reshape(start.shape + node.shape)


@pytest.mark.parametrize("name", [*TRANSFORMS, *LINEARS])
def test_both_modes_give_the_brute_force_jacobian(name):
    node = built(name)
    for source in node.sources:
        expected = brute_jacobian(node, source)
        assert gradients(node, source).eval() == pytest.approx(expected, abs=1e-12)
        forwards = tangents(source, node).eval()
        assert np.moveaxis(forwards, range(-source.rank, 0), range(source.rank)) == pytest.approx(expected, abs=1e-12)


def test_a_one_sided_dummy_is_summed_first():
    A, B = LeafNode.parameter([[1, 2], [3, 4]]), LeafNode.parameter([10, 20])
    y = linear("ik,i->i", A, B, op="add")
    assert y.eval().tolist() == [23.0, 47.0]
    assert gradients(y, B).eval().tolist() == [[2.0, 0.0], [0.0, 2.0]]


def test_canonical_forms_tell_equal_nodes():
    a = LeafNode.parameter(np.ones((2, 3)))
    assert (
        TransformNode((5, -9, 2), (2, 5), a, shape=(3, 4, 2)).canonical()
        == transform("ij->jki", a, sizes={"k": 4}).canonical()
    )
    b = LeafNode.parameter(np.ones((3, 2)))
    assert LinearNode("mul", (7, 4), (7, -1), (-1, 4), a, b).canonical() == linear("ik,kj->ij", a, b).canonical()


A, B, V = (2, 3), (3, 4), (3,)
BAD_INDICES = {
    "an id of 0": (lambda a, b, v: TransformNode((1, 0), (1, 2), a), IndexSpecError, "not 0"),
    "an id twice": (lambda a, b, v: TransformNode((1, 1), (1, 2), a), IndexSpecError, "twice"),
    "a positive id in the source alone": (lambda a, b, v: TransformNode((1,), (1, 2), a), IndexSpecError, "Write -2"),
    "a positive id in the result alone": (
        lambda a, b, v: TransformNode((1, 2, 3), (1, 2), a),
        IndexSpecError,
        "Write -3",
    ),
    "a negative id in a linear result": (
        lambda a, b, v: LinearNode("mul", (1, -2), (1, -3), (-3, -2), a, b),
        IndexSpecError,
        "only a source sums",
    ),
    "a result id in no source": (
        lambda a, b, v: LinearNode("mul", (1, 2, 9), (1, -3), (-3, 2), a, b),
        IndexSpecError,
        "in no source",
    ),
    "a source id not in the result": (
        lambda a, b, v: LinearNode("mul", (1,), (1, -3), (-3, 2), a, b),
        IndexSpecError,
        "Write -2 in both",
    ),
    "a one-sided dummy": (
        lambda a, b, v: LinearNode("add", (1,), (1, -2), (1,), a, v),
        IndexSpecError,
        "in the left source alone",
    ),
    "both signs of one index": (
        lambda a, b, v: LinearNode("mul", (1, 3), (1, -3), (-3, 2), a, b),
        IndexSpecError,
        "",
    ),
    "an unknown op": (lambda a, b, v: linear("ik,kj->ij", a, b, op="div"), IndexSpecError, '"add", "sub" or "mul"'),
    "two extents": (lambda a, b, v: linear("ik,jk->ij", a, b), ShapeError, "'k' runs to 3"),
    "the wrong rank": (lambda a, b, v: linear("ik,kj->ij", a, v), ShapeError, "'kj'"),
    "no extent for a new index": (lambda a, b, v: transform("i->ij", v), ShapeError, "sizes={'j': 3}"),
    "an extent for no index": (lambda a, b, v: transform("i->i", v, sizes={"z": 2}), IndexSpecError, "'z'"),
    "a letter twice": (lambda a, b, v: transform("ii->i", a), IndexSpecError, "identity"),
    "a result letter in no source": (lambda a, b, v: linear("i,i->ij", v, v), IndexSpecError, "Broadcast one first"),
    "no arrow": (lambda a, b, v: transform("ij", a), IndexSpecError, "reads like"),
    "too few sources": (lambda a, b, v: linear("ij->i", a, v), IndexSpecError, "two sources"),
    "no letter": (lambda a, b, v: transform("i1->i", a), IndexSpecError, "no letter"),
    "alpha a tensor": (lambda a, b, v: transform("ij->ji", a, alpha=v), NumberError, "alpha"),
    "a source that is no tensor": (lambda a, b, v: transform("i->i", [1.0]), NodeError, "tensor nodes"),
    "shapes that differ": (lambda a, b, v: nonlinear(lambda x, y: x * y, a, b), ShapeError, "one shape"),
    "a function that is none": (lambda a, b, v: nonlinear(3.0, a), NodeError, "called with numbers"),
    "a function of more": (lambda a, b, v: nonlinear(lambda x, y: x, a), OperandError, "as many as there are tensors"),
    "a function of none": (lambda a, b, v: nonlinear(lambda: 1.0, a), OperandError, "as many as there are tensors"),
    "a function without return": (lambda a, b, v: nonlinear(lambda x: None, a), NumberError, "forget to return"),
    "broadcasting that fails": (lambda a, b, v: a + b, ShapeError, "do not broadcast"),
    "inner extents that differ": (lambda a, b, v: a @ a, ShapeError, "inner extents 3 and 2"),
    "a ragged list": (lambda a, b, v: LeafNode.parameter([[1.0], [1.0, 2.0]]), NumberError, "ragged"),
    "texts": (lambda a, b, v: LeafNode.parameter(["a"]), NumberError, "real numbers"),
    "truth values": (lambda a, b, v: LeafNode.parameter([True]), NumberError, "real numbers"),
    "an extent of 0": (lambda a, b, v: LeafNode.input((2, 0)), ShapeError, "at least 1"),
    "an axis that is not there": (lambda a, b, v: a.sum(2), ShapeError, "no axis 2"),
    "a place that is not there": (lambda a, b, v: a[5], ShapeError, "no place 5"),
    "too many indices": (lambda a, b, v: v[0, 0], ShapeError, "2 indices"),
    "an empty slice": (lambda a, b, v: v[3:], ShapeError, "empty"),
    "a shape that does not hold it": (lambda a, b, v: a.reshape(4), ShapeError, "6 entries"),
}


@pytest.mark.parametrize("mistake", BAD_INDICES)
def test_a_mistake_is_named_with_its_repair(mistake):
    make, error, says = BAD_INDICES[mistake]
    a, b, v = (LeafNode.parameter(np.ones(shape)) for shape in (A, B, V))
    with pytest.raises(error, match=None) as caught:
        make(a, b, v)
    assert says in str(caught.value)
