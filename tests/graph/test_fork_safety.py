"""A child of a fork goes on, whatever the parent's threads were doing; a subinterpreter runs machine code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent.parent

FORKING = """
import os, signal, threading, time
from naive_graph import Graph, Program, Variable
from naive_graph.engines.llvm.compile import compiled

x = Variable(0.5)
(x * x).sin()
Graph.forward(engine="compiled")
done = threading.Event()

def build():
    while not done.is_set():
        for _ in range(100):
            x + 1.0
        time.sleep(0.001)

def compile():
    turn = 0
    while not done.is_set():
        turn += 1
        compiled(f"define double @f(double %x) {{ %y = fmul double %x, {turn}.0 ret double %y }}")

def ask():
    turn = 0
    while not done.is_set():
        turn += 1
        Program((x * turn).sin() + turn % 7, [x], engine="compiled")()

threads = [threading.Thread(target=each) for each in (build, build, compile, ask)]
for each in threads:
    each.start()
for _ in range(12):
    child = os.fork()
    if not child:
        signal.alarm(120)
        y = (Variable(2.0) * 3.0).exp()
        with Graph.scratch():
            y = Variable(2.0) * 3.0
            Graph.forward(y, engine="compiled")
            slope = Program((y + os.getpid()) * 2.0, [y.last[0]], engine="compiled")().gradient
            os._exit(0 if y.value == slope[0] == 6.0 else 1)
    assert os.waitpid(child, 0)[1] == 0
done.set()
for each in threads:
    each.join()
"""

BESIDE = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
inside = "from naive_graph.core.optional_deps import defer_sigint\\nwith defer_sigint(): import fractions"
failed = interpreters.run_string(interpreters.create(), inside)
assert failed is None, failed
"""


def run(script):
    found = subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=HOUSE, capture_output=True, timeout=240)
    assert found.returncode == 0, found.stderr.decode()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
def test_a_child_builds_and_compiles_although_threads_did_so_at_the_fork():
    run(FORKING)


def test_a_subinterpreter_imports_without_being_asked_for_signals():
    run(BESIDE)
