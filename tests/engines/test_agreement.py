"""What holds between engines: arithmetic has the same bits, library functions are within 2 units in the last place."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_rules_compiled import EXACT

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program
from naive_graph.core.rules import RULES

OF_A_BATCH = {"total", "mean", "where"}
NAMES = [name for name, rule in RULES.items() if not rule.helper and hasattr(ng, name) and name not in OF_A_BATCH]
NUMBER = st.one_of(st.floats(-3, 3), st.floats(-800, 800), st.floats())


def asked(engine):
    """A Program of all functions of two numbers, p and q."""
    p, q = PlaceHolder(), PlaceHolder()
    return Program([RULES[name](*[p, q][: RULES[name].arity]) for name in NAMES], inputs=[p, q], engine=engine)


def lawful(a, b):
    return [RULES[name](*[a, b][: RULES[name].arity]) for name in NAMES]


def check_near(found, theirs, a, b):
    for name, one, other in zip(NAMES, found, theirs, strict=True):
        if name in EXACT:
            assert one == other or (one != one and other != other), (name, a, b, one, other)
        elif not (one == other or (one != one and other != other)):
            size = max(abs(a), abs(b)) if name == "logsumexp" else 0.0  # whose two terms may cancel
            assert abs(one - other) <= 2 * math.ulp(max(abs(other), size)), (name, a, b, one, other)


@pytest.mark.parametrize("engine", [None, "compiled"])
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(NUMBER, NUMBER), min_size=1, max_size=20))
def test_single_calls_and_batches_are_the_references_within_two_units(engine, points):
    with Graph.scratch():
        Graph.on_invalid = "ignore"
        program, columns = asked(engine), np.array(points).T
        lines = program(*columns).value
        for place, (a, b) in enumerate(points):
            theirs = lawful(a, b)
            check_near([float(line[place]) for line in lines], theirs, a, b)
            check_near(program(a, b).value, theirs, a, b)
