"""Reverse-mode and forward-mode differentiation of tensor graphs, on nodes or on arrays.

`reverse` accumulates adjoints in reverse topological order, `forward` propagates tangents; both take a
`Calculus` (calculus.py) that says whether derivatives are arrays or new nodes. `gradients` and `tangents`
return nodes, which can be evaluated, lowered, drawn, and differentiated again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from ..core.number import as_list
from ..core.plan import plan_for
from ..core.sweep import Contribution, backward_pass
from ..errors import NodeError
from ..graph.derive import explain_swap
from ..graph.derive import gradients as scalar_gradients
from ..graph.nodes import Constant, Node
from .base import Call, TensorNode, check_tensors, method
from .calculus import Calculus, NodeAlgebra, branch
from .index import Shape, identity_ids
from .nodes import LeafNode, LeafType, LinearNode, OpType, TransformNode
from .sparse_selector import identity

Predecessors = Callable[[TensorNode], Iterable[TensorNode]]  # a node's predecessors in a traversal
SOURCES: Predecessors = attrgetter("sources")  # by composition
# By backward kernels where nodes have them, else by composition.
BACKWARD_SOURCES: Predecessors = attrgetter("backward_sources")


def ancestors(
    outputs: Iterable[TensorNode],
    predecessors: Predecessors = SOURCES,
    is_known: Callable[[TensorNode], bool] = lambda node: False,
) -> list[TensorNode]:
    """The outputs and their ancestors in topological order. is_known: where the traversal ends, for nodes left out."""
    visited: dict[TensorNode, None] = {}
    waiting = list(outputs)
    while waiting:
        node = waiting.pop()
        if node not in visited and not is_known(node):
            visited[node] = None
            waiting.extend(predecessors(node))
    return sorted(visited, key=lambda node: node.serial)


def depending_on(
    nodes: Iterable[TensorNode], wanted: Iterable[TensorNode], predecessors: Predecessors = BACKWARD_SOURCES
) -> set[TensorNode]:
    """The nodes that are wanted or depend on a wanted one. nodes: in topological order."""
    dependents = set(wanted)
    for node in nodes:
        if not node.flat and any(source in dependents for source in predecessors(node)):
            dependents.add(node)
    return dependents


class Adjoint:
    """The sum of the contributions to a node's derivative, and the branch mask of its entries (None: all)."""

    def __init__(self, total: Any, mask: Any = None) -> None:
        self.sum = total
        self.mask = mask


def reverse(calculus: Calculus, seeds: Mapping[TensorNode, Any], wanted: Iterable[TensorNode]) -> dict[TensorNode, Any]:
    """Reverse mode: the derivative with respect to each wanted node that the outputs depend on.

    seeds: output -> its adjoint. Contributions are summed youngest consumer first, then by source position.
    """
    wanted = set(wanted)
    nodes = ancestors(seeds, predecessors=calculus.sources)
    targets = ContributionTargets(nodes, wanted, calculus.sources)
    results: dict[TensorNode, Any] = {}

    def contributions(node: TensorNode, adjoint: Adjoint) -> Iterator[Contribution[TensorNode]]:
        adjoint = finish_adjoint(calculus, node, adjoint)
        if node in wanted:
            results[node] = adjoint.sum
        for position, (source, share) in enumerate(shares(calculus, node, adjoint, targets)):
            if share is not None:
                yield source, share, position, None

    adjoints = {output: Adjoint(seed) for output, seed in seeds.items()}
    deque(backward_pass(nodes, adjoints, contributions, partial(merge_adjoints, calculus)), maxlen=0)
    return results


def shares(
    calculus: Calculus, node: TensorNode, adjoint: Adjoint, targets: ContributionTargets
) -> Iterator[tuple[TensorNode, Adjoint | None]]:
    """A node's contributions: to operands by its operator's custom derivative, and to its sources by the rules."""
    call, operand_positions, positions = targets.of(node, adjoint.mask is not None)
    if call:
        gradients = differentiate_call(calculus, call, node, adjoint.sum, operand_positions)
        for operand_position, gradient in zip(operand_positions, gradients):
            yield call.operands[operand_position], None if gradient is None else Adjoint(gradient)
    sources = calculus.sources(node)
    has_kernel = bool(positions) and calculus.vjp_kernel(node) is not None
    derivatives = calculus.apply_vjp_kernel(node, adjoint.sum, positions) if has_kernel else None
    for position in positions:
        if derivatives is None:
            yield sources[position], contribution(calculus, node, position, adjoint)
        else:
            yield sources[position], None if derivatives[position] is None else Adjoint(derivatives[position])


class ContributionTargets:
    """Which nodes each node contributes to in reverse mode: its sources, or its operator's operands.

    If the node results from an operator with a custom derivative, these are the operands. Nodes inside the
    operator then contribute only to wanted nodes that are inside as well. An adjoint masked by a `where` goes
    through the composition instead, which says which entries the branch reaches.
    """

    def __init__(
        self, nodes: Sequence[TensorNode], wanted: set[TensorNode], sources: Predecessors = BACKWARD_SOURCES
    ) -> None:
        self.nodes, self.wanted, self.sources = nodes, wanted, sources
        self.varying = depending_on(nodes, wanted, sources)
        self.within: dict[TensorNode, set[TensorNode]] = {}

    def of(self, node: TensorNode, masked: bool) -> tuple[Call | None, list[int], list[int]]:
        """The call whose custom derivative is used (or None), the operand positions, and the source positions.

        Must be called in reverse topological order. masked: whether the adjoint is masked by a `where`.
        """
        candidates = self.within.get(node, self.varying)
        call = None if masked else custom_derivative_call(node)
        if call is None:
            return None, [], [position for position, source in enumerate(self.sources(node)) if source in candidates]
        inner = slice_by_serial(self.nodes, call.first, node.serial)
        inner_varying = depending_on(inner, self.wanted.intersection(inner), self.sources)
        self.within.update(dict.fromkeys(inner, inner_varying))
        operand_positions = [position for position, operand in enumerate(call.operands) if operand in candidates]
        positions = [position for position, source in enumerate(self.sources(node)) if source in inner_varying]
        return call, operand_positions, positions


def custom_derivative_call(node: TensorNode) -> Call | None:
    """The outermost call resulting in this node whose operator has a custom derivative; None if there is none."""
    call = node.call
    while call and not getattr(call.operator, "derivative", None):
        call = call.within
    return call


def slice_by_serial(nodes: Sequence[TensorNode], first: int, last: int) -> Sequence[TensorNode]:
    """The nodes with first < serial < last, by bisection. nodes: sorted by serial."""
    start, end = (bisect_left(nodes, serial, key=lambda node: node.serial) for serial in (first + 1, last))
    return nodes[start:end]


def differentiate_call(
    calculus: Calculus, call: Call, node: TensorNode, adjoint: Any, operand_positions: Sequence[int]
) -> list[Any]:
    """Apply an operator's custom derivative, for the operands at these positions.

    With trailing axes H it is applied once, to an adjoint of ones, and then differentiated forward with respect
    to that adjoint: since it is linear in the adjoint, this gives all entries of H at once.
    """
    values = [None if operand is None else calculus.value(operand) for operand in (node, *call.operands)]
    if not calculus.trailing_shape:
        return list(calculus.algebra.expression(call, [adjoint, *values], operand_positions))
    one = calculus.algebra.constant(np.ones(node.shape))
    derivatives = calculus.algebra.expression(call, [one, *values], operand_positions)
    outputs = [derivative for derivative in derivatives if derivative is not None]
    new_nodes = ancestors(outputs, is_known=lambda node: node.serial <= one.serial)
    tangents_by_node = forward(calculus, new_nodes, {one: adjoint})
    return [tangents_by_node.get(derivative) for derivative in derivatives]


def finish_adjoint(calculus: Calculus, node: TensorNode, adjoint: Adjoint) -> Adjoint:
    """The final adjoint of a node after all contributions: entries outside the branch mask are set to 0."""
    return Adjoint(calculus.mask_adjoint(adjoint.sum, adjoint.mask, node.shape), adjoint.mask)


def contribution(calculus: Calculus, node: TensorNode, position: int, adjoint: Adjoint) -> Adjoint | None:
    """A node's contribution to the adjoint of one of its sources; None if the derivative is 0 everywhere."""
    share = adjoint.sum if branch(node, position) else calculus.vjp(node, position, adjoint.sum)
    return None if share is None else Adjoint(share, calculus.branch_mask(node, position, adjoint.mask))


def merge_adjoints(calculus: Calculus, source: TensorNode, before: Adjoint, share: Adjoint) -> Adjoint:
    """Add a contribution to an accumulated adjoint, merging their branch masks."""
    parts = [calculus.mask_adjoint(adjoint.sum, adjoint.mask, source.shape) for adjoint in (before, share)]
    return Adjoint(calculus.add(parts[0], parts[1], source.rank), calculus.merge_masks(before.mask, share.mask))


def forward(calculus: Calculus, nodes: Sequence[TensorNode], seeds: Mapping[TensorNode, Any]) -> dict[TensorNode, Any]:
    """Forward mode: the tangent of each node, from the tangents `seeds`; nodes with tangent 0 are left out.

    nodes: in topological order.
    """
    tangents_by_node = dict(seeds)
    for node in nodes:
        if node not in seeds and node.sources:
            node_tangent = calculus.tangent(node, [tangents_by_node.get(source) for source in node.sources])
            if node_tangent is not None:
                tangents_by_node[node] = node_tangent
    return tangents_by_node


# --- derivatives as nodes -----------------------------------------------------------------


@method
def gradients(output: TensorNode, wrt: TensorNode | Iterable[TensorNode]) -> Any:
    """The derivatives of a tensor, as new nodes of shape `leaf.shape + output.shape`. Reverse mode.

    wrt: tensor nodes and scalar nodes, or one alone for one derivative alone. Where the output
    does not depend on one, its derivative is a broadcast 0.

    >>> from naive_graph.tensor import LeafNode, LinearNode, gradients
    >>> w = LeafNode.parameter([1.0, 2.0])
    >>> y = LinearNode("mul", (), (-1,), (-1,), w, w)  # the sum of squares
    >>> gradients(y, w).eval().tolist()
    [2.0, 4.0]
    """
    is_single, targets = _parse_targets("gradients", output, wrt)
    _check_order("gradients", [output], targets)
    calculus = Calculus(NodeAlgebra(), output.shape, lambda node: node)
    through_scalars = any(map(_scalars_of, targets))
    scalars = [node for node in ancestors([output]) if _scalars_of(node)] if through_scalars else []
    derivatives = reverse(calculus, {output: identity(output.shape)}, [*targets, *scalars])
    results = [derivatives.get(node) for node in targets]
    for position, leaf in enumerate(targets):
        if _scalars_of(leaf):
            reached = [scalar for scalar in scalars if scalar in derivatives]
            shares = [_chain_through_scalars(leaf, scalar, derivatives[scalar]) for scalar in reached]
            results[position] = calculus.sum_terms(shares, leaf.rank)
    nodes = [zeros(leaf.shape + output.shape) if answer is None else answer for leaf, answer in zip(targets, results)]
    return nodes[0] if is_single else nodes


def _scalars_of(node: TensorNode) -> list[Node] | None:
    """The scalar nodes that the entries of a leaf are, if it was made of them."""
    return node.nodes if isinstance(node, LeafNode) else None


def _chain_through_scalars(leaf: TensorNode, other: TensorNode, gradient: TensorNode) -> TensorNode | None:
    """The derivative by a leaf's scalar nodes, from the one by the scalar nodes of `other` (chain rule)."""
    jacobian = _scalar_jacobian(_scalars_of(leaf) or [], _scalars_of(other) or [])
    if leaf is other and (jacobian == np.eye(leaf.size)).all():
        return gradient
    if not (jacobian != 0.0).any():
        return None
    matrix, rank = _as_leaf(jacobian, leaf.shape + other.shape), leaf.rank + gradient.rank - other.rank
    leaf_ids, kept_ids = range(1, leaf.rank + 1), range(leaf.rank + 1, rank + 1)
    summed = [-(rank + 1 + axis) for axis in range(other.rank)]
    return LinearNode(OpType.mul, (*leaf_ids, *kept_ids), (*leaf_ids, *summed), (*summed, *kept_ids), matrix, gradient)


def _as_leaf(jacobian: Any, shape: Shape) -> LeafNode:
    """Derivatives of scalars as a tensor: a constant, unless some of them are nodes."""
    if not any(isinstance(move, Node) for move in jacobian.flat):
        return LeafNode.constant(jacobian.astype(float).reshape(shape))
    nodes = [move if isinstance(move, Node) else Constant(move) for move in jacobian.flat]
    return LeafNode.of(np.array(nodes, dtype=object).reshape(shape))


def _scalar_jacobian(starts: Sequence[Node], ends: Sequence[Node]) -> Any:
    """The derivative of each of `ends` (a column each) with respect to each of `starts`: numbers, or nodes."""
    jacobian = np.array([[float(start is end) for end in ends] for start in starts], dtype=object)
    for column, end in enumerate(ends):
        ancestor_rows = {*plan_for(end.tables, [end.row]).rows} - {end.row}
        rows = [row for row, node in enumerate(starts) if node.row in ancestor_rows and not isinstance(node, Constant)]
        for row, slope in zip(rows, scalar_gradients(end, [starts[row] for row in rows]) if rows else ()):
            jacobian[row, column] = slope
    return jacobian


@method
def tangents(start: TensorNode | Node, outputs: TensorNode | Node | Iterable[TensorNode | Node]) -> Any:
    """The derivatives of outputs with respect to one tensor, of shape `output.shape + start.shape`. Forward mode.

    Scalar nodes are accepted on both sides and count as tensors of shape (); derivatives through scalar nodes are
    included.

    >>> from naive_graph.tensor import LeafNode, NonlinearNode, tangents
    >>> x = LeafNode.parameter([1.0, 2.0])
    >>> tangents(x, NonlinearNode(lambda a: a * a, x)).eval().tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    start = LeafNode.of(start) if isinstance(start, Node) else start
    is_single, targets = _parse_targets("tangents", start, outputs)
    _check_order("tangents", targets, [start])
    calculus, nodes = Calculus(NodeAlgebra(), start.shape, lambda node: node), ancestors(targets)
    seeds: dict[TensorNode, TensorNode] = {start: identity(start.shape)}
    if scalars := _scalars_of(start):
        for node in nodes:
            jacobian = _scalar_jacobian(scalars, _scalars_of(node) or []).T
            if (jacobian != (np.eye(node.size) if node is start else 0.0)).any():
                seeds[node] = _as_leaf(jacobian, node.shape + start.shape)
    tangents_by_node = forward(calculus, nodes, seeds)
    results = [
        tangents_by_node[node] if node in tangents_by_node else zeros(node.shape + start.shape) for node in targets
    ]
    return results[0] if is_single else results


def zeros(shape: Shape) -> TensorNode:
    """A tensor of zeros, stored as one number, and structural: what it multiplies is not computed."""
    zero = LeafNode(LeafType.CONSTANT, (), 0.0)
    zero.is_structural = True
    return TransformNode([-axis_id for axis_id in identity_ids(len(shape))], (), zero, 1.0, shape) if shape else zero


def _check_order(who: str, results: Sequence[TensorNode], wrt: Sequence[TensorNode]) -> None:
    """Raise NodeError where output and leaf were swapped: every derivative would be 0."""
    if any(result.sources for result in results) or not all(node.sources for node in wrt):
        return
    wrt_ancestors = {*ancestors(wrt)}
    if any(result in wrt_ancestors for result in results):
        raise NodeError(explain_swap(who, results[0].label, wrt[0].label))


def _parse_targets(who: str, node: object, others: object) -> tuple[bool, list[TensorNode]]:
    is_single = isinstance(others, TensorNode) or not isinstance(others, Iterable)
    nodes: list[Any] = [others] if is_single else as_list(others, who, "tensor nodes")
    targets: list[Any] = [LeafNode.of(other) if isinstance(other, Node) else other for other in nodes]
    check_tensors(who, [node, *targets])
    if not targets:
        raise NodeError(f"{who} needs at least one tensor node to differentiate with respect to.")
    return is_single, targets
