"""A Program whose answer is infinite or NaN gives the law's values, and names the node, its line and the sample."""

import math
import warnings

import numpy as np
import pytest

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable, where
from naive_graph.errors import NumericError, NumericWarning

ENGINES = ["runs", "reference", None]  # None compiles what is small


def caught(program, *inputs):
    """What the call answers, and the text of its one warning."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        answer = program(*inputs)
    (warning,) = [each for each in found if issubclass(each.category, NumericWarning)]
    return answer, str(warning.message)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_is_infinite_names_node_and_line(engine):
    x = Variable(0.0, name="x")
    y = (x * 1.0).log()  # the culprit
    answer, message = caught(Program([y, x * 2.0], wrt=[x], engine=engine))
    assert answer.value == [-math.inf, 0.0] and answer.gradient[0].tolist() == [math.inf]
    assert "'log' (row 3) gave log(0.0) = -inf" in message and "# the culprit" in message


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_that_is_infinite_names_node_and_line(engine):
    x = Variable(0.0, name="x")
    y = x.sqrt()  # the culprit
    answer, message = caught(Program(y, wrt=[x], engine=engine))
    assert answer.value == 0.0 and answer.gradient.tolist() == [math.inf]
    assert "the gradient of Variable 'x' became inf at 'sqrt'" in message and "# the culprit" in message


@pytest.mark.parametrize("engine", ENGINES)
def test_raise_is_an_error_that_names_the_node(engine):
    Graph.on_invalid = "raise"
    y = Variable(-1.0).log()
    with pytest.raises(NumericError, match=r"'log' \(row 1\) gave log\(-1\.0\) = nan"):
        Program(y, engine=engine)()


@pytest.mark.parametrize("engine", ENGINES)
def test_ignore_says_nothing(engine):
    Graph.on_invalid = "ignore"
    assert math.isnan(Program(Variable(-1.0).log(), engine=engine)().value)


def test_raise_names_the_sample():
    Graph.on_invalid = "raise"
    p = PlaceHolder()
    with pytest.raises(NumericError, match=r"Sample 2\. .*'log'"):
        Program(ng.total(p.log()), inputs=[p])([1.0, 2.0, -1.0, 3.0])


def test_the_warning_points_at_the_learners_line():
    with pytest.warns(NumericWarning) as found:
        Program(Variable(-1.0).log())()
    assert found[0].filename == __file__


@pytest.mark.parametrize("engine", ENGINES)
def test_an_untaken_branch_is_no_complaint(engine):
    x = Variable(-1.0)
    y = where(x > 0, x.sqrt(), x * 0.5)
    value, gradient = Program(y, wrt=[x], engine=engine)()
    assert (value, gradient.tolist()) == (-0.5, [0.5])


@pytest.mark.parametrize("gather", [lambda y: y, ng.total, ng.mean])
def test_an_untaken_branch_of_a_sample_is_no_complaint(gather):
    p, w = PlaceHolder(), Variable(4.0)
    y = gather(where(p > 0, (w * p).sqrt(), 0.0))
    gradient = Program(y, wrt=[w], inputs=[p])([-1.0, 1.0, -2.0]).gradient
    assert gradient[0] == pytest.approx(0.25 / (3.0 if gather is ng.mean else 1.0))


@pytest.mark.parametrize("gather", [lambda y: y, ng.total, ng.mean])
def test_an_untaken_branch_of_another_sample_is_not_blamed(gather):
    p = PlaceHolder(name="p")
    y = where(p > 0, p.sqrt(), 0.0) + 1.0 / (p - 3.0)  # the culprit divides
    _, message = caught(Program(gather(y), wrt=[p], inputs=[p]), [-1.0, 1.0, 3.0])
    assert message.startswith("Sample 2. Forward: 'div'") and "div(1.0, 0.0) = inf" in message


@pytest.mark.parametrize("engine", ENGINES)
def test_an_untaken_branch_beside_the_culprit_is_not_blamed(engine):
    x = Variable(-1.0)
    y = where(x > 0, x.sqrt(), 0.0) + 1.0 / (x + 1.0)
    _, message = caught(Program(y, engine=engine))
    assert message.startswith("Forward: 'div'")


def test_behind_a_mean_the_sample_is_found_that_went_wrong():
    p, w = PlaceHolder(), Variable(1.0)
    x = w * p
    _, message = caught(Program(ng.total((x - ng.mean(x)).sqrt()), inputs=[p]), [2.0, 2.0, 1.0, 3.0])
    assert message.startswith("Sample 2. Forward: 'sqrt'") and "sqrt(-1.0) = nan" in message


def test_a_total_that_went_wrong_is_no_samples_fault():
    p = PlaceHolder()
    _, message = caught(Program(ng.total(p).log(), inputs=[p]), [1.0, 1.0, -5.0])
    assert message.startswith("Forward: 'log'") and "log(-3.0) = nan" in message


def test_a_total_that_overflows_is_named():
    p = PlaceHolder()
    answer, message = caught(Program(ng.total(p), inputs=[p]), [1e308] * 8)
    assert answer.value == math.inf
    assert message.startswith("Forward: 'total' (row 1) gave inf over 8 samples")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_leaf_that_is_nan_is_named_with_the_line_that_made_it(engine):
    x, p = Variable(1.0, name="x"), PlaceHolder(name="p")  # both made here
    program = Program(x * p, wrt=[x], inputs=[p], engine=engine)
    _, message = caught(program, math.nan)
    assert "PlaceHolder 'p' was fed nan, made on line" in message and "# both made here" in message
    x.value = math.nan
    _, message = caught(program, 1.0)
    assert "Variable 'x' holds nan, made on line" in message and "# both made here" in message


@pytest.mark.parametrize("engine", ["compiled", None])
@pytest.mark.parametrize("gather", [ng.mean, lambda y: y])
def test_a_warning_comes_if_and_only_if_a_result_of_some_sample_is_not_finite(gather, engine):
    p, w = PlaceHolder(), Variable(2.0)
    program = Program(gather((p * w).sqrt() * 3.0), wrt=[p, w], inputs=[p], engine=engine)
    for place in [None, 0, 7, 8, 18]:
        for wrong in (0.0, -1.0, math.inf):  # an infinite gradient; two times NaN and infinite
            batch = np.linspace(1.0, 2.0, 19)
            if place is not None:
                batch[place] = wrong
            for _ in range(4):  # the long way, and the short one
                with warnings.catch_warnings(record=True) as found:
                    warnings.simplefilter("always")
                    value, slopes = program(batch)
                finite = np.isfinite(value).all() and all(np.isfinite(each).all() for each in slopes)
                assert bool(found) == (not finite) == (place is not None)


def test_a_sample_that_was_fed_nan_is_named():
    p = PlaceHolder(name="p")
    answer, message = caught(Program(p * 2.0, inputs=[p]), [1.0, math.nan, 2.0])
    assert answer.value[0] == 2.0 and math.isnan(answer.value[1]) and answer.value[2] == 4.0
    assert message.startswith("Sample 1. Forward: PlaceHolder 'p' was fed nan")


def test_a_gradient_of_one_sample_is_named_with_the_sample():
    p, w = PlaceHolder(), Variable(1.0)
    _, message = caught(Program(ng.total((w * p).sqrt()), wrt=[w], inputs=[p]), [1.0, 0.0, 4.0])
    assert message.startswith("Sample 1. Backward:") and "'sqrt'" in message


def test_gradients_that_overflow_only_together_say_so():
    p, w = PlaceHolder(), Variable(0.0)
    _, message = caught(Program(ng.total(w * p), wrt=[w], inputs=[p]), [1.5e308] * 8)
    assert "sum over the samples" in message


@pytest.mark.parametrize("engine", ENGINES)
def test_subnormals_are_kept(engine):
    x = Variable(5e-324)
    value, gradient = Program([x * 1.0, x + x, x * 0.5], wrt=[x], engine=engine)()
    assert value == [5e-324, 1e-323, 0.0] and [row[0] for row in gradient] == [1.0, 2.0, 0.5]


def test_subnormals_of_a_batch_are_kept():
    p = PlaceHolder()
    assert Program(p * 0.25, inputs=[p])([2e-323] * 9).value.tolist() == [5e-324] * 9
