"""A Program of tensors: unfolded into scalars, fed with arrays, answered in the tensors' shapes.

    program = Program(mean_squared_error(y, network(x)), inputs=[x, y])
    value, gradients = program(images, labels)      # an array for each parameter
    program.backward(images, labels)                # adds them to the parameters' own, for a trainer
    fit(trainer, program, samples)                  # the whole loop; a sample is (image, label)

Every element of every tensor is a scalar node of the graph, and the Program runs these
nodes. It reads the weights of a Model where they lie, in the Model's own array;
those of several Models, or of leaves without one, are copied into one array
before each call. So it always computes with the weights that `tensor.eval()` and
`tensor.backward()` use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Never, NoReturn

import numpy as np

from ..errors import FeedError, NodeError
from ..graph.nodes import Node, is_leaf_variable
from ..tensor.base import TensorNode
from ..tensor.differentiate import ancestors
from ..tensor.index import Shape
from ..tensor.lowering.lower import lower
from ..tensor.nodes import LeafNode, LeafType
from .base import Answer, Feed, ProgramBase
from .inputs import ArrayWeights, Inputs, InputSlot, VariableWeights, make_slot, not_a_node_error, slice_if_consecutive

Parts = list[tuple[slice, Shape]]  # for each of several tensors: where its elements are among all, and its shape


class TensorProgramBase(ProgramBase):
    """The Program of tensors: takes arrays, and answers in the tensors' shapes. A scalar node has the shape ()."""

    outputs: list[Any]
    wrt: list[Any]

    def __init__(
        self, outputs: Any, wrt: Any = None, inputs: Any = (), engine: str | None = None, weights: Any = None
    ) -> None:
        if weights is not None:
            raise FeedError("A Program of tensors reads the weights where they are. Leave weights= out.")
        results, self._is_single_output = _tensors(outputs, "Program")
        leaves = [ancestor for ancestor in ancestors(results) if isinstance(ancestor, LeafNode)]
        parameters = [leaf for leaf in leaves if leaf.leaf_type == LeafType.PARAMETER]
        parameters.sort(key=lambda leaf: leaf.source.start if leaf.source else leaf.serial)
        is_loss = self._is_single_output and results[0].size == 1
        differentiated = wrt
        if wrt is None:  # a loss is differentiated with respect to all its parameters
            differentiated = parameters if is_loss else []
        self._leaves, self._is_single_leaf = _tensors(differentiated, "Program's wrt")
        self._movable_leaves = [leaf for leaf in self._leaves if _is_movable(leaf)]
        self._frozen = [leaf for leaf in parameters if leaf not in self._leaves]
        nodes = _elements(results)
        super().__init__(nodes[0] if is_loss else nodes, _elements(self._leaves), inputs, engine)
        self.outputs, self.wrt = results, self._leaves
        self._values, self._slopes = _parts(results), _parts(self._leaves)
        self._can_accumulate = self._single and all(leaf.source for leaf in self._leaves)  # see `backward`
        if isinstance(wrt, (list, tuple)) and wrt and all(isinstance(node, Node) for node in wrt):
            # Scalar nodes get one array of derivatives, as in a Program of nodes.
            self._is_single_leaf, self._slopes = True, [(slice(0, len(wrt)), (len(wrt),))]
        named = {slot.leaf for slot in self._inputs}
        fed = [leaf for leaf in leaves if leaf.leaf_type == LeafType.INPUT and leaf.nodes is None]
        self._unnamed = [self._slot(leaf) for leaf in fed if leaf not in named]
        slots = {slot.leaf: slot.rows for slot in (*self._inputs, *self._unnamed)}
        choices = [node.direct for node in ancestors(results) if node.direct]
        self._checks = [
            (slots[choice.sources[0]], choice.check)
            for choice in choices
            if choice.check and choice.sources[0] in slots
        ]

    def _slot(self, input: Any) -> InputSlot:
        if not isinstance(input, TensorNode):
            return make_slot(input)
        if not isinstance(input, LeafNode) or input.leaf_type != LeafType.INPUT or input.nodes is not None:
            raise FeedError(f"An input is made with x = LeafNode.input(shape), or is a PlaceHolder; not {input.label}.")
        return InputSlot(tuple(lower(input).rows.ravel().tolist()), input.shape, input)

    def _make_weights(self, weights: Any) -> VariableWeights | ArrayWeights:
        if self._movable_leaves or self._frozen:
            return LeafWeights(self._movable_leaves, self._frozen)
        return super()._make_weights(weights)

    # --- calling it ---

    def __call__(self, *inputs: Any, feed: Feed | None = None, **unknown: Never) -> Answer:
        """The values and the derivatives, in the tensors' shapes."""
        if isinstance(self._weights, LeafWeights):
            self._weights.update_array()
        values, gradients = super().__call__(*inputs, feed=feed, **unknown)  # of all elements of the outputs
        if self._single:
            values, gradients = [values], [gradients]
        arrays = [_reshape_entries(values[part], shape) for part, shape in self._values]
        slopes: list[Any] = [[] for _ in arrays]
        if self.wrt:
            slopes = [self._collect_slopes(gradients[part], shape) for part, shape in self._values]
        return Answer(arrays[0], slopes[0]) if self._is_single_output else Answer(arrays, slopes)

    def backward(self, *inputs: Any, feed: Feed | None = None) -> float:
        weights = self._weights
        if not self._can_accumulate or not isinstance(weights, LeafWeights):
            return super().backward(*inputs, feed=feed)
        weights.update_array()
        value, gradient = ProgramBase.__call__(self, *inputs, feed=feed)
        if isinstance(weights.model_places, slice):
            weights.model.gradients[weights.model_places] += gradient
        else:
            for leaf, (part, shape) in zip(self._leaves, self._slopes, strict=True):
                leaf.receive(gradient[part].reshape(shape))
        return value if type(value) is float else float(np.sum(value))

    def _pair_inputs(self, feed: Any, inputs: Sequence[Any]) -> tuple[Any, Iterable[tuple[InputSlot, Any]]]:
        """Input tensors may be fed by `feed`, too; those that are not fed keep the array that they have."""
        others = {slot.leaf: slot for slot in (*self._inputs[len(inputs) :], *self._unnamed) if slot.leaf is not None}
        held = {leaf: leaf.held for leaf in others if leaf.held is not None}
        if isinstance(feed, Mapping):
            held |= {leaf: feed[leaf] for leaf in others if leaf in feed}
            feed = {node: values for node, values in feed.items() if node not in others}
        return feed, [*zip(self._inputs, inputs), *((others[leaf], values) for leaf, values in held.items())]

    def _check_inputs(self, feed: Feed | None, inputs: Sequence[Any] = ()) -> Inputs:
        """The inputs of a call, checked; also that the indices among them are within the extents that they index."""
        checked = super()._check_inputs(feed, inputs)
        for rows, check in self._checks:
            check(np.array([checked.numbers[row] for row in rows if row in checked.numbers]))
            batches = [batch for batch in checked.batches if batch.rows == rows]
            check(np.array([*chain.from_iterable(batch.columns for batch in batches)]))
        return checked

    def _make_fast_call(self, *call: Any) -> Any:
        """No fast path if some inputs are indices: these are checked in every call."""
        return None if self._checks else super()._make_fast_call(*call)

    def _collect_slopes(self, rows: Sequence[Any], shape: Shape) -> Any:
        """The derivatives of one output, an array for each tensor of wrt: of the output's shape and then its own.

        rows: for each element of the output, its derivatives with respect to all elements of wrt.
        """
        arrays = []
        for part, leaf_shape in self._slopes:
            entries = np.concatenate([row[part] for row in rows])
            arrays.append(_reshape_entries(entries, shape + leaf_shape))
        return arrays[0] if self._is_single_leaf else arrays

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise NodeError(
            "A Program of tensors cannot be copied with its model: its tensors have the parameters of this model. "
            "Copy the model, and write the Program of the copy."
        )


class LeafWeights(ArrayWeights):
    """The weights are tensors' leaves: read in their Model's array, or copied into an array before each call.

    movable: the weights in wrt; frozen: the parameters that are not in wrt. model: whose parameters all of them are;
    None if they are of several Models or of none. model_places: where the movable ones lie in the Model's array, a
    slice if one after the other; None without a Model, or if one is a lookup table, which notes the rows it is sent.
    """

    def __init__(self, movable: Sequence[LeafNode], frozen: Sequence[LeafNode]) -> None:
        self._movable, self._frozen, self._leaves = movable, frozen, [*movable, *frozen]
        models = [getattr(leaf.source, "model", None) for leaf in self._leaves]
        self.model: Any = models[0] if len({id(model) for model in models}) == 1 else None
        has_lookup_table = any(hasattr(leaf.source, "non_zero_grads") for leaf in self._leaves)
        self.model_places: Any = None
        rows = [int(row) for leaf in self._leaves for row in lower(leaf).rows.flat]
        array, places = np.empty(len(rows)), np.arange(len(rows))
        self._copies = [array[part].reshape(shape) for part, shape in _parts(self._leaves)]
        if self.model is not None:
            array, places = self.model.held, np.concatenate([np.ravel(leaf.places) for leaf in self._leaves])
            if not has_lookup_table:
                self.model_places = slice_if_consecutive(places[: sum(leaf.size for leaf in movable)].tolist())
        super().__init__(rows, array, places)

    def update_array(self) -> None:
        """Make the array hold the current weights: copy the leaves into it, or use the Model's new array."""
        if self.model is None:
            for leaf, copy in zip(self._leaves, self._copies, strict=True):
                copy[...] = leaf.held
        elif self.model.held is not self.held.array:  # more parameters were added
            self.hold(self.model.held)

    def before_moving(self) -> None:
        for leaf in self._frozen:  # minimize reads the nodes
            lower(leaf).values = leaf.held
        if self.model is not None:
            return super().before_moving()
        sources = [(id(leaf.source), str(leaf.rows)) for leaf in self._movable if leaf.source is not None]
        if len(set(sources)) < len(sources):
            raise FeedError("minimize moves each leaf by itself, and a parameter is there twice. Bring it in once.")

    def read(self) -> Any:
        return np.concatenate([np.zeros(0), *(np.ravel(leaf.held) for leaf in self._movable)])

    def write(self, values: Any) -> None:
        for leaf, (part, shape) in zip(self._movable, _parts(self._movable), strict=True):
            array = np.asarray(values)[part].reshape(shape)
            if leaf.source is not None:
                leaf.source.write(leaf.rows, array)
            elif leaf.nodes is not None:
                lower(leaf).values = array
            else:
                leaf.value = array


def _tensors(nodes: Any, who: str) -> tuple[list[Any], bool]:
    """The nodes as a list of tensors, and whether it was one node instead of a list."""
    alone = not isinstance(nodes, (list, tuple))
    tensors = [LeafNode.of(node) if isinstance(node, Node) else node for node in ([nodes] if alone else nodes)]
    for tensor in tensors:
        if not isinstance(tensor, TensorNode):
            raise not_a_node_error(tensor, who)
        tensor.home  # noqa: B018 - refuses a stale tensor
    return tensors, alone


def _elements(tensors: Iterable[TensorNode]) -> list[Node]:
    """The scalar nodes of all tensors' elements, one after the other."""
    return [node for tensor in tensors for node in lower(tensor)]


def _parts(tensors: Sequence[TensorNode]) -> Parts:
    """Where each tensor's elements are in the list `_elements(tensors)`, and its shape."""
    ends = np.cumsum([0, *(tensor.size for tensor in tensors)]).tolist()
    return [(slice(*ends[index : index + 2]), tensor.shape) for index, tensor in enumerate(tensors)]


def _reshape_entries(entries: Any, shape: Shape) -> Any:
    """The entries as one array; if they are arrays with an entry for each sample, the samples come first."""
    try:
        array = np.array(entries, float)
    except ValueError:  # some have one entry for all samples
        array = np.array(np.broadcast_arrays(*entries))
    array = array.reshape(shape) if array.ndim == 1 else array.T.reshape(-1, *shape)
    return array if array.ndim else array.item()


def _is_movable(tensor: Any) -> bool:
    """Whether it is a leaf of weights, which `minimize` can move; an input is not."""
    nodes = getattr(tensor, "nodes", None)
    return all(map(is_leaf_variable, nodes)) if nodes else getattr(tensor, "leaf_type", None) == LeafType.PARAMETER
