"""A Program of tensors: unfolded into scalars, fed with arrays, answered in the tensors' shapes.

    program = Program(mean_squared_error(y, network(x)), inputs=[x, y])
    value, gradients = program(images, labels)      # an array for each parameter
    program.backward(images, labels)                # adds them to the parameters' own, for a trainer
    fit(trainer, program, samples)                  # the whole loop; a sample is (image, label)

Every element of every tensor is a node of the graph, and the Program runs these
nodes. It reads the weights of a Model where they lie, in the Model's own array;
those of several Models, or of leaves without one, are copied into one array
before each call. So the numbers are those of `tensor.eval()` and `tensor.backward()`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Never, NoReturn

import numpy as np

from ..core.did_you_mean import describe_misfit
from ..core.rules import Arithmetic
from ..errors import FeedError, NodeError
from ..graph.nodes import Node, is_leaf_variable
from ..tensor.base import TensorNode
from ..tensor.differentiate import ancestors
from ..tensor.index import Shape
from ..tensor.lowering.lower import lower
from ..tensor.nodes import LeafNode, LeafType
from .base import Answer, Feed, ProgramBase
from .fast_path import no_fast_path
from .inputs import ArrayWeights, Inputs, InputSlot, VariableWeights, make_slot, not_a_node_error, slice_if_consecutive

Parts = list[tuple[slice, Shape]]  # where each tensor's elements are among all, and its shape


class TensorProgramBase(ProgramBase):
    """The Program of tensors: fed with arrays, answered in shapes. Scalar nodes count as tensors of shape ()."""

    outputs: list[Any]
    wrt: list[Any]

    def __init__(
        self, outputs: Any, wrt: Any = None, inputs: Any = (), engine: str | None = None, weights: Any = None
    ) -> None:
        if weights is not None:
            raise FeedError("A Program of tensors reads the weights where they are. Leave weights= out.")
        results, self._alone = _tensors(outputs, "Program")
        leaves = [ancestor for ancestor in ancestors(results) if isinstance(ancestor, LeafNode)]
        learned = [each for each in leaves if each.leaf_type == LeafType.PARAMETER]
        learned.sort(key=lambda leaf: leaf.source.start if leaf.source else leaf.serial)
        loss = self._alone and results[0].size == 1
        given = wrt
        if given is None:
            given = learned if loss else []
        self._leaves, self._one_slope = _tensors(given, "Program's wrt")
        self._moved = [each for each in self._leaves if _is_moved(each)]
        self._frozen = [each for each in learned if each not in self._leaves]
        super().__init__(_elements(results)[0] if loss else _elements(results), _elements(self._leaves), inputs, engine)
        self.outputs, self.wrt = results, self._leaves
        self._values, self._slopes = _parts(results), _parts(self._leaves)
        self._adds_up = self._single and all(each.source for each in self._leaves)
        if isinstance(wrt, (list, tuple)) and wrt and all(isinstance(each, Node) for each in wrt):
            self._one_slope, self._slopes = True, [(slice(0, len(wrt)), (len(wrt),))]  # as of nodes alone
        named = {slot.leaf for slot in self._inputs}
        fed = [each for each in leaves if each.leaf_type == LeafType.INPUT and each.nodes is None]
        self._unnamed = [self._slot(each) for each in fed if each not in named]
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
        return LeafWeights(self._moved, self._frozen) if self._moved or self._frozen else super()._make_weights(weights)

    # --- calling it ---

    def __call__(self, *inputs: Any, feed: Feed | None = None, **unknown: Never) -> Answer:
        """The values and the derivatives, in the tensors' shapes."""
        if unknown:
            raise describe_misfit(self.__call__, inputs, unknown)
        values, rows = self._flat(inputs, feed)
        found = [_reshape_entries(values[part], shape) for part, shape in self._values]
        slopes = (
            [self._collect_slopes(rows[part], shape) for part, shape in self._values]
            if self.wrt
            else [[] for _ in found]
        )
        return Answer(found[0], slopes[0]) if self._alone else Answer(found, slopes)

    def backward(self, *inputs: Any, feed: Feed | None = None) -> float:
        kept = self._weights
        if not self._adds_up or not isinstance(kept, LeafWeights):
            return super().backward(*inputs, feed=feed)
        kept.settle()
        value, gradient = ProgramBase.__call__(self, *inputs, feed=feed)
        if isinstance(kept.together, slice):
            kept.model.gradients[kept.together] += gradient
        else:
            for leaf, (part, shape) in zip(self._leaves, self._slopes, strict=True):
                leaf.receive(gradient[part].reshape(shape))
        return value if type(value) is float else float(np.sum(value))

    def _flat(self, inputs: Sequence[Any], feed: Feed | None) -> tuple[Any, Any]:
        """The value of each element, and its derivatives in a row."""
        if isinstance(self._weights, LeafWeights):
            self._weights.settle()
        value, gradient = super().__call__(*inputs, feed=feed)
        return ([value], [gradient]) if self._single else (value, gradient)

    def _pair_inputs(self, feed: Any, inputs: Sequence[Any]) -> tuple[Any, Iterable[tuple[InputSlot, Any]]]:
        """Input tensors may be fed by `feed`, too; those that are not fed keep the array that they have."""
        others = {each.leaf: each for each in (*self._inputs[len(inputs) :], *self._unnamed) if each.leaf is not None}
        held = {leaf: leaf.held for leaf in others if leaf.held is not None}
        if isinstance(feed, Mapping):
            held |= {leaf: feed[leaf] for leaf in others if leaf in feed}
            feed = {node: values for node, values in feed.items() if node not in others}
        return feed, [*zip(self._inputs, inputs), *((others[leaf], values) for leaf, values in held.items())]

    def _check_inputs(self, feed: Feed | None, inputs: Sequence[Any] = ()) -> Inputs:
        """The inputs of a call, checked; also that the indices among them are within the extents that they index."""
        given = super()._check_inputs(feed, inputs)
        for rows, check in self._checks:
            check(np.array([given.numbers[row] for row in rows if row in given.numbers]))
            batches = [batch for batch in given.batches if batch.rows == rows]
            check(np.array([*chain.from_iterable(batch.columns for batch in batches)]))
        return given

    def _make_fast_call(self, *call: Any) -> Any:
        """No fast path if some inputs are indices: these are checked in every call."""
        return no_fast_path if self._checks else super()._make_fast_call(*call)

    def _collect_slopes(self, rows: Sequence[Any], shape: Shape) -> Any:
        """The derivatives of one output. rows: for each of its elements those with respect to all that is in wrt."""
        found = [
            _reshape_entries(np.concatenate([row[part] for row in rows]), shape + own) for part, own in self._slopes
        ]
        return found[0] if self._one_slope else found

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise NodeError(
            "A Program of tensors cannot be copied with its model: its tensors have the parameters of this model. "
            "Copy the model, and write the Program of the copy."
        )


class LeafWeights(ArrayWeights):
    """The weights are tensors' leaves: read in their Model's array, or copied into one before each call.

    moved: leaves with respect to which derivatives are asked for; frozen: the other parameters.
    """

    def __init__(self, moved: Sequence[LeafNode], frozen: Sequence[LeafNode]) -> None:
        self._moved, self._frozen, self._leaves = moved, frozen, [*moved, *frozen]
        models = {id(found): found for leaf in self._leaves for found in [getattr(leaf.source, "model", None)]}
        self.model: Any = next(iter(models.values())) if len(models) == 1 else None
        self._tables = [leaf.source for leaf in self._leaves if hasattr(leaf.source, "non_zero_grads")]
        self.together: Any = None  # where those that are moved lie in the Model's array, one after the other
        rows = [int(row) for leaf in self._leaves for row in lower(leaf).rows.flat]
        array, places = np.empty(len(rows)), np.arange(len(rows))
        self._copies = [array[part].reshape(shape) for part, shape in _parts(self._leaves)]
        if self.model is not None:
            array, places = self.model.held, np.concatenate([np.ravel(leaf.places) for leaf in self._leaves])
            if not self._tables:
                self.together = slice_if_consecutive(places[: sum(each.size for each in moved)].tolist())
        super().__init__(rows, array, places)

    def settle(self) -> None:
        """Have the present weights lie where they are read."""
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
        sources = [(id(each.source), str(each.rows)) for each in self._moved if each.source is not None]
        if len(set(sources)) < len(sources):
            raise FeedError("minimize moves each leaf by itself, and a parameter is there twice. Bring it in once.")

    def read(self) -> Any:
        return np.concatenate([np.zeros(0), *(np.ravel(each.held) for each in self._moved)])

    def write(self, values: Any) -> None:
        for leaf, (part, shape) in zip(self._moved, _parts(self._moved), strict=True):
            array = np.asarray(values)[part].reshape(shape)
            if leaf.source is not None:
                leaf.source.write(leaf.rows, array)
            elif leaf.nodes is not None:
                lower(leaf).values = array
            else:
                leaf.value = array


def _tensors(nodes: Any, who: str) -> tuple[list[Any], bool]:
    """What is given as tensors, in a list; and whether it was one alone."""
    alone = isinstance(nodes, Arithmetic) or not isinstance(nodes, (list, tuple))
    tensors = [LeafNode.of(node) if isinstance(node, Node) else node for node in ([nodes] if alone else nodes)]
    for tensor in tensors:
        if not isinstance(tensor, TensorNode):
            raise not_a_node_error(tensor, who)
        tensor.home  # noqa: B018 - refuses a stale tensor
    return tensors, alone


def _elements(tensors: Iterable[TensorNode]) -> list[Node]:
    return [node for tensor in tensors for node in lower(tensor)]


def _parts(tensors: Sequence[TensorNode]) -> Parts:
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


def _is_moved(tensor: Any) -> bool:
    """Whether it is a leaf of weights, which minimize can move, and not of what is fed."""
    nodes = getattr(tensor, "nodes", None)
    return all(map(is_leaf_variable, nodes)) if nodes else getattr(tensor, "leaf_type", None) == LeafType.PARAMETER
