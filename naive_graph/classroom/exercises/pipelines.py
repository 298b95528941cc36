"""Exercises of lessons 16b and 16c: a pipeline's schedule, the versions of weights that it reads, and its timing.

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
