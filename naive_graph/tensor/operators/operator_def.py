"""`OperatorDef`, the definition of a tensor operator such as `softmax`: one entry of the operator registry (table.py).

It wraps a Python function. Parameters without a kind annotation are operands (tensors), the others are
properties (attributes; see properties.py). The function returns a composition of the four kinds of node, or
of other operators, from which derivatives, lowering and pictures follow. The decorator states what the
function's signature does not: the result's shape, the operator's names in ONNX and TensorFlow, examples.

    @tensor_operator(shape=lambda x: x, onnx=Onnx("Celu", alpha=Attribute("alpha", 1.0)))
    def celu(x: Tensor, alpha: float = 1.0) -> Any:
        return ...

A call converts operands to tensors and checks properties; then the function checks their shapes, and builds nodes
inside a scope of the operator's name. The resulting node records the call (`node.call`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any

from ...errors import ArityError, BudgetError, NaiveGraphError, NumberError, OperandError, ShapeError
from ...graph.graph import scope
from ...graph.node_factory import CURRENT, check_name
from ..arithmetic import as_tensor
from ..base import Call, TensorNode, names_in, serials, size_of
from ..nodes import LeafNode, TransformNode
from .examples import Example
from .mapping import ForeignOperator
from .signature import MISSING, OperatorParameter, describe_value, parse_parameters, validate_property

MOST_ENTRIES = 10**10  # the largest result: 80 GB


class OperatorDef:
    """One tensor operator. Called with operands and properties, it returns a tensor, or several.

    shape: the shape rule, a function of some of the parameters by name (operands as shapes), which returns the
    result's shape or raises ShapeError; a rule that only checks returns None, and the composition gives the shape.
    Most operators have none: the function itself raises ShapeError before it builds anything.
    derivative: a custom vjp that replaces the composition's, a function (adjoint, result, *operands,
    **properties) written in operators, returning one tensor for each operand, of its shape. It must be linear
    in the adjoint.
    smooth: whether checks may compare second derivatives with finite differences.
    also: other names of the same operator.
    domain: the interval from which numbers for examples are drawn.

    >>> from naive_graph.tensor import softmax
    >>> isinstance(softmax, OperatorDef), str(softmax.usage())
    (True, 'softmax(x, axis=-1)')
    """

    kind = "composition"

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        shape: Callable[..., Any] | None = None,
        derivative: Callable[..., Any] | None = None,
        onnx: ForeignOperator | Sequence[ForeignOperator] = (),
        tensorflow: ForeignOperator | Sequence[ForeignOperator] = (),
        examples: Sequence[Example] = (),
        domain: tuple[float, float] = (-1.5, 1.5),
        smooth: bool = True,
        also: Sequence[str] = (),
    ) -> None:
        update_wrapper(self, function)
        self.name: str = name or function.__name__
        self.__name__ = self.name
        self.function = function
        self.parameters = self._parameters()
        self.names = [parameter.name for parameter in self.parameters]
        self.by_name = {parameter.name: parameter for parameter in self.parameters}
        self.operand_names = [parameter.name for parameter in self.parameters if parameter.kind is None]
        self.property_names = [parameter.name for parameter in self.parameters if parameter.kind is not None]
        self.derivative = derivative
        if derivative:
            _check_derivative(self, derivative)
        self.smooth, self.domain, self.also = smooth, domain, tuple(also)
        self.mappings = [*_mapping_list(onnx), *_mapping_list(tensorflow)]
        self.examples = list(examples)
        self.shape = shape
        self._shape_arguments = list(inspect.signature(shape).parameters) if shape else []
        for argument in self._shape_arguments:
            if argument not in self.by_name:
                raise OperandError(
                    f"Operator '{self.name}': its shape rule asks for {argument!r}. Take of {self.names}."
                )

    def _parameters(self) -> list[OperatorParameter]:
        return parse_parameters(self.name, self.function)

    def __repr__(self) -> str:
        return f"<operator {self.usage()}>"

    @property
    def __signature__(self) -> inspect.Signature:
        """The signature that `help` and editors show; a required parameter after an optional one is keyword-only."""
        kinds, parameters = inspect.Parameter, list[inspect.Parameter]()
        for parameter in self.parameters:
            is_keyword_only = parameters and (
                parameters[-1].kind == kinds.KEYWORD_ONLY
                or (parameter.default is MISSING and parameters[-1].default is not MISSING)
            )
            kind = kinds.KEYWORD_ONLY if is_keyword_only else kinds.POSITIONAL_OR_KEYWORD
            parameters.append(inspect.Parameter(parameter.name, kind, default=parameter.default))
        return inspect.Signature([*parameters, inspect.Parameter("name", kinds.KEYWORD_ONLY, default=None)])

    def usage(self) -> str:
        """The call with all parameters and defaults, such as "softmax(x, axis=-1)"."""
        return f"{self.name}({', '.join(map(self._format_parameter, self.parameters))})"

    def _format_parameter(self, parameter: OperatorParameter) -> str:
        return parameter.name if parameter.default is MISSING else f"{parameter.name}={parameter.default!r}"

    # --- calling ---

    def __call__(self, *arguments: Any, name: str | None = None, **keywords: Any) -> Any:
        try:
            values = self.bind_arguments(arguments, keywords)
            return self.build_result(values, name)
        except MemoryError as error:
            if isinstance(error, BudgetError):
                raise
            raise BudgetError(f"{self.name}: the result does not fit into memory. {error}") from None

    def bind_arguments(self, positional: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
        """Bind and check the arguments: name -> value, operands as tensors, properties normalized.

        Raises ArityError, OperandError or PropertyError. Calls no function of the operator.
        """
        if len(positional) > len(self.names) or not keywords.keys() <= self.by_name.keys():
            raise ArityError(self._arity_message(positional, keywords))
        values = dict(zip(self.names, positional))
        if keywords:
            if not keywords.keys().isdisjoint(values):
                raise ArityError(self._arity_message(positional, keywords))
            values.update(keywords)
        arguments = {}
        for parameter in self.parameters:
            if parameter.name not in values:
                if parameter.default is MISSING:
                    raise ArityError(f"{self.name} needs {parameter.name}. Write {self.usage()}.")
                arguments[parameter.name] = parameter.default
            elif parameter.kind is None:
                arguments[parameter.name] = self._operand(parameter, values[parameter.name])
            else:
                arguments[parameter.name] = validate_property(self.name, parameter, values[parameter.name])
        return arguments

    def _arity_message(self, positional: Sequence[Any], keywords: Mapping[str, Any]) -> str:
        unknown = [name for name in keywords if name not in self.by_name]
        twice = [name for name in self.names[: len(positional)] if name in keywords]
        problem = f"takes at most {len(self.names)} arguments, not {len(positional)}"
        if unknown:
            problem = f"has no {unknown[0]!r}"
        elif twice:
            problem = f"was given {twice[0]!r} twice"
        return f"{self.name} {problem}. Write {self.usage()}."

    def _operand(self, parameter: OperatorParameter, value: Any) -> Any:
        if value is None and parameter.operand.optional:
            return None
        try:
            if parameter.operand.many:
                if isinstance(value, TensorNode) or not isinstance(value, (list, tuple)) or not value:
                    raise OperandError("a list of at least one tensor is due")
                return [as_tensor(part) for part in value]
            return as_tensor(value)
        except (NumberError, OperandError) as error:
            raise OperandError(
                f"{self.name}: operand {parameter.name} is {describe_value(value)}, which is no tensor: {error}"
                " Give a tensor node, an array, a number or a scalar node."
            ) from None

    def build_result(self, values: dict[str, Any], name: str | None = None) -> Any:
        """Build the result from checked arguments (see `bind_arguments`), inside a scope of the operator's name."""
        expected = self.result_shape(values)
        check_size(self.name, expected)  # before the composition, which may allocate a table of that size
        check_name(name)
        names = names_in(CURRENT.tables)
        label = name or names.make_for_call(self.name)
        first = next(serials)
        with scope(label):
            try:
                result = self.function(**values)
            except ShapeError as error:
                if name is None:
                    names.calls[self.name] -= 1  # the next call gets this label
                raise self._prefix_with_name(error) from None
        return self.attach_call(result, values, label, name, first, expected)

    def result_shape(self, values: Mapping[str, Any]) -> Any:
        """Apply the shape rule: the result's shape (or shapes), None if there is no rule. Raises ShapeError."""
        if self.shape is None:
            return None
        arguments = {
            name: _shape_of(values[name]) if name in self.operand_names else values[name]
            for name in self._shape_arguments
        }
        try:
            return self.shape(**arguments)
        except ShapeError as error:
            raise self._prefix_with_name(error) from None

    def _prefix_with_name(self, error: ShapeError) -> ShapeError:
        text = str(error)
        return error if text.startswith(f"{self.name}: ") else type(error)(f"{self.name}: {text}")

    def attach_call(self, result: Any, values: dict[str, Any], label: str, name: str | None, first: int, expected: Any
    ) -> Any:  # fmt: skip
        """Check the result's shape, and record the call on the result nodes; returns the node or a tuple of nodes.

        label: the scope's name. first: the serial below those of all nodes made in the call. expected: the shape
        that the rule gave.
        """
        operands = tuple(values[operand_name] for operand_name in self.operand_names)
        properties = {property_name: values[property_name] for property_name in self.property_names}
        has_several_results = isinstance(result, (list, tuple))
        nodes = [self._ensure_new_node(output, first) for output in (result if has_several_results else [result])]
        check_size(self.name, [node.shape for node in nodes])
        call = Call(self, operands, properties, label, first)
        for position, node in enumerate(nodes):
            if expected is not None and node.shape != tuple(expected[position] if has_several_results else expected):
                raise ShapeError(f"{self.name}: its shape rule says {expected}, its composition gives {node.shape}.")
            if node.call is not None:
                call.within = node.call
            node.call = call
            if name is not None:
                node.name = name if not has_several_results else f"{name}_{position}"
        if has_several_results:
            if self.derivative:
                raise OperandError(
                    f"{self.name}: several results have the derivative of the composition. Leave derivative= out."
                )
            call.results = tuple(nodes)
            return call.results
        _remove_frame(nodes[0], first)
        return nodes[0]

    def slopes(self, adjoint: Any, result: Any, *operands: Any, **properties: Any) -> list[TensorNode | None]:
        """The custom vjp: for each operand a tensor of its shape, or None."""
        assert self.derivative is not None
        derivatives = self.derivative(adjoint, result, *operands, **properties)
        return _validate_gradients(self.name, derivatives, dict(zip(self.operand_names, operands)))

    def _ensure_new_node(self, node: Any, first: int) -> TensorNode:
        """The node if this call created it; else (an operand returned as is) an identity transform of it."""
        if not isinstance(node, TensorNode):
            raise OperandError(f"Operator '{self.name}' returned {describe_value(node)}, and not a tensor.")
        if node.serial > first:
            return node
        same = range(1, node.rank + 1)
        return TransformNode(same, same, node)


def _remove_frame(node: TensorNode, first: int) -> None:
    """Move an operator's result out of its scope if it is a single node, so that pictures draw no frame around it."""
    outer = node.scope.parent if node.scope else None
    if all(source.serial < first or isinstance(source, LeafNode) for source in node.sources):
        for source in node.sources:
            if source.serial > first:
                source.scope = outer
        node.scope = outer


def _mapping_list(mappings: ForeignOperator | Sequence[ForeignOperator]) -> list[ForeignOperator]:
    return [mappings] if isinstance(mappings, ForeignOperator) else list(mappings)


def check_size(who: str, shapes: Any) -> None:
    """Raise BudgetError if a result has more than MOST_ENTRIES entries. shapes: one shape, or a list of them."""
    is_single_shape = not shapes or isinstance(shapes[0], int)
    for shape in [shapes or ()] if is_single_shape else shapes:
        if size_of(shape) > MOST_ENTRIES:
            raise BudgetError(f"{who}: a result of shape {tuple(shape)} has more entries than fit into memory.")


def _shape_of(operand: Any) -> Any:
    if operand is None:
        return None
    return operand.shape if isinstance(operand, TensorNode) else [tensor.shape for tensor in operand]


# --- custom derivatives ---------------------------------------------------------------


def _check_derivative(row: OperatorDef, derivative: Callable[..., Any]) -> None:
    """Raise OperandError unless a custom derivative accepts (adjoint, result, *operands, **properties)."""
    if any(parameter.operand.many for parameter in row.parameters):
        raise OperandError(
            f"Operator '{row.name}': an operand that is a list has the derivative of the composition. "
            "Leave derivative= out."
        )
    try:
        inspect.signature(derivative).bind(None, None, *row.operand_names, **dict.fromkeys(row.property_names))
    except TypeError:
        arguments = ", ".join(["adjoint", "result", *row.operand_names, *row.property_names])
        raise OperandError(f"Operator '{row.name}': its derivative is called as f({arguments}). Take these.") from None
    except ValueError:  # some builtins have no signature
        return


def _validate_gradients(who: str, result: Any, operands: Mapping[str, TensorNode | None]) -> list[TensorNode | None]:
    """Validate the result of a custom derivative: one tensor for each operand, of its shape, or None.

    Raises ArityError, OperandError or ShapeError otherwise.
    """
    gradients = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(gradients) != len(operands):
        raise ArityError(
            f"{who}: its derivative gives {len(gradients)} of {len(operands)} gradients, for {', '.join(operands)}. "
            "Return one for each, in their order; None for one that has none."
        )
    return [
        None if gradient is None or operand is None else _validate_gradient(who, name, operand, gradient)
        for (name, operand), gradient in zip(operands.items(), gradients)
    ]


def _validate_gradient(who: str, name: str, operand: TensorNode, gradient: Any) -> TensorNode:
    try:
        tensor = as_tensor(gradient)
    except NaiveGraphError as error:
        raise OperandError(
            f"{who}: its derivative gives no tensor for {name}: {error} Build it of the adjoint."
        ) from None
    if tensor.shape != operand.shape:
        mend = f"Sum it over the axes along which {name} was spread" if tensor.size > operand.size else "Spread it"
        raise ShapeError(
            f"{who}: its derivative gives {name} a gradient of shape {tensor.shape}, and {name} has shape "
            f"{operand.shape}. {mend}."
        )
    return tensor
