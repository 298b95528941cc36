"""The kinds of tensor node that no operator's call stands for, in operators of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_letters
from typing import Any

import numpy as np

from ...core.rules import RULES
from ...tensor.base import TensorNode
from ...tensor.evaluation.contraction import settled
from ...tensor.index import Ids
from ...tensor.nodes import LinearNode, NonlinearNode, OpType, TransformNode
from ...tensor.operators.table import TABLE
from ...tensor.reduction import Places, ReductionNode
from ...tensor.selection import SelectionNode
from .export_graph import GraphBuilder
from .export_scalar import BuilderArray, as_value, emit_rule
from .export_values import Refused, Value

ROWS = {"minimum": "reduce_min", "mul": "reduce_prod", "logsumexp": "reduce_logsumexp"}  # the others: the largest
Of = Callable[[TensorNode], Value]


def export_node(builder: GraphBuilder, node: TensorNode, value: Of) -> Value:
    """A node from the values of its sources. Raises Refused."""
    if isinstance(node, TransformNode):
        return _transform(builder, node, value(node.sources[0]))
    if isinstance(node, LinearNode):
        return _linear(builder, node, value)
    if isinstance(node, NonlinearNode):
        return _nonlinear(builder, node, [value(each) for each in node.sources])
    if isinstance(node, ReductionNode):
        return _reduction(builder, node, value(node.sources[0]))
    raise Refused(f"{node.label} is of a kind that no file can hold. Compute it with tensor operators")


def _transform(builder: GraphBuilder, node: TransformNode, source: Value) -> Value:
    found = _beside(builder, source, node.index.src, node.index.dst)
    found = builder.expand(found, node.shape)
    return found if node.alpha == 1.0 else emit_rule(builder, RULES["mul"], [found, node.alpha])


def _beside(builder: GraphBuilder, source: Value, ids: Ids, dst: Ids) -> Value:
    """The source, summed over its dummies, its axes in the order of dst; extent 1 along those it lacks."""
    found = builder.total(source, [axis for axis, each in enumerate(ids) if each < 0])
    rest = [each for each in ids if each > 0]
    found = builder.transpose(found, [rest.index(each) for each in dst if each in rest])
    extents = dict(zip(ids, source.shape))
    return builder.reshape(found, [extents[each] if each > 0 and each in rest else 1 for each in dst])


def _linear(builder: GraphBuilder, node: LinearNode, value: Of) -> Value:
    multiplies = node.op == OpType.mul
    if multiplies and (node.index.dummies or any(isinstance(each, SelectionNode) for each in node.sources)):
        return _product(builder, node, value)
    sources = zip(node.sources, (node.index.left, node.index.right))
    sides = [_beside(builder, value(source), ids, node.index.dst) for source, ids in sources]
    return emit_rule(builder, RULES[node.op.name], sides)


def _product(builder: GraphBuilder, node: LinearNode, value: Of) -> Value:
    """Entries are moved as selections say; one Einstein sum does the rest."""
    given = [
        (each if isinstance(each, SelectionNode) else BuilderArray(value(each)), tuple(map(abs, ids)))
        for each, ids in zip(node.sources, (node.index.left, node.index.right))
    ]
    factors = settled(given, node.index.dst) or [(np.array(1.0), ())]
    if len(factors) == 1 and factors[0][1] == node.index.dst:
        return as_value(builder, factors[0][0])
    letters: dict[int, str] = {}
    for each in (each for _, ids in factors for each in ids):
        if len(letters) == len(ascii_letters):
            raise Refused(f"{node.label} has more than {len(ascii_letters)} indices. Multiply in several steps")
        letters.setdefault(each, ascii_letters[len(letters)])
    terms = ",".join("".join(map(letters.get, ids)) for _, ids in factors)  # type: ignore[arg-type]
    equation = f"{terms}->{''.join(letters[each] for each in node.index.dst)}"
    return builder.emit("Einsum", [as_value(builder, each) for each, _ in factors], [node.shape], equation=equation)[0]


def _nonlinear(builder: GraphBuilder, node: NonlinearNode, sources: list[Value]) -> Value:
    steps = node.function.steps
    values: list[Any] = steps.constants[:]
    for place, source in zip(steps.arguments, sources):
        if place is not None:
            values[place] = source
    for step, rule, operands in steps.rules:
        given = [values[each] for each in operands]
        values[step] = rule(*given) if all(type(each) is float for each in given) else emit_rule(builder, rule, given)
    return builder.expand(as_value(builder, values[steps.result]), node.shape)


def _reduction(builder: GraphBuilder, node: ReductionNode, source: Value) -> Value:
    places = Places.of(node.index)
    order = [each - 1 for each in (*places.kept, *places.dropped)]
    found = builder.transpose(source, order)
    kept = [source.shape[each - 1] for each in places.kept]
    axes = list(range(len(kept), len(order)))
    if node.rule == "argmax":
        flat = builder.reshape(found, (*kept, int(np.prod([source.shape[each - 1] for each in places.dropped]))))
        return builder.emit("ArgMax", [flat], [kept], axis=len(kept), keepdims=0)[0]
    (name,) = [each.operator for each in TABLE[ROWS.get(node.rule, "reduce_max")].mappings if each.framework == "onnx"]
    return builder.emit(name, [found, np.array(axes)], [kept], keepdims=0)[0] if axes else found
