"""Forward evaluation of tensor nodes on arrays, with cached values.

`eval()` computes only what is missing or stale since a leaf was written; `forward()` recomputes
everything. Nested products are fused into one contraction, whose order opt_einsum chooses. Arrays of
NumPy, torch, JAX and Dask take the same path. Only NumPy arrays are checked for being finite: elsewhere
a structural zero times infinity may be NaN. On a Dask worker only selections have structural zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

import numpy as np

from ...core.plan import plan_for
from ...errors import PlaceError, PlaceHolderError, StaleGraphError
from ...graph.graph import Graph
from ...graph.node_factory import CURRENT
from ...graph.run_checks import check_fresh
from ..base import Call, TensorNode, check_tensors, method
from ..calculus import Calculus, NodeAlgebra
from ..differentiate import ancestors, reverse
from ..function import Function
from ..index import Ids, LinearIndex, Shape, TransformIndex
from ..nodes import LeafNode, LinearNode, NonlinearNode, OpType, TransformNode, constant_of, is_product
from ..reduction_node import ReductionAxes, ReductionNode
from ..sparse_selector import SelectionNode
from ..versions import Clock, Watch, own_copy, ticks
from .arrays import Array, namespace, to_common_library
from .contraction import contract_arrays, has_finite_sum, product
from .entries import apply_function, product_of_others, reduce_array
from .eval_plan import EvalStep, Factors, list_factors, missing_ancestors, plan_evaluation, plan_targets
from .gather_scatter import permute_axes
from .structural_zeros import find_nonzero, may_have_structural_zeros


class ArrayAlgebra(NodeAlgebra):
    """The same operations on arrays: each computes its result at once; also evaluates the nodes themselves."""

    at_once = True

    def transform(self, index: TransformIndex, source: Any, alpha: float, shape: Shape) -> Array:
        dst = tuple(max(axis_id, 0) for axis_id in index.dst)  # 0: a new (broadcast) axis
        result = _sum_and_transpose(to_dense(source), index.src, dst)
        if 0 in dst:
            result = namespace(result).broadcast_to(result, shape)
        return result if alpha == 1.0 else alpha * result

    def linear(self, op: OpType, index: LinearIndex, left: Any, right: Any) -> Array:
        if op == OpType.mul and (index.dummies or SelectionNode in (type(left), type(right))):
            return product(list_factors(index, (left, right)), index.dst)
        pairs = zip((index.left, index.right), to_common_library([to_dense(left), to_dense(right)]))
        a, b = (_sum_and_transpose(source, ids, index.dst) for ids, source in pairs)
        if op == OpType.mul:
            return a * b
        return a + b if op == OpType.add else a - b

    def nonlinear(self, function: Function, sources: Sequence[Any]) -> Array:
        arrays = to_common_library([to_dense(source) for source in sources])
        return apply_function(function, arrays)

    def reduction(self, rule: str, index: TransformIndex, source: Any) -> Array:
        array, axes = to_dense(source), ReductionAxes.of(index)
        order = [axis_id - 1 for axis_id in (*axes.kept, *axes.dropped)]
        return reduce_array(rule, permute_axes(array, order), len(axes.dropped))

    def product_of_others(self, index: TransformIndex, source: Any) -> Array:
        array, axes = to_dense(source), ReductionAxes.of(index)
        order = [axis_id - 1 for axis_id in (*axes.kept, *axes.dropped)]
        others = product_of_others(permute_axes(array, order), len(axes.dropped))
        return permute_axes(others, [order.index(axis) for axis in range(len(order))])

    def constant(self, array: Array, structural: bool = False) -> Array:
        return array

    def expression(self, call: Call, arguments: Sequence[Any], operand_positions: Sequence[int]) -> list[Array | None]:
        with CURRENT.tables.lock:  # building nodes changes the graph, and tasks run concurrently
            leaves = [array if array is None else constant_of(to_dense(array)) for array in arguments]
            derivatives = NodeAlgebra().expression(call, leaves, operand_positions)
        return [derivative if derivative is None else value_of(derivative) for derivative in derivatives]

    def vjp_through_composition(
        self, node: TensorNode, value: Callable[[TensorNode], Any], adjoint: Array
    ) -> list[Array | None]:
        """The vjp of a node with a backward kernel, computed through its composition instead."""
        calculus = _CompositionCalculus(node, evaluate_composition(node, value, node.reads))
        derivatives = reverse(calculus, {node: adjoint}, node.backward_sources)
        return [derivatives.get(source) for source in node.backward_sources]


def _sum_and_transpose(source: Array, ids: Ids, dst: Ids) -> Array:
    """Sum over the ids that dst lacks, transpose to the order of dst, and insert axes of extent 1 for new ids."""
    if ids == dst:
        return source
    result = contract_arrays([(source, ids)], tuple(index for index in dst if index in ids))
    spread = tuple(slice(None) if index in ids else None for index in dst)
    return result[spread] if None in spread else result


def to_dense(source: Any) -> Array:
    return source.dense() if isinstance(source, SelectionNode) else source


# --- evaluating ---------------------------------------------------------------


@method
def eval(node: TensorNode) -> Array:
    """Evaluate a tensor for the current leaves; only missing or stale ancestors are computed.

    The array is a copy. Raises PlaceHolderError if an input that it needs
    holds no value, and StaleGraphError if a scalar node in it was computed before a value behind it changed.

    >>> from naive_graph.tensor import LeafNode, incremental_forward
    >>> a = LeafNode.parameter([[1.0, 2.0], [3.0, 4.0]])
    >>> incremental_forward(a @ a).tolist()
    [[7.0, 10.0], [15.0, 22.0]]
    """
    check_tensors("eval", [node])
    invalidate_stale([node])
    return own_copy(value_of(node))


incremental_forward = eval


@method
def forward(node: TensorNode) -> Array:
    """Evaluate a tensor, recomputing all its ancestors from the leaves' current values.

    >>> from naive_graph.tensor import LeafNode, forward
    >>> t = LeafNode.parameter([1.0, 2.0])
    >>> y = t * 3.0
    >>> forward(y).tolist()
    [3.0, 6.0]
    >>> t.value = [5.0, 6.0]
    >>> forward(y).tolist()
    [15.0, 18.0]
    """
    check_tensors("forward", [node])
    nodes = ancestors([node], predecessors=_lazy_sources)
    scalars = chain.from_iterable(leaf.nodes or () for leaf in nodes if isinstance(leaf, LeafNode))
    computed_scalars = [scalar for scalar in scalars if scalar.last]
    if computed_scalars:
        Graph.forward(*computed_scalars)
    invalidate_stale([node])  # updates the Watches of the leaves
    for ancestor in nodes:
        if ancestor.reads:
            ancestor._value = None
    return own_copy(value_of(node))


def value_of(node: TensorNode) -> Array:
    """The array of a node; computes and caches what is missing, without checking for stale values."""
    start_tick = next(ticks)
    nodes = missing_ancestors(node, lambda ancestor: ancestor._value is not None)
    check_fed(nodes)
    with np.errstate(all="ignore"):  # IEEE 754: NaN and infinity are results, not warnings
        for step in plan_evaluation(nodes, node):
            cache_value(step.node, computed(step, cached_array), start_tick)
    return to_dense(cached_array(node))


def cache_value(node: TensorNode, value: Array, now: int) -> None:
    """Cache an array on its node. now: a tick taken before the leaves were read."""
    node._value, node._version, node.is_settled = value, now, False


def invalidate_stale(outputs: Iterable[TensorNode]) -> list[TensorNode]:
    """Drop cached values of ancestors that are older than a leaf that they depend on; returns the affected nodes."""
    now = next(ticks)
    newest: dict[TensorNode, int] = {}  # for each node the version of the newest leaf that it depends on
    seen: dict[Watch, int] = {}  # versions of watched arrays, each compared only once
    watched: set[TensorNode] = set()  # nodes that depend on an array that can be written in place
    dropped = []
    for node in ancestors(outputs, predecessors=lambda tensor: () if _is_fresh(tensor) else _lazy_sources(tensor)):
        if isinstance(node, LeafNode):
            newest[node] = node._version
            if node.watch is not None:
                watched.add(node)
                if node.watch not in seen:
                    seen[node.watch] = node.watch.look(node.held)
                newest[node] = now if scalars_are_stale(node) else max(node._version, seen[node.watch])
        elif not _is_fresh(node):
            sources = _lazy_sources(node)
            newest[node] = max((newest.get(source, 0) for source in sources), default=0)
            if not watched.isdisjoint(sources):
                watched.add(node)
            if node._value is None:
                continue
            if newest[node] > node._version:
                node._value = None
                dropped.append(node)
            else:
                node._version, node.is_settled = max(now, node._version), node not in watched
    return dropped


def refresh(outputs: Iterable[TensorNode]) -> None:
    """Recompute stale cached values among the ancestors; those that cannot be computed are only dropped."""
    for node in invalidate_stale(outputs):
        with suppress(PlaceHolderError, StaleGraphError, PlaceError):
            value_of(node)


def _lazy_sources(node: TensorNode) -> Sequence[TensorNode]:
    """The sources; of a scan that is not unrolled yet its inputs instead, so that the traversal does not unroll it."""
    return node.sources if "sources" in vars(node) else node.backward_sources


def _is_fresh(node: TensorNode) -> bool:
    return node.is_settled and node._value is not None and node._version >= Clock.written


def computed(step: EvalStep, value: Callable[[TensorNode], Any]) -> Array:
    """Evaluate one node; `value` maps the tensors that it reads to their arrays.

    A node with a kernel (`direct`) falls back to its composition if the kernel declines (None), or if its result
    is not finite and structural zeros are involved.
    """
    node = step.node
    if not node.direct:
        return _evaluate_by_kind(node, step.factors, value)
    result = node.direct.compute(*map(value, node.direct.sources))
    may_need_masks = is_product(node) and any(map(may_have_structural_zeros, node.sources))
    if result is None or (may_need_masks and not has_finite_sum(result)):
        return evaluate_composition(node, value, node.reads)(node)
    return result


def evaluate_composition(
    node: TensorNode, value: Callable[[TensorNode], Any], ends: Collection[TensorNode]
) -> Callable[[TensorNode], Any]:
    """Evaluate a node and the nodes inside it by its composition, without kernels; returns a reader of their values.

    ends: the tensors at which the composition begins, whose arrays `value` gives.
    """
    values: dict[TensorNode, Any] = {}

    def read(tensor: TensorNode) -> Any:
        return values[tensor] if tensor in values else value(tensor)

    for ancestor in ancestors([node], predecessors=lambda tensor: () if tensor in ends else tensor.sources):
        if ancestor.sources and ancestor not in ends:
            factors = list_factors(ancestor.index, ancestor.sources) if isinstance(ancestor, LinearNode) else []
            values[ancestor] = _evaluate_by_kind(ancestor, factors, read)
    return read


class _CompositionCalculus(Calculus):
    """The calculus on arrays restricted to one node's composition: no kernels, and no further than what it reads."""

    def __init__(self, node: TensorNode, value: Callable[[TensorNode], Any]) -> None:
        super().__init__(ArrayAlgebra(), (), value)
        self.ends = {*node.reads}

    def vjp_kernel(self, node: TensorNode) -> None:
        return None

    def sources(self, node: TensorNode) -> tuple[TensorNode, ...]:
        return () if node in self.ends else node.sources


def _evaluate_by_kind(node: TensorNode, factors: Factors, value: Callable[[TensorNode], Any]) -> Array:
    algebra = ArrayAlgebra()
    if is_product(node):
        return _multiply_factors(node, factors, value)
    if isinstance(node, LinearNode):
        return algebra.linear(node.op, node.index, *map(value, node.sources))
    if isinstance(node, TransformNode):
        return algebra.transform(node.index, value(node.sources[0]), node.alpha, node.shape)
    if isinstance(node, ReductionNode):
        return algebra.reduction(node.rule, node.index, value(node.sources[0]))
    assert isinstance(node, NonlinearNode)
    return algebra.nonlinear(node.function, [value(source) for source in node.sources])


def _multiply_factors(node: LinearNode, sources: Factors, value: Callable[[TensorNode], Any]) -> Array:
    """Contract all factors at once; if the result is not finite, redo it pairwise, skipping structural zeros."""
    if len(sources) > 2 or node.index.dummies:
        result = product([(value(source), ids) for source, ids in sources], node.index.dst)
    else:
        result = ArrayAlgebra().linear(node.op, node.index, *map(value, node.sources))
    if (len(sources) == 2 and not any(map(may_have_structural_zeros, node.sources))) or has_finite_sum(result):
        return result
    if len(sources) > 2:
        return evaluate_composition(node, value, {source for source, _ in sources})(node)
    pair = [value(source) for source in node.sources]
    masks = [find_nonzero(source, array, ArrayAlgebra()) for source, array in zip(node.sources, pair)]
    return product(list_factors(node.index, pair), node.index.dst, list_factors(node.index, masks))


def cached_array(node: TensorNode) -> Any:
    """The cached array of a node, or the array of a leaf; a selection is returned as the node itself (not dense)."""
    if isinstance(node, SelectionNode):
        return node
    return node.held if isinstance(node, LeafNode) else node._value


def check_fed(nodes: Iterable[TensorNode]) -> None:
    for node in nodes:
        if isinstance(node, SelectionNode) or not isinstance(node, LeafNode):
            continue
        if node.nodes is None:
            raise PlaceHolderError(
                f"{node.label} has no value. Set it: t.value = an array of shape {node.shape}. "
                f"It was made on {node.origin}."
            )
        if node.held is None:
            raise PlaceHolderError(f"{node.label}: one of its scalar nodes has no value. Call Graph.forward() first.")
        _check_scalars(node)


def _check_scalars(leaf: LeafNode) -> None:
    """Raise StaleGraphError if one of the leaf's scalar nodes was computed before a value behind it changed."""
    operators = leaf._home.operators
    rows = dict.fromkeys(node.row for node in leaf.nodes or () if operators[node.row] >= 0)
    if rows:
        check_fresh(leaf._home, plan_for(leaf._home, list(rows)))


def scalars_are_stale(leaf: LeafNode) -> bool:
    """Whether one of the leaf's scalar nodes was computed before a value that it depends on changed."""
    try:
        _check_scalars(leaf)
    except StaleGraphError:
        return True
    return False


# --- functions of arrays ----------------------------------------------------------


class PlannedFunction:
    """A function from arrays for `inputs` to the arrays of `outputs`; the evaluation plan is made once.

    Unlike a node, it caches no values, so several threads may call it at the same time.

    >>> from ..nodes import LeafNode
    >>> a = LeafNode.input(2, "a")
    >>> double, total = PlannedFunction([a], [a + a, (a * 3.0).sum()])(np.array([1.0, 2.0]))
    >>> double.tolist(), float(total)
    ([2.0, 4.0], 9.0)
    """

    def __init__(self, inputs: Sequence[TensorNode], outputs: Sequence[TensorNode]) -> None:
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.steps = plan_targets(self.outputs, self.inputs)

    def __call__(self, *arrays: Array) -> list[Array]:
        values: dict[TensorNode, Array] = dict(zip(self.inputs, arrays, strict=True))

        def value(node: TensorNode) -> Array:
            return values[node] if node in values else cached_array(node)

        with np.errstate(all="ignore"):  # values follow IEEE 754
            for step in self.steps:
                values[step.node] = computed(step, value)
        return [value(output) for output in self.outputs]
