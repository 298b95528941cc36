"""What is made beside a loop: one thing at a time, there when it is done, and never in the way of an end or a fork."""

import gc
import os
import subprocess
import sys
from threading import Event, Thread, current_thread, main_thread
from time import monotonic

import pytest
from making import finish

from naive_graph.core import background
from naive_graph.core.background import BackgroundTask
from naive_graph.core.optional_deps import GcPause


def made(job):
    """Ask for it until it is there."""
    end = monotonic() + 60
    while not job.is_done():
        assert monotonic() < end
        finish()
    return job.result()


def test_it_is_made_once_and_by_another_thread():
    makers = []
    job = BackgroundTask(lambda: makers.append(current_thread()) or len(makers))
    assert made(job) == 1 and made(job) == 1 and job.is_done()
    assert main_thread() not in makers


def test_nobody_waits_for_it():
    held = Event()
    job = BackgroundTask(held.wait)
    try:
        assert not any(job.is_done() for _ in range(100))
    finally:
        held.set()
    assert made(job) is True


def test_one_thing_is_made_at_a_time():
    held, is_made, begun = Event(), Event(), []
    jobs = [BackgroundTask(lambda k=k: begun.append(k) or is_made.set() or held.wait()) for k in range(3)]
    try:
        for job in jobs * 2:
            assert not job.is_done()
        assert is_made.wait(60) and begun == [0]
    finally:
        held.set()
    assert all(map(made, jobs)) and sorted(begun) == [0, 1, 2]


def test_an_error_is_raised_where_the_result_is_asked_for():
    def fail():
        raise ValueError("too long")

    job = BackgroundTask(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="too long"):
            made(job)


def test_where_no_thread_can_begin_nothing_is_made_and_no_other_is_tried(monkeypatch):
    tries = []

    def start(self):
        tries.append(self)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(BackgroundTask, "busy", Thread())
    monkeypatch.setattr(Thread, "start", start)
    job = BackgroundTask(int)
    assert not any(job.is_done() or BackgroundTask(int).is_done() for _ in range(3))
    assert len(tries) == 1 and job.result() == 0


def test_while_python_ends_nothing_is_begun(monkeypatch):
    job = BackgroundTask(int)
    with monkeypatch.context() as patch:
        patch.setattr(background, "main_thread", Thread)  # one that is not alive
        assert not job.is_done()
    assert made(job) == 0


def test_garbage_is_collected_again_when_the_last_block_has_ended_whoever_came_first():
    first, second = GcPause(), GcPause()
    for ends in ([first, second], [second, first]):
        first.__enter__()
        second.__enter__()
        ends[0].__exit__()
        assert not gc.isenabled()
        ends[1].__exit__()
        assert gc.isenabled()


def test_who_has_put_collection_off_finds_it_off():
    gc.disable()
    try:
        with GcPause():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


GC_PAUSE = """
import gc, os
from threading import Event, Thread
from naive_graph.core.optional_deps import GcPause
held, is_there = Event(), Event()

def wait():
    with GcPause():
        is_there.set()
        held.wait()

thread = Thread(target=wait)
thread.start()
is_there.wait()
child = os.fork()
if not child:
    os._exit(0 if gc.isenabled() else 1)
held.set()
thread.join()
assert os.waitpid(child, 0)[1] == 0 and gc.isenabled()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
def test_the_child_of_a_fork_collects_though_a_thread_it_lacks_had_put_that_off():
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", GC_PAUSE], capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")


FORKING = """
import os
from threading import Event
from naive_graph.core.background import BackgroundTask
held = Event()
job = BackgroundTask(held.wait)
assert not job.is_done()
child = os.fork()
held.set()
if child:
    assert os.waitpid(child, 0)[1] == 0
while not job.is_done():
    BackgroundTask.busy.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
def test_the_child_of_a_fork_makes_it_anew():
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING], capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stderr) == (0, "")
