"""naive_graph: a computation graph of single numbers that can be looked at from every side.

>>> from naive_graph import Graph
>>> x = Graph.Variable(6, name="x")
>>> f = ((x - 7) ** 2 + 10).log()
>>> Graph.forward()
>>> Graph.backward(f)
>>> f.value, x.grad
(2.3978952727983707, -0.18181818181818182)
"""

from .catalogue import *  # noqa: F403 - the whole catalogue, by its own __all__
from .catalogue import __all__ as _catalogue
from .derive import gradients, hessian, jacobian, tangent, tangents
from .graph import Graph, scope
from .nodes import Constant, Node, Operator, PlaceHolder, Variable
from .rules import Interval, operator
from .version import __version__

naive_Graph = Graph

__all__ = [
    "__version__", "Constant", "Graph", "Interval", "Node", "Operator", "PlaceHolder", "Variable",
    "gradients", "hessian", "jacobian", "naive_Graph", "operator", "scope", "tangent", "tangents",
    *_catalogue,
]  # fmt: skip
