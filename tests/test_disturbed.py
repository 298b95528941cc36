"""Handlers, collectors, finalizers and threads at any moment of any call: right answers, a whole heap, flat memory.

`disturbed.py` does it, in a process of its own, so that an abort is a failing test.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Freed memory is overwritten, and what is written beside it is found.
STRICT = {"PYTHONMALLOC": "debug", "MALLOC_PERTURB_": "165", "PYTHONPATH": str(HERE.parent)}


def disturbed(python, seconds, seed, *names):
    program = [python, "-X", "faulthandler", str(HERE / "disturbed.py"), str(seconds), str(seed), *names]
    env, limit = {**os.environ, **STRICT}, 3 * seconds + 300
    run = subprocess.run(program, env=env, capture_output=True, text=True, timeout=limit)
    assert run.returncode == 0, f"{run.stdout[-500:]}\n{run.stderr[-3000:]}"
    return run.stdout


def pythons():
    """This Python, and one of another version that has what compiles, if one is found."""
    others = [shutil.which(f"python3.{minor}") for minor in (11, 12, 13, 14) if minor != sys.version_info.minor]
    for other in [os.environ.get("NAIVE_GRAPH_OTHER_PYTHON"), *others]:
        if other and not subprocess.run([other, "-c", "import numpy, llvmlite"], capture_output=True).returncode:
            return [sys.executable, other]
    return [sys.executable]


def test_whatever_comes_in_between_leaves_answers_right_and_the_heap_whole():
    assert "build ByThread" in disturbed(sys.executable, 24, 1)


@pytest.mark.slow
def test_ten_minutes_of_it_do_on_every_python_that_is_here():
    for python in pythons():
        disturbed(python, 600, 2)
