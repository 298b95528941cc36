"""What a signal handler does between two of our lines leaves the graph right; a learner's own operators hold."""

import gc
import signal

import pytest

from naive_graph import Graph, Variable

timed = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without timers")


@pytest.fixture
def every_millisecond():
    """Calls a function, as often as 500 times, from a timer's signal.

    The system may give the signal to a thread of NumPy's, of which Python 3.11's loop does not hear: so there comes
    another one after a while.
    """
    rounds = []

    def soon():
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.2)

    def start(act):
        def came(number, frame):
            if len(rounds) < 500:
                rounds.append(1)
                act()
                soon()  # anew, so that none comes while one is served

        signal.signal(signal.SIGALRM, came)
        soon()
        return rounds

    before = signal.getsignal(signal.SIGALRM)
    yield start
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@timed
@pytest.mark.parametrize("held", [True, False])
def test_a_timer_that_builds_changes_nothing(every_millisecond, held):
    x, theirs, ours = Variable(0.5, name="x"), [], []

    def act():
        node = (x * 3.0).sin() + 1.0
        if held:
            theirs.append(node)

    rounds = every_millisecond(act)
    while len(rounds) < 500:
        ours.append((x + 2.0).cos() * x)
        if len(ours) % 50 == 0:
            gc.collect(0)
    assert all(each.formula() == "cos(x + 2)*x" for each in ours[::199])
    assert all(each.formula() == "sin(x*3) + 1" for each in theirs[::9])
    for node in Graph.node_list[::97]:
        assert node.in_deg == len(node.last) and all(operand.row < node.row for operand in node.last)


def test_a_learners_own_operator_of_nodes_is_always_called(monkeypatch):
    x, asked = Variable(2.0), []
    plain = type(x).__mro__[1].__add__
    monkeypatch.setattr(type(x).__mro__[1], "__add__", lambda self, other: asked.append(other) or plain(self, other))
    for _ in range(3):
        (x + x) + 1.0
    assert asked == [x, 1.0] * 3
