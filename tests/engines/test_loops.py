"""Bodies that come again and again: what is found, and that a loop over them gives the numbers of single rows."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Program, Variable
from naive_graph.engines.tape import loops as loops_file
from naive_graph.engines.tape.loops import LARGE, Bodies
from naive_graph.errors import NumericWarning
from naive_graph.program.backends import CompiledBackend, Query

ONE = [lambda x: x.sin(), lambda x: x.tanh(), lambda x: ng.sigmoid(x), lambda x: x.cos(), lambda x: (x * x + 1.0).log()]
TWO = [lambda x, y: x + y, lambda x, y: x - y * 0.5, lambda x, y: x * y * 0.3, lambda x, y: x / (y * y + 1.0)]


def repeated(dice, steps):
    """Some carried numbers, a random body over them and over what never changes, so many times. The loss, the leaves.

    Its leaves are among what it takes, new ones in every step, and in one step in three what was carried two steps ago.
    """
    shared = [Variable(dice.uniform(-1, 1)) for _ in range(3)]
    carried = [Variable(dice.uniform(-1, 1)) for _ in range(dice.randint(1, 3))]
    leaves, older, loss = [*shared, *carried], carried, 0.0
    plan = [(dice.random() < 0.5, dice.randrange(60), dice.randrange(60), dice.randrange(60)) for _ in range(7)]
    for step in range(steps):
        new = Variable(math.sin(step))
        leaves.append(new)
        here = [*shared, *carried, *older, new]
        for single, which, left, right in plan:
            x, y = here[left % len(here)], here[right % len(here)]
            here.append(ONE[which % len(ONE)](x) if single else TWO[which % len(TWO)](x, y))
        older, carried = carried, [(x * 0.5 + y).tanh() for x, y in zip(carried, here[-len(carried) :], strict=True)]
        loss = loss + carried[0] * shared[0]
    return loss, leaves


def compiled(loss, leaves):
    return CompiledBackend(Query(loss.tables, [loss.row], [each.row for each in leaves], engine="tape"))


def answers(backend):
    """The value and the slopes as the tape left them."""
    code = backend.taken()
    with memoryview(backend.tables.values) as view:
        code.run(view)
    return [float(each) for pick in backend.picks for each in np.ravel(pick.reader(code)())]


def found(backend):
    return [each for parts in backend.tape.runs.values() for each in parts if isinstance(each, Bodies)]


def without(monkeypatch):
    """No body comes often enough."""
    monkeypatch.setattr(loops_file, "LEAST", 10**9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(40, 200))
def test_a_loop_gives_the_bits_of_single_rows_and_the_numbers_of_the_reference(seed, steps):
    with Graph.scratch(), pytest.MonkeyPatch.context() as patched:
        loss, leaves = repeated(random.Random(seed), steps)
        value, *slopes = answers(compiled(loss, leaves))
        right, exact = Program(loss, leaves, engine="reference")()
        without(patched)
        assert [value, *slopes] == answers(compiled(loss, leaves))
        assert np.isclose(value, right, rtol=1e-9)
        assert np.allclose(slopes, exact, rtol=1e-7, atol=1e-9)


def test_loops_are_found_in_those_programs(monkeypatch):
    """Else the law above would say nothing; and none is found once they are switched off."""
    with Graph.scratch():
        programs = [repeated(random.Random(seed), 150) for seed in range(10)]
        assert all(found(compiled(*each)) for each in programs)
        without(monkeypatch)
        assert not any(found(compiled(*each)) for each in programs)


def spring(steps):
    x, v, k = Variable(1.0), Variable(0.0), Variable(0.3)
    leaves = [x, v, k]
    for _ in range(steps):
        x, v = x + v * 0.1, v - k * x.sin() * 0.1
    return x * x + v, leaves


def test_code_does_not_grow_with_the_steps():
    with Graph.scratch():
        short, long = (found(compiled(*spring(steps))) for steps in (200, 2_000))
        assert [each.kernel for each in short] == [each.kernel for each in long]
        assert all(each.size <= LARGE for each in long)


def test_a_long_recurrence_goes_through_the_passes_and_says_what_it_found():
    with Graph.scratch():
        program = Program(*spring(3_000))
        value, slopes = program()
        assert "a body of" in program.explain()
        right, exact = Program(program.outputs[0], program.wrt, engine="reference")()
        assert value == pytest.approx(right, rel=1e-12)
        assert slopes == pytest.approx(exact, rel=1e-9)


def test_what_goes_side_by_side_is_no_loop():
    """A rod that evens out: the places of a step do not wait for each other."""
    with Graph.scratch():
        c, u = Variable(0.1), [Variable(math.sin(place)) for place in range(60)]
        leaves = [c, *u]
        for _ in range(20):
            u = [u[0], *(b + c * (a - b * 2.0 + d) for a, b, d in zip(u, u[1:], u[2:], strict=False)), u[-1]]
        assert not found(compiled(sum(each * each for each in u), leaves))


def recurrent(wide, steps=40):
    """Three numbers carried on, and at each step so many new ones."""
    rows = [[Variable(math.sin(3 * row + at) / wide) for at in range(3 + wide)] for row in range(3)]
    h, loss = [Variable(0.1 * row) for row in range(3)], 0.0
    for step in range(steps):
        new = [Variable(math.cos(step * at)) for at in range(wide)]
        h = [sum(w * x for w, x in zip(row, [*h, *new], strict=True)).tanh() for row in rows]
        loss = (loss + h[0] * h[1]).sin()
    return loss, rows[0]


def test_a_wide_body_is_no_loop():
    """It would take LLVM long, or too long: then no engine but the reference one could have the program."""
    with Graph.scratch():
        assert len(found(compiled(*recurrent(wide=5)))) == 2
        wide = compiled(*recurrent(wide=150))
        assert len(found(wide)) == 1  # what goes back is narrow
        value, *slopes = answers(wide)
        right, exact = Program(*recurrent(wide=150), engine="reference")()
        assert [value, *slopes] == pytest.approx([right, *exact], rel=1e-9, abs=1e-12)


def test_a_body_whose_operators_come_again_sooner_than_what_they_take_is_a_loop():
    """Three units of one kind: an operator is met again after a third of a step, its operands after a whole one."""
    with Graph.scratch():
        rows = [[Variable(math.sin(3 * row + at)) for at in range(3)] for row in range(3)]
        h = [Variable(0.1 * row) for row in range(3)]
        for _ in range(300):
            h = [sum(w * x for w, x in zip(row, h, strict=True)).tanh() for row in rows]
        backend = compiled(h[0] * h[1], rows[0])
        assert len(found(backend)) == 2
        value, *slopes = answers(backend)
        right, exact = Program(h[0] * h[1], rows[0], engine="reference")()
        assert [value, *slopes] == pytest.approx([right, *exact], rel=1e-9, abs=1e-12)


def test_a_body_that_looks_back_differently_each_time_is_still_a_loop():
    with Graph.scratch():
        dice, seen = random.Random(3), [Variable(0.5)]
        for _ in range(400):
            seen.append((seen[-1] * dice.choice(seen[:-30] or seen[:1]) + 0.3).sin())
        backend = compiled(seen[-1], seen[:1])
        assert found(backend)
        value, slopes = Program(seen[-1], seen[:1], engine="tape")()
        right, exact = Program(seen[-1], seen[:1], engine="reference")()
        assert (value, slopes[0]) == pytest.approx((right, exact[0]), rel=1e-9)


def test_fed_numbers_and_minimize_go_through_loops():
    with Graph.scratch():
        start, rate = PlaceHolder(), Variable(0.4)
        x = start
        for _ in range(300):
            x = (x * rate).sin() + x * 0.5
        error = x - 0.2
        program = Program(error * error, [rate], inputs=[start], engine="tape")
        assert "a body of" in program.explain()
        for fed in (0.3, -1.2):
            right, exact = Program(error * error, [rate], inputs=[start], engine="reference")(fed)
            value, slopes = program(fed)
            assert (value, slopes[0]) == pytest.approx((right, exact[0]), rel=1e-9, abs=1e-15)


def test_bad_numbers_inside_a_loop_are_told():
    with Graph.scratch():
        x = y = Variable(2.0)
        for _ in range(400):
            y = y * y * 1.5 + x
        with pytest.warns(NumericWarning):
            Program(y, [x], engine="tape")()
