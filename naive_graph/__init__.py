"""naive_graph: a computation graph of single numbers that can be looked at from every side.

>>> from naive_graph import Graph
>>> x = Graph.Variable(6, name="x")
>>> f = ((x - 7) ** 2 + 10).log()
>>> Graph.forward()
>>> Graph.backward(f)
>>> round(f.value, 6), round(x.grad, 6)
(2.397895, -0.181818)

Here is what a first course uses:

    the graph       Graph, Variable, PlaceHolder, Constant, Operator, scope
    functions       exp, log, sin, relu, maximum, where ...: of numbers, nodes and tensors
    derivatives     gradients, tangents, jacobian, hessian; gradcheck checks them
    your operators  operator, check_operator; tensor_operator for tensors
    views           draw, step, altitudes, record, History
    compiled code   Program; node.code writes a node and its gradient in C or JavaScript
    tensors         LeafNode, linear, lower
    training        Model, fit, AdamTrainer and six other trainers, Sequential
    lessons         check, hint, predict, solution, working, progress

The rest is in subpackages, each with a guide of its own, such as `help(naive_graph.tensor)`:

    naive_graph.tensor      every operator of tensors, conv2d, matmul, lstm ...; losses; kinds of node
    naive_graph.training    models and their parameters, trainers, fit
    naive_graph.sequential  layers, networks written as text (parse), dataflows, pipelines
    naive_graph.views       drawings, the stepper, plots: compare, gantt, cycles
    naive_graph.interop     from_onnx, to_onnx, from_tensorflow
    naive_graph.classroom   exercises and their verdicts
    naive_graph.errors      all errors
"""

import builtins as _builtins
from importlib import import_module as _import_module
from types import ModuleType as _Module
from typing import Any as _Any

from .core.catalogue import *  # noqa: F403 - the whole catalogue, by its own __all__
from .core.catalogue import STEPS as _STEPS
from .core.catalogue import abs, floor, mod, pow
from .core.compositions import elu, gelu, leaky_relu, selu, silu
from .core.lazy_exports import late_bound as _late_bound
from .core.lazy_exports import lazy_exports as _lazy_exports
from .core.own_operators import operator
from .core.progress import progress
from .core.rules import Interval
from .core.version import __version__
from .errors import NaiveGraphError
from .graph.check import check_operator, gradcheck
from .graph.derive import gradients, hessian, jacobian, tangent, tangents
from .graph.graph import Graph, naive_Graph, scope
from .graph.named_operators import binary_function_frame, commutable_binary_function_frame, unary_function_frame
from .graph.nodes import Constant, Node, Operator, PlaceHolder, Variable

# Subpackages, in the order in which a name that the package lacks is looked for.
_ROOMS = ("training", "sequential", "views", "classroom", "tensor", "interop")

# These names are imported on first use: file -> names.
__getattr__, _, _lazy_names = _lazy_exports(__name__, {
    "classroom.notebook": "check hint predict solution working",
    "program.program": "Program",
    "sequential.model": "Sequential",
    "tensor.base": "TensorNode",
    "tensor.build": "linear",
    "tensor.lowering.lower": "lower",
    "tensor.nodes": "LeafNode",
    "tensor.operators.table": "operators tensor_operator",
    "training.loop": "fit",
    "training.model": "Model",
    "training.optimizers": "AdadeltaTrainer AdagradTrainer AdamTrainer CyclicalSGDTrainer MomentumSGDTrainer"
    " RMSPropTrainer SimpleSGDTrainer",
    "views.altitude_view.altitudes": "altitudes",
    "views.drawing.draw": "draw",
    "views.plots.history": "History",
    "views.steps.record": "record step",
}, subpackages=_ROOMS)  # fmt: skip


def _draw_plan(*arguments: _Any, **options: _Any) -> _Any:
    return _import_module(".views.drawing.plans", __name__).draw_plan(*arguments, **options)


_late_bound["draw_plan"] = _draw_plan  # for `Program.draw`, whose file may not import views
# `progress(items)` shows a bar; `progress()` shows which exercises are solved, by a function of the classroom.
progress.alone = lambda: _import_module(".classroom.notebook", __name__).progress()


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, *_STEPS, "abs", "errors", "pow"})


# Not in __all__: submodules, `abs` and `pow`, which would hide Python's builtins, and the steps (floor, mod).
_here = [name for name, thing in globals().items() if not name.startswith("_") and not isinstance(thing, _Module)]
__all__ = sorted(
    [*(name for name in _here if not hasattr(_builtins, name) and name not in _STEPS), *_lazy_names, "__version__"]
)
