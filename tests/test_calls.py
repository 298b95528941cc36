"""A loop's calls answer the same as compiled code and in Python, whatever happens to the graph in between."""

import inspect
import math
import subprocess
import sys
import threading

import pytest

pytest.importorskip("llvmlite")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naive_graph import Graph, PlaceHolder, Variable, calls, record
from naive_graph.engines.choice import Setting
from naive_graph.errors import EngineError, NaiveGraphError, NodeError, NumberError, StaleNodeError
from naive_graph.handles import CURRENT


@pytest.fixture(autouse=True)
def compiled_calls_on_the_native_engine():
    if not calls.can_be_compiled():
        pytest.skip("the calls of a loop are Python here")
    before, Setting.default = (Setting.default, calls.now()), "native"
    calls.use("compiled")
    yield
    Setting.default = before[0]
    calls.use(before[1])


class Played:
    """A small graph, and all that a learner may do to it."""

    def __init__(self):
        self.x, self.y = Variable(1.5, name="x"), Variable(-0.5, name="y")
        self.part = self.x * self.y
        self.f = (self.part * self.x + self.part).sin() + 2.0
        self.nodes = [self.x, self.y, self.part, self.f]

    def forward(self):
        Graph.forward()

    def forward_f(self):
        Graph.forward(self.f)

    def forward_part(self):
        Graph.forward(self.part)

    def forward_by_name(self):
        Graph.forward(engine="reference")

    def forward_fed(self):
        Graph.forward(feed={})

    def backward(self):
        Graph.backward(self.f)

    def backward_part(self):
        Graph.backward(self.part)

    def backward_more(self):
        Graph.backward(self.f, accumulate=True)

    def step(self):
        for _ in range(3):
            Graph.forward()
            Graph.backward(self.f)
            self.x.value -= 0.01 * self.x.grad
            Graph.kill_grad()

    def kill(self):
        Graph.kill_grad()

    def set_float(self):
        self.x.value = 0.25

    def set_whole(self):
        self.y.value = 3

    def set_far(self):
        self.x.value = math.inf

    def set_text(self):
        self.x.value = "1.0"

    def set_fixed(self):
        self.f.value = 1.0

    def set_grad(self):
        self.x.grad = 0.125

    def delete(self):
        del self.x.value

    def grow(self):
        self.nodes.append(self.nodes[-1] * 0.5)

    def mark(self):
        Graph.checkpoint()

    def cut(self):
        Graph.revert()

    def redraw(self):
        self.y.build_edge(self.part)

    def scratch(self):
        with Graph.scratch():
            inner = Played()
            inner.step()
            self.x.value = 9.0  # which is not this graph's

    def watch(self):
        with record():
            Graph.forward()
            Graph.backward(self.f)

    def clear(self):
        Graph.clear()

    def nonsense(self):
        Graph.forward(3.0)

    def nonsense_back(self):
        Graph.backward("f")


DEEDS = [name for name in vars(Played) if not name.startswith("_")]


def told(what):
    """What an action gave, or what it complained of."""
    try:
        return repr(what())
    except (NaiveGraphError, AttributeError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


def columns():
    tables = CURRENT.tables
    return repr((tables.clock, tables.written, tables.grads_are_blank, [*tables.stamps], [*tables.values]))


def story(deeds, way):
    """All that can be seen after each deed."""
    calls.use(way)
    seen = []
    with Graph.scratch():
        Graph.on_invalid = "raise"
        played = Played()
        told(played.step)
        for deed in deeds:
            seen.append(told(getattr(played, deed)))
            for node in played.nodes:
                seen += [told(lambda node=node: node.value), told(lambda node=node: node.grad)]
            seen.append(columns())
    calls.use("compiled")
    return seen


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(DEEDS), max_size=12))
def test_every_story_is_told_alike_by_both(deeds):
    assert story(deeds, "compiled") == story(deeds, "python")


@pytest.mark.parametrize("deed", DEEDS)
def test_each_deed_is_answered_alike_by_both(deed):
    deeds = ["step", deed, "step", deed, deed, "forward", "backward"]
    assert story(deeds, "compiled") == story(deeds, "python")


def looped():
    played = Played()
    played.step()
    assert CURRENT.tables.cache.get("quick") is not None
    return played


def test_a_loop_enters_no_python(monkeypatch):
    played = looped()
    entered = []
    sys.setprofile(lambda frame, event, what: entered.append(frame.f_code.co_name) if event == "call" else None)
    try:
        Graph.forward()
        Graph.backward(played.f)
        played.x.value -= 0.01 * played.x.grad
        Graph.kill_grad()
    finally:
        sys.setprofile(None)
    assert entered == []


def test_a_loop_leaves_nothing_behind():
    played = looped()

    def often(what):
        what(1000)
        before = sys.getallocatedblocks()
        what(20_000)
        return sys.getallocatedblocks() - before

    def loop(times):
        for _ in range(times):
            Graph.forward()
            Graph.forward(played.f)
            Graph.backward(played.f)
            played.x.value = played.f.value + played.x.grad * 0.0
            Graph.kill_grad()

    def ask(times):
        for _ in range(times):
            Graph.forward(played.part)
            Graph.backward(played.part)
            played.x.value = 1
            _ = Graph.node_list[0].value, played.x.grad

    assert often(loop) < 100
    assert often(lambda times: ask(times // 20)) < 100


def test_a_value_is_set_once_no_other_thread_is_inside_the_lock():
    played, go, done = looped(), threading.Event(), threading.Event()

    def hold():
        with CURRENT.tables.lock:
            go.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    go.wait()
    threading.Timer(0.05, done.set).start()
    played.x.value = 2.0
    assert done.is_set()  # the lock was waited for
    thread.join()
    assert played.x.value == 2.0


def test_threads_that_set_values_disturb_no_loop():
    played, stop = looped(), threading.Event()

    def disturb(value):
        while not stop.is_set():
            played.y.value = value

    threads = [threading.Thread(target=disturb, args=(value,)) for value in (0.25, 0.5)]
    for thread in threads:
        thread.start()
    for _ in range(3000):
        Graph.forward()
        played.x.value = played.f.value
    stop.set()
    for thread in threads:
        thread.join()
    Graph.forward()
    x, y = played.x.value, played.y.value
    assert y in (0.25, 0.5) and played.f.value == math.sin(x * y * x + x * y) + 2.0


def test_two_graphs_in_turn_keep_their_numbers():
    def rounds():
        seen = []
        outer = looped()
        for _ in range(5):
            with Graph.scratch():
                inner = looped()
                inner.x.value = outer._row if hasattr(outer, "_row") else 4.0
                inner.step()
                seen += [inner.x.value, inner.f.value]
            outer.step()
            seen += [outer.x.value, outer.f.value, outer.x.grad]
        return seen

    found = rounds()
    calls.use("python")
    Graph.clear()
    assert rounds() == found


def test_what_is_wrong_is_said_as_ever():
    played = looped()
    with pytest.raises(NumberError, match="takes a real number"):
        played.x.value = "1.0"
    with pytest.raises(NodeError, match="cannot be set"):
        played.f.value = 1.0
    with pytest.raises(AttributeError, match="has no deleter"):
        del played.x.value
    with pytest.raises(AttributeError, match="has no attribute 'data'"):
        played.x.data
    Graph.clear()
    for what in (lambda: played.x.value, lambda: played.x.grad, lambda: Graph.forward(played.f)):
        with pytest.raises(StaleNodeError):
            what()


def test_a_place_holder_is_set_and_read():
    p = PlaceHolder()
    assert p.value is None
    p.value = 2.0
    assert p.value == 2.0


def test_the_calls_look_as_they_did():
    compiled = [getattr(Graph, name) for name in ("forward", "backward", "kill_grad")]
    calls.use("python")
    for one, other in zip(compiled, (Graph.forward, Graph.backward, Graph.kill_grad), strict=True):
        names = [list(inspect.signature(each).parameters) for each in (one, other)]
        assert names[0] == names[1]
        assert one.__doc__ == other.__doc__


def test_a_choice_is_one_of_two():
    with pytest.raises(EngineError, match="compiled"):
        calls.use("quickly")


def test_by_itself_a_loop_that_goes_on_is_compiled_at_last():
    code = (
        "from naive_graph import Graph, Variable, calls\n"
        "x = Variable(6.0); f = ((x - 7) ** 2 + 10).log()\n"
        "def step():\n"
        "    Graph.forward(); Graph.backward(f); x.value -= 0.01 * x.grad; Graph.kill_grad()\n"
        "seen = [calls.now()]\n"
        "for _ in range(6000): step()\n"
        "seen.append(calls.now())\n"
        "print(*seen, x.value)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    x = 6.0
    for _ in range(6000):
        d = x - 7
        slope = 1.0 / (d * d + 10.0) * d
        x = x - 0.01 * (slope + slope)
    assert done.stdout.split() == ["python", "compiled", repr(x)]
