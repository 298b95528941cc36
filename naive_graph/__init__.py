"""naive_graph: a computation graph of single numbers that can be looked at from every side.

>>> from naive_graph import Graph
>>> x = Graph.Variable(6, name="x")
>>> f = ((x - 7) ** 2 + 10).log()
>>> Graph.forward()
>>> Graph.backward(f)
>>> round(f.value, 6), round(x.grad, 6)
(2.397895, -0.181818)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .core.catalogue import *  # noqa: F403 - the whole catalogue, by its own __all__
from .core.catalogue import __all__ as _catalogue
from .core.catalogue import abs as abs
from .core.catalogue import pow as pow
from .core.rules import Interval, operator
from .core.version import __version__
from .graph.check import check_operator, gradcheck
from .graph.derive import gradients, hessian, jacobian, tangent, tangents
from .graph.graph import Graph, scope
from .graph.nodes import Constant, Node, Operator, PlaceHolder, Variable

if TYPE_CHECKING:
    from .classroom.notebook import check, hint, predict, progress, solution
    from .program.program import Program
    from .tensor import (
        DAGExecutionEngine,
        ElementwiseNode,
        LeafNode,
        LinearNode,
        NonlinearNode,
        TensorNode,
        TransformNode,
        avg_pool2d,
        concat,
        conv2d,
        element_of,
        identity,
        linear,
        log_softmax,
        max_pool2d,
        nonlinear,
        stack,
        transform,
    )
    from .tensor.lower import lower
    from .tensor.tasks.on_dask import DaskEngine
    from .training.loop import fit
    from .training.lowered import LoweredLoss
    from .training.model import Model, ParameterCollection, lookup, parameter
    from .training.parameters import LookupParameter, Parameter
    from .training.trainers import (
        AdadeltaTrainer,
        AdagradTrainer,
        AdamTrainer,
        CyclicalSGDTrainer,
        MomentumSGDTrainer,
        RMSPropTrainer,
        SimpleSGDTrainer,
    )
    from .views.compare import compare
    from .views.draw import draw
    from .views.gantt import gantt
    from .views.history import History
    from .views.steps.record import record, step
    from .views.steps.shown import Steps

naive_Graph = Graph

# Rooms that are entered only when somebody asks: they bring tools of their own.
_TENSORS = (
    "DAGExecutionEngine",
    "ElementwiseNode", "LeafNode", "LinearNode", "NonlinearNode", "TensorNode", "TransformNode", "avg_pool2d", "concat",
    "conv2d", "element_of", "identity", "linear", "log_softmax", "lower", "max_pool2d", "nonlinear", "stack",
    "transform",
)  # fmt: skip
_TRAINERS = (
    "AdadeltaTrainer", "AdagradTrainer", "AdamTrainer", "CyclicalSGDTrainer", "MomentumSGDTrainer", "RMSPropTrainer",
    "SimpleSGDTrainer",
)  # fmt: skip
_CLASSROOM = ("check", "hint", "predict", "progress", "solution")
_MODELS = ("Model", "ParameterCollection", "lookup", "parameter")
_ROOMS = {
    "draw": "views.draw",
    "History": "views.history",
    "DaskEngine": "tensor.tasks.on_dask",
    "compare": "views.compare",
    "LoweredLoss": "training.lowered",
    "fit": "training.loop",
    "Program": "views.plans",  # a Program that can be drawn
    "gantt": "views.gantt",
    "record": "views.steps.record",
    "step": "views.steps.record",
    "Steps": "views.steps.shown",
    **dict.fromkeys(_TENSORS, "tensor"),
    **dict.fromkeys(_TRAINERS, "training.trainers"),
    **dict.fromkeys(_MODELS, "training.model"),
    **dict.fromkeys(_CLASSROOM, "classroom.notebook"),
    **dict.fromkeys(("LookupParameter", "Parameter"), "training.parameters"),
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'naive_graph' has no attribute {name!r}")
    thing = globals()[name] = getattr(import_module(f".{_ROOMS[name]}", __name__), name)
    return thing


def __dir__() -> list[str]:
    return sorted(__all__)


__all__ = [
    "LookupParameter", "LoweredLoss", "Model", "Parameter", "ParameterCollection", "compare", "fit", "lookup",
    "parameter",
    "Constant", "Graph", "History", "Interval", "Node", "Operator", "PlaceHolder", "Program", "Steps", "Variable",
    "__version__", "check_operator", "draw", "gantt", "gradcheck", "gradients", "hessian", "jacobian", "naive_Graph",
    "operator", "record", "scope", "step",
    "DAGExecutionEngine", "DaskEngine",
    "ElementwiseNode", "LeafNode", "LinearNode", "NonlinearNode", "TensorNode", "TransformNode", "avg_pool2d", "concat",
    "conv2d", "element_of", "identity", "linear", "log_softmax", "lower", "max_pool2d", "nonlinear", "stack",
    "transform",
    "AdadeltaTrainer", "AdagradTrainer", "AdamTrainer", "CyclicalSGDTrainer", "MomentumSGDTrainer", "RMSPropTrainer",
    "SimpleSGDTrainer",
    "check", "hint", "predict", "progress", "solution", "tangent", "tangents", *_catalogue,
]  # fmt: skip
