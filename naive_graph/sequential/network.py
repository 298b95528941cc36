"""`Network`: a sequential network with its layers, weights and loss; predict, evaluate, save and load.

>>> from .layers import Dense
>>> network = Network([Dense(3, use_bias=0), Dense(2, use_bias=0)], 4, initializer=0.5)
>>> network.predict([1.0, 2.0, 3.0, 4.0]).tolist()
[7.5, 7.5]
>>> print(network.summary())
layer                 output  parameters
Dense(3, use_bias=0)    (3,)          12
Dense(2, use_bias=0)    (2,)           6
total                                 18
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from ..core.files import path_of
from ..errors import SequentialError, SequentialWarning, ShapeError, TrainingError
from ..graph.formatting import html_table
from ..graph.graph import scope
from ..tensor.base import TensorNode
from ..tensor.nodes import LeafNode
from ..tensor.slicing import reshape
from ..training.archive import Shapes, read
from ..training.model import Model, parameter
from .compute import LayerArithmetic, Loss, apply_layer, make_arithmetic
from .dataflow import Dataflow, expand_layers
from .layer_args import (
    Field,
    bind,
    identifier,
    initializer,
    int_at_least,
    one_of,
    positive_fraction,
    shape,
    validate_field,
)
from .layers import LAYERS, Activation, Dropout, Layer, connect_layers, format_shape
from .pipeline import schedule
from .splitjoin import decompose_operators

RATE, BATCH = Field("learning_rate", positive_fraction, 0.1), Field("batch_size", int_at_least(1), None)
TRAINING = (
    Field("input_shape", shape),
    RATE,
    BATCH,
    Field("loss", one_of("variance", "crossEntropy"), "variance"),
    Field("initializer", initializer, 0.0),
)
WHO = "sequential"
Weights = list[dict[str, Any]]  # for each layer: weight name -> array
MOST_AT_ONCE = 256  # samples of one firing, so that they fit the cache
KERAS_HINTS = {  # for methods that Keras models have
    "add": " It is given all its layers at once: Sequential([Dense(3), Dense(2)], 4).",
    "compile": " It is given its loss when it is made: Sequential([...], 4, loss=...), and a trainer in fit.",
}


class Streams(NamedTuple):
    """The names of the streams that a network writes and reads."""

    result: str = "res"
    data: str = "data"
    labels: str = "label"


class LoadMethod:
    """Descriptor: `network.load(path)` loads weights into a network; `Sequential.load(path)` creates the network."""

    def __get__(self, network: Any, kind: Any) -> Callable[[str | os.PathLike[str]], Any]:
        return kind.from_file if network is None else partial(Model.load, network)


class Network(Model):
    """A chain of layers with weights, a loss and a learning rate.

    It is a Model: its parameters are `network.parameters`, "1.W", "1.b" and so
    on, which any trainer moves, and `network(x)` is a tensor expression of them.

    layers: such as Dense(3) or Activation("relu"). input_shape: of one sample, a
    number or (height, width, channels). learning_rate: over 0, up to 1.
    batch_size: a pipeline needs more than its number of stages; the default is one more.
    loss: "variance" or "crossEntropy". initializer: a number for all weights and
    biases, or "gaussRandom", "uniformRandom", "glorotUniform", alone or as (name,
    numbers...), which fill the weights and leave biases 0: ("gaussRandom", 2, 0) too.
    seed: of all random numbers. name: of the network's output stream. Raises SequentialError.
    """

    blocks = 4  # a group of samples passes a pipeline in at least so many blocks, so that several workers are busy

    def __init__(
        self,
        layers: Sequence[Layer] = (),
        input_shape: int | tuple[int, ...] | None = None,
        learning_rate: float = 0.1,
        batch_size: int | None = None,
        loss: str = "variance",
        initializer: Any = 0.0,
        *,
        seed: int = 0,
        name: str = "res",
    ) -> None:
        if input_shape is None:
            says = "it needs input_shape, that of one sample: Sequential([Dense(3)], 4), or (28, 28, 1) for pictures."
            raise SequentialError("ARG_COUNT", says, WHO)
        positional = [input_shape, learning_rate, *([] if batch_size is None else [batch_size])]
        self.seed = validate_field(WHO, Field("seed", int_at_least(0)), seed)
        self.streams = Streams(validate_field(WHO, Field("name", identifier), name))
        values = bind(WHO, TRAINING, positional, {"loss": loss, "initializer": initializer})
        self.input_shape: tuple[int, ...] = values["input_shape"]
        self.learning_rate: float = values["learning_rate"]
        self.loss: str = values["loss"]
        self.initializer = values["initializer"]
        self.layers = connect_layers(_check_layers(layers), self.input_shape)
        stages = schedule(self.expand()).count  # raises if the name is that of another stream
        self.batch_size: int = values["batch_size"] or stages + 1
        last = [layer.layer for layer in self.layers if not isinstance(layer.layer, Dropout)][-1:]
        if self.loss == "crossEntropy" and last not in ([Activation("softmax")], [Activation("sigmoid")]):
            warnings.warn(
                "crossEntropy takes logarithms of results, so they should lie between 0 and 1, and nothing keeps them "
                'there. Let the last layer be Activation("softmax") or Activation("sigmoid").',
                SequentialWarning,
                stacklevel=3,
            )
        if self.initializer == 0 and sum(bool(layer.weight_shapes) for layer in self.layers) > 1:
            warnings.warn(
                "All weights begin at 0. In a linear or relu stack every gradient of a weight is then 0, for ever. "
                'Give another initializer, such as "glorotUniform".',
                SequentialWarning,
                stacklevel=3,
            )
        self._arithmetic: list[LayerArithmetic] | None = None
        Model.__init__(self, self.seed)
        for layer in self.layers:
            for name, extents in layer.weight_shapes.items():
                self.add_parameters(extents, partial(_fill_weights, self.initializer, name), f"{layer.number}.{name}")

    # --- weights ---------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError; for a method that Keras models have, it says what to write here."""
        hint = KERAS_HINTS.get(name, "")
        raise AttributeError(f"{type(self).__name__!r} has no {name!r}.{hint}", name=name, obj=self)

    @property
    def weights(self) -> Weights:
        """The weights of each layer by name (W, b): writable float64 arrays."""
        parameters = iter(self.parameters)
        return [{name: next(parameters).values for name in layer.weight_shapes} for layer in self.layers]

    @property
    def size(self) -> int:
        """The number of weights (scalars)."""
        return sum(layer.size for layer in self.layers)

    @property
    def arithmetic(self) -> list[LayerArithmetic]:
        """The arithmetic of each layer (compute.py)."""
        if self._arithmetic is None:
            self._arithmetic = [make_arithmetic(layer) for layer in self.layers]
        return self._arithmetic

    # --- predicting and evaluating ----------------------------------------------------------------

    def predict(self, data: Any) -> Any:
        """The network's results: for one sample of input_shape, or for an array of samples."""
        samples, is_single = self._samples(data)
        results = self._results(samples)
        return results[0] if is_single else results

    def _results(self, samples: Any) -> Any:
        steps, results = list(zip(self.arithmetic, self.weights)), []
        for start in range(0, len(samples), MOST_AT_ONCE):
            x = samples[start : start + MOST_AT_ONCE]
            for arithmetic, weights in steps:
                x, _ = arithmetic.forward(x, weights)
            results.append(x)
        return np.concatenate(results)

    def __call__(self, x: Any) -> TensorNode:
        """The result for one sample as a tensor expression of the parameters, for a loss of one's own.

        >>> from naive_graph.sequential.layers import Dense
        >>> from naive_graph.training.optimizers import AdamTrainer
        >>> network = Network([Dense(1)], 2, initializer=0.5)
        >>> trainer = AdamTrainer(network, 0.1)
        >>> for _ in range(3):
        ...     ((network([1.0, 2.0]) - 4.0) ** 2).sum().backward()
        ...     trainer.update()
        >>> network.predict([1.0, 2.0]).round(3).tolist()
        [3.181]
        """
        samples = None if isinstance(x, TensorNode) else self._samples(x)[0]
        if samples is not None and len(samples) > 1:
            raise ShapeError(
                f"network(x) is of one sample, {format_shape(self.input_shape)}, not of {len(samples)}. For many write "
                "network.predict(data) or network.fit(data, labels), or add up the losses of network(x) for x in data."
            )
        y: TensorNode = x if samples is None else LeafNode.constant(samples[0])
        if y.shape != self.input_shape:
            raise ShapeError(f"A network of tensors takes one sample, {format_shape(self.input_shape)}, not {y.shape}.")
        parameters = iter(self.parameters)
        y = reshape(y, (1, *y.shape))
        for layer in self.layers:
            with scope(f"{layer.number} {layer.layer!r}"):
                y = apply_layer(layer.layer, y, {name: parameter(next(parameters)) for name in layer.weight_shapes})
        return reshape(y, self.output_shape)

    def loss_of(self, result: TensorNode, label: TensorNode) -> TensorNode:
        """The loss of one sample as a tensor expression: of `network(x)`, and of a label of its shape."""
        return Loss(self.loss, self.output_shape).of(result, label, tuple(range(len(self.output_shape))))

    def evaluate(self, data: Any, labels: Any) -> dict[str, float]:
        """The mean loss, and with several outputs the accuracy (argmax of the result equals argmax of the label)."""
        samples, _ = self._samples(data)
        targets = self.encode_labels(samples, labels)
        loss = Loss(self.loss, self.output_shape)
        results = self._results(samples)
        scores = {"loss": float(np.mean(loss(results, targets)[0]))}
        if np.prod(self.output_shape) > 1:
            predicted_and_true = [array.reshape(len(samples), -1).argmax(1) for array in (results, targets)]
            scores["accuracy"] = float(np.mean(predicted_and_true[0] == predicted_and_true[1]))
        return scores

    @property
    def output_shape(self) -> tuple[int, ...]:
        return self.layers[-1].output_shape

    def _samples(self, data: Any) -> tuple[Any, bool]:
        """Convert data to an array of samples; also returns whether it was a single sample."""
        array = to_float_array(data, "data")
        for extents in (self.input_shape, *([self.input_shape[:2]] if self.input_shape[2:] == (1,) else [])):
            if array.shape == extents or (array.shape[1:] == extents and len(array)):
                is_single = array.shape == extents
                return array.reshape(-1, *self.input_shape), is_single
        raise ShapeError(
            f"The network takes samples of {format_shape(self.input_shape)}, or an array of them with one axis more, "
            f"not {format_shape(array.shape)}."
        )

    def samples(self, data: Any, labels: Any) -> tuple[Any, Any]:
        """Convert data and labels to arrays of equal length. Raises ShapeError."""
        samples, _ = self._samples(data)
        return samples, self.encode_labels(samples, labels)

    def encode_labels(self, samples: Any, labels: Any) -> Any:
        """Convert labels to arrays of output_shape; class numbers become one-hot."""
        array = to_float_array(labels, "labels")
        count = len(samples)
        classes = self.output_shape[-1]
        if array.shape == (count,) and len(self.output_shape) == 1 and classes > 1:
            if (array != array.astype(int)).any() or array.min() < 0 or array.max() >= classes:
                raise ShapeError(f"The labels are numbers of classes, 0 to {classes - 1}, or arrays of {classes}.")
            array = np.eye(classes)[array.astype(int)]
        first_axis_fits = array.shape[:1] in ((count,), self.output_shape)  # samples, or the entries of one label
        if array.size != count * int(np.prod(self.output_shape)) or not first_axis_fits:
            raise ShapeError(
                f"{count} samples take labels of shape {format_shape((count, *self.output_shape))}, not "
                f"{format_shape(array.shape)}."
            )
        return array.reshape(count, *self.output_shape)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        rows = [("layer", "output", "weights", "parameters")]
        for layer in self.layers:
            weights = ", ".join(f"{name} {format_shape(shape)}" for name, shape in layer.weight_shapes.items())
            rows.append((repr(layer.layer), format_shape(layer.output_shape), weights, f"{layer.size:,}"))
        return [*rows, ("total", "", "", f"{self.size:,}")]

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return html_table(head, rows, f"{self!r}"[1:-1])

    def summary(self) -> str:
        """A row for each layer: how it is written, the shape of its results, and its number of parameters."""
        rows = [(layer, output, count) for layer, output, _, count in self._rows()]
        first, second, third = (max(map(len, column)) for column in zip(*rows))
        return "\n".join(f"{a:{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in rows)

    def expand(self, decompose: bool = False, grain: int = 1) -> Dataflow:
        """Expand the network to its dataflow graph. decompose: with each operator as split, workers and join."""
        flow = expand_layers(self.layers, self.streams.data, self.streams.labels, self.streams.result)
        return decompose_operators(flow, grain) if decompose else flow

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_arithmetic": None}  # tensors belong to one process: another makes its own

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.layers)} layers, {self.size:,} parameters>"

    # --- files -----------------------------------------------------------------

    load = LoadMethod()  # type: ignore[assignment]

    def _extra_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        layers = [[type(layer.layer).__name__, layer.layer.arguments] for layer in self.layers]
        return {"network": {"layers": layers, **self.settings()}}, {}

    def settings(self) -> dict[str, Any]:
        """The settings that a file stores, besides its layers and weights."""
        training = [self.input_shape, self.learning_rate, self.batch_size, self.loss, self.initializer]
        return {"training": training, "seed": self.seed, "streams": self.streams}

    @classmethod
    def from_settings(cls, layers: Sequence[Layer], settings: Mapping[str, Any]) -> Self:
        """Make the network of these layers with a file's settings. Raises an error if they do not fit."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SequentialWarning)
            training, streams = map(_list_as_tuple, settings["training"]), Streams(*map(str, settings["streams"]))
            network = cls.__new__(cls)  # a subclass may take other arguments
            Network.__init__(network, layers, *training, seed=settings["seed"])
            network.streams = streams
            network.expand()  # raises if two streams have one name
            return network

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """The network that `save` wrote. Raises TrainingError."""
        networks: list[Self] = []
        source = path_of(path, TrainingError)

        def check(settings: dict[str, Any], shapes: Shapes) -> None:
            networks.append(cls._build_from_settings(settings.get("network"), source))
            networks[0]._check_file(settings, shapes)

        settings, arrays = read(source, "model", check)
        networks[0]._restore(settings, arrays)
        return networks[0]

    @classmethod
    def _build_from_settings(cls, settings: Any, path: Path) -> Self:
        if not isinstance(settings, dict):
            raise TrainingError(f"{path} holds a model without layers. Make the Model, and call model.load(path).")
        try:
            layers = []
            for kind, arguments in settings["layers"]:
                layers.append(LAYERS[kind](**{key: _list_as_tuple(value) for key, value in arguments.items()}))
            return cls.from_settings(layers, settings)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise TrainingError(f"{path} holds no sequential network that can be read: {error}") from None


def _list_as_tuple(value: Any) -> Any:
    """Convert a list (JSON) back to a tuple."""
    return tuple(value) if isinstance(value, list) else value


def _check_layers(layers: Any) -> list[Layer]:
    layer_list = list(layers) if isinstance(layers, (list, tuple)) else []
    if not layer_list or not all(isinstance(layer, Layer) for layer in layer_list):
        raise SequentialError(
            "ARG_TYPE", f"it is a list of layers, {', '.join(LAYERS)}, as in [Dense(3), Dense(2)].", "layers"
        )
    return layer_list


def to_float_array(value: Any, who: str) -> Any:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        says = f"numbers in an array, or in lists of equal lengths, not {str(value)[:60]!r}."
        raise ShapeError(f"{who}: {says}") from None


def _fill_weights(initializer_value: Any, name: str, random: Any, shape: Sequence[int]) -> Any:
    """The initial array of a weight: a number fills all; a random initializer fills weights, biases are 0."""
    if isinstance(initializer_value, float):
        return np.full(shape, initializer_value)
    if name == "b":
        return np.zeros(shape)
    method, *numbers = initializer_value
    if method == "gaussRandom":
        return random.normal(*numbers, size=shape)
    if method == "glorotUniform":  # fans by the kind of weight: Glorot & Bengio, AISTATS 2010
        window = int(np.prod(shape[2:], dtype=int))
        fans = (shape[0] + shape[1]) * window
        numbers = [-((6.0 / fans) ** 0.5), (6.0 / fans) ** 0.5]
    return random.uniform(*numbers, size=shape)
