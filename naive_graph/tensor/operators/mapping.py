"""The names, attributes and inputs of an operator in ONNX and TensorFlow, as data.

    Onnx("LeakyRelu", alpha=Attribute("alpha", 0.01))

says that our operator is ONNX's LeakyRelu, and its property alpha the attribute "alpha", which is 0.01 if a file omits
it. A property is read from an attribute or from an input (mostly a constant), or it always has one value (Fixed). If
that changed between opsets, there are several, each with its range of opsets (since, until). A default is the other
framework's. This file declares, and converts single values; importers and exporters read files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

REQUIRED = "required"  # no default: the file must state it
Adapter = Callable[..., Any]  # (value, attributes) -> the property


class Attribute(NamedTuple):
    """A property that is an attribute in the other framework."""

    name: str
    default: Any = REQUIRED
    adapt: Adapter | None = None
    since: int = 1
    until: int | None = None  # the last opset


class Input(NamedTuple):
    """A property that is an input in the other framework: a constant, unless its kind takes a tensor, as indices do."""

    position: int
    default: Any = REQUIRED
    adapt: Adapter | None = None
    since: int = 1
    until: int | None = None


class Fixed(NamedTuple):
    """A property that always has one value in the other framework."""

    value: Any
    since: int = 1
    until: int | None = None


class Permuted(NamedTuple):
    """An operand that has its axes in another order in the other framework."""

    position: int
    order: tuple[int, ...]


Home = Attribute | Input | Fixed  # where a property is found
ALL = -1  # as an operand's position: all the inputs, as a list


class ForeignOperator:
    """An operator's counterpart in another framework: its name there, and where its operands and properties are found.

    operands: the input that each operand is, in our order; inputs in their order
    if omitted. properties: where each is found; one that is not listed keeps our
    default. harmless: attributes that are ignored, as they change no value. prepared:
    attributes that the importer handles itself, such as masks. required_values: attributes that
    we lack, each with the only value that is accepted; importing fails if it has another.
    """

    framework = ""

    def __init__(
        self,
        operator: str,
        *,
        operands: Sequence[int | Permuted] | None = None,
        since: int = 1,
        until: int | None = None,
        harmless: Sequence[str] = (),
        prepared: Sequence[str] = (),
        required_values: Mapping[str, Any] | None = None,
        **properties: Home | tuple[Home, ...],
    ) -> None:
        self.operator, self.operands, self.since, self.until = operator, operands, since, until
        self.harmless, self.prepared = tuple(harmless), tuple(prepared)
        self.required_values = dict(required_values or {})
        self.properties = {
            name: (home,) if isinstance(home, Home) else tuple(home) for name, home in properties.items()
        }

    def homes(self, opset: int | None = None) -> dict[str, Home]:
        """Where each property is found in this opset; in the newest one, if none is named."""
        opset = 10**9 if opset is None else opset  # beyond all opsets: the newest
        home_of = {}
        for name, homes in self.properties.items():
            for home in homes:
                if home.since <= opset and (home.until is None or opset <= home.until):
                    home_of[name] = home
        return home_of

    def attributes(self, opset: int | None = None) -> set[str]:
        """The names of all known attributes: read, harmless, prepared or in required_values."""
        read = {home.name for home in self.homes(opset).values() if isinstance(home, Attribute)}
        return read | {*self.harmless, *self.prepared, *self.required_values}

    def __repr__(self) -> str:
        parts = [f"{name}={_format_home(home)}" for name, home in self.homes().items()]
        return f"{self.operator}({', '.join(parts)})" if parts else self.operator


class Onnx(ForeignOperator):
    """An operator of ONNX; `since` and `until` are opsets."""

    framework = "onnx"


class TensorFlow(ForeignOperator):
    """An operation of TensorFlow's graphs."""

    framework = "tensorflow"


def _format_home(home: Home) -> str:
    if isinstance(home, Attribute):
        return home.name if home.default is REQUIRED else f"{home.name}: {home.default!r}"
    return f"input {home.position}" if isinstance(home, Input) else repr(home.value)


# --- adapters: (value, all attributes) -> the property ------------------------


@dataclass(frozen=True)
class ListElement:
    """An adapter that takes element `place` of a list."""

    place: int

    def __call__(self, value: Any, attributes: Mapping[str, Any]) -> Any:
        return value[self.place]


@dataclass(frozen=True)
class TranslatedName:
    """An adapter that translates a value's name from the other framework to ours."""

    ours: Mapping[Any, Any]

    def __call__(self, value: Any, attributes: Mapping[str, Any]) -> Any:
        return self.ours[value]


def to_bool(value: Any, attributes: Mapping[str, Any]) -> bool:
    """An adapter: 0 or 1 as a bool."""
    return bool(value)


def both_sides(value: Any, attributes: Mapping[str, Any]) -> list[Any]:
    """An adapter: one number for both rows and columns."""
    return [value, value]


def to_scalar(value: Any, attributes: Mapping[str, Any]) -> Any:
    """An adapter: an array with one element, or a number, as a number; as an int if it is whole."""
    number = value.item() if hasattr(value, "item") else value
    return int(number) if isinstance(number, float) and number.is_integer() else number


def spatial_pair(value: Any, attributes: Mapping[str, Any]) -> tuple[Any, Any]:
    """The elements for rows and columns of a list for all four axes, by the data format.

    >>> spatial_pair([1, 2, 3, 1], {"data_format": "NHWC"})
    (2, 3)
    """
    rows = 2 if _channels_first(attributes) else 1
    batch, channels = value[0], value[3 if rows == 1 else 1]
    if len(value) != 4 or (batch, channels) != (1, 1):
        raise ValueError("windows slide along rows and columns alone")
    return rows_and_columns(value, attributes)


def rows_and_columns(value: Any, attributes: Mapping[str, Any]) -> tuple[Any, Any]:
    """The extents of rows and columns in the shape of a batch of images, by the data format."""
    rows = 2 if _channels_first(attributes) else 1
    return value[rows], value[rows + 1]


def none_if_empty(value: Any, attributes: Mapping[str, Any]) -> Any:
    """An adapter: a list; None if it is empty (not specified)."""
    return value or None


def adapt_tf_padding(value: Any, attributes: Mapping[str, Any]) -> Any:
    """TensorFlow's padding: VALID, SAME, or explicit ones for the start and end of all four axes."""
    if value in ("VALID", "SAME"):
        return value
    if value != "EXPLICIT":
        raise ValueError("VALID, SAME or EXPLICIT")
    pads, rows = attributes["explicit_paddings"], 4 if _channels_first(attributes) else 2
    if len(pads) != 8 or sum(pads) != sum(pads[rows : rows + 4]):
        raise ValueError("a before and an after for each of four axes, and 0 but for rows and columns")
    return pads[rows], pads[rows + 2], pads[rows + 1], pads[rows + 3]


def padded_by(value: Any, attributes: Mapping[str, Any]) -> Any:
    """ONNX's pads [t, l, b, r], unless auto_pad says SAME_UPPER, SAME_LOWER or VALID."""
    auto = attributes.get("auto_pad", "NOTSET")
    return value if auto in ("NOTSET", "") else auto


def _channels_first(attributes: Mapping[str, Any]) -> bool:
    return bool(attributes.get("data_format", "NHWC") == "NCHW")


def to_attributes(home: Attribute, value: Any) -> dict[str, Any]:
    """The attributes for a property's value: the inverse of reading paddings, translated names and plain values.

    Raises KeyError for a value that a TranslatedName lacks.

    >>> to_attributes(Attribute("pads", (0, 0, 0, 0), padded_by), "SAME")
    {'auto_pad': 'SAME_UPPER'}
    """
    if home.adapt is padded_by and isinstance(value, str):
        return {"auto_pad": "SAME_UPPER" if value == "SAME" else value}
    if isinstance(home.adapt, TranslatedName):
        return {home.name: {ours: theirs for theirs, ours in home.adapt.ours.items()}[value]}
    return {home.name: int(value) if home.adapt is to_bool else value}
