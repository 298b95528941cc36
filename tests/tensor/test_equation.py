"""Tensor nodes as equations, in text and TeX."""

import numpy as np
import pytest

from naive_graph import LeafNode, conv2d, gradients, linear, max_pool2d, nonlinear, transform
from naive_graph.errors import NodeError


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
        (lambda a, v: a.sum(1), "sum_{a} a[i,a]"),
        (lambda a, v: -a, "-a[i,j]"),
        (lambda a, v: a * 2.5, "2.5 * a[i,j]"),
        (lambda a, v: transform("i->ij", v, sizes={"j": 4}), "v[i]"),
        (lambda a, v: a - v, "a[i,j] - v[j]"),
        (lambda a, v: linear("ij,j->i", a, v, op="sub"), "sum_{a} (a[i,a] - v[a])"),
        (lambda a, v: a + 1, "a[i,j] + 1"),
        (lambda a, v: a[:, ::-1], "a[i,2-j]"),
        (lambda a, v: v[1:], "v[i+1]"),
        (lambda a, v: nonlinear(lambda x: x * x + 1, v), "v[i]*v[i] + 1"),
        (lambda a, v: v.tanh(), "tanh(v[i])"),
        (lambda a, v: v.sum(), "sum_{a} v[a]"),
    ],
)
def test_equations_read_as_people_write_them(make, text):
    assert written(make(leaf("a", 2, 3), leaf("v", 3))) == text


def test_a_convolutions_window_moves_by_its_stride():
    lines = conv2d(leaf("im", 1, 6, 6, 1), leaf("k", 3, 3, 1, 2), strides=2, padding=1).equations().splitlines()
    assert lines[0] == "t1[i,j,k,l,m] = im[i,2*j+k-1,l,m]"
    assert lines[2] == "t3[i,j,k,l] = sum_{a,b,c} t2[i,j,a,k,b,c] * k[a,b,c,l]"


def test_a_long_function_is_shortened():
    assert written(max_pool2d(leaf("im", 1, 4, 4, 1), 4)).endswith("...)")


def test_tex_has_no_name_that_could_be_a_command():
    node = leaf(r"\evil{}", 2).tanh()
    assert r"\evil" not in node.equation("tex")


def test_two_tensors_of_one_name_are_told_apart():
    assert written(leaf("a", 2) * leaf("a", 2)) == "a[i] * a1[i]"


def test_equations_list_everything_in_order():
    y = (leaf("W", 2, 3) @ leaf("x", 3)).tanh()
    assert y.equations() == "t1[i] = sum_{a} W[i,a] * x[a]\nt2[i] = tanh(t1[i])"
    assert y.equations("tex").startswith(r"\begin{aligned}{t_{1}}_{i} &= \sum_{a}")


def test_an_unknown_style_is_refused():
    with pytest.raises(NodeError, match="'text' or 'tex'"):
        leaf("a", 2).exp().equation("html")


def test_a_notebook_shows_the_equation_escaped():
    html = leaf("<b>", 2).tanh()._repr_html_()
    assert "tanh(&lt;b&gt;[i])" in html
