"""Backpropagation on arrays: `backward()` stores gradients on the nodes, `gradient()` returns them.

`backward` evaluates the output, runs reverse mode over its ancestors (tensor/differentiate.py), and stores an array on
each. Where the leaves of a tensor stand for scalar nodes, the gradients go on into the scalar graph, to node.grad.

Two things make it longer than that. An infinite or NaN gradient may be wrong: 0 * inf is NaN, but an entry that a
branch did not choose (a structural zero) must not contribute. Such gradients are recomputed with structural zeros kept
apart. And gradients become stale when a leaf is written. `gradient` then repeats the backward run, except in the
middle of a manual update step.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ...core.optional_deps import defer_sigint
from ...core.plan import Plan, plan_for
from ...core.sweep import differentiate
from ...core.tables import Tables
from ...errors import NoGradientError, ShapeError, StaleGraphError
from ...graph.nodes import Constant
from ...graph.run_checks import commit_grads
from ..base import TensorNode, check_tensors, method
from ..calculus import GUARD, Calculus, NodeAlgebra
from ..differentiate import BACKWARD_SOURCES, ancestors, custom_derivative_call, depending_on, reverse, slice_by_serial
from ..function import Function
from ..nodes import LeafNode, LeafType, NonlinearNode, constant_of
from ..reduction_vjp import CHOOSING_FUNCTIONS
from ..sparse_selector import SelectionNode
from ..versions import own_copy, ticks
from .arrays import Array, namespace
from .contraction import has_finite_sum
from .evaluate import ArrayAlgebra, cached_array, invalidate_stale, scalars_are_stale, value_of
from .structural_zeros import may_have_structural_zeros


class BackwardRun:
    """A record of one backward run.

    output: the differentiated tensor. full: whether all nodes got gradients. start_tick: the tick (versions.py) at
    which it began. nodes: the output's ancestors; their leaves are watched for later writes.
    """

    def __init__(self, output: TensorNode, full: bool, start_tick: int, nodes: Iterable[TensorNode]) -> None:
        self.output, self.full, self.start_tick = ref(output), full, start_tick
        self.leaves = [ref(node) for node in nodes if isinstance(node, LeafNode)]

    def changed(self) -> list[LeafNode]:
        """The leaves that were written since the run."""
        leaves = [leaf for reference in self.leaves if (leaf := reference()) is not None]
        return [leaf for leaf in leaves if leaf.version() > self.start_tick or scalars_are_stale(leaf)]


_RUNS: WeakKeyDictionary[Tables, BackwardRun] = WeakKeyDictionary()  # the latest run of each graph


@method
def backward(node: TensorNode, full: bool = False) -> None:
    """Differentiate a tensor of one entry; `gradient()` of the nodes that it depends on then has the arrays.

    Only parameters and nodes that depend on one get gradients; with `full` all
    nodes do. A leaf made of scalar nodes counts as a parameter, and the scalar nodes get
    theirs in `node.grad`. Evaluates missing or stale values. Raises ShapeError if there
    are more entries: sum them first.

    >>> from naive_graph import LeafNode
    >>> w = LeafNode.parameter([3.0, 4.0])
    >>> (w * w).sum().backward()
    >>> w.gradient().tolist()
    [6.0, 8.0]
    """
    check_single(node)
    _differentiate(node, full, True)


def _differentiate(node: TensorNode, full: bool, accumulate: bool) -> None:
    """Run reverse mode and store the gradients. accumulate: also accumulate them into the parameters of a Model."""
    invalidate_stale([node])
    start_tick = next(ticks)
    value = value_of(node)
    nodes = ancestors([node], predecessors=BACKWARD_SOURCES)
    wanted = nodes_with_gradients(nodes, full)
    with np.errstate(all="ignore"):
        gradients = reverse(Calculus(ArrayAlgebra(), (), _cached_operand), {node: ones_like(value)}, wanted)
    store_gradients(BackwardRun(node, full, start_tick, nodes), node, nodes, wanted, gradients, accumulate)


def ones_like(value: Array) -> Array:
    """The seed of a backward run: ones of the value's shape, dtype and library."""
    return namespace(value).full_like(value, 1.0)


def check_single(node: TensorNode) -> None:
    """Raise ShapeError unless the tensor has one entry: backward starts from a single number."""
    check_tensors("backward", [node])
    if node.size != 1:
        raise ShapeError(
            f"backward starts from a single number, and {node.label} has {node.size}. Sum it, "
            "t.sum(); or ask for the derivatives of all its entries: t.gradients(w)."
        )


def nodes_with_gradients(nodes: Sequence[TensorNode], full: bool) -> set[TensorNode]:
    """The nodes that get gradients: all if `full`, else parameters and what depends on one.

    Nodes inside a call whose operator has a custom derivative get none unless `full`. nodes: in topological order.
    """
    if full:
        return set(nodes)
    calls = [(call.first, node.serial) for node in nodes if (call := custom_derivative_call(node))]
    inside_custom_calls = {node for call in calls for node in slice_by_serial(nodes, *call)}
    return depending_on(nodes, filter(_is_parameter, nodes)) - inside_custom_calls


def store_gradients(
    run: BackwardRun,
    output: TensorNode,
    nodes: Sequence[TensorNode],
    wanted: set[TensorNode],
    gradients: Mapping[TensorNode, Array],
    accumulate: bool = True,
) -> None:
    """Store the gradients of a backward run on the nodes; wanted nodes without one get zeros.

    accumulate: also add them to the gradients that the parameters of a Model collect. Gradients that are not finite
    are first recomputed with structural zeros kept apart (see _recompute_nonfinite).
    """
    # NaN and infinity spread backward to the leaves, so only these are checked; but a branch may stop them before.
    has_branches = any(isinstance(node, NonlinearNode) and node.function.branches for node in nodes)
    checked = [node for node in gradients if has_branches or not node.reads]
    if not all(has_finite_sum(gradients[node]) for node in checked):
        nonfinite_nodes = [node for node in gradients if not has_finite_sum(gradients[node])]
        gradients = {**gradients, **_recompute_nonfinite(output, nonfinite_nodes)}
    zero = ones_like(value_of(output)).reshape(()) * 0.0
    zero_gradients = {node: namespace(zero).broadcast_to(zero, node.shape) for node in wanted - gradients.keys()}
    grads = {**zero_gradients, **gradients}
    home = output.home
    with home.lock:
        leaf_gradients = {leaf: grad for leaf, grad in grads.items() if isinstance(leaf, LeafNode) and leaf.nodes}
        scalars = _scalar_gradients(home, leaf_gradients)
        with defer_sigint():  # atomic with respect to Ctrl-C
            for tensor in nodes:
                tensor._run, tensor._grad = run, grads.get(tensor)
                if isinstance(tensor, LeafNode) and tensor in gradients and accumulate:
                    tensor.receive(gradients[tensor])
            if scalars:
                commit_grads(home, *scalars, accumulate=False)
            _RUNS[home] = run


def _scalar_gradients(tables: Tables, grads: Mapping[LeafNode, Array]) -> tuple[Plan, list[float]] | None:
    """Continue backward into the scalar nodes that leaves are made of.

    Returns a plan of these nodes and their ancestors, and the derivative at each position of the plan; None if there
    are none. grads: the gradients of such leaves.
    """
    seeds: dict[int, float] = {}
    for leaf, gradient in grads.items():
        for node, contribution in zip(leaf.nodes or (), np.asarray(gradient, dtype=float).reshape(-1).tolist()):
            if not isinstance(node, Constant):
                seeds[node.row] = seeds.get(node.row, 0.0) + contribution
    if not seeds:
        return None
    plan = plan_for(tables, list(seeds))
    values = [tables.values[row] for row in plan.rows]
    plan_seeds = {position: seeds[plan.rows[position]] for position in plan.targets}
    return plan, differentiate(plan, values, plan_seeds, plan.varies())


class StructuralZeroNodes(NodeAlgebra):
    """An algebra that builds derivatives as nodes, and marks which of their zeros are structural.

    Structural are the zeros of branches not taken and of entries that a maximum or minimum does not choose: for them
    0 * inf is 0.
    """

    def nonlinear(self, function: Function, sources: Sequence[TensorNode]) -> TensorNode:
        node = super().nonlinear(function, sources)
        node.is_structural = function in CHOOSING_FUNCTIONS
        node.has_structural_zeros = node.is_structural or function is GUARD or None
        return node

    def entries(self, source: TensorNode) -> TensorNode:
        return constant_of(value_of(source)) if may_have_structural_zeros(source) else source


def _recompute_nonfinite(output: TensorNode, nonfinite_nodes: list[TensorNode]) -> dict[TensorNode, Array]:
    """Recompute derivatives that were not finite as nodes, which keep structural zeros apart from ordinary ones."""
    if output.home.checks_validity:  # such a graph treats an infinity as an error, so no nodes are built from it
        return {}
    with output.home.lock:
        calculus = Calculus(StructuralZeroNodes(), (), lambda node: node)
        derivatives = reverse(calculus, {output: LeafNode.constant(np.ones(output.shape))}, nonfinite_nodes)
    return {node: value_of(derivatives[node]) for node in nonfinite_nodes}


def _cached_operand(node: TensorNode) -> Any:
    """The array of an operand, computed if it is missing; a selection stays a node."""
    if isinstance(node, SelectionNode):
        return node
    if node._value is None and node.reads:
        value_of(node)
    return cached_array(node)


def _is_parameter(node: TensorNode) -> bool:
    """Whether a node is a leaf that was made as a parameter, or one made of scalar nodes."""
    return isinstance(node, LeafNode) and (node.leaf_type == LeafType.PARAMETER or node.nodes is not None)


@method
def gradient(node: TensorNode) -> Any:
    """The gradient of the last backward()'s output with respect to this tensor; None before any backward().

    The array has the tensor's shape and is a copy. If leaves were written since backward(), it is
    recomputed. But in a manual update loop, w.value -= lr * w.gradient() for each parameter w, the
    gradients not yet read stay those of backward(), so that all parameters step from one point.

    Raises NoGradientError if that backward's output does not depend on the tensor. Without
    backward(full=True), also if the tensor depends on no parameter, or is inside a call
    whose operator has a derivative of its own. Raises StaleGraphError if a gradient is read
    a second time in the middle of such a loop, or if leaves were written and the output
    no longer exists.

    >>> from naive_graph.tensor import LeafNode, gradient
    >>> t = LeafNode.parameter([1.0, 2.0])
    >>> (t * t).sum().backward()
    >>> gradient(t).tolist()
    [2.0, 4.0]
    """
    check_tensors("gradient", [node])
    run = _RUNS.get(node.home)
    if run is None:
        return None
    if node._run is not run:
        raise NoGradientError(f"{node.label} has no gradient: what backward() started from does not depend on it.")
    if node._grad is None:
        raise NoGradientError(
            f"{node.label} has no gradient: no parameter leads to it, or it is inside a call of an operator with a "
            "derivative of its own. Call backward(full=True), or make it a LeafNode.parameter."
        )
    changed = run.changed()
    if changed and not _is_stepping(node, run, changed):
        output = run.output()
        if output is None:
            raise StaleGraphError(f"{changed[0].label} has changed since backward(). Build its result anew.")
        _differentiate(output, run.full, False)
    node._asked = node._run
    return own_copy(node._grad)


def _is_stepping(node: TensorNode, run: BackwardRun, changed: Sequence[LeafNode]) -> bool:
    """Whether a manual update step is under way, parameter by parameter, so the old gradient is still right.

    A step is under way if every leaf that changed had its gradient read before, and this node is a parameter that
    has not changed. Raises StaleGraphError if this gradient was read before, too.
    """
    if node in changed or not _is_parameter(node) or any(leaf._asked is not run for leaf in changed):
        return False
    if node._asked is run:
        raise StaleGraphError(
            f"{changed[0].label} has moved since backward(). Take all gradients before the first parameter moves, "
            "moves = [w.gradient() for w in weights], or call backward() again."
        )
    return True
