"""Formulas and derivatives read as people write them, and mean what they say."""

import ast
import math

import pytest
from graphs import any_graph, build, tame, varying_leaves
from hypothesis import assume, given, settings

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable, gradients, where
from naive_graph.core.interpreters.text import tex_name
from naive_graph.core.rules import Arithmetic
from naive_graph.errors import NodeError


def derivative(expression):
    x = Variable(2.0, name="x")
    return gradients(expression(x), x).formula()


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (lambda x: ((x - 7) ** 2 + 10).log(), "2*(x - 7)/((x - 7)**2 + 10)"),
        (lambda x: x * x, "2*x"),
        (lambda x: x**3, "3*x**2"),
        (lambda x: 3 * x + 2, "3"),
        (lambda x: x - x, "0"),
        (lambda x: 1 / x, "-(1/x/x)"),
        (lambda x: x.tanh(), "1 - tanh(x)**2"),
        (lambda x: x.sigmoid(), "sigmoid(x)*(1 - sigmoid(x))"),
        (lambda x: 2**x, "2**x*log(2)"),
        (lambda x: where(x > 0, x.sqrt(), 0), "where(x > 0, 0.5/sqrt(x), 0)"),
        (lambda x: x.elu(), "where(x > 0, 1, exp(x))"),
        (lambda x: 0 * x, "0"),
        (lambda x: 0 * x * x, "2*(0*x)"),  # a learner's own 0 stays
        (lambda x: -x * -x, "2*x"),
        (lambda x: 3 * (x * 2) * x, "12*x"),
    ],
)
def test_a_derivative_is_simple_enough_to_read(expression, text):
    assert derivative(expression) == text


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (lambda x, y: x + y - x, "x + y - x"),
        (lambda x, y: x - (y - x), "x - (y - x)"),
        (lambda x, y: x / (y * x), "x/(y*x)"),
        (lambda x, y: x / y / x, "x/y/x"),
        (lambda x, y: (x**y) ** x, "(x**y)**x"),
        (lambda x, y: x ** (y**x), "x**y**x"),
        (lambda x, y: -(x**2), "-x**2"),
        (lambda x, y: (-x) ** 2, "(-x)**2"),
        (lambda x, y: x**-y, "x**-y"),
        (lambda x, y: ng.neg(-x), "-(-x)"),
        (lambda x, y: x * -2, "x*-2"),
        (lambda x, y: (x > y) * 2, "(x > y)*2"),
        (lambda x, y: (x > y) > x, "(x > y) > x"),
        (lambda x, y: (x >= y) <= x + 1, "(x >= y) <= x + 1"),
        (lambda x, y: 1 - ng.equal(x, y), "1 - equal(x, y)"),
        (lambda x, y: ng.logsumexp([x, y]), "logsumexp([x, y])"),
        (lambda x, y: ng.atan2(x, y), "atan2(x, y)"),
        (lambda x, y: x * 1e300 + 0.1, "x*1e+300 + 0.1"),
        (lambda x, y: x + math.inf, 'x + float("inf")'),
    ],
)
def test_brackets_stand_where_they_are_needed(expression, text):
    assert expression(Variable(1.0, name="x"), Variable(2.0, name="y")).formula() == text


class Number(Arithmetic):
    """A float whose infix operators follow IEEE 754, as the graph's do and Python's do not."""

    def __init__(self, value):
        self.value = float(value)

    def apply(self, rule, *operands):
        return Number(rule(*[each.value for each in operands]))

    def __gt__(self, other):
        return ng.greater(self, other)

    def __ge__(self, other):
        return ng.greater_equal(self, other)

    def __le__(self, other):
        return ng.less_equal(self, other)


class NumbersForLiterals(ast.NodeTransformer):
    """Reads every literal as a Number."""

    def visit_Constant(self, node):
        return ast.Call(ast.Name("Number", ast.Load()), [node], [])


def read_by_python(text, names):
    """What Python makes of a formula."""
    tree = ast.fix_missing_locations(NumbersForLiterals().visit(ast.parse(text.strip(), mode="eval")))
    functions = {name: getattr(ng, name) for name in ng.core.catalogue.__all__}
    return eval(
        compile(tree, "formula", "eval"), {**functions, "abs": ng.abs, "Number": Number, "float": Number, **names}
    )


@settings(max_examples=150, deadline=None)
@given(any_graph())
def test_a_formula_read_by_python_gives_the_same_bits(recipe):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        nodes = build(recipe)
        f = nodes[-1]
        Graph.forward()
        names = {node.name: Number(node.value) for node in varying_leaves(nodes)}
        *lines, last = f.formula().splitlines()
        for line in lines:
            name, _, text = line.partition(" = ")
            names[name] = read_by_python(text, names)
        assert repr(read_by_python(last, names).value) == repr(f.value)


@settings(max_examples=80, deadline=None)
@given(tame())
def test_no_derivative_shows_ones_zeros_or_double_signs(recipe):
    with Graph.scratch():
        nodes = build(recipe)
        leaves = [node for node in nodes if type(node) in (Variable, PlaceHolder)]
        assume(leaves and not isinstance(nodes[-1], Constant))
        for node in gradients(nodes[-1], leaves):
            if node.rule.name in ("mul", "add", "sub", "div") if node.in_deg else False:
                literals = [operand.value for operand in node.last if isinstance(operand, Constant)]
                new = [
                    operand for operand in node.last if isinstance(operand, Constant) and operand.row > nodes[-1].row
                ]
                assert not any(operand.value == 1.0 and node.rule.name == "mul" for operand in new), literals
                assert not any(operand.value == 0.0 and node.rule.name in ("add", "sub") for operand in new), literals


@pytest.mark.parametrize("number, written", [(0.0, "0"), (3.0, "3")])
def test_a_slope_of_one_is_not_written_beside_a_learners_number(number, written):
    x = Variable(0.0, name="x")
    assert gradients(Graph.sum([x]) * number, x).formula() == written


def test_tex_has_fractions_roots_and_letters():
    alpha, w = Variable(1.0, name="alpha"), Variable(2.0, name="w_12")
    assert (alpha.sqrt() / w**2).formula("tex") == r"\frac{\sqrt{\alpha}}{w_{12}^{2}}"
    assert (w - 7).exp().formula("tex") == r"e^{w_{12} - 7}"


@settings(max_examples=80, deadline=None)
@given(any_graph())
def test_tex_braces_balance(recipe):
    with Graph.scratch():
        text = build(recipe)[-1].formula("tex")
        assert text.count("{") == text.count("}") and text.count(r"\left") == text.count(r"\right")


def test_matplotlib_can_typeset_a_formula():
    from matplotlib.figure import Figure

    x, y = Variable(1.0, name="x"), Variable(1.0, name="beta")
    f = ((x - 7) ** 2 / y + 10).log() * abs(x) - x.sqrt().exp() + ng.maximum(x, y)
    figure = Figure()
    figure.text(0.1, 0.5, f"${f.formula('tex')}$")
    figure.canvas.draw()


@pytest.mark.parametrize("name", ["50%", "a_b_c", "x$", "{", "\\", "学习率", "<b>", "x^2", "a & b"])
def test_a_name_that_is_no_letter_is_escaped_text(name):
    text = tex_name(name)
    assert text.startswith(r"\text{") and text.count("{") - text.count(r"\{") == text.count("}") - text.count(r"\}")


def test_two_leaves_of_one_name_are_told_apart():
    assert (Variable(1.0, name="x") * Variable(2.0, name="x")).formula() == "x*x_1"


def test_leaves_without_a_name_get_one():
    assert (Variable(1.0) * PlaceHolder() + Constant(3.0)).formula() == "v0*p1 + 3"


def test_a_long_part_that_is_used_twice_gets_a_line_of_its_own():
    x = Variable(1.0, name="x")
    part = (x.sin() * x.cos() + x.tanh()).exp()
    lines = (part * part + 1).formula().splitlines()
    assert lines == ["t1 = exp(sin(x)*cos(x) + tanh(x))", "t1*t1 + 1"]


def test_a_learners_name_for_a_part_is_used():
    x = Variable(1.0, name="x")
    part = (x.sin() * x.cos() + x.tanh()).exp()
    part.name = "energy"
    assert (part * part).formula().splitlines()[0] == "energy = exp(sin(x)*cos(x) + tanh(x))"


def test_an_unknown_style_is_refused():
    with pytest.raises(NodeError, match="'text' or 'tex'"):
        Variable(1.0).formula("latex")
