"""Every row in its corners: at zeros, ties and the kinks of its own composition, against slopes on both sides."""

from functools import reduce
from operator import add

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")

from naive_graph import Graph, LeafNode, gradcheck, operators  # noqa: E402
from naive_graph.tensor.operators.check import Case  # noqa: E402
from naive_graph.tensor.operators.examples import numbers  # noqa: E402

ROWS = sorted({operators()[name].name for name in operators()})
REACH = 2e-5
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 2.5, -2.5, 6.0]  # where what rows are made of turns


def fillings(row, each):
    """Operands of nothing but one number, and of several that tie here and there."""
    own = [sign * value for value in each.properties.values() if isinstance(value, float) for sign in (1.0, -1.0)]
    rng, corners = np.random.default_rng(7), CORNERS + own
    yield from (lambda shape, value=value: np.full(shape, value) for value in (0.0, 1.0, *own))
    for _ in range(3):
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
            for at in list(np.ndindex(leaf.shape))[:3]:
                left, right = sides(leaf, at, number)
                if np.isfinite(left + right):
                    near = 3e-5 * (1.0 + abs(left) + abs(right))
                    assert min(left, right) - near <= slope[at] <= max(left, right) + near, (leaf.value, at)


@pytest.mark.parametrize("name", ROWS)
def test_a_derivative_is_the_slope_or_lies_between_those_of_both_sides(name):
    row = operators()[name]
    for each in row.examples[:3]:
        for filling in fillings(row, each):
            with Graph.scratch():
                case = Case(row, each)
                leaves = [leaf for leaf in case.leaves if leaf is not case.given.get("weights")]  # counted, too
                for leaf in leaves:
                    leaf.value = filling(leaf.shape)
                loss = case.loss()
                agree_with_both_sides(loss, leaves)
                if leaves:
                    slopes = [(each * numbers(each.shape, 5, (0.5, 1.5))).sum() for each in loss.gradients(leaves)]
                    agree_with_both_sides(reduce(add, slopes), leaves[:1])


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
