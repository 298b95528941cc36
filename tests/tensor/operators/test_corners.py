"""Every row in its corners: at zeros, ties and the kinks of its own composition, against slopes on both sides."""

import itertools
from functools import reduce
from operator import add

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")

from naive_graph import Graph, LeafNode, gradcheck, operators, tangents  # noqa: E402
from naive_graph.core.rules import RULES  # noqa: E402
from naive_graph.tensor import DAGExecutionEngine  # noqa: E402
from naive_graph.tensor.evaluation.entries import VALUES  # noqa: E402
from naive_graph.tensor.operators.check import ExampleCall  # noqa: E402
from naive_graph.tensor.operators.examples import example_array  # noqa: E402

ROWS = sorted({operators()[name].name for name in operators()})
REACH = 2e-5
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 2.5, -2.5, 6.0]  # where what rows are made of turns


def fillings(row, each):
    """Operands of nothing but one number, and of several that tie here and there."""
    own = [sign * value for value in each.properties.values() if isinstance(value, float) for sign in (1.0, -1.0)]
    rng, corners = np.random.default_rng(7), CORNERS + own
    yield from (lambda shape, value=value: np.full(shape, value) for value in (0.0, *own))
    yield lambda shape: rng.choice(corners, shape)


def sides(leaf, at, loss):
    """The slopes on the left and on the right, each of a parabola through three points; none where the loss jumps."""
    start, found = leaf.value, []
    here = loss()
    for step in (-REACH, REACH):
        ends = []
        for distance in (step / 2, step):
            leaf.value = start.copy()
            leaf.value[at] += distance
            ends.append(loss())
        found.append((4 * ends[0] - ends[1] - 3 * here) / step if abs(ends[1] - here) < 1e-3 else np.nan)
    leaf.value = start
    return found


def agree_with_both_sides(loss, leaves):
    """Each derivative is the slope, or lies between those of both sides."""

    def number():
        return float(np.asarray(loss.forward()))

    with np.errstate(all="ignore"):
        if not leaves or not np.isfinite(number()):
            return
        for leaf, slope in zip(leaves, [each.forward() for each in loss.gradients(leaves)]):
            for at in list(np.ndindex(leaf.shape))[:2]:
                left, right = sides(leaf, at, number)
                if np.isfinite(left + right):
                    near = 3e-5 * (1.0 + abs(left) + abs(right))
                    assert min(left, right) - near <= slope[at] <= max(left, right) + near, (leaf.value, at)


@pytest.mark.parametrize("name", ROWS)
def test_a_derivative_is_the_slope_or_lies_between_those_of_both_sides(name):
    row = operators()[name]
    for each in row.examples[:2]:
        for filling in fillings(row, each):
            with Graph.scratch():
                case = ExampleCall(row, each)
                leaves = [leaf for leaf in case.leaves if leaf is not case.given.get("weights")]  # counted, too
                for leaf in leaves:
                    leaf.value = filling(leaf.shape)
                loss = case.loss()
                agree_with_both_sides(loss, leaves)
                if leaves:
                    slopes = [
                        (each * example_array(each.shape, 5, (0.5, 1.5))).sum() for each in loss.gradients(leaves)
                    ]
                    agree_with_both_sides(reduce(add, slopes), leaves[:1])


INF, NAN = np.inf, np.nan
NASTY = [0.0, -0.0, 1.0, -1.0, 2.0, 0.3, -3.0, INF, -INF, NAN, 1e-300, -1e-300, 1e300, -1e300, 5e-324, 700.0, -750.0]


@pytest.mark.parametrize("name", [name for name in VALUES if name in RULES])
def test_a_rule_on_arrays_is_the_rule_at_the_nasty_numbers(name):
    rule = RULES[name]
    points = list(itertools.product(NASTY, repeat=rule.arity or 2))
    if name == "exp_below":
        points = [(a, b) for a, b in points if not a > b]
    with np.errstate(all="ignore"):
        found = VALUES[name](np, *map(np.array, zip(*points)))
    due = np.array([rule(*point) for point in points])
    near = 1e-13 * np.abs(due) + 5e-324 + (1.0 if name == "hypot_share" else 0.0) * (np.abs(points).max(1) == 5e-324)
    with np.errstate(all="ignore"):
        wrong = ~((found == due) | (np.abs(found - due) <= near) | (np.isnan(found) & np.isnan(due)))
    assert [(point, float(one)) for point, one, bad in zip(points, found, wrong) if bad] == []


FOUND = {  # an operator, its operands and properties, and what it gives
    "einsum_twice": ("einsum", [[[[1.0, INF], [2.0, 3.0]]]], {"equation": "ii->i"}, [[1.0, 3.0]]),
    "einsum_thrice": ("einsum", [[np.arange(8.0).reshape(2, 2, 2)]], {"equation": "iii->i"}, [[0.0, 7.0]]),
    "padding": ("space_to_batch_nd", [[[INF, 1.0, 2.0]]], {"block": [2], "paddings": [[0, 1]]}, [[[INF, 2], [1, 0]]]),
    "top": ("top_k", [[1.0, NAN, INF, 3.0, NAN]], {"k": 4}, [[NAN, NAN, INF, 3.0], [1, 4, 2, 3]]),
    "bottom": ("top_k", [[1.0, NAN, INF, 3.0]], {"k": 4, "largest": False}, [[1.0, 3.0, INF, NAN], [0, 3, 2, 1]]),
    "last": ("argmax", [[1.0, NAN, NAN, 3.0]], {"select_last_index": True}, [2.0]),
    "certain": ("sparse_softmax_cross_entropy", [[0], [[1.0, -INF]]], {}, [0.0]),
    "masked": ("attention", [np.ones((2, 2))] * 3 + [[[-INF, -INF], [0.0, -INF]]], {}, [[[0.0, 0.0], [1.0, 1.0]]]),
    "no_class": ("one_hot", [[NAN, 1.0, INF, 1.5]], {"depth": 2}, [[[0, 0], [0, 1], [0, 0], [0, 0]]]),
    "cut": ("pad", [[0.0, 1.0, 2.0, 3.0, 4.0]], {"pads": [-1, 2], "mode": "wrap"}, [[1, 2, 3, 4, 1, 2]]),
    "near": ("mean_pairwise_squared_error", [[[0.0, 0.0]], [[1e8, 1e8 + 1]]], {}, [1.0]),
    "out": ("hard_swish", [[INF, -INF, 3.0, -3.0]], {}, [[INF, 0.0, 3.0, 0.0]]),
    "nan": ("thresholded_relu", [[NAN, 2.0, 0.5]], {}, [[NAN, 2.0, 0.0]]),
}


@pytest.mark.parametrize("case", sorted(FOUND))
def test_infinity_and_nan_stay_where_they_are(case, ignoring_invalid):
    name, operands, properties, due = FOUND[case]
    found = operators()[name](*operands, **properties)
    for each, expected in zip(found if isinstance(found, tuple) else [found], due, strict=True):
        np.testing.assert_array_equal(each.eval(), expected)
        scalars = each.lower()
        Graph.forward()
        np.testing.assert_array_equal(scalars.values, expected)


@pytest.mark.parametrize("call, at, due", [
    ("hypot(x, [1.0, INF, 0.0])", [INF, 1.0, -INF], [1.0, 0.0, -1.0]), ("hard_swish(x)", [INF, 3.0, -3.0], [1, 1, 0]),
    ("reduce_l2(x)", [0.0, 0.0], [0.0, 0.0]), ("sparse_softmax_cross_entropy([0], [x][0].reshape(1, -1))", [1, -INF],
    [0.0, 0.0]), ("x ** 1e300", [-1.0], [-1e300]),
])  # fmt: skip
def test_a_slope_beside_infinity_is_its_limit(call, at, due):
    x = LeafNode.parameter(np.array(at, dtype=float), "x")
    y = eval(call, {**{name: operators()[name] for name in operators()}, "x": x, "INF": INF})
    (y if y.rank == 0 else y.sum()).backward()
    np.testing.assert_array_equal(x.gradient(), due)


@pytest.mark.parametrize("label", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("call", ["sigmoid_cross_entropy({y}, z)", "weighted_cross_entropy_with_logits({y}, z, 1.0)"])
def test_a_logit_of_zero_is_checked_and_has_the_derivatives_of_any_other(call, label):
    z = LeafNode.parameter([0.0], "z")
    loss = eval(call.format(y=[label]), {**{name: operators()[name] for name in operators()}, "z": z})
    assert loss.gradients(z).eval() == pytest.approx([0.5 - label], abs=1e-15)
    assert loss.gradients(z).gradients(z).eval().reshape(-1) == pytest.approx([0.25], abs=1e-15)
    assert gradcheck(loss).require().masked == 0


@pytest.mark.parametrize("z", [-745.0, -40.0, -1.0, -1e-300, 0.0, 1e-9, 2.0, 36.0, 800.0, 1e300])
@pytest.mark.parametrize("y", [0.0, 0.25, 1.0])
def test_cross_entropies_of_logits_are_right_to_a_few_units_in_the_last_place(y, z):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(400):
        due = (1 - mpmath.mpf(y)) * mpmath.mpf(z) + mpmath.log1p(mpmath.exp(-mpmath.mpf(z)))
    due = float(due) if abs(z) < 1e10 else (1.0 - y) * z
    found = float(np.asarray(operators()["sigmoid_cross_entropy"](y, z).eval()))
    assert abs(found - due) <= 4 * np.spacing(due)


WILD = [0.0, -0.0, 1.0, -1.5, 0.5, INF, -INF, NAN, 5e-324]  # none that overflows in one order and not in another


@pytest.mark.parametrize("name", ROWS)
def test_rows_and_their_derivatives_beside_nasty_numbers_are_those_of_their_scalars(name, ignoring_invalid):
    row, wild = operators()[name], WILD[: -1 if name == "reduce_prod" else None]  # which multiplies in another order
    for each, share in zip((row.examples * 2)[:2], (0.3, 1.0)):
        with Graph.scratch(), np.errstate(all="ignore"):
            case, dice = ExampleCall(row, each), np.random.default_rng(7)
            for leaf in case.leaves:
                usual = dice.uniform(0.2, 1.5, leaf.shape)
                leaf.value = np.where(dice.random(leaf.shape) < share, dice.choice(wild, leaf.shape), usual)
            loss = case.loss()
            loss.backward()
            once = [leaf.gradient() for leaf in case.leaves]
            DAGExecutionEngine(2).backward(loss)
            assert all(np.array_equal(one, leaf.gradient(), equal_nan=True) for one, leaf in zip(once, case.leaves))
            scalars = [result.lower() for result in case.results]
            scalar = loss.lower()[()]
            Graph.forward()
            Graph.backward(scalar)
            pairs = [(result.eval(), one.values) for result, one in zip(case.results, scalars)]
            pairs += [(leaf.gradient(), leaf.lower().grads) for leaf in case.leaves]
            for found, due in pairs:
                np.testing.assert_allclose(np.array(found, dtype=float), due, rtol=1e-9, atol=1e-12)


PLACED = {  # by operator, beside the extents of x: the shape of places, the range that they may have, properties
    "gather": [((3, 2), (2, 2), (-3, 3), {"axis": 0}), ((2, 3), (2,), (-3, 3), {"axis": 1}),
               ((2, 3), (2, 2), (-3, 3), {"axis": 1, "batch_dims": 1})],
    "gather_elements": [((2, 3), (2, 2), (-3, 3), {"axis": 1}), ((3, 2), (1, 2), (-3, 3), {"axis": 0})],
    "nll_loss": [((3, 2), (3,), (0, 2), {"weight": (2,)}), ((2, 3), (2,), (0, 3), {"ignore_index": 0}),
                 ((2, 2, 2), (2, 2), (0, 2), {"reduction": "none"})],
}  # fmt: skip


def answers(y, leaves):
    """A result, its derivatives by both modes and by backward: on arrays, by tasks, and as scalars.

    Forward mode not beside weights: one of NaN meets a zero by structure there, or, of places at run time, a number 0.
    """
    loss = (y * y).sum()
    built = [y, *loss.gradients(leaves), *[leaf.tangents(y) for leaf in leaves[: len(leaves) == 1]]]
    found = [each.eval() for each in built]
    for backward in (loss.backward, lambda: DAGExecutionEngine(2).backward(loss)):
        backward()
        found += [leaf.gradient() for leaf in leaves]
    scalars = [each.lower() for each in (*built, loss)]
    Graph.forward()
    Graph.backward(scalars[-1][()])
    return [*found, *[each.values for each in scalars], *[leaf.lower().grads for leaf in leaves]]


@pytest.mark.parametrize("name, case", [(name, case) for name in PLACED for case in PLACED[name]])
def test_places_known_at_run_time_give_what_known_ones_give_beside_nasty_numbers(name, case, ignoring_invalid):
    shape, of_places, span, properties = case
    for seed in range(6):
        dice = np.random.default_rng(seed)
        leaves = [LeafNode.parameter(np.where(dice.random(each) < 0.4, dice.choice(WILD, each), dice.random(each)))
                  for each in (shape, properties.get("weight")) if each]  # fmt: skip
        places, at_run_time = dice.integers(*span, of_places), LeafNode.input(of_places)
        at_run_time.value = places.astype(float)
        found = []
        for given in (places, at_run_time):
            more = {"weight": leaves[1]} if "weight" in properties else {}
            more["target" if name == "nll_loss" else "places"] = given
            found.append(answers(operators()[name](leaves[0], **{**properties, **more}), leaves))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize("name, axis", [("gather", 0), ("gather_elements", 0)])
def test_places_at_run_time_choose_alike_on_arrays_and_scalars_among_zeros_by_structure(name, axis, ignoring_invalid):
    at = LeafNode.input((3,))
    at.value = [0.0, 1.0, 3.0]
    padded = operators()["pad"](LeafNode.parameter([2.0, INF]), [1, 1])
    chosen = operators()[name](padded, at, axis=axis)
    y = chosen * LeafNode.constant([INF, 3.0, NAN])
    scalars = y.lower()
    Graph.forward()
    np.testing.assert_array_equal(y.eval(), scalars.values)


BEATEN = {
    "the smallest of products": lambda x: (x * x).min((0, 1)),
    "the smallest of a matrix product": lambda x: (x @ x.transpose(1, 0)).min((0, 1)),
    "the smallest of products of products": lambda x: ((x * x) * (x * x)).min(1).min(0),
    "the first largest of each window": lambda x: -operators()["max_pool2d"]((-x * x).reshape(1, 2, 2, 1), 2).sum(),
    "beside another reader": lambda x: (x * x).min((0, 1)) + 0.5 * x[1, 0],
}


@pytest.mark.parametrize("told", BEATEN)
def test_what_is_beaten_hands_nothing_on_to_the_infinity_before_it(told, ignoring_invalid):
    x = LeafNode.parameter([[-INF, -0.5], [-0.46, -1.18]])
    y = BEATEN[told](x).sum()
    y.backward()
    scalars, leaf = y.lower()[()], x.lower()
    Graph.forward(scalars)
    Graph.backward(scalars)
    assert x.gradient()[0, 0] == 0.0
    np.testing.assert_allclose(x.gradient(), leaf.grads, rtol=1e-12)


def test_three_factors_of_which_one_is_a_number_give_what_two_give(ignoring_invalid):
    a, b = LeafNode.parameter([-0.0], "a"), LeafNode.parameter([INF], "b")
    assert np.isnan((a * b)[[0, 0]].eval()).all()


def test_a_product_along_a_padded_axis_meets_the_padding_as_numbers(ignoring_invalid):
    x = LeafNode.parameter([2.0, INF, 3.0])
    y = operators()["pad"](x, [1, 1]).prod()
    y.backward()
    scalar, leaf = y.lower()[()], x.lower()
    Graph.forward(scalar)
    Graph.backward(scalar)
    np.testing.assert_array_equal(x.gradient(), leaf.grads)


def test_a_single_infinite_factor_leaves_the_zeros_of_a_diagonal_zeros(ignoring_invalid):
    x = LeafNode.parameter([-INF, -2.0, 0.14])
    moved = tangents(x, x.sum() * (x * x).sin())  # a row of it is the sum, -inf, times a slope on a diagonal
    scalars = moved.lower()
    Graph.forward()
    np.testing.assert_array_equal(np.isnan(moved.eval()), np.isnan(scalars.values))
