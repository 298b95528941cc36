"""Two functions of one number, computed at once, have the bits that each has alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import ODD
from taped import answers, asked_of, lowered

import naive_graph as ng
from naive_graph import Graph, Variable
from naive_graph.core.rules import RULES
from naive_graph.engines.compiled.generator import Generator
from naive_graph.engines.compiled.plan import CompiledPlan
from naive_graph.engines.compiled.runs import LevelRuns
from naive_graph.engines.llvm.pairs import PAIRS, partner
from naive_graph.engines.passes.ir import DOT, LARGEST, TOTAL

NUMBERS = st.one_of(st.floats(-3, 3), st.floats(width=32), st.sampled_from([*ODD, 1e5, 0.625, 355.0, 372.5, 88.0]))


@pytest.mark.parametrize("names", PAIRS)
@given(number=NUMBERS)
@settings(max_examples=30, deadline=None)
def test_both_results_have_the_bits_of_their_own_functions(names, number):
    with Graph.scratch():
        x = Variable(number)
        low = lowered([RULES[name](x) for name in names], [])
        together, alone = answers(CompiledPlan, low), answers(LevelRuns, low)
        missing = np.isnan(alone)
        assert np.array_equal(np.isnan(together), missing)
        assert together[~missing].tobytes() == alone[~missing].tobytes()


CALLS = [(ng.sin, "sin+cos"), (ng.cos, "sin+cos"), (ng.tanh, "tanh+sech_squared")]


@pytest.mark.parametrize(("function", "call"), CALLS)
def test_a_function_and_its_slope_are_one_call(function, call):
    x = Variable(0.5)
    low = lowered([function(x)], [x])
    lines = str(Generator(low.ir, [each.row for each in asked_of(low)])).splitlines()
    assert sum(" call " in line and f'@"{call}"' in line for line in lines) == 1


def test_an_operator_of_somebody_else_has_no_partner():
    mine = ng.operator("sinus", lambda a: ng.sin(a), [lambda a, y: ng.cos(a)])
    assert mine(Variable(0.0)) is not None
    assert partner(RULES["sin"].number) == ("sin", "cos")
    assert partner(RULES["sinus"].number) is None


def test_rows_of_a_plan_that_are_no_rules_have_no_partner():
    assert [partner(kind) for kind in (LARGEST, DOT, TOTAL)] == [None] * 3
