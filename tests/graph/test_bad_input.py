"""A beginner's wrong inputs: the accepted value or a clear error, and the graph as it was."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from graphs import snapshot

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable
from naive_graph.core.compositions import COMPOSITIONS
from naive_graph.core.rules import RULES, Arithmetic
from naive_graph.errors import (
    ArityError,
    ForeignNodeError,
    NaiveGraphError,
    NodeError,
    NumberError,
    OperandError,
    OperatorNameError,
    StaleNodeError,
)

ACCEPTED = [
    (3, 3.0),
    (Fraction(1, 4), 0.25),
    (Decimal("0.5"), 0.5),
    (np.float64(2.5), 2.5),
    (np.float32(2.5), 2.5),
    (np.int64(7), 7.0),
    (math.inf, math.inf),
    (-0.0, -0.0),
    (5e-324, 5e-324),
    (10**308, 1e308),
]
REFUSED = [
    True,
    np.bool_(True),
    "3",
    b"3",
    None,
    1j,
    [1.0],
    (1.0,),
    {},
    np.array([1.0, 2.0]),
    np.array(True),
    np.array([1.0]),
    10**400,
    10**10_000,
    Fraction(10**400),
    Decimal("1e400"),
    Decimal("sNaN"),
    object(),
    Variable,
    print,
]


@pytest.mark.parametrize(("given", "value"), ACCEPTED, ids=repr)
def test_every_real_number_becomes_a_float(given, value):
    assert repr(Variable(given).value) == repr(Constant(given).value) == repr(value)
    x = Variable(1.0)
    assert (x + given).last[1].value == value and (given - x).last[0].value == value


@pytest.mark.parametrize("wrong", REFUSED, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize("make", [Variable, Constant])
def test_what_is_no_real_number_makes_no_leaf(make, wrong):
    before = snapshot()
    with pytest.raises(NumberError, match=r"takes a (real )?number"):
        make(wrong)
    assert snapshot() == before


@pytest.mark.parametrize("wrong", REFUSED, ids=lambda wrong: type(wrong).__name__)
@pytest.mark.parametrize(
    "ask",
    [
        lambda x, wrong: x + wrong,
        lambda x, wrong: wrong * x,
        lambda x, wrong: x**wrong,
        lambda x, wrong: ng.where(x, wrong, x),
        lambda x, wrong: Graph.sum([x, wrong]),
        lambda x, wrong: Graph.forward(feed={x: wrong}),
        lambda x, wrong: setattr(x, "value", wrong),
        lambda x, wrong: setattr(x, "grad", wrong),
    ],
)
def test_what_is_no_real_number_is_refused_everywhere_and_the_graph_is_as_it_was(ask, wrong):
    x = PlaceHolder(name="x")
    x.value = 1.0
    before = snapshot()
    with pytest.raises((NaiveGraphError, TypeError)):
        ask(x, wrong)
    assert snapshot() == before


def test_an_int_too_large_for_a_float_says_so():
    with pytest.raises(NumberError, match="Scale it down"):
        Variable(10**400)


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        ("3", r"float\(text\)"),
        (None, "forget to return"),
        (1j, r"z\.real"),
        ([1.0], "one node for each"),
        (True, "1.0"),
    ],
)
def test_the_message_says_how_to_mend_it(wrong, advice):
    with pytest.raises(OperandError, match=advice):
        _ = Variable(1.0) + wrong


@pytest.mark.parametrize(
    ("ask", "advice"),
    [
        (lambda x: bool(x), "where"),
        (lambda x: 1 if x > 0 else 2, "where"),
        (lambda x: float(x), "node.value"),
        (lambda x: math.sin(x), "naive_graph.sin"),
        (lambda x: [0, 1][x], "node.value"),
    ],
)
def test_a_node_taken_for_a_number_says_what_to_do_instead(ask, advice):
    with pytest.raises(OperandError, match=advice):
        ask(Variable(1.0))


def test_numpy_scalars_on_the_left_make_nodes():
    y = np.float64(2.0) * Variable(3.0)
    Graph.forward(y)
    assert y.value == 6.0


@pytest.mark.parametrize("ask", [lambda x: np.array([1, 2]) * x, lambda x: x * np.array([1, 2])])
def test_numpy_never_spreads_a_node_over_an_array(ask):
    with pytest.raises(TypeError):
        ask(Variable(1.0))


@pytest.mark.parametrize("wrong", [3, "", b"x", ["x"]])
def test_a_name_is_a_text(wrong):
    before = snapshot()
    with pytest.raises(NodeError, match="name is a text"):
        Variable(1.0, name=wrong)
    assert snapshot() == before


def test_values_that_are_computed_or_fixed_cannot_be_set():
    x, c = Variable(1.0), Constant(2.0)
    y = x * c
    for node in (y, c):
        with pytest.raises(NodeError, match="cannot be set"):
            node.value = 3.0
    with pytest.raises(NodeError, match="no gradient"):
        c.grad = 1.0


def test_a_bare_node_cannot_be_made():
    with pytest.raises(NodeError, match="Make a Constant"):
        ng.Node()


def test_a_node_cannot_be_pickled():
    with pytest.raises(NodeError, match="pickled"):
        pickle.dumps(Variable(1.0))


@pytest.mark.parametrize("wrong", ["loud", None, 1])
def test_on_invalid_takes_three_words(wrong):
    with pytest.raises(NodeError, match='"warn", "raise" or "ignore"'):
        Graph.on_invalid = wrong


@pytest.mark.parametrize(
    "ask",
    [lambda: ng.sin(), lambda: ng.sin(1.0, 2.0), lambda: ng.sub(1.0), lambda: ng.add(), lambda: ng.sub(Variable(1.0))],
)
def test_a_wrong_number_of_operands_is_refused(ask):
    rows = len(Graph.node_list)
    with pytest.raises(ArityError, match="Write"):
        ask()
    assert len(Graph.node_list) - rows <= 1


def test_a_node_of_another_graph_is_refused():
    x = Variable(1.0)
    with Graph.scratch():
        with pytest.raises(ForeignNodeError, match="another graph"):
            _ = x + 1
        with pytest.raises(ForeignNodeError):
            Graph.forward(x)
        assert len(Graph.node_list) == 0


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x + 1,
        lambda x: 1 - x,
        lambda x: x.sin(),
        lambda x: ng.exp(x),
        lambda x: Graph.forward(x),
        lambda x: Graph.backward(x),
        lambda x: x.value,
        lambda x: setattr(x, "value", 2.0),
        lambda x: x.grad,
        lambda x: x.last,
        lambda x: x.name,
        lambda x: x.formula(),
        lambda x: Variable(2.0) + x,
        lambda x: ng.gradients(x, x),
    ],
)
def test_a_stale_node_is_refused_everywhere(use):
    x = Variable(1.0)
    Graph.clear()
    with pytest.raises(StaleNodeError, match="Build it again"):
        use(x)
    assert repr(x) == "<stale Variable>"


# --- operators of one's own ---


@pytest.fixture
def define():
    made = []

    def operator(name, *arguments, **rest):
        rule = ng.operator(name, *arguments, **rest)
        made.append(name)
        return rule

    yield operator
    for name in made:
        del RULES[name]
        if name in vars(Arithmetic):
            delattr(Arithmetic, name)


def test_an_operator_of_ones_own_works_in_every_mode(define):
    softclip = define(
        "softclip",
        value=lambda a: math.log1p(math.exp(a)) - math.log1p(math.exp(a - 1)),
        partials=[lambda a, y: ng.sigmoid(a) - ng.sigmoid(a - 1)],
    )
    x = Variable(0.3, name="x")
    y = softclip(x) + x.softclip()
    Graph.forward()
    Graph.backward(y)
    slope = 2 * (ng.sigmoid(0.3) - ng.sigmoid(-0.7))
    assert x.grad == pytest.approx(slope, rel=1e-15) and ng.tangent(y, {x: 1.0}) == x.grad
    assert y.formula() == "softclip(x) + softclip(x)" and ng.gradcheck(y)
    assert ng.gradcheck(ng.gradients(y, x))
    assert "softclip" in ng.draw(y).svg


def test_an_operators_name_is_taken_once(define):
    define("once_only", lambda a: a, [lambda a, y: 1.0])
    with pytest.raises(OperatorNameError, match="exists already"):
        define("once_only", lambda a: a, [lambda a, y: 1.0])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("sin", lambda a: a, [None]), OperatorNameError),
        (("two words", lambda a: a, [None]), OperatorNameError),
        ((3, lambda a: a, [None]), OperatorNameError),
        (("mine", 3, [None]), OperandError),
        (("mine", lambda a: a, []), OperandError),
        (("mine", lambda a: a, None), OperandError),
        (("mine", lambda a: a, [3]), OperandError),
    ],
)
def test_a_bad_definition_is_refused_and_defines_nothing(arguments, error):
    before = dict(RULES)
    with pytest.raises(error):
        ng.operator(*arguments)
    assert before == RULES


@pytest.mark.parametrize("wrong", [None, True, 1j, "1", [1.0]])
def test_an_operator_that_gives_no_number_is_named_and_leaves_the_graph_as_it_was(define, wrong):
    y = define("giving_nothing", lambda a: wrong, [lambda a, y: 1.0])(Variable(1.0))
    before = snapshot()
    with pytest.raises(NumberError, match="operator 'giving_nothing'"):
        Graph.forward(y)
    assert {**snapshot(), "values": before["values"], "stamps": before["stamps"]} == before and y.value is None


@pytest.mark.parametrize(("ask", "error", "mend"), [
    (lambda x: ng.check_operator(x), OperatorNameError, "There is no operator of numbers"),
    (lambda x: ng.check_operator("sin"), OperandError, r"points, as in check_operator\('sin'"),
    (lambda x: x.exp2(1), ArityError, "takes 2 operands"),
    (lambda x: x.sin(1), ArityError, r"'sin' takes 1 operand, not 2\. Write sin\(a\)"),
    (lambda x: x.sin(axis=0), ArityError, r"'sin' takes no axis="),
    (lambda x: np.sinc(x), AttributeError, "one of naive_graph's functions"),
])  # fmt: skip
def test_what_is_asked_of_an_operator_in_another_form_is_named_in_words(ask, error, mend):
    with pytest.raises(error, match=mend):
        ask(Variable(1.0))


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_what_is_refused_beside_a_number_leaves_no_node_for_it(name):
    beside = [("text",), (1.0, "text"), (None,) * 12, ()], [{}, {"no_such_property": 1.0}]
    for nodes, others, named in product([(), (Variable(1.0),)], *beside):
        before = snapshot()
        try:
            getattr(Graph, name)(1.0, *nodes, *others, **named)
        except NaiveGraphError:
            assert snapshot() == before


@pytest.mark.parametrize("call", [ng.gradients, lambda y, wrt: ng.Program(y, wrt=wrt), lambda y, wrt: ng.Program(wrt)])
def test_a_mistake_inside_a_generator_of_nodes_is_not_told_as_one_of_the_call(call):
    x = Variable(1.0)
    with pytest.raises(TypeError, match="unsupported operand"):
        call(x * x, (1 + item for item in [None]))
