"""The promise: build anywhere at any moment; all else one at a time; a Ctrl-C leaves the graph as it was or whole.

As a program, `python test_one_at_a_time.py SECONDS`, it disturbs the graph at random moments in each way in turn.
"""

import contextlib
import gc
import opcode
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from fractions import Fraction

import pytest
from graphs import check_consistent

import naive_graph as ng
from naive_graph import Graph, PlaceHolder, Variable
from naive_graph.cli.expression import read
from naive_graph.core import fork_safety
from naive_graph.core.lock import GUARD, LOCK
from naive_graph.errors import ReentrantCallError, StaleGraphError, StaleNodeError
from naive_graph.graph.node_factory import CURRENT

# Python looks for signals when it enters a function, after a call of something written in C, and on jumping back.
LOOKS = {opcode.opmap[name] for name in ("RESUME", "CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD") if name in opcode.opmap}
OURS = os.path.dirname(ng.__file__), contextlib.__file__


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
        if not code.co_filename.startswith(OURS):
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


class Handler(Interrupt):
    """Runs a signal's handler at the n-th such point."""

    def __init__(self, at, handler):
        super().__init__(at)
        self.handler = handler

    def strike(self):
        self.struck = True
        sys.settrace(None)
        self.handler()


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
        found.append(CURRENT.tables.lock.acquire(timeout=60))
        CURRENT.tables.lock.release()

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return found == [True]


def check_usable(x, y, p):
    """What was built is right after a forward, and nothing stale is used before it."""
    check_consistent()
    if x._home is not CURRENT.tables:  # it was cleared
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


def points(every=1):
    """Every point of what is short, a sample of what is long. every: of those behind the first 30, one in so many."""
    at = 0
    while True:
        if at < 300:
            at += 1 if at < 30 else every
        else:
            at += 97
        yield at


on_3_11 = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="LOOKS describes Python 3.11")


@on_3_11
@pytest.mark.parametrize("name", ACTS)
def test_ctrl_c_wherever_python_looks_for_it_leaves_the_graph_right(name):
    for at in points():
        with Graph.scratch():
            home = CURRENT.tables
            nodes = small_graph()
            struck = interrupted(lambda nodes=nodes: ACTS[name](*nodes), Interrupt(at))
            assert CURRENT.tables is home or name in ("clear", "renew")
            assert unlocked() and gc.isenabled()
            check_usable(*nodes)
        if not struck:
            return


@on_3_11
@pytest.mark.parametrize("name", ACTS)
def test_a_handler_may_build_wherever_python_looks_for_it(name):
    for at in points(3):
        with Graph.scratch():
            x, y, p = small_graph()
            made = []

            def handler(made=made):
                with suppress(StaleNodeError):  # where the graph is cleared between two of its lines
                    made.append(Variable(5.0) * 2.0)

            struck = interrupted(lambda x=x, y=y, p=p: ACTS[name](x, y, p), Handler(at, handler))
            check_usable(x, y, p)
            for node in made:
                if node._home is CURRENT.tables:  # else it was built where it was cleared, or cut back with the rest
                    Graph.forward()
                    assert node.value == 10.0 and Graph.node_list[node.row] is node
        if not struck:
            return


ASKS = {
    "last": lambda x, y: y.last,
    "in_deg": lambda x, y: x.in_deg,
    "formula": lambda x, y: y.formula(),
    "node_list": lambda x, y: Graph.node_list[0],
    "forward": lambda x, y: Graph.forward(),
    "backward": lambda x, y: Graph.backward(y),
    "gradients": lambda x, y: ng.gradients(y, x),
    "set": lambda x, y: setattr(x, "value", 4.0),
    "clear": lambda x, y: Graph.clear(),
    "revert": lambda x, y: Graph.revert(),
}
DURING = ["x + y", "neighbours", "forward", "backward", "gradients", "revert", "set value", "build_edge"]
WHAT_MEETS = [(name, "forward") for name in DURING] + [("gradients", ask) for ask in ASKS if ask != "forward"]


@on_3_11
@pytest.mark.parametrize("name, ask", WHAT_MEETS)
def test_a_handler_that_asks_is_answered_or_refused_and_changes_nothing(name, ask):
    refusals, answers = 0, []
    for at in points(5):
        with Graph.scratch():
            x, y, p = small_graph()
            refused = []

            def handler(x=x, y=y, refused=refused):
                try:
                    answers.append(ASKS[ask](x, y))
                except ReentrantCallError as error:
                    assert "is at work on the graph" in str(error) and "set a flag" in str(error)
                    refused.append(1)
                except StaleGraphError:
                    answers.append(None)

            trace = Handler(at, handler)
            with suppress(StaleNodeError, StaleGraphError):  # of what a handler did between two calls
                interrupted(lambda x=x, y=y, p=p: ACTS[name](x, y, p), trace)
            refusals += len(refused)
            assert unlocked() and GUARD.holder is None
            if x._home is CURRENT.tables:
                check_usable(x, y, p)
        if not trace.struck:
            break
    assert refusals or name == "x + y"


@pytest.mark.filterwarnings("ignore::naive_graph.errors.EngineWarning")
@pytest.mark.parametrize("engine", ["reference", "direct"])
def test_an_operators_own_function_may_not_ask_while_it_runs_and_may_build(engine):
    asking = ng.operator("asking_here", lambda a: a * len(Graph.node_list), [None])
    building = ng.operator("building_here", lambda a: (Variable(a), a)[1], [None])
    try:
        x = Variable(2.0)
        y, z = asking(x), building(x)
        with pytest.raises(ReentrantCallError, match=r"Graph.forward is at work"):
            Graph.forward(y, engine=engine)
        assert y.value is None
        Graph.forward(z, engine=engine)
        assert z.value == 2.0 and Graph.node_list[-1].value == 2.0
    finally:
        ng.operators().forget("asking_here")
        ng.operators().forget("building_here")


def test_who_builds_does_not_wait_for_the_lock():
    built = []
    with LOCK:
        thread = threading.Thread(target=lambda: built.extend(Variable(1.0) for _ in range(3000)))
        thread.start()
        thread.join(60)
        assert len(built) == 3000
    assert [node.row for node in built] == list(range(3000))


def test_a_call_that_was_broken_off_bars_nobody():
    def broken_off():
        GUARD.__enter__()

    broken_off()
    x = Variable(2.0)
    assert GUARD.holder is not None and (x + 1.0).last[0] is x and GUARD.holder is None


def locks_are_free():
    """Whether another thread could take each lock that a fork waits for."""
    free = []

    def probe():
        for _, lock in fork_safety._LOCKS:
            held = getattr(lock(), "_lock", lock())  # the compiler's is around one
            free.append(held.acquire(timeout=60))
            if free[-1]:
                held.release()

    thread = threading.Thread(target=probe)
    thread.start()
    thread.join()
    return bool(free) and all(free)


@on_3_11
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


def test_a_fork_for_which_a_lock_cannot_be_had_holds_none(monkeypatch):
    def fail():
        raise MemoryError

    monkeypatch.setattr(fork_safety, "_LOCKS", [*fork_safety._LOCKS, (9, fail)])
    with pytest.raises(MemoryError):
        fork_safety._before()
    monkeypatch.undo()
    assert locks_are_free()


def test_a_fork_that_waits_for_another_threads_fork_lets_its_own_locks_go():
    fork_safety._before()
    other = threading.Thread(target=lambda: (fork_safety._before(), fork_safety._after()))
    other.start()
    other.join(0.05)  # it waits
    fork_safety._after()
    other.join(60)
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
        read("x + log(x, x)", {"x": Number(1)})
    assert built
    Graph.checkpoint()
    built.append(Variable(2.0))
    Graph.revert()
    for each in built:
        with pytest.raises(ng.errors.StaleNodeError, match="was cut back"):
            each.value


# --- at random moments ------------------------------------------------------------


class Storm:
    """What disturbs, and how often it was done or refused."""

    def __init__(self, act):
        self.act, self.on, self.done, self.refused, self.wrong, self.held = act, True, 0, 0, [], []

    def __call__(self, *_):
        if not self.on:
            return
        try:
            self.act(self)
            self.done += 1
        except ReentrantCallError:
            self.refused += 1
        except StaleNodeError:  # another thread has cleared the graph
            pass
        except BaseException as error:
            self.wrong.append(error)
            raise


def build(storm):
    x = Variable(0.5)
    storm.held = [*storm.held[-3:], (x + 1.0).sin() * x]


def ask(storm):
    x = Variable(0.5)
    y = x * x + x
    assert y.last[0] is y.last[1].last[0] if len(y.last) == 1 else y.last[1] is x
    assert (y.in_deg, x.out_deg) == (2, 3)


@contextmanager
def by_signal(storm):
    before = signal.signal(signal.SIGALRM, storm)
    signal.setitimer(signal.ITIMER_REAL, 3e-4, 3e-4)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        storm.on = False
        signal.signal(signal.SIGALRM, before)


@contextmanager
def by_collector(storm):
    before = gc.get_threshold()
    gc.callbacks.append(storm)
    gc.set_threshold(37, 1, 1)
    try:
        yield
    finally:
        storm.on = False
        gc.callbacks.remove(storm)
        gc.set_threshold(*before)


@contextmanager
def by_finalizer(storm):
    class Last:
        def __init__(self):
            self.itself = self

        def __del__(self):
            if storm.on:
                Last()
                storm()

    before = gc.get_threshold()
    Last()
    gc.set_threshold(37, 1, 1)
    try:
        yield
    finally:
        storm.on = False
        gc.set_threshold(*before)
        gc.collect()


@contextmanager
def by_threads(storm):
    def run():
        while storm.on:
            storm()
            time.sleep(1e-4)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        storm.on = False
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive(), "a thread waits for ever"


def answers_are_right(clears):
    """What is done meanwhile. With clears: by another thread, so nodes may be stale."""
    try:
        x, y = Variable(2.0), Variable(3.0)
        z = x
        for _ in range(60):
            z = (z + y).sin() * x
        s = x * y + x + 1.0
        assert s.in_deg == 3 and s.last[1] is x
        Graph.checkpoint()
        z * 2.0
        Graph.revert()
        Graph.forward()
        assert s.value == 9.0
        Graph.backward(s)
        assert (x.grad, y.grad) == (4.0, 2.0)
        (slope,) = ng.gradients(s, [x])
        Graph.forward(slope)
        assert slope.value == 4.0
        x.value = 5.0
        with pytest.raises(StaleGraphError):
            Graph.backward(s)
    except (StaleNodeError, StaleGraphError):
        if not clears:
            raise


def clear_now_and_then(storm):
    if random.random() < 0.02:
        Graph.clear()
    else:
        build(storm)


WAYS = [
    *[(way, act) for way in (by_signal, by_collector, by_finalizer) for act in (build, ask)],
    *[(by_threads, act) for act in (build, ask, clear_now_and_then)],
]


def disturb(seconds):
    for way, act in WAYS:
        Graph.clear()
        storm, rounds, end = Storm(act), 0, time.monotonic() + seconds
        clears = act is clear_now_and_then
        with way(storm):
            while time.monotonic() < end:
                # By revert() a handler's or a thread's node goes too; what asks in turn meets that, so it only builds.
                answers_are_right(clears or (way is by_threads))
                rounds += 1
                if len(Graph.node_list) > 3000:
                    Graph.clear()
        assert not storm.wrong, repr(storm.wrong[0])
        assert act is not build or not storm.refused
        Graph.forward()
        check_consistent()
        assert unlocked() and GUARD.holder is None
        print(f"{act.__name__} {way.__name__}: {storm.done} done, {storm.refused} refused, beside {rounds} rounds")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a system without timers")
def test_whatever_comes_in_between_leaves_answers_right_and_the_heap_whole():
    strict = {"PYTHONMALLOC": "debug", "MALLOC_PERTURB_": "165", "PYTHONPATH": os.pathsep.join(sys.path)}
    program = [sys.executable, "-X", "faulthandler", "-W", "error", __file__, "1"]
    run = subprocess.run(program, env={**os.environ, **strict}, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, f"{run.stdout[-500:]}\n{run.stderr[-3000:]}"
    assert len(run.stdout.splitlines()) == len(WAYS)


if __name__ == "__main__":
    random.seed(1)
    disturb(float(sys.argv[1]))
