# Written by tests/stubs.py.
# mypy: disable-error-code="override,overload-overlap"
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar, overload

from . import errors as errors, classroom as classroom, interop as interop, sequential as sequential, training as training, views as views, tensor as tensor
from .graph._methods import Binary, Number, Ternary, Unary, Variadic
from .classroom.notebook import check as check, hint as hint, predict as predict, solution as solution, working as working
from .core.own_operators import operator as operator
from .core.progress import progress as progress
from .core.rules import Interval as Interval
from .core.version import __version__ as __version__
from .errors import NaiveGraphError as NaiveGraphError
from .graph.check import check_operator as check_operator, gradcheck as gradcheck
from .graph.derive import hessian as hessian, jacobian as jacobian, tangent as tangent
from .graph.graph import Graph as Graph, naive_Graph as naive_Graph, scope as scope
from .graph.named_operators import binary_function_frame as binary_function_frame, commutable_binary_function_frame as commutable_binary_function_frame, unary_function_frame as unary_function_frame
from .graph.nodes import Constant as Constant, Node as Node, Operator as Operator, PlaceHolder as PlaceHolder, Variable as Variable
from .program.program import Program as Program
from .sequential.model import Sequential as Sequential
from .tensor.base import TensorNode as TensorNode
from .tensor.build import linear as linear
from .tensor.lowering.lower import lower as lower
from .tensor.nodes import LeafNode as LeafNode
from .tensor.operators.table import operators as operators, tensor_operator as tensor_operator
from .training.loop import fit as fit
from .training.model import Model as Model
from .training.optimizers import AdadeltaTrainer as AdadeltaTrainer, AdagradTrainer as AdagradTrainer, AdamTrainer as AdamTrainer, CyclicalSGDTrainer as CyclicalSGDTrainer, MomentumSGDTrainer as MomentumSGDTrainer, RMSPropTrainer as RMSPropTrainer, SimpleSGDTrainer as SimpleSGDTrainer
from .views import draw as draw, step as step
from .views.altitude_view.altitudes import altitudes as altitudes
from .views.plots.history import History as History
from .views.steps.record import record as record

add: Variadic; mul: Variadic; logsumexp: Variadic
sub: Binary; div: Binary; pow: Binary; atan2: Binary; hypot: Binary; mod: Binary; maximum: Binary; minimum: Binary; greater: Binary; less: Binary; greater_equal: Binary; less_equal: Binary; equal: Binary; not_equal: Binary
neg: Unary; square: Unary; sqrt: Unary; reciprocal: Unary; exp: Unary; expm1: Unary; log: Unary; log1p: Unary; sin: Unary; cos: Unary; tan: Unary; asin: Unary; acos: Unary; atan: Unary; sinh: Unary; cosh: Unary; tanh: Unary; asinh: Unary; acosh: Unary; atanh: Unary; sigmoid: Unary; softplus: Unary; erf: Unary; relu: Unary; abs: Unary; sign: Unary; heaviside: Unary; floor: Unary; total: Unary; mean: Unary
where: Ternary
def elu(x: Number, alpha: float = 1.0, *, name: str | None = None) -> Number: ...
def gelu(x: Number, approximate: Literal['none', 'tanh'] = 'none', *, name: str | None = None) -> Number: ...
def leaky_relu(x: Number, alpha: float = 0.01, *, name: str | None = None) -> Number: ...
def selu(x: Number, alpha: float = 1.6732632423543772, gamma: float = 1.0507009873554805, *, name: str | None = None) -> Number: ...
def silu(x: Number, alpha: float = 1.0, *, name: str | None = None) -> Number: ...
Kind = TypeVar("Kind", Node, TensorNode)  # derivatives are of the kind that they are asked of
@overload
def gradients(y: Kind, wrt: Kind) -> Kind: ...
@overload
def gradients(y: Kind, wrt: Iterable[Kind]) -> list[Kind]: ...
@overload
def tangents(x: Kind, outputs: Kind) -> Kind: ...
@overload
def tangents(x: Kind, outputs: Iterable[Kind]) -> list[Kind]: ...
@overload
def softmax(xs: TensorNode) -> TensorNode: ...
@overload
def softmax(xs: Iterable[float]) -> list[float]: ...
@overload
def softmax(xs: Iterable[Node | float]) -> list[Node]: ...
