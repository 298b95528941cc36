"""gradcheck: it passes what is right, and finds what is wrong."""

import math

import pytest

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable, check_operator, gradcheck
from naive_graph.core.rules import RULES
from naive_graph.errors import GradientCheckError, NodeError, NumericError


@pytest.fixture(autouse=True)
def empty_graph():
    with Graph.scratch():
        yield


@pytest.fixture
def wrong_sine():
    yield ng.operator("wrong_sine", math.sin, [lambda a, y: 1.01 * ng.cos(a)])
    del RULES["wrong_sine"]
    del ng.core.rules.Arithmetic.wrong_sine


def test_a_loss_without_leaves_is_checked_whatever_else_the_graph_holds():
    with Graph.scratch():
        unfed = Graph.PlaceHolder(name="p") * 2.0
        x = Graph.Variable(1.0)
        assert gradcheck(Graph.Constant(1.0)).count == gradcheck(x * x, skip=[x]).count == 0
        assert unfed.value is None


def test_right_derivatives_pass_in_every_mode():
    x, y = Variable(0.7), Variable(-0.3)
    report = gradcheck(ng.where(x > y, (x * y).sin() + x**3 / y, 0.0))
    assert report and report.count == 2


def test_a_wrong_partial_is_found_in_every_mode(wrong_sine):
    report = gradcheck(wrong_sine(Variable(0.7, name="x")))
    assert [failure.mode for failure in report.failures] == ["reverse", "forward", "graph"]
    assert "d/d x" in str(report)


def test_require_raises_what_the_report_says(wrong_sine):
    with pytest.raises(GradientCheckError, match="finite differences say"):
        gradcheck(wrong_sine(Variable(0.7))).require()


def test_an_error_below_the_absolute_bound_is_no_failure(wrong_sine):
    assert gradcheck(1e-6 * wrong_sine(Variable(0.7)))


def test_several_losses_are_summed():
    x = Variable(2.0)
    report = gradcheck([x * x, x.exp(), -x])
    assert report and report.count == 1


def test_a_leaf_at_a_kink_is_masked():
    assert gradcheck(abs(Variable(0.0))).masked == 1


def test_a_leaf_within_ten_eps_of_a_kink_is_masked_and_one_beyond_is_checked():
    near, far = Variable(9e-5), Variable(11e-5)
    report = gradcheck(near.relu() + far.relu())
    assert (report.masked, report.count) == (1, 1)


@pytest.mark.parametrize("at", [0.0, 4e-6, -5e-5])
def test_kinks_that_cancel_mask_nothing(at):
    x = Variable(at)
    report = gradcheck(x.abs() * x + ng.maximum(x, x))
    assert report.masked == 0 and report.require().count == 1


def test_a_derivative_that_is_wrong_where_kinks_cancel_is_found():
    z = Variable(0.0)  # relu's derivative at 0 and that of abs do not add up to 1/2
    report = gradcheck(z.relu() + (1.0 + (-z.abs()).exp()).log())
    assert report.masked == 0 and report.failures[0].difference == pytest.approx(0.5)


def test_a_kink_elsewhere_masks_nothing():
    x, y = Variable(0.0), Variable(1.0)
    report = gradcheck(x.abs() + y * y)
    assert (report.masked, report.count) == (1, 1)


def test_mask_and_skip_leave_leaves_out():
    x, y, z = Variable(1.0), Variable(2.0), Variable(3.0)
    report = gradcheck(x * y * z, mask=lambda node: node is x, skip=[y])
    assert (report.count, report.masked) == (1, 1)


def test_placeholders_are_checked_like_variables():
    p = PlaceHolder()
    p.value = 0.4
    assert gradcheck(p.sin()).count == 1


def test_a_constant_is_not_checked():
    assert gradcheck(Variable(1.0) * 3 + 4).count == 1


@pytest.mark.parametrize("subset", ["random", "every_n"])
def test_max_per_param_counts_the_elements_of_one_name_as_one_parameter(subset):
    weights = [Variable(0.1 * place, name=f"w[{place}]") for place in range(10)]
    bias = Variable(1.0, name="b")
    loss = Graph.sum([weight * weight for weight in weights]) + bias
    assert gradcheck(loss, max_per_param=3, subset=subset).count == 4


def test_a_seed_makes_the_choice_repeatable():
    weights = [Variable(0.1 * place, name=f"w[{place}]") for place in range(10)]
    first, second = [], []
    for chosen in (first, second):
        gradcheck(Graph.sum(weights), max_per_param=3, seed=5, mask=chosen.append)
    assert first == second and len(first) == 3


def test_a_loss_that_is_not_finite_raises():
    with pytest.raises(NumericError, match="loss is nan"):
        gradcheck(Variable(-1.0).log())


def test_a_derivative_that_is_not_finite_raises():
    with pytest.raises(NumericError, match="derivative along"):
        gradcheck(Variable(0.0, name="x").sqrt())


def test_the_graph_is_left_exactly_as_it_was():
    x = Variable(0.5)
    y = x * x
    Graph.forward()
    Graph.backward(y)
    before = (len(Graph.node_list), x.value, y.value, x.grad, y.out_deg, x.out_deg)
    gradcheck(y)
    assert (len(Graph.node_list), x.value, y.value, x.grad, y.out_deg, x.out_deg) == before


def test_a_check_that_fails_leaves_the_graph_as_it_was():
    y = Variable(0.0).sqrt()
    rows = len(Graph.node_list)
    with pytest.raises(NumericError):
        gradcheck(y)
    assert len(Graph.node_list) == rows


@pytest.mark.parametrize("wrong", [{"loss": []}, {"loss": [3.0]}, {"subset": "some"}])
def test_wrong_arguments_are_refused(wrong):
    with pytest.raises(NodeError):
        gradcheck(**{"loss": Variable(1.0), **wrong})


POINTS = {1: [(0.3,), (0.8,)], 2: [(0.7, 1.9), (1.2, 0.4)], 3: [(1.0, 0.3, 0.9), (0.0, 0.3, 0.9)]}


@pytest.mark.parametrize("name", [name for name, rule in RULES.items() if name not in ("acosh", "held")])
def test_every_operator_of_the_catalogue_passes(name):
    arity = RULES[name].arity
    points = POINTS[arity] if arity else [(0.3, 1.1, -0.6), (2.0, 2.0)]
    assert check_operator(name, points).require()


def test_acosh_passes_in_its_domain():
    assert check_operator("acosh", [(1.5,), (20.0,)]).require()


def test_an_operator_with_a_memory_is_not_pure():
    calls = []

    def partial(a, y):
        calls.append(a)
        return float(len(calls))

    rule = ng.operator("forgetful", lambda a: a, [partial])
    try:
        with pytest.raises(GradientCheckError, match="not pure"):
            check_operator(rule, [(1.0,)])
    finally:
        del RULES["forgetful"]
        del ng.core.rules.Arithmetic.forgetful


@pytest.mark.parametrize("shrinks", range(4))
def test_an_entry_at_which_the_loss_jumps_is_masked(shrinks):
    """atan2 jumps at 0 by as much on one side as on the other, so the slopes on both sides seem equal."""
    y = ng.atan2(Variable(0.0, name="a"), Variable(0.0, name="b"))
    chosen = ng.where(Variable(0.0, name="c"), 1.0, 3.0)
    for _ in range(shrinks):
        y, chosen = y.sin(), chosen.sin()
    for loss in (y, chosen):
        report = gradcheck(loss)
        assert report and report.masked


@pytest.mark.parametrize(
    "losses, what",
    [
        (lambda x: [x * 1e308, x * 1e308], "The loss is inf"),
        (lambda x: [x * 1e308 * 1e308, x * -1e308 * 1e308], "The loss is nan"),
        (lambda x: [1.7e308 * (x - 1.0), 1.7e308 * (x - 1.0)], "The reverse derivative along .* is inf"),
    ],
)
def test_losses_whose_sum_overflows_are_told_as_not_finite(losses, what):
    with pytest.raises(NumericError, match=what):
        gradcheck(losses(Variable(1.0)))
