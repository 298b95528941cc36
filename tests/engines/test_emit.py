"""Functions of floats, traced: each way through them once, each instruction once."""

import re
import struct
from types import SimpleNamespace

import pytest
from calling import at_once, one_by_one, units_apart
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph.core.catalogue import cos, greater, mul, sin
from naive_graph.core.rules import RULES
from naive_graph.engines.llvm.compile import object_code
from naive_graph.engines.llvm.emit import NotCompilable, literal, traceable
from naive_graph.engines.llvm.functions import LANES, Module, trace
from naive_graph.errors import ArityError

on_both_widths = pytest.mark.parametrize("width", [1, LANES])


@pytest.fixture
def learned():
    """Defines a learner's operator that is forgotten after the test."""
    before = set(RULES)

    def define(value, arity=1):
        partials = [lambda *_: 1.0] * arity
        rule = ng.operator("learned_here", value, partials)
        return rule

    yield define
    for name in set(RULES) - before:
        del RULES[name]


def check_same(rule, *columns):
    expected = [rule.value(*xs) for xs in zip(*columns, strict=True)]
    function = one_by_one.__wrapped__(rule, len(columns))
    for results in (at_once(rule, *columns), [function(*xs) for xs in zip(*columns, strict=True)]):
        assert [units_apart(one, other) for one, other in zip(results, expected, strict=True)] == [0] * len(expected)


@given(st.floats())
def test_a_literal_keeps_every_bit(x):
    assert struct.pack(">Q", int(literal(x), 16)) == struct.pack(">d", x)


@on_both_widths
def test_equal_instructions_are_written_once(width):
    text = trace(Module(width), "f", lambda x: (x * x + 1.0) + (x * x + 1.0), 1)
    assert text.count("fmul") == 1 and text.count("fadd") == 2


@on_both_widths
def test_a_function_of_the_module_is_written_once(width):
    module = Module(width)
    trace(module, "f", lambda x: sin(cos(x)) + sin(x), 1)
    assert [line.startswith("define") for line in str(module).splitlines() if re.search(r'@"sin/1(x8)?"\(', line)] == [
        True
    ]


@on_both_widths
def test_a_product_with_one_costs_nothing(width):
    assert "fmul" not in trace(Module(width), "f", lambda x: 1.0 * x * 1.0, 1)


NASTY = [0.0, -0.0, 1.5, float("inf"), float("-inf"), float("nan"), 5e-324, -2.0]


def test_products_with_one_and_minus_one_keep_every_bit(learned):
    check_same(learned(lambda a: mul(1.0, a, -1.0) + mul(-1.0, 1.0, -1.0)), NASTY)


def test_a_function_may_give_its_operand_or_a_constant(learned):
    check_same(learned(lambda a, b: b if a > 1.0 else -0.0, 2), NASTY, NASTY)


@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(-2, 2), min_size=LANES, max_size=LANES))
def test_every_lane_goes_its_own_way_through_nested_questions(xs):
    check_same(NESTED, xs, xs[::-1])


def _nested(a, b):
    if a > 0.0:
        return a * b if b > a else (a - b if b > 0.0 else a)
    if b >= 1.0 or a == b:
        return b
    return a + b if not a < -1.0 else 0.5


NESTED = SimpleNamespace()


@pytest.fixture(autouse=True, scope="module")
def nested_operator():
    global NESTED
    NESTED = ng.operator("nested_questions", _nested, [lambda a, b, y: 1.0] * 2)
    yield
    del RULES["nested_questions"]


def _many_ways(x):
    total = x
    for bound in range(10):
        total = total + (x if x * (bound + 2.0) > 1.0 else 1.0)
    return total


def _endless(x):
    while x > 0.0:
        x = x * 0.5
    return x


@on_both_widths
@pytest.mark.parametrize(
    ("function", "why"), [(_many_ways, "more than 512 ways through it"), (_endless, "more than 64 questions in a row")]
)
def test_a_function_with_too_many_ways_is_opaque(width, function, why):
    with pytest.raises(NotCompilable, match=why):
        trace(Module(width), "f", function, 1)


def test_a_question_that_is_asked_twice_has_one_answer(learned):
    check_same(learned(lambda a: (a if a > 0.0 else -a) + (1.0 if a > 0.0 else 2.0)), NASTY)


@on_both_widths
def test_a_rule_with_too_few_operands_is_refused(width):
    with pytest.raises(ArityError, match="'greater' takes 2 operands, not 1"):
        trace(Module(width), "f", lambda x: x.apply(greater, x), 1)


def test_a_function_of_pythons_own_is_called_as_it_is():
    assert traceable(abs) is abs and traceable(_endless) is _endless


@on_both_widths
def test_what_is_traced_is_llvm(width):
    module = Module(width)
    module.define("f", lambda x, y: sin(x) if x > y else cos(y).tanh() * x**y, 2)
    assert object_code(str(module).replace("internal", ""))
