"""Whatever runs in between, a finalizer, a weak callback or another thread: what compiled code builds is whole."""

import gc
import sys
import threading
import tracemalloc
import weakref

import pytest
from built import Mine
from graphs import check_consistent

import naive_graph as ng
from naive_graph import Constant, Graph, PlaceHolder, Variable, builder
from naive_graph.errors import NaiveGraphError
from naive_graph.handles import CURRENT
from naive_graph.origin import is_ours
from naive_graph.tables import Tables

pytestmark = pytest.mark.usefixtures("compiled_builder")


def test_nothing_leaks():
    def build():
        with Graph.scratch():
            x, y = Variable(1.0), Variable(2.0)
            for _ in range(2000):
                y = y + x * 2.0
                y = y * Variable(3.0) - Constant(2) + PlaceHolder()
                y = y + Mine(1.0)
            for operand in ("a", None):
                with pytest.raises(NaiveGraphError):
                    y + operand
                with pytest.raises(NaiveGraphError):
                    Variable(operand)
            Variable.__init__(x, 2.0)
            Graph.renew()
            held = [Variable(1.0) for _ in range(50)]
            Variable.__init__(held[0], value=2.0)

    held_by_all = (None, ng.Operator, Variable, Constant, PlaceHolder, Mine, CURRENT, Variable.__init__, is_ours)
    counts = []
    for _ in range(4):
        build()
        gc.collect()
        counts.append((*map(sys.getrefcount, (CURRENT.tables, *held_by_all)), len(gc.get_objects())))
    assert all(abs(before - after) < 50 for before, after in zip(counts[1], counts[3]))
    tracemalloc.start()
    build()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(3):
        build()
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000


def test_a_finalizer_that_builds_while_compiled_code_builds_harms_nothing():
    x = Variable(1.0)

    class Sneaky:
        def __del__(self):
            Graph.node_list[0] + 1.0

    y, sneaked = x, 0
    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for _ in range(500):
            sneaky = Sneaky()
            sneaky.itself = sneaky
            del sneaky
            y = y * x
            sneaked += 1
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert len(Graph.node_list) == 1 + sneaked + 2 * sneaked
    check_consistent()
    Graph.forward(y)
    assert y.value == 1.0


def test_a_weak_callback_that_builds_when_a_node_dies_harms_nothing():
    x = Variable(1.0)
    calls, kept = [], []

    def died(_):
        calls.append(x + 1.0)

    y = x
    for _ in range(600):
        y = y * x
        kept.append(weakref.ref(y, died))
    del y
    assert len(Graph.node_list) >= 601
    assert len(Graph.node_list) == 601 + 2 * len(calls)
    check_consistent()


def test_a_finalizer_that_makes_leaves_while_compiled_code_does_harms_nothing():
    made, kept = [], []

    class Sneaky:
        def __del__(self):
            made.append((Variable(len(made)), len(made)))

    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for place in range(3000):
            if place % 300 == 0:
                Graph.renew()
                made.clear()
                kept.clear()
            sneaky = Sneaky()
            sneaky.itself = sneaky
            del sneaky
            kept.append((Variable(float(place)), place))
            if place % 7 == 0:
                assert kept[-1][0].value == place
    finally:
        gc.set_threshold(*before)
    gc.collect()
    check_consistent()
    assert made and len(Graph.node_list) == len(kept) + len(made)
    assert all(node.value == value and Graph.node_list[node.row] is node for node, value in kept + made)


def test_a_graph_that_dies_as_its_last_node_is_made_again_harms_nothing():
    built = []

    def filled(node):
        node.__init__(3.0)
        return node

    class Loud:
        def __del__(self):
            built.extend(filled(Variable.__new__(Variable)) for _ in range(3))

    def lonely():
        """The only node of a graph that was never closed, and lives as long as the node."""
        home = CURRENT.tables
        builder.use("python")
        try:
            CURRENT.tables = Tables()
            CURRENT.tables.loud = Loud()
            return Variable(1.0)
        finally:
            CURRENT.tables = home
            builder.use("compiled")

    nodes = [lonely() for _ in range(50)]
    for node in nodes:
        for _ in range(10):
            built.append(filled(Variable.__new__(Variable)))
        filled(node)
    check_consistent()
    assert len(Graph.node_list) == 50 * (10 + 3 + 1) == len(built) + len(nodes)
    assert all(Graph.node_list[node.row] is node and node.value == 3.0 for node in built + nodes)


def test_another_thread_waits_for_whoever_holds_the_graph():
    x = Variable(1.0)
    _ = x * x
    built = []
    thread = threading.Thread(target=lambda: built.append(x * x))
    with CURRENT.tables.lock:
        thread.start()
        thread.join(0.1)
        assert thread.is_alive() and len(CURRENT.tables) == 2
    thread.join()
    assert built[0].row == 2


def test_many_threads_that_build_and_look_get_right_graphs():
    results, errors = [], []

    def work(start):
        try:
            x = Variable(start)
            y = x
            for i in range(4000):
                y = y * 1.0 + (1.0 if i % 3 else Variable(1.0))
                if i % 97 == 0:
                    assert y.last[1].value == 1.0
            results.append((y, start))
        except BaseException as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(float(start),)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert errors == []
    check_consistent()
    Graph.forward()
    assert all(y.value == start + 4000.0 for y, start in results)


def test_threads_that_make_leaves_while_another_forgets_the_graph_get_whole_graphs():
    errors, over, made = [], [], []

    def work():
        while not over:
            try:
                made[:] = [Variable(float(place)) for place in range(30)]
            except BaseException as error:
                errors.append(error)
                return

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    threads = [threading.Thread(target=work) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(300):
            Graph.renew()
            nodes = [Variable(1.0) * Variable(2.0) for _ in range(20)]
            check = [(node.operator, node.last[1].value) for node in nodes]
            assert check == [("mul", 2.0)] * 20
    finally:
        over.append(True)
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert errors == []
    check_consistent()
