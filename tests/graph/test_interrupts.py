"""Ctrl-C at any point of any call leaves the graph consistent, unlocked and right."""

import gc
import opcode
import signal
import sys
import threading
from fractions import Fraction

import pytest
from graphs import check_consistent

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable
from naive_graph.cli.expression import read
from naive_graph.core import fork_safety
from naive_graph.errors import StaleGraphError
from naive_graph.graph.registry import CURRENT

# Python looks for signals when it enters a function, after a call of something written in C, and on jumping back.
LOOKS = {opcode.opmap[name] for name in ("RESUME", "CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD") if name in opcode.opmap}
OURS = ("naive_graph", "contextlib")


class Interrupt:
    """A trace function that raises KeyboardInterrupt at the n-th point where Python would look for a signal."""

    def __init__(self, at):
        self.left = at
        self.struck = False
        self.last = {}

    def __call__(self, frame, event, argument):
        if event == "call":
            self.last.pop(frame.f_back, None)  # a call of something written in Python is looked at inside
        code = frame.f_code
        if not any(part in code.co_filename for part in OURS) or "tests" in code.co_filename:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            before, self.last[frame] = self.last.get(frame), frame.f_lasti
            if before is not None and code.co_code[before] in LOOKS:
                self.left -= 1
                if self.left == 0:
                    self.strike()
        return self

    def strike(self):
        self.struck = True
        sys.settrace(None)
        raise KeyboardInterrupt


class InterruptAsSent(Interrupt):
    """Sends the signal at the n-th such point, which can be held back."""

    def strike(self):
        self.struck = True
        sys.settrace(None)
        signal.raise_signal(signal.SIGINT)


class InterruptAtLine(Interrupt):
    """Raises KeyboardInterrupt at the n-th line, signal or not: what a debugger can do."""

    def __call__(self, frame, event, argument):
        if "naive_graph" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                self.strike()
        return self


def interrupted(act, interrupt):
    """Whether the interrupt struck."""
    before = sys.gettrace()
    sys.settrace(interrupt)
    try:
        act()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
        interrupt.last.clear()
    return interrupt.struck


def in_a_scope(x):
    with ng.scope("inside"):
        return x * x


def in_scratch():
    with Graph.scratch():
        return Variable(1.0) * 2.0


ACTS = {
    "x + y": lambda x, y, p: x + y,
    "x * 2": lambda x, y, p: x * 2.0,
    "a sum goes on": lambda x, y, p: y + x + 2.0,
    "Variable": lambda x, y, p: Variable(1.0, name="new"),
    "method": lambda x, y, p: x.sin(),
    "function": lambda x, y, p: ng.maximum(x, 2),
    "sum": lambda x, y, p: Graph.sum([x, y, 1.0]),
    "neighbours": lambda x, y, p: (y.last, x.next),
    "forward": lambda x, y, p: Graph.forward(feed={p: 7.0}),
    "backward": lambda x, y, p: Graph.backward(y),
    "accumulate": lambda x, y, p: Graph.backward(y, accumulate=True),
    "kill_grad": lambda x, y, p: Graph.kill_grad(),
    "gradients": lambda x, y, p: ng.gradients(y, x),
    "gradcheck": lambda x, y, p: ng.gradcheck(y),
    "scope": lambda x, y, p: in_a_scope(x),
    "scratch": lambda x, y, p: in_scratch(),
    "build_edge": lambda x, y, p: x.build_edge(y),
    "set value": lambda x, y, p: setattr(x, "value", 9.0),
    "set grad": lambda x, y, p: setattr(x, "grad", 9.0),
    "set name": lambda x, y, p: setattr(x, "name", "z"),
    "revert": lambda x, y, p: (Graph.checkpoint(), x * y, Graph.revert()),
    "clear": lambda x, y, p: Graph.clear(),
    "renew": lambda x, y, p: Graph.renew(),
}


def small_graph():
    """y = x**2 + p, evaluated and differentiated at 4 and 3; the gradients are those of 2 and 3."""
    x, p = Variable(2.0, name="x"), PlaceHolder(name="p")
    p.value = 3.0
    y = x * x + p
    Graph.forward()
    Graph.backward(y)
    x.value = 4.0
    Graph.forward()
    return x, y, p


def unlocked():
    """Whether another thread could use the graph."""
    found = []

    def probe():
        found.append(CURRENT.tables.lock.acquire(timeout=5))
        CURRENT.tables.lock.release()

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return found == [True]


def check_usable(x, y, p):
    """What was built is right after a forward, and nothing stale is used before it."""
    check_consistent()
    if not len(Graph.node_list):  # it was cleared
        w = Variable(3.0) * 2.0
        Graph.forward()
        assert w.value == 6.0
        return
    drawn = y.in_deg - 2  # an edge x -> y may have been drawn
    right = x.value**2 + p.value + drawn * x.value
    try:
        Graph.backward(y)
        assert (y.value, x.grad) == (right, 2 * x.value + drawn)
    except StaleGraphError:
        pass
    z = x * y + 1.0
    assert z.scope is None
    Graph.forward()
    Graph.backward(z)
    assert (y.value, z.value) == (right, x.value * right + 1.0)
    assert x.grad == right + x.value * (2 * x.value + drawn)


def strike_everywhere(name, kind, check_lock):
    at, struck = 0, True
    while struck:
        at += 1 if at < 400 else 97  # every point of what is short, a sample of what is long
        with Graph.scratch():
            home = CURRENT.tables
            nodes = small_graph()
            interrupt = kind(at)
            struck = interrupted(lambda nodes=nodes: ACTS[name](*nodes), interrupt)
            assert CURRENT.tables is home or name in ("clear", "renew")
            assert not check_lock or unlocked()
            assert gc.isenabled()
            check_usable(*nodes)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="LOOKS describes Python 3.11")
@pytest.mark.parametrize("name", ACTS)
def test_ctrl_c_wherever_python_looks_for_it_leaves_the_graph_right(name):
    strike_everywhere(name, Interrupt, check_lock=True)


@pytest.mark.parametrize("name", [name for name in ACTS if name not in ("scope", "scratch")])
def test_an_exception_at_any_line_leaves_the_graph_right(name):
    strike_everywhere(name, InterruptAtLine, check_lock=False)


def locks_are_free():
    """Whether another thread could take each lock that a fork waits for."""
    free = []

    def probe():
        for _, lock in fork_safety._LOCKS:
            free.append(lock().acquire(timeout=1))
            if free[-1]:
                lock().release()

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return len(free) > 1 and all(free)


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="LOOKS describes Python 3.11")
def test_ctrl_c_in_a_fork_leaves_no_lock_held():
    handler, at, struck = signal.signal(signal.SIGINT, signal.default_int_handler), 0, True
    try:
        while struck:
            at += 1
            interrupt = InterruptAsSent(at)  # after which Python goes on: what a hook raises is said, and lost
            struck = [interrupted(hook, interrupt) for hook in (fork_safety._before, fork_safety._after)][1]
            assert locks_are_free()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert at > 10


def test_a_fork_that_waits_for_another_threads_fork_lets_its_own_locks_go():
    fork_safety._before()
    other = threading.Thread(target=lambda: (fork_safety._before(), fork_safety._after()))
    other.start()
    other.join(0.05)  # it waits
    fork_safety._after()
    other.join(5)
    assert not other.is_alive() and locks_are_free()


def test_ctrl_c_while_a_tensors_gradients_are_written_down_waits_until_all_are():
    np, handler = pytest.importorskip("numpy"), signal.getsignal(signal.SIGINT)
    received = []

    class Sent(ng.LeafNode):
        def receive(self, gradient):
            signal.raise_signal(signal.SIGINT)
            received.append(gradient.tolist())

    u, v = (Sent(ng.tensor.LeafType.PARAMETER, (2,), np.array([1.0, k])) for k in (2.0, 3.0))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            (u * v).sum().backward()
    finally:
        signal.signal(signal.SIGINT, handler)
    assert sorted(received) == [[1.0, 2.0], [1.0, 3.0]]
    assert (u.gradient().tolist(), v.gradient().tolist()) == ([1.0, 3.0], [1.0, 2.0])


def test_what_a_handler_built_is_cut_back_with_an_expression_that_cannot_be_read_and_by_revert():
    built = []

    class Number(Fraction):  # whose conversion comes in the middle of the call
        def __float__(self):
            built.append(Variable(1.0))
            return 1.0

    with pytest.raises(ng.errors.ExpressionError):
        read("x + lgo(x)", {"x": Number(1)})
    assert built
    Graph.checkpoint()
    built.append(Variable(2.0))
    Graph.revert()
    for each in built:
        with pytest.raises(ng.errors.StaleNodeError, match="was cut back"):
            each.value
