"""Exercises of lessons 16b and 16c: a pipeline's schedule, timing and versions of weights; firing a dataflow operator.

A solution's docstring is the statement that learners read; a generator yields the test cases, or their arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..cases import make_random
from ..exercise import Exercise


def at_work(stages, samples, cycle):
    """Return what each stage works on in a cycle: a list with the number of a sample, or None, for each stage.

    There are so many stages; the first in the list is stage 0. The samples are
    numbered from 1. Stage 0 begins sample 1 in cycle 1; before, nobody works.
    In each cycle, every sample goes on to the next stage.
    """
    row = []
    for stage in range(stages):
        sample = cycle - stage
        there = 1 <= sample <= samples
        row.append(sample if there else None)
    return row


def versions_read(distance, iteration):
    """Return the versions of its weights that the forward of a layer meets: a list of one or two numbers, old first.

    There is one buffer of weights, and version 0 is in it. The backward of
    iteration 1 writes version 1 there, that of iteration 2 version 2, and so on.
    While the forward works on an iteration, the backward of the same layer works
    on the one that is `distance` before it. If there is such a one, it writes
    while the forward reads, which meets both, the old version and the new one.
    Iterations are numbered from 1.
    """
    writes = iteration - distance
    if writes < 1:
        return [0]
    return [writes - 1, writes]


def turn(group, size, stage):
    """Return (first, last, buffer): from which cycle to which a stage works on a group, and which weights it takes.

    Stage s works on sample i in cycle i + s. Samples are numbered from 1, stages
    and groups from 0: group 0 has the samples 1 to size, group 1 the next ones.
    There are two buffers of weights, 0 and 1. Group 0 takes buffer 0, group 1
    buffer 1, group 2 buffer 0 again, and so on.
    """
    first = group * size + 1 + stage
    last = first + size - 1
    return first, last, group % 2


def ends(minutes, samples):
    """Return when each worker ends each sample: a list for each worker, with a time for each sample.

    minutes: how long each worker takes for one sample. The first worker begins
    at 0, and takes sample after sample. Every other one begins a sample as soon
    as the worker before it has ended that sample, and it has ended its own last
    one. There is room for what waits in between.
    """
    times = [[] for _ in minutes]
    for _ in range(samples):
        time = 0.0
        for worker, takes in enumerate(minutes):
            if times[worker]:
                free = times[worker][-1]
                time = max(time, free)
            time += takes
            times[worker].append(time)
    return times


def _cycles() -> Iterator[tuple[Any, ...]]:
    """All cycles of small pipelines, and one before and one behind them."""
    for stages, samples in ((1, 1), (2, 1), (1, 3), (3, 2), (2, 4), (4, 4), (6, 10)):
        for cycle in range(samples + stages + 1):
            yield stages, samples, cycle


def _turns() -> Iterator[tuple[Any, ...]]:
    yield from ((0, 1, 0), (0, 3, 0), (0, 3, 1), (1, 3, 0), (1, 3, 1), (2, 3, 0), (2, 7, 1), (3, 7, 5))
    chance = make_random(17)
    for _ in range(12):
        yield int(chance.random() * 9), 2 + int(chance.random() * 30), int(chance.random() * 12)


def _kitchens() -> Iterator[tuple[Any, ...]]:
    yield from (([2.0], 0), ([2.0], 1), ([2.0], 3), ([1.0, 1.0], 1), ([2.0, 3.0], 1), ([2.0, 3.0], 2), ([3.0, 1.0], 3))
    chance = make_random(5)
    for workers, samples in ((2, 3), (3, 2), (3, 4), (3, 6), (4, 5), (5, 4), (6, 10)):
        for _ in range(2):
            yield [float(1 + int(chance.random() * 9)) for _ in range(workers)], samples


VERSIONS = [(distance, iteration) for distance in (1, 2, 4, 6) for iteration in range(1, 12)]
AT_WORK = Exercise(at_work, _cycles)
VERSIONS_READ = Exercise(versions_read, lambda: VERSIONS)
TURN = Exercise(turn, _turns)
ENDS = Exercise(ends, _kitchens)


def fire(waiting, takes, gives):
    """Fire an operator once: return what waits in every stream after it, or None if it cannot fire.

    waiting: for each stream a list of the samples in it, here numbers, the
    oldest first. takes: the places of the streams that the operator reads;
    gives: of those that it writes. It can fire when every stream that it reads
    holds a sample. Then it takes the oldest sample of each, adds these up, and
    puts the sum behind what waits in each stream that it writes.
    """
    after = [list(each) for each in waiting]
    there = [bool(after[place]) for place in takes]
    if not all(there):
        return None
    found = [after[place].pop(0) for place in takes]
    total = sum(found)
    for place in gives:
        after[place].append(total)
    return after


def layer_streams(layer, layers):
    """Return the streams of one dense layer: four lists of names, in this order.

    1. what FComp reads: "F1_F2" for layer 2, "copy_1" for layer 1;
    2. what FComp writes: the same results twice, for the next layer's FComp and
       for the next layer's BComp, as "F1_F2" and "F1_B2"; the last layer, say 3,
       writes "F3_loss" alone;
    3. what BComp reads: the slopes from behind, as "B3_B2" for layer 2, or
       "_Loss" for the last layer; then what its FComp was given, as "F1_B2" for
       layer 2, or "copy_2" for layer 1;
    4. what BComp writes: "B2_B1" for layer 2, "res" for layer 1.

    Layers are numbered from 1; there are `layers` of them.
    """
    before, behind = layer - 1, layer + 1
    first = layer == 1
    last = layer == layers
    reads = "copy_1" if first else f"F{before}_F{layer}"
    writes = [f"F{layer}_loss"] if last else [f"F{layer}_F{behind}", f"F{layer}_B{behind}"]
    slopes = "_Loss" if last else f"B{behind}_B{layer}"
    given = "copy_2" if first else f"F{before}_B{layer}"
    back = "res" if first else f"B{layer}_B{before}"
    return [[reads], writes, [slopes, given], [back]]


def two_buffers(start, slopes, rate):
    """Return the weight that each group reads, in a list.

    There are two buffers, 0 and 1, and both begin with `start`. Group 0 reads
    buffer 0, group 1 buffer 1, group 2 buffer 0 again, and so on. When a group is
    through, it writes its own buffer once: the weight in the other buffer, less
    rate times the slope that it found. slopes: what each group found.
    """
    buffers, read = [start, start], []
    for group, slope in enumerate(slopes):
        mine = group % 2
        read.append(buffers[mine])
        old = buffers[1 - mine]
        new = old - rate * slope
        buffers[mine] = new
    return read


def _streams() -> Iterator[tuple[Any, ...]]:
    yield from (
        ([[]], [0], []), ([[1.0]], [0], []), ([[1.0], []], [0], [1]), ([[1.0, 2.0], [7.0]], [0], [1]),
        ([[1.0], [], []], [0, 1], [2]), ([[1.0], [2.0], [5.0]], [0, 1], [2]), ([[3.0], [], []], [0], [1, 2]),
    )  # fmt: skip
    chance = make_random(3)
    for _ in range(14):
        count = 2 + int(chance.random() * 3)
        waiting = []
        for _ in range(count):
            waiting.append([float(1 + int(chance.random() * 20)) for _ in range(int(chance.random() * 4))])
        reads = 1 + int(chance.random() * (count - 1))
        yield waiting, list(range(reads)), list(range(reads, count))


def _descents() -> Iterator[tuple[Any, ...]]:
    yield from ((0.5, [], 0.1), (0.5, [2.0], 0.1), (0.5, [2.0, 1.0], 0.5), (0.0, [1.0, 2.0, 4.0], 1.0))
    chance = make_random(8)
    for count in (4, 5, 6, 9):
        yield chance.random(), [4 * chance.random() - 2 for _ in range(count)], 0.25


LAYERS = [(layer, layers) for layers in range(1, 5) for layer in range(1, layers + 1)]
FIRE = Exercise(fire, _streams)
LAYER_STREAMS = Exercise(layer_streams, lambda: LAYERS)
TWO_BUFFERS = Exercise(two_buffers, _descents)
