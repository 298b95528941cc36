"""Without a package that a room needs, its every door says which extra brings it."""

import subprocess
import sys

import pytest

DOORS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {tools}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from importlib import import_module
import naive_graph
from naive_graph.errors import MissingToolError

for door in {doors}:
    try:
        getattr(naive_graph, door) if door in dir(naive_graph) else import_module(f"naive_graph.{{door}}")
    except MissingToolError as error:
        assert "naive-graph[{extra}]" in str(error), (door, str(error))
    else:
        print(door, "opened")
"""
TENSORS = [
    "DAGExecutionEngine", "DaskEngine", "LeafNode", "LinearNode", "TensorNode", "concat", "conv2d", "element_of",
    "linear", "log_softmax", "lower", "stack", "Model", "Parameter", "LookupParameter", "LoweredLoss", "parameter",
    "lookup", "training.model", "training.parameters", "training.lowered", "tensor.losses", "tensor.lower",
    "tensor.tasks.engine", "views.tensors", "views.tasks",
]  # fmt: skip
PLOTS = ["compare", "gantt", "views.plot", "views.walk", "views.animate", "views.figure", "views.gantt"]


@pytest.mark.parametrize("tools, doors, extra", [
    ({"numpy"}, TENSORS, "tensor"), ({"opt_einsum"}, TENSORS, "tensor"), ({"numpy", "matplotlib"}, PLOTS, "plot"),
    ({"matplotlib"}, PLOTS, "plot"),
], ids=["numpy", "opt_einsum", "numpy and matplotlib", "matplotlib"])  # fmt: skip
def test_every_door_says_which_extra_to_install(tools, doors, extra):
    program = DOORS.format(tools=tools, doors=doors, extra=extra)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_trainers_of_variables_need_nothing():
    program = """
import sys
for each in ("numpy", "llvmlite", "opt_einsum", "matplotlib", "tqdm", "dask"):
    sys.modules[each] = None
from naive_graph import AdamTrainer, History, Variable, fit
x = Variable(3.0)
history = History()
outcome = fit(AdamTrainer([x], 0.1), lambda batch: (x - batch[0]) ** 2, [1.0], epochs=3, report=[history.record])
assert outcome.steps == len(history) == 3
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
