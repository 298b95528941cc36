"""Tensor nodes as equations, in text and TeX."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from programs import nodes, programs
from reading import read

from naive_graph import Graph, LeafNode, Model, draw, gradients, linear, sin, tangents
from naive_graph.errors import NodeError, TrainingError
from naive_graph.sequential import Dense, Sequential
from naive_graph.tensor import LinearNode, NonlinearNode, avg_pool2d, concat, conv2d, nonlinear, transform
from naive_graph.tensor.differentiate import ancestors
from naive_graph.tensor.evaluation.structural_zeros import may_have_structural_zeros
from naive_graph.tensor.sparse_selector import IndexMap, SelectionNode, identity
from naive_graph.training import parameter


def leaf(name, *shape):
    return LeafNode.parameter(np.ones(shape), name)


def written(node):
    return node.equation().partition(" = ")[2]


def test_a_contraction_sums_over_its_dummies():
    node = linear("ia,ajk->ijk", leaf("W", 2, 3), leaf("Y", 3, 4, 5), name="x")
    assert node.equation() == "x[i,j,k] = sum_{a} W[i,a] * Y[a,j,k]"
    assert node.equation("tex") == r"x_{ijk} = \sum_{a} W_{ia}\, Y_{ajk}"


def test_its_derivative_is_an_equation_too():
    W = leaf("W", 2, 3)
    node = linear("ia,a->i", W, leaf("x", 3), name="y")
    slope = gradients(linear("i,i->", node, leaf("v", 2)), W)
    assert slope.equations().splitlines()[-1].endswith("x[j]")


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda a, v: a.T, "a[j,i]"),
        (lambda a, v: a.sum(1), "sum_{b} a[i,b]"),
        (lambda a, v: -a, "-a[i,j]"),
        (lambda a, v: a * 2.5, "2.5 * a[i,j]"),
        (lambda a, v: transform("i->ij", v, sizes={"j": 4}), "v[i]"),
        (lambda a, v: a - v, "a[i,j] - v[j]"),
        (lambda a, v: linear("ij,j->i", a, v, op="sub"), "sum_{j} (a[i,j] - v[j])"),
        (lambda a, v: a + 1, "a[i,j] + 1"),
        (lambda a, v: a[:, ::-1], "a[i,2-j]"),
        (lambda a, v: v[1:], "v[i+1]"),
        (lambda a, v: nonlinear(lambda x: x * x + 1, v), "v[i]*v[i] + 1"),
        (lambda a, v: v.tanh(), "tanh(v[i])"),
        (lambda a, v: v.sum(), "sum_{a} v[a]"),
        (lambda a, v: a.mean(), "1/6 * sum_{b,c} a[b,c]"),
        (lambda a, v: v + -1, "v[i] - 1"),
        (lambda a, v: v[[2, 0]], "v[[2,0][i]]"),
        (lambda a, v: gradients(v, v), "[j = i]"),
        (lambda a, v: gradients(a.reshape(6), a), "[k = 3*i+j]"),
        (lambda a, v: gradients(v[1:], v), "[i = j+1]"),
    ],
)
def test_equations_read_as_people_write_them(make, text):
    assert written(make(leaf("a", 2, 3), leaf("v", 3))) == text


def test_a_convolutions_window_moves_by_its_stride():
    lines = conv2d(leaf("im", 1, 6, 6, 1), leaf("k", 3, 3, 1, 2), strides=2, padding=1).equations().splitlines()
    assert lines[0] == "t1[i,j,l,m,n] = im[i,2*j+l-1,m,n]"
    assert lines[2] == "t3[i,j,l,m] = sum_{a,b,c} t2[i,j,a,l,b,c] * k[a,b,c,m]"


def test_a_long_function_is_shortened():
    parts = [leaf(f"a{place}", 2) for place in range(40)]
    assert written(nonlinear(lambda *xs: sin(sum(xs)), *parts)).endswith("...)")


def test_tex_has_no_name_that_could_be_a_command():
    node = leaf(r"\evil{}", 2).tanh()
    assert r"\evil" not in node.equation("tex")


def test_two_tensors_of_one_name_are_told_apart():
    assert written(leaf("a", 2) * leaf("a", 2)) == "a[i] * a_1[i]"


def test_equations_list_everything_in_order():
    y = (leaf("W", 2, 3) @ leaf("x", 3)).tanh()
    assert y.equations() == "t1[i] = sum_{a} W[i,a] * x[a]\nt2[i] = tanh(t1[i])"
    assert y.equations("tex").startswith(r"\begin{aligned}{t_{1}}_{i} &= \sum_{a}")


def test_an_unknown_style_is_refused():
    with pytest.raises(NodeError, match="'text' or 'tex'"):
        leaf("a", 2).exp().equation("html")


def test_a_notebook_shows_the_equation_escaped():
    node = leaf("<b>", 2).tanh()
    assert "tanh(&lt;b&gt;[i])" in node._repr_html_()
    node.name = "</pre><i>"
    html = node._repr_html_()
    assert html.count("&lt;/pre&gt;&lt;i&gt;") == 2 and "<b>" not in html and "<i>" not in html


# --- names --------------------------------------------------------------------


def test_a_tensor_without_a_name_has_one_that_no_other_has_wherever_it_is_written():
    W, x = leaf("W", 2, 3), LeafNode.input(3)
    y, z = (W @ x).tanh(), W @ x + 1.0
    before = z.equations()
    everything = ancestors([y, z])
    assert len({node.name for node in everything}) == len(everything)
    for result in (z, y):
        assert all(f"{node.name}[" in result.equations() for node in ancestors([result]) if node.rank)
        assert all(node.name in draw(result).svg for node in ancestors([result]) if node.rank)
    assert z.equations() == before and x.name == "x1"
    assert all(y[node.name] is node and y.inner(node.name) is node for node in ancestors([y]))
    assert "'" not in y.label  # what was made is no name to speak of


def test_a_name_that_a_learner_gives_is_taken_from_the_tensor_it_was_made_for():
    w = leaf("w", 2)
    y = w * 2.0
    assert y.name == "t1"
    w.name = "t1"
    assert y.name != "t1" and y["t1"] is w and y.equation() == f"{y.name}[i] = 2 * t1[i]"


def test_what_one_built_of_a_models_parameters_is_found_by_its_name():
    model = Model(seed=1)
    W, other = model.add_parameters((2, 3), name="W"), Model(seed=1).add_parameters((2, 3), name="W")
    x = leaf("x", 3)
    h, far = (parameter(W) @ x).softmax(name="h"), (parameter(other) @ x).softmax(name="far")
    loss = (h * h).sum()
    assert model["W"] is W and model["h"] is h and model[loss.name] is loss
    for name in ("far", "x", "none"):
        with pytest.raises(TrainingError, match=r"no parameter .* and no tensor .* has this name\. It has: 'W'"):
            model[name]
    assert far.name == "far"


def test_the_tensors_of_a_sequential_are_found_by_their_names():
    network = Sequential([Dense(2), Dense(1)], 3, initializer="glorotUniform")
    y = network([1.0, 2.0, 3.0])
    y.name = "y"
    assert network["y"] is y and network["1.W"].shape == (3, 2) and network["y"]["1.W"].source is network["1.W"]


def test_a_functions_parts_are_written_out_where_they_stand():
    def twice(x):
        part = (x * x + 3 * x + 1).sin()
        return part * part

    assert written(nonlinear(twice, leaf("v", 3))) == "sin(v[i]*v[i] + 3*v[i] + 1)*sin(v[i]*v[i] + 3*v[i] + 1)"


def test_an_entry_never_replaces_a_part_of_another():
    assert written(nonlinear(lambda p, q: p + 2 * q, leaf("v200", 2), leaf("z", 2))) == "v200[i] + 2*z[i]"


def test_a_tensors_letter_is_no_index():
    node = linear("ij,j->i", leaf("i", 2, 3), leaf("a", 3), name="y")
    assert node.equation() == "y[j] = sum_{b} i[j,b] * a[b]"


def test_letters_never_run_out():
    many = leaf("x", *[1] * 16)
    assert written(many.exp()) == "exp(x[i,j,k,l,m,n,p,q,r,s,t,u,v,w,i1,i2])"
    assert written(many.sum()).startswith("sum_{a,b,c,d,e,f,g,h,a1,")
    assert r"i_{1},i_{2}" in many.exp().equation("tex")


def assert_equations_say_what_is_computed(ends, most=1000):
    """Each node on the way to these is what its equation gives, but for two things that no equation says.

    A function is NaN outside its domain, by a guard that is not written. And entries are zeros by structure: a
    product of one with NaN is 0, and reads as NaN.
    """
    for node in ancestors(ends):
        if node.sources and node.size <= most and "..." not in node.equation():  # a long function is shortened
            value, found = node.eval(), read(node)
            unsaid = np.isnan(value) & isinstance(node, NonlinearNode)
            if any(map(may_have_structural_zeros, node.sources)):
                unsaid |= np.isnan(found) & (value == 0.0)
            np.testing.assert_allclose(np.where(unsaid, value, found), value, rtol=1e-12, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_an_equation_says_what_its_node_computes(program):
    with Graph.scratch():
        assert_equations_say_what_is_computed(nodes(program))


@settings(max_examples=40, deadline=None)
@given(programs(most=3))
def test_the_equations_of_derivatives_say_what_they_compute(program):
    with Graph.scratch():
        *_, y = found = nodes(program)
        assert_equations_say_what_is_computed([*gradients(y, found[:1]), *tangents(found[0], [y])], most=200)


MOVES = {
    "slice": lambda v, a, im: v[1:],
    "steps": lambda v, a, im: v[::2],
    "backwards": lambda v, a, im: a[:, ::-1],
    "entry": lambda v, a, im: a[1, 2],
    "picked": lambda v, a, im: v[[3, 0, 0]],
    "reshaped": lambda v, a, im: a.reshape(3, 2),
    "joined": lambda v, a, im: concat([v, v * 2]),
    "convolved": lambda v, a, im: conv2d(im, LeafNode.constant(np.ones((2, 2, 1, 1)), "w"), 2, padding="SAME"),
    "padded": lambda v, a, im: conv2d(im, LeafNode.constant(np.ones((3, 3, 1, 1)), "w"), padding=1),
    "pooled": lambda v, a, im: avg_pool2d(im, 2),
    "softened": lambda v, a, im: v.softmax(),
    "squared": lambda v, a, im: (v[1:] * v[:-1]).sum(),
}


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("move", MOVES)
def test_the_equations_of_moves_and_of_their_derivatives_say_what_they_compute(move, order):
    v, a, im = (LeafNode.parameter(np.random.default_rng(0).uniform(1, 2, s), n)
                for n, s in (("v", 4), ("a", (2, 3)), ("im", (3, 3, 1))))  # fmt: skip
    y = MOVES[move](v, a, im)
    leaf_of = next(each for each in ancestors([y]) if each in (v, a, im))
    for _ in range(order):
        y = gradients(y, leaf_of)
    assert_equations_say_what_is_computed([y])


SHIFTS = [(stride, offset) for stride in (-1, 1, 2) for offset in (-1, 0, 1)]


@pytest.mark.parametrize("ids", [((1, -3), (-3, 2)), ((-3, 1), (-3, 2)), ((1, -3), (2, -3)), ((-3, 1), (2, -3))])
def test_two_selections_read_as_their_product_also_beyond_the_edge(ids):
    shifts = [SelectionNode((3, 3), [IndexMap((0,), 1, (stride,), offset)]) for stride, offset in SHIFTS]
    for left, right in product(shifts, repeat=2):
        node = LinearNode("mul", (1, 2), *ids, left, right)
        np.testing.assert_array_equal(read(node), node.eval())


def test_a_large_or_square_table_is_only_named():
    assert written(leaf("v", 3)[np.array([[2, 0], [1, 1]])]) == "v[table(i,j)]"
    assert written(leaf("v", 3)[[0] * 9]) == "v[table(i)]"


@pytest.mark.parametrize("right", [(-1, -2), (-2, -1)])
@pytest.mark.parametrize("second", SHIFTS)
def test_selections_that_determine_each_others_indices_leave_one_to_sum_over(right, second):
    shift = SelectionNode((3, 3), [IndexMap((0,), 1, second[:1], second[1])])
    node = LinearNode("mul", (), (-1, -2), right, identity((3,)), shift)
    np.testing.assert_array_equal(read(node), node.eval())
