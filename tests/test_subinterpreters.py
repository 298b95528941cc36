"""In a second interpreter of one process what can run runs, and what cannot says so."""

import subprocess
import sys

import pytest

pytest.importorskip("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
pytest.importorskip("llvmlite")

MAIN = """
import sys
new = sys.version_info >= (3, 13)
if new:
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters
room = interpreters.create({kind!r}) if new else interpreters.create(isolated={kind!r} == "isolated")
failed = (interpreters.exec if new else interpreters.run_string)(room, {code!r})
interpreters.destroy(room)
assert not failed, failed.formatted
"""
SECOND = """
import sys, warnings
sys.path[:] = {path!r}
warnings.simplefilter("ignore")  # NumPy's, about interpreters
from naive_graph import Graph, LeafNode, Program, gradients
from naive_graph.errors import MissingToolError
x = Graph.Variable(3.0)
y = x * x

def there_and_back(engine):
    Graph.forward(engine=engine)
    Graph.backward(y, engine=engine)
    assert x.grad == 6.0
    return y.value

there_and_back("reference")
assert gradients(y, x).formula()
for act in (lambda: there_and_back("compiled"), lambda: there_and_back("direct"), lambda: Program(y, wrt=[x])().value,
            lambda: LeafNode.parameter([9.0]).value[0]):
    try:
        assert act() == 9.0  # ctypes and NumPy can be loaded where their makers foresaw it
    except MissingToolError as error:
        assert "cannot be loaded here" in str(error)
"""


@pytest.mark.parametrize("kind", ["legacy", "isolated"])
def test_a_second_interpreter_runs_what_it_can_and_says_what_it_cannot(kind):
    program = MAIN.format(kind=kind, code=SECOND.format(path=sys.path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
