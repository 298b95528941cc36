"""Who builds the nodes: by choice, and by itself once there are many."""

import os
import subprocess
import sys

import pytest

from naive_graph import builder
from naive_graph.errors import EngineError
from naive_graph.handles import Building

pytestmark = pytest.mark.usefixtures("compiled_builder")


def in_a_new_process(code, **environment):
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return run.stdout.split()


MANY = """
from naive_graph import Variable, builder
import sys
x = y = Variable(1.0)
print(builder.now(), "llvmlite" in sys.modules, "ctypes" in sys.modules)
for _ in range(60_000):
    y = y * x
print(builder.now(), y.row)
"""


def test_compiled_code_is_loaded_only_when_many_nodes_were_built():
    assert in_a_new_process(MANY, NAIVE_GRAPH_BUILDER="") == ["python", "False", "False", "compiled", "60000"]


def test_an_environment_variable_keeps_python_building():
    assert in_a_new_process(MANY, NAIVE_GRAPH_BUILDER="python")[3:] == ["python", "60000"]


LATE = """
import atexit
from naive_graph import Variable, builder
builder.use("compiled")
x = Variable(1.0)
class Late:
    def __del__(self):
        x * x
late, held = Late(), [x * x for _ in range(500)]
atexit.register(lambda: x * x)
"""


def test_nodes_may_be_built_while_the_process_ends():
    assert in_a_new_process(LATE) == []


def test_without_a_compiler_python_goes_on(monkeypatch):
    monkeypatch.setattr(builder, "_made", [])
    monkeypatch.setitem(sys.modules, "naive_graph.compiled", None)
    builder.use("python")
    builder._when_many()
    assert builder.now() == "python" and Building.invite is None


def test_an_unknown_builder_is_refused():
    with pytest.raises(EngineError, match=r'"compiled" code or in "python"'):
        builder.use("fortran")


def test_many_small_graphs_are_many_nodes():
    code = (
        "from naive_graph import Graph, Variable, builder\n"
        "for _ in range(400):\n"
        "    Graph.renew()\n"
        "    x = y = Variable(1.0)\n"
        "    for _ in range(100):\n"
        "        y = y * x\n"
        "print(builder.now())"
    )
    environment = {**os.environ, "NAIVE_GRAPH_BUILDER": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    expected = "compiled" if sys.version_info[:2] in builder.TESTED and sys.platform == "linux" else "python"
    assert done.stdout.strip() == expected
