"""Laws on random index programs: loops, arrays, scalars, both modes, and derivatives of derivatives agree."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from operations import TORCH
from programs import arrays, loops, nodes, programs

from naive_graph import Constant, Graph, gradients, jacobian, lower, tangents
from naive_graph.tensor.base import size_of

LAWS = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
FEWER = settings(LAWS, max_examples=15)
pytestmark = pytest.mark.usefixtures("ignoring_invalid")
SMALL = 40  # entries of a Jacobian's side


def close(found, expected, digits=1e-12):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max(initial=0.0) <= digits * max(1.0, np.abs(expected).max(initial=0.0))


@LAWS
@given(programs())
def test_arrays_compute_what_loops_compute(program):
    with Graph.scratch():
        for node, expected in zip(nodes(program), loops(program)):
            close(node.eval(), expected)


@LAWS
@given(programs())
def test_lowered_scalars_compute_what_loops_compute(program):
    with Graph.scratch():
        result = lower(nodes(program)[-1])
        Graph.forward()
        close(result.values, loops(program)[-1])


def brute_jacobian(y, leaf):
    """dy / dleaf of the lowered scalars, as an array of leaf.shape + y.shape."""
    rows = jacobian(list(lower(y)), list(lower(leaf)))
    return np.array(rows).T.reshape(leaf.shape + y.shape)


def leaves_of(program, found):
    return found[: len(program[0])]


@LAWS
@given(programs())
def test_both_modes_give_the_scalars_jacobian(program):
    with Graph.scratch():
        found = nodes(program)
        y = found[-1]
        for leaf in leaves_of(program, found):
            assume(leaf.size <= SMALL and y.size <= SMALL)
            expected = brute_jacobian(y, leaf)
            close(gradients(y, leaf).eval(), expected)
            forwards = tangents(leaf, y).eval()
            close(np.moveaxis(forwards, range(y.rank), range(-y.rank, 0)) if y.rank else forwards, expected)


@LAWS
@given(programs())
def test_backward_on_arrays_is_the_derivative_node_evaluated(program):
    with Graph.scratch():
        found = nodes(program)
        total = found[-1].sum()
        total.backward()
        for leaf in leaves_of(program, found):
            if leaf in total_ancestors(total):
                close(leaf.gradient(), gradients(total, leaf).eval())


def total_ancestors(node):
    from naive_graph.tensor.differentiate import ancestors

    return set(ancestors([node]))


@LAWS
@given(programs())
def test_backward_on_arrays_is_backward_on_scalars(program):
    with Graph.scratch():
        found = nodes(program)
        total = found[-1].sum()
        total.backward()
        scalar = lower(total)[()]
        Graph.forward(scalar)
        constant = isinstance(scalar, Constant)  # everything was cut off
        if not constant:
            Graph.backward(scalar)
        for leaf in leaves_of(program, found):
            if leaf in total_ancestors(total):
                close(np.zeros(leaf.shape) if constant else lower(leaf).grads, leaf.gradient())


@FEWER
@given(programs(most=3))
def test_lowered_derivatives_are_derivatives_of_the_lowered(program):
    with Graph.scratch():
        found = nodes(program)
        y, leaf = found[-1], found[0]
        assume(leaf.size <= 12 and y.size <= 12)
        slope = lower(gradients(y, leaf))
        Graph.forward()
        close(slope.values, brute_jacobian(y, leaf))


@FEWER
@given(programs(most=3))
def test_derivatives_of_derivatives_to_third_order(program):
    with Graph.scratch():
        found = nodes(program)
        y, leaf = found[-1], found[0]
        for _ in range(3):
            assume(y.size * leaf.size <= 100)
            slope = gradients(y, leaf)
            close(slope.eval(), brute_jacobian(y, leaf), 1e-11)
            close(np.moveaxis(tangents(leaf, y).eval(), range(y.rank), range(-y.rank, 0)), slope.eval(), 1e-11)
            y = slope


# --- numbers that are none ------------------------------------------------------

NASTY = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.5, -2.0]


@st.composite
def nasty(draw):
    """A program, and what its leaves hold: among other numbers these."""
    program, dice = draw(programs()), np.random.default_rng(draw(st.integers(0, 9999)))
    share = draw(st.sampled_from([0.1, 0.4]))
    values = [
        np.where(dice.random(each.shape) < share, dice.choice(NASTY, each.shape), each) for each in arrays(program)
    ]
    return program, values


def alike(found, due, spared=lambda found: False):
    """What is computed on arrays is what is due, NaN and infinity in the same places.

    spared: what is right as well where NaN is due.
    """
    found, due = np.asarray(found), np.asarray(due)
    with np.errstate(all="ignore"):
        near = np.abs(found - due) <= 1e-9 * np.maximum(1.0, np.abs(due))
    right = (found == due) | (np.isnan(due) & (np.isnan(found) | spared(found))) | near
    assert found.shape == due.shape and right.all(), (found, due)


def computed(node):
    scalars = lower(node)
    Graph.forward()
    return scalars.values


def is_open(program, values):
    """Whether what is due is not said: a product along an axis that underflows is 0 or not by the order in which
    it is taken, and 0 * inf is NaN."""
    kinds = {each.get("rule", each["kind"]) for each in program[2]}
    return "prod" in kinds and any((np.abs(each) == 5e-324).any() for each in values)


@LAWS
@given(nasty())
def test_values_and_both_modes_agree_with_scalars_beside_infinity_and_nan(drawn):
    program, values = drawn
    with Graph.scratch():
        made = nodes(program, values)
        y = made[-1]
        alike(y.eval(), computed(y))
        for leaf in leaves_of(program, made):
            if leaf.size * y.size <= 300:
                for slope in (gradients(y, leaf), tangents(leaf, y)):
                    alike(slope.eval(), computed(slope))


@LAWS
@given(nasty())
def test_backward_agrees_with_scalars_beside_infinity_and_nan(drawn):
    program, values = drawn
    assume(not is_open(program, values))
    # Its slope is of two terms. Of an infinite adjoint, arrays take a multiple; scalars add two, which may cancel.
    has_bell = any(step.get("name") == "bell" for step in program[2])
    with Graph.scratch():
        made = nodes(program, values)
        total = made[-1].sum()
        total.backward()
        scalar = lower(total)[()]
        Graph.forward(scalar)
        if not isinstance(scalar, Constant):
            Graph.backward(scalar)
            for leaf in total_ancestors(total).intersection(leaves_of(program, made)):
                alike(leaf.gradient(), lower(leaf).grads, spared=lambda found: has_bell & np.isinf(found))


def one_sided(step):
    """Whether an index that is summed over is one of a single factor."""
    return {each for each in step["ids"][0] if each < 0} != {each for each in step["ids"][1] if each < 0}


# Where torch takes 0 * inf: by the zeros of a padding and of what a piece, a branch or an extremum leaves out, and by
# shares. Its slope of an extremum is g * (x == y) / count: NaN also where nothing equals y, which is NaN.
TOUCHY = {"padded", "piece", "branch", "softmax", "prod", "logsumexp", "max", "min"}


@LAWS
@given(nasty())
def test_torch_agrees_beside_infinity_and_nan(drawn):
    torch = pytest.importorskip("torch")
    program, values = drawn
    kinds = {step.get("rule", step["kind"]) for step in program[2]}
    assume(not is_open(program, values))

    # A sum of products of one factor is that factor times a sum: infinite, where torch adds up inf and -inf.
    moves_out = any(each["kind"] == "linear" and one_sided(each) for each in program[2])

    def fits(found, theirs):
        alike(found, theirs.numpy(), spared=lambda found: bool(TOUCHY & kinds) | (moves_out & np.isinf(found)))

    with Graph.scratch():
        made, starts = nodes(program, values), [torch.tensor(each, requires_grad=True) for each in values]
        due = in_torch(program, starts, torch)
        fits(made[-1].eval(), due.detach())
        total = made[-1].sum()
        total.backward()
        if due.requires_grad:
            due.sum().backward()
        for leaf in total_ancestors(total).intersection(leaves_of(program, made)):
            start = starts[made.index(leaf)]
            fits(leaf.gradient(), torch.zeros(start.shape) if start.grad is None else start.grad)


@LAWS
@given(programs())
def test_shapes_are_known_before_anything_is_computed(program):
    with Graph.scratch():
        for node, expected in zip(nodes(program), loops(program)):
            assert node.shape == expected.shape
            assert node.size == size_of(expected.shape)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, on its first use of forward mode
@FEWER
@given(programs())
def test_torch_agrees_in_reverse_and_forward_mode(program):
    torch = pytest.importorskip("torch")
    with Graph.scratch():
        found = nodes(program)
        y, leaf = found[-1], found[0]
        assume(leaf.size <= SMALL and y.size <= SMALL)
        starts = [torch.tensor(value) for value in arrays(program)]

        def run(first):
            return in_torch(program, [first, *starts[1:]], torch)

        expected = torch.func.jacrev(run)(starts[0])
        order = [*range(y.rank, y.rank + leaf.rank), *range(y.rank)]
        close(gradients(y, leaf).eval(), expected.permute(order).numpy())
        close(tangents(leaf, y).eval(), torch.func.jacfwd(run)(starts[0]).numpy())


def in_torch(program, values, torch):
    """The last value of a program, by torch.einsum and broadcasting."""
    found = list(values)
    functions = {
        "sin": torch.sin,
        "tanh": torch.tanh,
        "bell": lambda x: torch.cos(x * x) - 0.5 * x,
        "product": lambda a, b: a * torch.sin(b),
    }
    for step in program[2]:
        sources = [found[place] for place in step["of"]]
        if step["kind"] == "transform":
            found.append(step["alpha"] * spread(step["dst"], step["shape"], step["src"], sources[0], torch))
        elif step["kind"] == "linear":
            found.append(linear_in_torch(step, *sources, torch))
        elif step["kind"] in TORCH:
            found.append(TORCH[step["kind"]](step, *sources, torch))
        else:
            found.append(functions[step["name"]](*sources))
    return found[-1]


def spread(dst, shape, src, source, torch):
    kept = [each for each in dst if each > 0]
    summed = source.sum([axis for axis, each in enumerate(src) if each < 0]) if any(e < 0 for e in src) else source
    left = [each for each in src if each > 0]
    ordered = summed.permute([left.index(each) for each in kept])
    sizes = iter(ordered.shape)
    return ordered.reshape([next(sizes) if each > 0 else 1 for each in dst]).expand(shape)


def linear_in_torch(step, left, right, torch):
    everything = sorted({abs(each) for ids in step["ids"] for each in ids})
    grid = []
    for ids, source in zip(step["ids"], (left, right)):
        own = [abs(each) for each in ids]
        present = [each for each in everything if each in own]
        sizes = iter(source.permute([own.index(each) for each in present]).shape)
        ordered = source.permute([own.index(each) for each in present])
        grid.append(ordered.reshape([next(sizes) if each in own else 1 for each in everything]))
    whole = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}[step["op"]](*grid)
    rest = [place for place, each in enumerate(everything) if each not in step["dst"]]
    summed = whole.sum(rest) if rest else whole
    left_ids = [each for each in everything if each in step["dst"]]
    return summed.permute([left_ids.index(each) for each in step["dst"]])
