"""Import rules for TensorFlow operators without an exact counterpart among our operators.

Each rule takes the builder and a step, and returns the step's results: arrays, nodes or stored Weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.catalogue import held as stop_gradient
from ...errors import ImportAttributeError, ImportModelError
from ...tensor.base import TensorNode, size_of
from ...tensor.operators.convolution import find_crops_and_extents
from ...tensor.operators.table import TABLE
from ..builder import truncate_fraction
from ..steps import check_entries
from ..weights import Weight
from .building import TensorFlowBuilder, import_rule, is_integer, mapping_of
from .folding import FOLDED
from .steps import PASSED, GraphStep, value_name
from .values import MOST_REPEATED, dtype

MOST_PARTS = 2**12  # limit for the results of one step that splits a tensor, such as Split or DynamicPartition
MOST_SUBSCRIPTS = 64  # limit for the parts of one subscript, as in NumPy
COUNT_ATTRIBUTES = {  # the attribute that gives an operator's number of results
    "Unpack": "num", "Split": "num_split", "SplitV": "num_split", "DynamicPartition": "num_partitions",
}  # fmt: skip


@import_rule("Const", "Placeholder")
def _constant_or_input(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [builder.value(step.name)]


@import_rule("NoOp", "Assert")
def _no_result(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return []


@import_rule(PASSED, "IdentityN")
def _pass_on(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Return the inputs unchanged, and record each result as an alias of its input."""
    for index, name in enumerate(step.inputs):
        builder.origins[value_name(step.name, index)] = builder.origins.get(name, name)
    return [builder.input(step, position) for position in range(len(step.inputs))]


@import_rule("Identity", "Snapshot", "PlaceholderWithDefault")
def _identity(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    value = builder.input(step, 0)
    if isinstance(value, (np.ndarray, Weight)):
        return _pass_on(builder, step)
    return builder.apply_operator(step, TABLE["identity"], {"x": value})


# --- shapes -------------------------------------------------------------------


def _constant(step: GraphStep, value: Any, attribute: str = "", kind: Any = np.int32) -> Any:
    """An array of the type that an attribute names, or of type `kind` if the step lacks that attribute."""
    declared = step.attributes.get(attribute)
    return np.asarray(value, dtype(declared, step.label, attribute) if declared else kind)


@import_rule("Shape", "ShapeN")
def _shape(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, builder.input(step, position).shape, "out_type") for position in range(len(step.inputs))]


@import_rule("Size")
def _size(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, size_of(builder.input(step, 0).shape), "out_type")]


@import_rule("Rank")
def _rank(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [_constant(step, len(builder.input(step, 0).shape))]


@import_rule("Fill", "ZerosLike", "OnesLike")
def _fill(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    if step.op == "Fill":
        shape, value = builder.known_array(step, 0).ravel().tolist(), builder.known_array(step, 1).reshape(())
    else:
        source = builder.input(step, 0)
        kind = source.dtype if isinstance(source, np.ndarray) else np.float64
        shape, value = source.shape, np.asarray(float(step.op == "OnesLike"), kind)
    if min(shape, default=0) < 0:
        raise ImportModelError(f"{step.label} fills the shape {tuple(shape)}: an extent cannot be negative.")
    if size_of(shape) > MOST_REPEATED:
        raise ImportModelError(f"{step.label} fills the shape {tuple(shape)}: more than {MOST_REPEATED:,} entries.")
    return [np.broadcast_to(value, shape)]


@import_rule("Range")
def _range(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    start, limit, delta = (builder.known_array(step, position).reshape(()) for position in range(3))
    if not delta or not (abs((float(limit) - float(start)) / float(delta)) <= MOST_REPEATED):
        wanted = f"{start} to {limit} by {delta}"
        raise ImportModelError(f"{step.label}: {wanted} is no range of {MOST_REPEATED:,} or fewer.")
    return [np.arange(start.item(), limit.item(), delta.item()).astype(start.dtype)]


@import_rule("FloorDiv", "FloorMod", "Mod", "TruncateMod")
def _divide(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Quotients rounded down; remainders with the sign of the divisor (FloorMod) or the dividend (the others)."""
    if any(isinstance(builder.input(step, position), TensorNode) for position in (0, 1)):
        a, b = (builder.operand(step, position) for position in (0, 1))
        if step.op != "FloorDiv":
            return builder.apply_operator(step, TABLE["mod" if step.op == "FloorMod" else "fmod"], {"a": a, "b": b})
        return builder.apply_operator(step, TABLE["div"], {"a": TABLE["sub"](a, TABLE["mod"](a, b)), "b": b})
    a, b = builder.known_array(step, 0), builder.known_array(step, 1)
    if not b.all() or a.size > 1 < b.size:
        raise ImportModelError(f"{step.label} divides {a.shape} by {b.shape}, or by 0. It is for shapes.")
    divide = {"FloorDiv": np.floor_divide, "FloorMod": np.mod}.get(step.op, np.fmod)
    with np.errstate(all="ignore"):
        return [divide(a, b)]


# --- types --------------------------------------------------------------------


@import_rule("Cast")
def _cast(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    kind = dtype(step.attributes.get("DstT"), step.label, "DstT")
    value = builder.input(step, 0)
    if isinstance(value, Weight) and kind.kind == "f":
        return _pass_on(builder, step)
    if isinstance(value, (np.ndarray, Weight)):
        with np.errstate(all="ignore"):
            return [builder.known_array(step, 0).astype(kind)]
    if kind.kind == "b":
        return builder.apply_operator(step, TABLE["not_equal"], {"a": value, "b": 0.0})
    if kind.kind != "f" and not is_integer(step, "SrcT"):
        return [truncate_fraction(value, step.name)]
    return builder.apply_operator(step, TABLE["identity"], {"x": value})


@import_rule("Div", "TruncateDiv", "Pow", "Mean")
def _with_fractions(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Div, TruncateDiv, Pow and Mean: results of integers are truncated towards 0."""
    if step.op == "TruncateDiv":
        step = step._replace(op="Div")
    if not is_integer(step):
        return builder.by_row(step)
    result: Any
    if step.op != "Mean":
        (result,) = builder.by_row(step._replace(name=f"{step.name}/fractions"))
    else:  # not by multiplying with 1 / count: that may give just less than an integer, which is then truncated
        (total,) = builder.by_row(step._replace(op="Sum", name=f"{step.name}/sum"))
        count = size_of(builder.input(step, 0).shape) // size_of(total.shape)
        if isinstance(total, np.ndarray):
            return [FOLDED["div"](total, np.array(count, total.dtype))]
        result = TABLE["div"](total, float(count))
    return [result if isinstance(result, np.ndarray) else truncate_fraction(result, step.name)]


@import_rule("StopGradient")
def _stop_gradient(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    return [stop_gradient(builder.operand(step, 0), name=step.name)]


# --- operators that differ from their counterpart here --------------------------------------


@import_rule("StridedSlice")
def _strided_slice(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """StridedSlice: x[index]. Bit i of each mask changes the meaning of entry i of begin, end and strides."""
    operator_def, mapping = mapping_of(step.op)
    builder.properties(step, operator_def, mapping)  # for its checks only: the masks are read below
    begin, end, steps = (builder.known_array(step, operand_index).ravel().tolist() for operand_index in (1, 2, 3))
    masks = {name: step.attributes.get(name, 0) for name in mapping.prepared}
    for name, bits in masks.items():
        if not isinstance(bits, int) or not 0 <= bits < 2 ** len(begin):
            raise ImportAttributeError(step.label, name, bits, f"Due are bits for {len(begin)} places.")
    if not len(begin) == len(end) == len(steps) <= MOST_SUBSCRIPTS or 0 in steps:
        raise ImportModelError(f"{step.label}: {begin}, {end} and {steps} are no begins, ends and steps.")
    index: list[Any] = []
    for position, (first, last, stride) in enumerate(zip(begin, end, steps)):
        bit = {name: bits >> position & 1 for name, bits in masks.items()}
        if bit["ellipsis_mask"]:
            index.append(...)
        elif bit["new_axis_mask"]:
            index.append(None)
        elif bit["shrink_axis_mask"]:
            index.append(first)
        else:
            index.append(slice(None if bit["begin_mask"] else first, None if bit["end_mask"] else last, stride))
    x = builder.input(step, 0)
    if isinstance(x, np.ndarray):
        try:
            return [x[tuple(index)]]
        except IndexError as error:
            raise ImportModelError(f"{step.label}: {error}.") from None
    x = builder.operand(step, 0)
    result = x[tuple(index)]
    if result is not x:
        result.name = step.name
    return [result]


@import_rule("Select")
def _select(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Select is where; a condition of rank 1 selects whole slices along axis 0."""
    condition, b, c = (builder.operand(step, position) for position in range(3))
    if condition.rank == 1 < b.rank:
        condition = TABLE["expand_dims"](condition, range(1, b.rank), name=f"{step.name}/condition")
        return builder.apply_operator(step, TABLE["where"], {"a": condition, "b": b, "c": c})
    return builder.by_row(step)


@import_rule("OneHot")
def _one_hot(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """OneHot: a negative index selects nothing; our operator would count it from the end."""
    properties = builder.properties(step, *mapping_of(step.op))
    x, depth = builder.operand(step, 0), float(properties["depth"])
    is_negative = TABLE["less"](x, 0.0, name=f"{step.name}/classes")
    return builder.by_row(step, x=TABLE["where"](is_negative, depth, x, name=f"{step.name}/known"))


@import_rule("Conv2DBackpropInput")
def _conv2d_backprop_input(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Conv2DBackpropInput: with explicit padding, the output padding goes to the end; our operator would centre it."""
    operator_def, mapping = mapping_of(step.op)
    values = builder.operands(step, operator_def, mapping) | builder.properties(step, operator_def, mapping)
    if isinstance(values["padding"], tuple):
        wanted = values.pop("output_shape")
        bound = operator_def.bind_arguments((), values)
        names = ("strides", "padding", "dilations", "groups", "data_format", "output_padding", "output_shape")
        sides = find_crops_and_extents(bound["x"].shape, bound["w"].shape, **{name: bound[name] for name in names})
        values["output_padding"] = [wanted_extent - extent for wanted_extent, (_, extent) in zip(wanted, sides)]
    return builder.apply_operator(step, operator_def, values)


@import_rule("SplitV")
def _split_by_sizes(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """SplitV: one of the sizes may be -1, for the remaining entries."""
    properties = builder.properties(step, *mapping_of(step.op))
    shape, axis, sizes = builder.input(step, 0).shape, properties["axis"], np.ravel(properties["sizes"]).tolist()
    if sizes.count(-1) == 1 and -len(shape) <= axis < len(shape):
        rest = shape[axis] - (sum(sizes) + 1)  # the other sizes: sum(sizes) contains the -1
        sizes = [rest if size == -1 else size for size in sizes]
    return builder.by_row(step, sizes=sizes)


@import_rule("Unpack", "Split", "DynamicPartition")
def _split_into_count(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """Unpack, Split and DynamicPartition: check the attribute that gives the number of results."""
    name = COUNT_ATTRIBUTES[step.op]
    count = step.attributes.get(name)
    if type(count) is not int or not 0 < count <= MOST_PARTS:
        raise ImportAttributeError(step.label, name, count, f"Due are 1 to {MOST_PARTS:,} parts.")
    if step.op == "Unpack":
        properties = builder.properties(step, *mapping_of(step.op))
        shape, axis = builder.input(step, 0).shape, properties["axis"]
        if -len(shape) <= axis < len(shape) and shape[axis] != count:
            raise ImportAttributeError(step.label, name, count, f"The shape {shape} has other parts along {axis}.")
    return builder.by_row(step)


@import_rule("Erfc")
def _erfc(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    erf = TABLE["erf"](builder.operand(step, 0), name=f"{step.name}/erf")
    return builder.apply_operator(step, TABLE["sub"], {"a": 1.0, "b": erf})


@import_rule("TopKV2", "Cumsum")
def _compare_pairs_along_axis(builder: TensorFlowBuilder, step: GraphStep) -> Sequence[Any]:
    """TopKV2 and Cumsum compare every pair along the axis: check that the table of pairs is not too large."""
    shape, axis = builder.input(step, 0).shape, -1 if step.op == "TopKV2" else builder.known_array(step, 1)
    if shape and np.size(axis) == 1 and -len(shape) <= int(axis) < len(shape):
        check_entries((*shape, shape[int(axis)]), step.label)
    return builder.by_row(step)
