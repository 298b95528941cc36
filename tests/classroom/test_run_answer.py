"""Answers may do what they like: they end, they earn nothing that they did not, and nothing else changes."""

import contextlib
import itertools
import os
import random
import sys
import threading
import time
import warnings

import pytest

import naive_graph
from naive_graph import Graph
from naive_graph.classroom import judge, run_answer
from naive_graph.classroom import judging as judge_room
from naive_graph.classroom.exercises import EXERCISES

pytestmark = pytest.mark.usefixtures("data_apart")

KAHN = next(each for each in EXERCISES if each.name == "kahn")
SLOPE = next(each for each in EXERCISES if each.name == "slope")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a child process for the answer")


@pytest.fixture(params=["in a child", "here"])
def anywhere(request, monkeypatch):
    """As on Linux, and as on Windows and in a browser."""
    if request.param == "here":
        monkeypatch.setattr(run_answer.sys, "platform", "win32")
    elif sys.platform != "linux":
        pytest.skip("only Linux has a child process for the answer")


def names(verdict):
    assert not verdict.passed
    return [each.name for each in verdict.mistakes]


@pytest.mark.usefixtures("anywhere")
def test_endless_answers_are_stopped_and_the_trace_comes_back():
    def spins(f, x, h=1e-5):
        while True:
            pass

    def catches(f, x, h=1e-5):
        while True:
            try:
                x += 1
            except Exception:
                continue

    def lazy(f, x, h=1e-5):
        return (number for number in itertools.count() if number < 0 and print(number))

    def stays(f, x, h=1e-5):
        while True: pass  # fmt: skip  # noqa: E701

    before = sys.gettrace()
    assert names(judge("slope", spins)) == ["never_ends"]
    assert names(judge("slope", stays)) == ["never_ends"]
    assert names(judge("slope", catches)) == ["never_ends"]
    assert names(judge("slope", lazy)) == ["never_ends"]
    assert sys.gettrace() is before


@on_linux
def test_endless_calls_into_c_are_stopped(monkeypatch):
    monkeypatch.setattr(run_answer, "PATIENCE", 1.0)
    start = time.monotonic()
    assert names(judge("slope", lambda f, x, h=1e-5: sum(itertools.repeat(1)))) == ["never_ends"]
    assert time.monotonic() - start < 30


@pytest.mark.usefixtures("anywhere")
def test_endless_calls_and_exits_are_errors():
    def calls(f, x, h=1e-5):
        return calls(f, x, h)

    assert names(judge("slope", calls)) == ["calls_itself"]
    assert names(judge("slope", lambda f, x, h=1e-5: sys.exit(0))) == ["raises"]


@on_linux
def test_an_answer_that_kills_python_kills_only_itself():
    assert names(judge("slope", lambda f, x, h=1e-5: os._exit(0))) == ["raises"]


@on_linux
def test_what_an_answer_edits_stays_in_its_own_process():
    def edits(nodes):
        judge_room.__globals__["EXERCISES"].clear()
        KAHN.misconceptions.clear()
        Graph.forward = classmethod(lambda cls: None)
        naive_graph.errors.LessonError = None
        os.environ["NAIVE_GRAPH_DATA"] = "/nowhere"
        sys.setrecursionlimit(500)
        random.seed(1)
        return nodes

    before = (
        len(EXERCISES),
        set(KAHN.misconceptions),
        Graph.forward,
        dict(os.environ),
        random.getstate(),
        sys.getrecursionlimit(),
    )
    assert not judge("kahn", edits).passed
    assert before == (
        len(EXERCISES), set(KAHN.misconceptions), Graph.forward, dict(os.environ), random.getstate(),
        sys.getrecursionlimit(),
    )  # fmt: skip


@on_linux
def test_editing_the_checker_earns_nothing():
    def edits(nodes):
        run_answer._run_once = lambda *_: run_answer.AnswerOutcome("gave", [])
        run_answer.to_json_value = lambda *_: None
        type(KAHN).is_right = type(KAHN).accepts = lambda *_: True
        return []

    assert not judge("kahn", edits).passed
    assert judge("kahn", KAHN.answer_with()).passed


@pytest.mark.usefixtures("anywhere")
def test_a_result_that_says_it_is_equal_to_everything_is_wrong():
    class Yes(float):
        def __eq__(self, other):
            return True

        __hash__ = float.__hash__

    class Anything:
        passed = True

        def __eq__(self, other):
            return True

        __hash__ = None

    assert not judge("slope", lambda f, x, h=1e-5: Anything()).passed
    assert not judge("slope", lambda f, x, h=1e-5: Yes(0.25)).passed
    assert not judge("kahn", lambda nodes: Anything()).passed


@pytest.mark.usefixtures("anywhere")
def test_a_list_that_holds_itself_is_no_value_and_is_told_at_once():
    def answer(f, x, h=1e-5):
        rows = []
        rows += [rows, rows]
        return rows

    assert "more than 40 deep" in judge("slope", answer).message


@pytest.mark.usefixtures("anywhere")
def test_limits_luck_and_output_come_back(capfd):
    def noisy(f, x, h=1e-5):
        print("hello")
        sys.stderr.write("there")
        sys.setrecursionlimit(12345)
        random.seed(3)
        return (f(x + h) - f(x - h)) / (2 * h)

    before = (random.getstate(), sys.getrecursionlimit())
    assert judge("slope", noisy).passed
    assert (random.getstate(), sys.getrecursionlimit()) == before
    assert capfd.readouterr() == ("", "")


def test_looking_for_the_mistake_warns_of_nothing():
    """What it is compared with may overflow, or take the root of a negative number."""
    root = pytest.importorskip("numpy").sqrt

    def adagrad(w, g, s, rate=0.1, tiny=1e-8):
        new = [b + a * a for a, b in zip(g, s)]
        return [float(x - rate * a / root(b) + tiny) for x, a, b in zip(w, g, new)], s

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert not judge("adagrad", adagrad).passed
    assert told == []


@pytest.mark.usefixtures("anywhere")
@pytest.mark.parametrize("ask", ["Graph.forward()", "gradients(nodes[-1], nodes[:1])", "plan_for(None, [])"])
def test_the_librarys_own_sweeps_are_refused(ask):
    from naive_graph import gradients
    from naive_graph.core.plan import plan_for

    scope = {"Graph": Graph, "gradients": gradients, "plan_for": plan_for}
    exec(f"def kahn(nodes):\n    if nodes:\n        {ask}\n    return nodes", scope)
    assert names(judge("kahn", scope["kahn"])) == ["uses_library"]


@pytest.mark.usefixtures("anywhere")
def test_catching_everything_does_not_make_a_refused_call_right():
    def kahn(nodes):
        with contextlib.suppress(BaseException):
            Graph.forward()
        return KAHN.solve(nodes)

    assert names(judge("kahn", kahn)) == ["uses_library"]


@on_linux
def test_a_ctrl_c_is_a_ctrl_c_and_leaves_no_process():
    def slow(f, x, h=1e-5):
        time.sleep(5)

    import signal

    psutil = pytest.importorskip("psutil")
    before = set(psutil.Process().children())
    main = threading.get_ident()
    timer = threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        judge("slope", slow)
    timer.join()
    assert set(psutil.Process().children()) <= before


def test_a_ctrl_c_here_leaves_the_graph(monkeypatch):
    monkeypatch.setattr(run_answer.sys, "platform", "win32")

    def interrupted(nodes):
        raise KeyboardInterrupt

    tables = Graph.node_list
    with pytest.raises(KeyboardInterrupt):
        judge("kahn", interrupted)
    assert len(Graph.node_list) == len(tables) and sys.gettrace() is None


def test_a_slow_but_right_answer_passes():
    def slow(f, x, h=1e-5):
        for _ in range(20_000):
            pass
        return (f(x + h) - f(x - h)) / (2 * h)

    assert judge("slope", slow).passed


def test_verdicts_are_the_same_in_a_child_and_here(monkeypatch):
    answers = [("kahn", lambda nodes: nodes[::-1]), ("slope", lambda f, x, h=1e-5: f(x)), ("kahn", lambda nodes: 1 / 0)]
    first = [judge(*each) for each in answers]
    monkeypatch.setattr(run_answer.sys, "platform", "win32")
    assert [(each.message, each.mistakes) for each in (judge(*pair) for pair in answers)] == [
        (each.message, each.mistakes) for each in first
    ]
