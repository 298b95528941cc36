"""Questions, and what disturbs them: the program that test_disturbed.py runs in processes of its own.

    python disturbed.py SECONDS SEED [NAME...]

Signal handlers, `gc` callbacks, finalizers and threads build, read, evaluate,
differentiate, lower, clear and press Ctrl-C at random moments beside the public calls
that compute. Every question is then asked again. It ends with 1, and says why,
if an answer is wrong, an error is none of ours, or memory grows.
"""

import gc
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from math import isclose
from pathlib import Path

import numpy as np
from disturbed_questions import PRESSED, QUESTIONS, World, in_scratch

import naive_graph as ng
from naive_graph import Graph, Program, Variable, tensor
from naive_graph.engines.choice import AHEAD, Setting
from naive_graph.errors import ForeignNodeError, NaiveGraphError, StaleGraphError, StaleNodeError
from naive_graph.graph.registry import CURRENT

EXPLAINED = (StaleNodeError, ForeignNodeError, StaleGraphError)  # by a clear
MOST_ROWS = 30_000  # then the graph is begun anew
PAUSE = 3e-4  # seconds between a disturber's rounds, at most
CLEARED = []  # an entry for each graph that was cleared, ever


# --- what is done meanwhile ------------------------------------------------------


class Disturber:
    """Does something short, right in itself, at moments that others choose."""

    def __init__(self, act, seed):
        self.act, self.random = act, random.Random(seed)
        self.held, self.wrong, self.busy, self.on = [], [], False, False
        self.rounds = 0

    def __call__(self, *_):
        if self.on and not self.busy and len(Graph.node_list) < MOST_ROWS:
            self.busy, self.rounds = True, self.rounds + 1
            try:
                self.act(self)
            except EXPLAINED:
                self.held.clear()  # the graph was begun anew
            except Exception:
                self.wrong.append(traceback.format_exc())
            finally:
                self.busy = False


def build(d):
    x = Variable(0.5)
    nodes = [(x * 2.0 + x).tanh() for _ in range(d.random.randrange(1, 25))]
    d.held = nodes if d.random.random() < 0.5 else []


def much(d):
    x = y = Variable(0.5)
    for _ in range(400):
        y = y * 1.0 + x
    d.held = [y]


def work(d):
    x = Variable(2.0)
    y = x * x * 3.0
    kind = d.random.randrange(5)
    if kind == 0:
        Graph.forward(y)
        right = y.value == 12.0
    elif kind == 1:
        (slope,) = ng.gradients(y, [x])
        Graph.forward(slope)
        right = slope.value == 12.0
    elif kind == 2:
        right = tensor.lower(tensor.LeafNode.parameter(np.ones((2, 2))).sum())[()].formula().count("+") >= 1
    elif kind == 3:
        right = y.formula() == "2*2*3" or "*" in y.formula()
    else:
        right = ng.tangent(y, {x: 1.0}) == 12.0 and Program(y, wrt=[x])().value == 12.0
    if not right and not CURRENT.tables.closed:
        d.wrong.append(f"the disturber's own answer of kind {kind} was wrong: {y!r} {y.value}")


def read(d):
    nodes = Graph.node_list
    for _ in range(5):
        node = nodes[d.random.randrange(len(nodes))] if len(nodes) else Variable(1.0)
        assert repr(node) is not None and node.in_deg == len(node.last) and node.out_deg >= 0


def clear(d):
    if d.random.random() < 0.05:
        CLEARED.append(1)
        (Graph.clear if d.random.random() < 0.5 else Graph.renew)()
    else:
        build(d)


def cut(d):
    Graph.checkpoint()
    try:
        much(d)
        d.held = []
    finally:
        Graph.revert()


def interrupt(d):
    """A Ctrl-C, as the system sends it."""
    if d.random.random() < 0.2:
        PRESSED.append(1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


class BySignal:
    """From the handler of a timer."""

    def __init__(self, disturber):
        self.disturber = disturber
        signal.signal(signal.SIGALRM, self.came)

    def came(self, number, frame):
        try:
            self.disturber()
        finally:
            if self.disturber.on:
                signal.setitimer(signal.ITIMER_REAL, self.disturber.random.uniform(2e-5, 4 * PAUSE))

    def start(self):
        signal.setitimer(signal.ITIMER_REAL, PAUSE)

    def stop(self):
        signal.setitimer(signal.ITIMER_REAL, 0.0)


class ByCollector:
    """From the garbage collector's callbacks, which may come wherever an object is made."""

    def __init__(self, disturber):
        self.disturber, self.before = disturber, gc.get_threshold()

    def start(self):
        gc.callbacks.append(self.disturber)
        gc.set_threshold(random.randrange(20, 300), 3, 3)

    def stop(self):
        gc.callbacks.remove(self.disturber)
        gc.set_threshold(*self.before)


class ByFinalizer(ByCollector):
    """From `__del__` of what the collector finds."""

    def start(self):
        disturber = self.disturber

        class Last:
            def __init__(self):
                self.itself = self

            def __del__(self):
                if disturber.on:
                    disturber()
                    Last()

        Last()
        gc.set_threshold(random.randrange(20, 300), 1, 1)

    def stop(self):
        gc.set_threshold(*self.before)


class ByThread:
    """From two threads of their own."""

    def __init__(self, disturber):
        self.disturber, self.others = disturber, [disturber, Disturber(disturber.act, 1)]

    def start(self):
        self.others[1].on, self.others[1].wrong = True, self.disturber.wrong
        self.all_here = threading.Event()  # before, no Ctrl-C may break off this very start
        self.threads = [threading.Thread(target=self.run, args=(each,), daemon=True) for each in self.others]
        for each in self.threads:
            each.start()
        self.all_here.set()

    def run(self, disturber):
        self.all_here.wait()
        while self.disturber.on:
            disturber()
            time.sleep(disturber.random.uniform(0, PAUSE))

    def stop(self):
        for each in self.threads:
            each.join(60)
            assert not each.is_alive(), "a thread waits for ever"
        time.sleep(0)  # what they sent has come after a call of the system


WAYS = {
    f"{act.__name__} {way.__name__}": (act, way)
    for way, acts in {
        BySignal: (build, much, work, read, clear, cut, interrupt),
        ByCollector: (build, work, clear),
        ByFinalizer: (build, much),
        ByThread: (build, much, work, read, clear, interrupt),
    }.items()
    for act in acts
    if hasattr(signal, "setitimer") or (way is not BySignal and act is not interrupt)
}


# --- asking -----------------------------------------------------------------------


def asked(question, world):
    """The answer; None where what is explained by a clear kept it from us."""
    cleared = len(CLEARED)
    try:
        return question(world)
    except NaiveGraphError as error:
        if not isinstance(error.__cause__ or error, EXPLAINED):  # a pipeline names the operator that met it
            raise
        in_a_scratch = question is in_scratch and len(CLEARED) > cleared
        if CURRENT.tables is world.rows and not world.x._home.closed and not in_a_scratch:
            raise AssertionError(f"{error} And nobody has cleared the graph.") from error
        return None


def same(answer, right):
    return len(answer) == len(right) and all(
        a == b or (isinstance(b, float) and isinstance(a, float) and isclose(a, b, rel_tol=1e-12))
        for a, b in zip(answer, right)
    )


def anew():
    while True:
        try:
            Graph.clear()
            return World()
        except EXPLAINED:  # a disturber cleared it meanwhile
            pass


class Rounds:
    """Questions beside one disturber."""

    def __init__(self, name, seed):
        act, way = WAYS[name]
        self.name, self.disturber = name, Disturber(act, seed)
        self.way, self.random = way(self.disturber), random.Random(seed)
        self.cleared = act is clear
        self.told = 0

    def ask(self, world, question, right):
        try:
            answer = asked(question, world)
        except KeyboardInterrupt:
            if not self.disturber.on:
                raise AssertionError(f"{question.__name__}: a Ctrl-C comes late") from None
            return
        if answer is None:
            assert self.cleared, f"{question.__name__}: stale, though nobody clears"
        elif not same(answer, right) and not (self.cleared and world.x._home.closed):
            raise AssertionError(f"{question.__name__}: {answer}, not {right}")
        self.told += answer is not None

    def run(self, seconds, answers):
        world, end = anew(), time.monotonic() + seconds
        while time.monotonic() < end:
            chosen = self.random.sample(QUESTIONS, 4)
            self.disturber.on = True
            try:
                self.way.start()
                for question in chosen:
                    self.ask(world, question, answers[question])
            except KeyboardInterrupt:
                pass
            finally:
                try:
                    self.quiet()
                except KeyboardInterrupt:  # at its very door
                    self.quiet()
            if self.disturber.wrong:
                raise AssertionError(self.disturber.wrong[0])
            if world.x._home.closed or len(Graph.node_list) > MOST_ROWS:
                world = anew()
            for question in chosen:  # the same, undisturbed
                self.ask(world, question, answers[question])

    def quiet(self):
        while self.disturber.on:
            try:
                self.disturber.on = False
                self.way.stop()
            except KeyboardInterrupt:
                self.disturber.on = True


def megabytes():
    gc.collect()
    return (
        int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6 if Path("/proc/self/statm").exists() else 0.0
    )


def main(seconds, seed, names):
    warnings.simplefilter("ignore")  # a clear leaves graphs without values, of which some warn
    random.seed(seed)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored where a script began us in the background
    Setting.rows_run = 10**9  # the direct engine from the start
    AHEAD.result()
    world = anew()
    answers = {question: question(world) for question in QUESTIONS}
    sizes = []
    for turn in range(3):
        for name in names:
            rounds = Rounds(name, seed + turn)
            try:
                rounds.run(seconds / len(names) / 3, answers)
            except BaseException:
                rounds.quiet()
                print(f"{name}, seed {seed + turn}:", flush=True)
                raise
            print(f"{name}: {rounds.disturber.rounds} times beside {rounds.told} answers", flush=True)
        Graph.clear()
        sizes.append(megabytes())
    print(f"memory after each turn: {sizes} MB")
    assert sizes[2] < 1.1 * sizes[1] + 5, f"memory grows: {sizes} MB"


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(WAYS))
