"""Balance equations of synchronous dataflow: how often each operator fires in a period.

On a stream from A to B, A writes `push` numbers in a firing and B removes `pop`.
A period leaves each stream as full as it was before, so the firings of A and B
balance: push * times(A) = pop * times(B). The least whole numbers that balance
every stream are the repetition vector (Lee & Messerschmitt, 1987).
"""

from __future__ import annotations

import math
from fractions import Fraction

from ..core.number import shortened
from ..errors import SequentialError
from .dataflow import Dataflow, Stream

Firings = dict[str, int]  # number of firings by operator, in topological order


def repetitions(flow: Dataflow) -> Firings:
    """How often each operator fires in a period. Raises SequentialError where no numbers balance all streams.

    >>> from naive_graph.sequential import Composite
    >>> flow = Composite()
    >>> flow.source("x", [1.0, 2.0, 3.0, 4.0])
    >>> flow.operator("y", sum, "x", pop=2)
    >>> flow.sink("y")
    >>> repetitions(flow)
    {'source_x': 2, 'sum': 1, 'sink_y': 1}
    """
    if not isinstance(flow, Dataflow):
        raise SequentialError(
            "BAD_VALUE", f"it is what expand(network) gives, or a Composite, not {shortened(flow)}.", "flow"
        )
    times: dict[str, Fraction] = {}
    neighbours: dict[str, list[tuple[Stream, str, Fraction]]] = {name: [] for name in flow.operators}
    for stream in flow.inner_streams():
        ratio = Fraction(stream.push, stream.pop)
        neighbours[stream.writer].append((stream, stream.reader, ratio))
        neighbours[stream.reader].append((stream, stream.writer, 1 / ratio))
    for first in flow.operators:
        group = [] if first in times else [first]
        times.setdefault(first, Fraction(1))
        for name in group:  # breadth-first: grows during the loop
            for stream, other, ratio in neighbours[name]:
                if other not in times:
                    group.append(other)
                if times.setdefault(other, times[name] * ratio) != times[name] * ratio:
                    _raise_unbalanced(stream, *(times[operator] for operator in (stream.writer, stream.reader)))
        denominator = math.lcm(*(times[name].denominator for name in group))
        least = math.gcd(*(int(times[name] * denominator) for name in group)) or 1
        times |= {name: times[name] * denominator / least for name in group}
    return {name: int(times[name]) for name in flow.operators}


def _raise_unbalanced(stream: Stream, writer: Fraction, reader: Fraction) -> None:
    more = writer * stream.push / (reader * stream.pop)
    raise SequentialError(
        "RATES",
        f"by the other streams {stream.writer} fires {writer / reader} times as often as {stream.reader}, so {more} "
        f"times as many numbers come in as go out ({stream.rates}). Change a rate.",
        stream.name,
    )


def steady(flow: Dataflow) -> tuple[Firings, Firings]:
    """The firings before the first period (to fill the readers' peek windows), and those of each period.

    >>> from naive_graph.sequential import Composite
    >>> flow = Composite()
    >>> flow.source("x", [1.0, 2.0, 3.0, 4.0])
    >>> flow.operator("y", sum, "x", peek=3)
    >>> flow.sink("y")
    >>> steady(flow)
    ({'source_x': 2}, {'source_x': 1, 'sum': 1, 'sink_y': 1})
    """
    period = repetitions(flow)
    before = dict.fromkeys(flow.operators, 0)
    for name in reversed(flow.operators):
        for stream in map(flow.streams.__getitem__, flow.operators[name].outputs):
            if stream.reader:
                wanted = before[stream.reader] * stream.pop + stream.peek - stream.pop
                before[name] = max(before[name], -(-wanted // stream.push))
    return {name: count for name, count in before.items() if count}, period
