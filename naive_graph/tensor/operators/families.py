"""Base classes of tensor operators: elementwise ones (with broadcasting), and reductions (over axes).

A "rule" is a function of the scalar catalogue (core/catalogue.py), such as `exp`. `RuleOperator(exp)` makes
it the tensor operator `exp`: its definition (operator_def.py) with examples, and its names in ONNX and TensorFlow.
The scalar function is traced once for each arity, and applied to each entry of its operands (`map_entries`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ...core.number import number
from ...core.rules import Rule
from ...errors import NumberError, ShapeError
from ...graph.graph import scope
from ...graph.node_factory import CURRENT, check_name
from ...graph.nodes import Node
from ..arithmetic import as_tensor, broadcast, broadcast_shape, is_array
from ..base import Call, TensorNode, names_in, serials
from ..function import Function, trace
from ..nodes import NonlinearNode
from .examples import Example, example
from .mapping import Attribute, Input, Onnx, TensorFlow, to_bool
from .operator_def import OperatorDef
from .properties import FLAG, Axes, Operand
from .signature import MISSING, OperatorParameter, interpret_annotation

SINCE = {  # ONNX operator -> the opset from which our definition applies; all opsets that have it, if not listed
    **dict.fromkeys(("Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Erf", "Sign", "Where"), 9),
    **dict.fromkeys(("GreaterOrEqual", "LessOrEqual"), 12),
}
# TensorFlow attributes without a counterpart here, and the only value that is accepted.
REQUIRED_VALUES = {operator_name: {"incompatible_shape_error": True} for operator_name in ("Equal", "NotEqual")}


class Elementwise(OperatorDef):
    """An elementwise operator, one nonlinear node; numbers and scalar nodes are accepted as they are."""

    kind = "elementwise"

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, **options)
        if not self.examples:
            self.examples = _broadcast_examples(len(self.operand_names))

    def _operand(self, parameter: OperatorParameter, value: Any) -> Any:
        if isinstance(value, (TensorNode, Node)) or type(value) is float:
            return value
        if is_array(value):
            return super()._operand(parameter, value)
        try:
            return number(value, f"{self.name}: operand {parameter.name}")
        except NumberError:
            return super()._operand(parameter, value)

    def build_result(self, values: dict[str, Any], name: str | None = None) -> Any:
        operands = [values[operand_name] for operand_name in self.operand_names]
        properties = {name: values[name] for name in self.property_names}
        if not any(isinstance(operand, TensorNode) for operand in operands):
            return self.function(*operands, **properties)
        check_name(name)
        tensors = [operand if isinstance(operand, TensorNode) else as_tensor(operand) for operand in operands]
        try:
            shape = broadcast_shape(*tensors)
        except ShapeError as error:
            raise self._prefix_with_name(error) from None
        first_serial = next(serials)  # every node that is built from here on belongs to this call
        label = name or names_in(CURRENT.tables).make_for_call(self.name)
        if all(tensor.shape == shape for tensor in tensors):
            node = self.build_node(tensors, properties)
        else:
            with scope(label):
                node = self.build_node([broadcast(tensor, shape) for tensor in tensors], properties)
        node.call = Call(self, tuple(tensors), properties, label, first_serial)
        if name is not None:
            node.name = name
        return node

    def build_node(self, tensors: Sequence[TensorNode], properties: Mapping[str, Any]) -> TensorNode:
        """Build the nonlinear node; the tensors are broadcast to one shape already."""
        function = _trace_function((self, *properties.values()), partial(self.function, **properties), len(tensors))
        return NonlinearNode(function, *tensors)


class RuleOperator(Elementwise):
    """An elementwise operator made from a rule of the scalar catalogue."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        count = 2 if rule.arity is None else rule.arity
        self._letters = list("abcdefgh"[:count]) if count != 1 else ["x"]

        def function(*operands: Any) -> Any:
            return rule(*operands)

        function.__name__ = rule.name
        function.__doc__ = ""
        low, high = (0.3, 2.0) if rule.name in ("div", "pow") else rule.domain[0]
        # Examples draw operands from [example_low, example_high]: inside the domain, and at most about 1.5 from 0.
        example_low = max(low + 0.2, -1.5)
        example_high = min(high - 0.1, max(low + 0.2, 0.0) + 1.5)
        super().__init__(
            function,
            onnx=[Onnx(rule.onnx, since=SINCE.get(rule.onnx, 1))] if rule.onnx and rule.name != "logsumexp" else [],
            tensorflow=[
                TensorFlow(operator_name, required_values=REQUIRED_VALUES.get(operator_name))
                for operator_name in rule.tensorflow
            ],
            domain=(example_low, example_high),
            smooth=rule.kink is None and rule.name not in ("total", "mean"),
        )

    def _parameters(self) -> list[OperatorParameter]:
        return [OperatorParameter(letter, None, Operand(), MISSING) for letter in self._letters]

    def __call__(self, *operands: Any, name: str | None = None, **keywords: Any) -> Any:
        # A rule of any number of operands is an operator of two; other counts go to the rule itself.
        if self.rule.arity is None and not keywords and len(operands) != 2:
            return self.rule(*operands)
        return super().__call__(*operands, name=name, **keywords)

    def build_node(self, tensors: Sequence[TensorNode], properties: Mapping[str, Any]) -> TensorNode:
        node: TensorNode = tensors[0].apply(self.rule, *tensors)
        return node


class Reduction(OperatorDef):
    """An operator that reduces entries along some axes, or all: a function of (x, axis, keepdims)."""

    def __init__(
        self, function: Callable[..., Any], *, onnx: str = "", since: int = 18, tensorflow: str = "", **options: Any
    ) -> None:
        axes = (Attribute("axes", None, until=since - 1), Input(1, None, since=since))
        keep = Attribute("keepdims", 1, to_bool)
        if onnx:
            options["onnx"] = Onnx(onnx, axis=axes, keepdims=keep, required_values={"noop_with_empty_axes": 0})
        if tensorflow:
            keep_dims = Attribute("keep_dims", False)
            options["tensorflow"] = TensorFlow(tensorflow, axis=Input(1), keepdims=keep_dims, harmless=("Tidx", "T"))
        options.setdefault("examples", REDUCTION_EXAMPLES)
        super().__init__(function, **options)

    def _parameters(self) -> list[OperatorParameter]:
        x = super()._parameters()[0]
        axis = interpret_annotation(self.name, "axis", Axes)[0]
        keepdims = OperatorParameter("keepdims", FLAG, Operand(), False)
        return [x, OperatorParameter("axis", axis, Operand(), None), keepdims]


def _broadcast_examples(count: int) -> list[Example]:
    """Examples with `count` operands: of equal shapes, of single numbers, and of shapes that broadcast."""
    shapes = [(2, 3), (3,), (2, 1), (1, 3)]
    return [example(*[(2, 3)] * count), example(*[()] * count), *([example(*shapes[:count])] if count > 1 else [])]


REDUCTION_EXAMPLES = [
    example((2, 3)), example((2, 3, 2), axis=[0, 2]), example((2, 3), axis=-1, keepdims=True), example((3,), axis=0),
]  # fmt: skip


MAX_TRACED = 4096  # the most traced functions that the cache holds
_TRACED: dict[Any, Function] = {}


def _trace_function(key: Any, function: Callable[..., Any], arity: int) -> Function:
    """The function traced to a scalar graph (a `Function`), once for each key and arity."""
    if (key, arity) not in _TRACED:
        if len(_TRACED) >= MAX_TRACED:
            _TRACED.clear()
        _TRACED[key, arity] = trace(function, arity)
    return _TRACED[key, arity]


def map_entries(function: Callable[..., Any], *sources: TensorNode) -> NonlinearNode:
    """A nonlinear node that applies a Python function of rules; traced once per code, defaults and closure values."""
    closure_values = tuple([cell.cell_contents for cell in function.__closure__ or ()])
    key = (function.__code__, function.__defaults__, closure_values)
    return NonlinearNode(_trace_function(key, function, len(sources)), *sources)
