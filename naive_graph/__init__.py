"""naive_graph: a computation graph of single numbers that can be looked at from every side.

>>> from naive_graph import Graph
>>> x = Graph.Variable(6, name="x")
>>> f = ((x - 7) ** 2 + 10).log()
>>> Graph.forward()
>>> Graph.backward(f)
>>> round(f.value, 6), round(x.grad, 6)
(2.397895, -0.181818)
"""

import builtins as _builtins
from importlib import import_module as _import_module
from types import ModuleType as _Module
from typing import Any as _Any

from .core.catalogue import *  # noqa: F403 - the whole catalogue, by its own __all__
from .core.catalogue import abs, pow
from .core.compositions import elu, gelu, leaky_relu, selu, silu
from .core.imports import Missing as _Missing
from .core.imports import door as _door
from .core.progress import Bar, progress
from .core.rules import Interval, operator
from .core.version import __version__
from .errors import MissingToolError as _MissingToolError
from .errors import NaiveGraphError
from .graph.by_name import binary_function_frame, commutable_binary_function_frame, unary_function_frame
from .graph.check import check_operator, gradcheck
from .graph.derive import gradients, hessian, jacobian, tangent, tangents
from .graph.graph import Graph, naive_Graph, scope
from .graph.nodes import Constant, Node, Operator, PlaceHolder, Variable

# Rooms that are entered only when somebody asks for one of these names: they bring tools of their own.
_ROOMS = {
    "interop.tensorflow.network": "from_tensorflow",
    "classroom.notebook": "check hint predict solution working",
    "interop.onnx": "from_onnx sequential_from_onnx to_onnx",
    "sequential.language": "parse",
    "sequential.layers": "Activation AveragePooling2D Conv2D Dense Dropout MaxPooling2D",
    "sequential.model": "Sequential expand",
    "sequential.partition": "partition",
    "sequential.pipeline": "schedule",
    "tensor": "DAGExecutionEngine ElementwiseNode LeafNode LeafType LinearNode NonlinearNode OpType ReductionNode"
    " TensorNode TransformNode avg_pool2d concat conv2d element_of identity incremental_forward linear log_softmax"
    " lower max_pool2d nonlinear stack transform",
    "tensor.operators.table": "operators tensor_operator",
    "tensor.operators.examples": "example",
    "tensor.losses": "absolute_difference cosine_distance hinge huber l2_loss log_loss log_poisson"
    " mean_pairwise_squared_error mean_squared_error sigmoid_cross_entropy softmax_cross_entropy"
    " sparse_softmax_cross_entropy weighted_cross_entropy_with_logits",
    "tensor.tasks.on_dask": "DaskEngine",
    "training.loop": "fit",
    "training.lowered": "LoweredLoss",
    "training.model": "Model ParameterCollection lookup parameter",
    "training.parameters": "LookupParameter Parameter",
    "training.trainers": "AdadeltaTrainer AdagradTrainer AdamTrainer CyclicalSGDTrainer MomentumSGDTrainer"
    " RMSPropTrainer SimpleSGDTrainer",
    "views.plots.compare": "compare",
    "views.plots.cycles": "cycles",
    "views.drawing.draw": "draw",
    "views.plots.gantt": "gantt",
    "views.plots.history": "History",
    "views.drawing.plans": "Program",  # one that can be drawn
    "views.steps.record": "record step",
    "views.steps.shown": "Steps",
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> _Any:
    room = _ROOM_OF.get(name, "training.trainers" if name.endswith("Trainer") else "")  # a new one, too
    if not room:
        raise AttributeError(f"module 'naive_graph' has no attribute {name!r}")
    try:
        with _door():
            thing = globals()[name] = getattr(_import_module(f".{room}", __name__), name)
    except _MissingToolError as error:  # said when the name is used, so that `import *` works without any tool
        return _Missing(name, str(error))
    return thing


# `progress(items)` shows a bar; `progress()` alone, what was solved, which stands some floors above.
progress.alone = lambda: _import_module(".classroom.notebook", __name__).progress()


def __dir__() -> list[str]:
    return __all__


# All but the rooms themselves, and but `abs` and `pow`, which Python has names of its own for.
_here = [name for name, thing in globals().items() if not name.startswith("_") and not isinstance(thing, _Module)]
__all__ = sorted([*(name for name in _here if not hasattr(_builtins, name)), *_ROOM_OF, "__version__"])
