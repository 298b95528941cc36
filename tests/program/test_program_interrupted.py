"""Whatever comes between two lines of a call, a Ctrl-C or another question, the answers stay right."""

import random
import threading
from contextlib import suppress
from itertools import count

import numpy as np
import pytest
from at_lines import at_line

from naive_graph import Graph, PlaceHolder, Program, Variable, mean, total
from naive_graph.engines.llvm import compile
from naive_graph.errors import ReentrantCallError
from naive_graph.graph.node_factory import CURRENT
from naive_graph.program import backends
from naive_graph.program.backends import DirectBackend

DICE = np.random.default_rng(7)
XS = {size: DICE.normal(size=(size, 2)) for size in (1, 3, 8, 37, 130)}


def batches(engine):
    """A question that takes batches of any size."""
    w, x = [Variable(v) for v in (0.5, -0.3, 0.2)], [PlaceHolder(), PlaceHolder()]
    program = Program(mean((w[0] * x[0] + w[1] * x[1] + w[2]).tanh() ** 2), w, inputs=[x], engine=engine)
    return [lambda xs=xs: program(xs) for xs in XS.values()]


def lines(engine):
    """One that gives a line for each sample, and its weights lie in an array."""
    w, x, array = Variable(0.0), [PlaceHolder(), PlaceHolder()], np.array([0.7])
    program = Program((w * x[0] - x[1]).sin() * w, [w], inputs=[x], engine=engine, weights=array)
    return [lambda xs=xs: program(xs) for xs in XS.values()]


def numbers(engine):
    """One that takes numbers one by one, or in an array, in which samples are hidden."""
    w, xs = Variable(0.3), [PlaceHolder() for _ in range(9)]
    program = Program(Graph.sum([(w * x - 1.0).tanh() ** 2 for x in xs]), [w], inputs=[xs], engine=engine)
    p = [PlaceHolder(), PlaceHolder()]
    other = Program((w * p[0]).sin() + p[1], [w, *p], inputs=p, engine=engine)
    arrays = DICE.normal(size=(3, 9))
    return [*(lambda x=x: program(x) for x in arrays), *(lambda v=v: other(v, 2.0 * v) for v in (1.0, -0.5, 3.0))]


def on_the_tables(engine):
    """One that is too large for the passes."""
    x, p = Variable(0.4), PlaceHolder()
    y = x
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(backends, "MOST_ROWS", 10)
        for k in range(30):
            y = (y * (p if k % 3 else x) + 0.1 * k).sin()
        program = Program(y, [x], inputs=[p])
        program(0.5)
    assert isinstance(next(iter(program._backends.values())), DirectBackend)
    return [lambda v=v: program(v) for v in (0.5, -0.25, 2.0)]


def walks(engine):
    """Walks downhill, all from the same place."""
    w, x = [Variable(0.0), Variable(0.0)], PlaceHolder()
    program = Program(total((w[0] * x + w[1] - x * x) ** 2), w, inputs=[x], engine=engine)

    def walk(xs):
        program.weights = np.zeros(2)
        return [program.minimize(0.01, 5, xs)]

    return [lambda xs=xs[:, 0]: walk(xs) for xs in list(XS.values())[:3]]


KINDS = [
    (batches, "compiled"), (lines, "compiled"), (numbers, "compiled"), (numbers, "runs"), (on_the_tables, None),
    (walks, "compiled"),
]  # fmt: skip
of_each_kind = pytest.mark.parametrize(("kind", "engine"), KINDS)


def flat(answer):
    return [np.asarray(each) for each in answer]


def alike(one, other):
    return all(np.array_equal(a, b) for a, b in zip(flat(one), flat(other), strict=True))


def raise_interrupt():
    raise KeyboardInterrupt


def every_line(ask, act, check, step=1):
    """What is done at each line of a call in turn, with a check after each."""
    for number in count(0, step):
        with suppress(KeyboardInterrupt), at_line(number, act) as done:
            ask()
        check()
        if not done:
            return


def nobody_holds(lock):
    """Another thread can have it: whoever holds it may take it again."""
    found = []
    thread = threading.Thread(target=lambda: found.append(lock.acquire(timeout=60.0) and not lock.release()))
    thread.start()
    thread.join()
    return found[0]


@of_each_kind
def test_after_a_ctrl_c_at_any_line_a_program_answers_as_before(kind, engine):
    asks = kind(engine)
    law = [ask() for ask in asks]
    dice = random.Random(3)
    warm = 2  # the long way, and then the short one

    step = 29 if kind is walks else 3  # a walk is written down anew each time, in thousands of lines

    def check():
        for place in dice.sample(range(len(asks)), 2):
            assert alike(asks[place](), law[place])

    for ask in asks[:3]:
        for _ in range(warm):
            ask()
        every_line(ask, raise_interrupt, check, step)
    for lock in (CURRENT.tables.lock, compile.LOCK._lock):
        assert nobody_holds(lock)


@of_each_kind
def test_nodes_that_are_built_inside_a_question_change_nothing(kind, engine):
    """Nor when they are written into the columns between two questions."""
    asks = kind(engine)
    law = [ask() for ask in asks]

    def build():
        node = Variable(1.0)
        for _ in range(60):
            node = node * 2.0

    for place in (0, len(asks) - 1):
        for number in count(0, 67 if kind is walks else 7):
            with at_line(number, build) as done:
                found = asks[place]()
            assert alike(found, law[place]) and alike(asks[place](), law[place])
            if not done:
                break


@pytest.mark.parametrize(("kind", "engine"), KINDS[:-1])  # a walk inside a walk moves its Variables
def test_a_question_that_is_asked_inside_itself_gets_its_own_answer_or_is_refused(kind, engine):
    asks = kind(engine)
    law = [ask() for ask in asks]
    dice = random.Random(5)

    def inner():
        place = dice.randrange(len(asks))
        with suppress(ReentrantCallError):
            assert alike(asks[place](), law[place])

    for place in (0, len(asks) - 1):
        for number in count(0, 3):
            with at_line(number, inner) as done:
                found = asks[place]()
            assert alike(found, law[place])
            if not done:
                break
