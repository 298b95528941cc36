"""Rows and torch agree beside infinity, NaN, -0.0 and denormals, values and gradients; of no axes, rows and NumPy do.

What is left out is torch's own convention, and each has a name here.
"""

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("opt_einsum")
torch = pytest.importorskip("torch", reason="rows are compared with torch, which is not installed")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from torch_says import KEYWORDS, TORCH, of_rule  # noqa: E402

from naive_graph import Graph, LeafNode, operators  # noqa: E402
from naive_graph.errors import ShapeError  # noqa: E402
from naive_graph.tensor.operators.check import ExampleCall  # noqa: E402
from naive_graph.tensor.operators.examples import example_array  # noqa: E402
from naive_graph.tensor.operators.table import RuleOperator  # noqa: E402

WILD = [0.0, -0.0, 1.0, -1.5, 0.5, np.inf, -np.inf, np.nan, 5e-324]
ROWS = sorted({operators()[name].name for name in operators()})
# torch takes 0 * inf, or inf - inf, on its way to a number that exists, and is NaN: a zero that is padded times an
# infinite weight, a hidden score of attention, a branch that is not taken, 0 / 0 at a row of zeros, a share of inf.
NAN_OF_TORCH = {
    "atan2", "attention", "conv2d", "conv2d_transpose", "cumprod", "depthwise_conv2d", "global_lp_pool2d",
    "hard_swish", "huber", "hypot", "log_loss", "log_poisson", "logsumexp", "lp_norm", "lp_pool2d", "mod",
    "nll_loss", "prelu", "reduce_l2", "reduce_logsumexp", "reduce_prod", "scatter_elements", "sigmoid_cross_entropy",
    "softmax_cross_entropy_loss", "sparse_softmax_cross_entropy", "weighted_cross_entropy_with_logits",
}  # fmt: skip
# torch has a slope beside a value that is NaN: that of log at -1, of abs, relu or clip at NaN. Ours is NaN there.
SLOPE_OF_TORCH = {
    "abs", "absolute_difference", "acosh", "atanh", "attention", "celu", "clip", "cumprod", "elu", "fmod",
    "hard_sigmoid", "hinge", "log", "log1p", "log_loss", "maximum", "mean_pairwise_squared_error", "minimum",
    "reduce_l1", "reduce_log_sum", "relu", "relu6", "selu",
}  # fmt: skip
# torch divides the product by an entry to have that of the others, squares, and takes means; denormals vanish there.
NO_DENORMALS = {
    "atan2", "batch_norm", "cumprod", "fmod", "global_lp_pool2d", "group_norm", "hypot", "instance_norm", "layer_norm",
    "lp_norm", "lp_pool2d", "mean_variance_norm", "mod", "reduce_l2", "reduce_prod", "rms_norm", "scatter_elements",
}  # fmt: skip
# torch's clamp has the slope 1 where an entry lies on a bound; ours has 1/2 there, as maximum and minimum have.
ON_A_BOUND = {"clip"}
# A row of scores that are all -inf is 0 / 0; torch makes 0 of it, also where no mask has hidden anything.
ZERO_OF_TORCH = {"attention"}


def in_torch(row, case):
    """Their results, and their leaf for each of ours."""
    leaves = {}

    def theirs(given):
        if isinstance(given, list):
            return [theirs(one) for one in given]
        if given is not None:
            leaves[given] = torch.tensor(np.array(given.value), requires_grad=True)
        return leaves.get(given)

    operands = {name: theirs(case.given.get(name)) for name in row.operand_names}
    if isinstance(row, RuleOperator):
        return [of_rule(row.name)(*operands.values())], leaves
    due = TORCH[row.name](**operands, **case.results[0].properties) if row.name in KEYWORDS else (
        TORCH[row.name](*operands.values(), **case.results[0].properties)
    )  # fmt: skip
    return list(due) if isinstance(due, (list, tuple)) else [due], leaves


def differ(ours, theirs, name, slopes=False):
    """Which entries are not alike, without those that torch's conventions decide."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    near = np.abs(ours - theirs) <= 1e-9 * np.maximum(1.0, np.abs(theirs))
    alike = (ours == theirs) | near | (np.isnan(ours) & np.isnan(theirs))
    alike |= np.isnan(theirs) & (name in NAN_OF_TORCH)
    alike |= np.isnan(ours) & (slopes and name in SLOPE_OF_TORCH)
    return ~(alike | (np.isnan(ours) & (theirs == 0.0) & (name in ZERO_OF_TORCH)))


@pytest.mark.parametrize("name", ROWS)
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.15, 0.4, 1.0]), st.data())
def test_a_row_agrees_with_torch_beside_nasty_numbers(name, seed, share, data):
    row, dice = operators()[name], np.random.default_rng(seed)
    each = data.draw(st.sampled_from(row.examples))
    bounds = [value for value in each.properties.values() if name in ON_A_BOUND]
    wild = [value for value in WILD[: -1 if name in NO_DENORMALS else None] if value not in bounds]
    with Graph.scratch(), np.errstate(all="ignore"):
        Graph.on_invalid = "ignore"
        case = ExampleCall(row, each)
        for leaf in case.leaves:
            usual = dice.uniform(0.2, 1.5, leaf.shape)
            leaf.value = np.where(dice.random(leaf.shape) < share, dice.choice(wild, leaf.shape), usual)
        due, leaves = in_torch(row, case)
        if due == [None]:
            return  # torch has no such properties
        for ours, other in zip(case.results, due, strict=True):
            assert not differ(ours.eval(), other.detach(), name).any(), (ours.eval(), other)
        case.loss().backward()
        total = sum(
            (each * torch.tensor(example_array(each.shape, 3 + at, (0.5, 1.5)))).sum() for at, each in enumerate(due)
        )
        if total.requires_grad:
            total.backward()
        for ours, other in leaves.items():
            slope = np.zeros(ours.shape) if other.grad is None else other.grad
            assert not differ(ours.gradient(), slope, name, slopes=True).any(), (ours.value, ours.gradient(), slope)


# --- no axes, and none of an axis -----------------------------------------------

OF_NUMPY = {
    "reduce_sum": np.sum, "reduce_mean": np.mean, "reduce_max": np.max, "reduce_min": np.min, "reduce_prod": np.prod,
    "reduce_logsumexp": lambda x, axis: x, "reduce_l1": np.abs, "reduce_l2": lambda x, axis: np.sqrt(np.square(x)),
    "reduce_sum_square": np.square, "reduce_log_sum": np.log, "reverse": np.flip,
}  # fmt: skip
THERE = np.array([[1.0, np.inf, np.nan], [-0.0, 2.0, 5e-324]])


@pytest.mark.parametrize("name", OF_NUMPY)
def test_a_row_of_no_axes_takes_each_entry_by_itself_as_numpy_does(name, ignoring_invalid):
    function, x = OF_NUMPY[name], LeafNode.parameter(THERE)
    with np.errstate(all="ignore"):
        due = function(THERE) if isinstance(function, np.ufunc) else function(THERE, axis=())
    y = operators()[name](x, axis=[])
    scalars = y.lower()
    Graph.forward()
    for found in (y.eval(), scalars.values):
        np.testing.assert_array_equal(found, due)


@pytest.mark.parametrize("name", ROWS)
def test_an_axis_without_entries_is_refused_and_nothing_is_built(name):
    row = operators()[name]
    case = ExampleCall(row, row.examples[0])
    for which in row.operand_names:
        given = case.given.get(which)
        if given is None or not np.ndim(getattr(given, "value", 0.0)):
            continue
        before = len(Graph.node_list)
        with pytest.raises(ShapeError, match="at least 1, not 0"):
            row(**{**case.given, which: np.zeros((0, *given.shape[1:]))})
        assert len(Graph.node_list) == before
