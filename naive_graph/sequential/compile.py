"""Compile a program of the sequential language to networks: `parse(text)`.

parser.py makes the syntax tree; this file checks its declarations and builds its networks.
A syntax error ends the parse; other errors (up to 10) are collected: the first is raised, with the rest in its `more`.

>>> program = parse('''
... stream<double x> res, data, label;
... res = sequential (data, label) (4, 0.1, 7, "variance", 0.5) { add Dense(3, 0); add Dense(2, 0); };
... ''')
>>> program["res"].layers
[<1: Dense(3, use_bias=0), (4,) to (3,)>, <2: Dense(2, use_bias=0), (3,) to (2,)>]
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

from ..core.did_you_mean import suggest
from ..errors import SequentialError, SequentialWarning
from .ast import Argument, LayerStatement, Name, ProgramTree, SequentialStatement, StreamDeclaration
from .composite import Composite
from .dataflow import expand_layers
from .layer_args import bind
from .layers import LAYERS, Layer, connect_layers
from .model import Sequential
from .network import TRAINING, WHO, Streams
from .parser import ParsedText, error_at
from .pipeline import schedule


class ParsedProgram:
    """The networks of a program, by the name of each one's output stream."""

    def __init__(self, tree: ProgramTree, networks: dict[str, Sequential]) -> None:
        self.tree = tree
        self.networks = networks

    def __getitem__(self, name: str) -> Sequential:
        if name not in self.networks:
            names = ", ".join(self.networks) or "none"
            raise SequentialError("UNDECLARED_STREAM", f"No network writes {name!r}. Those that are written: {names}.")
        return self.networks[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.networks)

    def __len__(self) -> int:
        return len(self.networks)

    def text(self) -> str:
        """The program's source in canonical layout; it parses to an equal tree."""
        return str(self.tree)

    def expand(self) -> Composite:
        """The program as a Composite of its networks; a stream with two readers goes through a `copy`.

        Raises SequentialError if networks depend on one another in a cycle.
        """
        writers = {name: network.streams[1:] for name, network in self.networks.items()}
        main = Composite()
        try:
            order = list(TopologicalSorter(writers).static_order())
        except CycleError as error:
            says = "networks wait for one another. Let one of them read a stream from outside."
            raise SequentialError("RATES", says, ", ".join(error.args[1][1:])) from None
        main.input(*(name for name in order if name not in writers))
        for name in order:
            if name in writers:
                main.network(name, self.networks[name], *self.networks[name].streams[1:])
        return main

    def __repr__(self) -> str:
        return f"<ParsedProgram of {', '.join(self.networks) or 'nothing'}>"


def parse(text: str) -> ParsedProgram:
    """Compile a program's text to its networks. Raises SequentialError with the position of the error.

    >>> text = 'stream<double x> y, x, t; y = sequential (x, t) (4, 0.1, 7, "variance", 0.5) { add Dense(3); };'
    >>> parse(text)["y"].layers
    [<1: Dense(3), (4,) to (3,)>]
    """
    parsed = ParsedText(text)
    declared: dict[str, Name] = {}
    networks: dict[str, Sequential] = {}
    for statement in parsed.tree.statements if parsed.tree else ():
        with parsed.collect_errors():
            if isinstance(statement, StreamDeclaration):
                _declare_streams(statement, declared, parsed)
            elif isinstance(statement, SequentialStatement):
                _make_network(statement, declared, networks, parsed)
    parsed.raise_errors()
    assert parsed.tree is not None
    return ParsedProgram(parsed.tree, networks)


def _declare_streams(statement: StreamDeclaration, declared: dict[str, Name], parsed: ParsedText) -> None:
    kind, _ = statement.fields[0]
    if len(statement.fields) > 1:
        raise error_at(statement.fields[1][0], "BAD_TYPE", "a stream has one field, as in stream<double x>.")
    if kind != "double":
        raise error_at(kind, "BAD_TYPE", f"a stream carries doubles, not {kind}: stream<double x>.")
    constants = {
        constant.name for constant in parsed.constants.values() if constant.name.line <= statement.names[0].line
    }
    for name in statement.names:
        if name in declared or name in constants:
            raise error_at(name, "DUPLICATE_NAME", "it is declared twice. Take one away.", name)
        declared[name] = name


def _make_network(
    statement: SequentialStatement,
    declared: dict[str, Name],
    networks: dict[str, Sequential],
    parsed: ParsedText,
) -> None:
    """Build the network of a statement, or collect its errors; may raise the last of them."""
    result, data, labels = statement.result, statement.data, statement.labels
    for name in (result, data, labels):
        if name not in declared:
            meant = suggest(name, declared, " (did you mean {})")
            says = f"declare it: stream<double x> {name};"
            parsed.add(error_at(name, "UNDECLARED_STREAM", says, f"{name}{meant}"))
    if result in (*networks, data, labels):
        says = "another network writes it, or this one reads it."
        parsed.add(error_at(result, "DUPLICATE_NAME", says, result))
    elif labels == data:
        says = "the network would read data and labels from one stream. Give the labels a stream of their own."
        parsed.add(error_at(labels, "DUPLICATE_NAME", says, labels))
    layers: list[Layer] = []
    for layer in statement.layers:
        with parsed.collect_errors():
            if all(argument.value.value is not None for argument in layer.arguments):  # else reported already
                layers.append(_make_layer(layer))
    if any(argument.value.value is None for argument in statement.arguments):
        return
    positional, named = _split_arguments(statement.arguments)
    try:
        values = bind(WHO, TRAINING, positional, named)
        if len(layers) < len(statement.layers):
            return
        streams = Streams(str(result), str(data), str(labels))
        streams = streams if len(set(streams)) == 3 else Streams()  # equal names were reported above
        placed = connect_layers(layers, values["input_shape"])
        flow = expand_layers(placed, streams.data, streams.labels, streams.result)
        schedule(flow, batch_size=values["batch_size"])  # raises if it does not fit a pipeline
        with warnings.catch_warnings():
            if parsed.mistakes:
                warnings.simplefilter("ignore", SequentialWarning)
            network = Sequential(layers, **values)
        network.streams = streams  # not by name=, beside which data and labels have the names that Python gives them
        networks[str(result)] = network
    except SequentialError as error:
        # schedule() names batch_size, which may be given by position: it is the third argument.
        argument = 2 if error.argument == "batch_size" and len(positional) > 2 else error.argument
        node: Any = _find_argument(statement.arguments, argument) or result
        if number := error.layer:
            node = statement.layers[number - 1].name
        raise error.at(node.line, node.column) from None


def _make_layer(statement: LayerStatement) -> Layer:
    name = statement.name
    if name not in LAYERS:
        meant = suggest(name, LAYERS, " (did you mean {})")
        alone = " Dense lays what it is given in a row by itself." * (name == "Flatten")
        raise error_at(name, "UNKNOWN_LAYER", f"there are {', '.join(LAYERS)}.{alone}", f"{name}{meant}")
    positional, named = _split_arguments(statement.arguments)
    try:
        return LAYERS[name](*positional, **named)
    except SequentialError as error:
        node = _find_argument(statement.arguments, error.argument) or name
        raise error.at(node.line, node.column) from None


def _split_arguments(arguments: tuple[Argument, ...]) -> tuple[list[Any], dict[str, Any]]:
    named: dict[str, Any] = {}
    for parameter in arguments:
        if parameter.name and parameter.name in named:
            raise error_at(parameter.name, "DUPLICATE_ARG", "it is given twice. Keep one.", parameter.name)
        if parameter.name:
            named[str(parameter.name)] = parameter.value.value
    return [argument.value.value for argument in arguments if not argument.name], named


def _find_argument(arguments: tuple[Argument, ...], key: int | str | None) -> Any:
    """The node of an argument, whose line and column an error shows: the value at index `key`, or the name `key`."""
    if isinstance(key, int) and key < len(arguments):
        return arguments[key].value
    return next((argument.name for argument in arguments if argument.name and argument.name == key), None)
