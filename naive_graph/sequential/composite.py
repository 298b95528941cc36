"""User-defined dataflow graphs: sources, operators with rates, splits and joins, networks, sinks.

A firing of an operator sees `peek` numbers of each input stream in its window, removes
the first `pop` of them, and writes `push` numbers to its output. It happens as soon as
the windows are full.

>>> main = Composite()
>>> main.source("x", range(1, 11))
>>> main.operator("smooth", np.mean, "x", peek=4)
>>> main.sink("smooth")
>>> main.run()["smooth"].tolist()
[2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5]
>>> print(main.text())
composite Main() {
  stream<double x> x;  // 1 in, 1 out of 4
  stream<double x> smooth;  // 1 a firing
  (x) = source_x();
  (smooth) = mean(x);
  () = sink_smooth(smooth);
}
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import chain, count, islice
from typing import Any

import numpy as np

from ..core.did_you_mean import suggest
from ..core.number import shortened
from ..errors import SequentialError
from ..tensor.base import TensorNode
from .dataflow import Dataflow, Stream, StreamOperator
from .layer_args import Field, identifier, int_at_least, validate_field
from .network import Network, to_float_array
from .sdf_runtime import Firing, NetworkMachine, ready_operators
from .weight_staleness import DoubleBuffer, Gradients, fire_operators

Array = Any
Work = Callable[..., Any]
Rates = int | Sequence[int]
NAME = Field("name", identifier)


class Composite(Dataflow):
    """A user-defined synchronous dataflow graph: operators with rates, in topological order, and their streams.

    A stream with several readers goes through a `copy` operator; each reader gets all numbers.

    >>> flow = Composite()
    >>> flow.input("x")
    >>> flow.operator("y", sum, "x", peek=2, name="neighbours")
    >>> flow.sink("y")
    >>> flow.run({"x": [1.0, 2.0, 3.0]})["y"].tolist()
    [3.0, 5.0]
    """

    of_numbers = True

    def __init__(self, name: str = "Main") -> None:
        super().__init__([], name)
        self.watched = self._watch_run
        self.work_factories: dict[str, Callable[[], Work]] = {}  # operator -> makes its function, once per run
        self.networks: dict[str, Network] = {}  # operator -> the network that it trains
        self.values: dict[str, Array] = {}  # "operator()" -> the numbers of a source

    def input(self, *names: str) -> None:
        """Add input streams, whose numbers are given to `run`."""
        for name in names:
            self.connect(validate_field("a stream", NAME, name), "", "", (1,))

    def source(self, name: str, values: Iterable[float], push: int = 1) -> None:
        """An operator that puts numbers into a stream; those of a file are `np.load(path)` or `np.loadtxt(path)`."""
        numbers = to_float_array(values if isinstance(values, np.ndarray) else list(values), name).ravel()
        operator_name = self._add("source", f"source_{name}", lambda: lambda window: window, [name], [], push=push)
        self.values[f"{operator_name}()"] = numbers

    def operator(
        self, outputs: str | Sequence[str], work: Work, inputs: str | Sequence[str], *, pop: Rates = 1,
        peek: Rates = 0, push: Rates = 1, init: Callable[[], Any] | None = None, name: str = "",
    ) -> None:  # fmt: skip
        """Add a user-defined operator.

        work: called with a window (an array of `peek` numbers) for each input, returns the `push` numbers of its
        output (a tuple if there are several outputs). It may return a tensor, so a tensor operator such as
        `naive_graph.tensor.softmax` will do. init: makes the operator's state, once per run, which `work` gets
        as its first argument. pop, peek, push: one number for all streams, or one for each. Raises SequentialError.
        """
        if not callable(work) or not _as_list(inputs):
            says = "an operator without an input is a source" if callable(work) else "it is a function of windows"
            raise SequentialError("ARG_TYPE", f"{says}, not {shortened(work)}.", "work")
        operator_name = name or getattr(work, "__name__", "operator").strip("<>")
        make_work = (lambda: partial(work, init())) if init else (lambda: work)
        self._add("own", operator_name, make_work, _as_list(outputs), _as_list(inputs), push=push, pop=pop, peek=peek)

    def roundrobin(self, outputs: Sequence[str], stream: str, rates: Rates = 1) -> None:
        """Add a round-robin split: distribute the numbers of a stream over the outputs in turns."""
        push = _parse_rates("rates", rates, len(outputs))
        divide = partial(np.split, indices_or_sections=np.cumsum(push)[:-1])
        self._add("roundrobin", f"split_{stream}", lambda: divide, outputs, [stream], push=push, pop=sum(push))

    def join(self, output: str, streams: Sequence[str], rates: Rates = 1) -> None:
        """Add a round-robin join: numbers of each stream in turns; the inverse of `roundrobin`."""
        pop = _parse_rates("rates", rates, len(streams))

        def make_work() -> Work:
            return lambda *windows: np.concatenate(windows)

        self._add("join", f"join_{output}", make_work, [output], streams, push=sum(pop), pop=pop)

    def network(self, output: str, network: Network, data: str, labels: str) -> None:
        """Add a network that is trained on its input streams, in minibatches; it outputs the gradients at its data.

        An incomplete last minibatch changes no weights.
        """
        if not isinstance(network, Network):
            raise SequentialError("ARG_TYPE", f"it is a Sequential, not {shortened(network)}.", "network")
        sizes = [int(np.prod(shape)) for shape in (network.input_shape, network.output_shape)]
        make_work = partial(_make_network_work, network)
        rates: dict[str, Rates] = {"push": sizes[0], "pop": sizes}
        name = self._add("network", f"sequential_{output}", make_work, [output], [data, labels], **rates)
        self.networks[name] = network

    def sink(self, stream: str) -> None:
        """The end of a stream, whose numbers `run` gives."""
        self._add("sink", f"sink_{stream}", lambda: lambda window: (), [], [stream])

    # --- building --------------------------------------------------------------

    def _add(
        self, kind: str, name: str, make_work: Callable[[], Work], outputs: Sequence[str], inputs: Sequence[str], *,
        push: Rates = 1, pop: Rates = 1, peek: Rates = 0,
    ) -> str:  # fmt: skip
        """Add an operator with its streams; return its name. Raises SequentialError before anything is added."""
        push_rates, pop_rates = _parse_rates("push", push, len(outputs)), _parse_rates("pop", pop, len(inputs))
        peek_rates = _parse_rates("peek", peek, len(inputs), 0)
        for input_ in inputs:
            if input_ not in self.streams:
                meant = suggest(input_, self.streams, " (did you mean {}?)")
                raise SequentialError("UNDECLARED_STREAM", f"no operator before writes it{meant}.", input_)
        for output in outputs:
            validate_field("a stream", NAME, output)
            if output in self.streams or list(outputs).count(output) > 1:
                raise SequentialError("DUPLICATE_NAME", "there is a stream of this name. Choose another.", output)
        operator = self.add(StreamOperator(_unique_name(name, self.operators), kind))
        for stream, pop_rate, peek_rate in zip(inputs, pop_rates, peek_rates):
            self._connect_reader(operator, stream, pop_rate, peek_rate)
        for stream, push_rate in zip(outputs, push_rates):
            self.connect(stream, operator.name, "", (push_rate,))
        self.work_factories[operator.name] = make_work
        return operator.name

    def _connect_reader(self, operator: StreamOperator, name: str, pop: int, peek: int) -> None:
        """Connect an operator to a stream that it reads; if the stream has a reader already, to a copy of it."""
        if self.streams[name].reader:
            name = self._branch(name)
        stream = self.streams[name]
        self.streams[name] = stream._replace(reader=operator.name, pop=pop, peek=max(pop, peek))
        operator.inputs.append(name)

    def _branch(self, name: str) -> str:
        """Return a new stream with the same numbers, from the `copy` operator that reads the stream (added if none)."""
        stream = self.streams[name]
        reader = self.operators[stream.reader]
        if reader.kind != "copy":
            copied = StreamOperator(_unique_name(f"copy_{name}", self.operators), "copy", inputs=[name])
            before = list(self.operators.items())
            before.insert(list(self.operators).index(reader.name), (copied.name, copied))
            self.operators = dict(before)
            self.work_factories[copied.name] = lambda: lambda window: (window,) * len(copied.outputs)
            self.streams[name] = stream._replace(reader=copied.name, pop=1, peek=1)
            first = self._branch(name)
            self.streams[first] = Stream(first, copied.name, reader.name, (1,), stream.pop, stream.peek)
            reader.inputs[reader.inputs.index(name)] = first
            reader = copied
        branch = _unique_name(f"{name}_{len(reader.outputs) + 1}", self.streams)
        self.connect(branch, reader.name, "", (1,))
        return branch

    # --- running ---------------------------------------------------------------

    def run(self, feeds: Mapping[str, Any] | None = None) -> dict[str, Array]:
        """Fire operators until none can; returns the numbers of each stream without a reader or with a sink.

        feeds: numbers for each stream from outside, in an array of any shape. Raises SequentialError.
        """
        queues = self._initial_queues(feeds)
        deque(self._firings(queues, self.networks), maxlen=0)
        ends = {name for name, operator in self.operators.items() if operator.kind == "sink"} | {""}
        return {name: np.array(queues[name]) for name, stream in self.streams.items() if stream.reader in ends}

    def _initial_queues(self, feeds: Mapping[str, Any] | None) -> dict[str, deque[float]]:
        """The initial contents of each stream and each source."""
        outside = [stream.name for stream in self.streams.values() if not stream.writer]
        if not isinstance(feeds or {}, Mapping) or set(feeds or {}) != set(outside):
            message = f"it holds numbers for {', '.join(outside) or 'no stream: none comes from outside'}."
            raise SequentialError("UNDECLARED_STREAM", message, "feeds")
        initial = {name: to_float_array(values, name).ravel() for name, values in (feeds or {}).items()} | self.values
        # The queue of a source is called "name()".
        return {name: deque[float](initial.get(name, ())) for name in (*self.streams, *self.values)}

    def _firings(self, queues: Mapping[str, deque[float]], networks: Mapping[str, Network]) -> Iterator[Firing]:
        """Fire operators until none can, and yield each firing; the given networks are trained."""
        works = {name: make() for name, make in self.work_factories.items() if name not in networks}
        works |= {name: _make_network_work(network) for name, network in networks.items()}
        input_rates = {name: self._input_rates(operator) for name, operator in self.operators.items()}
        times = dict.fromkeys(self.operators, 0)

        def can_fire(name: str) -> bool:
            reads = input_rates[name]
            return bool(reads) and all(len(queues[stream_name]) >= peek for stream_name, _, peek in reads)

        for name in ready_operators(self, can_fire):
            windows = {queue: np.array([*islice(queues[queue], peek)]) for queue, _, peek in input_rates[name]}
            outputs = dict(self._outputs_by_stream(self.operators[name], works[name](*windows.values())))
            times[name] += 1
            for source, pop, _ in input_rates[name]:
                for _ in range(pop):
                    queues[source].popleft()
            for stream, numbers in outputs.items():
                queues[stream].extend(numbers.tolist())
            inputs = {input_: windows[input_] for input_ in self.operators[name].inputs}
            yield Firing(name, times[name], inputs, outputs, {})

    def _watch_run(self, feeds: Mapping[str, Any] | None) -> tuple[dict[str, Array], Iterator[Firing]]:
        """The streams' initial contents, and all firings, with copies of the networks in place of them."""
        queues = self._initial_queues(feeds)
        contents = {name: np.array(queue) for name, queue in queues.items() if queue and name in self.streams}
        return contents, self._firings(queues, deepcopy(self.networks))

    def _input_rates(self, operator: StreamOperator) -> list[tuple[str, int, int]]:
        """The inputs of an operator, as (queue, pop, peek). A sink has none: its numbers stay in its stream."""
        if operator.kind == "source":
            push = self.streams[operator.outputs[0]].push
            return [(f"{operator.name}()", push, push)]
        inputs = [] if operator.kind == "sink" else operator.inputs
        return [(input_, self.streams[input_].pop, self.streams[input_].peek) for input_ in inputs]

    def _outputs_by_stream(self, operator: StreamOperator, result: Any) -> Iterator[tuple[str, Array]]:
        """Yield (stream, numbers) for each output. Raises SequentialError unless their counts are the push rates."""
        parts = result if len(operator.outputs) > 1 else [result]
        if not isinstance(parts, (tuple, list)) or len(parts) != len(operator.outputs):
            says = f"it gives a tuple with the numbers of {', '.join(operator.outputs)}, not {shortened(result)}."
            raise SequentialError("RATES", says, operator.name)
        for stream, part in zip(operator.outputs, parts):
            numbers = np.ravel(part.eval() if isinstance(part, TensorNode) else part)
            if numbers.size != self.streams[stream].push or numbers.dtype.kind not in "biuf":
                push = self.streams[stream].push
                says = f"it puts {shortened(part)} into {stream}, and push says {push}. Make them agree."
                raise SequentialError("RATES", says, operator.name)
            yield stream, numbers

    # --- text and expansion ---------------------------------------------------------------

    def text(self) -> str:
        """The source text of this composite, followed by those of its networks."""
        return "\n\n".join([super().text(), *(Network.expand(network).text() for network in self.networks.values())])

    def replaced(self) -> Dataflow:
        """Inline the dataflow of each network; its operators and streams get the network operator's name as prefix."""
        inlined, readers, writers = Dataflow([], self.name), dict[str, str](), dict[str, str]()
        for name, operator in self.operators.items():
            if name not in self.networks:
                inlined.add(StreamOperator(name, operator.kind))
                continue
            network = self.networks[name]
            flow = Network.expand(network)
            for inner in flow.operators.values():
                layer = inner.layer and inner.layer + len(inlined.layers)
                inlined.add(StreamOperator(f"{name}.{inner.name}", inner.kind, layer))
            inlined.layers += flow.layers
            for stream in flow.streams.values():
                writer, reader = f"{name}.{stream.writer}", f"{name}.{stream.reader}"
                if stream.writer and stream.reader:
                    inlined.connect(f"{name}.{stream.name}", writer, reader, stream.shape)
                elif stream.writer:
                    writers[operator.outputs[0]] = writer
                else:
                    readers[operator.inputs[stream.name == network.streams.labels]] = reader
        for stream in self.streams.values():
            writer = writers.get(stream.name, stream.writer)
            reader = readers.get(stream.name, stream.reader)
            inlined.connect(stream.name, writer, reader, stream.shape, stream.pop, stream.peek)
        return inlined


def _make_network_work(network: Network) -> Work:
    """The function of a network operator: it trains on one sample, and returns the gradient at the data."""
    flow, machine, size = Network.expand(network), NetworkMachine(network), network.batch_size
    versions = DoubleBuffer([network.weights] * 2, "delayed", network.learning_rate)
    totals, seen = Gradients(), count(1)

    def work(data: Array, labels: Array) -> Array:
        number = next(seen)
        streams = {
            network.streams.data: data.reshape(1, *network.input_shape),
            network.streams.labels: labels.reshape(1, *network.output_shape),
        }
        fire_operators(machine, flow.operators.values(), network.weights, streams, totals, number)
        if number % size == 0:
            versions.update_all(flow, 0, totals, size)
            totals.clear()
        return streams[network.streams.result]

    return work


def _as_list(names: str | Sequence[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _parse_rates(who: str, rates: Rates, count: int, least: int = 1) -> list[int]:
    """Return one rate for each of `count` streams, from a single number or a list. Raises SequentialError."""
    numbers = list(rates) if isinstance(rates, (list, tuple)) else [rates] * count
    if len(numbers) != count:
        raise SequentialError("RATES", f"it has {len(numbers)} numbers for {count} streams. Give one for each.", who)
    return [validate_field("an operator", Field(who, int_at_least(least)), number) for number in numbers]


def _unique_name(name: str, taken: Iterable[str]) -> str:
    """The name, with a number appended if it is taken."""
    candidates = chain([name], (f"{name}_{number}" for number in count(2)))
    return next(candidate for candidate in candidates if candidate not in taken)
