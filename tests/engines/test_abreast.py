"""Dots side by side: one in each lane of a register, what does not lie side by side copied before."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_graph import Graph, Program, Variable
from naive_graph.engines.tape import loops
from naive_graph.engines.tape.listing import WAYS, listing
from naive_graph.engines.tape.lowering import Lowering
from naive_graph.engines.tape.scalars import ABREAST, COPIES, HOWS
from naive_graph.engines.tape.tape import Tape
from naive_graph.graph.registry import CURRENT

SOME = [0.0, -0.0, 1.0, -1.0, 3.0, 1e-300, 0.1]


def matrix(dice, rows, columns):
    return [[Variable(dice.choice([*SOME, dice.gauss(0, 1)])) for _ in range(columns)] for _ in range(rows)]


def dot(xs, ys, first=0.0):
    return sum((x * y for x, y in zip(xs, ys, strict=True)), first)


def recurrence(dice, wide, new, steps):
    """A state that a matrix is multiplied by again and again, and to which something new is added each time."""
    on, into = matrix(dice, wide, wide), matrix(dice, wide, new)
    h, given = matrix(dice, 1, wide)[0], matrix(dice, steps, new)
    for x in given:
        h = [dot(line, h, dot(weights, x)) * 0.5 for line, weights in zip(on, into, strict=True)]
    return h, [each for line in [*on, *into, *given] for each in line]


def taped(outputs):
    """A tape of the rows as they are written: no samples are looked for, whose sums may be reordered."""
    lowering = Lowering(CURRENT.tables, [each.row for each in outputs], [], frozenset(), find=False)
    return Tape(lowering.flat, [at.row for at in lowering.values])


def values(outputs):
    """What the tape hands out, and what the reference engine computes."""
    tape = taped(outputs)
    with memoryview(CURRENT.tables.values) as view:
        tape.run(view)
    return tape.out[:-1].tobytes(), np.array(Program(outputs, [], engine="reference")()[0]).tobytes()


def instructions(outputs):
    """Those of the tape's scalars: how each goes, and how many rows it has."""
    parts = [part for parts in taped(outputs).written.values() for part in parts]
    return [(what % HOWS, rows) for _, code, _ in parts for what, rows, _ in code.reshape(-1, 3).tolist()]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 19), st.integers(1, 9), st.integers(1, 6))
def test_dots_side_by_side_have_the_bits_of_their_written_order(seed, wide, new, steps):
    with Graph.scratch():
        outputs, leaves = recurrence(random.Random(seed), wide, new, steps)
        ours, right = values(outputs)
        assert ours == right
        loss = sum(each * each for each in outputs)
        (_, ours), (_, right) = (Program(loss, leaves, engine=engine)() for engine in ("tape", "reference"))
        assert np.allclose(ours, right, rtol=1e-9, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(3, 40), st.integers(1, 5))
def test_dots_of_anything_have_the_bits_of_their_written_order(seed, count, terms):
    """Factors from anywhere, shared or not, in any order."""
    with Graph.scratch():
        dice = random.Random(seed)
        xs = [each * 0.5 for each in matrix(dice, 1, 12)[0]]
        ways = [lambda at: xs[at % 12], lambda at: xs[0], lambda at: dice.choice(xs)]
        sides = [[dice.choice(ways) for _ in range(terms)] for _ in "xy"]
        outputs = [dot(*([pick(at) for pick in side] for side in sides), xs[0]) for at in range(count)]
        ours, right = values([*dict.fromkeys([*outputs, *xs])])
        assert ours == right


def test_a_matrix_is_copied_once_however_often_it_is_used(monkeypatch):
    monkeypatch.setattr(loops, "LEAST", 10**9)
    with Graph.scratch():
        few, many = (instructions(recurrence(random.Random(1), 8, 3, steps)[0]) for steps in (5, 50))
        assert sum(rows for how, rows in many if how == ABREAST) >= 8 * 50
        copied = [sum(rows for how, rows in each if how == COPIES) for each in (few, many)]
        assert copied[1] - copied[0] <= 45 * 8  # the new numbers of each step, and no weight


def test_what_an_instruction_left_side_by_side_is_not_copied():
    with Graph.scratch():
        xs = [each.sin() for each in matrix(random.Random(1), 1, 8)[0]]
        found = instructions([x * x + x for x in xs])
        assert (ABREAST, 8) in found and not any(how == COPIES for how, _ in found)


def test_a_listing_names_what_goes_side_by_side():
    with Graph.scratch():
        h, _ = recurrence(random.Random(1), 8, 3, 2)
        found = listing(h[0].tables, [each.row for each in h]).instructions
        assert {each.way for each in found if each.name == "dot"} >= {WAYS[ABREAST]}
        left = [slot for each in found for slot in range(each.first, each.first + each.rows)]
        assert len(left) == len(set(left))
