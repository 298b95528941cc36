"""Layer classes: arguments, output shapes and weight shapes. Shapes only; compute.py implements the layers.

>>> Dense(3, use_bias=0)
Dense(3, use_bias=0)
>>> Conv2D(3, (2, 2)).output_shape((5, 5, 1)), Conv2D(3, (2, 2)).weight_shapes((5, 5, 1))
((4, 4, 3), {'W': (3, 1, 2, 2), 'b': (3,)})
"""

from __future__ import annotations

import inspect
import math
from typing import Any, ClassVar

from ..errors import SequentialError
from .layer_args import REQUIRED, Field, bind, int_at_least, int_pair, one_of, positive_fraction, zero_or_one

Shape = tuple[int, ...]
MAX_SIZE = 100_000_000  # the largest array: 0.8 GB


class Layer:
    """Base class of layers. Its arguments are its attributes."""

    fields: ClassVar[tuple[Field, ...]] = ()
    __signature__: ClassVar[inspect.Signature]
    needs_input_for_backward = True  # whether its backward needs the layer's input
    saves_residual = False  # whether its forward saves a residual (such as a mask) for its backward

    def __init_subclass__(cls) -> None:
        """Set the signature that `help` and editors show."""
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind, default=default) for name, _, default in cls.fields]
        cls.__signature__ = inspect.Signature(parameters)

    def __init__(self, *given: Any, **named: Any) -> None:
        self.arguments = bind(type(self).__name__, self.fields, given, named)

    def __getattr__(self, name: str) -> Any:
        if name == "arguments" or name not in self.arguments:
            raise AttributeError(f"{type(self).__name__} has no '{name}'.")
        return self.arguments[name]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.arguments == self.arguments

    def __hash__(self) -> int:
        return hash((type(self), *self.arguments.values()))

    def __repr__(self) -> str:
        """The constructor call: required arguments by position, other non-default ones by name."""
        arguments = []
        for name, _, default in self.fields:
            value = self.arguments[name]
            if value != default:
                arguments.append(f"{value!r}" if default is REQUIRED else f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def output_shape(self, shape: Shape) -> Shape:
        """The shape of one sample's result. Raises SequentialError (SHAPE)."""
        return shape

    def weight_shapes(self, shape: Shape) -> dict[str, Shape]:
        """The shapes of the weights by name, for inputs of this shape."""
        return {}


class Dense(Layer):
    """Fully connected: y = x W + b, the input flattened (row-major). W (in, units), b (units).

    Only an initializer that is a number fills b; a method, such as ("gaussRandom", 2, 0), leaves it 0.

    >>> Dense(3).output_shape((5,))
    (3,)
    """

    fields = (Field("units", int_at_least(1)), Field("use_bias", zero_or_one, 1))

    def output_shape(self, shape: Shape) -> Shape:
        return (self.units,)

    def weight_shapes(self, shape: Shape) -> dict[str, Shape]:
        return {"W": (math.prod(shape), self.units), **({"b": (self.units,)} if self.use_bias else {})}


class Conv2D(Layer):
    """y[m, n, f] = b[f] + sum of x[m s + i, n s + j, c] W[f, c, i, j]: a cross-correlation.

    Only an initializer that is a number fills b; a method, such as ("gaussRandom", 2, 0), leaves it 0.

    >>> Conv2D(6, (3, 3), padding=(1, 1)).output_shape((8, 8, 1))
    (8, 8, 6)
    """

    fields = (
        Field("filters", int_at_least(1)),
        Field("kernel_size", int_pair(1)),
        Field("strides", int_pair(1), (1, 1)),
        Field("use_bias", zero_or_one, 1),
        Field("padding", int_pair(0), (0, 0)),
    )

    def output_shape(self, shape: Shape) -> Shape:
        height, width, _ = _check_image_shape(self, shape)
        sizes = zip((height, width), self.padding, self.kernel_size, self.strides)
        return (*(_check_extent(self, (n + 2 * p - k) // s + 1, shape) for n, p, k, s in sizes), self.filters)

    def weight_shapes(self, shape: Shape) -> dict[str, Shape]:
        weights = (self.filters, shape[2], *self.kernel_size)
        return {"W": weights, **({"b": (self.filters,)} if self.use_bias else {})}


class Pooling(Layer):
    """Base of pooling layers: non-overlapping windows (stride = pool_size); a remainder at the end is dropped."""

    fields = (Field("pool_size", int_pair(1)),)

    def output_shape(self, shape: Shape) -> Shape:
        height, width, channels = _check_image_shape(self, shape)
        sizes = zip((height, width), self.pool_size)
        return (*(_check_extent(self, n // p, shape) for n, p in sizes), channels)


class MaxPooling2D(Pooling):
    """The maximum of each window; on ties the first one receives the gradient.

    >>> MaxPooling2D((2, 2)).output_shape((8, 8, 6))
    (4, 4, 6)
    """


class AveragePooling2D(Pooling):
    """The mean of each window.

    >>> AveragePooling2D((2, 2)).output_shape((8, 8, 6))
    (4, 4, 6)
    """

    needs_input_for_backward = False


class Activation(Layer):
    """relu or sigmoid of every number, or softmax along the last axis.

    >>> Activation("relu").output_shape((8, 8, 6))
    (8, 8, 6)
    """

    fields = (Field("activation", one_of("relu", "sigmoid", "softmax")),)
    needs_input_for_backward = False
    saves_residual = True


class Dropout(Layer):
    """While training, a number is dropped with probability `rate`, and the others are divided by 1 - rate.

    >>> Dropout(0.25).output_shape((8, 8, 6))
    (8, 8, 6)
    """

    fields = (Field("rate", positive_fraction),)
    needs_input_for_backward = False
    saves_residual = True


LAYERS: dict[str, type[Layer]] = {
    kind.__name__: kind for kind in (Dense, Conv2D, MaxPooling2D, AveragePooling2D, Activation, Dropout)
}


def _check_image_shape(layer: Layer, shape: Shape) -> Shape:
    name = type(layer).__name__
    if len(shape) != 3:
        raise SequentialError(
            "SHAPE",
            f"{name} needs (H,W,C), height, width and channels, and is given {format_shape(shape)}. Give the data that "
            "shape, and put Dense behind it.",
        )
    return shape


def _check_extent(layer: Layer, extent: int, shape: Shape) -> int:
    if extent < 1:
        raise SequentialError(
            "SHAPE", f"{layer!r} finds no place in {format_shape(shape)}: its window is larger. Make it smaller."
        )
    return extent


def format_shape(shape: Shape) -> str:
    return f"({','.join(map(str, shape))}{',' * (len(shape) == 1)})"


class LayerInNetwork:
    """A layer in its network: its position, its neighbours, and its input, output and weight shapes."""

    def __init__(self, layer: Layer, number: int, previous: LayerInNetwork | None, input_shape: Shape) -> None:
        self.layer = layer
        self.number = number  # from 1
        self.previous = previous
        self.next: LayerInNetwork | None = None
        self.input_shape = input_shape
        self.output_shape = layer.output_shape(input_shape)
        self.weight_shapes = layer.weight_shapes(input_shape)
        for shape in (self.output_shape, *self.weight_shapes.values()):
            if math.prod(shape) > MAX_SIZE:
                says = f"{layer!r} would need an array of {format_shape(shape)}: more than {MAX_SIZE:,} numbers."
                raise SequentialError("SHAPE", says)
        if previous is not None:
            previous.next = self

    @property
    def size(self) -> int:
        """The number of its weights (scalars)."""
        return sum(map(math.prod, self.weight_shapes.values()))

    def __repr__(self) -> str:
        return f"<{self.number}: {self.layer!r}, {format_shape(self.input_shape)} to {format_shape(self.output_shape)}>"


def connect_layers(layers: list[Layer], input_shape: Shape) -> list[LayerInNetwork]:
    """Chain layers: each gets its position, neighbours and shapes. Raises SequentialError (SHAPE)."""
    placements: list[LayerInNetwork] = []
    for number, layer in enumerate(layers, 1):
        before = placements[-1] if placements else None
        try:
            placements.append(LayerInNetwork(layer, number, before, before.output_shape if before else input_shape))
        except SequentialError as error:
            error.layer = number  # so that the compiler can add the position in the source
            raise
    return placements
