"""Synchronous dataflow graph of a network: operators, and the streams (queues) between them.

Each layer becomes two operators, FComp (forward) and BComp (backward), with the
loss between them. A stream has one writer and one reader, so data that two
operators read goes through a `copy` operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import SequentialError

if TYPE_CHECKING:
    from .layers import LayerInNetwork


class Stream(NamedTuple):
    """A queue of samples from one operator to another; an input or output of the graph has "" for that end."""

    name: str
    writer: str
    reader: str
    shape: tuple[int, ...]  # of what one firing of the writer puts in
    pop: int  # numbers that one firing of the reader removes
    peek: int  # numbers in the reader's window: the removed ones, and some that stay for the next firing

    @property
    def push(self) -> int:
        """Numbers that one firing of its writer puts in."""
        return math.prod(self.shape)

    @property
    def rates(self) -> str:
        if self.push == self.pop == self.peek:
            return f"{self.push} a firing"
        return f"{self.push} in, {self.pop} out" + f" of {self.peek}" * (self.peek > self.pop)


@dataclass
class StreamOperator:
    """An operator of the dataflow graph: it fires when each of its input streams holds a sample, or a full window."""

    name: str
    kind: str  # copy, forward, loss, backward; of a splitjoin: duplicate, roundrobin, dilate, join, its workers' kind;
    # of a composite: source, own, network, sink
    layer: int = 0  # from 1; 0 for none
    share: range | None = None  # of a worker: which units, rows, filters or channels
    cuts: tuple[int, ...] = ()  # of a roundrobin: where the last axis is cut
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def part_by_operator(partition: Sequence[Sequence[str]]) -> dict[str, int]:
    """Map each operator's name to the index of its part in a partition."""
    return {name: number for number, names in enumerate(partition) for name in names}


class Dataflow:
    """Operators, in topological order, and their streams.

    >>> from .layers import Dense, connect_layers
    >>> flow = expand_layers(connect_layers([Dense(3), Dense(2)], (4,)))
    >>> for each in flow.operators.values():
    ...     print(f"{each.name:9}{', '.join(each.inputs):17}{', '.join(each.outputs)}")
    copy     data             copy_1, copy_2
    FComp1   copy_1           F1_F2, F1_B2
    FComp2   F1_F2            F2_loss
    lossComp F2_loss, label   _Loss
    BComp2   _Loss, F1_B2     B2_B1
    BComp1   B2_B1, copy_2    res
    """

    watched: Callable[[Any], Any] | None = None  # for the stepper: initial contents of the streams, and all firings
    of_numbers = False  # whether streams hold single numbers, with rates, or whole samples

    def __init__(self, layers: Sequence[LayerInNetwork], name: str = "Main") -> None:
        self.layers = list(layers)
        self.name = name
        self.operators: dict[str, StreamOperator] = {}
        self.streams: dict[str, Stream] = {}

    def __getstate__(self) -> dict[str, Any]:
        # `watched` refers to the weights of this process: it is not pickled.
        return {name: value for name, value in vars(self).items() if name != "watched"}

    def add(self, operator: StreamOperator) -> StreamOperator:
        self.operators[operator.name] = operator
        return operator

    def connect(self, name: str, writer: str, reader: str, shape: tuple[int, ...], pop: int = 0, peek: int = 0) -> None:
        """Add a stream between two existing operators. pop: defaults to what one firing puts in.

        Raises SequentialError for a duplicate name.
        """
        if name in self.streams:
            raise SequentialError("DUPLICATE_NAME", "a network has two streams of this name. Choose another.", name)
        pop = pop or math.prod(shape)
        self.streams[name] = Stream(name, writer, reader, shape, pop, max(pop, peek))
        if writer:
            self.operators[writer].outputs.append(name)
        if reader:
            self.operators[reader].inputs.append(name)

    def crossing_streams(self, partition: Sequence[Sequence[str]]) -> list[Stream]:
        """The streams whose writer and reader are in different parts."""
        part = part_by_operator(partition)
        return [stream for stream in self.inner_streams() if part[stream.writer] != part[stream.reader]]

    def inner_streams(self) -> list[Stream]:
        """The streams that have both a writer and a reader."""
        return [stream for stream in self.streams.values() if stream.writer and stream.reader]

    def sources(self, name: str) -> list[str]:
        """The operators that a given one reads from."""
        writers = (self.streams[stream].writer for stream in self.operators[name].inputs)
        return list(dict.fromkeys(writer for writer in writers if writer))

    def stages(self, partition: Sequence[Sequence[str]] | None = None) -> dict[str, int]:
        """The pipeline stage of each operator: the maximum of its sources' stages, plus 1 for those in another part.

        partition: groups of operators, each run by one worker; by default each operator is a
        group of its own. A stage is the length of the longest path to an operator, counted in changes of the group.
        """
        part = part_by_operator(partition or [[operator] for operator in self.operators])
        stage_of: dict[str, int] = {}
        for name in self.operators:
            before = [stage_of[source] + (part[source] != part[name]) for source in self.sources(name)]
            stage_of[name] = max(before, default=0)
        return stage_of

    def text(self) -> str:
        """The source text of the dataflow in the style of COStream: streams and weights, then operator calls.

        Comments give how many numbers a firing pushes to and pops from each stream.
        """
        ends: dict[str, list[str]] = {"output": [], "input": []}  # of the graph
        rates: dict[str, list[str]] = {}
        for stream in self.streams.values():
            if stream.writer and stream.reader:
                rates.setdefault(stream.rates, []).append(stream.name)
            else:
                ends["output" if stream.writer else "input"].append(f"stream<double x> {stream.name}")
        weights = [
            f"  double {kind}{placed.number}{''.join(f'[{extent}]' for extent in shape)};"
            for placed in self.layers
            for kind, shape in placed.weight_shapes.items()
        ]
        streams = [f"  stream<double x> {', '.join(names)};  // {rate}" for rate, names in rates.items()]
        kinds = {"duplicate": "duplicate ", "roundrobin": "roundrobin ", "join": "roundrobin "}
        calls = [
            f"  ({', '.join(operator.outputs)}) = "
            f"{kinds.get(operator.kind, '')}{operator.name}({', '.join(operator.inputs)});"
            for operator in self.operators.values()
        ]
        outer = "; ".join(f"{end} {', '.join(ends[end])}" for end in ("output", "input") if ends[end])
        return "\n".join([f"composite {self.name}({outer}) {{", *weights, *streams, *calls, "}"])


def expand_layers(
    layers: Sequence[LayerInNetwork], data: str = "data", labels: str = "label", result: str = "res"
) -> Dataflow:
    """Expand layers to their dataflow graph, with the operator and stream names of the specification (E3)."""
    flow, last = Dataflow(layers, f"sequential_{result}"), len(layers)
    is_copied = layers[0].layer.needs_input_for_backward
    if is_copied:
        flow.add(StreamOperator("copy", "copy"))
    for number in range(1, last + 1):
        flow.add(StreamOperator(f"FComp{number}", "forward", number))
    flow.add(StreamOperator("lossComp", "loss"))
    for number in range(last, 0, -1):
        flow.add(StreamOperator(f"BComp{number}", "backward", number))
    if is_copied:
        flow.connect(data, "", "copy", layers[0].input_shape)
        flow.connect("copy_1", "copy", "FComp1", layers[0].input_shape)
    else:
        flow.connect(data, "", "FComp1", layers[0].input_shape)
    for placed in layers:
        number = placed.number
        after, reader = ("loss", "lossComp") if number == last else (f"F{number + 1}", f"FComp{number + 1}")
        flow.connect(f"F{number}_{after}", f"FComp{number}", reader, placed.output_shape)
    flow.connect(labels, "", "lossComp", layers[-1].output_shape)
    flow.connect("_Loss", "lossComp", f"BComp{last}", layers[-1].output_shape)
    for placed in reversed(layers):
        number, before, shape = placed.number, placed.number - 1, placed.input_shape
        name = f"BComp{number}"
        if placed.layer.saves_residual:
            flow.connect(f"F{number}_B{number}", f"FComp{number}", name, placed.output_shape)
        if placed.layer.needs_input_for_backward:
            stream, writer = (f"F{before}_B{number}", f"FComp{before}") if before else ("copy_2", "copy")
            flow.connect(stream, writer, name, shape)
        stream, reader = (f"B{number}_B{before}", f"BComp{before}") if before else (result, "")
        flow.connect(stream, name, reader, shape)
    return flow
