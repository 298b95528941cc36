"""Infer which arrays of a file are trainable from how they are used: weights are; masks, angles and scales are not.

Files seldom declare it. So the steps are visited once, in order, before anything is built. A value
that is computed from arrays alone stands for these arrays. The step that combines it with a value that
depends on an input decides: as an operand of a layer, or as an added vector, say, they are trainable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from ..tensor.operators.mapping import ForeignOperator, Permuted
from ..tensor.operators.operator_def import OperatorDef
from .steps import operand_sources

Mapped = tuple[OperatorDef, ForeignOperator]
Shapes = Mapping[str, tuple[int, ...]]
PRODUCTS = {"matmul", "gemm", "einsum", "conv2d", "depthwise_conv2d", "conv2d_transpose"}
LAYERS = PRODUCTS | {
    "dilation2d", "bias_add", "prelu", "rnn", "gru", "lstm", "batch_norm", "layer_norm", "rms_norm", "instance_norm",
    "group_norm", "concat", "stack",
}  # fmt: skip
NOT_TRAINABLE = {"mean", "variance", "initial_h", "initial_c"}  # operands of layers that are not trainable
# Factors of what only sin or cos reads are frequencies of a position encoding; matrices added before softmax are masks.
ANGLES, SOFTMAXES = {"sin", "cos"}, {"softmax", "log_softmax"}
ONLY_FIRST_OPERAND = {"sub", "div"}  # a subtrahend or divisor is a statistic, such as a mean
STATISTICS = {"sqrt", "rsqrt", "DequantizeLinear"}  # their operands are variances, or integers with a scale
CONSTANT_INPUTS = {"NonZero", "Unique"}  # operators whose inputs must be constants


class Use(NamedTuple):
    """One use of values: the operator, the values of each operand, everything that it reads, and its results."""

    operator: str
    only_rearranges: bool
    operands: Mapping[str, Sequence[str]]
    inputs: Collection[str]
    results: Collection[str]


def describe_use(
    op: str, row: Mapped | None, inputs: Sequence[str], results: Collection[str], opset: int | None
) -> Use:
    """Describe a step as a Use; an operator that the table does not have reads its inputs as one operand."""
    if row is None:
        return Use(op, False, {"x": inputs}, inputs, results)
    definition, mapping = row
    operands = {}
    for name, sources in operand_sources(definition, mapping, len(inputs), opset).items():
        positions = [source.position if isinstance(source, Permuted) else source for source in sources]
        operands[name] = [inputs[position] for position in positions if position < len(inputs) and inputs[position]]
    return Use(definition.name, definition.kind == "move" or definition.name == "identity", operands, inputs, results)


def find_trainable(uses: Sequence[Use], shapes: Shapes, inputs: Iterable[str], outputs: Iterable[str]) -> set[str]:
    """Return the names of the trainable arrays. shapes: of all float arrays, by name. uses: in topological order."""
    inference = TrainableInference(shapes, inputs, _readers(uses))
    for use in uses:
        inference.visit_step(use)
    for output in outputs:
        inference.trainable |= inference.weights_of.get(output, set()) if output in inference.table_rows else set()
    return inference.trainable - inference.must_be_constant


def _readers(uses: Sequence[Use]) -> dict[str, set[str]]:
    """Map each value to the operators that read it, directly or through operators that only move entries."""
    readers: dict[str, set[str]] = {}
    for use in reversed(uses):
        after = {use.operator}
        if use.only_rearranges:
            after = set[str]().union(*(readers.get(result, set()) for result in use.results))
        for input_ in use.inputs:
            readers[input_] = readers.get(input_, set()) | after
    return readers


class TrainableInference:
    """The state of the inference, updated step by step.

    Sets of names of values: active: they depend on inputs. table_rows: rows gathered from a table (an embedding).
    products: results of matrix products or convolutions, perhaps rearranged. weights_of: value -> the arrays that it is
    computed from, if from nothing else or by gathering rows. Results, as names of arrays: trainable; must_be_constant:
    read by operators that need constants.
    """

    def __init__(self, shapes: Shapes, inputs: Iterable[str], readers: Mapping[str, set[str]]) -> None:
        self.shapes, self.readers = shapes, readers
        self.weights_of = {name: {name} for name in shapes}
        self.active, self.table_rows, self.products = set(inputs), set[str](), set[str]()
        self.trainable, self.must_be_constant = set[str](), set[str]()

    def visit_step(self, use: Use) -> None:
        """Update all sets for one step."""
        if use.operator in PRODUCTS or (use.only_rearranges and not self.products.isdisjoint(use.inputs)):
            self.products.update(use.results)
        if use.operator == "gather" or (use.only_rearranges and not self.table_rows.isdisjoint(use.inputs)):
            self.table_rows.update(use.results)
        if use.operator in CONSTANT_INPUTS:
            self.must_be_constant.update(*(self.weights_of.get(input_, ()) for input_ in use.inputs))
        if self.active.isdisjoint(use.inputs):
            names = [*use.inputs]
            if use.operator in ONLY_FIRST_OPERAND:
                names = names[:1]
            elif use.operator in STATISTICS:
                names = []
            self._propagate_weights(use, set().union(*(self.weights_of.get(name, set()) for name in names)))
            return
        for operand, values in use.operands.items():
            for value in values:
                if self.weights_of.get(value):
                    self._combine_with_inputs(use, operand, value)
        self.active.update(use.results)

    def _propagate_weights(self, use: Use, weights: set[str]) -> None:
        """Let the results of a step stand for these arrays."""
        for result in use.results:
            self.weights_of[result] = self.weights_of.get(result, set()) | weights

    def _combine_with_inputs(self, use: Use, operand: str, value: str) -> None:
        """Handle a step in which a weight meets a value that depends on the network's inputs."""
        weights = self.weights_of[value]
        others = [input_ for input_ in use.inputs if input_ in self.active and input_ != value]
        if value in self.table_rows:
            if use.only_rearranges or (use.operator == "mul" and not others):
                self._propagate_weights(use, weights)
                self.table_rows.update(use.results)
            elif use.operator != "mul" and use.operator not in ANGLES:
                self.trainable |= weights
        elif use.only_rearranges and use.operator not in LAYERS:
            self._propagate_weights(use, weights)
        elif self._is_weight(use, operand, weights, others):
            self.trainable |= weights

    def _is_weight(self, use: Use, operand: str, weights: set[str], others: Collection[str]) -> bool:
        """Whether an operand is a weight: a layer's, an added vector, or a factor with more than one entry."""
        shapes = [self.shapes[weight] for weight in weights]
        single = all(prod(shape) == 1 for shape in shapes)
        vector = all(sum(extent > 1 for extent in shape) <= 1 for shape in shapes)
        result_readers = set[str]().union(*(self.readers.get(result, set()) for result in use.results)) or {""}
        if use.operator in LAYERS:
            is_angle = use.operator == "matmul" and vector and result_readers <= ANGLES
            return operand not in NOT_TRAINABLE and not is_angle
        if use.operator in ("add", "add_n") or (use.operator, operand) == ("sub", "a"):
            after_product = not self.products.isdisjoint(others)
            return after_product if single else vector or not result_readers <= SOFTMAXES
        return use.operator == "mul" and vector and not single and not result_readers <= ANGLES
