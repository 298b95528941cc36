"""What is made beside a loop: one thing at a time, there when it is done, and never in the way of an end or a fork."""

import os
import subprocess
import sys
from threading import Event, Thread, current_thread, main_thread
from time import monotonic

import pytest
from making import finish

from naive_graph.core import beside
from naive_graph.core.beside import Beside


def made(job):
    """Ask for it until it is there."""
    end = monotonic() + 60
    while not job.is_there():
        assert monotonic() < end
        finish()
    return job.result()


def test_it_is_made_once_and_by_another_thread():
    makers = []
    job = Beside(lambda: makers.append(current_thread()) or len(makers))
    assert made(job) == 1 and made(job) == 1 and job.is_there()
    assert main_thread() not in makers


def test_nobody_waits_for_it():
    held = Event()
    job = Beside(held.wait)
    try:
        assert not any(job.is_there() for _ in range(100))
    finally:
        held.set()
    assert made(job) is True


def test_one_thing_is_made_at_a_time():
    held, begun = Event(), []
    jobs = [Beside(lambda k=k: begun.append(k) or held.wait()) for k in range(3)]
    try:
        for job in jobs * 2:
            assert not job.is_there()
    finally:
        held.set()
    assert begun == [0]
    assert all(map(made, jobs)) and sorted(begun) == [0, 1, 2]


def test_an_error_is_raised_where_the_result_is_asked_for():
    def fail():
        raise ValueError("too long")

    job = Beside(fail)
    for _ in range(2):
        with pytest.raises(ValueError, match="too long"):
            made(job)


def test_where_no_thread_can_begin_nothing_is_made_and_no_other_is_tried(monkeypatch):
    tries = []

    def start(self):
        tries.append(self)
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Beside, "busy", Thread())
    monkeypatch.setattr(Thread, "start", start)
    job = Beside(int)
    assert not any(job.is_there() or Beside(int).is_there() for _ in range(3))
    assert len(tries) == 1 and job.result() == 0


def test_while_python_ends_nothing_is_begun(monkeypatch):
    job = Beside(int)
    with monkeypatch.context() as patch:
        patch.setattr(beside, "main_thread", Thread)  # one that is not alive
        assert not job.is_there()
    assert made(job) == 0


FORKING = """
import os
from threading import Event
from naive_graph.core.beside import Beside
held = Event()
job = Beside(held.wait)
assert not job.is_there()
child = os.fork()
held.set()
if child:
    assert os.waitpid(child, 0)[1] == 0
while not job.is_there():
    Beside.busy.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
def test_the_child_of_a_fork_makes_it_anew():
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING], capture_output=True, text=True, timeout=120)
    assert (found.returncode, found.stderr) == (0, "")
