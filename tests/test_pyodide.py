"""In a browser's Python, without NumPy or a compiler: all names are there, and the first example runs.

Needs node and the npm package pyodide where node finds it: NODE_PATH=.../node_modules.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent
NODE = shutil.which("node")
BEGIN = "const { loadPyodide } = require('pyodide'); loadPyodide().then(python => {"
PROGRAM = """
import sys
sys.path.insert(0, "/house")
from naive_graph import *
from naive_graph.errors import MissingToolError
x = Graph.Variable(6, name="x")
f = ((x - 7) ** 2 + 10).log()
Graph.forward()
Graph.backward(f)
assert abs(x.grad + 2 / 11) < 1e-15
assert gradients(f, x).formula() == "2*(x - 7)/((x - 7)**2 + 10)"
assert draw(f).dot and len(step(f)) > 10 and gradcheck(f)
tape = lambda: Graph.forward(engine="compiled")
for act in (lambda: draw(f).svg, lambda: Program(f, wrt=[x]), Model, tape, lambda: LeafNode.parameter([1.0])):
    try:
        act()
    except MissingToolError as error:
        assert "naive-graph[" in str(error)
    else:
        raise AssertionError("there should be no such tool here")
"""


@pytest.mark.skipif(NODE is None, reason="needs node")
def test_the_first_example_runs_in_pyodide():
    if subprocess.run([NODE, "-e", "require('pyodide')"], capture_output=True).returncode:
        pytest.skip("needs the npm package pyodide")
    script = f"{BEGIN} python.mountNodeFS('/house', {str(HOUSE)!r}); python.runPython({PROGRAM!r}); }})"
    done = subprocess.run([NODE, "-e", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
