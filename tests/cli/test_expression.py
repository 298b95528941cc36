"""A written expression becomes the same graph as the Python that it looks like, or a clear refusal."""

import ast
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive_graph import Graph, exp, maximum, operator, sin
from naive_graph.cli.expression import read
from naive_graph.core.rules import RULES
from naive_graph.errors import ExpressionError


@pytest.fixture(autouse=True)
def an_empty_graph():
    with Graph.scratch():
        yield


def value(text, **values):
    f = read(text, values)
    Graph.forward(f)
    return f.value


def refusal(text, **values):
    with pytest.raises(ExpressionError) as caught:
        read(text, values)
    return str(caught.value)


# --- what is read -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 + 3*4", 14.0),
        ("(2 + 3)*4", 20.0),
        ("2 - 3 - 4", -5.0),
        ("2**3**2", 512.0),
        ("-2**2", -4.0),
        ("8/4/2", 1.0),
        ("+3", 3.0),
        ("--3", 3.0),
        ("1e3 + .5", 1000.5),
        ("3 > 2", 1.0),
        ("3 < 2", 0.0),
        ("3 >= 3", 1.0),
        ("2 <= 1", 0.0),
        ("2 == 2", 1.0),
        ("where(2 != 2, 3, 4)", 4.0),
        ("where(1 > 2, 3, 4)", 4.0),
        ("maximum(2, 5)", 5.0),
        ("logsumexp([0, 0])", math.log(2)),
        ("logsumexp(0, 0)", math.log(2)),
        ("softmax([1, 1])[0]", 0.5),
        ("leaky_relu(-2, 0.5)", -1.0),
        ("(4).sqrt()", 2.0),
    ],
)
def test_an_expression_has_the_value_that_python_gives_it(text, expected):
    assert value(text) == expected


def test_a_name_is_one_variable_however_often_it_occurs():
    f = read("x*x - x", {"x": 3})
    Graph.forward(f)
    Graph.backward(f)
    assert [node.grad for node in Graph.node_list if node.name == "x"] == [5.0]


def test_numbers_are_nodes_so_one_plus_two_can_be_drawn():
    read("1 + 2")
    assert [str(node) for node in Graph.node_list] == ["1.0", "2.0", "add"]


def test_a_negative_number_is_one_node():
    read("-2")
    assert [node.value for node in Graph.node_list] == [-2.0]


def test_the_formula_reads_as_the_expression():
    assert read("log((x - 7)**2 + 10)", {"x": 6}).formula() == "log((x - 7)**2 + 10)"


def test_methods_read_as_functions():
    assert read("((x - 7) ** 2 + 10).log()", {"x": 6}).formula() == "log((x - 7)**2 + 10)"


def test_the_expression_makes_the_rows_that_python_makes():
    written = read("maximum(sin(x)*exp(y), x/y)", {"x": 1, "y": 2}).table()
    with Graph.scratch():
        x, y = Graph.Variable(1, name="x"), Graph.Variable(2, name="y")
        assert sorted(maximum(sin(x) * exp(y), x / y).table().split()) == sorted(written.split())


def test_a_learners_own_operator_can_be_called():
    operator("thrice", lambda a: 3.0 * a, [lambda a, y: 3.0])
    try:
        assert value("thrice(x)", x=2) == 6.0
    finally:
        del RULES["thrice"]  # other tests look at every rule


def test_names_may_be_in_any_script():
    assert value("变量**2", 变量=3) == 9.0


def test_line_breaks_are_spaces():
    assert value("  1 +\n 2\t") == 3.0


def test_a_long_sum_is_written_as_a_list():
    assert value(f"add([{','.join(['x'] * 5000)}])", x=1) == 5000.0


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8), st.data())
def test_random_expressions_have_pythons_value(numbers, data):
    text = repr(numbers[0])
    for each in numbers[1:]:
        text = f"({text} {data.draw(st.sampled_from('+-*'))} {each!r})"
    with Graph.scratch():
        assert value(text) == eval(text)


# --- what is refused --------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("   ", "is empty"),
        (5, "An expression is a text, not 5."),
        ("lgo(x)", "no function 'lgo' (character 1). Did you mean 'log'?"),
        ("1 + ln(x)", "(character 5). Did you mean 'log'?"),
        ("x + y", "'y' has no value (character 5). Give it one: y=1."),
        ("pi*x", "pi=3.14159"),
        ("math.log(x)", "'math' is no part of an expression (character 1). Write log(x), not math.log(x)."),
        ("log + 1", "'log' is a function (character 1). Call it: log(x)."),
        ("2x", "2*x, not 2x"),
        ("(x", "character 1: '(' was never closed"),
        ("x y", "character 3"),
        ("1 + sin x", "Put what a function is given in brackets: sin(x)."),
        ("x +", "character 3: it ends too early"),
        ("1e3 y", "functions such as log(x)"),
        ("x = 6", "after the expression: x=6"),
        ("x^2", "Write ** for a power."),
        ("0 < x < 1", "two things at a time"),
        ("x if x else 1", "where(condition, a, b)"),
        ("x and x", "product of comparisons"),
        ("x // 2", "'x // 2' has no meaning"),
        ("x.real", "'x.real' has no meaning"),
        ("x[0]", "no [0] to choose"),
        ("softmax([x, x])[2]", "no [2] to choose"),
        ("softmax(x)", "'softmax' cannot be applied (character 1). 'softmax' takes a list"),
        ("[x, x]", "Choose one"),
        ("log(x, x)", "takes 1 operand, not 2"),
        ("mish(x, x)", "Write mish(x)."),
        ("log([x])", "log takes a real number, not list"),
        ("add([])", "Write add([a, b, c])."),
        ("leaky_relu(x, alpha=1)", "number alone"),
        ("log(*x)", "'*x' has no meaning"),
        ("True + x", "'True' is not a real number"),
        ("-True + x", "'True' is not a real number"),
        ("2j*x", "'2j' is not a real number"),
        ("'a' + x", "'a' is not a real number"),
        ("1" + "0" * 400, "a float can hold"),
        ("__import__('os')", "no function '__import__'"),
        ("lambda: x", "no meaning in a graph"),
        ("x.__class__", "no meaning in a graph"),
        ("x\0", "null bytes"),
        ("x\udcff", "cannot be read"),
        ("变量(x)", "no function '变量' (character 1)"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_write(text, says):
    assert says in refusal(text, x=1)


def test_places_are_counted_in_characters_not_bytes():
    assert "(character 6)" in refusal("变量 + lgo(变量)", 变量=1)


def test_a_value_for_a_name_that_does_not_occur_is_refused():
    assert "'z' has a value but does not occur" in refusal("x", x=1, z=2)


@pytest.mark.parametrize("text", ["x" + "+x" * 20_000, "-" * 20_000 + "x", "x" + "**x" * 20_000, "(" * 5000 + "x"])
def test_a_text_too_deep_for_the_parser_is_refused(text):
    try:
        ast.parse(text)
    except (SyntaxError, RecursionError, MemoryError):
        assert refusal(text, x=1).startswith("The expression ")
    else:
        read(text, {"x": 1})  # newer Pythons parse as far as their stack reaches


def test_a_text_beyond_the_limit_is_refused_unread():
    assert "100,001 characters" in refusal("x" * 100_001)


def test_a_refusal_leaves_the_graph_as_it_was():
    read("x + 1", {"x": 1})
    refusal("x*x*x + lgo(x)", x=1)
    assert len(Graph.node_list) == 3


@given(st.text(max_size=30))
def test_any_text_at_all_is_read_or_refused(text):
    with Graph.scratch():
        try:
            read(text, {"x": 1})
        except ExpressionError:
            assert len(Graph.node_list) == 0
