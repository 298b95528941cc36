"""What stays, what ends, and what never leaks: failed calls, graphs that are over, branches that were not taken."""

import numpy as np
import pytest
from graphs import check_consistent, snapshot
from hypothesis import HealthCheck, given, settings
from programs import arrays, loops, nodes, programs

import naive_graph as ng
from naive_graph import Graph, LeafNode, gradients, lower, tangents
from naive_graph.errors import NaiveGraphError, StaleNodeError
from naive_graph.tensor import LinearNode, NonlinearNode, TransformNode
from naive_graph.tensor.differentiate import ancestors

LAWS = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


# --- calls that fail ----------------------------------------------------------


MISTAKES = {
    "an index twice": lambda a, b: TransformNode((1, 1), (1, 1), a),
    "two extents": lambda a, b: LinearNode("mul", (1,), (1, -2), (-2,), a, b),
    "no such op": lambda a, b: LinearNode("div", (1, 2), (1, 2), (2, 1), a, a),
    "a new index without extent": lambda a, b: TransformNode((1, 2, -1), (1, 2), a),
    "an equation that is none": lambda a, b: ng.linear("ij", a, b),
    "shapes that do not broadcast": lambda a, b: a + b,
    "two shapes in one function": lambda a, b: NonlinearNode(lambda x, y: x * y, a, b),
    "a function that reaches outside": lambda a, b: NonlinearNode(lambda x: x * a, b),
    "a place beyond": lambda a, b: a[7],
    "entries that do not fit": lambda a, b: a.reshape(5),
    "an array that does not fit": lambda a, b: setattr(a, "value", np.zeros(9)),
    "backward from many numbers": lambda a, b: (a * a).backward(),
    "a gradient of nothing": lambda a, b: gradients(a, []),
    "beyond the budget": lambda a, b: lower(ng.linear("ij,k->ijk", a, b), budget=3),
    "an input that was not fed": lambda a, b: (a * LeafNode.input((2, 3))).eval(),
    "a learner's function that fails": lambda a, b: NonlinearNode(lambda x: 1 / 0, a),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_call_that_fails_leaves_everything_as_it_was(mistake):
    a, b = LeafNode.parameter(np.ones((2, 3)), "a"), LeafNode.parameter(np.arange(4.0), "b")
    total = (a * a).sum() + b.sum()
    total.backward()
    lower(total)
    before = snapshot(), dict(Graph.node_list[0].tables.unfolded), [repr((t._value, t._grad)) for t in (a, b, total)]
    with pytest.raises((NaiveGraphError, ZeroDivisionError)):
        MISTAKES[mistake](a, b)
    after = snapshot(), dict(Graph.node_list[0].tables.unfolded), [repr((t._value, t._grad)) for t in (a, b, total)]
    assert after == before
    check_consistent()


@LAWS
@given(programs(most=3))
def test_evaluating_and_differentiating_on_arrays_adds_no_scalar(program):
    with Graph.scratch():
        first, *_, y = nodes(program)
        y.sum().backward()
        gradients(y, first).eval()
        assert len(Graph.node_list) == 0


# --- graphs that are over -----------------------------------------------------


USES = {
    "an operator": lambda t: t + 1,
    "eval": lambda t: t.eval(),
    "forward": lambda t: t.forward(),
    "backward": lambda t: t.sum().backward(),
    "gradient": lambda t: t.gradient(),
    "gradients": lambda t: gradients(t, t),
    "tangents": lambda t: tangents(t, t),
    "lower": lower,
}


@pytest.mark.parametrize("end, said", [(Graph.clear, "was cleared"), (Graph.renew, "was renewed")])
@pytest.mark.parametrize("use", USES)
def test_tensors_end_with_their_graph(use, end, said):
    t = LeafNode.parameter([1.0, 2.0], "t")
    lower(t)
    end()
    with pytest.raises(StaleNodeError, match=said):
        USES[use](t)
    assert len(Graph.node_list) == 0


def test_tensors_end_with_their_scratch_graph():
    with Graph.scratch():
        t = LeafNode.parameter([1.0, 2.0])
    with pytest.raises(StaleNodeError, match="scratch"):
        t.eval()


@LAWS
@given(programs(most=3))
def test_lowering_twice_gives_the_same_rows_and_adds_none(program):
    with Graph.scratch():
        found = nodes(program)
        first, count = [lower(each).rows.tolist() for each in found], len(Graph.node_list)
        second = [lower(each).rows.tolist() for each in reversed(found)][::-1]
        assert second == first
        assert len(Graph.node_list) == count


@LAWS
@given(programs(most=3))
def test_reverting_forgets_the_rows_that_came_after(program):
    with Graph.scratch():
        found = nodes(program)
        kept = lower(found[0]).rows.tolist()
        before = snapshot()
        Graph.checkpoint()
        first = lower(found[-1]).rows.tolist()
        Graph.revert()
        assert snapshot() == before
        assert lower(found[0]).rows.tolist() == kept
        again = lower(found[-1])
        assert again.rows.tolist() == first
        Graph.forward()
        assert again.values == pytest.approx(loops(program)[-1], rel=1e-12, abs=1e-12)


# --- branches that were not taken ---------------------------------------------


POLES = {  # where x <= 0, the value or the slope of what is not taken is infinite or NaN
    "a root": (lambda x: ng.sqrt(x), lambda x: 0.5 / np.sqrt(x)),
    "a logarithm": (lambda x: ng.log(x), lambda x: 1 / x),
    "a quotient": (lambda x: 1.0 / ng.relu(x), lambda x: -1 / x**2),
    "a power": (lambda x: x**1.5, lambda x: 1.5 * np.sqrt(x)),
    "a sum of roots": (lambda x: ng.sqrt(x) * x + ng.sqrt(x), lambda x: 1.5 * np.sqrt(x) + 0.5 / np.sqrt(x)),
}
POINTS = np.array([-2.0, 0.0, 0.25, 4.0])


def by_backward(y, x):
    y.sum().backward()
    return x.gradient()


def by_scalars(y, x):
    total = lower(y.sum())[()]
    Graph.forward(total)
    Graph.backward(total)
    return lower(x).grads


def by_lowered_derivative(y, x):
    found = lower(gradients(y.sum(), x))
    Graph.forward(*found)
    return found.values


PATHS = {
    "backward on arrays": by_backward,
    "gradients": lambda y, x: gradients(y.sum(), x).eval(),
    "tangents": lambda y, x: tangents(x, y.sum()).eval(),
    "gradients of each entry": lambda y, x: gradients(y, x).eval().sum(1),
    "tangents of each entry": lambda y, x: tangents(x, y).eval().sum(0),
    "scalars": by_scalars,
    "lowered gradients": by_lowered_derivative,
}


@pytest.mark.parametrize("traced", [False, True], ids=["of tensors", "inside one function"])
@pytest.mark.parametrize("first", [True, False], ids=["taken first", "taken second"])
@pytest.mark.parametrize("pole", POLES)
@pytest.mark.parametrize("path", PATHS)
def test_an_untaken_pole_never_leaks(path, pole, first, traced, ignoring_invalid):
    outside, slope = POLES[pole]
    x = LeafNode.parameter(POINTS, "x")

    def choose(x):
        return ng.where(x > 0, outside(x), x * 3) if first else ng.where(x < 0.1, x * 3, outside(x))

    y = ng.tensor.nonlinear(choose, x) if traced else choose(x)
    with np.errstate(all="ignore"):
        expected = np.where(POINTS > 0, slope(POINTS), 3.0)
    assert PATHS[path](y, x) == pytest.approx(expected, rel=1e-12)


# --- arrays of other libraries ------------------------------------------------


def make_torch(values):
    return pytest.importorskip("torch").tensor(values)


def make_dask(values):
    return pytest.importorskip("dask.array").from_array(values, chunks=2)


def make_jax(values):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(values)


def gradients_of(found):
    """The gradients of all that the last of the nodes depends on."""
    total = found[-1].sum()
    total.backward()
    reached = set(ancestors([total]))
    return [node.gradient() for node in found if node in reached]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # Dask computes later, and warns as NumPy does
@pytest.mark.parametrize("make", [make_torch, make_dask, make_jax])
def test_random_programs_mean_the_same_on_arrays_of_other_libraries(make, monkeypatch):
    make(np.zeros(2))  # skips before Hypothesis begins
    if make is make_dask:  # computed here, and not by a client of another test's, whose workers may be gone
        monkeypatch.setitem(pytest.importorskip("dask").config.config, "scheduler", "synchronous")

    @settings(LAWS, max_examples=15)
    @given(programs(most=3))
    def law(program):
        with Graph.scratch():
            theirs, ours = nodes(program, [make(value) for value in arrays(program)]), nodes(program)
            for one, other in zip(theirs, ours):
                assert np.asarray(one.eval()) == pytest.approx(other.eval(), rel=1e-12, abs=1e-12)
            found, expected = (gradients_of(each) for each in (theirs, ours))
            for one, other in zip(found, expected, strict=True):
                assert np.asarray(one) == pytest.approx(other, rel=1e-12, abs=1e-12)

    law()


def test_a_tensor_that_was_reverted_is_stale():
    with Graph.scratch():
        kept = LeafNode.parameter([1.0, 2.0], "kept")
        Graph.checkpoint()
        outer = kept * 2.0
        Graph.checkpoint()
        inner = kept * 3.0
        Graph.revert()
        for use in (inner.eval, inner.forward, lambda: inner + 1.0, lambda: lower(inner)):
            with pytest.raises(StaleNodeError, match=r"cut back by revert\(\)"):
                use()
        assert outer.eval().tolist() == [2.0, 4.0]
        Graph.revert()
        with pytest.raises(StaleNodeError):
            outer.eval()
        assert (kept * 2.0).eval().tolist() == [2.0, 4.0]
